"""Plans for Algorithm 2 with a proven ε: the best γ and n_s for which a given ε is proven.

More samples estimate the groups' utilities better, but reveal more. A more probable random winner hides more, but is a
worse choice. For each n_s that is tried, γ is the least one for which a bound of `sampling_bounds` is at most ε for a
voter of every group. Among these pairs, the one is chosen whose winner has the greatest mean quality
(`Objective.qualities`; for parity the least ΔW), if each group's mean utility of each alternative is uniform between
the least and the greatest score (the prior `uniform utilities` of `posteriors`).

The choice depends only on public numbers, the sizes of the groups and the parameters, so it costs no privacy. ε is
proven for every pair that is tried, so the gaps between the n_s and the grid of γ cost quality, but never privacy.
Draws come from a public key, and averages are of integers, so that everybody makes the same choice.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import ConfigurationError
from ..randomness import philox_rows
from .choices import SampleScale
from .objective import Objective, merits_of, qualities_of
from .posteriors import num_draws
from .sampling_bounds import SampleReading, proven_epsilon
from .scoring import Scoring
from .utility_noise import quantiles_of

GREATEST_GAMMA: Final = 0.5
"""The greatest γ that is chosen; with a greater one, the winner would mostly be random."""

_GAMMA_STEPS: Final = 4096
"""γ is a multiple of 1 over this number; a finer grid would not improve the winner."""
_MOST_STEPS: Final = round(GREATEST_GAMMA * _GAMMA_STEPS)
_IN_A_ROW: Final = 2
_CLEARLY: Final = 1_000
"""An increase of the mean quality by less than the scores' range over this number is not worth more samples."""
_ROUNDING: Final = 10_000
"""The least ε in a message is rounded up to a multiple of 1 over this number."""
_KEY: Final = 2
"""The public key of the draws, which are the same for all votes with the same numbers of groups and alternatives."""
_GRID: Final = 2.0**-20
_QUALITY_BITS: Final = 30


@dataclasses.dataclass(frozen=True)
class SamplingPlan:
    """The parameters of the draws of Algorithm 2.

    Args:
        gamma: γ, the probability of a random winner.
        num_samples: n_s, the greatest number of questions to each group about each alternative.
    """

    gamma: float
    num_samples: int


@functools.lru_cache(maxsize=64)
def plan_for(
    scoring: Scoring,
    *,
    group_sizes: tuple[int, ...],
    epsilon: float,
    reading: SampleReading,
    objective: Objective,
    scale: SampleScale,
    most_samples: int,
    num_samples: int | None = None,
) -> SamplingPlan:
    """Return the best γ and n_s for which ε is proven.

    Args:
        scoring: the scores.
        group_sizes: n_k of all groups.
        epsilon: the greatest proven loss of a voter of any group, in nats.
        reading: the reading of line 9.
        objective: the objective.
        scale: the scale of line 17.
        most_samples: the greatest n_s that is allowed, ≥ 1.
        num_samples: n_s, if it is fixed.

    Raises:
        ConfigurationError: ε is proven for no γ up to `GREATEST_GAMMA`.
    """
    smallest = group_sizes.index(min(group_sizes))
    places = {size: place for place, size in enumerate(group_sizes)}  # groups of equal size have the same loss

    def loss(steps: int, number: int, group: int) -> float:
        return proven_epsilon(
            scoring,
            group_sizes=group_sizes,
            group=group,
            samples=number,
            reading=reading,
            gamma=steps / _GAMMA_STEPS,
            objective=objective.name,
            scale=scale,
        )

    def greatest_loss(steps: int, number: int) -> float:
        return max(loss(steps, number, place) for place in places.values())

    def least_steps(number: int, start: int = 0) -> int | None:
        """Return about the least γ, in steps, for which ε is proven for the smallest group; None if there is none.

        In the smallest group one voter counts most. With fewer samples than `number`, the least was `start`.
        """
        return _find_least(lambda steps: loss(steps, number, smallest) <= epsilon, start)

    if num_samples is None:
        plan = _best_of_all(least_steps, _Worth(scoring, group_sizes, objective, scale), most_samples)
    else:
        steps = least_steps(num_samples)
        plan = None if steps is None else (steps, num_samples)
    while plan is not None and greatest_loss(*plan) > epsilon:  # checks the other groups, too
        plan = None if plan[0] == _MOST_STEPS else (plan[0] + 1, plan[1])
    if plan is None:
        number = num_samples or 1
        least = math.ceil(_ROUNDING * greatest_loss(_MOST_STEPS, number)) / _ROUNDING
        allowed = (
            f"at least {least:g} with a smallest group of {min(group_sizes)}: that is proven where n_s is {number} and "
            f"γ {GREATEST_GAMMA:g}, and no larger γ is chosen"
        )
        raise ConfigurationError(field="epsilon", value=epsilon, allowed=allowed)
    steps, number = plan
    return SamplingPlan(steps / _GAMMA_STEPS, number)


def _best_of_all(least_steps: Callable[..., int | None], worth: "_Worth", most: int) -> tuple[int, int] | None:
    """Return γ, in steps, and n_s of the best pair that is tried; None if ε is proven for none.

    Powers of two are tried until two consecutive ones are not clearly better, then numbers at a factor of √2 from the
    best. More samples than needed only take time, if the loss is proven by γ alone.
    """
    best: tuple[int, int] | None = None
    most_worth, num_worse = 0, 0
    number, steps = 1, 0
    while number <= most and (least := least_steps(number, steps)) is not None:
        steps = least
        worth_here = worth.mean_quality(steps, number)
        if best is None or worth_here >= most_worth + worth.margin:
            best, most_worth, num_worse = (steps, number), worth_here, 0
        else:
            num_worse += 1
        if num_worse == _IN_A_ROW:
            break
        number *= 2
    if best is None:
        return None
    square = best[1] * best[1]
    for near in (math.isqrt(square // 2), math.isqrt(2 * square)):
        least = least_steps(near) if 1 <= near <= most else None
        worth_here = most_worth if least is None else worth.mean_quality(least, near)
        if least is not None and worth_here > most_worth:
            best, most_worth = (least, near), worth_here
    return best


def _find_least(holds: Callable[[int], bool], start: int) -> int | None:
    """Return about the least number up to `_MOST_STEPS` that holds, from `start` on; None where that does not."""
    if not holds(_MOST_STEPS):
        return None
    low, high, stride = max(start - 1, 0), max(start, 1), 1
    while high < _MOST_STEPS and not holds(high):
        low, high, stride = high, min(high + stride, _MOST_STEPS), 4 * stride
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


class _Worth:
    """The mean quality of a winner, over utilities drawn from the prior.

    An estimate has the standard error of S_k(a), and is approximated as normal. Qualities are rounded to integers,
    whose sums are exact.

    Attributes:
        margin: the difference from which on a worth counts as clearly greater.
    """

    def __init__(
        self, scoring: Scoring, group_sizes: tuple[int, ...], objective: Objective, scale: SampleScale
    ) -> None:
        groups, size = len(group_sizes), scoring.num_alternatives
        draws = num_draws(groups, size)
        uniforms = philox_rows(_KEY, start=0, stop=draws, slots=2 * groups * size).reshape(draws, 2, groups, size)
        noise = quantiles_of(uniforms[:, 1], is_heavy=False)
        shares = uniforms[:, 0]
        chances = shares * (2 / size)
        self._noise: FloatArray = np.rint(noise / _GRID) * _GRID * np.sqrt(chances * (1 - chances)) * (size / 2)
        self._shares = shares
        self._range = scoring.range * scoring.step
        self._least = (scoring.steps[-1] + scoring.center) * scoring.step
        self._objective, self._scale = objective, scale
        self._sizes = np.array(group_sizes, dtype=np.float64)
        self._num_alternatives = size
        qualities = qualities_of(shares * self._range + self._least, objective, self._sizes)
        # A bound on the absolute value of qualities.
        greatest = (abs(self._least) + self._range) * (1 + float(objective.fairness_weight)) * 2
        unit = greatest / (1 << _QUALITY_BITS)
        self._qualities: IntArray = np.rint(qualities / unit).astype(np.int64)
        self.margin = round(self._range / _CLEARLY / unit) * draws * size * _GAMMA_STEPS

    def mean_quality(self, steps: int, number: int) -> int:
        """Return the mean quality, in units of a public grid, at γ of so many steps and n_s = `number`."""
        estimates = self._shares + self._noise / math.sqrt(number)
        if self._scale == "printed":
            estimates = estimates * (2 * number / self._num_alternatives) / self._sizes[:, None]
            utilities, objective = estimates, dataclasses.replace(self._objective, least_utility=Fraction(0))
        else:
            utilities, objective = estimates * self._range + self._least, self._objective
        winners = merits_of(utilities, objective, self._sizes).argmax(axis=1)
        of_winners = int(np.take_along_axis(self._qualities, winners[:, None], axis=1).sum())
        return (_GAMMA_STEPS - steps) * self._num_alternatives * of_winners + steps * int(self._qualities.sum())
