"""A server that drops clients meets its own quorum; without one, nobody pays more than the ledger says."""

# ruff: noqa: ARG001  a clock acts by being asked for

from collections.abc import Callable

import pytest
import trio.testing
from deviants import NAMES, TRANSPORTS, meet
from psephos.agents.adversaries import SERVER, Dropper
from psephos.protocol.errors import SessionAborted
from psephos.transports import Transport


@pytest.mark.parametrize("make_transport", TRANSPORTS)
@pytest.mark.parametrize("hangs_up", [True, False])
async def test_without_a_quorum_one_is_isolated_at_the_price_that_was_agreed_to(
    make_transport: Callable[[], Transport], clock: trio.testing.MockClock, *, hangs_up: bool
) -> None:
    honest = await meet(make_transport())
    meeting = await meet(make_transport(), {SERVER: Dropper(["ann"], hangs_up=hangs_up)}, quorum=1)
    assert meeting.outcome.num_partners == 1
    assert meeting.endings["ann"] == meeting.outcome
    assert meeting.entries["ann"] == honest.entries["ann"]
    for name in ("bob", "cid"):
        assert meeting.paid(name) <= honest.paid(name)
        assert isinstance(meeting.endings[name], SessionAborted) is hangs_up


async def test_a_phase_before_is_tallied_of_all(clock: trio.testing.MockClock) -> None:
    meeting = await meet(TRANSPORTS[0](), {SERVER: Dropper(["ann"], step=1)}, quorum=1)
    assert meeting.result is not None
    assert meeting.result.num_received == (len(NAMES), 1)
