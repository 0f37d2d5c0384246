"""What a truth discovery session releases: truths for everybody, and to each worker its own weight."""

import msgspec

from ..estimators import Estimate

__all__ = ["Outcome", "OwnOutcome"]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The public outcome; a tuple with an entry for each task is a column of one table.

    Args:
        tasks: their names.
        truths: for each task a label's name; None where nobody answered.
        confidences: for each task what the estimator says for that label: the share of votes, of weighted votes, or
            the posterior probability; a multiple of 2**−20. It is as good as the estimator's model: the paper's truth
            discovery, for one, is nearly sure of a tie that it has once broken. None where nobody answered.
        supports: for each task how many workers gave that label before the perturbation, estimated without bias; None
            where nobody answered; all of them None where the reports of some answer set say nothing.
        support_errors: the standard errors of these, over the perturbation's draws.
        num_answers: how many answers each task has.
        num_workers: how many reported.
        estimator: which one found the truths.
        num_iterations: that it took; 0 where it does not iterate.
        has_converged: whether it stopped because nothing changed any more.
        epsilon_answer: the proven loss of one answer, the worker's others being known, of who gives `max_answers`.
        epsilon_worker: the proven loss of all answers of such a worker.
    """

    tasks: tuple[str, ...]
    truths: tuple[str | None, ...]
    confidences: tuple[float | None, ...]
    supports: tuple[float | None, ...]
    support_errors: tuple[float | None, ...]
    num_answers: tuple[int, ...]
    num_workers: int
    estimator: str
    num_iterations: int
    has_converged: bool
    epsilon_answer: float
    epsilon_worker: float

    @property
    def support_estimates(self) -> tuple[Estimate | None, ...]:
        """The supports with their errors."""
        return tuple(
            None if value is None or error is None else Estimate(value, error)
            for value, error in zip(self.supports, self.support_errors, strict=True)
        )


class OwnOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one worker alone is told.

    Args:
        weight: its weight in the release: the log-odds of a report of its being right, or 1 in a majority vote.
        quality: the estimated probability that it is right: of its answers, by estimators that know the perturbation,
            of its reports, by the others.
        num_answers: how many of its answers counted.
    """

    weight: float
    quality: float
    num_answers: int
