"""`reproduce`: a paper's tables and figures, ours beside the published."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .group import cli
from .options import make_folder, out_option

if TYPE_CHECKING:
    from rich.console import Console

    from ..running.folder import RunFolder

__all__ = ["dpwevote", "fair_voting", "moral_preferences", "reproduce", "truth_discovery"]


@cli.group(short_help="Run a paper's experiments again, beside the published.")
def reproduce() -> None:
    """Run a paper's experiments again: ours beside the published, and what holds."""


@reproduce.command()
@click.option("--trials", type=int, default=2_000, show_default=True, help="Votes of each cell; the paper has 2,000.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of everything drawn.")
@out_option
@click.option("--pictures/--no-pictures", default=True, help="Draw the figures (default: yes).")
def dpwevote(trials: int, seed: int, out: Path | None, *, pictures: bool) -> None:
    """Tables 3 and 4 and Figure 4 of DPWeVote's paper; skewed votes, power, better mechanisms, prices.

    The folder gets a CSV for each table, a PNG and an SVG for each figure, summary.md with what holds and what does
    not, and reproduction.json with every number. Less than a minute.
    """
    from ..dpwevote.paper import check_options, reproduce_dpwevote, show_reproduction

    check_options(trials=trials, seed=seed)
    folder = make_folder(out, "reproduce-dpwevote")
    reproduction = reproduce_dpwevote(
        folder,
        trials=trials,
        seed=seed,
        pictures=pictures,
        on_progress=_tell,
    )
    _show(folder, lambda console: show_reproduction(console, reproduction))


@reproduce.command("truth-discovery")
@click.option("--trials", type=int, default=100, show_default=True, help="Of each cell; the paper has 100.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of everything drawn.")
@click.option("--data", metavar="FOLDER", help="The folder of data sets (default: the variable PSEPHOS_DATA).")
@out_option
@click.option("--pictures/--no-pictures", default=True, help="Draw the figures (default: yes).")
def truth_discovery(trials: int, seed: int, data: str | None, out: Path | None, *, pictures: bool) -> None:
    """Tables 2 and 3 and Figures 1 to 4 of the truth discovery paper; equal proven loss, better estimators.

    The folder gets a CSV for each table, a PNG and an SVG for each figure, summary.md with what holds and what does
    not, and reproduction.json with every number. Some minutes; without data sets (Table 3 is of one) some seconds.
    """
    from ..datasets import DATA_VARIABLE
    from ..truth_discovery.paper import check_options, reproduce_truth_discovery, show_reproduction

    data = os.environ.get(DATA_VARIABLE, "") if data is None else data
    check_options(trials=trials, seed=seed, data=data)
    folder = make_folder(out, "reproduce-truth-discovery")
    reproduction = reproduce_truth_discovery(
        folder,
        data=data,
        trials=trials,
        seed=seed,
        pictures=pictures,
        on_progress=_tell,
    )
    _show(folder, lambda console: show_reproduction(console, reproduction))


@reproduce.command("moral-preferences")
@click.option("--trials", type=int, default=100, show_default=True, help="Repetitions of each point.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of everything drawn.")
@click.option("--workers", type=int, default=0, help="Processes (default: one each core).")
@out_option
@click.option("--pictures/--no-pictures", default=True, help="Draw the figures (default: yes).")
def moral_preferences(trials: int, seed: int, workers: int, out: Path | None, *, pictures: bool) -> None:
    """Figures 1 to 10 of the moral preferences paper; better mechanisms at the same epsilon, weights, projections.

    The folder gets a CSV for each figure and table, a PNG and an SVG for each picture, summary.md with what holds and
    what does not, and reproduction.json with every number. Some minutes. All voters are made up; those of Figures 8, 9
    and 10(b) are a stand-in for the Moral Machine's.
    """
    from ..moral_preferences.paper import check_options, reproduce_moral_preferences, show_reproduction

    check_options(trials=trials, seed=seed, workers=workers)
    folder = make_folder(out, "reproduce-moral-preferences")
    reproduction = reproduce_moral_preferences(
        folder,
        trials=trials,
        seed=seed,
        workers=workers,
        pictures=pictures,
        on_progress=_tell,
    )
    _show(folder, lambda console: show_reproduction(console, reproduction))


@reproduce.command("fair-voting")
@click.option(
    "--trials", type=int, default=1_000, show_default=True, help="Elections of each cell; the paper has 1,000."
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of everything drawn.")
@click.option("--data", metavar="FOLDER", help="The folder of data sets (default: the variable PSEPHOS_DATA).")
@out_option
@click.option("--pictures/--no-pictures", default=True, help="Draw the figures (default: yes).")
def fair_voting(trials: int, seed: int, data: str | None, out: Path | None, *, pictures: bool) -> None:
    """Table 1 of the paper on fair and private voting; other objectives, better mechanisms, real profiles.

    The folder gets a CSV for each table, a PNG and an SVG for each figure, summary.md with what holds and what does
    not, and reproduction.json with every number. Some minutes. All voters of Table 1 are made up; the trade-off of
    fairness, welfare and privacy on published profiles is left out without data sets.
    """
    from ..datasets import DATA_VARIABLE
    from ..fair_voting.paper import check_options, reproduce_fair_voting, show_reproduction

    data = os.environ.get(DATA_VARIABLE, "") if data is None else data
    check_options(trials=trials, seed=seed, data=data)
    folder = make_folder(out, "reproduce-fair-voting")
    reproduction = reproduce_fair_voting(
        folder,
        data=data,
        trials=trials,
        seed=seed,
        pictures=pictures,
        on_progress=_tell,
    )
    _show(folder, lambda console: show_reproduction(console, reproduction))


def _tell(line: str) -> None:
    """Print a line as a part begins, where it is in nobody's way."""
    from ..presentation import make_console

    make_console(stderr=True).print(f"  {line}", style="dim")


def _show(folder: "RunFolder", show: Callable[["Console"], None]) -> None:
    """Print a reproduction, and where it is."""
    from ..presentation import make_console

    console = make_console()
    show(console)
    console.print(f"\nEverything is in {folder.path}\n", soft_wrap=True)
