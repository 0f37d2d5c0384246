"""Frequency oracles: estimate how often each of many values occurs, more precisely than k-RR.

Each report supports a subset of the values. Every report that supports the true value is e^ε times as likely as every
report that does not. So the law is given by two numbers, and a sampler needs one coin of 53 bits and a few uniform
integers. A report supports each other value that it tells about with the same probability q, whatever the true value
is; this makes the estimate unbiased.

Source: Wang, Blocki, Li and Jha (2017), Section 3, for the estimate ("pure" protocols) and Theorem 2 for its variance.
"""

import abc
import dataclasses
import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import exact_arguments, make_fields_exact
from ..arrays import FloatArray, IntArray
from ..elementary import exp, ln, square
from ..errors import require
from ..estimate import Estimate
from ..privacy.events import LocalRandomizer, PrivacyEvent, SelfComposed
from .exact import ExactMechanism, RandBelow
from .finite_channel import TOTAL_MASS, least_ratio_of
from .mechanism import Mechanism, check_candidates, check_numbers
from .randomized_response import check_epsilon

_BLOCK: Final = 1 << 20  # the numbers in a table that is computed at a time, which bounds the memory


class OracleLaw(NamedTuple):
    """The law of a frequency oracle.

    `keep` is p, the probability that a report supports the true value. `luck` is q, the probability that it supports
    another value that it tells about. The counts are the numbers of possible reports that support a value, and that do
    not. Besides the coin, a report takes uniform integers, each below one of `bounds`. Its numbers are from 0 to
    `greatest`.
    """

    keep: Fraction
    luck: Fraction
    num_supporting: int
    num_others: int
    bounds: tuple[int, ...]
    greatest: int
    num_numbers: int = 1

    @classmethod
    def keep_at(cls, epsilon: float, supporting: int, other_choices: int) -> Fraction:
        """Return the greatest p in units of 2**−53 that is ε-LDP, for numbers of reports in this proportion."""
        share = supporting / (supporting + other_choices * least_ratio_of(epsilon))
        return Fraction(int(TOTAL_MASS * share), TOTAL_MASS)


@dataclasses.dataclass(frozen=True)
class FrequencyOracle(ExactMechanism):
    """A local randomizer of values in [0, k), each of whose reports supports a subset of the values.

    Args:
        epsilon: `MIN_EPSILON` ≤ ε ≤ `MAX_EPSILON`, in nats, per value.
        num_choices: k ≥ 2, at most `most_choices`.

    Privacy:
        ε-LDP, replace-one, unit: the value; claimed and proven are ε. Exact: a coin of 53 bits is thrown with p, the
        greatest multiple of 2**−53 for which reports that support the value are at most e^ε times as likely as others,
        in exact fractions.

    Examples:
        >>> import numpy as np
        >>> oracle = HadamardResponse(epsilon=3.0, num_choices=4)
        >>> reports = oracle.perturb(np.repeat([0, 3], 5_000), seed=1)
        >>> [round(estimate.value / 1_000) for estimate in oracle.estimate(reports)]
        [5, 0, 0, 5]
    """

    most_choices: ClassVar[int] = 1_000_000
    epsilon: float
    num_choices: int

    def __post_init__(self) -> None:
        make_fields_exact(self)
        check_epsilon(self.epsilon)
        is_allowed = 2 <= self.num_choices <= self.most_choices  # noqa: PLR2004  one choice has nothing to hide
        require(is_allowed, "num_choices", self.num_choices, f"in [2, {self.most_choices:,}]")

    @functools.cached_property
    @abc.abstractmethod
    def law(self) -> OracleLaw:
        """The law, exactly."""

    @abc.abstractmethod
    def supports(self, reports: IntArray, values: IntArray) -> NDArray[np.bool_]:
        """Return which of n reports of one value each, shape (n, numbers), support which of c values: shape (n, c)."""

    @exact_arguments
    def support_counts(self, reports: IntArray) -> IntArray:
        """Return how many reports of one value each support each value, and how many tell of it: a tally, (2, k)."""
        check_numbers("reports", reports, self.report_range)
        return self.count(reports.reshape(-1, self.law.num_numbers))

    @abc.abstractmethod
    def count(self, reports: IntArray) -> IntArray:
        """Return `support_counts` of reports that are in range, shape (n, numbers)."""

    @abc.abstractmethod
    def make_reports(self, values: IntArray, is_kept: NDArray[np.bool_], integers: IntArray) -> IntArray:
        """Return n reports, shape (n, numbers), that support their value or not, by integers of shape (n, bounds)."""

    @exact_arguments
    def reach(self, value: int, holder: int) -> Fraction:
        """Return how often a report of who holds `holder` tells of `value`: always, unless overridden."""
        del value, holder
        return Fraction(1)

    @functools.cached_property
    def contributions(self) -> tuple[Fraction, Fraction]:
        """The contribution of a report for a value, and of one against it: 1 on average from its holders, else 0."""
        gap = self.law.keep - self.law.luck * self.reach(0, 0)
        return (1 - self.law.luck) / gap, -self.law.luck / gap

    @exact_arguments
    def variance_of(self, value: int, holder: int) -> Fraction:
        """Return a holder of `holder`'s contribution to the variance of the estimated number of holders of `value`."""
        supporting, against = (number * number for number in self.contributions)
        reach, luck = self.reach(value, holder), self.law.luck
        if value != holder:
            return reach * (luck * supporting + (1 - luck) * against)
        return self.law.keep * (supporting - against) + reach * against - 1

    @property
    def variance_of_others(self) -> Fraction:
        """The variance that a person adds to the number of another value's holders, averaged over those values."""
        return self.variance_of(0, 1)

    @exact_arguments
    def estimate_support(self, counts: IntArray, num_reports: int) -> tuple[Estimate, ...]:
        """Estimate the number of persons with each value, unbiased, in order.

        The variance is estimated by the sum of the squared contributions of all reports, minus the estimate itself,
        which is the sum of their squared means. It is at least the smallest variance that this many reports can have.

        Args:
            counts: `support_counts` of all reports, shape (2, k).
            num_reports: the number of reports.

        Raises:
            ValueError: the counts have another shape.
        """
        if counts.shape != (2, self.num_choices):
            raise ValueError(f"counts have shape {counts.shape}: give shape (2, {self.num_choices})")
        supporting, against = map(float, self.contributions)
        for_it, against_it = counts[0].astype(np.float64), (counts[1] - counts[0]).astype(np.float64)
        values = for_it * supporting + against_it * against
        squares = for_it * square(supporting) + against_it * square(against)
        least = num_reports * float(min(self.variance_of(0, 0), self.variance_of(0, 1)))
        return tuple(map(Estimate, values.tolist(), np.sqrt(np.maximum(squares - values, least)).tolist()))

    def estimate_rows(self, reports: IntArray) -> tuple[Estimate, ...]:
        allowed = "one report for each person: estimate each column of values by itself"
        require(reports.shape[1] == self.law.num_numbers, "reports", f"shape {reports.shape}", allowed)
        return self.estimate_support(self.count(reports), len(reports))

    @property
    def value_range(self) -> tuple[int, int]:
        return 0, self.num_choices - 1

    @property
    def report_range(self) -> tuple[int, int]:
        return 0, self.law.greatest

    def num_reports_of(self, num_values: int) -> int:
        return num_values * self.law.num_numbers

    @property
    def event(self) -> LocalRandomizer:
        """A local randomizer at this ε."""
        return LocalRandomizer(epsilon=self.epsilon)

    def event_of(self, num_values: int) -> PrivacyEvent:
        return SelfComposed(self.event, num_values)

    def event_of_one_among(self, values: Sequence[Sequence[int]]) -> PrivacyEvent:
        return self.event

    def slots_of(self, num_values: int) -> int:
        """One for the coin, and one for each of the law's bounds, value by value."""
        return num_values * (1 + len(self.law.bounds))

    def randomize_rows(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Round uniforms down: to 53 bits for the coin, to integers below their bounds."""
        number, width = values.shape
        if uniforms.shape != (number, self.slots_of(width)):
            raise ValueError(f"uniforms have shape {uniforms.shape}: give shape {(number, self.slots_of(width))}")
        check_numbers("values", values, self.value_range)
        uniforms = uniforms.reshape(number * width, 1 + len(self.law.bounds))
        is_kept = uniforms[:, 0] * TOTAL_MASS < int(self.law.keep * TOTAL_MASS)
        integers = (uniforms[:, 1:] * np.array(self.law.bounds)).astype(np.int64)
        return self.make_reports(values.reshape(-1), is_kept, integers).reshape(number, self.num_reports_of(width))

    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[int]:
        """Throw the coin and draw the integers, value by value. See `ExactMechanism`."""
        row, keep, bounds = np.array(values, dtype=np.int64), int(self.law.keep * TOTAL_MASS), self.law.bounds
        check_numbers("values", row, self.value_range)
        draws = [(randbelow(TOTAL_MASS) < keep, [int(randbelow(bound)) for bound in bounds]) for _ in values]
        are_kept = np.array([is_kept for is_kept, _ in draws], dtype=np.bool_)
        drawn_integers = np.array([integers for _, integers in draws], dtype=np.int64).reshape(len(row), len(bounds))
        return self.make_reports(row, are_kept, drawn_integers).reshape(-1).tolist()

    def log_likelihoods(self, reports: IntArray, values: IntArray) -> FloatArray:
        """Add up the two numbers of the law, value by value; reports whose numbers fall are impossible."""
        check_candidates(self, reports, values)
        keep, _, num_supporting, num_others, *_ = self.law
        inside, outside = ln(float(keep)) - ln(num_supporting), ln(float(1 - keep)) - ln(num_others)
        total = np.zeros((len(reports), len(values)))
        for place in range(values.shape[1]):
            block = reports[:, self.num_reports_of(place) : self.num_reports_of(place + 1)]
            total += np.where(self.supports(block, values[:, place]), inside, outside)
            total[(np.diff(block, axis=1) < 0).any(axis=1)] = -math.inf
        return total


class SubsetSelection(FrequencyOracle):
    """Report a subset of ω values that contains the true one with probability p (ω-subset mechanism).

    ω is k/(e^ε + 1), rounded up or down to the one with the smaller variance. A report is ω numbers in [0, k − ω]: the
    values of the subset in increasing order, minus 0, 1, …, ω − 1. So any numbers in this range, in any order, encode
    exactly one subset of ω values.

    Source:
        Ye and Barg (2018), arXiv:1702.00610; Wang et al. (2016), arXiv:1607.08025, for maximal mutual information.

    Examples:
        >>> oracle = SubsetSelection(math.log(2), 6)
        >>> oracle.law.num_numbers, round(float(oracle.law.keep), 4)
        (2, 0.5)
    """

    most_choices: ClassVar[int] = 10_000

    @functools.cached_property
    def law(self) -> OracleLaw:
        """Draws shuffle the other values, by Fisher and Yates; q = (ω − p)/(k − 1)."""
        num_others, laws = self.num_choices - 1, list[OracleLaw]()
        near = int(self.num_choices / (exp(self.epsilon) + 1))
        for size in sorted({min(max(size, 1), num_others) for size in (near, near + 1)}):
            keep = OracleLaw.keep_at(self.epsilon, size, self.num_choices - size)
            counts = math.comb(num_others, size - 1), math.comb(num_others, size)
            bounds = range(num_others, num_others - size, -1)
            greatest = self.num_choices - size
            laws.append(OracleLaw(keep, (size - keep) / num_others, *counts, tuple(bounds), greatest, size))
        return min(laws, key=_variance)

    def make_reports(self, values: IntArray, is_kept: NDArray[np.bool_], integers: IntArray) -> IntArray:
        size = self.law.num_numbers
        reports: IntArray = np.empty((len(values), size), dtype=np.int64)
        step = max(1, _BLOCK // self.num_choices)
        for start in range(0, len(values), step):
            rows = slice(start, start + step)
            row_values, numbers = values[rows], np.arange(len(values[rows]))
            choices = np.tile(np.arange(self.num_choices - 1, dtype=np.int64), (len(row_values), 1))
            for place in range(size):
                picks = place + integers[rows, place]
                choices[numbers, place], choices[numbers, picks] = choices[numbers, picks], choices[numbers, place]
            subsets = choices[:, :size] + (choices[:, :size] >= row_values[:, None])
            subsets[is_kept[rows], -1] = row_values[is_kept[rows]]  # replaces the last value
            reports[rows] = np.sort(subsets, axis=1) - np.arange(size)
        return reports

    def subsets(self, reports: IntArray) -> IntArray:
        """Return the values that each report supports, increasing, shape (n, ω)."""
        return np.sort(reports, axis=1) + np.arange(self.law.num_numbers)

    def supports(self, reports: IntArray, values: IntArray) -> NDArray[np.bool_]:
        subsets = self.subsets(reports)
        return np.array([(subsets == value).any(axis=1) for value in values]).reshape(len(values), len(reports)).T

    def count(self, reports: IntArray) -> IntArray:
        supporting = np.bincount(self.subsets(reports).reshape(-1), minlength=self.num_choices)
        return np.array([supporting, np.full(self.num_choices, len(reports))], dtype=np.int64)


class _OneNumber(FrequencyOracle, Mechanism):
    """A frequency oracle whose report of a value is one number."""

    @property
    def slots(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]  it is read alone
        return self.slots_of(1)

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        return self.randomize_rows(values.reshape(-1, 1), uniforms)[:, 0]

    def log_probabilities(self, reports: IntArray, values: IntArray) -> FloatArray:
        return self.log_likelihoods(reports[:, None], values[:, None])


class HadamardResponse(_OneNumber):
    """Report an index at which the value's row of a Hadamard matrix is +1 with probability p.

    There are B blocks with a b × b Hadamard matrix each; b is the least power of two above k/B. Values are assigned to
    the blocks in turn. Each has its row of the block's matrix; the first row is not used. A report is block·b + index,
    and tells only about the values of its block. B is the power of two with the least mean variance over values, which
    is proportional to 1/(B·(p − (1 − p)/(2B − 1))²) whatever the persons' values are. Below ε = 1.34 it is 1 (the
    scheme for high privacy). The source takes the greatest power of two up to e^ε. An estimate takes a fast transform
    of at most 4k numbers.

    Source:
        Acharya, Sun and Zhang (2019), arXiv:1802.04705: the scheme for high privacy, and the general one.

    Examples:
        >>> oracle = HadamardResponse(math.log(3), 3)
        >>> oracle.num_blocks, oracle.block_size
        (1, 4)
    """

    @functools.cached_property
    def num_blocks(self) -> int:
        """How many: B."""
        sizes = [1 << bits for bits in range((self.num_choices - 1).bit_length() + 1)]
        return max(sizes, key=lambda size: size / square(exp(self.epsilon) + 2 * size - 1))

    @functools.cached_property
    def block_size(self) -> int:
        """The size of a block: b."""
        return 1 << (-(-self.num_choices // self.num_blocks)).bit_length()

    @functools.cached_property
    def law(self) -> OracleLaw:
        """Draws are a place, and one of the half blocks without the value's +1; q is 1/2, as any two rows agree."""
        size, halves = self.block_size, 2 * self.num_blocks - 1
        keep = OracleLaw.keep_at(self.epsilon, 1, halves)
        counts, greatest = (size // 2, halves * (size // 2)), self.num_blocks * size - 1
        return OracleLaw(keep, Fraction(1, 2), *counts, (size, halves), greatest)

    @exact_arguments
    def reach(self, value: int, holder: int) -> Fraction:
        """Return how often the report of `holder` is in the block of `value`."""
        half = (1 - self.law.keep) / (2 * self.num_blocks - 1)
        return half + (self.law.keep if (value - holder) % self.num_blocks == 0 else half)

    @property
    def variance_of_others(self) -> Fraction:
        num_others = self.num_choices - 1
        of_block = num_others // self.num_blocks  # of the other values, those in the block of value 0
        block_variance = self.variance_of(0, self.num_blocks) if of_block else Fraction(0)
        outside = self.variance_of(0, 1) if of_block < num_others else Fraction(0)
        return (of_block * block_variance + (num_others - of_block) * outside) / num_others

    def make_reports(self, values: IntArray, is_kept: NDArray[np.bool_], integers: IntArray) -> IntArray:
        rows, blocks = values // self.num_blocks, values % self.num_blocks
        places, halves = integers[:, 0], integers[:, 1]
        # In the value's block, flipping one bit of the index changes the sign to the drawn one.
        bits = (rows + 1) & -(rows + 1)
        shifted_places = places ^ np.where(_is_odd((rows + 1) & places) == is_kept, bits, 0)
        other_blocks = (blocks + (halves + 1) // 2) % self.num_blocks
        is_own = is_kept | (halves == 0)
        return np.where(is_own, blocks * self.block_size + shifted_places, other_blocks * self.block_size + places)[
            :, None
        ]

    def supports(self, reports: IntArray, values: IntArray) -> NDArray[np.bool_]:
        rows, blocks = values // self.num_blocks, values % self.num_blocks
        report_blocks, places = reports // self.block_size, reports % self.block_size
        return (report_blocks == blocks) & ~_is_odd((rows + 1) & places)

    def count(self, reports: IntArray) -> IntArray:
        table = np.bincount(reports[:, 0], minlength=self.law.greatest + 1)
        half = 1
        while half < self.block_size:
            pairs = table.reshape(-1, 2, half)
            table = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1)
            half *= 2
        table = table.reshape(self.num_blocks, self.block_size)
        rows, blocks = np.divmod(np.arange(self.num_choices), self.num_blocks)
        return np.array([(table[blocks, 0] + table[blocks, rows + 1]) // 2, table[blocks, 0]], dtype=np.int64)


class LocalHashing(_OneNumber):
    """Report a random hash function, and the value's hash by k-RR among g hashes (optimal local hashing).

    The functions are h(v) = ((a·v + b) mod P) mod g, with P the least prime that is at least k, a uniform in [1, P) and
    b uniform in [0, P). For two different values, the pair of (a·v + b) mod P is uniform among all pairs of different
    numbers. So they collide with a probability c that is known exactly and at most 1/g. Mean and variance of the
    estimate depend only on c: q = c·p + (1 − c)·(1 − p)/(g − 1).

    g is e^ε + 1, rounded up or down to the one with the smaller variance, and at most k. A report is ((a − 1)·P + b)·g
    + y, with y the randomized hash. An estimate enumerates P/g values for each report: 100,000 reports of 1,000 values
    at ε = 1 take about a second; with 1,000,000 values a report takes 5 ms.

    Source:
        Wang, Blocki, Li and Jha (2017), Section 4; Carter and Wegman (1979), the class H₁, for the functions.

    Examples:
        >>> oracle = LocalHashing(1.0, 1000)
        >>> oracle.num_hashes, float(oracle.variance_of(0, 1)).__round__(3)
        (4, 3.682)
    """

    @functools.cached_property
    def prime(self) -> int:
        """The modulus: P."""
        numbers = range(self.num_choices, 2 * self.num_choices)
        return next(n for n in numbers if all(n % divisor for divisor in range(2, math.isqrt(n) + 1)))

    @exact_arguments
    def collision_probability(self, num_hashes: int) -> Fraction:
        """Return how often two values have the same one of so many hashes: c."""
        quotient, remainder = divmod(self.prime, num_hashes)
        pairs = remainder * (quotient + 1) * quotient + (num_hashes - remainder) * quotient * (quotient - 1)
        return Fraction(pairs, self.prime * (self.prime - 1))

    @property
    def num_hashes(self) -> int:
        """How many: g."""
        return self.law.bounds[-1] + 1

    @functools.cached_property
    def law(self) -> OracleLaw:
        """Draws are a function, and a lie: a shift of the hash."""
        prime, near = self.prime, int(min(exp(self.epsilon) + 1, self.num_choices))
        functions, laws = prime * (prime - 1), list[OracleLaw]()
        for lies in sorted({min(size, self.num_choices - 1) for size in (near - 1, near)}):
            keep, collision = OracleLaw.keep_at(self.epsilon, 1, lies), self.collision_probability(lies + 1)
            luck, greatest = collision * keep + (1 - collision) * (1 - keep) / lies, functions * (lies + 1) - 1
            laws.append(OracleLaw(keep, luck, functions, lies * functions, (prime - 1, prime, lies), greatest))
        return min(laws, key=_variance)

    def make_reports(self, values: IntArray, is_kept: NDArray[np.bool_], integers: IntArray) -> IntArray:
        less_one, shifts, lies = integers.T
        own_hashes = ((less_one + 1) * values + shifts) % self.prime % self.num_hashes
        hashes = (own_hashes + np.where(is_kept, 0, lies + 1)) % self.num_hashes
        return ((less_one * self.prime + shifts) * self.num_hashes + hashes)[:, None]

    def _parts(self, reports: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return a, b and y of each report."""
        functions, hashes = np.divmod(reports, self.num_hashes)
        less_one, shifts = np.divmod(functions, self.prime)
        return less_one + 1, shifts, hashes

    def supports(self, reports: IntArray, values: IntArray) -> NDArray[np.bool_]:
        factors, shifts, hashes = self._parts(reports)
        return (factors * values + shifts) % self.prime % self.num_hashes == hashes

    def count(self, reports: IntArray) -> IntArray:
        """Count v = (u − b)/a mod P for u = y, y + g, … below P. See `FrequencyOracle.count`."""
        factors, shifts, hashes = self._parts(reports)
        inverses = np.array([pow(factor, -1, self.prime) for factor in factors[:, 0].tolist()], dtype=np.int64)[:, None]
        steps = np.arange(0, self.prime, self.num_hashes)
        counts = np.zeros(self.prime + 1, dtype=np.int64)  # the last element collects numbers that are no value
        step = max(1, _BLOCK // len(steps))
        for rows in (slice(start, start + step) for start in range(0, len(reports), step)):
            hashed = hashes[rows] + steps
            values = (hashed - shifts[rows]) * inverses[rows] % self.prime
            values[hashed[:, -1] >= self.prime, -1] = self.prime
            counts += np.bincount(values.reshape(-1), minlength=self.prime + 1)
        return np.array([counts[: self.num_choices], np.full(self.num_choices, len(reports))], dtype=np.int64)


def _variance(law: OracleLaw) -> Fraction:
    """Return the variance that each person adds who does not hold a value, where all reports tell of all values."""
    return law.luck * (1 - law.luck) / (law.keep - law.luck) ** 2


def _is_odd(common: IntArray) -> NDArray[np.bool_]:
    """Return where a row and a place, which have these bits in common, meet at −1: where these are an odd number."""
    for shift in (16, 8, 4, 2, 1):  # an index is below 2**32
        common = common ^ (common >> shift)
    return (common & 1).astype(np.bool_)
