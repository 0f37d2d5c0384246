"""Poisoners: what they report, how far it moves an outcome, and the bound on that."""

import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from psephos.protocol.dpwevote import DPWeVote, Outcome, Parameters
from psephos.protocol.errors import ConfigurationError
from psephos.scenarios.adversaries.role import AttackContext
from psephos.scenarios.attacks.poisoning import STRATEGIES, find_poisoning, outcome_of, reports_of
from psephos.scenarios.running.config import load_scenario
from psephos.scenarios.running.folder import RunFolder
from psephos.scenarios.running.resolution import resolve
from psephos.scenarios.running.run import run_in_folder

# One small session of each protocol, and of mechanisms whose reports are of another kind.
SESSIONS = [
    pytest.param("consortium", ["count=30"], id="weights and opinions"),
    pytest.param("own-matrix", ["count=30"], id="matrices of one's own"),
    pytest.param("consortium", ["count=30", "variant=laplace"], id="Laplace noise"),
    pytest.param("consortium", ["count=30", "variant=two_point"], id="signed weights"),
    pytest.param("consortium", ["count=30", "weight_collection=per_candidate"], id="weights per candidate"),
    pytest.param("two-societies", [], id="central rankings"),
    pytest.param("two-societies", ["mechanism=sampled_pair"], id="sampled pairs"),
    pytest.param("two-societies", ["mechanism=noisy_scores"], id="noisy scores"),
    pytest.param("crowd", [], id="crowd answers"),
    pytest.param("moral-synthetic", [], id="central preferences"),
    pytest.param("moral-synthetic", ["paradigm=VLDP"], id="local preferences"),
    pytest.param("moral-synthetic", ["paradigm=RLDP", "mechanism=direction"], id="directions"),
]


def scene_of(name: str, settings: list[str]) -> AttackContext:
    return resolve(load_scenario(name, [*settings, "transport=array"])).context(seed=11)


def public_vote(epsilon: float) -> DPWeVote:
    return DPWeVote(Parameters(candidates=("A",), weights=(1.0, 2.0, 3.0), public_weights=True, epsilon=epsilon))


def scene_of_vote(epsilon: float, *, number: int = 12) -> AttackContext:
    protocol = public_vote(epsilon)
    inputs = protocol.encode({"weight": [1, 2, 3] * (number // 3), "A": [0, 1, 0] * (number // 3)})
    return AttackContext(protocol, [f"p{place}" for place in range(number)], inputs, session="vote", seed=3)


@pytest.mark.parametrize(("name", "settings"), SESSIONS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_poisoners_reports_are_accepted_by_the_server_and_leave_everybody_elses(
    name: str, settings: list[str], strategy: Any
) -> None:
    context = scene_of(name, settings)
    poisoning = find_poisoning(context.protocol)
    poisoners = np.array([0, 3], dtype=np.int64)
    honest = reports_of(poisoning, context.inputs, noise=context.noise())
    poisoned = reports_of(poisoning, context.inputs, noise=context.noise(), poisoners=poisoners, strategy=strategy)
    others = np.setdiff1d(np.arange(len(context.names)), poisoners)
    for phase, before, after in zip(context.protocol.phases, honest, poisoned, strict=True):
        assert np.array_equal(before[others], after[others])
        for place in poisoners.tolist():
            public = context.inputs.public[place].tolist()
            low, high = phase.mechanism_of(public).report_range
            report = after[place].tolist()
            assert low <= min(report) <= max(report) <= high
            phase.check_report(report, public)


@pytest.mark.parametrize(("name", "settings"), SESSIONS)
@pytest.mark.parametrize("sign", [1, -1])
def test_nobody_shifts_more_than_the_bound_and_chosen_reports_push_most(
    name: str, settings: list[str], sign: int
) -> None:
    context = scene_of(name, settings)
    poisoning = find_poisoning(context.protocol, sign=sign)
    poisoners = np.array([0, 3], dtype=np.int64)
    number = len(context.names)

    def estimate(strategy: Any, places: Any) -> float:
        reports = reports_of(poisoning, context.inputs, noise=context.noise(), poisoners=places, strategy=strategy)
        return math.fsum(poisoning.contributions(reports, context.inputs.public, num_parties=number).tolist())

    extremes = [poisoning.extremes(context.inputs.public[place].tolist(), num_parties=number) for place in (0, 3)]
    bound = sum(most - least for least, most in extremes)
    shifts = {strategy: sign * (estimate(strategy, poisoners) - estimate(strategy, None)) for strategy in STRATEGIES}
    tolerance = 1e-9 * max(1.0, bound)
    assert all(abs(shift) <= bound + tolerance for shift in shifts.values())
    assert all(shifts["greatest"] >= shift - tolerance for shift in shifts.values())


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0])
def test_a_chosen_report_weighs_more_than_a_false_opinion_by_the_known_factor(epsilon: float) -> None:
    # k-RR's own: 1/(p − q), with p = e^ε/(e^ε + 1) and q = 1 − p.
    poisoning = find_poisoning(public_vote(epsilon), "A")
    for place, weight in enumerate((1.0, 2.0, 3.0)):
        least, greatest = poisoning.extremes((place, place), num_parties=5)
        factor = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
        assert greatest - least == pytest.approx(weight * factor, rel=1e-12)
        assert poisoning.truthful_range((place, place), num_parties=5) == weight


def test_the_estimate_that_is_pushed_is_the_margin_that_is_released() -> None:
    context = scene_of_vote(1.0)
    poisoning = find_poisoning(context.protocol, "A")
    reports = reports_of(poisoning, context.inputs, noise=context.noise(), poisoners=np.array([1]), strategy="greatest")
    outcome = outcome_of(context.protocol, reports, context.inputs.public, noise=context.noise())
    assert isinstance(outcome, Outcome)
    pushed = math.fsum(poisoning.contributions(reports, context.inputs.public, num_parties=12).tolist())
    assert outcome.candidates[0].margin.value == pytest.approx(pushed, rel=1e-12)


def test_agents_that_poison_release_what_arrays_say_and_the_lesson_has_its_numbers(tmp_path: Path) -> None:
    table = {"role": "poisoner", "members": ["partner-2", "partner-3"], "aim": "joint data space"}
    scenario = load_scenario("consortium", ["count=9", "public_weights=true"])
    resolved = resolve(msgspec.structs.replace(scenario, adversary=[table]))
    finished = run_in_folder(resolved, RunFolder(tmp_path / "run"), pictures=False)
    context = resolved.context(seed=scenario.seed or 0)
    poisoning = find_poisoning(context.protocol, "joint data space")
    members = np.array([1, 2], dtype=np.int64)
    reports = reports_of(poisoning, context.inputs, noise=context.noise(), poisoners=members)
    expected = outcome_of(context.protocol, reports, context.inputs.public, noise=context.noise())
    assert isinstance(expected, Outcome)
    assert finished.record.outcome == expected
    (attack_report,) = finished.attack_reports
    chosen = attack_report.rows[0]
    assert chosen["estimate"] == pytest.approx(expected.candidates[0].margin.value)
    weights = (1.0, 2.0, 3.0)
    places: list[int] = context.inputs.public[members, 1].tolist()
    own = sum(weights[place] for place in places)
    factor = (math.e + 1) / (math.e - 1)  # at the scenario's ε of 1
    assert f"{own * factor:.4g} at most" in " ".join(attack_report.sentences)


@pytest.mark.parametrize(
    ("settings", "strategy"),
    [
        pytest.param(["paradigm=VLCP"], "greatest", id="central"),
        pytest.param(["paradigm=VLDP"], "input", id="false answers"),
        pytest.param(["paradigm=RLDP", "mechanism=functional"], "input", id="false records"),
    ],
)
def test_voters_that_poison_preferences_release_what_arrays_say(
    tmp_path: Path, settings: list[str], strategy: Any
) -> None:
    few = ["voters.voters=8", "voters.records=5", "voters.features=3"]
    table = {"role": "poisoner", "members": ["voter 000000002"], "aim": "x2", "direction": "down", "strategy": strategy}
    scenario = msgspec.structs.replace(load_scenario("moral-synthetic", [*few, *settings]), adversary=[table])
    resolved = resolve(scenario)
    finished = run_in_folder(resolved, RunFolder(tmp_path / "run"), pictures=False)
    context = resolved.context(seed=scenario.seed or 0)
    poisoning = find_poisoning(context.protocol, "x2", sign=-1)
    poisoners = np.array([1], dtype=np.int64)
    reports = reports_of(poisoning, context.inputs, noise=context.noise(), poisoners=poisoners, strategy=strategy)
    assert finished.record.outcome == outcome_of(
        context.protocol, reports, context.inputs.public, noise=context.noise()
    )
    assert len(finished.attack_reports) == 1


def test_a_session_that_releases_its_winner_alone_has_no_estimate_to_push() -> None:
    with pytest.raises(ConfigurationError, match="mechanism"):
        find_poisoning(scene_of("two-societies", ["mechanism=exponential"]).protocol)
