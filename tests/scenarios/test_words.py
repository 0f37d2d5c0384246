"""A terminal that cannot show a sign gets words for it, in all that any command prints, and never a traceback."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from psephos.scenarios.presentation.terminal import make_console, show_facts, show_label, show_note, show_table
from psephos.scenarios.tables import Table
from psephos.scenarios.words import replace_unencodable


@pytest.mark.parametrize(
    ("text", "ascii_words", "latin_words"),
    [
        ("ε = 1 ± 0.2", "epsilon = 1 +- 0.2", "epsilon = 1 ± 0.2"),
        ("n ≥ 3 → 2 – 4", "n >= 3 -> 2 - 4", "n >= 3 -> 2 - 4"),
        ("Δ and δ, 10⁻¹²", "Delta and delta, 10^-12", "Delta and delta, 10^-¹²"),
        ("Zoë, Łódź, x₁", "Zoe, \\u0141odz, x_1", "Zoë, \\u0141ódz, x_1"),
        ("計 \ud800", "\\u8a08 \\ud800", "\\u8a08 \\ud800"),
        ("½ “yes”…", '1/2 "yes"...', '½ "yes"...'),
    ],
)
def test_signs_have_words_where_they_cannot_be_shown(text: str, ascii_words: str, latin_words: str) -> None:
    assert replace_unencodable("ascii", text) == ascii_words
    assert replace_unencodable("iso8859-1", text) == latin_words
    assert replace_unencodable("utf-8", text) == text


def test_every_letter_and_every_sign_has_words_of_ascii() -> None:
    for number in (*range(0x3000), *range(0xD7A0, sys.maxunicode + 1, 97)):
        assert replace_unencodable("ascii", chr(number)).isascii()


def test_tables_and_paragraphs_are_as_wide_as_the_words_that_are_shown() -> None:
    console = make_console()
    console.width = 40
    console.file = file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    show_table(console, Table(columns=("Mechanism", "ε proven"), rows=[("one layer", "1 ± 2"), ("two", "1.5")]))
    show_note(console, "≥ ε " * 8)
    show_label(console, "ε", "δ " * 12)
    show_facts(console, {"ε": "± 1", "level": "10⁻⁹"})
    file.seek(0)
    lines = file.read().splitlines()
    assert max(map(len, lines)) <= 40
    assert lines[2].endswith("1 +- 2")
    assert [len(line) for line in lines[:4]] == [len(lines[0])] * 4
    assert "epsilon  +- 1" in lines


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize(
    "words",
    [
        ("run", "consortium", "--no-pictures", "--out", "out", "--set", "partners.count=40"),
        ("join", "ε.toml"),
    ],
)
def test_a_command_says_all_in_signs_that_its_terminal_has(
    words: tuple[str, ...], encoding: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "psephos.scenarios.cli", *words]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    ended = subprocess.run(command, capture_output=True, cwd=tmp_path, env=environment, check=False)  # noqa: S603  our own
    said = (ended.stdout + ended.stderr).decode(encoding)
    assert "Traceback" not in said
    assert "epsilon" in said
    assert ended.returncode == (0 if words[0] == "run" else 2)


@pytest.mark.parametrize(
    "words", [("run", "consortium", "--no-pictures"), ("run", "consortium", "--json"), ("--help",)]
)
def test_a_reader_who_leaves_early_is_shown_no_traceback(words: tuple[str, ...], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "psephos.scenarios.cli", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as started:  # noqa: S603  our own
        assert started.stdout is not None
        assert started.stderr is not None
        started.stdout.close()
        said = started.stderr.read().decode()
    assert "Traceback" not in said
    assert "Exception" not in said
    assert started.returncode in {0, 1}
