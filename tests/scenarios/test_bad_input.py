"""What bad input gets: a sentence with field, value and what is allowed, a status, and nothing half-done.

| item | tests |
|---|---|
| epsilon ≤ 0, nan, inf | `TABLE` here; protocol/dpwevote/test_parameters.py |
| a weight outside the public set; an opinion other than 0 or 1 | `TABLE`; test_parties.py (with the line); of a \
partner's own: deployment/test_client.py `test_an_entry_that_is_not_allowed_is_refused_by_its_column` |
| a missing, doubled or unknown partner or column, with its line | `TABLE`; test_parties.py; a roster's file: \
deployment/test_server.py `test_a_fault_in_a_rosters_file_is_named_with_its_line` |
| no partners, no candidates | `TABLE`; test_parties.py |
| quota ≤ 0 or above the total | `TABLE` |
| an unknown scenario, key or transport | `TABLE`; cli/test_cli.py; test_config.py |
| an unreachable or a taken address | cli/test_deployment.py `test_a_taken_address_is_named`, \
`test_without_a_folder_named_a_partner_gets_its_own_below_runs` |
| a peer of another version, session or kind; a wrong token | `STRANGERS` (to a server); \
deployment/test_client.py `test_a_server_whose_terms_are_none_is_blamed_and_nothing_is_paid`, \
`test_a_deployment_does_not_join_a_simulation` (to a client) |
| oversized, truncated or garbage frames | `STRANGERS`, `FAULTS`; agents/test_misbehaving_peers.py |
| a report in the wrong phase; a second, different one | `FAULTS` |
| the same report again | `test_the_same_report_again_is_counted_once` |
| a partner that vanishes | `test_a_partner_that_vanishes_is_not_waited_for` |
| a partner that stalls | `test_a_partner_that_stalls_is_left_out_at_the_deadline` |
| a partner that never reads | `test_a_partner_that_never_reads_holds_up_nobody` |
| Ctrl-C on either side | deployment/test_processes.py `test_ctrl_c_on_the_server_ends_every_client_with_one_line`, \
`test_ctrl_c_on_a_client_leaves_what_it_paid_and_the_vote_goes_on`; `run`: test_run.py |
"""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from deployments import ENTRIES, PATIENCE, Peer, Serving, report, serving, write_vote
from psephos.agents import server as server_module
from psephos.protocol.effects import Drop
from psephos.protocol.messages import PROTOCOL_VERSION, Abort, Hello, Inquiry, Release, encode
from psephos.protocol.privacy import Ledger
from psephos.scenarios.deployment import find_invitation
from psephos.transports.framing import MAX_FRAME_BYTES, encode_frames

Psephos = Callable[..., Any]
Write = Callable[[str, str | bytes], Path]

# The command line: a file of partners and settings, and what the sentence has.

FINE = "partner,weight,merger\nann,1,1\nbob,3,0\n"
TABLE: dict[str, tuple[str, list[str], list[str]]] = {
    "epsilon of 0": (FINE, ["epsilon=0"], ["epsilon must be", "got 0"]),
    "epsilon below 0": (FINE, ["epsilon=-1"], ["epsilon must be", "got -1"]),
    "epsilon that is no number": (FINE, ["epsilon=nan"], ["epsilon must be", "got nan"]),
    "epsilon without end": (FINE, ["epsilon=inf"], ["epsilon must be", "got inf"]),
    "epsilon of text": (FINE, ["epsilon=much"], ["epsilon must be", "a number", "got 'much'"]),
    "epsilon of weights alone, of 0": (
        FINE,
        ["epsilon_weight=0", "epsilon_opinion=1", "parameters.epsilon=1"],
        ["epsilon_weight must be", "got 0"],
    ),
    "a weight outside the set": (
        "partner,weight,merger\nann,1,1\nbob,4,0\n",
        [],
        ["weight (own.csv line 3) must be one of 1, 2, 3, got '4'"],
    ),
    "an opinion of 2": (
        "partner,weight,merger\nann,1,2\n",
        [],
        ["merger (own.csv line 2) must be one of 0, 1, got '2'"],
    ),
    "an opinion in words": ("partner,weight,merger\nann,1,yes\n", [], ["merger (own.csv line 2)", "0, 1, got 'yes'"]),
    "a partner twice": (
        "partner,weight,merger\nann,1,1\nbob,1,1\nann,2,1\n",
        [],
        ["partner (own.csv line 4) must be named once (it is also in line 2), got 'ann'"],
    ),
    "a partner without a name": ("partner,weight,merger\n,1,1\n", [], ["partner (own.csv line 2)", "got ''"]),
    "an entry too few": ("partner,weight,merger\nann,1\n", [], ["own.csv line 2 must be 3 entries"]),
    "no column of partners": (
        "weight,merger\n1,1\n",
        [],
        ["own.csv line 1 must be a header with the column 'partner'"],
    ),
    "no column of weights": ("partner,merger\nann,1\n", [], ["weight (own.csv line 1) must be a column of the table"]),
    "no column of public weights": (
        "partner,merger\nann,1\n",
        ["public_weights=true"],
        ["weight (own.csv line 1) must be a column of the table"],
    ),
    "no column of a candidate": (
        FINE,
        ["candidates=['merger', 'move']"],
        ["move (own.csv line 1) must be a column of the table"],
    ),
    "a column twice": ("partner,weight,merger,merger\nann,1,1,1\n", [], ["own.csv line 1", "distinct", "got 'merger'"]),
    "an unknown column": (
        "partner,weight,merger,marger\nann,1,1,0\n",
        ["candidates=['merger']"],
        ["marger (own.csv line 1) must be left out: the columns are", "weight, merger", "got 'an unknown column'"],
    ),
    "no partners": ("partner,weight,merger\n", [], ["partners must be a file with at least one partner"]),
    "nothing at all": ("", [], ["own.csv line 1 must be a header with the column 'partner'"]),
    "no candidates": ("partner,weight\nann,1\n", [], ["candidates must be 1 to 1000 distinct names, got []"]),
    "no candidates by a setting": (FINE, ["candidates=[]"], ["candidates must be 1 to 1000 distinct names, got []"]),
    "a quota of 0": (FINE, ["quota=0"], ["quota must be", "got 0"]),
    "a quota below 0": (FINE, ["quota=-5"], ["quota must be", "got -5"]),
    "a quota above what all can weigh": (FINE, ["quota=6.5"], ["quota must be at most", ", 6, got 6.5"]),
    "a quota above the public total": (
        FINE,
        ["quota=4.5", "public_weights=true"],
        ["quota must be at most the weight of all partners, 4, got 4.5"],
    ),
    "a quota above the whole": (FINE, ["quota_fraction=1.5"], ["quota_fraction must be", "got 1.5"]),
    "an unknown key": (FINE, ["epsilom=2"], ["--set must be one of", "did you mean 'epsilon'?", "got 'epsilom'"]),
    "an unknown transport": (FINE, ["transport=pigeon"], ["transport must be", "memory", "tcp", "got 'pigeon'"]),
    "an unknown protocol": (FINE, ["protocol=dpwevot"], ["protocol must be", "dpwevote", "got 'dpwevot'"]),
}


NO_BUSINESS_OF_A_ROSTER = {
    "a weight outside the set",
    "an opinion of 2",
    "an opinion in words",
    "no column of weights",
    "no column of a candidate",
    "an unknown transport",
}


@pytest.mark.parametrize("command", ["run", "roster"])
@pytest.mark.parametrize("case", list(TABLE))
def test_wrong_input_gets_one_sentence_status_2_and_no_folder(
    psephos: Psephos, write: Write, case: str, command: str
) -> None:
    content, settings, words = TABLE[case]
    if command == "roster" and case in NO_BUSINESS_OF_A_ROSTER:
        pytest.skip("private columns, and how a run's messages travel, are none of a roster's business")
    write("own.csv", content)
    options = [word for setting in settings for word in ("--set", setting)]
    write("own.toml", 'protocol = "dpwevote"\npartners = "own.csv"\n')
    ended = psephos(command, "own.toml", *options, "--out", "out")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("psephos: ")
    assert ended.err.count("\n") == 1
    for word in words:
        assert word in ended.err
    assert not Path("out").exists()


def test_an_unknown_scenario_is_answered_with_those_that_there_are(psephos: Psephos) -> None:
    for command, more in (("run", ()), ("serve", ("--listen", "127.0.0.1:0")), ("roster", ())):
        ended = psephos(command, "consortum", *more, "--out", "out")
        assert (ended.status, ended.out) == (2, "")
        assert ended.err.startswith("psephos: scenario must be a file, or one of consortium, ")
        assert ended.err.endswith(", got 'consortum'\n")
        assert not Path("out").exists()


# Peers of a server, on real sockets.


@pytest.fixture
def vote(tmp_path: Path) -> str:
    """A vote of three partners of whom two suffice; its path."""
    return write_vote(tmp_path, lines="quorum = 2")


def check_decided(session: Serving, heard: list[Any], *, num_received: tuple[int, ...]) -> None:
    """Check that the session ended with so many reports, and that everybody heard the same outcome."""
    result = session.result()
    assert [each.result(PATIENCE) for each in heard] == [result.outcome] * len(heard)
    assert result.num_received == num_received


USUAL = Hello(PROTOCOL_VERSION, "vote", "dpwevote", "simulation", "cid")


def greeting(**fields: Any) -> bytes:
    """Return the frame of a Hello that differs from cid's in some fields."""
    return encode_frames([encode(msgspec.structs.replace(USUAL, **fields))])


OVERSIZED = struct.pack(">I", MAX_FRAME_BYTES + 1)
STRANGERS: dict[str, tuple[bytes, str | None]] = {
    "another version": (greeting(version=1), f"version is {PROTOCOL_VERSION}, 'cid' came with 1"),
    "another session": (greeting(session="spring"), "is 'vote', 'cid' came with 'spring'"),
    "another protocol": (greeting(protocol="other"), "protocol is 'dpwevote', 'cid' came with 'other'"),
    "another kind": (greeting(kind="deployment"), "kind is 'simulation', 'cid' came with 'deployment'"),
    "nobody's name": (greeting(party="mallory"), "'mallory' is not on the roster"),
    "a question of another version": (
        encode_frames([encode(Inquiry(1, "cid"))]),
        f"version is {PROTOCOL_VERSION}, 'cid' came with 1",
    ),
    "a question in nobody's name": (
        encode_frames([encode(Inquiry(PROTOCOL_VERSION, "x"))]),
        "'x' is not on the roster",
    ),
    "a report before Hello": (encode_frames([encode(report(0, 1))]), "began with Report instead of Hello"),
    "garbage in a frame": (encode_frames([b"\xc1\xc1"]), "2 bytes that are no message"),
    "nothing in a frame": (encode_frames([b""]), "0 bytes that are no message"),
    "an oversized frame": (OVERSIZED, f"a payload may have {MAX_FRAME_BYTES} bytes, the peer announced"),
    "another protocol altogether": (b"GET / HTTP/1.1\r\n\r\n", f"a payload may have {MAX_FRAME_BYTES} bytes"),
    "half a frame": (greeting()[:-1], None),
    "half a length": (b"\x00\x00", None),
    "nothing": (b"", None),
}


@pytest.mark.parametrize("case", list(STRANGERS))
def test_who_does_not_belong_here_is_told_why_and_the_vote_goes_on(vote: str, case: str) -> None:
    data, reason = STRANGERS[case]
    with serving(vote) as session:
        with session.connect() as stranger:
            stranger.send_bytes(data)
            if reason is None:
                stranger.stop_sending()
                assert stranger.last_message() is None
            else:
                assert reason in stranger.refusal()
        ledgers = {name: Ledger(name) for name in ENTRIES}
        heard = [session.join(name, ledger=ledger) for name, ledger in ledgers.items()]
        check_decided(session, heard, num_received=(3, 3))
    assert [ledger.spent for ledger in ledgers.values()] == [1.0] * 3
    refused = [event for event in session.events if event["event"] == "connection_refused"]
    assert [reason in event["reason"] for event in refused] == [True] * (reason is not None)


@pytest.mark.parametrize(
    ("token", "reason"), [("wrong", "'ann' came with a token that is not its own"), ("", "'ann' came with no token")]
)
@pytest.mark.parametrize("message", [Hello, Inquiry])
def test_a_wrong_token_is_refused_and_its_owner_can_still_come(
    psephos: Psephos, vote: str, token: str, reason: str, message: type[Hello | Inquiry]
) -> None:
    assert psephos("roster", vote, "--simulate", "--out", "drawn").status == 0
    invitations = {name: find_invitation(Path("drawn/invitations"), party=name) for name in ("ann", "bob", "cid")}
    with serving(vote, roster=Path("drawn/roster.csv")) as session:
        with session.connect() as thief:
            if message is Hello:
                thief.hello("ann", token=token)
            else:
                thief.send(Inquiry(PROTOCOL_VERSION, "ann", token))
            assert thief.refusal() == reason
        heard = [session.join(name, invitation=own) for name, own in invitations.items()]
        check_decided(session, heard, num_received=(3, 3))
    tokens = [own.token for own in invitations.values()]
    assert not any(token in repr(session.events) for token in [*tokens, "wrong"])


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
    "an oversized frame": (OVERSIZED, f"a payload may have {MAX_FRAME_BYTES} bytes", 2),
    "a report and an oversized frame": (
        encode_frames([encode(report(0, 1))]) + OVERSIZED,
        f"a payload may have {MAX_FRAME_BYTES} bytes",
        3,
    ),
}


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


@pytest.mark.parametrize("half", [b"", encode_frames([encode(report(0, 1))])[:-1]], ids=["between", "inside a frame"])
def test_a_partner_that_vanishes_is_not_waited_for(vote: str, half: bytes) -> None:
    with serving(vote, "deadline_seconds=1000") as session:
        cid, heard = begin(session)
        with cid:
            cid.send_bytes(half)
        check_decided(session, heard, num_received=(2, 2))


def test_a_partner_that_stalls_is_left_out_at_the_deadline(vote: str) -> None:
    with serving(vote, "phases.weights.deadline_seconds=1") as session:
        cid, heard = begin(session)
        with cid:
            assert isinstance(cid.receive(), Release)
        check_decided(session, heard, num_received=(2, 2))


def test_a_partner_that_stalls_where_all_are_needed_ends_the_vote_on_every_side(vote: str) -> None:
    with serving(vote, "quorum=3", "phases.weights.deadline_seconds=1") as session:
        cid, heard = begin(session)
        with cid:
            abort = cid.receive()
        assert isinstance(abort, Abort)
        assert (abort.phase, abort.missing) == ("weights", ("cid",))
        for ended in (*(each.exception(PATIENCE) for each in heard), session.failure()):
            assert str(ended) == abort.reason
    assert abort.reason == "phase 'weights' closed with 2 of the 3 parties that its quorum requires; missing: cid"


def test_a_partner_that_never_reads_holds_up_nobody(vote: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "LINGER_SECONDS", 0.2)
    with serving(vote, "deadline_seconds=1000") as session, session.connect() as cid:
        cid.hello("cid")
        heard = [session.join(name) for name in ("ann", "bob")]
        cid.send(report(0, 1))  # before it was asked, which it does not wait to read
        check_decided(session, heard, num_received=(2, 2))
