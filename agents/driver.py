"""The driver: the only place that waits, sends and keeps time, for clients and servers alike.

Each peer has one reader (or one for all peers in this process), and one writer behind a bounded outbox, all in one
nursery. Machines return effects, which the driver carries out; an expired deadline is an input of the machine.
Everything queued is sent before a party finishes. A peer with more than `outbox.MAX_QUEUED_MESSAGES` unread messages
counts as faulty: its connection ends, and the vote continues.

A machine's records are durable before any later effect is carried out. A server writes records in a thread, and all
waiting ones together. In the meantime it continues to read, and the resulting effects wait.
"""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias

import msgspec
import trio

from ..protocol.effects import (
    Attended,
    Charged,
    Closed,
    Drop,
    Effect,
    Fail,
    Finish,
    Keep,
    LiarNamed,
    Opened,
    Send,
    SetDeadline,
)
from ..protocol.errors import LocalProtocolError, PsephosError, RemoteProtocolError
from ..protocol.messages import Abort, Message, decode, encode
from ..protocol.records import Record
from ..protocol.traffic import TrafficMeter
from ..transports.abc import Channel
from .events import Log, log_effect
from .journals import Journal
from .outbox import Outbox, OutboxFullError

EffectListener: TypeAlias = Callable[[Effect], None]
"""A function that is called with every effect after it was carried out, such as for progress bars. It must not wait or
raise."""
RunInThread: TypeAlias = Callable[..., Awaitable[Any]]
"""A function that runs a blocking function with its arguments while other tasks continue."""

LINGER_SECONDS: Final = 10.0
"""The seconds for a peer to read its remaining messages at the end of its conversation, before it is disconnected."""

_QUIET_SECONDS: Final = 0.05
"""The seconds after which a socket without new data counts as empty."""
_TURNS: Final = 3
"""The turns of all tasks that read available data: the first polls the system, the second reads, and one is spare."""
_FOR_THE_LOG: Final = frozenset({Attended, Charged, Closed, LiarNamed, Opened})
_MOST_BYTES_AT_ONCE: Final = 1 << 21
"""The bytes after which other tasks get a turn, so that the private messages of all parties are not in memory at
once."""
_NO_DEADLINES: Final[Mapping[str, float]] = MappingProxyType({})
_OVERTIME_SECONDS: Final = 1.0
"""The most seconds by which peers that continue to send can delay a deadline."""


class Machine(Protocol):
    """The interface of a machine that the driver uses."""

    def receive(self, sender: str, message: Message) -> list[Effect]:
        """Take one message."""
        ...

    def receive_loss(self, sender: str) -> list[Effect]:
        """Take note that a peer's connection is gone."""
        ...

    def receive_silence(self, sender: str, seconds: float) -> list[Effect]:
        """Take note that a peer has said nothing for so long."""
        ...

    def receive_fault(self, sender: str, error: RemoteProtocolError) -> list[Effect]:
        """Take note that a peer broke the rules below the machine's messages."""
        ...


class Timed(Protocol):
    """A machine that sets deadlines, and has many peers."""

    @property
    def settled_phase(self) -> str | None:
        """The phase whose deadline nothing can come before any more; None where something can."""
        ...

    def receive_timeout(self, phase: str) -> list[Effect]:
        """Take note that a deadline has passed."""
        ...

    def receive_departures(self, leaving: Sequence[tuple[str, Abort]]) -> list[Effect]:
        """Take the last messages of peers that leave together."""
        ...


class Observers(msgspec.Struct, frozen=True, kw_only=True):
    """The observers of one party's session: a log, a listener, a traffic meter.

    Args:
        log: the log of events; None for no log.
        listener: called with every effect of the party's machine.
        meter: counts the messages to and from the party's peers.
    """

    log: Log | None = None
    listener: EffectListener | None = None
    meter: TrafficMeter | None = None


NOBODY: Final = Observers()


class Driver:
    """A driver of one machine: it carries out the machine's effects.

    Args:
        nursery: runs writers and deadlines; None for a party with a single peer and no deadlines, which then sends
            between two reads.
        timed: the same machine, if it sets deadlines.
        skips_waiting: whether a deadline passes as soon as nothing can arrive before it. This is for a process that
            runs all parties, and would otherwise wait in vain.
        hides_peers: whether faults of peers are not logged, since participation is private.
        journal: stores records; None for a machine without records.

    Attributes:
        outboxes: the outbox of each peer.
        deadlines: the deadline of each opened phase, by trio's clock.
    """

    __slots__ = (
        "_ending",
        "_farewells",
        "_hides_peers",
        "_is_acting",
        "_is_keeping",
        "_is_resting",
        "_journal",
        "_listener",
        "_log",
        "_machine",
        "_meter",
        "_num_sent_bytes",
        "_num_taken",
        "_nursery",
        "_party",
        "_pending",
        "_run_in_thread",
        "_session",
        "_skips_waiting",
        "_timed_phases",
        "_when_ended",
        "_when_settled",
        "deadlines",
        "outboxes",
    )

    def __init__(
        self,
        machine: Machine,
        nursery: trio.Nursery | None,
        *,
        party: str,
        session: str,
        timed: Timed | None = None,
        skips_waiting: bool = False,
        hides_peers: bool = False,
        journal: Journal | None = None,
        run_in_thread: RunInThread = trio.to_thread.run_sync,
        observers: Observers = NOBODY,
    ) -> None:
        self._meter = observers.meter
        self._run_in_thread = run_in_thread
        self._machine = machine
        self._nursery = nursery
        self._party = party
        self._session = session
        self._timed_phases = timed
        self._skips_waiting = skips_waiting
        self._hides_peers = hides_peers
        self._log = observers.log
        self._listener = observers.listener
        self._journal = journal
        self._farewells: list[tuple[str, Abort]] | None = None
        self._pending: list[Effect] = []
        self._is_acting = False
        self._is_keeping = False
        self._is_resting = False
        self._num_sent_bytes = 0  # since other tasks had a turn
        self._num_taken = 0
        self._ending: Finish | Fail | None = None
        self._when_ended: trio.Event | None = None
        self._when_settled: trio.Event | None = None
        self.outboxes: dict[str, Outbox] = {}
        self.deadlines: Mapping[str, float] = _NO_DEADLINES

    @property
    def has_ended(self) -> bool:
        """Whether the machine has finished or failed."""
        return self._ending is not None

    @property
    def has_lost_its_journal(self) -> bool:
        """Whether the session ended because its records cannot be kept; nothing can be said any more."""
        return self._is_keeping and self.has_ended

    def open_outbox(self, peer: str, channel: Channel) -> Outbox:
        """Send everything for `peer` through `channel` from now on.

        Messages for an earlier connection that still wait for a durable record are not sent through the new one.
        """
        if self._pending:
            self._pending[:] = [_mute_peer(peer, effect) for effect in self._pending]
        if peer in self.outboxes:
            self.outboxes[peer].is_replaced = True
        outbox = self.outboxes[peer] = Outbox(channel, self._nursery)
        return outbox

    def act(self, effects: list[Effect]) -> None:
        """Carry out effects, and those that result from them, in order.

        Raises:
            JournalError: without a nursery, a record cannot be written; no later effect was carried out. With a
                nursery, this error ends the session.
        """
        self._pending += effects
        if self._is_acting or self._is_keeping or self._is_resting:
            return
        self._is_acting = True
        try:
            while self._pending or (self._skips_waiting and self._skip_waiting()):
                # Resulting effects come after these.
                effects, self._pending = self._pending, []
                for number, effect in enumerate(effects, start=1):
                    if type(effect) is Send:
                        self._send(effect.recipients, effect.message)
                    elif type(effect) is Keep:
                        self._pending[:0] = effects[number:]
                        self._keep([effect.record])
                        if self._is_keeping:
                            return
                        break
                    elif self._log is not None or type(effect) not in _FOR_THE_LOG:
                        self._act_on(effect)
                    if self._listener is not None:
                        self._listener(effect)
                    if self._num_sent_bytes > _MOST_BYTES_AT_ONCE and self._nursery is not None:
                        self._pending[:0] = effects[number:]
                        self._is_resting = True
                        self._nursery.start_soon(self._rest)
                        return
        finally:
            self._is_acting = False

    async def read(
        self, peer: str, channel: Channel, *, patience_seconds: float = math.inf, answer_seconds: float = math.inf
    ) -> bool:
        """Feed the machine what arrives from `peer`, until the channel or the session ends.

        If it is cancelled, the machine has got every message that was taken from the channel, unless that was replaced.

        Args:
            peer: the name of the peer.
            channel: the channel to the peer.
            patience_seconds: the longest silence of the peer; then its conversation ends.
            answer_seconds: the longest silence before its first message.

        Returns:
            Whether the channel is still usable, for example to send the peer an Abort. If another channel is opened to
            the peer, reading this one ends without a loss.
        """
        outbox = self.outboxes[peer]
        while self._ending is None:
            try:
                if answer_seconds == math.inf:
                    payloads = await channel.receive()
                else:
                    with trio.fail_after(answer_seconds):
                        payloads = await channel.receive()
            except trio.TooSlowError:
                self.give_up(peer, seconds=answer_seconds)
                return False
            except Exception as error:  # noqa: BLE001  whatever a connection breaks by, too little memory too, it is gone
                return self.lose(peer, outbox, error)
            if outbox.is_replaced:
                break  # replaced in the meantime: a peer that returns repeats its messages
            answer_seconds = patience_seconds
            is_sound = self.take(peer, payloads)
            del payloads  # otherwise each party of a process would hold its last payloads in memory
            if self._nursery is None and outbox.waiting and self._ending is None:
                await outbox.flush()
            if not is_sound:
                return True
        return True

    def lose(self, peer: str, outbox: Outbox, error: Exception) -> bool:
        """Note why nothing more is received from a peer; return whether it can still be told.

        If another channel to the peer exists by now, or this side closed the channel, the machine knows already.
        """
        if not outbox.is_replaced:
            is_fault = isinstance(error, RemoteProtocolError)
            effects = self._machine.receive_fault(peer, error) if is_fault else self._machine.receive_loss(peer)
            if effects or self._skips_waiting:
                self.act(effects)
        return isinstance(error, RemoteProtocolError)

    def give_up(self, peer: str, *, seconds: float) -> None:
        """End the conversation with a peer that has said nothing for so long."""
        self.act(self._machine.receive_silence(peer, seconds))

    def take(self, peer: str, payloads: list[bytes], *, first: Message | None = None) -> bool:
        """Feed the machine some payloads from `peer`; return whether all were messages, so that reading can continue.

        Args:
            peer: the name of the peer.
            payloads: the payloads.
            first: the message in the first payload, if it is already decoded.
        """
        for payload in payloads:
            self._num_taken += 1
            try:
                message = decode(payload, sender=peer) if first is None else first
                first = None
            except RemoteProtocolError as error:
                self.act(self._machine.receive_fault(peer, error))
                return False
            except MemoryError:  # too little memory for this message: the vote continues without its sender
                self.act(self._machine.receive_loss(peer))
                return False
            if self._meter is not None:
                self._meter.note(message, len(payload))
            if type(message) is Abort and self._timed_phases is not None:
                self._take_leave(peer, message)
                return False
            effects = self._machine.receive(peer, message)
            if effects or self._skips_waiting:
                self.act(effects)
        return True

    async def wait_until_ended(self) -> None:
        """Return when the machine has finished or failed."""
        if self._ending is None:
            self._when_ended = trio.Event()
            await self._when_ended.wait()

    async def settle(self) -> None:
        """Return when all that the machine has asked for so far was acted on: not while a record is being kept."""
        while (self._is_keeping or self._is_resting) and not self.has_ended:
            if self._when_settled is None:
                self._when_settled = trio.Event()
            await self._when_settled.wait()

    def ending(self) -> Finish:
        """Return the machine's `Finish`, or raise the error of its `Fail`."""
        match self._ending:
            case Finish():
                return self._ending
            case Fail(error):
                raise error
            case None:
                raise RuntimeError("the session has not ended")

    def _send(self, recipients: Sequence[str], message: Message) -> None:
        payload = encode(message)
        self._num_sent_bytes += len(payload)
        num_reached = 0
        for recipient in recipients:
            if recipient not in self.outboxes:
                continue
            num_reached += 1
            try:
                self.outboxes[recipient].put(payload)
            except OutboxFullError:
                error = RemoteProtocolError(f"{recipient} does not read what it is sent", sender=recipient)
                self._pending.extend(self._machine.receive_fault(recipient, error))
        if self._meter is not None:
            self._meter.note(message, len(payload), times=num_reached)

    async def _rest(self) -> None:
        """Let others read what was sent, before more is."""
        await trio.lowlevel.checkpoint()
        self._num_sent_bytes, self._is_resting = 0, False
        self.act([])
        self._say_settled()

    def _act_on(self, effect: Effect) -> None:
        """Act on an effect that sends nothing."""
        match effect:
            case SetDeadline(phase, seconds):
                self.deadlines = {**self.deadlines, phase: trio.current_time() + seconds}
                self._start(self._expire, phase, seconds)
            case Drop(party, _):
                outbox = self.outboxes.get(party)
                if outbox is not None:
                    self._start(_hang_up, outbox)
            case Finish() | Fail():
                self._ending = effect
                if self._when_ended is not None:
                    self._when_ended.set()
            case _:
                pass  # only for the log and the listener, or stored before
        if self._log is not None and not (self._hides_peers and isinstance(effect, Drop)):
            log_effect(self._log, session=self._session, party=self._party, effect=effect)

    def _keep(self, records: list[Record]) -> None:
        """Keep records now, or, with a nursery, in a thread and together with all others that wait."""
        if self._journal is None:
            raise LocalProtocolError(f"{self._party} is asked to keep records, and has no journal")
        if self._nursery is None:
            self._journal.keep(records)
            return
        records += [effect.record for effect in self._pending if isinstance(effect, Keep)]
        self._pending = [effect for effect in self._pending if not isinstance(effect, Keep)]
        self._is_keeping = True
        self._nursery.start_soon(self._keep_in_thread, self._journal, records)

    async def _keep_in_thread(self, journal: Journal, records: list[Record]) -> None:
        try:
            await self._run_in_thread(journal.keep, records)
        except PsephosError as error:
            self._pending.clear()  # none of these effects may become visible, nor later ones, since storing never ends
            self._act_on(Fail(error))
        else:
            self._is_keeping = False
            self.act([])
        self._say_settled()

    def _say_settled(self) -> None:
        if self._when_settled is not None:
            self._when_settled.set()
            self._when_settled = None

    def _skip_waiting(self) -> bool:
        """Let the open phase's deadline pass if nothing can come before it; return whether there is more to act on."""
        phase = self._timed_phases.settled_phase if self._timed_phases is not None else None
        if self._timed_phases is None or phase is None:
            return False
        self._pending.extend(self._timed_phases.receive_timeout(phase))
        return bool(self._pending)

    def _start(self, task: Callable[..., Awaitable[object]], *arguments: object) -> None:
        if self._nursery is None:
            raise RuntimeError(f"{self._party}'s driver has no nursery for what its machine asks")
        self._nursery.start_soon(task, *arguments)

    def _take_leave(self, peer: str, message: Abort) -> None:
        """Let a peer go, which says nothing more."""
        if self.outboxes[peer].is_carried:
            if self._farewells is None:
                self._farewells = []
                self._start(self._let_leave)
            self._farewells.append((peer, message))
        else:
            self.act(self._machine.receive(peer, message))
            self._start(_hang_up, self.outboxes[peer])

    async def _let_leave(self) -> None:
        """Let a host's parties leave together: they say so one after another, and each is to be named."""
        await trio.sleep(_QUIET_SECONDS)
        leaving, self._farewells = self._farewells or [], None
        if self._timed_phases is not None:
            self.act(self._timed_phases.receive_departures(leaving))
        for peer, _ in leaving:
            self._start(_hang_up, self.outboxes[peer])

    async def _expire(self, phase: str, seconds: float) -> None:
        due_time = trio.current_time() + seconds
        await trio.sleep_until(due_time)
        # If the process was suspended, data may have arrived before the deadline; otherwise one poll is enough.
        was_away = trio.current_time() - due_time > _QUIET_SECONDS
        await self._take_what_has_come(_QUIET_SECONDS if was_away else 0.0)
        if self._timed_phases is not None and not self.has_ended:
            self.act(self._timed_phases.receive_timeout(phase))

    async def _take_what_has_come(self, pause_seconds: float) -> None:
        """Let readers take data that came in time; for a fixed time if participation is private.

        Args:
            pause_seconds: the time without new data after which sockets count as empty; 0 for a few turns of all tasks,
                which read all available data.
        """
        with trio.move_on_after(_OVERTIME_SECONDS):
            num_before = -1
            while num_before < self._num_taken or (self._hides_peers and pause_seconds):
                num_before = self._num_taken
                for _ in range(_TURNS):
                    await trio.sleep(pause_seconds / _TURNS)


def _mute_peer(peer: str, effect: Effect) -> Effect:
    """Return an effect that sends nothing to a peer."""
    if not isinstance(effect, Send) or peer not in effect.recipients:
        return effect
    return Send(tuple(recipient for recipient in effect.recipients if recipient != peer), effect.message)


async def _hang_up(outbox: Outbox) -> None:
    """Close a channel once what is queued for it has left, or soon after if the peer does not read."""
    with trio.move_on_after(LINGER_SECONDS):
        await outbox.drain_and_close()
