"""The audit of whole sessions: what a party's ledger is charged, against the neighbors that lose most.

The rule that holds here: losses are what the ledger of a party has after the sessions that it took part in.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from ...protocol.arrays import FloatArray
from ...protocol.kept import KeptReports
from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import Ledger, LedgerEntry
from ...protocol.randomness import SimulatedNoise
from .case import Case, Pair
from .exposures import Exposure
from .machines import SESSION, by_machines, roster_of

__all__ = ["PARTY_SECURE_SHARE", "PARTY_SHARE", "case_of", "charge"]

PARTY_SHARE: Final = 0.2
"""Of the outputs that are asked for: one of several numbers takes a few microseconds."""
PARTY_SECURE_SHARE: Final = 0.06
"""The same of sessions with the noise of deployments, of which a party takes some tenths of a millisecond."""


def charge(
    protocol: PhasedProtocol[Any, Any],
    row: Sequence[int],
    public: Sequence[int],
    *,
    num_sessions: int,
    ledger: Ledger | None = None,
) -> Sequence[LedgerEntry]:
    """Return the lines of a party's ledger after it took part in these sessions, which are held by machines.

    Args:
        protocol: what is run.
        row: the party's private row; whatever it is, the ledger has the same lines.
        public: its public row.
        num_sessions: how often.
        ledger: its ledger; by default a new one.
    """
    ledger = Ledger("party") if ledger is None else ledger
    inputs = roster_of(protocol, [row], [public])
    kept: KeptReports = {}
    for number in range(1, num_sessions + 1):
        session = f"{SESSION}-{number}"
        noise = SimulatedNoise(0, session=session)
        by_machines(protocol, inputs, session=session, noise=noise, kept=kept, ledgers=[ledger])
    return ledger.entries


def case_of(
    protocol: PhasedProtocol[Any, Any],
    exposure: Callable[[], Exposure],
    entries: Sequence[LedgerEntry],
    *,
    name: str,
    unit: str,
    num_sessions: int,
    names: Sequence[str],
    are_neighbors: Callable[[int, int], bool] = lambda first, second: first != second,
    charged: Callable[[LedgerEntry], tuple[float, float]] = lambda entry: (entry.claimed, entry.proven),
    is_tight: bool = False,
    share: float = PARTY_SHARE,
    secure_share: float = PARTY_SECURE_SHARE,
    note: str = "",
) -> Case:
    """Return the audit of whole sessions: the neighbors that lose most by the randomizers' own laws.

    All neighbors among the candidates are tried, in both directions.

    Args:
        protocol: what is run.
        exposure: makes what leaves the party; called when neighbors are asked for.
        entries: what the party's ledger has been charged in these sessions (`charge`).
        name: of the variant, distinct with the number of sessions.
        unit: in words, without the sessions.
        num_sessions: as the exposure's.
        names: of the candidates.
        are_neighbors: which candidates differ in the unit alone.
        charged: what a line of the ledger claims and proves of the unit.
        is_tight: see `Case`.
        share: see `Case`.
        secure_share: see `Case`.
        note: see `Case`.
    """
    (relation,) = {entry.relation for entry in entries}
    (model,) = {entry.model for entry in entries}
    charges = [charged(entry) for entry in entries]

    def pairs() -> list[Pair]:
        made = exposure()
        first, second = _worst(made.losses, are_neighbors)
        return [made.pair(first, second, name=f"{names[first]}, against {names[second]}")]

    return Case(
        name=name if num_sessions == 1 else f"{name}, twice",
        group=protocol.name,
        unit=unit if num_sessions == 1 else f"{unit}, {num_sessions} sessions",
        relation=relation,
        model=model,
        claimed=math.fsum(claimed for claimed, _ in charges),
        proven=math.fsum(proven for _, proven in charges),
        pairs=pairs,
        is_tight=is_tight,
        note=note,
        share=share,
        secure_share=secure_share,
    )


def _worst(losses: FloatArray, are_neighbors: Callable[[int, int], bool]) -> tuple[int, int]:
    """Return the neighbors of the greatest loss, the first ones of several."""
    number = len(losses)
    places = ((first, second) for first in range(number) for second in range(number))
    return max((pair for pair in places if are_neighbors(*pair)), key=lambda pair: float(losses[pair]))
