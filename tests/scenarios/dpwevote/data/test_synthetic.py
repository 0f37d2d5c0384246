"""Made-up partners: the shares asked for, the same people whatever the noise."""

import math
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError
from psephos.scenarios.dpwevote.data.synthetic import WeightedVotes, make_partners

CHOICES: dict[str, Any] = {"candidates": ["first", "second"], "weights": [1, 2.5, 4]}


def partners(**options: Any) -> dict[str, list[float]]:
    """Return the table of a generator with these options."""
    partners = make_partners({"count": 4000, **options}, parameters=CHOICES)
    assert partners is not None
    count, table = len(partners.names), partners.table
    assert all(len(column) == count for column in table.values())
    return {name: np.asarray(column).tolist() for name, column in table.items()}


def test_shares_are_those_asked_for() -> None:
    table = partners(weight_shares=[0.5, 0.3, 0.2], yes_shares=[0.1, 0.85])
    weights = table.pop("weight")
    for weight, share in zip((1, 2.5, 4), (0.5, 0.3, 0.2), strict=True):
        assert math.isclose(weights.count(weight) / 4000, share, abs_tol=0.03)
    for name, share in {"first": 0.1, "second": 0.85}.items():
        assert set(table[name]) == {0, 1}
        assert math.isclose(sum(table[name]) / 4000, share, abs_tol=0.03)


def test_shares_left_out_are_all_alike() -> None:
    table = partners()
    assert all(math.isclose(table["weight"].count(weight) / 4000, 1 / 3, abs_tol=0.03) for weight in (1, 2.5, 4))
    assert all(math.isclose(sum(table[name]) / 4000, 0.5, abs_tol=0.03) for name in ("first", "second"))


def test_shares_of_nobody_and_of_everybody_are_exact() -> None:
    table = partners(weight_shares=[0, 1, 0], yes_shares=[0, 1])
    assert (set(table["weight"]), set(table["first"]), set(table["second"])) == ({2.5}, {0}, {1})


def test_the_seed_makes_the_people() -> None:
    assert partners(seed=3) == partners(seed=3)
    assert partners(seed=3) != partners(seed=4)


def test_more_people_begin_with_the_same_ones() -> None:
    fewer = partners(count=100)
    assert {name: column[:100] for name, column in partners().items()} == fewer


@pytest.mark.parametrize(
    ("options", "field", "allowed"),
    [
        ({"count": 0}, "partners.count", "in [1,"),
        ({"count": 10**9}, "partners.count", "in [1,"),
        ({"count": 3, "seed": -1}, "partners.seed", "at least 0"),
        ({"count": 3, "yes_shares": [0.5, 1.5]}, "partners.yes_shares", "shares in [0, 1]"),
        ({"count": 3, "yes_shares": [0.5, math.nan]}, "partners.yes_shares", "shares in [0, 1]"),
        ({"count": 3, "yes_shares": [0.5]}, "partners.yes_shares", "2 shares, one for each of first, second"),
        ({"count": 3, "weight_shares": [0.5, 0.5]}, "partners.weight_shares", "3 shares, one for each of 1, 2.5, 4"),
        ({"count": 3, "weight_shares": [0.5, 0.5, 0.5]}, "partners.weight_shares", "sum to 1 (these sum to 1.5)"),
        ({"count": 3, "weight_shares": [1.5, -0.5, 0]}, "partners.weight_shares", "shares of at least 0 that sum to 1"),
        (
            {"count": 3, "weight_shares": [math.nan, 0.5, 0.5]},
            "partners.weight_shares",
            "shares of at least 0 that sum to 1",
        ),
        ({"count": "many"}, "partners.count", "an integer"),
        ({"count": 3, "number": 4}, "partners", "without the unknown key 'number'"),
        ({}, "partners", "with the required key 'count'"),
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, Any], field: str, allowed: str) -> None:
    with refuses(field, allowed=allowed):
        make_partners(options, parameters=CHOICES)


@pytest.mark.parametrize("empty", ["candidates", "weights"])
def test_nothing_to_choose_from_is_refused(empty: str) -> None:
    with pytest.raises(ConfigurationError, match=r"1 to \d+") as caught:
        make_partners({"count": 3}, parameters={**CHOICES, empty: []})
    assert caught.value.field == empty


@pytest.mark.parametrize("parameters", [{"candidates": 5}, {"weights": 3}, {"weights": ["a", "b"]}])
def test_parameters_of_another_type_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make_partners({"count": 3}, parameters=parameters)
    (name,) = parameters
    assert caught.value.field.startswith(f"parameters.{name}")


def test_options_are_checked_where_they_are_made() -> None:
    with pytest.raises(ConfigurationError):
        WeightedVotes(count=-1)
