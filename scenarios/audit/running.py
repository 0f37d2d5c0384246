"""All audits of a run: which cases a name stands for, over all cores, and the row of each case.

A confidence is that of the whole run: every audit has the same part of the risk, so that with at least that confidence
all of its statements hold at once, and no correct proof is refuted.
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
THOROUGH: Final = 10  # how many times as many outputs a thorough run takes
QUICK: Final = 10  # how many times fewer a quick one takes
DEFAULT_CONFIDENCE: Final = 0.99

_LEAST_EACH: Final = 8  # cases for which a process of its own is worth its seconds of starting


class AuditRow(msgspec.Struct, frozen=True, kw_only=True):
    """A case with what its audits found."""

    group: str  # the case's
    name: str  # the case's
    unit: str  # the unit of protection
    relation: str  # which data sets are neighbors
    model: str  # whom the loss is bounded against
    claimed: float  # ε that the paper states, in nats
    proven: float  # ε that is proven, in nats
    audited: float | None  # the greatest lower bound of all audits; None where none allows a statement
    tightness: float | None  # audited/proven; None where either is none, 0 or ∞
    is_tight: bool  # whether the proof is known to be attained
    verdict: AuditVerdict  # the worst of all audits
    note: str  # what a reader should know
    audits: list[AuditResult]  # the audits
    seconds: float  # that they took


class AuditReport(msgspec.Struct, frozen=True, kw_only=True):
    """A run of audits."""

    names: list[str]  # what was asked for
    sources: list[str]  # whose randomness was audited
    samples: dict[str, int]  # outputs of each neighbor, by source; a case may take a share of them
    confidence: float  # with which all statements hold at once: 1 less the probability of any false alarm
    risk_each: float  # that of each audit
    seed: int  # of simulated outputs
    seconds: float  # that the run took
    rows: list[AuditRow]  # a row for each case that was audited
    rotation: int = FIRST_ROTATION  # which sizes met
    sweeps: list[SweepCoverage] = []  # which sizes were tried, and which were not
    # How many cases were not, since somebody ended the run; else unset, and in no file.
    num_left: int | msgspec.UnsetType = msgspec.UNSET

    @property
    def is_refuted(self) -> bool:
        """Whether a proof is."""
        return any(row.verdict is AuditVerdict.PROOF_REFUTED for row in self.rows)


def mechanism_cases() -> list[Case]:
    """Return the cases of every mechanism: of those that belong to no system alone, then system by system."""
    return [*shared_cases(), *_system_cases("mechanism_cases")]


def session_cases(name: str = ALL) -> list[Case]:
    """Return a protocol's every variant, with all that leaves one party, or a trusted server, as the output; or all."""
    return _system_cases("session_cases", name)


def size_cases(grid: SizeGrid, name: str = ALL) -> list[Case]:
    """Return whole sessions of the sizes that a rotation draws, of a protocol that has size sweeps; or of all."""
    return [case for _, sweeps in _sweeps_of(name) for case in sweep_cases(sweeps, grid)]


def _sweeps_of(name: str) -> list[tuple[str, list[SizeSweep]]]:
    return [(protocol, list(make())) for protocol, make in load_each("sweeps", Callable) if name in {ALL, protocol}]


def _system_cases(part: str, name: str = ALL) -> list[Case]:
    return [case for protocol, make in load_each(part, Callable) if name in {ALL, protocol} for case in make()]


def _made(name: str) -> list[Case]:
    """Return the cases of a group, or of all: sessions of no other protocol are made, which takes seconds."""
    return [*(case for case in _mechanism_cases() if name in {ALL, case.group}), *session_cases(name)]


@functools.lru_cache(maxsize=1)
def _mechanism_cases() -> tuple[Case, ...]:
    return tuple(mechanism_cases())


def group_names() -> list[str]:
    """Return the names of mechanisms and protocols, in order."""
    protocols = (name for name, system in systems().items() if system.session_cases)
    return list(dict.fromkeys([*(case.group for case in _mechanism_cases()), *protocols]))


def cases_of(name: str) -> list[Case]:
    """Return the cases that a name stands for."""
    if name != ALL and name not in group_names():
        hint = did_you_mean(name, (*group_names(), *protocol_names(), *list_scenarios(), "papers"))
        allowed = f"one of {ALL}, papers, {', '.join(group_names())}, a registered protocol or a scenario{hint}"
        raise ConfigurationError(field="mechanism or protocol", value=name, allowed=allowed)
    return _made(name)


def sources_of(name: SourceName) -> list[Source]:
    """Return the sources that a name stands for."""
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
    """Audit all cases that a name stands for.

    Args:
        name: a group's, or `ALL`; or what the cases are called.
        samples: outputs of each neighbor, for each source that is audited.
        confidence: of all statements at once, in (0, 1).
        seed: of simulated outputs.
        workers: processes at most; 0 for as many as there are cores.
        on_progress: told of each case as it is done, of other processes' at last.
        grid: which sizes of whole sessions are tried beside; by default none.
        cases: those of somebody else's, which this process audits alone; by default those of the name.
        pool: audits these instead of processes of its own, from simulated noise.

    Returns:
        The report; where somebody ends the run by a signal, of the cases that were audited until then.

    Raises:
        ConfigurationError: the name is unknown, a number is out of range, or the samples are too few for any statement.
        KeyboardInterrupt: somebody ended the run before any case was audited.
        TaskError: the pool, a cluster, could not audit some.
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
        workers = 1  # another process could not make them
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
    # What is audited is told, whoever ends the run: of fewer statements all hold with the same confidence.
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
    """What is done with each case: outputs of each neighbor, for each source, at a risk of each audit in (0, 1)."""

    samples: dict[Source, int]
    risk: float
    seed: int
    grid: SizeGrid | None = None


def audit_cases(cases: Sequence[Case], job: Job, workers: int) -> Generator[AuditRow]:
    """Yield the rows of cases in any order: this process's as they are done, then those of the others.

    Another process makes its cases itself, since functions do not travel. RuntimeError: one failed, and has said why.
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
    """Return whose turn a case is, so that slow ones, which stand together or at even distances, are shared.

    By turns that take turns: the digits' sum of its number, in the base of so many workers (Thue and Morse).
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
    """What another process does: cases by group and name."""

    names: list[tuple[str, str]]
    job: Job


def _rows_of(task: _AuditTask) -> list[AuditRow]:
    cases: dict[tuple[str, str], Case] = {}
    for group in dict.fromkeys(group for group, _ in task.names):
        group_cases = _made(group) + ([] if task.job.grid is None else size_cases(task.job.grid, group))
        cases |= {(case.group, case.name): case for case in group_cases}
    return [_audit_case(cases[name], task.job) for name in task.names]


work: Final = make_worker(_AuditTask, _rows_of)
"""Run by other processes, which make their cases themselves."""


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
    """Return a case's row, of what was found by each source, and of the seconds that it took."""
    all_audits = list(audits)
    # What the law alone says, a source that was drawn from says too.
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
    """Return what the audits say together: a refutation, else that all is consistent, else nothing."""
    verdicts = {audit_result.verdict for audit_result in audits}
    for verdict in (AuditVerdict.PROOF_REFUTED, AuditVerdict.CLAIM_REFUTED, AuditVerdict.CONSISTENT):
        if verdict in verdicts:
            return verdict
    return AuditVerdict.NO_STATEMENT
