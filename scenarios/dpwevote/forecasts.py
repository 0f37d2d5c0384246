"""The margins that a vote can decide at its ε: proven for all inputs, without using opinions or private weights."""

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

_QUICK: Final = ("two_point", "signed_rr")  # variants whose reach is computed quickly at any ε
_TRUSTED: Final = ("central",)
_LESS: Final = 16.0  # the factor by which a better variant may need less ε
_LEAST: Final = 1e-6  # the least ε to try if the server adds noise once, however many votes there are
_STEPS: Final = 14  # steps of a bisection, to within 0.2 %
_MOST_WEIGHTS: Final = 50  # with more weights, the search takes more than a second


def forecasts_of(protocol: PhasedProtocol[Any, Any], inputs: Inputs) -> list[Forecast]:
    """Return forecasts of the margins that a vote can decide; none if they suffice, or no bound is quickly known."""
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
    is_sum = protocol.model.bounds_release  # the noise does not grow with the number of votes
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
    """Return the least total ε at which a variant decides a margin, and that variant; None if there is none."""
    number = len(parameters.candidates)
    low, high = math.log(least_epsilon), math.log(MAX_EPSILON)
    best: tuple[float | None, str] = None, ""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        price = min(round_up(number * math.exp(middle)), number * MAX_EPSILON)  # rounded up, as it is shown
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
        # fields of the session's variant
        fields = ("threshold", "colluders", "release") if name == parameters.variant else ()
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
