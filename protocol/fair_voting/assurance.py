"""Assurance that a winner is the best: a probability under a named prior, a test, or a bound on its shortfall.

A release of estimates has a probability and a verdict. A release of only the winner has neither, since it does not show
how close the others are. If the mechanism prefers better alternatives, it has a bound on how much better another may
be.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from ..estimators import Verdict
from ..mechanisms.exponential import greatest_choice_deficit, greatest_flip_deficit
from .choices import Choice, ExponentialChoice
from .confirmation import p_value_of
from .objective import OBJECTIVES, Objective, Utilities
from .parameters import Parameters
from .posteriors import DIFFERENCES, UTILITIES, chance_by_differences, chance_by_utilities
from .utility_noise import UtilityNoise

CONFIRMED: Final = "confirmed"


class Assurance(msgspec.Struct, frozen=True, kw_only=True):
    """The assurance that the winner is the best by the objective without noise.

    Args:
        probability: the probability that it is, on average over profiles drawn from the prior. None if only the winner
            is released, or pairs; if reports have several ε; if there are few reports, whose noise may be far from
            normal; and for a registered objective, for which verdict and shortfall are None, too.
        prior: "uniform differences" or "uniform utilities"; None if `probability` is None.
        verdict: "confirmed" if the test is significant, or "too close to tell"; None if there is no test.
        level: the level of the verdict and the shortfall: the greatest probability, whatever the rankings are, that a
            confirmed winner is not the best.
        p_value: the least level at which the winner is confirmed, 1/2 if there is none; None if there is no test.
        shortfall: a bound on how much better another alternative's quality is, which fails with probability at most
            `level`, whatever the rankings are; None if there is no bound.

    Examples:
        >>> assurance = Assurance(
        ...     probability=0.97, prior=UTILITIES, verdict=CONFIRMED, level=0.05, p_value=0.01, shortfall=None
        ... )
        >>> assurance.p_value <= assurance.level
        True
    """

    probability: float | None
    prior: str | None
    verdict: str | None
    level: float
    p_value: float | None
    shortfall: float | None


def assurance_of_estimates(
    parameters: Parameters, utilities: Utilities, winner: int, noise: UtilityNoise | None, *, key: int
) -> Assurance:
    """Return the assurance of a winner by estimates.

    Args:
        parameters: the parameters of the vote.
        utilities: the estimates W_k(a).
        winner: the index of the winner.
        noise: the noise of the estimates; None if a group has no reports.
        key: the public key of simulated draws, < 2**128.
    """
    if parameters.objective not in OBJECTIVES:
        return _unknown_assurance(parameters)
    values = np.array([[float(value) for value in row] for row in utilities])
    sizes = np.array(parameters.group_sizes, dtype=np.float64)
    objective = parameters.make_objective()
    least, greatest = _range_of(parameters)
    prior: str | None = UTILITIES
    chance: float | None = 1.0 / len(parameters.alternatives)
    p_value = 0.5
    if noise is not None and not noise.is_known:
        prior, chance = None, None
    elif noise is not None:
        is_one_difference = len(sizes) == 2 and objective.name == "parity" and not objective.partitions  # noqa: PLR2004  one
        if is_one_difference and not noise.is_balanced and noise.shares is None:
            prior = DIFFERENCES
            chance = chance_by_differences(values[0] - values[1], winner, noise, greatest=greatest - least)
        else:
            chance = chance_by_utilities(
                values, winner, noise, objective=objective, sizes=sizes, least=least, greatest=greatest, key=key
            )
    if noise is not None:
        p_value = p_value_of(values, winner, noise, objective=objective, sizes=sizes)
    return assurance_of_test(parameters, p_value, probability=chance, prior=prior)


def assurance_of_test(
    parameters: Parameters, p_value: float, *, probability: float | None = None, prior: str | None = None
) -> Assurance:
    """Return how sure a winner is by the test, and under a prior where there is one; pairwise counts have none."""
    level = parameters.level
    verdict = CONFIRMED if p_value <= level else Verdict.TOO_CLOSE.value
    return Assurance(
        probability=probability, prior=prior, verdict=verdict, level=level, p_value=p_value, shortfall=None
    )


def assurance_of_choice(parameters: Parameters, choice: Choice) -> Assurance:
    """Return how sure a winner is that alone is released: the same for all of them."""
    shortfall = None
    if isinstance(choice, ExponentialChoice):
        deficit_of = greatest_flip_deficit if choice.is_flipped else greatest_choice_deficit
        deficit = deficit_of(len(parameters.alternatives), parameters.level)
        shortfall = deficit / float(choice.rate) * choice.scoring.step
    least, greatest = _range_of(parameters)
    if shortfall is not None and shortfall >= _greatest_deficit(parameters.make_objective(), greatest - least):
        shortfall = None
    return msgspec.structs.replace(_unknown_assurance(parameters), shortfall=shortfall)


def _unknown_assurance(parameters: Parameters) -> Assurance:
    """Return the assurance that states nothing."""
    return Assurance(probability=None, prior=None, verdict=None, level=parameters.level, p_value=None, shortfall=None)


def _range_of(parameters: Parameters) -> tuple[float, float]:
    """Return the least and the greatest mean utility that a group may have."""
    scoring = parameters.make_scoring(is_centered=True)
    ends: Sequence[int] = (scoring.steps[-1], scoring.steps[0])
    least, greatest = ((end + scoring.center) * scoring.step for end in ends)
    return least, greatest


def _greatest_deficit(objective: Objective, span: float) -> float:
    """Return how far apart the qualities of two alternatives may be."""
    weight = float(objective.fairness_weight)
    if objective.name == "parity":
        return span
    if objective.name == "welfare_constrained":
        return span * (1 + weight * float(objective.welfare_share))
    if objective.name == "penalized":
        return span * (1 + weight)
    return span + weight * max(span - float(objective.max_disparity), 0.0)
