"""Measure Psephos beside its raw limits and its rivals, and print one table.

`make bench` runs this; see `docs/performance.md`.
"""

import argparse
import itertools
import pathlib
import sys

import attacks
import audit
import crowd_scale
import crowds
import denial_of_service
import durable_sessions
import elections
import journals
import memory
import multiparty
import one_server
import paper
import preference_files
import randomizers
import rankings
import scale
import solvers
import startup
import survey_scale
import tcp
from table import Row, rewrite_between_marks, to_markdown, to_text

__all__ = ["main"]


def main() -> None:
    """Measure everything; say on standard error what is done, and print the table at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes; where a target is for a size, none")
    parser.add_argument(
        "--markdown", type=pathlib.Path, metavar="FILE", help="write the table into FILE too, between its marks"
    )
    options = parser.parse_args()
    rows: list[Row] = []
    # Processes of their own come first: what this one has grown to would count as theirs on some systems.
    topics = itertools.chain(
        startup.measure(),
        scale.measure(quick=options.quick),
        crowd_scale.measure(quick=options.quick),
        preference_files.measure(quick=options.quick),
        survey_scale.measure(quick=options.quick),
        memory.measure(quick=options.quick),
        journals.measure(quick=options.quick),
        durable_sessions.measure(quick=options.quick),
        tcp.measure(quick=options.quick),
        one_server.measure(quick=options.quick),
        denial_of_service.measure(quick=options.quick),
        randomizers.measure(quick=options.quick),
        multiparty.measure(quick=options.quick),
        crowds.measure(quick=options.quick),
        paper.measure(quick=options.quick),
        solvers.measure(quick=options.quick),
        rankings.measure(quick=options.quick),
        elections.measure(quick=options.quick),
        attacks.measure(quick=options.quick),
        audit.measure(quick=options.quick),
    )
    for row in topics:
        print(f"{row.what}: {row.ours}", file=sys.stderr)
        rows.append(row)
    print(to_text(rows))
    if options.markdown is not None:
        rewrite_between_marks(options.markdown, to_markdown(rows))


if __name__ == "__main__":
    main()
