"""Measures of a vote's trials: Table 2's four cases, the accuracy, and mean squared errors.

Source: Yan, Liu and Liu (2018), Table 2 and equations (10) to (13).
"""

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from ...protocol import Tally
from ...protocol.arrays import FloatArray
from ...protocol.dpwevote import DPWeVote, Outcome
from ...protocol.dpwevote.chances import chances_to_pass
from ...protocol.dpwevote.protocol import VoteTruths
from ...protocol.dpwevote.variant import Sums, VoteDecisions
from ...protocol.estimators import Estimate, debiased_values
from ...protocol.mechanisms import GeneralizedRandomizedResponse
from ...protocol.phases import InputBlock, Inputs, PhasedProtocol
from ...protocol.tally import Decisions, TallyBlock
from ..experiments.measures import POSITIVE, Measure, Measures

_YES = 1
_CUBE = 4  # dimensions of tallies of opinions: sessions, candidates, weights, opinions
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
    """Return the mean squared error of shares of a whole, over the last axis: equations (11) and (13).

    Examples:
        >>> float(mean_square_of_shares(np.array([1.0, -3.0]), 10))
        0.05
    """
    return np.square(errors / whole).mean(axis=-1)


class VoteMeasures(Measures):
    """Accuracy of a vote's decisions, and errors of its estimates."""

    def __init__(self, protocol: PhasedProtocol[Any, Any], inputs: Inputs, *, gold: Mapping[str, str]) -> None:
        super().__init__(protocol, inputs, gold=gold)
        assert isinstance(protocol, DPWeVote)  # noqa: S101  what the descriptor says
        self._vote = protocol
        self._reports_kinds = all(
            isinstance(phase.mechanism, GeneralizedRandomizedResponse) for phase in protocol.phases
        )
        self._own = self._truth_of(self.block)

    def _truth_of(self, inputs: InputBlock) -> "_Truth":
        clean: list[FloatArray] = []
        if self._reports_kinds:
            opinions = [inputs.private[:, :, phase.columns] for phase in self._vote.phases]
            clean = [
                phase.tally_block(opinions[number], earlier=opinions[:number], public=inputs.public).totals.astype(
                    np.float64
                )
                for number, phase in enumerate(self._vote.phases)
            ]
        return _Truth(self._vote.truths(inputs), clean)

    def _yes_votes(self, reported: FloatArray) -> FloatArray:
        """Return the estimated numbers of yes votes by weight, for variant "joint" or "printed".

        `reported` counts reports of each weight with each opinion, shape (..., weights, 2).
        """
        of_opinions, inverse = self._debiasing
        estimated = reported @ of_opinions
        is_printed = self._vote.parameters.kind.is_biased or self._vote.parameters.public_weights
        return estimated if is_printed else estimated @ inverse.T

    @functools.cached_property
    def _debiasing(self) -> tuple[FloatArray, FloatArray]:
        """What debiases reported opinions, shape (2,), and the first phase's counts, one row for each value.

        All phases use k-RR.
        """
        first, last = (cast("GeneralizedRandomizedResponse", self._vote.phases[place].mechanism) for place in (0, -1))
        rows = [debiased_values(first, row) for row in np.eye(first.num_choices).tolist()]
        return np.array(debiased_values(last, (0, _YES)), dtype=np.float64), np.array(rows, dtype=np.float64)

    @property
    def _counts_by_weight(self) -> bool:
        """Whether reports allow to estimate the number of yes votes for each weight."""
        return self._reports_kinds and self._vote.parameters.kind.counts_by_group

    @property
    def measures(self) -> Sequence[Measure]:
        """The measures of decisions, then the errors of the variant's estimates."""
        parameters = self._vote.parameters
        tells_support = self._vote.tells_support
        return (
            *_DECISIONS,
            *([_MARGIN] if parameters.kind.tells_margin else []),
            *([_SUPPORT] if tells_support else []),
            *([_QUOTA] if tells_support and parameters.quota is None and not parameters.public_weights else []),
            *([_WEIGHTS] if self._counts_by_weight and not parameters.public_weights else []),
            *([_YES_VOTES] if self._counts_by_weight else []),
        )

    def of(self, outcome: Any, tallies: Sequence[Tally]) -> Mapping[str, float]:
        assert isinstance(outcome, Outcome)  # noqa: S101  what this protocol releases
        numbers = self.measure_block(
            self.block, _decisions_of(outcome), [TallyBlock.from_tallies([tally]) for tally in tallies]
        )
        return {name: float(column_numbers) for name, (column_numbers,) in numbers.items()}

    def measure_block(
        self, inputs: InputBlock, decisions: Decisions, tallies: Sequence[TallyBlock]
    ) -> Mapping[str, FloatArray]:
        assert isinstance(decisions, VoteDecisions)  # noqa: S101  what this protocol decides
        truth = self._own if inputs is self.block else self._truth_of(inputs)
        passes, should_pass = decisions.leans_yes, truth.votes.should_pass
        is_right = passes == should_pass
        cases = (is_right, is_right & passes, ~is_right & passes, is_right & ~passes, ~is_right & ~passes)
        number = passes.shape[1]
        values_of_measure = {
            measure.name: case_values.sum(axis=1) / number
            for measure, case_values in zip(_DECISIONS, cases, strict=True)
        }
        supports, quotas, totals = truth.votes.supports, truth.votes.quotas[:, None], truth.votes.totals[:, None]

        def mean_square(errors: FloatArray) -> FloatArray:
            return mean_square_of_shares(errors, totals)

        def of_all(estimates: Iterable[FloatArray | None]) -> FloatArray:
            return np.stack([estimate for estimate in estimates if estimate is not None], axis=1)

        measure_names = {measure.name for measure in self.measures}
        if _MARGIN.name in measure_names:
            values_of_measure[_MARGIN.name] = mean_square(
                of_all(candidate_sums.margin for candidate_sums in decisions.sums) - supports + quotas
            )
        if _SUPPORT.name in measure_names:
            values_of_measure[_SUPPORT.name] = mean_square(
                of_all(candidate_sums.support for candidate_sums in decisions.sums) - supports
            )
        if _QUOTA.name in measure_names:
            values_of_measure[_QUOTA.name] = mean_square(
                of_all(candidate_sums.quota for candidate_sums in decisions.sums) - quotas
            )
        if _WEIGHTS.name in measure_names:
            values_of_measure[_WEIGHTS.name] = mean_square_of_shares(
                decisions.weight_counts - truth.clean[0], len(self.inputs)
            )
        if _YES_VOTES.name in measure_names:
            squares = [
                mean_square_of_shares(
                    self._yes_votes(tally.totals.astype(np.float64)) - clean[..., _YES], len(self.inputs)
                )
                for tally, clean in zip(tallies, truth.clean, strict=True)
                if clean.ndim == _CUBE
            ]
            values_of_measure[_YES_VOTES.name] = np.concatenate(squares, axis=1).mean(axis=1)
        return values_of_measure

    def expected(self, inputs: InputBlock) -> Mapping[str, FloatArray]:
        pass_chances = chances_to_pass(self._vote, inputs)
        if pass_chances is None:
            return {}
        should_pass = (self._own.votes if inputs is self.block else self._vote.truths(inputs)).should_pass
        right = np.where(should_pass, pass_chances, 1 - pass_chances)
        cases = (
            right,
            should_pass * pass_chances,
            ~should_pass * pass_chances,
            ~should_pass * right,
            should_pass * (1 - right),
        )
        return {measure.name: case_values.mean(axis=1) for measure, case_values in zip(_DECISIONS, cases, strict=True)}


def _decisions_of(outcome: Outcome) -> VoteDecisions:
    """Return the numbers in one session's release."""

    def values_of(estimate: Estimate | None) -> FloatArray | None:
        return None if estimate is None else np.array([estimate.value])

    margins = ((each, values_of(each.margin)) for each in outcome.candidates)
    return VoteDecisions(
        kinds=lambda: np.empty((1, 0), dtype=np.int64),
        sums=[
            Sums(values_of(each.support), values_of(each.quota), margin, margin)
            for each, margin in margins
            if margin is not None
        ],
        leans_yes=np.array([[each.leans_yes for each in outcome.candidates]]),
        verdicts=lambda: np.empty((1, 0), dtype=np.int64),
        weight_counts=np.array([[each.count.value for each in outcome.weight_counts]]),
    )


@dataclasses.dataclass(frozen=True)
class _Truth:
    """True values of one or more sessions, and tallies of noiseless reports if reports are categories."""

    votes: VoteTruths
    clean: Sequence[FloatArray]
