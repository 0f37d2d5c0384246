"""The estimators of a session: their parameters, and the calibration of their confidences."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from ..estimators.truth_inference import (
    Answers,
    Inference,
    KnownNoise,
    OwnNoise,
    Ties,
    cautious_truth_discovery,
    crh,
    dawid_skene,
    majority_vote,
    minimax_entropy,
    noise_aware_dawid_skene,
    noise_aware_one_coin,
    one_coin,
    truth_discovery,
)
from ..estimators.truth_inference.cautious import CREDIT

EstimatorName: TypeAlias = Literal[
    "majority",
    "truth_discovery",
    "one_coin",
    "dawid_skene",
    "crh",
    "accu",
    "minimax_entropy",
    "noise_aware",
    "noise_aware_dawid_skene",
    "noise_aware_crh",
    "cautious",
    "auto",
]


class EstimatorFunction(Protocol):
    """A user-defined estimator, which a distribution registers in the group `psephos.estimators` under its name.

    It must be a pure function: equal answers give equal bits. See `psephos.scenarios.truth_discovery.testing`.
    """

    def __call__(
        self, answers: Answers, noise: KnownNoise | OwnNoise, /, *, ties: Ties, max_iterations: int
    ) -> Inference:
        """Return the truths.

        Args:
            answers: the reported answers.
            noise: the law of the perturbation, for all workers or for each.
            ties: the choice among equally good labels.
            max_iterations: the most iterations, if the estimator iterates.
        """
        ...


class Credit(NamedTuple):
    """The factors by which an estimator's confidence above chance is shrunk, from published crowds.

    Args:
        least: the factor for the worst crowd; 0 if confidences were worthless there, or if the factors of crowds
            (including synthetic ones of many sizes) differ so much that a range would be useless.
        average: the factor for all crowds together.
        most: the factor for the best crowd.
    """

    least: float
    average: float
    most: float


_ALL: Final = Credit(1.0, 1.0, 1.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimator:
    """An estimator of the truths, with its properties.

    Args:
        find: the function of the answers, of the noise if it is known, of ties and of further arguments.
        credit: the credits of its confidences; 1 if these are shares of votes or weights, which are no probabilities.
        tried_from: the least ε of one answer at which the credits of all tested crowds are between the least and the
            greatest.
        knows_noise: whether it gets the law of the perturbation.
        takes: the parameters that it takes, by the names of its arguments.
        is_baseline: whether it serves only for comparison, so that `psephos variants` does not offer it.
    """

    find: Callable[..., Inference]
    credit: Credit = _ALL
    tried_from: float = 0.0
    knows_noise: bool = False
    takes: tuple[str, ...] = ("max_iterations",)
    is_baseline: bool = False


_BY_EM: Final = ("max_iterations", "rounds")
_CLAMPED: Final = ("max_iterations", "clamp")

ESTIMATORS: Final[Mapping[str, Estimator]] = {
    "majority": Estimator(find=majority_vote, takes=()),
    "truth_discovery": Estimator(
        find=truth_discovery,
        credit=Credit(0.15, 0.58, 1.0),
        tried_from=2.0,
        takes=(*_CLAMPED, "weight_function", "normalization"),
    ),
    "one_coin": Estimator(find=one_coin, credit=Credit(0.0, 0.53, 0.9), takes=_BY_EM),
    "dawid_skene": Estimator(find=dawid_skene, credit=Credit(0.0, 0.53, 1.0), takes=_BY_EM),
    "crh": Estimator(find=crh, takes=_CLAMPED),
    "accu": Estimator(
        find=functools.partial(one_coin, class_prior="uniform"),
        credit=Credit(0.0, 0.68, 1.0),
        takes=_BY_EM,
        is_baseline=True,
    ),
    "minimax_entropy": Estimator(find=minimax_entropy, credit=Credit(0.0, 0.72, 1.0), is_baseline=True),
    "noise_aware": Estimator(
        find=noise_aware_one_coin, credit=Credit(0.15, 0.74, 1.0), tried_from=0.5, knows_noise=True, takes=_BY_EM
    ),
    "noise_aware_dawid_skene": Estimator(
        find=noise_aware_dawid_skene, credit=Credit(0.0, 0.82, 1.0), knows_noise=True, takes=_BY_EM
    ),
    "noise_aware_crh": Estimator(find=crh, knows_noise=True, takes=_CLAMPED),
    "cautious": Estimator(
        find=cautious_truth_discovery,
        credit=Credit(0.15, CREDIT, 1.0),
        tried_from=1.5,
        knows_noise=True,
        takes=_CLAMPED,
    ),
}
"""The estimators by name; "auto" stands for one of them."""
AUTO: Final[EstimatorName] = "cautious"
"""The estimator behind "auto"."""
