"""The driver: effects in order, deadlines as inputs, everything queued is sent."""

from collections.abc import Callable, Sequence

import msgspec
import pytest
import structlog.testing
import trio
import trio.testing
from psephos.agents import driver as driver_module
from psephos.agents import outbox as outbox_module
from psephos.agents.driver import LINGER_SECONDS, Driver, Observers
from psephos.protocol.effects import Closed, Drop, Effect, Fail, Finish, Opened, Send, SetDeadline
from psephos.protocol.errors import RemoteProtocolError, SessionAborted
from psephos.protocol.messages import Abort, Message, decode, encode
from psephos.transports import Channel, MemoryTransport, TCPTransport
from psephos.transports import memory as memory_module
from psephos.transports.addresses import parse_address

# ruff: noqa: ARG001  a clock acts by being asked for


class Nothing(msgspec.Struct):
    """A result."""


class Script:
    """A machine that notes what it is told and answers as it was asked to."""

    def __init__(self, answer: Callable[[str], list[Effect]] | None = None) -> None:
        self.heard: list[str] = []
        self.settled: str | None = None
        self.answer: Callable[[str], list[Effect]] = answer or (lambda _: [])

    def receive(self, sender: str, message: Message) -> list[Effect]:
        assert isinstance(message, Abort)
        return self.note(f"{sender}: {message.reason}")

    def receive_loss(self, sender: str) -> list[Effect]:
        return self.note(f"{sender} is gone")

    def receive_silence(self, sender: str, seconds: float) -> list[Effect]:
        return self.note(f"{sender} was silent for {seconds:g} s")

    def receive_fault(self, sender: str, error: RemoteProtocolError) -> list[Effect]:
        return self.note(f"{sender} erred: {type(error).__name__}")

    @property
    def settled_phase(self) -> str | None:
        return self.settled

    def receive_timeout(self, phase: str) -> list[Effect]:
        self.settled = None
        return self.note(f"{phase} is over")

    def receive_departures(self, leaving: Sequence[tuple[str, Abort]]) -> list[Effect]:
        return self.note(f"{leaving} leave")

    def note(self, event: str) -> list[Effect]:
        self.heard.append(event)
        return self.answer(event)


def say(text: str) -> bytes:
    """Return a message's bytes."""
    return encode(Abort(reason=text))


async def open_channel() -> tuple[Channel, Channel]:
    """Return both ends of a memory channel."""
    transport = MemoryTransport()
    async with await transport.open_listener() as listener:
        near = await transport.connect(listener.address)
        return near, await listener.accept()


async def heard_by(channel: Channel) -> list[str]:
    """Return everything that arrives until the end."""
    texts: list[str] = []
    try:
        while True:
            for payload in await channel.receive():
                message = decode(payload)
                assert isinstance(message, Abort)
                texts.append(message.reason)
    except trio.EndOfChannel:
        return texts


async def test_effects_are_acted_on_in_order_and_the_listener_is_told_of_each() -> None:
    near, far = await open_channel()
    effects: list[Effect] = [
        Opened("first", 1),
        Send(("peer",), Abort(reason="1")),
        Send(("peer", "nobody"), Abort(reason="2")),
        Finish(Nothing()),
    ]
    told: list[Effect] = []
    async with trio.open_nursery() as nursery:
        driver = Driver(Script(), nursery, party="we", session="s", observers=Observers(listener=told.append))
        driver.open_outbox("peer", near)
        assert not driver.has_ended
        driver.act(effects)
        assert told == effects
        assert driver.has_ended
        await driver.wait_until_ended()
        assert driver.ending().result == Nothing()
    await near.aclose()
    assert await heard_by(far) == ["1", "2"]


async def test_others_have_their_turn_before_too_much_is_sent_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "_MOST_BYTES_AT_ONCE", 100)
    near, far = await open_channel()
    sends: list[Effect] = [Send(("peer",), Abort(reason=str(number) * 60)) for number in range(5)]
    async with trio.open_nursery() as nursery:
        driver = Driver(Script(), nursery, party="we", session="s")
        driver.open_outbox("peer", near)
        driver.act([*sends, Finish(Nothing())])
        driver.act([Send(("peer",), Abort(reason="later"))])
        assert len(far_payloads(far)) == 2
        assert not driver.has_ended
        await driver.settle()
        assert driver.has_ended
        await trio.testing.wait_all_tasks_blocked()
    await near.aclose()
    assert await heard_by(far) == [*(str(number) * 60 for number in range(5)), "later"]


async def test_effects_that_a_listener_causes_come_after_those_under_way() -> None:
    order: list[str] = []
    async with trio.open_nursery() as nursery:

        def listen(effect: Effect) -> None:
            assert isinstance(effect, Opened)
            order.append(effect.phase)
            if effect.phase == "1":
                driver.act([Opened("3", 0)])
                order.append("told of 1")

        driver = Driver(Script(), nursery, party="we", session="s", observers=Observers(listener=listen))
        driver.act([Opened("1", 0), Opened("2", 0)])
    assert order == ["1", "told of 1", "2", "3"]


async def test_a_deadline_comes_back_as_an_input_after_its_seconds(autojump_clock: trio.testing.MockClock) -> None:
    start = trio.current_time()
    times: list[float] = []

    def answer(event: str) -> list[Effect]:
        times.append(trio.current_time() - start)
        return [Fail(SessionAborted(reason="late", by="us"))] if event == "second is over" else []

    machine = Script(answer)
    async with trio.open_nursery() as nursery:
        driver = Driver(machine, nursery, party="we", session="s", timed=machine)
        driver.act([SetDeadline("second", 20.0), SetDeadline("first", 5.0), SetDeadline("third", 30.0)])
        await driver.wait_until_ended()
        with pytest.raises(SessionAborted, match="late"):
            driver.ending()
    assert machine.heard == ["first is over", "second is over"]  # after the end, no deadline is an input
    assert times == [5.0, 20.0]


@pytest.mark.parametrize("skips", [False, True])
async def test_a_deadline_that_nothing_can_come_before_is_skipped_where_that_is_asked_for(
    skips: bool,  # noqa: FBT001  a case
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Else the speed of a server would tell that all have come."""
    start = trio.current_time()
    closed: list[float] = []

    def answer(event: str) -> list[Effect]:
        if event == "first is over" and not closed:
            closed.append(trio.current_time() - start)
            return [SetDeadline("next", 30.0)]
        return [Finish(Nothing())] if event == "next is over" else []  # a phase that has closed is over

    machine = Script(answer)
    machine.settled = "first"
    async with trio.open_nursery() as nursery:
        driver = Driver(machine, nursery, party="we", session="s", timed=machine, skips_waiting=skips)
        driver.act([SetDeadline("first", 20.0)])
        assert machine.heard == (["first is over"] if skips else [])
        await driver.wait_until_ended()
        assert trio.current_time() - start == (30.0 if skips else 50.0)
    assert closed == [0.0 if skips else 20.0]


async def test_where_who_takes_part_is_private_a_server_that_was_away_reads_on_for_a_fixed_time(
    mock_clock: trio.testing.MockClock,
) -> None:
    """However much came meanwhile, here nothing."""
    machine = Script()
    async with trio.open_nursery() as nursery:
        driver = Driver(machine, nursery, party="we", session="s", timed=machine, hides_peers=True)
        driver.act([SetDeadline("weights", 1.0)])
        for seconds in (0, 10, *[0.1] * 9):
            assert not machine.heard
            mock_clock.jump(seconds)
            await trio.testing.wait_all_tasks_blocked()
        assert not machine.heard
        mock_clock.jump(0.2)
    assert machine.heard == ["weights is over"]


async def test_a_peers_fault_is_not_logged_where_who_takes_part_is_private() -> None:
    fault = RemoteProtocolError("it lied", sender="peer")
    with structlog.testing.capture_logs() as events:
        async with trio.open_nursery() as nursery:
            log = structlog.get_logger()
            driver = Driver(Script(), nursery, party="we", session="s", hides_peers=True, observers=Observers(log=log))
            driver.act([Opened("first", None), Drop("peer", fault), Closed("first", None, None, None)])
    assert [(event["event"], "asked" in event, "received" in event) for event in events] == [
        ("phase_opened", False, False),
        ("phase_closed", False, False),
    ]


async def test_a_driver_without_an_ending_has_no_result() -> None:
    async with trio.open_nursery() as nursery:
        driver = Driver(Script(), nursery, party="we", session="s")
        with pytest.raises(RuntimeError, match="not ended"):
            driver.ending()


async def test_everything_but_what_is_sent_is_logged_with_session_and_party() -> None:
    fault = RemoteProtocolError("it lied", sender="peer")
    with structlog.testing.capture_logs() as events:
        async with trio.open_nursery() as nursery:
            driver = Driver(Script(), nursery, party="we", session="s", observers=Observers(log=structlog.get_logger()))
            driver.act([Opened("first", 3), Send(("peer",), Abort(reason="x")), Drop("peer", fault)])
            driver.act([Fail(SessionAborted(reason="enough", by="us"))])
    assert [event["event"] for event in events] == ["phase_opened", "party_dropped", "session_failed"]
    assert {(event["session"], event["party"]) for event in events} == {("s", "we")}
    assert events[1]["peer"] == "peer"
    assert events[1]["reason"] == "it lied"


def listening(machine: Script, nursery: trio.Nursery, channel: Channel) -> Driver:
    """Return the driver of a machine with one peer, at the other end of a channel."""
    driver = Driver(machine, nursery, party="we", session="s")
    driver.open_outbox("peer", channel)
    return driver


async def test_the_machine_is_fed_what_arrives_until_the_channel_ends() -> None:
    near, far = await open_channel()
    machine = Script()
    await near.send([say("1"), say("2")])
    await near.aclose()
    async with trio.open_nursery() as nursery:
        await listening(machine, nursery, far).read("peer", far)
    assert machine.heard == ["peer: 1", "peer: 2", "peer is gone"]


async def test_bytes_that_are_no_message_end_the_reading_and_are_a_fault() -> None:
    near, far = await open_channel()
    machine = Script()
    await near.send([say("1"), b"\xc1", say("2")])
    async with trio.open_nursery() as nursery:
        await listening(machine, nursery, far).read("peer", far)
    assert machine.heard == ["peer: 1", "peer erred: MalformedMessageError"]


async def test_a_fault_of_the_channel_is_the_peers_fault() -> None:
    machine = Script()
    async with await TCPTransport().open_listener() as listener, trio.open_nursery() as nursery:
        host, port = parse_address(listener.address)
        async with await trio.open_tcp_stream(host, port) as stream, await listener.accept() as channel:
            await stream.send_all(b"\xff" * 8)
            await listening(machine, nursery, channel).read("peer", channel)
    assert machine.heard == ["peer erred: MalformedMessageError"]


async def test_a_channel_that_is_closed_on_this_side_is_a_loss() -> None:
    _, far = await open_channel()
    machine = Script()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listening(machine, nursery, far).read, "peer", far)
        await trio.testing.wait_all_tasks_blocked()
        await far.aclose()
    assert machine.heard == ["peer is gone"]


@pytest.mark.parametrize("said", [say("1"), b"\xc1", None])
async def test_of_a_channel_that_was_replaced_nothing_counts(said: bytes | None) -> None:
    (near, far), (_, other) = [await open_channel() for _ in range(2)]
    machine = Script()
    async with trio.open_nursery() as nursery:
        driver = listening(machine, nursery, far)
        nursery.start_soon(driver.read, "peer", far)
        await trio.testing.wait_all_tasks_blocked()
        driver.open_outbox("peer", other)
        await near.aclose() if said is None else await near.send([said])
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert not machine.heard


async def test_a_cancelled_reader_has_handed_over_what_it_took() -> None:
    near, far = await open_channel()
    machine = Script()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listening(machine, nursery, far).read, "peer", far)
        for number in range(20):
            await near.send([say(str(number))])
            if number == 10:
                nursery.cancel_scope.cancel()
                break
    left = [decode(payload) for payload in far_payloads(far)]
    assert len(machine.heard) + len(left) == 11


def far_payloads(channel: Channel) -> list[bytes]:
    """Return what a memory channel still holds."""
    payloads: list[bytes] | None = getattr(channel, "arrivals")  # noqa: B009  a test may look inside
    return payloads or []


async def test_a_dropped_peer_hears_why_before_its_channel_closes() -> None:
    near, far = await open_channel()
    async with trio.open_nursery() as nursery:
        driver = Driver(Script(), nursery, party="we", session="s")
        driver.open_outbox("peer", near)
        fault = RemoteProtocolError("it lied", sender="peer")
        driver.act([Send(("peer",), Abort(reason="you lied")), Drop("peer", fault), Drop("nobody", fault)])
        assert await heard_by(far) == ["you lied"]


async def test_a_peer_that_does_not_read_is_a_fault_and_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    monkeypatch.setattr(memory_module, "MAX_QUEUED_PAYLOADS", 1)
    monkeypatch.setattr(outbox_module, "MAX_QUEUED_MESSAGES", 2)
    near, far = await open_channel()
    fault = RemoteProtocolError("it does not read", sender="peer")

    def answer(_: str) -> list[Effect]:
        return [Send(("peer",), Abort(reason="read!")), Drop("peer", fault)] if len(machine.heard) == 1 else []

    machine = Script(answer)
    start = trio.current_time()
    async with trio.open_nursery() as nursery:  # ends only if no writer is left
        driver = Driver(machine, nursery, party="we", session="s")
        driver.open_outbox("peer", near)
        for number in range(4):
            driver.act([Send(("peer",), Abort(reason=str(number)))])
    assert machine.heard == ["peer erred: RemoteProtocolError"] * 2  # the second as it could not be told of the first
    assert trio.current_time() - start == LINGER_SECONDS
    assert await heard_by(far) == ["0"]
