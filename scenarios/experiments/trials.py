"""A scenario, many times over: the same parties or others, fresh simulated noise, one row of measures for each trial.

Trial t is the session that `psephos run` holds with the same seed and the round t after the scenario's own, to the bit:
so a number here can be looked into, and depends neither on the other trials nor on how they are split over processes.

Parties may be drawn anew every few trials (`redrawing`): trial t has the draw t // k of them, in every cell.

Sessions are computed over arrays. Nobody deviates, leaves or is late there, so that a scenario with adversaries or a
bad network is refused, and so is one whose noise is a deployment's.

Privacy: none. The mean over many sessions of the same parties takes the noise off again, and measures are computed of
private inputs. So a scenario is refused unless nobody real stands behind its parties, or all of it is public record.
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
"""After how many trials it is looked whether a wanted error is reached: 100, 126, 158 and so on."""
_SECONDS_THAT_PAY: Final = 8.0  # of all trials: with less to do, another process would hardly have started
_SECONDS_OF_STEP: Final = 0.25  # between two looks at how far trials are
_MOST_SECONDS: Final = 30.0  # that an interruption loses
_LEAST_SECONDS: Final = 1e-6
_PROBED: Final = 64  # trials of a block, of which it is seen what they take
_SHARE_PROBED: Final = 8  # of which they are one at most
_Range: TypeAlias = tuple[int, int, int]  # a cell's place, its first trial, and the one after the last


class _TrialsRun:
    """The trials of a cell that were run, whoever ran them."""

    def __init__(self) -> None:
        self._trials: dict[int, Trial] = {}

    def take(self, start: int, trials: Iterable[Trial]) -> None:
        """Take up trials from this number on; ConflictingCopyError: there was another one of a number."""
        for number, trial in enumerate(trials, start):
            known_trial = self._trials.setdefault(number, trial)
            if known_trial is not trial and msgspec.msgpack.encode(known_trial) != msgspec.msgpack.encode(trial):
                raise ConflictingCopyError(f"trial {number}")

    def of(self, start: int, stop: int) -> tuple[Trial, ...]:
        """Return the trials of these numbers."""
        return tuple(self._trials[number] for number in range(start, stop))

    def missing(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Return where there are none yet, each from a number to before another one."""
        numbers = [number for number in range(start, stop) if number not in self._trials]
        together = itertools.groupby(enumerate(numbers), key=lambda each: each[1] - each[0])
        runs = ([number for _, number in run] for _, run in together)
        return [(run[0], run[-1] + 1) for run in runs]


def usual_trials(redraw: int, *, is_known: bool) -> int:
    """Return how many trials there are, or at most where nobody knows how many it takes: whole draws.

    Examples:
        >>> usual_trials(0, is_known=True), usual_trials(3, is_known=True)
        (500, 498)
    """
    size = redraw or 1
    return max((DEFAULT_TRIALS if is_known else MOST_TRIALS) // size, LEAST_DRAWS) * size


def check_trials(trials: int, workers: int, *, redraw: int = 0) -> None:
    """Raise ConfigurationError unless so many trials, of so many for each draw, can be run by so many processes.

    Examples:
        >>> check_trials(500, 0)
    """
    allowed = f"from {LEAST_TRIALS} to {MOST_TRIALS:,}: a single one has no standard error"
    require(LEAST_TRIALS <= trials <= MOST_TRIALS, "--trials", trials, allowed)
    if redraw:
        allowed = f"a multiple of {redraw}, of which each draw has as many, with at least {LEAST_DRAWS} draws"
        require(trials % redraw == 0 and trials >= LEAST_DRAWS * redraw, "--trials", trials, allowed)
    refuse(workers < 0, "--workers", workers, "at least 1, or 0 for as many as pay")


def prepare(scenario: Scenario, *, seed: int | None = None, redraws: bool = False) -> tuple[Scenario, Local]:
    """Return a scenario as it is tried, over arrays and with a seed, and what it names.

    The seed is the scenario's; where it has none the given one, or else one that is drawn. It is also checked whether
    its parties can be drawn anew, where they are to be.

    Raises:
        ConfigurationError: something of it is not allowed, or it cannot be tried; it says what to set.
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
    """Return the cells of a grid as `prepare` does, and those that cannot be tried.

    Raises:
        ConfigurationError: none can be; the first one's. Or parties are drawn anew whose seeds are an axis.
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
    """Return a scenario whose parties are made up, like its own: nothing of what these hold is used.

    Args:
        scenario: any whose system has `PartySources.like`.
        share: of the parties that say yes.

    Raises:
        ConfigurationError: the system makes up none, or something of the scenario is not allowed.
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
        cells: as `prepare` returns their scenarios.
        trials: of each, at least one; with a wanted error, at most.
        first: the number of the first of them.
        workers: processes; 0 for as many as there are cores where that pays. The result does not depend on it.
        setups: what cells name, by their settings, where that is known.
        precision: ends a cell's trials as soon as its mean is known so well, looked at after each of `CHECKS`.
        pool: runs them instead of processes of its own.
        journal: of these cells, which has what is finished, and takes up what will be.
        on_progress: told of trials, with the cell that they are of.

    Raises:
        ConfigurationError: something of a cell is not allowed.
        PluginError: the code of a protocol, or of a system's measures, raised something.
        ConflictingCopyError: a trial differs from that of the journal.
        TaskError: the pool, a cluster, could not run some.
    """
    if any(frames_in(cell.scenario.parties) for cell in cells):
        workers = 1  # a frame is in the memory of this process alone
    known_setups = dict(setups or {})
    benches = [Bench(known_setups.get(cell.settings) or resolve(cell.scenario), cell) for cell in cells]
    runs = [_TrialsRun() for _ in cells]
    for key, answer in () if journal is None else journal.finished.items():
        place, start = map(int, key.split())
        runs[place].take(start, msgspec.msgpack.decode(answer, type=list[Trial]))
    seconds = [0.0] * len(benches)
    for place, bench in enumerate(benches):  # of which it is known what trials take, and that they still come out so
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
    """Return before which trials it is looked whether they suffice: where a draw of the parties ends."""
    checks = () if precision is None else [-(-check // of_draw) * of_draw for check in CHECKS]
    return [first + number for number in (*(check for check in checks if check < trials), trials)]


def _shares(
    missing: Sequence[_Range], seconds: Sequence[float], pool: Pool | None, work: float
) -> Iterator[list[_Range]]:
    """Yield missing trials in shares of as many seconds as pay; without a pool each is of one cell.

    A pool's become smaller towards the end, so that all its workers end at about the same time.
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
    """Yield the trials of all shares, as they come."""
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
            # Where a process failed, its share is run here, so that it fails here.
            trials_of_cells = () if answer is None else msgspec.msgpack.decode(answer, type=list[list[Trial]])
            for index, part in enumerate(shares[number]):
                yield part, trials_of_cells[index] if trials_of_cells else benches[part[0]].run(range(*part[1:]))


def open_journal(folder: Path, cells: Sequence[TrialCell], setups: Sequence[Local], *, resumes: bool) -> FinishedParts:
    """Return the journal of trials: a new one, or that of trials that were interrupted, of the same cells.

    Raises:
        ConfigurationError: the folder has none, or it is of something else.
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
    """Trials that another process runs. Seeds travel as text: they may have more bits than a message's integers."""

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
    del held_bench  # with other parties, whose files have changed, it is another one
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
"""Run by other processes."""
