"""Replayers: a report counts once, however often it comes; another after it ends its sender alone."""

from collections.abc import Callable
from typing import Any

import pytest

Play = Callable[..., Any]


def replayer(*members: str, **keys: Any) -> dict[str, Any]:
    return {"role": "replayer", "members": list(members), **keys}


@pytest.mark.few
@pytest.mark.bad_input("the same report again")
@pytest.mark.parametrize("times", [0, 3, 100])
@pytest.mark.parametrize("transport", ["memory", "tcp"])
def test_the_same_report_again_changes_nothing(play: Play, times: int, transport: str) -> None:
    honest = play("dpwevote", transport="array")
    played = play("dpwevote", replayer("partner-1", "partner-2", times=times), transport=transport)
    assert (played.folder / "result.json").read_bytes() == (honest.folder / "result.json").read_bytes()
    (attack_report,) = played.attack_reports
    assert [row["parties counted"] for row in attack_report.rows] == [4, 4]
    assert [row["sent by the replayers"] for row in attack_report.rows] == [2 * (1 + times)] * 2
    assert attack_report.sentences[0] == "Of 4 parties 4 were counted, nobody twice."
    assert "what a retransmission looks like" in attack_report.sentences[1]


def test_another_report_ends_its_sender_and_the_first_stands(play: Play) -> None:
    keys: dict[str, Any] = {"altered": True, "times": 0}
    altering = [f"partner-{n}" for n in range(1, 5)]
    played = play("dpwevote", replayer(*altering, **keys), settings=["quorum=1"], parties="partners.count=40")
    (attack_report,) = played.attack_reports
    counted = [row["parties counted"] for row in attack_report.rows]
    assert counted[0] == 40  # the first report of each stands
    assert 36 <= counted[1] < 40  # whose weight was drawn as the least sends the same twice, and stays for a phase
    assert (
        "sent a report that differs from the first, which stands; its sender was dropped" in attack_report.sentences[1]
    )


def test_who_is_dropped_where_all_are_needed_ends_the_session(play: Play) -> None:
    everybody = [f"partner-{n}" for n in range(1, 5)]
    played = play("dpwevote", replayer(*everybody, altered=True))
    assert played.failure is not None
    assert played.attack_reports[0].sentences[-1] == f"The session came to no end: {played.failure}."
    assert played.attack_reports[0].rows == ()
