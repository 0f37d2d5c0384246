"""`enroll` and `roster`: what they write, what they print, and what they refuse."""

from pathlib import Path

import pytest
from bad_input import Psephos
from deployments import ENTRIES, WARNED, write_vote
from psephos.scenarios.deployment import find_invitation
from psephos.scenarios.deployment.keys import stem_of


@pytest.fixture(autouse=True)
def vote(tmp_path: Path) -> str:
    """A vote of three partners; its path."""
    return write_vote(tmp_path)


def test_roster_writes_a_folder_for_the_server_and_a_file_for_each_partner(psephos: Psephos) -> None:
    ended = psephos("roster", "vote.toml", "--make-keys", "--address", "votes.example:7000", "--out", "drawn")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out == (
        f"{WARNED}drawn: for the server of 3 partners; its key is in it\n"
        "drawn/invitations: a file for each of them, with its private key, for it alone. Whoever has made the keys "
        "could take anybody's seat\n"
    )
    files = {"roster.csv", "invitations", "server.pem", "session.json", "parameters.json", "certificates.pem"}
    assert {path.name for path in Path("drawn").iterdir()} == files
    for name in ENTRIES:
        invitation = find_invitation(Path("drawn/invitations"), party=name)
        assert (invitation.session, invitation.kind, invitation.address) == ("vote", "deployment", "votes.example:7000")
        assert invitation.certificate in Path("drawn/roster.csv").read_text(encoding="utf-8")


def test_roster_takes_in_those_who_have_enrolled(psephos: Psephos) -> None:
    for name in ENTRIES:
        ended = psephos("enroll", name, "--out", f"keys/{name}")
        assert (ended.status, ended.err) == (0, "")
        assert ended.out.splitlines()[0].startswith(f"keys/{name}/key.pem: {name}'s key, good until ")
    ended = psephos("roster", "vote.toml", "--enrolled", "keys", "--out", "drawn")
    assert (ended.status, ended.err) == (0, "")
    assert "seat" not in ended.out
    assert all(find_invitation(Path("drawn/invitations"), party=name).key == "" for name in ENTRIES)


def test_roster_invites_to_a_simulation_on_request(psephos: Psephos) -> None:
    assert psephos("roster", "vote.toml", "--make-keys", "--simulate", "--out", "drawn").status == 0
    assert find_invitation(Path("drawn/invitations"), party="ann").kind == "simulation"


NOBODY = (
    "--enrolled: There is no enrollment in .. Put each party's enrollment.json there, which `psephos enroll` writes."
)
EITHER = (
    "--enrolled, --make-keys or --links: Add one of them. --enrolled FOLDER has the parties' own keys; "
    "--make-keys makes all keys here; --links gives each party a link."
)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            (),
            EITHER,
        ),
        (
            ("--make-keys", "--enrolled", "."),
            EITHER,
        ),
        (
            ("--enrolled", "."),
            NOBODY,
        ),
        (
            ("--make-keys", "--address", "7000"),
            "--address is '7000': use HOST:PORT or [IPV6]:PORT, with a port up to 65535",
        ),
    ],
)
def test_roster_is_told_whose_keys_and_where(psephos: Psephos, words: tuple[str, ...], sentence: str) -> None:
    ended = psephos("roster", "vote.toml", *words, "--out", "drawn")
    assert (ended.status, ended.err) == (2, f"psephos: {sentence}\n")
    assert not Path("drawn").exists()


def test_who_enrolls_twice_keeps_its_keys(psephos: Psephos) -> None:
    assert psephos("enroll", "ann").status == 0
    key = Path(stem_of("ann")) / "key.pem"
    before = key.read_bytes()
    refusal = psephos("enroll", "ann").refusal
    assert refusal.startswith("psephos: --out: There are keys in ")
    assert key.read_bytes() == before


SHARED = "use a folder of one's own, to which nobody else may write (chmod go-w)"


@pytest.mark.bad_input("a folder that others may write to")
@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_a_folder_that_others_may_write_to_gets_nothing(psephos: Psephos, mode: int) -> None:
    """Neither keys, nor what a run leaves."""
    shared = Path("shared")
    shared.mkdir()
    shared.chmod(mode)
    for words in (
        ("enroll", "ann", "--out", "shared"),
        ("roster", "vote.toml", "--make-keys", "--out", "shared"),
        ("run", "vote.toml", "--no-pictures", "--out", "shared"),
    ):
        assert psephos(*words).refusal.startswith(f"psephos: --out is 'shared': {SHARED}")
        assert list(shared.iterdir()) == []
    own = shared / "own"  # where nobody takes it away, one's own folder in it is as good as any
    assert psephos("enroll", "ann", "--out", own).status == (0 if mode == 0o1777 else 2)


def test_roster_refuses_what_a_session_would_and_leaves_no_folder(psephos: Psephos) -> None:
    refusal = psephos("roster", "vote.toml", "--make-keys", "--set", "epsilon=0", "--out", "drawn").refusal
    assert refusal.startswith("psephos: epsilon is ")
    assert not Path("drawn").exists()
