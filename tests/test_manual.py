"""The manual in a real browser, from disk: everybody can read its pages, formulas are drawn, and nothing is fetched."""

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import in_a_browser, open_browser, violations_of

DOCS = Path(__file__).parents[1] / "docs"
TOOLS = ("furo", "math_core", "myst_parser", "sphinx", "sphinx_copybutton")
SCREENS = [("light", 1280), ("dark", 390)]
OTHER_SCREENS = [("dark", 1280), ("light", 390)]
KINDS = (
    "index.html",
    "dpwevote.html",
    "states.html",
    "which-mechanism.html",
    "reference/psephos.protocol.dpwevote.html",
)
"""A page of each kind: these are looked at on all screens."""
FORMULA = re.compile(r"^ *```math$", re.MULTILINE)

pytestmark = in_a_browser


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the manual's pages, built as `make docs` builds them."""
    missing = [tool for tool in TOOLS if importlib.util.find_spec(tool) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (the group docs)")
    folder = tmp_path_factory.mktemp("manual")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", "-d", str(folder / "doctrees")]
    subprocess.run([*command, str(DOCS), str(folder / "html")], check=True)  # noqa: S603  our own command
    return folder / "html"


@pytest.fixture
def opened() -> Iterator[Any]:
    """Opens pages, one after another; fails where one asks for more than files, or a script complains."""
    asked: list[str] = []
    complaints: list[str] = []

    def note_request(request: Any) -> None:
        asked.append(request.url)

    def note_complaint(complaint: Any) -> None:
        complaints.append(str(complaint))

    with open_browser() as browser:
        tab = browser.new_context().new_page()
        tab.on("request", note_request)
        tab.on("console", note_complaint)
        tab.on("pageerror", note_complaint)

        def open_page(path: Path, scheme: str, width: int) -> Any:
            tab.set_viewport_size({"width": width, "height": 900})
            tab.emulate_media(color_scheme=scheme)
            tab.goto(path.as_uri())
            return tab

        yield open_page
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert complaints == []


def faults_of(page: Any) -> list[Any]:
    """Return what keeps somebody from reading a page: it is wider than the screen, or axe-core finds something."""
    fits = page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    return [*violations_of(page), *([] if fits else ["wider than the screen"])]


@pytest.mark.parametrize(("scheme", "width"), SCREENS)
def test_axe_finds_nothing_on_any_page(manual: Path, opened: Any, scheme: str, width: int) -> None:
    pages = sorted(manual.rglob("*.html"))
    found = {page.name: faults_of(opened(page, scheme, width)) for page in pages}
    assert len(pages) > len(list(DOCS.glob("*.md")))  # and those of the modules
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.parametrize(("scheme", "width"), OTHER_SCREENS)
@pytest.mark.parametrize("name", KINDS)
def test_axe_finds_nothing_on_other_screens(manual: Path, opened: Any, name: str, scheme: str, width: int) -> None:
    assert faults_of(opened(manual / name, scheme, width)) == []


def test_every_formula_is_drawn(manual: Path, opened: Any) -> None:
    written = {page: len(FORMULA.findall(page.read_text(encoding="utf-8"))) for page in DOCS.glob("*.md")}
    assert sum(written.values()) > 30
    for page, number in written.items():
        if number:
            drawn = opened(manual / f"{page.stem}.html", "light", 1280).locator("article math").all()
            assert len(drawn) == number, page.name
            assert all(formula.bounding_box()["height"] > 10 for formula in drawn), page.name


def test_every_diagram_is_drawn_where_mermaid_is_there(manual: Path, opened: Any) -> None:
    if not (manual / "_static" / "mermaid.min.js").is_file():
        pytest.skip("Mermaid, which `make docs` fetches by npm, is not there")
    page = opened(manual / "states.html", "dark", 1280)
    page.locator("pre.mermaid svg").nth(1).wait_for()
    assert page.locator("pre.mermaid svg").count() == page.locator("pre.mermaid").count() == 2


def test_the_keyboard_reaches_what_scrolls_on_a_phone(manual: Path, opened: Any) -> None:
    page = opened(manual / "plugins.html", "light", 390)
    boxes = "[...document.querySelectorAll('article pre, .table-wrapper, .formula')]"
    wide = f"{boxes}.filter(e => e.scrollWidth > e.clientWidth)"
    assert page.evaluate(f"{wide}.length") > 3
    assert page.evaluate(f"{wide}.every(e => e.tabIndex === 0 && e.getAttribute('aria-label'))")
