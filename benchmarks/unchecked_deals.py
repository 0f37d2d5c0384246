"""Masked sums beside those of the last commit whose deals nobody checked: CPU and bytes, in turns, in one run.

That commit is taken out of the repository's history, and its own benchmark plays there what ours plays here. Where the
history lacks it, or it no longer runs, the rows say so.
"""

import contextlib
import pathlib
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Generator
from typing import Final, NamedTuple

import msgspec
from rivals import Rival, RivalError, open_process
from table import Row, at_most, skipped

__all__ = ["Played", "Playing", "rows_beside"]

_COMMIT: Final = "9053277f11f4178c02cc2f9c73d68b81cc110454"
_ROOT: Final = pathlib.Path(__file__).parent.parent
_PACKAGES: Final = ("agents", "protocol", "scenarios", "transports")
_MOST_SECONDS: Final = 3_600.0
_THOUSAND: Final = 1_000
_PLAY: Final = """
import gc, sys
from fractions import Fraction
import msgspec, secure_sums
gc.disable()
for line in sys.stdin.buffer:
    number, part, is_complete = msgspec.json.decode(line)
    size = secure_sums._Size(number, Fraction(part), is_complete=is_complete)
    gc.collect()
    own = secure_sums._play(size)
    print(msgspec.json.encode([own.server, own.party, own.up + own.down]).decode(), flush=True)
"""


class Playing(NamedTuple):
    """A phase of n parties, the part of them that leaves, as a fraction in words, and whether each masks with each."""

    number: int
    part: str
    is_complete: bool


class Played(NamedTuple):
    """CPU seconds of the server and of a party, and a party's bytes, up and down."""

    server: float
    party: float
    data: float


def rows_beside(
    what: str, size: Playing, play: Callable[[], Played], *, most: tuple[float, float, float], trials: int
) -> list[Row]:
    """Return a row each of the server's CPU, a party's and its bytes.

    Args:
        play: plays the phase as it is now.
        most: how many times as much each may be.
        trials: how often both play, one after the other; what else a machine does adds to CPU, so the least counts.
    """
    names = ("CPU of the server", "CPU of a party", "a party's bytes")
    titles = [f"{what}: {name}, beside deals that nobody checks" for name in names]
    try:
        with _open_before() as before:
            pairs = [(play(), _ask(before, size)) for _ in range(trials)]
    except RivalError as error:
        return [skipped(title, str(error)) for title in titles]
    rows: list[Row] = []
    units = ((1, "s"), (_THOUSAND, "ms"), (1 / _THOUSAND, "KB"))
    for place, (title, (factor, unit)) in enumerate(zip(titles, units, strict=True)):
        ours, theirs = (min(pair[side][place] for pair in pairs) * factor for side in (0, 1))
        ratio = ours / theirs
        goal = at_most(ratio, most[place])
        rows.append(Row(title, f"{ours:.3g} {unit}", f"{theirs:.3g} {unit}", f"{ratio:.2f}", goal))
    return rows


def _ask(before: Rival, size: Playing) -> Played:
    before.tell(msgspec.json.encode(size))
    return msgspec.json.decode(before.answer(), type=Played)


@contextlib.contextmanager
def _open_before() -> Generator[Rival]:
    with tempfile.TemporaryDirectory() as folder:
        tree, package = pathlib.Path(folder, "tree"), pathlib.Path(folder, "psephos")
        tree.mkdir()
        package.mkdir()
        (package / "__init__.py").touch()
        for name in _PACKAGES:
            (package / name).symlink_to(tree / name)
        command = ("git", "-C", str(_ROOT), "archive", "--output", f"{folder}/tree.tar", _COMMIT)
        if subprocess.run(command, check=False, capture_output=True).returncode:  # noqa: S603  our own command
            raise RivalError(f"the history lacks {_COMMIT[:8]}")
        with tarfile.open(f"{folder}/tree.tar") as packed:
            packed.extractall(tree, filter="data")
        paths = {"PYTHONPATH": f"{folder}:{tree / 'benchmarks'}"}
        with open_process([sys.executable, "-P", "-c", _PLAY], most_seconds=_MOST_SECONDS, environment=paths) as before:
            yield before
