"""The public outcomes of a fair and private vote."""

import math
from collections.abc import Sequence
from typing import Self

import msgspec

from ..arguments import check_aligned
from ..errors import refuse, require
from ..estimators import Estimate
from ..shown import Shown
from .assurance import Assurance
from .features import Feature
from .objective import Utilities, join_groups, welfare_of
from .parameters import Parameters


class FeatureOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The released outcome of one alternative and one of several features.

    Args:
        utilities: the mean utility to each of the feature's groups, in their order.
        disparity: the greatest minus the least of these.

    Examples:
        >>> women, men = Estimate(1.5, 0.1), Estimate(0.5, 0.1)
        >>> FeatureOutcome(utilities=(women, men), disparity=1.0).disparity
        1.0
    """

    utilities: tuple[Estimate, ...]
    disparity: float


class AlternativeOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The released outcome of one alternative.

    Args:
        utilities: the mean utility to each group, in the groups' order, in units of the scores.
        welfare: the mean utility to all voters on the roster.
        disparity: the greatest minus the least of the utilities; with features, the greatest disparity of any feature.
            It is biased upwards, since it is an absolute value of unbiased estimates.
        features: utilities and disparity for each feature, in their order; absent if the groups themselves are
            compared.

    Examples:
        >>> groups, everybody = (Estimate(0.5, 0.1), Estimate(1.0, 0.1)), Estimate(0.75, 0.07)
        >>> pool = AlternativeOutcome(name="pool", utilities=groups, welfare=everybody, disparity=0.5)
        >>> pool.welfare.value
        0.75
    """

    name: str
    utilities: tuple[Estimate, ...]
    welfare: Estimate
    disparity: float
    features: tuple[FeatureOutcome, ...] | msgspec.UnsetType = msgspec.UNSET


class GroupLevelCount(msgspec.Struct, frozen=True):
    """How many voters of each group reported at a level of ε."""

    epsilon: float
    num_reports: tuple[int, ...]


class Details(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The public details of votes with features, a floor, a proven ε of Algorithm 2, pairs, or levels of ε.

    Args:
        features: the features whose crossings are the groups.
        welfare_share: β of objective "welfare_constrained".
        least_score: the score from which welfare is counted for `welfare_share`.
        gamma: γ, if it was chosen so that ε is proven.
        num_samples: n_s, if it was chosen so that ε is proven.
        differences: for mechanism "pairwise", for each pair of candidates in lexicographic order: the number of voters
            who prefer the first minus the number who prefer the second, with noise. The fields up to `ranking` follow
            from them.
        difference_error: the standard error of each difference.
        copeland_scores: the points of each candidate: 1 for each other candidate that it beats, ½ for each tie.
        ranking: the Kemeny ranking, the best first; if several agree with most pairs, one of them by lot. None for many
            candidates.
        levels: with levels of ε, those with reports, ascending.

    Examples:
        >>> details = Details(copeland_scores=(1.0, 0.0), ranking=("pool", "park"))
        >>> details.ranking[0]
        'pool'
    """

    features: tuple[Feature, ...] = ()
    welfare_share: float | None = None
    least_score: float | None = None
    gamma: float | None = None
    num_samples: int | None = None
    differences: tuple[int, ...] = ()
    difference_error: float | None = None
    copeland_scores: tuple[float, ...] = ()
    ranking: tuple[str, ...] = ()
    levels: tuple[GroupLevelCount, ...] = ()


class Outcome(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """The public outcome: the winner, and the estimates, if the mechanism protects these, too.

    Args:
        winner: the elected alternative.
        alternatives: the estimates for each alternative; empty if the mechanism releases only the winner.
        candidates: the names of all alternatives.
        group_sizes: the number of voters of each group on the roster.
        num_reports: the number of reports of each group, or in all if groups are private; empty in the central model,
            where participation may be protected.
        mechanism: the mechanism; with "local" or "joint", the one that was chosen.
        max_disparity: t of objective "constrained".
        fairness_weight: λ of objective "penalized".
        model: the trust model, such as "central" or "local".
        epsilon_claimed: the loss of a voter that the paper states, in nats; with levels, that of the greatest.
        epsilon_proven: the proven loss of a voter, in nats; with levels, that of the greatest. None, for infinite, for
            Algorithm 2 with γ = 0.
        details: details that few votes have; on the wire only if not empty.

    Examples:
        >>> from psephos.protocol import SimulatedNoise, run_population
        >>> from psephos.protocol.fair_voting import FairVoting
        >>> names = {"alternatives": ("park", "pool"), "groups": ("north", "south")}
        >>> vote = FairVoting(Parameters(**names, group_sizes=(1, 1), epsilon=30.0, objective="penalized"))
        >>> inputs = vote.encode({"group": ["north", "south"], "ranking": ["pool > park", "pool > park"]})
        >>> run_population(vote, inputs, noise=SimulatedNoise(1, session="vote")).outcome.winner
        'pool'
    """

    winner: str
    alternatives: tuple[AlternativeOutcome, ...]
    candidates: tuple[str, ...]
    groups: tuple[str, ...]
    group_sizes: tuple[int, ...]
    num_reports: tuple[int, ...]
    mechanism: str
    objective: str
    max_disparity: float
    fairness_weight: float
    model: str
    epsilon_claimed: float
    epsilon_proven: float | None
    assurance: Assurance
    details: Details | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        """Raise ConfigurationError unless a candidate wins, and all or none have a utility for each group."""
        refuse(self.winner not in self.candidates, "winner", self.winner, "one of the candidates")
        names = [alternative.name for alternative in self.alternatives]
        is_complete = not names or sorted(names) == sorted(self.candidates)
        require(is_complete, "alternatives", names, f"{', '.join(self.candidates)}, or none")
        check_aligned(groups=self.groups, group_sizes=self.group_sizes)
        for feature in self.features:
            check_aligned(groups=self.groups, of=feature.of)
        for alternative in self.alternatives:
            check_aligned(groups=self.groups, utilities=alternative.utilities)
            features = () if isinstance(alternative.features, msgspec.UnsetType) else alternative.features
            check_aligned(features=self.features, of_alternative=features)
            for feature, served in zip(self.features, features, strict=True):
                check_aligned(groups=feature.groups, utilities=served.utilities)

    def with_levels(self, epsilons: Sequence[float], num_reports: Sequence[Sequence[int]]) -> Self:
        """Return the outcome with so many reports of each level, group by group; itself where there are no levels."""
        if not epsilons:
            return self
        by_level = zip(epsilons, zip(*num_reports, strict=True), strict=True)
        levels = tuple(GroupLevelCount(epsilon, numbers) for epsilon, numbers in by_level if sum(numbers))
        return msgspec.structs.replace(self, details=msgspec.structs.replace(self.details or Details(), levels=levels))

    @property
    def features(self) -> tuple[Feature, ...]:
        """The features of which the groups are the crossings; none where the groups are compared themselves."""
        return self.details.features if isinstance(self.details, Details) else ()


def alternative_outcomes(
    parameters: Parameters, utilities: Utilities, estimates: Sequence[Sequence[Estimate]]
) -> tuple[AlternativeOutcome, ...]:
    """Return the outcome of each alternative, from the groups' mean utilities and their public details."""
    sizes, features = parameters.group_sizes, parameters.features or ()
    disparities = parameters.make_objective().disparities(utilities, sizes)
    outcomes: list[AlternativeOutcome] = []
    for place, name in enumerate(parameters.alternatives):
        of_groups = tuple(row[place] for row in estimates)
        errors = [group.standard_error * size for group, size in zip(of_groups, sizes, strict=True)]
        of_features: list[FeatureOutcome] = []
        for feature in features:
            values = join_groups(utilities, sizes, feature.partition, place)
            # Groups of one feature have no common crossing, so their noises are independent.
            of_feature = tuple(
                Estimate(
                    float(value),
                    math.hypot(*(errors[column] for column in places)) / sum(sizes[column] for column in places),
                )
                for value, places in zip(values, feature.partition, strict=True)
            )
            of_features.append(FeatureOutcome(utilities=of_feature, disparity=float(max(values) - min(values))))
        outcomes.append(
            AlternativeOutcome(
                name=name,
                utilities=of_groups,
                welfare=Estimate(float(welfare_of(utilities, sizes, place)), math.hypot(*errors) / sum(sizes)),
                disparity=float(disparities[place]),
                features=tuple(of_features) or msgspec.UNSET,
            )
        )
    return tuple(outcomes)
