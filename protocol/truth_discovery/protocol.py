"""Truth discovery as a list of phases: distribute, perturb, truth discovery, release.

The server distributes as it welcomes a worker, whose public row names its tasks. There is one phase, `answers`, in
which each worker perturbs its answers and reports them; closing it is truth discovery, and the release tells everybody
the truths and each worker, alone, its own weight. A server that is trusted (`central`) is shown the answers, adds noise
to their counts, and tells no weights.

A private row holds one answer for each task of the public row, in that order: a code that tells answer set and
label, or `NO_ANSWER`. Which tasks a worker is asked, and which of them it skips, is public; the labels are not.
"""

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec
import numpy as np

from ..arrays import FloatArray, IntArray, distinct_rows
from ..errors import ConfigurationError, refuse, require
from ..estimators.truth_inference import WEIGHT_FUNCTIONS, Answers, Inference, check_weight_function
from ..guard import Values
from ..mechanisms import NO_ANSWER
from ..phases import CentralPhase, Column, Entries, Inputs, OnePhaseProtocol, Phase, missing_column
from ..privacy import PrivacyEvent, PrivacyLoss, PureMechanism, TrustModel
from ..tally import Tally
from .codes import NO_TASK, Codes, answers_of, tasks_in, tasks_of
from .confidence import average_confidences
from .counts import majority_of_counts
from .inference import find_truths
from .noise import Noise, distance_of, make_noise
from .outcome import Outcome, OwnOutcome
from .parameters import EstimatorName, Parameters

__all__ = ["AnswersPhase", "CountedAnswers", "TruthDiscovery"]

# Confidences and weights come out of iterations in floating point; what is released is rounded to a public grid.
_GRID: Final = 2.0**20
_LONGEST_NAME: Final[EstimatorName] = "noise_aware_dawid_skene"


class AnswersPhase(Phase):
    """The phase in which workers report their perturbed answers.

    Args:
        parameters: the session's.
        codes: of its tasks and labels.
        noise: how answers are perturbed.
    """

    def __init__(self, parameters: Parameters, codes: Codes, noise: Noise) -> None:
        self._codes = codes
        self._loss_of_counts = functools.lru_cache(maxsize=1 << 12)(noise.loss_of)
        num_tasks: list[int] = np.bincount(codes.set_of_task, minlength=len(codes.sizes)).tolist()
        self._event = noise.event_of_longest(parameters.max_answers, num_tasks)
        super().__init__(
            "answers",
            columns=range(parameters.max_answers),
            mechanism=noise.mechanism,
            losses=[noise.loss_of_longest(parameters.max_answers, num_tasks)],
        )

    @property
    def event(self) -> PrivacyEvent:
        """All answers of the worker who gives most, by the mechanism. See `Phase.event`."""
        return self._event

    def values_of(self, public: Sequence[int]) -> Values:
        """Return for each place the answers to its task, and that there is none. See `Phase.values_of`."""
        return [self._codes.values_of_task[task] for task in public[1:]]

    def protected_values_of(self, public: Sequence[int]) -> Values:
        """Return for each place the answers to its task: who skips one says so. See `Phase.protected_values_of`."""
        return [values if len(values) == 1 else values[1:] for values in self.values_of(public)]

    def kinds_of(self, public: IntArray) -> Sequence[IntArray]:
        """Group workers by how many tasks they are asked from each answer set. See `Phase.kinds_of`."""
        _, firsts = np.unique(codes := self._codes_of_counts(self._counts_of(public)), return_index=True)
        order = np.argsort(codes, kind="stable")
        return np.split(order, np.searchsorted(codes[order], codes[firsts[1:]]))

    def losses_of(self, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        """Return what a worker pays for the tasks that it is asked. See `Phase.losses_of`."""
        counts = [0] * len(self._codes.sizes)
        for task in public[1:]:
            if task != NO_TASK:
                counts[self._codes.set_of_task[task]] += 1
        return self._losses_of_counts(tuple(counts))

    def loss_groups(self, public: IntArray) -> Sequence[tuple[str, int, tuple[PrivacyLoss, ...]]]:
        """Group workers by how many answers they give from each answer set. See `Phase.loss_groups`."""
        counts = self._counts_of(public)
        _, firsts, numbers = np.unique(self._codes_of_counts(counts), return_index=True, return_counts=True)
        kinds = counts[firsts]
        groups: list[tuple[str, int, tuple[PrivacyLoss, ...]]] = []
        for kind, number in zip(kinds.tolist(), numbers.tolist(), strict=True):
            name = "" if len(kinds) == 1 else f"with {self._describe(kind)}"
            groups.append((name, number, self._losses_of_counts(tuple(kind))))
        return groups

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        """Refuse an answer to a task that was not asked, or outside its answer set. See `Phase.check_report`."""
        self._codes.check_row(report, public)

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        """Count the labels of each task, and keep who reported which."""
        del earlier
        rows, places = np.nonzero(reports != NO_ANSWER)
        tasks = public[rows, 1 + places]
        labels = reports[rows, places] - self._codes.offset_of_task[tasks]
        width = max(self._codes.sizes)
        counts = np.bincount(tasks * width + labels, minlength=len(self._codes.tasks) * width)
        kept = np.stack([public[rows, 0], tasks, labels], axis=1)
        kept = kept[np.lexsort(kept.T[::-1])]
        return Tally(len(reports), counts.reshape(-1, width).astype(np.int64), kept)

    def _counts_of(self, public: IntArray) -> IntArray:
        """Return how many tasks each worker is asked from each answer set, shape (n, sets)."""
        tasks = public[:, 1:]
        sets = np.where(tasks == NO_TASK, -1, self._codes.set_of_task[tasks])
        return np.stack([(sets == number).sum(axis=1) for number in range(len(self._codes.sizes))], axis=1)

    def _codes_of_counts(self, counts: IntArray) -> IntArray:
        """Return one number for each row of counts, in their lexicographic order."""
        base = self.num_values + 1
        if base ** counts.shape[1] < 1 << 63:
            return counts @ np.array([base**place for place in reversed(range(counts.shape[1]))], dtype=np.int64)
        return np.unique(counts, axis=0, return_inverse=True)[1].reshape(-1)

    def _losses_of_counts(self, counts: tuple[int, ...]) -> tuple[PrivacyLoss, ...]:
        return (self._loss_of_counts(counts),) if any(counts) else ()

    def _describe(self, counts: Sequence[int]) -> str:
        if len(counts) == 1:
            return f"{counts[0]} answer{'s' if counts[0] != 1 else ''}"
        named = [f"{count} from set {number}" for number, count in enumerate(counts, start=1) if count]
        return f"answers: {', '.join(named)}" if named else "no answer"


class CountedAnswers(CentralPhase, AnswersPhase):
    """The phase in which workers show the server their answers; it counts them and draws noise (the central model).

    The tally has the counts that are told, task by task: of two labels the second one's, else all. Then come the
    numbers of answers by task, which are public. `noise` is what the server adds to each count.
    """

    def __init__(self, parameters: Parameters, codes: Codes, noise: Noise) -> None:
        assert noise.on_counts is not None  # noqa: S101  of this mechanism
        self._tally_mechanism = self.noise = noise.on_counts
        self._distances = [distance_of(size) for size in codes.size_of_task.tolist()]
        labels, sizes = np.arange(max(codes.sizes), dtype=np.int64), codes.size_of_task[:, None]
        self.is_told = (2 - np.array(self._distances)[:, None] <= labels) & (labels < sizes)
        self.num_noisy = int(self.is_told.sum())
        AnswersPhase.__init__(self, parameters, codes, noise)

    def usual_of(self, public: Sequence[int]) -> Sequence[int]:
        """Return a worker who is asked the first tasks of each answer set. See `GuardedRelease.usual_of`."""
        (counts,) = self._counts_of(np.array([public], dtype=np.int64)).tolist()
        own = [np.flatnonzero(self._codes.set_of_task == place)[:count] for place, count in enumerate(counts)]
        return [0, *np.concatenate(own).tolist(), *[NO_TASK] * (self.num_values - sum(counts))]

    def release_event_of(self, public: Sequence[int]) -> PrivacyEvent:
        """Return what the counts tell of all answers of a worker. See `GuardedRelease.release_event_of`."""
        moved = sum(self._distances[task] for task in public[1:] if task != NO_TASK)
        return PureMechanism(epsilon=moved / self.noise.scale)

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        """Count the labels of each task, and the answers."""
        counts = AnswersPhase.tally(self, reports, earlier=earlier, public=public).totals
        return Tally(len(reports), np.concatenate([counts[self.is_told], counts.sum(axis=1)]))

    def counts_of(self, totals: IntArray) -> tuple[IntArray, IntArray]:
        """Return what a tally says of each label of each task, shape (tasks, labels), and the numbers of answers."""
        counts, numbers = np.zeros(self.is_told.shape, dtype=np.int64), totals[self.num_noisy :]
        counts[self.is_told] = totals[: self.num_noisy]
        untold = ~self.is_told[:, 0]
        counts[untold, 0] = numbers[untold] - counts[untold, 1]
        counts[numbers == 0] = 0
        return counts, numbers


class TruthDiscovery(OnePhaseProtocol[Parameters, Outcome, AnswersPhase]):
    """Crowd answers under local differential privacy, and what is true by them.

    Args:
        parameters: the session's.
        weight_function: g of equation (3), where the parameters name one that is not ours. Only who finds the truths
            needs it.

    Raises:
        ConfigurationError: see `use_weight_function`.

    Privacy:
        For a worker with m answers: one-layer and fresh two-layer mε-LDP, ε for each answer; two-layer J-LDP for all
        answers, R-LDP for one of them where the others are known (`psephos.protocol.mechanisms.joint_law`): neither is
        the paper's ε. Replace-one; against all others colluding. Which tasks a worker is asked, and which of them it
        skips, is public. "central" ε-DP of the release for an answer, mε for m, against whoever sees that; the server
        sees all answers.

    Source:
        Li et al. (2018), Algorithms 1 and 2; readings T1 to T9.
    """

    name: ClassVar[str] = "truth-discovery"
    client_role: ClassVar[str] = "worker"
    server_role: ClassVar[str] = "aggregator"
    parameters_type: ClassVar[type[msgspec.Struct]] = Parameters
    outcome_type: ClassVar[type[msgspec.Struct]] = Outcome
    own_outcome_type: ClassVar[type[msgspec.Struct] | None] = OwnOutcome
    computes_twice: ClassVar[bool] = False
    settings_by_trust: ClassVar[Sequence[tuple[TrustModel, Mapping[str, Any]]]] = (
        (TrustModel.LOCAL, {}),
        (TrustModel.CENTRAL, {"mechanism": "central"}),
    )

    def __init__(self, parameters: Parameters, weight_function: Callable[[float], float] | None = None) -> None:
        super().__init__(parameters)
        self._weight_function: Callable[[float], float] | None = None
        if weight_function is not None:
            self.use_weight_function(weight_function)
        self._last: tuple[Tally, tuple[str, Inference]] | None = None  # what was found last, and in which tally

    @property
    def foreign_weight_function(self) -> str | None:
        """The name of a weight function that is not ours, and that `use_weight_function` has to be given."""
        name = self.parameters.weight_function
        return None if isinstance(name, msgspec.UnsetType) or name in WEIGHT_FUNCTIONS else name

    def use_weight_function(self, function: Callable[[float], float]) -> None:
        """Say what the parameters' weight function is.

        Args:
            function: from a share of right answers in (0, 1) to a number.

        Raises:
            ConfigurationError: the parameters name none, or one of ours; or it does not increase over the shares that
                workers may have, or is no number there.
        """
        if self.foreign_weight_function is None:
            allowed = f"named by the parameters, and not as {' or '.join(WEIGHT_FUNCTIONS)}"
            raise ConfigurationError(field="weight_function", value=function, allowed=allowed)
        parameters = self.parameters
        check_weight_function(function, num_answers=parameters.max_answers, clamp=parameters.quality_clamp)
        self._weight_function = function

    def with_parameters(self, parameters: Parameters) -> "TruthDiscovery":
        """Return a survey with other parameters, and the same weight function."""
        return TruthDiscovery(parameters, self._weight_function)

    @classmethod
    def complete(cls, given: Mapping[str, Any], table: Mapping[str, Entries]) -> dict[str, Any]:
        """Fill in the tasks and the most that a worker is asked, from the public column."""
        parameters = dict(given)
        if {"tasks", "max_answers"} <= parameters.keys():
            return parameters
        if "tasks" not in table:
            raise missing_column("tasks")
        names, most = tasks_in(table["tasks"])
        require(most, "tasks", "none", "at least one task for one worker")
        return {"tasks": names, "max_answers": most, **parameters}

    @functools.cached_property
    def codes(self) -> Codes:
        """The codes of tasks and labels."""
        parameters = self.parameters
        return Codes(parameters.tasks, parameters.answer_sets, np.array(parameters.set_of_task, dtype=np.int64))

    @functools.cached_property
    def noise(self) -> Noise:
        """How answers are perturbed."""
        return make_noise(self.parameters)

    def make_phase(self) -> AnswersPhase:
        """Return the one phase."""
        kind = AnswersPhase if self.noise.on_counts is None else CountedAnswers
        return kind(self.parameters, self.codes, self.noise)

    def columns(self) -> tuple[Column, ...]:
        """Return the columns: a worker's tasks, and its answers to them."""
        return (
            Column("tasks", private=False, description="the worker's tasks: names, separated by semicolons"),
            Column("answers", private=True, description="a label for each of these, or nothing where it is skipped"),
        )

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        """Turn tasks and answers into rows. See `PhasedProtocol.encode`.

        Entries are lists of names, or texts with semicolons between them; or codes: int64 arrays of shape
        (n, max_answers), padded with `NO_TASK` and `NO_ANSWER`.
        """
        self.check_columns(table)
        if len(table["tasks"]) != len(table["answers"]):
            raise ConfigurationError(
                field="table", value="columns of different length", allowed="columns of one length"
            )
        tasks = tasks_of(table["tasks"], self.codes, width=self.parameters.max_answers)
        return Inputs(answers_of(table["answers"], tasks, self.codes), _numbered(tasks))

    def encode_public(self, table: Mapping[str, Entries], *, num_parties: int) -> IntArray:
        """Return the public rows: each worker's tasks. See `PhasedProtocol.encode_public`."""
        if "tasks" not in table:
            raise missing_column("tasks")
        tasks = tasks_of(table["tasks"], self.codes, width=self.parameters.max_answers)
        refuse(len(tasks) != num_parties, "tasks", f"{len(tasks)} entries", f"{num_parties} entries")
        return _numbered(tasks)

    def placed(self, public: IntArray, *, start: int) -> IntArray:
        return np.concatenate([public[:, :1] + start, public[:, 1:]], axis=1)

    def write_public(self, public: IntArray) -> dict[str, list[str]]:
        """Return the tasks' names. See `PhasedProtocol.write_public`."""
        return {"tasks": [self.codes.write_tasks(tasks) for tasks in public[:, 1:].tolist()]}

    def encode_own(self, entries: Mapping[str, Any], public: Sequence[int]) -> tuple[int, ...]:
        """Return a worker's private row. See `PhasedProtocol.encode_own`.

        Args:
            entries: `answers`: a table of labels by task, or one text of the form "task=label; task=label". Tasks that
                the worker is not asked are left out, and those that it does not name are skipped.
            public: its public row.

        Raises:
            ConfigurationError: a task is not the session's, a label is not in its answer set, or `tasks` is given and
                differs from the public row.
        """
        self.check_public(public)
        tasks = np.array([public[1:]], dtype=np.int64)
        if "tasks" in entries:
            own = tasks_of([entries["tasks"]], self.codes, width=self.parameters.max_answers)
            if set(own[0].tolist()) != set(tasks[0].tolist()):
                allowed = f"the tasks that the server has: {self.codes.write_tasks(public[1:])}"
                raise ConfigurationError(field="tasks", value=entries["tasks"], allowed=allowed)
        if "answers" not in entries:
            raise missing_column("answers")
        return self.codes.own_row(entries["answers"], public[1:])

    def check_public(self, public: Sequence[int]) -> None:
        """Refuse what is not a worker's place and its tasks. See `PhasedProtocol.check_public`."""
        tasks = [task for task in public[1:] if task != NO_TASK]
        num_tasks, width = len(self.parameters.tasks), self.parameters.max_answers
        is_row = len(public) == width + 1 and public[0] >= 0 and len(set(tasks)) == len(tasks)
        if not is_row or not all(0 <= task < num_tasks for task in tasks):
            allowed = f"a place and {width} distinct tasks of {num_tasks}, filled up with {NO_TASK} if there are fewer"
            raise ConfigurationError(field="the server's public row", value=list(public[:12]), allowed=allowed)

    def check_row(self, row: Sequence[int], public: Sequence[int]) -> None:
        """Refuse tasks that a worker's answers were not given to. See `PhasedProtocol.check_row`."""
        self.codes.check_row(row, public)

    def check_roster(self, public: IntArray) -> None:
        """Refuse a session in which nobody is asked anything. See `PhasedProtocol.check_roster`."""
        self.check_numbers(*distinct_rows(self.counted_of(public)))

    def counted_of(self, public: IntArray) -> IntArray:
        return np.any(public[:, 1:] != NO_TASK, axis=1)[:, None].astype(np.int64)

    def check_numbers(self, rows: IntArray, numbers: IntArray) -> None:
        del numbers
        require(np.any(rows), "tasks", "none", "at least one task for one worker")

    def outcome(self, tallies: Sequence[Tally]) -> Outcome:
        """Return the truths."""
        (tally,) = tallies
        name, inference = self._find_truths(tally)
        counts, num_answers = self.counts_of(tally)
        (loss,) = self.losses
        return Outcome(
            tasks=self.parameters.tasks,
            truths=tuple(self._names_of(inference)),
            confidences=_known(average_confidences(name, inference.confidences, self.codes.size_of_task)),
            model_confidences=_known(inference.confidences),
            answer_sets=self.parameters.answer_sets,
            answer_set_of_task=self.parameters.answer_set_of_task,
            flip_probabilities=self._flip_probabilities,
            reports=tuple(
                tuple(own[:size]) for own, size in zip(counts.tolist(), self.codes.size_of_task.tolist(), strict=True)
            ),
            num_answers=tuple(num_answers.tolist()),
            num_workers=tally.num_reports,
            estimator=name,
            num_iterations=inference.num_iterations,
            has_converged=inference.has_converged,
            epsilon_answer=loss.finest.proven,
            epsilon_worker=loss.proven,
            noise_scale=self._noise_scale,
        )

    def largest_outcome(self, num_parties: int) -> Outcome:
        """Return an outcome of the longest labels. See `PhasedProtocol.largest_outcome`."""
        parameters = self.parameters
        longest = [max(labels, key=_num_bytes) for labels in parameters.answer_sets]
        numbers: tuple[float, ...] = (0.1,) * len(parameters.tasks)
        count = num_parties if self.noise.on_counts is None else self.noise.on_counts.report_range[0]
        sets: list[int] = self.codes.set_of_task.tolist()
        return Outcome(
            tasks=parameters.tasks,
            truths=tuple(longest[number] for number in sets),
            confidences=numbers,
            model_confidences=numbers,
            answer_sets=parameters.answer_sets,
            answer_set_of_task=parameters.answer_set_of_task,
            flip_probabilities=(0.1,) * len(parameters.answer_sets),
            reports=tuple((count,) * parameters.sizes[number] for number in sets),
            num_answers=(num_parties,) * len(parameters.tasks),
            num_workers=num_parties,
            estimator=_LONGEST_NAME,
            num_iterations=1 << 40,
            has_converged=False,
            epsilon_answer=0.1,
            epsilon_worker=0.1,
            noise_scale=self._noise_scale,
        )

    def own_outcomes(self, tallies: Sequence[Tally]) -> dict[int, OwnOutcome]:
        """Return to each worker with an answer its weight and quality, unless answers are counted and dropped."""
        (tally,) = tallies
        if not len(tally.rows):
            return {}
        _, inference = self._find_truths(tally)
        counts = np.bincount(tally.rows[:, 0])
        weights, qualities = _rounded(inference.weights), _rounded(inference.qualities)
        return {
            worker: OwnOutcome(weight=weights[worker], quality=qualities[worker], num_answers=int(counts[worker]))
            for worker in np.flatnonzero(counts).tolist()
        }

    def truth(self, inputs: Inputs) -> dict[str, str]:
        """Return what the same estimator finds in the clean answers: for each task with one a label's name."""
        tally = self.phase.tally(inputs.private, earlier=(), public=inputs.public)
        _, inference = self._found_in(tally, noise=None)
        labels = zip(self.parameters.tasks, self._names_of(inference), strict=True)
        return {task: label for task, label in labels if label is not None}

    def counts_of(self, tally: Tally) -> tuple[IntArray, IntArray]:
        """Return how often each label of each task is reported, shape (tasks, labels), and how many answers it has."""
        if isinstance(self.phase, CountedAnswers):
            return self.phase.counts_of(tally.totals)
        return tally.totals, tally.totals.sum(axis=1)

    @property
    def _noise_scale(self) -> float | msgspec.UnsetType:
        return msgspec.UNSET if self.noise.on_counts is None else self.noise.on_counts.scale

    def answers_in(self, tally: Tally) -> Answers:
        """Return the reported answers of a tally, for estimators; none where the server has counted them."""
        workers, tasks, labels = tally.rows.T if len(tally.rows) else np.empty((3, 0), dtype=np.int64)
        return Answers(
            tasks=tasks,
            workers=workers,
            labels=labels,
            num_tasks=len(self.parameters.tasks),
            num_workers=int(workers.max(initial=-1)) + 1,
            sizes=self.codes.size_of_task,
        )

    def _names_of(self, inference: Inference) -> Iterator[str | None]:
        """Yield the names of the labels that were found."""
        sets = self.parameters.answer_sets
        for number, label in zip(self.codes.set_of_task.tolist(), inference.truths.tolist(), strict=True):
            yield None if label < 0 else sets[number][label]

    @property
    def _flip_probabilities(self) -> tuple[float, ...]:
        """Of each answer set the flip probability, of drawn ones the mean."""
        of_sizes = dict(zip(self.noise.sizes, self.noise.flip_probabilities, strict=True))
        return tuple(of_sizes[size] for size in self.parameters.sizes)

    def _find_truths(self, tally: Tally) -> tuple[str, Inference]:
        """Return the estimator's name and what it finds; both parts of a release ask for the same."""
        if self._last is None or self._last[0] is not tally:
            self._last = tally, self._found_in(tally, noise=self.noise)
        return self._last[1]

    def _found_in(self, tally: Tally, *, noise: Noise | None) -> tuple[str, Inference]:
        if self.noise.on_counts is not None:
            (counts, numbers), sizes = self.counts_of(tally), self.codes.size_of_task
            added = None if noise is None else noise.on_counts
            return "majority", majority_of_counts(counts, numbers, sizes, added, ties=self.parameters.ties)
        return find_truths(
            self.answers_in(tally), parameters=self.parameters, noise=noise, weight_function=self._weight_function
        )


def _num_bytes(label: str) -> int:
    return len(label.encode())


def _numbered(tasks: IntArray) -> IntArray:
    """Return public rows: each worker's place, then its tasks."""
    return np.concatenate([np.arange(len(tasks), dtype=np.int64)[:, None], tasks], axis=1)


def _known(numbers: FloatArray) -> tuple[float | None, ...]:
    """Return numbers on the public grid, None in place of nan."""
    return tuple(None if math.isnan(number) else number for number in _rounded(numbers))


def _rounded(numbers: FloatArray) -> list[float]:
    """Return numbers on the public grid."""
    rounded: list[float] = (np.round(numbers * _GRID) / _GRID).tolist()
    return rounded
