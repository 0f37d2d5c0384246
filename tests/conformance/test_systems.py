"""Every part of every system's descriptor: it can be imported, and is what the descriptor says that it is.

Ours are held to it, and so is the one that `survey` (tests/scenarios/conftest.py) installs for somebody else.
"""

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import click
import pytest
from psephos.protocol.phases import PhasedProtocol
from psephos.scenarios.adversaries.averaging_attacker import AskedAnew
from psephos.scenarios.attacks import Attack
from psephos.scenarios.audit.case import Case
from psephos.scenarios.datasets import DataSet
from psephos.scenarios.deployment.own_entries import OwnEntries
from psephos.scenarios.experiments.findings import BoundedFinding
from psephos.scenarios.experiments.measures import Measures
from psephos.scenarios.experiments.paper import Paper
from psephos.scenarios.experiments.reproductions import Experiments
from psephos.scenarios.experiments.variants import VariantTable
from psephos.scenarios.plugins import load
from psephos.scenarios.presentation.presenter import Presenter
from psephos.scenarios.reading.sources import PartySources
from psephos.scenarios.running.drafts import ScenarioTemplate
from psephos.scenarios.system import System, commands, find_protocol, load_part, part_of, systems
from psephos.scenarios.verdicts import FileForm

KINDS: Final[Mapping[str, Any]] = {
    "sources": PartySources,
    "own_entries": OwnEntries,
    "data_sets": Mapping,
    "beginning": ScenarioTemplate,
    "presenters": Mapping,
    "asking": AskedAnew,
    "sweeps": Callable,
    "mechanism_cases": Callable,
    "session_cases": Callable,
    "claims": Callable,
    "details": Callable,
    "estimates": Callable,
    "file_form": FileForm,
    "forecasts": Callable,
    "reproduction": Paper,
    "web_ballot": Callable,
}
CLASSES: Final[Mapping[str, type]] = {
    "attack": Attack,
    "measures": Measures,
    "plan": VariantTable,
    "variants": VariantTable,
}
NO_PARTS: Final = {"protocol", "place", "commands"}
NAMES: Final = tuple(systems())


@pytest.fixture(params=NAMES)
def named(request: pytest.FixtureRequest) -> tuple[str, System]:
    """Each system in turn, with its name."""
    return request.param, systems()[request.param]


def test_every_part_of_a_descriptor_is_checked_here() -> None:
    assert {*KINDS, *CLASSES, *NO_PARTS} == {field.name for field in dataclasses.fields(System)}


def test_the_four_systems_are_there_in_their_order() -> None:
    assert NAMES == ("dpwevote", "truth-discovery", "moral-preferences", "fair-voting")


def test_a_systems_name_is_its_protocols(named: tuple[str, System]) -> None:
    name, system = named
    protocol = find_protocol(name)
    assert issubclass(protocol, PhasedProtocol)
    assert protocol.name == name
    assert load(system.protocol, PhasedProtocol, field="protocol", name=name, is_class=True) is protocol


@pytest.mark.parametrize("part", [*KINDS, *CLASSES])
def test_a_part_is_what_the_descriptor_says(named: tuple[str, System], part: str) -> None:
    name, system = named
    if not getattr(system, part):
        pytest.skip("this system does without it, as any protocol may")
    is_class = part in CLASSES
    found = load_part(system, part, {**KINDS, **CLASSES}[part], name=name, is_class=is_class)
    assert found is not None
    assert part_of(find_protocol(name), part, {**KINDS, **CLASSES}[part], is_class=is_class) is found


def test_every_outcome_that_is_told_has_a_presenter(named: tuple[str, System]) -> None:
    name, system = named
    presenters: Mapping[type, Any] = load_part(system, "presenters", Mapping, name=name)
    protocol = find_protocol(name)
    assert {protocol.outcome_type, protocol.own_outcome_type or protocol.outcome_type} <= presenters.keys()
    assert all(isinstance(presenter, Presenter) for presenter in presenters.values())


def test_data_sets_are_data_sets_with_names_of_their_own() -> None:
    names: list[str] = []
    for name, system in systems().items():
        data_sets: Mapping[str, Any] = load_part(system, "data_sets", Mapping, name=name)
        assert all(isinstance(data_set, DataSet) for data_set in data_sets.values())
        names += data_sets
    assert len(set(names)) == len(names) > 20


@pytest.mark.parametrize("part", ["mechanism_cases", "session_cases", "claims"])
def test_what_makes_cases_and_findings_takes_nothing_and_yields_them(named: tuple[str, System], part: str) -> None:
    name, system = named
    make: Callable[[], Iterator[Any]] | None = load_part(system, part, Callable, name=name)
    if make is None:
        pytest.skip("this system has no mechanism of its own")
    inspect.signature(make).bind()
    first = next(iter(make()))
    assert isinstance(first, BoundedFinding if part == "claims" else Case)


def test_a_reproductions_experiments_are_such(named: tuple[str, System]) -> None:
    name, system = named
    paper: Paper = load_part(system, "reproduction", Paper, name=name)
    assert isinstance(load(paper.experiments, Experiments, field="experiments", name=name), Experiments)
    assert 0 < paper.least_trials <= paper.trials <= paper.most_trials


def test_commands_are_commands_under_their_own_names() -> None:
    found = commands(click.Command)
    assert {"decide"} <= found.keys()
    assert all(command.name == name for name, command in found.items())
