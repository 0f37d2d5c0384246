"""Builds the manual: what is generated first, then the pages. Run by `make docs`.

Generated and tracked: `states.md`, drawn from the machines' tables, the pictures of three scenarios, and
`dpwevote-reproduced.md`, `truth-discovery-reproduced.md`, `moral-preferences-reproduced.md` and
`fair-voting-reproduced.md` with their pictures, from runs of `psephos reproduce`. Truth discovery and fair voting need
a folder of data sets (PSEPHOS_DATA); without one their pages stay as they are.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from psephos.protocol import Side
from psephos.protocol.states import mermaid
from psephos.scenarios.datasets import DATA_VARIABLE
from psephos.scenarios.dpwevote.paper.summary import summary_in_markdown as page_on_dpwevote
from psephos.scenarios.experiments import dpwevote, fair_voting, moral_preferences, truth_discovery
from psephos.scenarios.fair_voting.paper.summary import summary_in_markdown as page_on_fair_voting
from psephos.scenarios.moral_preferences.paper.summary import summary_in_markdown as page_on_moral_preferences
from psephos.scenarios.running.folder import RunFolder
from psephos.scenarios.truth_discovery.paper.summary import summary_in_markdown as page_on_truth_discovery

DOCS = Path(__file__).parent


def write_states() -> None:
    """Write the state diagrams."""
    parts = [
        "# States of a conversation",
        "Drawn from the tables in `protocol/states.py` by `make docs`. The server keeps one state for each client.",
    ]
    for side in Side:
        parts += [f"## {side.value.capitalize()}", f"```mermaid\n{mermaid(side)}```"]
    (DOCS / "states.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def draw_picture(scenario: str, name: str, *, picture: str = "estimates.png") -> None:
    """Run a scenario and keep one of its pictures."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "psephos.scenarios.cli", "run", scenario, "--out", str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  our own command
        shutil.copy(out / picture, DOCS / name)


def reproduce_dpwevote() -> None:
    """Run DPWeVote's paper again, and keep the summary as a page with its pictures."""
    with tempfile.TemporaryDirectory() as folder:
        out = RunFolder(Path(folder) / "run")
        reproduction = dpwevote.reproduce_dpwevote(out, on_progress=print)
        keep(out, page_on_dpwevote(reproduction, prefix="dpwevote-"), prefix="dpwevote-")


def reproduce_truth_discovery() -> None:
    """Run the truth discovery paper again, and keep the summary as a page with its pictures, where there are data."""
    data = os.environ.get(DATA_VARIABLE, "")
    if not data:
        print(f"truth-discovery-reproduced.md stays as it is: {DATA_VARIABLE} names no folder of data sets")
        return
    with tempfile.TemporaryDirectory() as folder:
        out = RunFolder(Path(folder) / "run")
        reproduction = truth_discovery.reproduce_truth_discovery(out, data=data, on_progress=print)
        keep(out, page_on_truth_discovery(reproduction, prefix="truth-discovery-"), prefix="truth-discovery-")


def reproduce_moral_preferences() -> None:
    """Run the moral preferences paper again, and keep the summary as a page with its pictures."""
    with tempfile.TemporaryDirectory() as folder:
        out = RunFolder(Path(folder) / "run")
        reproduction = moral_preferences.reproduce_moral_preferences(out, on_progress=print)
        keep(out, page_on_moral_preferences(reproduction, prefix="moral-preferences-"), prefix="moral-preferences-")


def reproduce_fair_voting() -> None:
    """Run the paper on fair and private voting again, and keep the summary as a page, where there are data."""
    data = os.environ.get(DATA_VARIABLE, "")
    if not data:
        print(f"fair-voting-reproduced.md stays as it is: {DATA_VARIABLE} names no folder of data sets")
        return
    with tempfile.TemporaryDirectory() as folder:
        out = RunFolder(Path(folder) / "run")
        reproduction = fair_voting.reproduce_fair_voting(out, data=data, on_progress=print)
        keep(out, page_on_fair_voting(reproduction, prefix="fair-voting-"), prefix="fair-voting-")


def keep(out: RunFolder, page: str, *, prefix: str) -> None:
    """Keep a reproduction's page and pictures."""
    for picture in out.path.glob("*.png"):
        shutil.copy(picture, DOCS / f"{prefix}{picture.name}")
    (DOCS / f"{prefix}reproduced.md").write_text(page, encoding="utf-8")


def build_pages() -> int:
    """Build the pages, warnings being errors; return the exit status."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(DOCS), str(DOCS / "_build" / "html")]
    return subprocess.run(command, check=False).returncode  # noqa: S603  our own command


if __name__ == "__main__":
    write_states()
    draw_picture("eu-council", "eu-council.png")
    draw_picture("two-societies", "fair-voting.png")
    draw_picture("collusion-sweep", "collusion-sweep.png", picture="adversary-1.png")
    reproduce_dpwevote()
    reproduce_truth_discovery()
    reproduce_moral_preferences()
    reproduce_fair_voting()
    status = build_pages()
    print(f"the manual is in {(DOCS / '_build' / 'html' / 'index.html').relative_to(Path.cwd())}")
    sys.exit(status)
