"""A scenario, many times over: the same parties, fresh simulated noise, and one row of measures for each trial.

Trial t is the session that `psephos run` holds with the same seed and the round t after the scenario's own, to the bit:
so a number here can be looked into, and depends neither on the other trials nor on how they are split over processes.
The cells of a grid have equal seeds: at one trial number they share their luck, and what is between them shows with
fewer trials. So differences are taken trial against trial, and have standard errors of their own.

Sessions are computed over arrays. Nobody deviates, leaves or is late there, so that a scenario with adversaries or a
bad network is refused, and so is one whose noise is a deployment's.

Privacy: none. The mean over many sessions of the same parties takes the noise off again, and measures are computed of
private inputs. So a scenario is refused unless nobody real stands behind its parties, or all of it is public record.
"""

import dataclasses
import functools
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from ...protocol.errors import ConfigurationError, refuse, require
from ...protocol.randomness import SimulatedNoise
from ...protocol.traffic import PhaseTraffic
from ..plugins import ARRAY
from ..running.by_arrays import run_arrays
from ..running.config import Scenario
from ..running.parties import sources_of
from ..running.processes import answer_task, num_cores, open_workers, shares_of
from ..running.progress import OnStep
from ..running.resolution import Local, Streamed, resolve
from ..running.results import expect_traffic, traffic_of
from ..system import find_protocol
from .grids import Settings
from .measurements import Measurement, mean_of
from .measures import Measure, measures_of
from .summaries import LEAST_TRIALS, Summary, summary_of

__all__ = [
    "Cell",
    "MeasuredCell",
    "PhaseMeans",
    "Trial",
    "check_trials",
    "made_up_like",
    "prepare",
    "run_trials",
    "work",
]

MOST_TRIALS: Final = 100_000
BYTES: Final = Measure(name="bytes", about="that one party sends and receives, on average")
MESSAGES: Final = Measure(name="messages", about="that one party sends and receives, on average")
_SEED_BITS: Final = 128
_SECONDS_THAT_PAY: Final = 8.0  # of all trials: with less to do, another process would hardly have started


class Trial(msgspec.Struct, frozen=True):
    """What one trial gave: its measures by name, and how much all parties said, phase by phase."""

    measures: dict[str, float]
    traffic: tuple[PhaseTraffic, ...] = ()


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """What is tried.

    Args:
        settings: by which it differs from the other cells.
        scenario: with its seed.
    """

    settings: Settings
    scenario: Scenario


class PhaseMeans(msgspec.Struct, frozen=True, kw_only=True):
    """What one party says and hears in a phase, on average over parties and trials."""

    phase: str
    messages_up: float
    bytes_up: float
    messages_down: float
    bytes_down: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeasuredCell:
    """A cell and what its trials gave.

    Args:
        settings: by which it differs from the others.
        measures: what was measured.
        num_parties: how many took part.
        trials: in their order.
    """

    settings: Settings
    measures: tuple[Measure, ...]
    num_parties: int
    trials: tuple[Trial, ...]

    @functools.cached_property
    def summaries(self) -> dict[str, Summary]:
        """Each measure over the trials, by its name; none of a measure that has no value in two of them."""
        found: dict[str, Summary] = {}
        for measure in self.measures:
            numbers = [trial.measures[measure.name] for trial in self.trials if measure.name in trial.measures]
            if len(numbers) >= LEAST_TRIALS:
                given = np.array(numbers, dtype=np.float64)
                found[measure.name] = summary_of(measure.name, given, limits=measure.range)
        return found

    def differences_from(self, other: "MeasuredCell") -> dict[str, Measurement]:
        """Return by how much each mean is more than another cell's, by its name, trial against trial.

        The other one is of the same grid, so that trials of one number share their luck.
        """
        found: dict[str, Measurement] = {}
        for measure in self.measures:
            differences = [
                own.measures[measure.name] - its.measures[measure.name]
                for own, its in zip(self.trials, other.trials, strict=True)
                if measure.name in own.measures and measure.name in its.measures
            ]
            if len(differences) >= LEAST_TRIALS:
                found[measure.name] = mean_of(differences)
        return found

    @property
    def traffic(self) -> list[PhaseMeans]:
        """What one party says and hears, phase by phase; nothing where messages would be too large for agents."""
        if not all(trial.traffic for trial in self.trials):
            return []
        times = self.num_parties * len(self.trials)
        return [
            PhaseMeans(
                phase=phases[0].phase,
                messages_up=sum(phase.messages_up for phase in phases) / times,
                bytes_up=sum(phase.bytes_up for phase in phases) / times,
                messages_down=sum(phase.messages_down for phase in phases) / times,
                bytes_down=sum(phase.bytes_down for phase in phases) / times,
            )
            for phases in zip(*(trial.traffic for trial in self.trials), strict=True)
        ]


def check_trials(trials: int, workers: int) -> None:
    """Raise ConfigurationError unless so many trials can be run by so many processes."""
    allowed = f"from {LEAST_TRIALS}, of which there is a standard error, to {MOST_TRIALS:,}"
    require(LEAST_TRIALS <= trials <= MOST_TRIALS, "--trials", trials, allowed)
    refuse(workers < 0, "--workers", workers, "at least 1, or 0 for as many as pay")


def prepare(scenario: Scenario, *, seed: int | None = None) -> tuple[Scenario, Local]:
    """Return a scenario as it is tried, over arrays and with a seed, and what it names.

    The seed is the scenario's; where it has none the given one, or else one that is drawn.

    Raises:
        ConfigurationError: something of it is not allowed, or it cannot be tried; it says what to set.
    """
    allowed = "'simulated': trials draw fresh simulated noise, and nobody may know secure noise again"
    refuse(scenario.noise != "simulated", "noise", scenario.noise, allowed)
    allowed = "left out (--set 'adversary=[]'): trials are of sessions in which nobody deviates, watches or infers"
    refuse(scenario.adversary, "adversary", f"{len(scenario.adversary)} given", allowed)
    allowed = "left out (--set 'network={}'): trials are computed over arrays, which have none"
    refuse(scenario.network, "network", scenario.network, allowed)
    if scenario.seed is None:
        scenario = msgspec.structs.replace(scenario, seed=secrets.randbits(_SEED_BITS) if seed is None else seed)
    scenario = msgspec.structs.replace(scenario, transport=ARRAY)
    resolved = resolve(scenario)
    role = resolved.protocol.client_role
    if isinstance(resolved, Streamed):
        allowed = f"read at once: trials hold outcomes against what {role}s hold, and of a stream nothing is kept"
        raise ConfigurationError(field=f"{role}s", value=resolved.parties, allowed=allowed)
    if not resolved.may_show_truth:
        allowed = (
            f"true, or public_record: each trial would cost each {role} its ε again, and the mean of many takes the "
            f"noise off. Say so if nobody voted for real (--set made_up=true); or try made-up {role}s, as many and "
            "with the same weights, without a look at what yours say (trials --like)"
        )
        raise ConfigurationError(field="made_up", value=False, allowed=allowed)
    return scenario, resolved


def made_up_like(scenario: Scenario, share: float) -> Scenario:
    """Return a scenario whose parties are made up, like its own: nothing of what these hold is used.

    Args:
        scenario: any whose system has `PartySources.like`.
        share: of the parties that say yes.

    Raises:
        ConfigurationError: the system makes up none, or something of the scenario is not allowed.
    """
    like = sources_of(find_protocol(scenario.protocol)).like
    require(0 <= share <= 1, "--like", share, "a share, as 0.6 or 60%")
    if like is None:
        allowed = f"left out: no parties like others are made up for protocol {scenario.protocol!r}"
        raise ConfigurationError(field="--like", value=share, allowed=allowed)
    resolved = resolve(msgspec.structs.replace(scenario, adversary=(), transport=ARRAY))
    parties, parameters = like(resolved.protocol, resolved.inputs, share)
    known = {**scenario.parameters, **parameters}
    return msgspec.structs.replace(scenario, parties=parties, parameters=known, made_up=True)


def run_trials(
    cells: Sequence[Cell],
    *,
    trials: int,
    first: int = 0,
    workers: int = 0,
    resolved: Mapping[Settings, Local] | None = None,
    on_progress: OnStep | None = None,
) -> list[MeasuredCell]:
    """Run the trials of all cells.

    Args:
        cells: as `prepare` returns their scenarios.
        trials: of each, at least one.
        first: the number of the first of them.
        workers: processes; 0 for as many as there are cores where that pays. The result does not depend on it.
        resolved: what cells name, by their settings, where that is known.
        on_progress: told of each trial of this process, with the cell that it is of.

    Raises:
        ConfigurationError: something of a cell is not allowed.
        PluginError: the code of a protocol, or of a system's measures, raised something.
    """
    known = dict(resolved or {})
    benches = [_Bench(known.get(cell.settings) or resolve(cell.scenario), cell.scenario) for cell in cells]
    started = time.perf_counter()
    begun = [list(bench.run(range(first, first + 1))) for bench in benches]
    seconds = (time.perf_counter() - started) * (trials - 1)
    number = workers or (num_cores() if seconds >= _SECONDS_THAT_PAY else 1)
    second = first + 1
    own, *others = (range(second + share.start, second + share.stop) for share in shares_of(trials - 1, number))
    found = [list(each) for each in begun]
    with open_workers(__name__, [_Task.of(cells, share) for share in others], answer=list[list[Trial]]) as answers:
        done = 0
        for cell, bench, trials_of_cell in zip(cells, benches, found, strict=True):
            words = ", ".join(f"{key} = {value}" for key, value in cell.settings)
            for trial in bench.run(own):
                if on_progress is not None:
                    on_progress(f"{words or cell.scenario.name}: {trials:,} trials", done, len(cells) * len(own))
                trials_of_cell.append(trial)
                done += 1
        for share, answer in zip(others, answers, strict=True):
            # Where a process failed, its share is run here, so that it fails here.
            ran = [list(bench.run(share)) for bench in benches] if answer is None else answer
            for trials_of_cell, more in zip(found, ran, strict=True):
                trials_of_cell.extend(more)
    return [
        MeasuredCell(
            settings=cell.settings, measures=bench.measures, num_parties=bench.num_parties, trials=tuple(trials_of_cell)
        )
        for cell, bench, trials_of_cell in zip(cells, benches, found, strict=True)
    ]


class _Bench:
    """Runs the trials of one cell."""

    def __init__(self, resolved: Local, scenario: Scenario) -> None:
        self._resolved = resolved
        self._scenario = scenario
        self._measures = measures_of(resolved)
        self._traffic = expect_traffic(resolved)
        self.num_parties = len(resolved.names)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What is measured."""
        return (*self._measures.measures, *(() if self._traffic is None else (MESSAGES, BYTES)))

    def run(self, numbers: range) -> Iterator[Trial]:
        """Yield the trials of these numbers."""
        return map(self._run, numbers)

    def _run(self, number: int) -> Trial:
        scenario, resolved = self._scenario, self._resolved
        assert scenario.seed is not None  # noqa: S101  `prepare` sets one
        noise = SimulatedNoise(scenario.seed, session=scenario.name, round_number=scenario.round + number)
        record = run_arrays(resolved.protocol, inputs=resolved.inputs, noise=noise)
        found = dict(self._measures.of(record.outcome, record.tallies))
        traffic = traffic_of(resolved, record, self._traffic) or ()
        if traffic:
            messages = sum(phase.messages_up + phase.messages_down for phase in traffic)
            num_bytes = sum(phase.bytes_up + phase.bytes_down for phase in traffic)
            found |= {MESSAGES.name: messages / self.num_parties, BYTES.name: num_bytes / self.num_parties}
        return Trial(found, tuple(traffic))


class _Task(msgspec.Struct, frozen=True):
    """What another process runs. Seeds travel as text: they may have more bits than a message's integers."""

    cells: list[Cell]
    seeds: list[str]
    start: int
    stop: int

    @classmethod
    def of(cls, cells: Sequence[Cell], share: range) -> "_Task":
        seeds = [str(cell.scenario.seed) for cell in cells]
        return cls([_with_seed(cell, None) for cell in cells], seeds, share.start, share.stop)


def _with_seed(cell: Cell, seed: int | None) -> Cell:
    return msgspec.structs.replace(cell, scenario=msgspec.structs.replace(cell.scenario, seed=seed))


def work() -> None:
    """Run by another process: run what standard input asks for, and write the trials to standard output."""
    answer_task(_Task, _run_share)


def _run_share(task: _Task) -> list[list[Trial]]:
    numbers = range(task.start, task.stop)
    cells = [_with_seed(cell, int(seed)) for cell, seed in zip(task.cells, task.seeds, strict=True)]
    return [list(_Bench(resolve(cell.scenario), cell.scenario).run(numbers)) for cell in cells]
