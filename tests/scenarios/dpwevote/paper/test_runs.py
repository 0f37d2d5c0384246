"""Many votes at once are so many votes: the same noise, one vote at a time, gives the same decisions and errors."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.dpwevote import DPWeVote
from psephos.protocol.phases import Inputs
from psephos.protocol.population import run_population
from psephos.protocol.randomness import SimulatedNoise, stream_key
from psephos.scenarios.dpwevote.measures import VoteMeasures
from psephos.scenarios.dpwevote.paper.runs import VoteCells
from psephos.scenarios.dpwevote.paper.workloads import FIXED, UNIFORM, Workload, fixed_votes, inputs_of_pairs, make_vote

SEED = 5
ALL_HEAVY, FEW_HEAVY = FIXED
VARIANTS = ("printed", "joint", "laplace", "two_point", "signed_rr", "optimal")


def singly(vote: DPWeVote, workload: Workload, num_partners: int, trials: int) -> Iterator[tuple[Inputs, Any]]:
    """Yield every trial's inputs and what it gave, each run as a vote of its own."""
    parameters = vote.parameters
    cell = f"{workload.name}/{parameters.variant}/n={num_partners}/epsilon={parameters.epsilon!r}"
    key = stream_key(seed=SEED, session=cell, round_number=0, protocol=vote.name, phase="pairs", purpose="workload")
    rows = inputs_of_pairs(vote)
    for trial, pairs in enumerate(workload.pairs(num_partners, key=key, start=0, stop=trials)):
        inputs = Inputs(rows.private[pairs], rows.public[pairs])
        yield inputs, run_population(vote, inputs, noise=SimulatedNoise(SEED, session=cell, round_number=trial))


def at_once(vote: DPWeVote, workload: Workload, num_partners: int, trials: int) -> Mapping[str, Any]:
    return VoteCells(trials=trials, seed=SEED).run(vote, workload, num_partners=num_partners)


@pytest.mark.few(most=3)
@pytest.mark.parametrize("workload", [UNIFORM, FEW_HEAVY], ids=lambda workload: workload.name)
@pytest.mark.parametrize("num_partners", [4, 25])
@pytest.mark.parametrize("variant", VARIANTS)
def test_trials_are_votes_run_singly(variant: str, num_partners: int, workload: Workload) -> None:
    """To the bit; with 4 partners a third of the two-point margins are ties, which floats alone would not decide."""
    vote = make_vote(variant, epsilon=1.5)
    found = at_once(vote, workload, num_partners, 60)
    for trial, (inputs, result) in enumerate(singly(vote, workload, num_partners, 60)):
        own = VoteMeasures(vote, inputs, gold={}).of(result.outcome, result.tallies)
        assert found["passed"][trial] == result.outcome.candidates[0].leans_yes
        assert {name: numbers[trial] for name, numbers in found.items() if name != "passed"} == own


def test_the_opinions_error_of_both_variants_by_hand() -> None:
    """One partner of weight 3 says yes; the estimates of its report are the columns of the inverse matrices."""
    one = Workload("one", (0, 0, 0, 0, 0, 1.0), is_drawn=False)
    keep, p = math.e / (math.e + 2), math.e / (math.e + 1)
    lie = (1 - keep) / 2
    groups = np.eye(3)[:, None]
    opinions = np.array([p, p - 1])[None, :, None] / (2 * p - 1)  # of yes and no
    truth = [0, 0, 1]
    for variant, estimates in (("printed", groups * opinions), ("joint", (groups - lie) / (keep - lie) * opinions)):
        values = np.square(estimates - truth).mean(axis=2).ravel()
        errors = at_once(make_vote(variant, epsilon=2.0), one, 1, 300)["MSE yes votes"]
        assert float(np.abs(errors[:, None] - values).min(axis=1).max()) < 1e-9
        assert len(np.unique(errors.round(9))) == len(np.unique(values.round(9)))


def test_cells_share_no_noise() -> None:
    vote = make_vote("printed", epsilon=1.0)

    def run(workload: Workload, measure: str, label: str, seed: int = 1) -> list[float]:
        found = VoteCells(trials=200, seed=seed).run(vote, workload, num_partners=9, label=label)
        return found[measure].tolist()

    assert run(UNIFORM, "accuracy", "one") != run(UNIFORM, "accuracy", "other")
    fixed = run(ALL_HEAVY, "passed", "one")
    assert fixed != run(ALL_HEAVY, "passed", "other")
    assert fixed != run(ALL_HEAVY, "passed", "one", seed=2)


def test_a_cell_is_measured_once_and_more_trials_are_another_cell() -> None:
    cells = VoteCells(trials=50, seed=1)
    vote = make_vote("joint", epsilon=1.0)
    assert cells.run(vote, UNIFORM, num_partners=5) is cells.run(vote, UNIFORM, num_partners=5)
    assert len(cells.run(vote, UNIFORM, num_partners=5, times=3)["passed"]) == 150


@given(
    shares=st.lists(st.integers(0, 20), min_size=6, max_size=6).filter(any),
    num_partners=st.integers(1, 400),
)
def test_fixed_numbers_are_the_shares_rounded(shares: list[int], num_partners: int) -> None:
    exact = [share / sum(shares) for share in shares]
    numbers = Workload("any", tuple(exact), is_drawn=False).numbers(num_partners)
    assert sum(numbers) == num_partners
    assert all(abs(n - share * num_partners) < 1 for n, share in zip(numbers, exact, strict=True))


def test_the_workloads_are_what_they_say() -> None:
    assert ALL_HEAVY.numbers(500) == (0, 0, 0, 0, 200, 300)
    assert FEW_HEAVY.numbers(500) == (270, 180, 0, 0, 30, 20)
    assert fixed_votes("even", (1 / 3, 1 / 3, 1 / 3), 0.6).numbers(15) == (2, 3, 2, 3, 2, 3)
    assert ALL_HEAVY.pairs(10, key=1, start=3, stop=5).tolist() == [[4] * 4 + [5] * 6] * 2


def test_drawn_pairs_are_uniform_and_addressed() -> None:
    """60,000 pairs: each of six numbers has a standard deviation of 91; 450 is nearly five: false alarm 5e-6."""
    pairs = UNIFORM.pairs(60, key=7, start=0, stop=1000)
    assert np.abs(np.bincount(pairs.reshape(-1), minlength=6) - 10_000).max() < 450
    np.testing.assert_array_equal(UNIFORM.pairs(60, key=7, start=500, stop=510), pairs[500:510])
