"""Decisions: the choice of a released society between two alternatives.

In the model of preferences (Thurstone and Mosteller), the society's utility of x exceeds that of z with probability
Φ(β·(x − z)). The noise of the release may have changed the sign of the margin. A certainty is the probability, under a
named prior, that it has not. A verdict is "undecided" if noise alone would cause the margin too often.

Source: Wang et al. (2019), Section 3 for the model.
"""

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from ..elementary import erfc
from ..errors import refuse, require
from ..estimators import UNDECIDED
from .certainty import PRIORS, PriorName, certainty_of, check_prior, level_asked, p_value_of, why_no_certainty
from .outcome import Outcome
from .records import GREATEST_FEATURE


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The choice between two alternatives.

    Args:
        choice: "first" or "second"; None if the margin is 0.
        margin: β·(first − second).
        probability: Φ(margin), the probability that the society prefers the first; None if only the direction of β is
            known.
        certainty: the probability under the prior that the release without noise has the same choice; None if the
            errors are unknown or dependent. It is calibrated on average over societies drawn from the prior.
        certainty_error: the standard error of the certainty's simulation; unset if it is not simulated.
        prior: the prior of the certainty.
        verdict: `choice` if the test is significant, or "undecided"; None if there is no test.
        level: the level of the verdict: the greatest probability, whatever the release without noise prefers, that the
            verdict is the other alternative.
        p_value: the least level at which the verdict is `choice`.

    Examples:
        >>> decision = Decision(choice="first", margin=0.8, probability=0.79, certainty=0.99)
        >>> decision.choice
        'first'
    """

    choice: str | None
    margin: float
    probability: float | None
    certainty: float | None
    prior: str | None = None
    verdict: str | None = None
    level: float | None = None
    p_value: float | None = None
    certainty_error: float | msgspec.UnsetType = msgspec.UNSET


def decide(
    outcome: Outcome,
    first: Mapping[str, float],
    second: Mapping[str, float],
    *,
    level: float | None = None,
    prior: PriorName | None = None,
) -> Decision:
    """Return the society's choice between two alternatives.

    Args:
        outcome: the release.
        first: the first alternative: its features by name; features that are not named are 0.
        second: the second alternative, in the same form.
        level: the level of the verdict, in (0, ½); by default 5 %, or no verdict if there is no test.
        prior: the prior of the certainty; by default `ball`, or no certainty if there is none.

    Raises:
        ConfigurationError: a feature is unknown, or a value is not in [−GREATEST_FEATURE, GREATEST_FEATURE]; or a level
            or prior is not allowed, or is given for a release without a verdict or certainty.

    Privacy:
        Post-processing of a release; it costs nothing.

    Examples:
        >>> from psephos.protocol import SimulatedNoise, run_population
        >>> from psephos.protocol.moral_preferences import MoralPreferences, Parameters
        >>> survey = MoralPreferences(Parameters(features=("lives", "age"), epsilon=30.0))
        >>> inputs = survey.encode({"records": [[[[2.0, 0.0], [1.0, 0.0]]]] * 50})
        >>> outcome = run_population(survey, inputs, noise=SimulatedNoise(1, session="survey")).outcome
        >>> decide(outcome, {"lives": 2.0, "age": 0.0}, {"lives": 1.0, "age": 0.0}).choice
        'first'
    """
    for field, alternative in (("first", first), ("second", second)):
        for name, value in alternative.items():
            allowed = f"described by {', '.join(outcome.features)}"
            require(name in outcome.features, f"the {field} alternative", name, allowed)
            checked_value: Any = value  # callers without a type checker may pass anything
            is_number = isinstance(checked_value, (int, float)) and not isinstance(checked_value, bool)
            allowed = f"in [-{GREATEST_FEATURE:g}, {GREATEST_FEATURE:g}]"
            is_fine = is_number and abs(value) <= GREATEST_FEATURE  # false for NaN
            require(is_fine, f"{name} of the {field} alternative", value, allowed)
    level = level_asked(outcome, level)
    if prior is not None:
        check_prior(prior)
        why = why_no_certainty(outcome)
        refuse(why, "prior", prior, f"left out: {why}")
    differences = [first.get(name, 0.0) - second.get(name, 0.0) for name in outcome.features]
    margin = math.fsum(value * change for value, change in zip(outcome.preferences, differences, strict=True))
    choice = None if margin == 0 else "first" if margin > 0 else "second"
    prior = prior or PRIORS[0]
    certainty_found = None if choice is None else certainty_of(outcome, differences, margin, prior)
    certainty, certainty_error = certainty_found or (None, msgspec.UNSET)
    p_value = None if choice is None else p_value_of(outcome, differences, margin)
    is_sure = p_value is not None and level is not None and p_value <= level
    return Decision(
        choice=choice,
        margin=margin,
        probability=None if outcome.is_direction else 0.5 * erfc(-margin / math.sqrt(2)),
        certainty=certainty,
        certainty_error=certainty_error,
        prior=None if certainty is None else prior,
        verdict=None if level is None else choice if is_sure else UNDECIDED,
        level=level,
        p_value=p_value,
    )
