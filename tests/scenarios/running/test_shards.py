"""Streams in shards: places that are fixed first, the bits of one pass whoever tallies, and a run that goes on."""

import json
import os
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from psephos.protocol.errors import ConfigurationError
from psephos.scenarios import Streamed, load_scenario, resolve, run_session
from psephos.scenarios.reading.batches import FilePiece, TableFiles
from psephos.scenarios.running import shards
from psephos.scenarios.running.folder import RunFolder
from psephos.scenarios.running.journaling import FINISHED, ConflictingCopyError
from psephos.scenarios.running.record import SessionRecord
from psephos.scenarios.running.shards import ShardedTally

pyarrow: Any = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet: Any = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

SEED = 3


class Here:
    """A pool that works in this process, a task at a time, and may be told to stop."""

    num_workers = 1

    def __init__(self, *, most: int = 1_000, least_seconds: float = 1e-9) -> None:
        self.most, self.least_seconds, self.done = most, least_seconds, 0

    def answers(self, module: str, tasks: Iterable[bytes]) -> Generator[tuple[int, bytes | None]]:
        for number, task in enumerate(tasks):
            if self.done == self.most:
                raise KeyboardInterrupt
            self.done += 1
            yield number, shards.work(task)


def write_all(folder: Path, form: str = "parquet") -> None:
    folder.mkdir()
    for number, rows in enumerate((range(11), range(11, 12), range(12, 40))):
        columns = {
            "weight": [1 + row % 3 for row in rows],
            "roof": [row % 5 < 2 for row in rows],
            "bylaws": [row % 7 < 3 for row in rows],
        }
        path = folder / f"{number}.{form}"
        table = pyarrow.table(columns)
        match form:
            case "parquet":
                parquet.write_table(table, path, row_group_size=4)
            case "arrow":
                with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as file:
                    file.write_table(table, max_chunksize=5)
            case _:
                lines = [columns, *zip(*columns.values(), strict=True)]
                path.write_text("".join(",".join(str(each).lower() for each in line) + "\n" for line in lines))


def resolved(**parameters: Any) -> Streamed:
    content = {
        "protocol": "dpwevote",
        "name": "v",
        "seed": SEED,
        "noise": "simulated",
        "parameters": {"candidates": ["roof", "bylaws"], "epsilon": 1.0, "variant": "joint", "weights": [1, 2, 3]}
        | parameters,
        "partners": {"file": "votes"},
    }
    Path("v.json").write_text(json.dumps(content))
    found = resolve(load_scenario("v.json"))
    assert isinstance(found, Streamed)
    return found


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()


def session(vote: Streamed, pool: Here, *, resumes: bool = False, seed: int = SEED) -> SessionRecord:
    sharded = ShardedTally(vote, pool, Path("run"), seed=seed, resumes=resumes)
    try:
        return run_session(vote, seed=seed, sharded=sharded)
    finally:
        sharded.journal.close()


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize(
    "parameters", [{}, {"public_weights": True}, {"variant": "central"}], ids=["local", "public", "central"]
)
def test_shards_have_the_bits_of_one_pass(form: str, parameters: dict[str, Any]) -> None:
    write_all(Path("votes"), form)
    vote, pool = resolved(**parameters), Here()
    alone, shared = run_session(vote, seed=SEED), session(vote, pool)
    assert shared.outcome == alone.outcome
    assert list(shared.tallies) == list(alone.tallies)
    assert (shared.num_received, list(shared.entries)) == (alone.num_received, list(alone.entries))
    assert pool.done > 2


def test_voters_of_groups_are_sharded_and_empty_pieces_are_nobody_s() -> None:
    Path("votes").mkdir()
    schema = pyarrow.schema([("group", pyarrow.string()), ("ranking", pyarrow.string())])
    rows = [("f" if row % 3 else "m", ("a>b>c", "c>a>b")[row % 2]) for row in range(12)]
    for number, batches in enumerate(([0, 5, 0], [7, 0])):
        with parquet.ParquetWriter(f"votes/{number}.parquet", schema) as writer:
            for size in batches:
                own, rows = rows[:size], rows[size:]
                columns = list(zip(*own, strict=True)) or [(), ()]
                writer.write_table(pyarrow.table([pyarrow.array(each, "string") for each in columns], schema=schema))
    parameters = {"epsilon": 2.0, "mechanism": "laplace", "objective": "parity"}
    content = {
        "protocol": "fair-voting",
        "name": "v",
        "seed": SEED,
        "noise": "simulated",
        "parameters": parameters,
        "voters": "votes",
    }
    Path("v.json").write_text(json.dumps(content))
    vote = resolve(load_scenario("v.json"))
    assert isinstance(vote, Streamed)
    assert session(vote, Here()).outcome == run_session(vote, seed=SEED).outcome


def test_a_plan_holds_each_place_once_whatever_the_form() -> None:
    for form, number in (("parquet", 11), ("arrow", 10), ("csv", 3)):
        write_all(Path(form), form)
        pieces = TableFiles(form, field="partners", columns={}).pieces()
        assert len(pieces) == number
        ends = [0, *(piece.first + piece.num_rows for piece in pieces)]
        assert [piece.first for piece in pieces] == ends[:-1]
        assert ends[-1] == 40


def test_an_interrupted_run_goes_on_and_does_nothing_twice() -> None:
    write_all(Path("votes"))
    vote = resolved()
    alone = run_session(vote, seed=SEED)
    first = Here(most=4)
    with pytest.raises(KeyboardInterrupt):
        session(vote, first)
    kept = len(Path("run", FINISHED).read_bytes().splitlines()) - 1
    assert kept == 4
    second = Here()
    shared = session(vote, second, resumes=True)
    assert list(shared.tallies) == list(alone.tallies)
    assert second.done == 11 - kept
    # All is there already, in shards of another size than this run would make.
    third = Here(least_seconds=100)
    assert list(session(vote, third, resumes=True).tallies) == list(alone.tallies)
    assert third.done == 0


@pytest.mark.bad_input("a run to go on with that is another one, or none")
def test_a_run_of_other_noise_parameters_or_files_is_refused_by_name() -> None:
    write_all(Path("votes"))
    with pytest.raises(KeyboardInterrupt):
        session(resolved(), Here(most=2))
    with pytest.raises(ConfigurationError, match="its seed is '3', and not '4'"):
        session(resolved(), Here(), resumes=True, seed=4)
    with pytest.raises(ConfigurationError, match="its files and parameters is"):
        session(resolved(epsilon=2.0), Here(), resumes=True)
    os.utime("votes/1.parquet", (1, 1))
    with pytest.raises(ConfigurationError, match="its files and parameters is"):
        session(resolved(), Here(), resumes=True)


@pytest.mark.parametrize(
    ("places", "allowed"),
    [([(0, 3)], "0 to 3"), ([(2, 4)], "2 to 4"), ([(0, 8), (4, 12)], "4 to 12"), ([(36, 44)], "36 to 44")],
    ids=["ends within a piece", "begins there", "meets another", "ends beyond"],
)
def test_finished_shards_that_overlap_or_are_no_pieces_are_refused(places: list[tuple[int, int]], allowed: str) -> None:
    pieces = [FilePiece("p", number, 4 * number, 4, (0, 0)) for number in range(10)]
    with pytest.raises(ConfigurationError, match=allowed):
        shards.find_missing_pieces(pieces, places)
    assert shards.find_missing_pieces(pieces, [(4, 12), (36, 40)]) == [pieces[0], *pieces[3:9]]


@pytest.mark.bad_input("files that change while a cluster reads them, or that are there twice")
def test_a_file_that_changes_after_the_plan_is_refused_by_name() -> None:
    write_all(Path("votes"))
    vote = resolved()
    sharded = ShardedTally(vote, Here(), Path("run"), seed=SEED, resumes=False)
    os.utime("votes/2.parquet", (1, 1))
    with pytest.raises(ConfigurationError, match=r"^2\.parquet (is|are) .*.*it has changed since"):
        run_session(vote, seed=SEED, sharded=sharded)
    sharded.journal.close()


@pytest.mark.bad_input("files that change while a cluster reads them, or that are there twice")
def test_a_file_that_is_there_twice_is_refused() -> None:
    write_all(Path("votes"))
    Path("votes/9.parquet").symlink_to(Path("votes/0.parquet").absolute())
    with pytest.raises(ConfigurationError, match=r"^partners (is|are) .*another file than 0\.parquet"):
        ShardedTally(resolved(), Here(), Path("run"), seed=SEED, resumes=False)


def test_a_pattern_counts_a_file_once_and_a_folder_no_hidden_one() -> None:
    write_all(Path("votes"))
    Path("votes/.4.parquet").write_bytes(Path("votes/0.parquet").read_bytes())
    for path in ("votes", "**/**/*.parquet"):
        assert TableFiles(path, field="partners", columns={}).num_rows == 40


def test_another_run_s_folder_keeps_what_it_has() -> None:
    write_all(Path("votes"))
    Path("run/events.jsonl").write_text("{}")
    folder = RunFolder(Path("run"), resumes=True)
    with pytest.raises(ConfigurationError, match="a run that was interrupted"):
        ShardedTally(resolved(), Here(), folder.path, seed=SEED, resumes=True)
    assert Path("run/events.jsonl").exists()


def test_a_journal_is_gone_on_with_by_one_process() -> None:
    write_all(Path("votes"))
    first = ShardedTally(resolved(), Here(), Path("run"), seed=SEED, resumes=False)
    with pytest.raises(ConfigurationError, match="that no other process goes on with"):
        ShardedTally(resolved(), Here(), Path("run"), seed=SEED, resumes=True)
    first.journal.close()


def test_a_second_answer_that_differs_stops_the_run() -> None:
    write_all(Path("votes"))
    vote = resolved()
    sharded = ShardedTally(vote, Here(), Path("run"), seed=SEED, resumes=False)
    sharded.journal.finished["0 4"] = b""
    with pytest.raises(msgspec.DecodeError):
        run_session(vote, seed=SEED, sharded=sharded)
    with pytest.raises(ConflictingCopyError, match=r"^0 4 came out otherwise"):
        sharded.journal.add("0 4", b"another")
    sharded.journal.close()


def test_tasks_are_as_large_as_a_pool_asks_for() -> None:
    pieces = [FilePiece("p", number, 4 * number, 4, (0, 0)) for number in range(10)]
    sizes = [sum(piece.num_rows for piece in shard) for shard in shards.shards_of(pieces, 10)]
    assert sizes == [12, 12, 12, 4]
    apart = [*pieces[:2], *pieces[3:]]
    assert [[piece.number for piece in shard] for shard in shards.shards_of(apart, 12)] == [
        [0, 1],
        [3, 4, 5],
        [6, 7, 8],
        [9],
    ]


@pytest.mark.bad_input("a cluster that is not there, or of another version")
def test_parties_that_are_read_at_once_need_no_cluster() -> None:
    with pytest.raises(ConfigurationError, match=r"^leave out --cluster: .* a line for each partner"):
        shards.check_sharded(resolve(load_scenario("consortium")))
