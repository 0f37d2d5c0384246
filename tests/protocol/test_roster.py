"""Who may take part, and whose certificate is whose."""

import hashlib
from collections.abc import Sequence

import numpy as np
import pytest
from bad_input import refuses
from psephos.protocol import RemoteProtocolError, Roster

NOTHING_PUBLIC = np.empty((2, 0), dtype=np.int64)
OWN = ("0a" * 32, "1b" * 32)


def roster_with_certificates() -> Roster:
    return Roster(("ada", "bob"), NOTHING_PUBLIC, fingerprints=OWN)


def test_a_roster_knows_everybodys_place() -> None:
    roster = Roster(("b", "a"), np.empty((2, 0), dtype=np.int64))
    assert (len(roster), roster.names, roster.places) == (2, ("b", "a"), {"b": 0, "a": 1})


@pytest.mark.parametrize(("names", "value"), [((), []), (("a", "b", "a"), "a"), (("a", " b"), " b"), (("",), "")])
def test_a_roster_of_nobody_or_of_names_that_are_none_is_refused(names: Sequence[str], value: object) -> None:
    with refuses(value=value):
        Roster(names, np.empty((len(names), 0), dtype=np.int64))


@pytest.mark.parametrize("shape", [(1, 0), (3, 0), (2,)])
def test_a_roster_needs_a_public_row_for_everybody(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="a row for each of 2 parties"):
        Roster(("a", "b"), np.zeros(shape, dtype=np.int64))


# Certificates


@pytest.mark.parametrize("fingerprints", [[], OWN[:1], [*OWN, OWN[0]]])
def test_a_roster_needs_a_fingerprint_for_everybody(fingerprints: list[str]) -> None:
    with pytest.raises(ValueError, match=f"{len(fingerprints)} fingerprints are given: give 2"):
        Roster(("ada", "bob"), NOTHING_PUBLIC, fingerprints=fingerprints)


def test_a_party_by_its_own_certificate_has_its_place() -> None:
    roster = roster_with_certificates()
    assert [roster.check(name, own) for name, own in zip(roster.names, OWN, strict=True)] == [0, 1]
    assert [roster.fingerprint_of(name) for name in roster.names] == list(OWN)


@pytest.mark.parametrize("fingerprint", ["", "anything", OWN[0]])
def test_a_roster_without_certificates_takes_names_at_their_word(fingerprint: str) -> None:
    roster = Roster(("ada", "bob"), NOTHING_PUBLIC)
    assert roster.fingerprints is None
    assert roster.check("bob", fingerprint) == 1
    assert roster.fingerprint_of("bob") == ""


@pytest.mark.parametrize(
    ("party", "fingerprint", "reason"),
    [
        ("ada", "", "'ada' came with no certificate"),
        ("ada", "a guess", "'ada' came with a certificate that is not its own"),
        ("ada", OWN[1], "'ada' came with a certificate that is not its own"),
        ("ada", OWN[0] + " ", "'ada' came with a certificate that is not its own"),
        ("ada", OWN[0].upper(), "'ada' came with a certificate that is not its own"),
        ("mallory", OWN[0], "'mallory' is not on the roster"),
        ("", OWN[0], "'' is not on the roster"),
    ],
)
def test_who_is_not_on_the_roster_or_has_another_certificate_is_refused(
    party: str, fingerprint: str, reason: str
) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        roster_with_certificates().check(party, fingerprint)
    error = caught.value
    assert (str(error), error.sender, error.role) == (reason, party, "server")


def test_a_name_of_a_megabyte_is_cut_in_the_refusal() -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        roster_with_certificates().check("x" * 1_000_000, "")
    assert len(str(caught.value)) < 300


def test_a_digest_tells_every_roster_from_every_other() -> None:
    rows = np.array([[1], [2]])
    rosters = [
        Roster(("ada", "bob"), rows),
        Roster(("bob", "ada"), rows),
        Roster(("ada", "bo"), rows),
        Roster(("ada", "bob"), rows[::-1]),
        Roster(("ada", "bob"), NOTHING_PUBLIC),
        Roster(("ada", "bob"), rows, fingerprints=OWN),
        Roster(("ada", "bob"), rows, fingerprints=OWN[::-1]),
        Roster(("ada", "bob", "cid"), np.array([[1], [2], [3]])),
    ]
    assert len({roster.digest for roster in rosters}) == len(rosters)
    assert Roster(("ada", "bob"), rows.copy()).digest == rosters[0].digest
    # SHA-256 of 93 92 a3 "ada" a3 "bob" c0 92 91 01 91 02
    assert rosters[0].digest == hashlib.sha256(bytes.fromhex("9392a3616461a3626f62c09291019102")).hexdigest()
