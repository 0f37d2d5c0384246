"""The public outcomes of a DPWeVote session."""

from typing import Literal

import msgspec

from ..estimators import Estimate, Verdict
from ..shown import Shown


class WeightCount(msgspec.Struct, frozen=True):
    """The estimated number of partners with a weight (or in the group with this mean weight).

    With `project_counts`, `projected` is the nearest possible number.

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
        level: the proven greatest probability that the verdict is wrong, whatever the truth is.

    Examples:
        >>> DecisionVerdict(Verdict.PASSES, 0.05).verdict.value
        'passes'
    """

    verdict: Verdict
    level: float


class PossibleRanges(msgspec.Struct, frozen=True, kw_only=True):
    """The least and the greatest possible value behind each estimate, if each partner has a weight of the set.

    Args:
        total_weight: the total weight of all partners.
        support: the support of one candidate.
        quota: the threshold of the support.
        margin: support minus quota.
        count: the number of partners with one weight.

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
        leans_yes: whether the released estimate, or decision, is on the side of yes, by the protocol's rule. This is no
            verdict, since near a tie noise determines the side. On the wire it is called `passed`.
        verdict: the result of a test that holds for every truth; see `decision`.
        support: the estimated weight of the yes votes. None if only the margin is known: with reports of signed
            weights, or with a trusted server's sums of private weights and a quota of all weight.
        quota: the threshold of the support; None if `support` is None.
        margin: support minus quota, with its standard error (the two are not independent); None if only the decision is
            released.
        bias: the estimated difference between the variant's margin and the unbiased one; 0 for unbiased variants.

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
    """The number of partners that reported at a level of ε.

    Examples:
        >>> LevelCount(0.5, 12).num_partners
        12
    """

    epsilon: float
    num_partners: int


class Outcome(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """The public outcome of a vote, which all partners receive.

    Args:
        candidates: the outcome of each candidate, in the parameters' order.
        num_partners: the number of reports in the first phase.
        total_weight: the estimated total weight of the partners that reported in the weights phase (the average over
            several phases). If weights are public, that of the partners that reported opinions. None for reports of
            signed weights, which do not determine it.
        weight_counts: the estimated number of partners with each weight; empty if the reports do not determine it.
        weight_bias_bound: a bound on the bias of a margin from weights that are represented by other numbers (the mean
            of a group, or the grid of the Laplace baseline).
        joint_level: the greatest probability that any of the verdicts is wrong: the sum of their levels, at most 1.
        possible: the possible ranges of true numbers.
        epsilon_weight: the cost of one weight report to a partner, in nats; 0 if there was none.
        epsilon_opinion: the cost of one opinion report, of one report of a signed weight, or of one candidate with a
            trusted server, in nats.
        epsilon_total: the cost of the session to a partner, in nats. With levels of ε, all three costs are those of the
            greatest level.
        levels: with levels of ε, those at which partners reported, ascending; else unset, and in no file.
        weights_within: if weights are rounded, the greatest relative change of a weight; else unset. Verdicts are about
            the weights before rounding, estimates about those after it.
        noise_weight: set if a trusted server's noise protects partners up to this weight, and opinions of heavier
            partners passed through randomized response; else unset.
        passes: set if a support equal to the quota does not pass; else unset.

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
