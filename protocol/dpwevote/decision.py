"""The variant `central` with `release = "decision"`: a trusted server releases decisions, not margins.

A candidate's margin is that of `central`, in grid steps, minus the least that passes. `mechanisms.threshold` decides,
at ε for each candidate. All partners pay the same, whatever their weights, since near the quota a light partner changes
a decision as much as a heavy one.

Let q = 1/(1 + e^ε), and Δ the greatest change of a margin by one partner. If the margin is more than jΔ from the quota,
a decision is wrong with probability at most q·e^(−jε). The sign of a noisy margin would be wrong with probability 1/2
next to the quota.

Each decision has a verdict. It is "passes" or "fails" if noise makes it wrong with probability at most `level`, which
always holds for q ≤ `level`; otherwise "undecided".

The masked model has no such variant: the server sees the noisy sum anyway, so releasing only its sign saves nothing.
"""

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from ..elementary import quotient_up
from ..errors import ConfigurationError
from ..estimators import Verdict
from ..mechanisms import DiscreteLaplace, ThresholdDecision
from ..mechanisms.threshold import LEANS_YES
from ..phases import Draw, DrawBlock
from ..tally import Tally, TallyBlock
from .central import CentralSums, CentralVariant, CentralVotes
from .variant import VERDICTS, VoteDecisions, count_verdicts

if TYPE_CHECKING:
    from .parameters import Parameters

_LAW: Final = "decisions by discrete Laplace noise on blocks of a margin"
_BOUND: Final = 2**60 + 1
_PLACES: Final = np.array(
    [VERDICTS.index(verdict) for verdict in (Verdict.FAILS, Verdict.TOO_CLOSE, Verdict.TOO_CLOSE, Verdict.PASSES)]
)
"""For each report of `ThresholdDecision`, the index of its verdict in `VERDICTS`."""


def make_mechanism(parameters: "Parameters", sums: CentralSums) -> ThresholdDecision:
    """Return what tells the decisions, and how sure they are: with allowance for a grid that rounds weights."""
    scale, slack = quotient_up(1, parameters.epsilon), int(sums.deviation > 0)
    reach = DiscreteLaplace(scale=scale, least=0, greatest=1).reach_of(parameters.level)
    return ThresholdDecision(
        scale=scale,
        sensitivity=sums.margin_sensitivity,
        bound=_BOUND,
        passing=reach - 1 + slack,
        failing=-reach - slack,
        width=len(parameters.candidates),
    )


class DecisionVotes(CentralVotes):
    """Partners send the server their weights and opinions; it adds them up and releases each candidate's decision.

    The tally has each candidate's margin, or its support if weights are public, in steps; then the number of reporters
    with each public weight. The release has a report of `ThresholdDecision` for each candidate instead of its margin.
    """

    def __init__(self, parameters: "Parameters", sums: CentralSums, *, columns: range) -> None:
        super().__init__(parameters, sums, columns=columns, law=_LAW, mechanism=make_mechanism(parameters, sums))

    def randomize_tally(self, tally: Tally, draw: Draw) -> Tally:
        ((*margins,),) = self.beyond_quota(tally.totals[None]).tolist()
        decisions = np.array(draw(self.tally_mechanism, margins), dtype=np.int64)
        return Tally(tally.num_reports, np.concatenate([decisions, tally.totals[len(margins) :]]))

    def randomize_tallies(self, tallies: TallyBlock, draw: DrawBlock) -> TallyBlock:
        decisions = draw(self.tally_mechanism, self.beyond_quota(tallies.totals))
        return TallyBlock(tallies.num_reports, np.hstack([decisions, tallies.totals[:, decisions.shape[1] :]]))


class DecisionVariant(CentralVariant):
    """The variant `central` that tells decisions alone."""

    tells_margin: ClassVar[bool] = False

    @property
    def tells_support(self) -> bool:
        """False: it tells decisions alone."""
        return False

    @functools.cached_property
    def _phase(self) -> DecisionVotes:
        number = len(self._parameters.candidates) + (not self._parameters.public_weights)
        return DecisionVotes(self._parameters, self.central_sums, columns=range(number))

    def check_roster(self, num_partners: int) -> None:
        super().check_roster(num_partners)
        sums = self.central_sums
        block = sums.margin_sensitivity * sums.step
        if sums.deviation and num_partners * sums.deviation >= block:
            most = math.ceil(block / sums.deviation) - 1
            allowed = f"at most {most:,} with release = 'decision' and these weights, which no grid has in common"
            raise ConfigurationError(field="partners", value=num_partners, allowed=allowed)

    def decisions(self, tallies: Sequence[TallyBlock]) -> VoteDecisions:
        (tally,) = tallies
        reports = tally.totals[:, : len(self._parameters.candidates)]
        verdicts = _PLACES[reports]
        return VoteDecisions(
            kinds=lambda: count_verdicts(verdicts),
            sums=(),
            leans_yes=reports >= LEANS_YES,
            verdicts=lambda: verdicts,
            weight_counts=self.weight_counts(tallies),
        )

    def _chance_beyond(self, margin: int) -> float:
        mechanism = self._phase.tally_mechanism
        assert isinstance(mechanism, ThresholdDecision)  # noqa: S101  of this variant
        wrong = mechanism.chance_of_error(margin)
        return 1 - wrong if margin >= 0 else wrong

    def reach(self, numbers: Sequence[int]) -> float:
        sums = self.central_sums
        blocks = make_mechanism(self._parameters, sums).passing
        return (blocks * sums.margin_sensitivity + 1) * float(sums.step) + self.bias_bound(sum(numbers))
