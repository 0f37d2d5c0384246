"""How much Algorithm 2 reveals: bounds on what one voter changes, and the ε that they prove.

One voter of group k is replaced. Let h bound the change of the probability of any outcome of lines 3 to 19. The winner
has probability P(a) = γ/m + (1 − γ)·Q(a), so that P(a)/P'(a) ≤ 1 + m(1 − γ)h/γ: the algorithm is
ln(1 + m(1 − γ)h/γ)-DP, and (0, (1 − γ)h)-DP. Bounds on h follow from how seldom the voter is looked at, and from how
little its answers move S; the least of those that hold is taken. docs/fair-voting-proofs.md has the proofs.

Source: the paper, Result 2, claims ε itself; readings F2 and F4, where all of this is from.
"""

import math
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from ..elementary import expm1, ln, log1p, square
from .scoring import Scoring

__all__ = [
    "Reading",
    "delta_of_hit",
    "epsilon_of_hit",
    "hit_bound",
    "is_feasible",
    "num_samples",
    "simple_hit_bound",
    "tighter_hit_bound",
]

Reading: TypeAlias = Literal["group", "subsample"]
"""Whom line 9 of Algorithm 2 draws voters from: P_k, so that line 4 is idle, or line 4's sub-sample."""

_FEWEST_FOR_TIGHTER: Final = 3
"""Alternatives: a hit is certain for two, and the number of hits then has no spread to hide in."""
# e^x is 0 far below.
_LEAST_LOGARITHM: Final = -700.0


def num_samples(epsilon: float, delta: float, num_alternatives: int) -> int:
    """Return n_s = ⌈(m/ε²)·ln(m/δ)⌉, the constant of the paper's O(·) being 1 (reading F2)."""
    return math.ceil(num_alternatives / square(epsilon) * ln(num_alternatives / delta))


def is_feasible(samples: int, epsilon: float, group_sizes: Sequence[int]) -> bool:
    """Return whether n_s ≤ ε·min n_k, which fits the paper's N/A cells where n_s ≤ min n_k/ε does not (reading F2)."""
    return samples <= epsilon * min(group_sizes)


def epsilon_of_hit(hit: float, *, gamma: float, num_alternatives: int) -> float:
    """Return ε = ln(1 + m(1 − γ)h/γ); infinite at γ = 0."""
    if gamma == 0:
        return math.inf if hit > 0 else 0.0
    return ln(1 + num_alternatives * (1 - gamma) * hit / gamma)


def delta_of_hit(hit: float, *, gamma: float) -> float:
    """Return δ = (1 − γ)h, with which the algorithm is (0, δ)-DP."""
    return (1 - gamma) * hit


def hit_bound(scoring: Scoring, *, group_size: int, samples: int, reading: Reading) -> float:
    """Return the least bound on h that is proven.

    Args:
        scoring: the utilities.
        group_size: n_k of the voter's group.
        samples: n_s.
        reading: whom voters are drawn from.
    """
    simple = simple_hit_bound(scoring.num_alternatives, group_size=group_size, samples=samples, reading=reading)
    if reading == "subsample":
        return simple
    return min(simple, tighter_hit_bound(scoring, group_size=group_size, samples=samples))


def simple_hit_bound(num_alternatives: int, *, group_size: int, samples: int, reading: Reading) -> float:
    """Return the probability that the voter is looked at at all.

    Each of m·n_s questions to a group is asked with probability 2/m, of a voter drawn from n_k, or from the n_s of the
    sub-sample, in which the voter is with probability n_s/n_k.
    """
    questions = num_alternatives * samples
    if reading == "group":
        return _at_least_once(2 / (num_alternatives * group_size), questions)
    return samples / group_size * _at_least_once(2 / (num_alternatives * samples), questions)


def tighter_hit_bound(scoring: Scoring, *, group_size: int, samples: int) -> float:
    """Return min(h*, h†) of reading F4, for any scores; 1 where there are two alternatives.

    The voter moves θ(a) by δ_a = (2/(n·m))·|change of its utility|/range, at most by those of a reversed ranking.
    h* = 1 − Π(1 − δ_j)^(n_s) couples the numbers of hits trial by trial; h† = n_s·Σ δ_j·μ_j has
    μ_j = [2e(n_s − 1)θ_j(1 − θ_j)]^(−½), a bound on the largest probability of a binomial number, and the j-th
    smallest θ is at least θ_j, the mean of the j smallest utilities of the other voters' rankings.
    """
    size = scoring.num_alternatives
    if size < _FEWEST_FOR_TIGHTER:
        return 1.0
    moves = _moves(scoring, group_size)
    never = 0.0
    for move in moves:
        never += samples * log1p(-move)
    coupled = -expm1(never) if never > _LEAST_LOGARITHM else 1.0
    largest = [min(1.0, _largest_probability(chance, samples)) for chance in _least_chances(scoring, group_size)]
    spread = samples * math.fsum(move * most for move, most in zip(moves, largest, strict=True))
    return min(1.0, coupled, spread)


def _moves(scoring: Scoring, group_size: int) -> list[float]:
    """Return by how much a reversed ranking moves each θ, the largest first."""
    steps = scoring.steps
    unit = 2 / (group_size * scoring.num_alternatives * scoring.range)
    return sorted((unit * abs(own - other) for own, other in zip(steps, reversed(steps), strict=True)), reverse=True)


def _least_chances(scoring: Scoring, group_size: int) -> list[float]:
    """Return for each j what the j-th smallest θ is at least, whatever the voter says."""
    least = scoring.steps[-1]
    unit = 2 * (group_size - 1) / (group_size * scoring.num_alternatives * scoring.range)
    chances: list[float] = []
    total = 0
    for number, step in enumerate(reversed(scoring.steps), start=1):
        total += step - least
        chances.append(unit * total / number)
    return chances


def _largest_probability(chance: float, samples: int) -> float:
    spread = 2 * math.e * (samples - 1) * chance * (1 - chance)
    return 1.0 if spread <= 1 else 1 / math.sqrt(spread)


def _at_least_once(probability: float, times: int) -> float:
    """Return 1 − (1 − p)^times."""
    if probability >= 1:
        return 1.0
    exponent = times * log1p(-probability)
    return 1.0 if exponent < _LEAST_LOGARITHM else -expm1(exponent)
