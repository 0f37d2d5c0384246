"""Sybils: which names get a seat in a real session, and what seats that are held by right weigh."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from bad_input import Psephos
from psephos.protocol.messages import NOT_ADMITTED
from psephos.scenarios.adversaries.role import AttackContext
from psephos.scenarios.adversaries.sybils import rehearse
from psephos.scenarios.attacks.extreme_reports import ExtremeReports
from psephos.scenarios.running.config import Scenario, load_scenario
from psephos.scenarios.running.folder import RunFolder
from psephos.scenarios.running.resolution import resolve
from psephos.scenarios.running.run import run_in_folder


def scenario_of(*tables: dict[str, Any], transport: str = "memory") -> Scenario:
    scenario = load_scenario("consortium", ["count=9", f"transport={transport}"])
    return msgspec.structs.replace(scenario, adversary=list(tables))


def context() -> AttackContext:
    return resolve(scenario_of()).context(seed=1)


@pytest.mark.parametrize("transport", ["memory", "tcp"])
def test_a_session_refuses_outsiders_and_names_that_are_taken_and_its_outcome_is_the_same(
    tmp_path: Path, transport: str
) -> None:
    table = {"role": "sybils", "outsiders": 2, "impersonated": ["partner-9", "partner-3"]}
    plain = run_in_folder(resolve(scenario_of()), RunFolder(tmp_path / "plain"), pictures=False)
    tried = resolve(scenario_of(table, transport=transport))
    finished = run_in_folder(tried, RunFolder(tmp_path / "tried"), pictures=False)
    assert finished.record.outcome == plain.record.outcome
    assert not finished.record.endings
    (attack_report,) = finished.attack_reports
    outside, taken = attack_report.rows[:2]
    assert (outside["tried"], outside["welcomed"]) == (2, 0)
    assert outside["the server says"] == NOT_ADMITTED
    assert (taken["tried"], taken["welcomed"]) == (2, 0)
    assert "has joined before" in str(taken["the server says"])


def test_a_key_keeps_a_seat_for_its_owner() -> None:
    found = rehearse(context(), "partner-4", has_certificates=True)
    assert (found.impostor_is_welcome, found.owner_is_welcome) == (False, True)
    assert found.reason == NOT_ADMITTED


def test_without_certificates_whoever_speaks_first_has_the_seat() -> None:
    found = rehearse(context(), "partner-4", has_certificates=False)
    assert (found.impostor_is_welcome, found.owner_is_welcome) == (True, False)
    assert "has joined before" in found.reason


def test_names_that_one_person_holds_by_right_weigh_their_share_and_nothing_detects_them(tmp_path: Path) -> None:
    table = {"role": "sybils", "members": ["partner-1..3"]}
    finished = run_in_folder(resolve(scenario_of(table)), RunFolder(tmp_path / "run"), pictures=False)
    (attack_report,) = finished.attack_reports
    text = " ".join(attack_report.sentences)
    assert "33.3%" in text  # 3 of 9
    context = resolve(scenario_of(table)).context(seed=scenario_of().seed or 0)
    session = ExtremeReports(context.protocol, context.inputs, context.noise())
    assert f"their reports move it by {session.spread(np.arange(3)):.4g}" in text
    assert not finished.record.endings


def test_a_shift_of_what_has_no_error_is_told_without_one(psephos: Psephos) -> None:
    """Of a decision alone it was said to be infinitely many standard errors."""
    settings = ("variant=central", "release=decision", "epsilon=20")
    given = [word for setting in settings for word in ("--set", setting)]
    ended = psephos("run", "sybil", *given, "--no-pictures", "--no-report", "--out", "out", "--verbose")
    said = " ".join(ended.out.split())
    assert "Without them it is 0, with their reports 1. That is a shift of 1 from what they had drawn" in said
