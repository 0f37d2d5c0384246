"""Builds the manual: `make docs` writes the pages, in less than a minute.

`make papers` first runs again what they report; `python docs/build.py tables` runs the table of `which-mechanism.md`
alone, and `python docs/build.py gallery` draws the pictures of `gallery.md`, in one.

Generated and tracked: `states.md`, drawn from the machines' tables, and the tables of `figures.py`, which `make docs`
writes too; and by `make papers` pictures of a report, of scenarios and of trials, the table of `which-mechanism.md`,
`calibration.md`, and the pages of each reproduced paper with their pictures, from runs of `psephos reproduce`. The
report's picture needs Chromium. Truth discovery and fair voting need a folder of data sets (PSEPHOS_DATA); without one
their pages stay as they are.

The tables of reproductions, what they found of claims that hold, and the cells of `calibration.md`, are CSV files under
`tables/`, which the pages link; a reproduction that would be longer than a page may be becomes three: what holds, what
we add, pictures and tables.
"""

import csv
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from figures import write_tables
from matplotlib.figure import Figure
from PIL import Image
from psephos.protocol import Side
from psephos.protocol.states import mermaid
from psephos.scenarios.datasets import DATA_VARIABLE
from psephos.scenarios.experiments.findings import findings_on_papers
from psephos.scenarios.experiments.findings_shown import sentences_as_rows
from psephos.scenarios.experiments.paper import Paper
from psephos.scenarios.experiments.reproductions import page_of, reproduce
from psephos.scenarios.presentation.drawing import COLORS, GRID, MARKERS, RULE
from psephos.scenarios.running.folder import RunFolder
from psephos.scenarios.system import load_each
from tour import find_browser, photograph

DOCS = Path(__file__).parent
PRINTED: Final = re.compile(
    r"(?P<begin>```console\n\$ psephos (?P<command>[^\n]*)\n```\n\n)```text\n.*?```\n", re.DOTALL
)
"""A command of a page, and behind it what it prints."""
GALLERY: Final = {
    "report.png": ("run consortium-masked; run consortium", ""),
    "gallery-power.png": ("power eu-council", "power.svg"),
    "planning.png": ("plan two-societies --error 5%", "plan.png"),
    "trials.png": (
        "trials consortium --grid epsilon=0.5,1,2,4 --grid variant=joint,laplace,two_point",
        "trials.png",
    ),
    "gallery-crowd.png": ("run crowd", "estimates.svg"),
    "gallery-cultures.png": ("run cultures", "estimates.svg"),
    "fair-voting.png": ("run two-societies", "estimates.svg"),
}
"""What `gallery.md` shows: picture → words of the command that draws it, and which of its files; none for its page.

Pages of several commands stand side by side.
"""
_STAYS: Final = re.compile(r" +(?P<state>\w+) --> (?P=state): (?P<move>.*)")
_COLUMNS: Final = 96
"""The tables of `which-mechanism.md` have all their columns."""
_COLORS: Final = 256
_SCREEN: Final = "1080,1150"
_PIXELS: Final = 4 / 3  # of a browser's page, in a point
_SCALE: Final = 5 / 3  # of the pictures' pixels to those
"""Pixels of a picture of a report: to the end of its first table."""
_MERMAID: Final = "mermaid@11.17.2"
_MOST_WORDS: Final = 2_500
"""Of a page."""
_TABLE: Final = re.compile(
    r"\*\*(?P<title>[^\n]+)\*\*\n\n(?P<lines>(?:\|[^\n]*\n)+)(?:\n(?P<note>(?![#*|!<-])[^\n]+)\n)?"
)
"""A table as `markdown_of` writes it: its title in bold, its lines, and its note."""
_READING: Final = re.compile(r" \([^()]*\[[^]]*\]\([^()]*\)[^()]*\)")
"""What a title says of a reading, with the link to it: it stands behind the link to the table."""
_CLAIM: Final = re.compile(r"^- \*\*(?P<verdict>[^*]+)\.\*\* (?P<claim>[^\n]*?[.?!]) (?P<rest>\([^\n]*)$", re.MULTILINE)
"""A finding as `findings_in_markdown` writes it."""
_LINK: Final = re.compile(r"\[([^]]*)\]\([^()]*\)")
_PICTURE: Final = re.compile(r"!\[(?P<words>[^]:.;,(]+)[^]]*\]\((?P<file>[^)]+)\)")
"""A picture whose whole caption stands below it."""
_CALIBRATION: Final = (
    "![What is found in each cell, at least, over what is stated, a row for each kind of statement: a point right of 1 "
    "would break it.](calibration.png)"
)
_TRIALS: Final = 60
"""Of a cell of the calibration: minutes of one processor in all."""


def write_states() -> None:
    """Write the state diagrams."""
    parts = [
        "# States of a conversation",
        (
            "This page is for readers of the source: the states of a client and of the server, and the messages that "
            "change them. `make docs` draws it from the tables in `protocol/states.py`. The server keeps one state "
            "for each client. In brackets is the record that a side with a [journal](journals.md) has on its disk "
            "before the move shows; *chosen* only where a party has something to choose. Moves inside a box leave the "
            "state as it is."
        ),
    ]
    for side in Side:
        parts += [f"## {side.value.capitalize()}", f"```mermaid\n{_with_boxes(mermaid(side))}```"]
    (DOCS / "states.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _with_boxes(diagram: str) -> str:
    """Put moves that stay in a state into its box: arrows back to it would be drawn over others."""
    lines: list[str] = []
    for line in diagram.splitlines():
        stays = _STAYS.fullmatch(line)
        if stays is not None:
            title = f"    {stays['state']}: {stays['state']}"
            lines += [*([] if title in lines else [title]), f"    {stays['state']}: {stays['move']}"]
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def draw_gallery() -> None:
    """Draw the pictures of `gallery.md`, each by its command."""
    for name, (command, picture) in GALLERY.items():
        if picture:
            keep_picture(shlex.split(command), name, picture=picture)
        else:
            keep_reports([shlex.split(each) for each in command.split(";")], name)


def keep_reports(commands: Sequence[Sequence[str]], name: str) -> None:
    """Run commands and keep a picture of the first screens of their pages, where there is a browser."""
    browser = find_browser()
    if browser is None:
        print(f"{name} stays as it is: no Chromium was found")
        return
    with tempfile.TemporaryDirectory() as folder:
        screens: list[Image.Image] = []
        for number, words in enumerate(commands):
            out, picture = Path(folder) / f"run-{number}", Path(folder) / f"screen-{number}.png"
            command = [sys.executable, "-m", "psephos.scenarios.cli", *words, "--out", str(out)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  our own command
            photograph(browser, out / "report.html", picture, [f"--window-size={_SCREEN}"])
            with Image.open(picture) as drawn:
                screens.append(drawn.convert("RGB"))
        together = Image.new("RGB", (sum(screen.width for screen in screens), screens[0].height))
        for number, screen in enumerate(screens):
            together.paste(screen, (number * screens[0].width, 0))
        together.save(picture := Path(folder) / "together.png")
        keep_small(picture, DOCS / name)


def keep_picture(words: Sequence[str], name: str, *, picture: str) -> None:
    """Run a command and keep one of its pictures; of an SVG what a browser shows, where there is one."""
    browser = find_browser()
    if picture.endswith(".svg") and browser is None:
        print(f"{name} stays as it is: no Chromium was found")
        return
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "psephos.scenarios.cli", *words, "--out", str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  our own command
        drawn = out / picture
        if browser is not None and drawn.suffix == ".svg":
            sides = re.findall(r'(?:width|height)="([\d.]+)pt"', drawn.read_text(encoding="utf-8"))
            size = ",".join(str(math.ceil(float(side) * _PIXELS)) for side in sides)
            drawn = drawn.with_suffix(".png")
            photograph(
                browser, out / picture, drawn, [f"--window-size={size}", f"--force-device-scale-factor={_SCALE}"]
            )
        keep_small(drawn, DOCS / name)


def keep_small(picture: Path, target: Path) -> None:
    """Keep a picture in 256 colors, in which a chart looks the same and takes two fifths of the room."""
    with Image.open(picture) as drawn:
        drawn.convert("RGB").quantize(_COLORS, dither=Image.Dither.NONE).save(target, optimize=True)


def keep_reproduction(paper: Paper, prefix: str) -> None:
    """Run a paper's experiments again, and keep the summary as a page with its pictures, where there are data."""
    data = os.environ.get(DATA_VARIABLE, "") if paper.takes_data else ""
    if paper.takes_data and not data:
        print(f"{prefix}reproduced.md stays as it is: {DATA_VARIABLE} names no folder of data sets")
        return
    with tempfile.TemporaryDirectory() as folder:
        out = RunFolder(Path(folder) / "run")
        found = reproduce(paper, out, data=data, on_progress=print)
        for picture in out.path.glob("*.png"):
            keep_small(picture, DOCS / f"{prefix}{picture.name}")
        write_reproduction(link_readings(page_of(paper, found, prefix=prefix)), prefix)


def keep_sentences() -> None:
    """Keep the table of the papers' sentences, with the verdict on each, as `psephos audit papers` judges them."""
    rows = sentences_as_rows(findings_on_papers())
    with (DOCS / "tables" / "papers" / "sentences.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_reproduction(page: str, prefix: str) -> None:
    """Write a reproduction's page, or its three parts where it is too long: each for readers of its own."""
    name = f"{prefix}reproduced"
    page = _PICTURE.sub(r"![\g<words>](\g<file>)", move_claims(move_tables(page, name), name))
    if len(page.split()) > _MOST_WORDS or (DOCS / f"{prefix}added.md").exists():
        title = page.partition("\n")[0]
        page, added, shown = re.split(r"^(?=## What we add|## Pictures)", page, flags=re.MULTILINE)
        for part, heading, text in (("added", "what we add", added), ("tables", "pictures and tables", shown)):
            begin = f"{title}: {heading}\n\nThis page belongs to [what the paper says and what holds]({name}.md).\n\n"
            (DOCS / f"{prefix}{part}.md").write_text(f"{begin}{text.rstrip()}\n", encoding="utf-8")
        others = (
            f"[What we add]({prefix}added.md) and [pictures and tables]({prefix}tables.md) have pages of their own."
        )
        page = page.replace("## What the paper says", f"{others}\n\n## What the paper says").rstrip() + "\n"
    (DOCS / f"{name}.md").write_text(page, encoding="utf-8")


def move_tables(page: str, name: str) -> str:
    """Write each table of a page into a CSV file, and return the page with links to them; notes are said once.

    Args:
        page: in Markdown, with tables as `markdown_of` writes them.
        name: of the page, whose folder under `tables/` gets the files and loses those of before.
    """
    folder = DOCS / "tables" / name
    if _TABLE.search(page):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    said = {""}

    def move(found: re.Match[str]) -> str:
        aside = _READING.search(found["title"])
        title, note = _READING.sub("", found["title"]), found["note"] or ""
        file = folder / f"{re.sub(r'[^a-z0-9]+', '-', title.lower())[:60].strip('-')}.csv"
        if file.exists():
            file = file.with_stem(f"{file.stem}-{len(list(folder.iterdir())) + 1}")
        header, _, *rows = (
            [cell.strip().strip("*").replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            for line in found["lines"].splitlines()
        )
        with file.open("w", encoding="utf-8", newline="") as opened:
            csv.writer(opened, lineterminator="\n").writerows([header, *rows])
        is_new = note not in said
        said.add(note)
        line = f"- [{title}]({file.relative_to(DOCS).as_posix()})" + (aside[0] if aside else "")
        return line + (f": {note}" if is_new else "") + "\n"

    return re.sub(r"^(- \[[^\n]*\n)\n(?=- \[)", r"\1", _TABLE.sub(move, page), flags=re.MULTILINE)


def move_claims(page: str, name: str) -> str:
    """Write what was found of each claim into a CSV file, and return the page, which says it where one does not hold.

    Of one that holds, the page keeps what is to be said against it; of one that cannot be told, nothing.

    Args:
        page: in Markdown, with findings as `findings_in_markdown` writes them, and with its tables moved.
        name: of the page, whose folder under `tables/` gets the file.
    """
    file = DOCS / "tables" / name / "claims.csv"
    rows: list[list[str]] = []

    def move(found: re.Match[str]) -> str:
        source, told = _source_of(found["rest"])
        rows.append([found["verdict"], *(_LINK.sub(r"\1", text) for text in (found["claim"], source[1:-1], told))])
        if found["verdict"] in {"Holds", "Cannot tell"}:
            told = told[told.index("But ") :] if "But " in told else ""
        return f"- **{found['verdict']}.** {found['claim']} {source} {told}".rstrip()

    page = _CLAIM.sub(move, page)
    with file.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened, lineterminator="\n").writerows([["verdict", "claim", "source", "found"], *rows])
    linked = f"The numbers behind each verdict are in [a file](tables/{name}/claims.csv)."
    return page.replace("## What the paper says", f"{linked}\n\n## What the paper says", 1)


def _source_of(text: str) -> tuple[str, str]:
    """Return a finding's source, in its brackets, and what stands behind it."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return text[: place + 1], text[place + 1 :].strip()
    raise AssertionError(text)


def link_readings(page: str) -> str:
    """Return a page on which every reading that it names leads to its explanation; captions stay as they are."""

    def link(found: re.Match[str]) -> str:
        return re.sub(r"[A-Z]\d+", lambda key: f"[{key[0]}](readings.md#{key[0].lower()})", found[0])

    lines = page.replace("docs/readings.md", "[Readings](readings.md)").split("\n")
    cited = re.compile(r"\breadings? [A-Z]\d+(?:(?:, | and | to )[A-Z]\d+\b)*")
    return "\n".join(line if line.startswith("![") else cited.sub(link, line) for line in lines)


def keep_calibration() -> None:
    """Hold all statements against what is found, and keep the page, all cells, and the pictures of them."""
    with tempfile.TemporaryDirectory() as folder:
        program = str(DOCS.parent / "tests" / "calibrate.py")
        command = [sys.executable, program, "all", "--trials", str(_TRIALS), "--out", folder]
        subprocess.run(command, check=True)  # noqa: S603  our own program
        keep_cells(Path(folder))


def keep_cells(out: Path) -> None:
    """Keep the page of a calibration's folder, with its cells as CSV, and draw them."""
    target = DOCS / "tables" / "calibration"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for file in sorted(out.glob("*.csv")):
        text = file.read_text(encoding="utf-8").replace("\r\n", "\n")
        (target / file.name).write_text(text, encoding="utf-8")
    links = ", ".join(f"[{file.stem}](tables/calibration/{file.name})" for file in sorted(target.iterdir()))

    page = shorten_cells((out / "calibration.md").read_text(encoding="utf-8"))
    page = page.replace("## ", f"{_CALIBRATION}\n\n## ", 1)
    (DOCS / "calibration.md").write_text(f"{page.rstrip()}\n\nAll cells: {links}.\n", encoding="utf-8")
    draw_tables()


def shorten_cells(page: str) -> str:
    """Return the page of a calibration with numbers alone in its tables of statements, and notes for the others."""

    def shorten(found: re.Match[str]) -> str:
        if not found["title"].startswith("Statements"):
            return f"**{found['title']}.** {found['note']}\n"
        rows = [line.split("|") for line in found["lines"].splitlines()]
        lines = "".join(f"{'|'.join(row[:2] + row[3:6] + row[8:])}\n" for row in rows)  # no settings, no sizes
        return f"**{found['title']}**\n\n{lines}" + (f"\n{found['note']}\n" if found["note"] else "")

    page = page.replace("all cells are in the files.", "the settings of all cells are in the files.")
    return _TABLE.sub(shorten, page)


def draw_tables() -> None:
    """Draw the cells of calibration, and how many truths `auto` finds: a picture for each page."""
    files = sorted((DOCS / "tables" / "calibration").glob("*-cells.csv"))
    cells = [row for file in files for row in _rows_of(file)]
    kinds = list(dict.fromkeys((row["system"], row["statement"].partition(":")[0]) for row in reversed(cells)))
    figure: Any = Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.add_subplot(xlabel="what is found, at least (99 %), over what is stated")
    axes.axvline(1, color=RULE, linewidth=1)
    systems = dict.fromkeys(system for system, _ in reversed(kinds))
    for system, color, marker in zip(systems, COLORS.values(), MARKERS, strict=False):
        own = [
            (row, kinds.index((system, row["statement"].partition(":")[0]))) for row in cells if row["system"] == system
        ]
        strains = [min(max(float(row["strain"]), 0.0), _MOST_STRAIN) for row, _ in own]  # of an error's normal limits
        axes.scatter(strains, [place for _, place in own], s=14, alpha=0.6, color=color, marker=marker, label=system)
    axes.set_yticks(range(len(kinds)), [statement for _, statement in kinds])
    axes.grid(axis="y", color=GRID)
    axes.set_axisbelow(True)
    figure.legend(frameon=False, loc="outside upper center", ncols=len(systems))
    _keep_figure(figure, "calibration.png")
    accuracies: dict[str, list[dict[str, str]]] = {}
    for row in _rows_of(DOCS / "tables" / "calibration" / "truth-discovery-auto.csv"):
        accuracies.setdefault(row["crowd"], []).append(row)
    figure = Figure(figsize=(6.4, 6.0), layout="constrained")
    axes = figure.add_subplot(xlabel="accuracy in percent, on average over all cells of a crowd")
    crowds = sorted(accuracies, reverse=True)
    for (name, title), color, marker in zip(_AUTO.items(), COLORS.values(), MARKERS, strict=False):
        means = [100 * sum(float(row[name]) for row in accuracies[crowd]) / len(accuracies[crowd]) for crowd in crowds]
        axes.scatter(means, range(len(crowds)), s=20, color=color, marker=marker, label=title)
    axes.set_yticks(range(len(crowds)), crowds)
    axes.grid(axis="y", color=GRID)
    axes.set_axisbelow(True)
    figure.legend(frameon=False, loc="outside upper center", ncols=len(_AUTO))
    _keep_figure(figure, "truth-discovery-auto.png")


_MOST_STRAIN: Final = 2.0
_AUTO: Final = {
    "majority": "majority",
    "truth_discovery": "truth discovery",
    "one_coin": "one-coin",
    "auto": "auto",
}


def _rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def _keep_figure(figure: Any, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        figure.savefig(Path(folder) / name, dpi=150)
        keep_small(Path(folder) / name, DOCS / name)


def keep_tables(page: Path) -> None:
    """Run the commands of a page again, whose output stands behind each of them between marks."""

    def run(found: re.Match[str]) -> str:
        command = [sys.executable, "-m", "psephos.scenarios.cli", *shlex.split(found["command"])]
        environment = {**os.environ, "COLUMNS": str(_COLUMNS)}
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout  # noqa: S603  our own command
        lines = (line.rstrip() for line in said.strip("\n").splitlines())
        return f"{found['begin']}```text\n{chr(10).join(lines)}\n```\n"

    page.write_text(PRINTED.sub(run, page.read_text(encoding="utf-8")), encoding="utf-8")


def fetch_mermaid() -> None:
    """Put Mermaid, which draws the diagrams in a browser, beside the pages; without npm their words stay."""
    target = DOCS / "_static" / "mermaid.min.js"
    npm = shutil.which("npm")
    if target.exists():
        return
    if npm is None:
        print("diagrams stay words: npm, which fetches Mermaid, is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", "--silent", _MERMAID]
        fetched = subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL)  # noqa: S603  npm checks its digest
        if fetched.returncode:
            print(f"diagrams stay words: npm could not fetch {_MERMAID}")
            return
        (package,) = Path(folder).glob("*.tgz")
        with tarfile.open(package) as archive:
            script = archive.extractfile("package/dist/mermaid.min.js")
            assert script is not None  # noqa: S101  it is a file
            target.write_bytes(script.read())


def build_pages() -> int:
    """Build the pages, warnings being errors, dead links among them; return the exit status."""
    pages = DOCS / "_build" / "html"
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-j",
        "auto",
        "-b",
        "html",
        str(DOCS),
        str(pages),
    ]
    return subprocess.run(command, check=False).returncode  # noqa: S603  our own command


def run_papers() -> None:
    """Run again all that the pages report."""
    draw_gallery()
    keep_sentences()
    for name, paper in load_each("reproduction", Paper):
        keep_reproduction(paper, f"{name}-")
    keep_calibration()


if __name__ == "__main__":
    if "papers" in sys.argv[1:]:
        run_papers()
    if "gallery" in sys.argv[1:]:
        draw_gallery()
    if {"papers", "tables"} & set(sys.argv[1:]):
        keep_tables(DOCS / "which-mechanism.md")
    write_states()
    write_tables()
    fetch_mermaid()
    status = build_pages()
    print(f"the manual is in {(DOCS / '_build' / 'html' / 'index.html').relative_to(Path.cwd())}")
    sys.exit(status)
