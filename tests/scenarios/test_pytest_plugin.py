"""The pytest plugin, as a stranger's command line has it; and that it costs nothing where it is not asked."""

import subprocess
import sys
from pathlib import Path

import pytest
from thoroughness import IS_FULL

TESTS = Path(__file__).parents[1]

STRANGER = """
from polls import VOTERS, Poll, Settings
from psephos.scenarios.adversaries import AttackReport, Role
from psephos.transports import MemoryTransport


def make_case():
    return Poll(Settings()), VOTERS


def make_nothing():
    return "a protocol"


class WrongType(Poll):
    def outcome(self, tallies):
        return Settings()

    @classmethod
    def example(cls):
        return cls(Settings()), VOTERS


class BreaksInOutcome(WrongType):
    def outcome(self, tallies):
        return 1 / 0


class Onlooker(Role, frozen=True, kw_only=True):
    name = "onlooker"

    def learn(self, context, happened):
        return AttackReport(role=self.name, who="onlookers", trust="They look.", sentences=("They looked.",))

    @classmethod
    def example(cls):
        return cls(members=("voter-1",)), *make_case()


class NeedsNone(Onlooker, frozen=True, kw_only=True):
    needs_agents = True


class Deaf(MemoryTransport):
    async def open_listener(self, address=None):
        raise OSError("deaf")
"""


def ask(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder of its own, with a stranger's module, and warnings as errors."""
    (folder / "stranger.py").write_text(STRANGER, encoding="utf-8")
    environment = {"PYTHONPATH": f"{folder}:{TESTS}", "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-W", "error", "-m", "pytest", "-p", "no:cacheprovider", "--color=no", *options]
    return subprocess.run(  # noqa: S603  our own
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.full("a process more")
def test_what_is_without_a_fault_passes(tmp_path: Path) -> None:
    """When quick a role alone: others' checks take seconds, here as where they are made."""
    asked = {"role": "stranger:Onlooker"}
    if IS_FULL:
        asked |= {"protocol": "stranger:make_case", "transport": "stranger:MemoryTransport"}
    done = ask(tmp_path, "-v", *(word for kind, target in asked.items() for word in (f"--psephos-{kind}", target)))
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(f"psephos-{kind}[{target}] PASSED" in done.stdout for kind, target in asked.items())
    assert f"{len(asked)} passed" in done.stdout


WRONG = [
    ("protocol", "stranger:WrongType", "The outcome is of outcome_type, field by field"),
    ("protocol", "stranger:BreaksInOutcome", "return 1 / 0"),
    ("role", "stranger:NeedsNone", "A role needs agents only if it deviates"),
    ("transport", "stranger:Deaf", "Payloads arrive in order"),
    ("protocol", "stranger:Poll", "is neither a function nor a class with the function 'example'"),
    ("protocol", "stranger:make_nothing", "returned 'a protocol', and not (protocol, rows)"),
    ("role", "stranger:make_case", "and not (role, protocol, rows)"),
    ("protocol", "stranger:nowhere", "stranger:nowhere cannot be imported"),
    ("protocol", "nobody:make_case", "nobody:make_case cannot be imported: No module named 'nobody'"),
]


def test_what_is_wrong_fails_with_the_reason(tmp_path: Path) -> None:
    done = ask(tmp_path, *(word for kind, target, _ in WRONG for word in (f"--psephos-{kind}", target)))
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{len(WRONG)} failed" in done.stdout
    reports = done.stdout.partition("= FAILURES =")[2].partition("short test summary")[0]
    for kind, target, said in WRONG:
        report = reports.partition(f"_ psephos-{kind}[{target}] _")[2].partition("\n___")[0]
        assert said in report


def test_nothing_is_imported_that_is_not_asked_for(tmp_path: Path) -> None:
    """Neither by the plugin's module nor by a run of pytest in which it is installed."""
    test = """
        import sys

        def test_nothing_is_here():
            ours = {name for name in sys.modules if name.startswith("psephos.")}
            assert ours == {"psephos.scenarios", "psephos.scenarios.pytest_plugin"}
            assert not {"numpy", "scipy", "msgspec", "pandas", "structlog", "click"} & {*sys.modules}
    """
    (tmp_path / "test_it.py").write_text("\n".join(line[8:] for line in test.splitlines()), encoding="utf-8")
    # What else is installed here, for our own tests, imports numpy and trio.
    others = [word for name in ("hypothesispytest", "trio", "xdist") for word in ("-p", f"no:{name}")]
    done = ask(tmp_path, *others, "test_it.py")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.full("a process more")
def test_the_help_says_what_the_options_take(tmp_path: Path) -> None:
    told = " ".join(ask(tmp_path, "--help").stdout.split())
    for option in ("protocol", "transport", "role"):
        assert f"--psephos-{option}=MODULE:NAME" in told
    assert "a function without arguments that returns the protocol and its parties' rows" in told
