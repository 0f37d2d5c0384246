"""A client that leaves when it sees an outcome is missing, is named, and biases the vote by its own share at most."""

from collections.abc import Callable
from typing import Any

import pytest
from deviants import TRANSPORTS, meet
from psephos.agents.adversaries import Leaver
from psephos.protocol.errors import QuorumError, SessionAborted
from psephos.transports import MemoryTransport, Transport


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_where_all_are_needed_the_session_ends_and_names_who_left(
    make_transport: Callable[[], Transport],
) -> None:
    meeting = await meet(make_transport(), {"bob": Leaver(1, lambda _: True)})
    assert isinstance(meeting.failure, QuorumError)
    assert (meeting.failure.phase, meeting.failure.missing) == ("opinions", ("bob",))
    for name in ("ann", "cid"):
        ending = meeting.endings[name]
        assert isinstance(ending, QuorumError)
        assert ending.missing == ("bob",)
    assert isinstance(meeting.endings["bob"], SessionAborted)
    assert meeting.paid("bob") == 1.0, "the weight, and no opinion"


async def test_with_a_lower_quorum_the_vote_goes_on_without_it() -> None:
    meeting = await meet(MemoryTransport(), {"bob": Leaver(1, lambda _: True)}, quorum=2)
    assert meeting.result is not None
    assert meeting.result.num_received == (3, 2)
    assert meeting.endings["ann"] == meeting.endings["cid"] == meeting.outcome


async def test_it_stays_where_it_likes_what_it_sees() -> None:
    seen: list[Any] = []

    def leaves_if(outcome: object) -> bool:
        seen.append(outcome)
        return False

    meeting = await meet(MemoryTransport(), {"bob": Leaver(1, leaves_if)})
    assert meeting.outcome == (await meet(MemoryTransport())).outcome
    assert [list(outcome) for outcome in seen] == [["quota", "total_weight", "weight_counts"]]


async def test_the_first_request_shows_nothing() -> None:
    meeting = await meet(MemoryTransport(), {"bob": Leaver(0, lambda outcome: outcome is None)}, quorum=2)
    assert meeting.result is not None
    assert meeting.result.num_received == (2, 2)
    assert meeting.entries["bob"] == []
