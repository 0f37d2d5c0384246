"""Decisions among several alternatives: the society's order, and the certainty of its winner and its ranks.

In the model of preferences, the society's utility of an alternative x is β·x plus noise with the same law for all. So
it chooses the alternative with the greatest β·x, and ranks the others by β·x.

Let b be the best of m alternatives without noise, which is fixed. A wrong verdict means that one of the m − 1
comparisons with b errs, so each has the level/(m − 1). Ranks depend on all m(m − 1)/2 comparisons, so each has
level/(m(m − 1)/2). An alternative's rank is at least 1 plus the number of alternatives that are significantly above it,
and at most m minus the number of those significantly below it, for all alternatives simultaneously.

Source: Wang et al. (2019), Sections 2 and 3; Bonferroni's inequality.
"""

import itertools
import math
from collections.abc import Mapping
from typing import Final

import msgspec

from ..errors import require
from ..estimators import UNDECIDED
from .certainty import PriorName, level_asked
from .decision import Decision, decide
from .outcome import Outcome

MOST_ALTERNATIVES: Final = 100


class RankedAlternative(msgspec.Struct, frozen=True, kw_only=True):
    """An alternative in the society's order.

    Args:
        utility: β·x.
        rank: 1 for the best; alternatives of equal utility share the best of their ranks.
        least_rank: with `greatest_rank`, the range of the rank without noise. All ranges together cover with
            probability at least 1 − `level`, whatever the society is. None if there is no test.

    Examples:
        >>> RankedAlternative(name="swerve", utility=1.6, rank=1).rank
        1
    """

    name: str
    utility: float
    rank: int
    least_rank: int | None = None
    greatest_rank: int | None = None


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """The choice among several alternatives.

    Args:
        alternatives: the alternatives from the best to the worst; equal ones in the order of the input.
        winner: the name of the best; None if two are equally good.
        certainty_at_least: a lower bound on the probability, under the prior, that the release without noise has the
            same winner: 1 minus the sum over the other alternatives of 1 − `Decision.certainty`, plus two standard
            errors if that is simulated. None if there is no certainty.
        prior: the prior of the certainty.
        verdict: `winner` if the test is significant, or "undecided"; None if there is no test.
        level: the level of the verdict and of the ranks: the greatest probability, whatever the society is, that the
            verdict names an alternative that is not the best without noise; and that some rank is outside of its range.
        p_value: the least level at which the verdict is `winner`.

    Examples:
        >>> best = RankedAlternative(name="swerve", utility=1.6, rank=1)
        >>> Ranking(alternatives=(best,), winner="swerve", certainty_at_least=None).winner
        'swerve'
    """

    alternatives: tuple[RankedAlternative, ...]
    winner: str | None
    certainty_at_least: float | None
    prior: str | None = None
    verdict: str | None = None
    level: float | None = None
    p_value: float | None = None


def rank(
    outcome: Outcome,
    alternatives: Mapping[str, Mapping[str, float]],
    *,
    level: float | None = None,
    prior: PriorName | None = None,
) -> Ranking:
    """Return the society's order of several alternatives.

    Args:
        outcome: the release.
        alternatives: 2 to `MOST_ALTERNATIVES` alternatives by name, each with its features by name; features that are
            not named are 0.
        level: the level of the verdict and the ranks, in (0, ½); as for `decide`.
        prior: the prior of the certainty; as for `decide`.

    Raises:
        ConfigurationError: there are too few or too many alternatives, or as `decide`.

    Privacy:
        Post-processing of a release; it costs nothing.

    Examples:
        >>> from psephos.protocol import SimulatedNoise, run_population
        >>> from psephos.protocol.moral_preferences import MoralPreferences, Parameters
        >>> survey = MoralPreferences(Parameters(features=("lives", "age"), epsilon=30.0))
        >>> inputs = survey.encode({"records": [[[[2.0, 0.0], [1.0, 0.0]]]] * 50})
        >>> outcome = run_population(survey, inputs, noise=SimulatedNoise(1, session="survey")).outcome
        >>> alternatives = {"swerve": {"lives": 2.0, "age": 0.0}, "stay": {"lives": 1.0, "age": 0.0}}
        >>> [(one.name, one.rank) for one in rank(outcome, alternatives).alternatives]
        [('swerve', 1), ('stay', 2)]
    """
    number = len(alternatives)
    require(1 < number <= MOST_ALTERNATIVES, "alternatives", f"{number} given", f"2 to {MOST_ALTERNATIVES}")
    names = list(alternatives)
    made = {
        (first, second): decide(outcome, alternatives[first], alternatives[second], level=level, prior=prior)
        for first, second in itertools.combinations(names, 2)
    }
    preferences = dict(zip(outcome.features, outcome.preferences, strict=True))
    utilities = {
        name: math.fsum(value * described.get(feature, 0.0) for feature, value in preferences.items())
        for name, described in alternatives.items()
    }
    above = dict.fromkeys(names, 0)
    surely_above, surely_below = dict(above), dict(above)
    test_level = level_asked(outcome, level)
    for (first, second), decision in made.items():
        if decision.choice is None:
            continue
        better, worse = (first, second) if decision.choice == "first" else (second, first)
        above[worse] += 1
        if test_level is not None and decision.p_value is not None and decision.p_value * len(made) <= test_level:
            surely_above[worse] += 1
            surely_below[better] += 1
    order = sorted(names, key=above.__getitem__)
    ranked = tuple(
        RankedAlternative(
            name=name,
            utility=utilities[name],
            rank=1 + above[name],
            least_rank=None if test_level is None else 1 + surely_above[name],
            greatest_rank=None if test_level is None else len(names) - surely_below[name],
        )
        for name in order
    )
    winner = order[0] if above[order[1]] else None
    return _with_winner(ranked, winner, made, test_level)


def _with_winner(
    ranked: tuple[RankedAlternative, ...],
    winner: str | None,
    made: Mapping[tuple[str, str], Decision],
    level: float | None,
) -> Ranking:
    wins = [decision for pair, decision in made.items() if winner in pair]
    certainties = [_least_certainty(decision) for decision in wins if decision.certainty is not None]
    p_values = [decision.p_value for decision in wins if decision.p_value is not None]
    has_certainty = winner is not None and len(certainties) == len(wins)
    p_value = min(1.0, len(wins) * max(p_values)) if winner is not None and len(p_values) == len(wins) else None
    is_sure = p_value is not None and level is not None and p_value <= level
    return Ranking(
        alternatives=ranked,
        winner=winner,
        certainty_at_least=max(0.0, 1 - math.fsum(1 - certainty for certainty in certainties))
        if has_certainty
        else None,
        prior=wins[0].prior if has_certainty else None,
        verdict=None if level is None else winner if is_sure else UNDECIDED,
        level=level,
        p_value=p_value,
    )


def _least_certainty(decision: Decision) -> float:
    error = decision.certainty_error
    return (decision.certainty or 0.0) - (0.0 if isinstance(error, msgspec.UnsetType) else 2 * error)
