"""Masked sessions audited: what is left of a sum, and what else is seen, of each system and of five parties."""

from collections.abc import Callable
from typing import Final

import pytest
from audits import found_by
from psephos.protocol.privacy import TrustModel
from psephos.scenarios.audit import AuditVerdict
from psephos.scenarios.audit.masked_configurations import MaskedStage, sizes_of
from psephos.scenarios.dpwevote.audit.sessions import masked_configuration as of_votes
from psephos.scenarios.fair_voting.audit.sessions import masked_configuration as of_rankings
from psephos.scenarios.moral_preferences.audit.sessions import masked_configuration as of_records
from psephos.scenarios.truth_discovery.audit.sessions import masked_configuration as of_answers

_OF_VOTES: Final = {"weights": 3, "candidates": 2, "partners": 5, "votes in a row": 2}
STAGES: Final[dict[str, Callable[[], MaskedStage]]] = {
    "votes": lambda: of_votes("two thirds", _OF_VOTES),
    "votes with public weights": lambda: of_votes("public weights", _OF_VOTES),
    "rankings": lambda: of_rankings("borda", {"alternatives": 3, "voters": 4, "groups": 2}),
    "answers": lambda: of_answers("two answer sets", {"labels": 2, "answers": 3, "workers": 5}),
    "answers to some tasks": lambda: of_answers("half of the tasks", {"labels": 3, "answers": 3, "workers": 4}),
    "preferences of voters": lambda: of_records("VLMP", {"features": 2, "records": 2, "voters": 5}),
    "preferences of records": lambda: of_records("RLMP", {"features": 2, "records": 2, "voters": 5}),
}


@pytest.mark.parametrize("number", range(2, 13))
def test_threshold_and_colluders_fit_any_number_of_parties(number: int) -> None:
    sizes = sizes_of(number)
    threshold, colluders = sizes["threshold"], sizes["colluders"]
    assert number + colluders < 2 * threshold <= 2 * number
    assert 1 <= colluders < threshold


@pytest.mark.few(most=4)
@pytest.mark.parametrize("name", STAGES)
def test_what_is_left_of_a_masked_sum_has_its_law_and_its_ends_lose_what_is_charged(name: str) -> None:
    case = STAGES[name]().case(name, seed=1)
    result = found_by(case, 20_000, 0.999)
    assert (case.model, result.verdict) == (TrustModel.DISTRIBUTED, AuditVerdict.CONSISTENT)
    assert result.epsilon is not None
    assert case.proven * (1 - 1e-5) <= result.epsilon <= case.proven  # what is on a grid is rounded towards 0


@pytest.mark.parametrize(
    "name", ["votes", *(pytest.param(name, marks=pytest.mark.full("seconds of sessions")) for name in [*STAGES][1:])]
)
def test_all_that_is_seen_of_sessions_by_machines_says_nothing_else(name: str) -> None:
    case = STAGES[name]().case(name, seed=1)
    assert found_by(case, 1_000, 0.999, source="secure").verdict is AuditVerdict.CONSISTENT
