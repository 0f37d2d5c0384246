"""`reproduce`: repeat a paper's tables and figures next to the published ones; one command for each system."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .group import SuggestingGroup, cli
from .options import make_folder, out_option, pictures_option, tell_folder
from .reports import command_of_context, leave_page, report_option

if TYPE_CHECKING:
    from ..experiments.paper import Paper


class _Papers(SuggestingGroup):
    """A group with a command for each system that has its paper's experiments."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from ..system import names_with

        del ctx
        return list(names_with("reproduction"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from ..experiments.paper import Paper
        from ..system import load_part, systems

        if cmd_name not in self.list_commands(ctx):
            return None
        paper = load_part(systems()[cmd_name], "reproduction", Paper, name=cmd_name)

        def run(*, out: Path | None, with_report: bool, **options: Any) -> None:
            _reproduce(cmd_name, paper, out, options, with_report=with_report)

        for option in reversed(list(_options(paper))):
            run = option(run)
        return click.command(cmd_name, help=paper.help)(run)


@cli.group(cls=_Papers, short_help="Run a paper's experiments again.")
def reproduce() -> None:
    """Run a paper's experiments again, and compare numbers and claims with the published ones."""


def _options(paper: "Paper") -> Iterator[Callable[[Any], Any]]:
    yield click.option("--trials", type=int, default=paper.trials, show_default=True, help=paper.about_trials)
    yield click.option("--seed", type=int, default=1, show_default=True, help="The seed of all randomness.")
    if paper.takes_data:
        words = "The folder of data sets (default: the variable PSEPHOS_DATA)."
        yield click.option("--data", metavar="FOLDER", help=words)
    for options, metavar in ((paper.own, "FILE"), (paper.own_words, "WORDS")):
        for name, words in options.items():
            yield click.option(f"--{name.replace('_', '-')}", metavar=metavar, help=words)
    if paper.takes_workers:
        yield click.option("--workers", type=int, default=0, help="Number of worker processes (default: one per core).")
    words = "Replace a value of the paper's grids; may be repeated."
    yield click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help=words)
    words = "Compute only this table, named as its file; may be repeated."
    yield click.option("--table", "only", metavar="NAME", multiple=True, help=words)
    yield out_option
    yield pictures_option("the figures")
    yield report_option


def _reproduce(name: str, paper: "Paper", out: Path | None, options: dict[str, Any], *, with_report: bool) -> None:
    from ..datasets import DATA_VARIABLE
    from ..experiments import reproductions
    from ..presentation import make_console
    from ..running.progress import steps

    if paper.takes_data and options["data"] is None:
        options["data"] = os.environ.get(DATA_VARIABLE, "")
    if own_options := {
        name: value for name in (*paper.own, *paper.own_words) if (value := options.pop(name)) is not None
    }:
        options["own"] = own_options
    told_later = {"pictures", "settings", "only"}
    reproductions.check_options(paper, **{key: value for key, value in options.items() if key not in told_later})
    arguments = {key: options[key] for key in ("settings", "only", "own") if key in options}
    reproductions.check_part(paper, **arguments)
    folder = make_folder(out, f"reproduce-{name}")
    with steps(make_console(stderr=True)) as tell:
        result = reproductions.reproduce(paper, folder, **options, on_progress=tell)
    console = make_console()
    with leave_page(folder, is_wanted=with_report, command=command_of_context()):
        reproductions.show_reproduction(console, paper, result)
    tell_folder(console, folder, draws=True)
