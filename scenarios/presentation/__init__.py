"""How outcomes are shown: in a terminal, as a table, as a picture.

Each protocol has a room of its own here, `votes`, `truths`, `preferences` or `elections`, and what it says is found by
the outcome's type. Any other outcome, such as that of somebody else's protocol, is shown by its fields.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Console

from ...protocol import dpwevote, fair_voting, moral_preferences, truth_discovery
from ...protocol.phases import Truth
from ..dpwevote.presentation import VOTES
from ..fair_voting.presentation import ELECTIONS
from ..moral_preferences.presentation import PREFERENCES
from ..truth_discovery.presentation import OWN_TRUTHS, TRUTHS
from .drawing import save_picture
from .lessons import draw_lesson, show_lesson, written_lesson
from .plain import PLAIN
from .presenter import Known, Presenter, Rows
from .terminal import make_console

__all__ = [
    "draw_lesson",
    "draw_outcome",
    "make_console",
    "rows_of",
    "show_lesson",
    "show_outcome",
    "show_own_outcome",
    "written_lesson",
]

_PRESENTERS: Final[Mapping[type, Presenter[Any]]] = {
    dpwevote.Outcome: VOTES,
    fair_voting.Outcome: ELECTIONS,
    moral_preferences.Outcome: PREFERENCES,
    truth_discovery.Outcome: TRUTHS,
    truth_discovery.OwnOutcome: OWN_TRUTHS,
}


def show_outcome(
    console: Console,
    outcome: msgspec.Struct,
    *,
    truth: Truth | None,
    gold: Mapping[str, str] | None = None,
    table: str = "estimates.csv",
) -> None:
    """Print a released outcome: estimates with standard errors, decisions, and the truth where it may be shown.

    Args:
        console: where to.
        outcome: what was released.
        truth: what the outcome estimates, computed without noise, by the name of the estimated.
        gold: what is true where somebody knows it, by the same names.
        table: the file that holds all of the outcome, for what does not fit.
    """
    _presenter_of(outcome).show(console, outcome, Known(truth=truth, gold=gold, table=table))


def show_own_outcome(console: Console, own: msgspec.Struct) -> None:
    """Print what one party alone was told."""
    _presenter_of(own).show(console, own, Known())


def rows_of(outcome: msgspec.Struct, *, truth: Truth | None, gold: Mapping[str, str] | None = None) -> Rows:
    """Return the rows of `estimates.csv`: one for each candidate, task, feature or alternative; one of another outcome.

    Args:
        outcome: what was released.
        truth: stands beside the estimates where it may be shown.
        gold: the same.
    """
    return _presenter_of(outcome).rows(outcome, Known(truth=truth, gold=gold))


def draw_outcome(
    outcome: msgspec.Struct,
    *,
    title: str,
    truth: Truth | None,
    gold: Mapping[str, str] | None = None,
    folder: Path,
) -> list[Path]:
    """Draw an outcome as `estimates.svg` and `estimates.png`; nothing for outcomes without a picture of their own.

    Args:
        outcome: what was released.
        title: one line.
        truth: drawn beside the estimates where it may be shown.
        gold: the same.
        folder: where to.

    Returns:
        The files; none where matplotlib is not installed.
    """
    picture = _presenter_of(outcome).draw(outcome, Known(truth=truth, gold=gold))
    return [] if picture is None else save_picture(picture, title=title, folder=folder)


def _presenter_of(outcome: msgspec.Struct) -> Presenter[Any]:
    """Return the presenter of the outcome's class, or of the nearest one that it inherits from."""
    return next((_PRESENTERS[kind] for kind in type(outcome).__mro__ if kind in _PRESENTERS), PLAIN)
