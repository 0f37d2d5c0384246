"""Builds the manual: what is generated first, then the pages. Run by `make docs`.

Generated and tracked: `states.md`, drawn from the machines' tables, the picture that the README shows, and
`dpwevote-reproduced.md` with its pictures, from a run of `psephos reproduce dpwevote`.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from psephos.protocol import Side
from psephos.protocol.states import mermaid
from psephos.scenarios.experiments.dpwevote import reproduce_dpwevote
from psephos.scenarios.experiments.dpwevote.summary import summary_in_markdown
from psephos.scenarios.folder import RunFolder

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


def draw_picture() -> None:
    """Run the README's scenario and keep its picture."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "psephos.scenarios.cli", "run", "eu-council", "--out", str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  our own command
        shutil.copy(out / "estimates.png", DOCS / "eu-council.png")


def reproduce() -> None:
    """Run DPWeVote's paper again, and keep the summary as a page with its pictures."""
    with tempfile.TemporaryDirectory() as folder:
        out = RunFolder(Path(folder) / "run")
        reproduction = reproduce_dpwevote(out, on_progress=print)
        for picture in out.path.glob("*.png"):
            shutil.copy(picture, DOCS / f"dpwevote-{picture.name}")
    page = summary_in_markdown(reproduction, prefix="dpwevote-")
    (DOCS / "dpwevote-reproduced.md").write_text(page, encoding="utf-8")


def build_pages() -> int:
    """Build the pages, warnings being errors; return the exit status."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(DOCS), str(DOCS / "_build" / "html")]
    return subprocess.run(command, check=False).returncode  # noqa: S603  our own command


if __name__ == "__main__":
    write_states()
    draw_picture()
    reproduce()
    status = build_pages()
    print(f"the manual is in {(DOCS / '_build' / 'html' / 'index.html').relative_to(Path.cwd())}")
    sys.exit(status)
