"""Poisoners in each system: what they report, how far it moves an outcome, and that nothing moves it further."""

import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.errors import ConfigurationError
from psephos.scenarios.adversaries.role import AttackContext
from psephos.scenarios.attacks.coalition_view import draw_all, tallies_of
from psephos.scenarios.attacks.extreme_reports import ExtremeReports
from psephos.scenarios.running.config import load_scenario
from psephos.scenarios.running.folder import RunFolder
from psephos.scenarios.running.resolution import resolve
from psephos.scenarios.running.run import run_in_folder

# One small session of each protocol, and of mechanisms whose reports are of another kind; and what two poisoners can
# move at most: the greatest that their reports add to the estimate less the least, worked out in a line; ∞ where
# what is released is no sum of reports.
K_RR = (math.e + 1) / (math.e - 1)  # 1/(p − q), of ε = 1 and two answers
CROWD = ["workers.workers=12", "workers.tasks=6", "workers.answers_per_task=4"]
MORAL = ["voters.voters=8", "voters.records=5", "voters.features=3"]
SESSIONS = [
    pytest.param("consortium", ["count=30"], None, id="weights and opinions"),
    pytest.param("consortium", ["count=30", "public_weights=true"], "weights", id="public weights"),
    pytest.param("own-matrix", ["count=30"], None, id="matrices of one's own"),
    pytest.param("consortium", ["count=30", "variant=laplace"], None, id="Laplace noise"),
    pytest.param("consortium", ["count=30", "variant=central"], 6.0, id="a trusted server: both weights, claimed as 3"),
    pytest.param("consortium", ["count=30", "variant=two_point"], None, id="signed weights"),
    pytest.param("consortium", ["count=30", "weight_collection=per_candidate"], None, id="weights per candidate"),
    pytest.param("two-societies", [], 2 * 3 / 1_500, id="central rankings: scores of 0 to 3 for one of 1,500"),
    pytest.param("two-societies", ["mechanism=sampled_pair"], None, id="sampled pairs"),
    pytest.param("two-societies", ["mechanism=noisy_scores"], None, id="noisy scores"),
    pytest.param("crowd", CROWD, None, id="crowd answers"),
    pytest.param("crowd", [*CROWD, "epsilons=[0.5, 3]"], None, id="answers with an own ε"),
    pytest.param("moral-synthetic", MORAL, None, id="central preferences"),
    pytest.param("moral-synthetic", [*MORAL, "paradigm=VLDP"], None, id="local preferences"),
    pytest.param("moral-synthetic", [*MORAL, "paradigm=RLDP", "mechanism=direction"], math.inf, id="directions"),
    pytest.param("eu-council-masked", [], None, id="masked sums"),
]
PLACES = np.array([0, 3], dtype=np.int64)


def context_of(name: str, settings: list[str]) -> AttackContext:
    return resolve(load_scenario(name, [*settings, "transport=array"])).context(seed=11)


@pytest.mark.parametrize(("name", "settings", "bound"), SESSIONS)
def test_a_poisoners_reports_are_accepted_and_push_most_and_leave_everybody_elses(
    name: str, settings: list[str], bound: float | str | None
) -> None:
    context = context_of(name, settings)
    protocol, public = context.protocol, context.inputs.public
    honest = draw_all(protocol, context.inputs, noise=context.noise())
    others = np.setdiff1d(np.arange(len(context.names)), PLACES)
    sessions = {sign: ExtremeReports(protocol, context.inputs, context.noise(), sign=sign) for sign in (1, -1)}
    for session in sessions.values():
        for phase, before, after in zip(protocol.phases, honest, session.reports(PLACES), strict=True):
            assert np.array_equal(before[others], after[others])
            for place in PLACES.tolist():
                phase.check_report(after[place].tolist(), public[place].tolist())
    up, down = sessions[1].value_with(PLACES), sessions[-1].value_with(PLACES)
    unpushed = sessions[1].estimates()[sessions[1].name_of_aim].value
    assert down <= unpushed <= up
    assert down < up
    if bound == "weights":
        weights: list[int] = public[PLACES, 1].tolist()
        bound = K_RR * sum((1.0, 2.0, 3.0)[place] for place in weights)
    if bound == math.inf:
        return  # what is released is no sum: the search promises no more
    if bound is not None:
        assert up - down == pytest.approx(bound)
    # Nothing that anybody could report in place of one of them moves it further.
    generator = np.random.default_rng(5)
    for _ in range(20):
        reports = [own.copy() for own in sessions[1].reports(PLACES)]
        donor = int(generator.choice(others))
        if public[donor].tolist() == public[0].tolist():
            for own, drawn in zip(reports, honest, strict=True):
                own[0] = drawn[donor]
            assert sessions[1].estimates(reports)[sessions[1].name_of_aim].value <= up + 1e-9 * abs(up - down)


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0])
def test_a_chosen_report_weighs_more_than_a_false_opinion_by_the_known_factor(epsilon: float) -> None:
    # k-RR's own: 1/(p − q), with p = e^ε/(e^ε + 1) and q = 1 − p.
    vote = DPWeVote(Parameters(candidates=("A",), weights=(1.0, 2.0, 3.0), public_weights=True, epsilon=epsilon))
    inputs = vote.encode({"weight": [1, 2, 3] * 4, "A": [0, 1, 0] * 4})
    session = ExtremeReports(vote, inputs, AttackContext(vote, (), inputs, session="vote", seed=3).noise(), "A")
    factor = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
    for place, weight in enumerate((1.0, 2.0, 3.0)):
        assert session.spread(np.array([place])) == pytest.approx(weight * factor, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "settings", "table"),
    [
        pytest.param(
            "consortium",
            ["count=9", "public_weights=true"],
            {"members": ["partner-1", "partner-4"], "aim": "joint data space"},
            id="weighted votes",
        ),
        *(
            pytest.param(
                "moral-synthetic",
                [*MORAL, *settings],
                {"members": ["voter 000000001", "voter 000000004"], "aim": "x2", "direction": "down"},
                id=settings[0],
            )
            for settings in (["paradigm=VLCP"], ["paradigm=VLDP"], ["paradigm=RLDP", "mechanism=functional"])
        ),
        pytest.param("crowd", CROWD, {"members": ["w01", "w04"], "aim": "0"}, id="answers"),
    ],
)
def test_agents_that_poison_release_what_arrays_say_and_the_lesson_has_its_numbers(
    tmp_path: Path, name: str, settings: list[str], table: dict[str, Any]
) -> None:
    scenario = load_scenario(name, settings)
    resolved = resolve(msgspec.structs.replace(scenario, adversary=[{"role": "poisoner", **table}]))
    finished = run_in_folder(resolved, RunFolder(tmp_path / "run"), pictures=False)
    context = resolved.context(seed=scenario.seed or 0)
    sign = -1 if "direction" in table else 1
    session = ExtremeReports(context.protocol, context.inputs, context.noise(), table["aim"], sign)
    tallies = tallies_of(context.protocol, session.reports(PLACES), context.inputs.public, noise=context.noise())
    assert finished.record.outcome == context.protocol.outcome(tallies)
    (attack_report,) = finished.attack_reports
    row = next(row for row in attack_report.rows if row["estimate"] == table["aim"])
    assert row["with them"] == pytest.approx(session.value_with(PLACES))
    assert f"move it by {session.spread(PLACES):.4g}." in " ".join(attack_report.sentences)


def test_a_session_that_releases_its_winner_alone_has_no_estimate_to_push() -> None:
    context = context_of("two-societies", ["mechanism=exponential"])
    with pytest.raises(ConfigurationError, match=r"protocol (is|are) .*one whose outcome has estimates"):
        ExtremeReports(context.protocol, context.inputs, context.noise())
