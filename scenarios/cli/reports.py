"""`report` and `compare`: pages that a browser opens from disk; and the page that a run leaves at its end."""

import contextlib
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .group import cli

if TYPE_CHECKING:
    from ..running.folder import RunFolder

__all__ = ["compare", "report", "report_option", "reporting"]

report_option = click.option(
    "--report/--no-report", "with_report", default=True, help="Leave report.html in the folder (default: yes)."
)
_out_option = click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="The page (default: report.html in RUN)."
)
_open_option = click.option("--open", "is_opened", is_flag=True, help="Open the page in a browser.")


@cli.command(short_help="Write the page of a run, report.html, for any browser.")
@click.argument("run", type=click.Path(path_type=Path))
@_out_option
@_open_option
def report(run: Path, out: Path | None, *, is_opened: bool) -> None:
    """Write the page of RUN, the folder of a run, a series, an audit, trials or a reproduction.

    The page is one file. It needs no network, and sends nothing. It says what came of the run, what that cost, who is
    trusted, what happened, and how to repeat it. It is computed from the folder's files; private/ is never opened. If
    an audit's folder is in the run's, as audit/, its bounds are shown too.

    \b
    psephos report runs/eu-council-20260101-120000
    psephos report runs/eu-council-20260101-120000 --open
    psephos audit dpwevote --quick --out runs/eu-council-20260101-120000/audit
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ..reports import write_report

    _tell(write_report(run, out), is_opened=is_opened)


@cli.command(short_help="Put runs side by side: what differs, and what came of each.")
@click.argument("runs", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="RUN RUN...")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Also write a page.")
@_open_option
def compare(runs: Sequence[Path], out: Path | None, *, is_opened: bool) -> None:
    """Put two or more runs of one protocol side by side: what differs in their scenarios, what came of each, its price.

    \b
    psephos compare runs/one runs/two
    psephos compare runs/one runs/two --out comparison.html --open
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ..presentation import make_console
    from ..reports.comparison import compare_runs, page_of_comparison, show_comparison
    from ..reports.page import write_page

    if is_opened and out is None:
        raise click.UsageError("--open needs --out FILE, which is then opened")
    compared = compare_runs(runs)
    show_comparison(make_console(), compared)
    if out is not None:
        write_page(page_of_comparison(compared), out)
        _tell(out, is_opened=is_opened)


@contextlib.contextmanager
def reporting(folder: "RunFolder | None", *, wanted: bool = True) -> Generator[None]:
    """Leave a page in a folder once what is done there is over, also where that failed.

    A page that cannot be written is said, and fails nothing.

    Args:
        folder: which; None for no page.
        wanted: whether one is.
    """
    from ...protocol.errors import PsephosError

    try:
        yield
    except PsephosError:
        _leave_page(folder, wanted=wanted)
        raise
    _leave_page(folder, wanted=wanted)


def _leave_page(folder: "RunFolder | None", *, wanted: bool) -> None:
    if folder is None or not wanted:
        return
    from ...protocol.errors import PsephosError
    from ..reports import write_report

    try:
        write_report(folder.path)
    except (OSError, PsephosError) as error:
        click.echo(f"psephos: no report.html: {error}", err=True)


def _tell(path: Path, *, is_opened: bool) -> None:
    click.echo(path)
    if is_opened and click.launch(path.resolve().as_uri()):
        click.echo("psephos: no browser could be started here: open the file yourself", err=True)
