"""The page on journals: its commands are run as they stand there, in their order, by somebody who loses the journal."""

from pathlib import Path
from typing import Final

import pytest
from journal_sessions import NOW, SESSIONS
from psephos.agents.person_journal import PersonJournal
from test_documents import run_console

PAGE: Final = Path(__file__).parents[1] / "docs" / "journals.md"


@pytest.mark.full("a dozen processes, one after another")
def test_the_pages_commands_run_as_they_stand(tmp_path: Path) -> None:
    journal = tmp_path / "journal.sqlite"
    with PersonJournal.open(journal, now=NOW) as opened:
        for session_id, records in SESSIONS.items():
            opened.sitting(session_id).keep(records)

    def lose(words: list[str]) -> bool:
        if "restore" in words:
            journal.unlink()
        return True

    said = run_console(PAGE, tmp_path, before=lose, PSEPHOS_JOURNAL=journal.name)
    said = {" ".join(words.split()[:2]): text for words, text in said.items()}
    assert list(said) == [
        "ledger",
        "journal backup",
        "journal restore",
        "journal leave",
    ]
    assert "losses after the backup are unknown" in said["journal restore"]


def test_the_page_says_what_each_command_does() -> None:
    """Each command of `psephos journal` has its section."""
    text = PAGE.read_text(encoding="utf-8")
    for command in ("backup", "restore", "leave"):
        assert f"psephos journal {command}" in text
