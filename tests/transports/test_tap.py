"""The observer relays what others say, and notes how much and when, and nothing of what it was."""

import itertools
from collections.abc import Callable

import pytest
import trio
from pairs import open_pair
from psephos.protocol import ConfigurationError
from psephos.transports import MAX_FRAME_BYTES, Listener, MemoryTransport, TCPTransport, Transport
from psephos.transports.tap import TappedTransport, Traffic
from psephos.transports.testing import check_transport

TRANSPORTS = [MemoryTransport, TCPTransport]
HEADER = 4
"""Bytes of a frame's length."""
FLOODS = (pytest.mark.unmeasured, pytest.mark.full("floods, as the transport's own test"))


def ignore(traffic: Traffic) -> None:
    del traffic


@pytest.mark.parametrize(
    ("make_inner", "flood_bytes"),
    [(MemoryTransport, 1 << 19), pytest.param(TCPTransport, 1 << 25, marks=FLOODS)],
)
async def test_a_tapped_transport_keeps_the_contract(make_inner: Callable[[], Transport], flood_bytes: int) -> None:
    await check_transport(lambda: TappedTransport(make_inner(), ignore), flood_bytes=flood_bytes)


async def talk(transport: Transport, *up: bytes, down: bytes = b"") -> None:
    """Let one client say each of these, wait for the answer to the last, and hang up; then the server does."""
    async with open_pair(transport) as (near, far):
        for payload in up:
            await near.send([payload])
            assert await far.receive() == [payload]
        await far.send([down])
        assert await near.receive() == [down]
        await near.aclose()
        with pytest.raises(trio.EndOfChannel):
            await far.receive()


@pytest.mark.parametrize("make_inner", TRANSPORTS)
async def test_sizes_directions_and_the_end_are_seen_and_in_order(make_inner: Callable[[], Transport]) -> None:
    seen: list[Traffic] = []
    await talk(TappedTransport(make_inner(), seen.append), b"x" * 10, b"y" * 200, down=b"z" * 30)
    upstream = [each.num_bytes for each in seen if each.is_upstream]
    downstream = [each.num_bytes for each in seen if not each.is_upstream]
    assert upstream == [10 + HEADER, 200 + HEADER, 0]
    assert downstream[0] == 30 + HEADER
    assert {each.connection for each in seen} == {0}
    assert [each.seconds for each in seen] == sorted(each.seconds for each in seen)
    assert seen[0].seconds >= 0


@pytest.mark.parametrize("make_inner", TRANSPORTS)
async def test_what_is_noted_is_numbers_alone(make_inner: Callable[[], Transport]) -> None:
    seen: list[Traffic] = []
    await talk(TappedTransport(make_inner(), seen.append), b"my vote is yes")
    assert all(type(field) in {float, int, bool} for each in seen for field in each)


@pytest.mark.parametrize("make_inner", TRANSPORTS)
async def test_connections_are_numbered_as_they_come(make_inner: Callable[[], Transport]) -> None:
    seen: list[Traffic] = []
    transport = TappedTransport(make_inner(), seen.append)
    with trio.fail_after(240):
        async with await transport.open_listener() as listener:
            for number in range(3):
                async with await transport.connect(listener.address) as near, await listener.accept() as far:
                    await near.send([bytes(number)])
                    await far.receive()
    first_of = {each.connection: each.num_bytes for each in reversed(seen) if each.is_upstream and each.num_bytes}
    assert first_of == {0: HEADER, 1: 1 + HEADER, 2: 2 + HEADER}


async def test_bytes_are_forwarded_that_are_no_frames() -> None:
    seen: list[Traffic] = []
    transport = TappedTransport(TCPTransport(), seen.append)
    announced = (MAX_FRAME_BYTES + 1).to_bytes(4, "big") + b"and more"
    with trio.fail_after(240):
        async with await transport.open_listener() as listener:
            host, _, port = listener.address.rpartition(":")
            async with await trio.open_tcp_stream(host, int(port)) as stream, await listener.accept() as far:
                await stream.send_all(announced)
                with pytest.raises(Exception, match="may have"):
                    await far.receive()
    assert sum(each.num_bytes for each in seen if each.is_upstream) == len(announced)


@pytest.mark.parametrize("make_inner", TRANSPORTS)
async def test_it_is_called_what_the_inner_transport_is(make_inner: Callable[[], Transport]) -> None:
    inner = make_inner()
    assert TappedTransport(inner, ignore).name == inner.name


async def test_where_the_address_is_taken_nothing_is_left_open() -> None:
    transport = TappedTransport(TCPTransport(), ignore)
    async with await transport.open_listener() as listener:
        with pytest.raises(OSError, match="ddress"):
            await transport.open_listener(listener.address)


class Known(MemoryTransport):
    """Claims that its ends know each other, elsewhere than over TCP."""

    is_authenticated = True


class Encrypting(TCPTransport):
    """The same over TCP, whose bytes can be passed on."""

    is_authenticated = True


def test_ends_that_know_each_other_are_relayed_over_tcp_alone() -> None:
    with pytest.raises(ConfigurationError, match="one over TCP, or one whose ends do not know each other") as caught:
        TappedTransport(Known(), ignore)
    assert (caught.value.field, caught.value.value) == ("transport", "memory")
    assert TappedTransport(Encrypting(), ignore).name == "tcp"


class Lettered(MemoryTransport):
    """Addresses that look like a socket's, and are none."""

    async def open_listener(self, address: str | None = None) -> Listener:
        return await super().open_listener(address or f"localhost:{next(LETTERS)}")


LETTERS = itertools.count(1)


async def test_an_address_that_looks_like_a_sockets_is_not_taken_for_one() -> None:
    seen: list[Traffic] = []
    await talk(TappedTransport(Lettered(), seen.append), b"x" * 10)
    assert [each.num_bytes for each in seen if each.is_upstream] == [10 + HEADER, 0]
