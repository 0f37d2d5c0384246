"""Privacy-preserving truth discovery: each worker perturbs its answers, and the aggregator finds the truths.

Workers answer tasks, each with a public set of two or more labels. A worker reports each answer unchanged, or, with a
flip probability, as another label. The aggregator infers the truths from all reports, releases them, and tells each
worker its weight. No party is trusted: each report is private by itself, whoever colludes. In `central` the aggregator
is trusted instead: it gets the answers, and adds noise to the counts that it releases. In `masked` it learns only noisy
sums, to which each worker adds its answers under masks, with a share of the noise.

Mechanisms: `one_layer` has one flip probability for all; in `two_layer` each worker draws a flip probability once, for
all its answers; `fresh_two_layer` draws one for each answer, which has the law of one layer; `auto` is the more
informative of these for a proven loss; `central` and `masked` have noise on counts, and the estimator `majority`.

Estimators: `majority`, `truth_discovery` (the paper's, with any increasing weight function), `one_coin`, `dawid_skene`,
`crh`, and as baselines `accu` and `minimax_entropy`; three that know the perturbation, `noise_aware`,
`noise_aware_dawid_skene` and `noise_aware_crh`; and `cautious`, the default of `auto`: the paper's truths, unless the
noise-aware estimators together find another label twice as likely. `docs/truth-discovery.md` lists what the paper
leaves open or has wrong, and our readings.

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
