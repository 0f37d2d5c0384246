"""Protocols, transports and roles of third parties are found by name and used."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError
from psephos.scenarios import load_scenario, resolve, run_session
from psephos.scenarios.plugins import (
    ROLES,
    TRANSPORTS,
    find_client_role,
    find_server_role,
    make_transport,
    names_in,
)
from psephos.scenarios.system import find_protocol, protocol_names
from runs import read_json

SCENARIO = """
protocol = "bounded-total"
transport = "wire"
synthetic = true
seed = 4
surveyors = [{ surveyor = "ann", value = 5 }, { surveyor = "bob", value = 8 }]
"""


def test_what_a_distribution_registers_stands_beside_ours(survey: str) -> None:
    assert {"bounded-total", "dpwevote"} <= set(protocol_names())
    assert {"memory", "tcp", "wire"} <= set(names_in(TRANSPORTS))
    assert {"partner", "cloud-server", "surveyor"} <= set(names_in(ROLES))
    assert protocol_names() == tuple(sorted(protocol_names()))
    module = importlib.import_module(survey)
    assert find_protocol("bounded-total") is module.BoundedTotal
    assert find_client_role("surveyor") is module.Surveyor
    assert type(make_transport("wire")) is module.Wire


def test_a_run_uses_the_registered_protocol_transport_and_role(survey: str, write: Callable[[str, str], Path]) -> None:
    module: Any = importlib.import_module(survey)
    resolved = resolve(load_scenario(str(write("sum.toml", SCENARIO))))
    record = run_session(resolved, seed=4)
    assert sorted(module.Surveyor.names) == ["ann", "bob"]
    assert module.Wire.opened == 1
    by_arrays = resolve(load_scenario(str(write("sum.toml", SCENARIO)), ["transport=array"]))
    assert run_session(by_arrays, seed=4).outcome == record.outcome


def test_the_command_line_runs_it_and_shows_its_outcome(
    survey: str, write: Callable[[str, str], Path], psephos: Callable[..., Any]
) -> None:
    path = write("sum.toml", SCENARIO)
    ended = psephos("run", path, "--out", "out")
    assert (ended.status, ended.err) == (0, ""), survey
    assert ["Released", "Value", "True"] in [line.split() for line in ended.out.splitlines()]
    assert "2 surveyors" in ended.out
    assert read_json("out/result.json")["truth"] == {"total": 13.0}
    assert not Path("out/estimates.svg").exists()
    rows = Path("out/estimates.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "total,label,true_total"
    assert rows[1].endswith(",nothing,13.0")


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ('value = "many"', "ValueError: invalid literal"),
        ("value = 3 }]\nparameters = { epsilon = 0 }\n#", "ZeroDivisionError"),
    ],
)
def test_what_its_code_did_not_foresee_is_one_line_that_names_it(
    psephos: Callable[..., Any], survey: str, write: Callable[[str, str], Path], part: str, problem: str
) -> None:
    del survey
    write("sum.toml", f'protocol = "bounded-total"\nsurveyors = [{{ surveyor = "ann", {part} }}]\n')
    refusal = psephos("run", "sum.toml", "--out", "out").refusal
    assert "'bounded-total'" in refusal
    assert problem in refusal
    assert not Path("out").exists()


@pytest.mark.parametrize("label", ["[/b]", "[bold]loud", "[red]"])
def test_a_released_text_is_shown_as_it_is(
    survey: str, write: Callable[[str, str], Path], psephos: Callable[..., Any], label: str
) -> None:
    path = write("sum.toml", SCENARIO)
    ended = psephos("run", path, "--out", "out", "--set", f"label='{label}'")
    assert ended.status == 0, survey
    assert label in ended.out


@pytest.mark.usefixtures("survey")
@pytest.mark.parametrize(
    ("find", "name", "field", "kind"),
    [
        (find_protocol, "no-protocol", "protocol", "PhasedProtocol"),
        (make_transport, "no-transport", "transport", "Transport"),
        (find_client_role, "no-role", "client role", "Client"),
        (find_client_role, "cloud-server", "client role", "Client"),
        (find_server_role, "partner", "server role", "Server"),
    ],
)
def test_what_is_registered_as_another_kind_is_refused(
    find: Callable[[str], object], name: str, field: str, kind: str
) -> None:
    with refuses(field, name) as caught:
        find(name)
    assert caught.value.allowed == f"registered as a {kind}"


@pytest.mark.parametrize(
    ("find", "known"),
    [(find_protocol, "dpwevote"), (make_transport, "tcp"), (find_client_role, "voter"), (find_server_role, "voter")],
)
def test_a_name_that_nobody_registered_is_refused_with_those_that_are(
    find: Callable[[str], object], known: str
) -> None:
    with pytest.raises(ConfigurationError, match=known) as caught:
        find("nobody")
    assert caught.value.value == "nobody"


@pytest.mark.parametrize(("name", "entry"), [("lost", "nowhere_at_all:Lost"), ("renamed", "survey_elsewhere:OldName")])
def test_what_cannot_be_imported_is_refused_with_its_entry_point(survey: str, name: str, entry: str) -> None:
    with pytest.raises(ConfigurationError, match=entry) as caught:
        find_protocol(name)
    assert (caught.value.field, caught.value.value) == ("protocol", name), survey


def test_a_protocol_without_a_generator_says_so(survey: str, write: Callable[[str, str], Path]) -> None:
    path = write("sum.toml", 'protocol = "bounded-total"\n[surveyors]\ncount = 3\n')
    with pytest.raises(ConfigurationError, match="no generator") as caught:
        resolve(load_scenario(str(path)))
    assert caught.value.field == "surveyors", survey
