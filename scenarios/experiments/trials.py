"""Run a scenario many times with fresh simulated noise, for one row of measures for each trial.

Trial t equals, bit for bit, the session that `psephos run` runs with the same seed and with t added to the scenario's
round. So each trial can be inspected, and depends neither on other trials nor on the number of processes. Parties may
be redrawn every k trials (`redrawing`): trial t has draw t // k in every cell.

Sessions are computed over arrays, without deviations, drop-outs and delays. So scenarios with adversaries or network
faults are refused, and so are those with a deployment's noise.

Privacy: none. The mean over many sessions of the same parties removes the noise, and measures are computed from private
inputs. So a scenario is refused unless its parties are synthetic, or all of their data is public.
"""

import contextlib
import functools
import hashlib
import itertools
import math
import secrets
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from ...protocol.errors import ConfigurationError, refuse, require
from ..plugins import ARRAY
from ..reading.frames import frames_in
from ..running.config import Scenario, with_absolute_paths
from ..running.journaling import ConflictingCopyError, FinishedParts, installed_versions
from ..running.parties import sources_of
from ..running.processes import Pool, Processes, make_worker, name_answers, num_cores
from ..running.progress import OnStep
from ..running.resolution import Local, Streamed, resolve
from ..system import find_protocol
from .benches import Bench
from .grids import Settings
from .measured import MeasuredCell, RefusedCell, Trial, TrialCell, Wanted
from .redrawing import LEAST_DRAWS, check_redrawn
from .summaries import LEAST_TRIALS

DEFAULT_TRIALS: Final = 500
MOST_TRIALS: Final = 100_000
_SEED_BITS: Final = 128
CHECKS: Final = tuple(round(10 ** (2 + place / 10)) for place in range(30))
"""Numbers of trials after which a requested precision is checked: 100, 126, 158 and so on."""
_SECONDS_THAT_PAY: Final = 8.0  # least total duration for which further processes pay
_SECONDS_OF_STEP: Final = 0.25  # between progress updates
_MOST_SECONDS: Final = 30.0  # most work that an interruption loses
_LEAST_SECONDS: Final = 1e-6
_PROBED: Final = 64  # trials by which a block's duration is estimated
_SHARE_PROBED: Final = 8  # they are at most 1 / `_SHARE_PROBED` of the trials
_Range: TypeAlias = tuple[int, int, int]  # index of a cell, its first trial, and the one after the last


class _TrialsRun:
    """The completed trials of a cell, from all processes."""

    def __init__(self) -> None:
        self._trials: dict[int, Trial] = {}

    def take(self, start: int, trials: Iterable[Trial]) -> None:
        """Add trials from a number on; ConflictingCopyError: a trial differs from an earlier one with its number."""
        for number, trial in enumerate(trials, start):
            known_trial = self._trials.setdefault(number, trial)
            if known_trial is not trial and msgspec.msgpack.encode(known_trial) != msgspec.msgpack.encode(trial):
                raise ConflictingCopyError(f"trial {number}")

    def of(self, start: int, stop: int) -> tuple[Trial, ...]:
        """Return the trials of these numbers."""
        return tuple(self._trials[number] for number in range(start, stop))

    def missing(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Return the ranges of missing trials."""
        numbers = [number for number in range(start, stop) if number not in self._trials]
        together = itertools.groupby(enumerate(numbers), key=lambda each: each[1] - each[0])
        runs = ([number for _, number in run] for _, run in together)
        return [(run[0], run[-1] + 1) for run in runs]


def usual_trials(redraw: int, *, is_known: bool) -> int:
    """Return the default number of trials, or the greatest if it depends on a precision; whole draws.

    Examples:
        >>> usual_trials(0, is_known=True), usual_trials(3, is_known=True)
        (500, 498)
    """
    size = redraw or 1
    return max((DEFAULT_TRIALS if is_known else MOST_TRIALS) // size, LEAST_DRAWS) * size


def check_trials(trials: int, workers: int, *, redraw: int = 0) -> None:
    """Raise ConfigurationError unless these numbers of trials, of trials for each draw and of processes are allowed.

    Examples:
        >>> check_trials(500, 0)
    """
    allowed = f"from {LEAST_TRIALS} to {MOST_TRIALS:,}: a single one has no standard error"
    require(LEAST_TRIALS <= trials <= MOST_TRIALS, "--trials", trials, allowed)
    if redraw:
        allowed = f"a multiple of {redraw}, the trials of each draw, and at least {LEAST_DRAWS * redraw}"
        require(trials % redraw == 0 and trials >= LEAST_DRAWS * redraw, "--trials", trials, allowed)
    refuse(workers < 0, "--workers", workers, "at least 1, or 0 for as many as pay")


def prepare(scenario: Scenario, *, seed: int | None = None, redraws: bool = False) -> tuple[Scenario, Local]:
    """Return a scenario prepared for trials, over arrays and with a seed, and its resolution.

    The seed is the scenario's, else the given one, else a drawn one. With `redraws`, check that parties can be redrawn.

    Raises:
        ConfigurationError: a value of the scenario is not allowed, or it does not support trials; the message says what
            to set.
    """
    allowed = "'simulated': trials draw fresh simulated noise, and nobody may know secure noise again"
    refuse(scenario.noise == "secure", "noise", scenario.noise, allowed)
    allowed = "left out (--set 'adversary=[]'): trials are of sessions in which nobody deviates, watches or infers"
    refuse(scenario.adversary, "adversary", f"{len(scenario.adversary)} given", allowed)
    allowed = "left out (--set 'network={}'): trials are computed over arrays, which have none"
    refuse(scenario.network, "network", scenario.network, allowed)
    own_seed = scenario.seed
    scenario = msgspec.structs.replace(scenario, transport=ARRAY, noise="simulated", seed=None)
    setup = resolve(scenario)
    role = setup.protocol.client_role
    if isinstance(setup, Streamed):
        allowed = f"read at once: trials hold outcomes against what {role}s hold, and of a stream nothing is kept"
        raise ConfigurationError(field=f"{role}s", value=setup.parties, allowed=allowed)
    allowed = (
        f"Each trial would spend the ε of each {role} again, and the mean of many takes the noise off. "
        "If nobody voted for real, add --set synthetic=true. Otherwise add --synthetic-yes: it tries as many "
        f"synthetic {role}s, without a look at what yours say."
    )
    refuse(not setup.may_show_truth, "synthetic", value=False, allowed=allowed)
    seed_drawn = seed if own_seed is None else own_seed
    seed_drawn = secrets.randbits(_SEED_BITS) if seed_drawn is None else seed_drawn
    scenario = msgspec.structs.replace(scenario, seed=seed_drawn)
    setup = msgspec.structs.replace(setup, scenario=msgspec.structs.replace(setup.scenario, seed=seed_drawn))
    if redraws:
        check_redrawn(setup)
    return scenario, setup


def prepare_all(
    cells: Iterable[tuple[Settings, Scenario]], *, seed: int, redraws: bool = False
) -> tuple[list[tuple[Settings, Scenario, Local]], list[RefusedCell]]:
    """Prepare the cells of a grid as `prepare` does, and return also those that are refused.

    Raises:
        ConfigurationError: all cells are refused (the first error is raised), or parties are redrawn while their seed
            is an axis.
    """
    prepared_cells: list[tuple[Settings, Scenario, Local]] = []
    refused_cells: list[RefusedCell] = []
    first: ConfigurationError | None = None
    for settings, scenario in cells:
        for key, _ in settings:
            allowed = "left out with --redraw, whose draws have the seeds that follow: cells would share them unawares"
            refuse(redraws and key.endswith(".seed"), "--grid", key, allowed)
        try:
            prepared_cells.append((settings, *prepare(scenario, seed=seed, redraws=redraws)))
        except ConfigurationError as error:
            first = first or error
            refused_cells.append(RefusedCell(settings=settings, reason=str(error)))
    if first is not None and not prepared_cells:
        raise first
    return prepared_cells, refused_cells


def synthetic_like(scenario: Scenario, share: float) -> Scenario:
    """Return a scenario with synthetic parties in place of its own, whose values are not used.

    Args:
        scenario: a scenario whose system has `PartySources.like`.
        share: fraction of the parties that say yes.

    Raises:
        ConfigurationError: the system has no synthetic parties, or a value of the scenario is not allowed.
    """
    like = sources_of(find_protocol(scenario.protocol)).like
    require(0 <= share <= 1, "--synthetic-yes", share, "a share, as 0.6 or 60%")
    if like is None:
        allowed = f"left out: no parties like others are made up for protocol {scenario.protocol!r}"
        raise ConfigurationError(field="--synthetic-yes", value=share, allowed=allowed)
    setup = resolve(msgspec.structs.replace(scenario, adversary=(), transport=ARRAY, noise="simulated", seed=None))
    parties, parameters = like(setup.protocol, setup.inputs, share)
    all_parameters = {**scenario.parameters, **parameters}
    return msgspec.structs.replace(scenario, parties=parties, parameters=all_parameters, synthetic=True)


def run_trials(
    cells: Sequence[TrialCell],
    *,
    trials: int,
    first: int = 0,
    workers: int = 0,
    setups: Mapping[Settings, Local] | None = None,
    precision: Wanted | None = None,
    pool: Pool | None = None,
    journal: FinishedParts | None = None,
    on_progress: OnStep | None = None,
) -> list[MeasuredCell]:
    """Run the trials of all cells.

    Args:
        cells: cells whose scenarios `prepare` returned.
        trials: number of trials of each cell, at least 1; with a precision, the greatest number.
        first: the number of the first trial.
        workers: number of processes; 0 for automatic. The result does not depend on it.
        setups: known resolutions of cells, by settings.
        precision: ends a cell's trials when its mean has this precision, checked after each number in `CHECKS`.
        pool: runs trials instead of local processes.
        journal: a journal of these cells, with finished trials, to which new ones are added.
        on_progress: called with finished trials and their cell.

    Raises:
        ConfigurationError: a value of a cell is not allowed.
        PluginError: the code of a protocol or of a system's measures raised an exception.
        ConflictingCopyError: a trial differs from that in the journal.
        TaskError: the pool could not run some trials.
    """
    if any(frames_in(cell.scenario.parties) for cell in cells):
        workers = 1  # only this process has a frame in memory
    known_setups = dict(setups or {})
    benches = [Bench(known_setups.get(cell.settings) or resolve(cell.scenario), cell) for cell in cells]
    runs = [_TrialsRun() for _ in cells]
    for key, answer in () if journal is None else journal.finished.items():
        place, start = map(int, key.split())
        runs[place].take(start, msgspec.msgpack.decode(answer, type=list[Trial]))
    seconds = [0.0] * len(benches)
    # run some trials to estimate their duration, and to compare them with the journal's
    for place, bench in enumerate(benches):
        probed = range(first, first + 1 + min(bench.at_once, _PROBED, trials // _SHARE_PROBED))
        for numbers in filter(None, (probed[:1], probed[1:])):
            started_at = time.perf_counter()
            runs[place].take(numbers.start, bench.run(numbers))
            seconds[place] = (time.perf_counter() - started_at) / len(numbers)
    ends = dict[int, int]()
    for end in _ends(first, trials, precision, of_draw=max(cell.redraw or 1 for cell in cells)):
        still = [place for place in range(len(cells)) if place not in ends]
        missing = [(place, *each) for place in still for each in runs[place].missing(first, end)]
        work = sum(seconds[place] * (stop - start) for place, start, stop in missing)
        if pool is None and (workers > 1 or (not workers and num_cores() > 1 and work >= _SECONDS_THAT_PAY)):
            pool = Processes(workers or num_cores())
        shares = list(_shares(missing, seconds, pool, work))
        done, total = 0, sum(stop - start for _, start, stop in missing)
        for (place, start, stop), answer in _answers(cells, benches, shares, pool):
            if on_progress is not None:
                words = ", ".join(f"{key} = {value}" for key, value in cells[place].settings)
                on_progress(f"{words or cells[place].scenario.name}: {end - first:,} trials", done, total)
            runs[place].take(start, answer)
            done += stop - start
            if journal is not None:
                journal.add(f"{place} {start}", msgspec.msgpack.encode(runs[place].of(start, stop)))
        for place in still:
            measured_cell = _measure_cell(cells[place], benches[place], runs[place].of(first, end))
            if end == first + trials or (precision is not None and precision.is_reached(measured_cell)):
                ends[place] = end
    return [
        _measure_cell(cell, bench, cell_run.of(first, ends[place]))
        for place, (cell, bench, cell_run) in enumerate(zip(cells, benches, runs, strict=True))
    ]


def _measure_cell(cell: TrialCell, bench: Bench, trials: tuple[Trial, ...]) -> MeasuredCell:
    return MeasuredCell(
        settings=cell.settings,
        measures=bench.measures,
        num_parties=bench.num_parties,
        trials=trials,
        redraw=cell.redraw,
        losses=bench.losses,
    )


def _ends(first: int, trials: int, precision: Wanted | None, *, of_draw: int) -> list[int]:
    """Return the numbers of trials after which precision is checked: at ends of draws."""
    checks = () if precision is None else [-(-check // of_draw) * of_draw for check in CHECKS]
    return [first + number for number in (*(check for check in checks if check < trials), trials)]


def _shares(
    missing: Sequence[_Range], seconds: Sequence[float], pool: Pool | None, work: float
) -> Iterator[list[_Range]]:
    """Yield missing trials in tasks of a suitable duration; without a pool each task is of one cell.

    A pool's tasks become smaller towards the end, so that all workers finish at about the same time.
    """

    def seconds_of_share() -> float:
        halves = 0.0 if pool is None else min(work / (2 * pool.num_workers), _MOST_SECONDS)
        return max(_SECONDS_OF_STEP if pool is None else pool.least_seconds, halves)

    share, room = list[_Range](), seconds_of_share()
    for place, start, stop in missing:
        while start < stop:
            number = max(1, min(stop - start, math.ceil(room / max(seconds[place], _LEAST_SECONDS))))
            share.append((place, start, start + number))
            start += number  # noqa: PLW2901  the rest of it
            room -= number * seconds[place]
            work -= number * seconds[place]
            if room <= 0 or pool is None:
                yield share
                share, room = [], seconds_of_share()
    if share:
        yield share


def _answers(
    cells: Sequence[TrialCell], benches: Sequence[Bench], shares: Sequence[list[_Range]], pool: Pool | None
) -> Iterator[tuple[_Range, Iterable[Trial]]]:
    """Yield the trials of all tasks as they finish."""
    come: Generator[tuple[int, bytes | None]] = ((number, None) for number in range(len(shares)))
    if pool is not None:
        tasks = (
            msgspec.msgpack.encode(_TrialTask([_Part.of(cells[index], benches[index], *ends) for index, *ends in each]))
            for each in shares
        )

        def make_task(number: int) -> str:
            place, start, _ = shares[number][0]
            return f"trials from {start} of cell {place + 1}"

        come = name_answers(pool, __name__, tasks, make_task)
    with contextlib.closing(come):
        for number, answer in come:
            # If a process failed, its task is run here, to raise its error here.
            trials_of_cells = () if answer is None else msgspec.msgpack.decode(answer, type=list[list[Trial]])
            for index, part in enumerate(shares[number]):
                yield part, trials_of_cells[index] if trials_of_cells else benches[part[0]].run(range(*part[1:]))


def open_journal(folder: Path, cells: Sequence[TrialCell], setups: Sequence[Local], *, resumes: bool) -> FinishedParts:
    """Open a new journal of trials, or resume that of interrupted trials of the same cells.

    Raises:
        ConfigurationError: the folder has no journal, or one of other cells.
        JournalError: it cannot be read.
    """
    digest = hashlib.sha256()
    for cell, each in zip(cells, setups, strict=True):
        digest.update(msgspec.msgpack.encode((_with_seed(cell, None), Bench(each, cell).held)))
    journal_fields = {"command": "trials", "scenario": cells[0].scenario.name, "seed": str(cells[0].scenario.seed)}
    return FinishedParts(
        folder, {**journal_fields, "cells": digest.hexdigest(), **installed_versions()}, resumes=resumes
    )


class _Part(msgspec.Struct, frozen=True, array_like=True):
    """Trials that another process runs. Seeds are sent as text, since they may exceed a message's integers."""

    cell: TrialCell
    seed: str
    held: str
    start: int
    stop: int

    @classmethod
    def of(cls, cell: TrialCell, bench: Bench, start: int, stop: int) -> "_Part":
        elsewhere = msgspec.structs.replace(cell, scenario=with_absolute_paths(cell.scenario))
        return cls(_with_seed(elsewhere, None), str(cell.scenario.seed), bench.held, start, stop)


class _TrialTask(msgspec.Struct, frozen=True, array_like=True):
    parts: list[_Part]


def _with_seed(cell: TrialCell, seed: int | None) -> TrialCell:
    return msgspec.structs.replace(cell, scenario=msgspec.structs.replace(cell.scenario, seed=seed))


@functools.lru_cache(maxsize=4)
def _bench_of(cell: bytes, seed: int, held_bench: object) -> Bench:
    del held_bench  # outdated, since the parties' files have changed
    trial_cell = _with_seed(msgspec.msgpack.decode(cell, type=TrialCell), seed)
    return Bench(resolve(trial_cell.scenario), trial_cell)


def _run_parts(task: _TrialTask) -> list[list[Trial]]:
    trials_of_parts: list[list[Trial]] = []
    for part in task.parts:
        bench = _bench_of(msgspec.msgpack.encode(part.cell), int(part.seed), part.held)
        allowed = "what they were as the trials began: their files are others here, or have changed"
        require(bench.held == part.held, f"what the parties of {part.cell.scenario.name} hold", "others", allowed)
        trials_of_parts.append(list(bench.run(range(part.start, part.stop))))
    return trials_of_parts


work: Final = make_worker(_TrialTask, _run_parts)
"""The function that other processes run."""
