"""Audits of masked sessions of every size, against the server with colluding parties.

Some parties of a roster leave before they send their masked row, so that T parties are in the sum. Of these, c collude:
they give the server their rows and noise shares. What remains is a sum with h = T − c honest shares. It is tested
against its law, and the loss between the ends by this law is compared with the ledger. With simulated noise, the phase
draws the sum over arrays. With secure noise, machines run sessions with a deployment's cryptography. Then each party's
noise share is also tested against its law, and everything else that a party sends must be independent of its row:

- masked rows are uniform modulo 2⁶⁴, tested by all of their bits;
- so are differences of two numbers of a row, of two parties' rows, and of a party's rows in two sessions, at the grid's
  distances;
- messages have the same sizes and order for all inputs;
- the roots that masks are derived from are uniform, and never repeat.
"""

import dataclasses
import functools
import hashlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

import msgspec
import numpy as np

from ...agents.masking import SharedCryptography
from ...agents.modes import Deployment, with_keys
from ...agents.noise import SecureNoise
from ...protocol.arrays import IntArray
from ...protocol.client_machine import ClientMachine
from ...protocol.masking import Masked, MaskingMove, Primitives
from ...protocol.mechanisms import RowMechanism
from ...protocol.messages import Message, Report, SessionDescriptor, encode
from ...protocol.phases import Inputs, MaskedPhase, PhasedProtocol
from ...protocol.population import draw_reports
from ...protocol.privacy import Ledger, LedgerEntry
from ...protocol.randomness import NoiseSource, SimulatedNoise
from ...protocol.roster import Roster
from ...protocol.server_machine import ServerMachine
from ...protocol.sides import SessionMode
from ..running.earlier_reports import EarlierReports
from .case import NO_PLACE, LawCheck, OutputSampler, OutputView, Source
from .machines import SESSION, Wire, names_of, noise_of, roster_of
from .mechanisms.checking import noise_of_laplace, sizes_of_shares, views_of_noise
from .size_grid import RUNGS, Configuration
from .stream_views import LAGS

MASKED_RUNGS: Final = RUNGS[1:6]
"""Numbers of parties in a masked session, in which each pair of parties shares a mask."""
MASKED_STEP: Final = [*MaskingMove].index(MaskingMove.MASKED)
_SECONDS: Final[Mapping[Source, tuple[float, float]]] = {"simulated": (4e-5, 4e-6), "secure": (2e-3, 4e-4)}
"""Approximate seconds in a session, for each party; and for each pair of parties, and each number of a party."""
_LARGE, _SECONDS_IF_LARGE = 2**14, 2e-4  # from this scale on, shares are drawn without a table
# Enough sessions, over all rosters, to detect one party, or one number of a row, without a mask at eight standard
# deviations.
_LEAST_SESSIONS, _MOST_OF_LEAST, _SESSIONS_OF_RATIO = 20, 60, 4.3
_BITS: Final = 4  # bits of a masked number that are tested jointly
_UNIFORM: Final = np.full(64 // _BITS << _BITS, 1 / (64 // _BITS << _BITS))
"""The law of a position in a 64-bit number and of the bits there, uniform for each number."""
_SHARES: Final = 6_000
"""Noise shares drawn: enough to detect shares for 7 honest parties instead of 5, at a scale of a few steps or more."""
_GROUPS: Final = 8
"""Groups of numbers of a row whose shares are also tested separately: half the scale is detected in each."""
_WORDS: Final = 4  # 64-bit words in a root
_ROOTS: Final = 20_000  # enough to detect by repetition that roots have 26 random bits or fewer
_INT64: Final = -(1 << 63), (1 << 63) - 1

_Reports = Callable[..., IntArray]
"""As `draw_reports`: maps a phase and a roster to all parties' rows with simulated noise shares."""


def sizes_of(num_parties: int) -> dict[str, int]:
    """Return T and c for a number of parties: a fifth may leave, and a quarter colludes."""
    threshold = num_parties - num_parties // 5
    return {"threshold": threshold, "colluders": min(max(1, num_parties // 4), 2 * threshold - num_parties - 1)}


@dataclasses.dataclass(frozen=True, eq=False)
class MaskedStage(Configuration):
    """Sessions of some sizes in the distributed model, whose ends are rosters that differ in the first party.

    The seed draws the index of the party that differs. Some of the other parties leave, and some collude.
    """

    is_central: bool = True
    # clients' machines with secure noise; tests replace them by faulty ones
    machine: type[ClientMachine] = ClientMachine
    reports: _Reports = draw_reports  # draws rows with simulated noise; tests replace it by a faulty one

    @property
    def _masked(self) -> MaskedPhase:
        phase = self.protocol.masked_phase
        assert phase is not None  # noqa: S101  it is a masked configuration
        return phase

    def honest_place(self, seed: int) -> int:
        """Return the index of an honest party in the sum."""
        return self._parts(seed).honest[0]

    def _parts(self, seed: int) -> "_Parts":
        own_place = int(np.random.default_rng(seed).permutation(self.num_parties).argmin())
        return _Parts.of(self._masked, self.num_parties, own_place, seed)

    def _rosters(self, seed: int) -> dict[str, Inputs]:
        order = np.random.default_rng(seed).permutation(self.num_parties)
        return {
            name: roster_of(self.protocol, list(inputs.private[order]), inputs.public[order].tolist())
            for name, inputs in super()._rosters(seed).items()
        }

    def _entries(self) -> Sequence[LedgerEntry]:
        ledgers = [Ledger(name) for name in names_of(self.num_parties)]
        inputs: Inputs = next(iter(self.kinds.values())).first
        self._held(inputs, _Parts.of(self._masked, self.num_parties, 0, 0), "secure")(0, SESSION, ledgers)
        return ledgers[0].entries

    def _loss(self, ends: Any) -> float | None:
        phase = self._masked
        rows = [end_inputs.private[:, phase.columns].sum(axis=0) for end_inputs in ends]
        return float(np.abs(rows[0] - rows[1]).sum()) / phase.share.scale

    def _checks(self, rosters: Mapping[str, Inputs], seed: int) -> list[LawCheck]:
        phase = self._masked
        parts = self._parts(seed)
        noise = noise_of_laplace(phase.share.scale)  # the sum of the planned number of shares
        usual_others = self._held(next(iter(rosters.values())), parts, "secure")(0, SESSION).others
        checks: list[LawCheck] = []
        for name, inputs in rosters.items():
            sums = inputs.private[parts.honest][:, phase.columns].sum(axis=0).tolist()
            views = views_of_noise(sums, noise, _INT64)
            checks.append(LawCheck(name, views, draw=self._sums(inputs, parts)))
            views_seen = _Seen(len(sums), len(parts.survivors), self.num_sessions)
            num_repeats = -(-self._least(*views_seen[:2]) // (len(rosters) * self.num_sessions))
            views = [*views, *views_seen.views(usual_others)]
            checks.append(LawCheck(name, views, secure=self._sessions(inputs, parts), least=num_repeats))
        ends, law = sizes_of_shares(phase.share.scale, phase.threshold - phase.colluders)

        def sizes(numbers: IntArray, sums_drawn: IntArray) -> IntArray:
            return np.searchsorted(ends, np.abs(sums_drawn[:, numbers])).reshape(-1)

        value_indices = np.arange(phase.num_values)
        groups = [
            value_indices,
            *(np.array_split(value_indices, min(len(value_indices), _GROUPS)) if len(value_indices) > 1 else []),
        ]
        views = [
            OutputView(
                f"numbers {group[0] + 1} to {group[-1] + 1}", law, functools.partial(sizes, group), each=len(group)
            )
            for group in groups
        ]
        shares = functools.partial(self._shares, next(iter(rosters.values())), parts)
        checks.append(LawCheck("shares of noise", views, secure=shares, least=-(-_SHARES // phase.num_values)))
        checks.append(LawCheck("roots of masks", list(_root_views()), secure=self._roots, least=_ROOTS))
        return checks

    def _shares(self, inputs: Inputs, parts: "_Parts", number: int, stream: int) -> IntArray:
        """Draw noise shares with the survivors' samplers; each output is the row of one survivor."""
        noise, rows = _Telling((self.make_noise or noise_of("secure"))()(SESSION, stream, 0)), inputs.private
        self._run(inputs, parts, noise, SESSION)
        draws = itertools.islice(itertools.cycle(sorted(noise.draws.items())), number)
        shares = [np.array(draw()) - rows[place, self._masked.columns] for place, draw in draws]
        return np.array(shares, dtype=np.int64)

    def _roots(self, number: int, stream: int) -> IntArray:
        """Draw the roots of masks."""
        noise = (self.make_noise or noise_of("secure"))()(SESSION, stream, 0)
        address = {"protocol": self.protocol.name, "phase": self._masked.name}
        root_bytes = b"".join(noise.entropy(**address, place=place) for place in range(number))
        return np.frombuffer(root_bytes, dtype="<i8").reshape(number, _WORDS).astype(np.int64)

    def _least(self, width: int, num_rows: int) -> int:
        """Return the least number of sessions, even if the configuration's share is smaller."""
        num_sessions = math.ceil(_SESSIONS_OF_RATIO * max(width / num_rows, num_rows / width))
        return min(max(num_sessions, _LEAST_SESSIONS), _MOST_OF_LEAST)

    def _sums(self, inputs: Inputs, parts: "_Parts") -> OutputSampler:
        """Return a sampler of the honest part of a sum, by arrays."""
        phase, size = self._masked, self.num_parties

        def draw(number: int, stream: int) -> IntArray:
            noise = SimulatedNoise(stream, session=SESSION)
            tiled = Inputs(*(np.tile(rows, (number, 1)) for rows in (inputs.private, inputs.public)))
            reports = self.reports(phase, tiled, noise=noise, protocol=self.protocol.name, start=0)
            reports = reports.reshape(number, size, -1)
            public = inputs.public[parts.survivors]
            totals = [phase.tally(rows, earlier=(), public=public).totals for rows in reports[:, parts.survivors]]
            return np.array(totals)[:, : phase.num_values] - reports[:, parts.colluding].sum(axis=1)

        return draw

    def _sessions(self, inputs: Inputs, parts: "_Parts") -> OutputSampler:
        """Return a sampler of the server's view of consecutive sessions by machines: first sum, then all else."""

        def draw(number: int, stream: int) -> IntArray:
            session = self._held(inputs, parts, "secure")
            outputs: list[list[int]] = []
            for turn in range(number):
                rounds = [session(stream, f"{SESSION}-{turn}") for _ in range(self.num_sessions)]
                all_others = {each.others for each in rounds}
                masked = [residue for each in rounds for residue in each.masked]
                outputs.append([*rounds[0].sums, *masked, all_others.pop() if len(all_others) == 1 else NO_PLACE])
            return np.array(outputs, dtype=np.int64)

        return draw

    def _held(self, inputs: Inputs, parts: "_Parts", source: Source) -> Callable[..., "_Held"]:
        noises = (self.make_noise or noise_of(source))()

        def hold(seed: int, session: str, ledgers: Sequence[Ledger] | None = None) -> _Held:
            noise = _Telling(noises(session, seed, 0))
            wire = self._run(inputs, parts, noise, session, ledgers)
            totals = wire.tallies[0].totals.reshape(-1)[: self._masked.num_values]
            known_noise = np.array([noise.drawn[place] for place in parts.colluding], dtype=np.int64)
            sums: list[int] = (totals - known_noise.reshape(-1, len(totals)).sum(axis=0)).tolist()
            return _Held(sums, *_masked_rows_and_digest(self.protocol, wire.sent, session))

        return hold

    def _run(
        self,
        inputs: Inputs,
        parts: "_Parts",
        noise: "_Telling",
        session: str,
        ledgers: Sequence[Ledger] | None = None,
    ) -> Wire:
        """Run a session, and return its wire; PsephosError: it failed, or dropped a party."""
        descriptor = SessionDescriptor(hashlib.sha256(session.encode()).hexdigest()[:32])
        mode, names = _Mode(session, noise, descriptor=descriptor), names_of(len(inputs))
        roster, mode, signers = with_keys(self.protocol, Roster(names, inputs.public), mode)
        of_names = None if ledgers is None else dict(zip(names, ledgers, strict=True))
        parties = EarlierReports(self.protocol, names, inputs, None).parties(of_names, signers)
        clients = {party.name: self.machine(self.protocol, party, mode) for party in parties}
        leave_steps = {name: MASKED_STEP for place, name in enumerate(names) if place not in parts.survivors}
        wire = Wire(ServerMachine(self.protocol, roster, mode), clients, leave_steps=leave_steps)
        wire.run()
        assert wire.tallies  # noqa: S101  the session was held
        return wire

    def seconds(self, source: Source) -> float:
        """Return the approximate seconds for one output."""
        of_party, of_other = _SECONDS[source]
        number, width = self.num_parties, self._masked.num_values
        if source == "simulated":
            return of_party + number * width * (of_other if self._masked.share.scale < _LARGE else _SECONDS_IF_LARGE)
        return self.num_sessions * number * (of_party + of_other * (number + width))


class _Parts(NamedTuple):
    """Roles of a roster's parties, by index."""

    survivors: list[int]  # T parties, c of which collude
    honest: list[int]
    colluding: list[int]

    @classmethod
    def of(cls, phase: MaskedPhase, number: int, own_place: int, seed: int) -> "_Parts":
        """Return roles drawn by a seed, in which the party at a given index is honest."""
        order = [place for place in np.random.default_rng(seed).permutation(number).tolist() if place != own_place]
        remaining = order[: phase.threshold - 1]
        colluders, honest = sorted(remaining[: phase.colluders]), sorted([own_place, *remaining[phase.colluders :]])
        return cls(sorted([*colluders, *honest]), honest, colluders)


class _Held(NamedTuple):
    """The server's view of a session."""

    sums: list[int]  # sums without the colluders' rows and shares
    masked: list[int]  # the survivors' masked rows, concatenated
    others: int  # a digest of the sizes and the order of all that left the parties


@dataclasses.dataclass(frozen=True)
class _Mode(SessionMode):
    """A mode with a deployment's cryptography for any noise; each signature is verified once."""

    @property
    def primitives(self) -> Primitives:
        real_primitives = Deployment(self.session, SecureNoise()).primitives
        vars(real_primitives)["verify"] = SharedCryptography().verify
        return real_primitives


class _Telling:
    """A noise source that records what parties drew, since colluding parties reveal it.

    Attributes:
        drawn: maps a party's index to its row with its noise share.
        draws: maps a party's index to a function that draws again.
    """

    def __init__(self, noise: NoiseSource) -> None:
        self._noise = noise
        self.kind, self.check, self.entropy = noise.kind, noise.check, noise.entropy
        self.drawn: dict[int, list[int]] = {}
        self.draws: dict[int, Callable[[], list[int]]] = {}

    def randomize(
        self, mechanism: RowMechanism, values: Sequence[int], *, protocol: str, phase: str, place: int
    ) -> list[int]:
        """Return the wrapped noise's result, and record it."""
        draw = functools.partial(self._noise.randomize, mechanism, values, protocol=protocol, phase=phase, place=place)
        self.draws[place], self.drawn[place] = draw, draw()
        return self.drawn[place]


def _masked_rows_and_digest(
    protocol: PhasedProtocol[Any, Any], sent_messages: Mapping[str, Sequence[Message]], session: str
) -> tuple[list[int], int]:
    """Return the masked rows, concatenated, and a digest of the sizes and the order of all else."""
    masked: list[int] = []
    sizes: list[tuple[Any, ...]] = []
    for name, messages in sent_messages.items():
        for message in messages:
            encoded = encode(message).replace(msgspec.msgpack.encode(session), b"")
            sizes.append((name, getattr(message, "step", NO_PLACE), len(encoded)))
            if not isinstance(message, Report):
                continue
            if message.step != MASKED_STEP:
                sizes.append(_order_of(msgspec.msgpack.decode(message.payload)))
                continue
            row = protocol.steps[MASKED_STEP].codec.decode(message.payload)
            assert isinstance(row, Masked)  # noqa: S101  that step's
            masked += row.residues
    return masked, int.from_bytes(hashlib.sha256(repr(sizes).encode()).digest()[:7])


def _order_of(message: Any) -> Any:
    """Return the content with bytes replaced by their sizes: whose content it is, and in which order."""
    if isinstance(message, list):
        return tuple(map(_order_of, cast("list[Any]", message)))
    return len(message) if isinstance(message, bytes) else message


def _nibbles(numbers: IntArray) -> IntArray:
    """Return the outcomes of `_UNIFORM`: each group of bits of a number, with its position."""
    places = np.arange(64 // _BITS)
    parts = (numbers.reshape(-1, 1) >> (_BITS * places)) & ((1 << _BITS) - 1)
    return (parts + (places << _BITS)).reshape(-1)


def _root_views() -> Iterator[OutputView]:
    """Yield tests that all bits of roots are uniform, and that none of their words repeats."""
    yield OutputView("all bits", _UNIFORM, _nibbles, each=_WORDS * len(_UNIFORM) >> _BITS)

    def repetitions(outputs: IntArray) -> IntArray:
        _, places, counts = np.unique(outputs, return_inverse=True, return_counts=True)
        return np.where(counts[places].reshape(-1) > 1, NO_PLACE, 0)

    yield OutputView("repeated numbers", np.ones(1), repetitions, each=_WORDS)


class _Seen(NamedTuple):
    """Tests of everything except the sum, in outputs of some parties and sessions."""

    width: int
    num_rows: int
    num_sessions: int

    def views(self, usual_size: int) -> Iterator[OutputView]:
        """Yield tests that sizes never vary, and that masked numbers, and differences of two, are uniform."""
        yield OutputView(
            "sizes of messages", np.ones(1), lambda outputs: np.where(outputs[:, -1] == usual_size, 0, NO_PLACE)
        )
        yield from self._uniform("masked numbers", lambda rows: rows)
        sizes = self.num_sessions, self.num_rows, self.width
        for axis, name in ((3, "numbers of a row"), (2, "parties"), (1, "sessions")):
            for lag in LAGS:
                if lag < sizes[axis - 1]:
                    yield from self._uniform(
                        f"masked {name}, {lag} apart", functools.partial(_lagged_differences, axis, lag)
                    )

    def _uniform(self, name: str, select: Callable[[IntArray], IntArray]) -> Iterator[OutputView]:
        shape = self.num_sessions, self.num_rows, self.width

        def places(outputs: IntArray) -> IntArray:
            return _nibbles(select(outputs[:, self.width : -1].reshape(-1, *shape)))

        each = select(np.zeros((1, *shape), dtype=np.int64)).size * len(_UNIFORM) >> _BITS
        yield OutputView(name, _UNIFORM, places, each=each)


def _lagged_differences(axis: int, lag: int, numbers: IntArray) -> IntArray:
    """Return differences of numbers at a distance along an axis, each number in one pair at most."""
    rolled = np.moveaxis(numbers, axis, 0)
    starts = [place for place in range(len(rolled) - lag) if place // lag % 2 == 0]
    return rolled[[place + lag for place in starts]] - rolled[starts]
