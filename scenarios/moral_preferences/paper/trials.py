"""Measure cells in many sessions at once, with the protocol's mechanisms, tallies and decisions.

All cells of a repetition have the same first voters and, for each mechanism, the same noise at every ε. So differences
between cells are estimated much more precisely than accuracies. Each repetition is two sessions, with antithetic noise:
the second has the opposite sign of the noise in what is linear in β, which has the same law. If there is little signal,
the two choose opposite preferences, so their mean shows the signal with far fewer repetitions.

A voter's records are summarized once for all ε, and the reports of all repetitions are randomized together. Results
depend only on the seed, not on the number of processes.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.mechanisms import RowMechanism
from ....protocol.moral_preferences import MoralPreferences, Parameters
from ....protocol.phases import Inputs
from ....protocol.population import randomize
from ....protocol.randomness import SimulatedNoise
from ....protocol.tally import TallyBlock
from ...experiments.paper_files import text_beside
from ...reading.conversion import convert
from ...running.processes import make_worker, run_in_shares
from ..data.privacy_groups import PrivacyGroups, draw_epsilons
from .societies import Kind, covariance_of_dilemmas, draw_society, seed_of

_AT_ONCE: Final = 64  # repetitions in a batch
_LARGEST: Final = 1 - 2.0**-53  # the largest uniform

METHODS: Final = msgspec.toml.decode(text_beside(__name__, "methods.toml"), type=dict[str, dict[str, Any]])
"""Methods by name: parameters of the protocol, and whether records are whitened."""


class CellToMeasure(msgspec.Struct, frozen=True, kw_only=True):
    """A cell; `page.toml` limits the values that can be set."""

    society: Kind = Kind()
    voters: int = 50  # number N of voters
    method: str = "algorithm-1"
    epsilon: float = math.inf  # ε of all voters; infinite for a release without noise
    groups: PrivacyGroups | None = None  # voters with personalized ε (reading M11), independent of the seed
    bound: float = 0.0  # radius B; 0 for the method's default
    times: int = 1  # multiplies the number of repetitions, for small effects

    @property
    def without_noise(self) -> "CellToMeasure":
        """The paper's baseline: the mean of all voters' fits."""
        return CellToMeasure(society=self.society, voters=self.voters, times=self.times)


@functools.lru_cache(maxsize=64)
def protocol_of(cell: CellToMeasure) -> MoralPreferences:
    """Return a cell's protocol; without noise, at any ε."""
    method = {"mean": "plain", **METHODS[cell.method]}
    if method.pop("whitened", False):
        method["covariance"] = covariance_of_dilemmas().tolist()
    if cell.bound:
        method["bound"] = cell.bound
    method |= {"epsilons": cell.groups.levels} if cell.groups else {"epsilon": min(cell.epsilon, 100.0)}
    features = [f"x{place}" for place in range(1, cell.society.features + 1)]
    method |= {"features": features, "max_records": cell.society.records}
    return MoralPreferences(convert(method, Parameters, ""))


def measure(cells: Iterable[CellToMeasure], *, seed: int, start: int, stop: int) -> dict[CellToMeasure, list[float]]:
    """Return the accuracies of all cells in repetitions `start` up to `stop`."""
    accuracies: dict[CellToMeasure, list[float]] = {cell: [] for cell in cells}
    for (society, times), members in _group_cells(accuracies, lambda cell: (cell.society, cell.times)):
        max_voters, end = max(cell.voters for cell in members), times * stop
        for first in range(times * start, end, _AT_ONCE):
            bench = _Bench(society, seed, range(first, min(first + _AT_ONCE, end)), max_voters)
            for _, equal_cells in _group_cells(members, _report_key):
                for cell, accuracies_of_cell in bench.measure(equal_cells).items():
                    accuracies[cell] += accuracies_of_cell.tolist()
    return accuracies


def _report_key(cell: CellToMeasure) -> object:
    """Return a key that is equal for cells computed from the same reports."""
    return repr({**METHODS[cell.method], "mean": "", "project": ""}), cell.epsilon, cell.groups, cell.bound


def _group_cells(
    cells: Iterable[CellToMeasure], key: Callable[[CellToMeasure], Any]
) -> Iterable[tuple[Any, list[CellToMeasure]]]:
    members: dict[Any, list[CellToMeasure]] = {}
    for cell in cells:
        members.setdefault(key(cell), []).append(cell)
    return members.items()


class _Bench:
    """Measures the cells of one kind of society in some repetitions."""

    def __init__(self, kind: Kind, seed: int, repetitions: range, num_voters: int) -> None:
        self._kind, self._seed, self._repetitions = kind, seed, repetitions
        self._society = draw_society(kind, seed, repetitions, num_voters=num_voters)
        self._rows: dict[object, IntArray] = {}

    def measure(self, cells: Sequence[CellToMeasure]) -> dict[CellToMeasure, FloatArray]:
        """Return the accuracies, float64, in each repetition of cells computed from the same reports."""
        protocol = protocol_of(cells[0])
        phase, rows = protocol.phase, self._rows_of(protocol)
        public = self._public(protocol, cells[0].groups, rows.shape[1])
        accuracies = {cell: np.zeros(len(rows)) for cell in cells}
        for sign in (1, -1):
            draw = functools.partial(self._uniforms, protocol, sign)
            reports = rows
            if not phase.model.trusts_server:
                all_inputs = Inputs(np.concatenate(rows), np.concatenate(public))
                uniforms = np.concatenate(draw(phase.name, phase.mechanism, rows.shape[1]))
                reports = randomize(phase, all_inputs, uniforms).reshape(*rows.shape[:2], -1)
            for cell in cells:
                releases = _release(cell, reports[:, : cell.voters], public[:, : cell.voters], draw)
                accuracies[cell] += self._society.accuracies(releases, cell.voters) / 2
        return accuracies

    def _uniforms(
        self, protocol: MoralPreferences, sign: int, phase: str, mechanism: RowMechanism, number: int
    ) -> FloatArray:
        """Return the uniforms of rows in each repetition, float64, shape (repetitions, rows, slots)."""
        kind, parameters = self._kind, protocol.parameters
        session = f"{kind.kind}/{kind.features}/{parameters.paradigm.model.value}/{parameters.mechanism}"
        noise = SimulatedNoise(self._seed, session=session).make_rounds(self._repetitions)
        slots = mechanism.slots_of(protocol.phase.num_values)
        uniforms = noise.uniforms(protocol=protocol.name, phase=phase, start=0, stop=number, slots=slots)
        linear = uniforms[..., : kind.features]
        linear[...] = linear if sign > 0 else _LARGEST - linear
        return uniforms

    def _rows_of(self, protocol: MoralPreferences) -> IntArray:
        """Return the rows of all voters, which do not depend on ε, int64, shape (repetitions, voters, numbers)."""
        parameters, summary = protocol.parameters, protocol.summary
        key = (
            parameters.mechanism,
            parameters.clipping,
            parameters.bound,
            parameters.covariance,
            parameters.paradigm.level,
            summary.step,
        )
        if key not in self._rows:
            rows = summary.rows_of(self._society.records)
            self._rows[key] = rows.reshape(len(self._repetitions), -1, rows.shape[1])
        return self._rows[key]

    def _public(self, protocol: MoralPreferences, groups: PrivacyGroups | None, voters: int) -> IntArray:
        """Return all public rows, int64, shape (repetitions, voters, 0 or 1)."""
        if not groups:
            return np.empty((len(self._repetitions), voters, 0), dtype=np.int64)
        tables: list[IntArray] = []
        for repetition in self._repetitions:
            groups = msgspec.structs.replace(groups, seed=seed_of(self._seed, repetition))
            epsilons = draw_epsilons(groups, num_voters=voters)
            tables.append(protocol.encode_public({"epsilon": epsilons}, num_parties=voters))
        return np.array(tables)


def _release(cell: CellToMeasure, reports: IntArray, public: IntArray, draw: Callable[..., FloatArray]) -> FloatArray:
    """Return the release of each repetition, shape (repetitions, d)."""
    protocol = protocol_of(cell)
    phase = protocol.phase
    tallies = [phase.tally(rows, earlier=[], public=places) for rows, places in zip(reports, public, strict=True)]

    def randomize(mechanism: RowMechanism, values: IntArray) -> IntArray:
        if cell == cell.without_noise:
            return values
        return mechanism.randomize_rows(values, draw(f"release of {phase.name}", mechanism, 1)[:, 0])

    return protocol.decisions([phase.randomize_tallies(TallyBlock.from_tallies(tallies), randomize)]).preferences


class _CellTask(msgspec.Struct, frozen=True):
    cells: list[CellToMeasure]
    seed: int
    start: int
    stop: int


def measure_all(
    cells: Iterable[CellToMeasure], *, trials: int, seed: int, workers: int
) -> dict[CellToMeasure, list[float]]:
    """Return the accuracies of all cells, using at most `workers` processes; RuntimeError: a process failed."""
    members = list(dict.fromkeys(cells))
    shares = run_in_shares(
        __name__,
        lambda share: _CellTask(members, seed, share.start, share.stop),
        _measure_share,
        trials=trials,
        workers=workers,
        answer=list[list[float]],
    )
    return {cell: list(itertools.chain(*each)) for cell, *each in zip(members, *shares, strict=True)}


def _measure_share(task: _CellTask) -> list[list[float]]:
    return list(measure(**msgspec.structs.asdict(task)).values())


work: Final = make_worker(_CellTask, _measure_share)
"""The function that other processes run."""
