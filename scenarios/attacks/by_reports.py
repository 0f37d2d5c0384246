"""The attack on any protocol, from the server's view of a target's reports and their mechanisms' laws.

A coalition with the server sees the target's reports. Reports of different parties are independent, so nothing else in
the session depends on the target's row. Hence the posterior of the row, from a uniform prior over candidates, is exact.
What a release reveals to a coalition without the server is left to each protocol's attack (`System.attack`).
"""

from typing import Any, ClassVar, Final

import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.errors import ConfigurationError, refuse
from ...protocol.phases import Inputs, PhasedProtocol
from ..system import part_of
from .attack import NO_CANDIDATE, Attack, Candidates, report_log_likelihoods
from .candidates import CandidateRows, columns_seen, list_row_candidates, named_rows
from .coalition_view import CoalitionView
from .masked_sums import MaskedAttack

_MOST_CANDIDATES: Final = 1024  # a posterior over more candidates is hard to read
_MOST_PUBLIC_ROWS: Final = 32  # kinds of public rows that are compared for allowing the same private rows


class ReportAttack(Attack):
    """Infers which of its possible rows a target has.

    It uses the inputs' private rows only to check that each is possible, and to score guesses.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("tea",), weights=(1.0,), public_weights=True))
        >>> ReportAttack(vote).candidates("row").labels
        ('0', '1')
    """

    secrets: ClassVar[tuple[str, ...]] = ("row",)

    def __init__(self, protocol: PhasedProtocol[Any, Any], inputs: Inputs | None = None) -> None:
        super().__init__(protocol)
        self._inputs = inputs
        self._known: Candidates | None = None

    def against(self, inputs: Inputs) -> "ReportAttack":
        return ReportAttack(self.protocol, inputs)

    def candidates(self, secret: str) -> Candidates:
        """Return the protocol's possible rows, or else all rows that its mechanisms accept."""
        self.check_secret(secret)
        if self._known is None:
            candidates = named_rows(self.protocol) or self._list_common_rows()
            self._known = Candidates(
                candidates.rows, np.arange(len(candidates.rows), dtype=np.int64), candidates.labels
            )
            if self.protocol.trusts_server and self._inputs is not None:
                allowed = "among them each party's row, where a trusted server sees values as they are"
                field = f"possible rows of protocol {self.protocol.name!r}"
                refuse(NO_CANDIDATE in self.truths(self.secrets[0], self._inputs), field, "others", allowed)
        return self._known

    def truths(self, secret: str, inputs: Inputs) -> IntArray:
        columns = columns_seen(self.protocol)
        candidate_rows: list[list[int]] = self.candidates(secret).rows.tolist()
        same = {tuple(row): place for place, row in enumerate(candidate_rows)}
        index_of_values: dict[tuple[int, ...], int] = {}  # the first of the rows that no phase distinguishes
        for place, row in enumerate(candidate_rows):
            index_of_values.setdefault(tuple(row[column] for column in columns), place)
        private_rows: list[list[int]] = inputs.private.tolist()
        places = (
            same.get(tuple(row), index_of_values.get(tuple(row[column] for column in columns), NO_CANDIDATE))
            for row in private_rows
        )
        return np.array(list(places), dtype=np.int64)

    def log_likelihoods(self, view: CoalitionView, targets: IntArray, candidates: Candidates) -> FloatArray:
        if not view.coalition.has_server:
            return self.release_log_likelihoods(view, targets, candidates)
        try:
            return report_log_likelihoods(view, targets, candidates.rows)
        except NotImplementedError as error:
            allowed = f"one whose mechanisms say their law (RowMechanism.log_likelihoods): {error}"
            raise ConfigurationError(field="protocol", value=self.protocol.name, allowed=allowed) from None

    def release_log_likelihoods(self, view: CoalitionView, targets: IntArray, candidates: Candidates) -> FloatArray:
        """Refuse: the likelihood of a release is not known for every protocol."""
        del targets, candidates
        allowed = (
            f"with 'server' among them: what the release of protocol {self.protocol.name!r} tells without its reports "
            f"is not computed (the part `attack` of a System says how)"
        )
        number = len(view.coalition.members)
        raise ConfigurationError(field="members", value=f"{number:,} without the server", allowed=allowed)

    def _list_common_rows(self) -> CandidateRows:
        """Return all rows that the mechanisms accept, if they are the same for all parties."""
        if self._inputs is None:
            return list_row_candidates(self.protocol, (), limit=_MOST_CANDIDATES)
        kinds: list[list[int]] = np.unique(self._inputs.public, axis=0).tolist()
        first, *other_tables = [
            list_row_candidates(self.protocol, public, limit=_MOST_CANDIDATES) for public in kinds[:_MOST_PUBLIC_ROWS]
        ]
        is_same = all(np.array_equal(first.rows, other.rows) for other in other_tables)
        allowed = "given by its method possible_entries(), where public rows may say what a party can hold"
        field = f"possible rows of protocol {self.protocol.name!r}"
        refuse(not is_same or len(kinds) > _MOST_PUBLIC_ROWS, field, f"{len(kinds)} kinds of public rows", allowed)
        return first


def find_attack(protocol: PhasedProtocol[Any, Any]) -> Attack:
    """Return the attack on a protocol's parties: its system's, or else `ReportAttack`.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> type(find_attack(DPWeVote(Parameters(candidates=("tea",), weights=(1, 2))))).__name__
        'DPWeVoteAttack'
    """
    kind: type[Attack] | None = part_of(type(protocol), "attack", Attack, is_class=True)
    attack = (ReportAttack if kind is None else kind)(protocol)
    masked = protocol.masked_phase
    return attack if masked is None else MaskedAttack(masked, attack)
