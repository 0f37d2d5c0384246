"""Verdicts: three answers, and the levels that a test may have."""

import math

import pytest
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.estimators import DEFAULT_LEVEL, Verdict, check_level


def test_a_verdict_is_one_of_three_in_plain_words() -> None:
    assert [verdict.value for verdict in Verdict] == ["passes", "fails", "too close to tell"]


@pytest.mark.parametrize("level", [1e-12, DEFAULT_LEVEL, 0.4999])
def test_a_level_between_nothing_and_a_coin_toss_is_taken(level: float) -> None:
    check_level(level)


@pytest.mark.parametrize("level", [0.0, -0.05, 0.5, 1.0, math.nan, math.inf])
def test_any_other_level_is_refused_by_name_and_value(level: float) -> None:
    with pytest.raises(ConfigurationError, match=r"level is .*: use a value above 0 and below 0\.5") as refused:
        check_level(level)
    assert refused.value.field == "level"
