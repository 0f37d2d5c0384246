"""Probabilities of errors under named priors: against numerical integration, and at their limits."""

from fractions import Fraction

import numpy as np
import pytest
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.dpwevote.error_prior import Electorate, ErrorPrior, error_probability, threshold_of, unit_of
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.estimators import Estimate
from psephos.scenarios import simulate
from scipy.stats import norm

ELECTORATE = Electorate(least=-60.0, greatest=60.0, squares=140.0, threshold=-0.25)


def integrated(margin: Estimate, electorate: Electorate, prior: ErrorPrior, *, passed: bool) -> float:
    """Return the same by a fine sum over the true margins, on either side of the threshold by itself."""

    def mass(low: float, high: float) -> float:
        step = (high - low) / 20_000
        true = low + step * (np.arange(20_000) + 0.5)
        likelihood = norm.pdf(margin.value, true, margin.standard_error)
        weights = likelihood / (electorate.greatest - electorate.least)
        if prior == "mixed":
            center = (electorate.least + electorate.greatest) / 2
            weights = weights + likelihood * norm.pdf(true, center, np.sqrt(electorate.squares / 4))
        return step * float(weights.sum())

    below = mass(electorate.least, electorate.threshold)
    above = mass(electorate.threshold, electorate.greatest)
    return (below if passed else above) / (below + above)


@pytest.mark.parametrize("prior", ["mixed", "uniform"])
@pytest.mark.parametrize("value", [-70.0, -20.0, -0.1, 0.0, 3.0, 45.0, 64.0])
@pytest.mark.parametrize("error", [3.0, 12.0, 60.0])
def test_the_probability_is_the_integral_over_the_prior(prior: ErrorPrior, value: float, error: float) -> None:
    """The fair coins' tail beyond the range, which the formula leaves in, is below 1e-20 of them."""
    for passed in (True, False):
        margin = Estimate(value, error)
        found = error_probability(margin, ELECTORATE, prior=prior, passed=passed)
        assert found == pytest.approx(integrated(margin, ELECTORATE, prior, passed=passed), abs=1e-7)


@pytest.mark.parametrize("prior", ["mixed", "uniform"])
def test_the_two_decisions_are_wrong_with_complementary_probabilities(prior: ErrorPrior) -> None:
    for value in (-1e9, -80.0, -3.0, 0.0, 12.0, 1e9):
        margin = Estimate(value, 10.0)
        both = [error_probability(margin, ELECTORATE, prior=prior, passed=passed) for passed in (True, False)]
        assert sum(both) == pytest.approx(1)
        assert min(both) >= 0


def test_where_nothing_can_pass_a_pass_is_wrong_for_sure() -> None:
    """A quota beyond all weight, or so many absent that nobody who votes can reach it."""
    none = Electorate(least=-6.0, greatest=-2.0, squares=4.0, threshold=-0.25)
    assert error_probability(Estimate(1.0, 5.0), none, prior="uniform", passed=True) == 1
    assert error_probability(Estimate(1.0, 5.0), none, prior="uniform", passed=False) == 0


def test_what_was_not_randomized_is_certain() -> None:
    for value, passed, wrong in ((0.0, True, 0.0), (0.0, False, 1.0), (-0.5, True, 1.0), (-0.5, False, 0.0)):
        assert error_probability(Estimate(value, 0.0), ELECTORATE, prior="mixed", passed=passed) == wrong


def test_small_probabilities_keep_their_digits() -> None:
    """Ten standard errors from the threshold, far from the ends: Φ(−10) but for the range's ends."""
    wide = Electorate(least=-1e6, greatest=1e6, squares=4e6, threshold=0.0)
    found = error_probability(Estimate(10.0, 1.0), wide, prior="uniform", passed=True)
    assert found == pytest.approx(7.619853e-24, rel=1e-6)


def test_margins_lie_on_a_lattice_and_the_threshold_between_two_of_them() -> None:
    half = Fraction(1, 2)
    assert unit_of([Fraction(1), Fraction(2), half]) == half
    assert unit_of([Fraction(3, 10), Fraction(9, 20)]) == Fraction(3, 20)
    assert threshold_of(Fraction(-3), half, tie_passes=True) == Fraction(-1, 4)
    assert threshold_of(Fraction(-3), half, tie_passes=False) == Fraction(1, 4)
    # An odd number of partners of weight 1 has no tie.
    assert threshold_of(Fraction(-3, 2), Fraction(1), tie_passes=True) == 0


@pytest.mark.bad_input("an error prior that is unknown, or impossible for a quota; a level outside (0, 1/2)")
@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"error_prior": "mixed", "quota": 5.0}, "error_prior"),
        ({"error_prior": "mixed", "quota_fraction": 0.6}, "error_prior"),
        ({"level": 0.0}, "level"),
        ({"level": 0.5}, "level"),
        ({"level": float("nan")}, "level"),
    ],
)
def test_a_prior_or_a_level_that_cannot_be_is_refused(given: dict[str, object], field: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Parameters(candidates=("a",), **given)  # pyright: ignore[reportArgumentType]  a table of bad ones
    assert refused.value.field == field


def test_the_outcome_names_its_prior_and_levels() -> None:
    partners = {f"p{n}": (1 + n % 3, n % 2, 1) for n in range(30)}

    def released(**options: object) -> tuple[str, float]:
        vote = DPWeVote(Parameters(candidates=("a", "b"), **options))  # pyright: ignore[reportArgumentType]  any
        outcome = simulate(vote, partners, seed=1)
        return outcome.error_prior, outcome.joint_level

    assert released() == ("mixed", 0.1)
    assert released(quota_fraction=0.5, level=0.01) == ("mixed", 0.02)
    assert released(quota_fraction=0.6) == ("uniform", 0.1)
    assert released(error_prior="uniform") == ("uniform", 0.1)
