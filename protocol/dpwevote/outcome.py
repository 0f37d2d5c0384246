"""What a DPWeVote session publishes."""

from typing import Literal

import msgspec

from ..estimators import Estimate, Verdict
from ..shown import Shown


class WeightCount(msgspec.Struct, frozen=True):
    """The number of partners that hold a weight (or are in the group that `weight` stands for).

    With `project_counts`, `projected` is the nearest number that is possible; the estimate stands beside it.

    Examples:
        >>> WeightCount(2.0, Estimate(12.0, 3.5))
        WeightCount(weight=2.0, count=Estimate(value=12.0, standard_error=3.5), projected=None)
    """

    weight: float
    count: Estimate
    projected: float | None = None


class WeightsOutcome(Shown, msgspec.Struct, frozen=True):
    """The public outcome of the weights phase: the approximate quota, and the numbers behind it.

    Examples:
        >>> published = WeightsOutcome(quota=Estimate(60.0, 4.0), total_weight=Estimate(120.0, 8.0), weight_counts=())
        >>> published.quota.value
        60.0
    """

    quota: Estimate
    total_weight: Estimate
    weight_counts: tuple[WeightCount, ...]


class DecisionVerdict(msgspec.Struct, frozen=True):
    """A test's verdict on a decision (see `estimators.verdict`).

    Args:
        level: the greatest probability that it is wrong, whatever the truth is: proven.

    Examples:
        >>> DecisionVerdict(Verdict.PASSES, 0.05).verdict.value
        'passes'
    """

    verdict: Verdict
    level: float


class PossibleRanges(msgspec.Struct, frozen=True, kw_only=True):
    """The least and the greatest possible value of each estimate, if each partner has a weight of the set.

    Args:
        total_weight: of all partners.
        support: of one candidate.
        quota: the threshold of the support.
        margin: support minus quota.
        count: how many partners hold a weight.

    Examples:
        >>> whole = (10.0, 30.0)
        >>> possible = PossibleRanges(
        ...     total_weight=whole, support=(0.0, 30.0), quota=(5.0, 15.0), margin=(-15.0, 15.0), count=(0.0, 10.0)
        ... )
        >>> possible.margin
        (-15.0, 15.0)
    """

    total_weight: tuple[float, float]
    support: tuple[float, float]
    quota: tuple[float, float]
    margin: tuple[float, float]
    count: tuple[float, float]


class CandidateOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The released outcome of one candidate.

    Args:
        name: the candidate.
        leans_yes: whether the released estimate, or decision, is on the side of yes, by the protocol's rule: no
            verdict, since near a tie noise alone chooses the side. Messages call it `passed`, as they always have.
        verdict: what a test that holds for every truth says of the candidate; see `decision`.
        support: the estimated weight of the yes votes; None where reports of signed weights, or a trusted server's sums
            of private weights of which all must say yes, tell the margin alone.
        quota: the threshold of the support; None with it.
        margin: support minus quota, with its own standard error (the two are not independent); None where the decision
            alone is told.
        bias: how far the variant's margin is from the unbiased one, estimated; 0 for unbiased variants.

    Examples:
        >>> verdict = DecisionVerdict(Verdict.TOO_CLOSE, 0.05)
        >>> candidate = CandidateOutcome(
        ...     name="merger",
        ...     leans_yes=True,
        ...     verdict=verdict,
        ...     support=None,
        ...     quota=None,
        ...     margin=Estimate(3.0, 8.5),
        ...     bias=0.0,
        ... )
        >>> candidate.decision
        'undecided, leaning yes'
    """

    name: str
    leans_yes: bool = msgspec.field(name="passed")
    verdict: DecisionVerdict
    support: Estimate | None
    quota: Estimate | None
    margin: Estimate | None
    bias: float

    @property
    def decision(self) -> str:
        """The verdict in words, such as "undecided, leaning yes": the one that files, pages and messages have."""
        if self.verdict.verdict is not Verdict.TOO_CLOSE:
            return self.verdict.verdict.value
        return f"undecided, leaning {'yes' if self.leans_yes else 'no'}"


class LevelCount(msgspec.Struct, frozen=True):
    """How many partners reported at a level of ε.

    Examples:
        >>> LevelCount(0.5, 12).num_partners
        12
    """

    epsilon: float
    num_partners: int


class Outcome(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """The public outcome of a vote, which all partners receive.

    Args:
        candidates: one outcome each, in the parameters' order.
        num_partners: the number of reports in the first phase.
        total_weight: of those who reported in the weights phase (the average over several); where weights are public,
            of those who reported opinions; None where reports of signed weights do not tell.
        weight_counts: how many partners hold each weight; empty where the reports do not tell.
        weight_bias_bound: the greatest shift of a margin's expectation because weights differ from the numbers that
            stand for them (inside a group, or on the Laplace baseline's grid).
        joint_level: the greatest probability that any of the verdicts is wrong: the sum of their levels, or 1.
        possible: the possible ranges of true numbers.
        epsilon_weight: the cost of one weight report to a partner; 0 if there was none.
        epsilon_opinion: the cost of one opinion report, one report of a signed weight, or a candidate of a trusted
            count.
        epsilon_total: the cost of the session to a partner. If partners have their own ε, all three are those of the
            greatest level.
        levels: if they have, the levels at which somebody reported, ascending; else unset, and in no file.
        weights_within: where weights are rounded, the greatest share of one by which it moved; else unset. Verdicts are
            about the weights before that, and all estimates about those after it.
        noise_weight: set if a trusted server's noise protects partners up to this weight, and opinions of heavier ones
            passed randomized response one by one; else unset.
        passes: set if only more than the quota passes; else unset: then the quota itself is enough.

    Examples:
        >>> from psephos.protocol import SimulatedNoise, run_population
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("merger", "budget"), epsilon=6.0))
        >>> inputs = vote.encode({"weight": [2] * 100, "merger": [1] * 100, "budget": [0, 1] * 50})
        >>> outcome = run_population(vote, inputs, noise=SimulatedNoise(1, session="board")).outcome
        >>> outcome.winners
        ('merger',)
        >>> [candidate.decision for candidate in outcome.candidates]
        ['passes', 'undecided, leaning yes']
    """

    candidates: tuple[CandidateOutcome, ...]
    num_partners: int
    total_weight: Estimate | None
    weight_counts: tuple[WeightCount, ...]
    weight_bias_bound: float
    joint_level: float
    possible: PossibleRanges
    epsilon_weight: float
    epsilon_opinion: float
    epsilon_total: float
    levels: tuple[LevelCount, ...] | msgspec.UnsetType = msgspec.UNSET
    weights_within: float | msgspec.UnsetType = msgspec.UNSET
    noise_weight: float | msgspec.UnsetType = msgspec.UNSET
    passes: Literal["more_than"] | msgspec.UnsetType = msgspec.UNSET

    @property
    def winners(self) -> tuple[str, ...]:
        """The names of the candidates that pass by their verdicts."""
        return tuple(candidate.name for candidate in self.candidates if candidate.verdict.verdict is Verdict.PASSES)
