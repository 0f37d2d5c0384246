"""What is drawn up before a session: keys, certificates and invitations, each for whom it is."""

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bad_input import refuses
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from psephos.protocol import ConfigurationError, Roster, SessionKind
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.messages import SessionDescriptor
from psephos.scenarios.deployment import (
    DrawnSession,
    Enrollment,
    Invitation,
    draw_session,
    enroll,
    find_invitation,
    read_enrollments,
    write_session,
)
from psephos.scenarios.deployment.invitations import check_expiry, read_server_session
from psephos.transports.keys import Identity

VOTE = DPWeVote(Parameters(candidates=("merger",), epsilon=2.0))
NAMES = ("Ann", "Bob & Söhne", "东京")


def draw(names: tuple[str, ...] = NAMES, **options: Any) -> DrawnSession:
    """Draw up a deployment, with keys for all unless they have enrolled."""
    roster = Roster(names, VOTE.encode_public({}, num_parties=len(names)))
    given: dict[str, Any] = {"kind": SessionKind.DEPLOYMENT, **options}
    return draw_session(VOTE, roster, session="spring", **given)


def write(folder: Path, drawn: DrawnSession) -> Path:
    """Write a session into a new folder, and return that of its invitations."""
    folder.mkdir()
    write_session(folder, drawn)
    return folder / "invitations"


def test_everybody_has_a_key_of_its_own_and_the_roster_has_the_fingerprints() -> None:
    drawn = draw()
    keys = [invitation.find_keys([]) for invitation in drawn.invitations]
    own = [key.identity for key in keys]
    assert all(isinstance(each, Identity) for each in own)
    fingerprints = [each.fingerprint for each in own if isinstance(each, Identity)]
    assert len(set(fingerprints)) == 3
    assert drawn.roster.fingerprints == tuple(fingerprints)
    assert [invitation.certificate for invitation in drawn.invitations] == fingerprints
    assert [list(key.peers) for key in keys] == [[drawn.server.certificate]] * 3
    assert drawn.roster.names == NAMES


def test_ids_and_keys_are_drawn_anew_every_time() -> None:
    one, other = draw(), draw()
    assert len(one.opening.session_id) == 32  # 128 bits
    assert one.opening.session_id != other.opening.session_id
    assert {each.certificate for each in one.invitations}.isdisjoint({each.certificate for each in other.invitations})
    assert one.server.fingerprint != other.server.fingerprint


def test_an_invitation_says_what_is_agreed_to() -> None:
    begun = time.time()
    drawn = draw(address="votes.example:7000", days=2)
    for place, (name, invitation) in enumerate(zip(NAMES, drawn.invitations, strict=True)):
        assert invitation == Invitation(
            session="spring",
            protocol="dpwevote",
            kind="deployment",
            parameters=msgspec.to_builtins(VOTE.parameters),
            party=name,
            place=place,
            session_id=drawn.opening.session_id,
            roster=drawn.roster.digest,
            expires=drawn.opening.expires,
            address="votes.example:7000",
            server=drawn.server.certificate_pem,
            certificate=invitation.certificate,
            key=invitation.key,
        )
        assert msgspec.convert(invitation.parameters, Parameters) == VOTE.parameters
        assert invitation.descriptor == drawn.opening.descriptor
    assert begun <= drawn.opening.expires - 2 * 86_400 + 1 <= time.time() + 1  # it is of whole seconds


def test_the_id_of_a_simulation_is_left_to_its_seed() -> None:
    drawn = draw(kind=SessionKind.SIMULATION)
    assert drawn.opening.session_id == drawn.invitations[0].session_id == ""


# Parties that have enrolled


def enrolled(tmp_path: Path, **days: float) -> dict[str, Enrollment]:
    """Let everybody enroll, each in a folder of its own."""
    for place, name in enumerate(NAMES):
        enroll(name, tmp_path / "keys" / str(place), days=days.get(name, 365))
    return read_enrollments(tmp_path / "keys")


def test_no_private_key_leaves_a_party_that_has_enrolled(tmp_path: Path) -> None:
    drawn = draw(enrolled=enrolled(tmp_path))
    folder = write(tmp_path / "new", drawn)
    for place, invitation in enumerate(drawn.invitations):
        assert invitation.key == ""
        own = tmp_path / "keys" / str(place)
        assert invitation.find_keys([tmp_path / "keys" / "0", own]).identity == own / "key.pem"
        assert {path.name for path in own.iterdir()} == {"key.pem", "signature.pem", "enrollment.json"}
        assert {stat.S_IMODE((own / name).stat().st_mode) for name in ("key.pem", "signature.pem")} == {0o600}
        for secret in ("key.pem", "signature.pem"):
            line = (own / secret).read_text(encoding="ascii").splitlines()[1]
            assert not any(
                line in path.read_text(encoding="utf-8") for path in (*folder.iterdir(), own / "enrollment.json")
            )


def test_a_signature_key_signs_and_its_public_half_is_handed_over(tmp_path: Path) -> None:
    enrollment = enroll("Ann", tmp_path / "own")
    private = serialization.load_pem_private_key((tmp_path / "own" / "signature.pem").read_bytes(), password=None)
    assert isinstance(private, ed25519.Ed25519PrivateKey)
    public = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(enrollment.signature_key))
    public.verify(private.sign(b"a set of survivors"), b"a set of survivors")
    with pytest.raises(InvalidSignature):
        public.verify(private.sign(b"a set of survivors"), b"another")


def test_keys_are_not_written_over(tmp_path: Path) -> None:
    enroll("Ann", tmp_path / "own")
    before = {path: path.read_bytes() for path in (tmp_path / "own").iterdir()}
    with pytest.raises(ConfigurationError, match="There are keys in "):
        enroll("Ann", tmp_path / "own")
    assert {path: path.read_bytes() for path in (tmp_path / "own").iterdir()} == before


def test_who_has_not_enrolled_is_named(tmp_path: Path) -> None:
    known = enrolled(tmp_path)
    del known["Ann"]
    with pytest.raises(ConfigurationError, match=r"enrollment: Some parties have not enrolled: Ann .1 of 3."):
        draw(enrolled=known)


def test_a_certificate_that_ends_before_the_session_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"certificate of 'Ann' (is|are) .*one that is good until"):
        draw(enrolled=enrolled(tmp_path, Ann=7), days=8)


@pytest.mark.parametrize("key", ["certificate", "signature_key"])
def test_one_key_for_two_is_refused(tmp_path: Path, key: str) -> None:
    known = enrolled(tmp_path)
    known["东京"] = msgspec.structs.replace(known["东京"], **{key: getattr(known["Ann"], key)})
    with pytest.raises(ConfigurationError, match="another than that of 'Ann': who holds one key could take both seats"):
        draw(enrolled=known)


def test_two_enrollments_of_one_party_are_refused(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        enroll("Ann", tmp_path / folder)
    with pytest.raises(ConfigurationError, match="there is another enrollment of 'Ann'"):
        read_enrollments(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"\xff",
        b'{"party": "Ann", "certificate": "none", "signature_key": ""}',
        b'{"party": "", "certificate": "", "signature_key": ""}',
    ],
)
def test_what_is_no_enrollment_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ann.json").write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"--enrolled (is|are) .*an enrollment") as caught:
        read_enrollments(tmp_path)
    assert caught.value.value == str(tmp_path / "ann.json")
    with pytest.raises(ConfigurationError, match="There is no enrollment in "):
        read_enrollments(tmp_path / "nowhere")


def test_a_party_without_the_key_of_its_certificate_is_told_which(tmp_path: Path) -> None:
    invitation = draw(enrolled=enrolled(tmp_path)).invitations[0]
    with pytest.raises(ConfigurationError, match="give --key: the folder of the keys of 'Ann'") as caught:
        invitation.find_keys([tmp_path / "keys" / "1", tmp_path / "nowhere"])
    assert invitation.certificate[:16] in str(caught.value)


def test_an_enrollment_by_whose_key_anybody_could_sign_is_refused_and_its_party_named(tmp_path: Path) -> None:
    known = enrolled(tmp_path)
    known["Ann"] = msgspec.structs.replace(known["Ann"], signature_key="01" + "00" * 31)
    with pytest.raises(
        ConfigurationError, match=r"signature_key of 'Ann' (is|are) .*32 bytes that are a point of Ed25519"
    ):
        draw(enrolled=known)


# What a server reads


def test_a_server_reads_what_was_drawn_up(tmp_path: Path) -> None:
    drawn = draw()
    write(tmp_path / "new", drawn)
    opening, keys = read_server_session(tmp_path / "new", fingerprints=drawn.roster.fingerprints or ())
    assert opening == drawn.opening
    assert keys.identity == tmp_path / "new" / "server.pem"
    assert keys.fingerprints == set(drawn.roster.fingerprints or ())
    with pytest.raises(ConfigurationError, match=r"is '00.*': use the fingerprint of a certificate in cert"):
        read_server_session(tmp_path / "new", fingerprints=["00" * 32])


@pytest.mark.parametrize("name", ["session.json", "certificates.pem"])
@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff"])
def test_a_servers_folder_that_is_none_is_named(tmp_path: Path, name: str, content: bytes | None) -> None:
    drawn = draw()
    write(tmp_path / "new", drawn)
    path = tmp_path / "new" / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with refuses("--roster", str(path)):
        read_server_session(tmp_path / "new", fingerprints=())


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"session": "autumn"}, "SCENARIO"),
        ({"kind": SessionKind.SIMULATION}, "--simulate"),
        ({"roster": Roster(("Ann",), VOTE.encode_public({}, num_parties=1))}, "roster.csv"),
    ],
)
def test_a_server_that_would_serve_something_else_is_refused(change: dict[str, Any], field: str) -> None:
    drawn = draw()
    usual: dict[str, Any] = {"session": "spring", "kind": SessionKind.DEPLOYMENT, "roster": drawn.roster}
    drawn.opening.check(**usual)
    with refuses(field):
        drawn.opening.check(**{**usual, **change})


def test_a_session_whose_time_is_over_is_refused() -> None:
    check_expiry(draw().opening.descriptor, field="--roster")
    check_expiry(SessionDescriptor(), field="--roster")
    with pytest.raises(
        ConfigurationError,
        match=r"--roster: The session expired on 20",
    ):
        check_expiry(SessionDescriptor(expires=int(time.time()) - 1), field="--roster")


@pytest.fixture
def no_mask() -> Iterator[None]:
    """A system that would let everybody read new files."""
    mask = os.umask(0)
    yield
    os.umask(mask)


@pytest.mark.usefixtures("no_mask")
def test_each_is_a_file_for_its_owner_alone_whatever_the_system_would_allow(tmp_path: Path) -> None:
    folder = write(tmp_path / "new", draw())
    assert [path.name for path in sorted(folder.iterdir())] == ["1-ann.json", "2-bob-s-hne.json", "3-party.json"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert stat.S_IMODE((tmp_path / "new" / "server.pem").stat().st_mode) == 0o600


def test_names_that_look_alike_or_like_paths_make_files_of_their_own(tmp_path: Path) -> None:
    names = ("a b", "a-b", "../../a", "x" * 128, *(f"partner {number}" for number in range(5, 11)))
    folder = write(tmp_path / "new", draw(names))
    found = sorted(path.name for path in folder.iterdir())
    assert found[:4] == ["01-a-b.json", "02-a-b.json", "03-a.json", f"04-{'x' * 40}.json"]
    assert len(found) == 10
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_an_invitation_is_found_by_its_file_and_in_the_folder(tmp_path: Path) -> None:
    drawn = draw()
    folder = write(tmp_path / "new", drawn)
    for invitation in drawn.invitations:
        found = find_invitation(folder, party=invitation.party)
        assert msgspec.json.encode(found) == msgspec.json.encode(invitation)
    assert find_invitation(folder / "1-ann.json").key == drawn.invitations[0].key
    with pytest.raises(ConfigurationError, match=r"give --as: .* holds invitations of "):
        find_invitation(folder)


def test_everybody_is_invited_with_its_public_row(tmp_path: Path) -> None:
    """The row of a public weight is its group and its place in the list."""
    vote = DPWeVote(Parameters(candidates=("merger",), weights=(1.0, 2.5), public_weights=True))
    public = vote.encode_public({"weight": ["2.5", "1", "2.5"]}, num_parties=3)
    drawn = draw_session(vote, Roster(NAMES, public), session="spring", kind=SessionKind.DEPLOYMENT)
    assert [list(invitation.public) for invitation in drawn.invitations] == public.tolist()
    folder = write(tmp_path / "new", drawn)
    found = [find_invitation(folder, party=name).public for name in NAMES]
    assert found == [(1, 1), (0, 0), (1, 1)]
    assert all(type(number) is int for row in found for number in row)


def test_a_folder_without_the_partys_own_is_refused_by_name(tmp_path: Path) -> None:
    folder = write(tmp_path / "new", draw())
    with pytest.raises(ConfigurationError, match="There is no invitation of 'Dee' in "):
        find_invitation(folder, party="Dee")


KEY = "a-key-that-nobody-shall-see"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "truncated"),
        (f'{{"key": "{KEY}"'.encode(), "truncated"),
        (f'{{"key": "{KEY}"}}'.encode(), "missing required field"),
        (f'{{"key": "{KEY}", "keys": 1}}'.encode(), "missing required field|unknown field"),
        (b"\xff", "malformed|invalid"),
        (b"[" * 100_000, "recursion|Expected"),
        (KEY.encode(), "malformed"),
    ],
)
def test_a_file_that_is_no_invitation_is_named_and_not_shown(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "mine.json"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=f"no invitation.*({reason})") as caught:
        find_invitation(path, party="Ann")
    assert (caught.value.field, caught.value.value) == ("INVITATION", str(path))
    assert KEY not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"There is no file '.*nowhere'"):
        find_invitation(tmp_path / "nowhere", party="Ann")
