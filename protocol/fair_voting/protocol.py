"""Fair and private voting as a protocol of one phase, in which voters report their rankings.

A private row is a ranking: the position of each alternative, which is the number of alternatives ahead of it. A public
row has the index of the voter's group. If groups are private, public rows are empty, and a private row has the cell of
each alternative, group·m + position.
"""

import dataclasses
import functools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Final, TypeAlias, cast

import msgspec
import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import ConfigurationError, require
from ..estimators import Estimate, Verdict
from ..integers import bytes_of
from ..mechanisms import VectorLaplace
from ..phases import Column, Entries, Inputs, OnePhaseProtocol, missing_column
from ..privacy import TrustModel
from ..privacy_levels import check_alone
from ..tally import Decisions, Tally, TallyBlock
from .assurance import Assurance, assurance_of_choice, assurance_of_estimates, assurance_of_test
from .confirmation import Confirming
from .entries import MOST_NAMED, alternatives_of, groups_of, places_of_groups, positions_of
from .lots import draw_lot, key_of, lot_of
from .objective import OBJECTIVES, Objective, ObjectiveFunction, Utilities
from .outcome import AlternativeOutcome, Details, Outcome, alternative_outcomes
from .pairwise import (
    MAX_KEMENY,
    PAIRWISE,
    best_by_pairs,
    copeland_scores,
    kemeny_orders,
    p_value_of_pairs,
    table_of_pairs,
)
from .parameters import SEPARATOR, Parameters
from .phases import DisclosedRankings, JointRankings, MaskedRankings, RandomizedRankings, ReportCounts
from .posteriors import DIFFERENCES, clear_winners
from .rankings import Rankings, are_rankings, cells_of_members, check_ranking, members_of_cells
from .rules import RULES

FairPhase: TypeAlias = DisclosedRankings | MaskedRankings | RandomizedRankings | JointRankings

# Sums of utilities stay below this limit, so that they never overflow, with room for noise.
_GREATEST_SUM: Final = 2**61
_MOST_KEPT: Final = 16


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ElectionDecisions(Decisions):
    """The winners of many sessions, as indices of alternatives, shape (sessions,).

    Examples:
        >>> winners = np.array([0, 1, 0])
        >>> ElectionDecisions(winners=winners, kinds=lambda: winners[:, None]).kinds().shape
        (3, 1)
    """

    winners: IntArray


class FairVoting(OnePhaseProtocol[Parameters, Outcome, FairPhase]):
    """Elect a winner that treats groups of voters equally, with privacy for each voter's ranking.

    Args:
        parameters: the parameters of the session.
        objective: the objective function, if the parameters name a registered one. Only the party that elects needs it.

    Privacy:
        Unit: the voter. A voter's group is public, except in the joint mechanisms.

        - Central model ("laplace", "sampling", "exponential", "permute_and_flip", "pairwise"): DP of the release for
          the relation of the parameters, against an observer of the release; the aggregator sees every ranking, and is
          trusted.
        - Local model (all mechanisms not named here): ε-LDP, replace-one, against a coalition of all others.
        - Distributed model ("masked"): ε-DP, replace-one, against a coalition of the aggregator and `colluders` voters
          (`phases.MaskedPhase`).

    Source:
        Mohsin, Fair and Private Voting Rules (project report), Algorithms 1 and 2; readings F1 to F6.

    Examples:
        >>> names = {"alternatives": ("park", "pool"), "groups": ("north", "south")}
        >>> vote = FairVoting(Parameters(**names, group_sizes=(2, 1)))
        >>> table = {"group": ["north", "south", "north"], "ranking": ["pool > park", "park > pool", "park > pool"]}
        >>> inputs = vote.encode(table)
        >>> [[float(utility) for utility in row] for row in vote.utilities_in(inputs)]
        [[0.5, 0.5], [1.0, 0.0]]
        >>> [vote.parameters.alternatives[place] for place in vote.best_in(inputs)]  # the least disparity
        ['park', 'pool']
    """

    name: ClassVar[str] = "fair-voting"
    client_role: ClassVar[str] = "voter"
    server_role: ClassVar[str] = "aggregator"
    parameters_type: ClassVar[type[msgspec.Struct]] = Parameters
    outcome_type: ClassVar[type[msgspec.Struct]] = Outcome
    completes_from: ClassVar[frozenset[str]] = frozenset({"group", "ranking"})
    """The sizes of groups and the names of alternatives are public, even if a voter's group is private."""
    computes_twice: ClassVar[bool] = False
    named_functions: ClassVar[Mapping[str, Collection[str]]] = {"objective": OBJECTIVES}
    settings_by_trust: ClassVar[Sequence[tuple[TrustModel, Mapping[str, Any]]]] = (
        (TrustModel.LOCAL, {"mechanism": "local"}),
        (TrustModel.DISTRIBUTED, {"mechanism": "masked"}),
        (TrustModel.CENTRAL, {}),
    )

    def __init__(self, parameters: Parameters, *, objective: ObjectiveFunction | None = None) -> None:
        super().__init__(parameters)
        if objective is not None:
            self.use_function("objective", objective)

    @property
    def objective(self) -> Objective:
        """The objective; ConfigurationError if it is your own function, and was not given."""
        function = self.function_of("objective")
        is_private = self.parameters.model.trusts_server
        return dataclasses.replace(self.parameters.make_objective(), function=function, is_private=is_private)

    @classmethod
    def complete(cls, fields: Mapping[str, Any], table: Mapping[str, Entries]) -> dict[str, Any]:
        """Fill in groups and their sizes from the column of groups, and alternatives from the rankings.

        Groups are in the order of their first voters. Alternatives are those that most of the first rankings have, in
        alphabetical order.
        """
        completed = dict(fields)
        check_alone(fields, cls.client_role)
        group_names = fields.get("groups")
        groups = cast("Sequence[Any]", group_names) if isinstance(group_names, (list, tuple)) else ()
        if "group" not in table:
            if group_names is None:
                raise missing_column("group")
            if len(groups) == 1 and "ranking" in table and "group_sizes" not in fields:
                completed["group_sizes"] = [len(table["ranking"])]
        elif not isinstance(table["group"], np.ndarray):
            group_codes = groups_of(table["group"], [str(name) for name in groups])
            completed.setdefault("groups", group_codes)
            numbers = Counter(str(entry).strip() for entry in table["group"])
            completed.setdefault("group_sizes", [numbers[name] for name in group_codes])
        if "alternatives" not in fields:
            rankings = table.get("ranking")
            if rankings is None or not len(rankings):
                raise missing_column("ranking")
            if not isinstance(rankings, Rankings):
                completed["alternatives"] = alternatives_of(rankings)
        return completed

    def make_phase(self) -> FairPhase:
        if self.parameters.is_joint:
            return JointRankings(self.parameters)
        if self.parameters.is_masked:
            return MaskedRankings(self.parameters)
        trusts = self.parameters.model.trusts_server
        return DisclosedRankings(self.parameters) if trusts else RandomizedRankings(self.parameters)

    @property
    def disclosed_phase(self) -> DisclosedRankings:
        """The phase of a vote in the central model; ConfigurationError in the local one."""
        if not isinstance(self.phase, DisclosedRankings):
            allowed = "one of the central model"
            raise ConfigurationError(field="mechanism", value=self.parameters.mechanism, allowed=allowed)
        return self.phase

    def columns(self) -> tuple[Column, ...]:
        groups = ", ".join(self.parameters.groups[:MOST_NAMED])
        names = ", ".join(self.parameters.alternatives[:MOST_NAMED])
        ranking = f"all of {names}, the best first, with {SEPARATOR!r} between them"
        is_joint = self.parameters.is_joint
        return (
            Column("group", private=is_joint, description=f"the voter's group, one of {groups}"),
            *self.parameters.own_levels.columns,
            Column("ranking", private=True, description=ranking),
        )

    def check_columns(self, names: Iterable[str]) -> None:
        """Allow a table without groups if there is only one. See `PhasedProtocol.check_columns`."""
        super().check_columns({"group", *names} if len(self.parameters.groups) == 1 else names)

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        """Check a table and turn it into rows. See `PhasedProtocol.encode`.

        The entries of `ranking` are a `Rankings`, or for each voter a text or a list of names, the best first ("a > b =
        c" has a tie, if the mechanism allows ties). Those of `group` are names, or an int64 array of indices of groups.
        """
        self.check_columns(table)
        positions = positions_of(table["ranking"], self.parameters.alternatives)
        self.parameters.check_ties(positions)
        public = self.encode_public(table, num_parties=len(positions))
        if self.parameters.is_joint:
            groups = places_of_groups(table, self.parameters.groups, num_parties=len(positions))
            return Inputs(cells_of_members(groups[:, 0], positions), public)
        return Inputs(self.rows_for(positions, public[:, 0]), public)

    def rows_for(self, positions: IntArray, groups: IntArray) -> IntArray:
        """Return private rows where groups are public: rankings, and what of them is added up under masks."""
        if self.parameters.is_masked and isinstance(self.phase, MaskedRankings):
            return np.hstack([positions, self.phase.rows_for(positions, groups)])
        return positions

    def members_of(self, inputs: Inputs) -> tuple[IntArray, IntArray]:
        """Return the places of the voters' groups, shape (n,), and their rankings as positions, shape (n, m)."""
        if self.parameters.is_joint:
            return members_of_cells(inputs.private)
        return inputs.public[:, 0], inputs.private[:, : len(self.parameters.alternatives)]

    def encode_public(self, table: Mapping[str, Entries], *, num_parties: int) -> IntArray:
        if self.parameters.is_joint:
            return np.empty((num_parties, 0), dtype=np.int64)
        groups = places_of_groups(table, self.parameters.groups, num_parties=num_parties)
        return np.hstack([groups, self.parameters.own_levels.encode(table, num_parties=num_parties)])

    def encode_chosen(self, entries: Mapping[str, Any]) -> tuple[int, ...]:
        return self.parameters.own_levels.encode_chosen(entries)

    def write_public(self, public: IntArray) -> dict[str, list[str]]:
        if self.parameters.is_joint:
            return {}
        places: list[int] = public[:, 0].tolist()
        groups = {"group": [self.parameters.groups[place] for place in places]}
        return groups | self.parameters.own_levels.write(public)

    def encode_own(self, entries: Mapping[str, Any], public: Sequence[int]) -> tuple[int, ...]:
        """Return a voter's ranking. See `PhasedProtocol.encode_own`.

        Args:
            entries: `ranking`, and optionally `group`, which must equal the server's; if groups are private, both.
            public: the voter's public row.
        """
        self.check_public(public)
        if self.parameters.is_joint:
            self.check_columns(entries)
            columns = {name: [entry] for name, entry in entries.items()}
            (cells,) = self.encode(columns).private.tolist()
            return tuple(cells)
        own_levels = self.parameters.own_levels
        self.check_columns({"group", *entries, *(column.name for column in own_levels.columns)})  # the server's columns
        own_levels.check_own(entries, public)
        if "group" in entries:
            columns = {"group": [entries["group"]]}
            ours = places_of_groups(columns, self.parameters.groups, num_parties=1)[0].tolist()
            allowed = f"the group that the server has: {self.parameters.groups[public[0]]}"
            require(ours == list(public[:1]), "group", entries["group"], allowed)
        positions = positions_of([entries["ranking"]], self.parameters.alternatives)
        self.parameters.check_ties(positions)
        (row,) = self.rows_for(positions, np.array(public[:1])).tolist()
        return tuple(row)

    def check_public(self, public: Sequence[int]) -> None:
        sizes, allowed = (
            [len(self.parameters.groups)],
            f"the place of a group, in [0, {len(self.parameters.groups) - 1}]",
        )
        if self.parameters.is_joint:
            sizes, allowed = [], "empty: groups are private here"
        if levels := self.parameters.own_levels.epsilons:
            sizes, allowed = [*sizes, len(levels)], f"{allowed}, then that of an ε, in [0, {len(levels) - 1}]"
        is_fine = len(public) == len(sizes) and all(0 <= code < size for code, size in zip(public, sizes, strict=True))
        require(is_fine, "the server's public row", list(public[:12]), allowed)

    def check_row(self, row: Sequence[int], public: Sequence[int]) -> None:
        """Refuse what is no ranking: its neighbors might be farther away than the noise is made for."""
        is_joint, size = self.parameters.is_joint, len(self.parameters.alternatives)
        if is_joint and len({cell // size for cell in row}) != 1:
            raise ValueError("its cells are not of one group")
        positions = [cell % size for cell in row] if is_joint else row[:size]
        check_ranking(positions)
        ranking = np.array([positions])
        self.parameters.check_ties(ranking)
        if not is_joint and self.rows_for(ranking, np.array(public[:1])).tolist() != [list(row)]:
            raise ValueError("it adds up what its ranking does not say")

    def check_inputs(self, inputs: Inputs) -> None:
        super().check_inputs(inputs)
        groups, positions = self.members_of(inputs)
        if not are_rankings(positions).all():
            raise ValueError("a row is not a ranking: a position is not the number of alternatives ahead")
        self.parameters.check_ties(positions)
        is_added = self.parameters.is_joint or np.array_equal(self.rows_for(positions, groups), inputs.private)
        if not is_added:
            raise ValueError("a row adds up what its ranking does not say")
        if self.parameters.is_joint and (inputs.private // positions.shape[1] != groups[:, None]).any():
            raise ValueError("a row's cells are not of one group")

    def check_roster(self, public: IntArray) -> None:
        self.function_of("objective")
        if self.parameters.is_masked:
            super().check_roster(public)
        parameters = self.parameters
        if parameters.is_joint:
            allowed = f"the {parameters.num_voters} of group_sizes together"
            require(len(public) == parameters.num_voters, "voters", len(public), allowed)
        else:
            numbers: list[int] = np.bincount(public[:, 0], minlength=len(parameters.groups)).tolist()
            for name, number, size in zip(parameters.groups, numbers, parameters.group_sizes, strict=True):
                require(number == size, f"group {name!r}", f"{number} voters", f"the {size} of group_sizes")
        most = _GREATEST_SUM // parameters.make_scoring(is_centered=parameters.is_centered).bound
        require(len(public) <= most, "voters", len(public), f"at most {most} with these scores")

    def decisions(self, tallies: Sequence[TallyBlock]) -> ElectionDecisions:
        (block,) = tallies
        phase = self.phase
        if isinstance(phase, DisclosedRankings) and phase.choice is not None:
            return ElectionDecisions(winners=block.totals[:, 0], kinds=lambda: block.totals[:, :1])
        if self.parameters.kind.counts_pairs:
            level, noise = self.parameters.level, cast("VectorLaplace", phase.tally_mechanism)
            pair_winners = [self._winner_by_pairs(totals, noise) for totals in block.totals]
            kinds = [
                (winner, p_value <= level, int(bytes_of(totals).sum()))
                for (winner, _, p_value), totals in zip(pair_winners, block.totals, strict=True)
            ]
            return ElectionDecisions(
                winners=np.array([winner for winner, *_ in pair_winners]), kinds=lambda: np.array(kinds)
            )
        objective, sizes = self.objective, np.array(self.parameters.group_sizes, dtype=np.float64)

        @functools.cache
        def utilities(place: int) -> Utilities:
            return phase.utilities_of(block.tally(place))

        if objective.function is not None:  # a registered objective: there is no test for it
            winners = np.array([self._winner(utilities(place), block.totals[place]) for place in range(len(block))])
            return ElectionDecisions(winners=winners, kinds=lambda: winners[:, None])

        def exact_utilities(place: int) -> FloatArray:
            return np.array([[float(value) for value in row] for row in utilities(place)])

        if isinstance(phase, (JointRankings, RandomizedRankings)):
            rounded = np.array([exact_utilities(place) for place in range(len(block))])
        else:
            rounded = phase.rounded_utilities(block)
        winners = clear_winners(rounded, objective, sizes)
        for place in np.flatnonzero(winners < 0).tolist():
            winners[place] = self._winner(utilities(place), block.totals[place])

        def kinds() -> IntArray:
            confirming = self._confirmation(phase.counts_of(block.tally(0)))
            are_confirmed = confirming.are_confirmed(rounded, winners, exact_utilities)
            return np.stack([winners, are_confirmed], axis=1).astype(np.int64)

        return ElectionDecisions(winners=winners, kinds=kinds)

    def outcome(self, tallies: Sequence[Tally]) -> Outcome:
        (tally,) = tallies
        phase = self.phase
        if isinstance(phase, DisclosedRankings) and phase.choice is not None:
            (winner,) = tally.totals.tolist()
            assurance = assurance_of_choice(self.parameters, phase.choice)
            return self._release(winner, (), assurance, name=self.parameters.mechanism, counts=())
        if self.parameters.kind.counts_pairs:
            return self._pairwise_outcome(tally, cast("VectorLaplace", phase.tally_mechanism))
        counts, utilities = phase.counts_of(tally), phase.utilities_of(tally)
        estimates = [
            [Estimate(float(value), error) for value in row]
            for row, error in zip(utilities, phase.errors_of(counts), strict=True)
        ]
        winner = self._winner(utilities, tally.totals)
        assurance = assurance_of_estimates(
            self.parameters, utilities, winner, phase.noise_of(counts), key=key_of(tally.totals)
        )
        alternatives = alternative_outcomes(self.parameters, utilities, estimates)
        is_local = isinstance(phase, (JointRankings, RandomizedRankings))
        name, numbers = (phase.report.name, map(sum, counts)) if is_local else (self.parameters.mechanism, ())
        outcome = self._release(winner, alternatives, assurance, name=name, counts=numbers)
        return outcome.with_levels(self.parameters.own_levels.epsilons, counts)

    def _winner(self, utilities: Utilities, totals: IntArray) -> int:
        """Return the best, of several by the totals' lot."""
        return draw_lot(self.objective.best_alternatives(utilities, self.parameters.group_sizes), lot_of(totals))

    @functools.cached_property
    def _confirmation(self) -> Callable[[ReportCounts], Confirming]:
        """The test of winners for given numbers of reports; it remembers its results."""
        sizes = np.array(self.parameters.group_sizes, dtype=np.float64)
        objective, size = self.parameters.make_objective(), len(self.parameters.alternatives)

        @functools.lru_cache(maxsize=_MOST_KEPT)
        def make_confirming(counts: ReportCounts) -> Confirming:
            noise = self.phase.noise_of(counts)
            return Confirming(noise, objective, sizes, num_alternatives=size, level=self.parameters.level)

        return make_confirming

    def largest_outcome(self, num_parties: int) -> Outcome:
        names, num_groups, phase = self.parameters.alternatives, len(self.parameters.groups), self.phase
        zeros, estimates = [[Fraction(0)] * len(names)] * num_groups, [[Estimate(0.1, 0.1)] * len(names)] * num_groups
        is_winner_alone = isinstance(phase, DisclosedRankings) and phase.choice is not None
        alternatives = () if is_winner_alone else alternative_outcomes(self.parameters, zeros, estimates)
        longest = max(range(len(names)), key=lambda place: len(names[place].encode()))
        counts = (num_parties,) * num_groups
        is_report = isinstance(phase, (RandomizedRankings, JointRankings))
        name = phase.report.name if is_report else self.parameters.mechanism
        verdict = Verdict.TOO_CLOSE.value
        assurance = Assurance(
            probability=0.1, prior=DIFFERENCES, verdict=verdict, level=0.1, p_value=0.1, shortfall=0.1
        )
        details = msgspec.UNSET
        if self.parameters.kind.counts_pairs:
            differences = (self.disclosed_phase.tally_mechanism.report_range[0],) * (len(names) * (len(names) - 1) // 2)
            points = (len(names) - 0.5,) * len(names)
            details = Details(
                differences=differences, difference_error=0.1, copeland_scores=points, ranking=names[:MAX_KEMENY]
            )
        outcome = self._release(longest, alternatives, assurance, name=name, counts=counts, details=details)
        levels = self.parameters.own_levels.epsilons
        return outcome.with_levels(levels, [[count] * len(levels) for count in counts])

    @functools.cached_property
    def _plain_phase(self) -> DisclosedRankings:
        """The phase of the same vote with sums of utilities."""
        objective = "welfare" if self.parameters.objective in PAIRWISE else self.parameters.objective
        fields: dict[str, Any] = {"mechanism": "laplace", "calibration": "tight", "objective": objective}
        fields |= dict.fromkeys(("threshold", "colluders", "epsilons", "chosen_by"), msgspec.UNSET)
        return DisclosedRankings(msgspec.structs.replace(self.parameters, **fields))

    def utilities_in(self, inputs: Inputs) -> list[list[Fraction]]:
        """Return the mean utility to each group of each alternative, without noise: a row for each group."""
        phase = self._plain_phase
        groups, positions = self.members_of(inputs)
        return phase.scoring.mean_utilities(phase.sums_of(positions, groups), self.parameters.group_sizes)

    def truth(self, inputs: Inputs) -> dict[str, float | str]:
        """Return the true values of the outcome's estimates, and the winner without privacy.

        It has the mean utility of each alternative and group under "alternative (group)", and the winners of each rule
        under its name, including "least disparity" and the session's objective.
        """
        parameters = self.parameters
        utilities = self.utilities_in(inputs)
        _, positions = self.members_of(inputs)
        truth: dict[str, float | str] = {}
        for place, name in enumerate(parameters.alternatives):
            for group, row in zip(parameters.groups, utilities, strict=True):
                truth[f"{name} ({group})"] = float(row[place])
        parity = dataclasses.replace(parameters.make_objective(), name="parity")
        winners = {
            "this objective": self.best_in(inputs),
            "least disparity": parity.best_alternatives(utilities, parameters.group_sizes),
            **{name: rule(Rankings(positions)) for name, rule in RULES.items()},
        }
        for name, places in winners.items():
            truth[name] = ", ".join(parameters.alternatives[place] for place in places)
        return truth

    def best_in(self, inputs: Inputs) -> list[int]:
        """Return who is the best by the session's objective, without noise: more than one where they tie."""
        objective = self.parameters.objective
        if objective in PAIRWISE:
            groups, positions = self.members_of(inputs)
            return best_by_pairs(objective, table_of_pairs(self.disclosed_phase.sums_of(positions, groups)[0].tolist()))
        return self.objective.best_alternatives(self.utilities_in(inputs), self.parameters.group_sizes)

    def _pairwise_outcome(self, tally: Tally, noise: VectorLaplace) -> Outcome:
        """Return all that is read from noisy differences: points, a ranking, a winner, and mean utilities."""
        parameters = self.parameters
        differences: list[int] = tally.totals[0].tolist()
        table, error = table_of_pairs(differences), math.sqrt(noise.noise_variance)
        # An alternative's utility is the sum of (1 + D/n)/2 over the m − 1 others.
        size, number = len(table), parameters.num_voters
        utilities = [Fraction(size - 1, 2) + Fraction(total, 2 * number) for total in table.sum(axis=1).tolist()]
        estimates = [Estimate(float(utility), error * math.sqrt(size - 1) / (2 * number)) for utility in utilities]
        winner, order, p_value = self._winner_by_pairs(tally.totals, noise)
        details = Details(
            differences=tuple(differences),
            difference_error=error,
            copeland_scores=tuple(copeland_scores(table).tolist()),
            ranking=tuple(parameters.alternatives[place] for place in order),
        )
        assurance = assurance_of_test(parameters, p_value)
        alternatives = alternative_outcomes(parameters, [utilities], [estimates])
        return self._release(winner, alternatives, assurance, name=parameters.mechanism, counts=(), details=details)

    def _winner_by_pairs(self, totals: IntArray, noise: VectorLaplace) -> tuple[int, list[int], float]:
        """Return the winner by noisy differences, Kemeny's ranking, empty of many alternatives, and the p-value."""
        table, lot = table_of_pairs(totals[0].tolist()), lot_of(totals)
        order: list[int] = []
        if len(table) <= MAX_KEMENY:
            orders = kemeny_orders(table)
            order = orders[draw_lot(list(range(len(orders))), lot)].tolist()
        is_first = self.parameters.objective == "kemeny"
        winner = order[0] if is_first else draw_lot(best_by_pairs("copeland", table), lot)
        return winner, order, p_value_of_pairs(table, winner, noise)

    def _release(
        self,
        winner: int,
        alternatives: tuple[AlternativeOutcome, ...],
        assurance: Assurance,
        *,
        name: str,
        counts: Iterable[int],
        details: Details | msgspec.UnsetType = msgspec.UNSET,
    ) -> Outcome:
        parameters = self.parameters
        (loss,) = self.losses
        return Outcome(
            winner=parameters.alternatives[winner],
            alternatives=alternatives,
            candidates=parameters.alternatives,
            groups=parameters.groups,
            group_sizes=parameters.group_sizes,
            num_reports=tuple(counts),
            mechanism=name,
            objective=parameters.objective,
            max_disparity=parameters.max_disparity,
            fairness_weight=parameters.fairness_weight,
            model=parameters.model.value,
            epsilon_claimed=loss.claimed,
            epsilon_proven=None if math.isinf(loss.proven) else loss.proven,
            assurance=assurance,
            details=details or self._details(),
        )

    def _details(self) -> Details | msgspec.UnsetType:
        """Return features, the floor of welfare, and what was chosen so that ε is proven, where there is any."""
        objective, features = self.parameters.make_objective(), self.parameters.features or ()
        has_floor = objective.name == "welfare_constrained"
        plan = self.parameters.plan if self.parameters.calibration == "proven" else None
        if not has_floor and plan is None and not features:
            return msgspec.UNSET
        return Details(
            features=features,
            welfare_share=float(objective.welfare_share) if has_floor else None,
            least_score=float(objective.least_utility) if has_floor else None,
            gamma=None if plan is None else plan.gamma,
            num_samples=None if plan is None else plan.num_samples,
        )
