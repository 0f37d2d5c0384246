"""The first hour with Psephos, as six newcomers have it: in a fresh clone, step by step, with a clock.

    python docs/tour.py ~/tour                      # clones this repository, installs it, and takes every step
    python docs/tour.py ~/tour --installed .venv    # the same with an environment that is there already

They are the secretary of an association, a works council with a form that came back, the lead of people who annotate,
a student, a security engineer and the author of a paper. Each types commands into a folder of their own, and has one
try at each: the tour stops at the first that fails, with its last line. What a file does not tell is asked in a step of
its own, which has to end with status 2 and a question.

FOLDER must be new and outside of the repository. It gets what each step printed, at 80 columns, and where Chromium is
installed a screenshot of it, and of each page in light, in the dark and as wide as a phone. `users.md` says who typed
what, and what that looked like.
"""

import argparse
import dataclasses
import html
import math
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

__all__ = ["find_browser", "main", "photograph"]

ROOT: Final = Path(__file__).resolve().parents[1]
_COLUMNS: Final = 80
_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
_LOOKS: Final = {
    "light": ("--window-size=1280,2400",),
    "dark": ("--window-size=1280,2400", "--force-dark-mode", "--blink-settings=preferredColorScheme=0"),
    "phone": ("--window-size=500,2400",),  # as narrow as a headless window gets
}
_TERMINAL: Final = (
    '<!doctype html><meta charset="utf-8"><title>terminal</title>'
    "<style>body {{ margin: 0; padding: 24px; background: #16181d; color: #e6e6e6 }}"
    "pre {{ margin: 0; width: {columns}ch; white-space: pre-wrap; word-break: break-all;"
    " font: 14px/1.35 'DejaVu Sans Mono', monospace }}</style><pre>{text}</pre>"
)
_LINE_PIXELS: Final = 19
_MARGIN_PIXELS: Final = 60
_TERMINAL_PIXELS: Final = 730

# As a spreadsheet in Germany saves it: semicolons, Windows-1252, its own words for yes and no, and no weights.
_COMMITTEE: Final = "Name;Umzug\n" + "".join(
    f"{name};{'ja' if place % 3 else 'nein'}\n"
    for place, name in enumerate(f"{first} {last}" for last in ("Müller", "Weiß", "Öztürk") for first in "ABCDEFGHIJ")
)
_BOARD: Final = "member,shares,merger\nAnn,3,yes\nBob,1,no\nCid,1,yes\nDee,2,yes\nEve,2,no\n"
_EXPORTS: Final = ("ms_forms.csv", "civs.csv", "toloka.tsv")  # made up, in the forms of programs
_ASKED: Final = "asked"  # with which names of steps begin that end with a question
_QUESTION: Final = 2  # the status of a command that asks where there is no terminal
_LINES_OF_PYTHON: Final = """\
from psephos.scenarios import load, run

found = run(load("sybil"))
print(found.outcome)
print(found.ledger.to_frame().head())
"""
_USERS: Final[dict[str, tuple[str, Sequence[Sequence[str]]]]] = {
    "secretary": (
        "Has a spreadsheet of members, and a board meeting on Thursday.",
        (
            (
                "new",
                "a vote of one's own, from a spreadsheet",
                "new vote committee.csv --out first",
                "first/report.html",
            ),
            ("plan", "what margin of error that has, and what a better one costs", "plan committee.toml"),
            ("plan-error", "the price of a wanted error", "plan eu-council --people 30 --error 10%"),
            (
                "trials",
                "how often it is right, with made-up members in place of ours",
                "trials committee.toml --synthetic-yes 60%",
            ),
            ("new-board", "a vote of five, to be held for real", "new vote board.csv --public-weights --no-run"),
            ("rehearse", "hold it as processes over TLS", "rehearse board.toml"),
        ),
    ),
    "works council": (
        "Has the answers to a form, saved as it came.",
        (
            ("asked", "a vote from the form; what does not stand in it is asked", "new vote ms_forms.csv"),
            (
                "new",
                "the same, with the answer",
                "new vote ms_forms.csv --abstentions absent --out first",
                "first/report.html",
            ),
            ("variants", "what another way of asking would offer", "variants ms-forms.toml"),
            ("asked-table", "a question with ranks, from another program", "new ranking civs.csv"),
            (
                "ranking",
                "the same, with the answer",
                "new ranking civs.csv --ties mean --numbers places --out elected",
                "elected/report.html",
            ),
        ),
    ),
    "annotation lead": (
        "Pays people who annotate, of whom some were rejected, and wants labels without their names.",
        (
            ("asked", "labels from the platform's file; what does not stand in it is asked", "new crowd toloka.tsv"),
            (
                "asked-labels",
                "the accepted ones alone; what everybody will know is asked",
                "new crowd toloka.tsv --only ASSIGNMENT:status=APPROVED",
            ),
            (
                "new",
                "the same, with both answers",
                "new crowd toloka.tsv --only ASSIGNMENT:status=APPROVED --labels bad,good --out crowd",
                "crowd/report.html",
            ),
            ("ledger", "what each of them paid", "ledger crowd"),
        ),
    ),
    "student": (
        "Wants to see what the course's ε does.",
        (
            ("scenarios", "see what there is", "scenarios"),
            ("show", "a scenario to copy", "show eu-council"),
            ("run", "run it", "run eu-council --out dear", "dear/report.html"),
            ("cheaper", "the same for a third of the privacy loss", "run eu-council --set epsilon=1 --out cheap"),
            ("report", "its page again", "report dear --out dear.html", "dear.html"),
            ("compare", "both side by side", "compare dear cheap --out both.html", "both.html"),
            ("python", "the same in five lines of Python", ""),
        ),
    ),
    "security engineer": (
        "Is asked what a coalition could learn, and believes nothing.",
        (
            ("sweep", "what coalitions learn, by their size", "run collusion-sweep --out sweep", "sweep/report.html"),
            ("sybil", "one person under many names", "run sybil --out sybil"),
            ("audit", "attack a mechanism", "audit k-rr --quick --out audited", "audited/report.html"),
            ("claims", "what papers claim, and what is found", "audit papers"),
            ("ledger", "who paid what", "ledger sybil"),
        ),
    ),
    "author": (
        "Has proposed a mechanism, and wants it beside others at an equal loss.",
        (
            ("variants", "what each mechanism offers at one price", "variants consortium"),
            (
                "trials",
                "two of them at two prices, counted",
                "trials consortium --trials 50 --grid epsilon=1,2 --grid variant=joint,two_point --out counted",
                "counted/report.html",
            ),
            (
                "fairness",
                "fairness and welfare over the price",
                "trials two-societies --trials 50 --grid mechanism=laplace,local --grid epsilon=0.5,1,2 --out curves",
            ),
            (
                "reproduce",
                "a paper's tables again, with fewer votes",
                "reproduce dpwevote --trials 100 --out again",
                "again/report.html",
            ),
        ),
    ),
}
"""Who takes the tour: what they want, and their steps: name, what it is for, words of psephos, pages that it leaves."""


@dataclasses.dataclass(frozen=True)
class Step:
    """One thing that a newcomer does.

    Args:
        user: who does it; nobody in particular sets Psephos up.
        name: of its files, behind the user's.
        what: it is for, as a line.
        command: its words.
        pages: that it leaves and a browser shows.
    """

    user: str
    name: str
    what: str
    command: Sequence[str]
    pages: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Taken:
    """A step that a newcomer took.

    Args:
        step: which.
        typed: its command, as a line.
        seconds: that it took.
    """

    step: Step
    typed: str
    seconds: float


class Stopped(Exception):  # noqa: N818  what happened to the tour
    """A step failed; says which, and its last line."""


def main() -> None:
    """Take the tour, and print what each step took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="for all that the tour leaves; new")
    parser.add_argument(
        "--installed", type=Path, metavar="VENV", help="an environment with Psephos, in place of a clone"
    )
    options = parser.parse_args()
    folder: Path = options.folder.resolve()
    if folder.is_relative_to(ROOT):
        parser.error(f"FOLDER must be outside of the repository, got {folder}")
    if folder.exists() and any(folder.iterdir()):
        parser.error(f"FOLDER must be new or empty, got {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    browser = find_browser()
    begun = time.monotonic()
    try:
        _tour(folder, None if options.installed is None else options.installed.resolve(), browser)
    except Stopped as stopped:
        sys.exit(f"\nThe tour stopped after {time.monotonic() - begun:.0f} s. {stopped}")
    print(f"\nThe whole tour took {(time.monotonic() - begun) / 60:.1f} minutes. What it printed is in {folder}")
    if browser is None:
        print("There are no screenshots, since no Chromium was found.")


def _tour(folder: Path, installed: Path | None, browser: str | None) -> None:
    """Take all steps, the first in the folder itself and the others in one of each user's own."""
    environment = {**os.environ, "COLUMNS": str(_COLUMNS)}
    venv = folder / "venv" if installed is None else installed
    if installed is None:
        for step in _setting_up(folder):
            _take(step, folder, folder, environment, browser)
    environment["PATH"] = f"{venv / 'bin'}{os.pathsep}{environment['PATH']}"
    taken: list[Taken] = []
    for user, (about, steps) in _USERS.items():
        place = folder / user.replace(" ", "-")
        place.mkdir()
        (place / "committee.csv").write_text(_COMMITTEE, encoding="cp1252")
        (place / "board.csv").write_text(_BOARD, encoding="utf-8")
        for name in _EXPORTS:
            shutil.copy(ROOT / "tests" / "exports" / name, place)
        (place / "first.py").write_text(_LINES_OF_PYTHON, encoding="utf-8")
        own = environment | {"PSEPHOS_JOURNAL": str(place / "journal")}  # not the one of whoever takes the tour
        print(f"\n{user.capitalize()}: {about}", flush=True)
        for name, what, words, *pages in steps:
            command = ("python", "first.py") if name == "python" else ("psephos", *shlex.split(words))
            taken.append(_take(Step(user, name, what, command, pages), place, folder, own, browser))
    (folder / "users.md").write_text(_page_of(taken, folder), encoding="utf-8")


def _page_of(taken: Sequence[Taken], folder: Path) -> str:
    """Return who typed what, how often it had to be tried, and what that looked like."""
    parts = ["# Six users"]
    for user, (about, _) in _USERS.items():
        own = [one for one in taken if one.step.user == user]
        pictures = [f"![{one.step.name}]({_file_of(one.step)}.png)" for one in own]
        parts += [
            f"## {user.capitalize()}",
            f"{about} {len(own)} commands in {sum(one.seconds for one in own):.0f} s, {_tries(own)}.",
            "\n".join(f"- {one.step.what}: `{one.typed}`" for one in own),
            *(pictures if (folder / f"{_file_of(own[0].step)}.png").is_file() else ()),
        ]
    return "\n\n".join(parts) + "\n"


def _tries(taken: Sequence[Taken]) -> str:
    """Return how often steps had to be tried, and how many of them asked something."""
    asked = sum(one.step.name.startswith(_ASKED) for one in taken)
    return f"each at the first try{f', of which {asked} asked something' if asked else ''}"


def _file_of(step: Step) -> str:
    """Return the name of a step's files."""
    return f"{step.user.replace(' ', '-')}-{step.name}" if step.user else step.name


def _setting_up(folder: Path) -> Iterator[Step]:
    """Yield how Psephos gets onto the machine."""
    clone, pip = str(folder / "clone"), str(folder / "venv" / "bin" / "pip")
    yield Step("", "clone", "fetch the source", ("git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", clone))
    yield Step("", "venv", "make an environment", (sys.executable, "-m", "venv", str(folder / "venv")))
    yield Step(
        "", "install", "install all of it", (pip, "install", "--quiet", f"{clone}[composition,deployment,pictures]")
    )


def _take(step: Step, place: Path, folder: Path, environment: dict[str, str], browser: str | None) -> Taken:
    """Take a step, once, say how long it took, and keep what it printed.

    Raises:
        Stopped: it failed, or left no page where it should have.
    """
    shown = shlex.join(step.command).replace(f"{folder}{os.sep}", "")
    print(f"{step.what}: {shown}", flush=True)
    begun = time.monotonic()
    try:
        done = subprocess.run(step.command, cwd=place, env=environment, capture_output=True, text=True, check=False)  # noqa: S603  the tour's own steps
    except OSError as error:
        raise Stopped(f"`{shown}` could not be started: {error}") from None
    seconds = time.monotonic() - begun
    name = _file_of(step)
    (folder / f"{name}.txt").write_text(f"$ {shown}\n{done.stdout}{done.stderr}", encoding="utf-8")
    if done.returncode != (_QUESTION if step.name.startswith(_ASKED) else 0):
        last = next(iter(reversed((done.stderr or done.stdout).strip().splitlines())), "it said nothing")
        raise Stopped(f"`{shown}` ended with status {done.returncode}: {last}")
    print(f"    {seconds:6.1f} s, {len(done.stdout.splitlines())} lines", flush=True)
    if missing := [page for page in step.pages if not (place / page).is_file()]:
        raise Stopped(f"`{shown}` left no {missing[0]}")
    if browser is not None:
        _photograph_terminal(browser, folder, name)
        for page in step.pages:
            for look, words in _LOOKS.items():
                photograph(browser, place / page, folder / f"{name}-{Path(page).stem}-{look}.png", words)
    return Taken(step, shown, seconds)


def _photograph_terminal(browser: str, folder: Path, name: str) -> None:
    """Take a picture of what a step printed, as a terminal shows it."""
    text = (folder / f"{name}.txt").read_text(encoding="utf-8")
    page = folder / f"{name}.terminal.html"
    page.write_text(_TERMINAL.format(text=html.escape(text), columns=_COLUMNS), encoding="utf-8")
    lines = sum(max(1, math.ceil(len(line) / _COLUMNS)) for line in text.splitlines())
    height = _MARGIN_PIXELS + _LINE_PIXELS * lines
    photograph(browser, page, folder / f"{name}.png", [f"--window-size={_TERMINAL_PIXELS},{height}"])
    page.unlink()


def find_browser() -> str | None:
    """Return the system's Chromium; None where there is none."""
    return next(filter(None, map(shutil.which, _BROWSERS)), None)


def photograph(browser: str, page: Path, picture: Path, words: Sequence[str]) -> None:
    """Take a picture of a page on the disk.

    Raises:
        Stopped: the browser did not draw it.
    """
    usual = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--screenshot={picture}")
    command = [browser, *usual, *words, page.as_uri()]
    subprocess.run(command, capture_output=True, check=False, timeout=120)  # noqa: S603  a browser of the system's
    if not picture.is_file():
        raise Stopped(f"{browser} drew no picture of {page.name}")


if __name__ == "__main__":
    main()
