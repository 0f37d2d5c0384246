"""Cloud servers and aggregators: the party that sends requests, tallies reports and releases outcomes."""

import contextlib
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec
import trio

from ..protocol.errors import HandshakeError, MalformedMessageError, RemoteProtocolError, StrangerError
from ..protocol.memoized_reports import ReceivedReports
from ..protocol.messages import MAX_GREETING_BYTES, Abort, Hello, Inquiry, decode, encode
from ..protocol.phases import PhasedProtocol
from ..protocol.roles import Side
from ..protocol.roster import Roster
from ..protocol.rules import DEFAULT_RULES, SessionRules
from ..protocol.server_machine import ServerMachine
from ..protocol.session_flow import SessionResult
from ..protocol.states import SESSION
from ..protocol.views import View
from ..transports.abc import Channel, Listener
from ..transports.carrier import GREETING, REFUSAL, CarriedChannel, Carrier
from .driver import LINGER_SECONDS, NOBODY, Driver, Observers, RunInThread
from .events import log_unless_it_fails
from .journals import SittingOfServer
from .modes import Mode
from .outbox import Outbox
from .pending import PendingConnections, Places, UnlimitedPlaces
from .session_status import Companion, Connections, SessionStatus

_REFUSAL_SECONDS: Final = 5.0
"""The seconds for telling a refused peer, and for the answer of an earlier process with the same key."""
_GOODBYE_SECONDS: Final = 2.0
"""The seconds for telling clients that the server is stopped, while its operator waits."""
_RETURN_SECONDS: Final = 30.0
"""The seconds for which a released session waits for lost parties that may return for the release."""
_PAUSE_SECONDS: Final = 0.1
"""The seconds until the next attempt to accept after a failure."""


class Server:
    """The server of one session.

    Args:
        mode: a simulation or a deployment; a client of the other kind is refused.
        places: the numbers of connections without a Hello at a time, by default for the size of the roster; or
            `UnlimitedPlaces`, if this process runs all parties.
        sitting: the server's journal of this session. With it the session continues after a restart where it stopped,
            and lost parties may return.
        kept, secret: as `memoized_reports` and `secret` of `ServerMachine`.

    Attributes:
        run_in_thread: runs the blocking storage of records; tests under a virtual clock replace it.

    Raises:
        ConfigurationError: as `ServerMachine`.

    Privacy:
        If participation is private (`PhasedProtocol.hides_participation`), the log neither names nor counts clients,
        phases close at their deadlines, and the server stays `LINGER_SECONDS` after the release, whether or not a
        client is still connected. The server's memory, its view and the network do show who takes part. Without
        certificates on the roster, anybody can also find out by trying to join in another's name.

    Examples:
        Three partners vote over memory, with noise of a seed.

        >>> import trio
        >>> from psephos.agents import CloudServer, Partner, Simulation
        >>> from psephos.protocol import Party, Roster, SimulatedNoise
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> from psephos.transports import MemoryTransport
        >>> vote = DPWeVote(Parameters(candidates=("bridge",), epsilon=5.0))
        >>> inputs = vote.encode({"weight": [1.0, 2.0, 3.0], "bridge": [1, 1, 0]})
        >>> names = ["ann", "bob", "cid"]
        >>> mode = Simulation("council", SimulatedNoise(1, session="council"))
        >>> async def hold_session():
        ...     server, transport = CloudServer(vote, Roster(names, inputs.public), mode), MemoryTransport()
        ...     async with await transport.open_listener() as listener, trio.open_nursery() as nursery:
        ...         for place, name in enumerate(names):
        ...             partner = Partner(vote, Party(name, place, inputs.private[place].tolist()), mode)
        ...             nursery.start_soon(partner.take_part, await transport.connect(listener.address))
        ...         return await server.serve(listener)
        >>> trio.run(hold_session).num_received
        (3, 3)
    """

    role: ClassVar[str] = "server"

    def __init__(
        self,
        protocol: PhasedProtocol[Any, Any],
        roster: Roster,
        mode: Mode,
        *,
        rules: SessionRules = DEFAULT_RULES,
        places: Places | UnlimitedPlaces | None = None,
        sitting: SittingOfServer | None = None,
        memoized_reports: ReceivedReports | None = None,
        secret: bytes = b"",
        observers: Observers = NOBODY,
    ) -> None:
        self.run_in_thread: RunInThread = trio.to_thread.run_sync
        self._observers = observers
        self._sitting = sitting
        self._is_resumed = sitting is not None and bool(sitting.records)
        self._channels: dict[str, Channel] = {}
        self._carriers: dict[str, Carrier] = {}  # by fingerprint
        self._mail = _Mail()
        self._senders: dict[Channel, str] = {}  # the party of each watched channel, empty before its Hello
        self.view: View | None = None
        if mode.record_views:
            self.view = View(self.role, Side.SERVER, mode.session, mode.kind)
        self._session = mode.session
        self._skips_waiting = isinstance(places, UnlimitedPlaces)
        self._hides_participation = protocol.hides_participation
        self._pending = PendingConnections(places or Places.make_for_roster(len(roster)), tell=self._log_refusals)
        self._driver: Driver | None = None
        self._roster = roster
        self._began_at = math.nan  # the Unix time at 0 of trio's clock
        self._readers = 0
        self._last_left: trio.Event | None = None
        self._machine = ServerMachine(
            protocol,
            roster,
            mode,
            rules=rules,
            view=self.view,
            records=None if sitting is None else sitting.records,
            memoized_reports=memoized_reports,
            secret=secret,
        )

    @property
    def has_ended(self) -> bool:
        """Whether the session has been released or aborted; it may still be telling its clients."""
        return not SESSION[self._machine.state]

    @property
    def memoized_reports(self) -> ReceivedReports:
        """The reports that later sessions may repeat. See `ServerMachine.memoized_reports`."""
        return self._machine.memoized_reports

    @property
    def transcript(self) -> str | None:
        """The digest of what everybody was told, once released; for people to compare (`protocol.transcript`)."""
        return self._machine.transcript

    @property
    def refusals(self) -> Mapping[str, int]:
        """The number of refused connections, by reason.

        Reasons are those of `pending.REASONS`, and those of the transport for failed handshakes, such as an expired
        certificate.
        """
        return dict(self._pending.refused)

    @property
    def progress(self) -> tuple[str, int | None, int | None]:
        """The open phase, how many have reported in it, and how many it still waits for; None where that is private."""
        return self._machine.progress

    @property
    def session_status(self) -> SessionStatus:
        """The session's current status, without anything private."""
        trio_deadlines: Mapping[str, float] = {} if self._driver is None else self._driver.deadlines
        phase = self._machine.progress[0]
        connections = None
        if not self._hides_participation:
            num_greeting = len(self._pending)
            connections = Connections(num_greeting + self._readers, num_greeting, self.refusals)
        return SessionStatus(
            state=self._machine.state,
            phase=phase,
            num_parties=len(self._roster),
            seconds_left=max(0.0, trio_deadlines[phase] - trio.current_time()) if phase in trio_deadlines else math.inf,
            deadlines={name: _whole_seconds(self._began_at + at) for name, at in trio_deadlines.items()},
            attendance=self._machine.attendance,
            connections=connections,
        )

    async def serve(
        self, listener: Listener, *other_listeners: Listener, companions: Sequence[Companion] = ()
    ) -> SessionResult:
        """Serve one session, and close the listeners.

        A fault of a connection, or of the log for it, ends that connection, and never the session. If the call is
        cancelled, it closes every channel at once. If it is interrupted (`KeyboardInterrupt`), it first tells the
        clients. In both cases clients raise `SessionAborted`.

        Args:
            listener: the listener for parties. It is closed as soon as the server waits for nobody.
            other_listeners: further listeners, of other transports. They stay open to the end.
            companions: tasks that run as long as the session, for example to show its status. If one fails, the session
                continues without it.

        Returns:
            The outcome with the tallies behind it.

        Raises:
            QuorumError: a phase closed without its quorum; the clients were told.
            JournalError: a record cannot be written, or is of another session; nothing was sent that depends on it.
        """
        machine = self._machine
        async with contextlib.AsyncExitStack() as stack:
            for each in (listener, *other_listeners):
                await stack.enter_async_context(each)
            effects = machine.start()
            async with trio.open_nursery() as nursery:
                driver = Driver(
                    machine,
                    nursery,
                    party=self.role,
                    session=self._session,
                    timed=machine,
                    # If participation is public, a phase closes as soon as it is settled anyway.
                    skips_waiting=self._skips_waiting and self._hides_participation,
                    hides_peers=self._hides_participation,
                    journal=self._sitting,
                    run_in_thread=self.run_in_thread,
                    observers=self._observers,
                )
                self._driver, self._began_at = driver, time.time() - trio.current_time()
                driver.act(effects)
                for companion in companions:
                    nursery.start_soon(self._run_beside, companion)
                for each in (listener, *other_listeners):
                    nursery.start_soon(self._accept, each, driver, nursery)
                nursery.start_soon(self._read_mail, driver, nursery)
                nursery.start_soon(self._pending.close_silent)
                try:
                    await driver.wait_until_ended()
                except KeyboardInterrupt:
                    await self._say_goodbye(driver)
                    raise
                if self._sitting is None or not (machine.awaits_listeners or self._hides_participation):
                    await listener.aclose()
                # Clients read their last message and disconnect before the server does. If participation is private,
                # it must not be visible whether a party may return.
                may_return = machine.awaits_listeners and not self._hides_participation
                seconds = _RETURN_SECONDS if may_return else LINGER_SECONDS
                with trio.move_on_after(0 if driver.has_lost_its_journal else seconds):
                    await self._drain(driver)
                    await self._wait_for_readers()
                    if self._hides_participation and not self._skips_waiting:
                        await trio.sleep_forever()  # as if a client stayed connected
                nursery.cancel_scope.cancel()
        self._log_refusals(self._pending.refused)
        result = driver.ending().result
        assert isinstance(result, SessionResult)  # noqa: S101  it is what this machine finishes with
        # After a restart it is unknown which clients received the release before.
        return msgspec.structs.replace(result, num_told=None if self._is_resumed else machine.num_told)

    async def _run_beside(self, companion: Companion) -> None:
        try:
            await companion(lambda: self.session_status)
        except Exception as error:  # noqa: BLE001  whatever it is, the session is not about it
            if self._observers.log is not None:
                fields = {"session": self._session, "party": self.role, "error": type(error).__name__}
                log_unless_it_fails(self._observers.log.warning, "watching_failed", **fields, reason=str(error))

    async def _accept(self, listener: Listener, driver: Driver, nursery: trio.Nursery) -> None:
        note = self._mail.note
        while True:
            try:
                channel = listener.accept_nowait() or await listener.accept()
                if type(channel) is CarriedChannel:  # whose number per connection is bounded
                    channel.limit_payloads(MAX_GREETING_BYTES)
                else:
                    self._pending.enter(channel)
            except trio.ClosedResourceError:
                return
            except Exception:  # noqa: BLE001  whatever is wrong with one connection, or with memory, others may come
                self._pending.turn_away("failed")
                await trio.sleep(_PAUSE_SECONDS)
                continue
            if self._skips_waiting and channel.watch(note):
                self._senders[channel] = ""
            else:
                nursery.start_soon(self._converse, channel, driver)

    async def _read_mail(self, driver: Driver, nursery: trio.Nursery) -> None:
        """Read all watched channels in one task, which takes less time than a task for each.

        It handles the regular messages of conversations; a separate task of the connection does the rest.
        """
        try:
            while True:
                for channel in await self._mail.wait():
                    if channel in self._senders:
                        self._read_at_once(channel, driver, nursery)
        finally:
            for channel in self._senders:
                channel.close()

    def _read_at_once(self, channel: Channel, driver: Driver, nursery: trio.Nursery) -> None:
        """Take what has arrived on a channel that is watched."""
        party = self._senders[channel]
        payloads: list[bytes] = []
        may_hear = True
        try:
            payloads = channel.receive_nowait()
        except trio.WouldBlock:
            return
        except Exception as error:  # noqa: BLE001  as `Driver.read`
            if party:
                may_hear = self._channels.get(party) is channel and driver.lose(party, driver.outboxes[party], error)
        else:
            if party:
                if driver.take(party, payloads):
                    return
            elif (hello := self._hello_in(payloads[0], channel)) is not None:
                party = self._senders[channel] = hello.party
                if self._begin(channel, hello, payloads, driver):
                    return
        del self._senders[channel]
        if not party:
            nursery.start_soon(self._converse, channel, driver, payloads)
        elif may_hear:
            nursery.start_soon(self._conclude_alone, party, channel, driver)
        else:
            self._hang_up(party, channel)

    def _hello_in(self, payload: bytes, channel: Channel) -> Hello | None:
        """Return the Hello that admits a channel; None where something else is to be done, or told."""
        try:
            message = decode(payload, sender=channel.peer)
            if type(message) is not Hello:
                return None
            self._machine.admit(message)
        except Exception:  # noqa: BLE001  whatever it is, `_greet` finds out the same, and says so
            return None
        return message

    async def _carry(self, channel: Channel, payloads: list[bytes], driver: Driver) -> None:
        """Accept the channels of a host, at most one at a time for each party with its certificate.

        While an earlier connection with the same certificate answers, a new one is refused; otherwise two processes
        would replace each other forever.
        """
        peer_name = channel.peer_fingerprint or channel.peer
        channel.limit_payloads(self._machine.max_received_bytes)
        carrier = Carrier(channel, most=self._roster.num_seats(channel.peer_fingerprint), early_payloads=payloads)
        while (earlier_carrier := self._carriers.get(peer_name)) is not None:
            if await earlier_carrier.answers(_REFUSAL_SECONDS):
                self._pending.turn_away("party")
                with contextlib.suppress(Exception), trio.move_on_after(_REFUSAL_SECONDS):
                    await channel.send([REFUSAL])
                    while await channel.receive():  # closing with unread data could cut off what was sent
                        pass
                return
            earlier_carrier.connection.close()
            if self._carriers.get(peer_name) is earlier_carrier:
                del self._carriers[peer_name]
        self._carriers[peer_name] = carrier
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._accept, carrier, driver, nursery)
                with contextlib.suppress(RemoteProtocolError):  # its channels report the error
                    await carrier.run()
            if isinstance(carrier.failure, RemoteProtocolError):
                raise carrier.failure
        finally:
            if self._carriers.get(peer_name) is carrier:
                del self._carriers[peer_name]

    async def _converse(self, channel: Channel, driver: Driver, early_payloads: list[bytes] | None = None) -> None:
        """Find out who speaks on a new channel, on which this was heard, then read it until it ends."""
        party = ""
        try:
            try:
                greeting = await self._greet(channel, driver, early_payloads)
            finally:
                self._pending.leave(channel)
            if greeting is None:
                return
            hello, payloads = greeting
            if type(channel) is CarriedChannel:
                self._pending.leave(channel.connection)
            party = hello.party
            is_sound = self._begin(channel, hello, payloads, driver)
            outbox = driver.outboxes[party]
            del greeting, hello, payloads  # frees memory, since there is one for each party
            if not is_sound or await driver.read(party, channel):
                await self._conclude(party, channel, outbox, driver)
        finally:
            self._hang_up(party, channel)

    def _begin(self, channel: Channel, hello: Hello, payloads: list[bytes], driver: Driver) -> bool:
        """Begin a conversation with what was received; return whether there may be more."""
        party = hello.party
        channel.limit_payloads(self._machine.max_received_bytes)
        if party in self._channels:
            self._channels[party].close()  # its reader sees that it was replaced
        self._channels[party] = channel
        driver.open_outbox(party, channel)
        self._readers += 1
        return driver.take(party, payloads, first=hello)

    async def _conclude(self, party: str, channel: Channel, outbox: Outbox, driver: Driver) -> None:
        """Let a party hear what it is told yet; after the session let it hang up first."""
        await driver.settle()
        if outbox.has_writer:
            await outbox.drain()
        if driver.has_ended:
            await _read_to_the_end(party, channel, driver)

    async def _conclude_alone(self, party: str, channel: Channel, driver: Driver) -> None:
        try:
            await self._conclude(party, channel, driver.outboxes[party], driver)
        finally:
            self._hang_up(party, channel)

    def _hang_up(self, party: str, channel: Channel) -> None:
        """Close a channel: this party's, or nobody's where it has said no Hello."""
        if party:
            if self._channels.get(party) is channel:
                del self._channels[party]
            self._readers -= 1
            if not self._readers and self._last_left is not None:
                self._last_left.set()
        channel.close()

    async def _greet(
        self, channel: Channel, driver: Driver, early_payloads: list[bytes] | None
    ) -> tuple[Hello, list[bytes]] | None:
        """Return the Hello that admits a channel, and all payloads received from it on; None without one.

        A host's connection has no Hello, and has ended when this returns. Until one of its parties is admitted, it
        counts as a pending connection.
        """
        try:
            payloads = early_payloads or await _hear(channel)
            if payloads[0] == GREETING and not isinstance(channel, CarriedChannel):
                await self._carry(channel, payloads[1:], driver)
                return None
            is_own = self._roster.fingerprints is not None and not isinstance(channel, CarriedChannel)
            if is_own and (clients := self._roster.num_seats(channel.peer_fingerprint)) > 1:
                reason = f"{clients} parties have this certificate, and share one connection (psephos join --parties)"
                raise RemoteProtocolError(reason, sender=channel.peer, role="server")  # noqa: TRY301  told below
            message = _greeting_in(payloads[0], peer=channel.peer)
            if type(message) is Inquiry:
                terms = self._machine.answer(message, fingerprint=channel.peer_fingerprint)
                self._pending.recognize(channel, message.party)
                await channel.send([encode(terms)])
                payloads = payloads[1:] or await _hear(channel)
                message = _greeting_in(payloads[0], peer=channel.peer)
            if type(message) is not Hello:
                raise StrangerError(f"{channel.peer} asked twice", sender=channel.peer)  # noqa: TRY301  told below
            self._machine.admit(message, fingerprint=channel.peer_fingerprint)
        except RemoteProtocolError as error:
            await self._refuse(channel, error)
            if self._last_left is not None:  # it may have been the last connection to be told something
                self._last_left.set()
        except (trio.EndOfChannel, trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # it never sent a Hello
        except Exception:  # noqa: BLE001  whatever it is, it is this connection's
            self._pending.turn_away("failed")
        else:
            return message, payloads
        return None

    async def _refuse(self, channel: Channel, error: RemoteProtocolError) -> None:
        """Tell a connection that it is refused: a party why, and everybody else by one and the same sentence."""
        match error:
            case HandshakeError():
                self._pending.turn_away(str(error))
                return  # the transport has told it already
            case StrangerError():
                self._pending.turn_away("stranger")
            case MalformedMessageError():
                self._pending.turn_away("malformed")
                error = StrangerError(str(error))
            case _:
                self._pending.turn_away("party")
        with contextlib.suppress(Exception), trio.move_on_after(_REFUSAL_SECONDS):  # the peer may be gone
            await channel.send([encode(Abort.from_error(error))])

    def _log_refusals(self, refused: Mapping[str, int]) -> None:
        if self._observers.log is not None and refused and not self._hides_participation:
            fields = {"session": self._session, "party": self.role, "total": sum(refused.values())}
            log_unless_it_fails(self._observers.log.warning, "connections_refused", **fields, reasons=dict(refused))

    async def _say_goodbye(self, driver: Driver) -> None:
        """Tell every client that the session is over, and let what was sent leave."""
        driver.act(self._machine.stop("whoever runs it has stopped it"))
        with trio.move_on_after(_GOODBYE_SECONDS):
            await driver.settle()
            await self._drain(driver)

    async def _drain(self, driver: Driver) -> None:
        for outbox in list(driver.outboxes.values()):
            if outbox.has_writer:
                await outbox.drain()
        for carrier in list(self._carriers.values()):
            await carrier.drain()

    async def _wait_for_readers(self) -> None:
        while self._readers or self._machine.awaits_listeners:
            self._last_left = trio.Event()
            await self._last_left.wait()


def _whole_seconds(seconds: float) -> float:
    """Return whole seconds: what lies between two phases' deadlines beyond them is how long a tally took."""
    return seconds if math.isinf(seconds) else float(round(seconds))


async def _read_to_the_end(party: str, channel: Channel, driver: Driver) -> None:
    """Read on until the peer hangs up, so that closing does not cut off what it has yet to read."""
    with contextlib.suppress(Exception):  # errors of a refused connection do not matter
        while driver.take(party, await channel.receive()):
            pass


async def _hear(channel: Channel) -> list[bytes]:
    """Receive from a connection without a Hello.

    Raises:
        StrangerError: it breaks a rule of the transport.
        HandshakeError, MalformedMessageError, and trio's exceptions: as `Channel.receive`.
    """
    try:
        return await channel.receive()
    except (HandshakeError, MalformedMessageError):
        raise
    except RemoteProtocolError as error:
        raise StrangerError(str(error), sender=channel.peer) from error


def _greeting_in(payload: bytes, *, peer: str) -> Hello | Inquiry:
    """Decode the first message of a connection.

    Raises:
        MalformedMessageError: the payload is no message.
        StrangerError: the message is neither a Hello nor an Inquiry.
    """
    message = decode(payload, sender=peer)
    if not isinstance(message, (Hello, Inquiry)):
        raise StrangerError(f"{peer} began with {type(message).__name__} instead of Hello", sender=peer)
    return message


class _Mail:
    """A queue of watched channels that have something to read (`Channel.watch`), for a single reader."""

    __slots__ = ("_arrivals", "_reader")

    def __init__(self) -> None:
        self._arrivals: list[Channel] = []
        self._reader = trio.lowlevel.ParkingLot()

    def note(self, channel: Channel) -> None:
        """Take note that there is something to receive on a channel."""
        if not self._arrivals:
            self._reader.unpark()
        self._arrivals += (channel,)

    async def wait(self) -> list[Channel]:
        """Return the channels with new data, in the order of arrival; wait for the first one.

        If it is cancelled, no channel is lost.
        """
        if self._arrivals:
            await trio.lowlevel.checkpoint()
        else:
            await self._reader.park()
        arrivals, self._arrivals = self._arrivals, []
        return arrivals


class CloudServer(Server):
    """The server of a joint decision."""

    role: ClassVar[str] = "cloud-server"


class Aggregator(Server):
    """The server of an election or a survey."""

    role: ClassVar[str] = "aggregator"
