"""The page on journals: its commands are run as they stand there, in their order, by somebody who loses the journal."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from journal_sessions import NOW, SESSIONS
from psephos.agents.person_journal import PersonJournal
from test_documents import blocks_of

PAGE: Final = Path(__file__).parents[1] / "docs" / "journals.md"


@pytest.mark.full("a dozen processes, one after another")
def test_the_pages_commands_run_as_they_stand(tmp_path: Path) -> None:
    journal = tmp_path / "journal.sqlite"
    with PersonJournal.open(journal, now=NOW) as opened:
        for session_id, records in SESSIONS.items():
            opened.sitting(session_id).keep(records)
    said: dict[str, str] = {}
    for line in (line for block in blocks_of(PAGE, "console") for line in block.splitlines()):
        program, *words = shlex.split(line)
        assert program == "psephos"
        if "restore" in words:
            journal.unlink()
        ended = subprocess.run(  # noqa: S603  the page's own commands
            [sys.executable, "-m", "psephos.scenarios.cli", *words],
            cwd=tmp_path,
            env={**os.environ, "PSEPHOS_JOURNAL": journal.name},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (0, ""), line
        said[" ".join(words[:2])] = ended.stdout
    assert list(said) == [
        "ledger",
        "journal backup",
        "journal restore",
        "journal move",
        "journal prune",
        "journal leave",
    ]
    assert "losses after the backup are unknown" in said["journal restore"]
    assert said["journal move"].startswith("moved.sqlite: the journal from now on")
    assert "reports of 2 sessions are gone" in said["journal prune"]


def test_the_page_says_what_each_command_does() -> None:
    """Each command of `psephos journal` has its section."""
    text = PAGE.read_text(encoding="utf-8")
    for command in ("backup", "restore", "move", "prune", "leave"):
        assert f"psephos journal {command} " in text
