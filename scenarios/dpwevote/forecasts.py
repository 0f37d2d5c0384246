"""The margins that a vote can tell at its price: proven for every truth, without opinions or private weights."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from ...protocol.dpwevote import DPWeVote, Parameters, with_noise_weight
from ...protocol.dpwevote.parameters import VariantName
from ...protocol.mechanisms import MAX_EPSILON
from ...protocol.phases import Inputs, PhasedProtocol
from ..running.forecasts import AIM, Forecast, try_forecast
from ..verdicts import round_up

_QUICK: Final = ("two_point", "signed_rr")  # variants that any price has at once
_TRUSTED: Final = ("central",)
_LESS: Final = 16.0  # a better variant may need so much less
_LEAST: Final = 1e-6  # a price that is looked at where the server is trusted, whose noise does not grow with the votes
_STEPS: Final = 14  # of a bisection, which ends within 2 in 1,000
_MOST_WEIGHTS: Final = 50  # of more, looking for a price takes more than a second


def forecasts_of(protocol: PhasedProtocol[Any, Any], inputs: Inputs) -> list[Forecast]:
    """Return which margins a vote tells; nothing where that is enough, or no bound is known in a moment."""
    assert isinstance(protocol, DPWeVote)  # noqa: S101  what the descriptor says
    parameters = protocol.parameters
    is_known = len(parameters.weights) <= _MOST_WEIGHTS and len(inputs) and not parameters.own_levels.epsilons
    reach = protocol.reach(inputs.public) if is_known else None
    if reach is None:
        return []
    if parameters.public_weights:
        whole = math.fsum(np.array(parameters.weights)[inputs.public[:, 1]].tolist())
        scope = "of all votes"
    else:
        mean = math.fsum(parameters.weights) / len(parameters.weights)
        whole, scope = len(inputs) * mean, f"of all votes, if weights are {mean:g} on average"
    if reach <= AIM * whole:
        return []
    quota = parameters.fraction if parameters.quota is None else parameters.quota / whole
    is_sum = protocol.model.bounds_release  # whose noise does not grow with the votes
    usual_variants: Sequence[VariantName] = ("joint",) if parameters.public_weights else _QUICK
    usual_variants = (parameters.variant,) if is_sum else usual_variants
    least_epsilon = _LEAST if is_sum else parameters.epsilon / _LESS
    price, variant = _price(parameters, inputs, AIM * whole, variants=usual_variants, least_epsilon=least_epsilon)
    own_forecast = Forecast(
        epsilon=parameters.epsilon_total,
        share=reach / whole,
        most=max(quota, 1 - quota),
        price=price,
        by=variant,
        whole=scope,
    )
    if is_sum:
        return [own_forecast]
    price, variant = _price(parameters, inputs, AIM * whole, variants=_TRUSTED, least_epsilon=_LEAST)
    return [own_forecast, dataclasses.replace(own_forecast, trust="let someone trusted count", price=price, by=variant)]


def _price(
    parameters: Parameters, inputs: Inputs, aim: float, *, variants: Sequence[VariantName], least_epsilon: float
) -> tuple[float | None, str]:
    """Return ε in all at which a vote tells a margin, and by which of these variants; None where none does."""
    number = len(parameters.candidates)
    low, high = math.log(least_epsilon), math.log(MAX_EPSILON)
    best: tuple[float | None, str] = None, ""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        price = min(round_up(number * math.exp(middle)), number * MAX_EPSILON)  # as it is said
        reach, variant = min(_reaches(parameters, inputs, price / number, variants), default=(math.inf, ""))
        if reach <= aim:
            best, high = (price, variant), middle
        else:
            low = middle
    return best


def _reaches(
    parameters: Parameters, inputs: Inputs, epsilon: float, variants: Sequence[VariantName]
) -> Iterator[tuple[float, str]]:
    for name in variants:
        fields = ("threshold", "colluders", "release") if name == parameters.variant else ()  # of the session's own
        settings = {field: getattr(parameters, field) for field in fields}
        priced_parameters = try_forecast(parameters.with_variant, name, epsilon=epsilon, **settings)
        if priced_parameters is None:
            continue
        if parameters.public_weights:
            numbers: list[int] = np.bincount(inputs.public[:, 1], minlength=len(parameters.weights)).tolist()
            priced_parameters = with_noise_weight(priced_parameters, numbers)
        reach = DPWeVote(priced_parameters).reach(inputs.public)
        if reach is not None:
            yield reach, name
