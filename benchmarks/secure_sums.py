"""Masked sums: the CPU of a party and of the server, and a party's bytes, beside other ways to a sum that nobody sees.

All parties of a phase and its server are played here, one after another, by the parts that sessions have
(`psephos.protocol.masking`), with real keys and exact noise; a part of the parties leaves when it has shared its
secrets, which costs the server most. The sum must be that of the rows that came. Each party checks the roster by
itself, so that is measured once and added to each. Of many parties two hundred are followed; the others say the same,
but believe signatures unread.

    python benchmarks/secure_sums.py 1000       # another complete graph, of so many, with a tenth dropped

What checked deals cost is told by the same of the last commit without them (`unchecked_deals`).

The rivals trust others. MPyC's servers hold shares, of which a majority is honest; Flower's SecAgg+ has a server that
follows its protocol. Neither adds noise.
"""

import functools
import gc
import math
import secrets
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from time import process_time
from typing import Final

import msgspec
import numpy as np
from multiparty import open_servers
from psephos.agents.masking import Cryptography, draw_signature_keys
from psephos.agents.noise import SecureNoise
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.masking import (
    KEY_BYTES,
    LEAST_FOR_CIRCLE,
    Boxes,
    Confirmations,
    Excluded,
    MaskingMove,
    MaskingParty,
    MaskingRules,
    MaskingServer,
    NeighborKeys,
    Said,
    Survivors,
    circle_for,
)
from psephos.protocol.mechanisms.polya import wrapped
from psephos.protocol.phases import Inputs, MaskedSums
from psephos.protocol.phases.phase import Step
from psephos.protocol.population import run_population
from psephos.protocol.randomness import SimulatedNoise
from rivals import Rival, RivalError, open_rival
from table import Row, at_most, skipped, to_text
from trials import interleave, timed
from unchecked_deals import Played, Playing, rows_beside

__all__ = ["measure"]

_WIDTH: Final = 10
_EPSILON: Final = 1.0
_SEED: Final = 1
_SERVERS: Final = 3
_PATIENCE: Final = 600.0  # seconds in which a rival answers
_TRIALS: Final = 3
_TURNS: Final = 5
_MOST_OF_FLOWER: Final = 100  # parties: its shares of secrets are Python's work, and take minutes for more
_FEW: Final = 10_000
_MANY: Final = 1_000_000
_MOST_TIMES: Final = 10
_FOLLOWED: Final = 200  # parties, of all that there are: they are alike
_THOUSAND: Final = 1_000


class _Size(msgspec.Struct, frozen=True):
    """A phase.

    Args:
        num_parties: n.
        part: of the parties that leaves before its masked row; on a circle as many are in league, else a tenth.
        is_complete: whether each masks with each.
        milliseconds: of CPU of a party, at most; None where there is no target.
        seconds: of the server, likewise.
    """

    num_parties: int
    part: Fraction
    is_complete: bool
    milliseconds: float | None = None
    seconds: float | None = None


_TENTH: Final = Fraction(1, 10)
_SIZES: Final = (
    _Size(27, _TENTH, is_complete=True),
    _Size(190, _TENTH, is_complete=True, milliseconds=100, seconds=3),
    _Size(LEAST_FOR_CIRCLE, 2 * _TENTH, is_complete=False),
    _Size(10_000, _TENTH, is_complete=False, seconds=30),
)
_FEWER: Final = tuple(_Size(number, _TENTH, is_complete=True) for number in (50, 100, 190))
_MOST_OF_FEWER: Final = 1.9  # times what the server takes whose deals nobody checks: some hundredths of a second
_MOST_OF_MORE: Final = 1.35  # from a thousand parties on
_MOST_OF_A_PARTY: Final = 1.15
_MOST_OF_BYTES: Final = 1.5


class _Believing(Cryptography):
    """Primitives of parties who are not followed: they believe each signature, which takes half of a party's time."""

    def verify(self, key: bytes, signature: bytes, message: bytes) -> bool:
        """Return True."""
        del key, signature, message
        return True


class _Party:
    """A party, and what its steps take.

    Args:
        part: of the phase.
        row: draws what it adds, noise included.
    """

    def __init__(self, part: MaskingParty, row: Callable[[], Sequence[int]]) -> None:
        self._part, self._row = part, row
        self.added: Sequence[int] = ()
        self.seconds = 0.0
        self.up = self.down = 0

    def answer(self, step: Step, heard: bytes) -> msgspec.Raw:
        """Return what it says in a step to what it hears, both as they travel."""
        begin = process_time()
        said = step.codec.encode(self._say(step, heard))
        self.seconds += process_time() - begin
        self.up, self.down = self.up + len(bytes(said)), self.down + len(heard)
        return said

    def _say(self, step: Step, heard: bytes) -> Said:
        decode = msgspec.msgpack.decode
        match step.move:
            case MaskingMove.KEYS:
                return self._part.keys()
            case MaskingMove.SHARES:
                return self._part.shares(decode(heard, type=NeighborKeys))
            case MaskingMove.CHECK:
                return self._part.check(decode(heard, type=Boxes))
            case MaskingMove.MASKED:
                return self._part.masked(decode(heard, type=Excluded), self._draw)
            case MaskingMove.CONFIRM:
                return self._part.confirm(decode(heard, type=Survivors))
            case _:
                return self._part.unmask(decode(heard, type=Confirmations))

    def _draw(self) -> Sequence[int]:
        self.added = self._row()
        return self.added


class _Measured(msgspec.Struct, frozen=True):
    """CPU seconds of the server, and of the median party that stays; its bytes, and how many neighbors it has."""

    server: float
    party: float
    up: float
    down: float
    degree: int


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield what phases take, and arrays of a million; a quick run has the smallest phase, and fewer in arrays."""
    for size in _SIZES[:1] if quick else _SIZES:
        yield from _rows(size)
    for size in _FEWER[:1] if quick else (*_FEWER, _SIZES[2]):
        yield from _beside_unchecked(size, trials=1 if quick else _TURNS)
    yield _arrays(_FEW if quick else _MANY)


def _rows(size: _Size) -> Iterator[Row]:
    own, number = _play(size), size.num_parties
    graph = "complete graph" if size.is_complete else f"{own.degree} neighbors each"
    what = f"{_named(size)}, {graph}, {float(size.part):.0%} dropped"
    milliseconds = own.party * _THOUSAND
    target = at_most(milliseconds, size.milliseconds, unit=" ms")
    yield Row(f"{what}: CPU of a party", f"{milliseconds:.1f} ms", goal=target)
    sizes = f"{own.up / _THOUSAND:.1f} KB up, {own.down / _THOUSAND:.1f} KB down"
    yield Row(f"{what}: a party's bytes", sizes)
    target = at_most(own.server, size.seconds, unit=" s")
    yield Row(f"{what}: CPU of the server", f"{own.server:.2f} s", goal=target)
    yield _beside("MPyC's servers", what, size, own, _mpyc)
    if number <= _MOST_OF_FLOWER:
        yield _beside("Flower's SecAgg+", what, size, own, _flower)


def _named(size: _Size) -> str:
    return f"masked sum of {size.num_parties:,} rows of {_WIDTH}"


def _beside_unchecked(size: _Size, *, trials: int) -> list[Row]:
    def play() -> Played:
        own = _play(size)
        return Played(own.server, own.party, own.up + own.down)

    most = _MOST_OF_FEWER if size.num_parties < _THOUSAND else _MOST_OF_MORE
    playing = Playing(size.num_parties, str(size.part), size.is_complete)
    return rows_beside(_named(size), playing, play, most=(most, _MOST_OF_A_PARTY, _MOST_OF_BYTES), trials=trials)


def _beside(rival: str, what: str, size: _Size, own: _Measured, ask: Callable[[_Size], float]) -> Row:
    beside = f"{what}: CPU of the server, beside {rival}"
    try:
        took = ask(size)
    except RivalError as error:
        return skipped(beside, str(error))
    return Row(beside, f"{own.server:.2f} s", f"{took:.2f} s", f"{own.server / took:.2f}")


def _play(size: _Size) -> _Measured:
    gc.collect()
    gc.disable()  # a party's and a server's processes have no thousand others to look through
    try:
        return _played(size)
    finally:
        gc.enable()


def _played(size: _Size) -> _Measured:
    """Play a phase; the sum is that of the rows that came.

    Raises:
        RuntimeError: it is not.
    """
    number = size.num_parties
    leaving = math.floor(size.part * number)
    colluders, threshold = math.floor((_TENTH if size.is_complete else size.part) * number), number - leaving
    circle = None if size.is_complete else circle_for(number, corrupt=size.part, dropped=size.part, seed=b"public")
    names = tuple(f"party-{place}" for place in range(number))
    signers, keys = draw_signature_keys(SecureNoise(), protocol="masked sums", number=number)
    # Each side checks the roster and finds its neighbors by itself: here that is done once, and counted for each.
    begin = process_time()
    rules = MaskingRules("session", "sum", names, tuple(keys), threshold, colluders, _WIDTH, circle, agreed=bytes(32))
    degree = len(rules.graph.neighbors_of(len(rules.digest) % number))
    of_roster = process_time() - begin
    phase = MaskedSums(
        "sum", ranges=[(0, 1)] * _WIDTH, epsilon=_EPSILON, threshold=threshold, colluders=colluders, unit="row"
    )
    rows = _inputs(number)
    each, primitives, believing = max(number // _FOLLOWED, 1), Cryptography(), _Believing()
    parties: list[_Party] = []
    for place, (sign, row) in enumerate(zip(signers, rows, strict=True)):
        root, own = secrets.token_bytes(KEY_BYTES), believing if place % each else primitives
        begin = process_time()
        part = MaskingParty(rules, place, root=root, sign=sign, primitives=own)
        parties.append(_Party(part, functools.partial(phase.share.randomize_exactly, row, secrets.randbelow)))
        parties[-1].seconds = of_roster + process_time() - begin
    server, seconds = MaskingServer(rules, primitives), of_roster
    staying = range(leaving, number)
    told: dict[int, bytes] = dict.fromkeys(range(number), b"")
    for step in phase.steps:
        if step.is_in_dispute:
            continue  # nobody lies here
        there = staying if step.move is MaskingMove.MASKED else told
        said = {place: parties[place].answer(step, told[place]) for place in there}
        begin = process_time()
        for place, payload in said.items():
            server.receive(place, step.codec.decode(payload))
        told = {place: msgspec.msgpack.encode(own) for place, own in server.close().items()}
        seconds += process_time() - begin
    added = zip(*(parties[place].added for place in staying), strict=True)
    if server.total != tuple(wrapped(sum(column)) for column in added):
        raise RuntimeError("the sum is not that of the rows that came")
    stayed = [parties[place] for place in staying]
    return _Measured(
        seconds,
        statistics.median(party.seconds for place, party in zip(staying, stayed, strict=True) if not place % each),
        statistics.median(party.up for party in stayed),
        statistics.median(party.down for party in stayed),
        degree,
    )


def _arrays(number: int) -> Row:
    """Return the time of a vote by arrays, masked, beside that of the local model in the same run."""
    generator = np.random.default_rng(_SEED)
    table = {"weight": generator.integers(1, 4, number), "proposal": generator.integers(0, 2, number)}
    leaving = number // 10
    plain = Parameters(candidates=("proposal",), epsilon=_EPSILON)
    votes = {
        "masked": DPWeVote(
            msgspec.structs.replace(plain, variant="masked", threshold=number - leaving, colluders=leaving)
        ),
        "local": DPWeVote(plain),
    }
    times = interleave(
        {name: functools.partial(_time_arrays, vote, vote.encode(table)) for name, vote in votes.items()},
        trials=_TRIALS,
    )
    ratio = times.ratio("masked", to="local")
    return Row(
        f"vote of {number:,} partners as arrays, masked, beside the local model",
        f"{times.median('masked'):.2f} s",
        f"{times.median('local'):.2f} s",
        f"{ratio:.1f}",
        at_most(ratio, _MOST_TIMES if number == _MANY else None),
    )


def _time_arrays(vote: DPWeVote, inputs: Inputs) -> float:
    return timed(lambda: run_population(vote, inputs, noise=SimulatedNoise(_SEED, session="masked sums")))


def _mpyc(size: _Size) -> float:
    """Return the seconds of MPyC's servers, which share for as many rows and open their sum."""
    rows = _inputs(size.num_parties)
    dealt = [*rows, *([[0] * _WIDTH] * (-len(rows) % _SERVERS))]  # every server shares for equally many
    with open_servers("rival_sum.py", _SERVERS, most_seconds=_PATIENCE) as servers:
        times: list[float] = []
        for _ in range(1 + _TRIALS):  # the first warms up
            for place, server in reversed(list(enumerate(servers))):  # the first, which has the clock, is told last
                server.tell(msgspec.json.encode(dealt[place::_SERVERS]))
            times.append(_answer_of(servers[0], rows))
    return statistics.median(times[1:])


def _flower(size: _Size) -> float:
    """Return the CPU seconds of Flower's server, as many parties of which leave."""
    rows, leaving = _inputs(size.num_parties), math.floor(size.part * size.num_parties)
    with open_rival("rival_secagg.py", most_seconds=_PATIENCE) as rival:
        rival.tell(msgspec.json.encode({"rows": rows, "leaving": leaving, "needed": len(rows) - leaving}))
        return _answer_of(rival, rows[leaving:])


def _answer_of(rival: Rival, rows: Sequence[Sequence[int]]) -> float:
    """Return the seconds that a rival says.

    Raises:
        RivalError: the sum is wrong.
    """
    answer = msgspec.json.decode(rival.answer(), type=_Answer)
    if answer.total != [sum(column) for column in zip(*rows, strict=True)]:
        raise RivalError("its sum is wrong")
    return answer.seconds


def _inputs(number: int) -> list[list[int]]:
    return np.random.default_rng(_SEED).integers(0, 2, (number, _WIDTH)).tolist()


class _Answer(msgspec.Struct, frozen=True):
    """A rival's sum, and the seconds that it took."""

    seconds: float
    total: list[int]


def _main() -> None:
    for number in sys.argv[1:]:
        size = _Size(int(number), _TENTH, is_complete=True)
        print(to_text([*_rows(size), *_beside_unchecked(size, trials=_TURNS if size.num_parties < _THOUSAND else 1)]))


if __name__ == "__main__":
    _main()
