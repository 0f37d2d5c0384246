"""Claims held against what is found: worked by hand, and on one page with files."""

import math

import numpy as np
import pytest
from psephos.protocol.errors import ConfigurationError
from psephos.scenarios.experiments.calibration import check_calibration, claims_of


def test_claims_are_counted_in_all_and_in_the_tail() -> None:
    """Four claims of 1.06 errors in all with a variance of .4762; of two small ones none is wrong."""
    claims = claims_of(np.array([0.01, 0.04, 0.5, 0.51]), np.array([False, False, True, True]))
    assert (claims.number, claims.small_number) == (4, 2)
    assert claims.claimed == pytest.approx(0.265)
    assert claims.found == 0.5
    assert claims.deviation == pytest.approx((2 - 1.06) / math.sqrt(0.0099 + 0.0384 + 0.25 + 0.2499))
    assert claims.small_claimed == pytest.approx(0.025)
    assert claims.small_found == 0.0
    assert claims.small_deviation == pytest.approx(-0.05 / math.sqrt(0.0483))


def test_no_claim_has_no_mean_and_certain_ones_no_spread() -> None:
    nothing = claims_of(np.array([]), np.array([], dtype=np.bool_))
    assert nothing.number == 0
    assert math.isnan(nothing.claimed)
    assert claims_of(np.array([0.0, 0.0]), np.array([False, False])).deviation == 0
    assert claims_of(np.array([0.0, 0.0]), np.array([False, True])).deviation == math.inf


@pytest.mark.parametrize(
    ("name", "trials", "field"), [("nobody", 100, "system"), ("all", 9, "--trials"), ("all", 10**7, "--trials")]
)
def test_what_cannot_be_asked_for_is_refused_by_name(name: str, trials: int, field: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        check_calibration(name, trials=trials)
    assert refused.value.field == field
