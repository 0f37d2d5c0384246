"""Many elections at once are so many sessions: the same noise, one session at a time, elects the same winners."""

import dataclasses
import itertools
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.arrays import FloatArray
from psephos.protocol.fair_voting import FairVoting, Objective, Parameters
from psephos.protocol.fair_voting.choices import ExponentialChoice
from psephos.protocol.mechanisms.binomial import draw_binomial
from psephos.protocol.phases import Inputs
from psephos.protocol.population import run_population
from psephos.protocol.randomness import SimulatedNoise
from psephos.scenarios.fair_voting.binomials import draw_binomials
from psephos.scenarios.fair_voting.elections import ElectionRelease, choice_shares, elect, has_quick_law, release
from psephos.scenarios.fair_voting.paper.cells import (
    FITTED,
    OBJECTIVES,
    READ,
    ElectorateCells,
    MallowsPair,
    electorate,
    with_objective,
)
from psephos.scenarios.fair_voting.profiles import Profiles, fixed_profile
from thoroughness import draws

SEED, CELL, TRIALS = 3, "a cell", draws(8, full=40)
SIZES = (9, 5)
DRAWN: list[tuple[str, dict[str, Any]]] = [
    ("laplace", {}),
    ("laplace", {"calibration": "printed"}),
    ("sampling", {"num_samples": 4, "gamma": 0.3}),
    ("sampling", {"num_samples": 4, "scale": "printed"}),
    ("sampling", {"num_samples": 3, "reading": "subsample"}),
    ("sampled_pair", {}),
    ("sampled_position", {}),
    ("whole_ranking", {}),
    ("noisy_scores", {}),
]
"""Mechanisms whose winners are drawn, and their parameters."""


class ShiftedNoise(SimulatedNoise):
    """The noise of later places: that of the release by trials, that of voters by all voters of earlier trials."""

    def __init__(self, trial: int, num_voters: int) -> None:
        super().__init__(SEED, session=CELL)
        self.trial = trial
        self.num_voters = num_voters

    def uniforms(self, *, protocol: str, phase: str, start: int, stop: int, slots: int) -> FloatArray:
        shift = self.trial * (1 if phase.startswith("release") else self.num_voters)
        return super().uniforms(protocol=protocol, phase=phase, start=start + shift, stop=stop + shift, slots=slots)


def singly(vote: FairVoting, profiles: Profiles, trials: int) -> list[int]:
    """Return every trial's winner, each run as a session of its own."""
    winners: list[int] = []
    for trial in range(trials):
        positions = profiles.positions[0 if profiles.is_fixed else trial].astype(np.int64)
        inputs = Inputs(positions, profiles.members[:, None])
        outcome = run_population(vote, inputs, noise=ShiftedNoise(trial, len(positions))).outcome
        winners.append(int(outcome.winner))
    return winners


def make_vote(mechanism: str, objective: str, sizes: tuple[int, ...] = SIZES, **given: Any) -> FairVoting:
    profiles = Profiles(sizes, np.empty((1, sum(sizes), 4), dtype=np.int8))
    cells = ElectorateCells(profiles=profiles, name="", trials=1, seed=0, max_disparity=0.7, columns={})
    parameters = msgspec.structs.replace(cells.base, mechanism=mechanism, epsilon=2.0, **given)
    return FairVoting(with_objective(parameters, objective))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("mechanism", "given"), DRAWN, ids=str)
def test_trials_are_sessions_run_singly(mechanism: str, given: dict[str, Any], objective: str) -> None:
    """With 4 samples and 14 voters many ΔW tie, and lots are drawn."""
    vote = make_vote(mechanism, objective, **given)
    profiles = electorate(READ, SIZES, trials=TRIALS, seed=1).profiles
    released = release(vote, profiles, trials=TRIALS, noise=SimulatedNoise(SEED, session=CELL))
    winners = elect(released, vote.parameters.make_objective())
    assert winners.tolist() == singly(vote, profiles, TRIALS)
    assert len(set(winners.tolist())) > 1


@pytest.mark.few(most=5)
@pytest.mark.parametrize(("mechanism", "given"), DRAWN, ids=str)
def test_trials_of_one_profile_of_three_groups_are_sessions_run_singly(mechanism: str, given: dict[str, Any]) -> None:
    sizes = (4, 3, 5)
    rows = np.stack([np.random.default_rng(row).permutation(4) for row in range(12)]).astype(np.int64)
    profiles = fixed_profile(rows, np.array([2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 2]), 3)
    assert profiles.group_sizes == sizes
    vote = make_vote(mechanism, "penalized", sizes, **given)
    released = release(vote, profiles, trials=TRIALS, noise=SimulatedNoise(SEED, session=CELL))
    assert elect(released, vote.parameters.make_objective()).tolist() == singly(vote, profiles, TRIALS)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])
def test_shares_are_the_protocol_s_law(mechanism: str, objective: str) -> None:
    vote = make_vote(mechanism, objective)
    profiles = electorate(FITTED, SIZES, trials=TRIALS, seed=1).profiles
    phase = vote.phase
    choice: Any = phase.mechanism if isinstance(phase.mechanism, ExponentialChoice) else getattr(phase, "choice")  # noqa: B009  of the central phase alone
    sums = profiles.sums(choice.scoring).reshape(TRIALS, -1).tolist()
    expected = [choice.probabilities(row) for row in sums]
    np.testing.assert_allclose(choice_shares(vote, profiles), expected, atol=1e-12)
    alone = dataclasses.replace(profiles, positions=profiles.positions[:1], is_fixed=True)
    assert choice_shares(vote, alone).tolist() == [list(expected[0])]


@given(
    values=st.lists(st.lists(st.integers(-6, 6), min_size=3, max_size=3), min_size=2, max_size=3),
    name=st.sampled_from(OBJECTIVES),
    factor=st.sampled_from([1, 2**61]),
)
def test_best_of_is_the_objective_s_best(values: list[list[int]], name: Any, factor: int) -> None:
    """Also where 64 bits would overflow."""
    sizes, denominators = (2, 3, 7)[: len(values)], (6, 4, 5)[: len(values)]
    objective = Objective(name, Fraction(3, 2), Fraction(1, 3))
    unit = Fraction(1, 2 * factor)
    table = np.array(values, dtype=object) * factor
    utilities = [
        [unit * value * factor / denominator for value in row]
        for row, denominator in zip(values, denominators, strict=True)
    ]
    told = table[None].astype(np.int64) if factor == 1 else table[None]
    found = ElectionRelease(told, unit, denominators, sizes).best(objective)
    assert np.flatnonzero(found[0]).tolist() == objective.best_alternatives(utilities, sizes)


@given(
    number=st.integers(1, 300),
    hits=st.lists(st.integers(0, 1000), min_size=1, max_size=5),
    seed=st.integers(0, 2**20),
)
def test_binomials_are_drawn_as_the_protocol_draws_them(number: int, hits: list[int], seed: int) -> None:
    uniforms = np.random.default_rng(seed).random((3, len(hits)))
    found = draw_binomials(number, np.array(hits), np.full(len(hits), 1000), uniforms)
    expected = [
        [draw_binomial(number, Fraction(hit, 1000), uniform) for hit, uniform in zip(hits, row, strict=True)]
        for row in uniforms.tolist()
    ]
    assert found.tolist() == expected


def test_denominators_that_floats_do_not_hold_are_refused() -> None:
    with pytest.raises(ValueError, match=f"the largest denominator is {2**53}: use at most {2**52}"):
        draw_binomials(1, np.array([1]), np.array([2**53]), np.zeros((1, 1)))


def test_profiles_say_what_their_rankings_say() -> None:
    profiles = electorate(FITTED, (3, 2), trials=2, seed=1).profiles
    points = 3 - profiles.positions.astype(np.int64)
    by_group = np.stack([points[:, :3].mean(axis=1), points[:, 3:].mean(axis=1)], axis=1)
    np.testing.assert_allclose(profiles.utilities, by_group)
    np.testing.assert_allclose(profiles.welfares, points.mean(axis=1))
    np.testing.assert_allclose(profiles.disparities, np.abs(by_group[:, 0] - by_group[:, 1]))
    assert len(profiles) == 2
    assert profiles.num_alternatives == 4
    assert profiles.members.tolist() == [0, 0, 0, 1, 1]


def test_voters_are_those_of_their_laws_and_of_every_smaller_electorate() -> None:
    agreed = MallowsPair("agreed", ((3, 1, 0, 2), (0, 1, 2, 3)), (0.0, 0.0), 0.0)
    positions = electorate(agreed, (2, 1), trials=1, seed=1).profiles.positions[0].tolist()
    assert positions == [[2, 1, 3, 0], [2, 1, 3, 0], [0, 1, 2, 3]]
    few, more = (electorate(FITTED, (4, 2), trials=trials, seed=1).profiles.positions for trials in (2, 5))
    assert (few == more[:2]).all()


def test_rankings_of_a_fixed_profile_are_put_side_by_side_by_group() -> None:
    rows = np.array(list(itertools.permutations(range(3)))[:3], dtype=np.int64)
    profiles = fixed_profile(rows, np.array([1, 0, 1]), 2)
    assert profiles.group_sizes == (1, 2)
    assert profiles.positions[0].tolist() == [rows[1].tolist(), rows[0].tolist(), rows[2].tolist()]
    assert profiles.is_fixed


def test_parameters_of_cells_may_have_more_samples_than_are_allowed() -> None:
    cells = electorate(FITTED, (20, 10), trials=12, seed=1)
    parameters: Parameters = cells.parameters("sampling", 0.3)
    assert parameters.samples > 0.3 * 10
    assert cells.first(5).profiles.positions.shape[0] == 5
    assert cells.measure_clean("parity")["agreement"].value == 1.0


def test_winners_of_whom_all_are_alike_leave_an_error() -> None:
    """Half of the share that 40 elections may miss with a chance of 1 in 40 is the error, in parts of what may be."""
    rows = np.array([[0, 1, 2], [0, 1, 2], [1, 0, 2], [2, 0, 1]], dtype=np.int64)
    profiles = fixed_profile(rows, np.array([0, 0, 1, 1]), 2)
    cells = ElectorateCells(profiles=profiles, name="one", trials=40, seed=SEED, max_disparity=1.0, columns={})
    of_noise = cells.measure(cells.parameters("laplace", 30.0), ("parity",))["parity"]
    clean = cells.measure_clean("parity")
    assert {name: own.value for name, own in of_noise.items()} == {name: own.value for name, own in clean.items()}
    spread = float(profiles.disparities.max() - profiles.disparities.min())
    assert of_noise["disparity"].standard_error == pytest.approx(spread * (1 - 0.025 ** (1 / 40)) / 2)
    assert of_noise["agreement"].standard_error == pytest.approx((1 - 0.025 ** (1 / 40)) / 2)
    assert clean["disparity"].standard_error == 0.0


def test_few_samples_have_a_quick_law_as_claims_take_it() -> None:
    cells = electorate(READ, (12, 8), trials=2, seed=SEED)
    given = {"mechanism": "sampling", "gamma": 0.4}
    few, many = (FairVoting(msgspec.structs.replace(cells.base, **given, num_samples=number)) for number in (63, 64))
    assert has_quick_law(few)
    assert not has_quick_law(many)
    shares = choice_shares(few, cells.profiles)
    assert shares.shape == (2, few.disclosed_phase.choice.num_alternatives if few.disclosed_phase.choice else 0)
    assert np.allclose(shares.sum(axis=1), 1.0)
