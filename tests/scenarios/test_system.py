"""Somebody else's system: a protocol with parts, installed as a distribution of its own, used exactly as ours are."""

import importlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bad_input import refuses
from distributions import installed
from psephos.protocol.dpwevote import DPWeVote
from psephos.scenarios.attacks import Attack, find_attack
from psephos.scenarios.cli import group
from psephos.scenarios.experiments.measures import Measures
from psephos.scenarios.reading.sources import PartySources
from psephos.scenarios.system import System, find_protocol, load_each, part_of, protocol_names, systems
from runs import read_json

HOUSE = '''
"""A system: the total of bounded values, with parts of its own."""

import dataclasses
from pathlib import Path

import click
import msgspec

from psephos.scenarios.datasets import DataSet
from psephos.scenarios.deployment.own_entries import OwnEntries
from psephos.scenarios.presentation.plain import PLAIN
from psephos.scenarios.cli import group
from psephos.scenarios.reading.sources import PartiesTable, PartySources
from psephos.scenarios.system import System
from survey_elsewhere import BoundedTotal, Total


class Tally(BoundedTotal):
    name = "tally"
    client_role = "surveyor"


def read(parties, *, parameters):
    if isinstance(parties, str):
        return None
    values = [parties["value"]] * parties["count"]
    return PartiesTable([f"s{n}" for n in range(len(values))], {"value": values}, is_generated=True)


SOURCES = PartySources(read=read, paths=("file",))
OWN = OwnEntries(columns=frozenset({"coin"}), read=lambda file: {"value": str(len(file.rows))})


class Choice(msgspec.Struct):
    value: int = 3


def load(options, folder, parameters):
    return PartiesTable(["ann"], {"value": [options.value]}, is_public_record=True)


DATA_SETS = {"coins": DataSet(Choice, load)}


def show(console, outcome, known):
    console.print("IN ALL", outcome.total)


PRESENTERS = {Total: dataclasses.replace(PLAIN, show=show)}


@click.command(short_help="Count coins.")
def coins():
    """Count coins."""
    click.echo("three coins")


SYSTEM = System(
    protocol="house_elsewhere:Tally",
    sources="house_elsewhere:SOURCES",
    own_entries="house_elsewhere:OWN",
    data_sets="house_elsewhere:DATA_SETS",
    presenters="house_elsewhere:PRESENTERS",
    commands={"coins": "house_elsewhere:coins"},
)
BROKEN = System(protocol="house_elsewhere:Tally", attack="house_elsewhere:Nothing", measures="house_elsewhere:Choice")
'''
SCENARIO = "protocol = 'tally'\ntransport = 'array'\nseed = 4\nsynthetic = true\n"


@pytest.fixture
def house(survey: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Installs a system beside the protocol of `survey`; yields the file of its entry points."""
    del survey
    entries = "[psephos.systems]\ntally = house_elsewhere:SYSTEM\n"
    with installed(monkeypatch, tmp_path / "house", "house_elsewhere", entries, HOUSE) as registered:
        yield registered


def test_a_system_stands_beside_ours(house: Path) -> None:
    assert house.is_file()
    assert list(systems())[-1] == "tally"
    assert {"tally", "dpwevote", "bounded-total"} <= set(protocol_names())
    assert find_protocol("tally").name == "tally"
    assert [name for name, _ in load_each("sources", PartySources)][-1] == "tally"


def test_its_generator_and_its_presenter_are_used(
    house: Path, write: Callable[[str, str], Path], psephos: Callable[..., Any]
) -> None:
    del house
    path = write("tally.toml", f"{SCENARIO}[surveyors]\ncount = 5\nvalue = 2\n")
    ended = psephos("run", path, "--out", "out")
    assert (ended.status, ended.err) == (0, "")
    assert "5 surveyors" in ended.out
    assert "IN ALL" in ended.out
    assert read_json("out/result.json")["truth"] == {"total": 10.0}


def test_its_data_set_is_found_and_no_other_protocols(
    house: Path, write: Callable[[str, str], Path], psephos: Callable[..., Any], tmp_path: Path
) -> None:
    del house
    path = write("tally.toml", f"{SCENARIO}[surveyors]\ndata = 'coins'\n")
    assert psephos("run", path, "--data", tmp_path, "--out", "out").status == 0
    assert read_json("out/result.json")["truth"] == {"total": 3.0}
    refusal = psephos("run", path, "--data", tmp_path, "--set", "surveyors.data=imf_votes", "--out", "again").refusal
    assert "another data set: this one is for protocol 'dpwevote'" in refusal
    ended = psephos("run", "imf", "--data", tmp_path, "--set", "partners.data=coins", "--out", "again")
    assert "this one is for protocol 'tally'" in ended.err


def test_its_command_is_one_of_the_command_lines(house: Path, psephos: Callable[..., Any]) -> None:
    del house
    group.system_commands.cache_clear()
    try:
        assert re.search(r"^  coins +Count coins\.$", psephos("--help").out, re.MULTILINE)
        assert psephos("coins").out == "three coins\n"
    finally:
        group.system_commands.cache_clear()


def test_a_missing_part_is_what_any_protocol_has(
    house: Path, write: Callable[[str, str], Path], psephos: Callable[..., Any]
) -> None:
    del house
    path = write("tally.toml", f"{SCENARIO}[surveyors]\ncount = 2\nvalue = 1\n")
    refusal = psephos(
        "run", path, "--set", "adversary=[{role='coalition', members=['server']}]", "--out", "out"
    ).refusal
    assert refusal.startswith("psephos: adversary 1: give possible rows of protocol 'tally' by its method")


def test_a_subclass_has_the_parts_of_what_it_inherits_from() -> None:
    class MyVote(DPWeVote):
        name = "my-vote"

    assert part_of(MyVote, "attack", Attack, is_class=True) is part_of(DPWeVote, "attack", Attack, is_class=True)
    assert part_of(MyVote, "details", Callable) is None


@pytest.mark.parametrize(
    ("entry", "part", "allowed"),
    [
        ("house_elsewhere:BROKEN", "attack", "registered as something that can be imported: house_elsewhere:Nothing"),
        ("house_elsewhere:BROKEN", "measures", "registered as a Measures"),
        ("house_elsewhere:read", "system", "registered as a System"),
        ("nowhere_at_all:SYSTEM", "system", "can be imported: nowhere_at_all:SYSTEM cannot"),
    ],
)
def test_a_part_that_is_none_is_refused_by_name(house: Path, entry: str, part: str, allowed: str) -> None:
    house.write_text(f"[psephos.systems]\ntally = {entry}\n", encoding="utf-8")
    importlib.invalidate_caches()
    with refuses(part.removesuffix("s"), allowed=allowed):
        if part == "measures":
            part_of(find_protocol("tally"), part, Measures, is_class=True)
        else:
            find_attack(find_protocol("tally")(find_protocol("tally").parameters_type()))


def test_a_system_names_its_parts_by_text_alone() -> None:
    assert System(protocol="nowhere:Nothing").attack == ""
