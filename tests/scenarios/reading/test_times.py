"""Times and lengths of time as people write them."""

import datetime as dt

import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError
from psephos.scenarios.reading.times import read_period, read_time, say_period

DAY = 86_400


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7 days", 7 * DAY),
        ("1 week", 7 * DAY),
        ("1 day", DAY),
        ("1.5 hours", 5400),
        ("30minutes", 1800),
        ("2 Weeks", 14 * DAY),
    ],
)
def test_lengths_of_time_are_read(text: str, seconds: float) -> None:
    assert read_period(text, field="budget_period") == seconds


@pytest.mark.parametrize(
    "value", ["7", "0 days", "-1 days", "1 month", "a week", "", 7, None, "1e400 days", "9" * 400 + " days"]
)
def test_what_is_no_length_of_time_is_refused(value: object) -> None:
    with pytest.raises(ConfigurationError, match="'7 days'") as caught:
        read_period(value, field="budget_period")
    assert caught.value.field == "budget_period"


def test_a_misspelled_unit_is_told() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'week'"):
        read_period("2 weks", field="budget_period")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(7 * DAY, "7 days"), (14 * DAY, "2 weeks"), (DAY, "1 day"), (5400, "90 minutes"), (61, "61 seconds")],
)
def test_lengths_of_time_are_said(seconds: float, said: str) -> None:
    assert say_period(seconds) == said


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        (dt.date(2026, 1, 5), dt.datetime(2026, 1, 5, tzinfo=dt.UTC)),
        ("2026-01-05", dt.datetime(2026, 1, 5, tzinfo=dt.UTC)),
        ("2026-01-05 18:00", dt.datetime(2026, 1, 5, 18, tzinfo=dt.UTC)),
        ("2026-01-05T18:00:00+01:00", dt.datetime(2026, 1, 5, 17, tzinfo=dt.UTC)),
    ],
)
def test_moments_are_read(value: object, moment: dt.datetime) -> None:
    assert read_time(value, field="at") == moment


@pytest.mark.parametrize("value", ["soon", 5, dt.time(10), "2026-13-01", None])
def test_what_is_no_moment_is_refused(value: object) -> None:
    with refuses("at"):
        read_time(value, field="at")
