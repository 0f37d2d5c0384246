"""Infer a voter's ranking, and its group if that is private, as a coalition in a fair vote.

Bayes' rule is applied to exact laws if the published values have a computable one. The coalition knows its members'
rankings. Its prior for other voters is that they rank independently, by default uniformly.

- Central model, with the aggregator: it sees the ranking.
- Central model, without the aggregator: the winner's law is finite, and noisy sums have discrete Laplace noise. If all
  other voters collude, there is one profile for each candidate. Otherwise the law is averaged over the other voters'
  profiles: exactly if they have few sums, else over draws with a fixed seed (`law_of_sums`).
- Local model, with the aggregator: the report's law; more colluders add nothing, since reports are independent.
- Local model, without the aggregator: the group's tally minus the coalition's reports. For `sampled_pair` and
  `sampled_position` this counts the honest reports r, and one more r among independent others multiplies their
  probability by count(r)/π̃(r), where π̃ is the prior law of an honest report: P[tally | v] ∝ Σ_r P[r |
  v]·count(r)/π̃(r), exact for a coalition of any size. For `whole_ranking` and `noisy_scores` it is exact if the target
  is the only honest voter of its group, since the tally is then its report; otherwise the tally is approximated by a
  normal law.
- Private groups: with the aggregator, the report's law over groups and rankings. Without it, the tally of all voters
  minus the coalition's reports (`public_result`): exact if the target is the only honest voter, else approximated by a
  normal law.

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

_MOST_LISTED: Final = 6  # alternatives up to which all rankings are candidates: 720
_MOST_DESIGNED: Final = 8192  # candidates that represent all rankings of more alternatives
_MOST_LAWS: Final = 4096  # winners' laws for one target, up to some milliseconds each for Algorithm 2
_MOST_NOISY_SUMS: Final = 1 << 14  # sums before noise, whose densities are computed as arrays
_MOST_KNOWN: Final = 32  # cached laws of coalitions, at most a megabyte each
_LEAST_NORMAL: Final = 30  # least honest reports of a group for a normal approximation of sums


class FairVotingAttack(Attack):
    """Infers a voter's whole ranking, its favorite, which of two alternatives it prefers, or its private group.

    Args:
        protocol: the protocol with its public parameters.
        seed: the seed of drawn profiles, if there are too many to enumerate.
    """

    secrets: ClassVar[tuple[str, ...]] = (RANKING, FAVORITE, PAIR, GROUP)

    protocol: FairVoting

    def __init__(self, protocol: FairVoting, *, seed: int = 0) -> None:
        super().__init__(protocol)
        self.size = len(protocol.parameters.alternatives)
        self.seed = seed
        # Cached winners' laws, which are the same for sessions with the same coalition.
        self._known_laws: dict[tuple[object, ...], tuple[FloatArray, FloatArray]] = {}

    @property
    def joins_sessions(self) -> bool:
        return isinstance(self.protocol.phase, DisclosedRankings)

    @functools.cached_property
    def population(self) -> FloatArray:
        """The prior of an unknown voter's ranking; uniform for up to 6 alternatives."""
        return np.full(math.factorial(self.size), 1 / math.factorial(self.size))

    @functools.cached_property
    def rankings(self) -> IntArray:
        """All rankings, in the order of their codes: int64, shape (m!, m)."""
        return rankings_of_codes(np.arange(math.factorial(self.size), dtype=np.int64), self.size)

    def candidates(self, secret: str) -> Candidates:
        """Return all rankings; for more than 6 alternatives, a few that represent them.

        The laws of sampled pairs and positions are linear in the indicators of which of two alternatives is ahead, and
        of an alternative's position. So their average over a label's rankings equals that over a few rankings in which
        the other alternatives have all positions, and precede each other, equally often: rotations and their reverses.

        If groups are private, a candidate is a pair of group and ranking.
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
        """Return rankings' contributions to the aggregator's sums: utilities in steps from the center, or pairs."""
        return self.protocol.disclosed_phase.numbers_of(rows)

    def session_log_likelihoods(
        self, sessions: Sequence[CoalitionView], targets: IntArray, candidates: Candidates
    ) -> FloatArray:
        """Return ln P[all views | candidate], with the other voters' rankings the same in all sessions.

        It is exact in the central model. In the local model, a coalition without the aggregator sums over sessions as
        if the others' rankings were independent between them, which is exact if it knows them.
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
        """Return log-likelihoods of the release, equal for all voters of a group. The module says which are exact."""
        if isinstance(self.protocol.phase, RandomizedRankings):
            return self._local_log_likelihoods(view, self.protocol.phase, targets, candidates.rows)
        if isinstance(self.protocol.phase, JointRankings):
            # Honest voters are exchangeable.
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
            # Sessions are not independent under the prior of profiles.
            allowed = "all voters but one, where Algorithm 2 samples voters first and several elections are seen"
            refuse(len(releases) > 1 and is_sampled and is_unknown, "coalition", "smaller", allowed)
            laws = [self.log_laws(others_by_group, group, candidates.rows, totals=totals_of(view)) for view in releases]
            joint = log_of(laws[0][0])[:, None]
            for _, logs in laws:
                joint = joint + logs[:, :, 0]
            total[groups == group] = log_sums(joint, axis=0)
        return total

    def others(self, view: CoalitionView, group: int) -> list[Others]:
        """Return a coalition's knowledge of all voters of a group except one."""
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
        """Return ln P[published | the others' sum, candidate].

        Args:
            others_by_group: the other voters of each group, without the target.
            group: the index of the target's group.
            rows: int64, shape (c, m): the target's candidate rankings.
            totals: the published totals; None for all winners.
            change: the target's change: it did not vote, or it has a uniformly drawn different ranking.

        Returns:
            The weights of the others' possible sums, shape (s,), and the log-probabilities, shape (s, c, outcomes),
            with one outcome if `totals` is given.
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
        """Return the log-probabilities of winners, shape (s, c, m)."""
        max_laws = max(16, _MOST_LAWS // len(own_utilities))
        target = others_by_group[group]
        if target.num_sampled is None:
            law = self._law(others_by_group, max_laws=max_laws, draws=max_laws)
            return law.weights, self._log_winners(law.rows, own_utilities, group)
        # The target may or may not be in the sample of voters: the published law is a mixture over all samples.
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
        """The prior of an unknown voter's row if groups are private: groups in proportion to their sizes."""
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
                continue  # the honest voters did not report
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
            expected = np.full(len(table), 1 / len(table))  # for uniform rankings
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
        """Return a report's mean contribution to the tally for each ranking, and its covariance over all voters."""
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
    """Return log-probabilities of an election after a voter changed to a uniformly drawn different ranking.

    `rows`, shape (c, m), are its possible earlier rankings; `of_rankings`, shape (s, m!, outcomes), has ln P[published
    | others' sum, ranking]. The result has shape (s, c, outcomes).
    """
    is_other = (rows[:, None] != rankings).any(axis=2)
    log_shares = np.where(is_other, -math.log(len(rankings) - 1), -np.inf)
    # Shape (others' sums, candidates, other rankings, outcomes).
    return log_sums(of_rankings[:, None] + log_shares[None, :, :, None], axis=2)
