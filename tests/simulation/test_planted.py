"""Every planted fault is found, in the number of runs that is stated, and without it nothing is."""

import dataclasses
from collections.abc import Callable
from typing import Any, Final

import pytest
from simulate import broken_by
from simulation.kinds import KINDS, of_masks, plan_of
from simulation.planted import FAULTS, OF_KINDS, OF_MASKS, RARE, planted
from thoroughness import IS_FULL

pytestmark = pytest.mark.unmeasured


SLOW: Final = {
    "a_predecessors_loss_is_told_against_its_successor",
    "a_reconnection_asks_for_a_second_report",
    "a_released_session_waits_for_nobody",
}
"""What only runs of many seconds find."""
SEEDS: Final = {
    "a_journal_forgets_its_last_record": 4,
    "a_phase_is_drawn_again_after_a_restart": 14,
    "a_predecessors_messages_go_to_its_successor": 123,
    "a_restarted_server_forgets_one_report": 22,
    "another_configuration_is_taken_up": 59,
    "noise_is_drawn_again_after_a_restart": 76,
}
"""Of a run that finds what the first ones do not, or more quickly: the one that is tried when quick."""
CASES: Final = [
    pytest.param(
        fault,
        num_runs,
        id=fault.__name__,
        marks=pytest.mark.full("runs of many seconds") if fault.__name__ in SLOW else (),
    )
    for fault, num_runs in FAULTS.items()
]


@pytest.mark.parametrize(("fault", "num_runs"), CASES)
def test_a_planted_fault_is_found(fault: Callable[[], Any], num_runs: int) -> None:
    seeds = range(num_runs)
    if not IS_FULL and fault.__name__ in SEEDS:
        seeds = [SEEDS[fault.__name__]]
    plans = (dataclasses.replace(plan_of(seed), **RARE.get(fault, {})) for seed in seeds)
    with planted(fault):
        assert any(broken_by(plan) is not None for plan in plans)


@pytest.mark.parametrize(("fault", "seed"), OF_MASKS.items(), ids=[fault.__name__ for fault in OF_MASKS])
def test_a_planted_fault_in_masked_sums_is_found(fault: Callable[[], Any], seed: int) -> None:
    with planted(fault):
        assert broken_by(of_masks(seed)) is not None


@pytest.mark.parametrize(("fault", "run"), OF_KINDS.items(), ids=[fault.__name__ for fault in OF_KINDS])
def test_a_planted_fault_in_windows_hosts_and_accusations_is_found(
    fault: Callable[[], Any], run: tuple[str, int]
) -> None:
    kind, seed = run
    with planted(fault):
        assert broken_by(KINDS[kind](seed)) is not None


@pytest.mark.full("hundreds of runs")
@pytest.mark.parametrize("fault", list(RARE), ids=[fault.__name__ for fault in RARE])
def test_plans_for_rare_faults_break_nothing_without_them(fault: Callable[[], Any]) -> None:
    for seed in range(FAULTS[fault]):
        assert broken_by(dataclasses.replace(plan_of(seed), **RARE[fault])) is None
