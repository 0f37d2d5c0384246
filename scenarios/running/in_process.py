"""Run a server and its clients over a transport, in one process."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import trio

from ...agents.adversaries import SERVER, Attempt, DeviatingChannel, DeviatingListener, Deviation, try_to_join
from ...agents.client import Client
from ...agents.driver import LINGER_SECONDS
from ...agents.server import Server
from ...protocol.errors import ConnectionLostError, PsephosError
from ...protocol.messages import Hello
from ...protocol.rules import JOIN
from ...protocol.session_flow import SessionResult
from ...transports.abc import Channel, Transport
from ...transports.faults import FaultyTransport
from ...transports.memory import MemoryTransport

__all__ = ["Strangers", "hold_in_process"]

_SECONDS_BETWEEN_PROGRESS: Final = 0.2
_MOST_CONNECTING: Final = 16
_PARTIES_FOR_EACH: Final = 60
_SECONDS_BETWEEN_LOOKS: Final = 0.01  # interval at which strangers check whether all others have joined


@dataclasses.dataclass(frozen=True, eq=False)
class Strangers:
    """Connections from outside the session, made before it begins, while all parties but one have joined.

    Each first sends its Hello; the results are appended to the caller's list.
    """

    hellos: Sequence[Hello]
    attempts: list[Attempt] = dataclasses.field(default_factory=list[Attempt])


async def hold_in_process(
    server: Server,
    clients: Mapping[str, Client],
    transport: Transport,
    on_progress: Callable[[str, int, int], None] | None,
    deviations: Mapping[str, Deviation],
    strangers: Strangers | None = None,
) -> tuple[SessionResult, dict[str, PsephosError]]:
    """Run a session of a server and its clients.

    Returns:
        The server's result, and for each client without the outcome the reason.

    Raises:
        PsephosError: the server ended without a result.
        OSError: no listener could be opened, or a client could not connect while the session lasted.

    A cancellation closes all channels at once.
    """
    result: SessionResult | None = None
    failure: PsephosError | OSError | None = None  # raised after the nursery has closed, which would wrap it
    parties = _Parties(clients)
    scope = trio.CancelScope()

    async def watch(report: Callable[[str, int, int], None]) -> None:
        with scope:
            while True:
                phase, num_received, outstanding = server.progress
                if num_received is not None and outstanding is not None:  # otherwise the number is private
                    report(phase, num_received, outstanding)
                await trio.sleep(_SECONDS_BETWEEN_PROGRESS)

    async with await transport.open_listener() as listening, trio.open_nursery() as nursery:

        async def meet_strangers(strangers: Strangers) -> None:
            """Let strangers try their luck, once all parties but one have joined or nobody joins any more."""
            while server.progress[0] == JOIN and sum(each.has_joined for each in clients.values()) < len(clients) - 1:  # noqa: ASYNC110  who joins sets no event
                await trio.sleep(_SECONDS_BETWEEN_LOOKS)
            with contextlib.suppress(OSError):  # the session has already ended
                strangers.attempts.extend(await try_to_join(transport, listening.address, strangers.hellos))

        async def connect(names: Iterator[str]) -> None:
            """Connect one party after another, beside others who take from the same names."""
            nonlocal failure
            for name in names:
                if strangers is not None and name == last:
                    await meet_strangers(strangers)
                try:
                    channel = await transport.connect(listening.address)
                except OSError as error:
                    if not server.has_ended:  # otherwise the client came late, and the others have their outcome
                        failure = error
                        nursery.cancel_scope.cancel()
                    return
                if name in deviations:
                    channel = DeviatingChannel(channel, deviations[name])
                nursery.start_soon(parties.take_part, name, clients[name], channel)

        if on_progress is not None:
            nursery.start_soon(watch, on_progress)
        ordered_names = list(clients) if strangers is None else _one_held_back(clients, strangers)
        last, to_come = ordered_names[-1] if ordered_names else "", iter(ordered_names)
        for _ in range(1 if strangers is not None else _num_connecting(transport, len(clients))):
            nursery.start_soon(connect, to_come)
        try:
            of_server = deviations.get(SERVER)
            result = await server.serve(listening if of_server is None else DeviatingListener(listening, of_server))
        except PsephosError as error:
            failure = error
        scope.cancel()
        if isinstance(transport, FaultyTransport):  # some may wait forever on half-open connections
            await parties.wait_for_a_while()
            nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
    assert result is not None  # noqa: S101  one of the two was set
    return result, parties.endings


class _Parties:
    """The participants, and why clients did not receive the outcome."""

    def __init__(self, names: Iterable[str]) -> None:
        self.endings: dict[str, PsephosError] = {}
        self._at_work = dict.fromkeys(names)
        self._all_done = trio.Event()

    async def take_part(self, name: str, client: Client, channel: Channel) -> None:
        """Take part as one party."""
        try:
            await client.take_part(channel)
        except PsephosError as error:
            self.endings[name] = error
        del self._at_work[name]
        if not self._at_work:
            self._all_done.set()

    async def wait_for_a_while(self) -> None:
        """Wait for active clients, and treat other connections as lost, so that they can be cancelled."""
        with trio.move_on_after(LINGER_SECONDS):
            await self._all_done.wait()
        lost_error = ConnectionLostError(reason="the connection was lost before the release", by=SERVER)
        self.endings |= dict.fromkeys(self._at_work, lost_error)


def _num_connecting(transport: Transport, num_parties: int) -> int:
    """Return how many parties connect at a time: several in memory if there are many, to save task switches.

    The number is small enough that a party which leaves on joining is noticed early. Over other transports it is one,
    since a listener's queue may be short.
    """
    num_at_once = min(_MOST_CONNECTING, num_parties // _PARTIES_FOR_EACH)
    return max(num_at_once, 1) if isinstance(transport, MemoryTransport) else 1


def _one_held_back(names: Iterable[str], strangers: Strangers) -> list[str]:
    """Return the parties, with one at the end that no stranger impersonates, if possible."""
    speaking_names = {hello.party for hello in strangers.hellos}
    return sorted(names, key=lambda name: name not in speaking_names)
