"""Positional scoring: the utility of an alternative to a voter, by its position in the voter's ranking.

Utilities are integers on a public grid, like everything that is reported or tallied, so their sums are exact. Only this
module computes the sensitivity of sums to one voter.

Source: the paper's ranked utility is m − k for the alternative at rank k (Background); reading F6 for other scores;
reading F1 for the sensitivity.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from ..arrays import IntArray
from ..elementary import power_of_two_below
from ..errors import require
from ..mechanisms import scores_of_positions
from ..privacy import NeighboringRelation
from .rankings import Rankings

ScoreName: TypeAlias = Literal["borda", "plurality", "veto"]

MAX_SCORE: Final = 1e6
MIN_RANGE: Final = 1e-6
"""The least range of scores, absolute and relative to the greatest; below it, steps would not fit into 64 bits."""
# The range of scores has at least this power of two of steps, so that noise is practically continuous.
MOST_BITS: Final = 20


def make_scores(scores: ScoreName | Sequence[float], num_alternatives: int) -> tuple[float, ...]:
    """Return a score for each position, the best first.

    Args:
        scores: a name, or the scores themselves. Borda: m − 1 down to 0; plurality: 1 for the best; veto: 0 for the
            worst, 1 for all others.
        num_alternatives: m.

    Raises:
        ConfigurationError: there are not m scores; a score is greater than the one before it, or out of range; or all
            are equal or nearly equal.

    Examples:
        >>> make_scores("borda", 3), make_scores("veto", 3)
        ((2.0, 1.0, 0.0), (1.0, 1.0, 0.0))
    """
    match scores:
        case "borda":
            return tuple(float(score) for score in range(num_alternatives - 1, -1, -1))
        case "plurality":
            return (1.0, *(0.0,) * (num_alternatives - 1))
        case "veto":
            return (*(1.0,) * (num_alternatives - 1), 0.0)
        case _:
            pass
    allowed = f"{num_alternatives} numbers, one for each position"
    require(len(scores) == num_alternatives, "scores", list(scores), allowed)
    for score in scores:
        require(-MAX_SCORE <= score <= MAX_SCORE, "scores", score, f"in [-{MAX_SCORE:g}, {MAX_SCORE:g}]")
    is_falling = all(later <= score for score, later in itertools.pairwise(scores))
    is_wide = scores[0] - scores[-1] >= MIN_RANGE * max(1.0, *map(abs, scores))
    allowed = f"decreasing from the best position to the worst, and not all equal (to {MIN_RANGE:g})"
    require(is_falling and is_wide, "scores", list(scores), allowed)
    return tuple(scores)


@dataclasses.dataclass(frozen=True)
class Scoring:
    """The utilities of a ranking, in steps of a public grid.

    Args:
        scores: a score for each position, the best first, decreasing.
        is_centered: whether utilities are relative to a median score, which minimizes the effect of adding or removing
            a voter. In comparisons between groups the center cancels out (reading F1).
        bits: the number of bits of the scores' range in steps.

    Attributes:
        step: one step, in units of the scores: a power of two.
        steps: each position's score in steps, relative to the center.
        center: the center in steps: a score is (steps + center)·step, within half a step.

    Examples:
        >>> scoring = Scoring(make_scores("borda", 3))
        >>> scoring.sensitivity(NeighboringRelation.REPLACE_ONE) * scoring.step
        4.0
    """

    scores: tuple[float, ...]
    is_centered: bool = True
    bits: int = MOST_BITS
    step: float = dataclasses.field(init=False)
    steps: tuple[int, ...] = dataclasses.field(init=False)
    center: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        step = power_of_two_below(self.scores[0] - self.scores[-1]) / (1 << self.bits)
        rounded_steps = [round(score / step) for score in self.scores]
        size = len(rounded_steps)
        center = (rounded_steps[(size - 1) // 2] + rounded_steps[size // 2]) // 2 if self.is_centered else 0
        object.__setattr__(self, "step", step)
        object.__setattr__(self, "center", center)
        object.__setattr__(self, "steps", tuple(score - center for score in rounded_steps))

    @property
    def num_alternatives(self) -> int:
        """How many alternatives are ranked: m."""
        return len(self.scores)

    @property
    def range(self) -> int:
        """The best score less the worst, in steps."""
        return self.steps[0] - self.steps[-1]

    @property
    def bound(self) -> int:
        """The greatest size of a utility, in steps."""
        return max(map(abs, self.steps))

    @property
    def is_exact(self) -> bool:
        """Whether no score is rounded to the grid."""
        return all(
            (steps + self.center) * self.step == score for steps, score in zip(self.steps, self.scores, strict=True)
        )

    @property
    def is_equally_spaced(self) -> bool:
        """Whether the scores are Borda's, up to a shift and a factor: then comparisons of pairs tell them."""
        gaps = {better - worse for better, worse in itertools.pairwise(self.steps)}
        return max(gaps) - min(gaps) <= 1  # one step may be rounding

    def utilities_of(self, rankings: Rankings) -> IntArray:
        """Return each voter's utility of each alternative, in steps relative to the center: int64, shape (n, m).

        Tied alternatives have the mean of the scores of the positions that they share; see `has_means`.
        """
        return scores_of_positions(rankings.positions, self.steps)

    def mean_utilities(self, sums: IntArray, sizes: Sequence[int]) -> list[list[Fraction]]:
        """Return the groups' mean utilities, in units of the scores.

        Args:
            sums: the sums of utilities in steps relative to the center, shape (G, m).
            sizes: the number of voters in each group's sums.
        """
        rows: list[list[int]] = sums.tolist()
        return [
            [(Fraction(total, size) + self.center) * Fraction(self.step) for total in row]
            for row, size in zip(rows, sizes, strict=True)
        ]

    def has_means(self, position: int, number: int) -> bool:
        """Return whether so many that are tied at a position have a mean score in whole steps: it is never rounded."""
        return not sum(self.steps[position : position + number]) % number

    def sensitivity(self, relation: NeighboringRelation) -> int:
        """Return the ℓ₁ sensitivity of a group's sums to one voter, in steps.

        A removed voter counts 0 for each alternative, like a voter who is indifferent at the center.

        Replace-one: Σ|s₍ᵢ₎ − s₍ₘ₊₁₋ᵢ₎|, attained by reversing the ranking, since no two orders of the same numbers have
        a greater distance; for Borda scores ⌊m²/2⌋. Add-or-remove-one: Σ|s − center|; for Borda scores ⌊m²/4⌋ relative
        to the median, m(m − 1)/2 relative to 0.

        Ties change neither bound: the utilities of a ranking with ties are the mean of those of all strict rankings
        that agree with it, and the distance from a mean is at most the mean distance.
        """
        if relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
            return sum(map(abs, self.steps))
        return sum(abs(better - worse) for better, worse in zip(self.steps, reversed(self.steps), strict=True))

    def greatest_change(self, relation: NeighboringRelation) -> int:
        """Return how far one alternative's sum moves at most when one voter changes, in steps."""
        return self.bound if relation is NeighboringRelation.ADD_OR_REMOVE_ONE else self.range
