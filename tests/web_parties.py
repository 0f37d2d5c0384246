"""Browsers that are played by hand: what a page does at its WebSocket before it says Hello, and all that it may do."""

import base64
import contextlib
import csv
import hashlib
import socket
import ssl
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Final, Self

import msgspec
import trio
import trio.testing
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from deployments import ENTRIES, write_vote
from psephos.agents import Partner
from psephos.agents.client import Client
from psephos.protocol import Party
from psephos.protocol.messages import SessionDescriptor
from psephos.protocol.session_flow import SessionResult
from psephos.scenarios import ServerRun, deployment, load_scenario, resolve_served
from psephos.scenarios.deployment import draw_session, enroll, read_enrollments, write_session
from psephos.scenarios.deployment.common import make_mode, with_descriptor
from psephos.scenarios.deployment.invitations import read_server_session
from psephos.scenarios.deployment.links import LINKS_FILE, draw_links, read_links, write_links
from psephos.scenarios.deployment.server import JOURNAL_FILE, open_sitting, roster_rows, serve
from psephos.scenarios.deployment.web import WebSite, open_site
from psephos.scenarios.running.folder import RunFolder
from psephos.transports import Channel
from psephos.transports.web import WebTransport
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, Request

CONTEXT: Final = b"psephos web party 1\0"
TITLE: Final = 'A </script><b>"vote"'
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


class Vote:
    """The vote of three, drawn up with links; its server runs in this test's own loop.

    Args:
        folder: where.
        enrolled: who has keys of its own.
        origin: of the links; by default the server's address.
    """

    def __init__(self, folder: Path, *, enrolled: tuple[str, ...] = (), origin: str = "") -> None:
        self.scenario = write_vote(folder)
        self.folder = folder / "vote"
        self.address = f"127.0.0.1:{free_port()}"
        self.keys = folder / "keys"
        for name in enrolled:
            enroll(name, self.keys / name)
        side = resolve_served(load_scenario(self.scenario))
        drawn = draw_session(
            side.protocol,
            side.roster,
            session="vote",
            kind=make_mode("vote", seed=None).kind,
            address="127.0.0.1:0",
            enrolled=read_enrollments(self.keys) if enrolled else None,
            has_links=True,
        )
        run = RunFolder(self.folder)
        run.write_table("roster.csv", roster_rows(side, drawn.roster), is_exact=True)
        write_session(self.folder, drawn)
        links = draw_links(
            side.protocol, drawn, origin=origin or f"http://{self.address}", title='A </script><b>"vote"'
        )
        write_links(self.folder, links)

    def browser(self, name: str) -> Browser:
        return Browser(links_in(self.folder / LINKS_FILE)[name])

    @property
    def side(self) -> ServerRun:
        return resolve_served(load_scenario(self.scenario), roster=self.folder)

    @contextlib.asynccontextmanager
    async def served(self) -> AsyncGenerator["Served"]:
        """Serve it, with its journal, until the block is left or the session ends."""
        table = read_links(self.folder)
        assert table is not None
        side = self.side
        opening, keys = read_server_session(
            self.folder, fingerprints=side.fingerprints or (), linked_fingerprints=table.fingerprints
        )
        site = open_site(self.folder, side.roster, self.address, origin=None, certificate=None, key=None)
        with site:
            serving = deployment.Serving(
                side=side,
                address="127.0.0.1:0",
                mode=make_mode("vote", seed=None),
                keys=keys,
                descriptor=opening.descriptor,
                journal=self.folder / JOURNAL_FILE,
                web=site,
            )
            with open_sitting(serving) as sitting:
                async with trio.open_nursery() as nursery:
                    served = Served(self, site, opening.descriptor)

                    async def run() -> None:
                        served.result = await serve(serving, sitting=sitting, on_listening=served.note)
                        served.ended.set()

                    nursery.start_soon(run)
                    await served.listening.wait()
                    yield served
                    nursery.cancel_scope.cancel()


class Served:
    """A server that runs."""

    def __init__(self, vote: Vote, site: WebSite, descriptor: SessionDescriptor) -> None:
        self.vote = vote
        self.site = site
        self.descriptor = descriptor
        self.listening, self.ended = trio.Event(), trio.Event()
        self.address = ""
        self.result: SessionResult | None = None

    def note(self, address: str) -> None:
        self.address = address
        self.listening.set()

    def client(self, browser: Browser) -> Client:
        """Return the party that goes on where a browser was let in: the same machine as any other's."""
        side = self.vote.side
        name = side.names[browser.place]
        inputs = side.protocol.encode({column: [entry] for column, entry in ENTRIES[name].items()})
        party = Party(name, browser.place, inputs.private[0].tolist())
        mode = with_descriptor(
            make_mode("vote", seed=None), msgspec.structs.replace(self.descriptor, roster=side.roster.digest)
        )
        return Partner(side.protocol, party, mode)

    async def take_part(self, browser: Browser) -> None:
        channel = await browser.connect()
        assert (await browser.greet(channel))[0] == SEAT
        await self.client(browser).take_part(channel)


def talk(secure: ssl.SSLSocket, host: str, browser: Browser) -> list[Any]:
    """Let a browser in over a socket of the standard library, by wsproto; return what the server says to it."""
    client = WSConnection(ConnectionType.CLIENT)
    origin = [(b"Origin", browser.origin.encode())]
    request = Request(host, "/session", subprotocols=["psephos"], extra_headers=origin)
    secure.sendall(client.send(request))
    heard: list[bytes] = []
    while True:
        client.receive_data(secure.recv(1 << 16))
        for event in client.events():
            if isinstance(event, BytesMessage):
                heard.append(bytes(event.data))
            else:
                assert isinstance(event, AcceptConnection)
                assert event.extensions == []
        if len(heard) == 1:
            nonce = msgspec.msgpack.decode(heard[0])[1]
            answer = browser.answer(nonce)
            secure.sendall(client.send(BytesMessage(msgspec.msgpack.encode(answer))))
            heard.append(b"")
        elif len(heard) == 3:
            return msgspec.msgpack.decode(heard[2])
