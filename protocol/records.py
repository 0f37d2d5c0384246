"""Records: what each side of a session must remember across restarts.

A machine asks to store a record by `effects.Keep`. Its later effects become visible outside only after the record is
durable. From the records of a session, in their order, a machine is made again (argument `records` of `ClientMachine`
and `ServerMachine`). So a restarted party sends the same bytes and draws nothing again, and a restarted server
continues where it stopped.

Simulations write no records. Records contain no private values, except through reports that the server received or was
about to receive.
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
    """Client: budget for the session's greatest losses is reserved on the ledger.

    Args:
        expires: the time after which nobody can join, in seconds since 1970 (UTC); 0 for never.
        entries: a ledger entry for each loss, in the order in which they will be charged.
        chosen: the part of the public row that the party chose.
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
    """A client's memo about a memoized report (`memoized_reports`).

    Args:
        seal: lets the person check whether its values have changed; empty without a secret
            (`memoized_reports.seal_of`).
    """

    phase: str
    scope: Scope
    seal: str


class Drawn(_Record, frozen=True, tag="drawn", kw_only=True, omit_defaults=True):
    """Client: a step's answer was drawn and its losses charged. It may have been sent, and any resend has these bytes.

    Args:
        step: the number of the step, from 0.
        request: the server's request, encoded.
        report: the answering message, encoded.
        entries: the losses; none if the report repeats that of an earlier session.
        kept: the memo of a memoized report.
        sealed: with the first answer in a masked phase, the root of the party's secrets, sealed by its key.
        at: the time of the record, in seconds since 1970 (UTC), rounded up; 0 if unknown. The journal fills it in,
            since a machine has no clock.
    """

    step: Count = msgspec.field(name="phase")
    request: bytes
    report: bytes
    entries: tuple[LedgerEntry, ...]
    kept: Remembered | None = None
    at: Count = 0
    sealed: bytes = b""


class Acknowledged(_Record, frozen=True, tag="acknowledged", omit_defaults=True):
    """Client: the server has acknowledged a step's answer. Until then the answer may have been sent again.

    `at` is the time of the record, as in `Drawn`. `receipt` is that of the server's acknowledgement.
    """

    step: Count = msgspec.field(name="phase")
    at: Count = 0
    receipt: bytes = b""


class SessionEnded(_Record, frozen=True, tag="left", omit_defaults=True):
    """Client: the session is over for this party; unused reserved budget is released.

    Args:
        reason: why the party left; empty if it received the release.
        at: the time of the record, as in `Drawn`.
        release: the release, encoded; later calls for the outcome are answered from it.
        transcript: the digest of all public messages.
        is_final: whether the party must not join this session again, since the server or another party of a masked
            session was found at fault.
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
    """Server: a report was accepted. `report` is its payload, as it came."""

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
            ValueError, OverflowError: the data are no tally.
        """
        totals = np.array(self.totals, dtype=np.int64).reshape(self.shape)
        rows = np.array(self.rows, dtype=np.int64).reshape(len(self.rows), self.num_columns)
        return Tally(self.num_reports, totals, rows)


class PhaseClosed(_Record, frozen=True, tag="closed"):
    """Server: a step ended, with the reports of the parties at these roster indices.

    `tally` is the released tally if the server drew noise for it, so that the noise is never drawn again. Without noise
    it is computed from the reports.
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
    """Return the receipt of an acknowledgement: a keyed digest (BLAKE2b) that only the server can compute.

    Args:
        secret: the server's secret; without one the receipt is empty.

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
