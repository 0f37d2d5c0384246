"""The cells of an experiment, each measured once."""

import msgspec

from ....protocol.arrays import FloatArray
from ....protocol.dpwevote import DPWeVote, Parameters
from ...experiments.measurements import Measurement, mean_of, share_of
from .rows import Cell
from .theory import chance_of_passing, law_of, limiting_accuracy
from .trials import Trials, run_trials, true_margins
from .workloads import WEIGHTS, Workload

__all__ = ["Cells", "make_vote", "normal_accuracy"]

_CANDIDATE = "candidate"


def make_vote(variant: str, *, epsilon: float, prior: str | None = None, split: float | None = None) -> DPWeVote:
    """Return a vote on one candidate with the paper's weights.

    Args:
        variant: any.
        epsilon: the price of the candidate with its weight.
        prior: of variant "optimal".
        split: the part of the price that goes to the weight; by default half.
    """
    given: dict[str, object] = {"candidates": [_CANDIDATE], "weights": WEIGHTS, "variant": variant, "epsilon": epsilon}
    if prior is not None:
        given["prior"] = prior
    if split is not None:
        given |= {"epsilon_weight": split * epsilon, "epsilon_opinion": (1 - split) * epsilon}
    return DPWeVote(msgspec.convert(given, Parameters))


class Cells:
    """Measures cells, and remembers them: tables and figures share some.

    Args:
        trials: of each.
        seed: of everything drawn.
    """

    def __init__(self, *, trials: int, seed: int) -> None:
        self._trials = trials
        self._seed = seed
        self._known: dict[str, Trials] = {}

    def run(self, vote: DPWeVote, workload: Workload, *, num_partners: int, label: str = "", times: int = 1) -> Trials:
        """Return a cell's trials.

        Args:
            vote: how it is held.
            workload: what partners hold.
            num_partners: in each trial.
            label: tells votes of one variant and ε apart.
            times: so many times the usual number of trials.
        """
        parameters = vote.parameters
        name = f"{workload.name}/{label or parameters.variant}/n={num_partners}/epsilon={parameters.epsilon!r}"
        name += f"/{times}" * (times > 1)
        if name not in self._known:
            self._known[name] = run_trials(
                vote, workload, num_partners=num_partners, trials=times * self._trials, seed=self._seed, cell=name
            )
        return self._known[name]

    def measure(self, variant: str, workload: Workload, *, num_partners: int, epsilon: float) -> Cell:
        """Return what a cell's trials say, beside what the normal law does."""
        vote = make_vote(variant, epsilon=epsilon)
        trials = self.run(vote, workload, num_partners=num_partners)
        errors = trials.squared_errors
        return Cell(
            variant=variant,
            workload=workload.name,
            num_partners=num_partners,
            epsilon=epsilon,
            accuracy=share_of(trials.is_right),
            normal_law=normal_accuracy(vote, workload, num_partners),
            mse_w=_mean(errors.get("w")),
            mse_q=_mean(errors.get("q")),
            mse_phi=_mean(errors.get("phi")),
        )


def normal_accuracy(vote: DPWeVote, workload: Workload, num_partners: int) -> float:
    """Return a normal approximation of the accuracy: the limit for many where votes are drawn.

    Where they are fixed, it has a term for the skewness. Either may be off by some percentage points for ten partners.
    """
    law = law_of(vote)
    if workload.is_drawn:
        return limiting_accuracy(law, workload.shares)
    numbers = workload.numbers(num_partners)
    passes = chance_of_passing(law, numbers)
    margins, threshold = true_margins(vote)
    total = sum(margin * number for margin, number in zip(margins, numbers, strict=True))
    return passes if total >= threshold else 1 - passes


def _mean(squared_errors: FloatArray | None) -> Measurement | None:
    return None if squared_errors is None else mean_of(squared_errors)
