"""What is sent again is counted once, what is altered ends its sender, and the first report stands."""

from typing import Any

import msgspec
import pytest
from deviants import meet
from helpers import hello, raw
from psephos.agents.adversaries import Replayer
from psephos.protocol.errors import SessionAborted
from psephos.protocol.messages import Message, Report
from psephos.protocol.randomness import SimulatedNoise
from psephos.transports import MemoryTransport

ID = SimulatedNoise(7, session="council").session_id


@pytest.mark.parametrize(
    ("captured", "reason"),
    [
        ([Report(0, raw([2])), Report(0, raw([1]))], "differently; the first stands"),
        ([hello("bob", session="council", session_id=ID)], "'bob' has"),
        ([hello("ann", session="council", session_id=ID)], "has reported"),
        ([hello("ann", session="council", session_id="0" * 32)], "came with the id of another session"),
        ([Report(3, raw([1, 1]))], "sent a Report of phase 3"),
    ],
)
async def test_what_was_captured_speaks_for_nobody_but_its_sender(captured: list[Message], reason: str) -> None:
    replayer = Replayer(times=0, captured={0: captured})
    meeting = await meet(MemoryTransport(), {"ann": replayer}, quorum=2)
    ending = meeting.endings["ann"]
    assert isinstance(ending, SessionAborted)
    assert reason in str(ending)
    assert meeting.result is not None
    assert meeting.result.num_received == (3, 2)
    assert meeting.endings["bob"] == meeting.endings["cid"] == meeting.outcome


def test_what_is_replayed_is_in_no_log() -> None:
    numbers: dict[int, Any] = {0: [4711]}
    replayer = Replayer(altered=numbers, captured={0: [Report(0, msgspec.Raw(b"4712"))]})
    assert "47" not in repr(replayer)
