"""What a run says, in which order, and that no terminal makes a mess of it: every shipped scenario, at 80 and 120."""

import re
from typing import Any

import pytest
from bad_input import Psephos
from psephos.scenarios import list_scenarios, load_scenario
from psephos.scenarios.presentation import verdict_of
from psephos.scenarios.running.config import list_series
from psephos.scenarios.running.resolution import resolve
from psephos.scenarios.running.run import run_session
from rich.text import Text

# One of each system, and one with adversaries whose tables are wide.
QUICK = ("eu-council", "crowd", "moral-synthetic", "canteen", "membership")


def scenarios() -> list[Any]:
    """Return every shipped scenario and series as a parameter, those that are not quick for `make verify`."""
    slow = pytest.mark.full("scenarios of a second and more, of which others are like those that always run")
    names = [*list_scenarios(), *list_series()]
    return [pytest.param(name, marks=() if name in QUICK else slow) for name in names]


def check_lines(text: str, *, width: int) -> None:
    """Check that lines fit, end without blanks, and are not cut."""
    lines = text.splitlines()
    assert [line for line in lines if line != line.rstrip()] == []
    assert [line for line in lines if len(line) > width and "Everything is in" not in line] == []
    assert "…" not in text
    assert "\n\n\n" not in text


@pytest.mark.parametrize("name", scenarios())
def test_what_a_run_says_fits_and_stands_in_order(name: str, psephos: Psephos, monkeypatch: pytest.MonkeyPatch) -> None:
    width = 80 if len(name) % 2 else 120
    monkeypatch.setenv("COLUMNS", str(width))
    ended = psephos("run", name, "--no-pictures", "--seed", 3, "--out", "out", "--verbose")
    if "PSEPHOS_DATA" in ended.err:
        pytest.skip("it needs a data set, and no folder of data sets is named")
    assert (ended.status, ended.err) == (0, "")
    check_lines(ended.out, width=width)
    places = [
        ended.out.index(f"\n{words}") for words in ("Privacy loss per person", "Trust: ", "About: ", "Everything is in")
    ]
    assert places == sorted(places)
    attack_reports = ended.out.partition("\nAdversary: ")[2]
    assert ("± is one standard error." in attack_reports) == (" ± " in attack_reports)


@pytest.mark.parametrize("name", scenarios())
def test_a_run_says_what_matters_briefly_and_cuts_nothing(
    name: str, psephos: Psephos, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ended = psephos("run", name, "--no-pictures", "--seed", 3, "--out", "out")
    if "PSEPHOS_DATA" in ended.err:
        pytest.skip("it needs a data set, and no folder of data sets is named")
    assert (ended.status, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert [line for line in lines if len(line) > 80 and "Everything is in" not in line] == []
    title, verdict, rest = ended.out.partition("\nVerdict: ")
    if name not in list_series():
        assert len(lines) <= 40
        assert len(title) <= 320  # with what so many can tell, in two lines
    assert verdict
    assert "\nVerdict: " not in rest
    assert "more lines" not in rest
    assert "Privacy loss per person" in ended.out


@pytest.mark.parametrize(
    ("height", "is_last"),
    [pytest.param(24, True, id="a short terminal"), pytest.param(60, False, id="a long one")],
)
def test_the_verdict_stands_once_where_a_terminal_shows_it(
    *, height: int, is_last: bool, psephos: Psephos, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", str(height))
    ended = psephos("run", "eu-council", "--no-pictures", "--seed", 3, "--out", "out")
    said = Text.from_ansi(ended.out).plain
    assert said.count("Verdict: ") == 1
    assert (said.index("Verdict: ") > said.index("Fishing quotas  ")) == is_last
    assert "Data act" in said.partition("Candidate")[2].partition("Verdict: ")[0]  # the table's last row


@pytest.mark.few(most=2)
@pytest.mark.parametrize("name", QUICK[:4])
def test_the_verdict_stands_before_every_number(name: str, psephos: Psephos) -> None:
    ended = psephos("run", name, "--no-pictures", "--transport", "array", "--seed", 3, "--out", "out", "--verbose")
    resolved = resolve(load_scenario(name, ["transport=array", "seed=3"]))
    verdict = verdict_of(run_session(resolved, seed=3).outcome)
    said = " ".join(ended.out.split())
    assert verdict in said
    assert said.index(verdict) < said.index("──")
    assert re.search(r"±", said[: said.index(verdict)]) is None


def test_a_wide_terminal_shows_what_a_narrow_one_names(psephos: Psephos, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, said = dict[int, str](), ("run", "eu-council", "--no-pictures", "--seed", 3, "--verbose")
    for width in (60, 80):
        monkeypatch.setenv("COLUMNS", str(width))
        shown[width] = psephos(*said, "--out", f"out-{width}").out
    assert "for want of room in estimates.csv alone: True margin" in shown[60]
    assert "for want of room" not in shown[80]
    assert re.search(r"Margin +True margin$", shown[80], re.MULTILINE)


def test_where_to_look_names_what_is_there(psephos: Psephos) -> None:
    ended = psephos("run", "eu-council", "--no-pictures", "--out", "out", "--verbose")
    below = ended.out.partition("Everything is in out\n")[2]
    assert [line.split()[0] for line in below.partition("\n\n")[0].splitlines()] == [
        "report.html",
        "estimates.csv",
        "result.json",
        "ledger.jsonl",
        "run.json",
    ]


@pytest.mark.full("27 partners over TCP, of whom 26 wait for a connection that is gone")
def test_a_run_that_fails_says_whom_it_trusted_and_what_adversaries_did(psephos: Psephos) -> None:
    ended = psephos("run", "selective-abort", "--set", "quorum=1.0", "--no-pictures", "--out", "out")
    assert ended.status == 1
    assert ended.out.index("\nTrust: ") < ended.out.index("\nAdversary: ")
    assert "drawn in the run's folder" not in ended.out
