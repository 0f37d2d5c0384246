"""Pending connections: who has not said Hello has a place for a while, and gives way where there is none."""

# ruff: noqa: ARG001  a clock acts by being asked for

from collections.abc import Callable, Mapping, Sequence

import pytest
import trio
import trio.testing
from peers import WITH_LOBBY, hello, make_client, open_session, simulation
from psephos.agents.pending import GREETING_SECONDS, PendingConnections, Places, UnlimitedPlaces
from psephos.protocol.messages import MAX_GREETING_BYTES
from psephos.protocol.rules import SessionRules
from psephos.transports import Channel, Transport


class Visitor(Channel):
    """A channel of which the pending sees the address, the limit and the end."""

    def __init__(self, peer: str) -> None:
        self._peer = peer
        self.limit = 0
        self.is_closed = False

    @property
    def peer(self) -> str:
        return self._peer

    def limit_payloads(self, max_payload_bytes: int) -> None:
        self.limit = max_payload_bytes

    async def send(self, payloads: Sequence[bytes]) -> None:
        raise AssertionError(payloads)

    def send_nowait(self, payload: bytes) -> None:
        raise AssertionError(payload)

    async def receive(self) -> list[bytes]:
        raise AssertionError

    def close(self) -> None:
        self.is_closed = True


def visitors(*peers: str) -> list[Visitor]:
    return [Visitor(peer) for peer in peers]


def nowhere(refused: Mapping[str, int]) -> None:
    """Tell nobody."""


async def test_the_oldest_of_an_address_gives_way_to_the_next_of_the_same() -> None:
    pending = PendingConnections(Places(in_all=10, of_address=2), tell=nowhere)
    first, other, second, third = visitors("10.0.0.1:1", "10.0.0.2:1", "10.0.0.1:2", "10.0.0.1:3")
    for visitor in (first, other, second, third):
        pending.enter(visitor)
        assert visitor.limit == MAX_GREETING_BYTES
    assert [visitor.is_closed for visitor in (first, other, second, third)] == [True, False, False, False]
    assert (len(pending), pending.refused) == (3, {"evicted": 1})


async def test_the_oldest_of_all_gives_way_where_there_are_too_many() -> None:
    pending = PendingConnections(Places(in_all=3, of_address=2), tell=nowhere)
    came = visitors(*(f"10.0.0.{host}:1" for host in range(5)))
    for visitor in came:
        pending.enter(visitor)
    assert [visitor.is_closed for visitor in came] == [True, True, False, False, False]


async def test_who_has_left_holds_no_place() -> None:
    pending = PendingConnections(Places(in_all=2, of_address=1), tell=nowhere)
    first, second = visitors("10.0.0.1:1", "10.0.0.1:2")
    pending.enter(first)
    pending.leave(first)
    pending.leave(first)
    pending.enter(second)
    assert not first.is_closed
    assert (len(pending), pending.refused) == (1, {})


async def test_who_is_recognized_has_a_place_of_its_own_and_as_much_time(
    autojump_clock: trio.testing.MockClock,
) -> None:
    pending = PendingConnections(Places(in_all=2, of_address=2), tell=nowhere)
    ann, impostor, *others = visitors(*["10.0.0.1:1"] * 6)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pending.close_silent)
        pending.enter(ann)
        pending.recognize(ann, "ann")
        pending.enter(impostor)
        pending.recognize(impostor, "ann")
        for visitor in others:
            pending.enter(visitor)
        assert [visitor.is_closed for visitor in (ann, impostor, *others)] == [False, True, True, True, False, False]
        await trio.sleep(GREETING_SECONDS + 1)
        assert ann.is_closed
        nursery.cancel_scope.cancel()
    assert (len(pending), pending.refused) == (0, {"evicted": 3, "silent": 3})
    again = Visitor("10.0.0.1:1")
    pending.enter(again)
    pending.recognize(again, "ann")
    pending.leave(again)
    pending.recognize(again, "ann")
    assert (len(pending), again.is_closed) == (0, False)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("10.0.0.1:5", "10.0.0.1:6", True),
        ("10.0.0.1:5", "10.0.0.2:5", False),
        ("[::ffff:10.0.0.1]:5", "10.0.0.1:6", True),
        ("[2001:db8::1]:5", "[2001:db8::ffff:0:1]:5", True),
        ("[2001:db8::1]:5", "[2001:db8:0:1::1]:5", False),
        ("[fe80::1%eth0]:5", "[fe80::2%eth0]:6", True),
        ("memory-1#1", "memory-1#2", False),
        ("unknown", "unknown", True),
    ],
)
async def test_connections_count_together_by_host_or_by_network_of_ipv6(one: str, other: str, *, is_same: bool) -> None:
    pending = PendingConnections(Places(in_all=9, of_address=1), tell=nowhere)
    first, second = visitors(one, other)
    pending.enter(first)
    pending.enter(second)
    assert first.is_closed == is_same


@pytest.mark.parametrize(
    ("num_parties", "most", "expected"),
    [
        (1, None, (512, 256)),
        (50, None, (512, 256)),
        (1000, None, (2000, 1000)),
        (1000, 300, (300, 300)),
        (3, 40, (40, 40)),
    ],
)
def test_there_is_room_for_a_roster_that_comes_at_once(
    num_parties: int, most: int | None, expected: tuple[int, int]
) -> None:
    places = Places.make_for_roster(num_parties, most=most)
    assert (places.in_all, places.of_address) == expected


async def test_each_connection_has_the_same_time(autojump_clock: trio.testing.MockClock) -> None:
    pending = PendingConnections(Places(in_all=9, of_address=9), tell=nowhere)
    came = visitors("10.0.0.1:1", "10.0.0.1:2")
    closed: list[float] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pending.close_silent)
        await trio.sleep(3)
        for visitor in came:
            pending.enter(visitor)
            await trio.sleep(4)
        for visitor in came:
            while not visitor.is_closed:  # noqa: ASYNC110  what is closed sets no event
                await trio.sleep(0.25)
            closed.append(trio.current_time())
        nursery.cancel_scope.cancel()
    start = closed[0] - 3 - GREETING_SECONDS
    assert [time - start for time in closed] == pytest.approx([3 + GREETING_SECONDS, 7 + GREETING_SECONDS], abs=0.3)
    assert pending.refused == {"silent": 2}


async def test_places_without_a_number_are_for_whoever_comes(autojump_clock: trio.testing.MockClock) -> None:
    pending = PendingConnections(UnlimitedPlaces(), tell=nowhere)
    came = visitors(*["10.0.0.1:1"] * 500)
    for visitor in came:
        pending.enter(visitor)
    with trio.move_on_after(10 * GREETING_SECONDS):
        await pending.close_silent()
    assert not any(visitor.is_closed for visitor in came)
    assert came[0].limit == MAX_GREETING_BYTES


# A server with a pending


@pytest.mark.parametrize("make_transport", WITH_LOBBY)
async def test_parties_that_come_after_a_crowd_of_silent_strangers_decide(
    make_transport: Callable[[], Transport], clock: trio.testing.MockClock
) -> None:
    mode = simulation()
    async with open_session(make_transport(), SessionRules(deadline_seconds=30.0, quorum=2), mode=mode) as session:
        crowd = [await session.connect() for _ in range(700)]
        for name in ("alice", "bob"):
            session.nursery.start_soon(session.take_part, name, make_client(name, mode))
        async with await session.connect() as carol:
            await carol.send([hello("carol")])
        for stranger in crowd:
            await stranger.aclose()
    session.assert_two_have_decided(2, 2)
    assert session.server.refusals["evicted"] >= 700 - 512  # some may have been silent for too long as well
