"""Runs of each system: what a folder holds, what can be recorded, and parties that a scenario lists."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from psephos.protocol import ConfigurationError
from psephos.scenarios import load_scenario, resolve
from runs import words_of

Psephos = Callable[..., Any]

LEFT = {"scenario.json", "run.json", "events.jsonl", "ledger.jsonl", "result.json", "estimates.csv"}
SOCIETIES = ("voters.groups.north.voters=8", "voters.groups.south.voters=5", "num_samples=4")
SMALL = {
    "two-societies": SOCIETIES,
    "moral-synthetic": ("voters.voters=7", "voters.records=4", "voters.features=3"),
    "crowd": ("workers.tasks=20", "workers.workers=9", "workers.answers_per_task=4"),
}
every_system = pytest.mark.parametrize(("scenario", "settings"), SMALL.items(), ids=SMALL)


@every_system
def test_a_run_leaves_these_files(psephos: Psephos, scenario: str, settings: Sequence[str]) -> None:
    words = words_of(*settings)
    assert psephos("run", scenario, *words, "--no-pictures", "--no-report", "--out", "plain").status == 0
    assert {path.name for path in Path("plain").iterdir()} == LEFT
    assert psephos("run", scenario, *words, "--record", "--no-pictures", "--out", "recorded").status == 0
    assert {path.name for path in Path("recorded").iterdir()} == {*LEFT, "private", "report.html"}
    assert {path.name for path in Path("recorded/private").iterdir()} == {"simulation.json", "views.jsonl"}
    assert Path("plain/result.json").read_bytes() == Path("recorded/result.json").read_bytes()


def test_a_run_with_pictures_leaves_those_too(psephos: Psephos) -> None:
    assert psephos("run", "two-societies", *words_of(*SOCIETIES), "--out", "drawn").status == 0
    drawn = {"estimates.svg", "estimates.png", "report.html"}
    assert {path.name for path in Path("drawn").iterdir()} >= {*LEFT, *drawn}


@pytest.mark.few
@pytest.mark.parametrize("setting", ["transport=array", "noise=secure"])
@every_system
def test_what_cannot_be_recorded_is_refused(scenario: str, settings: Sequence[str], setting: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolve(load_scenario(scenario, [*settings, setting]), record=True)
    assert caught.value.field == "--record"


RANKINGS = "{voter = 'ann', group = 'north', ranking = 'a > b'}, {voter = 'bob', group = 'south', ranking = 'b > a'}"
RECORDS = "{voter = 'ann', records = [[{lives = 54321, law = 0}, {lives = 1, law = 1}]]}"
OF_RECORDS = "epsilon = 1.0\nfeatures = ['lives', 'law']"
ANSWERS = "{worker = 'ann', tasks = 'q1; q2', answers = 'gnu; emu'}, {worker = 'bob', tasks = 'q1', answers = 'emu'}"
LISTED = {
    "a > b": f"protocol = 'fair-voting'\nvoters = [{RANKINGS}]\n[parameters]\nepsilon = 2.0\n",
    "54321": f"protocol = 'moral-preferences'\nvoters = [{RECORDS}]\n[parameters]\nparadigm = 'VLDP'\n{OF_RECORDS}\n",
    "gnu; emu": f"protocol = 'truth-discovery'\nworkers = [{ANSWERS}]\n[parameters]\nanswer_sets = [['emu', 'gnu']]\n",
}


@pytest.mark.parametrize("secret", LISTED)
def test_parties_that_a_scenario_lists_are_not_kept_and_a_rerun_says_so(
    psephos: Psephos, write: Callable[[str, str], Path], secret: str
) -> None:
    write("mine.toml", LISTED[secret])
    assert psephos("run", "mine.toml", "--no-pictures", "--out", "first").status == 0
    for path in Path("first").iterdir():
        assert secret not in path.read_text(encoding="utf-8")
    again = psephos("run", "first/scenario.json", "--out", "again")
    assert (again.status, again.out) == (2, "")
    assert "s must be a file, a generator, or at least one " in again.err
