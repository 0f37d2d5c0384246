"""`calibrate`: claimed probabilities of errors, held against how often they were wrong."""

from pathlib import Path

import click

from .group import cli
from .options import make_folder, tell_folder

__all__ = ["calibrate"]


@cli.command(short_help="Hold claimed chances of errors against counted errors.")
@click.argument("system", metavar="[SYSTEM|all]", default="all")
@click.option("--trials", type=int, default=400, show_default=True, help="How many societies to draw for each cell.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The seed of everything that is drawn."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Also write calibration.md and a CSV for each table here (default: nowhere).",
)
def calibrate(system: str, trials: int, seed: int, out: Path | None) -> None:
    """Compare the probabilities of errors that SYSTEM claims with the errors that are counted.

    The command draws societies and lets the system's protocol decide for each. Tables show the claimed and the counted
    errors, under the prior that the claims name and under others, and how often a verdict was given and was wrong. The
    manual has these tables as a page. All systems take some minutes.

    \b
    psephos calibrate dpwevote --trials 100
    psephos calibrate all --out calibration
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ..experiments import calibration
    from ..presentation import make_console
    from ..running.progress import steps

    calibration.check_calibration(system, trials=trials)
    folder = None if out is None else make_folder(out, "")
    with steps(make_console(stderr=True)) as tell:
        found = calibration.calibrate(system, trials=trials, seed=seed, folder=folder, on_progress=tell)
    console = make_console()
    calibration.show_calibration(console, found)
    if folder is not None:
        tell_folder(console, folder)
