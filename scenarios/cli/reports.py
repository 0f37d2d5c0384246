"""`report` and `compare`: write a run's page, compare runs; and write the page at the end of a run."""

import contextlib
import shlex
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from .group import cli
from .options import file_option

if TYPE_CHECKING:
    from ..running.folder import RunFolder

report_option = click.option(
    "--report/--no-report", "with_report", default=True, help="Write report.html into the folder (default: yes)."
)
_SAME: Final = frozenset({"out", "as_json", "pictures", "with_report", "workers", "cluster", "resume"})
"""Options that do not change a result."""
_OF_SCENARIOS: Final = frozenset({"settings", "grid"})
"""Options with values of a scenario, which may be tables."""


@cli.command(short_help="Write the report of a run, report.html, for any browser.")
@click.argument("run", type=click.Path(path_type=Path))
@file_option("--out", help="The file to write (default: report.html in RUN).")
@click.option("--open", "is_opened", is_flag=True, help="Open the report in a browser.")
def report(run: Path, out: Path | None, *, is_opened: bool) -> None:
    """Write the report of RUN, the folder of a run, a series, an audit, trials or a reproduction.

    The report is one HTML file, and needs no network. It shows the outcome, the privacy cost, whom you trust, what
    happened, and how to repeat it. It reads the folder's files, never private/. If RUN has an audit's folder in it, the
    report shows the audited bounds too.

    \b
    psephos report runs/eu-council-20260101-120000
    psephos report runs/eu-council-20260101-120000 --open
    psephos audit dpwevote --quick --out runs/eu-council-20260101-120000/audit
    """  # noqa: D301  the character makes click keep the lines
    from ..reports import write_report

    path = write_report(run, out)
    click.echo(path)
    if is_opened and click.launch(path.resolve().as_uri()):
        click.echo("psephos: no browser could be started here: open the file yourself", err=True)


@cli.command(short_help="Compare runs: their scenarios, outcomes and costs.")
@click.argument("runs", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="RUN RUN...")
@file_option("--out", help="Also write the tables as CSV.")
def compare(runs: Sequence[Path], out: Path | None) -> None:
    """Compare two or more runs of one protocol: the differences of their scenarios, their outcomes and costs.

    \b
    psephos compare runs/one runs/two
    psephos compare runs/one runs/two --out comparison.csv
    """  # noqa: D301  the character makes click keep the lines
    from ..presentation import make_console
    from ..reports.comparison import compare_runs, show_comparison, write_comparison

    comparison = compare_runs(runs)
    show_comparison(make_console(), comparison)
    if out is not None:
        write_comparison(comparison, out)
        click.echo(out)


@contextlib.contextmanager
def leave_page(folder: "RunFolder", *, is_wanted: bool, command: str | None = None) -> Generator[None]:
    """Write the page of a folder after the command in it has ended or failed, if `is_wanted`.

    If the page cannot be written, a message says so, and the command does not fail. The page shows `command` if the
    folder has no scenario to repeat.
    """
    from ...protocol.errors import PsephosError

    if command is not None:
        folder.write_command(command)
    try:
        yield
    except PsephosError:
        _leave_page(folder, is_wanted=is_wanted and any(folder.path.iterdir()))
        raise
    _leave_page(folder, is_wanted=is_wanted)


def command_of_context(*, has_secret_seed: bool = False) -> str:
    """Return the command line in shell syntax, without options that do not change the result.

    A secret seed is omitted, since it would allow to remove the noise from real values. For a table that was set, which
    may hold such values, only the key is shown.
    """
    context = click.get_current_context()
    left_out = {*_SAME, "seed"} if has_secret_seed else _SAME
    words = ["psephos", *context.command_path.removeprefix(context.find_root().command_path).split()]
    for parameter in context.command.params:
        name = parameter.name or ""
        is_given = name in context.params and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_given and name not in left_out:
            words += _words_of_parameter(parameter, context.params[name], has_secret_seed=has_secret_seed)
    return shlex.join(words)


def _words_of_parameter(parameter: click.Parameter, given: Any, *, has_secret_seed: bool) -> Iterator[str]:
    """Yield a parameter's arguments on the command line."""
    for value in given if isinstance(given, tuple) else (given,):  # pyright: ignore[reportUnknownVariableType]  click's
        text = str(value)  # pyright: ignore[reportUnknownArgumentType]  the same
        key, _, table = text.partition("=")
        if has_secret_seed and key == "seed":
            continue
        if isinstance(parameter, click.Option):
            yield (parameter.secondary_opts if value is False else parameter.opts)[0]
            if parameter.is_flag:
                continue
        yield f"{key}=…" if "{" in table and parameter.name in _OF_SCENARIOS else text


def _leave_page(folder: "RunFolder", *, is_wanted: bool) -> None:
    if not is_wanted:
        return
    from ...protocol.errors import PsephosError
    from ..reports import write_report

    try:
        write_report(folder.path)
    except (OSError, PsephosError) as error:
        click.echo(f"psephos: no report.html: {error}", err=True)
