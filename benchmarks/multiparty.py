"""A weighted vote of a hundred partners, beside the same question answered by multi-party computation.

The two trust different things. MPyC's servers hold shares: as long as fewer than half of them pool what they see, and
all follow the protocol, nobody learns more than the decision, which is exact and without noise. Psephos trusts nobody:
every report is randomized before it leaves its partner, and so the decision is approximate.
"""

import contextlib
import socket
from collections.abc import Generator, Iterator
from typing import Final

import msgspec
from psephos.transports import MemoryTransport
from rivals import MOST_SECONDS, Rival, RivalError, open_rival
from table import Row, skipped
from trials import interleave, timed
from votes import Vote

__all__ = ["measure", "open_servers"]

_NUM_PARTNERS: Final = 100
_NUM_PARTIES: Final = (3, 7)
_TRIALS: Final = 7
_HOST: Final = "localhost"
_MILLISECONDS: Final = 1_000
_MOST_PORT: Final = 65_535
_SEARCHES: Final = 100


class _Answer(msgspec.Struct, frozen=True):
    """What MPyC's party 0 says of a trial."""

    seconds: float
    passed: bool


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield the time of a vote beside MPyC's with some numbers of parties; a quick run has the first of them."""
    vote = Vote(_NUM_PARTNERS)
    for num_parties in _NUM_PARTIES[:1] if quick else _NUM_PARTIES:
        what = (
            f"vote of {_NUM_PARTNERS} partners in memory, beside MPyC with {num_parties} parties (another trust model: "
            f"an honest majority of the {num_parties} servers, exact result, no noise)"
        )
        try:
            row = _compare(what, vote, num_parties)
        except RivalError as error:
            row = skipped(what, str(error))
        yield row


def _compare(what: str, vote: Vote, num_parties: int) -> Row:
    with open_servers("rival_vote.py", num_parties) as parties:
        times = interleave(
            {
                "mpyc": lambda: _ask(parties, vote),
                "ours": lambda: timed(lambda: vote.run(MemoryTransport())),
            },
            trials=_TRIALS,
        )
    return Row(
        what,
        f"{times.median('ours') * _MILLISECONDS:.0f} ms",
        f"{times.median('mpyc') * _MILLISECONDS:.0f} ms",
        f"{times.ratio('ours', to='mpyc'):.2f}",
    )


@contextlib.contextmanager
def open_servers(script: str, number: int, *, most_seconds: float = MOST_SECONDS) -> Generator[list[Rival]]:
    """Run so many processes of one of this folder's scripts, which find each other by MPyC's options."""
    with contextlib.ExitStack() as stack:
        port = _find_ports(number)
        yield [
            stack.enter_context(
                open_rival(script, f"-M{number}", f"-I{party}", f"-B{port}", "--no-log", most_seconds=most_seconds)
            )
            for party in range(number)
        ]


def _ask(parties: list[Rival], vote: Vote) -> float:
    """Deal the partners out to the parties, which share for them, and return the seconds of party 0.

    Raises:
        RivalError: the decision is wrong.
    """
    pairs = list(zip(vote.weights, vote.opinions, strict=True))
    missing = -len(pairs) % len(parties)  # every party shares equally many: whoever is missing has no weight
    pairs += [(0, 0)] * missing
    # Party 0, which has the clock, is told last.
    for place, party in reversed(list(enumerate(parties))):
        party.tell(msgspec.json.encode(pairs[place :: len(parties)]))
    answer = msgspec.json.decode(parties[0].answer(), type=_Answer)
    if answer.passed != (2 * sum(weight * opinion for weight, opinion in pairs) >= sum(weight for weight, _ in pairs)):
        raise RivalError(f"it decided that passed = {answer.passed}, which is wrong")
    return answer.seconds


def _find_ports(number: int) -> int:
    """Return the first of so many neighboring ports that nobody listens on.

    Raises:
        RivalError: there are none.
    """
    for _ in range(_SEARCHES):
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            first = _bind(stack, 0)
            if first + number - 1 <= _MOST_PORT:
                for port in range(first + 1, first + number):
                    _bind(stack, port)
                return first
    raise RivalError(f"no {number} neighboring ports are free")


def _bind(stack: contextlib.ExitStack, port: int) -> int:
    listener = stack.enter_context(socket.socket())
    listener.bind((_HOST, port))
    return int(listener.getsockname()[1])
