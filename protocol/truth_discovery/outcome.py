"""The outcomes of a truth discovery session: public truths, and each worker's private weight."""

from collections.abc import Mapping

import msgspec

from ..arguments import check_aligned
from ..errors import ConfigurationError, list_choices, require
from ..estimators import DEFAULT_LEVEL, Estimate, check_level
from ..estimators.truth_inference import (
    LevelCounts,
    SupportLimits,
    estimate_support_by_level,
    support_limits_by_level,
)
from ..shown import Shown
from .confidence import CREDITS
from .counts import CountNoise, counted_limits


class LevelReports(msgspec.Struct, frozen=True):
    """The reports of the workers of one level of ε.

    Args:
        num_workers: the number of workers with this level who gave an answer.

    Examples:
        >>> LevelReports(0.5, 12, (0.38,), ((5, 7),)).num_workers
        12
    """

    epsilon: float
    num_workers: int
    flip_probabilities: tuple[float, ...]
    reports: tuple[tuple[int, ...], ...]


class Outcome(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """The public outcome; a tuple with an entry for each task is a column of one table.

    Args:
        tasks: the names of the tasks.
        truths: the name of a label for each task. None if there are no answers; in `masked`, if nobody was asked, since
            skipping is hidden.
        confidences: the probability that each label is right: `model_confidences`, shrunk towards chance so that they
            hold on average over published crowds (`psephos.protocol.truth_discovery.confidence`). Crowds differ: see
            `confidence_ranges`. For a majority it is the share of answers, which is no probability. Multiples of
            2**−20. None for tasks without answers, and for registered estimators, which were not calibrated.
        model_confidences: the estimator's confidence in each label: the share of votes, of weighted votes, or the
            posterior probability. It is only as good as the estimator's model: for example, the paper's truth discovery
            is nearly certain about a tie once it is broken.
        answer_sets: the labels of each answer set.
        answer_set_of_task: the index of each task's answer set; empty if all tasks have the first.
        flip_probabilities: for each answer set the probability that a report differs from the answer; the mean if
            workers draw it.
        reports: for each task the number of reports of each label, in the order of its answer set; perturbed.
            `supports` estimates the numbers of answers.
        num_answers: the number of answers to each task; in the distributed model the number of workers in the sum that
            were asked, since skipping is hidden.
        num_workers: the number of workers that reported.
        levels: with levels of ε, those at which workers gave an answer, ascending; else unset, and in no file.
            `reports` contains the reports of all levels; `flip_probabilities` and losses are those of the greatest.
        estimator: the name of the estimator.
        num_iterations: its number of iterations; 0 if it does not iterate.
        has_converged: whether it stopped because nothing changed any more.
        epsilon_answer: the proven loss of one answer of a worker with `max_answers`, if all its others are known, in
            nats.
        epsilon_worker: the proven loss of all answers of such a worker, in nats.
        noise_scale: the scale of the discrete Laplace noise on counts, if `reports` are noisy counts. In the central
            model a trusted server added it to all counts; for two labels, to that of the second.
        planned: in the distributed model, the number of noise shares that add up to one draw; `num_workers` shares were
            added to every sum. For two labels `reports` then has twice the counts. Else unset, and in no file.
        is_calibrated: false if the estimator's settings or the noise differ from those for which confidences were
            calibrated (`Parameters.are_tried`). Else unset, and in no file.

    Examples:
        >>> from psephos.protocol import SimulatedNoise, run_population
        >>> from psephos.protocol.truth_discovery import Parameters, TruthDiscovery
        >>> parameters = Parameters(tasks=("bridge",), answer_sets=(("no", "yes"),), max_answers=1, epsilon=2.0)
        >>> survey = TruthDiscovery(parameters)
        >>> inputs = survey.encode({"tasks": ["bridge"] * 50, "answers": ["yes"] * 40 + ["no"] * 10})
        >>> outcome = run_population(survey, inputs, noise=SimulatedNoise(1, session="survey")).outcome
        >>> (outcome.truths, outcome.reports, outcome.limits_of_found())
        (('yes',), ((14, 36),), (SupportLimits(low=34, high=46),))
    """

    tasks: tuple[str, ...]
    truths: tuple[str | None, ...]
    confidences: tuple[float | None, ...]
    model_confidences: tuple[float | None, ...]
    answer_sets: tuple[tuple[str, ...], ...]
    answer_set_of_task: tuple[int, ...]
    flip_probabilities: tuple[float, ...]
    reports: tuple[tuple[int, ...], ...]
    num_answers: tuple[int, ...]
    num_workers: int
    levels: tuple[LevelReports, ...] | msgspec.UnsetType = msgspec.UNSET
    estimator: str
    num_iterations: int
    has_converged: bool
    epsilon_answer: float
    epsilon_worker: float
    noise_scale: float | msgspec.UnsetType = msgspec.UNSET
    planned: int | msgspec.UnsetType = msgspec.UNSET
    is_calibrated: bool | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        """Raise ConfigurationError unless each column has an entry for each task, of the task's answer set."""
        check_aligned(
            tasks=self.tasks,
            truths=self.truths,
            confidences=self.confidences,
            model_confidences=self.model_confidences,
            answer_set_of_task=self.set_of_task,
            reports=self.reports,
            num_answers=self.num_answers,
        )
        is_held = self.estimator in CREDITS or all(confidence is None for confidence in self.confidences)
        require(
            is_held, "estimator", self.estimator, f"{list_choices(CREDITS, self.estimator)}, or without confidences"
        )
        check_aligned(answer_sets=self.answer_sets, flip_probabilities=self.flip_probabilities)
        for level in self.levels or ():
            check_aligned(tasks=self.tasks, level_reports=level.reports)
            check_aligned(answer_sets=self.answer_sets, level_flip_probabilities=level.flip_probabilities)
            for all_reports, own_reports in zip(self.reports, level.reports, strict=True):
                check_aligned(reports=all_reports, level_reports=own_reports)
        allowed = f"below {len(self.answer_sets)}, the number of answer sets"
        for task, number, reports, truth in zip(self.tasks, self.set_of_task, self.reports, self.truths, strict=True):
            if not 0 <= number < len(self.answer_sets):
                raise ConfigurationError(field=f"the answer set of {task}", value=number, allowed=allowed)
            labels = self.answer_sets[number]
            if len(labels) != len(reports):
                check_aligned(answer_set=labels, reports=reports)
            if truth is not None and truth not in labels:
                raise ConfigurationError(field=f"the truth of {task}", value=truth, allowed="of its answer set")

    @property
    def set_of_task(self) -> tuple[int, ...]:
        """Which answer set each task has."""
        return self.answer_set_of_task or (0,) * len(self.tasks)

    @property
    def _count_noise(self) -> CountNoise | None:
        """The noise on counts; None where answers were perturbed."""
        if self.noise_scale is msgspec.UNSET:
            return None
        return CountNoise(self.noise_scale, self.planned or None, self.num_workers)

    @property
    def confidence_ranges(self) -> tuple[tuple[float, float] | None, ...]:
        """Each task's range for the probability that its label is right: for the worst and the best published crowd.

        A crowd is better or worse for all of its tasks together. None for a task without answers, for an estimator
        whose confidences were worthless on some crowd, and for settings that were not tested; then confidences only
        rank the tasks.
        """
        credit, ranges = CREDITS.get(self.estimator), list[tuple[float, float] | None]()
        for model, number in zip(self.model_confidences, self.set_of_task, strict=True):
            if model is None or credit is None or not credit.least or self.is_calibrated is False:
                ranges.append(None)
                continue
            chance = 1 / len(self.answer_sets[number])
            low, high = (chance + weight * (model - chance) for weight in (credit.least, credit.most))
            ranges.append((min(low, high), max(low, high)))
        return tuple(ranges)

    @property
    def supports(self) -> tuple[Mapping[str, Estimate] | None, ...]:
        """Each task's estimated numbers of workers for each label before the perturbation, by the label's name.

        The estimate is unbiased for any label that is fixed in advance. The found label is selected by its reports, so
        its estimate is too high on average; see `limits_of_found`. None for a task without answers, or if the reports
        are uninformative.
        """
        supports: list[Mapping[str, Estimate] | None] = []
        for task, (number, reports, total) in enumerate(
            zip(self.set_of_task, self.reports, self.num_answers, strict=True)
        ):
            labels, noise = self.answer_sets[number], self._count_noise
            if noise is not None:
                size = len(labels)
                error, parts = noise.error_of(size), noise.parts_of(size)
                counts = [count / parts for count in reports] if parts > 1 else reports
                of_labels = [Estimate(count, error) if total else None for count in counts]
            else:
                of_labels = [
                    estimate_support_by_level(self._parts(task, label), num_labels=len(labels))
                    for label in range(len(labels))
                ]
            support_of_label = {
                name: support for name, support in zip(labels, of_labels, strict=True) if support is not None
            }
            supports.append(support_of_label or None)
        return tuple(supports)

    def limits_of_found(self, level: float = DEFAULT_LEVEL) -> tuple[SupportLimits | None, ...]:
        """Return each task's limits for the number of workers that gave the found label; None if there is none.

        They hold although the label was selected by the same reports, since they hold for all labels of the task
        simultaneously.

        Args:
            level: the greatest probability that the limits of a task fail, in (0, ½). For k tasks together it is at
                most k times as large.

        Raises:
            ConfigurationError: the level is out of range.
        """
        check_level(level)
        limits: list[SupportLimits | None] = []
        for task, (truth, number, reports, total) in enumerate(
            zip(self.truths, self.set_of_task, self.reports, self.num_answers, strict=True)
        ):
            if truth is None:
                limits.append(None)
                continue
            labels, label_place = self.answer_sets[number], self.answer_sets[number].index(truth)
            if (noise := self._count_noise) is not None:
                limits.append(counted_limits(reports[label_place], total, noise, num_labels=len(labels), level=level))
                continue
            limits.append(support_limits_by_level(self._parts(task, label_place), num_labels=len(labels), level=level))
        return tuple(limits)

    def _parts(self, task: int, label: int) -> list[LevelCounts]:
        """Return for each level of ε the label's reports, those of its task, and the flip probability."""
        number = self.set_of_task[task]
        if self.levels is msgspec.UNSET:
            flip = self.flip_probabilities[number]
            return [LevelCounts(self.reports[task][label], self.num_answers[task], flip)]
        return [
            LevelCounts(level.reports[task][label], sum(level.reports[task]), level.flip_probabilities[number])
            for level in self.levels
        ]


class OwnOutcome(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """The private outcome of one worker.

    Args:
        weight: the worker's weight in the release: the log-odds that one of its reports is right, or 1 in a majority
            vote.
        quality: the estimated probability that the worker is right: about its answers, for estimators that know the
            perturbation; about its reports, for the others.
        num_answers: the number of its answers that counted.

    Examples:
        >>> OwnOutcome(weight=1.386, quality=0.8, num_answers=10).quality
        0.8
    """

    weight: float
    quality: float
    num_answers: int
