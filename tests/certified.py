"""Channels in memory whose server knows by whose certificate each was opened, as over TLS, and without its cost."""

import collections
from collections.abc import Sequence

from psephos.transports import Channel, Listener, MemoryTransport


class _CertifiedChannel(Channel):
    def __init__(self, inner: Channel, fingerprint: str) -> None:
        self._inner = inner
        self._fingerprint = fingerprint

    @property
    def peer(self) -> str:
        return self._inner.peer

    @property
    def peer_fingerprint(self) -> str:
        return self._fingerprint

    async def send(self, payloads: Sequence[bytes]) -> None:
        await self._inner.send(payloads)

    def send_nowait(self, payload: bytes) -> None:
        self._inner.send_nowait(payload)

    async def receive(self) -> list[bytes]:
        return await self._inner.receive()

    def limit_payloads(self, max_payload_bytes: int) -> None:
        self._inner.limit_payloads(max_payload_bytes)

    def close(self) -> None:
        self._inner.close()


class _CertifiedListener(Listener):
    def __init__(self, inner: Listener, fingerprints: collections.deque[str]) -> None:
        self._inner = inner
        self._fingerprints = fingerprints

    @property
    def address(self) -> str:
        return self._inner.address

    async def accept(self) -> Channel:
        channel = await self._inner.accept()
        return _CertifiedChannel(channel, self._fingerprints.popleft())

    async def aclose(self) -> None:
        await self._inner.aclose()


class CertifiedTransport(MemoryTransport):
    """A transport in memory by which each connection comes with a certificate, or without."""

    def __init__(self) -> None:
        super().__init__()
        self._fingerprints: collections.deque[str] = collections.deque()  # of those not accepted yet, in order

    async def open_listener(self, address: str | None = None) -> Listener:
        return _CertifiedListener(await super().open_listener(address), self._fingerprints)

    async def connect(self, address: str, *, fingerprint: str = "") -> Channel:
        """Connect by the certificate of this fingerprint; empty without one."""
        channel = await super().connect(address)  # which returns as soon as the listener has its end
        self._fingerprints.append(fingerprint)
        return channel
