"""Invitations: drawn, written for their owners alone, and found again."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from psephos.protocol import ConfigurationError, RemoteProtocolError, Roster, SessionKind
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.roster import digest_of
from psephos.scenarios.deployment import Invitation, draw_invitations, find_invitation, write_invitations

Write = Callable[[str, str | bytes], Path]

VOTE = DPWeVote(Parameters(candidates=("merger",), epsilon=2.0))
NAMES = ("Ann", "Bob & Söhne", "东京")


def draw(names: tuple[str, ...] = NAMES) -> tuple[Roster, list[Invitation]]:
    """Draw invitations to a deployment."""
    roster = Roster(names, VOTE.encode_public({}, num_parties=len(names)))
    return draw_invitations(VOTE, roster, session="spring", kind=SessionKind.DEPLOYMENT)


def test_everybody_has_a_token_of_its_own_and_the_roster_has_the_digests() -> None:
    roster, invitations = draw()
    tokens = [invitation.token for invitation in invitations]
    assert len(set(tokens)) == 3
    assert all(len(token) == 32 for token in tokens)  # 24 bytes: 192 bits
    assert roster.token_digests == tuple(map(digest_of, tokens))
    assert roster.names == NAMES
    for place, (name, token) in enumerate(zip(NAMES, tokens, strict=True)):
        assert roster.check(name, token) == place
        with pytest.raises(RemoteProtocolError, match="a token that is not its own"):
            roster.check(name, tokens[place - 1])


def test_tokens_are_drawn_anew_every_time() -> None:
    assert {each.token for each in draw()[1]}.isdisjoint({each.token for each in draw()[1]})


def test_an_invitation_says_what_is_agreed_to() -> None:
    _, invitations = draw()
    for place, (name, invitation) in enumerate(zip(NAMES, invitations, strict=True)):
        said = msgspec.structs.replace(invitation, token="")
        assert said == Invitation(
            session="spring",
            protocol="dpwevote",
            kind="deployment",
            parameters=msgspec.to_builtins(VOTE.parameters),
            party=name,
            place=place,
        )
        assert msgspec.convert(invitation.parameters, Parameters) == VOTE.parameters


@pytest.fixture
def no_mask() -> Iterator[None]:
    """A system that would let everybody read new files."""
    mask = os.umask(0)
    yield
    os.umask(mask)


@pytest.mark.usefixtures("no_mask")
def test_each_is_a_file_for_its_owner_alone_whatever_the_system_would_allow(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "invitations"
    write_invitations(folder, draw()[1])
    assert [path.name for path in sorted(folder.iterdir())] == ["1-ann.json", "2-bob-s-hne.json", "3-party.json"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_names_that_look_alike_or_like_paths_make_files_of_their_own(tmp_path: Path) -> None:
    names = ("a b", "a-b", "../../a", "x" * 128, *(f"partner {number}" for number in range(5, 11)))
    write_invitations(tmp_path / "new", draw(names)[1])
    found = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert found[:4] == ["01-a-b.json", "02-a-b.json", "03-a.json", f"04-{'x' * 40}.json"]
    assert len(found) == 10
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_an_invitation_is_found_by_its_file_and_in_the_folder(tmp_path: Path) -> None:
    invitations = draw()[1]
    write_invitations(tmp_path / "new", invitations)
    for invitation in invitations:
        found = find_invitation(tmp_path / "new", party=invitation.party)
        assert msgspec.json.encode(found) == msgspec.json.encode(invitation)
    assert find_invitation(tmp_path / "new" / "1-ann.json", party="Ann").token == invitations[0].token


def test_everybody_is_invited_with_its_public_row(tmp_path: Path) -> None:
    """The row of a public weight is its group and its place in the list."""
    vote = DPWeVote(Parameters(candidates=("merger",), weights=(1.0, 2.5), public_weights=True))
    public = vote.encode_public({"weight": ["2.5", "1", "2.5"]}, num_parties=3)
    _, invitations = draw_invitations(vote, Roster(NAMES, public), session="spring", kind=SessionKind.DEPLOYMENT)
    assert [list(invitation.public) for invitation in invitations] == public.tolist()
    write_invitations(tmp_path / "new", invitations)
    found = [find_invitation(tmp_path / "new", party=name).public for name in NAMES]
    assert found == [(1, 1), (0, 0), (1, 1)]
    assert all(type(number) is int for row in found for number in row)


def test_an_invitation_of_before_has_no_public_row(write: Write) -> None:
    known = msgspec.to_builtins(draw()[1][0])
    del known["public"]
    assert find_invitation(write("mine.json", msgspec.json.encode(known)), party="Ann").public == ()


def test_a_folder_without_the_partys_own_is_refused_by_name(tmp_path: Path) -> None:
    write_invitations(tmp_path / "new", draw()[1])
    with pytest.raises(ConfigurationError, match="a folder with an invitation of 'Dee'"):
        find_invitation(tmp_path / "new", party="Dee")


TOKEN = "a-token-that-nobody-shall-see"  # noqa: S105  it is of no roster


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "truncated"),
        (f'{{"token": "{TOKEN}"'.encode(), "truncated"),
        (f'{{"token": "{TOKEN}"}}'.encode(), "missing required field"),
        (f'{{"token": "{TOKEN}", "tokens": 1}}'.encode(), "missing required field|unknown field"),
        (b"\xff", "malformed|invalid"),
        (b"[" * 100_000, "recursion|Expected"),
        (TOKEN.encode(), "malformed"),
    ],
)
def test_a_file_that_is_no_invitation_is_named_and_not_shown(write: Write, content: bytes, reason: str) -> None:
    path = write("mine.json", content)
    with pytest.raises(ConfigurationError, match=f"an invitation .*({reason})") as caught:
        find_invitation(path, party="Ann")
    assert (caught.value.field, caught.value.value) == ("--invitation", str(path))
    assert TOKEN not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"a readable file \(No such file or directory\), got .*nowhere"):
        find_invitation(tmp_path / "nowhere", party="Ann")
