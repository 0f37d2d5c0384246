"""Show a fair vote's outcome: the winner, and how well each alternative serves each group of voters."""

from collections.abc import Mapping
from typing import Any, Final

from rich.text import Text

from ....protocol.fair_voting import Outcome
from ...presentation.presenter import Brief, Presenter
from .alternatives import rows_of
from .picture import draw
from .showing import conclude, show

__all__ = ["PRESENTERS"]


def _brief(outcome: Outcome) -> list[Brief]:
    return [Brief("winner", Text(outcome.winner, style="bold"))]


ELECTIONS: Presenter[Outcome] = Presenter(show=show, rows=rows_of, draw=draw, brief=_brief, verdict=conclude)
"""Presents an outcome with a row for each alternative."""

PRESENTERS: Final[Mapping[type, Presenter[Any]]] = {Outcome: ELECTIONS}  # presenters by outcome type
