"""Elections by a trusted aggregator that release only the winner: Algorithm 2, and the exponential mechanism.

Both get only the groups' sums of utilities, flattened group by group, and return the winner. Sums are in steps of the
scoring's grid, relative to its center. A group contains all its voters on the roster: a voter without a report counts 0
for each alternative, as if indifferent.

Source: the paper, Algorithm 2, which follows Lee (2015); readings F2 to F4. McSherry and Talwar (2007) for the
exponential mechanism.
"""

import abc
import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, expm1, xlogy

from ..arrays import FloatArray, IntArray
from ..elementary import quotient_up
from ..mechanisms import ExactMechanism, RandBelow, bernoulli
from ..mechanisms.binomial import draw_binomial, draw_binomial_exactly
from ..mechanisms.exponential import (
    choice_probabilities,
    choose,
    choose_exactly,
    flip,
    flip_exactly,
    flip_probabilities,
    log_choice_probabilities,
    log_flip_probabilities,
)
from ..mechanisms.logarithms import log_of
from ..mechanisms.mechanism import check_candidates
from ..privacy import NeighboringRelation, NonPrivate, PrivacyEvent, PureMechanism
from .contests import law_above_floor, law_of_contest
from .lots import draw_lot
from .objective import Objective, disparities_of, floors_of, welfares_of
from .scoring import Scoring

SampleScale: TypeAlias = Literal["unbiased", "printed"]

_GREATEST: Final = 2**62
_FEW_OUTCOMES: Final = 1 << 12
_MAX_OUTCOMES: Final = 1 << 20
"""The most outcomes of one alternative's counts in Algorithm 2 for an exact law, which takes a tenth of a second
each."""
_MAX_OUTCOMES_WITH_FLOOR: Final = 1 << 10
"""The same with a floor on welfare, for which all outcomes are enumerated for each possible greatest welfare."""
# The most cached laws of an alternative; candidate rows that differ in one voter share most of them.
_MAX_HELD: Final = 32


class Choice(ExactMechanism):
    """Elect one of m alternatives from groups' sums."""

    __slots__ = ()

    scoring: Scoring
    group_sizes: tuple[int, ...]
    objective: Objective
    proven: tuple[float, ...]

    @property
    def num_alternatives(self) -> int:
        """How many there are: m."""
        return self.scoring.num_alternatives

    @property
    def value_range(self) -> tuple[int, int]:
        return -_GREATEST, _GREATEST

    @property
    def report_range(self) -> tuple[int, int]:
        return 0, self.num_alternatives - 1

    def num_reports_of(self, num_values: int) -> int:
        return 1

    def event_of(self, num_values: int) -> PrivacyEvent:
        """Return the event of the voter that pays most."""
        return self.event_of_group(max(range(len(self.proven)), key=self.proven.__getitem__))

    def event_of_group(self, group: int) -> PrivacyEvent:
        """Return the event of a voter of a group."""
        proven = self.proven[group]
        return NonPrivate() if math.isinf(proven) else PureMechanism(epsilon=proven)

    def randomize_rows(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        rows = [
            self.randomize_row(row, row_uniforms)
            for row, row_uniforms in zip(values.tolist(), uniforms.tolist(), strict=True)
        ]
        return np.array(rows, dtype=np.int64).reshape(-1, 1)

    def log_likelihoods(self, reports: IntArray, values: IntArray) -> FloatArray:
        check_candidates(self, reports, values)
        return self.log_laws(values)[:, reports[:, 0]].T

    @abc.abstractmethod
    def log_laws(self, values: IntArray) -> FloatArray:
        """Return ln P[winner | sums], shape (c, m), of rows of sums, shape (c, w).

        Raises:
            NotImplementedError: the law takes too long to compute.
            ValueError: a row is not allowed.
        """

    def groups_of(self, values: Sequence[int]) -> list[Sequence[int]]:
        """Return the sums of each group; ValueError unless there are m numbers for each."""
        size = self.num_alternatives
        if len(values) != size * len(self.group_sizes):
            raise ValueError(f"{len(values)} sums are given: give {size} for each of {len(self.group_sizes)} groups")
        return [values[start : start + size] for start in range(0, len(values), size)]


@dataclasses.dataclass(frozen=True)
class SampledChoice(Choice):
    """Algorithm 2: elect by utilities that are estimated from random voters' answers to random questions.

    With probability γ the winner is uniform. Otherwise S_k(a) ~ Bin(n_s, θ_k(a)), independently for all groups k and
    alternatives a, with θ_k(a) = (2/m)·(mean utility − least)/(greatest − least): lines 7 to 14 ask a Bin(n_s, 2/m)
    number of random voters whether they prefer a to a random b, which for Borda scores has probability W_k(a)/(m − 1).
    The objective elects by W̃_k = S_k/n_k as printed (line 17), or by the unbiased Ŵ_k = S_k·m·range/(2·n_s) + least
    (reading F3). Ties are broken at random.

    Args:
        objective: the objective, which uses Ŵ or W̃ as utilities.
        num_samples: n_s ≥ 1.
        sum_sizes: the number of voters in each group's sum: all on the roster, or n_s if voters are sampled first
            (reading F4).
        gamma: γ in [0, 1).
        proven: the proven ε of a voter of each group.

    Privacy:
        Replace-one, unit: the voter, against an observer of the winner: `proven`, by `sampling_bounds`; infinite for γ
        = 0.

    Source:
        The paper, Algorithm 2; readings F2 to F4.
    """

    scoring: Scoring
    group_sizes: tuple[int, ...]
    objective: Objective
    num_samples: int
    sum_sizes: tuple[int, ...]
    gamma: float
    scale: SampleScale
    proven: tuple[float, ...]

    @property
    def is_small(self) -> bool:
        """Whether many of its laws are worked out in no time."""
        few = _MAX_OUTCOMES_WITH_FLOOR if self.objective.name == "welfare_constrained" else _FEW_OUTCOMES
        return (self.num_samples + 1) ** len(self.group_sizes) <= few

    def slots_of(self, num_values: int) -> int:
        """One uniform for γ, one for ties, one for each S."""
        return 2 + num_values

    def randomize_rows(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Elect, each row on its own; rows that are alike, as in trials, have one computation of chances."""
        chances, rows = functools.cache(self.hit_probabilities), map(tuple, values.tolist())
        elected = [
            self._elect(chances(row), row_uniforms) for row, row_uniforms in zip(rows, uniforms.tolist(), strict=True)
        ]
        return np.array(elected, dtype=np.int64).reshape(-1, 1)

    def randomize_row(self, values: Sequence[int], uniforms: Sequence[float]) -> list[int]:
        return [self._elect(self.hit_probabilities(values), uniforms)]

    def _elect(self, chances: Sequence[Sequence[Fraction]], uniforms: Sequence[float]) -> int:
        coin, of_ties, *of_counts = uniforms
        if coin < self.gamma:
            return min(int(coin / self.gamma * self.num_alternatives), self.num_alternatives - 1)
        remaining_counts = iter(of_counts)
        counts = [
            [draw_binomial(self.num_samples, chance, next(remaining_counts)) for chance in group] for group in chances
        ]
        return draw_lot(self._best_alternatives(counts), of_ties)

    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[int]:
        chances = self.hit_probabilities(values)
        counts = [[draw_binomial_exactly(self.num_samples, chance, randbelow) for chance in group] for group in chances]
        tied = self._best_alternatives(counts)
        # The coin is thrown last; otherwise the time of a release would reveal it, and the proven loss depends on it.
        is_random = bernoulli(Fraction(self.gamma), randbelow)
        return [randbelow(self.num_alternatives) if is_random else tied[randbelow(len(tied))]]

    def log_laws(self, values: IntArray) -> FloatArray:
        laws = np.array([self.probabilities(row) for row in values.tolist()], dtype=np.float64)
        return log_of(laws.reshape(-1, self.num_alternatives))

    def probabilities(self, values: Sequence[int]) -> tuple[float, ...]:
        """Return the exact law of the winner, up to rounding; with γ = 0, probabilities below about 1e-300 may be 0.

        Alternatives' counts are independent, and an alternative's merit depends on its counts. It wins if every other
        one has less merit, or equal merit and a worse lot (`law_of_contest`). With a floor on welfare, merits also
        depend on the greatest welfare (`law_above_floor`).

        Raises:
            NotImplementedError: an alternative has more than 2**20 outcomes, (n_s + 1)^G; with a floor on welfare, more
                than 2**10.
            ValueError: a sum is impossible for this number of voters.
        """
        if self.objective.name == "welfare_constrained":
            columns = [tuple(column) for column in zip(*self.hit_probabilities(values), strict=True)]
            welfare, disparity, floors = self._ranks_and_floors
            law = law_above_floor(np.array(list(map(self._joint, columns))), welfare, disparity, floors=floors)
        else:
            chances = self.merits(values)
            law = law_of_contest(chances, np.cumsum(chances, axis=1) - chances)
        law /= math.fsum(law)
        return tuple((self.gamma / self.num_alternatives + (1.0 - self.gamma) * law).tolist())

    def merits(self, values: Sequence[int]) -> FloatArray:
        """Return the law of each alternative's merit, as a rank, shape (m, ranks). See `probabilities`."""
        return np.array([self._law_of_rank(tuple(hits)) for hits in zip(*self.hit_probabilities(values), strict=True)])

    def _best_alternatives(self, counts: Sequence[Sequence[int]]) -> list[int]:
        """Return the best by the counts S, more than one where they tie."""
        return self._count_objective.best_alternatives(self.utilities_of(counts), self.group_sizes)

    @functools.cached_property
    def _count_objective(self) -> Objective:
        """The objective of what utilities are taken for: as printed, the least is 0."""
        is_printed = self.scale == "printed"
        return dataclasses.replace(self.objective, least_utility=Fraction(0)) if is_printed else self.objective

    def _law_of_rank(self, chances: tuple[Fraction, ...]) -> FloatArray:
        """Return the law of an alternative's merit, as a rank among all, where these are its θ_k."""
        laws = self._laws_of_rank
        if (law := laws.get(chances)) is None:
            law = np.bincount(self._ranks, weights=self._joint(chances)).astype(np.float64, copy=False)
            if len(laws) >= _MAX_HELD:
                laws.clear()
            laws[chances] = law
        return law

    def _joint(self, chances: tuple[Fraction, ...]) -> FloatArray:
        """Return the law of an alternative's counts, the last group's fastest, where these are its θ_k."""
        joint = np.ones(1)
        for chance in chances:
            joint = np.multiply.outer(joint, _binomial(self.num_samples, chance)).reshape(-1)
        return joint

    @functools.cached_property
    def _ranks_and_floors(self) -> tuple[IntArray, IntArray, list[int]]:
        """The ranks of welfare and disparity for each vector of counts, and the floor of each welfare.

        A floor is given by the least rank of a welfare that is at least the floor.
        """
        self._check_outcomes(_MAX_OUTCOMES_WITH_FLOOR)
        sizes = np.array(list(map(Fraction, self.group_sizes)), dtype=object)
        counts = itertools.product(range(self.num_samples + 1), repeat=len(sizes))
        utilities = np.array([self.utilities_of([[count] for count in row]) for row in counts], dtype=object)
        in_order, welfare = np.unique(welfares_of(utilities, sizes), return_inverse=True)
        disparity = np.unique(disparities_of(utilities, self.objective, sizes), return_inverse=True)[1]
        floors = np.searchsorted(in_order, floors_of(in_order, self._count_objective))
        return welfare.reshape(-1), disparity.reshape(-1), floors.tolist()

    def _check_outcomes(self, most: int) -> None:
        number, groups = self.num_samples + 1, len(self.group_sizes)
        if number**groups > most:
            outcomes = f"{number}^{groups} outcomes for each alternative"
            raise NotImplementedError(f"the law of {type(self).__name__} takes too long: {outcomes}")

    @functools.cached_property
    def _laws_of_rank(self) -> dict[tuple[Fraction, ...], FloatArray]:
        return {}

    @functools.cached_property
    def _ranks(self) -> IntArray:
        """The rank of the merit for each vector of one alternative's counts, from 0; equal merits have the same rank.

        Merits are compared as integers, in units of which all utilities are multiples. Adding a constant, such as the
        least score, to all utilities changes no comparison.
        """
        num_groups, objective = len(self.group_sizes), self.objective
        self._check_outcomes(_MAX_OUTCOMES)
        of_one, of_none = (self.utilities_of([[number]] * num_groups) for number in (1, 0))
        steps = [with_one - none for (with_one,), (none,) in zip(of_one, of_none, strict=True)]
        denominator = math.lcm(*(step.denominator for step in steps))
        unit = Fraction(math.gcd(*(int(step * denominator) for step in steps)), denominator)
        weight = objective.fairness_weight * sum(self.group_sizes)
        parts = math.lcm(*map(self._size_of, itertools.chain.from_iterable(objective.partitions)))
        most = sum(self.group_sizes) * weight.denominator + weight.numerator
        greatest = (self.num_samples * max(steps) / unit * most) * parts
        # Python's integers have no limit, but take ten times as long.
        counts = np.arange(self.num_samples + 1).astype(np.int64 if greatest < _GREATEST else object)
        utilities = [
            (counts * int(step / unit)).reshape([-1 if group == place else 1 for group in range(num_groups)])
            for place, step in enumerate(steps)
        ]
        of_voters = [utility * size for utility, size in zip(utilities, self.group_sizes, strict=True)]
        ranges = [
            functools.reduce(np.maximum, means) - functools.reduce(np.minimum, means)
            for means in self._means_of_features(of_voters, parts) or [utilities]
        ]
        disparities = functools.reduce(np.maximum, ranges)  # times `parts`
        welfare = functools.reduce(np.add, of_voters)  # times the number of voters
        match objective.name:
            case "parity":
                merits = -disparities
            case "penalized" | "welfare":
                merits = welfare * (parts * weight.denominator) - disparities * weight.numerator
            case "constrained":
                # Alternatives within the limit come first: their welfare is at least 0 here, the others' number
                # negative.
                limit = math.floor(parts * objective.max_disparity / unit)
                merits = np.where(disparities <= limit, welfare, -disparities)
            case _:
                raise ValueError("an alternative's rank follows from the greatest welfare, too")
        return np.unique(merits.reshape(-1), return_inverse=True)[1].reshape(-1)

    def _means_of_features(self, of_voters: Sequence[NDArray[Any]], parts: int) -> list[list[NDArray[Any]]]:
        """Return the groups' mean utilities for each feature, times `parts`, from the sums of the crossings' voters."""
        return [
            [
                functools.reduce(np.add, [of_voters[place] for place in places]) * (parts // self._size_of(places))
                for places in partition
            ]
            for partition in self.objective.partitions
        ]

    def _size_of(self, places: Sequence[int]) -> int:
        return sum(self.group_sizes[place] for place in places)

    def hit_probabilities(self, values: Sequence[int]) -> list[list[Fraction]]:
        """Return θ_k(a), group by group; ValueError for sums that are none of utilities of so many voters."""
        least = self.scoring.steps[-1]
        chances = [
            [Fraction(2 * (total - size * least), self.num_alternatives * size * self.scoring.range) for total in group]
            for group, size in zip(self.groups_of(values), self.sum_sizes, strict=True)
        ]
        most = Fraction(2, self.num_alternatives)
        if not all(0 <= chance <= most for group in chances for chance in group):
            raise ValueError("a sum is not one of utilities of as many voters as the group has")
        return chances

    def utilities_of(self, counts: Sequence[Sequence[int]]) -> list[list[Fraction]]:
        """Return the groups' utilities for the counts S, in units of the scores.

        As printed they are S_k/n_k, which for scores other than Borda's are still in Borda's unit.
        """
        if self.scale == "printed":
            groups = zip(counts, self.group_sizes, strict=True)
            return [[Fraction(count, size) for count in group] for group, size in groups]
        step = Fraction(self.scoring.step)
        utility_step = Fraction(self.num_alternatives * self.scoring.range, 2 * self.num_samples) * step
        least = (self.scoring.steps[-1] + self.scoring.center) * step
        return [[count * utility_step + least for count in group] for group in counts]


@dataclasses.dataclass(frozen=True)
class ExponentialChoice(Choice):
    """Elect by the objective's quality q with the exponential mechanism, or with permute-and-flip.

    The exponential mechanism elects with probability ∝ e^(ε·q/(2Δ)), where Δ is the greatest sensitivity of q.

    Args:
        epsilon: ε of a voter of the group that changes qualities most, which is the smallest group.
        is_flipped: whether to use permute-and-flip.

    Attributes:
        proven: the proven ε of a voter of each group; less in larger groups.

    Privacy:
        ε-DP, unit: the voter, for the stated relation, against an observer of the winner: qualities of neighbors differ
        by at most Δ, and so does the logarithm of their normalizing sums, divided by the rate. A voter of a group that
        changes qualities less pays proportionally less.

    Source:
        McSherry and Talwar (2007), Theorem 6; McKenna and Sheldon (2020), Theorem 1.
    """

    scoring: Scoring
    group_sizes: tuple[int, ...]
    objective: Objective
    epsilon: float
    relation: NeighboringRelation = NeighboringRelation.REPLACE_ONE
    is_flipped: bool = False
    proven: tuple[float, ...] = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        sensitivities = self._sensitivities()
        most = max(sensitivities)
        proven = tuple(quotient_up(Fraction(self.epsilon) * sensitivity, most) for sensitivity in sensitivities)
        object.__setattr__(self, "proven", proven)

    def slots_of(self, num_values: int) -> int:
        """One uniform, or two for each alternative."""
        return 2 * self.num_alternatives if self.is_flipped else 1

    @functools.cached_property
    def rate(self) -> Fraction:
        """ε/(2Δ), Δ in steps."""
        return Fraction(self.epsilon) / (2 * max(self._sensitivities()))

    def qualities(self, values: Sequence[int]) -> list[Fraction]:
        """Return the quality of each alternative, in steps."""
        groups = zip(self.groups_of(values), self.group_sizes, strict=True)
        utilities = [[Fraction(total, size) for total in group] for group, size in groups]
        limit = self.objective.max_disparity / Fraction(self.scoring.step)
        least = Fraction(self.scoring.steps[-1])
        in_steps = dataclasses.replace(self.objective, max_disparity=limit, least_utility=least)
        return in_steps.qualities(utilities, self.group_sizes)

    def log_laws(self, values: IntArray) -> FloatArray:
        """Return the logarithms of `probabilities`, also of those below the least float. See `Choice.log_laws`."""
        deficits = np.empty((len(values), self.num_alternatives))
        for number, row in enumerate(values.tolist()):
            qualities = self.qualities(row)
            best = max(qualities)
            deficits[number] = [float(self.rate * (best - quality)) for quality in qualities]
        return (log_flip_probabilities if self.is_flipped else log_choice_probabilities)(deficits)

    def probabilities(self, values: Sequence[int]) -> tuple[float, ...]:
        """Return the exact law of the winner, to rounding."""
        law = flip_probabilities if self.is_flipped else choice_probabilities
        return law(self.qualities(values), self.rate)

    def randomize_rows(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Elect, each row on its own; rows that are alike, as in trials, have one computation of qualities."""
        qualities, rows = functools.cache(self.qualities), values.tolist()
        elected = [
            self._elect(qualities(tuple(row)), row_uniforms)
            for row, row_uniforms in zip(rows, uniforms.tolist(), strict=True)
        ]
        return np.array(elected, dtype=np.int64).reshape(-1, 1)

    def randomize_row(self, values: Sequence[int], uniforms: Sequence[float]) -> list[int]:
        return [self._elect(self.qualities(values), uniforms)]

    def _elect(self, qualities: Sequence[Fraction], uniforms: Sequence[float]) -> int:
        if self.is_flipped:
            return flip(qualities, self.rate, uniforms)
        return choose(qualities, self.rate, uniforms[0])

    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[int]:
        draw = flip_exactly if self.is_flipped else choose_exactly
        return [draw(self.qualities(values), self.rate, randbelow)]

    def _sensitivities(self) -> list[Fraction]:
        change, sizes = self.scoring.greatest_change(self.relation), self.group_sizes
        return [self.objective.quality_sensitivity(change, sizes, group) for group in range(len(sizes))]


def _binomial(number: int, probability: Fraction) -> FloatArray:
    """Return the law of Bin(number, probability), tails and all: shape (number + 1,)."""
    counts = np.arange(number + 1, dtype=np.float64)
    log_ways = -betaln(number - counts + 1, counts + 1) - float(xlogy(1.0, number + 1))
    logs = log_ways + xlogy(counts, float(probability)) + xlogy(number - counts, float(1 - probability))
    law: FloatArray = expm1(logs) + 1.0
    return law / law.sum()
