"""Confidences that hold on average: what is kept of an estimator's own beyond chance."""

from typing import get_args

import numpy as np
import pytest
from psephos.protocol.truth_discovery import CREDITS, average_confidences
from psephos.protocol.truth_discovery.estimators import EstimatorName


def test_every_estimator_has_a_credit_and_none_more_than_it_claims() -> None:
    assert set(CREDITS) == set(get_args(EstimatorName)) - {"auto"}
    assert all(0 <= credit.least <= credit.average <= credit.most <= 1 for credit in CREDITS.values())
    assert all(credit.average > 0.4 for credit in CREDITS.values())


def test_a_confidence_is_drawn_towards_chance_by_hand() -> None:
    """Of 1, 1/2 and chance itself, with 2 and 4 labels; a task without answers has none."""
    credit = CREDITS["cautious"].average
    own = np.array([1.0, 0.5, 0.5, 0.25, 0.0, np.nan])
    sizes = np.array([2, 2, 4, 4, 2, 3])
    expected = [0.5 + credit / 2, 0.5, 0.25 + credit / 4, 0.25, 0.5 - credit / 2, np.nan]
    assert average_confidences("cautious", own, sizes).tolist() == pytest.approx(expected, nan_ok=True)


def test_a_share_of_votes_is_no_probability_and_stays() -> None:
    assert average_confidences("majority", np.array([0.7, 0.3]), np.array([2, 4])).tolist() == pytest.approx([0.7, 0.3])
