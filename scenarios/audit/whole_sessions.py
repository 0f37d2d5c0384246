"""The audit of whole sessions: what a party's ledger is charged, against the neighbors that lose most.

The rule that holds here: losses are what the ledger of a party has after the sessions that it took part in.

Of two parties jointly, neighbors differ in the first one's row alone. Reports of different parties are drawn
independently, so that whoever sees both learns of the first party what its ledger says. What they shared would show.
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
"""Of the outputs that are asked for: one of several numbers takes a few microseconds, and in sessions with the noise of
deployments some tenths of a millisecond."""
TWO_PARTY_SHARES: Final = (0.01, 0.04)
"""The same of two parties: a session by arrays takes tens of microseconds, one by machines up to two
milliseconds."""
AGENT_SHARES: Final = (0.0006, 0.015)  # the same of agents, which take some milliseconds


def charge(
    protocol: PhasedProtocol[Any, Any], row: Sequence[int], public: Sequence[int], *, num_sessions: int
) -> Sequence[LedgerEntry]:
    """Return the lines of a party's ledger after it took part in these sessions, which are held by machines.

    Whatever its private row is, the ledger has the same lines.
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
    """A party of sessions, and the named private rows that it may hold, shape (c, private columns).

    All that leaves it is held against what its ledger is charged.
    """

    protocol: PhasedProtocol[Any, Any]
    rows: IntArray
    public: Sequence[int]
    names: Sequence[str]

    def charge(self, num_sessions: int = 1) -> Sequence[LedgerEntry]:
        """Return the lines of its ledger. See `charge`."""
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
        """Return the audit of whole sessions: the neighbors that lose most by the randomizers' own laws.

        All neighbors among the candidates are tried, in both directions.

        Args:
            name: of the variant, distinct with the number of sessions.
            unit: in words, without the sessions.
            num_sessions: how often.
            exposure: makes what leaves the party, when neighbors are asked for; by default its reports.
            entries: what is claimed and proven of the unit in all sessions; by default the lines of its ledger.
            are_neighbors: which candidates differ in the unit alone.
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
    """Return the neighbors of the greatest loss; of several those that differ in most columns, and then by most."""
    number = len(losses)

    def rank(pair: tuple[int, int]) -> tuple[float, int, int]:
        if number != len(rows):  # one of them is that nobody is there
            return round(float(losses[pair]), 9), 0, 0
        distances = np.abs(rows[pair[0]] - rows[pair[1]])
        return round(float(losses[pair]), 9), int(np.count_nonzero(distances)), int(distances.sum())

    places = ((first, second) for first in range(number) for second in range(number))
    return max((pair for pair in places if are_neighbors(*pair)), key=rank)


def two_party_cases(
    party: AuditParty, other: tuple[IntArray, Sequence[int]], *, name: str, unit: str
) -> Iterator[Case]:
    """Yield the audits of two parties: by arrays with simulated noise and by machines with secure noise; by agents.

    `other` is the other's private and public row.
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
    """Return all that leaves two parties in the local model: the first has one of these rows, the other its own.

    Sessions are held with the noise of simulations and with that of deployments.
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
