"""Browsers that are played by hand: what a page does at its WebSocket before it says Hello, and all that it may do."""

import base64
import csv
import hashlib
import socket
from pathlib import Path
from typing import Any, Final, Self

import msgspec
import trio
import trio.testing
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from psephos.transports import Channel
from psephos.transports.web import WebTransport

CONTEXT: Final = b"psephos web party 1\0"
CHALLENGE, ENROLMENT, SEAT, ABORT = 20, 21, 22, 6


class Browser:
    """Somebody with a link.

    Args:
        link: as it was sent.
        address: of the server, where it is not the link's.

    Attributes:
        key: the device's own.
    """

    def __init__(self, link: str, *, address: str = "") -> None:
        page, _, fragment = link.partition("#")
        place, secret, digest = fragment.split(".")
        self.origin = page.removesuffix("/vote")
        self.address = address or self.origin.partition("://")[2]
        self.place = int(place)
        self.secret: bytes | None = base64.urlsafe_b64decode(secret + "==")
        self.terms = base64.urlsafe_b64decode(digest + "=")
        self.key = Ed25519PrivateKey.generate()

    async def connect(self) -> Channel:
        return await WebTransport(origin=self.origin).connect(self.address)

    def answer(self, challenge: bytes, **changes: Any) -> list[Any]:
        """Return what enrols, or is wrong in what is changed."""
        fields: dict[str, Any] = {"place": self.place, "secret": self.secret, "terms": self.terms, "nonce": challenge}
        fields |= {"origin": self.origin, "key": self.key} | changes
        about = hashlib.sha256(fields["origin"].encode()).digest()
        message = CONTEXT + fields["nonce"] + fields["terms"] + fields["place"].to_bytes(8, "big") + about
        key: Ed25519PrivateKey = fields["key"]
        public = key.public_key().public_bytes_raw()
        return [ENROLMENT, fields["place"], public, fields["secret"], key.sign(message)]

    async def greet(self, channel: Channel, **changes: Any) -> list[Any]:
        """Answer the challenge, and return what the server says to that."""
        tag, nonce = msgspec.msgpack.decode((await channel.receive())[0])
        assert (tag, len(nonce)) == (CHALLENGE, 32)
        await channel.send([msgspec.msgpack.encode(self.answer(nonce, **changes))])
        return msgspec.msgpack.decode((await channel.receive())[0])

    async def come(self, **changes: Any) -> list[Any]:
        """Connect, and return what the server says to the greeting; the connection ends."""
        async with await self.connect() as channel:
            return await self.greet(channel, **changes)

    def again(self) -> Self:
        """Forget the secret, as a page does once it was let in."""
        self.secret = None
        return self


def links_in(path: Path) -> dict[str, str]:
    """Return the links of a file for a mail merge, by name."""
    with path.open(encoding="utf-8", newline="") as file:
        return {row["name"]: row["link"] for row in csv.DictReader(file)}


def free_port() -> int:
    """Return a port of the loopback interface at which nobody listened just now."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


async def settle(seconds: float = 0.01) -> None:
    """Let everything happen that is to happen at once."""
    await trio.testing.wait_all_tasks_blocked(seconds)
