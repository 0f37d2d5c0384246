"""What 10⁶, 10⁸ and 10⁹ parties need, from what one costs: the tables of `docs/scaling.md`.

    python benchmarks/scaling.py                                  # prints them
    python benchmarks/scaling.py --record                         # writes them there
    python benchmarks/scaling.py --check                          # fronts that own places, beside one pass

Bytes are counted here: of messages by their encoder, of a handshake by OpenSSL. A journal's rows are written here
(`benchmarks/run.py journals --quick`). Other seconds and memory are those that the manual holds:
`tables/performance.csv` (`benchmarks/run.py`) and `tables/growth.csv` (`benchmarks/growth.py`). All else is arithmetic
on these. Prices are assumptions, which options replace.
"""

import contextlib
import csv
import math
import ssl
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from growth import CASES, batches_of
from harness import DOCS, number_in, options, rewrite_between_marks, to_markdown
from psephos.protocol import (
    SessionDescriptor,
    SessionKind,
    SimulatedNoise,
    release_tallies,
    run_batches,
    run_population,
)
from psephos.protocol.population import tally_batches
from psephos.protocol.tally import Merged
from psephos.protocol.traffic import ExpectedTraffic
from psephos.transports.keys import make_identity
from record import recorded
from servers import journals
from tcp import context_of

_SIZES = (1_000_000, 100_000_000, 1_000_000_000)
_SMALL = 1_000
_CORES = 2  # of the machine on which joins were measured, those of the parties among them
_HOURS = 24
_LAST = 0.2 / 3_600  # of all parties, who come in each second of the last hour
_USE = 0.5  # of a front's cores at that hour, so that a lost front's parties find room
_FRONTS = 10
_NOISE = SimulatedNoise(1, session="scaling")


class _Party(NamedTuple):
    """What one party of a case costs.

    Args:
        reports: rows in the database.
        up: bytes of its messages to the server.
        down: bytes of what it is told.
        tally: bytes that a front holds, whoever comes.
        kept: bytes that it holds for each party beside.
        seconds: of CPU to draw and count.
    """

    reports: int
    up: float
    down: float
    tally: int
    kept: float
    seconds: float


def _party_of(name: str, seconds: float) -> _Party:
    protocol = CASES[name].protocol(_SMALL)
    (inputs,) = batches_of(protocol, CASES[name].table(_SMALL), range(1))
    result = run_population(protocol, inputs, noise=_NOISE)
    expected = ExpectedTraffic(
        protocol,
        names=[f"party-{place:09}" for place in range(_SMALL)],
        public=inputs.public,
        session="scaling",
        kind=SessionKind.DEPLOYMENT,
        descriptor=SessionDescriptor("0" * 32, "0" * 64, 1 << 31),
    )
    said = expected.phase_traffic(result.tallies, result.outcome, result.own_outcomes)
    up, down = (sum(sizes) / _SMALL for sizes in zip(*((each.bytes_up, each.bytes_down) for each in said), strict=True))
    tally, kept = (sum(getattr(own, part).nbytes for own in result.tallies) for part in ("totals", "rows"))
    return _Party(len(protocol.phases), up, down, tally, kept / _SMALL, seconds)


def handshake_bytes() -> tuple[int, int]:
    """Return the bytes of a handshake of TLS 1.3 with a certificate on either side: to the server, and back."""
    keys, kinds = (make_identity(), make_identity()), (ssl.PROTOCOL_TLS_CLIENT, ssl.PROTOCOL_TLS_SERVER)
    ends = [(ssl.MemoryBIO(), ssl.MemoryBIO()) for _ in keys]
    objects = [
        context_of(kind, keys[side], [keys[1 - side].certificate]).wrap_bio(*ends[side], server_side=side > 0)
        for side, kind in enumerate(kinds)
    ]
    told = [0, 0]
    for _ in range(3):  # flights
        for side, each in enumerate(objects):
            with contextlib.suppress(ssl.SSLWantReadError):
                each.do_handshake()
            data = ends[side][1].read()
            told[side] += len(data)
            ends[1 - side][0].write(data)
    return told[0], told[1]


def _tables(prices: Any) -> Iterator[str]:
    known, whole = recorded(), "2,000 parties over TLS at one server"
    joins = 2_000 / number_in(known[whole]["ours"])
    kilobytes = number_in(known[f"{whole}: its memory for each connection"]["ours"])
    kept = {own.what: number_in(own.ours) for own in journals(quick=True)}
    row_bytes, rate = (kept[f"journal of a server, {what}"] for what in ("a report", "256 reports a commit"))
    up, down = handshake_bytes()
    seconds: dict[str, float] = {}
    with (DOCS / "tables" / "growth.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):  # the largest number that was counted comes last
            seconds[line["case"]] = float(line["seconds"]) / int(line["parties"])
    parties = {name: _party_of(name, own) for name, own in seconds.items()}

    def table(title: str, header: Sequence[str], *rows: Sequence[str]) -> str:
        return f"**{title}**\n\n{to_markdown(rows, ('what', *header))}"

    def by_size(what: str, shown: Callable[[int], str]) -> Sequence[str]:
        return (what, *map(shown, _SIZES))

    yield table(
        "What one party costs, whatever it says",
        ("number", "from"),
        (
            "joining over TLS, a core",
            f"{_CORES / joins * 1e3:.1f} ms",
            f"{joins:,.0f} joins a second on {_CORES} cores",
        ),
        ("a connection that is held", f"{kilobytes:,.0f} KB", "row of the table of speeds"),
        ("a handshake", f"{up:,} bytes to the server, {down:,} back", "counted by `benchmarks/scaling.py`"),
        ("a report in a database", f"{row_bytes:,.0f} bytes", "a journal's row, `benchmarks/run.py journals`"),
        ("keeping reports for good", f"{rate:,.0f} a second", "256 a commit, `benchmarks/run.py journals`"),
    )
    yield table(
        "What one party costs beside, by protocol and model",
        ("reports", "bytes up", "bytes down", "tally", "kept for each", "CPU to count"),
        *(
            (
                f"{name}: {CASES[name].what}",
                *(f"{number:,.0f}" for number in own[:3]),
                *map(_bytes, own[3:5]),
                f"{own.seconds * 1e6:.2f} µs",
            )
            for name, own in parties.items()
        ),
    )
    sizes = tuple(f"{size:,} parties" for size in _SIZES)
    yield table(
        "As it is today: one server, and a connection each from the beginning to the end",
        sizes,
        by_size("its memory", lambda size: _bytes(size * kilobytes * 1e3)),
        by_size("joining, one after another", lambda size: _hours(size / joins)),
    )

    def fronts(size: int) -> int:
        return math.ceil(size * _LAST / (joins * _USE))

    def of_fronts(size: int) -> float:
        return fronts(size) * _CORES * _HOURS * prices.core_hour

    yield table(
        "Fronts, and one visit each",
        sizes,
        by_size("visits a second in the last hour", lambda size: f"{size * _LAST:,.0f}"),
        by_size(f"fronts of {_CORES} cores", lambda size: f"{fronts(size):,}"),
        by_size("handshakes, to the fronts and back", lambda size: f"{_bytes(size * up)}, {_bytes(size * down)}"),
        by_size(f"dollars for {_HOURS} hours of fronts", lambda size: _money(of_fronts(size))),
    )
    size, rows = _SIZES[-1], list[Sequence[str]]()
    for name, own in parties.items():
        # What counting, a month of the database and bytes out cost, without fronts.
        stored, told = size * own.reports * row_bytes, size * (own.down + down)
        counting = size * own.seconds / 3_600 * prices.core_hour
        dollars = counting + stored / 1e9 * prices.gigabyte_month + told / 1e9 * prices.gigabyte_out
        line = (size * own.up, size * own.down, stored)
        inserts, kept_for = f"{size * _LAST * own.reports:,.0f}", _bytes(size * own.kept) if own.kept else "–"
        rows.append((name, *map(_bytes, line), inserts, _hours(size * own.seconds), kept_for, _money(dollars)))
    header = ("up", "down", "database", "inserts a second", "counting, one core", "kept", "dollars")
    yield table(f"{size:,} parties, and fewer in proportion", header, *rows)


def _money(dollars: float) -> str:
    return f"{dollars:,.2f}" if dollars < 100 else f"{dollars:,.0f}"  # noqa: PLR2004  cents matter below


def _bytes(number: float) -> str:
    for power, name in ((12, "TB"), (9, "GB"), (6, "MB"), (3, "KB")):
        if number >= 10**power:
            return f"{number / 10**power:,.3g} {name}"
    return f"{number:,.0f} bytes"


def _hours(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds < 600 else f"{seconds / 3_600:,.1f} h"  # noqa: PLR2004  ten minutes


def _check() -> None:
    """Let fronts own ranges of places, count them again, and merge in any order: the outcome is one pass's.

    Raises:
        RuntimeError: it is another.
    """
    generator = np.random.default_rng(1)
    for name, case in CASES.items():
        for size in (size for size in (1_000, 10_000, 100_000, 1_000_000) if size <= case.most // 10):
            batch = min(case.batch, size // (2 * _FRONTS))
            protocol, table = case.protocol(size), case.table(batch)
            cuts = np.sort(generator.choice(np.arange(1, size // batch), _FRONTS - 1, replace=False)) * batch
            ends = [0, *cuts.tolist(), size]
            merged = [Merged() for _ in protocol.phases]
            for number in generator.permutation(_FRONTS).tolist():
                first, last = ends[number : number + 2]
                own, again = (
                    tally_batches(
                        protocol, batches_of(protocol, table, range(first, last, batch)), noise=_NOISE, first=first
                    )
                    for _ in range(2)
                )
                if own != again:
                    raise RuntimeError(f"{name}, {size:,} parties: a front that counts again counts otherwise")
                for whole, part in zip(merged, own, strict=True):
                    whole.add(part)
            found = release_tallies(protocol, [whole.total() for whole in merged], noise=_NOISE)
            expected = run_batches(protocol, batches_of(protocol, table, range(0, size, batch)), noise=_NOISE)
            if (found.outcome, found.tallies) != (expected.outcome, expected.tallies):
                raise RuntimeError(f"{name}, {size:,} parties: {_FRONTS} fronts count otherwise than one pass")
            print(f"{name}, {size:,} parties: {_FRONTS} fronts, each of which counts twice, have the bits of one pass")


def _main() -> None:
    # Dollars for an hour of a core, for a gigabyte and month on disks, and for a gigabyte to parties.
    asked = options(__doc__, check=False, record=False, core_hour=0.05, gigabyte_month=0.10, gigabyte_out=0.09)
    if asked.check:
        _check()
        return
    text = "\n\n".join(_tables(asked))
    print(text)
    if asked.record:
        rewrite_between_marks(DOCS / "scaling.md", text)


if __name__ == "__main__":
    _main()
