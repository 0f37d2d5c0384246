"""Warn before a session if its accuracy is low at its ε.

A system declares `forecasts` (`system.System`): of the session itself, then of sessions with other trust models. They
do not depend on private values. A hypothetical session may not be allowed; that does not refuse the actual one
(`try_forecast`).
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, Final, ParamSpec, TypeVar

from ...protocol.errors import ConfigurationError
from ...protocol.phases import Inputs, PhasedProtocol
from ..presentation.numbers import pluralize
from ..system import part_of

P = ParamSpec("P")
T = TypeVar("T")

AIM: Final = 0.1
"""The margin, as a fraction of the whole, that a session should be able to decide; otherwise a warning is given."""


_HALF: Final = 0.5
_ROUNDING: Final = 1e-9  # rounding of fractions: 3 of 10 is 30 %


@dataclasses.dataclass(frozen=True, kw_only=True)
class Forecast:
    """The margins that a session can decide.

    Examples:
        >>> own = Forecast(epsilon=1.0, share=0.4, most=1.0, price=3.56, by="joint", whole="of all votes")
        >>> own.share > AIM
        True
    """

    trust: str = ""  # the change to another trust model, in words; empty for the session itself
    epsilon: float  # a party's total proven ε
    share: float  # margin, as a fraction of the whole, from which decisions are wrong at most as often as verdicts
    most: float  # the greatest possible margin, as a fraction of the whole
    price: float | None  # total ε at which `AIM` is reached; None if none is known
    by: str  # the variant that reaches it at that ε
    whole: str  # the whole, in words


Forecasts = Callable[[PhasedProtocol[Any, Any], Inputs], Sequence[Forecast]]
"""A system's part: maps protocol and parties' rows to forecasts, first of the session itself."""


def try_forecast(ask: Callable[P, T], *args: P.args, **settings: P.kwargs) -> T | None:
    """Return what `ask` returns for a hypothetical session; None if there can be no such session.

    Examples:
        >>> from psephos.protocol.dpwevote import Parameters
        >>> try_forecast(Parameters, candidates=("roof",), epsilon=-1.0) is None
        True
    """
    try:
        return ask(*args, **settings)
    except ConfigurationError:
        return None


def forecast(protocol: PhasedProtocol[Any, Any], inputs: Inputs, *, is_brief: bool = False) -> str:
    """Return a sentence on the margins that a session can decide, and on what would improve this; empty if it suffices.

    With `is_brief`, the part on closer votes is omitted.
    """
    forecasts: Forecasts | None = part_of(type(protocol), "forecasts", Callable)
    forecasts_found = None if forecasts is None else try_forecast(forecasts, protocol, inputs)
    if not forecasts_found or forecasts_found[0].share <= AIM:
        return ""
    own_forecast, *other_forecasts = forecasts_found
    people_text = f"{pluralize(len(inputs), protocol.client_role)} at ε = {own_forecast.epsilon:g}"
    if own_forecast.share <= own_forecast.most:
        sentence = f"{people_text} can only tell {_results(own_forecast, own_forecast.share)} {own_forecast.whole}"
        if not is_brief:
            sentence = f"{sentence}: closer ones may stay undecided"
    else:
        sentence = f"{people_text} may stay undecided even if all agree"
    ways = [f"take ε = {own_forecast.price:g} ({own_forecast.by})"] if own_forecast.price else []
    ways += [f"{each.trust} (ε = {each.price:.3g})" for each in other_forecasts if each.price]
    return f"{sentence}. For {_results(own_forecast, AIM)} {', or '.join(ways)}." if ways else f"{sentence}."


def _results(forecast: Forecast, share: float) -> str:
    """Describe results with at least a margin; as yes : no if more than one half passes."""
    percent = math.ceil(100 * share - _ROUNDING)
    ratio = f" ({50 + percent} : {50 - percent})" if forecast.most == _HALF else ""
    return f"margins of {percent} %{ratio} and more"
