"""Moral preferences as a protocol of one phase, in which voters report a summary of their records.

A private row is a summary (`summaries`). A public row has the index of the voter's society, if there are several, then
the index of its level of ε, if there are levels; else it is empty.
"""

import dataclasses
import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, IntArray, exact_column_sums
from ..errors import ConfigurationError, refuse, require
from ..estimators.l1_ball import project_to_l1_ball
from ..phases import Column, Entries, Inputs, OnePhaseProtocol, missing_column
from ..privacy import NeighboringRelation, TrustModel, total_of
from ..privacy_levels import number_of, place_in
from ..tally import Decisions, Tally, TallyBlock
from .estimation import Mean, average
from .functional import NoisyObjective
from .outcome import Ball, LevelOutcome, Outcome, SocietyOutcome
from .parameters import Paradigm, Parameters
from .phases import DisclosedPhase, MaskedPreferences, PerturbedPhase, SocietiesPhase
from .records import GREATEST_FEATURE, Records
from .summaries import GREATEST_SUM, ReportSummary, make_summary

# Results of linear algebra are released on a public grid, which hides the last bits that depend on a library.
_GRID: Final = 2.0**32
# A float with the longest encoding.
_LONG_FLOAT: Final = 1 / 3
_LONGEST_LEVEL: Final = LevelOutcome(epsilon=_LONG_FLOAT, num_voters=1 << 32, weight=_LONG_FLOAT)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class PreferenceDecisions(Decisions):
    """The outcomes of many sessions: the preferences of all voters, shape (sessions, features).

    Examples:
        >>> preferences = np.array([[0.8, -0.1]])
        >>> len(PreferenceDecisions(preferences=preferences, kinds=lambda: np.ones((1, 2), dtype=np.int64)).kinds())
        1
    """

    preferences: FloatArray


class MoralPreferences(OnePhaseProtocol[Parameters, Outcome, PerturbedPhase | DisclosedPhase | MaskedPreferences]):
    """A society's moral preferences from its voters' pairwise choices, in six paradigms of trust.

    Privacy:
        Replace-one, or add-or-remove-one for VLCP on request. Unit: a voter (VL…) or a record (RL…).

        - VLCP, RLCP: ε-DP of the release, against an observer of the release; the aggregator sees every voter's
          summary, and is trusted.
        - VLMP, RLMP: ε-DP, against a coalition of the aggregator and `colluders` voters.
        - VLDP, RLDP: ε-LDP, against a coalition of all others.

        If ε is that of a record, a voter with n records pays up to nε, except for Laplace noise on preferences, whose ε
        is that of the whole voter.

    Source:
        Wang et al. (2019), Algorithms 1 to 3; readings M1 to M14.

    Examples:
        >>> survey = MoralPreferences(Parameters(features=("lives", "age"), epsilon=2.0))
        >>> inputs = survey.encode({"records": [[[[2.0, 0.0], [1.0, 0.0]]], [[[1.0, 0.5], [0.0, 0.5]]]]})
        >>> {name: round(value, 3) for name, value in survey.truth(inputs).items()}
        {'lives': 2.0, 'age': 0.0}
    """

    name: ClassVar[str] = "moral-preferences"
    client_role: ClassVar[str] = "voter"
    server_role: ClassVar[str] = "aggregator"
    parameters_type: ClassVar[type[msgspec.Struct]] = Parameters
    outcome_type: ClassVar[type[msgspec.Struct]] = Outcome
    settings_by_trust: ClassVar[Sequence[tuple[TrustModel, Mapping[str, Any]]]] = (
        (TrustModel.LOCAL, {}),
        (TrustModel.DISTRIBUTED, {"paradigm": Paradigm.VLMP.value}),
        (TrustModel.CENTRAL, {"paradigm": Paradigm.VLCP.value}),
    )
    computes_twice: ClassVar[bool] = False

    @classmethod
    def complete(cls, fields: Mapping[str, Any], table: Mapping[str, Entries]) -> dict[str, Any]:
        """Fill in the levels of ε and the societies from the public columns, where the table has them."""
        completed = dict(fields)
        if "society" in table:
            completed.setdefault("societies", sorted({str(entry) for entry in table["society"]}))
        if "epsilon" not in table or {"epsilon", "epsilons"} & fields.keys() or fields.get("chosen_by") == "voter":
            return completed
        return {
            **completed,
            "epsilons": sorted({number_of(entry, row) for row, entry in enumerate(table["epsilon"], 1)}),
        }

    @functools.cached_property
    def summary(self) -> ReportSummary:
        """The summary that voters report."""
        return make_summary(self.parameters)

    def make_phase(self) -> PerturbedPhase | DisclosedPhase | MaskedPreferences:
        if self.parameters.is_local:
            return PerturbedPhase(self.parameters, self.summary)
        if self.parameters.is_masked:
            return MaskedPreferences(self.parameters, self.summary)
        kind = SocietiesPhase if self.parameters.names_of_societies else DisclosedPhase
        return kind(self.parameters, self.summary)

    def columns(self) -> tuple[Column, ...]:
        description = "the voter's records: for each the features of the chosen and of the rejected alternative"
        public: list[Column] = []
        if self.parameters.names_of_societies:
            public.append(Column("society", private=False, description=f"the voter's, one of {self._societies_shown}"))
        return *public, *self.parameters.own_levels.columns, Column("records", private=True, description=description)

    def check_columns(self, names: Iterable[str]) -> None:
        """Refuse other columns, with the reason for a column that is not needed. See `PhasedProtocol.check_columns`."""
        column_names = list(names)
        is_one = "society" in column_names and not self.parameters.names_of_societies
        refuse(is_one, "society", "a column", "left out, since all voters are one society (societies names several)")
        super().check_columns(column_names)

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        """Summarize every voter's records. See `PhasedProtocol.encode`.

        The entries of `records` are a `Records`, or for each voter an array of shape (records, 2, d): chosen, rejected.
        """
        self.check_columns(table)
        records = self._records_of(table["records"])
        public = self.encode_public(table, num_parties=len(records))
        return Inputs(self.summary.rows_of(records), public)

    def encode_public(self, table: Mapping[str, Entries], *, num_parties: int) -> IntArray:
        public: list[IntArray] = []
        if self.parameters.names_of_societies:
            if "society" not in table:
                raise missing_column("society")
            entries = table["society"]
            require(len(entries) == num_parties, "society", f"{len(entries)} entries", f"{num_parties} entries")
            public.append(np.array(self._places_of_societies(entries), dtype=np.int64).reshape(-1, 1))
        return np.hstack([*public, self.parameters.own_levels.encode(table, num_parties=num_parties)])

    def _places_of_societies(self, entries: Entries) -> list[int]:
        place_of_name = {name: place for place, name in enumerate(self.parameters.names_of_societies)}
        return [
            place_in(place_of_name, str(entry), f"society in row {row}", self._societies_shown)
            for row, entry in enumerate(entries, start=1)
        ]

    def encode_chosen(self, entries: Mapping[str, Any]) -> tuple[int, ...]:
        return self.parameters.own_levels.encode_chosen(entries)

    def write_public(self, public: IntArray) -> dict[str, list[str]]:
        written: dict[str, list[str]] = {}
        if names := self.parameters.names_of_societies:
            written["society"] = [names[place] for place in public[:, 0].tolist()]
        return written | self.parameters.own_levels.write(public)

    def encode_own(self, entries: Mapping[str, Any], public: Sequence[int]) -> tuple[int, ...]:
        """Return a voter's summary. See `PhasedProtocol.encode_own`.

        Args:
            entries: `records`, shape (records, 2, d); optionally `society` and `epsilon`, which must equal the
                server's.
            public: the voter's public row.
        """
        self.check_public(public)
        if "records" not in entries:
            raise missing_column("records")
        self.parameters.own_levels.check_own(entries, public)
        if (names := self.parameters.names_of_societies) and "society" in entries:
            (society,) = self._places_of_societies([entries["society"]])
            allowed = f"the society that the server has: {names[public[0]]}"
            require(society == public[0], "society", entries["society"], allowed)
        (row,) = self.summary.rows_of(self._records_of([entries["records"]])).tolist()
        return tuple(row)

    def check_public(self, public: Sequence[int]) -> None:
        numbers: dict[str, int] = {}
        if names := self.parameters.names_of_societies:
            numbers["a society"] = len(names)
        if self.parameters.is_personal:
            numbers["an ε"] = len(self.parameters.levels)
        pairs = zip(public, numbers.values(), strict=False)
        are_places = len(public) == len(numbers) and all(0 <= place < number for place, number in pairs)
        places = " and ".join(f"the place of {kind}, in [0, {number - 1}]" for kind, number in numbers.items())
        require(are_places, "the server's public row", list(public[:12]), places or "empty")

    def check_row(self, row: Sequence[int], public: Sequence[int]) -> None:
        """Refuse a summary whose neighbors might be farther away than the noise is made for."""
        if not self.summary.are_possible(np.array([row], dtype=np.int64)):
            raise ValueError("it is no summary of any records")

    def check_inputs(self, inputs: Inputs) -> None:
        super().check_inputs(inputs)
        if not self.summary.are_possible(inputs.private):
            raise ValueError("a row is not a summary of records: it is farther out than the bound allows")

    def check_roster(self, public: IntArray) -> None:
        if self.parameters.is_masked:
            super().check_roster(public)
        most = GREATEST_SUM // self.summary.bound
        require(len(public) <= most, "voters", len(public), f"at most {most} at max_records")
        number = self.parameters.public_number
        allowed = f"at least the {len(public)} voters of the roster, or their mean might leave the ball"
        require(number is None or len(public) <= number, "num_voters", number, allowed)
        names = self.parameters.names_of_societies
        missing = [name for place, name in enumerate(names) if not np.any(public[:, 0] == place)]
        value = f"{', '.join(missing[:12])}: a society without voters"
        refuse(missing, "societies", value, "societies to which voters belong")

    def decisions(self, tallies: Sequence[TallyBlock]) -> PreferenceDecisions:
        (block,) = tallies
        all_voters, *_ = self._means_of(block.tally(0))
        if (means := self._means_alike(block)) is not None:
            preferences = self._finish_means(means, all_voters.error)
            return PreferenceDecisions(
                preferences=preferences,
                # The size of an outcome depends on this: a direction of length 0 has neither errors nor a ball.
                kinds=lambda: np.stack([preferences.any(axis=1), means.any(axis=1)], axis=1).astype(np.int64),
            )
        decisions: list[tuple[float, ...]] = []
        kinds: list[list[bool]] = []
        for number in range(len(block)):
            # The same voters report in all sessions, so a society has a mean in all of them or in none.
            means = [mean for mean in self._means_of(block.tally(number)) if mean is not None]
            released = [self._released_means(mean) for mean in means]
            decisions.append(released[0][0])
            parts = [(errors, self._ball_of(mean, errors)) for mean, (_, errors) in zip(means, released, strict=True)]
            kinds.append([each is None for pair in parts for each in pair])
        return PreferenceDecisions(preferences=np.array(decisions), kinds=lambda: np.array(kinds, dtype=np.int64))

    def _means_alike(self, tallies: TallyBlock) -> FloatArray | None:
        """Return the means of many sessions, shape (sessions, numbers), of one society and one ε; else None."""
        phase, number = self.phase, tallies.num_reports
        if self.parameters.names_of_societies or len(self.parameters.levels) > 1:
            return None
        if isinstance(phase, PerturbedPhase):
            return phase.sums_in(tallies.totals[:, 0]) * self.summary.reported_step / number
        return tallies.totals * self.summary.step / (self.parameters.public_number or number)

    def outcome(self, tallies: Sequence[Tally]) -> Outcome:
        (tally,) = tallies
        names = self.parameters.names_of_societies
        all_voters, *parts = self._means_of(tally)
        preferences, errors = self._released_means(all_voters)
        (loss,) = self.losses
        replaced = total_of([loss], relation=NeighboringRelation.REPLACE_ONE).proven
        return Outcome(
            features=self.parameters.features,
            preferences=preferences,
            errors=errors,
            is_direction=self.parameters.mechanism == "direction",
            num_voters=all_voters.num_voters,
            paradigm=self.parameters.paradigm.value,
            mechanism=self.parameters.mechanism,
            levels=all_voters.levels,
            is_projected=self._is_projected,
            is_whitened=bool(self.parameters.covariance),
            epsilon_record=replaced if loss.part is None else loss.part.proven,
            epsilon_voter=replaced,
            ball=self._ball_of(all_voters, errors),
            maxima=self.summary.maxima or msgspec.UNSET,
            relation=msgspec.UNSET if self.parameters.public_number is None else "add-remove-one",
            societies=tuple(map(self._society, names, parts)) if names else msgspec.UNSET,
            planned=self.phase.share.planned if isinstance(self.phase, MaskedPreferences) else msgspec.UNSET,
        )

    def _society(self, name: str, mean: Mean | None) -> SocietyOutcome:
        """Return a society's outcome; None if nobody of it has reported."""
        if mean is None:
            return SocietyOutcome(name=name, num_voters=0, preferences=None, errors=None, levels=())
        preferences, errors = self._released_means(mean)
        return SocietyOutcome(
            name=name,
            num_voters=mean.num_voters,
            preferences=preferences,
            errors=errors,
            levels=mean.levels,
            ball=self._ball_of(mean, errors),
        )

    def _means_of(self, tally: Tally) -> tuple[Mean, *tuple[Mean | None, ...]]:
        """Return the mean of all reports, then that of each society, if there are several."""
        phase, names = self.phase, self.parameters.names_of_societies
        if isinstance(phase, PerturbedPhase):
            mean_of = functools.partial(average, is_weighted=self.parameters.mean == "weighted")
            parts = phase.parts_of(tally)
            of_societies = [mean_of(phase.sums_of(part)) if part.num_reports else None for part in parts]
            mean_of_all = mean_of(phase.sums_of(functools.reduce(Tally.merge, parts)))
            return mean_of_all, *(of_societies if names else [])
        if not names:
            draws = phase.num_draws(tally.num_reports)  # for a masked sum, the number of shares
            number = self.parameters.public_number or tally.num_reports
            return (self._mean_of_sums(tally.totals, number, num_draws=draws),)
        of_all = exact_column_sums(tally.totals)
        return self._mean_of_sums(of_all[1:], int(of_all[0]), num_draws=len(names)), *(
            self._mean_of_sums(part[1:], int(part[0])) if part[0] else None for part in tally.totals
        )

    def _mean_of_sums(self, sums: IntArray, number: int, *, num_draws: int = 1) -> Mean:
        """Return the mean of so many voters' summaries, of a sum in which the noise of some draws is."""
        variance = self.summary.noise_variance(self.phase.mechanism_faced(()))
        level = LevelOutcome(epsilon=self.parameters.levels[0], num_voters=number, weight=1.0)
        error = None if variance is None else math.sqrt(variance * num_draws) / number
        return Mean(sums * self.summary.step / number, error, number, (level,))

    def _released_means(self, mean: Mean) -> tuple[tuple[float, ...], tuple[float, ...] | None]:
        (preferences,) = self._finish_means(mean.values[None], mean.error)
        errors = self.summary.errors_of(mean.values, mean.error)
        return tuple(preferences.tolist()), None if errors is None else tuple(errors.tolist())

    def _ball_of(self, mean: Mean, errors: Sequence[float] | None) -> Ball | None:
        return None if errors is None else self.summary.ball_of(mean.values)

    def largest_outcome(self, num_parties: int) -> Outcome | None:
        parameters = self.parameters
        if not parameters.names_of_societies:
            return None
        numbers = (_LONG_FLOAT,) * parameters.num_features
        levels = (_LONGEST_LEVEL,) * min(len(parameters.levels), num_parties)
        ball = Ball(norm="l1", radius=_LONG_FLOAT)
        return Outcome(
            features=parameters.features,
            preferences=numbers,
            errors=numbers,
            is_direction=True,
            num_voters=num_parties,
            paradigm=parameters.paradigm.value,
            mechanism=parameters.mechanism,
            levels=levels,
            is_projected=True,
            epsilon_record=_LONG_FLOAT,
            epsilon_voter=_LONG_FLOAT,
            ball=ball,
            maxima=self.summary.maxima or msgspec.UNSET,
            societies=tuple(
                SocietyOutcome(
                    name=name, num_voters=num_parties, preferences=numbers, errors=numbers, levels=levels, ball=ball
                )
                for name in parameters.names_of_societies
            ),
        )

    def truth(self, inputs: Inputs) -> dict[str, float]:
        """Return the preferences without noise, with equal weight of all voters.

        With several societies, their preferences follow, named by society and feature, such as "north, lives".
        """
        summaries: NDArray[Any] = inputs.private * self.summary.step
        mechanism = self.phase.mechanism
        if isinstance(mechanism, NoisyObjective):
            places = mechanism.places_of(inputs.private, noise_scale=0.0)
            summaries = places * self.summary.reported_step
        clean = self._clean(summaries)
        for place, name in enumerate(self.parameters.names_of_societies):
            society_summaries = summaries[inputs.public[:, 0] == place]
            clean |= (
                {f"{name}, {feature}": value for feature, value in self._clean(society_summaries).items()}
                if len(society_summaries)
                else {}
            )
        return clean

    def _clean(self, summaries: NDArray[Any]) -> dict[str, float]:
        """Return the outcome of some voters without noise."""
        totals = [math.fsum(column) for column in summaries.T.tolist()]
        number = self.parameters.public_number or len(summaries)
        (preferences,) = self.summary.preferences_of(np.array([totals]) / number, 0.0)
        return dict(zip(self.parameters.features, preferences.tolist(), strict=True))

    @property
    def _societies_shown(self) -> str:
        return ", ".join(self.parameters.names_of_societies[:20])

    @property
    def _is_projected(self) -> bool:
        return self.parameters.project and self.parameters.mechanism == "laplace"

    def _finish_means(self, means: FloatArray, error: float | None) -> FloatArray:
        """Return the released preferences from means, shape (m, numbers of a report): shape (m, d)."""
        preferences = self.summary.preferences_of(means, error)
        if self._is_projected:
            preferences = project_to_l1_ball(preferences, radius=self.parameters.bound)
        if self.parameters.mechanism == "pooled":
            preferences = np.floor(preferences * _GRID + 0.5) / _GRID
        return preferences + 0.0  # turns −0 into 0

    def _records_of(self, entries: Entries) -> Records:
        """Return the records, checked against the parameters; `field` names the row."""
        if not isinstance(entries, Records):
            voters = [_pairs_of(entry, row, self.parameters.features) for row, entry in enumerate(entries, 1)]
            entries = Records.from_voters(voters, num_features=self.parameters.num_features)
        number, num_given = self.parameters.num_features, entries.num_features
        require(num_given == number, "records", f"with {num_given} features", f"with {number} features")
        numbers = entries.num_records
        most = self.parameters.max_records
        if len(numbers) and not 1 <= int(numbers.min()) <= int(numbers.max()) <= most:
            row = int(np.flatnonzero((numbers < 1) | (numbers > most))[0])
            field = f"records in row {row + 1}"
            allowed = "1 record (max_records)" if most == 1 else f"1 to {most} records (max_records)"
            raise ConfigurationError(field=field, value=f"{int(numbers[row])} records", allowed=allowed)
        return entries


def _pairs_of(entry: Any, row: int, features: Sequence[str]) -> FloatArray:
    """Return a voter's records, from arrays or from tables by feature: shape (records, 2, d)."""
    field = f"records in row {row}"
    numbers = f"{len(features)} numbers in [-{GREATEST_FEATURE:g}, {GREATEST_FEATURE:g}]"
    allowed = f"a list of records, each of two alternatives of {numbers}: the chosen one first"
    unnamed = _drop_names(entry, field, features)
    try:
        pairs = np.array(unnamed, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ConfigurationError(field=field, value="something else", allowed=allowed) from None
    require(pairs.size, field, "0 records", "at least one record")
    is_table = pairs.ndim == 3 and pairs.shape[1:] == (2, len(features))  # noqa: PLR2004  pairs of vectors
    are_fine = is_table and np.all(np.abs(pairs) <= GREATEST_FEATURE)  # false for NaN
    require(are_fine, field, f"an array of shape {pairs.shape}", allowed)
    return pairs


def _drop_names(entry: Any, field: str, features: Sequence[str]) -> Any:
    """Return an entry in which alternatives are lists: those that are tables name every feature, in any order."""
    if isinstance(entry, Mapping):
        named = cast("Mapping[str, Any]", entry)
        for name in sorted(map(str, named.keys() ^ set(features))):
            ending = " alone" if name in named else ", and by nothing else"
            allowed = f"described by all of {', '.join(features[:30])}{ending}"
            raise ConfigurationError(field=f"{field}: an alternative", value=name, allowed=allowed)
        return [named[name] for name in features]
    if isinstance(entry, (list, tuple)):
        return [_drop_names(part, field, features) for part in cast("Sequence[Any]", entry)]
    return entry
