"""The folder that a run leaves: its files, and what never stands in them."""

import collections
import contextlib
import datetime as dt
import errno
import importlib
import io
import json
import math
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest
from bad_input import refuses
from makers import loss_of
from psephos.protocol import ConfigurationError
from psephos.protocol.privacy import LedgerEntry, NonPrivate, TrustModel
from psephos.scenarios import (
    FinishedRun,
    RunFolder,
    list_scenarios,
    load_scenario,
    read_ledger,
    resolve,
    run_in_folder,
)
from psephos.scenarios.reports import write_report
from psephos.scenarios.running import folder as folder_module
from psephos.scenarios.running.folder import open_event_log, to_json
from runs import read_json, read_lines

SEED = 918273645546372819
VALUES = {"ann": 123457, "bob": 765431, "cid": 424243}
RECORDED = {"private", "private/simulation.json", "private/views.jsonl"}


@pytest.fixture
def run_survey(survey: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Path, FinishedRun]]:
    """Runs a survey over distinctive values with a distinctive seed; returns its folder."""
    assert importlib.import_module(survey)
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{name},{value}\n" for name, value in VALUES.items())
    (tmp_path / "values.csv").write_text(f"surveyor,value\n{rows}", encoding="utf-8")
    text = f'protocol = "bounded-total"\nsurveyors = "values.csv"\nseed = {SEED}\nnoise = "simulated"\n'
    (tmp_path / "survey.toml").write_text(text, encoding="utf-8")

    def run(*settings: str, record: bool = False) -> tuple[Path, FinishedRun]:
        resolved = resolve(load_scenario("survey.toml", settings), record=record)
        folder = RunFolder(tmp_path / f"out-{len(list(tmp_path.glob('out-*')))}")
        return folder.path, run_in_folder(resolved, folder)

    return run


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def consortium(path: Path, *settings: str, **options: Any) -> RunFolder:
    """Run a small vote in a folder."""
    folder = RunFolder(path)
    run_in_folder(resolve(load_scenario("consortium", ["count=4", *settings])), folder, **options)
    return folder


def test_a_run_leaves_these_files(tmp_path: Path) -> None:
    folder = consortium(tmp_path / "a" / "b")
    files = {"scenario.json", "events.jsonl", "ledger.jsonl", "pictures.json", "result.json", "run.json"}
    assert names_of(folder.path) == files | {f"estimates{kind}" for kind in (".csv", ".svg", "-narrow.svg")}


def test_all_that_a_run_leaves_is_its_owners_alone_and_takes_no_planted_files_mode(tmp_path: Path) -> None:
    """Its pictures too, whatever the shell's mask is."""
    before = os.umask(0)
    try:
        folder = consortium(tmp_path / "run")
        write_report(folder.path)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.path.iterdir()}
    assert {"estimates.svg", "estimates-narrow.svg", "report.html", "run.json"} <= set(modes)
    assert set(modes.values()) == {0o600}
    target = tmp_path / "target"
    for name in ("again.json", "events.jsonl"):
        (tmp_path / "other").mkdir(exist_ok=True)
        other = folder_module.RunFolder(tmp_path / "other" / name)
        (other.path / name).symlink_to(target)
        with pytest.raises(FileExistsError):
            other.write_json(name, {})
        assert not target.exists()


def test_without_pictures_there_are_none(tmp_path: Path) -> None:
    folder = consortium(tmp_path / "out", pictures=False)
    assert {name for name in names_of(folder.path) if name.startswith("estimates")} == {"estimates.csv"}


@pytest.mark.parametrize("transport", ["memory", "tcp", "array"])
def test_neither_the_seed_nor_a_private_value_is_in_a_folder(
    run_survey: Callable[..., tuple[Path, FinishedRun]], transport: str
) -> None:
    folder, _ = run_survey(f"transport={transport}")
    secrets = [str(SEED), f"{SEED:x}", str(sum(VALUES.values())), *map(str, VALUES.values())]
    for name, content in contents(folder).items():
        assert [secret for secret in secrets if secret.encode() in content] == [], name
    assert not (folder / "private").exists()


def test_what_is_recorded_is_in_files_that_say_so_and_nowhere_else(
    run_survey: Callable[..., tuple[Path, FinishedRun]],
) -> None:
    folder, _ = run_survey(record=True)
    assert names_of(folder) >= RECORDED
    files = contents(folder)
    private = {name for name in files if name.startswith("private/")}
    secrets = [str(SEED), str(sum(VALUES.values())), *map(str, VALUES.values())]
    for name in set(files) - private:
        assert [secret for secret in secrets if secret.encode() in files[name]] == [], name
    simulation = json.loads(files["private/simulation.json"])
    assert simulation["warning"].startswith("simulation only")
    assert simulation["seed"] == str(SEED)
    assert simulation["parties"] == list(VALUES)
    assert simulation["private_rows"] == [[value] for value in VALUES.values()]
    assert simulation["truth"] == {"total": float(sum(VALUES.values()))}
    warning, *lines = map(json.loads, files["private/views.jsonl"].splitlines())
    assert warning == {"warning": simulation["warning"]}
    heads = [line for line in lines if "side" in line]
    assert [(head["party"], head["private_row"]) for head in heads] == [
        ("aggregator", []),
        *((name, [value]) for name, value in VALUES.items()),
    ]
    for party in ("aggregator", *VALUES):
        seen = [line for line in lines if line["party"] == party and "step" in line]
        assert [line["step"] for line in seen] == list(range(len(seen)))
        assert {line["happening"] for line in seen} <= {"sent", "received", "lost", "timeout"}
    assert {line["message"]["type"] for line in lines if line.get("message")} == {
        "Hello",
        "Welcome",
        "Request",
        "Report",
        "Release",
    }


def test_recording_does_not_change_what_is_public(run_survey: Callable[..., tuple[Path, FinishedRun]]) -> None:
    plain, _ = run_survey()
    recorded, _ = run_survey(record=True)
    assert (plain / "result.json").read_bytes() == (recorded / "result.json").read_bytes()
    assert (plain / "estimates.csv").read_bytes() == (recorded / "estimates.csv").read_bytes()


def test_a_run_of_secure_noise_leaves_nothing_private(tmp_path: Path) -> None:
    folder = consortium(tmp_path / "out", "noise=secure", pictures=False)
    assert read_json(folder.path / "result.json")["kind"] == "deployment"
    assert not (folder.path / "private").exists()


def test_events_are_lines_of_json_with_the_same_nouns(tmp_path: Path) -> None:
    folder = consortium(tmp_path / "out", pictures=False)
    lines = read_lines(folder.events)
    for line in lines:
        assert set(line) >= {"event", "level", "timestamp", "session", "party"}
        assert line["session"] == "consortium"
        assert dt.datetime.fromisoformat(line["timestamp"]).tzinfo is not None
    opened = [line["phase"] for line in lines if line["event"] == "phase_opened"]
    closed = [line for line in lines if line["event"] == "phase_closed"]
    assert opened == ["weights", "opinions"]
    assert [(line["phase"], line["received"], line["missing"]) for line in closed] == [
        ("join", 4, 0),
        ("weights", 4, 0),
        ("opinions", 4, 0),
    ]
    paid = [line for line in lines if line["event"] == "privacy_loss"]
    assert sorted(line["party"] for line in paid) == sorted(2 * [f"partner-{n}" for n in range(1, 5)])
    for line in paid:
        assert set(line) >= {"phase", "mechanism", "relation", "unit", "model", "claimed", "proven", "total"}


def test_warnings_and_errors_have_their_level(tmp_path: Path) -> None:
    with open_event_log(tmp_path / "events.jsonl") as log:
        log.info("phase_opened", party="server")
        log.warning("party_dropped", party="server", peer="ann")
    levels = [json.loads(line)["level"] for line in (tmp_path / "events.jsonl").read_bytes().splitlines()]
    assert levels == ["info", "warning"]


def test_a_live_log_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with open_event_log(path, is_live=True) as log:
        log.info("privacy_loss", proven=0.5)
        (line,) = path.read_bytes().splitlines()
    assert json.loads(line)["proven"] == 0.5


def test_a_folder_that_is_in_use_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="Name a new or an empty folder"):
        RunFolder(tmp_path)
    assert names_of(tmp_path) == {"notes.txt"}


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ConfigurationError, match="nothing can be written into"):
            RunFolder(path)


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    assert RunFolder(tmp_path).path == tmp_path


@pytest.mark.parametrize("transport", ["memory", "array"])
def test_the_ledger_is_read_back_as_it_was_written(
    run_survey: Callable[..., tuple[Path, FinishedRun]], transport: str
) -> None:
    folder, finished = run_survey(f"transport={transport}")
    entries = read_ledger(folder)
    assert entries == list(finished.record.entries)
    assert all(type(entry) is LedgerEntry for entry in entries)
    assert len(entries) == (len(VALUES) if transport == "memory" else 1)


def test_a_loss_that_nothing_bounds_is_read_back_as_infinite(tmp_path: Path) -> None:
    loss = loss_of(event=NonPrivate(), model=TrustModel.CENTRAL, claimed=1.0)
    entry = LedgerEntry.from_loss(loss, person="ann", session="s", phase="rankings")
    RunFolder(tmp_path / "run").write_ledger([entry])
    assert read_ledger(tmp_path / "run") == [entry]
    assert entry.proven == math.inf


def test_what_is_no_run_has_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="the folder of a run") as caught:
        read_ledger(tmp_path)
    assert caught.value.field == "RUN"


@pytest.mark.parametrize("line", [b"no json", b"{}", b'{"person": "ann"}', b"\xff", b'{"person": "\xff"}', b"[" * 90])
def test_a_line_that_is_no_entry_is_named(run_survey: Callable[..., tuple[Path, FinishedRun]], line: bytes) -> None:
    folder, _ = run_survey()
    with (folder / "ledger.jsonl").open("ab") as file:
        file.write(line + b"\n")
    with refuses(f"ledger.jsonl line {len(VALUES) + 1}"):
        read_ledger(folder)


SIMULATED = ("--seed", 3, "--set", "noise=simulated", "--no-pictures")


def check_same_result(psephos: Callable[..., Any], scenario: str, *words: object) -> None:
    """Run a scenario into `first`, and the one that this leaves into `again`; both results have to be equal."""
    assert psephos("run", scenario, "--out", "first", *words).status == 0
    assert psephos("run", "first/scenario.json", *SIMULATED, "--out", "again").err == ""
    assert Path("first/result.json").read_bytes() == Path("again/result.json").read_bytes()


SCENARIOS = {
    "a generator": 'protocol = "dpwevote"\nseed = 3\n[parameters]\ncandidates = ["m"]\n[partners]\ncount = 9\n',
    "a file": 'protocol = "dpwevote"\nseed = 3\nnoise = "simulated"\npartners = "mine.csv"\n',
}


@pytest.mark.few(most=1)
@pytest.mark.parametrize("kind", list(SCENARIOS))
def test_the_scenario_of_a_run_runs_again(
    kind: str, write: Callable[[str, str], Path], psephos: Callable[..., Any]
) -> None:
    write("mine.csv", "partner,weight,m\nann,1,1\nbob,3,0\n")
    write("ballot.toml", SCENARIOS[kind])
    check_same_result(psephos, "ballot.toml", "--no-pictures")


def test_the_path_of_a_file_leads_there_from_the_runs_folder(
    write: Callable[[str, str], Path], psephos: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("mine.csv", "partner,weight,m\nann,1,1\nbob,3,0\n")
    write("ballot.toml", SCENARIOS["a file"])
    Path("far/away").mkdir(parents=True)
    Path("runs").symlink_to("far/away")
    assert psephos("run", "ballot.toml", "--out", "runs/first", "--no-pictures").status == 0
    assert read_json("runs/first/scenario.json")["parties"] == "../../../mine.csv"
    for folder, scenario in (("runs", "first/scenario.json"), ("first", "scenario.json")):
        monkeypatch.chdir(folder)
        assert list(resolve(load_scenario(scenario)).names) == ["ann", "bob"]


def test_parties_that_stood_in_a_scenario_are_left_out_of_its_run_and_asked_for_again(
    write: Callable[[str, str], Path], psephos: Callable[..., Any]
) -> None:
    rows = '[{ partner = "ann", weight = 1, m = 1 }]'
    write("ballot.toml", f'protocol = "dpwevote"\nseed = 3\nnoise = "simulated"\npartners = {rows}\n')
    assert psephos("run", "ballot.toml", "--out", "first", "--no-pictures").status == 0
    assert b"ann" not in Path("first/scenario.json").read_bytes()
    write("mine.csv", "partner,weight,m\nann,1,1\n")
    given = ("--set", "partners=mine.csv", "--out", "given")
    assert psephos("run", "first/scenario.json", *SIMULATED, *given).status == 0
    refusal = psephos("run", "first/scenario.json", "--out", "again").refusal
    assert refusal.startswith("psephos: partners ")
    assert "a file, a generator, or" in refusal  # what is missing, rather than a key of one of these


@pytest.mark.parametrize("name", ["eu-council", "own-epsilon"])
def test_parties_that_a_shipped_scenario_lists_are_nobodys_and_stay(name: str, psephos: Callable[..., Any]) -> None:
    check_same_result(psephos, name, *SIMULATED)
    page = Path("first/report.html").read_text(encoding="utf-8")
    assert "psephos run scenario.json</code>" in page  # as it is


def test_a_shipped_scenario_that_lists_somebody_else_keeps_nobody(
    write: Callable[[str, str], Path], psephos: Callable[..., Any]
) -> None:
    own = list_scenarios()["eu-council"].read_text(encoding="utf-8").replace('"Malta"', '"ann"')
    write("eu-council.toml", own)
    assert psephos("run", "./eu-council.toml", "--out", "first", "--no-pictures").status == 0
    assert "parties" not in read_json("first/scenario.json")
    assert "stood in the scenario itself" in Path("first/report.html").read_text(encoding="utf-8")


# Files that cannot be written, and text that is somebody else's.


class Disk(io.FileIO):
    """A file on a disk that is full after so many bytes, and takes a part of what does not fit."""

    room = 100

    def opened(self, path: Path, *, buffering: int) -> Self:
        """Return it to whoever opens its path."""
        assert (path, buffering) == (Path(str(self.name)), 0)
        return self

    def write(self, data: Any, /) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = super().write(bytes(data)[: self.room])
        self.room -= taken
        return taken


def test_a_file_that_finds_no_room_is_named_and_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path / "out")

    def open_own(path: Path) -> io.BufferedWriter:
        return io.BufferedWriter(Disk(path, "wb"))

    with monkeypatch.context() as patch:
        patch.setattr(folder_module, "_open_own", open_own)
        with pytest.raises(OSError, match="No space left on device") as caught:
            folder.write_text("scenario.json", "x" * 101)
    assert caught.value.filename == str(folder.path / "scenario.json")
    assert list(folder.path.iterdir()) == []
    RunFolder(tmp_path / "out").write_text("scenario.json", "{}")  # it may be tried again
    with pytest.raises(FileExistsError):
        folder.write_text("scenario.json", "others")
    assert (folder.path / "scenario.json").read_text(encoding="utf-8") == "{}"


def test_a_line_that_is_written_in_part_is_an_error_and_nothing_of_it_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "events.jsonl"
    disk = Disk(path, "wb")
    monkeypatch.setattr(folder_module, "_open_own", disk.opened)
    failures: collections.Counter[str] = collections.Counter()
    with open_event_log(path, is_live=True, failures=failures) as log:
        log.info("short")
        with pytest.raises(OSError, match="No space left on device") as caught:
            log.info("long", text="x" * 100)
        disk.room = 1000
        log.info("afterwards")
    assert caught.value.filename == str(path)
    assert [json.loads(line)["event"] for line in path.read_bytes().splitlines()] == ["short", "afterwards"]
    assert failures == {"No space left on device": 1}


class Stuck(Disk):
    """A disk that takes nothing back, for a while."""

    is_stuck = True

    def truncate(self, size: int | None = None, /) -> int:
        if self.is_stuck:
            raise OSError(errno.EIO, "Input/output error")
        return super().truncate(size)


def test_a_piece_that_cannot_be_taken_back_costs_no_other_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "events.jsonl"
    disk = Stuck(path, "wb")
    monkeypatch.setattr(folder_module, "_open_own", disk.opened)
    with open_event_log(path, is_live=True) as log:
        for text, room in (("lost", 50), ("whole", 1000), ("lost", 10), ("last", 1000)):
            disk.room = room
            disk.is_stuck = text == "lost" and room == 50
            with contextlib.suppress(OSError):
                log.info(text, text="x" * 100)
    events = path.read_bytes()[50:].splitlines()  # behind the piece
    assert [json.loads(line)["event"] for line in events] == ["whole", "last"]


def test_a_privacy_loss_is_on_the_disk_before_it_counts_as_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    for is_live in (True, False):
        with open_event_log(tmp_path / f"{is_live}.jsonl", is_live=is_live) as log:
            log.info("phase_opened", phase="privacy_loss")
            assert len(synced) == (not is_live)
            log.info("privacy_loss", phase="weights")
    assert len(synced) == 1


def test_json_holds_nothing_that_a_terminal_would_obey_and_says_the_same() -> None:
    value = {"name": "a\x1b[2J\x9b\u202e\u2028😀é\U000e0001", "rest": [1, None]}
    line = to_json(value)
    assert line.decode().isprintable()
    assert json.loads(line) == value
    assert "😀é" in line.decode()


def test_a_table_holds_no_formula(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "out")
    folder.write_table("table.csv", [{"=name": "@ann", "value": -1.5}, {"=name": "bob", "value": "-2"}])
    assert (folder.path / "table.csv").read_text(encoding="utf-8") == "'=name,value\n'@ann,-1.5\nbob,-2\n"


def test_a_table_has_twelve_digits_unless_its_numbers_are_exact(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    rows = [{"error": 0.1 + 0.2, "least": -math.inf, "votes": 123_456_789_012_345}]
    folder.write_table("measured.csv", rows)
    folder.write_table("exact.csv", rows, is_exact=True)
    written = [(tmp_path / name).read_text().splitlines()[1] for name in ("measured.csv", "exact.csv")]
    assert written == ["0.3,-inf,123456789012345", "0.30000000000000004,-inf,123456789012345"]
