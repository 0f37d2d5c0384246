"""Coalitions: the same lesson on every path, bounds beside what was learnt, and what cannot be asked."""

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import numpy as np
import pytest
from psephos.protocol import ConfigurationError, QuorumError
from psephos.protocol.arrays import IntArray
from psephos.scenarios.adversaries import AttackReport
from psephos.scenarios.adversaries import coalition as coalition_module
from psephos.scenarios.adversaries.trials import try_coalition
from psephos.scenarios.attacks import Attack, CoalitionView, Evaluation, Posteriors
from psephos.scenarios.presentation import attack_report_to_dict
from psephos.scenarios.running.resolution import Local
from runs import read_json

Configuration = Callable[..., Local]
Play = Callable[..., Any]

WEIGHT = "weight"
FIRST = {
    "dpwevote": "partner-1",
    "truth-discovery": "w1",
    "moral-preferences": "voter 000000001",
    "fair-voting": "voter-1",
}


def coalition(*members: str, **keys: Any) -> dict[str, Any]:
    return {"role": "coalition", "members": list(members), **keys}


@pytest.fixture
def few_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a coalition without the server be tried on five made-up targets, where how well it does is not the point."""
    monkeypatch.setattr(coalition_module, "try_coalition", functools.partial(try_coalition, num_targets=5))


@pytest.mark.few(most=1)
@pytest.mark.usefixtures("few_trials")
@pytest.mark.parametrize("protocol", list(FIRST))
def test_a_lesson_is_the_same_by_arrays_in_memory_and_over_sockets(play: Play, protocol: str) -> None:
    tables = [coalition(FIRST[protocol]), coalition("server", FIRST[protocol])]
    attack_reports: list[Any] = []
    for transport in ("array", "memory", "tcp"):
        played = play(protocol, *tables, transport=transport)
        attack_reports.append([attack_report_to_dict(attack_report) for attack_report in played.attack_reports])
        assert read_json(played.folder / "adversaries.json") == attack_reports[-1]
    assert attack_reports[0] == attack_reports[1] == attack_reports[2]
    alone, with_server = attack_reports[0]
    assert alone["rows"] != with_server["rows"]


def test_what_a_server_has_is_told_with_its_bounds(play: Play) -> None:
    (attack_report,) = play("dpwevote", coalition("server", target="partner-1"), transport="array").attack_reports
    half = math.exp(0.5)
    success = half / (half + 2) * half / (half + 1)
    assert attack_report.who == "the cloud server"
    assert "sees every report" in attack_report.trust
    assert "4 of 4 partners are honest" in attack_report.trust
    told = " ".join(attack_report.sentences)
    assert f"It guesses the weight and opinions right {100 * success:.1f} % of the time (exact);" in told
    assert "moved the odds of two answers by e^1.000 at most; the proven bound is e^1." in told
    assert "No attack can do better than 35.3 %" in told  # e/(e + 5) is 0.3522
    (row,) = attack_report.rows
    assert row["target"] == "partner-1"
    assert row["probability"] == pytest.approx(success)


def test_a_trusted_server_knows_and_nothing_bounds_it(play: Play) -> None:
    (attack_report,) = play("central", coalition("server", target="voter 000000001"), transport="array").attack_reports
    assert "every value as it is, since this protocol trusts its server" in attack_report.trust
    assert attack_report.sentences[-1].startswith("No privacy loss is proven against this coalition")
    assert attack_report.rows[0]["guess"] == attack_report.rows[0]["truth"]


@pytest.mark.parametrize("whose", ["made-up targets", "the session's", "nobody's"])
def test_a_ledger_is_refuted_by_whatever_exact_evidence_passes_it(
    whose: str, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By that of the session, and by that of targets that are tried: the one is no excuse for the other."""
    beyond, posteriors_of = 1 + 1e-6, Attack.posteriors  # the proven loss is 1

    def posteriors(self: Attack, sessions: Sequence[CoalitionView], targets: IntArray, **given: Any) -> Posteriors:
        found = posteriors_of(self, sessions, targets, **given)
        ratios = np.full(len(found.log_odds_ratios), beyond if whose == "the session's" else 0.5)
        return dataclasses.replace(found, log_odds_ratios=ratios)

    def tried(*given: Any, **more: Any) -> Evaluation:
        ratio = beyond if whose == "made-up targets" else 0.5
        return dataclasses.replace(try_coalition(*given, **more), greatest_log_odds_ratio=ratio)

    monkeypatch.setattr(Attack, "posteriors", posteriors)
    monkeypatch.setattr(coalition_module, "try_coalition", tried)
    for is_exact in (True, False):
        monkeypatch.setattr(Attack, "is_exact", mock.Mock(return_value=is_exact))
        (attack_report,) = play("dpwevote", coalition("server", target="partner-1"), transport="array").attack_reports
        told = " ".join(attack_report.sentences)
        assert attack_report.refutes_ledger is (is_exact and whose != "nobody's")
        assert ("This ledger is refuted" in told) is attack_report.refutes_ledger
        assert ("too bold" in told) is (not is_exact and whose != "nobody's")


def test_an_approximation_that_passes_the_proven_bound_says_that_it_is_one(play: Play) -> None:
    (attack_report,) = play("moral-preferences", coalition("voter 000000002"), transport="array").attack_reports
    (sentence,) = [sentence for sentence in attack_report.sentences if "moved the odds" in sentence]
    assert "It approximates" in sentence
    assert "too bold, for e^1 is proven" in sentence


def test_more_votes_tell_more_and_allow_more(play: Play) -> None:
    once, often = (
        play("dpwevote", coalition("server", target="partner-1", votes=votes), transport="array").attack_reports[0]
        for votes in (1, 3)
    )
    assert "After 3 votes" in often.sentences[0]
    right = [float(re.findall(r"right ([0-9.]+)", each.sentences[0])[0]) for each in (once, often)]
    assert right[1] > right[0] + 5
    assert "the proven bound is e^3" in " ".join(often.sentences)


@pytest.mark.parametrize("prior", [{"1": 0.2, "3": 0.8}, [0.2, 0.0, 0.8]])
def test_a_prior_is_named_by_label_or_in_order(play: Play, prior: object) -> None:
    table = coalition("server", target="partner-1", secret=WEIGHT, prior=prior)
    (attack_report,) = play("dpwevote", table, transport="array").attack_reports
    assert attack_report.rows[0]["guess"] == "3"
    assert "blind guessing: 80.0 %" in attack_report.sentences[0]


def test_whoever_is_no_member_is_a_target_unless_one_is_named(play: Play) -> None:
    (attack_report,) = play("dpwevote", coalition("server", "partner-2"), transport="array").attack_reports
    assert [row["target"] for row in attack_report.rows] == ["partner-1", "partner-3", "partner-4"]
    assert attack_report.who == "the cloud server and 1 partner"


def test_what_nobody_may_be_shown_does_not_stand_beside_a_guess(play: Play, configuration: Configuration) -> None:
    (candidate,) = configuration("dpwevote").protocol.parameters.candidates
    real = f"partners=[{{partner='ann', weight=1, '{candidate}'=1}}, {{partner='bob', weight=3, '{candidate}'=0}}]"
    for settings, is_shown in ([], False), (["synthetic=true"], True):
        (attack_report,) = play(
            "dpwevote", coalition("server"), transport="array", settings=settings, parties=real
        ).attack_reports
        assert [row["target"] for row in attack_report.rows] == ["ann", "bob"]
        assert all(("truth" in row) is is_shown for row in attack_report.rows)


@pytest.mark.usefixtures("few_trials")
def test_who_left_is_no_member_of_the_tallies_and_no_target_either(play: Play) -> None:
    leaver = {"role": "drop-out", "members": ["partner-1"]}
    others = ["partner-1", "partner-2", "partner-3"]
    tables = [coalition(*others), coalition("server", *others)]
    tables += [coalition("partner-2..4"), coalition("server", "partner-2..4")]
    played = play("dpwevote", leaver, *tables, settings=["quorum=1"])
    _, *attack_reports = played.attack_reports
    first, with_server, second, again = (attack_report.rows[0]["probability"] for attack_report in attack_reports)
    assert first == pytest.approx(with_server, rel=1e-9)  # partner-4, by tallies that lack partner-1's opinion
    assert second == pytest.approx(again, rel=1e-9)  # partner-1, of whom a weight alone is there
    assert second != pytest.approx(first)


@pytest.mark.usefixtures("few_trials")
def test_a_session_that_fails_tells_what_members_saw_before(play: Play) -> None:
    leaver = {"role": "drop-out", "members": ["partner-1"]}
    played = play("dpwevote", leaver, coalition("server", target="partner-1"), coalition("partner-2..4"))
    assert isinstance(played.failure, QuorumError)
    _, of_server, of_others = played.attack_reports
    assert of_server.rows[0]["probability"] > 1 / 6 + 0.01  # the weight was reported
    assert of_others.rows[0]["probability"] == pytest.approx(1 / 6)  # nothing was published
    assert len(read_json(played.folder / "adversaries.json")) == 3


def test_what_so_few_cannot_compute_is_said_before_anything_runs(configuration: Configuration) -> None:
    with pytest.raises(ConfigurationError, match="of Laplace noise tell of one among several is not computed"):
        configuration("dpwevote", coalition("partner-1"), settings=["variant=laplace"])


def test_a_long_list_of_targets_is_told_in_part(play: Play) -> None:
    attack_reports: Sequence[AttackReport] = play(
        "dpwevote", coalition("server"), transport="array", parties="partners.count=40"
    ).attack_reports
    assert [len(attack_report.rows) for attack_report in attack_reports] == [12]
