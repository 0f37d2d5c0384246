"""Sessions as a person's journal has them: one heard to its end, one under way, one that failed, one that expired."""

import contextlib
import hashlib
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
from makers import loss_of
from psephos.agents.journal_format import About
from psephos.protocol.privacy import (
    LedgerEntry,
    RandomizedResponse,
)
from psephos.protocol.records import Acknowledged, ClientRecord, Drawn, Reserved, SessionEnded

NOW, LATER, LONG_AGO = 1_900_000_000, 4_000_000_000, 1_000_000_000
PHASES = ("weights", "opinions")
REPORT = b"REPORT-BYTES"


def entry(epsilon: float, phase: int, session: str, party: str) -> LedgerEntry:
    loss = loss_of(
        mechanism="randomized response", event=RandomizedResponse(epsilon, 2), unit="opinion", claimed=epsilon
    )
    return LedgerEntry.from_loss(loss, person=party, session=session, phase=PHASES[phase])


def session_of(
    session: str, *epsilons: float, num_drawn: int, expires: int = LATER, party: str = "Germany"
) -> list[ClientRecord]:
    """Return the records of a session of two phases, the first of them acknowledged."""
    entries = [entry(epsilon, phase, session, party) for phase, epsilon in enumerate(epsilons)]
    records: list[ClientRecord] = [
        Reserved(party=party, session=session, protocol="dpwevote", expires=expires, entries=tuple(entries), terms="")
    ]
    report = REPORT + session.encode()
    for phase, own in enumerate(entries[:num_drawn]):
        records += [Drawn(step=phase, request=b"r", report=report, entries=(own,))]
    return [*records, Acknowledged(0)] if num_drawn else records


SESSIONS: dict[str, list[ClientRecord]] = {
    "id-heard": [*session_of("heard", 0.5, 0.25, num_drawn=2), SessionEnded()],
    "id-under-way": session_of("under-way", 1.0, 2.0, num_drawn=1, party="DE"),
    "id-failed": [*session_of("failed", 0.125, 8.0, num_drawn=1), SessionEnded("the quorum was missed")],
    "id-expired": session_of("expired", 0.0625, 4.0, num_drawn=1, expires=LONG_AGO),
}
SPENT, HELD = 0.5 + 0.25 + 1.0 + 0.125 + 0.0625, 2.0


def change_about(path: Path, **changes: Any) -> None:
    """Let a journal that is closed say something else of itself."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as file:
        about = msgspec.msgpack.decode(file.execute("SELECT body FROM about").fetchone()[0], type=About)
        body = msgspec.msgpack.encode(msgspec.structs.replace(about, **changes))
        file.execute("UPDATE about SET body = ?, digest = ?", (body, hashlib.sha256(body).digest()))
