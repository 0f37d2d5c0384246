"""A server that asks again: nothing new within a session, more in each new one, until a budget refuses."""

import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from psephos.protocol.privacy import Budget
from psephos.scenarios.adversaries.averaging_attacker import count_answers, votes_answered
from psephos.scenarios.adversaries.role import AttackContext, AttackReport
from psephos.scenarios.running.config import Scenario, load_scenario
from psephos.scenarios.running.folder import RunFolder
from psephos.scenarios.running.resolution import resolve
from psephos.scenarios.running.run import run_in_folder

TABLE: dict[str, Any] = {"role": "averaging-attacker", "times": 4, "votes": 3, "secret": "weight", "budget": 4.0}


def scenario_of(*tables: dict[str, Any]) -> Scenario:
    return msgspec.structs.replace(load_scenario("averaging", ["count=6"]), adversary=list(tables))


def context() -> AttackContext:
    return resolve(scenario_of()).context(seed=1)


@pytest.fixture(scope="module")
def attack_report(tmp_path_factory: pytest.TempPathFactory) -> AttackReport:
    folder: Path = tmp_path_factory.mktemp("averaging-attacker")
    finished = run_in_folder(resolve(scenario_of(TABLE)), RunFolder(folder / "run"), pictures=False)
    (attack_report,) = finished.attack_reports
    return attack_report


def test_asked_again_in_one_session_clients_send_the_same_bytes_and_pay_once(tmp_path: Path) -> None:
    plain = run_in_folder(resolve(scenario_of()), RunFolder(tmp_path / "plain"), pictures=False)
    asked = run_in_folder(resolve(scenario_of(TABLE)), RunFolder(tmp_path / "asked"), pictures=False)
    answers = count_answers(asked.record.views)
    assert answers.requests == 6 * 2 * 5  # parties, phases, and each request and its four repetitions
    assert answers.distinct == 6 * 2
    assert asked.record.outcome == plain.record.outcome
    assert list(asked.record.entries) == list(plain.record.entries)


def test_success_follows_the_law_of_randomized_response_and_stays_below_its_bound(attack_report: AttackReport) -> None:
    # One report of three weights, each as likely: the likeliest is the reported one, p = e^ε/(e^ε + 2), ε = 1/2.
    one = attack_report.rows[0]
    keep = math.exp(0.5) / (math.exp(0.5) + 2)
    assert one["success"] == pytest.approx(keep, rel=1e-12)
    assert one["proven bound"] == pytest.approx(keep, rel=1e-12)  # which this mechanism attains
    for row in attack_report.rows:
        assert float(row["success"]) <= float(row["proven bound"]) + 1e-12
    again, *fresh = [float(row["success"]) for row in attack_report.rows[:4]]
    assert fresh[2] > fresh[0]
    assert again == fresh[0]


def test_a_budget_stops_the_answers_and_what_is_known_with_them(attack_report: AttackReport) -> None:
    # A session costs 1/2 + 3 · 1/2 = 2, and 4 are allowed.
    second, _, held = attack_report.rows[2:5]
    assert held["asked"] == "3 sessions, of which a budget allows 2"
    assert held["success"] == second["success"]
    assert "refuses from session 3 on" in " ".join(attack_report.sentences)


def test_weights_that_are_collected_for_each_candidate_cost_as_the_paper_adds_up(attack_report: AttackReport) -> None:
    text = " ".join(attack_report.sentences)
    assert "3 · (0.5 + 0.5) = 3" in text
    assert "0.5 + 3 · 0.5 = 2" in text
    once, each = attack_report.rows[-2:]
    assert float(each["epsilon"]) == pytest.approx(3 * float(once["epsilon"]))


@pytest.mark.parametrize(("budget", "answered"), [(None, 5), (10.0, 5), (9.9, 4), (2.0, 1), (1.9, 0)])
def test_a_ledger_answers_as_many_votes_as_its_budget_holds(budget: float | None, answered: int) -> None:
    losses = context().protocol.losses  # 2 in all
    allowed = None if budget is None else Budget(epsilon=budget)
    assert votes_answered(losses, budget=allowed, votes=5) == answered


@pytest.fixture(scope="module")
def of_game(tmp_path_factory: pytest.TempPathFactory) -> AttackReport:
    folder: Path = tmp_path_factory.mktemp("game")
    scenario = load_scenario("averaging", ["count=6", "parameters.game=board"])
    scenario = msgspec.structs.replace(scenario, adversary=[TABLE])
    (attack_report,) = run_in_folder(resolve(scenario), RunFolder(folder / "run"), pictures=False).attack_reports
    return attack_report


def test_votes_of_a_game_teach_no_more_of_a_weight_than_the_first(
    of_game: AttackReport, attack_report: AttackReport
) -> None:
    keep = math.exp(0.5) / (math.exp(0.5) + 2)
    for row in of_game.rows[1:4]:
        assert (row["success"], row["proven bound"]) == pytest.approx((keep, keep), rel=1e-12)
    bits = attack_report.rows[0]["bits"]
    rows = [row for row in of_game.rows if "session" in str(row["asked"])]
    assert {row["epsilon"] for row in rows} == {0.5}
    assert [float(row["bits"]) for row in rows] == pytest.approx([float(bits)] * len(rows), rel=1e-9)
    text = " ".join(of_game.sentences)
    assert "but for the reports of phase 'weights' (game 'board'), which are repeated as they are" in text
    assert "One session's proven loss of it is 0.5, that of all 0.5" in text


def test_a_budget_holds_for_more_votes_of_a_game(of_game: AttackReport) -> None:
    # The first costs 1/2 + 3 · 1/2 = 2 and each other 3/2, where 4 are allowed.
    assert "refuses from session 3 on" in " ".join(of_game.sentences)
    protocol = resolve(load_scenario("averaging", ["count=6", "parameters.game=board"])).protocol
    again = [loss for phase in protocol.phases[1:] for loss in phase.losses]
    for budget, answered, of_others in ((2.0, 1, 1), (5.0, 3, 2), (6.5, 4, 3)):
        own = Budget(epsilon=budget)
        assert votes_answered(protocol.losses, budget=own, votes=9, repeated_losses=again) == answered
        assert votes_answered(protocol.losses, budget=own, votes=9) == of_others
