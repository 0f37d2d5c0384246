"""Builds the manual: what is generated first, then the pages. Run by `make docs`.

Generated and tracked: `states.md`, drawn from the machines' tables, pictures of scenarios and trials, `calibration.md`,
`dpwevote-reproduced.md`, `truth-discovery-reproduced.md`, `moral-preferences-reproduced.md` and
`fair-voting-reproduced.md` with their pictures, from runs of `psephos reproduce`. Truth discovery and fair voting need
a folder of data sets (PSEPHOS_DATA); without one their pages stay as they are.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from psephos.protocol import Side
from psephos.protocol.states import mermaid
from psephos.scenarios.datasets import DATA_VARIABLE
from psephos.scenarios.experiments import Paper, calibrate, page_of, reproduce
from psephos.scenarios.running.folder import RunFolder
from psephos.scenarios.system import load_each

DOCS = Path(__file__).parent


def write_states() -> None:
    """Write the state diagrams."""
    parts = [
        "# States of a conversation",
        (
            "This page is for readers of the source: the states of a client and of the server, and the messages that "
            "change them. `make docs` draws it from the tables in `protocol/states.py`. The server keeps one state "
            "for each client. In brackets is the record that a side with a [journal](journals.md) has on its disk "
            "before the move shows; *chosen* only where a party has something to choose."
        ),
    ]
    for side in Side:
        parts += [f"## {side.value.capitalize()}", f"```mermaid\n{mermaid(side)}```"]
    (DOCS / "states.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def draw_picture(scenario: str, name: str, *, picture: str = "estimates.png") -> None:
    """Run a scenario and keep one of its pictures."""
    keep_picture(["run", scenario], name, picture=picture)


def keep_picture(words: Sequence[str], name: str, *, picture: str) -> None:
    """Run a command and keep one of its pictures."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "psephos.scenarios.cli", *words, "--out", str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  our own command
        shutil.copy(out / picture, DOCS / name)


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
            shutil.copy(picture, DOCS / f"{prefix}{picture.name}")
        page = link_readings(page_of(paper, found, prefix=prefix))
        (DOCS / f"{prefix}reproduced.md").write_text(page, encoding="utf-8")


def link_readings(page: str) -> str:
    """Return a page on which every reading that it names leads to its explanation; captions stay as they are."""

    def link(found: re.Match[str]) -> str:
        return re.sub(r"[A-Z]\d+", lambda key: f"[{key[0]}](readings.md#{key[0].lower()})", found[0])

    lines = page.replace("docs/readings.md", "[Readings](readings.md)").split("\n")
    cited = re.compile(r"\breadings? [A-Z]\d+(?:(?:, | and | to )[A-Z]\d+\b)*")
    return "\n".join(line if line.startswith("![") else cited.sub(link, line) for line in lines)


def keep_calibration() -> None:
    """Hold all claims against what is found, and keep the page."""
    with tempfile.TemporaryDirectory() as folder:
        out = RunFolder(Path(folder) / "run")
        calibrate("all", trials=400, folder=out, on_progress=print)
        shutil.copy(out.path / "calibration.md", DOCS / "calibration.md")


def build_pages() -> int:
    """Build the pages, warnings being errors; return the exit status."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(DOCS), str(DOCS / "_build" / "html")]
    return subprocess.run(command, check=False).returncode  # noqa: S603  our own command


if __name__ == "__main__":
    write_states()
    draw_picture("eu-council", "eu-council.png")
    draw_picture("two-societies", "fair-voting.png")
    draw_picture("collusion-sweep", "collusion-sweep.png", picture="adversary-1.png")
    grid = ["--grid", "epsilon=0.5,1,2,4", "--grid", "variant=joint,laplace,two_point"]
    keep_picture(["trials", "consortium", *grid], "trials.png", picture="trials.png")
    for name, paper in load_each("reproduction", Paper):
        keep_reproduction(paper, f"{name}-")
    keep_calibration()
    status = build_pages()
    print(f"the manual is in {(DOCS / '_build' / 'html' / 'index.html').relative_to(Path.cwd())}")
    sys.exit(status)
