"""The attack on masked sums: a coalition subtracts all rows that it knows from a released sum; one row remains.

Everybody who receives the release knows the sum, and members know their rows and noise shares. In the worst case they
also know all other values. What remains is the target's row plus the noise of H honest shares, whose law is known, so
the posterior is exact. Against at most c members it stays within the ledger's loss. A larger coalition may leave fewer
than T − c honest shares, and the loss proven against it is greater. On a circle graph, more than c members with the
server are refused: they may hold enough shares of a neighbor's seed to open its row.
"""

import copy
from typing import ClassVar

import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.errors import ConfigurationError, refuse
from ...protocol.mechanisms import share_log_law
from ...protocol.phases import Inputs, MaskedPhase
from ...protocol.privacy import NeighboringRelation, PureAccountant
from .attack import NO_CANDIDATE, Attack, Candidates
from .coalition_view import Coalition, CoalitionView


class MaskedAttack(Attack):
    """Infers another attack's secrets of a row from the sum of a masked phase."""

    infers_from_reports_alone: ClassVar[bool] = False

    def __init__(self, phase: MaskedPhase, named_attack: Attack) -> None:
        super().__init__(named_attack.protocol)
        self._phase, self._named = phase, named_attack

    def against(self, inputs: Inputs) -> "MaskedAttack":
        return MaskedAttack(self._phase, self._named.against(inputs))

    @property
    def default_secret(self) -> str:
        return self._named.default_secret

    def check_secret(self, secret: str) -> None:
        self._named.check_secret(secret)

    def candidates(self, secret: str) -> Candidates:
        return self._named.candidates(secret)

    def truths(self, secret: str, inputs: Inputs) -> IntArray:
        candidates, truths = self.candidates(secret), np.full(len(inputs), NO_CANDIDATE, dtype=np.int64)
        for place, (public, private_row) in enumerate(zip(inputs.public.tolist(), inputs.private, strict=True)):
            same = np.flatnonzero((self._named.rows_of(candidates, public, private_row) == private_row).all(axis=1))
            truths[place] = candidates.places[same[0]] if len(same) else NO_CANDIDATE
        return truths

    def redraw(
        self, secret: str, inputs: Inputs, targets: IntArray, *, prior: FloatArray | None, uniforms: FloatArray
    ) -> Inputs:
        candidates, private = self.candidates(secret), inputs.private.copy()
        for place, number in zip(targets.tolist(), candidates.drawn(prior, uniforms).tolist(), strict=True):
            private[place] = self._named.rows_of(candidates, inputs.public[place].tolist(), private[place])[number]
        return Inputs(private, inputs.public)

    def log_likelihoods(self, view: CoalitionView, targets: IntArray, candidates: Candidates) -> FloatArray:
        return self.release_log_likelihoods(view, targets, candidates)

    def release_log_likelihoods(self, view: CoalitionView, targets: IntArray, candidates: Candidates) -> FloatArray:
        self._num_certain(view.coalition)
        total = np.zeros((len(targets), len(candidates.rows)))
        if not view.totals or view.background is None:
            return total
        private, is_in = view.background
        columns, share = self._phase.columns, self._phase.share
        members = [place for place in view.coalition.members if is_in[place]]
        honest = np.setdiff1d(np.flatnonzero(is_in), members)
        sum_of_others = view.totals[0].reshape(-1)[: self._phase.num_values] - view.reports[0][members].sum(axis=0)
        sum_of_others = sum_of_others - private[honest][:, columns].sum(axis=0)
        try:
            logs = share_log_law(scale=share.scale, planned=share.planned, num_shares=max(len(honest), 1))
        except NotImplementedError as error:
            allowed = f"one that does not infer: {error}"
            raise ConfigurationError(field="role", value="of inference", allowed=allowed) from None
        for number, place in enumerate(targets.tolist()):
            if is_in[place]:
                rows = self._named.rows_of(candidates, view.public[place].tolist(), private[place])
                noise = np.abs(sum_of_others + private[place, columns] - rows[:, columns])
                total[number] = logs[np.minimum(noise, len(logs) - 1)].sum(axis=1)
        return total

    def loss(self, secret: str, public: IntArray, targets: IntArray, coalition: Coalition) -> float:
        """Return the ledger's loss; with more than c members, the loss that is proven from T shares less theirs."""
        few = copy.copy(self._phase)
        few.honest = self._num_certain(coalition)
        if few.honest >= few.share.planned:
            return self._named.loss(secret, public, targets, coalition)
        events = [few.event_within(few.sensitivity_of(row)) for row in np.unique(public[targets], axis=0).tolist()]
        return max(PureAccountant.epsilon_of(event, NeighboringRelation.REPLACE_ONE) for event in events)

    def _num_certain(self, coalition: Coalition) -> int:
        """Return how many shares in the sum no member knows; ConfigurationError if there is no proof for it."""
        phase, number = self._phase, len(coalition.members)
        allowed = (
            f"at most {phase.colluders:,} with the server: each masks with some alone, and of more nothing is proven"
        )
        refuse(phase.is_sparse and coalition.has_server and number > phase.colluders, "members", f"{number:,}", allowed)
        return max(phase.threshold - number, 1)  # the target's own, at least

    def is_exact(self, secret: str, coalition: Coalition, *, votes: int) -> bool:
        return True
