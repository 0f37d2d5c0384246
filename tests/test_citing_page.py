"""The page for authors: its table is that of the trials, and its references are there."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from psephos.scenarios.cli import cli
from test_documents import DOCS, ROOT, blocks_of, files_of

PAGE = DOCS / "citing.md"


def test_the_pages_table_has_the_numbers_of_the_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in files_of(PAGE).items():
        Path(name).write_text(text, encoding="utf-8")
    trials, latex = [line.removeprefix("$ ") for block in blocks_of(PAGE, "console") for line in block.splitlines()]
    ended = CliRunner().invoke(cli, [*trials.split()[1:], "--no-pictures", "--no-report", "--workers", "1"])
    assert ended.exit_code == 0, ended.output
    made = subprocess.run(
        [sys.executable, "latex.py", "epsilons", "accuracy", "MSE margin"], capture_output=True, text=True, check=True
    )
    assert latex == 'python latex.py epsilons accuracy "MSE margin" > table.tex'
    lines = [line.removesuffix(r" \\").split(" & ") for line in made.stdout.splitlines() if "&" in line]
    assert lines[0] == ["epsilon", "variant", "accuracy", "MSE margin"]
    assert [line[:2] for line in lines[1:]] == [
        [epsilon, variant] for epsilon in ("1", "2") for variant in ("laplace", r"two\_point")
    ]
    with Path("epsilons/summary.csv").open(encoding="utf-8") as file:
        rows = {(row["epsilon"], row["variant"], row["measure"]): row for row in csv.DictReader(file)}
    assert lines[1][2] == "${:.4f} \\pm {:.4f}$".format(
        *(float(rows["1", "laplace", "accuracy"][name]) for name in ("mean", "standard_error"))
    )
    assert lines[2][2] == f"${float(rows['1', 'two_point', 'accuracy']['refined_mean']):.4f}$"


def test_the_references_are_those_of_the_protocols_and_of_this_version() -> None:
    text = (ROOT / "references.bib").read_text(encoding="utf-8")
    entries = re.findall(r"^@\w+\{([\w-]+),", text, re.MULTILINE)
    assert len(entries) == 5
    cited = re.findall(r"\\cite\{(\w+)\}", PAGE.read_text(encoding="utf-8"))
    assert {*cited} <= {*entries}
    assert text.count("{") == text.count("}")
    version = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert version is not None
    assert f"version = {{{version[1]}}}" in text
