"""What the sides of a session must not forget: records, in the order in which a machine asks to keep them.

A machine asks by `effects.Keep`, and whatever it does after that shows outside only once the record is durable. So a
party that restarts repeats its bytes and draws nothing again, and a server that restarts goes on where it stood. From
the records of a session, in their order, a machine is made again (`ClientMachine`, `ServerMachine`: `records`).

Nothing here is written by a simulation, and nobody's private values are in it: of those a party's reports say no more
than the server was, or was about to be, told.
"""

import hashlib
from typing import TypeAlias

import msgspec
import numpy as np

from .memoized_reports import Scope
from .messages import MAX_RECEIPT_BYTES, Choice, Count, WireStruct
from .privacy import LedgerEntry
from .tally import Tally


class _Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of a journal, tagged by its kind."""


class Reserved(_Record, frozen=True, tag="reserved", kw_only=True, omit_defaults=True):
    """Client: the session has reserved room on the ledger for its greatest losses.

    Args:
        expires: nobody takes part after this time, in seconds since 1970 (UTC); 0 for never.
        entries: a line for each loss, in order, as it will be charged.
        chosen: what the party chose of its public row.
        terms: the terms that it agreed to, `PhasedProtocol.terms`.
    """

    party: str
    session: str
    protocol: str
    expires: int
    entries: tuple[LedgerEntry, ...]
    chosen: tuple[Choice, ...] = ()
    terms: str


class Remembered(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A client's memo beside a report that outlives its session (`memoized_reports`).

    Args:
        seal: tells the person whether its values have changed; empty without a secret (`memoized_reports.seal_of`).
    """

    phase: str
    scope: Scope
    seal: str


class Drawn(_Record, frozen=True, tag="drawn", kw_only=True, omit_defaults=True):
    """Client: a step's answer was drawn, and its losses are charged; it may have left, and leaves again as it is.

    Args:
        step: from 0.
        request: the server's request, encoded.
        report: the answering message, encoded.
        entries: the losses; none where the report is repeated from an earlier session.
        kept: the memo of a report that later sessions repeat.
        sealed: with the first answer in a masked phase: the root of the party's secrets, sealed by its key.
        at: when it was recorded, in seconds since 1970 (UTC), rounded up. A machine has no clock: its journal fills
            this in; 0 if unknown.
    """

    step: Count = msgspec.field(name="phase")
    request: bytes
    report: bytes
    entries: tuple[LedgerEntry, ...]
    kept: Remembered | None = None
    at: Count = 0
    sealed: bytes = b""


class Acknowledged(_Record, frozen=True, tag="acknowledged", omit_defaults=True):
    """Client: the server has said that a step's answer is kept on its side: until then it may have left, once more.

    `at` is when that was kept, as in `Drawn`; `receipt` is what the server knows its word by.
    """

    step: Count = msgspec.field(name="phase")
    at: Count = 0
    receipt: bytes = b""


class SessionEnded(_Record, frozen=True, tag="left", omit_defaults=True):
    """Client: the session is over for this party; room that it did not use is free.

    Args:
        reason: empty where it has heard the release.
        at: when that was kept, as in `Drawn`.
        release: the message, encoded; it is answered from here whoever asks again.
        transcript: the digest of what everybody was told.
        is_final: the server of a masked session, or another party, was found at fault, and the party joins it no more.
    """

    reason: str = ""
    at: Count = 0
    release: bytes = b""
    transcript: str = ""
    is_final: bool = False


class PhaseOpened(_Record, frozen=True, tag="opened"):
    """Server: a step began, and the parties at these places are asked."""

    step: Count = msgspec.field(name="phase")
    places: tuple[Count, ...]


class Chosen(_Record, frozen=True, tag="chosen"):
    """Server: the party at this place has said what it chooses of its public row, and is held to it."""

    place: Count
    chosen: tuple[Choice, ...]


class Accepted(_Record, frozen=True, tag="accepted"):
    """Server: a report counts. `report` is its payload, as it came."""

    step: Count = msgspec.field(name="phase")
    place: Count
    report: bytes


class KeptTally(WireStruct, frozen=True):
    """A tally as plain data. See `Tally`.

    Examples:
        >>> KeptTally.from_tally(Tally(2, np.array([1, 1]))).restore() == Tally(2, np.array([1, 1]))
        True
    """

    num_reports: int
    totals: tuple[int, ...]
    shape: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]
    num_columns: int

    @classmethod
    def from_tally(cls, tally: Tally) -> "KeptTally":
        """Make the record of a tally."""
        rows: list[list[int]] = tally.rows.tolist()
        totals: list[int] = tally.totals.reshape(-1).tolist()
        rows_kept = tuple(tuple(row) for row in rows)
        return cls(tally.num_reports, tuple(totals), tally.totals.shape, rows_kept, tally.rows.shape[1])

    def restore(self) -> Tally:
        """Return the tally.

        Raises:
            ValueError, OverflowError: it is none.
        """
        totals = np.array(self.totals, dtype=np.int64).reshape(self.shape)
        rows = np.array(self.rows, dtype=np.int64).reshape(len(self.rows), self.num_columns)
        return Tally(self.num_reports, totals, rows)


class PhaseClosed(_Record, frozen=True, tag="closed"):
    """Server: a step ended, and the reports of these places count.

    `tally` is the released one where the server drew noise for it, which is never drawn again; else it follows from the
    reports.
    """

    step: Count = msgspec.field(name="phase")
    places: tuple[Count, ...]
    tally: KeptTally | None = None


class SessionFailed(_Record, frozen=True, tag="broken", kw_only=True):
    """Server: the session is over without a result, since a phase closed without its quorum."""

    phase: str
    received: int
    required: int
    missing: tuple[str, ...]
    first_drop: str


def receipt_of(secret: bytes, *, session_id: str, party: str, step: int) -> bytes:
    """Return the server's receipt for its acknowledgement: a keyed digest (BLAKE2b) that nobody else can make.

    Args:
        secret: the server's; without one there is none.

    Examples:
        >>> len(receipt_of(b"the server's own", session_id="a1", party="ann", step=0))
        32
        >>> receipt_of(b"", session_id="a1", party="ann", step=0)
        b''
    """
    if not secret:
        return b""
    content = msgspec.msgpack.encode((session_id, party, step))
    return hashlib.blake2b(content, key=hashlib.sha256(secret).digest(), digest_size=MAX_RECEIPT_BYTES).digest()


ClientRecord: TypeAlias = Reserved | Drawn | Acknowledged | SessionEnded
ServerRecord: TypeAlias = Chosen | PhaseOpened | Accepted | PhaseClosed | SessionFailed
Record: TypeAlias = ClientRecord | ServerRecord
