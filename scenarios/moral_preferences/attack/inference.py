"""Infer a voter's row as a coalition (moral preferences): which row of a line-up, or whether it is the suspect's.

A private row is a summary of a voter's records: a preference vector, coefficients, or a direction. The coalition sees
that row with noise of a known law, so posteriors over a line-up of rows are exact:

- local paradigms, with the server: the target's report; other members add nothing.
- VLCP and RLCP, with the server: the row itself (reading M12), with infinite loss.
- without the server: the published sums minus the members' rows. If all voters but one collude, the rest is the last
  voter's report (local), or its row plus one draw of the server's noise (central), with the same law as a report.

Two cases are approximate. *Several honest voters without the server*: the other honest voters are assumed to be drawn
from the line-up, and their sum with its noise to be normal. *Algorithm 3's reports*: the maximizer of a noisy objective
has no known law, so reports are simulated for every candidate, and normal laws with a common covariance are fitted
(synthetic likelihood). Log-likelihood ratios are then limited to the exact loss between the candidates' coefficients.

Source of the attacked protocol: Wang et al. (2019), Algorithms 1 to 3; readings M7, M8 and M12. Wood (2010) for
synthetic likelihoods.
"""

from typing import ClassVar, Final, cast

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import ConfigurationError
from ....protocol.mechanisms import RowMechanism
from ....protocol.moral_preferences import DisclosedPhase, MoralPreferences, Outcome, PerturbedPhase, SocietiesPhase
from ....protocol.moral_preferences.functional import NoisyObjective
from ....protocol.moral_preferences.summaries import AdditiveNoise
from ....protocol.phases import Inputs
from ...attacks.attack import Attack, Candidates
from ...attacks.coalition_view import CoalitionView
from ...attacks.posteriors import Evaluation, Posteriors

_CANDIDATE, _MEMBERSHIP = "candidate", "membership"
_MOST_CANDIDATES: Final = 4096
_LEAST_CANDIDATES: Final = 2
# columns of a level's tally: number of reports, sum of coarse squares, then sums (`PerturbedPhase`)
_COUNT, _FIRST_SUM = 0, 2
# Simulated reports for each candidate's normal law, and the ridge added to variances, in squared radii.
_NUM_SIMULATED: Final = 128
_RIDGE: Final = 1e-6


class MoralAttack(Attack):
    """Infers which row of a line-up is the target's ("candidate"), or whether it is the first one ("membership").

    Args:
        protocol: the protocol with its public parameters.
        line_up: the target's candidate rows, int64, shape (c, columns). For "membership" the first is the suspect's,
            and the others are a sample of the population. `against` uses all voters' rows.
        num_simulated: number of simulated reports for each candidate, if the law is simulated.
        seed: the seed of simulated reports.
    """

    secrets: ClassVar[tuple[str, ...]] = (_CANDIDATE, _MEMBERSHIP)

    protocol: MoralPreferences

    def __init__(
        self,
        protocol: MoralPreferences,
        *,
        line_up: IntArray | None = None,
        num_simulated: int = _NUM_SIMULATED,
        seed: int = 0,
    ) -> None:
        super().__init__(protocol)
        self._line_up = line_up
        self._num_simulated = num_simulated
        self._seed = seed
        self._simulated: dict[tuple[RowMechanism, bytes], tuple[FloatArray, FloatArray]] = {}

    def against(self, inputs: Inputs) -> "MoralAttack":
        """Return this attack with the distinct rows of all voters as the line-up, for evaluations."""
        _, places = np.unique(inputs.private, axis=0, return_index=True)
        line_up = inputs.private[np.sort(places)]
        return MoralAttack(self.protocol, line_up=line_up, num_simulated=self._num_simulated, seed=self._seed)

    @property
    def line_up(self) -> IntArray:
        """The target's candidate rows, at least two."""
        number = 0 if self._line_up is None else len(self._line_up)
        if self._line_up is None or not _LEAST_CANDIDATES <= number <= _MOST_CANDIDATES:
            allowed = f"{_LEAST_CANDIDATES} to {_MOST_CANDIDATES} distinct rows that a voter may have"
            raise ConfigurationError(field="line-up", value=f"{number} rows", allowed=allowed)
        return self._line_up

    def candidates(self, secret: str) -> Candidates:
        self.check_secret(secret)
        rows = self.line_up
        places = np.arange(len(rows), dtype=np.int64)
        if secret == _MEMBERSHIP:
            return Candidates(rows, (places == 0).astype(np.int64), ("another's", "the suspect's"))
        return Candidates(rows, places, tuple(f"candidate {place + 1}" for place in places.tolist()))

    def truths(self, secret: str, inputs: Inputs) -> IntArray:
        """Return the indices of true labels; for membership, an unknown row is "other". See `Attack.truths`."""
        truths = super().truths(secret, inputs)
        return np.maximum(truths, 0) if secret == _MEMBERSHIP else truths

    def evaluate_redrawn(self, posteriors: Posteriors, inputs: Inputs, targets: IntArray, *, secret: str) -> Evaluation:
        """Compare guesses with the truth, since some likelihoods are approximate. See `Attack.evaluate_redrawn`."""
        return self.evaluate(posteriors, inputs, targets, secret=secret)

    def log_likelihoods(self, view: CoalitionView, targets: IntArray, candidates: Candidates) -> FloatArray:
        """Return ln P[view | candidate]; approximate for Algorithm 3's reports. See `Attack.log_likelihoods`."""
        phase = self.protocol.phase
        if not view.coalition.has_server or not isinstance(phase.mechanism, NoisyObjective):
            return super().log_likelihoods(view, targets, candidates)
        (reports,), (is_seen,) = view.reports, view.told
        logs = np.zeros((len(targets), len(candidates.rows)))
        for mechanism, of_group in phase.mechanism_groups(view.public[targets]):
            group_targets = np.arange(len(targets))[of_group]
            seen_targets = group_targets[is_seen[targets[group_targets]]]
            logs[seen_targets] = self._law_of(mechanism, reports[targets[seen_targets]], candidates.rows)
        return logs

    def release_log_likelihoods(self, view: CoalitionView, targets: IntArray, candidates: Candidates) -> FloatArray:
        """Return log-likelihoods of published sums, without the members' rows."""
        phase = self.protocol.phase
        logs = np.zeros((len(targets), len(candidates.rows)))
        cells = self._cells_of(view.public)
        for cell in np.unique(cells[targets]).tolist():
            of_cell = cells[targets] == cell
            sum_and_count = self._honest_sum(view, cell)
            if sum_and_count is None:
                continue
            total, num_honest = sum_and_count
            # The mechanism that adds noise to the row of a voter of the cell: the voter's, or the server's.
            public = view.public[cells == cell][0].tolist()
            mechanism = phase.mechanism_of(public) if isinstance(phase, PerturbedPhase) else phase.tally_mechanism
            assert mechanism is not None  # noqa: S101  a session with adversaries is not masked
            if num_honest == 1:
                low, high = mechanism.report_range
                logs[of_cell] = self._law_of(mechanism, np.clip(total, low, high)[None, :], candidates.rows)
                continue
            if not isinstance(mechanism, AdditiveNoise):
                allowed = "all voters but one: where an objective is largest, the noise is not additive"
                raise ConfigurationError(field="coalition", value=f"{num_honest} honest voters", allowed=allowed)
            num_draws = phase.num_draws(num_honest)
            # Other honest voters are assumed to be from the line-up, and their sum to be normal.
            spread = (num_honest - 1) * self.line_up.var(axis=0) + num_draws * mechanism.noise_variance
            misses = total - (num_honest - 1) * self.line_up.mean(axis=0) - candidates.rows
            logs[of_cell] = -0.5 * np.sum(misses * misses / spread, axis=1)
        return logs

    def _honest_sum(self, view: CoalitionView, cell: int) -> tuple[IntArray, int] | None:
        """Return the published sum over a cell's honest voters, and their number.

        None if it is unknown, or if a voter did not report, who may be the target.
        """
        if not view.totals:
            return None
        members = list(view.coalition.members)
        is_here = self._cells_of(view.public) == cell
        num_voters, num_members = int(is_here.sum()), int(is_here[members].sum())
        phase = self.protocol.phase
        if isinstance(phase, SocietiesPhase):
            count, sums = int(view.totals[0][cell, 0]), view.totals[0][cell, 1:]
            member_rows = view.rows[is_here[members]]
        elif isinstance(phase, DisclosedPhase):
            count, sums, member_rows = cast("Outcome", view.release).num_voters, view.totals[0], view.rows
        else:
            count, sums = int(view.totals[0][cell, _COUNT]), view.totals[0][cell, _FIRST_SUM:]
            member_rows = view.reports[0][members][is_here[members]]
        if count != num_voters:
            return None
        return sums - member_rows.sum(axis=0, dtype=np.int64), num_voters - num_members

    def _law_of(self, mechanism: RowMechanism, reports: IntArray, rows: IntArray) -> FloatArray:
        """Return ln P[report | candidate], shape (reports, c): exact, or by simulation."""
        if not isinstance(mechanism, NoisyObjective):
            return mechanism.log_likelihoods(reports, rows)
        means, factor = self._simulate(mechanism, rows)
        squared_distances = ((reports @ factor)[:, None, :] - means @ factor) ** 2
        logs = -0.5 * squared_distances.sum(axis=2)
        # Limit the log-likelihood ratio to the best candidate by the loss between their coefficients.
        best = logs.argmax(axis=1)
        losses = np.abs(rows[best][:, None, :] - rows).sum(axis=2) / mechanism.noise.scale
        return np.maximum(logs, logs.max(axis=1, keepdims=True) - losses)

    def _simulate(self, mechanism: NoisyObjective, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return normal laws of reports: means, shape (c, d), and F with F·Fᵀ the inverse of the common covariance.

        All candidates use the same noise, so that sampling errors cancel between them.
        """
        key = mechanism, rows.tobytes()
        if key not in self._simulated:
            uniforms = np.random.Generator(np.random.Philox(self._seed)).random(
                (self._num_simulated, mechanism.slots_of(rows.shape[1]))
            )
            means = np.empty((len(rows), mechanism.num_features))
            covariance = _RIDGE * float(mechanism.report_range[1]) ** 2 * np.eye(mechanism.num_features)
            for place, row in enumerate(rows):
                reports = mechanism.randomize_rows(np.tile(row, (self._num_simulated, 1)), uniforms).astype(np.float64)
                means[place] = reports.mean(axis=0)
                reports -= means[place]
                covariance += reports.T @ reports / (len(reports) * len(rows))
            factor: FloatArray = np.linalg.inv(np.linalg.cholesky(covariance)).T.astype(np.float64, copy=False)
            self._simulated[key] = means, factor
        return self._simulated[key]

    def _cells_of(self, public: IntArray) -> IntArray:
        """Return each voter's row of the tally: that of its society and level of ε."""
        phase = self.protocol.phase
        if isinstance(phase, PerturbedPhase):
            return phase.cells_of(public)
        return public[:, 0] if isinstance(phase, SocietiesPhase) else np.zeros(len(public), dtype=np.int64)
