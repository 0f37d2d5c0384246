"""Many votes at once are so many votes: the same noise, one vote at a time, gives the same decisions and errors."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.arrays import FloatArray
from psephos.protocol.dpwevote import DPWeVote
from psephos.protocol.phases import Inputs
from psephos.protocol.population import run_population
from psephos.protocol.randomness import SimulatedNoise, stream_key
from psephos.scenarios.dpwevote.measures import VoteMeasures
from psephos.scenarios.dpwevote.paper import trials as module
from psephos.scenarios.dpwevote.paper.trials import Cells, Trials
from psephos.scenarios.dpwevote.paper.workloads import (
    ALL_HEAVY,
    FEW_HEAVY,
    UNIFORM,
    Workload,
    even_weights,
    inputs_of_pairs,
    make_vote,
)

SEED = 5
VARIANTS = ("printed", "joint", "laplace", "two_point", "signed_rr", "optimal")


class ShiftedNoise(SimulatedNoise):
    """The noise of the parties behind the first few."""

    def __init__(self, cell: str, shift: int) -> None:
        super().__init__(SEED, session=cell)
        self.shift = shift

    def uniforms(self, *, protocol: str, phase: str, start: int, stop: int, slots: int) -> FloatArray:
        return super().uniforms(
            protocol=protocol, phase=phase, start=start + self.shift, stop=stop + self.shift, slots=slots
        )


def singly(vote: DPWeVote, workload: Workload, num_partners: int, trials: int) -> Iterator[tuple[Inputs, Any]]:
    """Yield every trial's inputs and what it gave, each run as a vote of its own."""
    parameters = vote.parameters
    cell = f"{workload.name}/{parameters.variant}/n={num_partners}/epsilon={parameters.epsilon!r}"
    key = stream_key(seed=SEED, session=cell, round_number=0, protocol=vote.name, phase="pairs", purpose="workload")
    rows = inputs_of_pairs(vote)
    for trial, pairs in enumerate(workload.pairs(num_partners, key=key, start=0, stop=trials)):
        inputs = Inputs(rows.private[pairs], rows.public[pairs])
        yield inputs, run_population(vote, inputs, noise=ShiftedNoise(cell, trial * num_partners))


def at_once(vote: DPWeVote, workload: Workload, num_partners: int, trials: int) -> Trials:
    return Cells(trials=trials, seed=SEED).run(vote, workload, num_partners=num_partners)


@pytest.mark.few(most=3)
@pytest.mark.parametrize("workload", [UNIFORM, FEW_HEAVY], ids=lambda workload: workload.name)
@pytest.mark.parametrize("num_partners", [4, 25])
@pytest.mark.parametrize("variant", VARIANTS)
def test_trials_are_votes_run_singly(variant: str, num_partners: int, workload: Workload) -> None:
    """With 4 partners a third of the two-point margins are ties, which floats alone would not decide."""
    vote = make_vote(variant, epsilon=1.5)
    found = at_once(vote, workload, num_partners, 60)
    votes = [(inputs, result.outcome) for inputs, result in singly(vote, workload, num_partners, 60)]
    passed = [outcome.candidates[0].leans_yes for _, outcome in votes]
    truths = [vote.truth(inputs) for inputs, _ in votes]
    should_pass = [truth["candidate"] >= truth["quota"] for truth in truths]
    assert found["passed"].tolist() == passed
    assert found["is_right"].tolist() == [own == true for own, true in zip(passed, should_pass, strict=True)]
    if "q" in found:
        quotas = [outcome.candidates[0].quota for _, outcome in votes]
        expected = [
            ((quota.value - truth["quota"]) / truth["total weight"]) ** 2
            for quota, truth in zip(quotas, truths, strict=True)
        ]
        np.testing.assert_allclose(found["q"], expected, rtol=1e-9, atol=1e-30)  # an error of 0 may be rounding


@pytest.mark.parametrize("variant", ["printed", "joint", "laplace", "two_point"])
def test_trials_of_one_s_own_are_measured_by_the_same_formulas(variant: str) -> None:
    """`psephos trials` measures one session at a time; of the same noise it has the paper's numbers."""
    vote = make_vote(variant=variant, epsilon=1.0)
    found = at_once(vote, UNIFORM, 25, 3)
    for trial, (inputs, result) in enumerate(singly(vote, UNIFORM, 25, 3)):
        own = VoteMeasures(vote, inputs, gold={}).of(result.outcome, result.tallies)
        assert own["accuracy"] == found["is_right"][trial]
        names = {"w": "MSE weights", "q": "MSE quota", "phi": "MSE yes votes"}
        measured = {name: own[names[name]] for name in names if names[name] in own}
        assert measured == {name: pytest.approx(found[name][trial], rel=1e-9) for name in names if name in found}


@pytest.mark.parametrize("variant", ["printed", "joint"])
def test_the_weights_error_is_that_of_the_released_counts(variant: str) -> None:
    vote = make_vote(variant, epsilon=1.0)
    found = at_once(vote, UNIFORM, 20, 30)["w"]
    for (inputs, result), error in zip(singly(vote, UNIFORM, 20, 30), found.tolist(), strict=True):
        true = np.bincount(inputs.private[:, -1], minlength=3)
        estimated = np.array([count.count.value for count in result.outcome.weight_counts])
        assert error == pytest.approx(float(np.mean(((estimated - true) / 20) ** 2)), rel=1e-9)


def test_the_opinions_error_of_both_variants_by_hand() -> None:
    """One partner of weight 3 says yes; the estimates of its report are the columns of the inverse matrices."""
    epsilon = 2.0
    one = Workload("one", (0, 0, 0, 0, 0, 1.0), is_drawn=False)
    keep, p = math.e / (math.e + 2), math.e / (math.e + 1)
    lie = (1 - keep) / 2
    yes, no = (1 - (1 - p)) / (2 * p - 1), (0 - (1 - p)) / (2 * p - 1)
    truth = np.array([0, 0, 1])
    groups: list[FloatArray] = list(np.eye(3))
    by_report = [(group, opinion) for group in groups for opinion in (yes, no)]
    possible = {
        "printed": [float(np.mean((group * opinion - truth) ** 2)) for group, opinion in by_report],
        "joint": [float(np.mean(((g - lie) / (keep - lie) * o - truth) ** 2)) for g, o in by_report],
    }
    for variant, values in possible.items():
        errors = at_once(make_vote(variant, epsilon=epsilon), one, 1, 300)["phi"]
        nearest = np.abs(errors[:, None] - np.array(values)).min(axis=1)
        assert float(nearest.max()) < 1e-9
        assert len(np.unique(errors.round(9))) == len(set(np.round(values, 9).tolist()))


@pytest.mark.parametrize("variant", ["printed", "laplace", "optimal"])
def test_the_result_does_not_depend_on_how_many_are_run_at_a_time(
    variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decisions to the bit, and errors but for the last one, in which products of matrices depend on their size."""
    vote = make_vote(variant, epsilon=1.0)
    whole = at_once(vote, UNIFORM, 7, 40)
    monkeypatch.setattr(module, "_ROWS_AT_A_TIME", 22)
    parts = at_once(vote, UNIFORM, 7, 40)
    assert whole.keys() == parts.keys()
    for name, numbers in whole.items():
        np.testing.assert_allclose(numbers, parts[name], rtol=1e-14)


def test_cells_share_no_noise() -> None:
    vote = make_vote("printed", epsilon=1.0)
    runs = [
        Cells(trials=200, seed=seed).run(vote, workload, num_partners=9, label=label)
        for workload, seed, label in (
            *((UNIFORM, 1, label) for label in ("one", "other")),
            *((ALL_HEAVY, seed, label) for seed, label in ((1, "one"), (1, "other"), (2, "one"))),
        )
    ]
    uniform = [found["is_right"].tolist() for found in runs[:2]]
    fixed = [found["passed"].tolist() for found in runs[2:]]
    assert uniform[0] != uniform[1]
    assert fixed[0] != fixed[1]
    assert fixed[0] != fixed[2]


def test_a_cell_is_measured_once_and_more_trials_are_another_cell() -> None:
    cells = Cells(trials=50, seed=1)
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
    assert even_weights(0.6).numbers(15) == (2, 3, 2, 3, 2, 3)
    assert ALL_HEAVY.pairs(10, key=1, start=3, stop=5).tolist() == [[4] * 4 + [5] * 6] * 2


def test_drawn_pairs_are_uniform_and_addressed() -> None:
    """60,000 pairs: each of six numbers has a standard deviation of 91; 450 is nearly five: false alarm 5e-6."""
    pairs = UNIFORM.pairs(60, key=7, start=0, stop=1000)
    assert np.abs(np.bincount(pairs.reshape(-1), minlength=6) - 10_000).max() < 450
    np.testing.assert_array_equal(UNIFORM.pairs(60, key=7, start=500, stop=510), pairs[500:510])
