"""Headers of parties' files against a protocol's columns: for a protocol that nobody here knows, and for ours."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from approval import BALLOTS
from psephos.protocol import ConfigurationError
from psephos.scenarios import Scenario, load_scenario, resolve, resolve_served
from psephos.scenarios.system import find_protocol


def refusal(ballots: str, resolving: Callable[[Scenario], object] = resolve) -> ConfigurationError:
    """Return why parties of a file are refused."""
    Path("ballots.csv").write_text(ballots, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        resolving(load_scenario("tea.toml"))
    return caught.value


HEADERS = {
    "a column is missing": ("voter,tea,coffee\nann,1,0\n", "lime soda", "no such column", "a column of the table"),
    "a column is misspelled": ("voter,tea,cofee,lime soda\nann,1,0,1\n", "coffee", "no such column", "a column"),
    "a column is unknown": (
        "voter,tea,gin,coffee,lime soda\nann,1,1,0,1\n",
        "gin",
        "an unknown column",
        "left out: the columns are tea, coffee, lime soda",
    ),
}


@pytest.mark.usefixtures("approval")
@pytest.mark.parametrize(("ballots", "column", "value", "allowed"), HEADERS.values(), ids=HEADERS)
def test_a_header_that_is_not_the_protocols_is_refused_by_its_column(
    ballots: str, column: str, value: str, allowed: str
) -> None:
    error = refusal(ballots)
    assert (error.field, error.value) == (f"{column} (ballots.csv line 1)", value)
    assert error.allowed.startswith(allowed)


@pytest.mark.usefixtures("approval")
def test_the_columns_may_stand_in_any_order() -> None:
    Path("ballots.csv").write_text("tea,lime soda,voter,coffee\n1,0,ann,1\n", encoding="utf-8")
    assert resolve(load_scenario("tea.toml")).inputs.private.tolist() == [[1, 1, 0]]


@pytest.mark.usefixtures("approval")
def test_parties_that_stand_in_the_scenario_are_held_against_the_columns_too() -> None:
    with pytest.raises(ConfigurationError, match="the table has no column coffee"):
        resolve(load_scenario("tea.toml", ["voters=[{ voter = 'ann', tea = 1 }]"]))


@pytest.mark.usefixtures("approval")
def test_a_server_refuses_a_public_column_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    kind: Any = find_protocol("approval")
    columns = kind.columns

    def with_district(self: Any) -> Any:
        (first, *_) = columns(self)
        return (type(first)("district", private=False, description="where"), *columns(self))

    monkeypatch.setattr(kind, "columns", with_district)
    error = refusal(BALLOTS, resolve_served)
    assert (error.field, error.value) == ("district (ballots.csv line 1)", "no such column")


@pytest.mark.usefixtures("approval")
def test_a_protocol_may_say_itself_which_columns_it_can_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def allow_all(_protocol: object, names: Iterable[str]) -> None:
        assert "gin" in names

    monkeypatch.setattr(find_protocol("approval"), "check_columns", allow_all)
    Path("ballots.csv").write_text("voter,tea,coffee,lime soda,gin\nann,1,0,1,1\n", encoding="utf-8")
    assert resolve(load_scenario("tea.toml")).inputs.private.tolist() == [[1, 0, 1]]


@pytest.mark.usefixtures("approval")
@pytest.mark.parametrize(
    ("entries", "column"), [({"tea": "1", "coffee": "0"}, "lime soda"), ({"tea": "1", "gin": "0"}, "coffee")]
)
def test_a_partys_own_entries_are_held_against_the_columns(entries: dict[str, str], column: str) -> None:
    kind: Any = find_protocol("approval")
    protocol = kind(kind.parameters_type(candidates=("tea", "coffee", "lime soda")))
    with pytest.raises(ConfigurationError, match=f"the table has no column {column}"):
        protocol.encode_own(entries, ())


LEVELED = {
    "dpwevote": (
        "seed = 1\nnoise = 'simulated'\n[[partners]]\npartner = 'ann'\nweight = 1\nplan = 'yes'\nepsilon = 2\n",
        {"variant": "two_point", "weights": [1.0, 2.0]},
    ),
    "fair-voting": (
        "seed = 1\nnoise = 'simulated'\n[[voters]]\nvoter = 'ann'\nranking = 'a>b'\nepsilon = 1\n",
        {"mechanism": "local", "objective": "welfare", "groups": ["all"]},
    ),
    "truth-discovery": (
        "seed = 1\nnoise = 'simulated'\n[[workers]]\nworker = 'ann'\ntasks = ['t']\nanswers = ['x']\nepsilon = 1\n",
        {"answer_sets": [["x", "y"]]},
    ),
    "moral-preferences": (
        "seed = 1\nnoise = 'simulated'\n[[voters]]\nvoter = 'ann'\nrecords = [[[1, 0], [0, 1]]]\nepsilon = 1\n",
        {"paradigm": "VLDP", "mechanism": "laplace", "features": ["x", "y"]},
    ),
}


@pytest.mark.parametrize("protocol", LEVELED)
def test_a_chosen_epsilon_or_levels_of_it_stand_in_place_of_the_files(protocol: str, tmp_path: Path) -> None:
    """With its levels goes who chooses among them; a column of an ε that nobody has is refused for what it is."""
    parties, given = LEVELED[protocol]
    role = str(find_protocol(protocol).client_role)
    parameters = "".join(f"{name} = {value!r}\n" for name, value in given.items())
    path = tmp_path / "own.toml"

    def load(prices: str, *settings: str) -> Any:
        path.write_text(f"protocol = '{protocol}'\n{parties}[parameters]\n{parameters}{prices}", encoding="utf-8")
        return resolve(load_scenario(str(path), settings)).protocol.parameters

    assert load("epsilon = 3", "epsilons=[1, 2]").own_levels.epsilons == (1, 2)
    leveled = f"epsilons = [1, 2]\nchosen_by = '{role}'"
    assert load(leveled).own_levels.is_chosen
    with pytest.raises(ConfigurationError, match="nobody has an ε of its own here"):
        load(leveled, "epsilon=1.5")
    parties = parties.replace("epsilon = 1\n", "").replace("epsilon = 2\n", "")
    alike = load(leveled, "epsilon=1.5")
    assert (alike.epsilon, alike.own_levels.epsilons) == (1.5, ())
    with pytest.raises(ConfigurationError, match="epsilon"):
        load(leveled, "epsilon=1.5", "epsilons=[1, 2]")
