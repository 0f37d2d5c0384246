"""One mistake of whoever runs a session, or takes part, at a time: it costs nothing, and is said in words that help."""

import concurrent.futures
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clocks import DAY, with_clock
from deployments import ENTRIES, NOBODY_LISTENS, write_vote
from durable_votes import Vote, check_ended
from psephos.protocol import ConfigurationError
from psephos.protocol.records import Drawn
from psephos.scenarios.deployment import TLSKeys, find_invitation
from psephos.scenarios.deployment.invitations import read_server_session
from psephos.scenarios.deployment.server import JOURNAL_FILE
from psephos.transports.keys import make_identity

Psephos = Callable[..., Any]


@pytest.fixture
def drawn(tmp_path: Path, psephos: Psephos, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vote of three that is drawn up with everybody's keys."""
    monkeypatch.chdir(tmp_path)
    write_vote(tmp_path)
    words = ("--make-keys", "--address", NOBODY_LISTENS, "--out", "drawn")
    assert psephos("roster", "vote.toml", *words).status == 0
    return tmp_path / "drawn"


def refused(ended: Any, *, status: int = 2) -> str:
    """Return the one line with which a command is refused."""
    assert (ended.status, ended.err.count("\n")) == (status, 1), ended
    return str(ended.err).removeprefix("psephos: ").rstrip("\n")


# An invitation that went to the wrong person, and a roster that was edited


def test_an_invitation_of_somebody_else_opens_nothing(drawn: Path, psephos: Psephos) -> None:
    """By name, or by a key that is not its party's."""
    words = ("--input", "bob.csv", "--out", "mine")
    said = refused(psephos("join", drawn / "invitations" / "1-ann.json", "--as", "bob", *words))
    assert said == "INVITATION is \"that of 'ann'\": use the invitation of 'bob'"
    assert psephos("enroll", "bob", "--out", "bob").status == 0
    folder = Path("enrolled")
    for name in ("ann", "cid"):
        assert psephos("enroll", name, "--out", folder / name).status == 0
    shutil.copytree("bob", folder / "bob")
    assert psephos("roster", "vote.toml", "--enrolled", folder, "--out", "own").status == 0
    said = refused(psephos("join", "own/invitations/1-ann.json", "--key", "bob", "--input", "ann.csv", *words[2:]))
    assert said.startswith("give --key: the folder of the keys of 'ann', with certificate ")


def test_a_roster_that_was_edited_after_the_invitations_went_out_serves_nobody(drawn: Path, psephos: Psephos) -> None:
    file = drawn / "roster.csv"
    before = file.read_text(encoding="utf-8")
    lines = before.splitlines(keepends=True)
    for changed in ("".join(lines[:-1]), "".join([lines[0], lines[2], lines[1], *lines[3:]])):
        file.write_text(changed, encoding="utf-8")
        said = refused(psephos("serve", "vote.toml", "--roster", drawn, "--out", "served"))
        assert said.startswith("roster.csv: It was changed")
        assert "It was changed since the invitations were made. " in said
        assert not Path("served").exists()
    file.write_text(before.replace("bob", "Bob"), encoding="utf-8")
    assert "since the invitations were made" in refused(
        psephos("serve", "vote.toml", "--roster", drawn, "--out", "served")
    )


# A certificate that is revoked, and one that ends soon


def test_a_revoked_certificate_is_agreed_no_more_and_the_others_are(drawn: Path, psephos: Psephos) -> None:
    fingerprints = {name: find_invitation(drawn / "invitations", party=name).certificate for name in ENTRIES}
    told = tuple(fingerprints.values())
    assert read_server_session(drawn, fingerprints=told)[1].fingerprints == set(told)
    for name, left in (("bob", {"ann", "cid"}), ("bob", {"ann", "cid"}), ("ann", {"cid"})):
        ended = psephos("revoke", name, "--roster", drawn)
        assert (ended.status, ended.err) == (0, "")
        assert ended.out == f"{name}: certificate {fingerprints[name]} opens nothing, once the server has begun again\n"
        assert read_server_session(drawn, fingerprints=told)[1].fingerprints == {fingerprints[each] for each in left}
    assert refused(psephos("revoke", "eve", "--roster", drawn)).startswith("INVITATION: There is no invita")
    assert psephos("revoke", "cid", "--roster", drawn).status == 0  # as one word does where a host has all parties
    with pytest.raises(ConfigurationError, match=r"--roster is .*: use one of which not all certificates are revoked"):
        read_server_session(drawn, fingerprints=told)
    (drawn / "revoked.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="The list of revoked certificates cannot be read"):
        read_server_session(drawn, fingerprints=told)
    assert refused(psephos("revoke", "cid", "--roster", drawn)).startswith("--roster: The list of revoked ")


def test_certificates_that_end_within_a_day_are_named_and_others_are_not(drawn: Path, psephos: Psephos) -> None:
    short, long = make_identity(days=0.5), make_identity(days=1.5)
    names = {short.fingerprint: "ann", long.fingerprint: "bob"}
    (said,) = TLSKeys(long, [short.certificate, long.certificate]).warn_of_expiry(names)
    assert said.startswith("the certificate of ann ends on 20")
    (said,) = TLSKeys(short, [long.certificate]).warn_of_expiry({})
    assert said.startswith("the certificate of this side ends on 20")
    assert not list(TLSKeys(long, [long.certificate]).warn_of_expiry(names))
    assert psephos("roster", "vote.toml", "--make-keys", "--days", "0.5", "--out", "brief").status == 0
    opening, keys = read_server_session(Path("brief"), fingerprints=())
    assert opening.expires
    assert any(
        ", " in said and " ends on" in said for said in keys.warn_of_expiry(dict.fromkeys(keys.fingerprints, "p"))
    )
    words = ("--input", "ann.csv", "--out", "mine", "--patience", "0.01", "--address", NOBODY_LISTENS)
    ended = psephos("join", "brief/invitations/1-ann.json", *words)
    first, *_ = ended.err.splitlines()
    assert first.startswith("warning: the certificate of this side, the server ends on 20")
    assert "warning" not in psephos("join", drawn / "invitations" / "1-ann.json", *words[:3], "other", *words[4:]).err


# On processes


@pytest.mark.full("half a dozen processes")
def test_a_clock_that_is_behind_by_almost_a_day_costs_nothing_and_a_wrong_one_is_named(tmp_path: Path) -> None:
    with Vote(tmp_path) as vote:
        behind, ahead = (with_clock(seconds, folder=tmp_path) for seconds in (-DAY + 600, 400 * DAY))
        server = vote.serve()
        server.address()
        check_ended(
            vote.join("bob", prefix=ahead).ending(),
            "The session expired on 20",
            status=2,
        )
        long_ago = with_clock(-30 * DAY, folder=tmp_path)
        check_ended(
            vote.join("bob", prefix=long_ago).ending(), "is not valid yet; this machine's clock says 20", status=1
        )
        clients = {"ann": vote.join("ann", prefix=behind), **{party: vote.join(party) for party in ("bob", "cid")}}
        vote.check(clients, server)


@pytest.mark.full("a dozen processes")
def test_a_clock_that_is_set_back_lets_no_budget_by_periods_forget(tmp_path: Path) -> None:
    budget = ("--budget", "1.5", "--budget-period", "12 hours")
    with Vote(tmp_path, name="first") as vote:
        server = vote.serve()
        server.address()
        vote.check({"ann": vote.join("ann", *budget), **{each: vote.join(each) for each in ("bob", "cid")}}, server)
    with Vote(tmp_path, name="second") as vote:
        back = with_clock(-DAY + 600, folder=tmp_path)
        ended = vote.join("ann", *budget, prefix=back).ending()
        check_ended(ended, "the privacy budget holds epsilon = 0.5, requested 1", status=1)


@pytest.mark.full("eight processes")
def test_a_whole_copy_of_a_party_on_another_machine_counts_once(tmp_path: Path) -> None:
    """Whichever of the two reports first is the party; the other one draws nothing once the server has that report."""
    with Vote(tmp_path) as vote:
        server = vote.serve()
        server.address()
        clients = {"bob": vote.join("bob")}
        assert vote.join("ann", dying=("after", 1)).ending().status == -9
        own = vote.journal_of("ann")
        copy = tmp_path / "copy"
        copy.mkdir()
        for file in own.parent.glob(f"{own.name}*"):
            shutil.copy(file, copy)
        elsewhere = ("--journal", copy / own.name, "--witness", tmp_path / "its witness")
        both = [vote.join("ann"), vote.join("ann", *elsewhere)]
        # The first step waits for cid, so that the other one comes while it is open.
        assert vote.join("cid", dying=("before", 2)).ending().status == -9
        with concurrent.futures.ThreadPoolExecutor() as threads:
            ended = [threads.submit(each.ending) for each in both]
            concurrent.futures.wait(ended, return_when=concurrent.futures.FIRST_COMPLETED)
            clients["cid"] = vote.join("cid")
            endings = [each.result() for each in ended]
        assert sorted(ending.status for ending in endings) == [0, 1], endings
        (refused_one,) = [ending for ending in endings if ending.status]
        assert "of its reports" in refused_one.err
        assert {client.ending().status for client in (*clients.values(), server)} == {0}
        assert [len(vote.accepted(phase)) for phase in (0, 1)] == [3, 3]
        assert vote.outcome_by_arrays() is not None


@pytest.mark.full("half a dozen processes")
def test_a_server_moves_to_another_host_in_the_middle(tmp_path: Path) -> None:
    """Its folder goes along, and its parties are told the new address; the old folder serves nobody any more."""
    with Vote(tmp_path) as vote:
        server = vote.serve(dying=("after", 3))
        server.address()
        clients = {party: vote.join(party) for party in ENTRIES}
        assert server.ending().status == -9
        num_kept = len(vote.server_records())
        for client in clients.values():
            client.kill()
        old, vote.roster = vote.roster, tmp_path / "another host"
        shutil.copytree(old, vote.roster)
        elsewhere = ("--witness", tmp_path / "its witness")  # which knows nothing
        server = vote.serve(*elsewhere, "--listen", "127.0.0.1:0")
        address = server.address()
        clients = {party: vote.join(party, "--address", address) for party in ENTRIES}
        vote.check(clients, server)
        assert len(vote.server_records()) > num_kept
        drawn = [record for record in vote.records_of("ann").records if isinstance(record, Drawn)]
        assert len(drawn) == 2
        assert old.joinpath(JOURNAL_FILE).exists()


@pytest.mark.full("half a dozen processes")
def test_a_second_server_of_one_roster_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    with Vote(tmp_path) as vote:
        server = vote.serve()
        server.address()
        how = ("--roster", vote.roster, "--listen", "127.0.0.1:0", "--out", tmp_path / "second")
        check_ended(vote.start("serve", tmp_path / "vote.toml", *how).ending(), "is in use by process", status=2)
        vote.check({party: vote.join(party) for party in ENTRIES}, server)


@pytest.mark.full("half a dozen processes, and a deadline that is waited for")
def test_whoever_has_a_revoked_key_gets_in_no_more_and_the_others_decide(tmp_path: Path, psephos: Psephos) -> None:
    """Also while its owner is joining: the server is stopped, and begins again."""
    with Vote(tmp_path, "quorum=2", "phases.join.deadline_seconds=60") as vote:
        server = vote.serve()
        server.address()
        clients = {party: vote.join(party) for party in ENTRIES}
        for client in clients.values():
            client.line_with("Session vote")
        server.kill()
        assert psephos("revoke", "ann", "--roster", vote.roster).status == 0
        server = vote.serve()
        server.address()
        check_ended(clients.pop("ann").ending(), "does not know this side's certificate", status=1)
        vote.check(clients, server, absent=["ann"])
        assert not vote.accepted(0).get("ann")
