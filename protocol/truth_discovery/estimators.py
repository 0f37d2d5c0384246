"""The estimators of a session: what each takes of its parameters, and what its confidences are worth."""

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
    """An estimator of anybody's own, which a distribution registers as `psephos.estimators` under its name.

    It is a pure function: equal answers give equal bits. See `psephos.scenarios.truth_discovery.testing`.
    """

    def __call__(
        self, answers: Answers, noise: KnownNoise | OwnNoise, /, *, ties: Ties, max_iterations: int
    ) -> Inference:
        """Return the truths.

        Args:
            answers: as they were reported.
            noise: how they were perturbed, or how each worker's were.
            ties: which of several labels that are equally good is taken.
            max_iterations: rounds at most, if it has some.
        """
        ...


class Credit(NamedTuple):
    """How much of what an estimator says beyond chance was worth keeping on published crowds.

    Args:
        least: on the crowd that deserved least; 0 where confidences were worth nothing there, or crowds, made-up ones
            of many sizes too, deserved so different ones that a range would say nothing.
        average: on all of them together.
        most: on the one that deserved most.
    """

    least: float
    average: float
    most: float


_ALL: Final = Credit(1.0, 1.0, 1.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimator:
    """One way to find truths.

    Args:
        find: of the answers, of the noise where it is known, and of ties and what else it takes.
        credit: of its confidences; shares of votes or weights claim no probability, and stay.
        tried_from: the least ε of one answer at which all crowds that were tried are between the least credit and the
            most.
        knows_noise: whether it is told how answers were perturbed.
        takes: of the parameters, by the names of its arguments.
        is_baseline: whether it is there to be compared with, so that `psephos variants` does not offer it.
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
"""The estimators by name; "auto" is one of them."""
AUTO: Final[EstimatorName] = "cautious"
"""The estimator behind "auto"."""
