"""A report in a real browser: it asks the network for nothing, everybody can read it, and its tables sort."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import in_a_browser, open_browser, violations_of
from psephos.scenarios import RunFolder, load_scenario, load_series, resolve, run_in_folder
from psephos.scenarios.reports import write_report
from psephos.scenarios.running.series_run import resolve_series, run_series
from psephos.scenarios.running.series_shown import draw_series
from runs import read_rows

WIDTHS = (390, 820, 1280)
PAPER = {"auto": 680, "wide": 1009}  # A4 within the page's own margins, upright and across, in CSS pixels

pytestmark = in_a_browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser."""
    with open_browser() as one:
        yield one


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of runs with pictures and adversaries, and of a series."""
    folder = tmp_path_factory.mktemp("pages")
    scenarios = {
        "eu-council": (),
        "sybil": (),
        "two-societies": (),
        "two-features": ("transport=array",),  # the widest table of all
        "consortium": ("count=200", "title=<b>الاتحاد</b>"),
    }
    for name, settings in scenarios.items():
        run_in_folder(resolve(load_scenario(name, ["seed=7", *settings])), RunFolder(folder / name))
    made = {name: write_report(folder / name) for name in scenarios}
    series = load_series("housing-cooperative", ["seed=7"])
    finished = run_series(series, resolve_series(series), RunFolder(folder / "series"))
    draw_series(series, finished, folder=folder / "series")
    made["series"] = write_report(folder / "series")
    return made


@pytest.fixture
def opened(browser: Any) -> Iterator[Any]:
    """Opens a page; fails where it asks for anything, or a script complains."""
    asked: list[str] = []
    complaints: list[str] = []
    contexts: list[Any] = []

    def note_request(request: Any) -> None:
        asked.append(request.url)

    def note_complaint(complaint: Any) -> None:
        complaints.append(str(complaint))

    def open_page(path: Path, **how: Any) -> Any:
        contexts.append(browser.new_context(accept_downloads=True, **how))
        page = contexts[-1].new_page()
        page.on("request", note_request)
        page.on("console", note_complaint)
        page.on("pageerror", note_complaint)
        page.goto(path.resolve().as_uri())
        return page

    yield open_page
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert complaints == []
    for context in contexts:
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["eu-council", "sybil", "two-societies", "consortium", "series"])
def test_a_page_fits_every_screen_and_axe_finds_nothing(
    opened: Any, pages: dict[str, Path], name: str, scheme: str
) -> None:
    for width in WIDTHS:
        page = opened(pages[name], viewport={"width": width, "height": 900}, color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        assert violations_of(page) == []


def test_on_a_phone_each_line_of_a_table_is_a_card_that_says_what_its_numbers_are(
    opened: Any, pages: dict[str, Path]
) -> None:
    page = opened(pages["eu-council"], viewport={"width": 390, "height": 900})
    table = page.locator("table.cards").first
    assert not table.locator("thead").is_visible()
    cell = table.locator("tbody tr").first.locator("td").nth(1)
    assert cell.evaluate("e => getComputedStyle(e, '::before').content") == '"Support"'
    row, whole = (each.bounding_box() for each in (table.locator("tbody tr").first, page.locator("main")))
    assert row["width"] <= whole["width"]
    wide = opened(pages["eu-council"], viewport={"width": 1280, "height": 900})
    assert wide.locator("table.cards thead").first.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["eu-council", "sybil", "two-societies", "two-features", "consortium", "series"])
def test_on_a_phone_pictures_are_whole_and_can_be_read(
    opened: Any, pages: dict[str, Path], name: str, scheme: str
) -> None:
    page = opened(pages[name], viewport={"width": 390, "height": 900}, color_scheme=scheme)
    script = """() => [...document.querySelectorAll(".drawing svg")].filter(e => e.clientWidth).map(svg =>
        [...svg.querySelectorAll("text")].map(e => [e, e.getBoundingClientRect(), e.getScreenCTM()]).map(
        ([e, box, { a, b }]) =>  // of words that stand upright, a is 0
        [e.textContent, box.left, box.right, parseFloat(getComputedStyle(e).fontSize) * Math.hypot(a, b)]))"""
    pictures = page.evaluate(script)
    assert pictures
    for words in pictures:
        assert [text for text, left, right, _ in words if left < 0 or right > 390] == []
        assert [text for text, _, _, size in words if size < 6.5] == []  # whole pictures of 8 inches had 5.6


def test_the_dark_page_is_dark_and_so_are_its_pictures(opened: Any, pages: dict[str, Path]) -> None:
    script = "e => getComputedStyle(e).backgroundColor"
    light, dark = (opened(pages["eu-council"], color_scheme=scheme) for scheme in ("light", "dark"))
    assert light.eval_on_selector("body", script) == "rgb(255, 255, 255)"
    assert dark.eval_on_selector("body", script) != light.eval_on_selector("body", script)
    fill = "e => getComputedStyle(e).fill"
    assert light.eval_on_selector("svg text", fill) != dark.eval_on_selector("svg text", fill)


def test_tables_sort_by_keyboard_and_say_how(opened: Any, pages: dict[str, Path]) -> None:
    page = opened(pages["eu-council"])
    table = page.locator("table").first
    header = table.locator("thead th", has_text="Margin").first

    def margins() -> list[float]:
        place = header.evaluate("e => e.cellIndex")
        return [
            float(each)
            for each in table.evaluate("(e, n) => [...e.tBodies[0].rows].map(r => r.cells[n].dataset.value)", place)
        ]

    header.locator("button").focus()
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    assert margins() == sorted(margins())
    page.keyboard.press("Space")
    assert header.get_attribute("aria-sort") == "descending"
    assert margins() == sorted(margins(), reverse=True)


def test_the_keyboard_reaches_everything_from_the_skip_link_on(opened: Any, pages: dict[str, Path]) -> None:
    page = opened(pages["eu-council"])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    reached: set[str] = set()
    for _ in range(200):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName"))
        if page.evaluate("document.activeElement === document.body"):
            break
    assert {"BUTTON", "A", "DIV"} <= reached  # headers, downloads, and what scrolls


def test_a_table_downloads_from_disk_with_all_digits(opened: Any, pages: dict[str, Path]) -> None:
    page = opened(pages["eu-council"])
    with page.expect_download() as expected:
        page.locator('a[download="estimates.csv"]').click()
    rows = read_rows(Path(expected.value.path()))
    assert rows == read_rows(pages["eu-council"].parent / "estimates.csv")


def test_without_a_script_everything_is_there(opened: Any, pages: dict[str, Path]) -> None:
    page = opened(pages["sybil"], java_script_enabled=False)
    assert page.locator("thead button").count() == 0
    assert page.locator("table").count() >= 4
    assert page.locator("text=Privacy loss per person").first.is_visible()


def test_it_prints_on_paper_in_dark_ink(opened: Any, pages: dict[str, Path]) -> None:
    page = opened(pages["eu-council"], color_scheme="dark")
    page.emulate_media(media="print")
    assert page.eval_on_selector("body", "e => getComputedStyle(e).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()
    assert len(page.pdf()) > 10_000


@pytest.mark.parametrize("name", ["eu-council", "sybil", "two-features", "consortium", "series"])
def test_on_paper_nothing_is_cut_off_and_tables_can_repeat_their_headers(
    opened: Any, pages: dict[str, Path], name: str
) -> None:
    page = opened(pages[name], viewport={"width": PAPER["auto"], "height": 1000})
    page.emulate_media(media="print")
    widths = "es => es.map(e => [getComputedStyle(e).page, e.scrollWidth])"
    for kind, width in page.eval_on_selector_all("main p, main pre, main dl, main figure, main .sequence", widths):
        assert width <= PAPER[kind]
    # Chromium does not repeat a header that has a button's box.
    displays = "es => es.map(e => getComputedStyle(e).display)"
    assert {*page.eval_on_selector_all("thead button", displays)} == {"contents"}


def test_on_paper_what_is_quiet_is_no_larger_than_what_is_said(opened: Any, pages: dict[str, Path]) -> None:
    page = opened(pages["eu-council"])
    page.emulate_media(media="print")
    said, quiet = (
        page.eval_on_selector(f"main section:not(.verdict) p{kind}", "e => parseFloat(getComputedStyle(e).fontSize)")
        for kind in (":not([class])", ".quiet")
    )
    assert quiet < said < 14
