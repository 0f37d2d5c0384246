"""Noisy sums with two protections: randomized response for heavy persons, and Laplace noise for light ones.

A row has for each question the sum of the light persons' answers; then for each question the number of heavy persons of
each kind who say yes. Each heavy person's answer passes through randomized response, independently of all else; each
reported yes adds the kind's gain to the sum. Then discrete Laplace noise is added to each sum, which protects the light
persons. A report has one number for each question.

Source: Warner (1965) for randomized response; Dwork, McSherry, Nissim and Smith (2006) for the noise.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import scipy as sp
from numpy.typing import NDArray

from ..arguments import exact_arguments, make_fields_exact
from ..arrays import FloatArray, IntArray
from ..elementary import exp, ln
from ..errors import require
from ..privacy import events
from .discrete_laplace import VectorLaplace, are_within
from .exact import ExactMechanism, RandBelow
from .logarithms import log_of
from .mechanism import check_candidates, check_numbers
from .randomized_response import GeneralizedRandomizedResponse

_MOST_CELLS: Final = 1 << 22
_AT_ONCE: Final = 1 << 20  # reports times cells per batch
_CHOICES: Final = 2
_DIGITS: Final = 12  # correct decimal digits of a probability


@dataclasses.dataclass(frozen=True)
class ResponseSum(ExactMechanism):
    """Add heavy persons' randomized answers, and noise, to sums of light persons' answers.

    A row for w questions and h kinds of heavy persons has w sums, then for each question h numbers of yes.

    Args:
        noise: the noise on each sum; None if there are no light persons, and so all sums are 0.
        response: the randomized response of heavy persons' answers, over two choices.
        gains: for each kind of heavy persons, the number that a reported yes adds, in grid steps.
        numbers: the number of heavy persons of each kind.
        width: w ≥ 1, the number of questions.

    Raises:
        ConfigurationError: an argument is out of range.

    Privacy:
        Replace-one; unit: all answers of a person; for an observer of the report. A light person, who changes the sums
        by at most `sensitivity` in all, loses sensitivity/scale of the noise. A heavy person loses the ε of the
        response for each question. Each person's answers are protected by an independent draw, and the report is
        computed from the results (post-processing).

    Examples:
        >>> noise = VectorLaplace(scale=4.0, sensitivity=4, bound=100)
        >>> response = GeneralizedRandomizedResponse(1.0, 2)
        >>> mechanism = ResponseSum(noise, response, gains=(20,), numbers=(3,), width=1)
        >>> mechanism.event_of(2).epsilon
        1.0
        >>> mechanism.randomize_row([10, 2], [0.5, 0.1, 0.2, 0.3])  # 10 of light persons; two heavy ones of three
        [50]
    """

    noise: VectorLaplace | None
    response: GeneralizedRandomizedResponse
    gains: tuple[int, ...]
    numbers: tuple[int, ...]
    width: int

    def __post_init__(self) -> None:
        make_fields_exact(self)
        require(self.width >= 1, "width", self.width, "at least 1")
        choices = self.response.num_choices
        require(choices == _CHOICES, "response", choices, "over two choices, no and yes")
        require(min(self.gains, default=1) >= 1, "gains", self.gains, "at least 1 step each")
        are_alike = len(self.numbers) == len(self.gains) and min(self.numbers, default=0) >= 0
        require(are_alike, "numbers", self.numbers, "at least 0, one for each gain")

    @property
    def value_range(self) -> tuple[int, int]:
        """That of the noise, or what the greatest number of one kind needs."""
        low, high = (0, 0) if self.noise is None else self.noise.value_range
        return low, max([high, *self.numbers])

    @property
    def report_range(self) -> tuple[int, int]:
        """That of the noise, with all that heavy persons may add."""
        low, high = (0, 0) if self.noise is None else self.noise.report_range
        return low, high + sum(gain * number for gain, number in zip(self.gains, self.numbers, strict=True))

    def slots_of(self, num_values: int) -> int:
        """One for each sum, and one for each heavy person's answer."""
        return self.width * (1 + sum(self.numbers))

    def num_reports_of(self, num_values: int) -> int:
        """One for each question."""
        return self.width

    def event_of(self, num_values: int) -> events.PureMechanism:
        """The greater one of a light person's ε and a heavy one's."""
        of_light = 0.0 if self.noise is None else self.noise.event.epsilon
        return events.PureMechanism(epsilon=max(of_light, self.width * self.response.epsilon))

    def are_neighbors(self, values: IntArray, other_values: IntArray) -> NDArray[np.bool_]:
        """Rows are neighbors if they differ in one person's answers. See `RowMechanism.are_neighbors`."""
        (sums, num_yes), (other_sums, other_yes) = self._split(values), self._split(other_values)
        most = 0 if self.noise is None else self.noise.sensitivity
        is_light = are_within(most, sums, other_sums)
        if not self.gains:
            return is_light
        apart = np.abs(num_yes[:, None] - other_yes)
        kinds = apart.max(axis=2)  # one person changes at most one answer per question
        is_heavy = (apart.sum(axis=3) <= 1).all(axis=2) & (np.count_nonzero(kinds, axis=2) <= 1)
        return (is_light & ~apart.any(axis=(2, 3))) | (is_heavy & are_within(0, sums, other_sums))

    def randomize_rows(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        sums, num_yes = self._checked(values)
        slots = self.slots_of(values.shape[1])
        if uniforms.shape != (len(values), slots):
            raise ValueError(f"uniforms have shape {uniforms.shape}: give shape {(len(values), slots)}")
        kinds = np.repeat(np.arange(len(self.numbers)), self.numbers)
        places = np.concatenate([np.arange(number) for number in (0, *self.numbers)])
        answers = (places < num_yes[:, :, kinds]).astype(np.int64)
        reported = self.response.randomize(answers.reshape(-1), uniforms[:, self.width :].reshape(-1, 1))
        gained = reported.reshape(answers.shape) @ np.array(self.gains, dtype=np.int64)[kinds]
        noisy = sums if self.noise is None else self.noise.randomize_rows(sums, uniforms[:, : self.width])
        return noisy + gained

    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[int]:
        (sums,), (num_yes,) = self._checked(np.array([values], dtype=np.int64))
        totals: list[int] = sums.tolist()
        if self.noise is not None:
            totals = self.noise.randomize_exactly(totals, randbelow)
        numerator, denominator = self.response.keep_probability.as_integer_ratio()
        for question, of_kinds in enumerate(num_yes.tolist()):
            for gain, number, yes in zip(self.gains, self.numbers, of_kinds, strict=True):
                for place in range(number):
                    is_kept = randbelow(denominator) < numerator
                    totals[question] += gain * (is_kept == (place < yes))
        return totals

    def log_likelihoods(self, reports: IntArray, values: IntArray) -> FloatArray:
        """Return the exact law's logarithms, without the clamping of noise. See `RowMechanism.log_likelihoods`."""
        check_candidates(self, reports, values)
        logs = np.zeros((len(reports), len(values)))
        for place, row in enumerate(values):
            for column, (total, places, law) in zip(reports.T, self._laws(row), strict=True):
                step = max(_AT_ONCE // len(places), 1)
                for start in range(0, len(column), step):
                    noises = (column[start : start + step, None] - total) - places
                    logs[start : start + step, place] += self._log_sums(noises, law)
        return logs

    def _log_sums(self, noises: IntArray, law: FloatArray) -> FloatArray:
        """Return ln Σ law·P[noise], of noises of shape (n, cells)."""
        if self.noise is None:
            return log_of((noises == 0) @ law)
        logs = np.abs(noises) / -self.noise.scale + log_of(law)
        sums: FloatArray = sp.special.logsumexp(logs, axis=1)
        return sums + ln(self.noise.noise_probability(0))

    @exact_arguments
    def chances_to_reach(self, values: Sequence[int], least: int) -> list[float]:
        """Return P[report ≥ least] for each question of one row, within 1e-12, without the clamping of noise.

        Raises:
            NotImplementedError: the law has too many cells.
        """
        low, high = self.value_range
        if not all(low <= value <= high for value in values):
            raise ValueError(f"values are out of range: use values from {low} to {high}")
        chances: list[float] = []
        for total, places, law in self._laws(np.array(values, dtype=np.int64)):
            missing = (least - total) - places
            tails = (missing <= 0).astype(np.float64)
            if self.noise is not None:
                spread, rate = 1 + exp(-1 / self.noise.scale), -1 / (self.noise.scale * ln(2.0))
                far = sp.special.exp2(np.where(missing > 0, missing, 1 - missing) * rate) / spread
                tails = np.where(missing > 0, far, 1 - far)
            chances.append(min(round(math.fsum((tails * law).tolist()), _DIGITS), 1.0))
        return chances

    def _laws(self, row: IntArray) -> Iterator[tuple[int, IntArray, FloatArray]]:
        """Yield each question's sum, all that heavy persons may add, and how probably they do."""
        (sums,), (num_yes,) = self._checked(row[None])
        unit = math.gcd(*self.gains) or 1
        units = [gain // unit for gain in self.gains]
        for total, yes in zip(sums.tolist(), num_yes.tolist(), strict=True):
            num_no = tuple(number - of_kind for number, of_kind in zip(self.numbers, yes, strict=True))
            law = reports_law(tuple(units), tuple(yes), num_no, self.response.keep_probability)
            places = np.flatnonzero(law)
            yield total, unit * places, law[places]

    def _split(self, values: IntArray) -> tuple[IntArray, IntArray]:
        sums, num_yes = np.split(values, [self.width], axis=1)
        return sums, num_yes.reshape(len(values), self.width, len(self.gains))

    def _checked(self, values: IntArray) -> tuple[IntArray, IntArray]:
        """Return sums and numbers of yes; ValueError if there cannot be such."""
        if values.ndim != 2 or values.shape[1] != self.width * (1 + len(self.gains)):  # noqa: PLR2004  rows
            raise ValueError(f"rows have {self.width} sums and as many numbers of each of {len(self.gains)} kinds")
        check_numbers("values", values, self.value_range)
        sums, num_yes = self._split(values)
        if np.any((num_yes < 0) | (num_yes > np.array(self.numbers))):
            raise ValueError("of some kind more heavy persons say yes than there are")
        if self.noise is None and sums.any():
            raise ValueError("without noise there is nobody light, and sums are 0")
        return sums, num_yes


@functools.lru_cache(maxsize=64)
def reports_law(units: tuple[int, ...], num_yes: tuple[int, ...], num_no: tuple[int, ...], keep: float) -> FloatArray:
    """Return P[j units are reported as yes] for j = 0, 1, …, given the persons' answers.

    Args:
        units: the units of a person of each kind.
        num_yes: the number of persons of each kind who say yes.
        num_no: the number of persons of each kind who say no.
        keep: the probability that an answer is reported unchanged.

    Raises:
        NotImplementedError: the law has too many cells.

    Examples:
        >>> reports_law((2,), (1,), (0,), 0.75).tolist()
        [0.25, 0.0, 0.75]
    """
    total = sum(unit * (yes + no) for unit, yes, no in zip(units, num_yes, num_no, strict=True))
    if total >= _MOST_CELLS:
        raise NotImplementedError(f"the law of responses is worked out for less than {_MOST_CELLS:,} units")
    law = np.eye(1, total + 1)[0]
    for unit, yes, no in zip(units, num_yes, num_no, strict=True):
        for chance in itertools.chain(itertools.repeat(keep, yes), itertools.repeat(1 - keep, no)):
            reported = law[: total + 1 - unit] * chance
            law *= 1 - chance
            law[unit:] += reported
    law.flags.writeable = False
    return law
