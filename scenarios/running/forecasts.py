"""Warn before a session is held if it can tell little at its price.

A system brings `forecasts` (`system.System`): of the session first, and then of sessions that trust somebody else. Each
depends on nobody's values. A session that nobody holds may not be allowed: that never refuses the one that is held
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
"""A session that tells margins of such a share of the whole is worth having, and nothing is said."""


_HALF: Final = 0.5
_ROUNDING: Final = 1e-9  # of shares: 3 of 10 is 30 %


@dataclasses.dataclass(frozen=True, kw_only=True)
class Forecast:
    """What a session can tell.

    Examples:
        >>> own = Forecast(epsilon=1.0, share=0.4, most=1.0, price=3.56, by="joint", whole="of all votes")
        >>> own.share > AIM
        True
    """

    trust: str = ""  # what to do to trust somebody, as words; empty for nobody
    epsilon: float  # what it costs a party in all
    share: float  # from which margin on a decision is wrong as often as a verdict at most, as a share of the whole
    most: float  # the greatest margin that there can be, likewise
    price: float | None  # ε in all at which `AIM` is told; None where none is known
    by: str  # which variant tells it at that price
    whole: str  # what shares are of, as words


Forecasts = Callable[[PhasedProtocol[Any, Any], Inputs], Sequence[Forecast]]
"""A system's part: protocol, the parties' rows → what is told, of the session itself first."""


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
    """Return what a session can tell, as a sentence, and what would tell more; empty where that is enough.

    Briefly, it is without what becomes of closer votes.
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
    """Return what margins of a share and more are, with yes and no where more than one half passes."""
    percent = math.ceil(100 * share - _ROUNDING)
    ratio = f" ({50 + percent} : {50 - percent})" if forecast.most == _HALF else ""
    return f"margins of {percent} %{ratio} and more"
