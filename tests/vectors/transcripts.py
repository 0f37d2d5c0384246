"""Transcripts: messages as a client hears them, the bytes that are hashed, and the digest that people compare.

What is hashed is put together here from the bytes of messages alone, by no code of the product.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from psephos.protocol.messages import PROTOCOL_VERSION

TRANSCRIPTS: Final = "transcripts"
"""The name of their file."""
_pack: Final = msgspec.msgpack.encode
_WELCOME, _REQUEST, _RELEASE = 2, 3, 5
_CHARTER: Final = ("00112233445566778899aabbccddeeff", "5a" * 32, 2_000_000_000)
_EPSILON: Final = _pack({"epsilon": 1.0, "names": ["ada", "bob"]})
_QUOTA: Final = _pack({"quota": 1.5})
_OUTCOME: Final = _pack({"margin": -2.0, "passes": False})
_FLOAT, _SINGLE, _INTEGER = bytes.fromhex("cb3ff0000000000000"), bytes.fromhex("ca3f800000"), b"\x01"
"""1.0 as all our writers have it, the same in half the bytes, and 1."""


def _welcome(parameters: bytes, *, descriptor: Sequence[Any] = _CHARTER, public: Sequence[int] = ()) -> bytes:
    return _pack([_WELCOME, PROTOCOL_VERSION, msgspec.Raw(parameters), public, descriptor])


def _request(step: int, payload: bytes, *own: Any) -> bytes:
    return _pack([_REQUEST, step, msgspec.Raw(payload), *own])


def _release(payload: bytes, own: Any = None, *, is_late: bool = False) -> bytes:
    return _pack([_RELEASE, msgspec.Raw(payload), own, is_late])


def _heard(*, parameters: bytes = _EPSILON, outcome: bytes = _QUOTA, release: bytes = _OUTCOME) -> list[bytes]:
    return [_welcome(parameters), _request(0, _pack(None)), _request(1, outcome), _release(release)]


def transcripts() -> list[dict[str, Any]]:
    """Return what is in the file, as plain data."""
    whole = _heard()
    numbers = {"least": -(1 << 63), "greatest": (1 << 64) - 1, "tiny": 5e-324, "zero": -0.0}
    of_all = (*whole[:2], _request(1, _QUOTA, {"own": 1}), _release(_OUTCOME, {"own": 1}, is_late=True))
    return [
        _case("Two steps.", whole),
        _case("Without what a client has chosen, and of another session.", whole, session="a"),
        _case("Names of several bytes a letter.", whole, session="Ψῆφος 投票"),
        _case("Of a simulation.", whole, kind="simulation"),
        _case("1.0 in a payload, as a float of 64 bits.", _heard(outcome=b"\x81\xa5quota" + _FLOAT)),
        _case("1 in its place: another digest.", _heard(outcome=b"\x81\xa5quota" + _INTEGER)),
        _case("1.0 as a float of 32 bits: yet another.", _heard(outcome=b"\x81\xa5quota" + _SINGLE)),
        _case("1 in two bytes: yet another.", _heard(outcome=b"\x81\xa5quota\xcc\x01")),
        _case("1.0 in the parameters.", _heard(parameters=b"\x81\xa7epsilon" + _FLOAT)),
        _case("1 in its place.", _heard(parameters=b"\x81\xa7epsilon" + _INTEGER)),
        _case("1.0 in the release.", _heard(release=b"\x81\xa6margin" + _FLOAT)),
        _case("1 in its place.", _heard(release=b"\x81\xa6margin" + _INTEGER)),
        _case("Keys in another order.", _heard(release=_pack({"passes": False, "margin": -2.0}))),
        _case("Numbers at the ends of their ranges.", _heard(parameters=_pack(numbers))),
        _case(
            "A session that does not expire, without a roster.",
            [_welcome(_EPSILON, descriptor=("", "", 0)), *whole[1:]],
        ),
        _case("An expiry of more than 32 bits.", [_welcome(_EPSILON, descriptor=(*_CHARTER[:2], 1 << 32)), *whole[1:]]),
        _case("What is for one alone counts for nothing.", [_welcome(_EPSILON, public=(2, 300)), *of_all[1:]]),
        _case(
            "A step in more bytes than it needs: what is around payloads is hashed in its shortest form.",
            [whole[0], b"\x93\x03\xcd\x00\x00\xc0", *whole[2:]],
        ),
        _case("Who was not asked everything has no digest.", [whole[0], whole[1], _release(_OUTCOME, is_late=True)]),
        _case("Nor has anybody before the release.", whole[:3]),
    ]


def _case(
    about: str,
    messages: Sequence[bytes],
    *,
    session: str = "council",
    protocol: str = "dpwevote",
    kind: str = "deployment",
    num_steps: int = 2,
) -> dict[str, Any]:
    parts = [len(word.encode()).to_bytes(8, "big") + word.encode() for word in (session, protocol, kind)]
    for message in messages:
        tag, *fields = msgspec.msgpack.decode(message, type=list[msgspec.Raw])
        match msgspec.msgpack.decode(tag):
            case 2:
                parts.append(_pack([_WELCOME, PROTOCOL_VERSION, fields[1], (), msgspec.msgpack.decode(fields[3])]))
            case 3:
                parts.append(_pack([_REQUEST, msgspec.msgpack.decode(fields[0]), fields[1]]))
            case _:
                parts.append(_pack([_RELEASE, fields[0], None, False]))
    is_whole = len(messages) == num_steps + 2
    hashed = b"".join(parts)
    return {
        "about": about,
        "session": session,
        "protocol": protocol,
        "kind": kind,
        "num_steps": num_steps,
        "messages": [message.hex() for message in messages],
        "hashed": hashed.hex() if is_whole else None,
        "digest": hashlib.sha256(hashed).hexdigest() if is_whole else None,
    }
