"""`calibrate`: what outcomes state, held against what is found."""

from pathlib import Path

import click

from .group import cli
from .options import folder_option, make_folder, tell_folder


@cli.command(short_help="Hold stated probabilities and errors against counted ones.")
@click.argument("system", metavar="[SYSTEM|all]", default="all")
@click.option("--trials", type=int, default=400, show_default=True, help="How many sessions to hold in each cell.")
@click.option(
    "--cells", type=int, default=0, help="How many cells of each statement (default: as many as its longest axis has)."
)
@click.option(
    "--search", type=float, default=0.0, help="Also climb towards worse cells, for so many seconds in all (default: 0)."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The seed of everything that is drawn."
)
@folder_option("--out", help="Also write calibration.md and a CSV for each table here (default: nowhere).")
def calibrate(system: str, trials: int, cells: int, search: float, seed: int, out: Path | None) -> None:
    """Compare what outcomes of SYSTEM state with what is found.

    Verdicts, probabilities of errors, intervals and standard errors are statements. The command holds sessions for each
    at sizes of a ladder, with truths that are chosen against it, and prints the worst cell of each; all cells are in
    the files. --search looks for worse ones: it climbs over truths, sizes and parameters. The manual has these tables
    as a page. All systems take some minutes.

    \b
    psephos calibrate dpwevote --trials 100
    psephos calibrate all --out calibration
    psephos calibrate fair-voting --search 600
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ..experiments import calibration
    from ..presentation import make_console
    from ..running.progress import steps

    wanted = calibration.Wanted(trials=trials, cells=cells, seconds=search, seed=seed)
    calibration.check_calibration(system, wanted)
    folder = None if out is None else make_folder(out, "")
    with steps(make_console(stderr=True)) as tell:
        found = calibration.calibrate(system, wanted, folder=folder, on_progress=tell)
    console = make_console()
    calibration.show_calibration(console, found)
    if folder is not None:
        tell_folder(console, folder)
