"""Answer perturbation: keep an answer, or report another label of its answer set, chosen uniformly.

A private row holds one value for each question: `NO_ANSWER`, or a code. Answer sets of different sizes s_0, s_1, … form
consecutive blocks of codes, so that a code names both its set and its label. A report stays in the block. Which
questions are answered, and from which set, is public: neighbors differ only in labels. `sizes` are the sizes of the
blocks, each at least 2. `hyper` is the hyper-distribution, from which a two-layer mechanism draws the flip probability.

All mechanisms here follow Definition 5.1: with the flip probability p the report is another label, each with
probability p/(s − 1). They differ in how and how often p is drawn.

Source: the truth discovery paper, Definition 5.1, Sections 5.1 and 5.2; readings T2, T3 and T7.
"""

import abc
import collections
import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import ClassVar, Final, NamedTuple

import numpy as np
import scipy as sp
from numpy.typing import NDArray

from ..arguments import exact_arguments, make_fields_exact
from ..arrays import FloatArray, IntArray
from ..elementary import exp
from ..errors import refuse, require
from ..privacy.events import (
    Composed,
    LocalRandomizer,
    NonPrivate,
    NoRelease,
    PrivacyEvent,
    RandomizedResponse,
    SelfComposed,
)
from .hyper import HyperDistribution
from .joint_law import (
    loss_of_all_answers,
    loss_of_flip_probability,
    loss_of_longest_row,
    loss_of_mean,
    loss_of_one_answer,
)
from .logarithms import log_of
from .mechanism import FiniteMechanism, RowMechanism, check_batch, check_candidates, check_numbers
from .randomized_response import MAX_EPSILON

NO_ANSWER: Final = -1
"""The value of a question without an answer; reported unchanged, since it is public which questions are answered."""
MIN_FLIP_PROBABILITY: Final = 2.0**-44
"""The least flip probability above 0 of `OneLayer`: below it a simulated uniform of 53 bits would be too coarse."""


@exact_arguments
def flip_probability_of(epsilon: float, num_labels: int) -> float:
    """Return the flip probability p = (s − 1)/(e^ε + s − 1), for which the loss of one answer is ε.

    Args:
        epsilon: ε, in [0, `MAX_EPSILON`], in nats; at 0 reports are independent of the answer.
        num_labels: s ≥ 2.

    Returns:
        p, rounded up, so that ε stays an upper bound; (s − 1)/s for ε = 0.

    Source:
        The truth discovery paper, Theorem 6.2, solved for p.

    Examples:
        >>> import math
        >>> round(flip_probability_of(math.log(3), 2), 6)
        0.25
    """
    _check_num_labels("num_labels", num_labels)
    require(0 <= epsilon <= MAX_EPSILON, "epsilon", epsilon, f"in [0, {MAX_EPSILON:g}]")
    num_others = num_labels - 1
    uniform_flip = num_others / num_labels
    if epsilon == 0:
        return uniform_flip
    # With e^(−ε) no digits are lost; s − 1 would vanish next to a large e^ε.
    odds = num_others * exp(-epsilon)
    flip = odds / (1 + odds)
    while flip < uniform_flip and loss_of_flip_probability(flip, num_labels) > epsilon:
        flip = math.nextafter(flip, 1.0)
    return min(flip, uniform_flip)


@exact_arguments
def epsilon_of(flip_probability: float, num_labels: int) -> float:
    """Return ε = ln((1 − p)(s − 1)/p): the loss of one answer that is flipped with probability p.

    For a two-layer mechanism, with p the mean of its hyper-distribution, this is the ε that the paper *claims*. The
    proven loss of rows with more than one answer is in `joint_law`.

    Args:
        flip_probability: p, in [0, (s − 1)/s].
        num_labels: s ≥ 2.

    Returns:
        ε, in nats, rounded up to the next float; ∞ for p = 0, and 0 for p = (s − 1)/s up to its rounding.

    Raises:
        ConfigurationError: a parameter is out of range. For p above (s − 1)/s the true label would be the least
            probable report, and the formula negative.

    Source:
        The truth discovery paper, Theorem 6.2; Theorem 6.3 with p = (a + b)/2; Theorem 6.4 for their equality.

    Examples:
        >>> round(epsilon_of(0.25, 2), 4)  # ln 3
        1.0986
    """
    _check_num_labels("num_labels", num_labels)
    _check_flip_probability("flip_probability", flip_probability, num_labels)
    if flip_probability == (num_labels - 1) / num_labels:
        return 0.0
    return loss_of_flip_probability(flip_probability, num_labels)


@exact_arguments
def block_offsets(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the code of label 0 of each block, followed by the number of codes.

    Examples:
        >>> block_offsets((2, 4, 3))
        (0, 2, 6, 9)
    """
    return (0, *itertools.accumulate(sizes))


class _InBlocks(RowMechanism):
    """A mechanism that keeps each answer in its block."""

    __slots__ = ()

    ignores_order: ClassVar[bool] = True
    sizes: tuple[int, ...]

    @property
    def value_range(self) -> tuple[int, int]:
        """`NO_ANSWER` and all codes."""
        return NO_ANSWER, sum(self.sizes) - 1

    @property
    def report_range(self) -> tuple[int, int]:
        return self.value_range

    @abc.abstractmethod
    def event_of_answers(self, counts: Sequence[int]) -> PrivacyEvent:
        """Return the event of a row with this many answers from each block."""

    def event_among(self, values: Sequence[Sequence[int]]) -> PrivacyEvent:
        """Return `event_of_answers`; no column may hold answers from two blocks. See `RowMechanism.event_among`."""
        counts = self._counts_among(values)
        return self.event_of(len(values)) if counts is None else self.event_of_answers(counts)

    def _counts_among(self, values: Sequence[Sequence[int]]) -> list[int] | None:
        """Return how many answers each block has; None where a column may hold answers from two."""
        codes = _codes(self.sizes)
        counts = [0] * len(self.sizes)
        for column, number in collections.Counter(map(tuple, values)).items():
            blocks = {codes[value - NO_ANSWER].block for value in column} - {codes[0].block}
            if len(blocks) > 1:
                return None
            for block in blocks:
                counts[block] += number
        return counts

    def are_neighbors(self, values: IntArray, other_values: IntArray) -> NDArray[np.bool_]:
        """Rows that skip the same places, and answer the others from the same blocks."""
        offsets, _ = _tables(self.sizes)
        is_alike = np.ones((len(values), len(other_values)), dtype=np.bool_)
        for column, of_others in zip(values.T, other_values.T, strict=True):
            is_alike &= offsets[column - NO_ANSWER][:, None] == offsets[of_others - NO_ANSWER]
        return is_alike


class _EachByItself(_InBlocks, FiniteMechanism):
    """A mechanism that flips each answer independently, with a flip probability and a loss that its block has."""

    __slots__ = ()

    @abc.abstractmethod
    def _flips(self) -> Sequence[float]:
        """Return p of each block."""

    @abc.abstractmethod
    def _losses(self) -> Sequence[float]:
        """Return the loss of an answer, for each block."""

    @property
    def epsilon(self) -> float:
        """The loss of one answer of the worst block, in nats; ∞ if one is not perturbed."""
        return max(self._losses())

    def event_of_answers(self, counts: Sequence[int]) -> PrivacyEvent:
        """A local randomizer for each answer, at its own block's ε."""
        numbered = [(loss, count) for loss, count in zip(self._losses(), counts, strict=True) if count]
        if any(math.isinf(loss) for loss, _ in numbered):
            return NonPrivate()
        return Composed(tuple(SelfComposed(LocalRandomizer(epsilon=loss), count) for loss, count in numbered))

    def event_of_one_among(self, values: Sequence[Sequence[int]]) -> PrivacyEvent:
        """A local randomizer at the ε of the worst block that has an answer."""
        counts = self._counts_among(values)
        if counts is None:
            return self.event_of(1)
        worst = max((loss for loss, count in zip(self._losses(), counts, strict=True) if count), default=0.0)
        return NonPrivate() if math.isinf(worst) else LocalRandomizer(epsilon=worst)

    def channel_matrix(self) -> tuple[tuple[float, ...], ...]:
        """Return P[report | value], `NO_ANSWER` first: 1 − p on the diagonal, p/(s − 1) elsewhere in a block."""
        codes, flips = _codes(self.sizes), self._flips()
        rows: list[tuple[float, ...]] = []
        for value in codes:
            flip = flips[value.block] if value.size > 1 else 0.0
            lie = flip / max(value.size - 1, 1)
            chances = (1.0 - flip if code == value else lie if code.offset == value.offset else 0.0 for code in codes)
            rows.append(tuple(chances))
        return tuple(rows)

    def log_probabilities(self, reports: IntArray, values: IntArray) -> FloatArray:
        """Return ln(1 − p) for the answer itself, ln(p/(s − 1)) for other labels of its set. See `Mechanism`."""
        (offsets, all_sizes), of_blocks = _tables(self.sizes), self._flips()
        flips = np.array((0.0, *(of_blocks[code.block] for code in _codes(self.sizes)[1:])))
        log_keeps: FloatArray = sp.special.log1p(-flips)
        log_lies = log_of(flips) - log_of(np.maximum(all_sizes - 1.0, 1.0))
        of_values = values - NO_ANSWER
        is_in_block = offsets[of_values][:, None] == offsets[reports - NO_ANSWER]
        log_other_labels = np.where(is_in_block, log_lies[of_values][:, None], -np.inf)
        return np.where(values[:, None] == reports, log_keeps[of_values][:, None], log_other_labels).T


@dataclasses.dataclass(frozen=True)
class OneLayer(_EachByItself):
    """Perturb each answer independently, with a flip probability that depends only on the size of its answer set.

    Args:
        flip_probabilities: p of each block: 0, or in [`MIN_FLIP_PROBABILITY`, (s − 1)/s].

    Privacy:
        ε-LDP, replace-one, unit: one answer, with ε the greatest `epsilon_of` of all blocks; see `channel_matrix`. It
        is public whether a question was answered, and from which answer set.

    Source:
        The truth discovery paper, Definition 5.1 and Theorem 6.2.

    Examples:
        >>> mechanism = OneLayer.from_epsilon((2, 3), epsilon=1.0)
        >>> [round(flip, 3) for flip in mechanism.flip_probabilities]
        [0.269, 0.424]
        >>> mechanism.randomize_row([0, NO_ANSWER, 4], [0.9, 0.9, 0.1])
        [0, -1, 2]
    """

    is_drawn_ahead: ClassVar[bool] = True
    sizes: tuple[int, ...]
    flip_probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        make_fields_exact(self)
        _check_blocks(self.sizes)
        field, number = "flip_probabilities", len(self.sizes)
        is_for_each = len(self.flip_probabilities) == number
        require(is_for_each, field, self.flip_probabilities, f"one for each block ({number})")
        for flip, size in zip(self.flip_probabilities, self.sizes, strict=True):
            _check_flip_probability(field, flip, size)
            refuse(0 < flip < MIN_FLIP_PROBABILITY, field, flip, f"0 or at least {MIN_FLIP_PROBABILITY:g}")

    @classmethod
    @exact_arguments
    def from_epsilon(cls, sizes: Sequence[int], epsilon: float) -> "OneLayer":
        """Return the mechanism whose answers cost ε each, in [0, `MAX_EPSILON`] nats, whatever their answer set."""
        _check_blocks(tuple(sizes))
        return cls(tuple(sizes), tuple(flip_probability_of(epsilon, size) for size in sizes))

    @classmethod
    @exact_arguments
    def from_flip_probability(cls, sizes: Sequence[int], flip_probability: float) -> "OneLayer":
        """Return the mechanism that flips every answer with the same p, at most (s − 1)/s for the smallest s."""
        return cls(tuple(sizes), (flip_probability,) * len(sizes))

    def _flips(self) -> Sequence[float]:
        return self.flip_probabilities

    def _losses(self) -> Sequence[float]:
        return [epsilon_of(flip, size) for flip, size in zip(self.flip_probabilities, self.sizes, strict=True)]

    @property
    def event(self) -> PrivacyEvent:
        """k-RR with the greatest ε and the least size of all blocks, which covers every block.

        For one ε, the loss is greater with fewer labels k: the hockey-stick divergence at x is (e^ε − e^x)/(e^ε + k −
        1).
        """
        if math.isinf(self.epsilon):
            return NonPrivate()
        return RandomizedResponse(epsilon=self.epsilon, num_choices=min(self.sizes))

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Give another label where the uniform is below p; its place in [0, p) names the label."""
        check_batch(self, values, uniforms)
        flips = np.array((0.0, *(self.flip_probabilities[code.block] for code in _codes(self.sizes)[1:])))
        return _perturb(values, uniforms[:, 0], flips[values - NO_ANSWER], self.sizes)

    def randomize_one(self, value: int, uniforms: Sequence[float]) -> int:
        code = _code_of(value, self.sizes)
        return value if value == NO_ANSWER else _perturb_one(code, uniforms[0], self.flip_probabilities[code.block])


@dataclasses.dataclass(frozen=True)
class TwoLayer(_InBlocks):
    """Draw one flip probability for each row, and perturb all answers of the row with it.

    Privacy:
        J-LDP, replace-one, unit: all answers of a worker. R-LDP, replace-one, unit: one answer if all others are known.
        `joint_law` computes J and R. The ε of Theorem 6.3 holds only for a single answer by itself. It is public
        whether a question was answered, and from which answer set.

    Source:
        The truth discovery paper, Section 5.2 and Theorem 6.3; reading T3.

    Examples:
        >>> from psephos.protocol.mechanisms import Uniform
        >>> mechanism = TwoLayer((2,), Uniform(0.0, 0.5))
        >>> mechanism.randomize_row([0, 1, 1], [0.8, 0.1, 0.9, 0.3])
        [1, 1, 0]
    """

    sizes: tuple[int, ...]
    hyper: HyperDistribution

    def __post_init__(self) -> None:
        make_fields_exact(self)
        _check_blocks(self.sizes)

    def slots_of(self, num_values: int) -> int:
        """The draw's, then one for each value."""
        return self.hyper.slots + num_values

    def event_of(self, num_values: int) -> PrivacyEvent:
        """A local randomizer at `loss_of_longest_row`: no row of so many values costs more."""
        if num_values == 0:
            return NoRelease()
        loss = loss_of_longest_row(num_values, self.sizes, self.hyper)
        return NonPrivate() if math.isinf(loss) else LocalRandomizer(epsilon=loss)

    def event_of_answers(self, counts: Sequence[int]) -> PrivacyEvent:
        """A local randomizer at J of just these answers."""
        return self._event_by(loss_of_all_answers, counts)

    def event_of_one_among(self, values: Sequence[Sequence[int]]) -> PrivacyEvent:
        """A local randomizer at R of these answers, which grows with their number: the others tell of the draw."""
        counts = self._counts_among(values)
        return self.event_of(len(values)) if counts is None else self._event_by(loss_of_one_answer, counts)

    def _event_by(
        self, loss_of: Callable[[Sequence[int], HyperDistribution], float], counts: Sequence[int]
    ) -> PrivacyEvent:
        if not any(counts):
            return NoRelease()
        sizes = [size for size, count in zip(self.sizes, counts, strict=True) for _ in range(count)]
        loss = loss_of(sizes, self.hyper)
        return NonPrivate() if math.isinf(loss) else LocalRandomizer(epsilon=loss)

    def randomize_rows(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Draw a flip probability for each row, and perturb its answers. See `RowMechanism.randomize_rows`."""
        if values.ndim != 2 or uniforms.shape != (len(values), self.slots_of(values.shape[1])):  # noqa: PLR2004  rows
            allowed_shapes = f"values of shape (n, w) and uniforms of shape (n, {self.hyper.slots} + w)"
            raise ValueError(f"shapes are {values.shape} and {uniforms.shape}: give {allowed_shapes}")
        check_numbers("values", values, self.value_range)
        slots, width = self.hyper.slots, values.shape[1]
        flips = np.repeat(self.hyper.draw(uniforms[:, :slots]), width)
        return _perturb(values.reshape(-1), uniforms[:, slots:].reshape(-1), flips, self.sizes).reshape(values.shape)

    def randomize_row(self, values: Sequence[int], uniforms: Sequence[float]) -> list[int]:
        slots = self.hyper.slots
        flip = self.hyper.draw_one(uniforms[:slots])
        return [
            _perturb_one(_code_of(value, self.sizes), uniform, flip)
            for value, uniform in zip(values, uniforms[slots:], strict=True)
        ]

    def log_likelihoods(self, reports: IntArray, values: IntArray) -> FloatArray:
        """Return ln L(k) − Σ ln(s_q − 1) over the k answers that differ. See `RowMechanism.log_likelihoods`.

        L(k) = E[P^k (1 − P)^(m−k)] for a row of m answers, and s_q is the size of answer q's set (`joint_law`). A
        report that skips other questions than the row, or has a label outside of an answer's set, is impossible.
        """
        check_candidates(self, reports, values)
        offsets, sizes = _tables(self.sizes)
        log_lies = log_of(np.maximum(sizes - 1.0, 1.0))
        shape = len(values), len(reports)  # the many reports are contiguous in memory
        num_flips, lies, is_possible = np.zeros(shape, dtype=np.int64), np.zeros(shape), np.ones(shape, dtype=np.bool_)
        for of_reports, of_values in zip(np.ascontiguousarray(reports.T), values.T, strict=True):
            is_flipped = of_values[:, None] != of_reports
            num_flips += is_flipped
            lies += is_flipped * log_lies[of_values - NO_ANSWER][:, None]
            is_possible &= offsets[of_values - NO_ANSWER][:, None] == offsets[of_reports - NO_ANSWER]
        num_answers = np.count_nonzero(values != NO_ANSWER, axis=1)
        logs = np.empty(shape)
        for number in np.unique(num_answers).tolist():
            are_long = num_answers == number
            # Impossible reports may have more differences than answers; they get −∞ below.
            logs[are_long] = self.hyper.log_moments(number)[np.minimum(num_flips[are_long], number)]
        return np.where(is_possible, logs - lies, -np.inf).T


@dataclasses.dataclass(frozen=True)
class FreshTwoLayer(_EachByItself):
    """Draw a new flip probability for each answer, and perturb the answer with it.

    The draws are independent, and each is used once. So each answer is flipped independently with the mean flip
    probability. This is the law of `OneLayer`, also for whole rows: the second layer has no effect.

    Attributes:
        slots: the uniforms for drawing the flip probability, and one more.

    Privacy:
        ε-LDP, replace-one, unit: one answer, with ε = abs(ln((1 − p)(s − 1)/p)) for the mean p and the worst size s.
        The losses of a worker's answers add up. It is public whether a question was answered, and from which set.

    Source:
        The truth discovery paper, Section 5.2, read with a draw for each answer; reading T3.

    Examples:
        >>> from psephos.protocol.mechanisms import Uniform
        >>> mechanism = FreshTwoLayer((2,), Uniform(0.0, 0.5))
        >>> round(mechanism.epsilon, 4)  # of answers that are flipped with probability 1/4
        1.0986
    """

    is_drawn_ahead: ClassVar[bool] = True
    sizes: tuple[int, ...]
    hyper: HyperDistribution
    slots: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        make_fields_exact(self)
        _check_blocks(self.sizes)
        object.__setattr__(self, "slots", self.hyper.slots + 1)

    def _flips(self) -> Sequence[float]:
        return (self.hyper.mean,) * len(self.sizes)

    def _losses(self) -> Sequence[float]:
        return [loss_of_mean(self.hyper, size) for size in self.sizes]

    @property
    def event(self) -> PrivacyEvent:
        """A local randomizer at the worst block's ε; k-RR, where there is one size and p ≤ (s − 1)/s."""
        if math.isinf(self.epsilon):
            return NonPrivate()
        size = min(self.sizes)
        if size == max(self.sizes) and self.hyper.mean_bounds[1] <= Fraction(size - 1, size):
            return RandomizedResponse(epsilon=self.epsilon, num_choices=size)
        return LocalRandomizer(epsilon=self.epsilon)

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Draw a flip probability for each value, and perturb it. See `Mechanism.randomize`."""
        check_batch(self, values, uniforms)
        return _perturb(values, uniforms[:, -1], self.hyper.draw(uniforms[:, :-1]), self.sizes)

    def randomize_one(self, value: int, uniforms: Sequence[float]) -> int:
        return _perturb_one(_code_of(value, self.sizes), uniforms[-1], self.hyper.draw_one(uniforms[:-1]))


class _Code(NamedTuple):
    """A value, taken apart; `NO_ANSWER` is a block of its own with one label."""

    block: int
    offset: int
    size: int
    label: int


@functools.lru_cache(maxsize=256)
def _codes(sizes: tuple[int, ...]) -> tuple[_Code, ...]:
    """Return every value taken apart, `NO_ANSWER` first."""
    offsets = block_offsets(sizes)
    return (
        _Code(-1, NO_ANSWER, 1, 0),
        *(_Code(block, offsets[block], size, label) for block, size in enumerate(sizes) for label in range(size)),
    )


@functools.lru_cache(maxsize=256)
def _tables(sizes: tuple[int, ...]) -> tuple[IntArray, IntArray]:
    """Return the offset and the size of every value's block, `NO_ANSWER` first."""
    codes = _codes(sizes)
    offsets = np.array([code.offset for code in codes], dtype=np.int64)
    return offsets, np.array([code.size for code in codes], dtype=np.int64)


def _code_of(value: int, sizes: tuple[int, ...]) -> _Code:
    codes = _codes(sizes)
    if not NO_ANSWER <= value < len(codes) + NO_ANSWER:
        raise ValueError(f"value is {value}: use a value from {NO_ANSWER} to {len(codes) + NO_ANSWER - 1}")
    return codes[value - NO_ANSWER]


def _perturb(values: IntArray, uniforms: FloatArray, flips: FloatArray, sizes: tuple[int, ...]) -> IntArray:
    """Return each value where its uniform is not below its p; else the label that the place in [0, p) names."""
    all_offsets, all_sizes = _tables(sizes)
    at = np.flatnonzero((uniforms < flips) & (values != NO_ANSWER))
    flipped = values[at]
    offsets, num_others = all_offsets[flipped - NO_ANSWER], all_sizes[flipped - NO_ANSWER] - 1
    labels = np.minimum((uniforms[at] * num_others / flips[at]).astype(np.int64), num_others - 1)
    labels += labels >= flipped - offsets  # skips the value's own label
    reports = values.copy()
    reports[at] = offsets + labels
    return reports


def _perturb_one(code: _Code, uniform: float, flip: float) -> int:
    """Return `_perturb` of one value, bit for bit."""
    num_others = code.size - 1
    if not num_others or uniform >= flip:
        return code.offset + code.label
    label = min(int(uniform * num_others / flip), num_others - 1)
    return code.offset + label + (label >= code.label)


def _check_num_labels(field: str, num_labels: int) -> None:
    require(num_labels >= 2, field, num_labels, "at least 2")  # noqa: PLR2004  one label has nothing to hide


def _check_blocks(sizes: tuple[int, ...]) -> None:
    require(sizes, "sizes", sizes, "at least one")
    for size in sizes:
        _check_num_labels("sizes", size)


def _check_flip_probability(field: str, flip_probability: float, num_labels: int) -> None:
    allowed = f"in [0, {num_labels - 1}/{num_labels}] for {num_labels} labels"
    require(0 <= flip_probability <= (num_labels - 1) / num_labels, field, flip_probability, allowed)
