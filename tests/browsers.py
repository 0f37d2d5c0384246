"""The system's Chromium, in which tests look at pages; where there is none, they are skipped, and say so."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest

_CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_SECONDS_TO_START: Final = 60

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


class LastingBrowser:
    """A browser with a profile that outlives it, in processes of its own.

    Attributes:
        context: where its pages are.
    """

    def __init__(self, browser: Any, profile: Path, *words: str) -> None:
        assert _CHROMIUM is not None
        options = (
            "--headless=new",
            "--no-sandbox",
            "--remote-debugging-port=0",
            "--no-first-run",
            "--disable-breakpad",
            *words,
        )
        command = [_CHROMIUM, *options, f"--user-data-dir={profile}", "about:blank"]
        written = profile / "DevToolsActivePort"  # by the browser, once it listens: its port, and a path
        written.unlink(missing_ok=True)
        self._process = subprocess.Popen(  # noqa: S603  our own
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        deadline = time.monotonic() + _SECONDS_TO_START
        while not (written.exists() and len(lines := written.read_text().splitlines()) > 1):
            assert time.monotonic() < deadline, "the browser does not start"
            time.sleep(0.02)
        self.context = browser.browser_type.connect_over_cdp(f"ws://127.0.0.1:{lines[0]}{lines[1]}").contexts[0]

    def kill(self) -> None:
        """End all of its processes at once, and wait until they are gone."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            while True:
                os.killpg(self._process.pid, 0)
                time.sleep(0.01)


@contextlib.contextmanager
def open_lasting_browser(browser: Any, profile: Path, *words: str) -> Generator[LastingBrowser]:
    """Start a browser with a profile, and kill it in the end.

    Args:
        browser: another one, of the same kind.
        words: further options of the command line.
    """
    lasting = LastingBrowser(browser, profile, *words)
    try:
        yield lasting
    finally:
        lasting.kill()


def violations_of(page: Any) -> list[tuple[str, Any]]:
    """Return what axe-core finds that keeps somebody from reading a page: the rule, and the first place."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    # Styles are not fetched once more, which a browser refuses from disk; of what is well, one example is enough.
    found = axe.Axe().run(page, options={"preload": False, "resultTypes": ["violations"]}).response
    assert len(found["passes"]) > 20  # it has looked
    return [(each["id"], each["nodes"][0]["target"]) for each in found["violations"]]
