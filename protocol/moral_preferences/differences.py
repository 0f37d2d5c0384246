"""Differences between societies: how much more a feature counts in one than in another, and which are significant.

The question is whether the releases without noise differ in the same direction. Each pair of societies and each feature
is one comparison, and all of them are made simultaneously. So each has an interval at its share of the level
(Bonferroni), and all intervals together cover with probability at least 1 − level, whatever the societies are. A
difference is significant if its interval is on one side of 0.

The noise of two societies is independent. A released direction is m̂/‖m̂‖, where m̂ = m + N has noise N with a known
law. If no coordinate of N/‖m̂‖ exceeds c in absolute value, then ‖N‖ ≤ ρ‖m̂‖ for ρ = c√d and d features. So ‖m‖/‖m̂‖ is
in [1 − ρ, 1 + ρ], and mᵢ/‖m̂‖ within c of the released number. This bounds every coordinate of m/‖m‖, and so
differences.

Source: `estimators.noise_tails` for the noise; Bonferroni's inequality.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from ..errors import require
from ..estimators import UNDECIDED, Estimate
from ..estimators.noise_tails import NoisePart, reach_of_noise
from .certainty import level_asked, noise_parts
from .outcome import Outcome

DIFFERS: Final = "differs"
"""The verdict on a significant difference."""
MOST_COMPARED: Final = 30
"""The most societies that are compared; the number of pairs grows quadratically, and the level of each shrinks."""
_Pair: TypeAlias = tuple[str, str]
_Limits: TypeAlias = tuple[float, float]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """How much more a feature counts to one society than to another.

    Args:
        more: the society in which the feature counts more, as released.
        less: the other society.
        difference: more minus less, at least 0.
        standard_error: the standard error of the difference, over the draws of noise only.
        low: with `high`, the interval of the difference without noise. All intervals together cover with probability at
            least 1 − `level`. None if there is no test, or if too much is compared.
        verdict: "differs" if the interval is above 0, or "undecided"; None if there is no test.
        level: the level of all verdicts together: the greatest probability that any of them says "differs" although the
            releases without noise do not differ, or differ in the other direction.

    Examples:
        >>> difference = Difference(feature="lives", more="north", less="south", difference=0.8, standard_error=0.1)
        >>> difference.more
        'north'
    """

    feature: str
    more: str
    less: str
    difference: float
    standard_error: float
    low: float | None = None
    high: float | None = None
    verdict: str | None = None
    level: float | None = None

    @property
    def size(self) -> float:
        """It in standard errors."""
        error = self.standard_error
        return self.difference / error if error else math.inf if self.difference else 0.0


def compare_societies(
    outcome: Outcome, names: Sequence[str] = (), *, level: float | None = None
) -> tuple[Difference, ...]:
    """Return all differences between societies, the most significant first.

    Args:
        outcome: the release.
        names: the names of the compared societies; by default all with reports. Choose them by public information, such
            as their numbers of voters, not by the release.
        level: the level of all verdicts together, in (0, ½); by default 5 %, or no verdict if there is no test.

    Returns:
        One difference for each feature and pair of societies; empty if errors have no closed form.

    Raises:
        ConfigurationError: a society is unknown, named twice, or has no reports; there are more than `MOST_COMPARED`;
            or the level is not allowed, or is given for a release without a verdict.

    Privacy:
        Post-processing of a release; it costs nothing.

    Examples:
        >>> from psephos.protocol import SimulatedNoise, run_population
        >>> from psephos.protocol.moral_preferences import MoralPreferences, Parameters
        >>> survey = MoralPreferences(Parameters(features=("lives",), epsilon=30.0, societies=("north", "south")))
        >>> table = {"society": ["north", "south"] * 50, "records": [[[[2.0], [1.0]]], [[[1.0], [2.0]]]] * 50}
        >>> outcome = run_population(survey, survey.encode(table), noise=SimulatedNoise(1, session="survey")).outcome
        >>> (difference,) = compare_societies(outcome)
        >>> difference.more
        'north'
    """
    test_level = level_asked(outcome, level)
    compared = list(names) or [society.name for society in outcome.society_outcomes if society.preferences is not None]
    for name in compared:
        require(compared.count(name) == 1, "society", name, "named once")
    allowed = f"at most {MOST_COMPARED} at once: name those that are compared"
    require(len(compared) <= MOST_COMPARED, "societies", len(compared), allowed)
    pairs = list(itertools.combinations(compared, 2))
    parts = {name: outcome.society_outcome(name) for name in compared}
    limits_of = _limits_of_directions if outcome.is_direction else _limits_of_sums
    limits = {} if test_level is None or not pairs else limits_of(parts, pairs, test_level)
    differences: list[Difference] = []
    for first, second in pairs:
        released = outcome.differences(first, second)
        for place, (feature, estimate) in enumerate(zip(outcome.features, released or (), strict=False)):
            between = limits[first, second][place] if limits else None
            differences.append(_difference(feature, (first, second), estimate, between=between, level=test_level))
    return tuple(sorted(differences, key=lambda difference: -difference.size))


def _difference(
    feature: str, pair: _Pair, estimate: Estimate, *, between: _Limits | None, level: float | None
) -> Difference:
    """Return a difference in the direction in which it was released."""
    if estimate.value < 0:
        pair = pair[1], pair[0]
        between = None if between is None else (-between[1], -between[0])
    low, high = (None, None) if between is None or math.inf in map(abs, between) else between
    is_sure = low is not None and low > 0
    return Difference(
        feature=feature,
        more=pair[0],
        less=pair[1],
        difference=abs(estimate.value),
        standard_error=estimate.standard_error,
        low=low,
        high=high,
        verdict=None if level is None else DIFFERS if is_sure else UNDECIDED,
        level=level,
    )


def _limits_of_sums(parts: Mapping[str, Outcome], pairs: Sequence[_Pair], level: float) -> dict[_Pair, list[_Limits]]:
    """Return limits of each feature's difference without noise, first minus second: all hold at the level."""
    limits: dict[_Pair, list[_Limits]] = {}
    for pair in pairs:
        first, second = (parts[name] for name in pair)
        tail = level / (2 * len(pairs) * len(first.features))
        limits[pair] = []
        for place, (preference, other) in enumerate(zip(first.preferences, second.preferences, strict=True)):
            noise = [*_noise_in(first, place), *_noise_in(second, place)]
            reach = reach_of_noise(noise, tail)
            limits[pair].append((preference - other - reach, preference - other + reach))
    return limits


def _limits_of_directions(
    parts: Mapping[str, Outcome], pairs: Sequence[_Pair], level: float
) -> dict[_Pair, list[_Limits]]:
    """Return such limits for directions, from limits of each coordinate of each society."""
    of_each = {name: _limits_of_direction(part, level / len(parts)) for name, part in parts.items()}
    return {
        (first, second): [
            (low - other_high, high - other_low)
            for (low, high), (other_low, other_high) in zip(of_each[first], of_each[second], strict=True)
        ]
        for first, second in pairs
    }


def _limits_of_direction(part: Outcome, level: float) -> list[_Limits]:
    """Return limits of each coordinate of a direction without noise: all hold at the level."""
    size = len(part.features)
    reach = max(reach_of_noise(_noise_in(part, place), level / (2 * size)) for place in range(size))
    longer = reach * math.sqrt(size)
    if longer >= 1:
        return [(-1.0, 1.0)] * size
    shrunk, stretched = 1 / (1 + longer), 1 / (1 - longer)
    limits: list[_Limits] = []
    for value in part.preferences:
        low, high = value - reach, value + reach
        low *= shrunk if low > 0 else stretched
        high *= stretched if high > 0 else shrunk
        limits.append((max(low, -1.0), min(high, 1.0)))
    return limits


def _noise_in(part: Outcome, place: int) -> list[NoisePart]:
    return noise_parts(part, (part.errors or ())[place : place + 1])
