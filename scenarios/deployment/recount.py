"""Recount a deployment's reports, from files or from the server's journal of the session.

A file has a row for each report: `place`, the party's index in the roster from 0; `phase`, the phase's name; and
`payload`, the received bytes, in text formats as hexadecimal digits. Over all files, rows are sorted by place and then
by phase, so that duplicates are detected with constant memory. A session with a trusted server cannot be recounted,
since its noise is drawn once.
"""

import contextlib
import csv
import hashlib
import os
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from ...agents.journal_format import SESSION, decode_record, read_journal
from ...protocol.arrays import IntArray
from ...protocol.columns import CodedColumn
from ...protocol.errors import ConfigurationError, QuorumError, require
from ...protocol.phases import Phase
from ...protocol.plugin_checks import checked_outcome, checked_tally
from ...protocol.records import Accepted, Chosen, PhaseClosed, ServerRecord
from ...protocol.roles import SessionKind
from ...protocol.session_flow import SessionResult
from ...protocol.tally import Merged
from ..reading.batches import TableFiles
from ..reading.columns import RowBatch
from ..reading.files import readable
from ..reading.grouping import numbers_in
from ..running.folder import RunFolder
from ..running.plugin_errors import blame_plugins, parts_of
from ..running.resolution import ServerRun
from ..running.results import public_result
from ..running.statements import setting_of
from ..running.writing import open_run, write_outcome

_FIELD: Final = "--reports"
_PLACE, _PHASE, _PAYLOAD = _COLUMNS = ("place", "phase", "payload")
_MOST_SHOWN: Final = 40
_UNFINISHED: Final = "This session is not over. Recount it when psephos serve has ended."
_decoder: msgspec.msgpack.Decoder[ServerRecord] = msgspec.msgpack.Decoder(ServerRecord)


def read_reports(path: str) -> Generator[RowBatch]:
    """Yield the reports in a file, a folder or the files of a pattern; ConfigurationError: one cannot be read."""
    files = TableFiles(path, field=_FIELD)
    is_whole = set(_COLUMNS) <= set(files.names)
    require(is_whole, f"columns of {files.paths[0].name}", ", ".join(files.names), f"{', '.join(_COLUMNS)}, at least")
    return files.batches(_COLUMNS, has_bytes=True)


def read_journaled(side: ServerRun, path: Path) -> Iterator[RowBatch]:
    """Yield the reports in a finished session's journal, after adding the parties' choices to `side`.

    Raises:
        ConfigurationError: the journal is another session's, or the session is not over.
        JournalError: the journal cannot be read.
    """
    journal = read_journal(path, kind=SESSION)
    parameters = hashlib.sha256(side.protocol.encoded_parameters).hexdigest()
    own_header = {"session": side.scenario.name, "parameters": parameters, "roster": side.roster.digest}
    for field, value in own_header.items():
        is_own = journal.about.configuration.get(field) == value
        require(is_own, _FIELD, str(path), f"the journal of a session of this {field}: that one is of another")
    records = [decode_record(row.body, _decoder, path) for row in journal.rows]
    closed = {record.step for record in records if isinstance(record, PhaseClosed)}
    require(len(closed) == len(side.protocol.phases), _FIELD, str(path), _UNFINISHED)
    for record in records:
        if isinstance(record, Chosen):
            side.inputs.public[record.place, -side.protocol.num_chosen :] = record.chosen
    reports = [record for record in records if isinstance(record, Accepted)]
    reports.sort(key=lambda record: (record.place, record.step))
    table = {
        _PLACE: np.array([record.place for record in reports], dtype=np.int64),
        _PHASE: CodedColumn.from_values(side.protocol.phases[record.step].name for record in reports),
        _PAYLOAD: CodedColumn.from_values(record.report.hex() for record in reports),
    }
    yield RowBatch(table, path.name, range(1, len(reports) + 1), "report")


def write_reports(path: Path, batches: Iterable[RowBatch]) -> None:
    """Write reports as CSV into a new file that only its owner can read."""
    require(path.suffix == ".csv", "--export", str(path), "a file of .csv")
    with readable(path, field="--export", what="a new file in a folder that can be written"):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            rows = (row for batch in batches for row in zip(*(batch.table[name] for name in _COLUMNS), strict=True))
            csv.writer(file, lineterminator="\n").writerows([_COLUMNS, *rows])


def recount_in_folder(
    side: ServerRun, folder: RunFolder, batches: Iterable[RowBatch], *, pictures: bool = True
) -> SessionResult:
    """Recount reports, and write the results into a folder. See `recount`."""
    with open_run(folder, side, {"kind": SessionKind.DEPLOYMENT.value, "recounted": True}, has_ledger=False):
        session_result = recount(side, batches)
    scenario, num_parties = side.scenario, len(side.names)
    result = public_result(
        side.protocol, session_result, session=scenario.name, kind=SessionKind.DEPLOYMENT, num_parties=num_parties
    )
    title, setting = scenario.title or scenario.name, setting_of(side.protocol, num_parties)
    write_outcome(folder, session_result.outcome, result, title=title, setting=setting, pictures=pictures)
    return session_result


def recount(side: ServerRun, batches: Iterable[RowBatch]) -> SessionResult:
    """Return the session's result from these reports, as the server computed it.

    Raises:
        ConfigurationError: the protocol's server draws noise or hides who took part; or a row is wrong.
        QuorumError: a phase has fewer reports than its quorum.
        PluginError: the protocol's code raises an exception.
    """
    protocol, phases, num_parties = side.protocol, side.protocol.phases, len(side.names)
    for phase in phases:
        is_own = phase.tally_mechanism is None and len(phase.steps) == 1 and not phase.hides_participation
        allowed = "one in which it is public who reports, and all noise is in reports: a server draws its own only once"
        require(is_own, "phase", phase.name, allowed)
    merged_tallies, num_received = [Merged() for _ in phases], [0] * len(phases)
    with contextlib.ExitStack() as stack, blame_plugins([parts_of(protocol)], is_private=protocol.keeps_words):
        if isinstance(batches, Generator):  # it keeps a file open, also where a row is refused
            stack.enter_context(contextlib.closing(batches))
        for rows in _whole(_checked(side, batches)):
            starts = np.flatnonzero(rows[:, 1] == 0)
            counts = np.diff(np.append(starts, len(rows)))
            for number, phase in enumerate(phases):
                if not len(own_starts := starts[counts > number]):
                    break
                *earlier_phases, reports = (
                    rows[own_starts + step, 2 : 2 + each.num_reported] for step, each in enumerate(phases[: number + 1])
                )
                public, is_first = side.inputs.public[rows[own_starts, 0]], not num_received[number]
                merged_tallies[number].add(
                    checked_tally(protocol, phase, reports, earlier_phases, public, is_first=is_first)
                )
                num_received[number] += len(own_starts)
        for phase, number in zip(phases, num_received, strict=True):
            required = max(1, side.rules.phase_rules(phase.name).num_required(num_parties))
            if number < required:
                failure_fields: dict[str, Any] = {"phase": phase.name, "received": number, "required": required}
                raise QuorumError(**failure_fields, missing=(), num_missing=num_parties - number)
        tallies = tuple(tally.total() for tally in merged_tallies)
        return SessionResult(checked_outcome(protocol, tallies), tallies, tuple(num_received))


def _whole(batches: Iterable[IntArray]) -> Iterator[IntArray]:
    """Yield rows so that those of one party are in one batch."""
    held_rows: IntArray | None = None
    for batch in batches:
        rows = batch if held_rows is None else np.concatenate([held_rows, batch])
        cut = int(np.count_nonzero(rows[:, 0] != rows[-1:, 0]))
        if cut:
            yield rows[:cut]
        held_rows = rows[cut:]
    if held_rows is not None:
        yield held_rows


def _checked(side: ServerRun, batches: Iterable[RowBatch]) -> Iterator[IntArray]:
    """Yield indices of parties and phases, and the reports that a server would accept, in order, padded with 0."""
    phases, num_parties = side.protocol.phases, len(side.names)
    names = {phase.name: number for number, phase in enumerate(phases)}
    last_row = np.array([[-1, -1]], dtype=np.int64)
    for batch in batches:
        numbers_told = numbers_in(batch.table[_PLACE])
        numbers = CodedColumn.from_values(batch.table[_PHASE]).recode(names)
        is_place = (numbers_told >= 0) & (numbers_told < num_parties) & (numbers_told == np.floor(numbers_told))
        _require_all(batch, _PLACE, is_place, f"a place on the roster, from 0 to {num_parties - 1}")
        _require_all(batch, _PHASE, numbers >= 0, f"one of {', '.join(names)}")
        rows = np.stack([numbers_told.astype(np.int64), numbers], axis=1)
        step = rows - np.concatenate([last_row, rows[:-1]])
        follows = ((step[:, 0] > 0) & (numbers == 0)) | ((step[:, 0] == 0) & (step[:, 1] == 1))
        allowed = "in the order of places, and of one place in that of phases: each once, and none left out"
        _require_all(batch, _PLACE, follows, allowed)
        last_row = rows[-1:]
        yield np.concatenate([rows, _decode_rows(side, batch, rows)], axis=1)


def _require_all(batch: RowBatch, column: str, are_fine: Any, allowed: str) -> None:
    if not are_fine.all():
        row = int(np.argmin(are_fine))
        require(are_fine[row], f"{column} ({batch.where(row + 1)})", str(batch.table[column][row]), allowed)


def _decode_rows(side: ServerRun, batch: RowBatch, rows: IntArray) -> IntArray:
    phases, column = side.protocol.phases, CodedColumn.from_values(batch.table[_PAYLOAD])
    decoded = np.zeros((len(rows), max(phase.num_reported for phase in phases)), dtype=np.int64)
    for number, phase in enumerate(phases):
        own_rows, width = np.flatnonzero(rows[:, 1] == number), phase.num_reported
        distinct, firsts, codes = np.unique(column.codes[own_rows], return_index=True, return_inverse=True)
        reads_rows = type(phase).check_report is not Phase.check_report
        decoded_rows = np.empty((len(distinct), width), dtype=np.int64)
        row = 0
        try:
            for index, row in enumerate(map(int, own_rows[firsts])):
                decoded_rows[index] = phase.codec.decode(bytes.fromhex(column[row]))
            decoded[own_rows, :width] = decoded_rows[codes]
            for row in map(int, own_rows) if reads_rows else ():
                phase.check_report(decoded[row, :width].tolist(), side.inputs.public[rows[row, 0]].tolist())
        except (ValueError, msgspec.DecodeError) as error:
            field, allowed = f"{_PAYLOAD} ({batch.where(row + 1)})", f"a report in phase {phase.name!r} ({error})"
            raise ConfigurationError(field=field, value=column[row][:_MOST_SHOWN], allowed=allowed) from None
    return decoded
