"""Objectives that somebody registers: found by name in scenarios, checked, and blamed."""

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from distributions import installed
from psephos.protocol.errors import ConfigurationError, PluginError
from psephos.protocol.fair_voting import FairVoting, Outcome, Parameters
from psephos.scenarios import load_scenario, resolve, run_session
from psephos.scenarios.fair_voting.testing import check_objective
from psephos.scenarios.presentation import verdict_of

ENTRY_POINTS = """[psephos.objectives]
worst-off = own_objectives:worst_off
welfare-again = own_objectives:welfare
raising = own_objectives:raising
"""
SOURCE = """def worst_off(utilities, sizes):
    return [min(own) for own in zip(*utilities)]


def welfare(utilities, sizes):
    return [sum(size * own for size, own in zip(sizes, column)) for column in zip(*utilities)]


def raising(utilities, sizes):
    raise ValueError(f"no idea of {utilities}")
"""
NAME = "two-societies"


def worst_off(utilities: Sequence[Sequence[Fraction]], sizes: Sequence[int]) -> list[Fraction]:
    """Let the group that is worst off decide."""
    del sizes
    return [min(own) for own in zip(*utilities, strict=True)]


def outcome_of(*settings: str) -> Outcome:
    outcome = run_session(resolve(load_scenario(NAME, settings)), seed=5).outcome
    assert isinstance(outcome, Outcome)
    return outcome


def test_a_registered_objective_is_a_word_in_scenarios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It elects as the same objective of ours does, in every mechanism that estimates utilities, on both paths."""
    with installed(monkeypatch, tmp_path, "own_objectives", ENTRY_POINTS, SOURCE):
        for mechanism, path in itertools.product(("laplace", "local", "joint"), ("memory", "array")):
            paths = (
                f"mechanism={mechanism}",
                f"transport={path}",
                "voters.groups.north.voters=100",
                "voters.groups.south.voters=60",
            )
            mine = outcome_of("objective=welfare-again", *paths)
            ours = outcome_of("objective=welfare", *paths)
            assert (mine.winner, mine.alternatives) == (ours.winner, ours.alternatives)
            told = (
                mine.assurance.probability,
                mine.assurance.verdict,
                mine.assurance.p_value,
                mine.assurance.shortfall,
            )
            assert told == (None,) * 4
            assert "the most by the objective welfare-again. How sure that is stays open" in verdict_of(mine)
        least = outcome_of("objective=worst-off")
        served = {own.name: min(each.value for each in own.utilities) for own in least.alternatives}
        assert least.winner == max(served, key=lambda name: served[name])


@pytest.mark.bad_input("an objective that is not known, that fails, or that a mechanism does not take")
def test_an_objective_that_cannot_be_had_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it raises is not shown where the aggregator is trusted: it may quote what is private."""
    with installed(monkeypatch, tmp_path, "own_objectives", ENTRY_POINTS, SOURCE):
        with pytest.raises(ConfigurationError, match=r"objective 'worst-of' is unknown: did you mean 'worst-off'"):
            outcome_of("objective=worst-of")
        for mechanism in ("exponential", "permute_and_flip", "sampling"):
            with pytest.raises(
                ConfigurationError, match="somebody's own objective is for those that estimate utilities"
            ):
                outcome_of("objective=worst-off", f"mechanism={mechanism}")
        with pytest.raises(
            PluginError, match="objective 'raising' failed in its call: ValueError: what it says is left"
        ):
            outcome_of("objective=raising", "transport=array")


def test_a_vote_without_its_objective_is_refused_before_it_begins() -> None:
    parameters = Parameters(alternatives=("a", "b"), groups=("g", "h"), group_sizes=(1, 1), objective="mine")
    vote = FairVoting(parameters)
    inputs = vote.encode({"group": ["g", "h"], "ranking": ["a > b", "a > b"]})
    with pytest.raises(ConfigurationError, match=r"objective is .mine.: use .* FairVoting.parameters, objective="):
        vote.check_roster(inputs.public)
    own = FairVoting(parameters, objective=worst_off)
    own.check_roster(inputs.public)
    assert own.best_in(inputs) == [0]
    assert own.with_parameters(parameters).best_in(inputs) == [0]
    with pytest.raises(ConfigurationError, match=r"objective is .*: name it by the parameters"):
        FairVoting(Parameters(alternatives=("a", "b"), groups=("g", "h"), group_sizes=(1, 1)), objective=worst_off)


def test_an_objective_that_keeps_its_promises_passes() -> None:
    check_objective(worst_off)


TURN = itertools.count()
TWO_NUMBERS = "return 2 finite numbers from it, one for each alternative"


def _saying(what: Callable[[Sequence[Any]], object]) -> Callable[..., object]:
    """Return an objective that says this of utilities, whatever the groups' sizes are."""

    def objective(utilities: Sequence[Any], _: object) -> object:
        return what(utilities)

    return objective


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        (_saying(lambda utilities: [0] * (len(utilities[0]) - 1)), TWO_NUMBERS),
        (_saying(lambda utilities: [float("nan")] * len(utilities[0])), TWO_NUMBERS),
        (_saying(lambda utilities: dict.fromkeys(range(len(utilities[0])), 1)), TWO_NUMBERS),
        (_saying(lambda utilities: [next(TURN)] * len(utilities[0])), "asked twice, it says"),
        (_saying(lambda utilities: list(range(len(utilities[0])))), "and at another place"),
        (_saying(lambda utilities: utilities[7]), "failed in its call: IndexError"),
    ],
)
def test_an_objective_that_breaks_a_promise_is_told_which(objective: Any, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_objective(objective)
