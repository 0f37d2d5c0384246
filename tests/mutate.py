"""Mutation testing of mechanisms, estimators and privacy: `make mutate`.

Works on a copy of the tree, so that a mutant never stands in the checkout. Each part of the code is tested by its own
mirror (the accountants' suite included; the battery over secure noise is too slow for a thousand mutants), all parts
in parallel, one process each. Prints the score, and every mutant that no test noticed, so that somebody can say
whether it matters.
"""

import concurrent.futures
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

ROOT: Final = Path(__file__).parent.parent
WORK: Final = ROOT / ".mutation"
BIN: Final = Path(sys.executable).parent
ROOMS: Final = ("protocol", "transports", "agents", "scenarios")
PARTS: Final = {
    "mechanisms": ("tests/protocol/mechanisms",),
    "estimators": ("tests/protocol/estimators",),
    "privacy": ("tests/protocol/privacy", "tests/conformance/test_accountants.py"),
}
# Mutants that mean nothing: `|` in a type is no operation, a decorator that is gone is a type error, and operators
# that floats do not have are noticed by Python itself.
MEANINGLESS: Final = (
    "core/ReplaceBinaryOperator_BitOr_.*",
    "core/ReplaceBinaryOperator_.*_(BitAnd|BitOr|BitXor|LShift|RShift)",
    "core/ReplaceComparisonOperator_.*_(Is|IsNot)",
    "core/RemoveDecorator",
)
SECONDS_PER_MUTANT: Final = 60


def prepare(part: str) -> Path:
    """Copy the tree for one part, importable as `psephos.…`, and write the tool's configuration."""
    tree = WORK / part
    shutil.rmtree(tree, ignore_errors=True)
    for folder in (*ROOMS, "tests"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__", ".hypothesis"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    package = tree / "path" / "psephos"
    package.mkdir(parents=True)
    for room in ROOMS:
        (package / room).symlink_to(tree / room)
    command = f"{sys.executable} -m pytest -x -q -p no:cacheprovider {' '.join(PARTS[part])}"
    lines = [
        "[cosmic-ray]",
        f'module-path = ["protocol/{part}"]',
        f"timeout = {SECONDS_PER_MUTANT}",
        'excluded-modules = ["protocol/*/__init__.py"]',
        f'test-command = "{command}"',
        "[cosmic-ray.distributor]",
        'name = "local"',
        "[cosmic-ray.filters.operators-filter]",
        f"exclude-operators = {list(MEANINGLESS)}",
    ]
    (tree / "mutation.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tree


def run(tree: Path, *command: str) -> str:
    """Run a command of the tool in the copy and return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "path"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(  # noqa: S603  our own commands
        [str(BIN / command[0]), *command[1:]], cwd=tree, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout


def mutate(part: str) -> list[dict[str, Any]]:
    """Run all mutants of one part and return the tool's records, one for each."""
    tree = prepare(part)
    run(tree, "cosmic-ray", "init", "mutation.toml", "session.sqlite")
    run(tree, "cr-filter-operators", "session.sqlite", "mutation.toml")
    run(tree, "cosmic-ray", "--verbosity", "ERROR", "baseline", "mutation.toml")  # without a mutant all tests pass
    run(tree, "cosmic-ray", "exec", "mutation.toml", "session.sqlite")
    lines = run(tree, "cosmic-ray", "dump", "session.sqlite").splitlines()
    return [
        {**work["mutations"][0], **(outcome or {})}
        for work, outcome in (msgspec.json.decode(line) for line in lines)
        if outcome is None or outcome["worker_outcome"] != "skipped"
    ]


def main() -> None:
    """Run all parts and print the score."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        results = dict(zip(PARTS, pool.map(mutate, PARTS), strict=True))
    survivors = [record for records in results.values() for record in records if record["test_outcome"] == "survived"]
    for record in survivors:
        line, column = record["start_pos"]
        print(f"survived: {record['module_path']}:{line}:{column} {record['operator_name']}")  # noqa: T201  a program
    total = sum(map(len, results.values()))
    for part, records in results.items():
        killed = sum(record["test_outcome"] != "survived" for record in records)
        print(f"{part}: {killed} of {len(records)} mutants noticed")  # noqa: T201  a program
    print(f"mutation score: {(total - len(survivors)) / total:.1%} of {total} mutants")  # noqa: T201  a program


if __name__ == "__main__":
    main()
