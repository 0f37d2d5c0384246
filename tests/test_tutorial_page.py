"""The tutorial: its commands run as they stand there, and its numbers and its minutes are what they print."""

import math
import re
import shlex
from pathlib import Path
from typing import Final

import pytest
from deployments import Process
from psephos.scenarios.deployment.rehearsal import reserve_address
from runs import read_json, read_rows
from terminals import Terminal
from test_documents import ROOT, blocks_of, files_of, run_console
from test_operations_page import ADDRESS, commands
from thoroughness import IS_FULL

PAGE: Final = ROOT / "docs" / "tutorial.md"
TEXT: Final = PAGE.read_text(encoding="utf-8")
_SESSION: Final = ("rehearse", "roster", "serve", "join")
"""What is run by tests of its own."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the page's commands were run up to the rehearsal."""
    folder = tmp_path_factory.mktemp("tutorial")
    for name, text in files_of(PAGE).items():
        (folder / name).write_text(text, encoding="utf-8")

    def is_due(words: list[str]) -> bool:
        words += ["--trials", "10"] if words[0] == "trials" and not IS_FULL else []
        words += ["--out", "planned", "--no-pictures"] if words[0] == "plan" else []
        return words[0] not in _SESSION

    said = run_console(PAGE, folder, before=is_due)
    assert [words.split()[0] for words in said] == ["samples", "plan", "trials", "run"]
    return folder


@pytest.mark.full("ten seconds of plans")
def test_the_table_has_the_prices_of_the_plan(prepared: Path) -> None:
    plan = read_json(prepared / "planned" / "plan.json")
    rows = re.findall(r"^\| [^|]+ \| ([\d.]+) \| up to ([\d.]+) % \|$", TEXT, re.MULTILINE)
    offered = [each["offered"] for each in plan["variants"]]
    assert [(float(price), float(sure)) for price, sure in rows] == [
        (each["epsilon"], math.ceil(1000 * each["certainty"]) / 10) for each in offered
    ]


@pytest.mark.full("ten seconds of plans, trials and a run, in processes")
def test_the_minutes_have_the_numbers_of_the_run(prepared: Path) -> None:
    (minutes,) = blocks_of(PAGE, "text")
    found = read_rows(prepared / "tried" / "estimates.csv")
    for line in found:
        votes = f"{float(line['support']):.0f} ± {float(line['support_standard_error']):.0f} of 30 in favor"
        ends = {"passes": "Passed", "fails": "Rejected"}[line["verdict"]]
        sentence = f"{line['candidate'].capitalize()}: {votes}, more than {float(line['quota']):.0f} needed. {ends}."
        assert sentence in minutes


@pytest.mark.full("thirty processes, twice")
def test_the_rehearsal_and_the_vote_of_thirty_end_with_a_result(prepared: Path) -> None:
    rehearse, roster, serve, join = [line for line in commands(PAGE) if line.split()[1] in _SESSION]
    with Process(*rehearse.split()[1:], folder=prepared, is_measured=False) as process:
        ended = process.ending()
    assert (ended.status, ended.err) == (0, "")
    assert "30 of 30 partners heard what the server released" in ended.out
    (prepared / "own.csv").write_text("solar panels,higher fee\n1,0\n", encoding="utf-8")
    own = ("--trust-server", "--input", "own.csv", "--out")
    with reserve_address() as address:
        with Process(*shlex.split(roster.replace(ADDRESS, address))[1:], folder=prepared) as process:
            assert process.ending().status == 0
        _, *others = sorted((prepared / "vote" / "invitations").iterdir())
        with (
            Process(*serve.split()[1:], folder=prepared) as server,
            Terminal(*join.split()[1:], folder=prepared) as ada,
        ):
            server.line_with("listening on ")
            parties = [Process("join", one, *own, one.stem, folder=prepared, is_measured=False) for one in others]
            for motion in ("solar panels", "higher fee"):
                ada.answer(f"{motion} (yes or no): ", "yes")
            for party in parties:
                with party:
                    assert party.ending().status == 0
            assert ada.ending() == 0, ada.seen
            assert server.ending().status == 0
    result = read_json(prepared / "session" / "result.json")
    assert result["received"] == {"votes": 30}
    assert (prepared / "session" / "report.html").is_file()
    assert (prepared / "ada" / "ledger.jsonl").is_file()
