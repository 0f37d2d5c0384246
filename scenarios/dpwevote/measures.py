"""What trials of a vote are measured by: Table 2's four cases, the accuracy, and mean squared errors.

Source: Yan, Liu and Liu (2018), Table 2 and equations (10) to (13).
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ...protocol import Tally
from ...protocol.arrays import FloatArray
from ...protocol.dpwevote import DPWeVote, Outcome
from ...protocol.estimators import debiased_values
from ...protocol.mechanisms import GeneralizedRandomizedResponse
from ...protocol.phases import Inputs, PhasedProtocol
from ..experiments.measures import POSITIVE, Measure, Measures

_YES = 1
_CUBE = 3  # dimensions of a tally of opinions: candidates, weights, opinions
_DECISIONS = (
    Measure(
        name="accuracy",
        about="the share of candidates decided as without noise: equation (10)",
        is_share=True,
        said="{} of decisions are those without noise",
    ),
    Measure(name="true passes", about="of all candidates: they pass, and should", is_share=True, is_detail=True),
    Measure(name="false passes", about="of all candidates: they pass, and should not", is_share=True, is_detail=True),
    Measure(name="true rejections", about="of all candidates: they fail, and should", is_share=True, is_detail=True),
    Measure(
        name="false rejections", about="of all candidates: they fail, and should not", is_share=True, is_detail=True
    ),
)
_MARGIN = Measure(name="MSE margin", about="of the margins, as shares of all weight", limits=POSITIVE)
_SUPPORT = Measure(name="MSE support", about="of the supports, as shares of all weight", limits=POSITIVE)
_QUOTA = Measure(name="MSE quota", about="of the quota, as a share of all weight: equation (12)", limits=POSITIVE)
_WEIGHTS = Measure(
    name="MSE weights", about="of the numbers of partners by weight, as shares: equation (11)", limits=POSITIVE
)
_YES_VOTES = Measure(
    name="MSE yes votes", about="of the yes votes by weight, as shares of partners: equation (13)", limits=POSITIVE
)


def mean_square_of_shares(errors: FloatArray, whole: float | FloatArray) -> FloatArray:
    """Return the mean, over the last axis, of squared errors of shares of a whole: equations (11) and (13)."""
    return np.square(errors / whole).mean(axis=-1)


def inverse_of_weights(vote: DPWeVote) -> FloatArray:
    """Return what takes the noise off reported numbers of partners by weight, on average: shape (weights, weights).

    The vote is of variant "joint" or "printed", with private weights.
    """
    mechanism = vote.phases[0].mechanism
    number = mechanism.report_range[1] + 1
    return np.array([_debiased(mechanism, row) for row in np.eye(number).tolist()], dtype=np.float64)


def yes_votes_of(vote: DPWeVote, reported: FloatArray) -> FloatArray:
    """Return the estimated numbers of yes votes by weight, by the rule of variant "joint" or "printed".

    `reported` is how many reported each weight with each opinion, shape (..., weights, 2).
    """
    estimated = reported @ np.array(_debiased(vote.phases[-1].mechanism, (0, _YES)), dtype=np.float64)
    if not (vote.parameters.kind.is_biased or vote.parameters.public_weights):
        estimated = estimated @ inverse_of_weights(vote).T
    return estimated


def _debiased(mechanism: object, values: Sequence[float]) -> Sequence[Fraction]:
    assert isinstance(mechanism, GeneralizedRandomizedResponse)  # noqa: S101  so these variants report
    return debiased_values(mechanism, values)


class VoteMeasures(Measures):
    """How well a vote decides, and how well it estimates."""

    def __init__(self, protocol: PhasedProtocol[Any, Any], inputs: Inputs, *, gold: Mapping[str, str]) -> None:
        super().__init__(protocol, inputs, gold=gold)
        assert isinstance(protocol, DPWeVote)  # noqa: S101  what the descriptor says
        self._vote, parameters = protocol, protocol.parameters
        truth = protocol.truth(inputs)
        self._total, self._quota = truth["total weight"], truth["quota"]
        self._supports = {name: truth[name] for name in parameters.candidates}
        self._should_pass = protocol.should_pass(inputs)
        self._clean: list[FloatArray] = []
        if all(isinstance(phase.mechanism, GeneralizedRandomizedResponse) for phase in protocol.phases):
            own = [inputs.private[:, phase.columns] for phase in protocol.phases]
            self._clean = [
                phase.tally(own[number], earlier=own[:number], public=inputs.public).totals.astype(np.float64)
                for number, phase in enumerate(protocol.phases)
            ]

    @property
    def _counts_by_weight(self) -> bool:
        """Whether reports tell how many partners of each weight vote yes."""
        return bool(self._clean) and self._vote.parameters.kind.counts_by_group

    @property
    def measures(self) -> Sequence[Measure]:
        """The decisions, then the errors of what the variant's reports tell."""
        parameters = self._vote.parameters
        tells_support = self._vote.tells_support
        return (
            *_DECISIONS,
            _MARGIN,
            *([_SUPPORT] if tells_support else []),
            *([_QUOTA] if tells_support and parameters.quota is None and not parameters.public_weights else []),
            *([_WEIGHTS] if self._counts_by_weight and not parameters.public_weights else []),
            *([_YES_VOTES] if self._counts_by_weight else []),
        )

    def of(self, outcome: Any, tallies: Sequence[Tally]) -> Mapping[str, float]:
        assert isinstance(outcome, Outcome)  # noqa: S101  what this protocol releases
        number = len(outcome.candidates)
        cases = dict.fromkeys((measure.name for measure in _DECISIONS), 0)
        for candidate in outcome.candidates:
            is_right = candidate.leans_yes == self._should_pass[candidate.name]
            cases["accuracy"] += is_right
            cases[f"{'true' if is_right else 'false'} {'passes' if candidate.leans_yes else 'rejections'}"] += 1
        found = {name: count / number for name, count in cases.items()}
        margins = [each.margin.value - self._supports[each.name] + self._quota for each in outcome.candidates]
        found[_MARGIN.name] = self._mean_square(margins)
        supports = [each.support.value - self._supports[each.name] for each in outcome.candidates if each.support]
        quotas = [each.quota.value - self._quota for each in outcome.candidates if each.quota]
        by_weight = [each.count.value for each in outcome.weight_counts]
        known = {measure.name for measure in self.measures}
        if _SUPPORT.name in known:
            found[_SUPPORT.name] = self._mean_square(supports)
        if _QUOTA.name in known:
            found[_QUOTA.name] = self._mean_square(quotas)
        if _WEIGHTS.name in known:
            errors = np.array(by_weight) - self._clean[0]
            found[_WEIGHTS.name] = float(mean_square_of_shares(errors, len(self.inputs)))
        if _YES_VOTES.name in known:
            squares = [
                mean_square_of_shares(
                    yes_votes_of(self._vote, tally.totals.astype(np.float64)) - clean[..., _YES], len(self.inputs)
                )
                for tally, clean in zip(tallies, self._clean, strict=True)
                if clean.ndim == _CUBE
            ]
            found[_YES_VOTES.name] = float(np.concatenate(squares).mean())
        return found

    def _mean_square(self, errors: Sequence[float]) -> float:
        return float(mean_square_of_shares(np.array(errors), self._total))
