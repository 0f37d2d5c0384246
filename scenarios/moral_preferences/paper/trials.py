"""Many sessions at once: cells are measured with the protocol's own mechanisms, tallies and outcomes.

A voter's records become a row of integers once, whatever ε is; the rows of all repetitions stand side by side and are
randomized together, which is what makes it fast. Repetition t of a cell is nevertheless exactly the session that the
protocol runs over arrays with the noise of `session_of`, so that a result depends on the seed alone, and not on how
repetitions are split over processes. Cells that differ in the number of voters share their first voters' reports, and
those that differ in what the server does with reports share all of them. Other processes take shares of repetitions.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec
import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.mechanisms import PostProcessed
from ....protocol.moral_preferences import MoralPreferences, Outcome
from ....protocol.phases import Inputs, Phase
from ....protocol.population import draw_for_release
from ....protocol.randomness import SimulatedNoise
from ...running.processes import open_workers, shares_of, working
from ..data.privacy_groups import PrivacyGroups, draw_epsilons
from .methods import METHODS, Method, parameters_of
from .societies import Setting, Society, agreement, covariance_of_dilemmas, draw_society, right_choices, seed_of


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured in one go."""

    setting: Setting  # the society's kind
    voters: int  # N
    method: str  # its name
    epsilon: float = 0.0  # everybody's ε; infinite for what would be released without noise; 0 where `groups` are given
    groups: PrivacyGroups | None = None  # voters with an ε of their own (reading M11), whatever the seed
    bound: float = 0.0  # B; 0 for the method's own


class Trials(msgspec.Struct, frozen=True):
    """What one cell's repetitions gave."""

    accuracies: list[float]  # the share of pairs on which the released preferences decide as the mean of the true ones
    # the squared ℓ₂ distance from what would be released without noise; empty but for Laplace noise
    errors: list[float] = []
    own: list[float] = []  # the mean over voters of the accuracy of each voter's own fit; empty but without noise


def session_of(cell: Cell, repetition: int) -> str:
    """Return the name of a repetition's session.

    It leaves out what only the calibration or the server decides: methods are compared under the same uniforms.
    """
    method = METHODS[cell.method]
    what = repr(cell.epsilon)
    if cell.groups is not None:
        fields = ("conservative", "moderate", "epsilon_conservative", "epsilon_moderate")
        what = f"Groups({', '.join(f'{name}={getattr(cell.groups, name)!r}' for name in fields)})"
    return f"{cell.setting.name}/{method.paradigm.model.value}/{method.mechanism}/{what}/{repetition}"


def measure(
    cells: Iterable[Cell], *, seed: int, start: int, stop: int, on_progress: Callable[[str], None] | None = None
) -> dict[Cell, Trials]:
    """Measure the repetitions from `start` up to `stop` of all cells; it is told as each setting begins.

    Of a setting with more of them these are so many times as many, and are measured so many at a time as of others.
    """
    by_setting: dict[Setting, list[Cell]] = {}
    for cell in dict.fromkeys(cells):
        by_setting.setdefault(cell.setting, []).append(cell)
    found: dict[Cell, Trials] = {}
    for setting, members in by_setting.items():
        if on_progress is not None:
            records = f"{setting.records} records of {setting.features} features"
            on_progress(f"{setting.kind} societies, {records}: {len(members):,} cells")
        by_reports: dict[Cell, list[Cell]] = {}
        for cell in members:
            by_reports.setdefault(_with_the_same_reports(cell), []).append(cell)
        most = max(cell.voters for cell in members)
        parts: list[dict[Cell, Trials]] = []
        for first in range(start * setting.times, stop * setting.times, max(1, stop - start)):
            after = first + stop - start
            society = draw_society(setting, num_voters=most, seed=seed, start=first, stop=after)
            bench = _Bench(society, seed=seed, start=first, stop=after)
            parts.append({cell: each for group in by_reports.values() for cell, each in bench.measure(group).items()})
        found |= {cell: _joined([part[cell] for part in parts]) for cell in members}
    return found


def _draw(phase: Phase, inputs: Inputs, uniforms: FloatArray, *, is_projected: bool) -> IntArray:
    """Return all reports; where objectives are maximized, those of all levels of ε at once.

    A remedy by projection needs no noise scale, so that the maximum does not depend on the level.
    """
    groups = phase.mechanism_groups(inputs.public)
    last, _ = groups[-1]
    if len(groups) == 1 or not isinstance(last, PostProcessed) or not is_projected:
        reports = np.empty((len(inputs), phase.num_reported), dtype=np.int64)
        for mechanism, places in groups:
            reports[places] = mechanism.randomize_rows(inputs.private[places], uniforms[places])
        return reports
    noisy = np.empty_like(inputs.private)
    for mechanism, places in groups:
        assert isinstance(mechanism, PostProcessed)  # noqa: S101  all levels have one kind
        noisy[places] = mechanism.noise.randomize_rows(inputs.private[places], uniforms[places])
    return last.finish_rows(noisy)


def _with_the_same_reports(cell: Cell) -> Cell:
    """Return what all cells have in common that are made of the same reports."""
    same = next(name for name, method in METHODS.items() if _reports_of(method) == _reports_of(METHODS[cell.method]))
    return msgspec.structs.replace(cell, method=same, voters=0)


def _reports_of(method: Method) -> Method:
    return msgspec.structs.replace(method, title="", mean="plain", project=False)


class _Bench:
    """Measures cells of one setting, in the repetitions from `start` up to `stop`."""

    def __init__(self, society: Society, *, seed: int, start: int, stop: int) -> None:
        self._society = society
        self._setting = society.setting
        self._seed = seed
        self._repetitions = range(start, stop)
        self._rows: dict[tuple[object, ...], IntArray] = {}

    def measure(self, cells: Sequence[Cell]) -> dict[Cell, Trials]:
        """Return what cells of the same reports gave."""
        first = cells[0]
        if math.isinf(first.epsilon):
            return {cell: self._without_noise(cell) for cell in cells}
        most = max(cell.voters for cell in cells)
        levels = () if first.groups is None else first.groups.levels
        protocols = {cell: self.protocol(cell, levels) for cell in cells}
        protocol = protocols[first]
        phase = protocol.phase
        rows = self._rows_of(protocol)
        places = self._places(most)
        inputs = Inputs(rows[places], self._public(first, protocol, most))
        names = [session_of(first, repetition) for repetition in self._repetitions]
        sessions = [SimulatedNoise(self._seed, session=name) for name in names]
        reports = inputs.private
        if not phase.model.trusts_server:
            address = {"protocol": protocol.name, "phase": phase.name}
            slots = phase.mechanism.slots_of(phase.num_values)
            each = [noise.uniforms(**address, start=0, stop=most, slots=slots) for noise in sessions]
            is_projected = protocol.parameters.remedy == "project"
            reports = _draw(phase, inputs, np.concatenate(each), is_projected=is_projected)
        found: dict[Cell, Trials] = {}
        for cell, own in protocols.items():
            phase = own.phase
            outcomes: list[Outcome] = []
            for number, noise in enumerate(sessions):
                voters = slice(number * most, number * most + cell.voters)
                tally = phase.tally(reports[voters], earlier=[], public=inputs.public[voters])
                draw = draw_for_release(noise, protocol=own.name, phase=phase)
                outcomes.append(own.outcome([phase.randomize_tally(tally, draw)]))
            released = np.array([outcome.preferences for outcome in outcomes])
            found[cell] = self._judge(cell, released)
        return found

    def protocol(self, cell: Cell, levels: tuple[float, ...] = ()) -> MoralPreferences:
        """Return a cell's protocol; without noise, one of any ε."""
        method = METHODS[cell.method]
        epsilon = cell.epsilon if 0 < cell.epsilon < math.inf else 1.0
        return MoralPreferences(
            parameters_of(
                method,
                num_features=self._setting.features,
                max_records=self._setting.records,
                bound=cell.bound or None,
                epsilon=None if levels else epsilon,
                epsilons=levels,
                covariance=covariance_of_dilemmas() if method.is_whitened else None,
            )
        )

    def _rows_of(self, protocol: MoralPreferences) -> IntArray:
        """Return the rows of all voters, which depend on no ε."""
        parameters, summary = protocol.parameters, protocol.summary
        key = (
            type(summary),
            parameters.bound if parameters.mechanism == "laplace" else parameters.clipping,
            parameters.paradigm.level if parameters.mechanism == "direction" else None,
            bool(parameters.covariance),
            summary.step,
        )
        if key not in self._rows:
            self._rows[key] = summary.rows_of(self._society.records)
        return self._rows[key]

    def _places(self, num_voters: int) -> IntArray:
        """Return where the first voters of each repetition stand."""
        step = 0 if self._setting.is_fixed else self._society.num_voters
        places = np.arange(len(self._repetitions))[:, None] * step + np.arange(num_voters)
        return places.reshape(-1)

    def _public(self, cell: Cell, protocol: MoralPreferences, num_voters: int) -> IntArray:
        number = len(self._repetitions) * num_voters
        if cell.groups is None:
            return protocol.encode_public({}, num_parties=number)
        epsilons = [
            epsilon
            for repetition in self._repetitions
            for epsilon in draw_epsilons(
                msgspec.structs.replace(cell.groups, seed=seed_of(self._seed, repetition, is_fixed=False)),
                num_voters=num_voters,
            )
        ]
        return protocol.encode_public({"epsilon": epsilons}, num_parties=number)

    def _without_noise(self, cell: Cell) -> Trials:
        protocol = self.protocol(cell)
        rows = self._rows_of(protocol)
        places = self._places(cell.voters).reshape(len(self._repetitions), -1)
        nobody = np.empty((cell.voters, 0), dtype=np.int64)
        released = [list(protocol.truth(Inputs(rows[voters], nobody)).values()) for voters in places]
        trials = self._judge(cell, np.array(released))
        if METHODS[cell.method].mechanism != "laplace" or self._society.held_out:
            return trials
        truth = self._society.truth[:, : cell.voters].reshape(-1, self._setting.features)
        fits = rows[places[: len(self._society.truth)].reshape(-1)].astype(np.float64) * protocol.summary.step
        own = agreement(self._setting, fits, truth)
        shares = [math.fsum(of_voters) / cell.voters for of_voters in own.reshape(-1, cell.voters).tolist()]
        if self._setting.is_fixed:
            shares *= len(self._repetitions)
        return msgspec.structs.replace(trials, own=shares)

    def _judge(self, cell: Cell, released: FloatArray) -> Trials:
        """Return how well released preferences do, one row for each repetition."""
        if self._society.held_out:
            accuracies = right_choices(released, self._society.held_out)
        else:
            truth = np.broadcast_to(self._society.means[:, cell.voters - 1], released.shape)
            accuracies = agreement(self._setting, released, truth)
        errors: list[float] = []
        if METHODS[cell.method].mechanism == "laplace" and not math.isinf(cell.epsilon):
            protocol = self.protocol(cell)
            rows = self._rows_of(protocol)[self._places(cell.voters)]
            clean = rows.reshape(len(released), cell.voters, -1).sum(axis=1) * protocol.summary.step / cell.voters
            squares = np.square(released - clean)
            errors = [math.fsum(row) for row in squares.tolist()]
        return Trials(accuracies.tolist(), errors)


class _Task(msgspec.Struct, frozen=True):
    cells: list[Cell]
    seed: int
    start: int
    stop: int


def measure_all(
    cells: Sequence[Cell], *, trials: int, seed: int, workers: int, on_progress: Callable[[str], None] | None = None
) -> dict[Cell, Trials]:
    """Measure all repetitions of all cells, in so many processes at most; RuntimeError where another process failed."""
    ours, *others = shares_of(trials, workers)
    members = list(dict.fromkeys(cells))
    tasks = [_Task(members, seed, share.start, share.stop) for share in others]
    with open_workers(__name__, tasks, answer=list[Trials]) as answers:
        first = measure(members, seed=seed, start=ours.start, stop=ours.stop, on_progress=on_progress)
        parts = [[first[cell] for cell in members]]
        for answer in answers:
            if answer is None:
                raise RuntimeError("a process that measures a share of the repetitions has failed")
            parts.append(answer)
    return {cell: _joined(each) for cell, each in zip(members, zip(*parts, strict=True), strict=True)}


def _joined(parts: Sequence[Trials]) -> Trials:
    names = Trials.__struct_fields__
    return Trials(**{name: [number for part in parts for number in getattr(part, name)] for name in names})


def _measure_share(task: _Task) -> list[Trials]:
    found = measure(task.cells, seed=task.seed, start=task.start, stop=task.stop)
    return [found[cell] for cell in task.cells]


work: Final = working(_Task, _measure_share)
"""Run by other processes."""
