"""The network observer: sizes as sent tell nothing, in every protocol; sizes that follow numbers would."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from psephos.scenarios.running.resolution import Resolved

Stage = Callable[..., Resolved]
Play = Callable[..., Any]

OBSERVER: dict[str, Any] = {"role": "network-observer"}


@pytest.mark.parametrize("transport", ["memory", "tcp"])
@pytest.mark.parametrize("protocol", ["dpwevote", "truth-discovery", "moral-preferences", "fair-voting", "central"])
def test_what_is_seen_on_the_wire_tells_of_no_value(play: Play, protocol: str, transport: str) -> None:
    (lesson,) = play(protocol, OBSERVER, transport=transport).lessons
    assert lesson.sentences[0].startswith("4 connections were seen")
    assert "no size tells anything of the" in lesson.sentences[1]
    assert all(row["bits as sent"] == pytest.approx(0.0, abs=1e-9) for row in lesson.rows)
    timeline, bits = lesson.figures
    assert [series.name for series in timeline.series] == ["to the server", "to the party"]
    assert all(series.y and len(series.x) == len(series.y) for series in timeline.series)
    assert [series.name for series in bits.series] == ["as sent", "if numbers took as few bytes as they need"]


def test_numbers_as_short_as_can_be_would_tell_of_preferences(play: Play) -> None:
    (lesson,) = play(
        "central", OBSERVER, parties="voters={generator='normal', voters=12, records=20, features=6}"
    ).lessons
    ((row,),) = (lesson.rows,)
    assert row["bytes a number"] > 1
    assert 0.1 < row["bits if compact"] <= math.log2(12)
    assert row["right if compact"] > row["guessing"] + 0.05


def test_a_long_name_is_seen_and_said(play: Play, stage: Stage) -> None:
    (candidate,) = stage("dpwevote").protocol.parameters.candidates
    partners = (
        f"partners=[{{partner='ann', weight=1, '{candidate}'=1}}, {{partner='theodora', weight=2, '{candidate}'=0}}]"
    )
    (lesson,) = play("dpwevote", OBSERVER, parties=partners).lessons
    assert "names have 3 to 8 bytes" in lesson.sentences[1]
    assert "sizes tell who has a long name, and no value" in lesson.sentences[1]
