"""What a command imports: a run its own system alone, and no command what it does not need.

Modules do not depend on the machine's load, as seconds do; so they are counted, ours alone, with 5 % of room.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

_SCRIPT: Final = """
import sys
sys.argv[0] = "psephos"
from psephos.scenarios.cli import main
try:
    main()
finally:
    print("modules:", *sys.modules)
"""
_SYSTEMS: Final = {"dpwevote", "fair_voting", "moral_preferences", "truth_discovery"}
_NO_RUN: Final = {"cryptography", "dp_accounting", "matplotlib", "nacl", "opendp", "pandas", "prometheus_client"}
_ROOM: Final = 1.05


def imported(*words: str, folder: Path) -> set[str]:
    """Return what a command has imported when it ends, in a process of its own."""
    command = [sys.executable, "-c", _SCRIPT, *words]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603  our own
    assert ended.returncode == 0, ended.stderr
    return set(ended.stdout.splitlines()[-1].removeprefix("modules: ").split())


def check_number(modules: set[str], expected: int) -> None:
    """Check that ours are at most so many and 5 %; whoever makes them fewer lowers the number."""
    ours = sorted(module for module in modules if module.partition(".")[0] == "psephos")
    assert len(ours) <= expected * _ROOM, ours


def test_help_imports_neither_numpy_nor_trio(tmp_path: Path) -> None:
    modules = imported("--help", folder=tmp_path)
    assert modules & {"numpy", "trio", "scipy", "msgspec", "rich", "structlog", "matplotlib"} == set()
    check_number(modules, 32)


@pytest.mark.few(most=2)
@pytest.mark.parametrize(
    ("scenario", "system", "needs_scipy", "number"),
    [
        ("eu-council", "dpwevote", False, 241),
        ("crowd", "truth_discovery", True, 260),
        ("moral-synthetic", "moral_preferences", True, 264),
        ("two-societies", "fair_voting", True, 265),
    ],
)
def test_a_run_imports_its_own_system_and_no_attack(
    scenario: str, system: str, *, needs_scipy: bool, number: int, tmp_path: Path
) -> None:
    """With its page and its picture. scipy loads a sub-package when it is first used, by `import scipy as sp`."""
    modules = imported("run", scenario, "--out", "run", folder=tmp_path)
    assert (tmp_path / "run" / "estimates.svg").is_file()
    of_others = _SYSTEMS - {system}
    assert not {
        module for module in modules if of_others & set(module.split(".")) and not module.endswith(".system")
    } - {f"psephos.scenarios.{other}" for other in of_others}
    assert not {module for module in modules if {"attack", "attacks", "audit", "paper"} & set(module.split(".")[2:-1])}
    assert modules & _NO_RUN == set()
    assert needs_scipy == ("scipy.special" in modules)
    check_number(modules, number)
