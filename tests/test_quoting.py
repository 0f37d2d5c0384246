"""That no test may quote what is private: planted sentences, each of which the watch of `conftest.py` finds."""

from collections.abc import Callable

import pytest
import quoting
from psephos.agents import events, server
from psephos.protocol.errors import PsephosError, RemoteProtocolError
from psephos.protocol.sides import Party

ROW = [3, 1, -123_456_789]
SECRET = bytes(range(1, 33))


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        (f"values must be in [0, 2], got {ROW}", "a private row"),
        (f"row {tuple(ROW)} is not encoded", "a private row"),
        (f"must be below 4, got {ROW[-1]}", "a private number"),
        (f"the key {SECRET.hex()} does not open", "a secret"),
        (f"the key {SECRET!r} does not open", "a secret"),
    ],
)
@pytest.mark.parametrize(
    "say",
    [
        PsephosError,
        lambda reason: RemoteProtocolError(reason, sender="ada"),
        lambda reason: events.log_unless_it_fails(print, "party_dropped", reason=reason),
        lambda reason: vars(server)["log_unless_it_fails"](print, "party_dropped", reason=reason),
    ],
)
def test_what_quotes_something_private_is_found(told: str, kind: str, say: Callable[[str], object]) -> None:
    Party("ada", 0, ROW, secret=SECRET)
    say("values must be in [0, 2]")
    assert not quoting.found()
    say(told)
    found = quoting.found()
    quoting.begin()  # or this test would fail by it
    assert found.endswith(f"quotes {kind}")
