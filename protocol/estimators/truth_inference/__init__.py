"""Truth inference: the true label of each task from the answers of a crowd, on arrays.

All estimators share these arguments. They raise ValueError for an argument out of range.

- `answers`: the answers of one crowd (`Answers`), for which an `Inference` is returned; or of many crowds that answered
  the same tasks (`AnswerBlock`), for which an `InferenceBlock` is returned. A block has the same bits as the inference
  of each crowd alone. Without any answers every truth is missing.
- `noise`: the perturbation, with a flip probability for each size of answer set; the same for all workers
  (`KnownNoise`) or different between workers (`OwnNoise`).
- `ties`: which label is chosen if several have the largest score: the smallest code ("first", which reproduces the
  published error on the paper's data set), the largest code ("last"), or none ("missing"). Between rounds, "missing" is
  treated as "first".
- `max_iterations`: the greatest number of rounds, at least 1. It applies to each size of answer set where confusion
  matrices are fitted, and to each estimator where several are combined. Weighted votes stop when the truths repeat. EM
  stops when the log-likelihood (or its lower bound, or the log-posterior if there is a prior) rises by less than
  `tolerance`, in nats per answer, at least 0.
- `rounds`: the exact number of rounds, at least 1, in place of the stopping rule.

Posterior probabilities of EM within 2⁻³⁰ of each other are ties.
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
