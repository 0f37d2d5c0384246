"""What no refusal and no line of a log may quote: rows, secrets and roots of the parties of the same test.

Every error of ours passes `PsephosError`, every log `log_unless_it_fails`, every private row `Party`, and every root of
masks `MaskingParty`. A row is looked for where it has three numbers or more, not all alike; a number by itself where it
is so long that it is no limit that a sentence names.
"""

import functools
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from psephos.agents import events
from psephos.protocol.errors import PsephosError
from psephos.protocol.masking import MaskingParty
from psephos.protocol.sides import Party

_MOST: Final = 500  # rows, secrets and sentences that are kept of a test
_LEAST_ROW, _LEAST_BYTES, _LEAST_NUMBER = 3, 16, 10**7

_PUBLIC: Final = re.compile(r"public row \([^)]*\)")  # which may happen to have the numbers of a private one

_private: Final[dict[str, str]] = {}  # how it would be quoted → what it is
_said: Final[dict[str, None]] = {}


def begin() -> None:
    """Forget what other tests had."""
    _private.clear()
    _said.clear()


def found() -> str:
    """Return which sentence quotes what, or nothing."""
    quoted = (f"{text!r} quotes {kind}" for text in _said for own, kind in _private.items() if own in text)
    return next(quoted, "") if _private else ""


def watch() -> None:
    """Note from now on what parties hold and what is said."""
    _before(Party, "__init__", lambda given, named: _keep(given[3], named.get("secret", b"")))
    _before(MaskingParty, "__init__", lambda _, named: _keep((), named["root"]))
    _before(PsephosError, "__init__", lambda given, named: _say(*given[1:], **named))
    _before(events, "log_unless_it_fails", lambda given, named: _say(" ".join(map(str, (given[1], *named.values())))))


def _before(owner: Any, name: str, note: Callable[[Sequence[Any], Mapping[str, Any]], None]) -> None:
    right = getattr(owner, name)

    @functools.wraps(right)
    def noting(*args: Any, **given: Any) -> Any:
        note(args, given)
        return right(*args, **given)

    setattr(owner, name, noting)
    for module in list(sys.modules.values()):  # what has imported it by its name
        if getattr(module, name, None) is right:
            setattr(module, name, noting)


def _keep(row: Any, secret: bytes) -> None:
    if len(_private) >= _MOST:
        return
    numbers = [int(number) for number in row]
    if len(numbers) >= _LEAST_ROW and len({*numbers}) > 1:
        _private[", ".join(map(str, numbers))] = "a private row"
    for number in numbers:
        if abs(number) >= _LEAST_NUMBER and number & (number - 1):  # powers of two are limits
            _private[str(abs(number))] = "a private number"
    if len(secret) >= _LEAST_BYTES:
        _private[secret.hex()] = _private[repr(secret)[2:-1]] = "a secret"


def _say(reason: str) -> None:
    if len(_said) < _MOST:
        _said[_PUBLIC.sub("", reason)] = None
