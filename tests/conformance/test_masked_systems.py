"""Masked sessions of each system and of a protocol of the docs: every promise, with parties who leave in each step.

Arrays, memory and TCP give equal bits; see `psephos.scenarios.testing.check_protocol`.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

import pytest
import scipy
from psephos.protocol import PhasedProtocol, SimulatedNoise, run_population
from psephos.protocol.dpwevote import DPWeVote
from psephos.protocol.dpwevote import Parameters as Votes
from psephos.protocol.dpwevote.central import CentralVariant
from psephos.protocol.fair_voting import FairVoting
from psephos.protocol.fair_voting import Parameters as Fair
from psephos.protocol.fair_voting.phases import MaskedRankings
from psephos.protocol.moral_preferences import MoralPreferences, Paradigm
from psephos.protocol.moral_preferences import Parameters as Moral
from psephos.protocol.phases import Inputs
from psephos.protocol.privacy import TrustModel
from psephos.protocol.truth_discovery import Parameters as Crowd
from psephos.protocol.truth_discovery import TruthDiscovery
from psephos.scenarios.testing import PROTOCOL_PROMISES, check_protocol
from thoroughness import IS_FULL

_FAIR: Final[dict[str, Any]] = {
    "alternatives": ("a", "b", "c"),
    "groups": ("left", "right"),
    "group_sizes": (3, 2),
    "mechanism": "masked",
    "threshold": 4,
    "colluders": 1,
}
_VOTERS: Final = {
    "group": ["left", "right", "left", "left", "right"],
    "ranking": ["a>b>c", "c>b>a", "b>a>c", "a>c>b", "b>c>a"],
}

_ALL: Final[dict[str, Any]] = {"threshold": 5, "colluders": 0}

_SAME: Final = [[[0.0, 1.0], [1.0, 0.0]]]
_TWO: Final = [[[2.0, 1.0], [0.0, 0.0]], [[0.0, 1.0], [1.0, 1.0]]]
_RECORDS: Final = {"records": [[[[1.0, 0.0], [0.0, 2.0]]], _TWO, _SAME, _SAME, _SAME]}


_ANSWERS: Final = {
    "tasks": [["q", "r", "s"], ["s"], ["r", "q"], ["s", "q"], ["q", "r"]],
    "answers": [["yes", "a", "no"], ["yes"], ["c", ""], ["", "no"], ["yes", "b"]],
}


def _truths(**sizes: Any) -> tuple[TruthDiscovery, Inputs]:
    """Return a survey of two answer sets, of whose tasks each worker is asked some and skips some."""
    sets: dict[str, Any] = {"answer_sets": (("no", "yes"), ("a", "b", "c")), "answer_set_of_task": (0, 1, 0)}
    survey = TruthDiscovery(Crowd(tasks=("q", "r", "s"), max_answers=3, mechanism="masked", **sets, **sizes))
    return survey, survey.encode(_ANSWERS)


def _moral(paradigm: Paradigm, mechanism: Any) -> MoralPreferences:
    given: dict[str, Any] = {"features": ("x", "y"), "epsilon": 8.0, "max_records": 2, "threshold": 4, "colluders": 1}
    return MoralPreferences(Moral(paradigm=paradigm, mechanism=mechanism, **given))


CASES: Final[Mapping[str, tuple[PhasedProtocol[Any, Any], Mapping[str, Any] | Inputs]]] = {
    "fair voting": (FairVoting(Fair(**_FAIR)), _VOTERS),
    "fair voting, one share for all": (FairVoting(Fair(**_FAIR | _ALL)), _VOTERS),
    "fair voting by plurality": (FairVoting(Fair(**_FAIR, scores="plurality", objective="penalized")), _VOTERS),
    "preferences of voters": (_moral(Paradigm.VLMP, "laplace"), _RECORDS),
    "directions of records": (_moral(Paradigm.RLMP, "direction"), _RECORDS),
    "truths": _truths(threshold=4, colluders=1),
    "truths, one share for all": _truths(**_ALL),
    "pooled coefficients": (_moral(Paradigm.RLMP, "pooled"), _RECORDS),
}


@pytest.mark.few(most=3)
@pytest.mark.parametrize("name", CASES)
def test_a_masked_session_keeps_every_promise_whoever_leaves(name: str) -> None:
    protocol, rows = CASES[name]
    promises = PROTOCOL_PROMISES if IS_FULL else [each for each in PROTOCOL_PROMISES if each.startswith("Arrays")]
    assert {loss.model for loss in protocol.losses} == {TrustModel.DISTRIBUTED}
    check_protocol(protocol, rows, promises=promises)


_MORE: Final = 3  # parties than have to take part: with a share each, all of which are in the sum
_N: Final = 4 + _MORE


def _errors_of(protocol: PhasedProtocol[Any, Any], outcome: Any) -> list[tuple[float, int]]:
    """Return each standard error of an outcome in grid steps of a sum, and of how many sums it is made."""
    if isinstance(protocol, DPWeVote):
        variant = protocol.parameters.kind(protocol.parameters)
        assert isinstance(variant, CentralVariant)
        step = float(variant.central_sums.step)
        return [(each.margin.standard_error / step, 1) for each in outcome.candidates]
    if isinstance(protocol, FairVoting):
        assert isinstance(protocol.phase, MaskedRankings)
        step = protocol.phase.scoring.step
        told = [each.utilities for each in outcome.alternatives]
        sizes = protocol.parameters.group_sizes
        return [(own.standard_error * n / step, 1) for row in told for own, n in zip(row, sizes, strict=True)]
    if isinstance(protocol, MoralPreferences):
        return [(error * outcome.num_voters / protocol.summary.step, 1) for error in outcome.errors]
    supports = [(len(own), own) for own in outcome.supports if own is not None]
    return [
        (support.standard_error * (2 if size == 2 else 1), 2 if size == 2 else 1)  # a difference and a total
        for size, own in supports
        for support in own.values()
    ]


_ERRORS: Final[Mapping[str, tuple[PhasedProtocol[Any, Any], Mapping[str, Any]]]] = {
    "votes": (
        DPWeVote(Votes(candidates=("a", "b"), weights=(1, 2, 5), variant="masked", threshold=4, colluders=1)),
        {"weight": [1, 2, 5, 1, 2, 5, 1], "a": [1, 0, 1, 0, 1, 0, 1], "b": [0] * _N},
    ),
    "public weights": (
        DPWeVote(
            Votes(
                candidates=("a",),
                weights=(1, 2, 5),
                variant="masked",
                threshold=4,
                colluders=1,
                public_weights=True,
            )
        ),
        {"weight": [1, 2, 5, 1, 2, 5, 1], "a": [1, 0, 1, 0, 1, 0, 1]},
    ),
    "elections": (
        FairVoting(Fair(**_FAIR | dict[str, Any](group_sizes=(4, 3)))),
        {"group": ["left", "right"] * 3 + ["left"], "ranking": ["a>b>c", "c>b>a", "b>a>c"] * 2 + ["a>c>b"]},
    ),
    "preferences": (_moral(Paradigm.VLMP, "laplace"), {"records": [_SAME] * _N}),
    "truths": (
        _truths(threshold=4, colluders=1)[0],
        {"tasks": [["q", "r", "s"]] * _N, "answers": [["yes", "a", "no"]] * _N},
    ),
}


@pytest.mark.parametrize(("protocol", "table"), _ERRORS.values(), ids=_ERRORS)
def test_a_stated_error_is_that_of_all_shares_in_the_sum_by_their_exact_law(
    protocol: PhasedProtocol[Any, Any], table: Mapping[str, Any]
) -> None:
    """Of which there are more than are planned; and of as many as are planned, where nobody else comes."""
    masked = protocol.masked_phase
    assert masked is not None
    inputs = protocol.encode(table)
    assert len(inputs) == _N > masked.threshold
    outcome = run_population(protocol, inputs, noise=SimulatedNoise(3, session="s")).outcome
    found = _errors_of(protocol, outcome)
    assert found
    for error, sums in found:
        law = scipy.stats.nbinom(_N * sums / masked.share.planned, -math.expm1(-1 / masked.share.scale))
        assert error == pytest.approx(math.sqrt(2 * law.var()), rel=1e-9)  # of the difference of two such numbers
