"""The certainty of a decision despite the noise: a probability under a named prior, and a test for every truth.

The question is whether the release without noise would have the same choice. That release is in a public ball, from
which the priors are made. The certainty is calibrated only on average over societies drawn from the prior. The test
holds at its level for every society.

Source: normal shrinkage for the certainty; `estimators.noise_tails` for the test.
"""

import functools
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, get_args

from msgspec import UNSET, UnsetType

from ..elementary import exp, ln, normal_tail, square
from ..errors import list_choices, refuse, require
from ..estimators import DEFAULT_LEVEL, check_level
from ..estimators.noise_tails import NoisePart, tail_of_noise
from .maxima import EXACT, MAX_SIMULATED_LEVELS, NUM_PARTS, Answer, NoiseOfLevel, simulate_answers
from .outcome import Ball, NoisyMaxima, Outcome
from .parameters import Paradigm

PriorName: TypeAlias = Literal["ball", "size"]
PRIORS: Final[tuple[PriorName, ...]] = get_args(PriorName)
"""`ball`: the release without noise is uniform in its ball. `size`: it is uniform in a ball whose radius is uniform up
to that of the first, so that weak preferences are as likely as strong ones. Both are approximated by normal
distributions of the same variance."""

_DIGITS: Final = 6
_SIZES: Final = tuple((place + 0.5) / 12 for place in range(12))
"""The radii of the prior `size`, as shares of the greatest radius."""


def check_prior(prior: str) -> None:
    """Raise ConfigurationError unless there is such a prior."""
    require(prior in PRIORS, "prior", prior, list_choices(PRIORS, prior))


def why_no_certainty(outcome: Outcome) -> str | None:
    """Return why decisions of a release have no certainty; None where they have one."""
    if outcome.errors is None:
        return f"the errors of {outcome.mechanism!r} have no closed form"
    if outcome.is_whitened:
        return "the errors of whitened directions hang together"
    number = len(outcome.levels)
    if outcome.maxima is not UNSET and number > MAX_SIMULATED_LEVELS:
        return f"noisy maxima at {number} levels of ε are not simulated, at most {MAX_SIMULATED_LEVELS} are"
    return "the release does not say in which ball preferences are" if outcome.ball is None else None


def why_no_verdict(outcome: Outcome) -> str | None:
    """Return why decisions of a release have no verdict; None where they have one."""
    if outcome.errors is None or outcome.is_whitened:
        return why_no_certainty(outcome)
    if outcome.maxima is not UNSET:
        return "how far noise moves maxima depends on preferences without noise"
    return "a projection moved the preferences" if outcome.is_projected else None


def level_asked(outcome: Outcome, level: float | None) -> float | None:
    """Return the level of verdicts on a release, by default 5 %; None if there is no test.

    Raises:
        ConfigurationError: the level is not allowed, or the release has no verdict.
    """
    why = why_no_verdict(outcome)
    if level is not None:
        check_level(level)
        refuse(why, "level", level, f"left out: {why}, so no test is known")
    return None if why else DEFAULT_LEVEL if level is None else level


def certainty_of(
    outcome: Outcome, differences: Sequence[float], margin: float, prior: PriorName
) -> tuple[float, float | UnsetType] | None:
    """Return the probability under a prior that the release without noise would choose the same.

    Let β̂ be the preferences, s their standard errors, τ the prior's standard deviation, x the differences, and kᵢ =
    τ²/(τ² + sᵢ²). The probability is Φ(sgn m · Σ kᵢβ̂ᵢxᵢ / √(Σ kᵢsᵢ²xᵢ²)); for `size` the mean of these over τ,
    weighted by evidence. Noisy maxima map a point β to aβ + shift + noise (`maxima`); for them τ becomes aτ, and s²
    includes the variance of the shift.

    Args:
        outcome: the release.
        differences: x, for each feature.
        margin: m = Σ β̂ᵢxᵢ, not 0.
        prior: the name of the prior.

    Returns:
        The probability, and the standard error of its simulation, if it is simulated; None if there is no certainty
        (`why_no_certainty`).
    """
    if outcome.ball is None or why_no_certainty(outcome):
        return None
    sizes = (1.0,) if prior == "ball" else _SIZES
    if outcome.maxima is UNSET:
        return _certainty(outcome, outcome.ball, differences, margin, (EXACT,) * len(sizes)), UNSET
    of_size = [_answers_of(outcome, outcome.maxima, size) for size in sizes]
    parts = [
        _certainty(outcome, outcome.ball, differences, margin, tuple(answers[part] for answers in of_size))
        for part in range(NUM_PARTS)
    ]
    of_all = tuple(_mean_of(answers) for answers in of_size)
    middle = math.fsum(parts) / NUM_PARTS
    error = math.sqrt(math.fsum(square(part - middle) for part in parts) / (NUM_PARTS * (NUM_PARTS - 1)))
    # Rounded, since a library's linear algebra may differ in its last bits, far below the simulation's error.
    return round(_certainty(outcome, outcome.ball, differences, margin, of_all), _DIGITS), round(error, _DIGITS)


def _certainty(
    outcome: Outcome, ball: Ball, differences: Sequence[float], margin: float, answers: tuple[Answer, ...]
) -> float:
    """Return the probability, given how the release answers in a ball of each size."""
    certainties: list[float] = []
    errors = outcome.errors or ()
    spreads = _spreads(outcome.preferences, errors, ball, answers)
    for spread, answer, _ in spreads:
        variances = [error * error + max(answer.residual_variance, 0.0) for error in errors]
        shares = [spread / (spread + variance) for variance in variances]
        rows = list(zip(shares, variances, outcome.preferences, differences, strict=True))
        mean = math.fsum(share * value * change for share, _, value, change in rows)
        variance = math.fsum(share * variance * change * change for share, variance, _, change in rows)
        towards = mean if margin > 0 else -mean
        certainties.append(1.0 if variance == 0 else normal_tail(-towards / math.sqrt(variance)))
    return math.fsum(certainty * weight for certainty, (_, _, weight) in zip(certainties, spreads, strict=True))


def _answers_of(outcome: Outcome, maxima: NoisyMaxima, size: float) -> tuple[Answer, ...]:
    """Return how noisy maxima answer societies of a ball of this size, by each part of the simulation."""
    noises = tuple(
        NoiseOfLevel(scale=maxima.scale / level.epsilon, share=level.weight * level.num_voters / outcome.num_voters)
        for level in outcome.levels
    )
    return simulate_answers(maxima, num_features=len(outcome.features), noises=noises, size=size)


def _mean_of(answers: Sequence[Answer]) -> Answer:
    number = len(answers)
    slope = math.fsum(answer.slope for answer in answers) / number
    return Answer(slope, math.fsum(answer.residual_variance for answer in answers) / number)


def p_value_of(outcome: Outcome, differences: Sequence[float], margin: float) -> float | None:
    """Return the p-value of a margin: the probability that noise alone is at least as large, on the margin's side.

    If the release without noise prefers the other alternative, the margin is as large as this with at most this
    probability. If voters have different ε, their weights are taken as given.

    Returns:
        The probability, rounded up; None if it is not known (`why_no_verdict`).
    """
    if outcome.errors is None or why_no_verdict(outcome):
        return None
    reaches = [abs(error * change) for error, change in zip(outcome.errors, differences, strict=True)]
    return tail_of_noise(noise_parts(outcome, reaches), abs(margin))


def noise_parts(outcome: Outcome, reaches: Sequence[float]) -> list[NoisePart]:
    """Return the law of noise in a sum over features, for a release that has a test (`why_no_verdict`).

    Args:
        outcome: the release.
        reaches: the standard deviation of the noise of each feature in the sum.
    """
    draw = 1.0
    if outcome.mechanism == "direction" and outcome.planned is UNSET:
        # Coordinates are dependent: their sum has the law of one coordinate, scaled.
        draw = (len(outcome.features) + 1) / 2
        reaches = [math.sqrt(math.fsum(reach * reach for reach in reaches))]
    shares = _shares_of_levels(outcome)
    return [
        NoisePart(scale=reach * math.sqrt(share / (2 * draw * number)), shape=draw * number)
        for reach in reaches
        for share, number in shares
    ]


def _shares_of_levels(outcome: Outcome) -> list[tuple[float, float]]:
    """Return each level's share of the noise's variance, and its number of draws."""
    if isinstance(outcome.planned, int):  # a masked sum, in which this many shares are one draw
        return [(1.0, outcome.num_voters / outcome.planned)]
    if Paradigm(outcome.paradigm).model.bounds_release:
        return [(1.0, max(len(outcome.society_outcomes), 1))]  # the sum over societies has one draw for each
    # The scale of a voter's noise is proportional to 1/ε.
    variances = [level.num_voters * square(level.weight / level.epsilon) for level in outcome.levels]
    total = math.fsum(variances)
    return [(variance / total, level.num_voters) for variance, level in zip(variances, outcome.levels, strict=True)]


@functools.lru_cache(maxsize=256)
def _spreads(
    preferences: tuple[float, ...], errors: tuple[float, ...], ball: Ball, answers: tuple[Answer, ...]
) -> tuple[tuple[float, Answer, float], ...]:
    """Return the variances (aτ)² that a prior has, each with its answer and its probability after the release."""
    greatest = _variance_in(ball, len(preferences))
    if len(answers) == 1:
        return ((greatest * answers[0].slope ** 2, answers[0], 1.0),)
    squares: dict[float, list[float]] = defaultdict(list)
    for value, error in zip(preferences, errors, strict=True):
        squares[error].append(value * value)
    sizes = [
        (greatest * size * size * answer.slope * answer.slope, answer)
        for size, answer in zip(_SIZES, answers, strict=True)
    ]

    def evidence(squares: Sequence[float], variance: float) -> float:
        return (math.fsum(squares) / variance + len(squares) * ln(variance)) / 2

    logs = [
        -math.fsum(
            evidence(error_squares, spread + (error * error + max(answer.residual_variance, 0.0)))
            for error, error_squares in squares.items()
        )
        for spread, answer in sizes
    ]
    weights = [exp(log - max(logs)) for log in logs]
    total = math.fsum(weights)
    return tuple((*size, weight / total) for size, weight in zip(sizes, weights, strict=True))


def _variance_in(ball: Ball, dimension: int) -> float:
    """Return the variance of a coordinate that is uniform in a ball."""
    if ball.norm == "l1":
        return 2 * square(ball.radius) / ((dimension + 1) * (dimension + 2))
    return square(ball.radius) / (dimension + 2)
