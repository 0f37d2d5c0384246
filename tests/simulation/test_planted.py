"""Every planted fault is found, in the number of runs that is stated, and without it nothing is."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from simulate import broken_by, plan_of
from simulation.planted import FAULTS, RARE, planted

pytestmark = pytest.mark.unmeasured


@pytest.mark.parametrize(("fault", "num_runs"), list(FAULTS.items()), ids=[fault.__name__ for fault in FAULTS])
def test_a_planted_fault_is_found(fault: Callable[[], Any], num_runs: int) -> None:
    plans = (dataclasses.replace(plan_of(seed), **RARE.get(fault, {})) for seed in range(num_runs))
    with planted(fault):
        assert any(broken_by(plan) is not None for plan in plans)


@pytest.mark.parametrize("fault", list(RARE), ids=[fault.__name__ for fault in RARE])
def test_plans_for_rare_faults_break_nothing_without_them(fault: Callable[[], Any]) -> None:
    for seed in range(FAULTS[fault]):
        assert broken_by(dataclasses.replace(plan_of(seed), **RARE[fault])) is None
