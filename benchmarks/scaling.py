"""What 10⁶, 10⁸ and 10⁹ parties need, from what one costs: the tables of `docs/scaling.md`.

    python benchmarks/scaling.py                                  # prints them
    python benchmarks/scaling.py --markdown docs/scaling.md       # writes them there
    python benchmarks/scaling.py --check                          # fronts that own places, beside one pass

Bytes are counted here: of messages by their encoder, of a handshake by OpenSSL. A journal's rows are written here
(`benchmarks/journals.py`, quick). Other seconds and memory are those that the manual holds: `tables/performance.csv`
(`benchmarks/run.py`) and `tables/growth.csv` (`benchmarks/growth.py`). All else is arithmetic on these. Prices are
assumptions, which options replace.
"""

import argparse
import contextlib
import csv
import pathlib
import ssl
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import journals
import msgspec
import numpy as np
from growth import CASES, Case, batches_of
from psephos.protocol.messages import Charter
from psephos.protocol.population import release_tallies, run_batches, run_population, tally_batches
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.roles import SessionKind
from psephos.protocol.tally import Merged
from psephos.protocol.traffic import ExpectedTraffic
from psephos.transports.keys import Identity, make_identity
from table import number_in, rewrite_between_marks, to_markdown

_DOCS: Final = pathlib.Path(__file__).parent.parent / "docs"
_SIZES: Final = (1_000_000, 100_000_000, 1_000_000_000)
_SMALL: Final = 1_000
_PARTIES_OVER_TLS: Final = 2_000
_CORES: Final = 2  # of the machine on which joins were measured, those of the parties among them
_HOURS: Final = 24
_LAST_SHARE: Final = 0.2  # of all parties, who come in the last hour
_USE: Final = 0.5  # of a front's cores at that hour, so that a lost front's parties find room
_SECONDS_AN_HOUR: Final = 3_600
_GIGABYTE: Final = 1e9
_CHECKED_SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
_FRONTS: Final = 10
_SEED: Final = 1


class _Party(msgspec.Struct, frozen=True):
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


class _Prices(msgspec.Struct, frozen=True):
    """Dollars."""

    core_hour: float
    gigabyte_month: float
    gigabyte_out: float


def _recorded(what: str) -> float:
    """Return the number of a row of the table of speeds."""
    with (_DOCS / "tables" / "performance.csv").open(encoding="utf-8", newline="") as file:
        return number_in(next(line["ours"] for line in csv.DictReader(file) if line["what"] == what))


def _grown() -> Mapping[str, float]:
    """Return each case's seconds for a party, at the largest number that was counted."""
    found: dict[str, tuple[int, float]] = {}
    with (_DOCS / "tables" / "growth.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            parties = int(line["parties"])
            found[line["case"]] = max(found.get(line["case"], (0, 0.0)), (parties, float(line["seconds"]) / parties))
    return {name: seconds for name, (_, seconds) in found.items()}


def _party_of(case: Case, seconds: float) -> _Party:
    protocol, table_of = case.make(_SMALL)
    (inputs,) = batches_of(protocol, table_of(_SMALL), range(1))
    result = run_population(protocol, inputs, noise=SimulatedNoise(_SEED, session="scaling"))
    expected = ExpectedTraffic(
        protocol,
        names=[f"party-{place:09}" for place in range(_SMALL)],
        public=inputs.public,
        session="scaling",
        kind=SessionKind.DEPLOYMENT,
        charter=Charter("0" * 32, "0" * 64, 1 << 31),
    )
    said = expected.of(result.tallies, result.outcome, result.own_outcomes)
    return _Party(
        reports=len(protocol.phases),
        up=sum(each.bytes_up for each in said) / _SMALL,
        down=sum(each.bytes_down for each in said) / _SMALL,
        tally=sum(tally.totals.nbytes for tally in result.tallies),
        kept=sum(tally.rows.nbytes for tally in result.tallies) / _SMALL,
        seconds=seconds,
    )


def handshake_bytes() -> tuple[int, int]:
    """Return the bytes of a handshake of TLS 1.3 with a certificate on either side: to the server, and back."""
    keys = make_identity(), make_identity()
    ends = [(ssl.MemoryBIO(), ssl.MemoryBIO()) for _ in keys]
    kinds = (ssl.PROTOCOL_TLS_CLIENT, ssl.PROTOCOL_TLS_SERVER)
    contexts = [_context(kind, own, other) for kind, own, other in zip(kinds, keys, reversed(keys), strict=True)]
    objects = [
        context.wrap_bio(*end, server_side=bool(number))
        for number, (context, end) in enumerate(zip(contexts, ends, strict=True))
    ]
    told = [0, 0]
    for _ in range(3):  # flights
        for number, each in enumerate(objects):
            with contextlib.suppress(ssl.SSLWantReadError):
                each.do_handshake()
            data = ends[number][1].read()
            told[number] += len(data)
            ends[1 - number][0].write(data)
    return told[0], told[1]


def _context(kind: int, own: Identity, other: Identity) -> ssl.SSLContext:
    """Return a context as `psephos.transports.tls` has it."""
    context = ssl.SSLContext(kind)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if kind == ssl.PROTOCOL_TLS_SERVER:
        context.num_tickets = 0
    context.load_verify_locations(cadata=other.certificate)
    with tempfile.NamedTemporaryFile() as file:
        file.write(own.text.encode())
        file.flush()
        context.load_cert_chain(file.name)
    return context


def _tables(prices: _Prices) -> Iterator[str]:
    joins = _PARTIES_OVER_TLS / _recorded(f"{_PARTIES_OVER_TLS:,} parties over TLS at one server")
    a_core = joins / _CORES
    kilobytes = _recorded(f"{_PARTIES_OVER_TLS:,} parties over TLS at one server: its memory for each connection")
    kept = {row.what: number_in(row.ours) for row in journals.measure(quick=True)}
    row_bytes, rows_a_second = (kept[f"journal of a server, {what}"] for what in ("a report", "256 reports a commit"))
    up, down = handshake_bytes()
    parties = {name: _party_of(CASES[name], seconds) for name, seconds in _grown().items()}
    yield _table(
        "What one party costs, whatever it says",
        ("number", "from"),
        [
            (
                "joining over TLS, a core",
                f"{1 / a_core * 1e3:.1f} ms",
                f"{joins:,.0f} joins a second on {_CORES} cores",
            ),
            ("a connection that is held", f"{kilobytes:,.0f} KB", "row of the table of speeds"),
            ("a handshake", f"{up:,} bytes to the server, {down:,} back", "counted by `benchmarks/scaling.py`"),
            ("a report in a database", f"{row_bytes:,.0f} bytes", "a journal's row, `benchmarks/journals.py`"),
            ("keeping reports for good", f"{rows_a_second:,.0f} a second", "256 a commit, `benchmarks/journals.py`"),
        ],
    )
    yield _table(
        "What one party costs beside, by protocol and model",
        ("reports", "bytes up", "bytes down", "tally", "kept for each", "CPU to count"),
        [
            (
                f"{name}: {CASES[name].what}",
                f"{own.reports}",
                f"{own.up:,.0f}",
                f"{own.down:,.0f}",
                _bytes(own.tally),
                _bytes(own.kept),
                f"{own.seconds * 1e6:.2f} µs",
            )
            for name, own in parties.items()
        ],
    )
    sizes = tuple(f"{size:,} parties" for size in _SIZES)
    yield _table(
        "As it is today: one server, and a connection each from the beginning to the end",
        sizes,
        [
            ("its memory", *(_bytes(size * kilobytes * 1e3) for size in _SIZES)),
            ("joining, one after another", *(_hours(size / joins) for size in _SIZES)),
        ],
    )
    a_front = a_core * _CORES * _USE
    peaks = [size * _LAST_SHARE / _SECONDS_AN_HOUR for size in _SIZES]
    fronts = [int(np.ceil(peak / a_front)) for peak in peaks]
    hours = [count * _CORES * _HOURS for count in fronts]
    yield _table(
        "Fronts, and one visit each",
        sizes,
        [
            ("visits a second in the last hour", *(f"{peak:,.0f}" for peak in peaks)),
            (f"fronts of {_CORES} cores", *(f"{count:,}" for count in fronts)),
            ("handshakes, to the fronts and back", *(f"{_bytes(size * up)}, {_bytes(size * down)}" for size in _SIZES)),
            (f"dollars for {_HOURS} hours of fronts", *(_money(each * prices.core_hour) for each in hours)),
        ],
    )
    size = _SIZES[-1]
    yield _table(
        f"{size:,} parties, and fewer in proportion",
        ("up", "down", "database", "inserts a second", "counting, one core", "kept", "dollars"),
        [
            (
                name,
                _bytes(size * own.up),
                _bytes(size * own.down),
                _bytes(size * own.reports * row_bytes),
                f"{size * _LAST_SHARE / _SECONDS_AN_HOUR * own.reports:,.0f}",
                _hours(size * own.seconds),
                _bytes(size * own.kept) if own.kept else "–",
                _money(_dollars(size, own, row_bytes, down, prices)),
            )
            for name, own in parties.items()
        ],
    )


def _dollars(size: int, own: _Party, row_bytes: float, down: int, prices: _Prices) -> float:
    """Return what counting, a month of the database and bytes out cost, without fronts."""
    stored = size * own.reports * row_bytes / _GIGABYTE
    told = size * (own.down + down) / _GIGABYTE
    counting = size * own.seconds / _SECONDS_AN_HOUR
    return counting * prices.core_hour + stored * prices.gigabyte_month + told * prices.gigabyte_out


def _money(dollars: float) -> str:
    return f"{dollars:,.2f}" if dollars < 100 else f"{dollars:,.0f}"  # noqa: PLR2004  cents matter below


def _bytes(number: float) -> str:
    for power, name in ((12, "TB"), (9, "GB"), (6, "MB"), (3, "KB")):
        if number >= 10**power:
            return f"{number / 10**power:,.3g} {name}" if number < 1e15 else f"{number / 10**power:,.0f} {name}"  # noqa: PLR2004  a million of them
    return f"{number:,.0f} bytes"


def _hours(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds < 600 else f"{seconds / _SECONDS_AN_HOUR:,.1f} h"  # noqa: PLR2004  ten minutes


def _table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f"**{title}**\n\n{to_markdown(rows, ('what', *header))}"


def _check() -> None:
    """Let fronts own ranges of places, count them again, and merge in any order: the outcome is one pass's.

    Raises:
        RuntimeError: it is another.
    """
    generator = np.random.default_rng(_SEED)
    for name, case in CASES.items():
        for size in (size for size in _CHECKED_SIZES if size <= case.most // 10):
            batch = min(case.batch, size // (2 * _FRONTS))
            protocol, table_of = case.make(size)
            table, noise = table_of(batch), SimulatedNoise(_SEED, session="scaling")
            cuts = np.sort(generator.choice(np.arange(1, size // batch), _FRONTS - 1, replace=False)) * batch
            ends = [0, *map(int, cuts), size]
            merged = [Merged() for _ in protocol.phases]
            for number in map(int, generator.permutation(_FRONTS)):
                first, last = ends[number], ends[number + 1]
                own, again = (
                    tally_batches(
                        protocol, batches_of(protocol, table, range(first, last, batch)), noise=noise, first=first
                    )
                    for _ in range(2)
                )
                if own != again:
                    raise RuntimeError(f"{name}, {size:,} parties: a front that counts again counts otherwise")
                for whole, part in zip(merged, own, strict=True):
                    whole.add(part)
            found = release_tallies(protocol, [whole.all() for whole in merged], noise=noise)
            expected = run_batches(protocol, batches_of(protocol, table, range(0, size, batch)), noise=noise)
            if (found.outcome, found.tallies) != (expected.outcome, expected.tallies):
                raise RuntimeError(f"{name}, {size:,} parties: {_FRONTS} fronts count otherwise than one pass")
            print(
                f"{name}, {size:,} parties: {_FRONTS} fronts, each of which counts twice, have the bits of one pass",
                flush=True,
            )


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="simulate fronts instead")
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE", help="write the tables into FILE too")
    parser.add_argument("--core-hour", type=float, default=0.05, metavar="DOLLARS")
    parser.add_argument("--gigabyte-month", type=float, default=0.10, metavar="DOLLARS", help="on disks")
    parser.add_argument("--gigabyte-out", type=float, default=0.09, metavar="DOLLARS", help="to parties")
    options = parser.parse_args()
    if options.check:
        _check()
        return
    text = "\n\n".join(_tables(_Prices(options.core_hour, options.gigabyte_month, options.gigabyte_out)))
    print(text)
    if options.markdown is not None:
        rewrite_between_marks(options.markdown, text)


if __name__ == "__main__":
    _main()
