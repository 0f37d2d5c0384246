"""Sessions over sockets whose server keeps a journal: what it takes to acknowledge from the disk, not from memory.

`python benchmarks/durable_sessions.py` prints these rows alone.
"""

import argparse
import dataclasses
import pathlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, Final

import trio
from psephos.agents import CloudServer, Partner
from psephos.agents.driver import Observers
from psephos.agents.journals import Sitting, SittingOfServer
from psephos.agents.modes import Simulation, draw_session_id
from psephos.agents.session_journal import SessionJournal
from psephos.protocol import Party
from psephos.protocol.effects import Effect, Finish, Opened
from psephos.protocol.messages import Charter
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.records import ServerRecord
from psephos.protocol.roster import Roster
from psephos.transports import TCPTransport, TLSTransport
from psephos.transports.abc import Transport
from table import Row, at_least, to_text
from trials import interleave
from votes import Vote

__all__ = ["DurableVote", "measure"]

_SESSION: Final = "benchmark"
_HOST: Final = "127.0.0.1:0"
_TRIALS: Final = 5
_LEAST: Final = 0.5
_TRANSPORTS: Final[Mapping[str, Callable[[], Transport]]] = {"tcp": TCPTransport, "tls": TLSTransport}


class _MemoryJournal:
    """Keeps a server's records as long as the process lives."""

    def __init__(self) -> None:
        self.records: list[ServerRecord] = []

    def keep(self, records: Sequence[Any]) -> None:
        """Keep records."""
        self.records += records


@dataclasses.dataclass
class _Stopwatch:
    """Takes the time from the first request to the release."""

    began: float = 0.0
    seconds: float = 0.0

    def __call__(self, effect: Effect, /) -> None:
        """Take note of an effect."""
        if isinstance(effect, Opened):
            self.began = self.began or perf_counter()
        elif isinstance(effect, Finish):
            self.seconds = perf_counter() - self.began


class DurableVote:
    """A vote over sockets of one process, which may be held any number of times.

    Args:
        num_partners: how many.
        transport: between them and their server.
    """

    def __init__(self, num_partners: int, transport: Transport) -> None:
        self._vote = Vote(num_partners)
        self._transport = transport
        self._roster = Roster(self._vote.names, self._vote.inputs.public)

    def hold(self, sitting: SittingOfServer, own: Mapping[str, Callable[[str], Sitting]] | None = None) -> float:
        """Hold one session, and return its seconds from the first request to the release.

        Args:
            sitting: the server's journal of it.
            own: makes a party's journal of a session from its id, by the party's name.

        Raises:
            RuntimeError: somebody's report did not arrive.
        """
        return trio.run(self._hold, sitting, own or {})

    async def _hold(self, sitting: SittingOfServer, own: Mapping[str, Callable[[str], Sitting]]) -> float:
        noise, charter = SimulatedNoise(1, session=_SESSION), Charter(draw_session_id())
        mode = Simulation(_SESSION, noise, charter=charter)
        stopwatch = _Stopwatch()
        server = CloudServer(
            self._vote.protocol, self._roster, mode, sitting=sitting, told=Observers(listener=stopwatch)
        )
        listener = await self._transport.open_listener(_HOST)
        async with trio.open_nursery() as nursery:
            for place, name in enumerate(self._vote.names):
                journal = own[name](charter.id) if name in own else None
                nursery.start_soon(self._take_part, listener.address, place, name, mode, journal)
            result = await server.serve(listener)
        if set(result.num_received) != {len(self._vote.names)}:
            raise RuntimeError(f"of {len(self._vote.names)} parties {result.num_received} reported")
        return stopwatch.seconds

    async def _take_part(self, address: str, place: int, name: str, mode: Simulation, sitting: Sitting | None) -> None:
        party = Party(name, place, self._vote.inputs.private[place].tolist())
        client = Partner(self._vote.protocol, party, mode, sitting=sitting)
        await client.take_part(await self._transport.connect(address))


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield acknowledged reports a second, from a journal on the disk beside one in memory."""
    num_partners = 200 if quick else 1_000
    for name, make in _TRANSPORTS.items():
        vote = DurableVote(num_partners, make())
        with tempfile.TemporaryDirectory() as folder:
            times = interleave(
                {
                    "volatile": lambda vote=vote: vote.hold(_MemoryJournal()),
                    "durable": lambda vote=vote, folder=folder: _hold_durably(vote, pathlib.Path(folder)),
                },
                trials=_TRIALS,
            )
        ratio = times.ratio("volatile", to="durable")
        num_reports = 2 * num_partners
        yield Row(
            f"reports acknowledged from a journal over {name.upper()}, {num_partners:,} partners in one process",
            f"{num_reports / times.median('durable'):,.0f} reports/s",
            f"{num_reports / times.median('volatile'):,.0f} reports/s",
            f"{ratio:.2f}",
            at_least(ratio, _LEAST),
        )


def _hold_durably(vote: DurableVote, folder: pathlib.Path) -> float:
    path = folder / "journal.sqlite"
    with SessionJournal.open(path, configuration={}) as journal:
        seconds = vote.hold(journal)
    for file in folder.iterdir():
        file.unlink()
    return seconds


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    print(to_text(list(measure(quick=parser.parse_args().quick))))


if __name__ == "__main__":
    _main()
