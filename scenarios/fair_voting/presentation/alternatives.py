"""Utilities of alternatives to groups of voters, estimated and true.

Each alternative has its welfare (the mean utility of all voters), its mean utility to each group, and its disparity
(the greatest mean utility minus the least). With overlapping features, the groups are the crossings, and each feature's
groups also have mean utilities and a disparity. The winner is first.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from ....protocol.estimators import Estimate, Verdict
from ....protocol.fair_voting import Feature, FeatureOutcome, Outcome
from ....protocol.fair_voting.kinds import BY_QUALITY
from ...presentation.numbers import decimals_of
from ...presentation.presenter import Known
from ...tables import Rows
from ...verdicts import UNDECIDED
from ..comparisons import PRICED

CROSSINGS: Final = "crossings"  # name of the groups in a session with features, besides the features


@dataclasses.dataclass(frozen=True)
class ServedUtilities:
    """An alternative's mean utilities to all voters, to each group, and to each feature's groups."""

    utilities: tuple[Estimate, ...]
    welfare: Estimate
    disparity: float
    features: tuple[FeatureOutcome, ...] = ()

    @property
    def disparity_of_groups(self) -> float:
        """The greatest mean utility of a group minus the least; with features, between crossings."""
        return self.utilities[self.best].value - self.utilities[self.worst].value

    @property
    def worst(self) -> int:
        """The index of the group with the least utility."""
        return min(range(len(self.utilities)), key=lambda place: self.utilities[place].value)

    @property
    def best(self) -> int:
        """The index of the group with the greatest utility."""
        return max(range(len(self.utilities)), key=lambda place: self.utilities[place].value)


@dataclasses.dataclass(frozen=True)
class Alternative:
    """An alternative's estimated utilities (None if not released) and true ones (None if not shown)."""

    name: str
    is_winner: bool
    estimated: ServedUtilities | None
    true: ServedUtilities | None

    @property
    def known(self) -> ServedUtilities | None:
        """The estimates if released, else the true utilities."""
        return self.estimated or self.true


def alternatives_of(outcome: Outcome, known_truth: Known) -> list[Alternative]:
    """Return the alternatives in the session's order."""
    estimates_of_name = {
        alternative.name: ServedUtilities(
            alternative.utilities, alternative.welfare, alternative.disparity, alternative.features or ()
        )
        for alternative in outcome.alternatives
    }
    return [
        Alternative(name, name == outcome.winner, estimates_of_name.get(name), _truth_of(name, outcome, known_truth))
        for name in outcome.candidates
    ]


def _truth_of(name: str, outcome: Outcome, known_truth: Known) -> ServedUtilities | None:
    if known_truth.truth is None:
        return None
    utilities: list[float] = [known_truth.truth[f"{name} ({group})"] for group in outcome.groups]
    weighted_values = (value * size for value, size in zip(utilities, outcome.group_sizes, strict=True))
    welfare = math.fsum(weighted_values) / sum(outcome.group_sizes)
    without_error = tuple(Estimate(value, 0.0) for value in utilities)
    features = tuple(_true_feature(feature, utilities, outcome.group_sizes) for feature in outcome.features or ())
    disparity = (
        max(feature_estimate.disparity for feature_estimate in features)
        if features
        else max(utilities) - min(utilities)
    )
    return ServedUtilities(without_error, Estimate(welfare, 0.0), disparity, features)


def _true_feature(feature: Feature, utilities: Sequence[float], sizes: Sequence[int]) -> FeatureOutcome:
    """Return the mean utilities of a feature's groups from those of the crossings."""
    means = [
        math.fsum(utilities[place] * sizes[place] for place in places) / sum(sizes[place] for place in places)
        for places in feature.partition
    ]
    return FeatureOutcome(utilities=tuple(Estimate(mean, 0.0) for mean in means), disparity=max(means) - min(means))


def in_order(alternatives: Sequence[Alternative], outcome: Outcome) -> list[Alternative]:
    """Return the winner, then the others in the objective's order, by known utilities."""
    floor, points = welfare_floor(alternatives, outcome), contests_won(outcome)
    if outcome.objective == "kemeny" and not isinstance(outcome.details, msgspec.UnsetType):
        points = {name: -place for place, name in enumerate(outcome.details.ranking)}

    def merit(alternative: Alternative) -> tuple[bool, bool, float]:
        utilities = alternative.known
        if utilities is None:
            return not alternative.is_winner, False, 0.0
        is_out, cost = False, -points.get(alternative.name, utilities.welfare.value)
        if outcome.objective == "penalized":
            cost += outcome.fairness_weight * utilities.disparity
        if outcome.objective == "constrained":
            is_out = utilities.disparity > outcome.max_disparity
        if outcome.objective == "welfare_constrained":
            is_out = utilities.welfare.value < floor
        if outcome.objective in {"parity", "welfare_constrained"} or is_out:
            cost = utilities.disparity
        return not alternative.is_winner, is_out, cost

    return sorted(alternatives, key=merit)


def contests_won(outcome: Outcome) -> Mapping[str, float]:
    """Return each alternative's Copeland points; empty if pairs are not released."""
    if isinstance(outcome.details, msgspec.UnsetType) or not outcome.details.copeland_scores:
        return {}
    return dict(zip(outcome.candidates, outcome.details.copeland_scores, strict=True))


def has_a_price(outcome: Outcome) -> bool:
    """Return whether the objective has a limit that is enforced by a penalty only."""
    return outcome.mechanism in BY_QUALITY and outcome.objective in PRICED


def welfare_floor(alternatives: Sequence[Alternative], outcome: Outcome) -> float:
    """Return the objective's floor of welfare; −∞ if it has none."""
    estimates = [alternative.known.welfare.value for alternative in alternatives if alternative.known is not None]
    details = outcome.details
    if isinstance(details, msgspec.UnsetType) or details.welfare_share is None or not estimates:
        return -math.inf
    return max(estimates) - (1 - details.welfare_share) * max(max(estimates) - (details.least_score or 0.0), 0.0)


def decimals_of_estimates(estimates: Sequence[Estimate]) -> int:
    """Return the number of decimals for all estimates: two digits of the least error, or three of a value."""
    return decimals_of([estimate.value for estimate in estimates], [estimate.standard_error for estimate in estimates])


def decimals_of_disparity(served_utilities: Sequence[ServedUtilities]) -> int:
    """Return the number of decimals for differences of groups' utilities: that of the least precise one."""
    return min(
        decimals_of_estimates([utilities.utilities[place] for utilities in served_utilities])
        for place in range(len(served_utilities[0].utilities))
    )


def rows_of(outcome: Outcome, known_truth: Known) -> Rows:
    """Return a row for each alternative; an estimate's standard error is a separate column."""
    rows, won = Rows(), contests_won(outcome)
    for alternative in alternatives_of(outcome, known_truth):
        row: dict[str, object] = {"alternative": alternative.name, "wins": int(alternative.is_winner)}
        verdict = UNDECIDED if outcome.assurance.verdict == Verdict.TOO_CLOSE.value else outcome.assurance.verdict
        row["verdict"] = verdict if alternative.is_winner else None
        row["probability_of_best"] = outcome.assurance.probability if alternative.is_winner else None
        if won:
            row["contests_won"] = won[alternative.name]
        estimated, true = alternative.estimated, alternative.true
        row["welfare"] = None if estimated is None else estimated.welfare.value
        row["welfare_standard_error"] = None if estimated is None else estimated.welfare.standard_error
        row["disparity"] = None if estimated is None else estimated.disparity
        for place, group in enumerate(outcome.groups):
            utility = None if estimated is None else estimated.utilities[place]
            row[f"utility ({group})"] = None if utility is None else utility.value
            row[f"utility_standard_error ({group})"] = None if utility is None else utility.standard_error
        if outcome.features:
            row[f"disparity ({CROSSINGS})"] = None if estimated is None else estimated.disparity_of_groups
            if true is not None:
                row[f"true_disparity ({CROSSINGS})"] = true.disparity_of_groups
        for number, feature in enumerate(outcome.features or ()):
            feature_estimate = None if estimated is None else estimated.features[number]
            row[f"disparity ({feature.name})"] = None if feature_estimate is None else feature_estimate.disparity
            for place, group in enumerate(feature.groups):
                utility = None if feature_estimate is None else feature_estimate.utilities[place]
                column = f"({feature.name}: {group})"
                row[f"utility {column}"] = None if utility is None else utility.value
                row[f"utility_standard_error {column}"] = None if utility is None else utility.standard_error
            if true is not None:
                row[f"true_disparity ({feature.name})"] = true.features[number].disparity
        if true is not None:
            row |= {"true_welfare": true.welfare.value, "true_disparity": true.disparity}
            utilities = zip(outcome.groups, true.utilities, strict=True)
            row |= {f"true_utility ({group})": utility.value for group, utility in utilities}
        rows.append(row)
    return rows


def format_chance(probability: float) -> str:
    """Format a probability with two decimals, never as if it were certain.

    Examples:
        >>> format_chance(0.731), format_chance(0.9999)
        ('0.73', '> 0.99')
    """
    max_shown = 0.995
    return f"{probability:.2f}" if probability < max_shown else "> 0.99"
