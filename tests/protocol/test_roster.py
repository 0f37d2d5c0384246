"""Who may take part, and whose token is whose."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol import ConfigurationError, RemoteProtocolError, Roster, digest_of
from strategies import CHECKED

NOTHING_PUBLIC = np.empty((2, 0), dtype=np.int64)
TOKENS = ("the first secret", "another secret")


def roster_with_tokens() -> Roster:
    return Roster(("ada", "bob"), NOTHING_PUBLIC, token_digests=[digest_of(token) for token in TOKENS])


def test_a_roster_knows_everybodys_place() -> None:
    roster = Roster(("b", "a"), np.empty((2, 0), dtype=np.int64))
    assert (len(roster), roster.names, roster.places) == (2, ("b", "a"), {"b": 0, "a": 1})


@pytest.mark.parametrize(("names", "value"), [((), []), (("a", "b", "a"), "a"), (("a", " b"), " b"), (("",), "")])
def test_a_roster_of_nobody_or_of_names_that_are_none_is_refused(names: Sequence[str], value: object) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Roster(names, np.empty((len(names), 0), dtype=np.int64))
    assert caught.value.value == value


@pytest.mark.parametrize("shape", [(1, 0), (3, 0), (2,)])
def test_a_roster_needs_a_public_row_for_everybody(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="public rows for 2 parties"):
        Roster(("a", "b"), np.zeros(shape, dtype=np.int64))


# Tokens


def test_a_digest_is_the_sha256_of_the_tokens_utf8() -> None:
    assert digest_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digest_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert digest_of("\u00e9") == "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"


def test_a_digest_is_made_of_half_a_surrogate_pair_too() -> None:
    """Python text may hold one, as from an argument that is no UTF-8; it is another token than any that is."""
    assert digest_of("\ud800") != digest_of("\udfff")
    assert len(digest_of("\ud800")) == 64


@pytest.mark.parametrize("digests", [[], [digest_of("a")], [digest_of("a")] * 3])
def test_a_roster_needs_a_digest_for_everybody(digests: list[str]) -> None:
    with pytest.raises(ValueError, match=f"expected 2 tokens' digests, got {len(digests)}"):
        Roster(("ada", "bob"), NOTHING_PUBLIC, token_digests=digests)


def test_a_party_with_its_own_token_has_its_place() -> None:
    roster = roster_with_tokens()
    assert [roster.check(name, token) for name, token in zip(roster.names, TOKENS, strict=True)] == [0, 1]


@pytest.mark.parametrize("token", ["", "anything", "\ud800"])
def test_a_roster_without_tokens_takes_names_at_their_word(token: str) -> None:
    roster = Roster(("ada", "bob"), NOTHING_PUBLIC)
    assert roster.token_digests is None
    assert roster.check("bob", token) == 1


@pytest.mark.parametrize(
    ("party", "token", "reason"),
    [
        ("ada", "", "'ada' came with no token"),
        ("ada", "a guess", "'ada' came with a token that is not its own"),
        ("ada", TOKENS[1], "'ada' came with a token that is not its own"),
        ("ada", TOKENS[0] + " ", "'ada' came with a token that is not its own"),
        ("ada", digest_of(TOKENS[0]), "'ada' came with a token that is not its own"),
        ("ada", "\ud800", "'ada' came with a token that is not its own"),
        ("mallory", TOKENS[0], "'mallory' is not on the roster"),
        ("", TOKENS[0], "'' is not on the roster"),
    ],
)
def test_who_is_not_on_the_roster_or_has_no_token_of_its_own_is_refused(party: str, token: str, reason: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        roster_with_tokens().check(party, token)
    error = caught.value
    assert (str(error), error.sender, error.role) == (reason, party, "server")


@CHECKED
@given(st.text(max_size=20) | st.text(st.characters(categories=["Cs"]), max_size=3))
def test_no_other_token_is_taken_and_none_is_shown(token: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        roster_with_tokens().check("bob", f"<{token}>")
    assert str(caught.value) == "'bob' came with a token that is not its own"


def test_a_name_of_a_megabyte_is_cut_in_the_refusal() -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        roster_with_tokens().check("x" * 1_000_000, "")
    assert len(str(caught.value)) < 300
