"""Tables at random: what `new` and a session count is what a second reader counts, or something was asked."""

import csv
import random
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from any_table import NAMES, read, table
from psephos.protocol import ConfigurationError
from psephos.scenarios import Local, resolve, run_session
from psephos.scenarios.dpwevote.draft import BEGINNING
from psephos.scenarios.running.config import scenario_of
from psephos.scenarios.running.draft_text import scenario_text
from psephos.scenarios.running.drafts import SavedTable, UnclearError
from thoroughness import draws

MOST_ASKED = 12


def counted(path: Path, chosen: dict[str, tuple[str, ...]]) -> dict[str, float] | None:
    """Return what a session of a file counts, once its questions are answered; None where it was refused."""
    try:
        draft = BEGINNING.draft(SavedTable.of(path, data_path=str(path)), chosen)
        text = scenario_text(draft, head="x", protocol="dpwevote", epsilon=1, synthetic="", trust="local")
        resolved = resolve(scenario_of({"name": "t", **tomllib.loads(text)}, folder=path.parent))
    except UnclearError:
        raise
    except ConfigurationError:
        return None
    assert isinstance(resolved, Local)
    truth = resolved.protocol.truth(resolved.inputs)
    assert truth is not None
    found: dict[str, Any] = {name: value for name, value in truth.items() if name != "quota"}
    return {"partners": float(len(resolved.names)), **found}


@pytest.mark.parametrize("variant", ["central", "masked"])
def test_a_verdict_is_what_a_second_reader_counts_where_noise_is_next_to_nothing(tmp_path: Path, variant: str) -> None:
    """At ε = 30 a verdict is right, of central sums and of masked ones; what is undecided is near a tie.

    Noise has a fifteenth of the heaviest weight as its scale: beyond half of it next to nothing is undecided.
    """
    path, decided = tmp_path / "t.csv", 0
    for seed in range(draws(24, full=600)):
        rng = random.Random(seed)
        path.write_text(table(rng), encoding="utf-8")
        chosen, found = answered(path, rng)
        if found is None:
            continue
        draft = BEGINNING.draft(SavedTable.of(path, data_path=str(path)), chosen)
        text = scenario_text(draft, head="x", protocol="dpwevote", epsilon=30, synthetic="", trust="central")
        content: dict[str, Any] = {"name": "t", "noise": "simulated", **tomllib.loads(text)}
        content["parameters"] |= {"variant": variant}
        if variant == "masked":
            content["parameters"] |= {"threshold": int(found["partners"]), "colluders": 1}
        content = {key: value for key, value in content.items() if key != "trust"}
        try:
            resolved = resolve(scenario_of(content, folder=path.parent))
        except ConfigurationError:  # too few partners for masks
            continue
        outcome: Any = run_session(resolved, seed=seed).outcome
        heaviest = max(content["parameters"].get("weights", [1]))
        for each in outcome.candidates:
            more = found[each.name] - found["total weight"] / 2
            decided += "undecided" not in each.decision
            if "undecided" not in each.decision:
                assert (each.decision == "passes") == (more > 0), (seed, each, found)
            else:
                assert abs(more) <= max(1, heaviest / 2), (seed, each, found)
    assert decided > draws(24, full=600) / 12


def is_sane(option: str, choice: str, text: str) -> bool:
    """Return whether somebody who knows the file may answer so: no time is a person, and no remark is voted on."""
    if option == "partner":
        return choice == "none" or choice.casefold() in (*NAMES, "id")
    if option == "without":
        return choice != "none"
    has_remarks = "comment" in text.casefold().partition("\n")[0]
    return option != "leave-out" or choice != "none" or not has_remarks


def is_about_remarks(choices: Sequence[str], text: str) -> bool:
    """Return whether it is asked what a remark says of a motion, as where no motion has an answer."""
    header, *rows = csv.reader(text.splitlines())
    places = [place for place, name in enumerate(header) if name.casefold() == "comment"]
    return any(row[place] in choices for row in rows for place in places if len(row) > place and row[place])


def answered(path: Path, rng: random.Random) -> tuple[dict[str, tuple[str, ...]], dict[str, float] | None]:
    """Return what was typed, and what is counted in the end."""
    chosen: dict[str, tuple[str, ...]] = {}
    for _ in range(MOST_ASKED):
        try:
            return chosen, counted(path, chosen)
        except UnclearError as unclear:
            if unclear.option == "round-weights":
                chosen["public-weights"] = ("yes",)
                continue
            if is_about_remarks(unclear.choices, path.read_text()):
                return chosen, None
            sane = [choice for choice in unclear.choices if is_sane(unclear.option, choice, path.read_text())]
            chosen[unclear.option] = (*chosen.get(unclear.option, ()), rng.choice(sane))
    return chosen, None


@pytest.mark.parametrize("part", range(4))
def test_a_session_counts_what_a_second_reader_counts_or_something_is_asked(tmp_path: Path, part: int) -> None:
    wrong = list[object]()
    number = 0
    for seed in range(part, draws(120, full=4000), 4):
        rng = random.Random(seed)
        path = tmp_path / "t.csv"
        path.write_text(text := table(rng), encoding="utf-8")
        chosen, found = answered(path, rng)
        number += found is not None
        if found is not None and (expected := read(text, chosen)) != found:
            wrong.append((seed, text, chosen, found, expected))
    assert not wrong, wrong[0]
    assert number > draws(120, full=4000) / 4 / 4  # of those that can be counted at all
