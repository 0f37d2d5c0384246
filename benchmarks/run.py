"""Measure Psephos beside its raw limits and its rivals, and print one table.

`make bench` runs this; see `docs/performance.md`. With `--record`, each row stands in `docs/tables/performance.csv`
with its day and its commit, until it is measured again; the page is written from that file.
"""

import argparse
import collections
import datetime as dt
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Final

import attacks
import audit
import crowd_scale
import crowds
import denial_of_service
import durable_sessions
import elections
import growth
import journals
import large_files
import ledgers
import memory
import multiparty
import one_server
import paper
import preference_files
import randomizers
import rankings
import scale
import secure_sums
import solvers
import startup
import survey_scale
import tcp
import trial_blocks
from record import Record
from table import Row, to_text

__all__ = ["main"]

# Processes of their own come first: what this one has grown to would count as theirs on some systems.
_TOPICS: Final[dict[str, Callable[..., Iterator[Row]]]] = {
    "startup": startup.measure,
    "scale": scale.measure,
    "crowd_scale": crowd_scale.measure,
    "large_files": large_files.measure,
    "growth": growth.measure,
    "preference_files": preference_files.measure,
    "survey_scale": survey_scale.measure,
    "memory": memory.measure,
    "journals": journals.measure,
    "ledgers": ledgers.measure,
    "durable_sessions": durable_sessions.measure,
    "tcp": tcp.measure,
    "one_server": one_server.measure,
    "denial_of_service": denial_of_service.measure,
    "randomizers": randomizers.measure,
    "multiparty": multiparty.measure,
    "masked_sums": secure_sums.measure,
    "crowds": crowds.measure,
    "paper": paper.measure,
    "solvers": solvers.measure,
    "rankings": rankings.measure,
    "elections": elections.measure,
    "trial_blocks": trial_blocks.measure,
    "attacks": attacks.measure,
    "audit": audit.measure,
}
_DOCS: Final = pathlib.Path(__file__).parent.parent / "docs"


def main() -> None:
    """Measure; say on standard error what is done, and print the table at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=f"all by default, of {', '.join(_TOPICS)}")
    parser.add_argument("--quick", action="store_true", help="smaller sizes; where a target is for a size, none")
    parser.add_argument("--record", action="store_true", help="keep what was measured in the manual")
    options = parser.parse_args()
    if unknown := [topic for topic in options.topics if topic not in _TOPICS]:
        parser.error(f"unknown: {', '.join(unknown)}; allowed: {', '.join(_TOPICS)}")
    if options.quick and options.record:
        parser.error("--record: not with --quick, whose sizes are others")
    measured: dict[str, list[Row]] = collections.defaultdict(list)
    for topic in options.topics or _TOPICS:
        for row in _TOPICS[topic](quick=options.quick):
            print(f"{row.what}: {row.ours}", file=sys.stderr)
            measured[topic].append(row)
    print(to_text([row for rows in measured.values() for row in rows]))
    if options.record:
        record = Record.read(_DOCS)
        record.add(measured, day=dt.datetime.now(tz=dt.UTC).date(), commit=_commit())
        record.write(list(_TOPICS))


def _commit() -> str:
    """Return the commit that is measured; a `+` behind it says that files were changed since."""
    command = ("git", "-C", str(_DOCS), "describe", "--always", "--abbrev=8", "--dirty=+")
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603  our own command


if __name__ == "__main__":
    main()
