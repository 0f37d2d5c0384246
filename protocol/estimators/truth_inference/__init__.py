"""Truth inference: the true label of each task from the answers of a crowd, on arrays.

What estimators have in common means the same in all of them, and a ValueError refuses what is out of range:

- `answers` may be any number, none included: then every truth is missing. They are those of one crowd (`Answers`), of
  which an `Inference` is returned; or of many side by side that answered the same tasks (`AnswerBlock`), of which an
  `InferenceBlock` has what each crowd has by itself, bit for bit;
- `noise` is the perturbation, for each size of answer set, or each worker's own; every size needs its flip probability;
- `ties` says which label is taken where several have the largest score: the smallest code ("first", with which the
  paper's data set has the published error), the largest ("last"), or none ("missing"). Inside of rounds a tie that is
  left open counts as the smallest code;
- `max_iterations` are rounds at most, at least 1: of each size of answer set where confusions are fitted, and of each
  estimator where there are several. Rounds of votes end when the truths repeat, and those of EM when the
  log-likelihood, its bound, or with a prior the log-posterior, rises by less than `tolerance`, in nats per answer, at
  least 0. With `rounds` there are exactly so many, at least 1. The probabilities of EM tie within 2⁻³⁰.
"""

from .answers import AnswerBlock, Answers
from .cautious import cautious_truth_discovery
from .coins import one_coin
from .confusions import Confusions, dawid_skene
from .crh import LossScale, crh
from .debiased import DebiasedCounts, debiased_majority
from .expectation import ClassPrior
from .inference import MISSING, Inference, InferenceBlock, Ties
from .minimax import minimax_entropy
from .noise import KnownNoise, OwnNoise
from .noise_aware import noise_aware_dawid_skene, noise_aware_one_coin
from .supports import (
    LevelCounts,
    SupportLimits,
    estimate_support,
    estimate_support_by_level,
    support_limits,
    support_limits_by_level,
)
from .votes import Normalization, infer_by_scores, majority_vote, truth_discovery
from .weight_functions import WEIGHT_FUNCTIONS, WeightFunction, check_weight_function

__all__ = [
    "MISSING",
    "WEIGHT_FUNCTIONS",
    "AnswerBlock",
    "Answers",
    "ClassPrior",
    "Confusions",
    "DebiasedCounts",
    "Inference",
    "InferenceBlock",
    "KnownNoise",
    "LevelCounts",
    "LossScale",
    "Normalization",
    "OwnNoise",
    "SupportLimits",
    "Ties",
    "WeightFunction",
    "cautious_truth_discovery",
    "check_weight_function",
    "crh",
    "dawid_skene",
    "debiased_majority",
    "estimate_support",
    "estimate_support_by_level",
    "infer_by_scores",
    "majority_vote",
    "minimax_entropy",
    "noise_aware_dawid_skene",
    "noise_aware_one_coin",
    "one_coin",
    "support_limits",
    "support_limits_by_level",
    "truth_discovery",
]
