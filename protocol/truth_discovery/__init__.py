"""Privacy-preserving truth discovery: each worker perturbs its answers, and the aggregator finds the truths.

Workers answer tasks, each with a public set of two or more labels. A worker reports each answer as it is, or, with a
flip probability, as another label; the aggregator infers the truths from all reports and releases them, and tells each
worker its own weight. Nobody is trusted: the reports are private by themselves, whoever colludes. Or the aggregator is
(`central`): it is shown the answers, and adds noise to the counts that it releases. Or it learns noisy sums alone
(`masked`), to which workers add their answers under masks, with a share of noise each.

Mechanisms: `one_layer` has one flip probability for all; `two_layer` lets each worker draw its own, once, for all its
answers; `fresh_two_layer` draws one for each answer, which is the law of one layer; `auto` is the one of these that
promises more at one proven price; `central` and `masked` have noise on counts, and the estimator `majority`.
Estimators: `majority`, `truth_discovery` (the paper's, with any increasing weight function), `one_coin`, `dawid_skene`,
`crh`, and as baselines `accu` and `minimax_entropy`; three that know the perturbation,
`noise_aware`, `noise_aware_dawid_skene` and `noise_aware_crh`; and `cautious`, which is `auto`: the paper's truths,
unless these two together find another label twice as likely. What the paper leaves open or has wrong, and the reading
taken, is in `docs/truth-discovery.md`.

Source: Li, Miao, Su, Gao, Li, Ding, Qin and Ren, An Efficient Two-Layer Mechanism for Privacy-Preserving Truth
Discovery, KDD 2018.
"""

from .codes import NO_TASK, Codes
from .confidence import CREDITS, average_confidences
from .inference import find_truths, infer_by, known_noise
from .noise import Perturbation, informativeness, make_noise
from .outcome import LevelReports, Outcome, OwnOutcome
from .parameters import Parameters
from .phases import AnswersPhase, CountedAnswers, MaskedAnswers
from .protocol import TruthDecisions, TruthDiscovery
from .reference import reference_run

__all__ = [
    "CREDITS",
    "NO_TASK",
    "AnswersPhase",
    "Codes",
    "CountedAnswers",
    "LevelReports",
    "MaskedAnswers",
    "Outcome",
    "OwnOutcome",
    "Parameters",
    "Perturbation",
    "TruthDecisions",
    "TruthDiscovery",
    "average_confidences",
    "find_truths",
    "infer_by",
    "informativeness",
    "known_noise",
    "make_noise",
    "reference_run",
]
