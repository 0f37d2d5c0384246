"""Certainties of decisions and probabilities of winners: right under their own priors, and verdicts for every truth.

Seeds are fixed; each test states the probability that another seed would fail although all is right.
"""

import itertools
import math
from collections.abc import Sequence

import pytest
from psephos.protocol.fair_voting.objective import ObjectiveName
from psephos.protocol.fair_voting.parameters import MechanismName
from psephos.scenarios.experiments import Claims
from psephos.scenarios.fair_voting.calibration import PROFILES, SETTINGS
from psephos.scenarios.fair_voting.calibration import Cell as WinnerCell
from psephos.scenarios.fair_voting.calibration import measure as measure_winners
from psephos.scenarios.moral_preferences.calibration import DIVISIONS, SOCIETIES, WAYS, measure_differences
from psephos.scenarios.moral_preferences.calibration import Cell as DecisionCell
from psephos.scenarios.moral_preferences.calibration import measure as measure_decisions
from scipy.stats import binom
from thoroughness import IS_FULL, draws

pytestmark = pytest.mark.unmeasured  # thousands of sessions, on ways that the mirrors' tests take too

TRIALS = draws(10, full=400)
# Of noisy maxima, each session of which maximizes a hundred objectives.
MAXIMA = "functional, RLDP"
ADDITIVE = [way for way in WAYS if way != MAXIMA]
VOTES = draws(10, full=200)
OBJECTIVES: tuple[ObjectiveName, ...] = ("parity", "constrained", "penalized", "welfare_constrained")


def check_claims(cells: Sequence[Claims], *, slack: float) -> None:
    """Fail where claims of all cells together are not calibrated.

    Each squared deviation has mean 1 and, but for small claims, variance 2: their sum is held to five standard
    deviations, and the difference of all claims to 4.5 and a stated slack. False alarm below 1e-4 for the two together,
    which allows for the heavier tail of cells with small claims.
    """
    squares = math.fsum(min(cell.deviation**2, 25.0) for cell in cells)
    assert squares < len(cells) + 5 * math.sqrt(2 * len(cells))
    number = sum(cell.number for cell in cells)
    claimed = math.fsum(cell.claimed * cell.number for cell in cells) / number
    found = math.fsum(cell.found * cell.number for cell in cells) / number
    assert abs(found - claimed) < 4.5 * math.sqrt(claimed * (1 - claimed) / number) + slack


def check_level(shares: Sequence[tuple[float, int]], level: float) -> None:
    """Fail where wrong verdicts of all cells are more than the binomial law allows at the level; chance 1e-6."""
    number = sum(trials for _, trials in shares)
    wrong = round(math.fsum(share * trials for share, trials in shares))
    assert binom.sf(wrong - 1, number, level) > 1e-6


@pytest.mark.parametrize("prior", ["ball", pytest.param("size", marks=pytest.mark.full("as ball, in as many seconds"))])
def test_certainties_are_calibrated_under_the_prior_that_they_name(prior: str) -> None:
    """A slack of 2 %: priors and noise are taken as normal. False alarm: 1e-4 for each prior."""
    cells: list[DecisionCell] = []
    for way, size in itertools.product(ADDITIVE, (3, 10, 23)):
        for epsilon in WAYS[way].epsilons:
            of_priors = measure_decisions(
                way, num_features=size, epsilon=epsilon, society=prior, trials=TRIALS, seed=51
            )
            cells += [cell for cell in of_priors if cell.prior == prior]
    check_claims(cells, slack=0.02)


@pytest.mark.full("thousands of sessions of slow maxima")
@pytest.mark.parametrize("sizes", [(3,), (10, 23)])
@pytest.mark.parametrize("prior", ["ball", "size"])
def test_certainties_of_noisy_maxima_are_calibrated_under_the_prior_that_they_name(
    prior: str, sizes: Sequence[int]
) -> None:
    """A slack of 2 %, in which is the simulation's error as well. False alarm: 1e-4 for each of four."""
    cells: list[DecisionCell] = []
    epsilons = WAYS[MAXIMA].epsilons if IS_FULL else WAYS[MAXIMA].epsilons[:1]
    for size, epsilon in itertools.product(sizes, epsilons):
        of_priors = measure_decisions(MAXIMA, num_features=size, epsilon=epsilon, society=prior, trials=TRIALS, seed=55)
        cells += [cell for cell in of_priors if cell.prior == prior]
    check_claims(cells, slack=0.02)


@pytest.mark.full("each society many times")
@pytest.mark.parametrize("society", list(SOCIETIES))
@pytest.mark.parametrize("level", [0.05, 0.01])
def test_no_society_gets_more_wrong_verdicts_than_the_level(society: str, level: float) -> None:
    """Ten of 1e-6."""
    shares: list[tuple[float, int]] = []
    for way, size in itertools.product(ADDITIVE, (1, 3, 10)):
        cell, _ = measure_decisions(
            way,
            num_features=size,
            epsilon=WAYS[way].epsilons[0],
            society=society,
            trials=2 * TRIALS,
            seed=52,
            level=level,
        )
        shares.append((cell.verdicts_wrong, cell.number))
    check_level(shares, level)


@pytest.mark.parametrize("division", list(DIVISIONS))
@pytest.mark.parametrize("level", [0.05, pytest.param(0.3, marks=pytest.mark.full("the same at another level"))])
def test_verdicts_and_intervals_of_all_differences_hold_at_once(division: str, level: float) -> None:
    """No more sessions have any wrong verdict, or miss any difference, than the level says; twelve of 1e-6."""
    cells = [
        measure_differences(
            way, num_features=size, epsilon=price, division=division, trials=VOTES, seed=56, level=level
        )
        for way in ADDITIVE
        for size, price in ((1, WAYS[way].epsilons[-1]), (5, 10 * WAYS[way].epsilons[-1]))
    ]
    check_level([(cell.wrong, cell.number) for cell in cells], level)
    check_level([(cell.missed, cell.number) for cell in cells], level)
    if division == "apart":
        assert all(cell.decided > 0.3 for cell in cells if cell.num_features > 1)


def test_probabilities_of_winners_are_calibrated_under_the_prior_that_they_name() -> None:
    """Exact for released estimates but for the draws, a hundredth; false alarm: 1e-4."""
    cells = [
        measure_winners("laplace", objective=objective, setting=setting, profiles="prior", trials=VOTES, seed=53)
        for objective in OBJECTIVES
        for setting in SETTINGS
    ]
    assert {cell.prior for cell in cells} == {"uniform differences", "uniform utilities"}
    check_claims(cells, slack=0.01)


@pytest.mark.few
@pytest.mark.parametrize(
    "mechanism",
    [
        "laplace",
        "noisy_scores",
        "sampled_pair",
        pytest.param("joint_pair", marks=pytest.mark.full("each voter reports of every group")),
        pytest.param("joint_scores", marks=pytest.mark.full("each voter reports of every group")),
    ],
)
@pytest.mark.parametrize(
    "objective",
    [*OBJECTIVES[:-1], pytest.param(OBJECTIVES[-1], marks=pytest.mark.full("a fourth of what already takes seconds"))],
)
def test_no_profiles_get_more_wrong_winners_confirmed_than_the_level(
    mechanism: MechanismName, objective: ObjectiveName
) -> None:
    """Where alternatives are nearly as good; twenty of 1e-6."""
    cells: list[WinnerCell] = [
        measure_winners(mechanism, objective=objective, setting=setting, profiles=profiles, trials=VOTES, seed=54)
        for setting in SETTINGS
        for profiles in PROFILES
        if profiles in {"near", "alike"}
    ]
    check_level([(cell.verdicts_wrong, cell.number) for cell in cells], 0.05)


@pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])
def test_winners_alone_lack_their_shortfall_no_more_often_than_the_level(mechanism: MechanismName) -> None:
    """Two of 1e-6."""
    cells = [
        measure_winners(mechanism, objective="parity", setting=setting, profiles=profiles, trials=VOTES, seed=55)
        for setting in SETTINGS
        for profiles in PROFILES
    ]
    assert all(math.isnan(cell.decided) for cell in cells)
    check_level([(cell.found, cell.number) for cell in cells], 0.05)
