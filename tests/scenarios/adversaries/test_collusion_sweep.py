"""The collusion sweep: sizes with and without the server, several cases and ε, bounds, and what is refused."""

import math
from collections.abc import Callable
from typing import Any

import pytest

Play = Callable[..., Any]

CONSORTIUM = {"scenario": "consortium", "settings": ["partners.count=4"], "title": "local"}
CENTRAL = {
    "scenario": "two-societies",
    "settings": [
        "mechanism=exponential",
        "objective=parity",
        "voters.alternatives=['harbor', 'market', 'park']",
        "voters.groups.north={voters=2, center=['harbor', 'market', 'park'], dispersion=0.4}",
        "voters.groups.south={voters=2, center=['park', 'harbor', 'market'], dispersion=0.6}",
    ],
    "title": "central",
}


def sweep(**keys: Any) -> dict[str, Any]:
    return {"role": "collusion-sweep", "trials": 5, **keys}


def test_the_last_honest_partner_is_as_exposed_as_to_the_server(play: Play) -> None:
    (attack_report,) = play("dpwevote", sweep(), transport="array").attack_reports
    by_size = {(row["server"], row["others"]): row for row in attack_report.rows}
    assert {size for _, size in by_size} == {0, 1, 2, 3}
    half = math.exp(0.5)
    exact = half / (half + 2) * half / (half + 1)
    for size in range(4):
        assert by_size["in", size]["success"] == pytest.approx(exact)
        assert by_size["in", size]["bound_on_success"] == pytest.approx(math.e / (math.e + 5))
    assert by_size["out", 3]["success"] == pytest.approx(exact)
    assert 0 < by_size["out", 0]["advantage"] < by_size["in", 0]["advantage"]  # an outsider reads what is published
    assert by_size["out", 1]["success"] < exact
    assert attack_report.sentences[0].endswith("(the bound is 0.352).")


def test_cases_and_prices_have_rows_and_a_trusted_server_knows(play: Play) -> None:
    table = sweep(cases=[CONSORTIUM, CENTRAL], epsilons=[1.0, 4.0], sizes=[0, 3])
    (attack_report,) = play("dpwevote", table, transport="array").attack_reports
    assert len(attack_report.rows) == 2 * 2 * 2 * 2
    for row in attack_report.rows:
        assert row["success"] <= row["bound_on_success"] * (1 + 1e-9)
        if (row["case"], row["server"]) == ("central", "in"):
            assert (row["success"], row["bound_on_success"]) == (pytest.approx(1.0), 1.0)
    bounds = {row["ε"]: row["bound_on_success"] for row in attack_report.rows if row["server"] == "out"}
    assert bounds[4.0] > bounds[1.0]


def test_sizes_that_are_not_computed_have_no_row_and_are_said(play: Play) -> None:
    (attack_report,) = play(
        "dpwevote", sweep(sizes=[1]), transport="array", settings=["variant=laplace"]
    ).attack_reports
    assert [(row["server"], row["others"]) for row in attack_report.rows] == [("in", 1)]
    assert attack_report.sentences[0].endswith("what so few learn without it is not computed.")
