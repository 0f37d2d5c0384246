"""What strangers, and a party of the roster that is hostile, do to a server: as fast as one process can, without end.

    python tests/hostile.py HOST:PORT --attack NAME --number 1000

over TCP, or over TLS where `--invitation` names that of the hostile party, prints a line when it has done each attack
so often once, and goes on until it is ended.
"""

import argparse
import collections
import contextlib
import itertools
import os
import pathlib
import resource
import socket
import ssl
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from psephos.protocol.messages import MAX_GREETING_BYTES, PROTOCOL_VERSION, Hello, encode
from psephos.scenarios.deployment import Invitation, find_invitation
from psephos.scenarios.deployment.common import make_mode
from psephos.transports import encode_frames
from psephos.transports.addresses import parse_address
from psephos.transports.keys import make_identity, read_certificate

__all__ = [
    "ATTACKS_OVER_TCP",
    "ATTACKS_OVER_TLS",
    "BEGUN",
    "DONE",
    "PARTY",
    "SEED",
    "SESSION",
    "TAKES_SEAT",
    "client_hello",
]

SESSION: Final = "vote"
SEED: Final = 7
PARTY: Final = "mallory"
"""Of the roster, and hostile."""
BEGUN: Final = b"begun\n"
DONE: Final = b"done\n"

_CROWD: Final = 1_300
"""So many connections are held at a time."""
_GARBAGE: Final = encode_frames([b"\xc1 garbage"] * 1_000)
_MOST: Final = struct.pack(">I", MAX_GREETING_BYTES) + bytes(MAX_GREETING_BYTES)
"""A frame of zeros, as long as a Hello may be."""


class Target(NamedTuple):
    """Who is attacked.

    Args:
        address: the server's.
        contexts: over TLS, by whose certificate is shown.
    """

    address: tuple[str, int]
    contexts: Mapping[str, ssl.SSLContext]

    def connect(self, key: str) -> socket.socket:
        """Connect, and shake hands with a key of `contexts` if one is named."""
        connection = socket.create_connection(self.address, timeout=10)
        return self.contexts[key].wrap_socket(connection) if key else connection


Attack: TypeAlias = Callable[[Target], Iterator[object]]
"""Does what it does without end, and yields each time that it has done it."""


def client_hello(*, version: int = 0x0304, suite: int = 0) -> bytes:
    """Return how a client begins, in one record.

    Args:
        version: the greatest version of TLS that it speaks.
        suite: the one cipher suite that it offers; 0 for what OpenSSL offers.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    is_new = version == ssl.TLSVersion.TLSv1_3
    context.maximum_version = ssl.TLSVersion.TLSv1_3 if is_new else ssl.TLSVersion.TLSv1_2
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    record = bytearray(outgoing.read())
    at = 5 + 4  # of the legacy version, after the headers of the record and of the ClientHello
    if not is_new:
        struct.pack_into(">H", record, at, version)
    if suite:
        at += 2 + 32  # of the session's id, behind a nonce
        begin = at + 1 + record[at]
        (size,) = struct.unpack_from(">H", record, begin)
        record[begin + 2 : begin + 2 + size] = struct.pack(">H", suite) * (size // 2)
    return bytes(record)


def _hello() -> bytes:
    """Return what the hostile party says first."""
    own = make_mode(SESSION, seed=SEED).descriptor.id
    return encode_frames([encode(Hello(PROTOCOL_VERSION, SESSION, "dpwevote", "simulation", PARTY, own))])


def _hold(data: bytes, key: str = "") -> Attack:
    """Keep many connections on which something was said, and make new ones without a pause."""

    def attack(target: Target) -> Iterator[object]:
        held: collections.deque[socket.socket] = collections.deque()
        while True:
            with contextlib.suppress(OSError):
                held.append(target.connect(key))
                held[-1].sendall(data)
            if len(held) > _CROWD:
                held.popleft().close()
            yield

    return attack


def _drip(data: bytes, key: str = "") -> Attack:
    """Say something on many connections, a byte now and then on each."""

    def attack(target: Target) -> Iterator[object]:
        held: collections.deque[tuple[socket.socket, Iterator[int]]] = collections.deque()
        for count in itertools.count():
            with contextlib.suppress(OSError):
                if count < _CROWD or not held:
                    held.append((target.connect(key), iter(data)))
                connection, rest = held.popleft()
                try:
                    connection.sendall(bytes([next(rest)]))
                except (OSError, StopIteration):
                    connection.close()
                    connection, rest = target.connect(key), iter(data)
                held.append((connection, rest))
            yield

    return attack


def _say(data: bytes, key: str = "", *, hears: bool = False) -> Attack:
    """Connect, say something, and go, or hear the server out; and again."""

    def attack(target: Target) -> Iterator[object]:
        while True:
            with contextlib.suppress(OSError), target.connect(key) as connection:
                connection.sendall(data)
                while hears and connection.recv(1 << 16):
                    pass
            yield

    return attack


_STRANGERS: Final[Mapping[str, Attack]] = {
    "idle connections": _hold(b""),
    "garbage frames": _say(_GARBAGE),
    "a storm of connections": _say(b""),
}
ATTACKS_OVER_TCP: Final[Mapping[str, Attack]] = {
    **_STRANGERS,
    "half frames of 1 MiB": _hold(struct.pack(">I", 1 << 20) + bytes(1 << 16)),
    "half frames of 4 KB": _hold(_MOST[:-1]),
    "slow Hellos": _drip(_MOST),
    "garbage frames of a party that has joined": _say(_hello() + _GARBAGE * 100, hears=True),
}
"""Over TCP a stranger is whom it says it is."""
ATTACKS_OVER_TLS: Final[Mapping[str, Attack]] = {
    **_STRANGERS,
    "half a ClientHello": _hold(client_hello()[:100]),
    "a ClientHello and no more": _hold(client_hello()),
    "slow handshakes": _drip(client_hello()),
    "TLS 1.0": _say(client_hello(version=0x0301), hears=True),
    "TLS 1.1": _say(client_hello(version=0x0302), hears=True),
    "TLS 1.2": _say(client_hello(version=0x0303), hears=True),
    # TLS_AES_128_CCM_8_SHA256, whose tags are short: OpenSSL has it and offers it to nobody by itself.
    "a cipher that nobody offers": _say(client_hello(suite=0x1305), hears=True),
    "no certificate": _say(b"", "none", hears=True),
    "an unknown certificate": _say(b"", "unknown", hears=True),
    "garbage frames of a party": _say(_GARBAGE, "party", hears=True),
    "half frames of a party": _hold(_MOST[:-1], "party"),
    "slow Hellos of a party": _drip(_MOST, "party"),
    "garbage frames of a party that has joined": _say(_hello() + _GARBAGE * 100, "party", hears=True),
}
TAKES_SEAT: Final = frozenset({"garbage frames of a party that has joined"})
"""Attacks in which the hostile party says Hello, and so does not take part elsewhere."""


def _contexts_of(invitation: Invitation) -> dict[str, ssl.SSLContext]:
    """Return TLS towards a session's server without a certificate, with a foreign one, and with the party's."""
    contexts: dict[str, ssl.SSLContext] = {}
    for name, key in (("none", ""), ("unknown", make_identity().text), ("party", invitation.key)):
        context = contexts[name] = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(cadata=read_certificate(invitation.server)[0])
        if key:
            with tempfile.NamedTemporaryFile("w", encoding="ascii") as file:
                file.write(key)
                file.flush()
                context.load_cert_chain(file.name)
    return contexts


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", metavar="HOST:PORT")
    parser.add_argument("--attack", action="append", help="may be given several times (default: all)")
    parser.add_argument("--number", type=int, default=1000, help="how often each, before the next has its turn")
    parser.add_argument("--invitation", type=pathlib.Path, help="of the hostile party; without it, all is over TCP")
    asked = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    known, contexts = ATTACKS_OVER_TCP, dict[str, ssl.SSLContext]()
    if asked.invitation is not None:
        known, contexts = ATTACKS_OVER_TLS, _contexts_of(find_invitation(asked.invitation))
    target = Target(parse_address(asked.address), contexts)
    os.write(1, BEGUN)
    attacks = [known[name](target) for name in asked.attack or known]
    for turn in itertools.count():
        for attack in attacks:
            collections.deque(itertools.islice(attack, asked.number), maxlen=0)
        if not turn:
            os.write(1, DONE)


if __name__ == "__main__":
    _main()
