"""What a terminal shows, as plain text that tests can read."""

import html
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from psephos.protocol.estimators import Estimate
from psephos.scenarios.presentation import draw_outcome, make_console, show_outcome
from psephos.scenarios.presentation.drawing import NARROW

ESTIMATE = re.compile(r"([+−-]?[\d,.]+) ± ([\d,.]+)")


def is_shown(estimate: Estimate, numbers: tuple[str, str]) -> bool:
    """Whether two numbers on a page are an estimate and its error, rounded for readers."""
    value, error = (float(number.replace(",", "").replace("−", "-")) for number in numbers)
    return abs(value - estimate.value) <= 0.51 and abs(error - estimate.standard_error) <= 0.51


class Page:
    """The console that users have, with a width of its own, and what it wrote."""

    def __init__(self, *, width: int = 120) -> None:
        self._file = io.StringIO()
        self.console = make_console()
        self.console.file, self.console.width = self._file, width

    @property
    def text(self) -> str:
        return self._file.getvalue()

    @property
    def lines(self) -> list[list[str]]:
        return [line.split() for line in self.text.splitlines()]


def page_of(show: Callable[..., None], *what: object, width: int = 120, **options: Any) -> Page:
    """Return the page on which a function that takes a console has shown something."""
    page = Page(width=width)
    show(page.console, *what, **options)
    return page


def shown(outcome: Any, *, truth: Mapping[str, Any] | None = None, **options: Any) -> Page:
    """Return the page of an outcome."""
    return page_of(show_outcome, outcome, truth=truth, **options)


def drawn(
    outcome: Any, folder: Path, *, title: str = "A vote", truth: Mapping[str, Any] | None = None, **options: Any
) -> str:
    """Return the text of an outcome's SVG, beside which there is one for phones."""
    paths = draw_outcome(outcome, title=title, truth=truth, folder=folder, **options)
    assert paths == [folder / "estimates.svg"]
    for path in (*paths, folder / f"estimates{NARROW}.svg"):
        assert ET.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314  our own file
    return html.unescape(paths[0].read_text(encoding="utf-8"))
