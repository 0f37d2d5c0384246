"""Show outcomes in a terminal, as a table, and as a picture.

A system declares presenters, which are found by the outcome's type. Any other outcome is shown by its fields and
estimates (`plain`).
"""

import contextlib
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text

from ...protocol.errors import PluginError, PsephosError, printable
from ...protocol.phases import Truth
from ...protocol.plugin_faults import is_ours, place_of, reason_of
from ..system import load_each
from ..tables import Rows, Table
from .attack_reports import attack_report_to_dict, show_lesson
from .charts import save_chart
from .plain import PLAIN, plain_briefs, plain_verdict
from .presenter import Brief, Known, Presenter
from .terminal import make_console

__all__ = [
    "attack_report_to_dict",
    "briefs_of",
    "describe_phase_outcome",
    "draw_outcome",
    "is_plain",
    "make_console",
    "rows_of",
    "sheet_of",
    "show_lesson",
    "show_outcome",
    "show_verdict",
    "verdict_of",
]


def show_outcome(
    console: Console,
    outcome: msgspec.Struct,
    *,
    truth: Truth | None = None,
    gold: Mapping[str, str] | None = None,
    table: str = "estimates.csv",
    is_brief: bool = False,
) -> None:
    """Print an outcome: estimates with standard errors, decisions, and the truth if it may be shown.

    For `truth`, `gold`, `table` and `is_brief` see `Known`.
    """
    with _calling_presenter(outcome, "show") as presenter:
        presenter.show(console, outcome, Known(truth=truth, gold=gold, table=table, is_brief=is_brief))


def describe_phase_outcome(outcome: msgspec.Struct) -> Text:
    """Return a closed phase's outcome in short, for the end of its line in the terminal.

    Examples:
        >>> import msgspec
        >>> describe_phase_outcome(msgspec.defstruct("Survey", [("mean", float)])(2.5)).plain
        ''
    """
    with _calling_presenter(outcome, "say") as presenter:
        return Text() if presenter.say is None else presenter.say(outcome)


def briefs_of(outcome: msgspec.Struct) -> Sequence[Brief]:
    """Return an outcome's results in short, for tables of several sessions.

    Examples:
        >>> import msgspec
        >>> from psephos.protocol.estimators import Estimate
        >>> Survey = msgspec.defstruct("Survey", [("mean", Estimate), ("town", str)])
        >>> [(brief.name, brief.said.plain) for brief in briefs_of(Survey(Estimate(2998.2, 12.3), "Bern"))]
        [('town', 'Bern'), ('mean', '2,998 ± 12')]
    """
    with _calling_presenter(outcome, "brief") as presenter:
        return plain_briefs(outcome) if presenter.brief is None else presenter.brief(outcome)


def verdict_of(outcome: msgspec.Struct) -> str:
    """Return a session's verdict, in a few sentences.

    It is computed only from the outcome, released or for one party, by its system's presenter. For an outcome without a
    presenter, it states the first estimates.

    Raises:
        PluginError: a plug-in's presenter raises an exception.

    Examples:
        >>> import msgspec
        >>> from psephos.protocol.estimators import Estimate
        >>> Survey = msgspec.defstruct("Survey", [("mean", Estimate), ("town", str)])
        >>> verdict_of(Survey(Estimate(2998.2, 12.3), "Bern"))
        'Town is Bern and mean is 2,998 ± 12. Each ± is one standard error.'
    """
    with _calling_presenter(outcome, "verdict") as presenter:
        verdict_text = plain_verdict(briefs_of(outcome)) if presenter.verdict is None else presenter.verdict(outcome)
    return printable(verdict_text)


def show_verdict(console: Console, outcome: msgspec.Struct) -> None:
    """Print a session's verdict, followed by an empty line."""
    console.print(Text(f"Verdict: {verdict_of(outcome)}", style="bold"))
    console.print()


def rows_of(outcome: msgspec.Struct, *, truth: Truth | None, gold: Mapping[str, str] | None = None) -> Rows:
    """Return the rows of `estimates.csv`: one for each candidate, task, feature, alternative, or struct.

    The truth and the gold standard are added to the estimates if they may be shown.

    Examples:
        >>> import msgspec
        >>> from psephos.protocol.estimators import Estimate
        >>> Survey = msgspec.defstruct("Survey", [("mean", Estimate), ("town", str)])
        >>> rows_of(Survey(Estimate(2998.2, 12.3), "Bern"), truth={"mean": 3000.0})
        [{'mean': 2998.2, 'mean_standard_error': 12.3, 'town': 'Bern', 'true_mean': 3000.0}]
    """
    with _calling_presenter(outcome, "rows") as presenter:
        return presenter.rows(outcome, Known(truth=truth, gold=gold))


def sheet_of(outcome: msgspec.Struct, *, truth: Truth | None, gold: Mapping[str, str] | None = None) -> Table | None:
    """Return the table of an outcome for a page; None if the page shows the rows of its file.

    Examples:
        >>> import msgspec
        >>> sheet_of(msgspec.defstruct("Survey", [("mean", float)])(2.5), truth=None) is None
        True
    """
    with _calling_presenter(outcome, "sheet") as presenter:
        known_truth = Known(truth=truth, gold=gold)
        return None if presenter.sheet is None else presenter.sheet(outcome, known_truth)


def draw_outcome(
    outcome: msgspec.Struct,
    *,
    title: str,
    truth: Truth | None,
    gold: Mapping[str, str] | None = None,
    folder: Path,
    setting: str = "",
) -> list[Path]:
    """Draw an outcome as `estimates.svg`, also for phones; return the file, or None without estimates.

    The setting, below the title, states the number of parties and the privacy guarantee.
    """
    with _calling_presenter(outcome, "draw") as presenter:
        chart = presenter.draw(outcome, Known(truth=truth, gold=gold))
        if chart is None:
            return []
        return save_chart(chart, folder=folder, name="estimates", title=title, setting=setting)


def is_plain(outcome: msgspec.Struct) -> bool:
    """Return whether an outcome has no presenter, and is shown by its fields' names.

    Examples:
        >>> import msgspec
        >>> from psephos.protocol.estimators import Estimate
        >>> Survey = msgspec.defstruct("Survey", [("mean", Estimate), ("town", str)])
        >>> is_plain(Survey(Estimate(2998.2, 12.3), "Bern"))
        True
    """
    return _presenter_of(outcome) is PLAIN


@contextlib.contextmanager
def _calling_presenter(outcome: msgspec.Struct, step: str) -> Generator[Presenter[Any]]:
    """Yield an outcome's presenter, and convert a plug-in's exceptions to PluginError.

    The presenter's inputs are published, so its messages may be quoted.
    """
    presenter = _presenter_of(outcome)
    modules = {getattr(part, "__module__", "") for part in (presenter.show, presenter.rows, presenter.draw)}
    try:
        yield presenter
    except (PsephosError, OSError):
        raise
    except Exception as error:
        packages = frozenset(module.partition(".")[0] for module in modules if not is_ours(module))
        if not packages:
            raise
        plugin, place = f"the presenter of {type(outcome).__name__}", place_of(error, packages)
        raise PluginError(plugin=plugin, step=step, reason=reason_of(error), place=place) from error


def _presenter_of(outcome: msgspec.Struct) -> Presenter[Any]:
    """Return the presenter of the outcome's class, or of its nearest base class with one.

    The system of the class is usually already imported, and no other is needed.
    """
    table: Mapping[type, Presenter[Any]]
    for _, table in load_each("presenters", Mapping, is_imported=True):
        if type(outcome) in table:
            return table[type(outcome)]
    tables: list[Mapping[type, Presenter[Any]]] = [table for _, table in load_each("presenters", Mapping)]
    presenters = (table[kind] for kind in type(outcome).__mro__ for table in tables if kind in table)
    return next(presenters, PLAIN)
