"""The parts of an observable: one randomizer's outputs for each candidate row, drawn by the code that sessions run.

With simulated noise, independent outputs of one row are one array call: n parties with the same row, each with separate
uniforms. Scores are differences of the randomizers' log-likelihoods.
"""

import abc
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.mechanisms import PostProcessed, Prepared, RowMechanism, VectorLaplace
from ...protocol.mechanisms.realized import reports_to_try
from ...protocol.phases import Draw, Inputs, MaskedPhase, Phase, PhasedProtocol
from ...protocol.population import draw_reports
from ...protocol.randomness import NoiseSource, SimulatedNoise
from ...protocol.tally import Tally
from .case import NO_PLACE, OutputSampler
from .mechanisms.sampling import secure_draw

MAX_OUTPUTS: Final = 1 << 14  # outputs of an exact joint law; beyond this, sampling is faster


class ExposedPart(abc.ABC):
    """One randomizer's outputs for each candidate; it reads these values: int64, shape (candidates, w)."""

    def __init__(self, mechanism: RowMechanism, values: IntArray) -> None:
        self.mechanism = mechanism
        self.values = values
        self._places: list[int] = []

    is_kept: bool = False
    """Whether later sessions of a scope repeat the first one's report (memoized)."""

    @property
    def width(self) -> int:
        """The number of integers in an output."""
        return self.mechanism.num_reports_of(self.values.shape[1])

    @abc.abstractmethod
    def draw(self, candidate: int, number: int, noise: SimulatedNoise) -> IntArray:
        """Return independent outputs of one candidate, int64, shape (number, width)."""

    @functools.cached_property
    def is_law_known(self) -> bool:
        """Whether there is a law of the mechanism's outputs, or of the noise that it computes them from."""
        mechanism = self.mechanism.noise if isinstance(self.mechanism, PostProcessed) else self.mechanism
        report = [mechanism.report_range[0]] * mechanism.num_reports_of(self.values.shape[1])
        try:
            mechanism.log_likelihoods(np.array([report], dtype=np.int64), self.values[:1])
        except NotImplementedError:
            return False
        return True

    @functools.cached_property
    def log_laws(self) -> FloatArray | None:
        """The values ln P[output | candidate], shape (candidates, possible outputs); None if there are too many."""
        is_many = self.width * math.log(self._num_reports) > math.log(MAX_OUTPUTS)
        if isinstance(self.mechanism, PostProcessed) or is_many or not self.is_law_known:
            return None
        low, high = self.mechanism.report_range
        outputs = np.array(list(itertools.product(range(low, high + 1), repeat=self.width)), dtype=np.int64)
        log_laws = self.mechanism.log_likelihoods(outputs, self.values).T
        is_possible = np.any(log_laws > -np.inf, axis=0)
        self._places[:] = np.where(is_possible, np.cumsum(is_possible) - 1, NO_PLACE).tolist()
        return log_laws[:, is_possible]

    def places_of(self, outputs: IntArray) -> IntArray:
        """Return the column of each output in `log_laws`, or `NO_PLACE` if no candidate has it, shape (n,)."""
        assert self.log_laws is not None  # noqa: S101  asked for where there are laws alone
        low, high = self.mechanism.report_range
        numbers = np.zeros(len(outputs), dtype=np.int64)
        for column in outputs.T:
            numbers = numbers * self._num_reports + (np.clip(column, low, high) - low)
        places = np.array(self._places, dtype=np.int64)[numbers]
        return np.where(np.any((outputs < low) | (outputs > high), axis=1), NO_PLACE, places)

    @property
    def _num_reports(self) -> int:
        low, high = self.mechanism.report_range
        return high - low + 1

    @functools.cached_property
    def losses(self) -> FloatArray:
        """The greatest ln P[output | first]/P[output | second] for each pair of candidates, shape (c, c).

        For additive noise, the maximum is at the first candidate's values. If outputs are computed from noise, this is
        the loss of the noise, an upper bound for that of the outputs.
        """
        mechanism, values = self.mechanism, self.values
        if self.log_laws is not None:
            return greatest_gaps(self.log_laws)
        if isinstance(mechanism, PostProcessed):
            mechanism = mechanism.noise
        if mechanism.num_reports_of(values.shape[1]) != values.shape[1] and not isinstance(mechanism, Prepared):
            return greatest_gaps(mechanism.log_likelihoods(reports_to_try(mechanism, values), values).T)
        outputs = mechanism.prepare_rows(values) if isinstance(mechanism, Prepared) else values
        log_likelihoods = mechanism.log_likelihoods(outputs, values)
        return np.diag(log_likelihoods)[:, None] - log_likelihoods

    def score(self, outputs: IntArray, first: int, second: int) -> FloatArray:
        """Return a score of each output, greater the more it points to the first candidate and not the second.

        It is the log-likelihood ratio. If reports are computed from noise and have no known law, it is the projection
        onto the line between the two reports without noise.
        """
        if isinstance(self.mechanism, PostProcessed):
            clear = self.mechanism.finish_rows(self.values[[first, second]]).astype(np.float64)
            line = clear[0] - clear[1]
            return outputs @ line / max(float(line @ line), 1.0)
        log_likelihoods = self.mechanism.log_likelihoods(outputs, self.values[[first, second]])
        return log_likelihoods[:, 0] - log_likelihoods[:, 1]


class Reported(ExposedPart):
    """A party's reports in one phase, in a roster of parties with equal public and private rows.

    The candidates' private rows have shape (candidates, private columns).
    """

    def __init__(self, protocol: PhasedProtocol[Any, Any], phase: Phase, rows: IntArray, public: Sequence[int]) -> None:
        super().__init__(phase.mechanism_of(public), rows[:, phase.columns])
        self.is_kept = phase.memo_scope is not None
        self._protocol = protocol
        self._phase = phase
        self._rows = rows
        self._public = np.array(public, dtype=np.int64)

    def draw(self, candidate: int, number: int, noise: SimulatedNoise) -> IntArray:
        """Return the reports of `number` parties that all hold this candidate's row."""
        inputs = Inputs(np.tile(self._rows[candidate], (number, 1)), np.tile(self._public, (number, 1)))
        return draw_reports(self._phase, inputs, noise=noise, protocol=self._protocol.name, start=0)


class ReleasedTallies(ExposedPart):
    """A trusted server's releases of the tally of each candidate data set, drawn by the phase."""

    def __init__(self, protocol: PhasedProtocol[Any, Any], phase: Phase, tallies: Sequence[Tally]) -> None:
        draws = phase.fixed_release(tallies[0], 0).drawn
        mechanism = draws[0][0] if draws else phase.mechanism_faced(())
        super().__init__(mechanism, np.stack([noisy_totals(phase, tally) for tally in tallies]))
        self._protocol = protocol
        self._phase = phase
        self._tallies = tallies

    def draw(self, candidate: int, number: int, noise: SimulatedNoise) -> IntArray:
        """Return independent releases of this candidate data set."""
        return draw_releases(self._protocol, self._phase, self._tallies[candidate], number, noise)


class OwnRelease(ReleasedTallies):
    """The same for a phase that computes its release itself, without a known law."""

    @functools.cached_property
    def is_law_known(self) -> bool:
        """False, since the tally mechanism's law is not that of the release."""
        return False


class Summed(ExposedPart):
    """One party's row plus T − c noise shares: a masked sum, for an adversary that knows everything else in it.

    The candidates' private rows have shape (candidates, private columns). The shares sum to Laplace noise.
    """

    def __init__(
        self, protocol: PhasedProtocol[Any, Any], phase: MaskedPhase, rows: IntArray, public: Sequence[int]
    ) -> None:
        share = phase.share
        super().__init__(VectorLaplace(share.scale, share.sensitivity, share.bound), rows[:, phase.columns])
        self._protocol, self._phase, self._rows, self._public = protocol, phase, rows, public

    def draw(self, candidate: int, number: int, noise: SimulatedNoise) -> IntArray:
        """Return independent sums, each with fresh shares."""
        size = self._phase.honest
        tiled = [
            np.tile(np.array(row, dtype=np.int64), (number * size, 1)) for row in (self._rows[candidate], self._public)
        ]
        reports = draw_reports(self._phase, Inputs(*tiled), noise=noise, protocol=self._protocol.name, start=0)
        return reports.reshape(number, size, -1).sum(axis=1) - (size - 1) * self.values[candidate]

    def draw_securely(self, candidate: int, side: int) -> OutputSampler:
        """Return a sampler with the noise of deployments. See `CandidateSampler`."""
        del side
        size, row = self._phase.honest, self.values[candidate]
        draw = secure_draw(self._phase.share, row.tolist())
        return lambda number, stream: (
            draw(number * size, stream).reshape(number, size, -1).sum(axis=1) - (size - 1) * row
        )

    def most_outputs(self, most_shares: int) -> int:
        """Return the number of outputs that take this many noise shares."""
        return max(most_shares // (self._phase.honest * self.width), 1)


def noisy_totals(phase: Phase, tally: Tally) -> IntArray:
    """Return the numbers of a tally that a trusted server adds noise to; the others are public."""
    fixed_noise = phase.fixed_release(tally, 0).drawn
    return np.array([value for _, values in fixed_noise for value in values], dtype=np.int64)


def draw_releases(
    protocol: PhasedProtocol[Any, Any], phase: Phase, tally: Tally, number: int, noise: NoiseSource
) -> IntArray:
    """Return independent releases of one tally: int64, shape (number, numbers of a release).

    A session uses the first row of a noise stream; here each release uses a separate row.
    """

    def draw_at(place: int) -> Draw:
        numbers = itertools.count(1)

        def draw(mechanism: RowMechanism, values: Sequence[int]) -> Sequence[int]:
            stream = f"release of {phase.name}, draw {next(numbers)}"
            return noise.randomize(mechanism, values, protocol=protocol.name, phase=stream, place=place)

        return draw

    low, high = (phase.fixed_release(tally, noise_value).released.totals.reshape(-1) for noise_value in (0, 1))
    releases = [phase.randomize_tally(tally, draw_at(place)).totals.reshape(-1) for place in range(number)]
    return np.array(releases, dtype=np.int64).reshape(number, -1)[:, low != high]


def greatest_gaps(log_laws: FloatArray) -> FloatArray:
    """Return max(law − other) for each pair of log-laws, over the outputs that `law` allows, shape (c, c)."""
    return np.array([np.max(law[law > -np.inf] - log_laws[:, law > -np.inf], axis=1) for law in log_laws])
