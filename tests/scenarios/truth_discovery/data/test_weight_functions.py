"""Weight functions that somebody registers: found by name in scenarios, checked, and blamed."""

from pathlib import Path

import pytest
from distributions import installed
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.truth_discovery import TruthDiscovery
from psephos.scenarios import load_scenario, resolve, run_session

ENTRY_POINTS = """[psephos.weight_functions]
square = own_weights:square
falling = own_weights:falling
number = own_weights:NUMBER
nowhere = own_weights:nowhere
"""
SOURCE = """NUMBER = 3


def square(share):
    return share * share


def falling(share):
    return 1 - share
"""
SETTINGS = ("workers.tasks=20", "workers.workers=9", "workers.answers_per_task=4", "estimator=truth_discovery")


def test_a_registered_function_is_a_word_in_scenarios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives the outcome that the same function gives in code, among agents and on arrays."""
    with installed(monkeypatch, tmp_path, "own_weights", ENTRY_POINTS, SOURCE):
        settings = (*SETTINGS, "weight_function=square")
        records = [
            run_session(resolve(load_scenario("crowd", (*settings, f"transport={path}"))), seed=5)
            for path in ("memory", "array")
        ]
        resolved = resolve(load_scenario("crowd", settings))
        assert isinstance(resolved.protocol, TruthDiscovery)
        own = TruthDiscovery(resolved.protocol.parameters, weight_function=lambda share: share * share)
        assert [record.outcome for record in records] == [own.outcome(records[0].tallies)] * 2
        assert [record.own_outcomes for record in records] == [records[0].own_outcomes] * 2


@pytest.mark.bad_input("a weight function that does not increase, is not known, or is no function")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("falling", "weight_function must be increasing in the share of right answers"),
        ("number", "weight_function must be registered as a Callable, got 'number'"),
        ("nowhere", "own_weights:nowhere cannot"),
        ("cube", "weight_function must be one of falling, linear, log_odds, nowhere, number, square, got 'cube'"),
    ],
)
def test_a_registered_name_that_is_no_weight_function_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    with (
        installed(monkeypatch, tmp_path, "own_weights", ENTRY_POINTS, SOURCE),
        pytest.raises(ConfigurationError) as caught,
    ):
        resolve(load_scenario("crowd", (*SETTINGS, f"weight_function={name}")))
    assert words in str(caught.value)
