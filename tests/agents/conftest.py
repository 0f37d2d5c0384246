"""What tests of agents share."""

import pytest
import trio.testing
from peers import TRANSPORTS
from psephos.transports import Transport


@pytest.fixture
def clock() -> trio.testing.MockClock:
    """Return a clock that jumps to the next deadline when nothing has happened for a while, on sockets either."""
    return trio.testing.MockClock(autojump_threshold=0.03)


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> Transport:
    """Return a transport of each kind."""
    return request.param()
