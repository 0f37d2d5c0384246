"""The interface of presenters, which show a protocol's outcome in a terminal, a table and a picture."""

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
"""Columns with 1 for yes and 0 for no."""
VERDICT: Final = "verdict"
"""The column of verdicts at a confidence level (`estimators.Verdict`)."""


def error_of(column: str) -> str:
    """Return the name of a column's standard errors: a suffix, before any text in brackets.

    Examples:
        >>> error_of("support"), error_of("gap (1)")
        ('support_standard_error', 'gap_standard_error (1)')
    """
    name, bracket, remainder = column.partition(" (")
    return f"{name}_standard_error{bracket}{remainder}"


@dataclasses.dataclass(frozen=True)
class Known:
    """What may be shown in addition to an outcome.

    Args:
        truth: true values by the estimates' names; None if they may not be shown.
        gold: values of a gold standard, by the same names; None if there is none.
        table: the file with the whole outcome, to which a shortened terminal output refers.
        is_brief: whether a terminal shows only the main results, in about twelve lines.

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
    """One result of an outcome in short, for tables of several outcomes.

    Args:
        name: the name of the decided or estimated thing.
        said: the result; the estimate if there is nothing shorter.
        estimate: the number behind it, for pictures; None if there is none.
        told: the result with numbers, if `said` has none, for printing an outcome line by line.

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
    """The functions that show one type of outcome.

    Args:
        show: prints the outcome.
        rows: returns the rows of its table, all with the same keys.
        draw: returns its picture; None if there is none.
        say: returns it in short, for the line of a closed phase; by default empty.
        brief: returns its results in short; by default its first estimates.
        verdict: returns a few sentences, computed only from the outcome; confidence is stated only if it is calibrated,
            with its condition. By default from `brief`.
        sheet: returns the table for a page, with percentages next to counts; by default from `rows`.
    """

    show: Callable[[Console, OutcomeT, Known], None]
    rows: Callable[[OutcomeT, Known], Rows]
    draw: Callable[[OutcomeT, Known], Chart | None]
    say: Callable[[OutcomeT], Text] | None = None
    brief: Callable[[OutcomeT], Sequence[Brief]] | None = None
    verdict: Callable[[OutcomeT], str] | None = None
    sheet: Callable[[OutcomeT, Known], Table] | None = None
