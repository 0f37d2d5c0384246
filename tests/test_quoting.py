"""That no test may quote what is private: planted sentences, each of which the watch of `conftest.py` finds."""

import functools
from collections.abc import Callable
from types import ModuleType

import pytest
import quoting
from psephos.agents import events, server
from psephos.protocol.errors import PsephosError, RemoteProtocolError
from psephos.protocol.sides import Party

ROW = [3, 1, -123_456_789]
SECRET = bytes(range(1, 33))


def logging_of(module: ModuleType) -> Callable[[str], object]:
    """Return what logs a reason by the function that a module has."""

    def log(reason: str) -> object:
        return vars(module)["log_unless_it_fails"](print, "party_dropped", reason=reason)

    return log


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
        functools.partial(RemoteProtocolError, sender="ada"),
        logging_of(events),
        logging_of(server),
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
