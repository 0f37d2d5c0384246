"""The phase of moral preferences: voters perturb their summaries, disclose them, or mask them.

With several societies, each has a part of the tally, and in the central paradigms independent noise.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..arrays import ROWS_AT_A_TIME, IntArray, exact_column_sums, sums_fit
from ..elementary import quotient_up
from ..mechanisms import RowMechanism, VectorLaplace
from ..phases import CentralPhase, Draw, DrawBlock, MaskedSums, PersonalizedPhase, places_by, sizes_of
from ..privacy import NeighboringRelation, PartLoss, PrivacyLoss, PureMechanism
from ..privacy.exact_sums import rounded_up, units_of
from ..tally import Tally, TallyBlock
from .estimation import LevelSums
from .functional import NoisyObjective
from .parameters import Level, Parameters
from .summaries import AdditiveNoise, ReportSummary

PHASE: Final = "preferences"
# Squares of reports are summed coarsely, which is enough for a variance: in steps of 1/32 of the noise's standard
# deviation, up to 2**15 steps, beyond which differences between voters dominate the noise. So the squares of four
# billion numbers fit into 64 bits.
_COARSE_STEPS: Final = 32
_MOST_COARSE: Final = 1 << 15
# The columns of a level's totals before the sums.
_COUNT, _SQUARES, _FIRST_SUM = range(3)
_LAW_OF_SHARES: Final = "shares of discrete Laplace noise on summaries"


def _parts_of(parameters: Parameters) -> int:
    """Return the greatest number of parts in a voter's summary, where the mechanism's event covers one part.

    A part is a record, if the event covers the change of one record. A preference vector is bounded for all records
    together, and so is the direction at voter level; then there is one part.
    """
    is_record = parameters.paradigm.level is Level.RECORD
    return parameters.max_records if is_record and parameters.mechanism != "laplace" else 1


def _loss(parameters: Parameters, summary: ReportSummary, mechanism: RowMechanism, epsilon: float) -> PrivacyLoss:
    """Return the loss of a voter that reports by this mechanism."""
    bounded: Any = mechanism.event_of(summary.num_values)  # for a record, or for a voter
    proven: float = bounded.epsilon
    is_record = parameters.paradigm.level is Level.RECORD
    times = _parts_of(parameters)
    is_replaced = parameters.public_number is None
    return PrivacyLoss(
        mechanism=_LAW_OF_SHARES if parameters.is_masked else summary.name,
        event=PureMechanism(epsilon=rounded_up(times * units_of(proven))),
        unit=Level.VOTER.value,
        relation=NeighboringRelation.REPLACE_ONE if is_replaced else NeighboringRelation.ADD_OR_REMOVE_ONE,
        model=parameters.paradigm.model,
        claimed=epsilon * times,
        part=PartLoss(unit=Level.RECORD.value, claimed=epsilon, proven=proven) if is_record else None,
    )


class PerturbedPhase(PersonalizedPhase):
    """Voters perturb their summaries, each at its level of ε (VLDP, RLDP).

    For each level of ε the tally has the number of reports, the sum of their coarse squares, and their sums: shape
    (levels, 2 + numbers of a report). With several societies, the levels of the first come first: shape (societies ·
    levels, 2 + numbers of a report).

    Attributes:
        shifts: for each level, the number of bits that are dropped from reports for their coarse squares.

    Examples:
        >>> from psephos.protocol.moral_preferences import make_summary
        >>> parameters = Parameters(features=("lives", "age"), epsilon=2.0)
        >>> phase = PerturbedPhase(parameters, make_summary(parameters))
        >>> round(phase.losses[0].proven, 6)
        2.0
    """

    person = "voter"

    def __init__(self, parameters: Parameters, summary: ReportSummary) -> None:
        mechanisms = [summary.local_mechanism(epsilon) for epsilon in parameters.levels]
        self._num_societies = max(len(parameters.names_of_societies), 1)
        self._summary, self._epsilons = summary, parameters.levels
        super().__init__(
            PHASE,
            columns=range(summary.num_values),
            mechanisms=mechanisms,
            losses=[
                (_loss(parameters, summary, mechanism, epsilon),)
                for mechanism, epsilon in zip(mechanisms, parameters.levels, strict=True)
            ],
            epsilons=parameters.epsilons,
            num_parts=_parts_of(parameters),
        )
        self.shifts = [_shift_of(mechanism) for mechanism in self.mechanisms]
        self._shifts = np.array(self.shifts)

    def rows_of(self, public: Sequence[int]) -> IntArray:
        return self._summary.sample_rows()

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        super().check_report(report, public)
        mechanism = self.mechanism_of(public)
        if isinstance(mechanism, NoisyObjective) and sum(map(abs, report)) > mechanism.report_range[1]:
            raise ValueError("it is no maximum of any objective: it is outside of the ball")

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        num_cells = self._num_societies * len(self.mechanisms)
        totals = np.zeros((num_cells, _FIRST_SUM + self.num_reported), dtype=np.int64)
        cells = self.cells_of(public)
        if num_cells > 1 and sums_fit(reports):
            for start in range(0, len(reports), ROWS_AT_A_TIME):
                block = slice(start, start + ROWS_AT_A_TIME)
                self._add_sorted(totals, cells[block], reports[block])
            return Tally(len(reports), totals)
        for cell, places in places_by(cells):
            of_cell = reports[places]
            coarse = _coarse(of_cell, self._shifts[cell % len(self.mechanisms)])
            totals[cell, _COUNT] = len(of_cell)
            totals[cell, _SQUARES] = exact_column_sums(exact_column_sums(coarse * coarse)[:, None])[0]
            totals[cell, _FIRST_SUM:] = exact_column_sums(of_cell)
        return Tally(len(reports), totals)

    def tally_block(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> TallyBlock:
        if self._num_societies * len(self.mechanisms) > 1 or not sums_fit(reports.reshape(-1, 1)):
            return super().tally_block(reports, earlier=earlier, public=public)
        coarse = _coarse(reports, self._shifts[0])
        counts = np.full(len(reports), reports.shape[1])
        counts_and_squares = np.stack([counts, np.einsum("tnw,tnw->t", coarse, coarse)], axis=1)
        totals = np.concatenate([counts_and_squares, reports.sum(axis=1)], axis=1)
        return TallyBlock(reports.shape[1], totals[:, None])

    def _add_sorted(self, totals: IntArray, cells: IntArray, reports: IntArray) -> None:
        """Add reports, whose sums fit, to the totals of their cells: all cells at once, which for many is faster."""
        order = cells.astype(np.min_scalar_type(len(totals))).argsort(kind="stable")
        cells, reports = cells[order], reports[order]
        firsts = np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]]))
        first_cells = cells[firsts]
        coarse = _coarse(reports, self._shifts[cells % len(self.mechanisms)][:, None])
        totals[first_cells, _COUNT] += np.add.reduceat(np.ones_like(cells), firsts)
        totals[first_cells, _SQUARES] += np.add.reduceat(np.einsum("ij,ij->i", coarse, coarse), firsts)
        totals[first_cells, _FIRST_SUM:] += np.add.reduceat(reports, firsts, axis=0)

    def cells_of(self, public: IntArray) -> IntArray:
        """Return the row of the tally for each voter's report, by its public row: int64, shape (n,)."""
        levels = self.levels_of(public)
        return levels + public[:, 0] * len(self.mechanisms) if self._num_societies > 1 else levels

    def parts_of(self, tally: Tally) -> list[Tally]:
        """Return each society's part of a tally, with totals of shape (levels, 2 + numbers of a report)."""
        parts = tally.totals.reshape(self._num_societies, len(self.mechanisms), -1)
        return [Tally(int(part[:, _COUNT].sum()), part) for part in parts]

    def sums_in(self, totals: IntArray) -> IntArray:
        """Return the sums of reports in levels' totals, whose last axis they are on."""
        return totals[..., _FIRST_SUM:]

    def sums_of(self, tally: Tally) -> list[LevelSums]:
        """Return each level's mean and mean square, in units, for the levels with a report of one society."""
        step = self._summary.reported_step
        sums: list[LevelSums] = []
        for level, totals in enumerate(tally.totals):
            count = int(totals[_COUNT])
            if not count:
                continue
            coarse_step = math.ldexp(step, self.shifts[level])
            sums.append(
                LevelSums(
                    epsilon=self._epsilons[level],
                    num_voters=count,
                    mean=self.sums_in(totals) * step / count,
                    mean_square=int(totals[_SQUARES]) * coarse_step * coarse_step / (count * self.num_reported),
                    noise_variance=self._summary.noise_variance(self.mechanisms[level]),
                )
            )
        return sums


class DisclosedPhase(CentralPhase):
    """Voters send the aggregator their summaries, and it perturbs the sum (VLCP, RLCP).

    The tally has the sums: shape (numbers of a summary,).

    Examples:
        >>> from psephos.protocol.moral_preferences import Paradigm, make_summary
        >>> parameters = Parameters(features=("lives", "age"), epsilon=2.0, paradigm=Paradigm.VLCP)
        >>> phase = DisclosedPhase(parameters, make_summary(parameters))
        >>> phase.losses[0].model.value
        'central'
    """

    def __init__(self, parameters: Parameters, summary: ReportSummary) -> None:
        (epsilon,) = parameters.levels
        self._summary, self._num_societies = summary, len(parameters.names_of_societies)
        mechanism = summary.central_mechanism(epsilon)
        super().__init__(
            PHASE,
            columns=range(summary.num_values),
            bound=summary.bound,
            tally_mechanism=mechanism,
            losses=[_loss(parameters, summary, mechanism, epsilon)],
            num_parts=_parts_of(parameters),
        )

    def rows_of(self, public: Sequence[int]) -> IntArray:
        return self._summary.sample_rows()

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        """Refuse a summary that no records have, which could count more than a voter. See `Phase.check_report`."""
        if not self._summary.are_possible(np.array([report], dtype=np.int64)):
            raise ValueError("it is no summary of any records: it is farther out than the bound allows")

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        return Tally(len(reports), exact_column_sums(reports))


class MaskedPreferences(MaskedSums):
    """Voters add up their summaries, masked (VLMP, RLMP). The tally has the sums: shape (numbers of a summary,).

    Examples:
        >>> from psephos.protocol.moral_preferences import Paradigm, make_summary
        >>> parameters = Parameters(features=("lives",), paradigm=Paradigm.VLMP, threshold=3, colluders=0)
        >>> MaskedPreferences(parameters, make_summary(parameters)).share.planned
        3
    """

    def __init__(self, parameters: Parameters, summary: ReportSummary) -> None:
        (epsilon,) = parameters.levels
        self._summary = summary
        sensitivity, (threshold, colluders) = summary.l1_sensitivity, sizes_of(parameters)
        share = VectorLaplace(quotient_up(sensitivity, epsilon), sensitivity, summary.bound)
        super().__init__(
            PHASE,
            ranges=[(-summary.bound, summary.bound)] * summary.num_values,
            sensitivity=sensitivity,
            epsilon=epsilon,
            threshold=threshold,
            colluders=colluders,
            unit=Level.VOTER.value,
            losses=[_loss(parameters, summary, share, epsilon)],
            num_parts=_parts_of(parameters),
        )

    def rows_of(self, public: Sequence[int]) -> IntArray:
        return self._summary.sample_rows()


class SocietiesPhase(DisclosedPhase):
    """The phase of voters in several societies: each society has a sum with independent noise.

    For each society the tally has the public number of its reports, then its sums: shape (societies, 1 + numbers of a
    summary).

    Privacy:
        A voter is in one society, by its public row, and so in one of the sums; the law of the others does not depend
        on its data, and their noise is independent. So the whole release costs a voter as much as that of its society
        (parallel composition). Replace-one; societies are public: neighbors differ in one voter's data, not in its
        society.

    Examples:
        >>> from psephos.protocol.moral_preferences import Paradigm, make_summary
        >>> parameters = Parameters(features=("lives",), paradigm=Paradigm.VLCP, societies=("north", "south"))
        >>> phase = SocietiesPhase(parameters, make_summary(parameters))
        >>> reports, public = np.ones((3, 1), dtype=np.int64), np.array([[0], [1], [0]])
        >>> phase.tally(reports, earlier=[], public=public).totals.tolist()  # numbers of voters, then sums
        [[2, 2], [1, 1]]
    """

    def kinds_of(self, public: IntArray) -> Sequence[IntArray]:
        return [np.flatnonzero(public[:, 0] == society) for society in np.unique(public[:, 0])]

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        totals = np.zeros((self._num_societies, 1 + self.num_values), dtype=np.int64)
        for society, places in places_by(public[:, 0]):
            totals[society, 0] = len(reports[places])
            totals[society, 1:] = exact_column_sums(reports[places])
        return Tally(len(reports), totals)

    def randomize_tally(self, tally: Tally, draw: Draw) -> Tally:
        totals = tally.totals.copy()
        for society, sums in enumerate(tally.totals[:, 1:].tolist()):
            totals[society, 1:] = draw(self.tally_mechanism, sums)
        return Tally(tally.num_reports, totals)

    def randomize_tallies(self, tallies: TallyBlock, draw: DrawBlock) -> TallyBlock:
        totals = tallies.totals.copy()
        for society in range(self._num_societies):
            totals[:, society, 1:] = draw(self.tally_mechanism, totals[:, society, 1:])
        return TallyBlock(tallies.num_reports, totals)


def _coarse(reports: IntArray, shifts: IntArray) -> IntArray:
    """Return reports, rounded, without so many bits, and limited."""
    return np.clip((reports + ((1 << shifts) >> 1)) >> shifts, -_MOST_COARSE, _MOST_COARSE)


def _shift_of(mechanism: RowMechanism) -> int:
    """Return how many bits of a report its coarse square is without."""
    if not isinstance(mechanism, AdditiveNoise):  # a noisy maximum
        return max(0, mechanism.report_range[1].bit_length() - _MOST_COARSE.bit_length() + 1)
    return max(0, math.frexp(math.sqrt(mechanism.noise_variance) / _COARSE_STEPS)[1] - 1)
