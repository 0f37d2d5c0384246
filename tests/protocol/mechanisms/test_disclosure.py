"""Disclosure: values as they are, at an infinite loss."""

import math

import numpy as np
import pytest
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import Disclosure
from psephos.protocol.privacy import NeighboringRelation, NonPrivate, PureAccountant


def test_every_value_is_reported_as_it_is() -> None:
    mechanism = Disclosure(3)
    values = np.arange(-3, 4)
    reports = mechanism.randomize(values, np.zeros((7, 1)))
    assert reports.tolist() == [-3, -2, -1, 0, 1, 2, 3]
    assert not np.shares_memory(reports, values)
    assert mechanism.randomize_rows(values.reshape(1, 7), np.ones((1, 7))).tolist() == [[-3, -2, -1, 0, 1, 2, 3]]
    assert mechanism.randomize_row([3, 0, -3], [0.0, 0.3, 0.9]) == [3, 0, -3]


@pytest.mark.parametrize("num_values", [0, 1, 4])
def test_one_row_of_any_width_costs_everything(num_values: int) -> None:
    event = Disclosure(9).event_of(num_values)
    assert event == Disclosure(9).event == NonPrivate()
    assert PureAccountant.epsilon_of(event, NeighboringRelation.REPLACE_ONE) == math.inf


@pytest.mark.parametrize("bound", [0, -1, 2**62])
def test_a_bound_out_of_range_is_refused(bound: int) -> None:
    with pytest.raises(ConfigurationError, match=r"bound is .*: use a value of at least 1 and below") as caught:
        Disclosure(bound)
    assert caught.value.field == "bound"
