"""Selective abort: a quorum stops it; without one the target has its own noise, which its ledger charges for."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from psephos.protocol import ConfigurationError, QuorumError
from psephos.protocol.messages import Report
from psephos.protocol.tally import Tally
from psephos.scenarios import read_ledger
from psephos.scenarios.adversaries import SessionTrace
from psephos.scenarios.running.resolution import Local
from runs import read_json

Configuration = Callable[..., Local]
Play = Callable[..., Any]


def abort(**keys: Any) -> dict[str, Any]:
    return {"role": "selective-abort", "target": "partner-2", "trials": 10, **keys}


@pytest.mark.parametrize("transport", ["memory", "tcp"])
def test_without_a_quorum_the_target_alone_is_counted_and_loses_what_its_ledger_says(
    play: Play, transport: str
) -> None:
    played = play("dpwevote", abort(), transport=transport, settings=["quorum=1"])
    (attack_report,) = played.attack_reports
    assert "ended with 1 of 4 parties counted" in attack_report.sentences[0]
    assert attack_report.sentences[0].endswith("3 were cut off, and know it.")
    crowd, alone, server = attack_report.rows
    assert [row["the target"] for row in attack_report.rows] == ["in the crowd", "isolated", "the server itself"]
    assert alone["bits"] == pytest.approx(server["bits"])
    assert crowd["bits"] < alone["bits"]
    entries = read_ledger(played.folder)
    assert {entry.person for entry in entries} == {"partner-2"}
    assert sum(entry.proven for entry in entries) == pytest.approx(1.0)
    assert "its ε = 1 allows 0.353" in attack_report.sentences[-1]


@pytest.mark.parametrize(
    ("counted", "told"),
    [
        ([2, 1], "ended with 1 of 4 parties counted; 3 reported in vain, and do not know it."),
        ([4, 4], "ended with 4 of 4 parties counted; nobody was dropped."),
        ([], "The session came to no end, and nothing was published."),
    ],
)
def test_whose_reports_are_thrown_away_is_not_told(configuration: Configuration, counted: list[int], told: str) -> None:
    resolved = configuration("dpwevote", abort(hangs_up=False, trials=1))
    (role,) = resolved.adversaries
    tallies = [Tally(number, np.zeros(1, dtype=np.int64)) for number in counted]
    attack_report = role.learn(resolved.context(seed=1), SessionTrace(tallies=tallies))
    assert attack_report.sentences[0].endswith(told)
    (deviation,) = role.deviations(resolved.context(seed=1)).values()
    report = Report(0, msgspec.Raw(b"\x91\x00"))
    assert deviation.incoming("partner-1", report).inward == ()
    assert deviation.incoming("partner-2", report).inward == (report,)


def test_a_quorum_holds_and_names_who_is_missing(play: Play) -> None:
    played = play("dpwevote", abort(members=["partner-4"]), settings=["quorum=1.0"])
    assert isinstance(played.failure, QuorumError)
    (attack_report,) = played.attack_reports
    assert attack_report.who == "a server that drops all but partner-2 and 1 accomplice"
    assert attack_report.sentences[0].startswith("The quorum held: phase 'weights' had ")
    assert " of 4 reports" in attack_report.sentences[0]
    assert "Nothing was published" in attack_report.sentences[0]
    (written,) = read_json(played.folder / "adversaries.json")
    assert written["sentences"] == list(attack_report.sentences)
    assert (played.folder / "adversary-1.csv").is_file()
    assert "failure" in read_json(played.folder / "run.json")


def test_what_cannot_be_computed_is_said_before_anything_runs(configuration: Configuration) -> None:
    with pytest.raises(ConfigurationError, match="of Laplace noise"):
        configuration("dpwevote", abort(), settings=["variant=laplace"])
