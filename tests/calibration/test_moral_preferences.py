"""Moral preferences' part of the calibration: societies in their balls, right choices, lies caught."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from calibration import moral_preferences as calibration
from calibration.engine import hold
from calibration.moral_preferences import CALIBRATION
from psephos.protocol.moral_preferences import compare_societies, decide

PLAIN: Mapping[str, Any] = {
    "way": "laplace, VLDP",
    "features": 3,
    "voters": 31,
    "times the price": 1.0,
    "levels": "one",
    "level": 0.05,
    "society": "ball",
    "point": 2,
    "sizes": (5, 3, 1),
    "societies": "apart",
}
STATEMENTS = {statement.name: statement for statement in CALIBRATION.statements()}


@pytest.mark.few(most=3)
@pytest.mark.parametrize("way", list(calibration.WAYS))
def test_with_little_noise_every_choice_is_right_and_said_to_be(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dear = dataclasses.replace(calibration.WAYS[way], price=90.0)
    monkeypatch.setitem(calibration.WAYS, way, dear)
    case = {**PLAIN, "way": way, "features": 2, "society": "size"}
    cell = hold("moral-preferences", STATEMENTS["certainty"], case, 15, np.random.default_rng(1))
    assert cell is not None
    assert cell.found <= 0.1
    assert cell.stated < 0.1


@pytest.mark.parametrize("society", list(calibration.SOCIETIES))
def test_every_society_stays_in_the_ball(society: str) -> None:
    protocol = calibration.protocol_of({**PLAIN, "features": 4})
    assert protocol is not None
    generator = np.random.default_rng(3)
    for _ in range(50):
        row = calibration.society_of(protocol, society, generator)
        assert float(np.abs(row).sum()) <= protocol.summary.bound
        assert row.any() == (society != "none")


@pytest.mark.few(most=1)
@pytest.mark.parametrize("way", ["laplace, VLDP", "direction, RLMP"])
def test_a_verdict_that_is_too_bold_is_caught(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def bold(outcome: Any, first: Any, second: Any, *, level: float) -> Any:
        return decide(outcome, first, second, level=max(level, 0.49))

    monkeypatch.setattr(calibration, "decide", bold)
    cell = hold(
        "moral-preferences", STATEMENTS["verdict on a pair"], {**PLAIN, "way": way}, 200, np.random.default_rng(4)
    )
    assert cell is not None
    assert not cell.holds


def test_differences_that_are_none_are_said_to_be_some_as_seldom_as_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    alike = {**PLAIN, "societies": "one feature", "society": "none", "level": 0.2}
    names = "verdicts on differences", "intervals of differences"
    for name in names:
        cell = hold("moral-preferences", STATEMENTS[name], alike, 100, np.random.default_rng(5))
        assert cell is not None
        assert cell.holds

    def bold(outcome: Any, *, level: float) -> Any:
        return compare_societies(outcome, level=max(level, 0.49))

    monkeypatch.setattr(calibration, "compare_societies", bold)
    for name in names:
        cell = hold("moral-preferences", STATEMENTS[name], alike, 100, np.random.default_rng(5))
        assert cell is not None
        assert not cell.holds


def test_a_single_voter_holds_no_masked_session_and_more_do() -> None:
    for way in ("laplace, VLMP", "direction, RLMP"):
        assert calibration.protocol_of({**PLAIN, "way": way, "voters": 1}) is None
        protocol = calibration.protocol_of({**PLAIN, "way": way})
        assert protocol is not None
        assert (protocol.parameters.threshold, protocol.parameters.colluders) == (28, 3)


def test_there_are_statements_about_pairs_differences_certainties_and_errors() -> None:
    assert list(STATEMENTS) == [
        "verdict on a pair",
        "certainty",
        "verdicts on differences",
        "intervals of differences",
        "standard error of preferences",
    ]
