"""Errors: who is to blame, and the numbers that show it."""

import inspect

import pytest
from psephos.protocol import errors
from psephos.protocol.errors import (
    MAX_NAMES_IN_A_SENTENCE,
    MAX_QUOTED_CHARACTERS,
    ConfigurationError,
    ConflictingReportError,
    LocalProtocolError,
    MalformedMessageError,
    PsephosError,
    QuorumError,
    RemoteProtocolError,
    SessionAborted,
    UnexpectedMessageError,
    UnsupportedEventError,
    printable,
    quote,
    refuse,
    require,
)
from psephos.protocol.messages import Abort


def test_every_error_descends_from_one_base() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
    assert len(kinds) > 1
    assert all(issubclass(kind, PsephosError) for kind in kinds)


def test_a_check_says_field_value_and_what_is_allowed() -> None:
    require(True, "bound", 3, "> 0")  # noqa: FBT003  the condition
    refuse(False, "bound", 3, "> 0")  # noqa: FBT003  the condition
    nan = float("nan")
    for check, condition in ((require, nan > 0), (refuse, not nan > 0)):
        with pytest.raises(ConfigurationError, match="bound is nan: use a value > 0"):
            check(condition, "bound", nan, "> 0")


@pytest.mark.parametrize("value", ["", "p1", 3.5, [1, 2], "x" * (MAX_QUOTED_CHARACTERS - 2)])
def test_a_short_quotation_is_whole(value: object) -> None:
    assert quote(value) == repr(value)


def test_a_long_quotation_is_cut_and_says_how_long_it_was() -> None:
    """One character beyond what is shown, and a megabyte of them; two more are the quotation marks."""
    shown = "'" + "x" * (MAX_QUOTED_CHARACTERS - 1)
    assert quote("x" * (MAX_QUOTED_CHARACTERS - 1)) == f"{shown}... ({MAX_QUOTED_CHARACTERS + 1} characters)"
    assert quote("x" * 10**6) == f"{shown}... (1000002 characters)"


@pytest.mark.parametrize("kind", [MalformedMessageError, UnexpectedMessageError, ConflictingReportError])
def test_a_peers_fault_is_remote_and_never_local(kind: type[RemoteProtocolError]) -> None:
    assert issubclass(kind, RemoteProtocolError)
    assert not issubclass(kind, LocalProtocolError)


def test_quorum_error_spells_out_a_dozen_and_counts_the_rest() -> None:
    exactly = QuorumError(phase="w", received=0, required=1, missing=[f"p{n}" for n in range(MAX_NAMES_IN_A_SENTENCE)])
    assert str(exactly).endswith("p10, p11")
    one_more = QuorumError(phase="w", received=0, required=1, missing=[f"p{n}" for n in range(13)])
    assert str(one_more).endswith("p10, p11 and 1 more")
    assert len(one_more.missing) == 13


def test_quorum_error_counts_the_missing_that_it_was_not_told() -> None:
    error = QuorumError(phase="w", received=0, required=9, missing=["p0"], num_missing=9)
    assert error.num_missing == 9
    assert str(error).endswith("p0 and 8 more")


def test_unsupported_event_error_shows_the_event_and_the_accountant() -> None:
    error = UnsupportedEventError(event="a leak", accountant="PureAccountant", reason="it is not known")
    assert (error.event, error.accountant) == ("a leak", "PureAccountant")
    assert str(error) == "PureAccountant cannot account for 'a leak': it is not known"


def test_configuration_error_cuts_a_long_value_in_its_sentence_and_keeps_it_as_an_attribute() -> None:
    value = ["candidate"] * 1000
    error = ConfigurationError(field="candidates", value=value, allowed="distinct names")
    assert error.value is value
    assert str(error) == f"candidates are {quote(value)}: use distinct names"
    assert len(str(error)) < 200


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Ψ ψῆφος, 投票 é", "Ψ ψῆφος, 投票 é"),
        ("\x1b[2J\x1b]0;owned\x07", "�[2J�]0;owned�"),
        ("a\nb\rc\td\x9be\x7f", "a�b�c�d�e�"),
        ("over\u202eturned\u2028", "over�turned�"),
        ("\ud800", "�"),
    ],
)
def test_what_a_terminal_would_obey_is_in_no_error(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert str(RemoteProtocolError(text)) == shown
    aborted = SessionAborted(reason=text, by="server")
    assert (aborted.reason, str(aborted)) == (shown, f"server ended the session: {shown}")
    missing = QuorumError(phase="w", received=0, required=1, missing=[text])
    assert str(missing).endswith(f"missing: {shown}")
    assert str(ConfigurationError(field="a", value=1, allowed=text)) == f"a is 1: use {shown}"


def test_quorum_error_says_that_more_than_the_missing_had_not_come() -> None:
    error = QuorumError(phase="join", received=3, required=5, missing=["p4"])
    assert str(error).endswith("missing: p4; the others were no longer waited for")
    assert str(QuorumError(phase="join", received=4, required=5, missing=["p4"])).endswith("missing: p4")


@pytest.mark.parametrize("num_missing", [0, 1, 2, -5, None])
def test_missing_parties_are_never_fewer_than_their_names(num_missing: int | None) -> None:
    """Whatever a peer says in an Abort."""
    error = QuorumError(phase="votes", received=1, required=3, missing=("p0", "p1"), num_missing=num_missing)
    assert (error.num_missing, str(error).endswith("missing: p0, p1")) == (2, True)
    forged = Abort("few", phase="votes", missing=("p0", "p1", "p2")).error_from("server")
    assert str(forged).endswith("missing: p0, p1, p2")


@pytest.mark.parametrize(
    ("field", "value", "allowed", "sentence"),
    [
        ("epsilon", 0, "in [1e-09, 30]", "epsilon is 0: use a value from 1e-09 to 30"),
        ("gamma", 1, "in [0, 1)", "gamma is 1: use a value of at least 0 and below 1"),
        ("level", 2, "a number in (0, 0.5)", "level is 2: use a value above 0 and below 0.5"),
        ("share", 2, "in (0, 1]", "share is 2: use a value above 0, up to 1"),
        ("weight (a.csv line 3)", "", "one of 1, 2", "weight (a.csv line 3) is empty: use one of 1, 2"),
        ("epsilon", "left out", "one of 1, 2", "epsilon is missing: use one of 1, 2"),
        ("a.csv line 3", "2 entries", "3 entries: a, b, c", "a.csv line 3 has 2 entries, and needs 3 entries: a, b, c"),
        ("--input", "a.csv", "a readable file (No such file or directory)", "--input: There is no file 'a.csv'. "),
        (
            "role 1: aim",
            "milk",
            "one of tea (did you mean 'tea'?)",
            "role 1: aim 'milk' is unknown: did you mean 'tea'?",
        ),
        ("name", "ann", "1 to 9 letters", "name is 'ann': use 1 to 9 letters"),
    ],
)
def test_a_setting_that_is_refused_is_said_in_a_sentence(
    field: str, value: object, allowed: str, sentence: str
) -> None:
    error = ConfigurationError(field=field, value=value, allowed=allowed)
    assert str(error).startswith(sentence)
    assert (error.field, error.value, error.allowed) == (field, value, allowed)
