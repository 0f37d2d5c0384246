"""Made-up judgements of fairness: which of two decision rules is the fairer one.

A decision rule (whom a bank lends to, whom a court releases) is described by five numbers:

- `accuracy`: how often it is right, in tenths (9 is 90 %);
- `acceptance_gap`: how far the shares of two groups that it accepts are apart, in tenths; 0 is demographic parity;
- `false_positive_gap`, `false_negative_gap`: how far the groups' error rates are apart, in tenths;
- `explanation`: 1 if those concerned are told the reason, else 0.

Each record compares two rules whose numbers are drawn independently: accuracy uniformly from 6 to 9.5, each gap
uniformly from 0 to 4, explanation by a fair coin. A voter's preferences are β_i ~ N(m, s²·I); it finds rule a the
fairer one with probability Φ(β_i·(x_a − x_b)). All of it is made up: it shows that the protocol for moral preferences
aggregates other judgements as well.

Source: Wang et al. (2019), Section 6, names demographic parity and crowdsourced judgements of fairness as future work;
reading M14.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy.special import ndtr

from ....protocol.errors import require
from .generators import SyntheticVoters, check_range, dot, draw_normals, draw_uniforms, names_of, synthetic_survey
from .survey import Survey

FAIRNESS_FEATURES: Final = ("accuracy", "acceptance_gap", "false_positive_gap", "false_negative_gap", "explanation")
"""What each of the five numbers of a decision rule is."""

_GENERATOR: Final = "fairness-judgements"
_LEAST: Final = np.array([6.0, 0.0, 0.0, 0.0])
_MOST: Final = np.array([9.5, 4.0, 4.0, 4.0])
_NUM_RANGES: Final = len(_LEAST)


class FairnessJudgements(SyntheticVoters, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Independent voters who compare decision rules; their records are pairs of rules.

    Examples:
        >>> survey = make_fairness(FairnessJudgements(voters=3, records=2, seed=4))
        >>> survey.features
        ('accuracy', 'acceptance_gap', 'false_positive_gap', 'false_negative_gap', 'explanation')
    """

    records: int = 20
    # m, the mean preference for each feature: five finite numbers
    mean: tuple[float, ...] = (0.6, -0.5, -0.3, -0.4, 0.5)
    spread: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        is_allowed = len(self.mean) == len(FAIRNESS_FEATURES) and all(math.isfinite(number) for number in self.mean)
        allowed = f"{len(FAIRNESS_FEATURES)} finite numbers, one for each of {', '.join(FAIRNESS_FEATURES)}"
        require(is_allowed, "mean", list(self.mean[:10]), allowed)

    @property
    def feature_names(self) -> Sequence[str]:
        return FAIRNESS_FEATURES


def make_fairness(spec: FairnessJudgements, *, start: int = 0, stop: int | None = None) -> Survey:
    """Return made-up voters in [start, stop); the same ones for the same description, on every machine.

    Examples:
        >>> survey = make_fairness(FairnessJudgements(voters=2, records=3))
        >>> len(survey.records), survey.features[0]
        (2, 'accuracy')
    """
    stop = check_range(start, stop, spec.voters)
    voters, width = stop - start, len(FAIRNESS_FEATURES)
    normals = draw_normals(_GENERATOR, spec.seed, "preferences", start=start, stop=stop, slots=width)
    truth = np.array(spec.mean) + spec.spread * normals
    slots = spec.records * (2 * width + 1)
    uniforms = draw_uniforms(_GENERATOR, spec.seed, "judgements", start=start, stop=stop, slots=slots)
    uniforms = uniforms.reshape(voters, spec.records, 2 * width + 1)
    rules = uniforms[:, :, :-1].reshape(voters, spec.records, 2, width).copy()
    rules[..., :_NUM_RANGES] = _LEAST + (_MOST - _LEAST) * rules[..., :_NUM_RANGES]
    rules[..., _NUM_RANGES] = rules[..., _NUM_RANGES] < 0.5  # noqa: PLR2004  a fair coin
    is_second = uniforms[:, :, -1] >= ndtr(dot(rules[:, :, 0] - rules[:, :, 1], truth[:, None, :]))
    chosen = np.where(is_second[:, :, None], rules[:, :, 1], rules[:, :, 0])
    rejected = np.where(is_second[:, :, None], rules[:, :, 0], rules[:, :, 1])
    return synthetic_survey(
        names_of("judge", start, stop),
        chosen,
        rejected,
        features=FAIRNESS_FEATURES,
        truth=truth,
        source=f"made-up judgements of fairness (seed {spec.seed})",
    )
