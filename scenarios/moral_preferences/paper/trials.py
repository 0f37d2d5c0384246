"""Many sessions at once: cells are measured with the protocol's own mechanisms, tallies and decisions.

All cells of a repetition have the same first voters and, mechanism by mechanism, the same noise, whatever ε is: so what
one thing changes is known far better than an accuracy is. And each repetition is two sessions, one with the noise and
one with its mirror image, which is as likely: of the noise on what is linear in β the sign is turned. Where there is
little signal the two choose opposite preferences, and their mean tells the signal from much fewer repetitions.

A voter's records become a row of integers once, whatever ε is, and reports of all repetitions are randomized together.
A result depends on the seed alone, and not on how repetitions are split over processes.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, Final, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import one_of, require
from ....protocol.mechanisms import RowMechanism
from ....protocol.moral_preferences import MoralPreferences, Parameters
from ....protocol.phases import Inputs, Phase
from ....protocol.population import randomized
from ....protocol.randomness import SimulatedNoise
from ....protocol.tally import TallyBlock
from ...experiments.paper_files import text_beside
from ...reading.conversion import convert
from ...running.processes import in_shares, working
from ..data.privacy_groups import PrivacyGroups, draw_epsilons
from .societies import Kind, covariance_of_dilemmas, draw_society, seed_of

_AT_ONCE: Final = 64  # repetitions
_ANY: Final = 100.0  # ε where there is no noise
_LARGEST: Final = 1 - 2.0**-53  # of uniforms


METHODS: Final = msgspec.toml.decode(text_beside(__name__, "methods.toml"), type=dict[str, dict[str, Any]])
"""By their names, parameters of the protocol, and whether records are whitened."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured in one go."""

    society: Kind = Kind()
    voters: Annotated[int, Meta(ge=1, le=10_000)] = 50  # N
    method: str = "algorithm-1"
    epsilon: Annotated[float, Meta(gt=0)] = math.inf  # everybody's ε; infinite for what would be released without noise
    groups: PrivacyGroups | None = None  # voters with an ε of their own (reading M11), whatever the seed
    bound: Annotated[float, Meta(ge=0)] = 0.0  # B; 0 for the method's own
    times: Annotated[int, Meta(ge=1)] = 1  # as many repetitions as of others, where effects are small

    def __post_init__(self) -> None:
        require(self.method in METHODS, "method", self.method, one_of(sorted(METHODS), self.method))

    @property
    def without_noise(self) -> "Cell":
        """What the paper compares with: the mean of all voters' fits."""
        return Cell(society=self.society, voters=self.voters, times=self.times)

    @property
    def drawn(self) -> tuple[Kind, int]:
        """What is drawn afresh for each repetition, and how many times as often."""
        return self.society, self.times

    @property
    def same_reports(self) -> tuple[object, ...]:
        """What all cells have in common that are made of the same reports."""
        return repr({**METHODS[self.method], "mean": "", "project": ""}), self.epsilon, self.groups, self.bound


@functools.lru_cache(maxsize=64)
def protocol_of(cell: Cell) -> MoralPreferences:
    """Return a cell's protocol; without noise, one of any ε."""
    method = {"mean": "plain", **METHODS[cell.method]}
    if method.pop("whitened", False):
        method["covariance"] = covariance_of_dilemmas().tolist()
    if cell.bound:
        method["bound"] = cell.bound
    epsilon = _ANY if math.isinf(cell.epsilon) else cell.epsilon
    method |= {"epsilons": cell.groups.levels} if cell.groups else {"epsilon": epsilon}
    features = [f"x{place}" for place in range(1, cell.society.features + 1)]
    given = {"features": features, "max_records": cell.society.records, **method}
    return MoralPreferences(convert(given, Parameters, ""))


def measure(cells: Iterable[Cell], *, seed: int, start: int, stop: int) -> dict[Cell, list[float]]:
    """Return the accuracies of all cells in repetitions `start` up to `stop`."""
    found: dict[Cell, list[float]] = {cell: [] for cell in cells}
    for (society, times), members in _by(found, "drawn").items():
        most, end = max(cell.voters for cell in members), times * stop
        for first in range(times * start, end, _AT_ONCE):
            bench = _Bench(_What(society, seed, range(first, min(first + _AT_ONCE, end))), most)
            for alike in _by(members, "same_reports").values():
                for cell, accuracies in bench.measure(alike):
                    found[cell] += accuracies.tolist()
    return found


def _by(cells: Iterable[Cell], field: str) -> dict[Any, list[Cell]]:
    members: dict[Any, list[Cell]] = {}
    for cell in cells:
        members.setdefault(getattr(cell, field), []).append(cell)
    return members


class _What(NamedTuple):
    society: Kind
    seed: int
    repetitions: range


class _Bench:
    """Measures cells of one kind of society in some repetitions."""

    def __init__(self, what: _What, voters: int) -> None:
        self._what, self._society = what, draw_society(*what, num_voters=voters)
        self._rows: dict[tuple[object, ...], IntArray] = {}

    def measure(self, cells: Sequence[Cell]) -> Iterator[tuple[Cell, FloatArray]]:
        """Yield what cells of the same reports gave: the accuracy in each repetition, float64."""
        most = max(cells, key=lambda cell: cell.voters)
        protocol = protocol_of(most)
        rows, public = self._rows_of(protocol)[:, : most.voters], self._public(most, protocol)
        found = {cell: np.zeros(len(rows)) for cell in cells}
        for sign in (1, -1):
            draw = functools.partial(self._uniforms, protocol, sign)
            reports = rows if protocol.phase.model.trusts_server else _reports(protocol.phase, rows, public, draw)
            for cell in cells:
                own = reports[:, : cell.voters], public[:, : cell.voters]
                found[cell] += self._society.accuracies(_released(cell, *own, draw), cell.voters) / 2
        yield from found.items()

    def _uniforms(
        self, protocol: MoralPreferences, sign: int, phase: str, mechanism: RowMechanism, number: int
    ) -> FloatArray:
        """Return what so many rows are randomized by in each repetition, float64, shape (repetitions, rows, slots)."""
        own, (society, seed, repetitions) = protocol.parameters, self._what
        session = f"{society.kind}/{society.features}/{own.paradigm.model.value}/{own.mechanism}"
        noise = SimulatedNoise(seed, session=session).of_rounds(repetitions)
        slots = mechanism.slots_of(protocol.phase.num_values)
        drawn = noise.uniforms(protocol=protocol.name, phase=phase, start=0, stop=number, slots=slots)
        linear = drawn[..., : society.features]
        linear[...] = linear if sign > 0 else _LARGEST - linear
        return drawn

    def _rows_of(self, protocol: MoralPreferences) -> IntArray:
        """Return the rows of all voters, which depend on no ε: int64, shape (repetitions, voters, numbers)."""
        own, step = protocol.parameters, protocol.summary.step
        key = own.mechanism, own.clipping, own.bound, own.covariance, own.paradigm.level, step
        if key not in self._rows:
            rows = protocol.summary.rows_of(self._society.records)
            self._rows[key] = rows.reshape(len(self._what.repetitions), -1, rows.shape[1])
        return self._rows[key]

    def _public(self, cell: Cell, protocol: MoralPreferences) -> IntArray:
        """Return all public rows: int64, shape (repetitions, voters, 0 or 1)."""
        _, seed, repetitions = self._what
        if not cell.groups:
            return np.empty((len(repetitions), cell.voters, 0), dtype=np.int64)
        draws = (msgspec.structs.replace(cell.groups, seed=seed_of(seed, each)) for each in repetitions)
        epsilons = [draw_epsilons(each, num_voters=cell.voters) for each in draws]
        return np.array([protocol.encode_public({"epsilon": own}, num_parties=cell.voters) for own in epsilons])


def _reports(phase: Phase, rows: IntArray, public: IntArray, draw: Callable[..., FloatArray]) -> IntArray:
    uniforms = draw(phase.name, phase.mechanism, rows.shape[1])
    flat = Inputs(np.concatenate(rows), np.concatenate(public))
    return randomized(phase, flat, np.concatenate(uniforms)).reshape(*rows.shape[:2], -1)


def _released(cell: Cell, reports: IntArray, public: IntArray, draw: Callable[..., FloatArray]) -> FloatArray:
    """Return what is released in each repetition, shape (repetitions, d)."""
    protocol = protocol_of(cell)
    phase, sessions = protocol.phase, zip(reports, public, strict=True)
    tallies = TallyBlock.of([phase.tally(own, earlier=[], public=places) for own, places in sessions])

    def release(mechanism: RowMechanism, values: IntArray) -> IntArray:
        if cell == cell.without_noise:
            return values
        return mechanism.randomize_rows(values, draw(f"release of {phase.name}", mechanism, 1)[:, 0])

    return protocol.decisions([phase.randomize_tallies(tallies, release)]).preferences


class _Task(msgspec.Struct, frozen=True):
    cells: list[Cell]
    seed: int
    start: int
    stop: int


def measure_all(cells: Iterable[Cell], *, trials: int, seed: int, workers: int) -> dict[Cell, list[float]]:
    """Return the accuracies of all cells, by so many processes at most; RuntimeError where another one failed."""
    members = list(dict.fromkeys(cells))

    def task(share: range) -> _Task:
        return _Task(members, seed, share.start, share.stop)

    kind = list[list[float]]
    parts = in_shares(__name__, task, _measure_share, trials=trials, workers=workers, answer=kind)
    return {cell: [*itertools.chain(*each)] for cell, each in zip(members, zip(*parts, strict=True), strict=True)}


def _measure_share(task: _Task) -> list[list[float]]:
    return list(measure(task.cells, seed=task.seed, start=task.start, stop=task.stop).values())


work: Final = working(_Task, _measure_share)
"""Run by other processes."""
