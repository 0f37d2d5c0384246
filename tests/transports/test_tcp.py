"""TCP channels, beyond what `tests/conformance/test_channels.py` checks of every transport: addresses, bad bytes."""

import contextlib
import errno
import socket
import struct
from collections.abc import AsyncGenerator, Callable

import pytest
import trio
import trio.testing
from pairs import open_pair
from psephos.protocol.errors import MalformedMessageError
from psephos.transports import MAX_FRAME_BYTES, Channel, TCPTransport, TLSTransport, Transport, encode_frames
from psephos.transports.addresses import format_address, parse_address


@contextlib.asynccontextmanager
async def raw_peer() -> AsyncGenerator[tuple[trio.SocketStream, Channel]]:
    """Yield a bare stream, and the channel that our side made of it."""
    transport = TCPTransport()
    async with await transport.open_listener() as listener:
        host, port = parse_address(listener.address)
        async with await trio.open_tcp_stream(host, port) as stream, await listener.accept() as channel:
            yield stream, channel


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("127.0.0.1:0", "127.0.0.1", 0),
        ("votes.example:65535", "votes.example", 65535),
        ("[::1]:8000", "::1", 8000),
        ("[2001:db8::1]:443", "2001:db8::1", 443),
    ],
)
def test_an_address_is_read_and_written_alike(address: str, host: str, port: int) -> None:
    assert parse_address(address) == (host, port)
    assert format_address(host, port) == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        ":",
        ":8000",
        "localhost",
        "localhost:",
        "localhost:http",
        "localhost:65536",
        "localhost:-1",
        "localhost: 80",
        "localhost:8٠",
        "localhost:²",
        "::1",
        "::1:8000",
        "[]:8000",
        "[::1]",
        "[::1:8000",
        "::1]:8000",
    ],
)
async def test_what_is_no_address_is_refused_with_its_text(address: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT") as caught:
        parse_address(address)
    assert (repr(address) if address else "is empty") in str(caught.value)
    with pytest.raises(ValueError, match="HOST:PORT"):
        await TCPTransport().connect(address)
    with pytest.raises(ValueError, match="HOST:PORT"):
        await TCPTransport().open_listener(address)


async def test_a_listener_is_on_loopback_unless_told_otherwise() -> None:
    async with await TCPTransport().open_listener() as listener:
        host, port = parse_address(listener.address)
    assert host == "127.0.0.1"
    assert port > 0


async def test_a_taken_address_is_the_systems_error() -> None:
    transport = TCPTransport()
    async with await transport.open_listener() as listener:
        with pytest.raises(OSError, match="in use") as caught:
            await transport.open_listener(listener.address)
        assert caught.value.errno == errno.EADDRINUSE


async def test_an_address_of_another_host_cannot_be_listened_at() -> None:
    with pytest.raises(OSError, match="assign"):
        await TCPTransport().open_listener("192.0.2.1:0")  # reserved for documentation


@pytest.mark.parametrize("num_bytes", [2, 6])
async def test_half_a_length_or_frame_and_then_a_close_is_a_broken_channel(num_bytes: int) -> None:
    async with raw_peer() as (stream, channel):
        await stream.send_all(encode_frames([b"whole"]) + encode_frames([b"half"])[:num_bytes])
        await stream.send_eof()
        assert await channel.receive() == [b"whole"]
        with pytest.raises(trio.BrokenResourceError, match="inside a payload"):
            await channel.receive()


async def test_a_peer_that_announces_two_gigabytes_is_refused_at_once() -> None:
    async with raw_peer() as (stream, channel):
        await stream.send_all((2**31).to_bytes(4, "big"))
        for _ in range(2):  # and it stays refused, though nothing more arrives
            with pytest.raises(MalformedMessageError, match=f"{MAX_FRAME_BYTES} bytes, the peer announced {2**31}"):
                await channel.receive()


async def test_what_came_before_a_refused_frame_is_received_first() -> None:
    async with raw_peer() as (stream, channel):
        await stream.send_all(encode_frames([b"a", b"b"]) + b"\xff\xff\xff\xff garbage")
        assert await channel.receive() == [b"a", b"b"]
        with pytest.raises(MalformedMessageError):
            await channel.receive()


async def test_a_frame_that_arrives_byte_by_byte_is_one_payload() -> None:
    async with raw_peer() as (stream, channel), trio.open_nursery() as nursery:

        async def trickle() -> None:
            for byte in encode_frames([b"slow", b""]):
                await stream.send_all(bytes([byte]))
                await trio.testing.wait_all_tasks_blocked()

        nursery.start_soon(trickle)
        assert await channel.receive() == [b"slow"]
        assert await channel.receive() == [b""]


async def test_a_cancelled_receive_keeps_the_half_that_it_has() -> None:
    async with raw_peer() as (stream, channel):
        frame = encode_frames([b"two halves"])
        async with trio.open_nursery() as nursery:
            nursery.start_soon(channel.receive)
            await stream.send_all(frame[:7])
            await trio.testing.wait_all_tasks_blocked(0.01)
            nursery.cancel_scope.cancel()
        await stream.send_all(frame[7:])
        assert await channel.receive() == [b"two halves"]


async def test_a_reset_connection_is_a_broken_channel() -> None:
    async with raw_peer() as (stream, channel):
        # Linger for no time: closing resets.
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await stream.aclose()
        with pytest.raises(trio.BrokenResourceError):
            await channel.receive()
        with pytest.raises(trio.BrokenResourceError):
            await channel.send([b"too late"])


async def test_a_connection_that_is_reset_before_it_is_accepted_is_a_channel_that_is_broken() -> None:
    async with await TCPTransport().open_listener() as listener:
        stream = await trio.open_tcp_stream(*parse_address(listener.address))
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await stream.aclose()
        async with await listener.accept() as channel:
            assert channel.peer
            with pytest.raises(trio.BrokenResourceError):
                await channel.receive()


async def test_payloads_of_one_send_leave_in_one_write() -> None:
    payloads = [b"%d" % number for number in range(100)]
    async with raw_peer() as (stream, channel):
        await channel.send(payloads)
        assert await stream.receive_some(1 << 16) == encode_frames(payloads)


async def test_a_second_receive_is_refused_even_where_the_first_need_not_wait() -> None:
    async with raw_peer() as (stream, channel):
        await stream.send_all(encode_frames([b"ready"]))
        await trio.testing.wait_all_tasks_blocked(0.01)
        refused = 0

        async def receive() -> None:
            nonlocal refused
            try:
                assert await channel.receive() == [b"ready"]
            except trio.BusyResourceError:
                refused += 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(receive)
            nursery.start_soon(receive)
        assert refused == 1


class Failing:
    """A listener whose system refuses the first times."""

    def __init__(self, listener: trio.SocketListener, *, times: int, code: int) -> None:
        self.listener = listener
        self.socket = listener.socket
        self.times = times
        self.code = code

    async def accept(self) -> trio.SocketStream:
        if self.times:
            self.times -= 1
            raise OSError(self.code, "refused")
        return await self.listener.accept()

    async def aclose(self) -> None:
        await self.listener.aclose()


async def test_a_listener_without_descriptors_waits_for_one(
    monkeypatch: pytest.MonkeyPatch,
    autojump_clock: trio.testing.MockClock,  # noqa: ARG001  it acts by being asked for
) -> None:
    transport = TCPTransport()
    async with await transport.open_listener() as listener:
        poor = Failing(getattr(listener, "_listener"), times=2, code=errno.EMFILE)  # noqa: B009  a test may look inside
        monkeypatch.setattr(listener, "_listener", poor)
        async with await transport.connect(listener.address) as near, await listener.accept() as far:
            assert poor.times == 0
            await near.send([b"hello"])
            assert await far.receive() == [b"hello"]


@pytest.mark.parametrize("code", [errno.ECONNABORTED, errno.EPROTO, errno.EPERM])
async def test_a_connection_that_failed_before_it_was_accepted_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    transport = TCPTransport()
    async with await transport.open_listener() as listener:
        failing = Failing(getattr(listener, "_listener"), times=2, code=code)  # noqa: B009  a test may look inside
        monkeypatch.setattr(listener, "_listener", failing)
        async with await transport.connect(listener.address) as near, await listener.accept() as far:
            await near.send([b"hello"])
            assert await far.receive() == [b"hello"]


async def test_both_ends_notice_a_machine_that_vanished() -> None:
    async with open_pair(TCPTransport()) as (near, far):
        for channel in (near, far):
            stream: trio.SocketStream = getattr(channel, "_stream")  # noqa: B009  a test may look inside
            assert stream.getsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_KEEPALIVE)


@pytest.mark.parametrize("num_bytes", [1, 1000, 4093, 16_380])
@pytest.mark.parametrize("make_transport", [TCPTransport, TLSTransport])
async def test_a_payload_that_was_begun_without_waiting_is_completed(
    make_transport: Callable[[], Transport], num_bytes: int
) -> None:
    async with open_pair(make_transport()) as (near, far), trio.open_nursery() as nursery:
        stream: trio.SocketStream = getattr(near, "_stream")  # noqa: B009  a test may look inside
        stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_SNDBUF, 1)
        await near.send([b"hands are shaken"])
        assert await far.receive() == [b"hands are shaken"]
        payloads: list[bytes] = []
        with contextlib.suppress(trio.WouldBlock):
            while len(payloads) < 100_000:
                payloads.append(len(payloads).to_bytes(4, "big") * (num_bytes // 4 + 1))
                near.send_nowait(payloads[-1])
        with pytest.raises(trio.WouldBlock):
            near.send_nowait(payloads[-1])
        payloads.append(b"the last one")
        nursery.start_soon(near.send, payloads[-2:])
        arrived: list[bytes] = []
        while len(arrived) < len(payloads):
            arrived += await far.receive()
        assert arrived == payloads


async def test_a_long_payload_is_left_to_a_call_that_may_wait() -> None:
    async with open_pair(TCPTransport()) as (near, far):
        near.send_nowait(b"s" * (1 << 14))
        with pytest.raises(trio.WouldBlock):
            near.send_nowait(b"l" * ((1 << 14) + 1))
        await near.aclose()
        assert await far.receive() == [b"s" * (1 << 14)]


@pytest.mark.parametrize("address", ["127.0.0.1:0", "[::1]:0", "localhost:0"])
async def test_addresses_and_names_are_reached(address: str) -> None:
    transport = TCPTransport()
    try:
        listener = await transport.open_listener(address)
    except OSError:
        pytest.skip(f"this machine has no {address}")
    async with (
        listener,
        await transport.connect(listener.address.replace("127.0.0.1", address.rpartition(":")[0])) as near,
        await listener.accept() as far,
    ):
        await near.send([b"hello"])
        assert await far.receive() == [b"hello"]
        assert {parse_address(end.peer)[0] for end in (near, far)} <= {"127.0.0.1", "::1", "localhost"}
        assert parse_address(near.peer)[1] == parse_address(listener.address)[1]


async def test_a_connection_that_is_given_up_leaves_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    connections: list[trio.socket.SocketType] = []
    make = trio.socket.socket

    def remember(family: int, kind: int) -> trio.socket.SocketType:
        connections.append(make(family, kind))
        return connections[-1]

    monkeypatch.setattr("trio.socket.socket", remember)
    with trio.move_on_after(0):
        await TCPTransport().connect("192.0.2.1:9")  # of a network that is for examples, where nobody answers
    with pytest.raises(OSError, match=r"all attempts to connect to \[::1\]:1 failed"):
        await TCPTransport().connect("[::1]:1")
    assert [connection.fileno() for connection in connections] == [-1, -1]


async def test_any_other_error_of_the_system_ends_accept(monkeypatch: pytest.MonkeyPatch) -> None:
    async with await TCPTransport().open_listener() as listener:
        failing = Failing(getattr(listener, "_listener"), times=1, code=errno.EINVAL)  # noqa: B009  a test may look inside
        monkeypatch.setattr(listener, "_listener", failing)
        with pytest.raises(OSError, match="refused"):
            await listener.accept()
