"""The estimators of a session: what each takes of its parameters, and what its confidences are worth."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from ..estimators.truth_inference import (
    Inference,
    cautious_truth_discovery,
    crh,
    dawid_skene,
    majority_vote,
    noise_aware_dawid_skene,
    noise_aware_one_coin,
    one_coin,
    truth_discovery,
)

__all__ = ["ESTIMATORS", "Estimator", "EstimatorName"]

EstimatorName: TypeAlias = Literal[
    "majority",
    "truth_discovery",
    "one_coin",
    "dawid_skene",
    "crh",
    "noise_aware",
    "noise_aware_dawid_skene",
    "noise_aware_crh",
    "cautious",
    "auto",
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimator:
    """One way to find truths.

    Args:
        find: of the answers, of the noise where it is known, and of ties and what else it takes.
        credit: how much of what it says beyond chance is kept; shares of votes or weights claim no probability, and
            stay.
        knows_noise: whether it is told how answers were perturbed.
        takes: of the parameters, by the names of its arguments.
    """

    find: Callable[..., Inference]
    credit: float = 1.0
    knows_noise: bool = False
    takes: tuple[str, ...] = ("max_iterations",)


_BY_EM: Final = ("max_iterations", "rounds")
_CLAMPED: Final = ("max_iterations", "clamp")

ESTIMATORS: Final[Mapping[EstimatorName, Estimator]] = {
    "majority": Estimator(find=majority_vote, takes=()),
    "truth_discovery": Estimator(
        find=truth_discovery, credit=0.58, takes=(*_CLAMPED, "weight_function", "normalization")
    ),
    "one_coin": Estimator(find=one_coin, credit=0.53, takes=_BY_EM),
    "dawid_skene": Estimator(find=dawid_skene, credit=0.53, takes=_BY_EM),
    "crh": Estimator(find=crh, takes=_CLAMPED),
    "noise_aware": Estimator(find=noise_aware_one_coin, credit=0.74, knows_noise=True, takes=_BY_EM),
    "noise_aware_dawid_skene": Estimator(find=noise_aware_dawid_skene, credit=0.82, knows_noise=True, takes=_BY_EM),
    "noise_aware_crh": Estimator(find=crh, knows_noise=True, takes=_CLAMPED),
    "cautious": Estimator(find=cautious_truth_discovery, credit=0.74, knows_noise=True, takes=_CLAMPED),
}
"""By name; "auto" is one of them."""
