"""Infer a partner's weight and opinions as a coalition (DPWeVote).

A coalition with the cloud server sees the target's reports. Their law is a finite channel (k-RR on weights, randomized
response on opinions, or one report of the signed weight) or discrete Laplace noise. So the posterior is exact. Other
colluding partners add nothing, since partners' reports are independent (the paper's theorem on collusion holds with
equality).

A coalition without the server sees its members' reports and the published tallies, which are sums over all partners. It
subtracts its members' reports. With N − 1 members, the rest are the last partner's reports. With fewer members, the
rest is a table of counts of the honest partners' reports. Given the target, its likelihood is

    P[table | v] ∝ Σ_r P[r | v] · table[r] / π̃[r],

where r is a report, v the target's row, and π̃ the prior law of an honest partner's report. Indeed, the other honest
reports are multinomial, and one more report r among them multiplies their probability by table[r]/π̃[r], up to a factor
that does not depend on r. This is exact for one vote. Over several votes the other partners' inputs stay the same, so
their tables are not independent evidence. With at least two honest partners, the sum of the tables is then approximated
by a normal law, and log-likelihood ratios are limited to the proven loss.

A trusted server (variant `central`) sees all values. Without it, a coalition of all partners but one sees the release
(margins or decisions), and knows all votes in it but one: the posterior is again exact. The coalition does not see the
server's randomized responses on heavy partners' opinions, not even its members'; the law of their sum is taken into
account.

Source of the attacked protocol: Yan, Liu and Liu (2018); readings W1 and W8.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from typing import ClassVar, Final, cast

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.dpwevote import DPWeVote, Parameters
from ....protocol.errors import ConfigurationError, refuse
from ....protocol.mechanisms import FiniteMechanism
from ....protocol.phases import Inputs
from ....protocol.privacy import total_of
from ...attacks.attack import Attack, Candidates, report_log_likelihoods
from ...attacks.channels import session_channel
from ...attacks.coalition_view import Coalition, CoalitionView

# Weights times all combinations of opinions; a posterior over more is hard to read.
_MOST_CANDIDATES: Final = 4096
_BOTH, _WEIGHT, _OPINIONS = "weight and opinions", "weight", "opinions"


class DPWeVoteAttack(Attack):
    """Infers weight and opinions jointly, or one of them with the other unknown."""

    secrets: ClassVar[tuple[str, ...]] = (_BOTH, _WEIGHT, _OPINIONS)

    protocol: DPWeVote

    @property
    def _parameters(self) -> Parameters:
        return self.protocol.parameters

    @property
    def joins_sessions(self) -> bool:
        return True

    @property
    def default_secret(self) -> str:
        """Weight and opinions; only opinions if weights are public."""
        return _OPINIONS if self._parameters.public_weights else _BOTH

    @functools.cached_property
    def _table(self) -> dict[str, list[float]]:
        """All combinations of weight and opinions, as a table of columns."""
        parameters = self._parameters
        number = len(parameters.weights) * 2 ** len(parameters.candidates)
        allowed = f"at most {_MOST_CANDIDATES} combinations of weight and opinions"
        refuse(number > _MOST_CANDIDATES, "secret", f"{number} combinations", allowed)
        combinations = list(itertools.product(parameters.weights, *[(0, 1)] * len(parameters.candidates)))
        names = ("weight", *parameters.candidates)
        return {name: [row[place] for row in combinations] for place, name in enumerate(names)}

    @functools.cached_property
    def _inputs(self) -> Inputs:
        # Any level of ε will do: private rows do not depend on it.
        levels_of_column = {
            column.name: self._parameters.own_levels.epsilons[:1] for column in self._parameters.own_levels.columns
        }
        number = len(self._table["weight"])
        return self.protocol.encode(
            {**self._table, **{name: entries * number for name, entries in levels_of_column.items()}}
        )

    def candidates(self, secret: str) -> Candidates:
        allowed = f"{_OPINIONS!r}, where weights are public"
        refuse(self._parameters.public_weights and secret != _OPINIONS, "secret", secret, allowed)
        weights = [f"{weight:g}" for weight in self._table["weight"]]
        opinions = [
            ", ".join("yes" if opinion else "no" for opinion in row)
            for row in zip(*(self._table[name] for name in self._parameters.candidates), strict=True)
        ]
        rows = self._inputs.private
        if self._parameters.public_weights:  # rows contain only opinions, repeated for each weight
            number = 2 ** len(self._parameters.candidates)
            rows, opinions = rows[:number], opinions[:number]
        secrets = {
            _BOTH: [f"{weight}: {opinion}" for weight, opinion in zip(weights, opinions, strict=False)],
            _WEIGHT: weights,
            _OPINIONS: opinions,
        }[secret]
        labels = tuple(dict.fromkeys(secrets))
        return Candidates(rows, np.array([labels.index(label) for label in secrets], dtype=np.int64), labels)

    def rows_of(self, candidates: Candidates, public: Sequence[int], private: IntArray) -> IntArray:
        if not public:
            return candidates.rows
        opinions = dict(zip(self._parameters.candidates, candidates.rows.T.tolist(), strict=False))
        weights = [self._parameters.weights[public[1]]] * len(candidates.rows)
        return self.protocol.encode({"weight": weights, **opinions}).private

    def loss(self, secret: str, public: IntArray, targets: IntArray, coalition: Coalition) -> float:
        whole, unit = super().loss(secret, public, targets, coalition), {_WEIGHT: "weight", _OPINIONS: "opinion"}
        losses = [
            [loss for loss in self.protocol.losses_of(row) if loss.unit == unit.get(secret)]
            for row in np.unique(public[targets], axis=0).tolist()
        ]
        return max(total_of(each).proven for each in losses) if all(losses) else whole

    def loss_repeated(self, secret: str) -> float:
        """Return the loss of the weight, memoized in a game, if the secret includes it. See `Attack.loss_repeated`."""
        return 0.0 if secret == _OPINIONS else super().loss_repeated(secret)

    def release_log_likelihoods(self, view: CoalitionView, targets: IntArray, candidates: Candidates) -> FloatArray:
        """Return log-likelihoods of the published tallies, without the coalition's reports.

        Raises:
            ConfigurationError: two or more partners are honest, and their reports do not form a single finite table:
                with Laplace noise, weights that are reported several times, or several candidates by signed weights.
        """
        if not view.totals:
            return np.zeros((len(targets), len(candidates.rows)))
        num_honest = view.num_parties - len(view.coalition.members)
        if num_honest == 1 and self.protocol.trusts_server:
            return self._log_likelihoods_of_release(view, view.public[targets], candidates.rows)
        totals_of_others = self._subtract_members(view)
        if num_honest == 1:
            return report_log_likelihoods(self._add_last_reports(view, totals_of_others), targets, candidates.rows)
        return self._log_likelihoods_of_tables(totals_of_others, view.public[targets], candidates.rows)

    def session_log_likelihoods(
        self, sessions: Sequence[CoalitionView], targets: IntArray, candidates: Candidates
    ) -> FloatArray:
        """Return ln P[all views | candidate]; the module's docstring says which are exact."""
        releases = [view for view in sessions if view.totals and not view.coalition.has_server]
        is_game = self._parameters.scope is not None
        if is_game or len(releases) < 2 or releases[0].num_parties - len(releases[0].coalition.members) == 1:  # noqa: PLR2004  several
            return super().session_log_likelihoods(sessions, targets, candidates)
        tables: IntArray = np.zeros((), dtype=np.int64)
        for view in releases:
            totals_of_others = self._subtract_members(view)
            # Raises an error if a single vote has no known likelihood.
            self._log_likelihoods_of_tables(totals_of_others, view.public[targets], candidates.rows)
            tables = tables + totals_of_others[-1]
        rest_of = [view for view in sessions if all(view is not other for other in releases)]
        logs = super().session_log_likelihoods(rest_of, targets, candidates)
        honest = np.delete(releases[0].public, list(releases[0].coalition.members), axis=0)
        for public in np.unique(releases[0].public[targets], axis=0):
            of_group = np.all(releases[0].public[targets] == public, axis=1)
            num_honest = int(np.all(honest == public, axis=1).sum())
            logs[of_group] += self._log_likelihoods_of_votes(
                tables, len(releases), num_honest, candidates.rows, public.tolist()
            )
        return logs

    def _log_likelihoods_of_votes(
        self, tables: IntArray, num_votes: int, num_honest: int, rows: IntArray, public: Sequence[int]
    ) -> FloatArray:
        """Return ln P[sum of votes' tables | candidate] by a normal approximation, shape (c,).

        The tables are the last phase's, of honest partners; `num_honest` of these have the target's public row.
        """
        channel = session_channel(self.protocol, rows, public=public)
        if channel is None:
            allowed = "one: a partner has too many possible reports to list"
            raise ConfigurationError(field="votes", value=num_votes, allowed=allowed)
        report_tables = self._tables_of_reports(public)
        is_counted = np.any(report_tables, axis=0)  # columns of other groups' partners do not depend on the target
        report_tables = report_tables[:, is_counted].astype(np.float64)
        means = channel @ report_tables
        average = means.mean(axis=0)
        variance_between = (means - average).T @ (means - average) / len(means)
        everything = report_tables.T @ (channel.mean(axis=0)[:, None] * report_tables) - np.outer(average, average)
        # Noise is independent between votes; the others' inputs are the same in all of them.
        variance_within = num_honest * (everything - variance_between)
        spread: FloatArray = num_votes * variance_within + num_votes * num_votes * (num_honest - 1) * variance_between
        deviation: FloatArray = tables.reshape(-1)[is_counted] - num_votes * ((num_honest - 1) * average + means)
        inverse: FloatArray = np.linalg.pinv(spread, hermitian=True).astype(np.float64, copy=False)
        logs: FloatArray = np.sum((deviation @ inverse) * deviation, axis=1) / -2
        loss = num_votes * total_of(self.protocol.losses_of(public)).proven
        return np.maximum(logs, logs.max() - loss)

    def _tables_of_reports(self, public: Sequence[int]) -> IntArray:
        """Return each possible report's contribution to the last phase's table, in the order of `session_channel`."""
        phases = self.protocol.phases
        of_phases = [each.mechanism_of(public).report_range for each in phases]
        ranges = [range(least_report, greatest + 1) for least_report, greatest in of_phases]
        report_lists = [
            list(itertools.product(values, repeat=each.num_reported))
            for values, each in zip(ranges, phases, strict=True)
        ]
        row = np.array([public], dtype=np.int64).reshape(1, -1)
        tables: list[IntArray] = []
        for reports in itertools.product(*report_lists):
            *earlier_reports, last = (np.array([report], dtype=np.int64) for report in reports)
            tables.append(phases[-1].tally(last, earlier=earlier_reports, public=row).totals.reshape(-1))
        return np.stack(tables)

    def _subtract_members(self, view: CoalitionView) -> list[IntArray]:
        """Return the tallies' totals without the members' reports."""
        totals_of_others: list[IntArray] = []
        for number, (phase, totals) in enumerate(zip(self.protocol.phases, view.totals, strict=True)):
            members = [place for place in view.coalition.members if view.told[number][place]]
            if not members:
                totals_of_others.append(totals)
                continue
            earlier_reports = [reports[members] for reports in view.reports[:number]]
            own_tally = phase.tally(view.reports[number][members], earlier=earlier_reports, public=view.public[members])
            totals_of_others.append(totals - own_tally.totals)
        return totals_of_others

    def _add_last_reports(self, view: CoalitionView, totals_of_others: list[IntArray]) -> CoalitionView:
        """Return the view with the last partner's reports, read from its tallies."""
        (last,) = set(range(view.num_parties)) - set(view.coalition.members)
        reports, is_seen = [each.copy() for each in view.reports], [each.copy() for each in view.told]
        has_levels = bool(self._parameters.own_levels.epsilons)
        totals_of_others = (
            [totals.sum(axis=0) for totals in totals_of_others] if has_levels else totals_of_others
        )  # only the last partner's level is not zero
        for number, (phase, totals) in enumerate(zip(self.protocol.phases, totals_of_others, strict=True)):
            if totals.any() or not self._parameters.kind.has_finite_reports:  # empty counts: the partner did not report
                reports[number][last] = self._report_of(totals, phase.num_reported)
                is_seen[number][last] = True
        return dataclasses.replace(view, reports=tuple(reports), told=tuple(is_seen))

    def _report_of(self, totals: IntArray, num_reported: int) -> list[int]:
        """Return the single report in a tally."""
        if not self._parameters.kind.has_finite_reports:
            # A tally has one row for each candidate, with the opinion first; a tally of weights begins with the weight.
            # With public weights, a candidate's row has the number and the sum for each weight.
            has_weights = totals.ndim == 3  # noqa: PLR2004  candidates, weights, number and sum
            sums = totals[:, :, 1].sum(axis=1) if has_weights else np.atleast_2d(totals)[:num_reported, 0]
            return sums.tolist()
        places = totals.reshape(num_reported, -1).argmax(axis=1)
        is_pair = totals.ndim == 3  # noqa: PLR2004  candidates, groups and opinions
        return (places % 2 if is_pair else places).tolist()

    def _log_likelihoods_of_release(self, view: CoalitionView, public: IntArray, rows: IntArray) -> FloatArray:
        """Return ln P[release | candidate] for a trusted server and the last partner as target, shape (t, c)."""
        (phase,), (released,) = self.protocol.phases, view.totals
        members = [place for place in view.coalition.members if view.told[0][place]]
        reports, shown = view.reports[0][members], view.public[members]
        logs: list[FloatArray] = []
        for public_row in public:
            public_rows = np.concatenate([shown, public_row[None]])
            tallies = [
                phase.tally(np.concatenate([reports, row[None, phase.columns]]), earlier=[], public=public_rows)
                for row in rows
            ]
            draws = [phase.fixed_release(tally, 0).drawn for tally in tallies]
            (mechanism, _), values = draws[0][0], np.array([numbers for ((_, numbers),) in draws], dtype=np.int64)
            # The counts by public weight, after the drawn numbers, are the same for all candidates.
            sums = released[None, : mechanism.num_reports_of(values.shape[1])]
            try:
                logs.append(mechanism.log_likelihoods(sums, values)[0])
            except NotImplementedError:
                allowed = "with the server: what a release tells of so many heavy partners is not computed"
                raise ConfigurationError(field="coalition", value="without the server", allowed=allowed) from None
        return np.stack(logs)

    def _log_likelihoods_of_tables(self, totals: list[IntArray], public: IntArray, rows: IntArray) -> FloatArray:
        """Return ln P[table | candidate] for each target; the same for all, unless weights or levels are public."""
        parameters = self._parameters
        reason = ""
        if self.protocol.trusts_server:
            reason = "of a trusted server"
        elif not parameters.kind.has_finite_reports:
            reason = "of Laplace noise"
        elif parameters.weight_collection == "per_candidate" and len(parameters.candidates) > 1:
            reason = "of weights that are reported several times"
        elif len(totals) == 1 and not parameters.public_weights and len(parameters.candidates) > 1:
            reason = "of several signed weights"
        allowed = f"with the server, or all partners but one: what the tallies {reason} tell of one among several"
        refuse(reason, "coalition", "smaller", f"{allowed} is not computed")
        if parameters.public_weights:
            chances = self._chances(0, rows)
            by_group: list[FloatArray] = []
            for table in totals[0].transpose(1, 0, 2):  # one table of opinions for each public weight
                likelihoods = np.ones(len(rows))
                for number, counts in enumerate(table):
                    likelihoods *= chances[:, number] @ _ratio(counts, chances[:, number].mean(axis=0))
                by_group.append(_log(likelihoods))
            return np.stack(by_group)[public[:, 0]]
        if len(totals) == 1:
            has_levels = bool(parameters.own_levels.epsilons)
            logs: list[FloatArray] = []
            for level, table in enumerate(totals[0] if has_levels else totals[0][None]):
                chances = self._chances(0, rows, [level])[:, 0]
                logs.append(_log(chances @ _ratio(table[0, : chances.shape[1]], chances.mean(axis=0))))
            return np.stack(logs)[public[:, -1] if has_levels else np.zeros(len(public), dtype=np.int64)]
        weights, opinions = (self._chances(number, rows) for number in range(len(totals)))
        likelihoods = self._likelihoods_of_pairs(totals[0], totals[1], weights[:, 0], opinions)
        return np.broadcast_to(_log(likelihoods), (len(public), len(rows)))

    def _chances(self, number: int, rows: IntArray, public: Sequence[int] = ()) -> FloatArray:
        """Return P[report | candidate] of a phase for each value, shape (candidates, values, reports)."""
        phase = self.protocol.phases[number]
        mechanism = cast("FiniteMechanism", phase.mechanism_of(public))
        return np.array(mechanism.channel_matrix())[rows[:, phase.columns] - mechanism.value_range[0]]

    def _likelihoods_of_pairs(
        self, groups: IntArray, tables: IntArray, weights: FloatArray, opinions: FloatArray
    ) -> FloatArray:
        """Return P[tables | candidate], up to a factor.

        The likelihood of the groups' counts is Σ_g P[g | v]·counts[g]/π̃[g]. Given the groups, the vote's candidates
        are independent, each with its own table: a target of group g with opinion o contributes the factor table[g,
        o]/(counts[g]·π̃[o | g]).

        Args:
            groups: honest reports by group, shape (G,).
            tables: honest reports by candidate, group and opinion, shape (k, G, 2).
            weights: P[group | candidate], shape (c, G).
            opinions: P[opinion | candidate], shape (c, k, 2).
        """
        prior = weights.mean(axis=0)
        likelihoods = weights * _ratio(groups, prior)
        for number, table in enumerate(tables):
            expected_opinions = (weights[:, :, None] * opinions[:, number, None, :]).mean(axis=0) / prior[:, None]
            likelihoods = likelihoods * np.einsum(
                "co,go->cg", opinions[:, number], _ratio(table, groups[:, None] * expected_opinions)
            )
        return likelihoods.sum(axis=1)


def _ratio(counts: IntArray, expected: FloatArray) -> FloatArray:
    """Return counts divided by their expectations; 0 for counts of 0."""
    return np.divide(counts, expected, out=np.zeros(np.shape(expected)), where=counts > 0)


def _log(numbers: FloatArray) -> FloatArray:
    """Return natural logarithms; -∞ of 0."""
    return np.log(numbers, out=np.full(numbers.shape, -math.inf), where=numbers > 0)
