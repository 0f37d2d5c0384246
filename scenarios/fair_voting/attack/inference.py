"""What a coalition learns of one voter's ranking from a fair and private vote, and of its group where that is private.

Bayes's rule on exact laws, wherever what is published has one that can be worked out. The coalition knows its members'
rankings; of the other voters it believes that they rank independently, all rankings alike unless told otherwise.

- Central model, with the aggregator: it sees the ranking.
- Central model, without: the winner's law is finite, and noisy sums have discrete Laplace's. With all other voters in
  the coalition there is one profile for each candidate; with fewer the law is averaged over the others' profiles:
  exactly while these add up to few sums, else over draws from a fixed seed (`law_of_sums`).
- Local model, with the aggregator: the report's law; more colluders add nothing, since reports are independent.
- Local model, without: the group's tally less the coalition's reports. Of `sampled_pair` and `sampled_position` it
  counts the honest reports r, and one more of r among independent others multiplies their probability by count/π̃(r):
  P[tally | v] ∝ Σ_r P[r | v]·count(r)/π̃(r), π̃ an honest report's law before anything is known: exact for a coalition
  of any size. Of `whole_ranking` and `noisy_scores` it is exact where the target is the only honest voter of its group,
  since the tally is then its report; elsewhere the tally is taken for normal.
- Private groups: with the aggregator the report's law over groups and rankings; without, the tally of all voters less
  the coalition's reports (`public_result`): exact where the target is the only honest voter, else taken for normal.

Source of the attacked protocol: Mohsin, Fair and Private Voting Rules; readings F1 to F6.
"""

import functools
import math
from collections.abc import Sequence
from typing import ClassVar, Final, Literal, TypeAlias

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import refuse
from ....protocol.fair_voting import DisclosedRankings, FairVoting, JointRankings, RandomizedRankings, Rankings
from ....protocol.fair_voting.choices import Choice
from ....protocol.fair_voting.rankings import are_strict, cells_of_members
from ....protocol.fair_voting.reports import RankingReport
from ....protocol.mechanisms import code_of_rankings, rankings_of_codes
from ....protocol.mechanisms.logarithms import log_of, log_sums
from ....protocol.phases import Inputs
from ...attacks.attack import Attack, Candidates
from ...attacks.coalition_view import CoalitionView
from .published import joint_log_likelihoods, last_reports, totals_of
from .sums import LawOfSums, Others, law_of_sums

Change: TypeAlias = Literal["left", "changed"]

RANKING, FAVORITE, PAIR, GROUP = "ranking", "favorite", "pair", "group"

_MOST_LISTED: Final = 6  # alternatives of which all rankings are candidates: 720
_MOST_DESIGNED: Final = 8192  # candidates that stand for all rankings of more alternatives
_MOST_LAWS: Final = 4096  # winners' laws for one target: up to some milliseconds each for Algorithm 2
_MOST_NOISY_SUMS: Final = 1 << 14  # sums behind noise: their densities are computed as arrays
_MOST_KNOWN: Final = 32  # coalitions' laws that are kept at one time: a megabyte each at most
_LEAST_NORMAL: Final = 30  # honest reports of a group whose sums are taken for normal


class FairVotingAttack(Attack):
    """Infers a voter's whole ranking, its favorite, which of two alternatives it prefers, or a group that is private.

    Args:
        protocol: with its public parameters.
        seed: of the profiles that are drawn where there are too many.
    """

    secrets: ClassVar[tuple[str, ...]] = (RANKING, FAVORITE, PAIR, GROUP)

    protocol: FairVoting

    def __init__(self, protocol: FairVoting, *, seed: int = 0) -> None:
        super().__init__(protocol)
        self.size = len(protocol.parameters.alternatives)
        self.seed = seed
        # Winners' laws: those of sessions with the same coalition are the same.
        self._known_laws: dict[tuple[object, ...], tuple[FloatArray, FloatArray]] = {}

    @property
    def joins_sessions(self) -> bool:
        return isinstance(self.protocol.phase, DisclosedRankings)

    @functools.cached_property
    def population(self) -> FloatArray:
        """What is believed of a voter of whom nothing is known: of up to 6 alternatives all rankings alike."""
        return np.full(math.factorial(self.size), 1 / math.factorial(self.size))

    @functools.cached_property
    def rankings(self) -> IntArray:
        """All rankings, in the order of their codes: int64, shape (m!, m)."""
        return rankings_of_codes(np.arange(math.factorial(self.size), dtype=np.int64), self.size)

    def candidates(self, secret: str) -> Candidates:
        """Return all rankings; of more than 6 alternatives a few that stand for them.

        Sampled pairs and positions have laws that are linear in which of two alternatives is ahead, and in whether an
        alternative is at a position. So they average over a label's rankings as over any few in which the other
        alternatives have all positions, and precede each other, equally often: rotations and their reverses.

        Where groups are private, a candidate is a ranking within any group.
        """
        parameters = self.protocol.parameters
        allowed = f"one of {', '.join(self.secrets[:-1])}: groups are public with mechanism {parameters.mechanism!r}"
        refuse(secret == GROUP and not parameters.is_joint, "secret", secret, allowed)
        names = parameters.alternatives
        labels = {
            FAVORITE: names,
            PAIR: (f"{names[0]} over {names[1]}", f"{names[1]} over {names[0]}"),
            GROUP: parameters.groups,
        }.get(secret, ())
        rows = self.rankings if self.size <= _MOST_LISTED else self._designed(secret)
        if secret == RANKING:
            orders: list[list[int]] = np.argsort(rows, axis=1).tolist()
            labels = tuple(" > ".join(names[place] for place in order) for order in orders)
        if parameters.is_joint:
            groups = np.arange(len(parameters.groups), dtype=np.int64).repeat(len(rows))
            rows = np.tile(rows, (len(parameters.groups), 1))
            return Candidates(cells_of_members(groups, rows), self._places(secret, rows, groups), labels)
        return Candidates(rows, self._places(secret, rows), labels)

    def rows_of(self, candidates: Candidates, public: Sequence[int], private: IntArray) -> IntArray:
        return self.protocol.rows_for(candidates.rows, np.full(len(candidates.rows), public[0]))

    def truths(self, secret: str, inputs: Inputs) -> IntArray:
        groups, rows = self.protocol.members_of(inputs)
        allowed = "strict rankings: an attack guesses among these"
        refuse(not are_strict(rows).all(), "voters", "rankings with ties", allowed)
        return self._places(secret, rows, groups)

    def _places(self, secret: str, rows: IntArray, groups: IntArray | None = None) -> IntArray:
        if secret == GROUP and groups is not None:
            return groups
        if secret == PAIR:
            return (rows[:, 0] > rows[:, 1]).astype(np.int64)
        return np.argmin(rows, axis=1).astype(np.int64) if secret == FAVORITE else code_of_rankings(rows)

    def _designed(self, secret: str) -> IntArray:
        size = self.size
        phase = self.protocol.phase
        name = "central" if isinstance(phase, DisclosedRankings) else self.protocol.losses[0].mechanism
        is_linear = name in {"sampled_pair", "sampled_position", "joint_pair", "joint_position"}
        number = 2 * (size - 1) * size if secret in {FAVORITE, GROUP} else (size - 1) * size * 2 * (size - 2)
        allowed = f"at most {_MOST_LISTED} for secret {secret!r}"
        refuse(secret == RANKING or not is_linear or number > _MOST_DESIGNED, "alternatives", size, allowed)
        if secret in {FAVORITE, GROUP}:
            fixed = [((place, 0),) for place in range(size)]
        else:
            ahead = [(one, other) for one in range(size) for other in range(one + 1, size)]
            fixed = [((0, one), (1, other)) for one, other in ahead]
            fixed += [((1, one), (0, other)) for one, other in ahead]
        rows = [
            {**dict(fixed_pairs), **dict(zip(other_places, turned, strict=True))}
            for fixed_pairs in fixed
            for other_places in [[place for place in range(size) if place not in dict(fixed_pairs)]]
            for open_slots in [[place for place in range(size) if place not in dict(fixed_pairs).values()]]
            for start in range(len(open_slots))
            for turned in (open_slots[start:] + open_slots[:start], (open_slots[start:] + open_slots[:start])[::-1])
        ]
        return np.array([[row[place] for place in range(size)] for row in rows], dtype=np.int64)

    # Central model

    def utilities(self, rows: IntArray) -> IntArray:
        """Return what rankings add to the aggregator's sums: utilities, in steps from its center, or preferences."""
        return self.protocol.disclosed_phase.numbers_of(rows)

    def session_log_likelihoods(
        self, sessions: Sequence[CoalitionView], targets: IntArray, candidates: Candidates
    ) -> FloatArray:
        """Return ln P[all that was seen | candidate]: the other voters rank alike in all sessions.

        Exact in the central model, as one session is. In the local model a coalition without the aggregator adds up its
        sessions as if the others' rankings were new in each: that is exact where it knows them.
        """
        releases = [view for view in sessions if not view.coalition.has_server and totals_of(view) is not None]
        if len(releases) <= 1 or not isinstance(self.protocol.phase, DisclosedRankings):
            return super().session_log_likelihoods(sessions, targets, candidates)
        total = np.zeros((len(targets), len(candidates.rows)))
        for view in sessions:
            if view.coalition.has_server:
                total += self.log_likelihoods(view, targets, candidates)
        return total + self._central_log_likelihoods(releases, targets, candidates)

    def release_log_likelihoods(self, view: CoalitionView, targets: IntArray, candidates: Candidates) -> FloatArray:
        """Return what the release tells: of the voters of one group the same. See the module for what is exact."""
        if isinstance(self.protocol.phase, RandomizedRankings):
            return self._local_log_likelihoods(view, self.protocol.phase, targets, candidates.rows)
        if isinstance(self.protocol.phase, JointRankings):
            # Nothing tells one honest voter from another.
            log_likelihoods = joint_log_likelihoods(view, self.protocol.phase, candidates.rows, self._belief_of_unknown)
            return np.tile(log_likelihoods, (len(targets), 1))
        return self._central_log_likelihoods([view] if totals_of(view) is not None else [], targets, candidates)

    def _central_log_likelihoods(
        self, releases: Sequence[CoalitionView], targets: IntArray, candidates: Candidates
    ) -> FloatArray:
        total = np.zeros((len(targets), len(candidates.rows)))
        if not releases:
            return total
        groups = releases[0].public[targets, 0]
        for group in np.unique(groups).tolist():
            others_by_group = self.others(releases[0], group)
            is_sampled = any(each.num_sampled is not None for each in others_by_group)
            is_unknown = any(each.num_unknown for each in others_by_group)
            # Such sessions are not independent, given the profile that is believed.
            allowed = "all voters but one, where Algorithm 2 samples voters first and several elections are seen"
            refuse(len(releases) > 1 and is_sampled and is_unknown, "coalition", "smaller", allowed)
            laws = [self.log_laws(others_by_group, group, candidates.rows, totals=totals_of(view)) for view in releases]
            joint = log_of(laws[0][0])[:, None]
            for _, logs in laws:
                joint = joint + logs[:, :, 0]
            total[groups == group] = log_sums(joint, axis=0)
        return total

    def others(self, view: CoalitionView, group: int) -> list[Others]:
        """Return what a coalition knows of all voters but one of a group."""
        members = list(view.coalition.members)
        of_members = view.public[members, 0]
        width = self.utilities(self.rankings[:1]).shape[1]
        utilities = self.utilities(view.rows) if members else np.zeros((0, width), dtype=np.int64)
        parameters = self.protocol.parameters
        is_sampled = parameters.samples_voters_first
        others_by_group: list[Others] = []
        for place, size in enumerate(parameters.group_sizes):
            known_utilities = utilities[of_members == place]
            voters = int(np.sum(view.public[:, 0] == place)) - (place == group)
            absent_rows = np.zeros((max(size - voters - (place == group), 0), width), dtype=np.int64)
            others_by_group.append(
                Others(
                    known=np.concatenate([known_utilities, absent_rows]),
                    num_unknown=voters - len(known_utilities),
                    chances=self.population,
                    num_sampled=parameters.samples if is_sampled else None,
                )
            )
        return others_by_group

    def log_laws(
        self,
        others_by_group: Sequence[Others],
        group: int,
        rows: IntArray,
        *,
        totals: IntArray | None,
        change: Change | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return ln P[published | what the others add up to, candidate].

        Args:
            others_by_group: of each group, without the target.
            group: the target's.
            rows: int64, shape (c, m): rankings that the target may have.
            totals: what is published; None for all winners.
            change: what has become of the target by now: it did not vote, or ranked in any other way, all alike.

        Returns:
            The weights of what the others may add up to, shape (s,), and the logarithms: shape (s, c, outcomes), one
            outcome where `totals` is given.
        """
        if change == "changed":
            weights, of_rankings = self.log_laws(others_by_group, group, self.rankings, totals=totals)
            return weights, _log_of_any_other(rows, self.rankings, of_rankings)
        phase = self.protocol.disclosed_phase
        own_utilities = self.utilities(rows) * (change != "left")
        if phase.choice is None and totals is not None:
            law = self._law(others_by_group[group : group + 1], max_laws=_MOST_NOISY_SUMS, draws=_MOST_NOISY_SUMS // 4)
            sums = law.rows[:, None] + own_utilities
            log_likelihoods = phase.tally_mechanism.log_likelihoods(
                totals[group : group + 1], sums.reshape(-1, sums.shape[2])
            )
            return law.weights, log_likelihoods.reshape(*sums.shape[:2], 1)
        key = (group, own_utilities.tobytes(), *(part for each in others_by_group for part in each.key))
        if key not in self._known_laws:
            if len(self._known_laws) >= _MOST_KNOWN:
                self._known_laws.clear()
            self._known_laws[key] = self._log_choices(others_by_group, group, own_utilities)
        weights, logs = self._known_laws[key]
        return weights, logs if totals is None else logs[:, :, totals.reshape(-1)]

    def _law(self, others_by_group: Sequence[Others], *, max_laws: int, draws: int) -> LawOfSums:
        return law_of_sums(
            others_by_group, self.utilities(self.rankings), max_terms=max_laws, draws=draws, seed=self.seed
        )

    def _log_choices(
        self, others_by_group: Sequence[Others], group: int, own_utilities: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the logarithms of the winner's law, shape (s, c, m)."""
        max_laws = max(16, _MOST_LAWS // len(own_utilities))
        target = others_by_group[group]
        if target.num_sampled is None:
            law = self._law(others_by_group, max_laws=max_laws, draws=max_laws)
            return law.weights, self._log_winners(law.rows, own_utilities, group)
        # The target is among the voters who are sampled, or is not: what is published is a mixture over all samples.
        share = target.num_sampled / (len(target.known) + target.num_unknown + 1)
        parts: list[FloatArray] = []
        for is_in, chance in ((True, share), (False, 1 - share)):
            if not chance:
                continue
            remaining_others = Others(target.known, target.num_unknown, target.chances, target.num_sampled - is_in)
            law = self._law(
                [*others_by_group[:group], remaining_others, *others_by_group[group + 1 :]],
                max_laws=max_laws,
                draws=max_laws,
            )
            logs = self._log_winners(law.rows, own_utilities * is_in, group)
            parts.append(log_sums(logs + log_of(law.weights)[:, None, None], axis=0) + math.log(chance))
        return np.ones(1), log_sums(np.stack(parts), axis=0)[None]

    def _log_winners(self, sums: IntArray, own_utilities: IntArray, group: int) -> FloatArray:
        rows = np.repeat(sums[:, None], len(own_utilities), axis=1)
        rows[:, :, group * self.size : (group + 1) * self.size] += own_utilities
        distinct, places = np.unique(rows.reshape(-1, sums.shape[1]), axis=0, return_inverse=True)
        laws = self.protocol.disclosed_phase.elects_by(Choice).log_laws(distinct)
        return laws[places.reshape(-1)].reshape(len(sums), len(own_utilities), self.size)

    # Local model

    @functools.cached_property
    def _belief_of_unknown(self) -> tuple[IntArray, FloatArray]:
        """What an unknown voter may hold where groups are private, and how likely: groups by their sizes."""
        sizes = np.array(self.protocol.parameters.group_sizes, dtype=np.float64)
        groups = np.arange(len(sizes), dtype=np.int64).repeat(len(self.rankings))
        rows = cells_of_members(groups, np.tile(self.rankings, (len(sizes), 1)))
        return rows, np.outer(sizes / sizes.sum(), self.population).reshape(-1)

    def _local_log_likelihoods(
        self, view: CoalitionView, phase: RandomizedRankings, targets: IntArray, rows: IntArray
    ) -> FloatArray:
        members = list(view.coalition.members)
        cells = phase.cells_of(view.public[targets])
        own_totals = phase.tally(view.reports[0][members], earlier=[], public=view.public[members]).totals
        totals = totals_of(view)
        log_likelihoods = np.zeros((len(targets), len(rows)))
        if totals is None and view.release is None:
            return log_likelihoods
        for cell in map(int, np.unique(cells)):
            report = phase.reports[cell % len(phase.reports)]
            if totals is not None and totals[cell, 0] == own_totals[cell, 0]:
                continue  # whoever is honest did not report
            if totals is None or totals[cell, 0] - own_totals[cell, 0] == 1:
                consistent = last_reports(self.protocol, report, view, own_totals, cell)
                log_likelihoods[cells == cell] = log_sums(report.mechanism.log_likelihoods(consistent, rows), axis=0)
            else:
                log_likelihoods[cells == cell] = self._log_likelihoods_of_tally(
                    report, totals[cell] - own_totals[cell], rows
                )
        return log_likelihoods

    def _log_likelihoods_of_tally(self, report: RankingReport, table_of_others: IntArray, rows: IntArray) -> FloatArray:
        """Return ln P[the honest voters' tally | one of them has this ranking], shape (c,)."""
        count, table = int(table_of_others[0]), table_of_others[1:]
        if report.name in {"sampled_pair", "sampled_position"}:
            reports = np.arange(len(table), dtype=np.int64)[:, None]
            laws = np.exp(report.mechanism.log_likelihoods(reports, rows)).T
            expected = np.full(len(table), 1 / len(table))  # of uniform rankings
            if self.size <= _MOST_LISTED:
                expected = self.population @ np.exp(report.mechanism.log_likelihoods(reports, self.rankings)).T
            return log_of(laws @ (table / expected))
        allowed = f"with the aggregator, all other voters of the group, or all but {_LEAST_NORMAL} and more"
        refuse(count < _LEAST_NORMAL, "coalition", f"all but {count} of a group", allowed)
        means, spread = self._moments(report)
        average = self.population @ means
        deviations = table - (count - 1) * average - means[self._places(RANKING, rows)]
        return np.einsum("ci,ij,cj->c", deviations, np.linalg.pinv(spread, hermitian=True), deviations) / (-2 * count)

    def _moments(self, report: RankingReport) -> tuple[FloatArray, FloatArray]:
        """Return what a report adds to the tally on average, for each ranking, and its covariance over all voters."""
        if report.name == "noisy_scores":
            means = self.protocol.parameters.make_scoring(is_centered=True).utilities_of(Rankings(self.rankings))
            step = self.protocol.parameters.make_scoring(is_centered=True).step
            noise = report.mean_variance / (step * step)
            table_means = means.astype(np.float64)
            return table_means, np.cov(table_means.T, aweights=self.population, bias=True) + noise * np.eye(self.size)
        tallies = np.eye(self.size)[self.rankings].reshape(len(self.rankings), -1)
        reports = np.arange(len(self.rankings), dtype=np.int64)[:, None]
        laws = np.exp(report.mechanism.log_likelihoods(reports, self.rankings)).T
        return laws @ tallies, np.cov(tallies.T, aweights=self.population @ laws, bias=True)


def _log_of_any_other(rows: IntArray, rankings: IntArray, of_rankings: FloatArray) -> FloatArray:
    """Return the logarithms of an election in which a voter ranks otherwise than before: any other way, all alike.

    `rows`, shape (c, m), are what it may have been before, `of_rankings` ln P[published | others' sum, ranking], shape
    (s, m!, outcomes); what is returned has shape (s, c, outcomes).
    """
    is_other = (rows[:, None] != rankings).any(axis=2)
    log_shares = np.where(is_other, -math.log(len(rankings) - 1), -np.inf)
    # The shape is (others' sums, candidates, other rankings, outcomes).
    return log_sums(of_rankings[:, None] + log_shares[None, :, :, None], axis=2)
