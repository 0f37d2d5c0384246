"""Proven losses of Algorithm 2: bounds on the effect of one voter, and the resulting ε.

One voter of group k is replaced. Alternative a wins with probability P(a) = γ/m + (1 − γ)·Q(a), where Q is the law of
lines 3 to 19. There are two kinds of bounds, and the least of all is taken:

- h bounds the change of any Q(a), by the probability that the voter is sampled, and by the effect of its answers on S.
  Then P(a)/P'(a) ≤ 1 + m(1 − γ)h/γ, which is ln(1 + m(1 − γ)h/γ)-DP, and also (0, (1 − γ)h)-DP.
- The change of ln P(a) is integrated as θ changes: a small Q(a) changes little, and the relative change of a large one
  is small (`spread_bound`).

docs/fair-voting-proofs.md has the proofs. Here `samples` is n_s, `gamma` is γ in [0, 1), `group` is the voter's group
k, and `group_size` is n_k.

Source: the paper's Result 2 claims ε itself. The first kind of bounds is from readings F2 and F4; the second is ours.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from ..elementary import exp, expm1, ln, log1p, square
from .choices import SampleScale
from .scoring import Scoring

SampleReading: TypeAlias = Literal["group", "subsample"]
"""The set from which line 9 of Algorithm 2 draws voters: P_k, which makes line 4 idle, or the sub-sample of line 4."""

Comparison: TypeAlias = Literal["any", "weighted counts", "counts"]
"""How the winner depends on S: arbitrarily; by the least |w₁·S₁ − w₂·S₂|; or by the least |S₁ − S₂|, ties at random."""

_FEWEST_FOR_TIGHTER: Final = 3
"""The least number of alternatives. With two, every sample is a hit, and the number of hits has no variance."""
# Far below this, e^x is 0.
_LEAST_LOGARITHM: Final = -700.0
# The variance above which three terms of an expansion have a relative error below 10⁻⁵; below, a series has at most 200
# terms.
_GREATEST_FOR_SERIES: Final = 40.0
_NEGLIGIBLE: Final = 2.0**-60
# The factor by which a bound is raised to cover rounding errors.
_MARGIN: Final = 1 + 2.0**-36
# The number of cuts between the two ways to bound an alternative; all cuts are valid, and the best one is taken.
_CUTS: Final = 6
# The least γ/(m(1 − γ)); far below it, products underflow.
_LEAST_FLOOR: Final = 2.0**-500
_CELLS: Final = 12


def num_samples(epsilon: float, delta: float, num_alternatives: int) -> int:
    """Return n_s = ⌈(m/ε²)·ln(m/δ)⌉, the constant of the paper's O(·) being 1 (reading F2)."""
    return math.ceil(num_alternatives / square(epsilon) * ln(num_alternatives / delta))


def label_of(samples: int, delta: float, num_alternatives: int) -> float:
    """Return the label ε that the paper gives this many samples: √((m/n_s)·ln(m/δ))."""
    return math.sqrt(num_alternatives / samples * ln(num_alternatives / delta))


def is_feasible(samples: int, epsilon: float, group_sizes: Sequence[int]) -> bool:
    """Return whether n_s ≤ ε·min n_k, which fits the paper's N/A cells where n_s ≤ min n_k/ε does not (reading F2)."""
    return samples <= epsilon * min(group_sizes)


def epsilon_of_hit(hit: float, *, gamma: float, num_alternatives: int) -> float:
    """Return ε = ln(1 + m(1 − γ)h/γ); infinite at γ = 0."""
    if gamma == 0:
        return math.inf if hit > 0 else 0.0
    return log1p(num_alternatives * (1 - gamma) * hit / gamma)


def hit_bound(scoring: Scoring, *, group_size: int, samples: int, reading: SampleReading) -> float:
    """Return the least bound on h that is proven."""
    simple = simple_hit_bound(scoring.num_alternatives, group_size=group_size, samples=samples, reading=reading)
    if reading == "subsample":
        return simple
    return min(simple, tighter_hit_bound(scoring, group_size=group_size, samples=samples))


def simple_hit_bound(num_alternatives: int, *, group_size: int, samples: int, reading: SampleReading) -> float:
    """Return the probability that the voter is sampled at all.

    Each of m·n_s questions to a group is asked with probability 2/m. The voter is drawn from n_k; or from the n_s of
    the sub-sample, which contains a voter with probability n_s/n_k.
    """
    questions = num_alternatives * samples
    if reading == "group":
        return _hit_probability(2 / (num_alternatives * group_size), questions)
    return samples / group_size * _hit_probability(2 / (num_alternatives * samples), questions)


def tighter_hit_bound(scoring: Scoring, *, group_size: int, samples: int) -> float:
    """Return min(h*, h†) of reading F4, for any scores; 1 for two alternatives.

    The voter changes θ(a) by δ_a = (2/(n·m))·|change of its utility|/range, at most as for a reversed ranking. h* = 1 −
    Π(1 − δ_j)^(n_s) couples the numbers of hits trial by trial. h† = n_s·Σ δ_j·μ_j has μ_j = [2e(n_s − 1)θ_j(1 −
    θ_j)]^(−½), a bound on the largest probability of a binomial number. The j-th smallest θ is at least θ_j, which
    follows from the mean of the j smallest utilities in a ranking, or from the center for a voter without a report. As
    θ is at most 2/m, θ(1 − θ) is at least the smaller of its values at both ends.
    """
    size = scoring.num_alternatives
    if size < _FEWEST_FOR_TIGHTER:
        return 1.0
    moves = _moves(scoring, group_size)
    never = 0.0
    for move in moves:
        never += samples * log1p(-move)
    coupled = -expm1(never) if never > _LEAST_LOGARITHM else 1.0
    largest = [_largest_of_binomial(samples - 1, chance, size) for chance in _least_chances(scoring, group_size)]
    spread = samples * math.fsum(move * most for move, most in zip(moves, largest, strict=True))
    return min(1.0, coupled, spread)


def _moves(scoring: Scoring, group_size: int) -> list[float]:
    """Return the changes of each θ as a ranking is reversed, the largest first."""
    steps = scoring.steps
    unit = 2 / (group_size * scoring.num_alternatives * scoring.range)
    return sorted(
        (unit * abs(step - reversed_step) for step, reversed_step in zip(steps, reversed(steps), strict=True)),
        reverse=True,
    )


def _least_chances(scoring: Scoring, group_size: int) -> list[float]:
    """Return a lower bound on the j-th smallest θ for each j, over all that the voter may say."""
    least = scoring.steps[-1]
    unit = 2 * (group_size - 1) / (group_size * scoring.num_alternatives * scoring.range)
    sums = itertools.accumulate(step - least for step in reversed(scoring.steps))
    # A voter without a report counts 0 steps, which is −least above the least.
    return [unit * min(total / number, -least) for number, total in enumerate(sums, start=1)]


def _variance(chance: float, num_alternatives: int) -> float:
    """Return the least θ(1 − θ) of all θ from `chance` to 2/m: concave in it, and rising."""
    most = 2 / num_alternatives
    return min(chance * (1 - chance), most * (1 - most))


def _largest_of_binomial(number: int, chance: float, num_alternatives: int) -> float:
    spread = 2 * math.e * number * _variance(chance, num_alternatives)
    return 1.0 if spread <= 1 else 1 / math.sqrt(spread)


def _hit_probability(probability: float, times: int) -> float:
    """Return 1 − (1 − p)^times."""
    if probability >= 1:
        return 1.0
    exponent = times * log1p(-probability)
    return 1.0 if exponent < _LEAST_LOGARITHM else -expm1(exponent)


@functools.lru_cache(maxsize=4096)
def largest_probability(variance: float) -> float:
    """Return e^(−V)·I₀(V), which bounds the probability of any value of a sum of independent 0s and 1s of variance V.

    It is exact up to rounding for V ≤ 40, and at most 10⁻⁵ too large, relatively, above. For large V it is about
    1/√(2πV).
    """
    if variance > _GREATEST_FOR_SERIES:
        log_part = 1 / variance
        sum_of_three = 1 + log_part / 8 + 9 / 128 * square(log_part) + 75 / 512 * square(log_part) * log_part
        return min(1.0, sum_of_three / math.sqrt(2 * math.pi * variance) + exp(-variance) / 2)
    term, total, number = 1.0, 1.0, 0
    while term > total * _NEGLIGIBLE:
        number += 1
        term *= square(variance / (2 * number))
        total += term
    return total * exp(-variance)


@functools.lru_cache(maxsize=4096)
def steepest_step(variance: float) -> float:
    """Return η(V) = (2/π)·∫₀¹ e^(−2Vx)/√(1 − x) dx.

    It bounds the difference of the probabilities of consecutive values of a sum of independent 0s and 1s of variance V
    ≥ 0. It is as accurate as `largest_probability`; for large V it is about 1/(πV).
    """
    if variance > _GREATEST_FOR_SERIES:
        slope_part = 1 / (2 * variance)
        series = 1 + slope_part / 2 + 3 / 4 * square(slope_part) + 15 / 4 * square(slope_part) * slope_part
        return 2 / math.pi * (series * slope_part + math.sqrt(2) * exp(-variance))
    term, total, number = 1.0, 2.0, 0
    while number < 2 * variance or term > total * _NEGLIGIBLE:
        number += 1
        term *= 2 * variance / number
        total += term / (number + 0.5)
    return 2 / math.pi * total * exp(-2 * variance)


def proven_epsilon(
    scoring: Scoring,
    *,
    group_sizes: tuple[int, ...],
    group: int,
    samples: int,
    reading: SampleReading,
    gamma: float,
    objective: str,
    scale: SampleScale,
) -> float:
    """Return the least ε that is proven for a voter of a group; infinite at γ = 0."""
    size = scoring.num_alternatives
    hit = hit_bound(scoring, group_size=group_sizes[group], samples=samples, reading=reading)
    proven = epsilon_of_hit(hit, gamma=gamma, num_alternatives=size)
    if reading == "subsample" or gamma == 0:
        return proven
    comparison: Comparison = "any"
    # Two groups are the groups of any feature, so overlapping features change nothing.
    if objective == "parity" and len(group_sizes) == 2:  # noqa: PLR2004  the paper's groups
        comparison = "counts" if scale == "unbiased" or len(set(group_sizes)) == 1 else "weighted counts"
    size = group_sizes[group]
    return min(proven, spread_bound(scoring, group_size=size, samples=samples, gamma=gamma, comparison=comparison))


@functools.lru_cache(maxsize=256)
def spread_bound(scoring: Scoring, *, group_size: int, samples: int, gamma: float, comparison: Comparison) -> float:
    """Return an ε that follows from the variance of S, for γ > 0; infinite if no bound is known.

    The counts of the alternative z that the other voters of the group like least may have no variance. If θ(z) is below
    a cut, z is bounded separately (`_Followed`); if it is above, together with all others: if I = n_s·Σ δ²/θ(1 − θ)
    bounds the Fisher information, ln P changes by at most ½√(I/(g(1 + g))), g = γ/(m(1 − γ)).
    """
    size = scoring.num_alternatives
    least = scoring.steps[-1]
    floor = gamma / (size * (1 - gamma))
    # A missing voter counts at the center. If the center is below the mean by more than the grid's rounding, it lowers
    # θ below the bounds for rankings. Rounding is subtracted twice, at z and at another alternative.
    below = max(sum(scoring.steps), 0) / size
    if size < _FEWEST_FOR_TIGHTER or below > 1 or floor < _LEAST_FLOOR:
        return math.inf
    shares = [max(2 * (step - least - 2 * below) / (size * scoring.range), 0.0) for step in reversed(scoring.steps)]
    other_shares = [share * (group_size - 1) / group_size for share in shares]
    if other_shares[1] == 0:
        return math.inf
    moves = _moves(scoring, group_size)
    rate = math.sqrt(samples / (floor * (1 + floor))) / 2
    together = _least_chances(scoring, group_size)
    best = math.inf
    cut = other_shares[1]
    for _ in range(_CUTS):
        cut /= 2
        all_followed = rate * _length(moves, [cut, *together[1:]], size)
        chances = [other_shares[1] - cut, *other_shares[2:]]
        lengths = [rate * _length(moves[:place] + moves[place + 1 :], chances, size) for place in range(size)]
        followed = _Followed(samples, floor, moves[0], chances, shares, cut, comparison)
        single_bound = max(
            loss - slope * (moves[0] - move) + length
            for loss, slope in followed.losses()
            for move, length in zip(moves, lengths, strict=True)
        )
        best = min(best, max(all_followed, single_bound))
    return best * _MARGIN


def _length(moves: Sequence[float], chances: Sequence[float], num_alternatives: int) -> float:
    """Return √(Σ δ²/θ(1 − θ)), the largest moves at the smallest θ."""
    pairs = zip(moves, chances, strict=True)
    return math.sqrt(math.fsum(square(move) / _variance(chance, num_alternatives) for move, chance in pairs))


@dataclasses.dataclass(frozen=True)
class _Followed:
    """The change of ln P with θ(z) alone, if θ(z) is below the cut.

    Args:
        floor: g = γ/(m(1 − γ)).
        move: the greatest δ.
        chances: lower bounds on the other θ of the voter's group, increasing.
        shares: the θ of a group whose voters all have the same ranking, increasing.
        cut: the upper limit of θ(z) of the other voters.
    """

    samples: int
    floor: float
    move: float
    chances: Sequence[float]
    shares: Sequence[float]
    cut: float
    comparison: Comparison

    def losses(self) -> list[tuple[float, float]]:
        """Return pairs of a bound on the change of ln P as θ(z) changes by δ, and that bound's slope in δ.

        There is a pair for each range of the other group's θ(z); the greatest is the bound.
        """
        size = len(self.shares)
        variances = [self.samples * _variance(chance, size) for chance in self.chances]
        if self.comparison != "counts":
            change = 1.0
            if self.comparison == "weighted counts":
                change -= math.prod(max(0.0, 1 - 2 * largest_probability(variance)) for variance in variances)
            return [self._change_bound(change)]
        # The other group's variance adds to this group's, except where it likes z at least as much as another one.
        second = self.shares[1]
        bounds = [self._either_bound(variances, second)]
        pooled = [
            mine + self.samples * _variance(share, size) for mine, share in zip(variances, self.shares[1:], strict=True)
        ]
        for cell in range(_CELLS):
            low, high = second * cell / _CELLS, second * (cell + 1) / _CELLS
            joint_variance = variances[0] + self.samples * _variance(second - high, size)
            bounds.append(self._either_bound([joint_variance, *pooled[1:]], low))
        return bounds

    def _either_bound(self, variances: Sequence[float], chance: float) -> tuple[float, float]:
        """Return the less of two bounds: by z's own spread, its θ in the other group being at least `chance`."""
        spread = self.samples * _variance(chance, len(self.shares))
        return min(self._change_bound(largest_probability(spread)), self._ratio_bound(variances))

    def _change_bound(self, change: float) -> tuple[float, float]:
        """Each of n_s questions moves Q by `change` at most."""
        rate = self.samples * change / self.floor
        return ln(1 + rate * self.move), rate / (1 + rate * self.move)

    def _ratio_bound(self, variances: Sequence[float]) -> tuple[float, float]:
        """A change of Q in proportion to what Q is at least: of another winner than z, or of z."""
        floor = self.floor
        most, step = largest_probability(variances[0]), steepest_step(variances[0])
        of_other = max(step / floor, (1.5 * most + step) / (floor + most / 2), (2 * most + step) / (floor + most))
        rate = self.samples * max(of_other, self._ratio_of_own(variances)) / (1 - self.cut - self.move)
        return rate * self.move, rate

    def _ratio_of_own(self, variances: Sequence[float]) -> float:
        """Return the greatest (g + s²)/(g + κ·s·(s − c)⁺) − 1 of s in [0, 1]: z wins with s² before it moves."""
        floor = self.floor
        roots = [2 * math.sqrt(steepest_step(variance)) for variance in variances]
        root = roots[0]
        product = math.prod(max(0.0, 1 - other) for other in roots[1:])
        if root >= 1 or product == 0:
            return 1 / floor
        middle = floor * (1 - product)
        at = (middle + math.sqrt(square(middle) + square(product * root) * floor)) / (product * root)
        at = min(max(at, root), 1.0)
        return (floor + square(at)) / (floor + product * at * (at - root)) - 1
