"""Cloud servers and aggregators: the party that asks, tallies and releases."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import trio

from ..protocol.errors import RemoteProtocolError
from ..protocol.messages import Abort, Charter, Hello, Inquiry, decode, encode
from ..protocol.phases import PhasedProtocol
from ..protocol.roles import MAX_PARTY_NAME_LENGTH, Side
from ..protocol.roster import Roster
from ..protocol.rules import PhaseRules
from ..protocol.server_machine import ServerMachine, SessionResult
from ..protocol.states import SESSION
from ..protocol.views import View
from ..transports.abc import Channel, Listener
from .driver import LINGER_SECONDS, Driver, EffectListener
from .events import Log
from .modes import Mode

__all__ = ["Aggregator", "CloudServer", "Server"]

# A connection that has not said Hello by then is closed; sessions may last longer than anybody needs to greet.
_HELLO_SECONDS: Final = 60.0
_REFUSAL_SECONDS: Final = 5.0


class Server:
    """The server of one session.

    Args:
        protocol: the protocol with its public parameters.
        roster: who may take part.
        mode: a simulation or a deployment; a client of the other kind is refused.
        charter: what makes the session this one; by default what the mode says.
        rules: deadline and quorum for each phase by name.
        default_rules: for the phases that `rules` does not name.
        skips_waiting: let a phase's deadline pass as soon as all parties that it waits for have answered or left. This
            is for one process that runs all parties. Elsewhere the speed would reveal a participation that is private.
        log: where its events go; None for nowhere.
        listener: told of every effect of its machine.

    Raises:
        ConfigurationError: as `ServerMachine`.

    Privacy:
        If participation is private (`PhasedProtocol.hides_participation`), the log neither names nor counts clients,
        phases close at their deadlines, and the server stays `LINGER_SECONDS` after the release whether or not anybody
        is left to hear it. Its memory, its view and the network do show who takes part. So does asking for a seat in
        another's name, unless the roster has certificates.
    """

    role: ClassVar[str] = "server"

    def __init__(
        self,
        protocol: PhasedProtocol[Any, Any],
        *,
        roster: Roster,
        mode: Mode,
        charter: Charter | None = None,
        rules: Mapping[str, PhaseRules] | None = None,
        default_rules: PhaseRules | None = None,
        skips_waiting: bool = False,
        log: Log | None = None,
        listener: EffectListener | None = None,
    ) -> None:
        self.view: View | None = None
        if mode.record_views:
            self.view = View(self.role, Side.SERVER, mode.session, mode.kind)
        self._session = mode.session
        self._skips_waiting = skips_waiting
        self._hides_participation = protocol.hides_participation
        self._log = log
        self._listener = listener
        self._greeting: dict[int, tuple[Channel, float]] = {}  # connections that have yet to say Hello, and since when
        self._readers = 0
        self._all_gone: trio.Event | None = None
        self._machine = ServerMachine(
            protocol,
            roster=roster,
            session=mode.session,
            kind=mode.kind,
            charter=mode.charter if charter is None else charter,
            rules=rules,
            default_rules=default_rules,
            noise=mode.noise,
            view=self.view,
        )

    @property
    def has_ended(self) -> bool:
        """Whether the session has been released or aborted; it may still be telling its clients."""
        return not SESSION[self._machine.state]

    @property
    def transcript(self) -> str | None:
        """The digest of what everybody was told, once released; for people to compare (`protocol.transcript`)."""
        return self._machine.transcript

    @property
    def progress(self) -> tuple[str, int | None, int | None]:
        """The open phase, how many have reported in it, and how many it still waits for; None where that is private."""
        return self._machine.progress

    async def serve(self, listener: Listener) -> SessionResult:
        """Serve one session to whoever connects, and close the listener.

        Returns:
            The outcome with the tallies behind it.

        Raises:
            QuorumError: a phase closed without its quorum; the clients have been told.

        Cancelled, it closes every channel at once; clients then end with `SessionAborted`.
        """
        machine = self._machine
        async with listener:
            effects = machine.start()
            async with trio.open_nursery() as nursery:
                driver = Driver(
                    machine,
                    nursery,
                    party=self.role,
                    session=self._session,
                    timed=machine,
                    skips_waiting=self._skips_waiting,
                    hides_peers=self._hides_participation,
                    log=self._log,
                    listener=self._listener,
                )
                driver.act(effects)
                nursery.start_soon(self._accept, listener, driver, nursery)
                nursery.start_soon(self._close_silent)
                await driver.wait_until_ended()
                await listener.aclose()
                # The clients read the ending and hang up before the server does.
                with trio.move_on_after(LINGER_SECONDS):
                    for outbox in list(driver.outboxes.values()):
                        await outbox.drain()
                    await self._wait_for_readers()
                    if self._hides_participation and not self._skips_waiting:
                        await trio.sleep_forever()  # as long as if somebody did not hang up
                nursery.cancel_scope.cancel()
        result = driver.ending().result
        assert isinstance(result, SessionResult)  # noqa: S101  it is what this machine finishes with
        return result

    async def _accept(self, listener: Listener, driver: Driver, nursery: trio.Nursery) -> None:
        while True:
            try:
                channel = await listener.accept()
            except trio.ClosedResourceError:
                return
            nursery.start_soon(self._converse, channel, driver)

    async def _converse(self, channel: Channel, driver: Driver) -> None:
        """Find out who speaks on a new channel, then read it until it ends."""
        try:
            greeting = await self._greet(channel)
            if greeting is not None:
                await self._listen(channel, driver, *greeting)
        finally:
            channel.close()

    async def _listen(self, channel: Channel, driver: Driver, party: str, payloads: list[bytes]) -> None:
        """Read one client's channel until it ends; `payloads` have come already."""
        outbox = driver.open_outbox(party, channel)
        self._readers += 1
        try:
            if driver.take(party, payloads) and not await driver.read(party, channel):
                return
            await outbox.drain()
            if driver.has_ended:
                await _read_to_the_end(channel)
        finally:
            self._readers -= 1
            if not self._readers and self._all_gone is not None:
                self._all_gone.set()

    async def _greet(self, channel: Channel) -> tuple[str, list[bytes]] | None:
        """Return the party that a channel's first message admits, and everything received; None if it does not."""
        self._greeting[id(channel)] = channel, trio.current_time()
        try:
            payloads = await channel.receive()
            message = decode(payloads[0], sender=channel.peer)
            if isinstance(message, Inquiry):
                terms = self._machine.answer(message, fingerprint=channel.peer_fingerprint)
                await channel.send([encode(terms)])
                payloads = payloads[1:] or await channel.receive()
                message = decode(payloads[0], sender=channel.peer)
            if not isinstance(message, Hello):
                name = type(message).__name__
                raise RemoteProtocolError(f"{channel.peer} began with {name} instead of Hello", sender=channel.peer)  # noqa: TRY301  told below
            self._machine.admit(message, fingerprint=channel.peer_fingerprint)
        except RemoteProtocolError as error:
            await self._refuse(channel, error)
        except (trio.EndOfChannel, trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # it never said who it was
        else:
            return message.party, payloads
        finally:
            self._greeting.pop(id(channel), None)
        return None

    async def _close_silent(self) -> None:
        """Close the connections that have not said Hello in time; one task for all of them."""
        while True:
            await trio.sleep(_HELLO_SECONDS / 4)
            too_old = trio.current_time() - _HELLO_SECONDS
            for channel, since in list(self._greeting.values()):
                if since <= too_old:
                    channel.close()

    async def _refuse(self, channel: Channel, error: RemoteProtocolError) -> None:
        abort = Abort.because(error)  # whose reason is short, whatever a stranger sent
        if self._log is not None and not self._hides_participation:
            self._log.warning(
                "connection_refused",
                session=self._session,
                party=self.role,
                peer=(error.sender or channel.peer)[:MAX_PARTY_NAME_LENGTH],
                error=type(error).__name__,
                reason=abort.reason,
            )
        with trio.move_on_after(_REFUSAL_SECONDS):
            try:
                await channel.send([encode(abort)])
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return

    async def _wait_for_readers(self) -> None:
        if self._readers:
            self._all_gone = trio.Event()
            await self._all_gone.wait()


async def _read_to_the_end(channel: Channel) -> None:
    """Read on until the peer hangs up, so that closing does not cut off what it has yet to read."""
    try:
        while True:
            await channel.receive()
    except (trio.EndOfChannel, trio.BrokenResourceError, trio.ClosedResourceError, RemoteProtocolError):
        return


class CloudServer(Server):
    """The server of a joint decision."""

    role: ClassVar[str] = "cloud-server"


class Aggregator(Server):
    """The server of an election or a survey."""

    role: ClassVar[str] = "aggregator"
