"""Expectations of checks about calls and payloads; any other result is an AssertionError that names it."""

import contextlib
from collections.abc import Generator, Sequence
from typing import Final

import trio
import trio.testing

from ..abc import Channel
from ..promises import require

# If nothing happens for this real time, the started call is waiting.
_QUIET_SECONDS: Final = 0.01
_SHOWN_BYTES: Final = 32


@contextlib.contextmanager
def raises(kinds: type[Exception] | tuple[type[Exception], ...], complaint: str) -> Generator[None]:
    """Check that the block raises one of these."""
    allowed = " or ".join(kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
    try:
        yield
    except kinds:
        return
    except Exception as error:
        raise AssertionError(f"{complaint} raised {error!r} instead of {allowed}") from error
    raise AssertionError(f"{complaint} raised nothing instead of {allowed}")


@contextlib.contextmanager
def checkpoint(complaint: str) -> Generator[None]:
    """Check that the block passes a checkpoint."""
    try:
        with trio.testing.assert_checkpoints():
            yield
    except AssertionError:
        raise AssertionError(f"{complaint} was no checkpoint") from None


async def let_everything_wait() -> None:
    """Return when every task waits and nothing happens any more."""
    await trio.testing.wait_all_tasks_blocked(_QUIET_SECONDS)


async def take_steps(number: int) -> None:
    """Let other tasks run this often."""
    for _step in range(number):
        await trio.lowlevel.checkpoint()


async def cancel_soon(scope: trio.CancelScope, num_steps: int) -> None:
    """Cancel after these steps, wherever the scope's task is by then."""
    await take_steps(num_steps)
    scope.cancel()


async def expect(channel: Channel, expected: Sequence[bytes]) -> None:
    """Receive until the end of the channel; exactly these payloads must arrive."""
    payloads: list[bytes] = []
    while True:
        try:
            payloads += await receive_from(channel)
        except trio.EndOfChannel:
            break
        compare(payloads, expected, is_complete=False)
    compare(payloads, expected)


async def expect_next(channel: Channel, expected: Sequence[bytes]) -> None:
    """Receive these payloads, and nothing with them."""
    payloads: list[bytes] = []
    while len(payloads) < len(expected):
        try:
            payloads += await receive_from(channel)
        except trio.EndOfChannel:
            break
    compare(payloads, expected)


async def receive_from(channel: Channel) -> list[bytes]:
    """Receive at least one payload."""
    payloads = await channel.receive()
    require(payloads, f"receive returned {payloads!r}")
    return payloads


def compare(payloads: Sequence[bytes], expected: Sequence[bytes], *, is_complete: bool = True) -> None:
    """Check that what has arrived is what was sent, or the beginning of it."""
    if list(payloads) != list(expected[: len(payloads)]):
        for place, (payload, sent) in enumerate(zip(payloads, expected, strict=False)):
            require(payload == sent, f"payload {place} was sent as {_show(sent)} and arrived as {_show(payload)}")
    num_lost = len(expected) - len(payloads)
    require(num_lost >= 0, f"{len(expected)} payloads were sent and {len(payloads)} arrived")
    require(not is_complete or not num_lost, f"{num_lost} of {len(expected)} payloads were lost")


def _show(payload: bytes) -> str:
    ellipsis = "" if len(payload) <= _SHOWN_BYTES else f" ... ({len(payload)} bytes)"
    return f"{payload[:_SHOWN_BYTES]!r}{ellipsis}"
