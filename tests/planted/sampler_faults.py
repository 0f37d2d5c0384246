"""Planted faults of samplers: the law that is stated is right, and what is drawn does not have it.

The worst neighbors hardly tell these from their repairs: some are in a tail, some in values that are not the worst, in
how the numbers of a report hang together, or in the noise of deployments alone. The audit is told the stated laws.
"""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from planted.fault import SECURE_SAMPLES, Drawing, Fault, WrongDraw, WrongNoise, fault_of
from psephos.agents.noise import SecureNoise
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.mechanisms import (
    Beta,
    DiscreteLaplace,
    GeneralizedRandomizedResponse,
    NoiseShare,
    RowMechanism,
    TwoLayer,
    VectorLaplace,
    loss_of_all_answers,
)
from psephos.protocol.privacy import TrustModel
from psephos.scenarios.audit.case import LawCheck, OutputSampler, Pair, Source
from psephos.scenarios.audit.mechanisms.checking import checks_of
from psephos.scenarios.audit.mechanisms.sampling import secure_draw, simulate_draw
from psephos.scenarios.audit.mechanisms.shares import sum_of

_EPSILON: Final = 1.0
_STEPS: Final = 128
_CLIPPED_AT: Final = 8  # scales
_SAMPLES_OF_TAIL: Final = 1_000_000  # so that some hundreds are there
_NUM_CHOICES: Final = 4
_NUM_ANSWERS: Final = 3


def sampler_faults() -> Iterator[Fault]:
    """Yield those of mechanisms that belong to no system alone."""
    yield _clipped_tail()
    yield _values_kept()
    yield _shared_draw()
    yield _wrong_order_statistic()
    yield _halved_release()
    yield from _lost_shares()


def sampler_fault(
    name: str,
    repaired: str,
    what: str,
    mechanisms: tuple[RowMechanism, RowMechanism],
    rows: Sequence[Sequence[int]],
    *,
    wrong: WrongDraw | None = None,
    source: Source = "simulated",
    **given: Any,
) -> Fault:
    """Return a fault of a sampler, whose first and last rows are the neighbors, and all of whose rows are drawn.

    Its names, with and without the fault, and what is wrong are those of `fault_of`.

    Args:
        mechanisms: with the fault, and without it; both state the same law.
        rows: what is drawn.
        wrong: how the noise of deployments draws with the fault; by default rightly.
        source: whose sampler is wrong.
        given: see `fault_of`.
    """

    def sides(is_faulty: bool) -> dict[str, Any]:  # noqa: FBT001  as `fault_of` calls it
        mechanism = mechanisms[not is_faulty]
        make_noise = functools.partial(WrongNoise, wrong) if wrong and is_faulty else SecureNoise

        def secure(row: Sequence[int]) -> OutputSampler:
            return secure_draw(mechanism, row, make_noise)

        def pair() -> Pair:
            if source == "simulated":
                return Pair("the two", draws=(simulate_draw(mechanism, rows[0]), simulate_draw(mechanism, rows[-1])))
            return Pair("the two", secure=(secure(rows[0]), secure(rows[-1])))

        def check(row: Sequence[int]) -> LawCheck:
            (own,) = checks_of(mechanism, np.array([row], dtype=np.int64))
            return dataclasses.replace(own, secure=secure(row) if source == "secure" else None)

        return {"pairs": lambda: [pair()], "law_checks": lambda: [check(row) for row in rows]}

    usual: dict[str, Any] = {"proven": _EPSILON}
    return fault_of((name, repaired), what, sides, source=source, **usual | given)


def _clipped_tail() -> Fault:
    given = _STEPS / _EPSILON, 0, _STEPS
    return sampler_fault(
        "tail clipped",
        "tail",
        "Noise beyond 8 scales is drawn as 8 scales, so that a report beyond them tells the value.",
        (_ClippedLaplace(*given), DiscreteLaplace(*given)),
        [[0], [_STEPS]],
        unit="number",
        samples=_SAMPLES_OF_TAIL,
    )


class _ClippedLaplace(DiscreteLaplace):
    """Laplace noise that is never larger than so many scales."""

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        reach = round(_CLIPPED_AT * self.scale)
        return np.clip(super().randomize(values, uniforms), values - reach, values + reach)


def _values_kept() -> Fault:
    given = _EPSILON, _NUM_CHOICES
    return sampler_fault(
        "values kept",
        "values randomized",
        "Values of 2 and more are reported as they are; 0 and 1 are randomized as they should be.",
        (_KeptResponse(*given), GeneralizedRandomizedResponse(*given)),
        [[0], [2], [3], [1]],
        unit="value",
    )


class _KeptResponse(GeneralizedRandomizedResponse):
    """k-RR of 0 and 1 alone."""

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        return np.where(values > 1, values, super().randomize(values, uniforms))


def _shared_draw() -> Fault:
    mechanism = VectorLaplace(scale=2 * _STEPS / _EPSILON, sensitivity=2 * _STEPS, bound=_STEPS)
    return sampler_fault(
        "one draw for two candidates",
        "a draw for each candidate",
        "With the noise of deployments a row's numbers share one draw: their difference leaves in clear.",
        (mechanism, mechanism),
        [[0, 0], [_STEPS, _STEPS]],
        unit="row",
        source="secure",
        wrong=_with_one_noise,
    )


def _with_one_noise(rightly: Drawing, mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
    """Draw for the first number, and add the same noise to all."""
    (report,) = rightly(mechanism, values[:1])
    return [value + report - values[0] for value in values]


def _wrong_order_statistic() -> Fault:
    right, wrong = (kind(2, 3, 0.0, 0.9) for kind in (Beta, _WrongBeta))
    sizes = (2,)
    return sampler_fault(
        "wrong order statistic",
        "order statistic",
        "With the noise of deployments a flip probability of Beta(2, 3) is the third smallest uniform, not the second.",
        (TwoLayer(sizes, wrong), TwoLayer(sizes, right)),
        [[0] * _NUM_ANSWERS, [1] * _NUM_ANSWERS],
        unit="all answers",
        proven=loss_of_all_answers(sizes * _NUM_ANSWERS, right),
        source="secure",
    )


class _WrongBeta(Beta, frozen=True):
    """A beta distribution whose exact draws are one uniform too large."""

    def draw_exact(self, uniforms: Sequence[int]) -> tuple[int, int]:
        return Beta(self.alpha + 1, self.beta - 1, self.low, self.high).draw_exact(uniforms)


def _halved_release() -> Fault:
    sums = [0, 0, 0], [_STEPS, _STEPS // 2, 0]
    sensitivity = sum(sums[1])
    mechanism = VectorLaplace(scale=sensitivity / _EPSILON, sensitivity=sensitivity, bound=100 * _STEPS)
    return sampler_fault(
        "release's noise halved",
        "release's noise",
        "A trusted server draws the noise of deployments at half the scale; in simulations it is right.",
        (mechanism, mechanism),
        sums,
        unit="voter",
        source="secure",
        samples=2 * SECURE_SAMPLES,
        wrong=at_half_the_scale,
        model=TrustModel.CENTRAL,
    )


def _lost_shares() -> Iterator[Fault]:
    """Yield ways in which a sum has less noise than a loss is stated for, with shares that are right by themselves."""
    sensitivity, number, honest = 6, 8, 4
    right, too_many = (NoiseShare(sensitivity / _EPSILON, sensitivity, sensitivity, each) for each in (honest, number))

    def sides(wrong: NoiseShare, num_shares: int, is_faulty: bool) -> dict[str, Any]:  # noqa: FBT001  as `fault_of` calls it
        mechanism, num_shares = (wrong, num_shares) if is_faulty else (right, honest)
        draws = tuple(sum_of(mechanism, [value], num_shares=num_shares) for value in (0, sensitivity))
        return {"pairs": lambda: [Pair("the two", draws=(draws[0], draws[1]))]}

    for name, what, wrong, num_shares in (
        (
            "shares for n instead of h",
            "Noise is shared by all eight parties, four of whom may collude.",
            too_many,
            honest,
        ),
        ("noise forgotten by one party", "One of the four honest parties adds its value alone.", right, honest - 1),
    ):
        yield fault_of(
            (name, "shares for h"),
            what,
            functools.partial(sides, wrong, num_shares),
            unit="row",
            proven=_EPSILON,
            model=TrustModel.DISTRIBUTED,
        )


def at_half_the_scale(rightly: Drawing, mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
    """Draw Laplace noise at half its scale, and anything else rightly. See `WrongDraw`."""
    halved = dataclasses.replace(mechanism, scale=mechanism.scale / 2) if isinstance(mechanism, VectorLaplace) else None
    return rightly(halved or mechanism, values)
