"""Builds the manual: what is generated first, then the pages. Run by `make docs`.

Generated and tracked: `states.md`, drawn from the machines' tables, and the picture that the README shows.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from psephos.protocol import Side
from psephos.protocol.states import mermaid

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


def build_pages() -> int:
    """Build the pages, warnings being errors; return the exit status."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(DOCS), str(DOCS / "_build" / "html")]
    return subprocess.run(command, check=False).returncode  # noqa: S603  our own command


if __name__ == "__main__":
    write_states()
    draw_picture()
    status = build_pages()
    print(f"the manual is in {(DOCS / '_build' / 'html' / 'index.html').relative_to(Path.cwd())}")
    sys.exit(status)
