"""What the tests of experiments share."""

import functools
from typing import Any

import coverage
import pytest


@pytest.fixture
def unmeasured_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep coverage out of how matplotlib writes a figure's files: to follow all of its lines doubles their time."""
    measuring = coverage.Coverage.current()
    figure: Any = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed").Figure
    save = figure.savefig

    @functools.wraps(save)
    def savefig(*given: Any, **options: Any) -> None:
        if measuring is not None:
            measuring.stop()
        try:
            save(*given, **options)
        finally:
            if measuring is not None:
                measuring.start()

    monkeypatch.setattr(figure, "savefig", savefig)
