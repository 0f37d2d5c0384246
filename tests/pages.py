"""What a terminal shows, as plain text that tests can read."""

import io
import re

from psephos.protocol.estimators import Estimate
from psephos.scenarios.presentation import make_console

__all__ = ["ESTIMATE", "Page", "is_shown"]

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
