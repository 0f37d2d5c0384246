"""What the tests of elections share: a profile small enough to be checked by hand."""

import numpy as np
import pytest
from psephos.protocol.fair_voting.rankings import Rankings, positions_of_orders
from psephos.scenarios.fair_voting.data.profile import Profile


@pytest.fixture
def profile() -> Profile:
    """Two groups of three and two voters: b > c > a, a > b > c, b > c > a; c > a > b, a > b > c."""
    orders = np.array([[1, 2, 0], [0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]])
    return Profile(
        alternatives=("a", "b", "c"),
        rankings=Rankings(positions_of_orders(orders)),
        groups=("north", "south"),
        members=np.array([0, 0, 0, 1, 1]),
        voters=("ann", "bob", "cat", "dan", "eve"),
        lines=(2, 3, 4, 5, 6),
        source="council.soc",
        note="5 of 5 voters",
    )
