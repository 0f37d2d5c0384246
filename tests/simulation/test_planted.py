"""Every planted fault is found, in the number of runs that is stated, and without it nothing is."""

import dataclasses
from collections.abc import Callable
from typing import Any, Final

import pytest
from simulate import broken_by, plan_of
from simulation.planted import FAULTS, RARE, planted

pytestmark = pytest.mark.unmeasured


MANY: Final = pytest.mark.full("dozens of runs, or hundreds")
SLOW: Final = {
    "a_journal_forgets_its_last_record",
    "a_phase_is_drawn_again_after_a_restart",
    "a_predecessors_loss_is_told_against_its_successor",
    "a_predecessors_messages_go_to_its_successor",
    "a_reconnection_asks_for_a_second_report",
    "a_released_session_waits_for_nobody",
}
CASES: Final = [
    pytest.param(fault, num_runs, id=fault.__name__, marks=MANY if fault in RARE or fault.__name__ in SLOW else ())
    for fault, num_runs in FAULTS.items()
]


@pytest.mark.parametrize(("fault", "num_runs"), CASES)
def test_a_planted_fault_is_found(fault: Callable[[], Any], num_runs: int) -> None:
    plans = (dataclasses.replace(plan_of(seed), **RARE.get(fault, {})) for seed in range(num_runs))
    with planted(fault):
        assert any(broken_by(plan) is not None for plan in plans)


@pytest.mark.full("hundreds of runs")
@pytest.mark.parametrize("fault", list(RARE), ids=[fault.__name__ for fault in RARE])
def test_plans_for_rare_faults_break_nothing_without_them(fault: Callable[[], Any]) -> None:
    for seed in range(FAULTS[fault]):
        assert broken_by(dataclasses.replace(plan_of(seed), **RARE[fault])) is None
