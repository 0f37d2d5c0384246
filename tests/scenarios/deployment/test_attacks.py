"""Strangers, and a party that is hostile, attack a server over TLS while a vote is held: it is held as if alone.

The server, the attackers and OpenSSL's own client are processes. When quick, all attacks come in turns during one vote
of few; at full length each has a vote of fifty for itself, and sends 100,000 frames where it sends any.
"""

import collections
import functools
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Final

import pytest
from attacked_votes import Held, hold_vote
from bad_input import Psephos
from deployments import PATIENCE, Process, write_vote
from hostile import ATTACKS_OVER_TCP, ATTACKS_OVER_TLS, TAKES_SEAT
from psephos.transports.addresses import format_address

FEW: Final = 5
MOST_MEGABYTES: Final = 200
NOT_AS_THIS_SIDE: Final = "the other end does not speak TLS 1.3 as this side does ({})"
REFUSED: Final = {
    "garbage frames": NOT_AS_THIS_SIDE.format("WRONG_VERSION_NUMBER"),
    "TLS 1.0": NOT_AS_THIS_SIDE.format("UNSUPPORTED_PROTOCOL"),
    "TLS 1.1": NOT_AS_THIS_SIDE.format("UNSUPPORTED_PROTOCOL"),
    "TLS 1.2": NOT_AS_THIS_SIDE.format("UNSUPPORTED_PROTOCOL"),
    "a cipher that nobody offers": NOT_AS_THIS_SIDE.format("NO_SHARED_CIPHER"),
    "no certificate": "the other end shows no certificate",
    "an unknown certificate": "the other end's certificate is not one of those that were agreed",
    "garbage frames of a party": "malformed",
    "garbage frames of a party that has joined": "party",
}
"""As what each attack is counted that has an answer coming; the others are evicted, silent or gone."""
STRANGERS: Final = tuple(name for name in ATTACKS_OVER_TLS if name not in TAKES_SEAT)


def check_held(held: Held, alone: Held, *, num_missing: int = 0) -> None:
    """Check that everybody heard what was released, and that this is what it is without an attack."""
    assert held.heard == [held.result["outcome"]] * len(held.heard)
    num_parties = held.result["num_parties"]
    assert set(held.result["received"].values()) == {num_parties - num_missing}
    if not num_missing:
        assert held.result == alone.result
    assert held.megabytes < MOST_MEGABYTES


@pytest.fixture(scope="module")
def alone() -> Held:
    """A small vote that nobody attacks."""
    return hold_vote(num_parties=FEW, num_candidates=1, transport="tls")


@pytest.mark.full("twenty seconds of attacks")
def test_a_vote_is_held_at_the_limit_of_descriptors_while_all_attack_in_turns(alone: Held) -> None:
    number = 140  # more than there is room for
    limited = functools.partial(hold_vote, num_parties=FEW, num_candidates=1, transport="tls", ulimit="-n 200")
    held = limited(*STRANGERS, number=number)
    check_held(held, alone)
    assert held.refused["evicted"] >= number
    for attack in STRANGERS:
        if attack in REFUSED:
            assert held.refused[REFUSED[attack]] > 0, attack
    for attack in (
        "a cipher that nobody offers",
        "no certificate",
        "an unknown certificate",
        "garbage frames of a party",
    ):
        assert held.refused[REFUSED[attack]] >= number, attack
    assert set(held.refused) <= {*REFUSED.values(), "evicted", "silent", "failed"}


@pytest.mark.full("processes; agents meet garbage when quick")
@pytest.mark.parametrize("transport", [pytest.param("tcp", marks=pytest.mark.full("as over TLS, sooner")), "tls"])
def test_a_hundred_thousand_garbage_frames_of_a_party_that_has_joined_end_its_seat_alone(transport: str) -> None:
    attack = "garbage frames of a party that has joined"
    held = hold_vote(attack, num_parties=FEW, num_candidates=1, transport=transport, number=2)
    assert len(held.heard) == FEW - 1
    check_held(held, held, num_missing=1)
    assert held.refused["party"] >= 1  # it came back, and was told that its seat is gone


FULL: Final = [
    *(("tcp", attack) for attack in ATTACKS_OVER_TCP),
    *(("tls", attack) for attack in ATTACKS_OVER_TLS),
]


@pytest.mark.full("each of them is a vote of fifty, and what is done while they are held is the same when quick")
@pytest.mark.parametrize(("transport", "attack"), FULL)
def test_a_vote_of_fifty_is_held_under_each_attack_by_itself(transport: str, attack: str) -> None:
    hold = functools.partial(hold_vote, num_parties=50, num_candidates=5, transport=transport)
    held = hold(attack, number=2 if attack in TAKES_SEAT else 200)  # of 1,000 frames each, where it is frames
    check_held(held, hold(), num_missing=attack in TAKES_SEAT)


@pytest.mark.full("two votes of processes")
@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl to be a stranger by")
def test_openssls_own_client_gets_no_further_than_the_handshake_and_the_vote_is_held(alone: Held) -> None:
    old = ("-cipher", "ALL:@SECLEVEL=0")
    cases = {
        ("-tls1", *old): "alert protocol version",
        ("-tls1_1", *old): "alert protocol version",
        ("-tls1_2",): "alert protocol version",
        ("-tls1_3", "-ciphersuites", "TLS_AES_128_CCM_SHA256"): "alert handshake failure",
        ("-tls1_3",): "alert certificate required",
    }

    def call(address: str) -> None:
        for options, alert in cases.items():
            command = ["openssl", "s_client", "-connect", address, "-ign_eof", *options]
            ended = subprocess.run(command, input=b"hello\n", capture_output=True, check=False, timeout=PATIENCE)  # noqa: S603  its options are ours
            assert alert in (ended.stdout + ended.stderr).decode(), options

    held = hold_vote(num_parties=FEW, num_candidates=1, transport="tls", before=call)
    check_held(held, alone)
    names = ["TLS 1.0", "TLS 1.1", "TLS 1.2", "a cipher that nobody offers", "no certificate"]
    assert held.refused == dict(collections.Counter(REFUSED[name] for name in names))


@pytest.mark.full("a process; silent ends are given up within one when quick")
def test_a_server_that_is_silent_in_its_handshake_is_left(tmp_path: Path, psephos: Psephos) -> None:
    write_vote(tmp_path)
    assert psephos("roster", "vote.toml", "--make-keys", "--out", "drawn").status == 0
    with socket.create_server(("127.0.0.1", 0)) as silent:
        own = ("--as", "ann", "--input", "ann.csv", "--address", format_address(*silent.getsockname()))
        words = ("join", "drawn/invitations", *own, "--out", "ann", "--patience", "0.75")
        with Process(*words, folder=tmp_path, is_measured=False) as client:
            ended = client.ending()
    assert (ended.status, ended.err) == (1, "psephos: server ended the session: it has said nothing for 0.75 seconds\n")
