"""Mutation testing of protocol/: `make mutate`.

Draws a seeded sample of all places of protocol/ that can be changed, changes each in one way drawn too, on copies of
the tree, and asks whether a test notices: first the module's own tests, then those of its package and of whole
sessions, then the rest of protocol/'s. Prints every mutant that none of them notices, so that somebody can say whether
it matters, and the score.
"""

import argparse
import concurrent.futures
import contextlib
import os
import queue
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

ROOT: Final = Path(__file__).parent.parent
WORK: Final = ROOT / ".mutation"
BIN: Final = Path(sys.executable).parent
ROOMS: Final = ("protocol", "transports", "agents", "scenarios")
SESSIONS: Final = (
    "tests/conformance/test_accountants.py",
    "tests/conformance/test_machines.py",
    "tests/conformance/test_protocols.py",
    "tests/conformance/test_tallies.py",
    "tests/simulation",
    "tests/vectors",
)
# Mutants that mean nothing: `|` in a type is no operation, `&` of truths is one of few that truths have, a decorator
# that is gone is a type error, and operators that floats do not have are noticed by Python itself.
MEANINGLESS: Final = re.compile(
    r"core/(ReplaceBinaryOperator_Bit(And|Or|Xor)_.*"
    r"|ReplaceBinaryOperator_.*_(BitAnd|BitOr|BitXor|LShift|RShift)"
    r"|ReplaceComparisonOperator_.*_(Is|IsNot)"
    r"|ReplaceUnaryOperator_.*_Invert"
    r"|RemoveDecorator)"
)
# The same of a word that is true: what checks our own code, which has no such fault.
MEANINGLESS_IF_FALSE: Final = re.compile(r"\b(eq|frozen|kw_only|slots|strict)=$")
# The tool cannot change an exception that is named through its module.
NOT_CHANGED: Final = re.compile(r"except .*\w\.\w")
SECONDS: Final = 300


class Mutant(msgspec.Struct, frozen=True, order=True):
    """A change of one place.

    Args:
        module_path: of the file, below the root.
        start_pos: line from 1, column from 0.
        operator_name: the tool's word for the change.
        occurrence: which of the places of the module where the operator can be used.
    """

    module_path: str
    start_pos: tuple[int, int]
    operator_name: str
    occurrence: int

    @property
    def line(self) -> str:
        return (ROOT / self.module_path).read_text(encoding="utf-8").splitlines()[self.start_pos[0] - 1]

    @property
    def is_meaningless(self) -> bool:
        """Whether no test could notice it, or Python does."""
        if self.operator_name == "core/ReplaceTrueWithFalse":
            return bool(MEANINGLESS_IF_FALSE.search(self.line[: self.start_pos[1]]))
        if self.operator_name == "core/ExceptionReplacer" and NOT_CHANGED.search(self.line):
            return True
        return bool(MEANINGLESS.fullmatch(self.operator_name))

    def __str__(self) -> str:
        line, column = self.start_pos
        change = self.operator_name.removeprefix("core/")
        return f"{self.module_path}:{line}:{column} {change}: {self.line.strip()}"


def run(tree: Path, *command: str, seconds: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command of this environment in a copy of the tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "path"), "PYTHONDONTWRITEBYTECODE": ""}
    words = [str(BIN / command[0]), *command[1:]]
    return subprocess.run(  # noqa: S603  our own commands
        words, cwd=tree, env=environment, check=False, capture_output=True, text=True, timeout=seconds
    )


def tool(tree: Path, *words: str) -> str:
    """Run cosmic-ray in a copy of the tree and return what it prints.

    Raises:
        SystemExit: it failed; with what it said.
    """
    done = run(tree, "cosmic-ray", *words)
    if done.returncode:
        sys.exit(f"cosmic-ray {' '.join(words)}: {done.stderr}")
    return done.stdout


def copy_tree(name: str) -> Path:
    """Copy the tree, importable as `psephos.…`."""
    tree = WORK / name
    shutil.rmtree(tree, ignore_errors=True)
    for folder in (*ROOMS, "tests", "benchmarks", "docs", "examples"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__", ".hypothesis"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    package = tree / "path" / "psephos"
    package.mkdir(parents=True)
    for room in ROOMS:
        (package / room).symlink_to(tree / room)
    (package / "__init__.py").symlink_to(tree / "scenarios" / "front" / "__init__.py")
    found = run(tree, "python", "-c", "import psephos.protocol; print(psephos.protocol.__file__)").stdout.strip()
    if not Path(found).is_relative_to(tree):
        sys.exit(f"tests of the copy would test {found}")
    return tree


def all_mutants(tree: Path) -> list[Mutant]:
    """Return every mutant of protocol/ that means something, in the order of the tree."""
    lines = [
        "[cosmic-ray]",
        'module-path = ["protocol"]',
        f"timeout = {SECONDS}",
        'excluded-modules = ["protocol/**/__init__.py"]',
        'test-command = "none of its own"',
        "[cosmic-ray.distributor]",
        'name = "local"',
    ]
    (tree / "mutation.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    tool(tree, "init", "mutation.toml", "session.sqlite")
    works: list[dict[str, Any]] = [
        msgspec.json.decode(line)[0] for line in tool(tree, "dump", "session.sqlite").splitlines()
    ]
    mutants = [msgspec.convert(mutation, Mutant) for work in works for mutation in work["mutations"]]
    return sorted(mutant for mutant in mutants if not mutant.is_meaningless)


def drawn(mutants: Sequence[Mutant], *, number: int, seed: int) -> list[Mutant]:
    """Return mutants of so many places, one of each: a sign has eleven others, and a loop only one."""
    places: dict[tuple[str, tuple[int, int]], list[Mutant]] = {}
    for mutant in mutants:
        places.setdefault((mutant.module_path, mutant.start_pos), []).append(mutant)
    generator = random.Random(seed)
    chosen = generator.sample(sorted(places), min(number, len(places)))
    return [generator.choice(places[place]) for place in chosen]


def tests_of(module_path: str) -> Iterator[list[str]]:
    """Yield what is asked about a module, one after the other: its own tests, its package's and sessions', the rest."""
    module = Path(module_path)
    folder = Path("tests") / module.parent
    of_package = (ROOT / folder).glob("*.py" if folder == Path("tests/protocol") else "**/*.py")
    package = sorted(str(file.relative_to(ROOT)) for file in of_package if file.name.startswith("test_"))
    own = str(folder / f"test_{module.stem}.py")
    rest = sorted(str(file.relative_to(ROOT)) for file in (ROOT / "tests" / "protocol").rglob("test_*.py"))
    more = ["tests/conformance/test_mechanisms.py"] if "mechanisms" in module.parts else []
    if own in package:
        yield [own]
    yield [*(name for name in package if name != own), *more, *SESSIONS]
    yield [name for name in rest if name not in package]


def pytest(tree: Path, tests: Sequence[str], *options: str, seconds: int | None) -> subprocess.CompletedProcess[str]:
    """Run tests in a copy of the tree, up to the first that fails."""
    return run(tree, "python", "-m", "pytest", "-xqp", "no:cacheprovider", *options, *tests, seconds=seconds)


def is_noticed(tree: Path, tests: Sequence[str]) -> bool:
    """Whether some of these tests fails in a copy of the tree, or never ends."""
    try:
        return pytest(tree, tests, seconds=SECONDS).returncode != 0
    except subprocess.TimeoutExpired:
        return True


@contextlib.contextmanager
def applied(tree: Path, mutant: Mutant, *, number: int) -> Generator[None]:
    """Change a copy of the tree for as long as this lasts."""
    file = tree / mutant.module_path
    before = file.stat()
    text = file.read_bytes()
    tool(tree, "apply", mutant.module_path, mutant.operator_name, str(mutant.occurrence))
    if file.read_bytes() == text:
        sys.exit(f"nothing was changed by {mutant}")
    os.utime(file, (number, number))  # compiled files are told apart by times of whole seconds
    try:
        yield
    finally:
        file.write_bytes(text)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def survives(mutant: Mutant, *, number: int, trees: "queue.SimpleQueue[Path]") -> bool:
    """Whether none of its tests notices a mutant, in the next copy of the tree that is free."""
    tree = trees.get()
    try:
        with applied(tree, mutant, number=number):
            return not any(is_noticed(tree, tests) for tests in tests_of(mutant.module_path))
    finally:
        trees.put(tree)


def part_of(mutant: Mutant) -> str:
    """Return the package below protocol/, or what has none."""
    parts = Path(mutant.module_path).parts
    return parts[1] if len(parts) > 2 else "the core"


def main() -> None:
    """Try the sample and print survivors and score."""
    parser = argparse.ArgumentParser(description="Change protocol/ in small ways and count what the tests notice.")
    parser.add_argument("--sample", type=int, default=160, help="how many places are changed (160: half an hour)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time")
    given = parser.parse_args()
    trees: queue.SimpleQueue[Path] = queue.SimpleQueue()
    copies = [copy_tree(str(job)) for job in range(given.jobs)]
    for copy in copies:
        trees.put(copy)
    mutants = all_mutants(copies[0])
    sample = drawn(mutants, number=given.sample, seed=given.seed)
    asked = sorted({test for mutant in sample for tests in tests_of(mutant.module_path) for test in tests})
    unchanged = pytest(copies[0], asked, "-n", str(given.jobs), "--dist", "loadfile", seconds=None)
    if unchanged.returncode:
        sys.exit(f"tests fail without any mutant:\n{unchanged.stdout}")
    of_part, noticed = Counter(map(part_of, sample)), Counter[str]()
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        futures = [
            pool.submit(survives, mutant, number=10**9 + place, trees=trees) for place, mutant in enumerate(sample)
        ]
        for mutant, future in zip(sample, futures, strict=True):
            if future.result():
                print(f"survived: {mutant}", flush=True)  # noqa: T201  a program
            else:
                noticed[part_of(mutant)] += 1
    for part in sorted(of_part):
        print(f"{part}: {noticed[part]} of {of_part[part]} mutants noticed")  # noqa: T201  a program
    total, score = len(sample), noticed.total() / max(1, len(sample))
    words = f"mutation score: {score:.0%} of {total} mutants, drawn with seed {given.seed} of {len(mutants)}"
    print(words)  # noqa: T201  a program


if __name__ == "__main__":
    main()
