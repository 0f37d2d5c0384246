"""The folder that a run leaves: everything shown anywhere is computed from it.

| file | holds |
|---|---|
| `scenario.json` | the scenario with what was set, which `psephos run` takes again; no seed, nobody's values |
| `run.json` | how it ran: transport, seconds, versions, who did not hear the outcome, or why it failed |
| `events.jsonl` | structlog events, in order |
| `ledger.jsonl` | every privacy loss |
| `result.json` | the outcome; the same bytes for the same seed on every path |
| `estimates.csv`, `estimates.svg`, `estimates.png` | the outcome as a table and as a picture |
| `private/` | only with `--record`, only for simulations: seed, private inputs, the truth, every party's view |

Where it is private who takes part, no folder of a server says who or how many did. Whoever runs all parties knows: of
such a run, `events.jsonl`, `ledger.jsonl` and what adversaries learnt are for nobody else.
"""

import contextlib
import csv
import io
import logging
import math
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import msgspec
import structlog

from ...agents.events import Log
from ...protocol.errors import ConfigurationError
from ...protocol.privacy import LedgerEntry
from ...protocol.views import View, describe

__all__ = ["RunFolder", "open_event_log", "read_ledger"]

_WARNING: Final = "simulation only: holds private inputs and the seed that takes the noise off again"
_encoder = msgspec.json.Encoder()


class _Lines:
    """A structlog logger that writes encoded lines to a buffered file."""

    def __init__(self, file: BinaryIO) -> None:
        self._write = file.write

    def msg(self, line: bytes) -> None:
        self._write(line + b"\n")

    info = warning = error = msg


@contextlib.contextmanager
def open_event_log(path: Path, *, is_live: bool = False) -> Generator[Log]:
    """Yield a structlog logger whose events become lines of JSON in `path`.

    Args:
        path: the file, which is made anew.
        is_live: write each line at once, for a process that may be watched, or killed: a privacy loss is then on file
            before its report leaves.
    """
    with path.open("wb", buffering=0 if is_live else 1 << 16) as file:
        yield structlog.wrap_logger(
            _Lines(file),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.EventRenamer("event"),
                _render,
            ],
            wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
            cache_logger_on_first_use=True,
        )


def _render(_logger: object, _method: str, event: Mapping[str, Any]) -> bytes:
    return _encoder.encode(event)


class RunFolder:
    """Writes one run's folder.

    Args:
        path: a folder that does not exist yet or is empty; made with its parents.

    Raises:
        ConfigurationError: it holds something, or cannot be made.
    """

    def __init__(self, path: Path) -> None:
        try:
            path.mkdir(parents=True, exist_ok=True)
            occupied = any(path.iterdir())
        except OSError as error:
            raise ConfigurationError(
                field="--out", value=str(path), allowed=f"a folder to write to ({error})"
            ) from None
        if occupied:
            raise ConfigurationError(field="--out", value=str(path), allowed="a new or an empty folder")
        self.path = path

    @property
    def events(self) -> Path:
        """Where the event log goes."""
        return self.path / "events.jsonl"

    def write_json(self, name: str, value: object) -> None:
        """Write one value as indented JSON."""
        self._write(name, msgspec.json.format(_encoder.encode(value), indent=2) + b"\n")

    def write_ledger(self, entries: Iterable[LedgerEntry]) -> None:
        """Write every privacy loss, a line each."""
        with self._open("ledger.jsonl") as file:
            file.writelines(_encoder.encode(entry) + b"\n" for entry in entries)

    def write_table(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Write rows with the same keys as CSV."""
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        self._write(name, text.getvalue().encode())

    def write_recording(self, recording: Mapping[str, object], views: Iterable[View]) -> None:
        """Write what only a simulation may write: seed, private inputs, the truth, views."""
        (self.path / "private").mkdir()
        self.write_json("private/simulation.json", {"warning": _WARNING, **recording})
        with self._open("private/views.jsonl") as file:
            file.write(_encoder.encode({"warning": _WARNING}) + b"\n")
            for view in views:
                file.writelines(_encoder.encode(line) + b"\n" for line in _lines_of(view))

    def _write(self, name: str, data: bytes) -> None:
        with self._open(name) as file:
            file.write(data)

    @contextlib.contextmanager
    def _open(self, name: str) -> Generator[BinaryIO]:
        """Yield a new file; what the system says against it (a full disk) then names it."""
        path = self.path / name
        try:
            with path.open("wb") as file:
                yield file
        except OSError as error:
            error.filename = error.filename or str(path)
            raise


def _lines_of(view: View) -> Generator[dict[str, object]]:
    """Yield a view: who saw it, then what was seen, in order."""
    yield {"party": view.party, "side": view.side.value, "session": view.session, "private_row": view.private_row}
    for step, seen in enumerate(view.observations):
        message = None if seen.message is None else describe(seen.message)
        yield {
            "party": view.party,
            "step": step,
            "happening": seen.happening.value,
            "peer": seen.peer,
            "message": message,
        }


def read_ledger(run: Path) -> list[LedgerEntry]:
    """Return the entries of a run's ledger.

    Args:
        run: the run's folder.

    Raises:
        ConfigurationError: there is no ledger, or a line is none of a ledger's.
    """
    path = run / "ledger.jsonl"
    decoder = msgspec.json.Decoder(LedgerEntry)
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        allowed = f"the folder of a run ({error.strerror}: {path})"
        raise ConfigurationError(field="RUN", value=str(run), allowed=allowed) from None
    entries: list[LedgerEntry] = []
    for number, line in enumerate(lines, start=1):
        try:
            entries.append(_read_entry(line, decoder))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            allowed = f"a ledger's entry ({error})"
            shown = line[:80].decode(errors="replace")
            raise ConfigurationError(field=f"{path.name} line {number}", value=shown, allowed=allowed) from None
    return entries


def _read_entry(line: bytes, decoder: msgspec.json.Decoder[LedgerEntry]) -> LedgerEntry:
    """Return the entry of a line. JSON has no infinity: a loss that nothing bounds is written as null."""
    try:
        return decoder.decode(line)
    except msgspec.ValidationError:
        written: object = msgspec.json.decode(line)
        entry = cast("dict[str, Any]", written) if isinstance(written, dict) else {}
        if entry.get("proven", 0) is not None:
            raise
        return msgspec.convert({**entry, "proven": math.inf}, LedgerEntry)
