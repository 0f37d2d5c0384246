"""Masked sessions of each system and of a protocol of the docs: every promise, with parties who leave in each step.

Arrays, memory and TCP give equal bits; see `psephos.scenarios.testing.check_protocol`.
"""

from collections.abc import Mapping
from typing import Any, Final

import pytest
from psephos.protocol import PhasedProtocol
from psephos.protocol.fair_voting import FairVoting
from psephos.protocol.fair_voting import Parameters as Fair
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
