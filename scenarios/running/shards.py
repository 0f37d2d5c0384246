"""Tally a stream of files in shards by a pool, and merge the tallies.

The parties' indices in each shard are fixed first. A task is pure: it maps parameters, indices and files to a tally.
Simulated noise is addressed by index, so a repeated shard has the same bits on every worker. A trusted server's noise
is drawn once, in this process, at the end. Finished tallies are journaled (`journaling`), but never a party's row.
"""

import contextlib
import functools
import hashlib
import itertools
import math
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from ...protocol.errors import require
from ...protocol.population import tally_batches
from ...protocol.randomness import SimulatedNoise
from ...protocol.records import KeptTally
from ...protocol.tally import Merged, Tally
from ..reading.batches import FilePiece, TableFiles
from ..reading.sources import Batch, PartyStream, RowFiles
from ..system import find_protocol
from .config import with_absolute_paths
from .journaling import FinishedParts, installed_versions
from .plugin_errors import blame_plugins, parts_of
from .processes import Pool, make_worker, name_answers
from .resolution import Local, Streamed, make_protocol
from .streams import StreamedInputs, batches_of, row_files_of

_WARNING: Final = (
    "simulation only: holds tallies without the server's noise, and the seed that takes the others' off again"
)


class _ShardTask(msgspec.Struct, frozen=True, array_like=True):
    """A shard: parties with consecutive indices."""

    protocol: str
    parameters: dict[str, Any]
    parties: Any
    columns: list[str]
    seed: str  # as text, since it may exceed a message's integers
    session: str
    round: int
    pieces: list[FilePiece]


class _Tallied(msgspec.Struct, frozen=True, array_like=True):
    """A shard's tallies by phase, and the numbers of parties by public row."""

    tallies: list[KeptTally]
    numbers: list[tuple[tuple[int, ...], int]]


class _ShardResult(msgspec.Struct, frozen=True, array_like=True):
    """A shard's result, a deterministic `_Tallied`, and its duration."""

    tallied: bytes
    seconds: float


def check_sharded(setup: Local) -> TableFiles:
    """Return the files that a cluster can process; ConfigurationError: the run has none."""
    files = setup.stream.files if isinstance(setup, Streamed) else None
    allowed = (
        "left out: this is computed here at once. A cluster is for Parquet, Arrow and large CSV files with a line for "
        f"each {setup.protocol.client_role}"
    )
    require(files, "--cluster", "given", allowed)
    assert files is not None  # noqa: S101  just required
    return files


class ShardedTally:
    """Tallies a stream by a pool of workers, and journals finished shards until the run is complete.

    Args:
        pool: tallies shards; their size is based on the duration of the first.
        folder: the run's folder, with the journal.
        resumes: whether to resume the folder's interrupted run.

    Raises:
        ConfigurationError: a file cannot be read, or the folder belongs to another run.
        JournalError: the journal is damaged.
        ConflictingCopyError: the journal has two different results of a shard.
    """

    def __init__(self, setup: Local, pool: Pool, folder: Path, *, seed: int, resumes: bool) -> None:
        files = check_sharded(setup)
        self._pieces, self._pool, self.seed = files.pieces(), pool, seed
        scenario = setup.scenario
        plan = hashlib.sha256(msgspec.msgpack.encode(self._pieces) + repr(setup.protocol).encode()).hexdigest()
        journal_fields = {"command": "run", "scenario": scenario.name, "seed": str(seed), "round": str(scenario.round)}
        heading = {"warning": _WARNING, **journal_fields, "files and parameters": plan, **installed_versions()}
        self.journal = FinishedParts(folder, heading, resumes=resumes)

    def tally(
        self, setup: Streamed, streamed_inputs: StreamedInputs, *, on_batch: Callable[[int], None]
    ) -> list[Tally]:
        """Return each phase's tally of all parties, updating `streamed_inputs` and `on_batch` with their number.

        Raises:
            ConfigurationError: as `StreamedInputs`; or a finished shard does not match the files.
            ConflictingCopyError: a shard has two different results.
            TaskError: the pool failed on a shard.
        """
        journal, pool = self.journal, self._pool
        merged_tallies = [Merged() for _ in setup.protocol.phases]

        def take(answer: bytes) -> None:
            shard_result = msgspec.msgpack.decode(answer, type=_Tallied)
            for tally, shard_tally in zip(merged_tallies, shard_result.tallies, strict=True):
                tally.add(shard_tally.restore())
            for row, number in shard_result.numbers:
                streamed_inputs.numbers[row] += number
                streamed_inputs.num_parties += number
            on_batch(streamed_inputs.num_parties)

        for answer in journal.finished.values():
            take(answer)
        missing = find_missing_pieces(
            self._pieces, [(int(key.split()[0]), int(key.split()[1])) for key in journal.finished]
        )

        def tally(shards: list[list[FilePiece]]) -> float:
            seconds = 0.0
            for shard, answer in _answers(setup, shards, self.seed, pool):
                journal.add(_key_of(shard), answer.tallied)
                take(answer.tallied)
                seconds += answer.seconds
            return seconds

        if missing:
            of_row = tally([missing[:1]]) / missing[0].num_rows
            tally(list(shards_of(missing[1:], math.ceil(pool.least_seconds / of_row))))
        streamed_inputs.check_numbers()
        return [tally.total() for tally in merged_tallies]


def _key_of(shard: Sequence[FilePiece]) -> str:
    return f"{shard[0].first} {shard[-1].first + shard[-1].num_rows}"


def find_missing_pieces(pieces: Sequence[FilePiece], finished_ranges: Sequence[tuple[int, int]]) -> list[FilePiece]:
    """Return the pieces outside all finished shards; ConfigurationError if shards overlap or divide a piece.

    Examples:
        >>> pieces = [FilePiece("votes.parquet", number, 4 * number, 4, (0, 0)) for number in range(4)]
        >>> [piece.number for piece in find_missing_pieces(pieces, [(4, 8)])]
        [0, 2, 3]
    """
    starts = {piece.first: number for number, piece in enumerate(pieces)} | {
        pieces[-1].first + pieces[-1].num_rows: len(pieces)
    }
    missing_pieces, next_row = list[FilePiece](), 0
    for start, stop in sorted(finished_ranges):
        allowed = "from where a piece of the files begins to where one ends, and no other shard's"
        is_right = start in starts and stop in starts and next_row <= starts[start] < starts[stop]
        require(is_right, "the places of a finished shard", f"{start} to {stop}", allowed)
        missing_pieces += pieces[next_row : starts[start]]
        next_row = starts[stop]
    return [*missing_pieces, *pieces[next_row:]]


def shards_of(pieces: Sequence[FilePiece], num_rows: int) -> Iterator[list[FilePiece]]:
    """Yield runs of consecutive pieces with about `num_rows` rows each; the last may have fewer.

    Examples:
        >>> pieces = [FilePiece("votes.parquet", number, 4 * number, 4, (0, 0)) for number in range(4)]
        >>> [[piece.number for piece in shard] for shard in shards_of(pieces, 8)]
        [[0, 1], [2, 3]]
    """
    shard, rows = list[FilePiece](), 0
    for piece in pieces:
        if shard and (rows >= num_rows or shard[-1].first + shard[-1].num_rows != piece.first):
            yield shard
            shard, rows = [], 0
        shard.append(piece)
        rows += piece.num_rows
    if shard:
        yield shard


def _answers(
    setup: Streamed, shards: Sequence[list[FilePiece]], seed: int, pool: Pool
) -> Iterator[tuple[list[FilePiece], _ShardResult]]:
    scenario, protocol = setup.scenario, setup.protocol
    common: dict[str, Any] = {
        "protocol": scenario.protocol,
        "parameters": msgspec.to_builtins(protocol.parameters),
        "parties": with_absolute_paths(scenario).parties,
        "columns": list(setup.stream.names),
        "seed": str(seed),
        "session": scenario.name,
        "round": scenario.round,
    }
    tasks = [msgspec.msgpack.encode(_ShardTask(**common, pieces=shard)) for shard in shards]

    def name_shard(number: int) -> str:
        start, stop = _key_of(shards[number]).split()
        return f"the shard of places {start} to {stop}, from {shards[number][0].path} on"

    with contextlib.closing(name_answers(pool, __name__, tasks, name_shard)) as come:
        for number, answer in come:
            # If a local process failed, its shard is tallied here, to raise its error here.
            yield shards[number], msgspec.msgpack.decode(answer or work(tasks[number]), type=_ShardResult)


def _tally(task: _ShardTask) -> _ShardResult:
    """Tally a shard."""
    kind = find_protocol(task.protocol)
    protocol = make_protocol(kind, task.parameters)
    first = task.pieces[0].first
    task.pieces[0].check()  # names a missing file
    rows = row_files_of(kind, task.parties, task.parameters)
    role = kind.client_role
    open_files = functools.partial(
        TableFiles, field=f"{role}s", columns=rows.columns, named_by=role, options=rows.options
    )
    open_files(task.pieces[0].path)  # which takes time only in a process's first task
    started_at = time.perf_counter()
    stream = PartyStream({}, None, lambda _: _batches(rows, open_files, task))
    streamed_inputs = StreamedInputs(protocol, stream, first=first)
    noise = SimulatedNoise(int(task.seed), session=task.session, round_number=task.round)
    with (
        contextlib.closing(streamed_inputs.open()) as batches,
        blame_plugins([parts_of(protocol)], is_private=protocol.keeps_words),
    ):
        tallies = tally_batches(protocol, batches, noise=noise, first=first)
    tallied = _Tallied([KeptTally.from_tally(tally) for tally in tallies], sorted(streamed_inputs.numbers.items()))
    return _ShardResult(msgspec.msgpack.encode(tallied), time.perf_counter() - started_at)


def _batches(rows: RowFiles, open_files: Callable[[str], TableFiles], task: _ShardTask) -> Generator[Batch]:
    """Yield the parties of a task's pieces, file by file, after checking that files are unchanged."""
    for path, group in itertools.groupby(task.pieces, key=lambda piece: piece.path):
        pieces, num_found = list(group), 0
        pieces[0].check()
        numbers = range(pieces[0].number, pieces[-1].number + 1)
        for batch in batches_of(rows, open_files(path), task.columns, pieces=numbers):
            num_found += batch.num_parties
            yield batch
        pieces[0].check()
        num_planned = sum(piece.num_rows for piece in pieces)
        require(num_found == num_planned, path, f"{num_found} rows", f"{num_planned}, as planned")


work: Final = make_worker(_ShardTask, _tally)
"""The function that other processes run."""
