"""The phase of a fair and private vote: voters disclose their rankings, mask them, or randomize them."""

from collections.abc import Sequence
from typing import Final, TypeAlias, TypeVar, cast

import numpy as np

from ..arrays import FloatArray, IntArray
from ..elementary import quotient_up
from ..errors import ConfigurationError
from ..guard import Values
from ..mechanisms import RowMechanism, VectorLaplace, code_of_rankings, rankings_of_codes
from ..phases import CentralPhase, Draw, DrawBlock, MaskedSums, PersonalizedPhase, Phase, places_by, sizes_of
from ..privacy import NeighboringRelation, PrivacyEvent, PrivacyLoss, TrustModel, local_loss
from ..tally import Tally, TallyBlock
from .choices import Choice, ExponentialChoice, SampledChoice
from .joint_reports import JointReport, make_joint_report
from .objective import Utilities
from .pairwise import make_pair_noise, preferences_of
from .parameters import Parameters
from .rankings import Rankings, are_strict, cells_of_members, check_ranking, representative_rankings
from .reports import LocalReport, RankingReport, make_reports, mean_utilities
from .rules import pairwise_wins
from .sampling_bounds import proven_epsilon
from .scoring import Scoring
from .subsample import Subsample
from .utility_noise import UtilityNoise, error_of_levels

PHASE: Final = "rankings"
UNIT: Final = "voter"
# The groups whose rankings are compared by the check of losses; all groups are equivalent.
_GROUPS_LOOKED_AT: Final = 3

ChoiceT = TypeVar("ChoiceT", bound=Choice)

ReportCounts: TypeAlias = tuple[tuple[int, ...], ...]
"""The numbers of reports: for each group those of each level of ε, if known, or in all."""


class _SummedRankings:
    """A phase whose tallies estimate the groups' sums of utilities."""

    scoring: Scoring
    group_sizes: tuple[int, ...]

    def counts_of(self, tally: Tally) -> ReportCounts:
        """Return how many reported."""
        return ((tally.num_reports,),)

    def utilities_of(self, tally: Tally) -> Utilities:
        """Return the groups' mean utilities by a tally, exactly."""
        return self.scoring.mean_utilities(tally.totals.reshape(len(self.group_sizes), -1), self.group_sizes)

    def rounded_utilities(self, tallies: TallyBlock) -> FloatArray:
        """Return `utilities_of` many tallies but for rounding, shape (sessions, G, m)."""
        sums = tallies.totals.reshape(len(tallies), len(self.group_sizes), -1)
        sizes = np.array(self.group_sizes, dtype=np.float64)[:, None]
        return (sums / sizes + self.scoring.center) * self.scoring.step

    def noise_of(self, counts: ReportCounts) -> UtilityNoise:
        """Return the noise in mean utilities, by how many of each group reported at each level."""
        raise NotImplementedError

    def errors_of(self, counts: ReportCounts) -> Sequence[float]:
        """Return each group's standard error, averaged over the alternatives."""
        return self.noise_of(counts).errors


class DisclosedRankings(_SummedRankings, CentralPhase):
    """Voters send the aggregator their rankings, and it elects with noise (the central model).

    The tally has each group's sums of utilities, shape (G, m), in steps relative to the scoring's center. If Algorithm
    2 samples voters first, the tally's rows have each voter's group and the code of its ranking. As the phase closes,
    Laplace noise is added to the sums, or they are replaced by the winner, shape (1,). If pairs are counted, the tally
    has their differences instead of sums, shape (1, m(m − 1)/2).

    Attributes:
        choice: the mechanism that elects from the sums; None if noise is added to them.

    Examples:
        >>> parameters = Parameters(alternatives=("park", "pool"), groups=("north", "south"), group_sizes=(2, 1))
        >>> phase = DisclosedRankings(parameters)
        >>> sums = phase.sums_of(np.array([[0, 1], [0, 1], [1, 0]]), np.array([0, 0, 1]))
        >>> phase.scoring.mean_utilities(sums, parameters.group_sizes)[0]  # of the first group
        [Fraction(1, 1), Fraction(0, 1)]
    """

    def __init__(self, parameters: Parameters) -> None:
        self.scoring = parameters.make_scoring(is_centered=parameters.is_centered)
        self.group_sizes = parameters.group_sizes
        self.choice = None if parameters.kind.releases_sums else _make_choice(parameters, self.scoring)
        self._parameters = parameters
        self._subsample = None
        if parameters.samples_voters_first:
            self._subsample = Subsample(parameters.group_sizes, parameters.samples)
        mechanism = self.choice or _make_laplace(parameters, self.scoring)
        self._losses_of_group = [(_loss(parameters, mechanism, group),) for group in range(len(parameters.groups))]
        worst = max(self._losses_of_group, key=lambda losses: losses[0].proven)
        super().__init__(
            PHASE,
            columns=range(len(parameters.alternatives)),
            bound=len(parameters.alternatives) - 1,
            tally_mechanism=mechanism,
            losses=worst,
        )

    def elects_by(self, kind: type[ChoiceT]) -> ChoiceT:
        """Return the choice on the sums, which must be of this kind: ConfigurationError otherwise."""
        if not isinstance(self.choice, kind):
            allowed = f"one that elects by a {kind.__name__}"
            raise ConfigurationError(field="mechanism", value=self._parameters.mechanism, allowed=allowed)
        return self.choice

    def losses_of(self, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        return self._losses_of_group[public[0]]

    def loss_groups(self, public: IntArray) -> Sequence[tuple[str, int, tuple[PrivacyLoss, ...]]]:
        if len(set(self._losses_of_group)) == 1:
            return [("", len(public), self._losses_of_group[0])]
        numbers = np.bincount(public[:, 0], minlength=len(self._losses_of_group)).tolist()
        return [
            (f"of {name}", number, losses)
            for name, number, losses in zip(self._parameters.groups, numbers, self._losses_of_group, strict=True)
            if number
        ]

    def release_event_of(self, public: Sequence[int]) -> PrivacyEvent:
        mechanism = self.tally_mechanism
        if isinstance(mechanism, Choice):
            return mechanism.event_of_group(public[0])
        return super().release_event_of(public)

    def rows_of(self, public: Sequence[int]) -> IntArray:
        return representative_rankings(self.num_values)

    def kinds_of(self, public: IntArray) -> Sequence[IntArray]:
        groups = np.flatnonzero(np.bincount(public[:, 0]))
        return [np.flatnonzero(public[:, 0] == group) for group in groups]

    def log_laws(self, tallies: Sequence[Tally]) -> FloatArray:
        if self._subsample is not None or (isinstance(self.choice, SampledChoice) and not self.choice.is_small):
            raise NotImplementedError("the law of a sample's winner takes too long")
        return super().log_laws(tallies)

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        """Refuse a report that is no ranking, which could count more than a voter. See `Phase.check_report`."""
        check_ranking(report)
        self._parameters.check_ties(np.array([report]))

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        totals = self.sums_of(reports, public[:, 0])
        if self._subsample is None:
            return Tally(len(reports), totals)
        rows = np.stack([public[:, 0], code_of_rankings(reports)], axis=1)
        return Tally(len(reports), totals, rows[np.lexsort(rows.T[::-1])])

    def tally_block(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> TallyBlock:
        if self._subsample is not None:
            raise NotImplementedError("whose voters are sampled is seen session by session")
        return super().tally_block(reports, earlier=earlier, public=public)

    def noise_of(self, counts: ReportCounts) -> UtilityNoise:
        """Return the noise in mean utilities."""
        return UtilityNoise.from_sums(cast("VectorLaplace", self.tally_mechanism), self.scoring.step, self.group_sizes)

    def numbers_of(self, positions: IntArray) -> IntArray:
        """Return each voter's part of its group's sums, int64 of shape (n, w), from rankings of shape (n, m)."""
        if self._parameters.kind.counts_pairs:
            return preferences_of(positions)
        return self.scoring.utilities_of(Rankings(positions))

    def sums_of(self, positions: IntArray, groups: IntArray) -> IntArray:
        """Return the groups' sums of utilities, int64, shape (G, m), in steps relative to the center.

        If pairs are counted, it returns their differences.

        Args:
            positions: the rankings, shape (n, m).
            groups: the indices of the voters' groups, shape (n,).
        """
        if self._parameters.kind.counts_pairs:
            wins = pairwise_wins(Rankings(positions))
            return (wins - wins.T)[np.triu_indices(self.num_values, 1)][None]
        num_groups, size = len(self._parameters.groups), self.num_values
        # How often each group has each alternative at each position: counting is faster than adding up utilities.
        is_strict = are_strict(positions)
        strict, members = (positions, groups) if is_strict.all() else (positions[is_strict], groups[is_strict])
        cells = (members[:, None] * size + np.arange(size)) * size + strict
        counts = np.bincount(cells.reshape(-1), minlength=num_groups * size * size)
        sums = counts.reshape(num_groups, size, size) @ np.array(self.scoring.steps, dtype=np.int64)
        if len(strict) < len(positions):
            np.add.at(sums, groups[~is_strict], self.scoring.utilities_of(Rankings(positions[~is_strict])))
        return sums

    def randomize_tally(self, tally: Tally, draw: Draw) -> Tally:
        if self.choice is None:
            return super().randomize_tally(tally, draw)
        sums = tally.totals if self._subsample is None else self._sums_of_sampled(tally.rows, self._subsample, draw)
        return Tally(tally.num_reports, np.array(draw(self.choice, sums.reshape(-1).tolist()), dtype=np.int64))

    def randomize_tallies(self, tallies: TallyBlock, draw: DrawBlock) -> TallyBlock:
        if self.choice is None:
            return super().randomize_tallies(tallies, draw)
        return TallyBlock(tallies.num_reports, draw(self.choice, tallies.totals.reshape(len(tallies), -1)))

    def _sums_of_sampled(self, rows: IntArray, subsample: Subsample, draw: Draw) -> IntArray:
        """Return the sums of the voters that line 4 of Algorithm 2 samples from each group."""
        parameters = self._parameters
        samples = np.array(draw(subsample, [0]), dtype=np.int64).reshape(-1, parameters.samples)
        sums = np.zeros((len(parameters.groups), self.num_values), dtype=np.int64)
        for group, places in enumerate(samples):
            start, stop = np.searchsorted(rows[:, 0], [group, group + 1]).tolist()
            present = places[places < stop - start]  # a voter without a report counts 0
            positions = rankings_of_codes(rows[start + present, 1], self.num_values)
            sums[group] = self.sums_of(positions, np.full(len(present), group, dtype=np.int64))[group]
        return sums


class MaskedRankings(_SummedRankings, MaskedSums):
    """Voters add up their utilities by group under masks: the sums of `DisclosedRankings` without a trusted party.

    A private row is a ranking, then the voter's contribution to each group's sums: 0 for all other groups. The tally
    has the sums, shape (G·m,).

    Examples:
        >>> parameters = Parameters(alternatives=("park", "pool"), groups=("north", "south"), group_sizes=(2, 1),
        ...     mechanism="masked", threshold=3, colluders=0)
        >>> phase = MaskedRankings(parameters)
        >>> phase.share.planned
        3
    """

    def __init__(self, parameters: Parameters) -> None:
        self.scoring = parameters.make_scoring(is_centered=True)
        self.group_sizes, self._size = parameters.group_sizes, len(parameters.alternatives)
        threshold, colluders = sizes_of(parameters)
        super().__init__(
            PHASE,
            ranges=[(self.scoring.steps[-1], self.scoring.steps[0])] * (len(self.group_sizes) * self._size),
            first=self._size,
            sensitivity=self.scoring.sensitivity(parameters.relation),
            epsilon=parameters.epsilon,
            threshold=threshold,
            colluders=colluders,
            unit=UNIT,
        )

    def rows_for(self, positions: IntArray, groups: IntArray) -> IntArray:
        """Return voters' rows, shape (n, G·m), from rankings, shape (n, m), and places of groups, shape (n,)."""
        rows = np.zeros((len(positions), len(self.group_sizes), self._size), dtype=np.int64)
        rows[np.arange(len(positions)), groups] = self.scoring.utilities_of(Rankings(positions))
        return rows.reshape(len(positions), -1)

    def noise_of(self, counts: ReportCounts) -> UtilityNoise:
        """Return the noise in mean utilities, to which so many voters have added a share each."""
        return UtilityNoise.from_shares(self.share, counts[0][0], self.scoring.step, self.group_sizes)

    def values_of(self, public: Sequence[int]) -> Values:
        # The mean score of each span of tied positions; a span of one has its own score.
        spans = [self.scoring.steps[low:high] for high in range(1, self._size + 1) for low in range(high)]
        steps = sorted({sum(span) // len(span) for span in spans if not sum(span) % len(span)})
        own_columns = range(public[0] * self._size, (public[0] + 1) * self._size)
        return [steps if place in own_columns else (0,) for place in range(self.num_values)]

    def kinds_of(self, public: IntArray) -> Sequence[IntArray]:
        return [np.flatnonzero(public[:, 0] == group) for group in np.unique(public[:, 0])]

    def rows_of(self, public: Sequence[int]) -> IntArray:
        rankings = representative_rankings(self._size)
        return self.rows_for(rankings, np.full(len(rankings), public[0]))


class RandomizedRankings(PersonalizedPhase):
    """Voters randomize their rankings, each at its level of ε, if there are levels (the local model).

    For each group and level of ε, the tally has the number of reports, then the numbers that the mechanism's estimator
    needs: shape (G·levels, 1 + width).

    Attributes:
        reports: the local report of each level, all by one mechanism.
        report: the local report of the greatest level; of all voters if they have the same ε.

    Examples:
        >>> parameters = Parameters(alternatives=("park", "pool"), groups=("north", "south"), group_sizes=(2, 1),
        ...     mechanism="local")
        >>> phase = RandomizedRankings(parameters)
        >>> phase.report.name, phase.losses[0].proven
        ('sampled_pair', 1.0)
    """

    person = UNIT

    def __init__(self, parameters: Parameters) -> None:
        self.reports: tuple[RankingReport, ...] = make_reports(parameters)
        self.report: RankingReport = self.reports[-1]
        self._num_cells = len(parameters.groups) * len(self.reports)
        super().__init__(
            PHASE,
            columns=range(len(parameters.alternatives)),
            mechanisms=[report.mechanism for report in self.reports],
            losses=[(_local_loss(report),) for report in self.reports],
            epsilons=parameters.own_levels.epsilons,
        )

    def rows_of(self, public: Sequence[int]) -> IntArray:
        return representative_rankings(self.num_values)

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        totals = np.zeros((self._num_cells, 1 + self.report.width), dtype=np.int64)
        for cell, places in places_by(self.cells_of(public)):
            totals[cell, 0] = len(reports[places])
            totals[cell, 1:] = self.report.totals_of(reports[places])
        return Tally(len(reports), totals)

    def cells_of(self, public: IntArray) -> IntArray:
        """Return the row of the tally for each voter's report, by its public row: int64, shape (n,)."""
        return public[:, 0] * len(self.reports) + self.levels_of(public)

    def group_rows(self, totals: IntArray) -> list[list[list[int]]]:
        """Return the rows of a tally: for each group those of its levels."""
        return totals.reshape(-1, len(self.reports), totals.shape[1]).tolist()

    def counts_of(self, tally: Tally) -> ReportCounts:
        """Return how many of each group reported at each level."""
        return tuple(tuple(count for count, *_ in rows) for rows in self.group_rows(tally.totals))

    def utilities_of(self, tally: Tally) -> Utilities:
        """Return the groups' mean utilities by a tally, exactly."""
        return [mean_utilities(self.reports, rows) for rows in self.group_rows(tally.totals)]

    def noise_of(self, counts: ReportCounts) -> UtilityNoise | None:
        """Return the noise in mean utilities; None where a group has no report, and nothing is known of it."""
        return UtilityNoise.from_reports(self.reports, counts) if all(map(sum, counts)) else None

    def errors_of(self, counts: ReportCounts) -> Sequence[float]:
        """Return each group's standard error, averaged over the alternatives; without a report the scores' range."""
        return [
            error_of_levels(self.reports, level_counts) if any(level_counts) else self.report.range
            for level_counts in counts
        ]


class JointRankings(Phase):
    """Voters randomize group and ranking together (the local model), so that groups are private, too.

    A private row has each alternative's cell, group·m + position; there is no public row. The tally has the numbers
    that the mechanism's estimator needs for each group: shape (G, width).

    Examples:
        >>> parameters = Parameters(alternatives=("park", "pool"), groups=("north", "south"), group_sizes=(2, 1),
        ...     mechanism="joint")
        >>> phase = JointRankings(parameters)
        >>> phase.report.name
        'joint_pair'
    """

    def __init__(self, parameters: Parameters) -> None:
        self.report: JointReport = make_joint_report(parameters)
        columns, mechanism = range(len(parameters.alternatives)), self.report.mechanism
        super().__init__(PHASE, columns=columns, mechanism=mechanism, losses=[_local_loss(self.report)])

    def rows_of(self, public: Sequence[int]) -> IntArray:
        rankings = representative_rankings(self.num_values)
        groups = range(min(self.report.num_groups, _GROUPS_LOOKED_AT))
        return np.concatenate([cells_of_members(np.full(len(rankings), group), rankings) for group in groups])

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        """Refuse an impossible report, which could count more than a voter. See `Phase.check_report`."""
        self.report.check(report)

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        """Tally all reports; their groups are hidden."""
        return Tally(len(reports), self.report.totals_of(reports))

    def counts_of(self, tally: Tally) -> ReportCounts:
        """Return how many reported."""
        return ((tally.num_reports,),)

    def utilities_of(self, tally: Tally) -> Utilities:
        """Return the groups' mean utilities by a tally, exactly."""
        return self.report.utilities(tally.totals)

    def noise_of(self, counts: ReportCounts) -> UtilityNoise | None:
        """Return the noise in mean utilities; None where nobody reported, and nothing is known of it."""
        return UtilityNoise.from_joint_reports(self.report, counts[0][0]) if counts[0][0] else None

    def errors_of(self, counts: ReportCounts) -> Sequence[float]:
        """Return each group's standard error, averaged over the alternatives; without a report the scores' range."""
        report, ((count,),) = self.report, counts
        return [report.error_of(group, count) if count else report.range for group in range(report.num_groups)]


def _local_loss(report: LocalReport) -> PrivacyLoss:
    event = report.mechanism.event_of(report.size)
    return local_loss(report.name, event, unit=UNIT, claimed=report.epsilon)


def _make_laplace(parameters: Parameters, scoring: Scoring) -> VectorLaplace:
    """Return Algorithm 1's noise on groups' sums; if pairs are counted, the noise on their differences.

    The printed scale for W_k is m(m − 1)/(2·n_k·ε), which is Σs/ε for the sum, with s the scores. One voter changes
    only the sums of its group, so the sums of all groups have noise of the same scale (parallel composition).
    """
    if parameters.kind.counts_pairs:
        size, number = len(parameters.alternatives), parameters.num_voters
        return make_pair_noise(size, num_voters=number, epsilon=parameters.epsilon, relation=parameters.relation)
    sensitivity = scoring.sensitivity(parameters.relation)
    scale = float(sensitivity)
    if parameters.calibration == "printed":
        scale = float(
            scoring.sensitivity(NeighboringRelation.ADD_OR_REMOVE_ONE)
        )  # the sum of the scores, relative to 0
    bound = max(scoring.bound * max(parameters.group_sizes), 1)
    return VectorLaplace(scale=quotient_up(scale, parameters.epsilon), sensitivity=sensitivity, bound=bound)


def _make_choice(parameters: Parameters, scoring: Scoring) -> Choice:
    objective = parameters.make_objective()
    if parameters.kind.is_by_quality:
        return ExponentialChoice(
            scoring,
            parameters.group_sizes,
            objective,
            epsilon=parameters.epsilon,
            relation=parameters.relation,
            is_flipped=parameters.mechanism == "permute_and_flip",
        )
    sizes, plan = parameters.group_sizes, parameters.plan
    proven = (
        proven_epsilon(
            scoring,
            group_sizes=sizes,
            group=group,
            samples=plan.num_samples,
            reading=parameters.reading,
            gamma=plan.gamma,
            objective=objective.name,
            scale=parameters.scale,
        )
        for group in range(len(sizes))
    )
    return SampledChoice(
        scoring,
        sizes,
        objective,
        num_samples=plan.num_samples,
        sum_sizes=sizes if parameters.reading == "group" else (plan.num_samples,) * len(sizes),
        gamma=plan.gamma,
        scale=parameters.scale,
        proven=tuple(proven),
    )


def _loss(parameters: Parameters, mechanism: RowMechanism, group: int) -> PrivacyLoss:
    size = len(parameters.alternatives)
    event = mechanism.event_of_group(group) if isinstance(mechanism, Choice) else mechanism.event_of(size)
    return PrivacyLoss(
        mechanism=parameters.mechanism,
        event=event,
        unit=UNIT,
        relation=parameters.relation,
        model=TrustModel.CENTRAL,
        claimed=parameters.claimed_epsilon,
    )
