"""Measure Psephos beside its raw limits and its rivals, and print one table.

`make bench` runs this; see `docs/performance.md`. With `--record`, each row stands in `docs/tables/performance.csv`
with its day and its commit, until it is measured again; the page is written from that file.
"""

import argparse
import importlib
import sys

from harness import NOTHING, Row, to_text

# In the order of the recorded file.
TOPICS = {
    "startup": "sessions",
    "scale": "sessions",
    "crowd_scale": "crowds",
    "large_files": "files",
    "growth": "growth",
    "survey_scale": "survey_scale",
    "memory": "sessions",
    "journals": "servers",
    "tcp": "tcp",
    "one_server": "servers",
    "denial_of_service": "servers",
    "randomizers": "randomizers",
    "multiparty": "sums",
    "masked_sums": "sums",
    "crowds": "crowds",
    "paper": "analyses",
    "solvers": "solvers",
    "rankings": "elections",
    "elections": "elections",
    "trial_blocks": "analyses",
    "attacks": "analyses",
    "audit": "analyses",
}
"""The file of each topic's function, which yields its rows."""


def measured(topic: str, *, quick: bool) -> list[Row]:
    """Return a topic's rows, and say them one by one on standard error; targets are for whole sizes."""
    rows: list[Row] = []
    for row in getattr(importlib.import_module(TOPICS[topic]), topic)(quick=quick):
        print(f"{row.what}: {row.ours}", file=sys.stderr)
        rows.append(row._replace(target=NOTHING, met=NOTHING) if quick and row.target != NOTHING else row)
    return rows


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=f"all by default, of {', '.join(TOPICS)}")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, and no targets")
    parser.add_argument("--record", action="store_true", help="keep what was measured in the manual")
    options = parser.parse_args()
    if unknown := [topic for topic in options.topics if topic not in TOPICS]:
        parser.error(f"unknown: {', '.join(unknown)}; allowed: {', '.join(TOPICS)}")
    if options.quick and options.record:
        parser.error("--record: not with --quick, whose sizes are others")
    found = {topic: measured(topic, quick=options.quick) for topic in options.topics or TOPICS}
    print(to_text([row for rows in found.values() for row in rows]))
    if options.record:
        importlib.import_module("record").keep(found, list(TOPICS))


if __name__ == "__main__":
    _main()
