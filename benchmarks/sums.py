"""Masked sums: the CPU of a party and of the server, and a party's bytes, beside other ways to a sum that nobody sees.

All parties of a phase and its server are played here, one after another, by the parts that sessions have
(`psephos.protocol.masking`), with real keys and exact noise; a part of the parties leaves when it has shared its
secrets, which costs the server most. The sum must be that of the rows that came. Each party checks the roster by
itself, so that is measured once and added to each. Of many parties two hundred are followed; the others say the same,
but believe signatures unread.

What checked deals cost is told by the same of the last commit without them, which is taken out of the repository's
history; its own benchmark plays there what ours plays here, in turns. Where the history lacks it, or it no longer runs,
the rows say so.

The rivals trust others. MPyC's servers hold shares, of which a majority is honest; Flower's SecAgg+ has a server that
follows its protocol. Neither adds noise.
"""

import contextlib
import gc
import math
import secrets
import socket
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import msgspec
import numpy as np
from harness import (
    DOCS,
    Rival,
    RivalError,
    Row,
    Rows,
    Run,
    open_process,
    open_rival,
    or_skipped,
    row,
    skipped,
    turns,
)
from psephos.agents import SecureNoise
from psephos.agents.masking import Cryptography, draw_signature_keys
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.arrays import IntArray
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
    Survivors,
    circle_for,
)
from psephos.protocol.mechanisms.polya import wrap
from psephos.protocol.phases import MaskedSums
from psephos.protocol.phases.phase import Step
from psephos.transports import MemoryTransport
from sessions import Vote

_WIDTH = 10
_TENTH = Fraction(1, 10)
_HEARD: dict[MaskingMove, Any] = {
    MaskingMove.SHARES: NeighborKeys,
    MaskingMove.CHECK: Boxes,
    MaskingMove.MASKED: Excluded,
    MaskingMove.CONFIRM: Survivors,
    MaskingMove.UNMASK: Confirmations,
}
_BEFORE = "9053277f11f4178c02cc2f9c73d68b81cc110454"
_PLAY_BEFORE = """
import gc, secrets, sys
from fractions import Fraction
import msgspec, secure_sums
gc.disable()
circle_for = secure_sums.circle_for
secure_sums.circle_for = lambda *args, seed, **own: circle_for(*args, seed=secrets.token_bytes(32), **own)
for line in sys.stdin.buffer:
    number, part, is_complete = msgspec.json.decode(line)
    size = secure_sums._Size(number, Fraction(part), is_complete=is_complete)
    gc.collect()
    own = secure_sums._play(size)
    print(msgspec.json.encode([own.server, own.party, own.up + own.down]).decode(), flush=True)
"""


class _Size(NamedTuple):
    """A phase.

    Args:
        number: of parties.
        part: of them that leaves before its masked row; on a circle as many are in league, else a tenth.
        is_complete: whether each masks with each.
        party: a target of its CPU.
        server: likewise.
    """

    number: int
    part: Fraction = _TENTH
    is_complete: bool = True
    party: str = ""
    server: str = ""

    def drawn(self) -> tuple[str, int, IntArray]:
        """Return its name, how many leave, and what is added up."""
        rows = np.random.default_rng(1).integers(0, 2, (self.number, _WIDTH))
        return f"masked sum of {self.number:,} rows of {_WIDTH}", math.floor(self.part * self.number), rows


class _Played(NamedTuple):
    """CPU seconds of the server, and of the median party that stays; its bytes, and how many neighbors it has."""

    server: float
    party: float
    up: float
    down: float
    degree: int


class _Believing(Cryptography):
    """Primitives of parties who are not followed: they believe each signature, which takes half of a party's time."""

    def verify(self, key: bytes, signature: bytes, message: bytes) -> bool:
        """Return True."""
        del key, signature, message
        return True


def masked_sums(*, quick: bool) -> Rows:
    """Yield what phases take, and arrays of a million; a quick run has the smallest phase, and fewer in arrays."""
    circle = _Size(LEAST_FOR_CIRCLE, 2 * _TENTH, is_complete=False)
    large = _Size(10_000, is_complete=False, server="≤ 30 s")
    for size in [_Size(27)] if quick else [_Size(27), _Size(190, party="≤ 100 ms", server="≤ 3 s"), circle, large]:
        yield from _rows(size)
    for size in [_Size(27)] if quick else [_Size(50), _Size(100), _Size(190), circle]:
        yield from _beside_unchecked(size, turns=1 if quick else 5)
    number = 10_000 if quick else 1_000_000
    vote, leaving = Vote(number), number // 10
    plain = Parameters(candidates=("proposal",), epsilon=1.0)
    masked = msgspec.structs.replace(plain, variant="masked", threshold=number - leaving, colluders=leaving)
    ways: list[Callable[[], object]] = []
    for protocol in (DPWeVote(masked), DPWeVote(plain)):
        noise = SimulatedNoise(1, session="masked sums")
        ways.append(partial(run_population, protocol, protocol.encode(vote.table), noise=noise))
    what = f"vote of {number:,} partners as arrays, masked, beside the local model"
    yield turns(3, ours=ways[0], raw=ways[1]).row(what, target="≤ 10")


def _rows(size: _Size) -> Rows:
    own, (what, leaving, drawn) = _play(size), size.drawn()
    graph = "complete graph" if size.is_complete else f"{own.degree} neighbors each"
    what = f"{what}, {graph}, {float(size.part):.0%} dropped"
    yield row(f"{what}: CPU of a party", 1e3 * own.party, show="{:.1f} ms", target=size.party)
    yield Row(f"{what}: a party's bytes", f"{own.up / 1e3:.1f} KB up, {own.down / 1e3:.1f} KB down")
    what = f"{what}: CPU of the server"
    yield row(what, own.server, target=size.server)
    beside = f"{what}, beside MPyC's servers"
    yield from or_skipped(beside, (row(beside, own.server, took) for took in _mpyc(drawn)))
    if size.number <= 100:  # noqa: PLR2004  its shares of secrets are Python's work: minutes for more
        beside = f"{what}, beside Flower's SecAgg+"
        yield from or_skipped(beside, (row(beside, own.server, took) for took in _flower(drawn, leaving)))


def _beside_unchecked(size: _Size, *, turns: int) -> Rows:
    """Yield a row each of the server's CPU, a party's and its bytes; the least of turns counts."""
    what, end = size.drawn()[0], ", beside deals that nobody checks"
    server = "≤ 1.9" if size.number < LEAST_FOR_CIRCLE else "≤ 1.35"  # few take some hundredths of a second
    kinds = (
        (f"{what}: CPU of the server{end}", 1, "{:.3g} s", server),
        (f"{what}: CPU of a party{end}", 1e3, "{:.3g} ms", "≤ 1.15"),
        (f"{what}: a party's bytes{end}", 1e-3, "{:.3g} KB", "≤ 1.5"),
    )
    pairs: list[tuple[Sequence[float], Sequence[float]]] = []
    try:
        with _open_before() as before:
            for _ in range(turns):
                own = _play(size)
                theirs = before.ask([size.number, str(size.part), size.is_complete])
                pairs.append(((own.server, own.party, own.up + own.down), theirs))
    except RivalError as error:
        yield from (skipped(what, str(error)) for what, *_ in kinds)
        return
    for place, (what, scale, show, target) in enumerate(kinds):
        ours, theirs = (scale * min(pair[side][place] for pair in pairs) for side in (0, 1))
        yield row(what, ours, theirs, show=show, target=target)


@contextlib.contextmanager
def _open_before() -> Generator[Rival]:
    with tempfile.TemporaryDirectory() as folder:
        tree, package = Path(folder, "tree"), Path(folder, "psephos")
        command = ("git", "-C", str(DOCS.parent), "archive", "--output", f"{folder}/tree.tar", _BEFORE)
        if subprocess.run(command, check=False, capture_output=True).returncode:  # noqa: S603  our own command
            raise RivalError(f"the history lacks {_BEFORE[:8]}")
        with tarfile.open(f"{folder}/tree.tar") as packed:
            packed.extractall(tree, filter="data")
        package.mkdir()
        (package / "__init__.py").touch()
        for name in ("agents", "protocol", "scenarios", "transports"):
            (package / name).symlink_to(tree / name)
        command = (sys.executable, "-P", "-c", _PLAY_BEFORE)
        paths = {"PYTHONPATH": f"{folder}:{tree / 'benchmarks'}"}
        with open_process(command, most_seconds=3_600, environment=paths) as before:
            yield before


def _play(size: _Size) -> _Played:
    gc.collect()
    gc.disable()  # a party's and a server's processes have no thousand others to look through
    try:
        return _played(size)
    finally:
        gc.enable()


def _played(size: _Size) -> _Played:
    """Play a phase; the sum is that of the rows that came.

    Raises:
        RuntimeError: it is not.
    """
    number, (_, leaving, rows) = size.number, size.drawn()
    colluders, threshold = math.floor((_TENTH if size.is_complete else size.part) * number), number - leaving
    circle = (
        None
        if size.is_complete
        else circle_for(number, corrupt=size.part, dropped=size.part, seed=secrets.token_bytes(32))
    )
    names = tuple(f"party-{place}" for place in range(number))
    signers, keys = draw_signature_keys(SecureNoise(), protocol="masked sums", number=number)
    # Each side checks the roster and finds its neighbors by itself: here that is done once, and counted for each.
    begin = process_time()
    rules = MaskingRules("session", "sum", names, tuple(keys), threshold, colluders, _WIDTH, circle, agreed=bytes(32))
    degree = len(rules.graph.neighbors_of(len(rules.digest) % number))
    of_server = process_time() - begin
    phase = MaskedSums(
        "sum", ranges=[(0, 1)] * _WIDTH, epsilon=1.0, threshold=threshold, colluders=colluders, unit="row"
    )
    each, primitives, believing = max(number // 200, 1), Cryptography(), _Believing()
    parties = list[MaskingParty]()
    seconds, data, added = np.full(number, of_server), np.zeros((2, number)), dict[int, Sequence[int]]()
    for place, sign in enumerate(signers):
        root, own = secrets.token_bytes(KEY_BYTES), believing if place % each else primitives
        begin = process_time()
        parties.append(MaskingParty(rules, place, root=root, sign=sign, primitives=own))
        seconds[place] += process_time() - begin

    def draw(place: int) -> Sequence[int]:
        added[place] = phase.share.randomize_exactly(rows[place].tolist(), secrets.randbelow)
        return added[place]

    def answer(place: int, step: Step) -> bytes:
        """Return what a party says in a step to what it hears, both as they travel."""
        begin = process_time()
        heard = [msgspec.msgpack.decode(told[place], type=_HEARD[step.move])] if step.move in _HEARD else []
        if step.move is MaskingMove.MASKED:
            heard.append(partial(draw, place))
        said = step.codec.encode(getattr(parties[place], str(step.move and step.move.value))(*heard))
        seconds[place] += process_time() - begin
        data[:, place] += len(bytes(said)), len(told[place])
        return said

    server, staying, told = MaskingServer(rules, primitives), range(leaving, number), dict.fromkeys(range(number), b"")
    for step in phase.steps:
        if step.is_in_dispute:
            continue  # nobody lies here
        there = staying if step.move is MaskingMove.MASKED else told
        said = {place: answer(place, step) for place in there}
        begin = process_time()
        for place, payload in said.items():
            server.receive(place, step.codec.decode(payload))
        told = {place: msgspec.msgpack.encode(own) for place, own in server.close().items()}
        of_server += process_time() - begin
    columns = zip(*(added[place] for place in staying), strict=True)
    if server.total != tuple(wrap(sum(column)) for column in columns):
        raise RuntimeError("the sum is not that of the rows that came")
    followed = [place for place in staying if not place % each]
    up, down = np.median(data[:, leaving:], axis=1).tolist()
    return _Played(of_server, float(np.median(seconds[followed])), up, down, degree)


def _mpyc(rows: IntArray) -> Iterator[float]:
    """Yield the seconds of MPyC's servers, which share for as many rows and open their sum; the first time warms up."""
    with _servers(3, most_seconds=600) as servers:
        total = rows.sum(axis=0).tolist()
        yield statistics.median([_ask(servers, "sum", rows.tolist(), total) for _ in range(4)][1:])


def _flower(rows: IntArray, leaving: int) -> Iterator[float]:
    """Yield the CPU seconds of Flower's server, as many parties of which leave."""
    with open_rival("flower", most_seconds=600) as rival:
        answer = rival.ask([rows.tolist(), leaving, len(rows) - leaving])
    if answer["found"] != rows[leaving:].sum(axis=0).tolist():
        raise RivalError("its sum is wrong")
    yield answer["seconds"]


def multiparty(*, quick: bool) -> Rows:
    """Yield the time of a vote beside the same question answered by MPyC's servers.

    The two trust different things. As long as fewer than half of the servers pool what they see, and all follow the
    protocol, nobody learns more than the decision, which is exact and without noise. Psephos trusts nobody: every
    report is randomized before it leaves its partner, and so the decision is approximate.
    """
    vote = Vote(100)
    weights, opinions = vote.table["weight"], vote.table["proposal"]
    pairs, has_passed = np.stack([weights, opinions], axis=1).tolist(), bool(2 * weights @ opinions >= weights.sum())
    for number in (3,) if quick else (3, 7):
        what = (
            f"vote of {len(pairs)} partners in memory, beside MPyC with {number} parties (another trust model: "
            f"an honest majority of the {number} servers, exact result, no noise)"
        )
        ours = partial(vote.run, MemoryTransport())
        yield from or_skipped(what, _beside_mpyc(what, number, ours, pairs, has_passed))


def _beside_mpyc(what: str, number: int, ours: Run, pairs: Sequence[Sequence[int]], has_passed: object) -> Rows:
    with _servers(number, most_seconds=60) as servers:
        times = turns(7, ours=ours, raw=partial(_ask, servers, "vote", pairs, has_passed))
    yield times.row(what, scale=1000, show="{:.0f} ms")


@contextlib.contextmanager
def _servers(number: int, *, most_seconds: float) -> Generator[list[Rival]]:
    """Run so many of MPyC's servers, which find each other by their ports."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.create_server(("localhost", 0))) for _ in range(number)]
        ports = [own.getsockname()[1] for own in held]
    with contextlib.ExitStack() as stack:
        rivals = [open_rival("mpyc", place, *ports, most_seconds=most_seconds) for place in range(number)]
        yield [stack.enter_context(rival) for rival in rivals]


def _ask(servers: Sequence[Rival], what: str, rows: Sequence[Sequence[int]], expected: object) -> float:
    """Deal rows out to the servers, which share for equally many, and return the seconds of the first.

    Raises:
        RivalError: the answer is not the expected one.
    """
    dealt = [*rows, *([[0] * len(rows[0])] * (-len(rows) % len(servers)))]
    for place, server in reversed(list(enumerate(servers))):  # the first, which has the clock, is told last
        server.tell([what, dealt[place :: len(servers)]])
    answer = servers[0].answer()
    if answer["found"] != expected:
        raise RivalError(f"it found {answer['found']}, which is wrong")
    return answer["seconds"]
