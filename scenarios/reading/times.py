"""Times and lengths of time as people write them: `2026-01-05`, `2026-01-05T18:00:00+01:00`, `7 days`."""

import datetime as dt
import math
import re
from typing import Final

from ...protocol.errors import ConfigurationError, did_you_mean, require
from ...protocol.privacy.periods import check_period
from ..words import say_number

_SECONDS: Final = {"minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}


def read_period(value: object, *, field: str) -> float:
    """Return a number and a unit, minutes, hours, days or weeks, in seconds. Months differ in length, and are none.

    Examples:
        >>> read_period("7 days", field="window")
        604800.0
    """
    allowed = f"a number of {', '.join(f'{unit}s' for unit in _SECONDS)}, such as '7 days'"
    if not isinstance(value, str):
        raise ConfigurationError(field=field, value=value, allowed=allowed)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+?)s?\s*", value, re.ASCII | re.IGNORECASE)
    if match is None or match[2].lower() not in _SECONDS:
        hint = "" if match is None else did_you_mean(match[2].lower(), _SECONDS)
        raise ConfigurationError(field=field, value=value, allowed=allowed + hint)
    seconds = float(match[1]) * _SECONDS[match[2].lower()]
    require(0 < seconds < math.inf, field, value, allowed)
    return check_period(seconds, field=field)


def say_period(seconds: float) -> str:
    """Return a length of time in words, in the largest unit of which it has a whole number where there is one.

    Examples:
        >>> say_period(604_800.0), say_period(90.0)
        ('7 days', '90 seconds')
    """
    for unit in ("week", "day", "hour", "minute"):
        number = seconds / _SECONDS[unit]
        if number.is_integer() and not (unit == "week" and number == 1):  # "7 days" says what a window of a week is
            return f"{number:,.0f} {say_number(unit, f'{unit}s', int(number))}"
    return f"{seconds:g} seconds"


def read_time(value: object, *, field: str) -> dt.datetime:
    """Return a moment, TOML's or text of ISO 8601; a date is its first moment, and what names no offset is UTC.

    Examples:
        >>> read_time("2026-01-05T18:00:00+01:00", field="at").isoformat()
        '2026-01-05T18:00:00+01:00'
    """
    moment = value
    if isinstance(value, str):
        try:
            moment = dt.datetime.fromisoformat(value.strip())
        except ValueError:
            moment = None
    if isinstance(moment, dt.date) and not isinstance(moment, dt.datetime):
        moment = dt.datetime.combine(moment, dt.time())
    if not isinstance(moment, dt.datetime):
        allowed = "a date or a date and time, such as 2026-01-05 or 2026-01-05T18:00:00Z"
        raise ConfigurationError(field=field, value=value, allowed=allowed)
    return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment
