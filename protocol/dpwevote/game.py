"""The weighted voting game of a vote: winning coalitions, and power indices of its members.

A game [q; w_1 … w_n] is in integers. Weights and quotas count as the decimals as written, in units of which all weights
are multiples. q is the least weight that wins, whether or not a tie passes. So every number is exact.

A member swings a coalition of others if this loses without it and wins with it. Let member i swing η_i of the 2^(n−1)
coalitions of others. The Banzhaf measure is η_i/2^(n−1): the probability that its opinion decides if all others toss
fair coins. The normalized index is η_i/Ση. The Shapley-Shubik index is the share of all orders of members in which it
swings the coalition of those before it.

Coalitions are counted by weight (and size) by the generating function Π(1 + x^w·y), up to the quota. A member is
removed from the product by an alternating sum over disjoint ranges of its coefficients T, Σ_j (−1)^j·T[q − (j+1)w … q −
jw − 1]. Counts are computed modulo several numbers of 64 bits, and combined by the Chinese remainder theorem. A game
and its dual, q* = Σw − q + 1, have the same indices, so the one with the smaller quota is used.

With public weights, the released decision is a weighted game, too, of the *reported* opinions, with another quota.
`released_power` is the effect of an opinion on it.

Source: Yan, Liu and Liu (2018), Definitions 2.1 and 2.2; Shapley and Shubik (1954); Penrose (1946), Banzhaf (1965);
Brams and Affuso (1976) and Mann and Shapley (1962) for the generating functions.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from ..arguments import exact_arguments, make_fields_exact
from ..errors import require
from ..estimators.frequencies import debiased_values
from .parameters import Parameters
from .variant import unit_of

# The most 64-bit additions for the indices, which take some seconds.
_MOST_STEPS: Final = 3_000_000_000
# The most cells of a table, which take 160 MB.
_MOST_CELLS: Final = 20_000_000
_WORD: Final = 1 << 64
_HALF: Final = np.uint64(32)
_LOW: Final = np.uint64((1 << 32) - 1)


@dataclasses.dataclass(frozen=True)
class MemberPower:
    """The power indices of one member of a game.

    Args:
        swings: η, the number of coalitions of others that the member swings.
        banzhaf: η/2^(n−1), the Banzhaf measure; also called Penrose or absolute Banzhaf index.
        normalized: η divided by the sum over all members.
        shapley_shubik: the Shapley-Shubik index; None if computing it would take too long.

    Examples:
        >>> WeightedGame((50, 49, 1), 51).powers[2]
        MemberPower(swings=1, banzhaf=Fraction(1, 4), normalized=Fraction(1, 5), shapley_shubik=Fraction(1, 6))
    """

    swings: int
    banzhaf: Fraction
    normalized: Fraction
    shapley_shubik: Fraction | None


@dataclasses.dataclass(frozen=True)
class WeightedGame:
    """A weighted voting game [q; w_1 … w_n] in integers.

    Args:
        weights: the members' weights, ≥ 0, not all 0.
        quota: q, the least weight that wins: in [1, Σw].

    Raises:
        ConfigurationError: a weight or the quota is out of range.

    Examples:
        >>> game = WeightedGame((50, 49, 1), 51)
        >>> (game.worth((0, 2)), game.worth((1, 2)))
        (1, 0)
        >>> [str(member.shapley_shubik) for member in game.powers]
        ['2/3', '1/6', '1/6']
        >>> (game.num_winning, game.num_minimal_winning, game.smallest_winning)
        (3, 2, 2)
    """

    weights: tuple[int, ...]
    quota: int

    def __post_init__(self) -> None:
        make_fields_exact(self)
        are_weights = any(self.weights) and min(self.weights) >= 0
        require(are_weights, "weights", list(self.weights)[:10], ">= 0, and not all 0")
        allowed = f"in [1, {self.total}], so that all together win and nobody does not"
        require(1 <= self.quota <= self.total, "quota", self.quota, allowed)

    @classmethod
    def from_vote(cls, parameters: Parameters, weights: Sequence[float]) -> Self:
        """Return the game of a vote: a coalition wins if its "yes" passes a candidate while all others say "no".

        Raises:
            ConfigurationError: not even all partners together pass a candidate.
        """
        units, quota = _to_units(parameters, weights)
        return cls(units, least_whole(quota, tie_passes=parameters.passes == "at_least"))

    @property
    def total(self) -> int:
        """The weight of all members."""
        return sum(self.weights)

    @exact_arguments
    def worth(self, coalition: Sequence[int]) -> int:
        """Return v(C): 1 if the coalition wins, else 0.

        Args:
            coalition: the indices of its members, each once.

        Raises:
            ValueError: an index is out of range, or occurs twice.
        """
        places = set(coalition)
        if len(places) != len(coalition) or not places <= set(range(len(self.weights))):
            raise ValueError(
                f"a coalition is {list(coalition)[:10]}: use places from 0 to {len(self.weights) - 1}, each once"
            )
        return int(sum(self.weights[place] for place in places) >= self.quota)

    @functools.cached_property
    def num_minimal_winning(self) -> int:
        """The number of minimal winning coalitions; ConfigurationError if counting would take too long.

        Each is counted at its lightest member, of weight w: the others, which come before it in the order of decreasing
        weight, have a total weight from q − w to q − 1.
        """
        order = self._sorted_members()

        def count(modulus: int) -> list[int]:
            table = np.zeros(self.quota, dtype=np.uint64)
            table[0] = 1
            total, reach = 0, 0
            for place in order:
                weight = self.weights[place]
                total += _sum(table[max(0, self.quota - weight) : reach + 1]) if weight else 0
                if 0 < weight < self.quota:
                    reach = min(reach + weight, self.quota - 1)
                    table[weight : reach + 1] = _add(table[weight : reach + 1], table[: reach + 1 - weight], modulus)
            return [total % modulus]

        self._check_work(self.quota, self.quota)
        return self._count_exactly(count)[0]

    @functools.cached_property
    def num_winning(self) -> int:
        """How many coalitions win."""
        return (1 << len(self.weights)) - self._num_losing

    @functools.cached_property
    def _num_losing(self) -> int:
        self._check_work(self.quota, self.quota)

        def count(modulus: int) -> list[int]:
            table = self._table(self.quota, 1, modulus)
            return [_sum(table) % modulus]

        return self._count_exactly(count)[0]

    @property
    def smallest_winning(self) -> int:
        """The least number of members that win together."""
        weight, number = 0, 0
        for place in self._sorted_members():
            if weight >= self.quota:
                break
            weight, number = weight + self.weights[place], number + 1
        return number

    @functools.cached_property
    def powers(self) -> tuple[MemberPower, ...]:
        """The power of each member's opinion; ConfigurationError if even Banzhaf's measure takes too long to count."""
        number = len(self.weights)
        quota = min(self.quota, self.total - self.quota + 1)
        by_size = self._is_quick(quota * number)
        width = number if by_size else 1
        self._check_work(quota, quota)
        weights = sorted({weight for weight in self.weights if weight})
        counts = self._count_exactly(lambda modulus: self._swings(weights, quota, width, modulus))
        of_weight = {0: [0] * width} | {
            weight: counts[place * width : (place + 1) * width] for place, weight in enumerate(weights)
        }
        swings = [sum(of_weight[weight]) for weight in self.weights]
        shares = {weight: _share_of_orders(value) for weight, value in of_weight.items() if by_size}
        return tuple(
            MemberPower(value, Fraction(value, 1 << (number - 1)), Fraction(value, sum(swings)), shares.get(weight))
            for weight, value in zip(self.weights, swings, strict=True)
        )

    def _swings(self, weights: Sequence[int], quota: int, width: int, modulus: int) -> list[int]:
        """Return how many coalitions of others a member of each weight swings, by their size (all, if width is 1)."""
        table = self._table(quota, width, modulus)
        # Counts are split into 32-bit halves, so that no sum overflows; row s sums up the coalitions of weight below s.
        halves = [np.zeros((quota + 1, width), dtype=np.int64) for _ in range(2)]
        for half, numbers in zip(halves, (table & _LOW, table >> _HALF), strict=True):
            np.cumsum(numbers.astype(np.int64), axis=0, out=half[1:])
        swings: list[int] = []
        for weight in weights:
            low, high = (_member_swings(half, quota, weight) for half in halves)
            swings += [(below + (above << 32)) % modulus for below, above in zip(low, high, strict=True)]
        return swings

    def _table(self, quota: int, width: int, modulus: int) -> NDArray[np.uint64]:
        """Return how many coalitions have a weight below the quota, and a size: shape (quota, width)."""
        table = np.zeros((quota, width), dtype=np.uint64)
        table[0, 0] = 1
        reach = 0
        for number, weight in enumerate(weight for weight in self.weights if weight < quota):
            reach = min(reach + weight, quota - 1)
            most = min(number + 2, width)
            if width == 1:
                target, addend = table[weight : reach + 1], table[: reach + 1 - weight]
            else:
                target, addend = table[weight : reach + 1, 1:most], table[: reach + 1 - weight, : most - 1]
            target[...] = _add(target, addend, modulus)
        return table

    def _count_exactly(self, count: Callable[[int], list[int]]) -> list[int]:
        """Return numbers below 2^n that are counted modulo several numbers (Chinese remainder theorem)."""
        numbers: list[int] = []
        product = 1
        while product.bit_length() <= len(self.weights) + 1:
            modulus = _WORD if product == 1 else _next_coprime(product)
            residues = count(modulus)
            if not numbers:
                numbers, product = residues, modulus
                continue
            inverse = pow(product, -1, modulus)
            numbers = [
                old + product * ((new - old) * inverse % modulus) for old, new in zip(numbers, residues, strict=True)
            ]
            product *= modulus
        return numbers

    def _is_quick(self, num_cells: int) -> bool:
        steps = num_cells * len(self.weights) * (len(self.weights) // 63 + 1)
        return num_cells <= _MOST_CELLS and steps <= _MOST_STEPS

    def _check_work(self, num_cells: int, quota: int) -> None:
        allowed = "fewer, or multiples of a greater unit: their coalitions take too long to count"
        value = f"{len(self.weights):,} with a quota of {quota:,} units"
        require(self._is_quick(num_cells), "weights", value, allowed)

    def _sorted_members(self) -> list[int]:
        return sorted(range(len(self.weights)), key=lambda place: -self.weights[place])


def released_power(parameters: Parameters, weights: Sequence[float]) -> tuple[float, ...]:
    """Return the effect of each partner's opinion on the released decision, with public weights.

    It is P[pass | the partner says "yes"] − P[pass | the partner says "no"], over the noise of all reports, and over
    opinions of the others that are fair coins. Without noise it is the Banzhaf measure. Let q be the quota, W the total
    weight, and φ̂ the debiased report. A candidate passes if the weight of the reports "yes" reaches (q −
    φ̂(no)·W)/(φ̂(yes) − φ̂(no)). The effect is that of the partner's report on this, times the change of its
    probability of "yes"; each other report is "yes" with its mean probability. For a majority and randomized response
    at ε, it is exactly tanh(ε/2) times the Banzhaf measure.

    Args:
        parameters: the parameters of a vote of `joint` or `printed` with public weights.
        weights: the partners' weights.

    Returns:
        The effects, within 1e-12, since sums of probabilities are floats.

    Raises:
        ConfigurationError: weights are private, the variant is another one, or it would take too long.

    Examples:
        >>> vote = Parameters(candidates=("merger",), weights=(1.0, 49.0, 50.0), public_weights=True, epsilon=2.0)
        >>> [round(power, 3) for power in released_power(vote, (50.0, 49.0, 1.0))]
        [0.571, 0.19, 0.19]
    """
    value = parameters.variant if parameters.public_weights else "private weights"
    is_told = parameters.public_weights and parameters.kind.counts_by_group
    require(is_told, "variant", value, "'joint' or 'printed', with public weights")
    mechanism = parameters.make_opinion_mechanism()
    channel, debiased = mechanism.channel_matrix(), debiased_values(mechanism, (0, 1))
    # With a user-defined matrix, "yes" may be reported less often by partners whose opinion is "yes".
    counted = 1 if debiased[1] > debiased[0] else 0
    units, quota = _to_units(parameters, weights)
    total = sum(units)
    reported = (quota - debiased[1 - counted] * total) / (debiased[counted] - debiased[1 - counted])
    num_needed = least_whole(reported, tie_passes=parameters.passes == "at_least")
    if not 1 <= num_needed <= total:
        return (0.0,) * len(units)
    chance = (channel[0][counted] + channel[1][counted]) / 2
    if chance > 1 / 2:  # count the others, so that the alternating sums below decrease
        chance, num_needed = 1 - chance, total - num_needed + 1
    require(num_needed * len(units) <= _MOST_STEPS, "weights", f"a quota of {num_needed:,} units", "of a greater unit")
    law = np.zeros(num_needed)
    law[0] = 1.0
    for unit in units:
        transfers = law * (1 - chance)
        transfers[unit:] += law[: max(num_needed - unit, 0)] * chance
        law = transfers
    below = np.concatenate([[0.0], np.cumsum(law)])
    odds = chance / (1 - chance)
    own_effect = channel[1][counted] - channel[0][counted]
    of_unit: dict[int, float] = {}
    for unit in set(units):
        tops = range(num_needed, 0, -unit)
        parts = [float(below[top] - below[max(0, top - unit)]) for top in tops]
        signed = math.fsum(part * (-odds) ** number for number, part in enumerate(parts))
        of_unit[unit] = own_effect * max(0.0, signed / (1 - chance))
    return tuple(of_unit[unit] for unit in units)


def _share_of_orders(swings: Sequence[int]) -> Fraction:
    """Return the share of all orders of members in which one swings those before it, from its swings by their size."""
    number = len(swings)
    orders = [math.factorial(size) * math.factorial(number - 1 - size) for size in range(number)]
    return Fraction(
        sum(num_swings * num_orders for num_swings, num_orders in zip(swings, orders, strict=True)),
        math.factorial(number),
    )


def _to_units(parameters: Parameters, weights: Sequence[float]) -> tuple[tuple[int, ...], Fraction]:
    """Return weights and quota in the greatest unit of which all weights are multiples."""
    fractions = [Fraction(str(float(weight))) for weight in weights]
    unit = unit_of(fractions)
    units = tuple(int(weight / unit) for weight in fractions)
    if parameters.quota is not None:
        return units, Fraction(str(parameters.quota)) / unit
    return units, parameters.exact_fraction * sum(units)


def least_whole(quota: Fraction, *, tie_passes: bool) -> int:
    """Return the least whole number that reaches a quota, or exceeds it."""
    return math.ceil(quota) if tie_passes else math.floor(quota) + 1


def _add(numbers: NDArray[np.uint64], addends: NDArray[np.uint64], modulus: int) -> NDArray[np.uint64]:
    """Return sums modulo 2**64, or a number below 2**63."""
    total = numbers + addends
    return total if modulus == _WORD else np.minimum(total, total - np.uint64(modulus))  # the smaller is right


def _sum(numbers: NDArray[np.uint64]) -> int:
    """Return a sum of many numbers of 64 bits."""
    return int((numbers & _LOW).sum()) + (int((numbers >> _HALF).sum()) << 32)


def _member_swings(lighter: NDArray[np.int64], quota: int, weight: int) -> list[int]:
    """Return the number of coalitions that a member swings, by their size.

    The member is part of the product, and does not win alone. Row s of `lighter`, shape (quota + 1, sizes), counts all
    coalitions of weight below s.
    """
    if weight >= quota:
        return lighter[quota].tolist()
    tops = np.arange(quota, 0, -weight)
    parts = lighter[tops] - lighter[np.maximum(tops - weight, 0)]
    parts[1::2] *= -1
    width = parts.shape[1]
    if width == 1:
        return [int(parts.sum())]
    counts = np.zeros(width, dtype=np.int64)
    for number, part in enumerate(parts[:width]):
        counts[number:] += part[: width - number]
    return counts.tolist()


def _next_coprime(product: int) -> int:
    """Return the greatest odd number below 2**63 that shares no factor with a product of some that were returned."""
    return next(number for number in range((1 << 63) - 1, 1, -2) if math.gcd(number, product) == 1)
