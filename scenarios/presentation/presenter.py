"""The interface of a presenter: how a terminal, a table and a picture show a protocol's outcome."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec
from rich.console import Console
from rich.text import Text

from ...protocol.estimators import Estimate
from ..tables import Rows, Table
from .charts import Chart

OutcomeT = TypeVar("OutcomeT", bound=msgspec.Struct)

FLAGS: Final = frozenset({"wins"})
"""Columns that have 1 for yes, and 0 for no."""
VERDICT: Final = "verdict"
"""The column of what is decided at a level: an `estimators.Verdict`."""


def error_of(column: str) -> str:
    """Return the column of a column's standard errors: behind its name, but before what that says in brackets.

    Examples:
        >>> error_of("support"), error_of("gap (1)")
        ('support_standard_error', 'gap_standard_error (1)')
    """
    name, bracket, remainder = column.partition(" (")
    return f"{name}_standard_error{bracket}{remainder}"


@dataclasses.dataclass(frozen=True)
class Known:
    """What may be shown beside an outcome.

    Args:
        truth: what the outcome estimates, by the name of the estimated; None where that may not be shown.
        gold: what is true where somebody knows it, by the same names; None where nobody does.
        table: the file that holds all of the outcome, for what a terminal leaves out.
        is_brief: whether a terminal shows what matters most alone, in some twelve lines.

    Examples:
        >>> Known(truth={"roof": 2.0}).table
        'estimates.csv'
    """

    truth: Mapping[str, Any] | None = None
    gold: Mapping[str, str] | None = None
    table: str = "estimates.csv"
    is_brief: bool = False


@dataclasses.dataclass(frozen=True)
class Brief:
    """The shortest that is said of one thing in an outcome, where several outcomes are shown together.

    Args:
        name: what is decided or estimated.
        said: what came of it; the estimate where there is nothing shorter.
        estimate: the number behind it, which a picture shows; None where there is none.
        told: the same with its numbers, where `said` has none: for what is printed of an outcome, line by line.

    Examples:
        >>> Brief("roof", Text("passes"), Estimate(2.0, 0.5)).said.plain
        'passes'
    """

    name: str
    said: Text
    estimate: Estimate | None = None
    told: str = ""


@dataclasses.dataclass(frozen=True)
class Presenter(Generic[OutcomeT]):
    """How one kind of outcome is shown.

    Args:
        show: prints it.
        rows: returns the rows of its table, which have the same keys.
        draw: returns its picture; None where it has none.
        say: what a line of the terminal adds of it, as its phase closes; by default nothing.
        brief: what is said of it beside others; by default its first estimates.
        verdict: what came of it, in a few sentences to be read aloud: computed from the outcome alone, and of how sure
            it is only what is calibrated, with its condition; by default what `brief` says.
        sheet: returns the table that a page shows, with percentages beside counts; by default the rows of its table.
    """

    show: Callable[[Console, OutcomeT, Known], None]
    rows: Callable[[OutcomeT, Known], Rows]
    draw: Callable[[OutcomeT, Known], Chart | None]
    say: Callable[[OutcomeT], Text] | None = None
    brief: Callable[[OutcomeT], Sequence[Brief]] | None = None
    verdict: Callable[[OutcomeT], str] | None = None
    sheet: Callable[[OutcomeT, Known], Table] | None = None
