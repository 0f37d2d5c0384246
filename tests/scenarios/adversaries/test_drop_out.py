"""Leavers: the vote goes on without them, or the quorum names them; they paid for what they reported, and no more."""

from collections.abc import Callable
from typing import Any

import pytest
from psephos.protocol import QuorumError

Play = Callable[..., Any]


def leaver(*members: str, **keys: Any) -> dict[str, Any]:
    return {"role": "drop-out", "members": list(members), **keys}


@pytest.mark.parametrize(("phase", "paid", "epsilon"), [("", 1, 0.5), ("opinions", 1, 0.5), ("weights", 0, 0.0)])
def test_the_vote_goes_on_without_who_leaves(play: Play, phase: str, paid: int, epsilon: float) -> None:
    played = play("dpwevote", leaver("partner-1", "partner-3", phase=phase), settings=["quorum=2"])
    (attack_report,) = played.attack_reports
    assert played.failure is None
    assert "The vote went on without 2 of 4" in attack_report.sentences[0]
    for row, name in zip(attack_report.rows, ("partner-1", "partner-3"), strict=True):
        assert row == {"party": name, "left": "yes", "phases paid": paid, "ε paid": epsilon}


def test_a_quorum_ends_the_session_and_names_who_left(play: Play) -> None:
    played = play("dpwevote", leaver("partner-4"))
    assert isinstance(played.failure, QuorumError)
    assert played.failure.missing == ("partner-4",)
    assert (
        "phase 'opinions' had 3 of 4 reports, the session ended, and 1 are named"
        in played.attack_reports[0].sentences[0]
    )


@pytest.mark.few(most=3)
@pytest.mark.parametrize(
    ("keys", "has_left"),
    [
        ({"number": "quota.value", "above": -1e9}, True),
        ({"number": "quota.value", "below": 1e9}, True),
        ({"number": "quota.value", "above": 1e9}, False),
        ({"number": "quota.value", "below": -1e9}, False),
        ({"number": "quota.nothing", "above": -1e9}, False),
        ({"number": "quota", "above": -1e9}, False),
        ({"number": "quota.value.deeper", "above": -1e9}, False),
    ],
)
def test_who_does_not_mind_what_was_published_stays(play: Play, keys: dict[str, Any], *, has_left: bool) -> None:
    (attack_report,) = play("dpwevote", leaver("partner-1", **keys), settings=["quorum=2"]).attack_reports
    assert (attack_report.rows[0]["left"], attack_report.rows[0]["phases paid"]) == (
        ("yes", 1) if has_left else ("no", 2)
    )
    assert ("What was published did not make them leave." in attack_report.sentences) is not has_left
