"""Parties that a scenario of each system lists: what a run keeps of them, and what it says to who runs it again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Psephos = Callable[..., Any]


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
    refusal = psephos("run", "first/scenario.json", "--out", "again").refusal
    assert "use a file, a generator, or at least one " in refusal
