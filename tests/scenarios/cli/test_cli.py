"""The command line: what it prints, where, and with which exit status."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bad_input import Psephos, Write
from click.testing import CliRunner
from deployments import PATIENCE
from psephos.scenarios.cli import cli, main
from psephos.scenarios.cli.group import SECTIONS, system_commands
from psephos.scenarios.running.config import list_scenarios, list_series

SMALL = ("run", "consortium", "--set", "count=12", "--no-pictures", "--out", "out")
CUTS_AFTER_ALL_JOINED = 17
"""A seed of a network that cuts no connection before its first payload, and some of them before the second."""
TABLE = "partner,weight,merger\nann,1,1\nbob,3,0\ncid,2,1\n"


def in_a_process(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line as a process of its own."""
    command = [sys.executable, "-m", "psephos.scenarios.cli", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603  our own


def test_a_run_shows_trust_phases_outcome_and_price(psephos: Psephos) -> None:
    ended = psephos(*SMALL, "--verbose")
    assert (ended.status, ended.err) == (0, "")
    for shown in (
        "12 partners · protocol dpwevote · variant joint · agents over memory · simulated noise",
        "Trust: Nobody is trusted with private values",
        "12 joined",
        "approximate quota",
        "release",
        "True margin",
        "ε proven",
        "Privacy loss per person: Whoever had no idea (50 : 50) ends at most 73.2 % sure of one person's vote (ε = 1).",
        "Everything is in out",
    ):
        assert shown in ended.out
    assert "\x1b[" not in ended.out


@pytest.mark.parametrize("transport", ["memory", "tcp", "array"])
def test_json_is_the_result_and_nothing_else(psephos: Psephos, transport: str) -> None:
    ended = psephos(*SMALL, "--json", "--transport", transport)
    assert ended.status == 0
    assert "may stay undecided even if all agree" in " ".join(ended.err.split())
    assert ended.out == Path("out/result.json").read_text(encoding="utf-8")
    assert json.loads(ended.out)["session"] == "consortium"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--transport", "array", "--verbose"), "arrays, no agents"),
        (("--set", "noise=secure"), "secure noise"),
        *((("--out", name), f"Everything is in {name}") for name in ("out[/x]", "[bold]out", "out [1]")),
    ],
)
def test_a_run_says_how_it_was_computed_and_where_it_is(psephos: Psephos, words: tuple[str, ...], said: str) -> None:
    ended = psephos(*SMALL, *words)
    assert ended.status == 0
    assert said in ended.out


def test_the_truth_of_a_file_is_not_printed(psephos: Psephos, write: Write) -> None:
    write("mine.csv", TABLE)
    ended = psephos("run", "consortium", "--set", "partners=mine.csv", "--no-pictures")
    assert ended.status == 0
    assert "merger" in ended.out
    assert "True margin" not in ended.out


def test_without_a_folder_named_each_run_gets_its_own_below_runs(psephos: Psephos) -> None:
    for _ in range(3):
        assert psephos("run", "consortium", "--set", "count=3", "--no-pictures").status == 0
    folders = list(Path("runs").iterdir())
    assert len(folders) == 3
    assert all(folder.name.startswith("consortium-") for folder in folders)


def test_record_writes_the_private_folder(psephos: Psephos) -> None:
    assert psephos(*SMALL, "--record").status == 0
    assert {path.name for path in Path("out/private").iterdir()} == {"simulation.json", "views.jsonl"}


def test_pictures_are_drawn_unless_refused(psephos: Psephos) -> None:
    assert psephos("run", "consortium", "--set", "count=5", "--out", "with").status == 0
    assert Path("with/estimates.svg").exists()
    assert psephos("run", "consortium", "--set", "count=5", "--no-pictures", "--out", "without").status == 0
    assert not list(Path("without").glob("*.svg"))


def test_a_run_draws_without_matplotlib_and_trials_say_what_to_install(
    psephos: Psephos, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    few = ("consortium", "--set", "count=6")
    run = psephos("run", *few, "--out", "run")
    assert (run.status, "matplotlib" in run.out) == (0, False)
    assert Path("run/estimates.svg").exists()
    trials = psephos("trials", *few, "--trials", "2", "--out", "trials")
    assert not [*Path("trials").glob("*.svg"), *Path("trials").glob("*.png")]
    assert "\nThere is no picture, since matplotlib is not installed: pip install 'psephos[pictures]'\n\n" in trials.out
    told = psephos("trials", *few, "--trials", "2", "--no-pictures", "--out", "plain").out
    assert "psephos[pictures]" not in told


def test_scenarios_lists_those_that_ship(psephos: Psephos) -> None:
    ended = psephos("scenarios")
    assert ended.status == 0
    assert "consortium" in ended.out
    assert "The Council of the European Union votes" in ended.out


@pytest.mark.parametrize("transport", ["memory", "array"])
def test_ledger_shows_who_paid_what(psephos: Psephos, transport: str) -> None:
    psephos(*SMALL, "--transport", transport)
    ended = psephos("ledger", "out", "--delta", "1e-6")
    assert (ended.status, ended.err) == (0, "")
    assert "each of 12 at most: ε proven = 1, or ε = 1 at δ = 1e-06" in ended.out


def test_ledger_of_one_party(psephos: Psephos) -> None:
    psephos(*SMALL)
    assert "partner-3 in all: ε proven = 1" in psephos("ledger", "out", "--party", "partner-3").out
    lines = [json.loads(line) for line in psephos("ledger", "out", "--json").out.splitlines()]
    assert len(lines) == 24
    own = [json.loads(line) for line in psephos("ledger", "out", "--json", "--party", "partner-3").out.splitlines()]
    assert own == [line for line in lines if line["person"] == "partner-3"]
    assert sum(line["proven"] for line in own) == 1.0


def test_an_empty_ledger_is_said_to_be(psephos: Psephos, write: Write, tmp_path: Path) -> None:
    write("ledger.jsonl", "")
    ended = psephos("ledger", tmp_path)
    assert (ended.status, ended.out) == (0, "the ledger is empty: nothing was reported\n")


WRONG = {
    "weights too far apart for arithmetic": ["weights=[1e-300, 1, 1e300]"],
    "weights too far apart for noise": ["weights=[1e-300, 1, 1e300]", "variant=laplace"],
    "quota and share": ["quota=5", "quota_fraction=0.5"],
    "an unknown phase by arrays": ["phases.wieghts.quorum=2", "transport=array"],
    "a quorum of more than all by arrays": ["quorum=13", "transport=array"],
    "no equals sign": ["epsilon"],
    "a file that is not there": ["partners=nowhere.csv"],
}


def check_refused(ended: Any) -> None:
    """Check that a command ended as it should where the input was wrong."""
    assert ended.status == 2
    assert ended.out == ""
    assert ended.err.startswith("psephos: ")
    assert ended.err.count("\n") == 1
    assert "Traceback" not in ended.err


@pytest.mark.bad_input("an unknown scenario, key or transport")
@pytest.mark.parametrize("case", list(WRONG))
def test_a_wrong_setting_ends_with_status_2_one_line_and_no_folder(psephos: Psephos, case: str) -> None:
    """Others are in running/test_config.py, and those of weighted votes in dpwevote/test_bad_input.py."""
    settings = [word for setting in WRONG[case] for word in ("--set", setting)]
    check_refused(psephos(*SMALL, *settings))
    assert not Path("out").exists()


WRONG_COMMANDS = (
    "run consortum",
    "run nowhere.toml",
    "run bad.toml",
    "run bytes.toml",
    "run .",
    f"run {'a' * 300}",
    "run consortium --transport pigeon",
    "run consortium --out used",
    "run consortium --out bad.toml",
    "ledger used",
    "ledger nowhere",
    "ledger run --party Nobody",
    "ledger run --delta 0",
    "ledger run --delta nan",
    "ledger broken",
    "ledger bytes",
)


def test_a_wrong_command_ends_with_status_2_and_one_line(psephos: Psephos, write: Write) -> None:
    write("bad.toml", "protocol = ")
    write("bytes.toml", b"\xff\xfe\x00")
    for folder in ("used", "broken", "bytes"):
        Path(folder).mkdir()
    write("used/notes.txt", "mine")
    write("broken/ledger.jsonl", "{}\n")
    write("bytes/ledger.jsonl", b'{"person": "\xff"}\n')
    psephos(*SMALL[:-1], "run")
    for words in WRONG_COMMANDS:
        check_refused(psephos(*words.split()))
        assert {path.name for path in Path("used").iterdir()} == {"notes.txt"}, words


@pytest.mark.parametrize("settings", [["--transport", "array"], ["--set", "noise=secure"]])
def test_what_cannot_be_recorded_is_refused_before_a_folder_is_made(psephos: Psephos, settings: list[str]) -> None:
    check_refused(psephos(*SMALL, "--record", *settings))
    assert not Path("out").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["run"],
        ["run", "consortium", "--seed", "-1"],
        ["run", "consortium", "--seed", "seven"],
        ["run", "consortium", "--seed"],
        ["run", "consortium", "--fast\x1b[31m"],
        ["new", "vote", "--abstentions"],
        ["new", "vote", "a.csv", "b.csv"],
        ["journal", "show", "--nosuch"],
        ["walk", "consortium"],
        ["ledger", "x", "--delta", "small"],
        ["ledger", "x", "--delta", "0.1", "--json"],
    ],
    ids=repr,
)
def test_wrong_usage_ends_with_status_2_and_says_how_on_one_line(psephos: Psephos, words: list[str]) -> None:
    ended = psephos(*words)
    assert (ended.status, ended.out, len(ended.err.splitlines()), ended.err[:-1].isprintable()) == (2, "", 1, True)
    assert ended.err.startswith("psephos: ")
    _, *named, last = shlex.split(ended.err.rpartition("Help: ")[2])
    assert (named, last) == (words[: len(named)], "--help")
    assert (psephos(*named, last).status, bool(named)) == (0, words[0] != "walk")


async def stay_away(_self: object, channel: Any) -> None:
    await channel.aclose()


async def refuse(_self: object, address: str) -> None:
    raise ConnectionRefusedError(111, f"nobody listens at {address}")


@pytest.mark.parametrize(
    ("part", "fails", "settings", "said"),
    [
        ("Surveyor.take_part", stay_away, "deadline_seconds = 0.05", "phase 'join' closed with 0 of the 1 parties"),
        ("Wire.connect", refuse, 'transport = "wire"', "nobody listens"),
    ],
    ids=["a party", "the network"],
)
def test_what_fails_ends_a_run_with_status_1_and_one_line(
    survey: str, psephos: Psephos, write: Write, part: str, fails: Callable[..., Any], settings: str, said: str
) -> None:
    kind, method = part.split(".")
    setattr(getattr(__import__(survey), kind), method, fails)
    write("sum.toml", f'protocol = "bounded-total"\n{settings}\nsurveyors = [{{ surveyor = "ann", value = 5 }}]\n')
    ended = psephos("run", "sum.toml", "--out", "out", "--json")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith(f"psephos: {said}")
    assert ended.err.count("\n") == 1


def test_parties_that_did_not_hear_the_outcome_are_named_as_they_are(
    survey: str, psephos: Psephos, write: Write
) -> None:
    module: Any = __import__(survey)
    take_part = module.Surveyor.take_part

    async def sometimes(self: Any, channel: Any) -> Any:
        heard = await take_part(self, channel)
        if self.ledger.person.startswith("["):
            raise module_error(self.ledger.person)
        return heard

    def module_error(name: str) -> Exception:
        from psephos.protocol import SessionAborted  # noqa: PLC0415  beside what raises it

        return SessionAborted(reason="away", by=name)

    module.Surveyor.take_part = sometimes
    rows = '[{ surveyor = "[/b]", value = 5 }, { surveyor = "bob", value = 8 }]'
    write("sum.toml", f'protocol = "bounded-total"\nsurveyors = {rows}\n')
    ended = psephos("run", "sum.toml", "--out", "out", "--verbose")
    assert ended.status == 0
    assert "1 did not hear the outcome; [/b]: [/b] ended the session: away" in ended.out


def end_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let every command end with this error."""

    def fail(**_options: object) -> None:
        raise error

    monkeypatch.setattr(cli, "main", fail)


@pytest.mark.parametrize("error", [(bug := ZeroDivisionError("ours")), ExceptionGroup("a nursery", [bug])])
def test_a_bug_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    end_with(monkeypatch, error)
    with pytest.raises(type(error)) as caught:
        main()
    assert caught.value is error


def test_an_interrupt_inside_a_session_is_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = BaseExceptionGroup("a nursery", [KeyboardInterrupt()])
    end_with(monkeypatch, BaseExceptionGroup("a nursery", [inner, ValueError("meanwhile")]))
    with pytest.raises(SystemExit) as ending:
        main()
    assert ending.value.code == 130
    assert capsys.readouterr().err == "psephos: interrupted\n"


def test_help_shows_each_example_on_a_line_of_its_own(psephos: Psephos) -> None:
    lines = [line.strip() for line in psephos("run", "--help").out.splitlines()]
    assert "psephos run eu-council --transport tcp" in lines
    assert "psephos run consortium --set partners=mine.csv --seed 7 --json" in lines


def test_examples_of_audits_name_what_can_be_audited(psephos: Psephos) -> None:
    """In help and in the manual: a scenario of a protocol whose system has audits of its own is none of these."""
    root = Path(__file__).parents[3]
    pages = [path.read_text(encoding="utf-8") for path in (*root.glob("docs/*.md"), root / "README.md")]
    pages += [psephos(command, "--help").out for command in ("report", "audit")]
    named = {
        name for page in pages for name in re.findall(r"^\s*(?:\$ )?psephos audit ([a-z][\w-]*)", page, re.MULTILINE)
    }
    assert {"dpwevote", "k-rr", "all"} <= named
    assert named & {*list_scenarios(), *list_series()} == set()


def test_the_installed_command_is_this_one(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).parent / "psephos"), "--version"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603  our own
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("psephos, version ")


@pytest.mark.full("a process more")
def test_a_process_prints_json_alone_over_tcp(tmp_path: Path) -> None:
    ended = in_a_process(*SMALL, "--json", "--transport", "tcp", folder=tmp_path)
    assert ended.returncode == 0
    assert ended.stderr.startswith(
        "  12 partners at ε = 1 may stay undecided even if all agree"
    )  # said before the run, and beside it
    assert json.loads(ended.stdout)["received"] == {"weights": 12, "opinions": 12}


def test_a_process_with_wrong_input_leaves_one_line(tmp_path: Path) -> None:
    ended = in_a_process("run", "consortium", "--set", "epsilon=0", folder=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.few(most=1)
@pytest.mark.parametrize("transport", ["memory", "array"])
def test_an_interrupted_run_ends_with_status_130_and_one_line(tmp_path: Path, transport: str) -> None:
    """Arrays take a second from their heading on; agents wait for minutes: connections are cut once all have joined."""
    settings = {
        "memory": ("count=12", "network.partition=0.05", f"seed={CUTS_AFTER_ALL_JOINED}"),
        "array": ("count=2000000",),
    }[transport]
    own = [word for setting in settings for word in ("--set", setting)]
    words = ["run", "consortium", "--transport", transport, *own, "--no-pictures", "--verbose", "--out", "out"]
    command = [sys.executable, "-m", "psephos.scenarios.cli", *words]
    with subprocess.Popen(  # noqa: S603  our own
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        # The heading is shown before the session begins, and each phase's line as it closes.
        awaited = "joined" if transport == "memory" else "arrays, no agents"
        while awaited not in (line := process.stdout.readline()):
            assert line, "ended too early"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    kept = "out keeps events.jsonl, ledger.jsonl, run.json, scenario.json"
    # By arrays the heading says nothing of when the folder is written to: none of it may be there, or some.
    allowed = re.escape(kept) if transport == "memory" else r"(nothing was kept|out keeps [a-z.]+(, [a-z.]+)*)"
    assert re.fullmatch(f"psephos: interrupted; {allowed}", errors.strip())
    assert process.returncode == 130


INTERRUPTED = """
import gc, os, signal, sys, time, weakref
from psephos.scenarios.cli.group import cli, main

def send(*_):
    os.kill(os.getpid(), signal.{number})

class Freed:
    def __del__(self):
        send()
        time.sleep(0.03)  # in which it comes once more, and is dropped again

class Referred:
    pass

@cli.command()
def work():
    {drop}
    time.sleep(60)

main()
"""


@pytest.mark.few(most=2)
@pytest.mark.parametrize(
    ("number", "status", "said", "drop"),
    [
        ("SIGINT", 130, "interrupted", "Freed()"),
        ("SIGTERM", 143, "interrupted (SIGTERM)", "one = Referred(); held = weakref.ref(one, send); del one"),
        ("SIGINT", 130, "interrupted", "gc.callbacks.append(send); gc.collect(); gc.callbacks.clear()"),
    ],
    ids=["while an object is freed", "while a reference is told", "while the collector tells"],
)
def test_an_interrupt_that_python_drops_ends_the_command_too(number: str, status: int, said: str, drop: str) -> None:
    """As of one in five while a library drew that freed each value: the audit then went on to its end."""
    code = INTERRUPTED.format(number=number, drop=drop)
    ended = subprocess.run(  # noqa: S603  our own
        [sys.executable, "-c", code, "work"], capture_output=True, text=True, check=False, timeout=50
    )
    assert (ended.returncode, ended.stderr.strip()) == (status, f"psephos: {said}")


@pytest.mark.parametrize(
    "words",
    [
        ["run", "eu-council", "--no-pictures", "--out", "out"],
        pytest.param(["scenarios"], marks=pytest.mark.full("as of a run")),
    ],
)
def test_a_reader_who_leaves_ends_nothing_but_the_show(tmp_path: Path, words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(  # noqa: S603  ours
        [sys.executable, "-m", "psephos.scenarios.cli", *words],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "run" not in words or (tmp_path / "out" / "result.json").exists()


def test_a_party_of_a_run_by_arrays_has_no_lines_of_its_own(psephos: Callable[..., Any]) -> None:
    psephos("run", "consortium", "--transport", "array", "--set", "count=5", "--no-pictures", "--out", "out")
    refusal = psephos("ledger", "out", "--party", "partner-1").refusal
    assert "one line of each loss for all parties" in refusal


def test_help_lists_every_command_of_ours_in_one_section_and_systems_after_them() -> None:
    in_sections = [name for names in SECTIONS.values() for name in names]
    assert sorted(in_sections) == sorted(cli.commands)
    told = CliRunner().invoke(cli, ["--help"]).output
    places = [told.index(f"\n{title}:\n") for title in (*SECTIONS, "For single systems")]
    assert places == sorted(places)
    for name in (*in_sections, *system_commands()):
        assert len(re.findall(rf"^  {name} ", told, re.MULTILINE)) == 1, name
