"""Audits of whole sessions: the loss that a party's ledger is charged, against the worst neighbors.

The stated losses are those in a party's ledger after it took part in the sessions.

In audits of two parties, neighbors differ only in the first party's row. Reports of different parties must be
independent, so an observer of both learns about the first party no more than its ledger states. Shared randomness would
be detected.
"""

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.memoized_reports import KeptReports
from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import Ledger, LedgerEntry
from ...protocol.randomness import SimulatedNoise
from .case import Case, OutputSampler, Pair, Source
from .exposed_parts import Reported
from .machines import (
    SESSION,
    SessionRunner,
    noise_of,
    reports_of_all,
    roster_of,
    run_by_agents,
    run_by_arrays,
    run_by_machines,
    session_sampler,
)
from .observables import Observable, exposure_of_party

PARTY_SHARES: Final = (0.2, 0.06)
"""Fractions of the requested outputs (simulated, secure): an output takes a few μs, and with secure noise some tenths
of a ms."""
TWO_PARTY_SHARES: Final = (0.01, 0.04)
"""The same for two parties: a session takes tens of μs by arrays, and up to two ms by machines."""
AGENT_SHARES: Final = (0.0006, 0.015)  # the same for agents, which take some milliseconds


def charge(
    protocol: PhasedProtocol[Any, Any], row: Sequence[int], public: Sequence[int], *, num_sessions: int
) -> Sequence[LedgerEntry]:
    """Return a party's ledger entries after some sessions, run by machines.

    The entries do not depend on the private row.
    """
    ledger = Ledger("party")
    inputs = roster_of(protocol, [row], [public])
    memoized: KeptReports = {}
    for number in range(1, num_sessions + 1):
        session = f"{SESSION}-{number}"
        noise = SimulatedNoise(0, session=session)
        run_by_machines(protocol, inputs, session=session, noise=noise, memoized=memoized, ledgers=[ledger])
    return ledger.entries


@dataclasses.dataclass(frozen=True, eq=False)
class AuditParty:
    """A party of sessions, with named candidate rows, shape (c, private columns).

    Audits compare what all that leaves it reveals with what its ledger is charged.
    """

    protocol: PhasedProtocol[Any, Any]
    rows: IntArray
    public: Sequence[int]
    names: Sequence[str]

    def charge(self, num_sessions: int = 1) -> Sequence[LedgerEntry]:
        """Return its ledger entries. See `charge`."""
        return charge(self.protocol, self.rows[0].tolist(), self.public, num_sessions=num_sessions)

    def case(
        self,
        name: str,
        unit: str,
        *,
        num_sessions: int = 1,
        observable: Callable[[], Observable] | None = None,
        entries: Sequence[LedgerEntry] | None = None,
        are_neighbors: Callable[[int, int], bool] = operator.ne,
        **given: Any,
    ) -> Case:
        """Return the audit of whole sessions, on the neighbors with the greatest loss by the randomizers' laws.

        All neighbors among the candidates are tried, in both directions.

        Args:
            name: the variant's name; distinct together with the number of sessions.
            unit: the unit of protection, in words, without the sessions.
            num_sessions: number of sessions on the same row.
            observable: returns the observable, on demand; by default the party's reports.
            entries: claimed and proven losses of the unit over all sessions; by default the party's ledger entries.
            are_neighbors: bool, shape (c, c): which candidates differ in one unit only.
            given: other fields of `Case`.
        """
        reports = functools.partial(exposure_of_party, self.protocol, self.rows, self.public, num_sessions=num_sessions)

        def pairs() -> list[Pair]:
            observable_made = (observable or reports)()
            first, second = _worst(observable_made.losses, self.rows, are_neighbors)
            return [observable_made.pair(first, second, name=f"{self.names[first]}, against {self.names[second]}")]

        return Case.against(
            self.charge(num_sessions) if entries is None else entries,
            name=name if num_sessions == 1 else f"{name}, twice",
            group=self.protocol.name,
            unit=unit if num_sessions == 1 else f"{unit}, {num_sessions} sessions",
            pairs=pairs,
            **{"share": PARTY_SHARES[0], "secure_share": PARTY_SHARES[1]} | given,
        )


def keep_finest_loss(entry: LedgerEntry) -> LedgerEntry:
    """Return an entry with the losses of its smallest unit, such as one answer or one record."""
    return msgspec.structs.replace(entry, claimed=entry.finest_loss.claimed, proven=entry.finest_loss.proven)


def _worst(losses: FloatArray, rows: IntArray, are_neighbors: Callable[[int, int], bool]) -> tuple[int, int]:
    """Return the neighbors with the greatest loss; of equal ones those that differ in most columns, then by most."""
    number = len(losses)

    def rank(pair: tuple[int, int]) -> tuple[float, int, int]:
        if number != len(rows):  # one candidate is the party's absence
            return round(float(losses[pair]), 9), 0, 0
        distances = np.abs(rows[pair[0]] - rows[pair[1]])
        return round(float(losses[pair]), 9), int(np.count_nonzero(distances)), int(distances.sum())

    places = ((first, second) for first in range(number) for second in range(number))
    return max((pair for pair in places if are_neighbors(*pair)), key=rank)


def two_party_cases(
    party: AuditParty, other: tuple[IntArray, Sequence[int]], *, name: str, unit: str
) -> Iterator[Case]:
    """Yield the audits of two parties: by arrays and machines (simulated and secure noise), and by agents.

    `other` is the second party's private and public row.
    """
    kinds = (
        ("", run_by_arrays, run_by_machines, TWO_PARTY_SHARES),
        (" among agents", run_by_agents, run_by_agents, AGENT_SHARES),
    )
    for run_session, simulated, secure, shares in kinds:
        expose_both = functools.partial(exposure_of_two, party.protocol, party.rows, party.public, other)
        yield party.case(
            f"{name}, two parties{run_session}",
            unit,
            observable=functools.partial(expose_both, simulated=simulated, secure=secure),
            share=shares[0],
            secure_share=shares[1],
        )


def exposure_of_two(
    protocol: PhasedProtocol[Any, Any],
    rows: IntArray,
    public: Sequence[int],
    other: tuple[IntArray, Sequence[int]],
    *,
    simulated: SessionRunner = run_by_arrays,
    secure: SessionRunner = run_by_machines,
) -> Observable:
    """Return the observable of two parties in the local model: the first has a candidate row, the other a fixed one.

    `simulated` and `secure` run sessions with the noise of simulations and of deployments.
    """
    other_row, other_public = other

    def sampler(candidate: int, side: int, holder: SessionRunner, source: Source) -> OutputSampler:
        inputs = roster_of(protocol, [rows[candidate], other_row], [public, other_public])
        return session_sampler(protocol, inputs, reports_of_all, noise_of(source), side=side, hold=holder)

    reported = (Reported(protocol, phase, rows, public) for phase in protocol.phases)
    other_rows = np.tile(other_row, (len(rows), 1))
    other_reported = (Reported(protocol, phase, other_rows, other_public) for phase in protocol.phases)
    return Observable(
        (*reported, *other_reported),
        num_sessions=1,
        simulated=lambda candidate, side: sampler(candidate, side, simulated, "simulated"),
        secure=lambda candidate, side: sampler(candidate, side, secure, "secure"),
    )
