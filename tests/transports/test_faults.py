"""A bad network keeps the contract as long as nothing happens, and otherwise does what its seed says."""

import math
from collections.abc import Sequence

import pytest
import trio
import trio.testing
from psephos.protocol import ConfigurationError
from psephos.transports import Channel, MemoryTransport, TCPTransport
from psephos.transports.faults import CALM, Fate, Faults, FaultyTransport, Weather, seeded_weather
from psephos.transports.testing import check_transport
from thoroughness import draws

# ruff: noqa: ARG001  a clock acts by being asked for

IN_MEMORY = 1 << 19
"""Bytes that are more than a channel in memory holds."""


def calm(_connection: int, _is_upstream: bool, _number: int) -> Fate:  # noqa: FBT001  as `Weather`
    return CALM


@pytest.mark.parametrize(
    ("inner", "flood_bytes"),
    [
        (MemoryTransport, IN_MEMORY),
        pytest.param(TCPTransport, 1 << 25, marks=pytest.mark.full("floods, as the transport's own test")),
    ],
)
async def test_the_contract_is_kept_in_calm_weather(
    inner: type[MemoryTransport | TCPTransport], flood_bytes: int
) -> None:
    await check_transport(lambda: FaultyTransport(inner(), calm), flood_bytes=flood_bytes)


async def test_the_contract_is_kept_where_faults_have_no_chance() -> None:
    await check_transport(
        lambda: FaultyTransport(MemoryTransport(), seeded_weather(Faults(), 1)), flood_bytes=IN_MEMORY
    )


async def test_the_contract_is_kept_where_payloads_are_only_late() -> None:
    await check_transport(
        lambda: FaultyTransport(MemoryTransport(), seeded_weather(Faults(delay=0.002), 1)), flood_bytes=IN_MEMORY
    )


async def open_pair(weather: Weather) -> tuple[Channel, Channel]:
    """Return the connecting and the listening end of a channel."""
    transport = FaultyTransport(MemoryTransport(), weather)
    async with await transport.open_listener() as listener:
        near = await transport.connect(listener.address)
        return near, await listener.accept()


def with_fates(*fates: Fate) -> Weather:
    """Return weather with these fates for what goes to the listener, and calm for all else."""

    def decide(_: int, is_upstream: bool, number: int) -> Fate:  # noqa: FBT001  as `Weather`
        return fates[number] if is_upstream and number < len(fates) else CALM

    return decide


async def received(channel: Channel) -> tuple[list[bytes], list[float], Exception]:
    """Return what arrives, when, and what comes after it."""
    payloads: list[bytes] = []
    times: list[float] = []
    begun = trio.current_time()
    while True:
        try:
            arrived = await channel.receive()
        except (trio.EndOfChannel, trio.BrokenResourceError) as error:
            return payloads, times, error
        payloads += arrived
        times += [trio.current_time() - begun] * len(arrived)


@pytest.mark.parametrize(
    ("fates", "payloads", "times", "ending"),
    [
        ([], b"abc", [0, 0, 0], trio.EndOfChannel),
        ([Fate(delay_seconds=5.0)], b"abc", [5, 5, 5], trio.EndOfChannel),
        ([CALM, Fate(delay_seconds=5.0)], b"abc", [0, 5, 5], trio.EndOfChannel),
        ([CALM, Fate(num_copies=2)], b"abbc", [0, 0, 0, 0], trio.EndOfChannel),
        ([CALM, Fate(is_lost=True)], b"a", [0], trio.BrokenResourceError),
        ([CALM, CALM, CALM, Fate(is_lost=True)], b"abc", [0, 0, 0], trio.BrokenResourceError),
        ([CALM, CALM, CALM, Fate(num_copies=2)], b"abc", [0, 0, 0], trio.EndOfChannel),
    ],
)
async def test_each_payload_has_its_fate(
    fates: Sequence[Fate],
    payloads: bytes,
    times: list[float],
    ending: type[Exception],
    autojump_clock: trio.testing.MockClock,
) -> None:
    near, far = await open_pair(with_fates(*fates))
    await near.send([b"a", b"b", b"c"])
    await near.aclose()
    arrived, when, last = await received(far)
    assert (b"".join(arrived), when) == (payloads, pytest.approx(times))
    assert isinstance(last, ending)
    with pytest.raises(ending):  # and so it stays
        await far.receive()


async def test_a_lost_payload_takes_the_connection_along_on_both_sides() -> None:
    near, far = await open_pair(with_fates(Fate(is_lost=True)))
    await near.send([b"a"])
    with pytest.raises(trio.BrokenResourceError):
        await far.receive()
    with pytest.raises(trio.BrokenResourceError):
        await far.send([b"b"])
    with pytest.raises(trio.BrokenResourceError):
        far.send_nowait(b"b")
    with pytest.raises(trio.EndOfChannel):
        await near.receive()
    with pytest.raises(trio.BrokenResourceError):
        await near.send([b"b"])


async def test_a_connection_that_is_cut_says_nothing_until_its_own_end_closes(
    autojump_clock: trio.testing.MockClock,
) -> None:
    near, far = await open_pair(with_fates(CALM, Fate(delay_seconds=math.inf)))
    await near.send([b"a", b"b"])
    await near.aclose()
    assert await far.receive() == [b"a"]
    with trio.move_on_after(1e6) as scope:
        await far.receive()
    assert scope.cancelled_caught
    async with trio.open_nursery() as nursery:

        async def expect_close() -> None:
            with pytest.raises(trio.ClosedResourceError):
                await far.receive()

        nursery.start_soon(expect_close)
        await trio.testing.wait_all_tasks_blocked()
        far.close()
    with pytest.raises(trio.ClosedResourceError):
        await far.receive()


async def test_a_receive_that_is_cancelled_while_a_payload_is_late_loses_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    near, far = await open_pair(with_fates(Fate(delay_seconds=5.0)))
    begun = trio.current_time()
    await near.send([b"a"])
    with trio.move_on_after(1):
        await far.receive()
    assert await far.receive() == [b"a"]
    assert trio.current_time() - begun == pytest.approx(5.0)


def test_fates_follow_from_seed_connection_direction_and_number_alone() -> None:
    faults = Faults(loss=0.2, delay=3.0, duplication=0.2, partition=0.1)
    addresses = [(connection, up, number) for connection in range(9) for up in (False, True) for number in range(9)]
    weather = seeded_weather(faults, 7)
    fates = [weather(*address) for address in addresses]
    again = seeded_weather(faults, 7)
    assert [again(*address) for address in reversed(addresses)] == fates[::-1]
    other = seeded_weather(faults, 8)
    assert [other(*address) for address in addresses] != fates
    assert len(set(fates)) > len(addresses) / 2


def test_faults_are_as_frequent_as_asked() -> None:
    """Standard errors are below .005 (.011 quick): with five of them a fresh seed fails with less than 3e-6."""
    number = draws(2000, full=10_000)
    weather = seeded_weather(Faults(loss=0.2, delay=2.0, duplication=0.3, partition=0.1), 3)
    fates = [weather(0, True, place) for place in range(1, number + 1)]  # noqa: FBT003  as `Weather`
    there = [fate for fate in fates if not fate.is_lost]
    tolerance = 5 * 0.5 / math.sqrt(number / 2)
    late = [fate.delay_seconds for fate in there if fate.delay_seconds < math.inf]
    assert 1 - len(there) / number == pytest.approx(0.2, abs=tolerance)
    assert sum(fate.num_copies == 2 for fate in there) / len(there) == pytest.approx(0.3, abs=tolerance)
    assert 1 - len(late) / len(there) == pytest.approx(0.1, abs=tolerance)
    assert sum(late) / len(late) == pytest.approx(1.0, abs=2 * tolerance)
    assert max(late) < 2.0


def test_what_a_connection_begins_with_is_not_repeated() -> None:
    weather = seeded_weather(Faults(duplication=1.0), 3)
    assert weather(0, True, 0).num_copies == 1  # noqa: FBT003  as `Weather`
    assert weather(0, True, 1).num_copies == 2  # noqa: FBT003  as `Weather`


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("loss", -0.1),
        ("loss", 1.1),
        ("duplication", 2.0),
        ("partition", math.nan),
        ("delay", -1.0),
        ("delay", math.inf),
    ],
)
def test_faults_out_of_range_are_refused(field: str, value: float) -> None:
    with pytest.raises(ConfigurationError, match=field):
        Faults(**{field: value})
