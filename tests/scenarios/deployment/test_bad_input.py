"""Bad peers of a server, on real sockets: who has no business there, faults, and partners that vanish or stall."""

import concurrent.futures
import struct
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bad_input import Psephos
from deployments import ENTRIES, PATIENCE, SEED, Peer, Serving, report, serving, write_vote
from psephos.agents.driver import LINGER_SECONDS
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


USUAL = Hello(PROTOCOL_VERSION, "vote", "dpwevote", "simulation", "cid", make_mode("vote", seed=SEED).charter.id)


def greeting(**fields: Any) -> bytes:
    """Return the frame of a Hello that differs from cid's in some fields."""
    return encode_frames([encode(msgspec.structs.replace(USUAL, **fields))])


OVERSIZED = struct.pack(">I", MAX_FRAME_BYTES + 1)
STRANGERS: dict[str, tuple[bytes, str | None]] = {
    "another version": (greeting(version=1), f"the server's version is {PROTOCOL_VERSION}, 'cid' came with 1"),
    "another session": (greeting(session="spring"), "the server's session is 'vote', 'cid' came with 'spring'"),
    "an earlier session": (greeting(session_id="0" * 32), "'cid' came with the id of another session"),
    "another protocol": (greeting(protocol="other"), "the server's protocol is 'dpwevote', 'cid' came with 'other'"),
    "another kind": (greeting(kind="deployment"), "the server's kind is 'simulation', 'cid' came with 'deployment'"),
    "a question of another version": (
        encode_frames([encode(Inquiry(1, "cid"))]),
        f"the server's version is {PROTOCOL_VERSION}, 'cid' came with 1",
    ),
    "nobody's name": (greeting(party="mallory"), NOT_ADMITTED),
    "nobody's name, another version": (greeting(party="mallory", version=1), NOT_ADMITTED),
    "a question in nobody's name": (encode_frames([encode(Inquiry(PROTOCOL_VERSION, "x"))]), NOT_ADMITTED),
    "a report before Hello": (encode_frames([encode(report(0, 1))]), NOT_ADMITTED),
    "garbage in a frame": (encode_frames([b"\xc1\xc1"]), NOT_ADMITTED),
    "nothing in a frame": (encode_frames([b""]), NOT_ADMITTED),
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
    assert cid.next_request().phase == 0
    return cid, heard


# What it sends, what is said of it, and how many weights count.
FAULTS: dict[str, tuple[bytes, str, int]] = {
    "a report in the wrong phase": (encode_frames([encode(report(1, 1))]), "sent a Report of phase 1 in state", 2),
    "a second, different report": (
        encode_frames([encode(report(0, 1)), encode(report(0, 2))]),
        "cid reported a second time in phase 'weights', and differently; the first stands",
        3,
    ),
    "a report out of range": (encode_frames([encode(report(0, 3))]), "is not what the phase declares", 2),
    "a report of too many values": (encode_frames([encode(report(0, 1, 1))]), "is not what the phase declares", 2),
    "Hello again": (greeting(), "'cid' has joined before", 2),
    "another's Hello": (greeting(party="ann"), "", 2),
    "garbage in a frame": (encode_frames([b"\xc1"]), "cid sent 1 bytes that are no message", 2),
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
    "a report in the wrong phase",
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


@pytest.mark.bad_input("the same report again")
def test_the_same_report_again_is_counted_once(vote: str) -> None:
    with serving(vote) as session:
        cid, heard = begin(session)
        with cid:
            cid.send(report(0, 2), report(0, 2))
            assert cid.next_request().phase == 1
            cid.send(report(0, 2), report(1, 1), report(1, 1))
            assert isinstance(cid.receive(), Release)
        check_decided(session, heard, num_received=(3, 3))
        assert sum(session.result().tallies[0].totals.tolist()) == 3
    assert not [effect for effect in session.effects if isinstance(effect, Drop)]


@pytest.mark.bad_input("a partner that vanishes")
@pytest.mark.parametrize("half", [b"", encode_frames([encode(report(0, 1))])[:-1]], ids=["between", "inside a frame"])
def test_a_partner_that_vanishes_is_not_waited_for(vote: str, half: bytes) -> None:
    with serving(vote, "deadline_seconds=1000") as session:
        cid, heard = begin(session)
        with cid:
            cid.send_bytes(half)
        check_decided(session, heard, num_received=(2, 2))


@pytest.mark.bad_input("a partner that stalls")
def test_a_partner_that_stalls_is_left_out_at_the_deadline(vote: str) -> None:
    with serving(vote, "deadline_seconds=1000") as session:
        cid, heard = begin(session)
        session.pass_deadline("weights", num_received=2)
        with cid:
            assert isinstance(cid.receive(), Release)
        check_decided(session, heard, num_received=(2, 2))


@pytest.mark.bad_input("a partner that stalls")
def test_a_partner_that_stalls_where_all_are_needed_ends_the_vote_on_every_side(vote: str) -> None:
    with serving(vote, "quorum=3", "deadline_seconds=1000") as session:
        cid, heard = begin(session)
        session.pass_deadline("weights", num_received=2)
        with cid:
            abort = cid.receive()
        assert isinstance(abort, Abort)
        assert (abort.phase, abort.missing) == ("weights", ("cid",))
        for ended in (*(each.exception(PATIENCE) for each in heard), session.failure()):
            assert str(ended) == abort.reason
    assert abort.reason == "phase 'weights' closed with 2 of the 3 parties that its quorum requires; missing: cid"


@pytest.mark.bad_input("a partner that never reads")
def test_a_partner_that_never_reads_holds_up_nobody(vote: str) -> None:
    with serving(vote, "deadline_seconds=1000") as session, session.connect() as cid:
        cid.hello("cid")
        heard = [session.join(name) for name in ("ann", "bob")]
        for number, phase in enumerate(("weights", "opinions")):
            session.wait_for(phase, num_received=2)
            cid.send(report(number, 1))
        concurrent.futures.wait(heard, PATIENCE)
        assert not session.has_ended  # it waits for cid to hang up
        session.pass_time(LINGER_SECONDS)
        check_decided(session, heard, num_received=(3, 3))
