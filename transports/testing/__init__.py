"""A conformance suite for the authors of transports, for any test runner.

    import trio
    from psephos.transports.testing import check_transport

    def test_pigeons_keep_the_contract():
        trio.run(check_transport, PigeonTransport)

Every rule in `psephos.transports.abc` is checked, for both ends of a channel. A transport that passes may still be
wrong. If it fails, the message names the one of `PROMISES` that it broke.
"""

from collections.abc import Callable
from typing import Final

import trio

from ..abc import Transport
from ..framing import MAX_FRAME_BYTES
from ..promises import check_promise, sentence_of
from .channels import CHANNEL_CHECKS
from .listeners import LISTENER_CHECKS
from .pairs import Sizes, open_pair

__all__ = ["PROMISES", "check_transport"]

PROMISES: Final = tuple(sentence_of(check) for check in (*CHANNEL_CHECKS, *LISTENER_CHECKS))
"""The checked promises, in this order."""


async def check_transport(
    make_transport: Callable[[], Transport],
    *,
    max_payload_bytes: int = MAX_FRAME_BYTES,
    flood_bytes: int = 1 << 25,
    patience_seconds: float = 60.0,
) -> None:
    """Check that a transport keeps the contract of `psephos.transports.abc`.

    Args:
        make_transport: returns a new transport; called many times.
        max_payload_bytes: the greatest payload that the transport takes.
        flood_bytes: a number of bytes that exceeds all buffers of a channel (including those of the operating system).
        patience_seconds: the time after which a check counts as stuck.

    Raises:
        AssertionError: the transport breaks a promise; the message begins with it.
    """
    sizes = Sizes(max_payload_bytes, flood_bytes)
    for channel_check in CHANNEL_CHECKS:
        for is_flipped in (False, True):
            with check_promise(sentence_of(channel_check)), trio.fail_after(patience_seconds):
                async with open_pair(make_transport, is_flipped=is_flipped) as (near, far):
                    await channel_check(near, far, sizes)
    for listener_check in LISTENER_CHECKS:
        with check_promise(sentence_of(listener_check)), trio.fail_after(patience_seconds):
            transport = make_transport()
            async with await transport.open_listener() as listener:
                await listener_check(transport, listener)
