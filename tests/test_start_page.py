"""The first pages, as a newcomer follows them: every command of README and start, in its order, in a fresh folder."""

from pathlib import Path
from typing import Final

import pytest
from test_documents import ROOT, blocks_of, run_console
from thoroughness import IS_FULL

PAGES: Final = ("README.md", "docs/start.md")
_SLOW: Final = ("audit", "rehearse", "run collusion-sweep")
"""What takes more than ten seconds, and is run by tests of its own."""


@pytest.mark.parametrize(
    "page", [PAGES[0], pytest.param(PAGES[1], marks=pytest.mark.full("ten commands more, in processes"))]
)
def test_the_pages_commands_run_as_printed(page: str, tmp_path: Path) -> None:
    def is_due(words: list[str]) -> bool:
        words += ["--trials", "10"] if words[0] == "trials" and not IS_FULL else []
        return is_run(" ".join(words))

    def is_run(command: str) -> bool:
        return IS_FULL or not command.startswith(_SLOW)

    said = run_console(ROOT / page, tmp_path, before=is_due, COLUMNS="80")
    shown = [line for block in blocks_of(ROOT / page, "console") for line in block.splitlines()]
    commands = [line.removeprefix("psephos ") for line in shown if line.startswith("psephos ")]
    assert len(said) == sum(map(is_run, commands)) > 3
    assert any(words.startswith("new vote committee.csv") for words in said)


def test_the_start_pages_trials_are_of_nobody_real() -> None:
    """So that no command of the page charges somebody's budget hundreds of times."""
    tried = [line for block in blocks_of(ROOT / "docs" / "start.md", "console") for line in block.splitlines()]
    assert [line for line in tried if line.startswith("psephos trials") and "--synthetic-yes" not in line] == []
