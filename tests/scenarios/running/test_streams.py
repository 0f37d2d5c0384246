"""Streamed runs: the folder of a run at once, bit for bit, from batches; and refused before there is a folder."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from machine_files import write_moral_machine_like
from psephos.protocol import ConfigurationError
from psephos.protocol.privacy import LedgerEntry
from psephos.scenarios import (
    FinishedRun,
    RunFolder,
    Streamed,
    load_scenario,
    read_ledger,
    resolve,
    run_in_folder,
    run_session,
)
from psephos.scenarios.moral_preferences.data import streams
from psephos.scenarios.reading.sources import Batch
from psephos.scenarios.running.record import SessionObservers
from psephos.scenarios.running.streams import stream_of
from psephos.scenarios.system import find_protocol
from runs import read_json, read_lines

Psephos = Callable[..., Any]

SMALL = ("voters={generator='normal', voters=23, records=4, features=3}",)
MACHINE = ("voters={generator='moral_machine', voters=23, records=4}",)
GROUPS = ("voters.groups={conservative=0.3, moderate=0.3, liberal=0.4}",)
USUAL_GROUPS = ("voters.groups={}",)
STREAMED = ("voters.stream=true", "transport=array")
LEFT = {"scenario.json", "run.json", "events.jsonl", "ledger.jsonl", "result.json", "estimates.csv"}
PARADIGMS = (
    ("paradigm=VLCP", "mechanism=laplace"),
    ("paradigm=VLCP", "mechanism=direction"),
    ("paradigm=RLCP", "mechanism=laplace"),
    ("paradigm=RLCP", "mechanism=pooled"),
    ("paradigm=RLCP", "mechanism=direction"),
    ("paradigm=VLDP", "mechanism=laplace"),
    ("paradigm=VLDP", "mechanism=direction"),
    ("paradigm=RLDP", "mechanism=laplace"),
    ("paradigm=RLDP", "mechanism=functional"),
    ("paradigm=RLDP", "mechanism=pooled"),
    ("paradigm=RLDP", "mechanism=direction"),
)


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BATCH_VOTERS", 7)


@pytest.fixture
def responses(tmp_path: Path) -> Path:
    """A Moral Machine file of twenty voters with three dilemmas each, one row of which lacks its second."""
    path = tmp_path / "responses.csv"
    write_moral_machine_like(path, voters=20, records=3)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    return path


def streamed(folder: Path, *settings: str, scenario: str = "moral-synthetic", **options: Any) -> FinishedRun:
    resolved = resolve(load_scenario(scenario, ["seed=7", "noise=simulated", *settings, *STREAMED]))
    return run_in_folder(resolved, RunFolder(folder), pictures=False, **options)


def at_once(folder: Path, *settings: str, scenario: str = "moral-synthetic") -> dict[str, Any]:
    """Run the same voters at once, and return the result."""
    resolved = resolve(load_scenario(scenario, ["seed=7", "noise=simulated", *settings, "transport=array"]))
    run_in_folder(resolved, RunFolder(folder), pictures=False)
    return read(folder / "result.json")


def read(path: Path) -> Any:
    """Return what a JSON file holds."""
    return read_json(path)


def refusal(*settings: str, scenario: str = "moral-synthetic") -> ConfigurationError:
    """Return why a streamed scenario is not run."""
    with pytest.raises(ConfigurationError) as caught:
        resolve(load_scenario(scenario, [*STREAMED, *settings]))
    return caught.value


# The same result.


@pytest.mark.parametrize("paradigm", PARADIGMS, ids=" ".join)
def test_batches_leave_the_result_of_all_voters_at_once(tmp_path: Path, paradigm: tuple[str, ...]) -> None:
    whole = at_once(tmp_path / "whole", *SMALL, *paradigm)
    truth = whole.pop("truth")
    streamed(tmp_path / "stream", *SMALL, *paradigm)
    text = (tmp_path / "stream" / "result.json").read_text(encoding="utf-8")
    assert json.loads(text) == whole
    assert list(truth) == ["x1", "x2", "x3"]
    # Byte for byte: what is streamed is the beginning of what is not, whose truth comes last.
    other = (tmp_path / "whole" / "result.json").read_text(encoding="utf-8")
    assert other.startswith(text.rstrip().removesuffix("}").rstrip())


@pytest.mark.parametrize("source", [SMALL, MACHINE], ids=["normal", "moral_machine"])
@pytest.mark.parametrize("groups", [(), GROUPS], ids=["one epsilon", "groups"])
@pytest.mark.parametrize("paradigm", [PARADIGMS[5], PARADIGMS[8], PARADIGMS[-1]], ids=" ".join)
def test_voters_of_groups_are_alike_in_batches(
    tmp_path: Path, source: tuple[str, ...], groups: tuple[str, ...], paradigm: tuple[str, ...]
) -> None:
    """Levels are every hundredth of the groups, whichever occur."""
    whole = at_once(tmp_path / "whole", *source, *paradigm, *groups)
    streamed(tmp_path / "stream", *source, *paradigm, *groups)
    result = read(tmp_path / "stream" / "result.json")
    assert (len(whole["outcome"]["levels"]) > 3) == bool(groups)
    assert whole["outcome"]["levels"][-1]["epsilon"] == 1
    assert msgspec.json.encode(result["outcome"]) == msgspec.json.encode(whole["outcome"])
    assert result["privacy"] == whole["privacy"]
    assert result["tallies"] == whole["tallies"]
    assert len(result["tallies"][0]) == (100 if groups else 1)


@pytest.mark.parametrize("groups", [(), USUAL_GROUPS], ids=["one epsilon", "groups"])
@pytest.mark.parametrize("limits", [(), ("voters.max_records=2",)], ids=["all", "first two"])
def test_a_file_of_responses_is_alike_in_batches(
    responses: Path, tmp_path: Path, groups: tuple[str, ...], limits: tuple[str, ...]
) -> None:
    source = (f"voters.responses={responses}", *limits, *groups, "max_records=13")
    whole = at_once(tmp_path / "whole", *source, scenario="moral-machine")
    finished = streamed(tmp_path / "stream", *source, scenario="moral-machine")
    assert "truth" not in whole
    for name in ("result.json", "estimates.csv"):
        contents = {(tmp_path / path / name).read_bytes() for path in ("whole", "stream")}
        assert len(contents) == 1
    rows = "119 rows; responses dropped: 1 without a second row"
    note = resolve(load_scenario("moral-machine", ["seed=7", "noise=simulated", *source])).note
    assert note.startswith(finished.note)  # what is said besides is of the noise
    if limits:
        assert finished.note.startswith("40 records of 20 voters, from 119 rows; ")
        assert "19 beyond the most for each voter" in finished.note
    else:
        assert finished.note.endswith(rows)
    for name in ("whole", "stream"):  # no ε pays for exact numbers of real voters' records
        assert "parties" not in read(tmp_path / name / "run.json")


def test_another_seed_or_round_is_another_result(tmp_path: Path) -> None:
    outcomes = [
        streamed(tmp_path / str(number), *SMALL, *settings).result["outcome"]["preferences"]
        for number, settings in enumerate(
            [
                (
                    "seed=1",
                    "noise=simulated",
                ),
                (
                    "seed=1",
                    "noise=simulated",
                ),
                (
                    "seed=2",
                    "noise=simulated",
                ),
                ("seed=1", "noise=simulated", "round=1"),
            ]
        )
    ]
    assert outcomes[0] == outcomes[1]
    assert len({tuple(outcome) for outcome in outcomes}) == 3


def test_progress_is_told_batch_by_batch(tmp_path: Path) -> None:
    told: list[tuple[str, int, float]] = []

    def tell(phase: str, received: int, outstanding: float) -> None:
        told.append((phase, received, outstanding))

    finished = streamed(tmp_path / "out", *SMALL, observers=SessionObservers(on_progress=tell))
    assert told == [("preferences", number, 23 - number) for number in (7, 14, 21, 23)]
    assert (finished.num_parties, finished.note) == (23, "92 records of 23 voters, from 184 rows")


def test_a_session_alone_leaves_nothing_in_the_folder(tmp_path: Path) -> None:
    session = resolve(load_scenario("moral-synthetic", [*SMALL, *STREAMED]))
    folder = RunFolder(tmp_path / "out")
    entries: list[LedgerEntry] = []
    result = run_session(session, seed=2019, observers=SessionObservers(entries=entries))
    assert result.tallies[0].num_reports == 23
    assert [entry.num_persons for entry in entries] == [23]
    assert not list(folder.path.iterdir())
    assert run_session(session, seed=2019).outcome == result.outcome


# What is left.


def test_a_streamed_run_leaves_the_same_files_and_nobodys_values(tmp_path: Path) -> None:
    streamed(tmp_path / "out", *SMALL, "seed=918273645")
    assert {path.name for path in (tmp_path / "out").iterdir()} == LEFT
    for path in (tmp_path / "out").iterdir():
        text = path.read_text(encoding="utf-8")
        for written in ("918273645", '"seed"', "private", "truth", "voter 0", "voter-"):
            assert written not in text.replace("Nobody is trusted with private values", ""), (path, written)
    run = read(tmp_path / "out" / "run.json")
    assert (run["transport"], run["noise"]) == ("array", "simulated")
    assert run["parties"] == "92 records of 23 voters, from 184 rows"
    assert "failure" not in run
    events = read_lines(tmp_path / "out" / "events.jsonl")
    assert [(event["event"], event["party"]) for event in events] == [
        ("phase_opened", "arrays"),
        ("phase_closed", "arrays"),
    ]
    assert events[1]["received"] == 23


@pytest.mark.parametrize("paradigm", PARADIGMS[::3], ids=" ".join)
def test_the_ledger_has_one_line_for_all_voters(tmp_path: Path, paradigm: tuple[str, ...]) -> None:
    streamed(tmp_path / "stream", *SMALL, *paradigm)
    at_once(tmp_path / "whole", *SMALL, *paradigm)
    (entry,) = read_ledger(tmp_path / "stream")
    (other,) = read_ledger(tmp_path / "whole")
    assert entry == other
    assert (entry.person, entry.num_persons) == ("each of 23 voters", 23)


def test_the_ledger_of_groups_says_that_nobody_pays_more(tmp_path: Path) -> None:
    streamed(tmp_path / "out", *SMALL, *GROUPS, "paradigm=VLDP")
    (entry,) = read_ledger(tmp_path / "out")
    assert (entry.person, entry.num_persons, entry.claimed, entry.proven) == ("each of 23 voters at most", 23, 1, 1)


@pytest.mark.parametrize("source", ["a generator", "a file"])
def test_a_streamed_runs_scenario_runs_again_from_its_own_folder(
    psephos: Psephos, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    setting = "voters={voters=9, records=2, features=2, groups={}}"
    if source == "a file":
        (tmp_path / "mine").mkdir()
        write_moral_machine_like(tmp_path / "mine" / "r.csv", voters=9, records=2)
        setting = "voters={responses='mine/r.csv', groups={}}"
    words = ("--seed", 11, "--set", "noise=simulated", "--no-pictures", "--json")
    more = ("--set", "voters.stream=true", "--transport", "array", "--set", "paradigm=VLDP", "--set", "bound=3")
    first = psephos("run", "moral-synthetic", "--set", setting, *more, *words, "--out", "runs/first")
    assert (first.status, first.err) == (0, "")
    kept = read(Path("runs/first/scenario.json"))
    assert "seed" not in kept
    # All that was in force, but for what the voters say again.
    assert (kept["parameters"]["bound"], kept["parameters"]["mean"]) == (3, "weighted")
    assert kept["parameters"].keys().isdisjoint({"features", "max_records", "epsilons"})
    assert kept["parties"].get("responses", "../../mine/r.csv") == "../../mine/r.csv"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = psephos("run", "../runs/first/scenario.json", *words, "--out", "again")
    assert (again.status, again.err, again.out) == (0, "", first.out)


@pytest.mark.parametrize("pictures", [True, False])
def test_a_streamed_run_of_the_command_line_shows_the_outcome(psephos: Psephos, *, pictures: bool) -> None:
    words = [word for setting in (*SMALL, *STREAMED) for word in ("--set", setting)]
    more = () if pictures else ("--no-pictures",)
    ended = psephos("run", "moral-synthetic", *words, *more, "--out", "out", "--verbose")
    assert (ended.status, ended.err) == (0, "")
    assert "preferences  23 reported" in ended.out
    assert "92 records of 23 voters, from 184 rows" in ended.out
    assert "Everything is in out" in ended.out
    assert {path.suffix for path in Path("out").iterdir()} == {".json", ".jsonl", ".csv", ".html"} | (
        {".svg"} if pictures else set()
    )


# What is refused.


@pytest.mark.parametrize(
    ("scenario", "settings", "expected"),
    [
        ("moral-synthetic", STREAMED, True),
        ("moral-synthetic", ("voters.stream=false",), False),
        ("moral-synthetic", (), False),
        ("moral-synthetic", ("voters=mine.csv",), False),
        ("moral-synthetic", ("voters=[{voter='ann', stream=true}]",), False),
        ("crowd", ("workers.stream=true",), False),  # which has no such thing, and says so
    ],
)
def test_only_a_survey_is_streamed(scenario: str, settings: tuple[str, ...], *, expected: bool) -> None:
    loaded = load_scenario(scenario, settings)
    found = stream_of(find_protocol(loaded.protocol), loaded.parties, loaded.parameters)
    assert (found is not None) is expected


def test_adversaries_do_not_watch_a_stream() -> None:
    error = refusal("adversary=[{role='coalition', members=['server']}]")
    assert (error.field, error.value) == ("adversary", "1 given")
    assert error.allowed.startswith("left out, since voters are streamed")


@pytest.mark.parametrize("transport", ["memory", "tcp", "pigeon"])
def test_agents_are_not_streamed(transport: str) -> None:
    error = refusal(f"transport={transport}")
    assert (error.field, error.value) == ("transport", transport)
    assert error.allowed.startswith("'array', since voters are streamed")


@pytest.mark.parametrize(
    ("settings", "field", "allowed"),
    [
        (("bound=0",), "bound", "in ["),
        (("epsilon=0",), "epsilon", "in ["),
        (("epsilon=nan",), "epsilon", "in ["),
        (("budget=0.99",), "budget", "at least 1, which the session costs"),
        (("paradigm=RLDP", "mechanism=direction", "budget=49.9"), "budget", "at least 50, which the session costs"),
        (("budget=nan",), "budget", "at least 0"),
        (("features=['a']",), "features", "left out: it follows from the streamed voters"),
        (("max_records=49",), "max_records", "at least 50"),
        (GROUPS, "epsilons", "left out: noise on a sum of all has one ε for all"),
        (("paradigm=VLDP", *GROUPS, "epsilon=2"), "epsilon and epsilons", "given one of them alone"),
        (("quorum=0",), "quorum", "a number of parties"),
        (("quorum=201",), "quorum", "at most the 200 parties"),
        (("deadline_seconds=0",), "deadline_seconds", "positive"),
        (("phases.weights.quorum=1",), "phases", "rules for join, preferences"),
        (("voters.voters=0",), "voters", "in [1,"),
        (("voters.choices=a.csv", "voters.stream=true"), "voters.choices", "a file, a folder or a pattern"),
        (("voters.responses=none.csv", "voters.stream=true"), "voters.responses", "There is no file"),
    ],
)
def test_what_is_wrong_with_a_stream_is_said_before_a_voter_is_read(
    settings: tuple[str, ...], field: str, allowed: str
) -> None:
    error = refusal(*settings)
    assert error.field == field
    assert allowed in error.allowed


def test_groups_beyond_the_most_levels_are_refused() -> None:
    settings = ("paradigm=VLDP", "voters.groups.epsilon_liberal=10.01")
    assert refusal(*settings).field == "epsilon_conservative, epsilon_moderate, epsilon_liberal"
    resolve(load_scenario("moral-synthetic", [*STREAMED, *settings[:1], "voters.groups.epsilon_liberal=10"]))


@pytest.mark.parametrize(
    "settings",
    [
        ("voters.generator=norml",),
        ("voters.stream=1",),
        ("voters.groups.liberal=.5",),
        ("voters.responses=none.csv", "voters.stream=true"),
    ],
)
def test_a_refused_stream_gets_one_sentence_status_2_and_no_folder(psephos: Psephos, settings: tuple[str, ...]) -> None:
    words = [word for setting in (*STREAMED, *settings) for word in ("--set", setting)]
    ended = psephos("run", "moral-synthetic", *words, "--out", "out")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("psephos: ")
    assert ended.err.count("\n") == 1
    assert not Path("out").exists()


def test_nothing_of_a_stream_can_be_recorded(psephos: Psephos) -> None:
    words = [word for setting in STREAMED for word in ("--set", setting)]
    ended = psephos("run", "moral-synthetic", *words, "--record", "--out", "out")
    assert (ended.status, ended.out) == (2, "")
    assert "leave out --record on arrays, which record no views" in ended.err
    assert not Path("out").exists()


@pytest.mark.parametrize(
    "command", [("roster", "--make-keys"), ("serve", "--transport", "tcp", "--listen", "127.0.0.1:0")]
)
def test_nobody_serves_or_invites_a_stream(psephos: Psephos, command: tuple[str, ...]) -> None:
    ended = psephos(*command, "moral-synthetic", "--set", "voters.stream=true", "--out", "out")
    assert (ended.status, ended.out) == (2, "")
    assert "leave out voters.stream, or false" in ended.err
    assert not Path("out").exists()


def test_a_fault_in_a_file_is_named_with_its_line_and_kept_in_the_folder(
    psephos: Psephos, responses: Path, tmp_path: Path
) -> None:
    lines = responses.read_text(encoding="utf-8").splitlines()
    cells = lines[41].split(",")
    cells[-1] = "x"
    responses.write_text("\n".join([*lines[:41], ",".join(cells), *lines[42:]]) + "\n", encoding="utf-8")
    words = [word for setting in (f"voters.responses={responses}", *STREAMED) for word in ("--set", setting)]
    ended = psephos("run", "moral-machine", *words, "--out", "out", "--json")
    assert (ended.status, ended.out) == (2, "")
    assert "responses.csv line 42" in ended.err
    assert ended.err.count("\n") == 1
    assert read(tmp_path / "out" / "run.json")["failure"]["error"] == "ConfigurationError"
    assert {path.name for path in Path("out").iterdir()} == {
        "scenario.json",
        "run.json",
        "events.jsonl",
        "ledger.jsonl",
        "report.html",
    }
    assert read_ledger(Path("out")) == []  # nobody's report was drawn


def with_temporary_files(monkeypatch: pytest.MonkeyPatch, *, fails_at: int | None = None) -> Streamed:
    """Return a stream of four batches that has temporary files while it is read, and may fail at a batch."""
    session = resolve(load_scenario("moral-synthetic", [*SMALL, *STREAMED]))
    assert isinstance(session, Streamed)
    whole = session.stream.open

    def temporary(folder: Path) -> Iterator[Batch]:
        (folder / "temporary").mkdir()
        try:
            for number, batch in enumerate(whole(folder)):
                if number == fails_at:
                    raise OSError(28, "No space left on device")
                yield batch
        finally:
            (folder / "temporary").rmdir()

    monkeypatch.setitem(vars(session.stream), "open", temporary)
    return session


def test_what_was_drawn_before_a_failure_is_in_the_ledger_and_temporary_files_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = with_temporary_files(monkeypatch, fails_at=2)
    with pytest.raises(OSError, match="No space left"):
        run_in_folder(session, RunFolder(tmp_path / "out"), pictures=False)
    (entry,) = read_ledger(tmp_path / "out")
    assert (entry.person, entry.num_persons) == ("each of 14 voters", 14)
    run = read(tmp_path / "out" / "run.json")
    assert run["failure"]["error"] == "OSError"
    assert run["parties"] == "56 records of 14 voters, from 112 rows"
    assert not os.path.lexists(tmp_path / "out" / "temporary")
    assert not (tmp_path / "out" / "result.json").exists()


def test_temporary_files_go_where_whoever_takes_batches_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = with_temporary_files(monkeypatch)

    def fail(phase: str, count: int, outstanding: float) -> None:
        assert (phase, outstanding) == ("preferences", 16)
        assert (tmp_path / "out" / "temporary").is_dir()
        raise RuntimeError(count)

    with pytest.raises(RuntimeError) as caught:
        run_in_folder(
            session, RunFolder(tmp_path / "out"), pictures=False, observers=SessionObservers(on_progress=fail)
        )
    assert caught.value.args == (7,)
    assert not (tmp_path / "out" / "temporary").exists()  # although somebody still holds the error
