"""Synthetic crowds: tasks with a truth, and workers who find it as often as their quality says.

A crowd has a seed of its own, so that the noise's seed changes the noise and not the people.
"""

import importlib
import math
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import require
from ....protocol.estimators.truth_inference import Answers
from ....protocol.randomness import philox_rows, stream_key
from .crowd import Crowd

_MAX_ANSWERS: Final = 100_000_000
_MAX_CELLS: Final = 1_000_000_000  # pairs of task and worker for which a coin is tossed: some seconds
_BLOCK_CELLS: Final = 1 << 22
_PROTOCOL: Final = "truth_discovery"


class SyntheticCrowd(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Independent tasks and workers; ConfigurationError where a value is not allowed.

    A worker of quality q answers a task of s labels with its truth with probability q, and with each other label with
    probability (1 - q)/(s - 1). Who answers which task has nothing to do with either.

    Exactly one of `answers_per_task`, `answers_per_worker` and `answer_probability` is given.

    Examples:
        >>> SyntheticCrowd(tasks=3, workers=2, answers_per_task=2).quality
        (0.7, 0.1)
        >>> SyntheticCrowd(tasks=3, workers=2, answers_per_task=5)
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.ConfigurationError: answers_per_task ...
    """

    tasks: int  # how many, at least 1
    workers: int  # how many, at least 1
    answers_per_task: int | None = None  # so many different workers answer each task, drawn uniformly
    answers_per_worker: int | None = None  # so many different tasks each worker answers, drawn uniformly
    answer_probability: float | None = None  # each worker answers each task with this probability
    classes: int = 2  # labels of each task's answer set, at least 2; they are named "0", "1", ...
    # Mean and standard deviation of the workers' qualities, which follow the beta distribution that has both; all are
    # alike where the deviation is 0
    quality: tuple[float, float] = (0.7, 0.1)
    qualities: tuple[float, ...] = ()  # instead of `quality`, each worker's own, in [0, 1]
    # With which probability each label is a task's truth, summing to 1; by default all alike
    class_shares: tuple[float, ...] = ()
    seed: int = 0  # of the crowd, not of the noise

    def __post_init__(self) -> None:
        require(0 < self.tasks <= _MAX_ANSWERS, "tasks", self.tasks, f"in [1, {_MAX_ANSWERS}]")
        require(0 < self.workers <= _MAX_ANSWERS, "workers", self.workers, f"in [1, {_MAX_ANSWERS}]")
        require(1 < self.classes <= 1000, "classes", self.classes, "in [2, 1000]")  # noqa: PLR2004  a choice
        require(self.seed >= 0, "seed", self.seed, "at least 0")
        self._check_density()
        _check_quality(self.quality)
        if self.qualities:
            one_each = len(self.qualities) == self.workers and all(0 <= each <= 1 for each in self.qualities)
            allowed = f"{self.workers} numbers in [0, 1], one for each worker"
            require(one_each, "qualities", list(self.qualities[:10]), allowed)
        if self.class_shares:
            is_law = all(share >= 0 for share in self.class_shares) and abs(sum(self.class_shares) - 1) < 1e-9  # noqa: PLR2004  rounding
            allowed = f"{self.classes} shares that sum to 1"
            is_allowed = is_law and len(self.class_shares) == self.classes
            require(is_allowed, "class_shares", list(self.class_shares), allowed)

    def _check_density(self) -> None:
        densities = {
            "answers_per_task": self.answers_per_task,
            "answers_per_worker": self.answers_per_worker,
            "answer_probability": self.answer_probability,
        }
        densities_given = [name for name, value in densities.items() if value is not None]
        allowed = "given, and only one of them"
        require(len(densities_given) == 1, " or ".join(densities), densities_given or "none", allowed)
        rows, num_columns = self.tasks, self.workers
        if self.answer_probability is not None:
            is_allowed = 0 <= self.answer_probability <= 1
            require(is_allowed, "answer_probability", self.answer_probability, "in [0, 1]")
            allowed = f"at most {_MAX_CELLS} with answer_probability"
            require(rows * num_columns <= _MAX_CELLS, "tasks x workers", rows * num_columns, allowed)
            return
        if self.answers_per_worker is not None:
            rows, num_columns = num_columns, rows
        number = densities[densities_given[0]] or 0
        require(0 < number <= num_columns, densities_given[0], number, f"an integer in [1, {num_columns}]")
        require(rows * number <= _MAX_ANSWERS, "answers", rows * number, f"at most {_MAX_ANSWERS}")


class PeerGrading(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Students in groups grade other groups' presentations; ConfigurationError where a value is not allowed.

    Groups are as even as can be; no student grades its own group; each grades the same number of other groups.

    Examples:
        >>> PeerGrading(groups=3, students=4, grades=2, quality=(0.8, 0.1)).satisfactory_share
        0.5
    """

    groups: int  # how many: the tasks
    students: int  # how many: the workers; at least one for each group
    grades: int  # which each student gives, in [1, groups - 1]
    quality: tuple[float, float]  # mean and standard deviation of the students' qualities (beta)
    satisfactory_share: float = 0.5  # with which probability a group's performance is satisfactory
    seed: int = 0  # of the crowd, not of the noise

    def __post_init__(self) -> None:
        require(1 < self.groups <= _MAX_ANSWERS, "groups", self.groups, f"in [2, {_MAX_ANSWERS}]")
        max_answers = _MAX_ANSWERS // self.groups
        is_allowed = self.groups <= self.students <= max_answers
        require(is_allowed, "students", self.students, f"in [{self.groups}, {max_answers}]")
        is_allowed = 0 < self.grades < self.groups
        require(is_allowed, "grades", self.grades, f"in [1, {self.groups - 1}]")
        is_allowed = 0 <= self.satisfactory_share <= 1
        require(is_allowed, "satisfactory_share", self.satisfactory_share, "in [0, 1]")
        require(self.seed >= 0, "seed", self.seed, "at least 0")
        _check_quality(self.quality)


def make_crowd(spec: SyntheticCrowd) -> Crowd:
    """Return a synthetic crowd; the same one for the same description, on every machine.

    Examples:
        >>> crowd = make_crowd(SyntheticCrowd(tasks=3, workers=2, answers_per_task=2, seed=1))
        >>> crowd.tasks, crowd.workers, crowd.truth.tolist()
        (['t1', 't2', 't3'], ['w1', 'w2'], [0, 1, 0])
        >>> crowd.answers.labels.tolist()
        [0, 0, 0, 1, 1, 0]
    """
    tasks, workers = _pairs(spec)
    truth = _truth(spec.class_shares or (1 / spec.classes,) * spec.classes, spec.tasks, spec.seed)
    qualities = (
        np.array(spec.qualities, dtype=np.float64)
        if spec.qualities
        else _beta_qualities(spec.quality, spec.workers, spec.seed)
    )
    return _crowd(
        tasks,
        workers,
        truth=truth,
        qualities=qualities,
        labels=tuple(map(str, range(spec.classes))),
        task_names=_number_names("t", spec.tasks),
        worker_names=_number_names("w", spec.workers),
        seed=spec.seed,
    )


def make_peer_grading(spec: PeerGrading) -> Crowd:
    """Return a synthetic crowd of students; the same one for the same description, on every machine.

    Examples:
        >>> crowd = make_peer_grading(PeerGrading(groups=3, students=4, grades=2, quality=(0.8, 0.1)))
        >>> crowd.workers[0], [crowd.tasks[task] for task in crowd.answers.tasks[:2]]
        ('student 1', ['group 2', 'group 3'])
    """
    workers, group_members = np.divmod(
        _subsets(spec.students, spec.groups - 1, spec.grades, _key(spec.seed, "who grades whom")), spec.groups - 1
    )
    own_groups = workers % spec.groups
    return _crowd(
        group_members + (group_members >= own_groups),
        workers,
        truth=_truth((1 - spec.satisfactory_share, spec.satisfactory_share), spec.groups, spec.seed),
        qualities=_beta_qualities(spec.quality, spec.students, spec.seed),
        labels=("not satisfactory", "satisfactory"),
        task_names=_number_names("group ", spec.groups),
        worker_names=_number_names("student ", spec.students),
        seed=spec.seed,
    )


def _check_quality(quality: tuple[float, float]) -> None:
    mean, deviation = quality
    require(0 <= mean <= 1, "quality", list(quality), "a mean in [0, 1] and a standard deviation")
    limit = math.sqrt(mean * (1 - mean))
    is_allowed = deviation == 0 or 0 < deviation < limit
    allowed = f"with a standard deviation of 0, or below {limit:.4g}, the limit for this mean"
    require(is_allowed, "quality", list(quality), allowed)


def _key(seed: int, purpose: str) -> int:
    return stream_key(seed=seed, session="", round_number=0, protocol=_PROTOCOL, phase="", purpose=purpose)


def _uniforms(seed: int, purpose: str, number: int) -> FloatArray:
    return philox_rows(_key(seed, purpose), start=0, stop=number, slots=1)[:, 0]


def _pairs(spec: SyntheticCrowd) -> tuple[IntArray, IntArray]:
    """Return task and worker of each answer, sorted by worker and then by task."""
    key = _key(spec.seed, "who answers what")
    if spec.answers_per_worker is not None:
        pairs = _subsets(spec.workers, spec.tasks, spec.answers_per_worker, key)
    elif spec.answers_per_task is not None:
        tasks, workers = np.divmod(_subsets(spec.tasks, spec.workers, spec.answers_per_task, key), spec.workers)
        pairs = np.sort(workers * spec.tasks + tasks)
    else:
        probability = spec.answer_probability or 0
        cells = spec.workers * spec.tasks
        blocks = [
            start + np.flatnonzero(philox_rows(key, start=start, stop=stop, slots=1)[:, 0] < probability)
            for start, stop in ((start, min(start + _BLOCK_CELLS, cells)) for start in range(0, cells, _BLOCK_CELLS))
        ]
        pairs = np.concatenate(blocks)
    workers, tasks = np.divmod(pairs, spec.tasks)
    return tasks, workers


def _subsets(rows: int, columns: int, number: int, key: int) -> IntArray:
    """Return for each row a uniform subset of the columns, as sorted cells row·columns + column.

    Columns are drawn until there are enough different ones; those to leave out, where they are fewer.
    """
    is_inverted = number > columns // 2
    num_wanted = columns - number if is_inverted else number
    cells = np.zeros(0, dtype=np.int64)
    missing = np.full(rows, num_wanted, dtype=np.int64)
    num_drawn = 0
    while num_missing := int(missing.sum()):
        uniforms = philox_rows(key, start=num_drawn, stop=num_drawn + num_missing, slots=1)[:, 0]
        num_drawn += num_missing
        owners = np.repeat(np.arange(rows), missing)
        drawn_cells = np.sort(owners * columns + np.floor(uniforms * columns).astype(np.int64))
        fresh_cells = drawn_cells[np.diff(drawn_cells, prepend=-1) != 0]
        if cells.size:
            fresh_cells = fresh_cells[
                cells[np.minimum(np.searchsorted(cells, fresh_cells), cells.size - 1)] != fresh_cells
            ]
        cells = np.sort(np.concatenate([cells, fresh_cells]), kind="stable")  # two sorted runs, which this merges
        missing -= np.bincount(fresh_cells // columns, minlength=rows)
    if not is_inverted:
        return cells
    is_left = np.ones(rows * columns, dtype=np.bool_)
    is_left[cells] = False
    return np.flatnonzero(is_left)


def _truth(shares: Sequence[float], tasks: int, seed: int) -> IntArray:
    """Return a truth for each task."""
    return np.searchsorted(np.cumsum(shares)[:-1], _uniforms(seed, "truth", tasks), side="right").astype(np.int64)


def _beta_qualities(quality: tuple[float, float], workers: int, seed: int) -> FloatArray:
    """Return a quality for each worker, of the beta distribution with this mean and standard deviation."""
    mean, deviation = quality
    if deviation == 0:
        return np.full(workers, mean)
    special: Any = importlib.import_module("scipy.special")  # by name: files of answers do without it
    total = mean * (1 - mean) / deviation**2 - 1
    return special.betaincinv(mean * total, (1 - mean) * total, _uniforms(seed, "quality", workers))


def _crowd(
    tasks: IntArray,
    workers: IntArray,
    *,
    truth: IntArray,
    qualities: FloatArray,
    labels: tuple[str, ...],
    task_names: Sequence[str],
    worker_names: Sequence[str],
    seed: int,
) -> Crowd:
    """Return the crowd in which each of these pairs has an answer; the pairs are sorted."""
    uniforms = _uniforms(seed, "answers", len(tasks))
    chances = qualities[workers]
    is_wrong = uniforms >= chances
    # A wrong answer is the label so many steps after the truth, which its place in [quality, 1) names.
    steps = np.zeros(len(tasks), dtype=np.int64)
    places = (uniforms[is_wrong] - chances[is_wrong]) / (1 - chances[is_wrong])
    steps[is_wrong] = 1 + np.minimum(np.floor(places * (len(labels) - 1)), len(labels) - 2).astype(np.int64)
    return Crowd(
        answers=Answers(
            tasks=tasks,
            workers=workers,
            labels=(truth[tasks] + steps) % len(labels),
            num_tasks=len(task_names),
            num_workers=len(worker_names),
            sizes=np.full(len(task_names), len(labels), dtype=np.int64),
        ),
        tasks=task_names,
        workers=worker_names,
        answer_sets=[labels],
        answer_set_of_task=np.zeros(len(task_names), dtype=np.int64),
        truth=truth,
    )


def _number_names(word: str, number: int) -> list[str]:
    """Return names whose order as text is that of their numbers, from 1."""
    width = len(str(number))
    return [f"{word}{n:0{width}d}" for n in range(1, number + 1)]


PEER_GRADING_STAND_IN: Final = PeerGrading(groups=26, students=72, grades=5, quality=(0.583, 0.1), seed=4)
"""A synthetic stand-in for the peer grades that Li et al. (2018) do not publish.

It has the statistics of their Table 1, 26 questions, 72 users, 360 answers and 26 truths, and the clean accuracy .73 of
their Section 7.2: at this mean quality majority voting is right on .729 of the groups over all seeds, and 4 is the
smallest seed at which it is right on 19 of the 26 and no group has a tie, so that no rule for ties matters. How the
real grades are spread over groups and students, and how many groups were satisfactory, nobody but the authors knows.
"""
