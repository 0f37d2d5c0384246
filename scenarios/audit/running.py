"""Run all audits that a name stands for, on all cores, and report a row for each case.

The confidence is that of the whole run: every audit has the same part of the risk, so with at least that confidence all
statements hold jointly, and no correct proof is refuted.
"""

import contextlib
import dataclasses
import functools
import math
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from ...protocol.errors import ConfigurationError, did_you_mean
from ..running.config import list_scenarios
from ..running.processes import Pool, make_worker, name_answers, num_cores, open_workers
from ..running.progress import OnStep
from ..system import load_each, protocol_names, systems
from ..verdicts import AuditVerdict
from .case import FULL_SAMPLES, Case, Source
from .engine import audit, check_confidence, check_samples
from .mechanisms import shared_cases
from .size_grid import FIRST_ROTATION, SizeGrid, SizeSweep, SweepCoverage, coverage_of, sweep_cases
from .verdict import AuditResult

SourceName: TypeAlias = Literal["simulated", "secure", "both"]

ALL: Final = "all"  # the name that stands for every group
SIMULATED_SAMPLES: Final = FULL_SAMPLES["simulated"]
SECURE_SAMPLES: Final = FULL_SAMPLES["secure"]
THOROUGH: Final = 10  # factor for the outputs of a thorough run
QUICK: Final = 10  # divisor for the outputs of a quick run
DEFAULT_CONFIDENCE: Final = 0.99

_LEAST_EACH: Final = 8  # cases from which a further process is worth its start-up time


class AuditRow(msgspec.Struct, frozen=True, kw_only=True):
    """A case with the results of its audits."""

    group: str  # the case's
    name: str  # the case's
    unit: str  # the unit of protection
    relation: str  # the neighboring relation
    model: str  # the trust model
    claimed: float  # the ε that the paper states, in nats
    proven: float  # the proven ε, in nats
    audited: float | None  # the greatest lower bound of all audits, in nats; None if no audit allows a statement
    tightness: float | None  # audited/proven; None if either is None, 0 or ∞
    is_tight: bool  # whether some neighbors are known to attain the proven loss
    verdict: AuditVerdict  # the worst of all audits
    note: str  # a remark for the reader
    audits: list[AuditResult]  # the audits
    seconds: float  # duration of the audits


class AuditReport(msgspec.Struct, frozen=True, kw_only=True):
    """A run of audits."""

    names: list[str]  # the requested names
    sources: list[str]  # the audited noise sources
    samples: dict[str, int]  # outputs of each neighbor, by source; a case may take a share of them
    confidence: float  # joint confidence of all statements: 1 minus the probability of any false alarm
    risk_each: float  # the risk of each audit
    seed: int  # the seed of simulated outputs
    seconds: float  # duration of the run
    rows: list[AuditRow]  # a row for each case that was audited
    rotation: int = FIRST_ROTATION  # the rotation, which decides which sizes are combined
    sweeps: list[SweepCoverage] = []  # tried and untried sizes
    # Number of cases that were skipped because the run was interrupted; otherwise unset, and not in files.
    num_left: int | msgspec.UnsetType = msgspec.UNSET

    @property
    def is_refuted(self) -> bool:
        """Whether a proof is refuted."""
        return any(row.verdict is AuditVerdict.PROOF_REFUTED for row in self.rows)


def mechanism_cases() -> list[Case]:
    """Return the cases of every mechanism: first the shared ones, then system by system."""
    return [*shared_cases(), *_system_cases("mechanism_cases")]


def session_cases(name: str = ALL) -> list[Case]:
    """Return the cases of whole sessions of a protocol's variants; by default of all protocols."""
    return _system_cases("session_cases", name)


def size_cases(grid: SizeGrid, name: str = ALL) -> list[Case]:
    """Return the cases of whole sessions at the sizes of a rotation, for one protocol or for all with size sweeps."""
    return [case for _, sweeps in _sweeps_of(name) for case in sweep_cases(sweeps, grid)]


def _sweeps_of(name: str) -> list[tuple[str, list[SizeSweep]]]:
    return [(protocol, list(make())) for protocol, make in load_each("sweeps", Callable) if name in {ALL, protocol}]


def _system_cases(part: str, name: str = ALL) -> list[Case]:
    return [case for protocol, make in load_each(part, Callable) if name in {ALL, protocol} for case in make()]


def _made(name: str) -> list[Case]:
    """Return the cases of a group, or of all groups, without building other groups' sessions, which is slow."""
    return [*(case for case in _mechanism_cases() if name in {ALL, case.group}), *session_cases(name)]


@functools.lru_cache(maxsize=1)
def _mechanism_cases() -> tuple[Case, ...]:
    return tuple(mechanism_cases())


def group_names() -> list[str]:
    """Return the names of mechanisms and protocols, in order."""
    protocols = (name for name, system in systems().items() if system.session_cases)
    return list(dict.fromkeys([*(case.group for case in _mechanism_cases()), *protocols]))


def cases_of(name: str) -> list[Case]:
    """Return the cases of a group's name, or of all."""
    if name != ALL and name not in group_names():
        hint = did_you_mean(name, (*group_names(), *protocol_names(), *list_scenarios(), "papers"))
        allowed = f"one of {ALL}, papers, {', '.join(group_names())}, a registered protocol or a scenario{hint}"
        raise ConfigurationError(field="mechanism or protocol", value=name, allowed=allowed)
    return _made(name)


def sources_of(name: SourceName) -> list[Source]:
    """Return the noise sources of a name."""
    return ["simulated", "secure"] if name == "both" else [name]


def audit_all(
    name: str,
    *,
    samples: dict[Source, int],
    confidence: float = DEFAULT_CONFIDENCE,
    seed: int = 1,
    workers: int = 0,
    on_progress: OnStep | None = None,
    cases: Sequence[Case] | None = None,
    grid: SizeGrid | None = None,
    pool: Pool | None = None,
) -> AuditReport:
    """Audit all cases of a name.

    Args:
        name: a group's name, or `ALL`; with `cases`, their name in the report.
        samples: maps each audited source to the number of outputs of each neighbor.
        confidence: joint confidence of all statements, in (0, 1).
        seed: the seed of simulated outputs.
        workers: the most processes; 0 for one for each core.
        on_progress: called after each case; last for cases of other processes.
        grid: the sizes of whole sessions to audit as well; by default none.
        cases: the cases of an unregistered protocol, audited in this process; by default those of the name.
        pool: runs the audits with simulated noise, instead of local processes.

    Returns:
        The report; if a signal interrupts the run, the report of the cases audited until then.

    Raises:
        ConfigurationError: the name is unknown, a number is out of range, or the samples are too few for any statement.
        KeyboardInterrupt: the run was interrupted before any case was audited.
        TaskError: the pool could not audit some cases.
    """
    check_confidence(confidence)
    sweeps: list[SweepCoverage] = []
    if cases is None:
        cases = cases_of(name)
        if grid is not None:
            cases += size_cases(grid, name)
            sweeps = [
                coverage for protocol, sweep in _sweeps_of(name) for coverage in coverage_of(protocol, sweep, grid)
            ]
    else:
        workers = 1  # another process could not build these cases
    each = (1 - confidence) / (len(cases) * len(samples))
    for number in samples.values():
        check_samples(number, 1 - each)
    started_at = time.monotonic()
    if on_progress is not None:
        on_progress("", 0, len(cases))
    job = Job(dict(samples), each, seed, grid)
    number = min(workers or num_cores(), max(1, len(cases) // _LEAST_EACH))
    rows: dict[tuple[str, str], AuditRow] = {}
    come = audit_cases(cases, job, number) if pool is None else _audit_in_pool(cases, job, pool)
    # An interrupted run reports what was audited: fewer statements hold with the same joint confidence.
    with contextlib.suppress(KeyboardInterrupt), contextlib.closing(come) as done:
        for count, row in enumerate(done, start=1):
            rows[row.group, row.name] = row
            if on_progress is not None:
                progress_line = f"{count}/{len(cases)}  {row.group}: {row.name}, {row.seconds:.1f} s"
                on_progress(progress_line, count, len(cases))
    if not rows:
        raise KeyboardInterrupt
    return AuditReport(
        names=[name],
        sources=list(samples),
        samples={str(source): number for source, number in samples.items()},
        confidence=confidence,
        risk_each=each,
        seed=seed,
        seconds=time.monotonic() - started_at,
        rotation=FIRST_ROTATION if grid is None else grid.rotation,
        sweeps=sweeps,
        rows=[rows[case.group, case.name] for case in cases if (case.group, case.name) in rows],
        num_left=len(cases) - len(rows) or msgspec.UNSET,
    )


class Job(msgspec.Struct, frozen=True):
    """The settings of all audits: the outputs of each neighbor by source, and the risk of each audit in (0, 1)."""

    samples: dict[Source, int]
    risk: float
    seed: int
    grid: SizeGrid | None = None


def audit_cases(cases: Sequence[Case], job: Job, workers: int) -> Generator[AuditRow]:
    """Yield the rows of cases in any order: first those of this process as they finish, then the others.

    Other processes build their cases, since functions cannot be pickled. RuntimeError: a process failed; it has printed
    why.
    """
    of_each: list[list[Case]] = [[] for _ in range(workers)]
    for number, case in enumerate(cases):
        of_each[_turn(number, workers)].append(case)
    *other_rows, own_rows = of_each
    tasks = [_AuditTask([(case.group, case.name) for case in share], job) for share in other_rows]
    with open_workers(__name__, tasks, answer=list[AuditRow]) as answers:
        for case in own_rows:
            yield _audit_case(case, job)
        for rows in answers:
            if rows is None:
                raise RuntimeError("a process that audits a share of the cases has failed")
            yield from rows


def _turn(number: int, workers: int) -> int:
    """Return the worker of a case, so that slow cases, which are adjacent or evenly spaced, are shared.

    It is the digit sum of the case's number in base `workers`, modulo `workers` (the Thue-Morse sequence).
    """
    turn = 0
    while number and workers > 1:
        number, digit = divmod(number, workers)
        turn += digit
    return turn % workers


def _audit_in_pool(cases: Sequence[Case], job: Job, pool: Pool) -> Generator[AuditRow]:
    number = math.ceil(len(cases) / _LEAST_EACH)
    names = [[(case.group, case.name) for case in cases[place::number]] for place in range(number)]
    tasks = [msgspec.msgpack.encode(_AuditTask(each, job)) for each in names]
    for place, answer in name_answers(pool, __name__, tasks, lambda place: f"audits of {names[place]}"):
        yield from msgspec.msgpack.decode(answer or work(tasks[place]), type=list[AuditRow])


class _AuditTask(msgspec.Struct, frozen=True):
    """Another process's task: cases by group and name."""

    names: list[tuple[str, str]]
    job: Job


def _rows_of(task: _AuditTask) -> list[AuditRow]:
    cases: dict[tuple[str, str], Case] = {}
    for group in dict.fromkeys(group for group, _ in task.names):
        group_cases = _made(group) + ([] if task.job.grid is None else size_cases(task.job.grid, group))
        cases |= {(case.group, case.name): case for case in group_cases}
    return [_audit_case(cases[name], task.job) for name in task.names]


work: Final = make_worker(_AuditTask, _rows_of)
"""The function that other processes run, which builds their cases."""


def _audit_case(case: Case, job: Job) -> AuditRow:
    started_at = time.monotonic()
    pairs, checks = case.pairs(), case.law_checks()
    prepared_case = dataclasses.replace(case, pairs=lambda: pairs, law_checks=lambda: checks)
    audits = [
        audit(prepared_case, samples=number, confidence=1 - job.risk, source=source, seed=job.seed)
        for source, number in job.samples.items()
    ]
    return row_of(
        case,
        [audit_result for audit_result in audits if audit_result is not None],
        seconds=time.monotonic() - started_at,
    )


def row_of(case: Case, audits: Iterable[AuditResult], *, seconds: float = 0.0) -> AuditRow:
    """Return a case's row from the results by source and the seconds."""
    all_audits = list(audits)
    # A result from the law alone adds nothing to that of a drawn source.
    sampled_audits = [audit_result for audit_result in all_audits if audit_result.source != "law"] or all_audits[:1]
    bounds = [audit_result.epsilon for audit_result in sampled_audits if audit_result.epsilon is not None]
    audit_result = max(bounds, default=None)
    is_finite = audit_result is not None and 0 < case.proven < math.inf and audit_result < math.inf
    return AuditRow(
        group=case.group,
        name=case.name,
        unit=case.unit,
        relation=case.relation.value,
        model=case.model.value,
        claimed=case.claimed,
        proven=case.proven,
        audited=audit_result,
        tightness=audit_result / case.proven if is_finite and audit_result is not None else None,
        is_tight=case.is_tight,
        verdict=_worst(sampled_audits),
        note=case.note,
        audits=sampled_audits,
        seconds=seconds,
    )


def _worst(audits: Sequence[AuditResult]) -> AuditVerdict:
    """Return the joint verdict: a refutation, else consistency, else no statement."""
    verdicts = {audit_result.verdict for audit_result in audits}
    for verdict in (AuditVerdict.PROOF_REFUTED, AuditVerdict.CLAIM_REFUTED, AuditVerdict.CONSISTENT):
        if verdict in verdicts:
            return verdict
    return AuditVerdict.NO_STATEMENT
