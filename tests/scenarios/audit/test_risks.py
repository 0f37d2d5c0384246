"""What an audit may be wrong with is shared out once: all its intervals' risks together are what its confidence leaves.

A risk that is taken twice shows in no audit: intervals are wide, and hardly ever wrong. So limits are watched as they
are asked for.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from audits import case_of
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.scenarios.audit import Case, LawCheck, OutputSampler, OutputView, Pair, audit, bounds, engine, following
from psephos.scenarios.audit.bounds import delta_bounds, epsilon_bounds, mu_bounds

CONFIDENCE = 0.9
LAW = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])


@dataclasses.dataclass
class Watch:
    """The limits that were asked for, each of some events at a risk, once; and the risks of what laws were held to."""

    limits: dict[tuple[str, bytes, int, float], int] = dataclasses.field(
        default_factory=dict[tuple[str, bytes, int, float], int]
    )
    held: list[float] = dataclasses.field(default_factory=list[float])
    numbers: set[int] = dataclasses.field(default_factory=set[int])
    is_deciding: bool = False

    @property
    def risk(self) -> float:
        return sum(times * risk for (*_, risk), times in self.limits.items()) + sum(self.held)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Watch limits of outputs that decide: those of outputs that choose are about others, and cost nothing."""
    watched = Watch()

    def limits_of(end: str) -> Any:
        asked = getattr(bounds, f"{end}_limits")

        def limits(hits: IntArray, number: int, risk: float) -> FloatArray:
            if watched.is_deciding:
                watched.limits[end, np.asarray(hits).tobytes(), number, risk] = len(hits)
                watched.numbers.add(number)
            return asked(hits, number, risk)

        return limits

    def deciding(name: str) -> Any:
        asked = getattr(engine, name)

        def decide(*given: Any) -> Any:
            watched.is_deciding = True
            try:
                return asked(*given)
            finally:
                watched.is_deciding = False

        return decide

    def departure(*given: Any) -> str:
        watched.held.append(given[-1])
        return ""

    names = ["epsilon_bounds", "delta_bounds", "mu_bounds", "lower_limits", "upper_limits"]
    for end in ("lower", "upper"):
        limits = limits_of(end)
        monkeypatch.setattr(bounds, f"{end}_limits", limits)
        monkeypatch.setattr(engine, f"{end}_limits", limits)
    for name in names:
        monkeypatch.setattr(engine, name, deciding(name))
    monkeypatch.setattr(following, "departure", departure)
    return watched


def drawn_by(side: int) -> OutputSampler:
    def draw(number: int, stream: int) -> IntArray:
        return np.random.default_rng(stream).choice(3, size=number, p=LAW[side]).astype(np.int64)[:, None]

    return draw


def first_number(outputs: IntArray) -> IntArray:
    return outputs[:, 0]


def cases() -> Iterator[tuple[str, Case]]:
    """Yield cases with and without laws, draws, and inputs that are held against theirs, in one view and in several."""
    pairs = {
        "laws": [Pair("pair", laws=LAW)],
        "draws": [Pair("pair", draws=(drawn_by(0), drawn_by(1)))],
        "both": [Pair("pair", laws=LAW, draws=(drawn_by(0), drawn_by(1)))],
        "none": [],
    }
    views = [OutputView(name, LAW[0], first_number) for name in ("a", "b", "c")]
    checks = {
        "no input": [],
        "an input": [LawCheck("input", views[:1], draw=drawn_by(0))],
        "inputs": [LawCheck("one", views[:2], draw=drawn_by(0)), LawCheck("other", views, draw=drawn_by(0))],
    }
    for (name, own), (other, its) in itertools.product(pairs.items(), checks.items()):
        if own or its:
            case = case_of(*own, claimed=2.0, proven=2.0)
            yield f"{name}, {other}", dataclasses.replace(case, law_checks=functools.partial(list[LawCheck], its))


CASES = dict(cases())


@pytest.mark.parametrize("name", CASES)
def test_all_that_is_stated_of_a_case_shares_the_risk_that_its_confidence_leaves(name: str, watch: Watch) -> None:
    samples = 4_000
    found = audit(CASES[name], samples=samples, confidence=CONFIDENCE)
    assert found is not None
    assert watch.risk <= (1 - CONFIDENCE) * (1 + 1e-9)
    assert (watch.risk > 0) is (not name.startswith("laws, no")), "nothing was stated"
    assert len(watch.held) == found.num_inputs + 3 * name.endswith(", inputs")
    decide = samples - samples // 5  # of which the edge is counted, and without a law the event
    assert watch.numbers == {"draws": {decide}, "both": {samples, decide}}.get(name.partition(",")[0], set())


@pytest.mark.parametrize("bound", [epsilon_bounds, delta_bounds, mu_bounds])
def test_a_bound_shares_its_risk_between_its_two_limits(bound: Any, watch: Watch) -> None:
    """As one that is asked for by the engine: for each event by itself."""
    given = (np.array([70]), np.array([20]), 100, 0.05)
    watch.is_deciding = True
    bound(*given, *([1.0] if bound is delta_bounds else []))
    assert {end for end, *_ in watch.limits} == {"lower", "upper"}
    assert watch.risk == pytest.approx(0.05, rel=1e-12)
