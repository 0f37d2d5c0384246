"""What a fair and private vote releases to all voters."""

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
        disparity: the greatest of these less the least.

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
        welfare: the mean utility to all voters of the roster.
        disparity: the greatest of the utilities less the least; with several features, the greatest between the groups
            of any of them. Noise makes it larger: an absolute value of what is unbiased is not.
        features: the same of each feature, in their order; left out where the groups are compared themselves.

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
        features: features whose crossings are the groups.
        welfare_share: β of objective "welfare_constrained".
        least_score: the score from which welfare is counted there.
        gamma: γ, as it was chosen so that ε is proven.
        num_samples: n_s, likewise.
        differences: of mechanism "pairwise", of each two candidates, in lexicographic order: how many prefer the first
            to the second, less how many prefer the second, with noise. What follows is read from them.
        difference_error: the standard error of each.
        copeland_scores: each candidate's points: 1 for each other one that it beats, ½ where they tie.
        ranking: Kemeny's, the best first; of several that agree with most pairs one by lot. None of many candidates.
        levels: the levels of ε at which somebody reported, ascending, if voters have their own.

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
    """The public outcome: the winner, and the estimates where these are private as well.

    Args:
        winner: the alternative that is elected.
        alternatives: the estimates from which it was; empty where the mechanism releases the winner alone.
        candidates: the names of all alternatives.
        group_sizes: how many voters of each are on the roster.
        num_reports: how many reported, group by group, or in all where groups are private; empty in the central model,
            where that may be protected.
        mechanism: what made it private: with "local", the mechanism that was chosen.
        max_disparity: t of objective "constrained".
        fairness_weight: λ of objective "penalized".
        model: "central" or "local": whether the aggregator was trusted.
        epsilon_claimed: what the paper says that a voter pays; where voters have their own ε, one of the greatest.
        epsilon_proven: what a voter pays at most; infinite, and None here, for Algorithm 2 with γ = 0.
        details: what few votes have; on the wire only where there is something.

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
            # No two groups of a feature share a crossing, or its noise.
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
