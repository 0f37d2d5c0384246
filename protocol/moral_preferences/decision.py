"""Decisions: what the society that a session released would choose between two alternatives.

By the model that preferences are fitted with (Thurstone and Mosteller), the society's utility of x exceeds that of z
with probability Φ(β·(x − z)). How sure the release makes the choice itself is another matter: its noise may have turned
the sign. A certainty says how likely that is under a named prior, and a verdict declines where noise alone would do it
too often.

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
        choice: "first" or "second"; None where the preferences speak for neither.
        margin: β·(first − second).
        probability: that the society prefers the first, Φ(margin); None where only the direction of β is known.
        certainty: the probability under the prior that the release without noise would choose the same; None where
            the errors are not known, or hang together. It is right on average over societies like the prior's.
        certainty_error: the standard error of the simulation that the certainty is from; unset where it is from none.
        prior: of the certainty.
        verdict: `choice` where the test is sure of it, or "undecided"; None where the test is not known.
        level: of the verdict: the greatest probability, whatever the release without noise prefers, that the verdict is
            the other alternative.
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
        first: an alternative: its features by name; those that are not named are 0.
        level: of the verdict, in (0, ½); by default 5 %, and no verdict where there is no test.
        prior: of the certainty; by default `ball`, and no certainty where there is none.

    Raises:
        ConfigurationError: a feature is unknown, or a value is not in [−GREATEST_FEATURE, GREATEST_FEATURE]; a level or
            a prior is not allowed, or is asked of a release that has no verdict, or no certainty.

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
            checked_value: Any = value  # by a caller whom no type checker reads, maybe something else
            is_number = isinstance(checked_value, (int, float)) and not isinstance(checked_value, bool)
            allowed = f"in [-{GREATEST_FEATURE:g}, {GREATEST_FEATURE:g}]"
            is_fine = is_number and abs(value) <= GREATEST_FEATURE  # not so for nan
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
