"""How long the command line takes to say what it can do."""

import pathlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from table import Row, at_most, skipped
from trials import timed

__all__ = ["measure"]

_MOST_SECONDS: Final = 0.4
_TRIALS: Final = 7


def measure(*, quick: bool) -> Iterator[Row]:  # noqa: ARG001  it is quick
    """Yield the time of `psephos --help`, the best of several, against that of an interpreter that does nothing."""
    what = "psephos --help"
    command = pathlib.Path(sys.executable).parent / "psephos"
    if not command.exists():
        yield skipped(what, "the command is not installed")
        return
    if status := _run([str(command), "--help"]):
        yield skipped(what, f"it exits with status {status}")
        return
    ours: list[float] = []
    raw: list[float] = []
    for _ in range(_TRIALS):
        raw.append(timed(lambda: _run([sys.executable, "-c", ""])))
        ours.append(timed(lambda: _run([str(command), "--help"])))
    seconds = min(ours)
    yield Row(
        what,
        f"{seconds:.2f} s",
        f"{min(raw):.2f} s",
        f"{seconds / min(raw):.2f}",
        at_most(seconds, _MOST_SECONDS, unit=" s"),
    )


def _run(command: Sequence[str]) -> int:
    """Run to the end and return the exit status."""
    return subprocess.run(  # noqa: S603  our command and this interpreter
        command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ).returncode
