"""WebSockets, beyond what conformance checks of every transport."""

from psephos.transports.testing import check_transport
from psephos.transports.web import WebTransport


async def test_web_sockets_keep_the_contract() -> None:
    await check_transport(WebTransport)
