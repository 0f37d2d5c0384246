"""Moral preferences as a list of phases: there is one, in which voters report a summary of their records.

In the local paradigms (VLDP, RLDP) that is a `Phase`: voters perturb, and the aggregator tallies reports. In the
central ones (VLCP, RLCP) it is a `CentralPhase`: voters disclose, and the aggregator, which is trusted, perturbs the
tally. The release tells all voters the society's preferences.

A private row is a summary (`summaries`); a public row is the place of the voter's ε among the public levels, or empty
where everybody has the same.
"""

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, cast

import msgspec
import numpy as np

from ..arrays import FloatArray, IntArray, exact_column_sums
from ..errors import ConfigurationError
from ..estimators.l1_ball import project_to_l1_ball
from ..mechanisms import RowMechanism
from ..phases import CentralPhase, Column, Entries, Inputs, MechanismGroups, OnePhaseProtocol, Phase, missing_column
from ..privacy import NeighboringRelation, PartLoss, PrivacyEvent, PrivacyLoss, PureMechanism, total_of
from ..tally import Tally
from .estimation import LevelSums, average
from .functional import NoisyObjective
from .outcome import LevelOutcome, Outcome
from .paradigms import Level
from .parameters import Parameters
from .records import GREATEST_FEATURE, Records
from .summaries import GREATEST_SUM, AdditiveNoise, Summary, make_summary

__all__ = ["DisclosedPhase", "MoralPreferences", "PerturbedPhase"]

PHASE: Final = "preferences"
# Squares of reports are summed coarsely, which is enough for a variance: in steps of a 32nd of the noise's standard
# deviation, and no farther than 2**15 of them, where noise is nothing beside what differs between voters anyway. So the
# squares of four billion numbers fit into 64 bits.
_COARSE_STEPS: Final = 32
_MOST_COARSE: Final = 1 << 15
# What comes out of linear algebra is released on a public grid, so that a library's last bit is not seen.
_GRID: Final = 2.0**32
# Columns of a level's totals before the sums.
_COUNT, _SQUARES, _FIRST_SUM = range(3)


def _parts_of(parameters: Parameters) -> int:
    """Return how many records, of which the mechanism's event covers one, are in a voter's summary at most.

    All of them are replaced one after another. A preference vector is bounded whatever they are, and so is a voter's
    direction.
    """
    is_record = parameters.paradigm.level is Level.RECORD
    return parameters.max_records if is_record and parameters.mechanism != "laplace" else 1


def _loss(parameters: Parameters, summary: Summary, mechanism: RowMechanism, epsilon: float) -> PrivacyLoss:
    """Return what a voter pays who reports by this mechanism."""
    bounded: Any = mechanism.event_of(summary.num_values)  # of a record, or of a voter
    proven: float = bounded.epsilon
    is_record = parameters.paradigm.level is Level.RECORD
    times = _parts_of(parameters)
    is_replaced = parameters.public_number is None
    return PrivacyLoss(
        mechanism=summary.name,
        event=PureMechanism(epsilon=proven * times),
        unit=Level.VOTER.value,
        relation=NeighboringRelation.REPLACE_ONE if is_replaced else NeighboringRelation.ADD_OR_REMOVE_ONE,
        model=parameters.paradigm.model,
        claimed=epsilon * times,
        part=PartLoss(unit=Level.RECORD.value, claimed=epsilon, proven=proven) if is_record else None,
    )


class PerturbedPhase(Phase):
    """Voters perturb their summaries, each by its own ε (VLDP, RLDP).

    The tally has for each level of ε the number of reports, the sum of their coarse squares and their sums: shape
    (levels, 2 + numbers of a report).

    Args:
        parameters: the session's.
        summary: what is reported.

    Attributes:
        mechanisms: the local randomizer of each level.
        shifts: how many bits of a level's reports their coarse squares are without.
    """

    def __init__(self, parameters: Parameters, summary: Summary) -> None:
        self.mechanisms = tuple(summary.local_mechanism(epsilon) for epsilon in parameters.levels)
        self._is_personal = parameters.is_personal
        self._summary = summary
        self._losses_of_level = tuple(
            (_loss(parameters, summary, mechanism, epsilon),)
            for mechanism, epsilon in zip(self.mechanisms, parameters.levels, strict=True)
        )
        self._names = [f"with ε = {repr(epsilon).removesuffix('.0')}" for epsilon in parameters.levels]
        super().__init__(
            PHASE,
            columns=range(summary.num_values),
            mechanism=self.mechanisms[0],  # the smallest ε has the widest reports
            losses=self._losses_of_level[-1],
            num_parts=_parts_of(parameters),
        )
        self.shifts = [_shift_of(mechanism) for mechanism in self.mechanisms]

    @property
    def event(self) -> PrivacyEvent:
        """What a voter of the greatest ε does. See `Guarded.event`."""
        return self.of_all_parts(self.mechanisms[-1].event_of(self.num_values))

    def rows_of(self, public: Sequence[int]) -> IntArray:
        """Return rows of voters who are far from each other. See `Phase.rows_of`."""
        del public
        return self._summary.some_rows()

    def mechanism_of(self, public: Sequence[int]) -> RowMechanism:
        """Return that of the voter's ε. See `Phase.mechanism_of`."""
        return self.mechanisms[self._level_of(public)]

    def mechanism_groups(self, public: IntArray) -> MechanismGroups:
        """Group voters by their ε. See `Phase.mechanism_groups`."""
        return [(self.mechanisms[level], places) for level, places in self._by_level(public)]

    def losses_of(self, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        """Return what the voter's ε says. See `Phase.losses_of`."""
        return self._losses_of_level[self._level_of(public)]

    def loss_groups(self, public: IntArray) -> Sequence[tuple[str, int, tuple[PrivacyLoss, ...]]]:
        """Group voters by their ε. See `Phase.loss_groups`."""
        groups = self._by_level(public)
        if len(groups) == 1:
            return [("", len(public), self._losses_of_level[groups[0][0]])]
        return [(self._names[level], len(public[places]), self._losses_of_level[level]) for level, places in groups]

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        """Refuse what the voter's own mechanism cannot report. See `Phase.check_report`."""
        mechanism = self.mechanism_of(public)
        low, high = mechanism.report_range
        if not low <= min(report) <= max(report) <= high:
            raise ValueError(f"its numbers are not in [{low}, {high}], the range at the voter's ε")
        if isinstance(mechanism, NoisyObjective) and sum(map(abs, report)) > high:
            raise ValueError("it is no maximum of any objective: it is outside of the ball")

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        """Add up reports and their squares, level by level."""
        del earlier
        totals = np.zeros((len(self.mechanisms), _FIRST_SUM + self.num_reported), dtype=np.int64)
        for level, places in self._by_level(public):
            of_level = reports[places]
            half = (1 << self.shifts[level]) >> 1
            coarse = np.clip((of_level + half) >> self.shifts[level], -_MOST_COARSE, _MOST_COARSE)
            totals[level, _COUNT] = len(of_level)
            totals[level, _SQUARES] = exact_column_sums(exact_column_sums(coarse * coarse)[:, None])[0]
            totals[level, _FIRST_SUM:] = exact_column_sums(of_level)
        return Tally(len(reports), totals)

    def sums_of(self, tally: Tally, summary: Summary, epsilons: Sequence[float]) -> list[LevelSums]:
        """Return each level's mean and mean square, in units, for the levels with a report."""
        step = summary.reported_step
        sums: list[LevelSums] = []
        for level, totals in enumerate(tally.totals):
            count = int(totals[_COUNT])
            if not count:
                continue
            coarse_step = math.ldexp(step, self.shifts[level])
            sums.append(
                LevelSums(
                    epsilon=epsilons[level],
                    num_voters=count,
                    mean=totals[_FIRST_SUM:] * step / count,
                    mean_square=int(totals[_SQUARES]) * coarse_step * coarse_step / (count * self.num_reported),
                    noise_variance=summary.noise_variance(self.mechanisms[level]),
                )
            )
        return sums

    def _level_of(self, public: Sequence[int]) -> int:
        return public[0] if self._is_personal else 0

    def _by_level(self, public: IntArray) -> list[tuple[int, IntArray | slice]]:
        if not self._is_personal:
            return [(0, slice(None))]
        levels: list[int] = np.unique(public[:, 0]).tolist()
        if len(levels) == 1:
            return [(levels[0], slice(None))]
        return [(level, np.flatnonzero(public[:, 0] == level)) for level in levels]


class DisclosedPhase(CentralPhase):
    """Voters show the aggregator their summaries, and it perturbs the sum (VLCP, RLCP).

    The tally has the sums: shape (numbers of a summary,).

    Args:
        parameters: the session's.
        summary: what is disclosed.
    """

    def __init__(self, parameters: Parameters, summary: Summary) -> None:
        (epsilon,) = parameters.levels
        self._summary = summary
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
        """Return rows of voters who are far from each other. See `Phase.rows_of`."""
        del public
        return self._summary.some_rows()

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        """Refuse what no records give: it would weigh more than a voter. See `Phase.check_report`."""
        del public
        if not self._summary.are_possible(np.array([report], dtype=np.int64)):
            raise ValueError("it is no summary of any records: it is farther out than the bound allows")

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        """Add up the summaries."""
        del earlier, public
        return Tally(len(reports), exact_column_sums(reports))


class MoralPreferences(OnePhaseProtocol[Parameters, Outcome, PerturbedPhase | DisclosedPhase]):
    """A society's moral preferences from its voters' pairwise choices, in four paradigms of trust.

    Args:
        parameters: the session's.

    Privacy:
        Replace-one, or add-remove-one where VLCP is asked for it; unit and adversary as the paradigm says. VLCP, RLCP:
        ε-DP of the release for a voter or a record, against whoever sees that; the aggregator sees every voter's
        summary and is trusted. VLDP, RLDP: ε-LDP for a voter or a record, against all others colluding. Where ε is a
        record's, a voter with n records pays up to nε, but for Laplace noise on preferences, whose ε is the whole
        voter's.

    Source:
        Wang et al. (2019), Algorithms 1 to 3; readings M1 to M14.
    """

    name: ClassVar[str] = "moral-preferences"
    client_role: ClassVar[str] = "voter"
    server_role: ClassVar[str] = "aggregator"
    parameters_type: ClassVar[type[msgspec.Struct]] = Parameters
    outcome_type: ClassVar[type[msgspec.Struct]] = Outcome
    computes_twice: ClassVar[bool] = False

    @classmethod
    def complete(cls, given: Mapping[str, Any], table: Mapping[str, Entries]) -> dict[str, Any]:
        """Fill in the levels of ε from the public column, where the table has one."""
        if "epsilon" not in table or {"epsilon", "epsilons"} & given.keys() or given.get("chosen_by") == "voter":
            return dict(given)
        return {**given, "epsilons": sorted({_number(entry, row) for row, entry in enumerate(table["epsilon"], 1)})}

    @functools.cached_property
    def summary(self) -> Summary:
        """What reports are made of."""
        return make_summary(self.parameters)

    def make_phase(self) -> PerturbedPhase | DisclosedPhase:
        """Return the one phase."""
        kind = PerturbedPhase if self.parameters.is_local else DisclosedPhase
        return kind(self.parameters, self.summary)

    def columns(self) -> tuple[Column, ...]:
        """Return the columns: a voter's records, and its ε where voters have one of their own."""
        description = "the voter's records: for each the features of the chosen and of the rejected alternative"
        records = Column("records", private=True, description=description)
        if not self.parameters.is_personal:
            return (records,)
        own = f"the voter's ε, one of {self._levels_shown}"
        return Column("epsilon", private=False, description=own, chosen=self.parameters.is_chosen), records

    def check_columns(self, names: Iterable[str]) -> None:
        """Refuse other columns; of an ε of each voter's own say why. See `PhasedProtocol.check_columns`."""
        given = list(names)
        if "epsilon" in given and not self.parameters.is_personal:
            allowed = "left out, since everybody has the same ε"
            raise ConfigurationError(field="epsilon", value="a column", allowed=allowed)
        super().check_columns(given)

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        """Summarize every voter's records. See `PhasedProtocol.encode`.

        Entries of `records` are a `Records`, or for each voter an array of shape (records, 2, d): chosen, rejected.
        """
        self.check_columns(table)
        if self.parameters.is_chosen and "epsilon" not in table:
            raise missing_column("epsilon")
        records = self._records_of(table["records"])
        public = self.encode_public(table, num_parties=len(records))
        return Inputs(self.summary.rows_of(records), public)

    def encode_public(self, table: Mapping[str, Entries], *, num_parties: int) -> IntArray:
        """Return the places of the voters' ε among the levels. See `PhasedProtocol.encode_public`."""
        if not self.parameters.is_personal:
            return np.empty((num_parties, 0), dtype=np.int64)
        if "epsilon" not in table:
            if self.parameters.is_chosen:  # until they join: the greatest one, by which most is lost
                return np.full((num_parties, 1), len(self.parameters.epsilons) - 1, dtype=np.int64)
            raise missing_column("epsilon")
        entries = table["epsilon"]
        if len(entries) != num_parties:
            raise ConfigurationError(field="epsilon", value=f"{len(entries)} entries", allowed=f"{num_parties} entries")
        places = {level: place for place, level in enumerate(self.parameters.epsilons)}
        public = np.empty((num_parties, 1), dtype=np.int64)
        for row, entry in enumerate(entries, start=1):
            place = places.get(_number(entry, row))
            if place is None:
                allowed = f"one of {self._levels_shown}"
                raise ConfigurationError(field=f"epsilon in row {row}", value=entry, allowed=allowed)
            public[row - 1, 0] = place
        return public

    def encode_chosen(self, entries: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the place of the ε that a voter chooses. See `PhasedProtocol.encode_chosen`."""
        if not self.parameters.is_chosen:
            return ()
        if "epsilon" not in entries:
            raise ConfigurationError(field="epsilon", value="left out", allowed=f"one of {self._levels_shown}")
        (row,) = self.encode_public({"epsilon": [entries["epsilon"]]}, num_parties=1).tolist()
        return tuple(row)

    def write_public(self, public: IntArray) -> dict[str, list[str]]:
        """Return each voter's ε. See `PhasedProtocol.write_public`."""
        if not self.parameters.is_personal:
            return {}
        places: list[int] = public[:, 0].tolist()
        return {"epsilon": [repr(self.parameters.epsilons[place]) for place in places]}

    def encode_own(self, entries: Mapping[str, Any], public: Sequence[int]) -> tuple[int, ...]:
        """Return a voter's summary. See `PhasedProtocol.encode_own`.

        Args:
            entries: `records`, shape (records, 2, d); `epsilon` may be given, and must then be the server's.
            public: its public row.
        """
        self.check_public(public)
        if "records" not in entries:
            raise missing_column("records")
        if "epsilon" in entries:
            ours = self.encode_public({"epsilon": [entries["epsilon"]]}, num_parties=1)[0].tolist()
            if ours != list(public):
                levels = [self.parameters.levels[place] for place in public]
                allowed = (
                    f"the ε that the server has: {levels[0]:g}"
                    if levels
                    else "left out, since everybody has the same ε"
                )
                raise ConfigurationError(field="epsilon", value=entries["epsilon"], allowed=allowed)
        (row,) = self.summary.rows_of(self._records_of([entries["records"]])).tolist()
        return tuple(row)

    def check_public(self, public: Sequence[int]) -> None:
        """Refuse what is no level of ε. See `PhasedProtocol.check_public`."""
        width, number = int(self.parameters.is_personal), len(self.parameters.levels)
        if len(public) != width or not all(0 <= place < number for place in public):
            allowed = f"the place of an ε, in [0, {number - 1}]" if width else "empty"
            raise ConfigurationError(field="the server's public row", value=list(public[:12]), allowed=allowed)

    def check_row(self, row: Sequence[int], public: Sequence[int]) -> None:
        """Refuse a summary whose neighbors might be farther away than the noise is made for."""
        del public
        if not self.summary.are_possible(np.array([row], dtype=np.int64)):
            raise ValueError("it is no summary of any records")

    def check_inputs(self, inputs: Inputs) -> None:
        """Raise ValueError unless every row is a summary of records. See `PhasedProtocol.check_inputs`."""
        super().check_inputs(inputs)
        if not self.summary.are_possible(inputs.private):
            raise ValueError("a row is not a summary of records: it is farther out than the bound allows")

    def check_roster(self, public: IntArray) -> None:
        """Refuse more voters than whose sum fits into 64 bits. See `PhasedProtocol.check_roster`."""
        if len(public) * self.summary.bound > GREATEST_SUM:
            most = GREATEST_SUM // self.summary.bound
            raise ConfigurationError(field="voters", value=len(public), allowed=f"at most {most} at max_records")

        number = self.parameters.public_number
        if number is not None and len(public) > number:
            allowed = f"at least the {len(public)} voters of the roster, or their mean might leave the ball"
            raise ConfigurationError(field="num_voters", value=number, allowed=allowed)

    def outcome(self, tallies: Sequence[Tally]) -> Outcome:
        """Return the society's preferences."""
        (tally,) = tallies
        if isinstance(self.phase, PerturbedPhase):
            levels = self.phase.sums_of(tally, self.summary, self.parameters.levels)
            mean = average(levels, is_weighted=self.parameters.mean == "weighted")
            values, error = mean.values, mean.error
            told = [(level.epsilon, level.num_voters) for level in levels]
            weights = mean.weights
        else:
            number = self.parameters.public_number or tally.num_reports
            values = tally.totals * self.summary.step / number
            variance = self.summary.noise_variance(self.phase.tally_mechanism)
            error = None if variance is None else math.sqrt(variance) / number
            told = [(self.parameters.levels[0], number)]
            weights = (1.0,)
        preferences = self._finished(values, error)
        errors = self.summary.errors_of(values, error)
        (loss,) = self.losses
        replaced = total_of([loss], relation=NeighboringRelation.REPLACE_ONE).proven
        return Outcome(
            features=self.parameters.features,
            preferences=tuple(preferences.tolist()),
            errors=None if errors is None else tuple(errors.tolist()),
            is_direction=self.parameters.mechanism == "direction",
            num_voters=self.parameters.public_number or tally.num_reports,
            paradigm=self.parameters.paradigm.value,
            mechanism=self.parameters.mechanism,
            levels=tuple(
                LevelOutcome(epsilon=epsilon, num_voters=number, weight=weight)
                for (epsilon, number), weight in zip(told, weights, strict=True)
            ),
            is_projected=self._is_projected,
            is_whitened=bool(self.parameters.covariance),
            epsilon_record=replaced if loss.part is None else loss.part.proven,
            epsilon_voter=replaced,
            ball=None if errors is None else self.summary.ball_of(values),
            maxima=self.summary.maxima or msgspec.UNSET,
            relation=msgspec.UNSET if self.parameters.public_number is None else "add-remove-one",
        )

    def truth(self, inputs: Inputs) -> dict[str, float]:
        """Return what would be released without noise, to voters who all count alike."""
        summaries = inputs.private * self.summary.step
        mechanism = self.phase.mechanism
        if isinstance(mechanism, NoisyObjective):
            places = mechanism.places_of(inputs.private, noise_scale=0.0)
            summaries = places * self.summary.reported_step
        totals = [math.fsum(column) for column in summaries.T.tolist()]
        number = self.parameters.public_number or len(inputs)
        preferences = self.summary.preferences_of(np.array(totals) / number, 0.0)
        return dict(zip(self.parameters.features, preferences.tolist(), strict=True))

    @property
    def _levels_shown(self) -> str:
        return ", ".join(f"{level:g}" for level in self.parameters.epsilons[:20])

    @property
    def _is_projected(self) -> bool:
        return self.parameters.project and self.parameters.mechanism == "laplace"

    def _finished(self, values: FloatArray, error: float | None) -> FloatArray:
        """Return the released preferences, of a mean."""
        preferences = self.summary.preferences_of(values, error)
        if self._is_projected:
            (preferences,) = project_to_l1_ball(preferences[None, :], radius=self.parameters.bound)
        if self.parameters.mechanism == "pooled":
            preferences = np.floor(preferences * _GRID + 0.5) / _GRID
        return preferences + 0.0  # no negative zero

    def _records_of(self, entries: Entries) -> Records:
        """Return the records, checked against the parameters; `field` names the row."""
        if not isinstance(entries, Records):
            voters = [_pairs_of(entry, row, self.parameters.features) for row, entry in enumerate(entries, 1)]
            entries = Records.of_voters(voters, num_features=self.parameters.num_features)
        if entries.num_features != self.parameters.num_features:
            allowed = f"with {self.parameters.num_features} features"
            raise ConfigurationError(field="records", value=f"with {entries.num_features} features", allowed=allowed)
        numbers = entries.num_records
        most = self.parameters.max_records
        if len(numbers) and not 1 <= int(numbers.min()) <= int(numbers.max()) <= most:
            row = int(np.flatnonzero((numbers < 1) | (numbers > most))[0])
            field = f"records in row {row + 1}"
            allowed = f"1 to {most} records (max_records)"
            raise ConfigurationError(field=field, value=f"{int(numbers[row])} records", allowed=allowed)
        return entries


def _shift_of(mechanism: RowMechanism) -> int:
    """Return how many bits of a report its coarse square is without."""
    if not isinstance(mechanism, AdditiveNoise):  # a place in the ball
        return max(0, mechanism.report_range[1].bit_length() - _MOST_COARSE.bit_length() + 1)
    return max(0, math.frexp(math.sqrt(mechanism.noise_variance) / _COARSE_STEPS)[1] - 1)


def _pairs_of(entry: Any, row: int, features: Sequence[str]) -> FloatArray:
    """Return a voter's records, from arrays or from tables by feature: shape (records, 2, d)."""
    field = f"records in row {row}"
    numbers = f"{len(features)} numbers in [-{GREATEST_FEATURE:g}, {GREATEST_FEATURE:g}]"
    allowed = f"a list of records, each of two alternatives of {numbers}: the chosen one first"
    unnamed = _without_names(entry, field, features)
    try:
        pairs = np.array(unnamed, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ConfigurationError(field=field, value="something else", allowed=allowed) from None
    if not pairs.size:
        raise ConfigurationError(field=field, value="0 records", allowed="at least one record")
    is_table = pairs.ndim == 3 and pairs.shape[1:] == (2, len(features))  # noqa: PLR2004  pairs of vectors
    if not is_table or not np.all(np.abs(pairs) <= GREATEST_FEATURE):  # not so for nan
        raise ConfigurationError(field=field, value=f"an array of shape {pairs.shape}", allowed=allowed)
    return pairs


def _without_names(entry: Any, field: str, features: Sequence[str]) -> Any:
    """Return an entry in which alternatives are lists: those that are tables name every feature, in any order."""
    if isinstance(entry, Mapping):
        named = cast("Mapping[str, Any]", entry)
        for name in sorted(map(str, named.keys() ^ set(features))):
            allowed = f"described by all of {', '.join(features[:30])}, and by nothing else"
            raise ConfigurationError(field=f"{field}: an alternative", value=name, allowed=allowed)
        return [named[name] for name in features]
    if isinstance(entry, (list, tuple)):
        return [_without_names(part, field, features) for part in cast("Sequence[Any]", entry)]
    return entry


def _number(entry: Any, row: int) -> float:
    try:
        epsilon = math.nan if isinstance(entry, bool) or "_" in str(entry) else float(entry)
    except (TypeError, ValueError, OverflowError):
        epsilon = math.nan
    if not epsilon > 0 or math.isinf(epsilon):
        raise ConfigurationError(field=f"epsilon in row {row}", value=entry, allowed="a number > 0")
    return epsilon
