"""Bad peers of a server, on real sockets; those who vanish or stall are in agents/test_misbehaving_peers.py."""

import struct
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bad_input import Psephos
from deployments import ENTRIES, PATIENCE, SEED, Peer, Serving, report, serving, write_vote
from psephos.protocol.effects import Drop
from psephos.protocol.messages import (
    MAX_GREETING_BYTES,
    NOT_ADMITTED,
    PROTOCOL_VERSION,
    Abort,
    Hello,
    Inquiry,
    Release,
    encode,
)
from psephos.protocol.privacy import Ledger
from psephos.scenarios.deployment import find_invitation
from psephos.scenarios.deployment.common import make_mode
from psephos.transports.framing import MAX_FRAME_BYTES, encode_frames


@pytest.fixture
def vote(tmp_path: Path) -> str:
    """A vote of three partners of whom two suffice; its path."""
    return write_vote(tmp_path, lines="quorum = 2")


def check_decided(session: Serving, heard: list[Any], *, num_received: tuple[int, ...]) -> None:
    """Check that the session ended with so many reports, and that everybody heard the same outcome."""
    result = session.result()
    assert [each.result(PATIENCE) for each in heard] == [result.outcome] * len(heard)
    assert result.num_received == num_received


USUAL = Hello(PROTOCOL_VERSION, "vote", "dpwevote", "simulation", "cid", make_mode("vote", seed=SEED).descriptor.id)


def greeting(**fields: Any) -> bytes:
    """Return the frame of a Hello that differs from cid's in some fields."""
    return encode_frames([encode(msgspec.structs.replace(USUAL, **fields))])


OVERSIZED = struct.pack(">I", MAX_FRAME_BYTES + 1)
STRANGERS: dict[str, tuple[bytes, str | None]] = {
    "another version": (greeting(version=1), f"the server's version is {PROTOCOL_VERSION}, 'cid' came with 1"),
    "an earlier session": (greeting(session_id="0" * 32), "'cid' came with the id of another session"),
    "another protocol": (greeting(protocol="other"), "the server's protocol is 'dpwevote', 'cid' came with 'other'"),
    "a question of another version": (
        encode_frames([encode(Inquiry(1, "cid"))]),
        f"the server's version is {PROTOCOL_VERSION}, 'cid' came with 1",
    ),
    "nobody's name, another version": (greeting(party="mallory", version=1), NOT_ADMITTED),
    "a question in nobody's name": (encode_frames([encode(Inquiry(PROTOCOL_VERSION, "x"))]), NOT_ADMITTED),
    "an oversized frame": (OVERSIZED, NOT_ADMITTED),
    "a frame above what a greeting has": (struct.pack(">I", MAX_GREETING_BYTES + 1), NOT_ADMITTED),
    "another protocol altogether": (b"GET / HTTP/1.1\r\n\r\n", NOT_ADMITTED),
    "half a frame": (greeting()[:-1], None),
    "half a length": (b"\x00\x00", None),
    "nothing": (b"", None),
}


@pytest.mark.bad_input("a peer of another version, session or kind", "oversized, truncated or garbage frames")
@pytest.mark.parametrize("case", list(STRANGERS))
def test_who_does_not_belong_here_is_refused_and_the_vote_goes_on(vote: str, case: str) -> None:
    data, reason = STRANGERS[case]
    with serving(vote) as session:
        with session.connect() as stranger:
            stranger.send_bytes(data)
            if reason is None:
                stranger.stop_sending()
                assert stranger.last_message() is None
            else:
                assert stranger.refusal() == reason
        ledgers = {name: Ledger(name) for name in ENTRIES}
        heard = [session.join(name, ledger=ledger) for name, ledger in ledgers.items()]
        check_decided(session, heard, num_received=(3, 3))
    assert [ledger.spent for ledger in ledgers.values()] == [1.0] * 3
    refused = [event for event in session.events if event["event"] == "connections_refused"]
    assert [event["total"] for event in refused] == [1, 1] * (reason is not None)


@pytest.mark.bad_input("another's certificate, one that is on no roster, one that has expired")
@pytest.mark.parametrize("message", [Hello, Inquiry])
def test_anothers_certificate_is_refused_and_the_owner_can_still_come(
    psephos: Psephos, vote: str, message: type[Hello | Inquiry]
) -> None:
    assert psephos("roster", vote, "--simulate", "--make-keys", "--out", "drawn").status == 0
    invitations = {name: find_invitation(Path("drawn/invitations"), party=name) for name in ("ann", "bob", "cid")}
    with serving(vote, roster=Path("drawn")) as session:
        with session.connect(invitations["bob"].find_keys([])) as thief:
            if message is Hello:
                thief.hello("ann")
            else:
                thief.send(Inquiry(PROTOCOL_VERSION, "ann"))
            assert thief.refusal() == NOT_ADMITTED
        heard = [session.join(name, invitation=own) for name, own in invitations.items()]
        check_decided(session, heard, num_received=(3, 3))


def begin(session: Serving) -> tuple[Peer, list[Any]]:
    """Let all three join, cid by hand up to the first request; return cid, and the others' endings."""
    cid = session.connect()
    cid.hello("cid")
    heard = [session.join(name) for name in ("ann", "bob")]
    assert cid.next_request().step == 0
    return cid, heard


# What it sends, what is said of it, and how many weights count.
FAULTS: dict[str, tuple[bytes, str, int]] = {
    "a second, different report": (
        encode_frames([encode(report(0, 1)), encode(report(0, 2))]),
        "cid reported a second time in phase 'weights', and differently; the first stands",
        3,
    ),
    "an oversized frame": (OVERSIZED, f"the peer announced {MAX_FRAME_BYTES + 1}", 2),
    "an oversized frame for a report": (struct.pack(">I", 10_000), "the peer announced 10000", 2),
    "a report and an oversized frame": (
        encode_frames([encode(report(0, 1))]) + OVERSIZED,
        f"the peer announced {MAX_FRAME_BYTES + 1}",
        3,
    ),
}


@pytest.mark.bad_input(
    "oversized, truncated or garbage frames",
    "a second, different report",
)
@pytest.mark.parametrize("case", list(FAULTS))
def test_a_fault_ends_that_partner_alone_and_what_was_accepted_stands(vote: str, case: str) -> None:
    data, reason, num_weights = FAULTS[case]
    with serving(vote) as session:
        cid, heard = begin(session)
        with cid:
            cid.send_bytes(data)
            last = cid.last_message()
        check_decided(session, heard, num_received=(num_weights, 2))
    (dropped,) = [effect for effect in session.effects if isinstance(effect, Drop)]
    assert dropped.party == "cid"
    assert reason in str(dropped.error)
    if "oversized" in case:
        assert not isinstance(last, Release)
    else:
        assert last == Abort(reason=str(dropped.error))
