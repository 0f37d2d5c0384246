"""`tally`: the reports of a deployment, counted again."""

from pathlib import Path

import click

from .group import cli
from .options import load, make_folder, out_option, scenario_options, tell_folder

__all__ = ["tally"]


@cli.command(short_help="Count the reports of a session of SCENARIO again.")
@scenario_options
@click.option(
    "--reports",
    metavar="FILES",
    help="Files of reports, a folder or a pattern, CSV, Parquet or Arrow: place, phase, payload "
    "(default: the journal in the --roster folder).",
)
@click.option(
    "--roster",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="As `psephos roster` wrote it, or a CSV of names and public columns (default: the scenario's parties).",
)
@click.option("--export", type=click.Path(path_type=Path), metavar="FILE", help="Also write the reports into a file.")
@out_option
@click.option("--json", "as_json", is_flag=True, help="Print result.json and nothing else.")
@click.option("--pictures/--no-pictures", default=True, help="Draw the outcome (default: yes).")
def tally(
    scenario: str,
    settings: tuple[str, ...],
    data: str | None,
    reports: str | None,
    roster: Path | None,
    export: Path | None,
    out: Path | None,
    *,
    as_json: bool,
    pictures: bool,
) -> None:
    """Count the reports of a session of SCENARIO again, or for the first time where others collected them.

    Files have a row for each report, in the order of places on the roster and of phases. In the central model nothing
    is counted again: the server's noise is drawn once.

    \b
    psephos tally eu-council --roster vote --export reports.csv
    psephos tally eu-council --roster vote --reports 'fronts/*.parquet'
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ..deployment.recount import read_journaled, read_reports, recount_in_folder, write_reports
    from ..deployment.server import JOURNAL_FILE
    from ..presentation import make_console, show_outcome, show_verdict
    from ..running.report import show_privacy
    from ..running.resolution import resolve_served

    if reports is None and (roster is None or not roster.is_dir()):
        raise click.UsageError("--reports or a folder for --roster, which has the journal, has to be given")
    side = resolve_served(load(scenario, settings, data), roster=roster)
    batches = read_reports(reports) if reports is not None else read_journaled(side, Path(roster or ".") / JOURNAL_FILE)
    if export is not None:
        write_reports(export, held := list(batches))
        batches = iter(held)
    folder, console = make_folder(out, side.scenario.name), make_console()
    left = recount_in_folder(side, folder, batches, pictures=pictures)
    if as_json:
        click.echo((folder.path / "result.json").read_bytes(), nl=False)
        return
    show_verdict(console, left.outcome)
    show_outcome(console, left.outcome)
    show_privacy(console, side.protocol)
    tell_folder(console, folder)
