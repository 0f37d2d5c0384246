"""Who was told something else has another transcript; nobody pays more, and no report changes."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from deviants import NAMES, TRANSPORTS, Meeting, meet
from psephos.agents.adversaries import SERVER, Equivocator
from psephos.protocol.dpwevote import Outcome
from psephos.transports import Transport


def false_quota(phase: int, published: object) -> object:
    if phase == 0:
        return published
    plain = cast("dict[str, Any]", published)
    return {**plain, "quota": {**plain["quota"], "value": 99.0}}


def other_winner(outcome: object) -> object:
    plain = cast("dict[str, Any]", outcome)
    return {**plain, "candidates": [{**each, "passed": not each["passed"]} for each in plain["candidates"]]}


def check_transcripts(meeting: Meeting, *, misled: str) -> None:
    """Check that all have the server's transcript, but for who was misled."""
    theirs = meeting.transcripts
    assert {name for name in NAMES if theirs[name] == theirs[SERVER]} == set(NAMES) - {misled}
    assert None not in theirs.values()


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_an_honest_session_has_one_transcript(make_transport: Callable[[], Transport]) -> None:
    meeting = await meet(make_transport())
    assert meeting.result is not None
    assert set(meeting.transcripts.values()) == {meeting.result.transcript}
    assert len(meeting.result.transcript) == 64


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_another_release_shows_in_the_transcript(make_transport: Callable[[], Transport]) -> None:
    meeting = await meet(make_transport(), {SERVER: Equivocator(["bob"], release=other_winner)})
    told = meeting.endings["bob"]
    assert isinstance(told, Outcome)
    assert set(told.winners) == {"bridge", "tunnel"} - set(meeting.outcome.winners)
    check_transcripts(meeting, misled="bob")


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_another_request_shows_in_the_transcript_and_changes_no_report(
    make_transport: Callable[[], Transport],
) -> None:
    honest = await meet(make_transport())
    meeting = await meet(make_transport(), {SERVER: Equivocator(["cid"], request=false_quota)})
    check_transcripts(meeting, misled="cid")
    assert meeting.outcome == honest.outcome
    assert meeting.entries == honest.entries


async def test_who_is_not_misled_is_told_the_truth() -> None:
    meeting = await meet(TRANSPORTS[0](), {SERVER: Equivocator([], request=false_quota, release=other_winner)})
    assert len(set(meeting.transcripts.values())) == 1
