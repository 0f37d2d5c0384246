"""Infer a worker's answers, with the shared flip probability, as a coalition (truth discovery).

**With the server** the coalition sees the worker's whole reported vector. The posterior of each answer is exact, given
the prior of the tasks (`answer_inference`). The answers of one worker share a flip probability, so knowledge of some
answers shows how reliable the other reports are. This knowledge comes from anchors: the members' answers to a task, and
the majority of the other workers' reports. Without anchors (a uniform prior), reports do not reveal the shared flip
probability, and the paper's Theorem 6.3 holds (reading T5). With anchors, odds exceed its e^ε; they are bounded by the
losses R for one answer and J for all (reading T3).

**Without the server** it sees its members' reports and the published values: truths, which are its anchors, and the
number of reports of each label of each task. It subtracts its members' reports. If all workers but one collude, the
rest are the last one's reports. Otherwise the rest are the numbers of honest workers by reported label of a task, and

    P[table | x] ∝ Σ_r P[r | x] · table[r] / π̃[r],

with π̃ the prior law of an honest report; this is exact for a single task. Over several tasks, the honest workers'
tables are treated as independent, which is exact if answers do not share a flip probability. If a worker skipped a
task, it is unknown who did, and the task's table is ignored; so are the truths' confidences, and workers' private
weights.

A trusted server (`central`) sees all answers. Without it, a coalition sees noisy counts, whose likelihood in
`counted_inference` is exact, given the prior of the others' answers.

Source of the attacked protocol: Li et al. (2018); readings T3, T4, T5 and T9.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import ClassVar, Final, cast

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import ConfigurationError, refuse, require
from ....protocol.mechanisms import NO_ANSWER
from ....protocol.phases import Inputs
from ....protocol.truth_discovery import CountedAnswers, Outcome, TruthDiscovery
from ....protocol.truth_discovery.codes import NO_TASK
from ...attacks.attack import Attack, Candidates, check_targets
from ...attacks.coalition_view import Coalition, CoalitionView
from ...attacks.posteriors import Evaluation, Posteriors, check_prior, evaluate, infer
from .answer_inference import FlipLaw, answer_log_likelihoods, flip_law, vectors
from .counted_inference import log_likelihoods_of_counts
from .joint_inference import Summation, joint_log_likelihoods, summation_of

NO_LABEL: Final = -1
"""In a table of labels: no answer."""

_ANSWERS, _ANSWER, _ROW = "answers", "answer", "row"


@dataclasses.dataclass(frozen=True)
class Anchors:
    """The sources of a coalition's prior of a task, before it sees a worker's reports.

    Answers to one task are assumed to be independent draws from an unknown distribution. This gives Laplace's rule,
    (votes + s·base)/(number of votes + s), which is Bayes' rule with a flat prior if the base is uniform.
    """

    members: bool = True  # whether the members' answers count as votes
    # The probability that a worker's answer is the released truth, which determines the base; None to ignore truths.
    # The default is near that of the crowds in the paper's experiments.
    agreement: float | None = 0.7

    def __post_init__(self) -> None:
        is_allowed = self.agreement is None or 0 < self.agreement < 1
        require(is_allowed, "agreement", self.agreement, "above 0 and below 1")


class TruthDiscoveryAttack(Attack):
    """Infers answers: each from the whole reported vector, each with the others known, or a whole vector at once.

    Its posteriors have one row for each task of a target, target by target in the order of tasks; for whole vectors
    ("row"), one for each target. Over several sessions with fresh noise, posteriors are exact, in any order of
    sessions. The exception are "answers" that share a flip probability, if the sum is larger than `joint_inference`
    supports: then a session uses the marginal posteriors of the other answers as independent priors, an approximation
    that `session_caveat` states.

    Args:
        protocol: the protocol with its public parameters.
        anchors: the sources of tasks' priors.
        background: only for "answer": all answers as codes, shape (n, max_answers), in the order of each worker's
            tasks. The adversary knows all of them except the one that it infers. `against` uses the true answers.

    Source:
        Readings T3 and T5.
    """

    secrets: ClassVar[tuple[str, ...]] = (_ANSWERS, _ANSWER, _ROW)
    infers_from_reports_alone: ClassVar[bool] = False

    protocol: TruthDiscovery

    def __init__(
        self, protocol: TruthDiscovery, *, anchors: Anchors | None = None, background: IntArray | None = None
    ) -> None:
        super().__init__(protocol)
        self._anchors = Anchors() if anchors is None else anchors
        self._background = background

    def against(self, inputs: Inputs) -> "TruthDiscoveryAttack":
        """Return this attack by an adversary that knows all answers but the inferred one: the worst case for R."""
        return TruthDiscoveryAttack(self.protocol, anchors=self._anchors, background=inputs.private)

    @functools.cached_property
    def labels(self) -> tuple[str, ...]:
        """The possible answers: names, or numbers if answer sets differ."""
        sets = self.protocol.parameters.answer_sets
        if len(sets) == 1:
            return sets[0]
        return tuple(f"label {number}" for number in range(1, max(map(len, sets)) + 1))

    def candidates(self, secret: str) -> Candidates:
        """Return all vectors of answers from one answer set; or one answer's labels, as rows with one column.

        A worker with fewer tasks, or a skipped one, has none of the vectors. ConfigurationError: answer sets differ, or
        there are too many vectors. See `Attack.candidates`.
        """
        self.check_secret(secret)
        parameters = self.protocol.parameters
        is_one = secret == _ANSWER and len(parameters.answer_sets) == 1
        allowed = f"{_ANSWER!r}, the first, of one answer set, where sums are masked"
        refuse(parameters.is_masked and not is_one, "secret", secret, allowed)
        if secret != _ROW:
            places = np.arange(len(self.labels), dtype=np.int64)
            return Candidates(places[:, None], places, self.labels)
        value = f"{len(parameters.answer_sets)} answer sets"
        require(len(parameters.answer_sets) == 1, "secret", value, "one answer set for whole vectors")
        names = self.labels
        rows = vectors([len(names)] * parameters.max_answers)
        codes: list[list[int]] = rows.tolist()
        answer_texts = tuple("; ".join(names[code] for code in row) for row in codes)
        return Candidates(rows, np.arange(len(rows), dtype=np.int64), answer_texts)

    @property
    def default_secret(self) -> str:
        return _ANSWER if self.protocol.parameters.is_masked else super().default_secret

    def rows_of(self, candidates: Candidates, public: Sequence[int], private: IntArray) -> IntArray:
        """Return the worker's row with each possible answer to its first task. See `Attack.rows_of`."""
        codes = np.tile(private[: self.protocol.parameters.max_answers], (len(candidates.rows), 1))
        if public[1] != NO_TASK:  # otherwise it has no task, and contributes nothing
            codes[:, 0] = self.protocol.codes.offset_of_task[public[1]] + candidates.rows[:, 0]
        return self.protocol.rows_for(codes, np.tile(np.array(public[self._asked], dtype=np.int64), (len(codes), 1)))

    def truths(self, secret: str, inputs: Inputs) -> IntArray:
        """Return true labels: for "row" as `Attack.truths`, else of each task, `NO_LABEL` if skipped."""
        self.check_secret(secret)
        if secret != _ROW:
            return self._labels_of(inputs.private, inputs.public)[inputs.public[:, self._asked] != NO_TASK]
        refuse(np.any(inputs.private == NO_ANSWER), "secret", secret, "workers who answer all tasks they may have")
        places = np.zeros(len(inputs), dtype=np.int64)
        for column in inputs.private.T:
            places = places * len(self.labels) + column
        return places

    def owners(self, secret: str, public: IntArray, targets: IntArray) -> IntArray:
        """Return each target once for each of its tasks; for whole vectors once. See `Attack.owners`."""
        if secret == _ROW:
            return targets
        return np.repeat(targets, np.count_nonzero(public[targets, self._asked] != NO_TASK, axis=1))

    def draws_from_prior(self, secret: str, *, prior: FloatArray | None) -> bool:
        """Return whether answers are redrawn; otherwise they are the workers'. See `Attack.draws_from_prior`."""
        return secret != _ANSWER and prior is not None

    def redraw(
        self, secret: str, inputs: Inputs, targets: IntArray, *, prior: FloatArray | None, uniforms: FloatArray
    ) -> Inputs:
        """Return inputs with the targets' answers drawn from a prior; unchanged without a prior, or for "answer".

        Tasks' priors come from the session itself, so there is no other distribution to draw from. See `Attack.redraw`.
        """
        if secret == _ANSWER or prior is None:
            return inputs
        if secret == _ROW:
            return super().redraw(secret, inputs, targets, prior=prior, uniforms=uniforms)
        generator = np.random.Generator(np.random.Philox([int(uniform * 2.0**53) for uniform in uniforms[:2]]))
        own_answers, tasks = inputs.private[targets], inputs.public[targets, self._asked]
        labels = generator.choice(len(prior), size=own_answers.shape, p=prior)
        private = inputs.private.copy()
        private[targets] = np.where(
            own_answers == NO_ANSWER, NO_ANSWER, labels + self.protocol.codes.offset_of_task[tasks]
        )
        return Inputs(private, inputs.public)

    def evaluate(self, posteriors: Posteriors, inputs: Inputs, targets: IntArray, *, secret: str) -> Evaluation:
        """Score guesses against the truth, without tasks that a target skipped. See `Attack.evaluate`."""
        truths = self.truths(secret, Inputs(inputs.private[targets], inputs.public[targets]))
        if secret == _ROW:
            return evaluate(posteriors, truths)
        has_truth = truths != NO_LABEL
        shape = posteriors.probabilities.shape
        return evaluate(
            dataclasses.replace(
                posteriors,
                prior=np.broadcast_to(posteriors.prior, shape)[has_truth],
                probabilities=posteriors.probabilities[has_truth],
                log_odds_ratios=posteriors.log_odds_ratios[has_truth],
            ),
            truths[has_truth],
        )

    def evaluate_redrawn(self, posteriors: Posteriors, inputs: Inputs, targets: IntArray, *, secret: str) -> Evaluation:
        """Score guesses against the truth, since anchors are no law of answers. See `Attack.evaluate_redrawn`."""
        return self.evaluate(posteriors, inputs, targets, secret=secret)

    def loss(self, secret: str, public: IntArray, targets: IntArray, coalition: Coalition) -> float:
        """Return R for single answers, J for whole vectors. See `Attack.loss`."""
        whole = super().loss(secret, public, targets, coalition)
        if secret == _ROW or math.isinf(whole):
            return whole
        rows = np.unique(public[targets], axis=0).tolist()
        parts = [loss.part for row in rows for loss in self.protocol.losses_of(row)]
        return max((part.proven for part in parts if part is not None), default=0.0)

    def release_log_likelihoods(self, view: CoalitionView, targets: IntArray, candidates: Candidates) -> FloatArray:
        """Return log-likelihoods of whole reported vectors if published counts determine them; otherwise 0."""
        if self.protocol.trusts_server:
            return self.session_log_likelihoods([view], targets, candidates)
        weights = self._weights(view, targets, self.task_priors([view]))
        is_known = np.all(np.count_nonzero(weights, axis=2) == 1, axis=1)
        reports = weights.argmax(axis=2) + self.protocol.codes.offset_of_task[view.public[targets, self._asked]]
        logs = np.zeros((len(targets), len(candidates.rows)))
        for level, is_of_level in self.protocol.phase.level_places(view.public[targets]):
            level_targets = np.arange(len(targets))[is_of_level]
            level_targets = level_targets[is_known[is_of_level]]
            logs[level_targets] = self.protocol.noises[level].mechanism.log_likelihoods(
                reports[level_targets], candidates.rows
            )
        return logs

    def session_log_likelihoods(
        self, sessions: Sequence[CoalitionView], targets: IntArray, candidates: Candidates
    ) -> FloatArray:
        """Return the sum over sessions; for noisy counts jointly, since others' answers are the same in all."""
        if not self.protocol.trusts_server or sessions[0].coalition.has_server:
            return super().session_log_likelihoods(sessions, targets, candidates)
        log_likelihoods = self._log_likelihoods_of_counts(sessions, targets, self.task_priors(sessions))
        return np.add.reduce([log_likelihoods[:, place, answers] for place, answers in enumerate(candidates.rows.T)])

    def posteriors(
        self, sessions: Sequence[CoalitionView], targets: IntArray, *, secret: str, prior: FloatArray | None = None
    ) -> Posteriors:
        """Return the coalition's posteriors after some sessions. See `Attack.posteriors`.

        For "row", `prior` has a probability for each vector (by default the product of the anchors' priors); for single
        answers one for each label, instead of all anchors. ConfigurationError also if the background lacks an answer
        that "answer" needs.
        """
        self.check_secret(secret)
        check_targets(sessions, targets)
        first = sessions[0]
        if secret == _ROW:
            allowed = "workers who are asked as many tasks as the vectors have"
            refuse(np.any(first.public[targets] == NO_TASK), "target", "one who is asked fewer", allowed)
            if prior is None:  # of each vector, with independent answers
                rows, priors = self.candidates(_ROW).rows, self._answer_priors(sessions, targets)
                prior = np.ones((len(targets), len(rows)))
                for place, answers in enumerate(rows.T):
                    prior *= priors[:, place, answers]
            return super().posteriors(sessions, targets, secret=secret, prior=prior)
        tasks = first.public[targets, self._asked]
        is_asked = tasks != NO_TASK
        of_tasks = self.task_priors(sessions, prior)
        priors = self._answer_priors(sessions, targets, prior)
        logs = np.zeros(priors.shape)
        if self.protocol.trusts_server:
            logs = self._log_likelihoods_of_counts(sessions, targets, of_tasks)
        elif secret == _ANSWERS and len(sessions) > 1 and (summation := self._summation(len(sessions))) is not None:
            weights = [self._weights(view, targets, of_tasks) for view in sessions]
            sets = self.protocol.codes.set_of_task[tasks]
            for level, is_of_level in self.protocol.phase.level_places(first.public[targets]):
                of_level = [each[is_of_level] for each in weights]
                logs[is_of_level] = joint_log_likelihoods(
                    of_level, sets[is_of_level], priors[is_of_level], self._laws[level], summation=summation
                )
            logs = self._level_absent_labels(logs, tasks)
        else:
            for view in sessions:
                other_beliefs = self._beliefs_about_others(priors, logs, targets, view.public, secret)
                weights, sets = self._weights(view, targets, of_tasks), self.protocol.codes.set_of_task[tasks]
                log_weights = np.zeros(weights.shape)
                for level, is_of_level in self.protocol.phase.level_places(view.public[targets]):
                    log_weights[is_of_level] = answer_log_likelihoods(
                        weights[is_of_level], sets[is_of_level], other_beliefs[is_of_level], self._laws[level]
                    )
                logs += self._level_absent_labels(log_weights, tasks)
        places = np.arange(len(self.labels), dtype=np.int64)
        return infer(logs[is_asked], places=places, labels=self.labels, prior=priors[is_asked])

    def session_caveat(self, secret: str, *, votes: int) -> str:
        """Return a sentence if posteriors over `votes` sessions are approximate. See `Attack.session_caveat`."""
        if secret != _ANSWERS or votes == 1 or self.protocol.trusts_server:
            return ""
        if len(self._laws[0].log_shares) == 1 or self._summation(votes) is not None:
            return ""
        return (
            f"Its posteriors after {votes:,} sessions are approximations, which may be far off and depend on the order "
            "of the sessions: answers that share a flip probability would have to be added up together."
        )

    @property
    def _asked(self) -> slice:
        return self.protocol.parameters.asked_columns

    @functools.cached_property
    def _laws(self) -> Sequence[FlipLaw]:
        """The mixture of flip probabilities for each level of ε, exact for the number of answers."""
        max_answers = self.protocol.parameters.max_answers
        return [flip_law(noise.mechanism, degree=max_answers) for noise in self.protocol.noises]

    def _summation(self, num_sessions: int) -> Summation | None:
        """Return the sum by which posteriors over the sessions are exact; None if there is none, or none is needed."""
        if (num_nodes := len(self._laws[0].log_shares)) == 1:
            return None
        max_answers, sizes = self.protocol.parameters.max_answers, self.protocol.parameters.sizes
        return summation_of(
            num_answers=max_answers, num_labels=max(sizes), num_nodes=num_nodes, num_sessions=num_sessions
        )

    def task_priors(self, sessions: Sequence[CoalitionView], prior: FloatArray | None = None) -> FloatArray:
        """Return the prior of any worker's answer to each task, before reports, shape (tasks, labels).

        Labels that a task does not have get 0. Over several sessions, the majority of released truths counts. If
        `prior` is given, it is used for every task, without releases.
        """
        codes = self.protocol.codes
        if prior is not None:
            for size in codes.sizes:
                check_prior(prior.tolist(), num_labels=size)
            return np.broadcast_to(prior, (len(codes.size_of_task), len(self.labels)))
        votes = np.zeros((len(codes.size_of_task), len(self.labels)))
        for view in sessions:
            if view.release is not None:
                votes += self._truths_of(cast("Outcome", view.release))[:, None] == np.arange(len(self.labels))
        return self._anchored_beliefs(sessions[0], np.arange(len(votes)), _clear_majority(votes))

    def _anchored_beliefs(self, view: CoalitionView, tasks: IntArray, truths: IntArray) -> FloatArray:
        """Return the anchored prior of an answer to each of some tasks, given assumed truths.

        Args:
            view: the view with the members' answers.
            tasks: indices of tasks, any shape.
            truths: the assumed labels, same shape; `NO_LABEL` for none.
        """
        sizes = self.protocol.codes.size_of_task[tasks][..., None]
        allowed = np.arange(len(self.labels)) < sizes
        base = allowed / sizes
        if (share := self._anchors.agreement) is not None:
            likely = np.arange(len(self.labels)) == truths[..., None]
            anchored_shares = np.where(likely, share, (1 - share) / (sizes - 1)) * allowed
            base = np.where(truths[..., None] == NO_LABEL, base, anchored_shares)
        if not self._anchors.members or not view.coalition.members:
            return base
        members = list(view.coalition.members)
        votes = self._counts_of(self._labels_of(view.rows, view.public[members]), view.public[members])[tasks]
        return (votes + sizes * base) / (votes.sum(axis=-1, keepdims=True) + sizes)

    def _answer_priors(
        self, sessions: Sequence[CoalitionView], targets: IntArray, prior: FloatArray | None = None
    ) -> FloatArray:
        """Return the priors of the targets' answers, shape (targets, tasks, labels).

        A coalition with all other reports uses their majority over all sessions as a task's truth: the released truth
        includes the target's report, which would count twice.
        """
        first = sessions[0]
        tasks = first.public[targets, self._asked]
        has_others = first.coalition.has_server or len(first.coalition.members) == first.num_parties - 1
        if prior is not None or not has_others:
            return self.task_priors(sessions, prior)[tasks]
        other_answers = np.zeros((*tasks.shape, len(self.labels)))
        for view in sessions:
            (reports,), (is_seen,) = view.reports, view.told
            labels = self._labels_of(np.where(is_seen[:, None], reports, NO_ANSWER), view.public)
            is_own_label = labels[targets][:, :, None] == np.arange(len(self.labels))
            other_answers += self._counts_of(labels, view.public)[tasks] - is_own_label
        return self._anchored_beliefs(first, tasks, _clear_majority(other_answers))

    def _counts_of(self, labels: IntArray, public: IntArray) -> FloatArray:
        """Return the count of each label for each task, shape (tasks, labels)."""
        rows, places = np.nonzero(labels != NO_LABEL)
        counts = np.zeros((len(self.protocol.codes.size_of_task), len(self.labels)))
        np.add.at(counts, (public[rows, 1 + places], labels[rows, places]), 1.0)
        return counts

    def _log_likelihoods_of_counts(
        self, sessions: Sequence[CoalitionView], targets: IntArray, of_tasks: FloatArray
    ) -> FloatArray:
        """Return ln P[noisy counts, or the server's view | one answer]; 0 for tasks that a worker skipped."""
        first, phase = sessions[0], self.protocol.phase
        tasks, all_labels = first.public[targets, self._asked], np.arange(len(self.labels))
        logs = np.zeros((*tasks.shape, len(all_labels)))
        if first.coalition.has_server:
            labels = self._labels_of(first.reports[0], first.public)[targets][:, :, None]
            return np.where((labels == all_labels) | (labels == NO_LABEL), 0.0, -np.inf)
        if not isinstance(phase, CountedAnswers) or not first.totals:
            return logs
        members = list(first.coalition.members)
        own_counts = self._counts_of(self._labels_of(first.rows, first.public[members]), first.public[members])
        of_sessions = [phase.counts_of(view.totals[0]) for view in sessions]
        counts = np.stack([noisy for noisy, _ in of_sessions]) - own_counts.astype(np.int64)
        other_tasks = np.delete(first.public[:, self._asked], members, axis=0)
        asked_tasks: list[int] = np.unique(tasks[tasks != NO_TASK]).tolist()
        for task in asked_tasks:
            own_labels, honest = (
                slice(int(self.protocol.codes.size_of_task[task])),
                np.count_nonzero(other_tasks == task),
            )
            if int(of_sessions[0][1][task] - own_counts[task].sum()) == honest:
                is_told, beliefs = phase.is_told[task, own_labels], of_tasks[task, own_labels]
                logs[tasks == task, own_labels] = log_likelihoods_of_counts(
                    counts[:, task, own_labels], is_told, int(honest) - 1, beliefs, phase.noise.scale
                )
        return self._level_absent_labels(logs, tasks)

    def _beliefs_about_others(
        self, priors: FloatArray, logs: FloatArray, targets: IntArray, public: IntArray, secret: str
    ) -> FloatArray:
        """Return priors of answers when they are among the others, shape (targets, max_answers, labels)."""
        if secret == _ANSWERS:
            updated = priors * np.exp(logs - logs.max(axis=2, keepdims=True))
            return updated / updated.sum(axis=2, keepdims=True)
        if self._background is None:
            allowed = "all answers of the targets, of which each is taken as unknown in turn"
            raise ConfigurationError(field="background", value="nothing", allowed=allowed)
        labels = self._labels_of(self._background[targets], public[targets])
        return (np.arange(len(self.labels)) == labels[:, :, None]).astype(np.float64)

    def _level_absent_labels(self, logs: FloatArray, tasks: IntArray) -> FloatArray:
        """Return log-likelihoods, shape (targets, max_answers, labels), in which absent labels have the first one's."""
        codes = self.protocol.codes
        # A label that a task lacks must not contribute to log-odds ratios.
        is_label = np.arange(len(self.labels)) < codes.size_of_task[tasks][:, :, None]
        return np.where(is_label, logs, logs[:, :, :1])

    def _weights(self, view: CoalitionView, targets: IntArray, of_tasks: FloatArray) -> FloatArray:
        """Return the weights of evidence on each reported label. See `answer_log_likelihoods`."""
        (reports,), (is_seen,) = view.reports, view.told
        labels = self._labels_of(np.where(is_seen[:, None], reports, NO_ANSWER), view.public)
        all_labels = np.arange(len(self.labels))
        tasks = view.public[targets, self._asked]
        if view.coalition.has_server:
            return (labels[targets][:, :, None] == all_labels).astype(np.float64)
        if not view.totals:
            return np.zeros((*tasks.shape, len(all_labels)))
        members = list(view.coalition.members)
        sizes = self.protocol.codes.size_of_task
        tables = view.totals[0].reshape(-1, len(sizes), len(all_labels)).copy()  # one table for each level of ε
        levels = self.protocol.phase.levels_of(view.public)
        rows, places = np.nonzero(labels[members] != NO_LABEL)
        own_cells = view.public[members][rows, 1 + places], labels[members][rows, places]
        np.subtract.at(tables, (levels[members][rows], *own_cells), 1)
        honest, of_honest = np.delete(view.public[:, self._asked], members, axis=0), np.delete(levels, members)
        weights = np.zeros((*tasks.shape, len(all_labels)))
        for level, noise in enumerate(self.protocol.noises):
            table, level_places = tables[level], honest[of_honest == level]
            numbers = np.bincount(level_places[level_places != NO_TASK], minlength=len(sizes))
            lies = (np.array(noise.flip_probabilities) / (np.array(noise.sizes) - 1))[self.protocol.codes.set_of_task]
            chances_before = of_tasks * (1 - sizes * lies)[:, None] + lies[:, None]
            of_level = np.zeros(table.shape)
            np.divide(table, chances_before, out=of_level, where=(table.sum(axis=1) == numbers)[:, None] & (table > 0))
            weights[levels[targets] == level] = of_level[tasks[levels[targets] == level]]
        return np.where((tasks == NO_TASK)[:, :, None], 0.0, weights)

    def _labels_of(self, answers: IntArray, public: IntArray) -> IntArray:
        """Return codes of answers as labels of their sets, `NO_LABEL` without an answer."""
        labels = answers - self.protocol.codes.offset_of_task[public[:, self._asked]]
        return np.where((answers == NO_ANSWER) | (public[:, self._asked] == NO_TASK), NO_LABEL, labels)

    def _truths_of(self, release: Outcome) -> IntArray:
        """Return the released truths as labels, shape (tasks,); `NO_LABEL` if there is none."""
        sets = self.protocol.parameters.answer_sets
        numbers: list[int] = self.protocol.codes.set_of_task.tolist()
        numbered_truths = zip(numbers, release.truths, strict=True)
        return np.array([NO_LABEL if truth is None else sets[number].index(truth) for number, truth in numbered_truths])


def _clear_majority(votes: FloatArray) -> IntArray:
    """Return the label with the most votes over the last axis; `NO_LABEL` without votes or in a tie."""
    most_votes = votes.max(axis=-1, keepdims=True)
    is_clear = (most_votes[..., 0] > 0) & (np.count_nonzero(votes == most_votes, axis=-1) == 1)
    return np.where(is_clear, votes.argmax(axis=-1), NO_LABEL)
