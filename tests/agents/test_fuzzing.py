"""Strangers and parties that send anything, cut anyhow, while a vote is held: it is held.

What Hypothesis has found before, and what was found by hand, is kept in `CORPUS` and tried first.
"""

import contextlib
from collections.abc import Sequence
from typing import Final

import trio
import trio.testing
from helpers import raw
from hypothesis import example, given, settings
from hypothesis import strategies as st
from peers import INPUTS, NAMES, VOTE, Session, hello, inquiry, make_client, report, simulation
from psephos.agents import CloudServer
from psephos.protocol.messages import MAX_GREETING_BYTES, Abort, Release, Welcome, encode
from psephos.protocol.roster import Roster
from psephos.protocol.rules import SessionRules
from psephos.transports import TCPTransport, encode_frames
from psephos.transports.addresses import parse_address
from thoroughness import draws

TWO_OF_THREE: Final = SessionRules(deadline_seconds=30.0, quorum=2)
MESSAGES: Final = (
    hello("alice"),
    hello("carol"),
    hello("mallory"),
    hello("carol", session="another"),
    inquiry("carol"),
    inquiry("mallory"),
    report(0, 1),
    report(1, 0, 1),
    report(-1, 1),
    encode(Welcome.make(VOTE)),
    encode(Release(raw({}))),
    encode(Abort("enough")),
)
"""What a stranger may have from anywhere; one of them is carol's own Hello."""

CORPUS: Final[Sequence[Sequence[bytes]]] = (
    (b"\x00\x10\x00\x00" + bytes(4096),),  # half a frame of a megabyte
    ((MAX_GREETING_BYTES).to_bytes(4, "big") + bytes(MAX_GREETING_BYTES - 1),),
    ((MAX_GREETING_BYTES + 1).to_bytes(4, "big"),),
    (encode_frames([b""] * 5000),),  # frames of nothing
    (encode_frames([b"\x93\x04\x00" + b"\x91" * 2000 + b"\xc0"]),),  # nested
    (encode_frames([hello("carol")]) + b"\xff\xff\xff\xff",),
    (encode_frames([hello("carol"), *[report(0, 1)] * 300]),),
    (encode_frames([inquiry("carol")] * 3),),
    (encode_frames([b"\x97\x01\xc4"]),),
    (b"GET / HTTP/1.1\r\n\r\n",),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",),  # a greeting in TLS
)


def streams() -> st.SearchStrategy[bytes]:
    """Return what one connection sends: messages, damaged or not, and bytes of no meaning."""
    damaged = st.tuples(st.sampled_from(MESSAGES), st.integers(0, 200), st.binary(max_size=4)).map(
        lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] + len(parts[2]) :]
    )
    payloads = st.lists(st.sampled_from(MESSAGES) | damaged | st.binary(max_size=30), max_size=5)
    return st.tuples(payloads.map(encode_frames), st.binary(max_size=20)).map(b"".join)


@settings(max_examples=draws(6, full=200), deadline=None)
@given(st.lists(streams(), min_size=1, max_size=6))
@example(CORPUS[0])
@example(CORPUS[1])
@example(CORPUS[2])
@example(CORPUS[3])
@example(CORPUS[4])
@example(CORPUS[5])
@example(CORPUS[6])
@example(CORPUS[7])
@example(CORPUS[8])
@example(CORPUS[9])
@example(CORPUS[10])
def test_a_vote_is_held_whatever_others_send(sent: Sequence[bytes]) -> None:
    trio.run(_hold_a_vote_among, sent, clock=trio.testing.MockClock(autojump_threshold=0.02))


async def _hold_a_vote_among(sent: Sequence[bytes]) -> None:
    mode, transport = simulation(), TCPTransport()
    server = CloudServer(VOTE, Roster(NAMES, INPUTS.public), mode, rules=TWO_OF_THREE)
    with trio.fail_after(10_000):
        async with await transport.open_listener() as listening, trio.open_nursery() as nursery:
            session = Session(server, listening, transport, nursery)
            nursery.start_soon(session.serve)
            for name in ("alice", "bob"):  # they have joined before anybody speaks in their names
                await nursery.start(session.take_part, name, make_client(name, mode))
            while server.progress[1] != 2:  # noqa: ASYNC110  who joins sets no event; those two
                await trio.sleep(0.01)
            for data in sent:
                nursery.start_soon(_say, listening.address, data)
    assert session.failure is None
    assert session.result is not None
    assert set(session.result.num_received) <= {2, 3}
    assert session.endings == {"alice": session.result.outcome, "bob": session.result.outcome}


async def _say(address: str, data: bytes) -> None:
    with contextlib.suppress(OSError, trio.BrokenResourceError):
        async with await trio.open_tcp_stream(*parse_address(address)) as stream:
            for at in range(0, len(data), 1000):
                await stream.send_all(data[at : at + 1000])
            while await stream.receive_some():
                pass
