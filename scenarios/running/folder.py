"""A run's folder, from which everything else is computed.

| file | holds |
|---|---|
| `scenario.json` | the scenario with settings, which `psephos run` accepts; without seed and parties' values |
| `run.json` | how it ran: transport, seconds, versions, traffic, trust and privacy cost in words, or why it failed |
| `events.jsonl` | structlog events, in order |
| `ledger.jsonl` | every privacy loss |
| `result.json` | the outcome; the same bytes for the same seed on every path |
| `estimates.csv`, `estimates.svg` | the outcome as a table and a picture; `estimates-narrow.svg`: for phones |
| `pictures.json` | seals of pictures that this user drew from these results (`presentation.seals`); pages show only
    these |
| `workers.csv` | for a synthetic or public crowd, in a simulation: each worker's weight, error and importance |
| `evidence/` | from a masked session's server: evidence against tampering parties, for `examples/verdict.py` |
| `report.html` | all of this as one page (`psephos report`) |
| `private/` | only with `--record`, only for simulations: seed, private inputs, the truth, every party's view |

If participation is private, a server's folder does not reveal who or how many took part. A run of all parties in one
process does: keep its `events.jsonl`, `ledger.jsonl` and adversaries' reports confidential.
"""

import collections
import contextlib
import datetime as dt
import json
import logging
import math
import os
from collections.abc import Generator, Iterable, Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import msgspec
import structlog

from ...agents.events import Log
from ...protocol.errors import ConfigurationError, refuse, require
from ...protocol.privacy import LedgerEntry
from ...protocol.views import View, describe
from ...transports.own_files import OWN_FOLDER, is_own
from ..reading.files import check_regular
from ..tables import csv_of, snapped

SCHEMA: Final = 2
"""The schema that `run.json` and `result.json` state; 0 for older folders, which state none."""
COMMAND: Final = "command.json"
"""File with the command of a folder without a `scenario.json`: of an audit, trials, a reproduction or a series."""
EVIDENCE: Final = "evidence"
_WARNING: Final = "simulation only: holds private inputs and the seed that takes the noise off again"
_IS_LOSS: Final = b'"event":"privacy_loss"'
_LEDGER: Final = "ledger.jsonl"
_encoder = msgspec.json.Encoder()
_entries: Final = msgspec.json.Decoder(LedgerEntry)


def to_json(value: object) -> bytes:
    r"""Return a value as one line of JSON, with control characters escaped.

    Examples:
        >>> to_json({"name": "\x1b[2J", "epsilon": 1.0})
        b'{"name":"\\u001b[2J","epsilon":1.0}'
    """
    line = _encoder.encode(value)
    text = line.decode()
    if text.isprintable():
        return line
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text).encode()


class _LineLogger:
    """A structlog logger that writes encoded lines to a file.

    Failed lines are counted by reason, and also raise an error. A live logger writes a line before the call returns,
    and syncs privacy losses to disk.
    """

    def __init__(self, file: BinaryIO, *, path: Path, failures: collections.Counter[str], is_live: bool) -> None:
        self._file = file
        self._path = path
        self._failures = failures
        self._is_live = is_live
        self._num_bytes = 0  # size of all complete lines

    def msg(self, line: bytes) -> None:
        """Write a line completely or not at all."""
        remainder = memoryview(line + b"\n")
        num_bytes = len(remainder)
        try:
            while remainder:  # an unbuffered write may be partial, and raise the error on the next call
                remainder = remainder[self._file.write(remainder) :]
            if self._is_live and _IS_LOSS in line:
                os.fsync(self._file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(self._num_bytes)
                self._file.seek(self._num_bytes)
            with contextlib.suppress(OSError):  # if the partial line cannot be removed, the next one is appended to it
                self._num_bytes = self._file.tell()
            error.filename = str(self._path)
            self._failures[error.strerror or type(error).__name__] += 1
            raise
        self._num_bytes += num_bytes

    info = warning = error = msg


@contextlib.contextmanager
def open_event_log(
    path: Path, *, is_live: bool = False, failures: collections.Counter[str] | None = None
) -> Generator[Log]:
    """Yield a structlog logger that writes events as JSON lines to a new file.

    Failed lines are counted by reason in `failures`, and raise an error, which callers may ignore. A live log writes
    each line at once, for a process that may be watched or killed: a privacy loss is on disk before its report is sent.
    """
    failures = collections.Counter() if failures is None else failures
    with _open_own(path, buffering=0 if is_live else 1 << 16) as file:
        yield structlog.wrap_logger(
            _LineLogger(file, path=path, failures=failures, is_live=is_live),
            processors=[_render],
            wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
            cache_logger_on_first_use=True,
        )


def _render(_logger: object, level: str, fields: MutableMapping[str, Any]) -> bytes:
    """Return an event as a line: its fields, level, time and name."""
    event = fields.pop("event")
    fields["level"] = level
    fields["timestamp"] = dt.datetime.now(tz=dt.UTC)
    fields["event"] = event
    return to_json(fields)


def _open_own(path: Path, *, buffering: int = -1) -> BinaryIO:
    """Open a new file that only its owner can access, without following links; it may contain private data."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    return os.fdopen(os.open(path, flags, 0o600), "wb", buffering=buffering)


class RunFolder:
    """Writes one run's folder.

    Args:
        path: a new or empty folder, created with its parents; only its owner can access it and its files.
        resumes: whether the folder is that of an interrupted run, whose files are replaced.

    Raises:
        ConfigurationError: the folder is not empty, cannot be created, or is writable by others.
    """

    def __init__(self, path: Path, *, resumes: bool = False) -> None:
        try:
            if not resumes:
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
            occupied, is_ours = any(path.iterdir()) and not resumes, is_own(path)
        except OSError as error:
            raise ConfigurationError(
                field="--out", value=str(path), allowed=f"a folder to write to ({error.strerror or error})"
            ) from None
        refuse(occupied, "--out", str(path), f"There is something in {path} already. Name a new or an empty folder.")
        refuse(not is_ours, "--out", str(path), OWN_FOLDER)
        self.path, self._resumes = path, resumes

    @property
    def events(self) -> Path:
        """The path of the event log."""
        return self.path / "events.jsonl"

    def begin(self) -> None:
        """Remove the logs of an interrupted run that is resumed."""
        if self._resumes:
            self.events.unlink(missing_ok=True)

    def write_json(self, name: str, value: object) -> None:
        """Write a value as indented JSON."""
        self.write_bytes(name, msgspec.json.format(to_json(value), indent=2) + b"\n")

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write a file of any kind."""
        with self._open(name) as file:
            file.write(data)

    def write_text(self, name: str, text: str) -> None:
        """Write a text."""
        self.write_bytes(name, text.encode())

    def write_evidence(self, evidence: bytes, number: int) -> str:
        """Write evidence against a tampering party, with a number; return the file's relative name."""
        (self.path / EVIDENCE).mkdir(mode=0o700, exist_ok=True)
        name = f"{EVIDENCE}/{number}.json"
        self.write_bytes(name, msgspec.json.format(evidence, indent=2) + b"\n")
        return name

    def write_command(self, command: str) -> None:
        """Write the folder's command in shell syntax, without a seed that protects real values."""
        self.write_json(COMMAND, {"schema": SCHEMA, "command": command})

    def write_ledger(self, entries: Iterable[LedgerEntry]) -> None:
        """Write each privacy loss as a line."""
        with self._open("ledger.jsonl") as file:
            file.writelines(to_json(entry) + b"\n" for entry in entries)

    def write_table(self, name: str, rows: Sequence[Mapping[str, object]], *, is_exact: bool = False) -> None:
        """Write rows with the same keys as CSV, with numbers `snapped` unless exact, and without formulas in cells."""
        columns = list(rows[0])
        rows = rows if is_exact else snapped(rows)
        self.write_bytes(name, csv_of([columns, *([row[name] for name in columns] for row in rows)]).encode())

    def write_recording(self, recording: Mapping[str, object], views: Iterable[View]) -> None:
        """Write the private record of a simulation: seed, private inputs, truth and views."""
        (self.path / "private").mkdir(mode=0o700)
        self.write_json("private/simulation.json", {"warning": _WARNING, **recording})
        with self._open("private/views.jsonl") as file:
            file.write(to_json({"warning": _WARNING}) + b"\n")
            for view in views:
                file.writelines(to_json(line) + b"\n" for line in _lines_of(view))

    @contextlib.contextmanager
    def _open(self, name: str) -> Generator[BinaryIO]:
        """Yield a new file; after a system error, such as a full disk, remove it, and name it in the error."""
        path = self.path / name
        try:
            if self._resumes:
                path.unlink(missing_ok=True)
            with _open_own(path) as file:
                yield file
        except OSError as error:
            if not isinstance(error, FileExistsError):
                path.unlink(missing_ok=True)  # a partial file could be read as complete
            error.filename = error.filename or str(path)
            raise


def _lines_of(view: View) -> Generator[dict[str, object]]:
    """Yield a view's lines: its party, then the messages in order."""
    yield {"party": view.party, "side": view.side.value, "session": view.session, "private_row": view.private_row}
    for step, observation in enumerate(view.observations):
        message = None if observation.message is None else describe(observation.message)
        yield {
            "party": view.party,
            "step": step,
            "happening": observation.happening.value,
            "peer": observation.peer,
            "message": message,
        }


def check_schema(fields: Mapping[str, Any], name: str) -> None:
    """Refuse the content of a JSON file that states another schema.

    Examples:
        >>> check_schema({"schema": SCHEMA}, "run.json")
        >>> check_schema({"schema": SCHEMA + 1}, "run.json")
        Traceback (most recent call last):
        psephos.protocol.errors.ConfigurationError: run.json: This Psephos reads schema 2, and this file has 3. ...
    """
    schema = fields.get("schema", SCHEMA)
    allowed = f"This Psephos reads schema {SCHEMA}, and this file has {schema}. Use the Psephos that wrote it."
    require(schema == SCHEMA, name, schema, allowed)


def read_ledger(run: Path) -> list[LedgerEntry]:
    """Return the entries of a run's ledger."""
    return list(entries_in(run))


def entries_in(run: Path) -> Iterator[LedgerEntry]:
    """Yield the entries of a run's ledger while reading it."""
    for number, line in ledger_lines(run):
        yield read_entry(line, number)


def ledger_lines(run: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a run's ledger, and their numbers from 1.

    Raises:
        ConfigurationError: the ledger cannot be read, or a later version wrote it.
    """
    for name in ("run.json", _LEDGER):
        check_regular(run / name, field=name)
    # A run that was killed has no `run.json`.
    with contextlib.suppress(OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        check_schema(msgspec.json.decode((run / "run.json").read_bytes(), type=dict[str, Any]), "run.json")
    path = run / _LEDGER
    try:
        file = path.open("rb")
    except OSError as error:
        allowed = f"the folder of a run ({error.strerror}: {path})"
        raise ConfigurationError(field="RUN", value=str(run), allowed=allowed) from None
    with file:
        yield from enumerate(file, start=1)


def read_entry(line: bytes, number: int) -> LedgerEntry:
    """Parse a line of a run's ledger; ConfigurationError if it is not an entry.

    An unbounded loss is written as null, since JSON has no infinity.
    """
    try:
        try:
            return _entries.decode(line)
        except msgspec.ValidationError:
            entry_fields: object = msgspec.json.decode(line)
            entry = cast("dict[str, Any]", entry_fields) if isinstance(entry_fields, dict) else {}
            if entry.get("proven", 0) is not None:
                raise
            return msgspec.convert({**entry, "proven": math.inf}, LedgerEntry)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        allowed = f"a ledger's entry ({error})"
        line_text = line[:80].decode(errors="replace").rstrip()
        raise ConfigurationError(field=f"{_LEDGER} line {number}", value=line_text, allowed=allowed) from None
