"""`calibrate`: claimed probabilities of errors, held against how often they were wrong."""

from pathlib import Path

import click

from .group import cli
from .options import tell_folder

__all__ = ["calibrate"]


@cli.command(short_help="Hold claimed probabilities of errors against what is found.")
@click.argument("system", metavar="[SYSTEM|all]", default="all")
@click.option("--trials", type=int, default=400, show_default=True, help="Societies of each cell.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of everything drawn.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="For calibration.md and a CSV a table (default: none).",
)
def calibrate(system: str, trials: int, seed: int, out: Path | None) -> None:
    """Draw societies, let SYSTEM's protocol decide and claim, and count how often it was wrong.

    Tables show claims beside what was found: under the prior that the claims name, and under others; and how often
    verdicts were given, and wrong. The manual keeps the page. All systems take some minutes.

    \b
    psephos calibrate dpwevote --trials 100
    psephos calibrate all --out calibration
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ..experiments import calibration
    from ..presentation import make_console
    from ..running.folder import RunFolder

    calibration.check_calibration(system, trials=trials)
    errors = make_console(stderr=True)
    folder = None if out is None else RunFolder(out)
    found = calibration.calibrate(
        system,
        trials=trials,
        seed=seed,
        folder=folder,
        on_progress=lambda line: errors.print(f"  {line}", style="dim"),
    )
    console = make_console()
    calibration.show_calibration(console, found)
    if folder is not None:
        tell_folder(console, folder)
