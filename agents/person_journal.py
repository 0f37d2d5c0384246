"""A person's journal: all reservations, reports and losses of every session, in one file. It is the person's ledger.

Everything that may have been sent is in the file, so that its loss is charged, and a resend has the same bytes. A
session's reserved budget is not available to others until the session has ended or expired.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol, Self

import msgspec

from ..protocol.errors import JournalError
from ..protocol.masking import IN_DISPUTE, MaskingMove
from ..protocol.memoized_reports import KeptReport
from ..protocol.messages import Report, decode
from ..protocol.phases import Phase
from ..protocol.privacy import Budget, Ledger, LedgerEntry
from ..protocol.privacy.periods import keep_recent
from ..protocol.records import Acknowledged, ClientRecord, Drawn, Record, Remembered, Reserved, SessionEnded
from .journal_file import JournalFile, read_own
from .journal_format import About, Closing, Row, decode_record
from .rollback_guard import RollbackGuard

PERSON: Final = "person"
"""The kind of these journals."""
_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[ClientRecord] = msgspec.msgpack.Decoder(ClientRecord)


_IN_DISPUTE: Final = frozenset(number for number, move in enumerate(MaskingMove) if move in IN_DISPUTE)
"""The steps that a masked session may skip. The journal does not know which sessions are masked; the machine does."""


class SessionRecords:
    """The records of one session in a person's journal.

    Attributes:
        first: the first reservation, which names party and session; None before it.
        end_record: how the session ended for this party; None while it may continue.
        latest: the greatest recorded time, in seconds since 1970; 0 if there is none.
    """

    __slots__ = (
        "_acknowledgements",
        "_draws",
        "_held_losses",
        "end_record",
        "first",
        "latest",
        "records",
        "session_id",
    )

    def __init__(self, session_id: str, records: Sequence[ClientRecord] = ()) -> None:
        self.session_id = session_id
        self.records: list[ClientRecord] = []
        self.first: Reserved | None = None
        self._draws: dict[int, Drawn] = {}
        self._acknowledgements: dict[int, Acknowledged] = {}
        self._held_losses: tuple[LedgerEntry, ...] = ()
        self.end_record: SessionEnded | None = None
        self.latest = 0
        for record in records:
            self.add(record)

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """The losses that are charged."""
        return tuple(entry for draw in self._draws.values() for entry in draw.entries)

    @property
    def timed_entries(self) -> Iterator[tuple[float, LedgerEntry]]:
        """Yield the charged entries with a time not before the last sending of anything that depends on the report.

        The release depends on the report, even long after the server has acknowledged it. So before the release was
        received, or if no time was recorded, the time is the session's expiry, or infinity without one.
        """
        expires = math.inf if self.first is None else float(self.first.expires or math.inf)
        release_time = 0 if self.end_record is None or self.end_record.reason else self.end_record.at
        for draw in self._draws.values():
            time = float(max(draw.at, release_time)) if draw.at and release_time else expires
            for entry in draw.entries:
                yield time, entry

    @property
    def num_drawn(self) -> int:
        """How many reports were drawn, and may have left."""
        return len(self._draws)

    @property
    def num_acknowledged(self) -> int:
        """How many of them the server keeps."""
        return len(self._acknowledgements)

    @property
    def reports_kept(self) -> Iterator[Drawn]:
        """Yield the reports that later sessions repeat."""
        return (draw for draw in self._draws.values() if draw.kept is not None)

    def has_expired(self, now: float) -> bool:
        """Return whether nobody takes part any more."""
        return self.first is not None and 0 < self.first.expires < now

    def held_entries(self, now: float) -> tuple[LedgerEntry, ...]:
        """Return the losses for which the session holds room."""
        return () if self.has_expired(now) else self._held_losses

    def contradiction(self, record: ClientRecord) -> str:
        """Return how a record contradicts those that are here; empty if it does not."""
        match record:
            case Reserved() if self.first is not None:
                for field in ("party", "session", "protocol", "expires", "chosen"):
                    ours, theirs = getattr(self.first, field), getattr(record, field)
                    if ours != theirs:
                        return f"has {field} {ours!r} for session {self.session_id}, and not {theirs!r}"
            case Drawn(step=step) if step in self._draws and _drop_time(record) != _drop_time(self._draws[step]):
                return f"has another report of phase {step} of session {self.session_id}"
            case Drawn(step=step) if {*range(step)} - self._draws.keys() - _IN_DISPUTE:
                return f"has {len(self._draws)} reports of session {self.session_id}, and phase {step} is not the next"
            case Drawn() | Acknowledged() if self.first is None:
                return f"has nothing reserved for session {self.session_id}"
            case Acknowledged(step) if step not in self._draws:
                return f"has no report of phase {step} of session {self.session_id}"
            case _:
                pass
        return ""

    def says_nothing_new(self, record: ClientRecord) -> bool:
        """Return whether the record is kept already."""
        match record:
            case Drawn(step=step):
                return step in self._draws
            case Acknowledged(step):
                return step in self._acknowledgements
            case Reserved(entries=entries):
                return self.first is not None and self.end_record is None and entries == self._held_losses
            case SessionEnded():  # a party that left before reserving has no entries
                end_record = self.end_record
                is_same = end_record is not None and (record.reason, record.is_final) == (
                    end_record.reason,
                    end_record.is_final,
                )
                return is_same or self.first is None

    def add(self, record: ClientRecord) -> None:
        """Take a record up, which contradicts nothing."""
        self.records.append(record)
        self.latest = max(self.latest, 0 if isinstance(record, Reserved) else record.at)
        match record:
            case Reserved():
                self.first = self.first or record
                self._held_losses, self.end_record = record.entries, None
            case Drawn():
                self._draws[record.step] = record
                names = {entry.phase for entry in record.entries}
                self._held_losses = tuple(entry for entry in self._held_losses if entry.phase not in names)
            case Acknowledged():
                self._acknowledgements[record.step] = record
            case SessionEnded():
                self._held_losses, self.end_record = (), record


class RowsFile(Protocol):
    """The interface of the file behind a person's journal: a `JournalFile`, or a part of a shared one."""

    path: Path
    is_new: bool

    @property
    def append(self) -> Callable[[Sequence[Row]], None]:
        """Keep rows, all of them or none."""
        ...

    def check(self) -> None:
        """Raise JournalError if it is not known which rows are kept."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class PersonSession:
    """A person's part in one session: its records, and the journal for further ones (`journals.Journal`).

    `other_sessions` are all sessions of the journal while it is open. A memoized report must be the same in all of
    them.
    """

    def __init__(
        self,
        file: RowsFile,
        session: SessionRecords,
        other_sessions: Mapping[str, SessionRecords] | None = None,
        *,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._file = file
        self._clock = clock
        self._session = session
        self._other_sessions = dict[str, SessionRecords]() if other_sessions is None else other_sessions

    @property
    def records(self) -> tuple[ClientRecord, ...]:
        """All that is kept of the session, in order."""
        return tuple(self._session.records)

    def keep(self, records: Sequence[Record]) -> None:
        """Make records durable, all of them or none; skip those that are stored already.

        Raises:
            JournalError: they cannot be written, or contradict stored ones.
            TypeError: a record is a server's.
        """
        session = self._session
        records_after = SessionRecords(session.session_id, session.records)
        fresh: list[ClientRecord] = []
        for record in records:
            if not isinstance(record, ClientRecord):
                raise TypeError(f"a person's journal keeps no {type(record).__name__}")
            if contradiction := records_after.contradiction(record) or self._other_report(record):
                raise JournalError(contradiction, path=str(self._file.path))
            if not records_after.says_nothing_new(record):
                dated = self._add_time(record)
                records_after.add(dated)
                fresh.append(dated)
        if fresh:
            self._file.append([row_of(session.session_id, record) for record in fresh])
        for record in fresh:
            session.add(record)

    def _add_time(self, record: ClientRecord) -> ClientRecord:
        """Return a record with its time, where there is a clock; never before that of another one."""
        if self._clock is None or isinstance(record, Reserved):
            return record
        latest = max((session.latest for session in self._other_sessions.values()), default=0)
        return msgspec.structs.replace(record, at=max(latest, math.ceil(self._clock())))

    def _other_report(self, record: ClientRecord) -> str:
        """Return how a report contradicts one that another session has drawn meanwhile for both."""
        if not isinstance(record, Drawn) or record.kept is None:
            return ""
        earlier_report = _first_kept(self._other_sessions.values(), record.kept)
        if earlier_report is None or _payload_of(earlier_report[1]) == _payload_of(record):
            return ""
        return f"has another report of phase {record.kept.phase!r} in {record.kept.scope}: join again, to repeat that"


def _first_kept(sessions: Iterable[SessionRecords], memo: Remembered) -> tuple[SessionRecords, Drawn] | None:
    """Return the first report of a phase in a scope, with its session; its law may be another."""
    key = (memo.scope.kind, memo.scope.name, memo.phase)
    for session in sessions:
        for draw in session.reports_kept:
            has = draw.kept
            if has is not None and (has.scope.kind, has.scope.name, has.phase) == key:
                return session, draw
    return None


def _drop_time(draw: Drawn) -> Drawn:
    return msgspec.structs.replace(draw, at=0)


def _payload_of(draw: Drawn) -> bytes:
    report = decode(draw.report)
    if not isinstance(report, Report):
        raise JournalError("holds something else where a report was kept")
    return bytes(report.payload)


class Recalled(NamedTuple):
    """A report that an earlier session drew.

    Args:
        report: the report for `ClientMachine`.
        session: the earlier session's name.
    """

    report: KeptReport
    session: str


class PersonJournal(Closing):
    """A person's journal, opened exclusively by `PersonJournal.open`; close it, or use it in a `with` statement."""

    def __init__(
        self,
        file: RowsFile,
        rows: Sequence[Row],
        *,
        now: float,
        clock: Callable[[], float] | None = None,
        unsure: Collection[str] = (),
    ) -> None:
        self._file = file
        self._now = now
        self._clock = clock
        self._sessions = sessions_of(rows, file.path)
        self._unsure_names = unsure

    @classmethod
    def open(
        cls, path: Path, *, now: float, clock: Callable[[], float] | None = None, witness: RollbackGuard | None = None
    ) -> Self:
        """Open a journal, or create one if there is none.

        Args:
            path: the path of the file.
            now: the current time in seconds since 1970 (UTC). Sessions that expired before it hold no budget.
            clock: returns the time of each later loss; without one losses are stored without a time.
            witness: records the journal's length outside its folder, so that an older copy is detected.

        Raises:
            JournalError: another process has it open; or it cannot be read or written, is not a person's, or was
                changed since its last use.
        """
        file, rows = JournalFile.open(path, About(kind=PERSON), witness=witness)
        try:
            unsure = {row.session for row in rows[: file.about.unsure_rows]}
            return cls(file, rows, now=now, clock=clock, unsure=unsure)
        except BaseException:
            file.close()
            raise

    @property
    def path(self) -> Path:
        """The file's."""
        return self._file.path

    @property
    def is_new(self) -> bool:
        """Whether it was begun just now: losses that are not in it are not known."""
        return self._file.is_new

    def ledger(
        self, person: str, budget: Budget | None, *, session_id: str = "", period_seconds: float | None = None
    ) -> Ledger:
        """Return the ledger: the losses of all sessions, under any of the person's names, and their reserved budget.

        Concurrent sessions share one ledger.

        Args:
            person: the person's name.
            budget: the budget for all sessions together; with a period, for any window of that length.
            session_id: a session whose reservation is not counted, since it reserves again as it begins or continues.
            period_seconds: the length of the window (`privacy.periods`); the ledger then has only losses within it. A
                loss without a known time counts as new until its session has been expired for this time.

        Raises:
            ConfigurationError: the period is not positive and finite.
            PrivacyError: a loss cannot be converted to the budget's relation.
            JournalError: after an earlier error the content is unknown, so the journal must be opened again.
        """
        self._file.check()
        sessions = self._sessions.values()
        entries = [entry for session in sessions for entry in session.entries]
        if period_seconds is not None:
            now = self._now if self._clock is None else self._clock()
            timed = [timed_entry for session in sessions for timed_entry in session.timed_entries]
            entries = keep_recent(timed, now=now, seconds=period_seconds)
        return Ledger(
            person,
            budget=budget,
            entries=entries,
            held_entries=[
                entry for each in sessions if each.session_id != session_id for entry in each.held_entries(self._now)
            ],
        )

    def sitting(self, session_id: str) -> PersonSession:
        """Return the person's part in a session, which may have begun in another process.

        Raises:
            JournalError: the session cannot continue, since the journal was restored from a backup, and reports may be
                missing.
        """
        session = self._sessions.get(session_id)
        if session is None:
            session = self._sessions[session_id] = SessionRecords(session_id)
        if session_id in self._unsure_names:
            reason = (
                f"was restored from a backup, and session {session_id} may have gone on after that was made: a report "
                "could be drawn twice. It cannot be joined from here"
            )
            raise JournalError(reason, path=str(self.path))
        return PersonSession(self._file, session, self._sessions, clock=self._clock)

    def has_heard(self, session_id: str) -> bool:
        """Return whether a session's release is here, so that nobody need be asked for it."""
        session = self._sessions.get(session_id)
        return session is not None and session.end_record is not None and bool(session.end_record.release)

    def num_acknowledged(self, session_id: str) -> int:
        """Return how many reports of a session its server keeps, as far as that was heard."""
        session = self._sessions.get(session_id)
        return 0 if session is None else session.num_acknowledged

    def recall(self, phases: Iterable[Phase], *, session_id: str = "") -> dict[str, Recalled]:
        """Return the reports of earlier sessions that these phases repeat, by the phase's name.

        Args:
            phases: the phases.
            session_id: the current session, which does not count as an earlier one.

        Raises:
            ConfigurationError: a report was drawn by another law.
            JournalError: a record is no report of its phase.
        """
        other_sessions = [session for session in self._sessions.values() if session.session_id != session_id]
        recalled: dict[str, Recalled] = {}
        for phase in phases:
            if phase.memo_scope is None:
                continue
            memo = Remembered(phase=phase.name, scope=phase.memo_scope, seal="")
            if (first_found := _first_kept(other_sessions, memo)) is None or (
                remembered := first_found[1].kept
            ) is None:
                continue
            phase.memo_scope.check(remembered.scope)
            try:
                numbers = phase.codec.decode(_payload_of(first_found[1]))
            except (msgspec.DecodeError, JournalError) as error:
                reason = f"has no report of phase {phase.name!r} where one of {phase.memo_scope} is kept"
                raise JournalError(reason, path=str(self.path)) from error
            name = "" if first_found[0].first is None else first_found[0].first.session
            report = KeptReport(scope=remembered.scope, report=numbers, seal=remembered.seal)
            recalled[phase.name] = Recalled(report, name)
        return recalled

    def close(self) -> None:
        self._file.close()


def read_sessions(
    path: Path, *, kind: str | tuple[str, ...] = PERSON, witness: RollbackGuard | None = None
) -> tuple[About, dict[str, SessionRecords]]:
    """Read a person's journal: its description, and its sessions by id; another process may have it open.

    Args:
        path: the path of the file.
        kind: as in `read_journal`. A host's journal has a session for each of its parties (`host_journal.HOST`).
        witness: as in `PersonJournal.open`.

    Raises:
        JournalError: it cannot be read, is not of that kind, or was changed since its last use.
    """
    contents = read_own(path, kind=kind, witness=witness)
    return contents.about, sessions_of(contents.rows, path)


def sessions_of(rows: Sequence[Row], path: Path) -> dict[str, SessionRecords]:
    """Return the sessions of a person's journal by id, in the order in which they began.

    Raises:
        JournalError: a row is no record of a person's journal.
    """
    sessions: dict[str, SessionRecords] = {}
    for row in rows:
        record = decode_record(row.body, _decoder, path)
        sessions.setdefault(row.session, SessionRecords(row.session)).add(record)
    return sessions


def row_of(session_id: str, record: ClientRecord) -> Row:
    """Return a record as a row: a session has one report, and one acknowledgement, of a step."""
    match record:
        case Drawn():
            kind, key = "drawn", str(record.step)
        case Acknowledged():
            kind, key = "acknowledged", str(record.step)
        case Reserved():
            kind, key = "reserved", None
        case SessionEnded():
            kind, key = "left", None
    return Row(session_id, kind, key, _encoder.encode(record))
