"""The system's Chromium, in which tests look at pages; where there is none, they are skipped, and say so."""

import contextlib
import shutil
from collections.abc import Generator
from typing import Any, Final

import pytest

_CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

in_a_browser: Final = [
    pytest.mark.full("starts a browser"),
    pytest.mark.skipif(_CHROMIUM is None, reason="no Chromium is installed: apt-get install chromium"),
]
"""The marks of a module whose tests look at pages."""


@contextlib.contextmanager
def open_browser() -> Generator[Any]:
    """Start a browser, which has no sandbox where these tests run as root."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (the group test)")
    with playwright.sync_playwright() as started:
        one = started.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox"])
        yield one
        one.close()


def violations_of(page: Any) -> list[tuple[str, Any]]:
    """Return what axe-core finds that keeps somebody from reading a page: the rule, and the first place."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    # Styles are not fetched once more, which a browser refuses from disk; of what is well, one example is enough.
    found = axe.Axe().run(page, options={"preload": False, "resultTypes": ["violations"]}).response
    assert len(found["passes"]) > 20  # it has looked
    return [(each["id"], each["nodes"][0]["target"]) for each in found["violations"]]
