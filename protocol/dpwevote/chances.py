"""The probability that a candidate passes, given the partners' holdings: exactly, by the law of the sum of reports.

A partner's reports add v = c₀ + c₁x + c₂y to a margin, with integers x and y. So the sums X and Y of these decide.
Their characteristic function is the product of the partners' functions: φ(k) = Π φ_t(k)^{n_t} for n_t partners with
holdings t. On a lattice of L points, let m be 1 where a candidate passes and 0 elsewhere, with exact ties, and m̂ its
transform. Then

    P[passes] = Σ_k φ(k)·m̂(k) / L        (Parseval)

The lattice contains all possible sums; or, if there are too many, all but a probability of 4·10^−13 for any holdings
(Hoeffding), around one of a few fixed points, so that the result for one session does not depend on the others.
Frequencies at which abs(φ) is below e^−40 for any holdings are skipped.

Source: Hong, On computing the distribution function for the Poisson binomial distribution, Computational Statistics and
Data Analysis 2013, who computes the law of a sum of unequal coins in this way.
"""

import contextlib
import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, IntArray, counts_of_rows
from ..phases import InputBlock
from .central import CentralVariant
from .game import least_whole
from .parameters import Parameters
from .protocol import DPWeVote
from .variant import ReportSums, Variant

_OUTSIDE: Final = math.log(2e13)
_LEAST_LOG: Final = -40.0
_TINY: Final = 1e-300
_MOST_STEPS: Final = 1 << 26  # cells of the lattice times probabilities of reports, which takes a second
_LEAST_CHANCES: Final = 16
_MOST_TIMES: Final = 1 << 10
_DIGITS: Final = 12  # correct decimal digits of a probability


def chances_to_pass(vote: DPWeVote, inputs: InputBlock) -> FloatArray | None:
    """Return each candidate's probability to pass, over all noise, given the partners' holdings in many sessions.

    Returns:
        float64, shape (sessions, candidates), within 1e-12. None if the law is not implemented: for a masked sum,
        Laplace noise, weights with a user-defined matrix, several levels of ε, fractional weights, `joint` with private
        weights and a quota other than the majority, very many partners and weights, and subclasses.
    """
    parameters, number, size = vote.parameters, len(inputs.private), len(vote.parameters.candidates)
    if type(vote) is not DPWeVote:
        return None
    variant = _variant_of(parameters)
    if vote.trusts_server and isinstance(variant, CentralVariant):
        return variant.chances_to_pass(inputs)
    law = _law_of(parameters, inputs.num_parties)
    if law is None:
        return None
    holdings = variant.decode(inputs.flatten(number))
    codes = 2 * variant.groups_of(holdings.places)[:, None] + holdings.opinions
    codes = codes.reshape(number, -1, size).swapaxes(1, 2).reshape(number * size, -1)
    counts = counts_of_rows(codes, 2 * len(parameters.group_means))
    distinct, places = np.unique(counts, axis=0, return_inverse=True)
    return law.chances(distinct)[places.reshape(-1)].reshape(number, size)


@functools.lru_cache(maxsize=8)
def _variant_of(parameters: Parameters) -> Variant:
    return parameters.kind(parameters)


@functools.lru_cache(maxsize=8)
def _law_of(parameters: Parameters, num_partners: int) -> "PassingLaw | None":
    if (sums := _variant_of(parameters).report_sums) is None:
        return None
    quota, tie_passes = Fraction(parameters.quota or 0), parameters.passes == "at_least"
    with contextlib.suppress(ValueError):
        return PassingLaw(sums, num_partners, quota=quota, tie_passes=tie_passes)
    return None


class PassingLaw:
    """The probability that a candidate passes.

    Args:
        sums: the terms of reports in its margin.
        num_partners: the number of partners that report.
        quota: a fixed quota, or 0.
        tie_passes: whether a margin of 0 passes.

    Raises:
        ValueError: the lattice has more than two axes, or too many cells.
    """

    def __init__(self, sums: ReportSums, num_partners: int, *, quota: Fraction, tie_passes: bool) -> None:
        self._columns = _merge_columns(sums.columns)
        self._tied, self._tie_passes = quota - num_partners * sums.constant, tie_passes
        numbers = np.stack([times for _, times in self._columns], axis=1)
        self._means: FloatArray = sums.channel @ numbers
        spreads = np.max([np.ptp(numbers[possible], axis=0) for possible in sums.channel > 0], axis=0)
        reach = np.ceil(spreads * math.sqrt(num_partners * _OUTSIDE / 2)).astype(np.int64)
        self._step: IntArray = np.maximum(reach // 4, 1)
        needed: IntArray = 2 * reach + self._step + 2
        self._least: IntArray = num_partners * numbers.min(axis=0)
        possible: IntArray = num_partners * np.ptp(numbers, axis=0) + 1
        self._is_whole = possible <= needed
        self._sizes: list[int] = np.minimum(possible, needed).tolist()
        self._half: IntArray = needed // 2
        if math.prod(self._sizes) * max(sums.channel.size, _LEAST_CHANCES) > _MOST_STEPS:
            raise ValueError("too many cells")
        self._find_waves(sums.channel, numbers, num_partners)
        self._transforms = functools.lru_cache(maxsize=64)(self._transform)

    def _find_waves(self, channel: FloatArray, numbers: IntArray, num_partners: int) -> None:
        """Compute the logarithm of each type's characteristic function, at one frequency of each conjugate pair.

        They are stored as pairs of floats, whose matrix product is many times as fast as that of complex numbers.
        """
        size = self._sizes[1]
        waves = [
            np.exp(2j * np.pi / size * (np.outer(np.arange(number), wave) % size))
            for size, number, wave in zip(
                self._sizes, (self._sizes[0], size // 2 + 1), list[IntArray](numbers.T), strict=True
            )
        ]
        greatest: FloatArray = np.zeros((len(waves[0]), len(waves[1])))
        for wave in list[FloatArray](channel):
            functions = np.matmul(waves[0] * wave, waves[1].T, dtype=np.complex128)
            greatest = np.maximum(greatest, np.abs(functions))
        self._outcome_places = np.nonzero(num_partners * np.log(np.maximum(greatest, _TINY)) >= _LEAST_LOG)
        outcomes = channel @ (waves[0][self._outcome_places[0]] * waves[1][self._outcome_places[1]]).T
        self._logs = np.log(np.where(np.abs(outcomes) > _TINY, outcomes, _TINY)).view(np.float64)
        self._times = np.where(np.isin(self._outcome_places[1], (0, size / 2)), 1, 2) / math.prod(self._sizes)

    def _transform(self, lows: tuple[int, int]) -> NDArray[np.complex128]:
        """Return the transform of the passing indicator at the frequencies kept, on the lattice from here on."""
        (per_x, _), (per_y, _) = self._columns
        ends = [low + np.arange(size) for low, size in zip(lows, self._sizes, strict=True)]
        least_needed = [
            least_whole((self._tied - per_y * y) / per_x, tie_passes=self._tie_passes) for y in ends[1].tolist()
        ]
        least = np.clip(np.array(least_needed, dtype=object), ends[0][0], ends[0][-1] + 1).astype(np.int64)
        passes = np.roll(ends[0][:, None] >= least, [values[0] % len(values) for values in ends], axis=(0, 1))
        return np.fft.rfft2(passes)[self._outcome_places] * self._times

    def chances(self, numbers: IntArray) -> FloatArray:
        """Return the chance for each row of numbers of partners by what they hold, shape (rows, types); to 1e-12."""
        means: FloatArray = (numbers[:, :, None] * self._means).sum(axis=1)
        middles = np.round(means / self._step) * self._step
        lows: list[list[float]] = np.where(self._is_whole, self._least, middles - self._half).tolist()
        chances: list[float] = []
        for row, (low_x, low_y) in zip(list[FloatArray](numbers.astype(np.float64)), lows, strict=True):
            sums: FloatArray = row @ self._logs  # row by row, so that the bits of one do not depend on the others
            chance = float((self._transforms((int(low_x), int(low_y))) * np.exp(sums.view(np.complex128))).real.sum())
            chances.append(min(max(round(chance, _DIGITS), 0.0), 1.0))
        return np.array(chances)


def _merge_columns(columns: Sequence[tuple[Fraction, IntArray]]) -> list[tuple[Fraction, IntArray]]:
    """Return two columns with the same sum, the first with a number above 0; ValueError where two are not enough."""
    few: list[tuple[Fraction, IntArray]] = []
    for number, times in columns:
        for place, (other, its) in enumerate(few):
            ratio = number / other
            if max(abs(ratio.numerator), ratio.denominator) <= _MOST_TIMES:
                few[place] = other / ratio.denominator, its * ratio.denominator + times * ratio.numerator
                break
        else:
            few += [(abs(number), times if number > 0 else -times)] * bool(number and times.any())
    if len(few) > 2 or max((int(np.abs(times).max()) for _, times in few), default=0) > _MOST_STEPS:  # noqa: PLR2004  axes
        raise ValueError("not two whole numbers")
    return [*few, (Fraction(0), np.zeros_like(columns[0][1]))][:2]
