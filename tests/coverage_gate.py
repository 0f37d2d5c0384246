"""The gate of `make verify`: prints what no test runs, and fails where too much of it is a branch.

Run after `coverage combine`. Coverage by branches is a start, not a goal; what it finds is code that nobody asked
anything of.
"""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import coverage
from runs import read_json

ROOT: Final = Path(__file__).parents[1]
ROOMS: Final = ("protocol", "transports", "agents", "scenarios")
WHOLE: Final = "the whole"
LEAST: Final = {"protocol": 95.0, WHOLE: 90.0}
"""Percent of branches."""

Counts = dict[str, int]


def measured_files(folder: Path) -> dict[str, Counts]:
    """Print the report of what is missed, and return each file's counts by its path below the root.

    Args:
        folder: of the repository, where `pyproject.toml` is; the combined data are where coverage puts them.

    Raises:
        coverage.CoverageException: there is no data.
    """
    coverages = coverage.Coverage(config_file=str(folder / "pyproject.toml"))
    coverages.load()
    coverages.report(file=sys.stdout)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        coverages.json_report(outfile=file.name)
        report: dict[str, Any] = read_json(file.name)
    return {_below(folder, name): each["summary"] for name, each in report["files"].items()}


def _below(folder: Path, name: str) -> str:
    """Return a measured file's path below the root: an editable installation links to the tree."""
    path = (folder / name).resolve()
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else name


def branch_coverage(files: Mapping[str, Counts], room: str = "") -> float:
    """Return the percentage of branches that were taken, in one room or in all."""
    counts = [each for name, each in files.items() if name.startswith(f"{room}/" if room else ROOMS)]
    branches = sum(each["num_branches"] for each in counts)
    covered = sum(each["covered_branches"] for each in counts)
    return 100 * covered / branches if branches else 0.0


def failures(files: Mapping[str, Counts], expected: set[str]) -> list[str]:
    """Return why the gate stays shut, a sentence each.

    Args:
        files: what was measured.
        expected: the files that must be among them.
    """
    reasons = [f"{name} was never imported while the tests ran" for name in sorted(expected - set(files))]
    for name, least in LEAST.items():
        reached = branch_coverage(files, "" if name == WHOLE else name)
        if reached < least:
            reasons.append(f"branch coverage of {name} is {reached:.1f} %, and at least {least:g} % is asked for")
    return reasons


def main(folder: Path = ROOT) -> int:
    """Print the report and the verdict; return the exit status."""
    expected = {
        file.relative_to(folder).as_posix()
        for room in ROOMS
        for file in (folder / room).rglob("*.py")
        if file.stat().st_size
    }
    try:
        files = measured_files(folder)
    except coverage.CoverageException as error:
        sys.stdout.write(f"coverage gate: there is nothing to read: {error}\n")
        return 1
    for name in (*ROOMS, WHOLE):
        reached = branch_coverage(files, "" if name == WHOLE else name)
        sys.stdout.write(f"branch coverage of {name}: {reached:.1f} %\n")
    reasons = failures(files, expected)
    for reason in reasons:
        sys.stdout.write(f"coverage gate: {reason}\n")
    return 1 if reasons else 0


if __name__ == "__main__":
    sys.exit(main())
