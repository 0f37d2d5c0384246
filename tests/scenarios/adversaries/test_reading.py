"""Tables become roles: members are spelled out, and what a context cannot have is refused before anything runs."""

from collections.abc import Callable
from typing import Any

import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError
from psephos.scenarios.running.resolution import Local

Configuration = Callable[..., Local]

COALITION = {"role": "coalition", "members": ["partner-2"]}


@pytest.mark.parametrize(
    ("members", "names"),
    [
        (["partner-2..3"], ("partner-2", "partner-3")),
        (["server", "partner-4", "partner-2..2"], ("server", "partner-4", "partner-2")),
        (["*"], ("partner-2", "partner-3", "partner-4")),
        (["server", "*"], ("server", "partner-2", "partner-3", "partner-4")),
    ],
)
def test_ranges_and_the_star_are_names_in_the_end(
    configuration: Configuration, members: list[str], names: tuple[str, ...]
) -> None:
    table = {"role": "coalition", "members": members, "target": "partner-1"}
    (role,) = configuration("dpwevote", table, transport="array").adversaries
    assert role.members == names


def test_numbers_with_zeros_in_front_keep_their_width(configuration: Configuration) -> None:
    table = {"role": "coalition", "members": ["voter 000000002..4"]}
    (role,) = configuration("moral-preferences", table).adversaries
    assert role.members == ("voter 000000002", "voter 000000003", "voter 000000004")


def test_a_party_whose_name_looks_like_a_range_is_meant_itself(configuration: Configuration) -> None:
    (candidate,) = configuration("dpwevote").protocol.parameters.candidates
    partners = f"partners=[{{partner='a-1..2', weight=1, '{candidate}'=1}}, {{partner='b', weight=2, '{candidate}'=0}}]"
    table = {"role": "coalition", "members": ["a-1..2"]}
    (role,) = configuration("dpwevote", table, parties=partners).adversaries
    assert role.members == ("a-1..2",)


def test_a_star_without_a_target_is_everybody_of_whom_nobody_is_left(configuration: Configuration) -> None:
    with pytest.raises(ConfigurationError, match="no party is left about whom anything could be learnt") as caught:
        configuration("dpwevote", {"role": "coalition", "members": ["*"]})
    assert (caught.value.field, caught.value.value) == ("adversary 1: members", "all 4")


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "no role": ({"members": ["partner-1"]}, "adversary 2", "a table with the key 'role'"),
    "an unknown role": ({"role": "burglar"}, "role of an adversary", "coalition, collusion-sweep, "),
    "a role that is no text": ({"role": 3}, "adversary 2: role", ""),
    "a key that the role does not have": ({**COALITION, "misled": ["partner-1"]}, "adversary 2", "misled"),
    "a value of another kind": ({**COALITION, "votes": "many"}, "adversary 2", ""),
    "members of another kind": ({"role": "coalition", "members": "partner-1"}, "adversary 2: members", ""),
    "a range that goes down": ({"role": "coalition", "members": ["partner-3..2"]}, "adversary 2: members", "goes up"),
    "a range without end": (
        {"role": "coalition", "members": ["partner-1..9999999999"]},
        "adversary 2: members",
        "goes up",
    ),
    "a range beyond the roster": (
        {"role": "coalition", "members": ["partner-3..5"]},
        "adversary 2: members",
        "a partner of the roster",
    ),
    "a member twice": ({"role": "coalition", "members": ["partner-2", "partner-1..2"]}, "adversary 2: members", "once"),
}


@pytest.mark.bad_input("a role that nobody registered, or that a protocol does not have")
@pytest.mark.parametrize("case", list(REFUSED))
def test_a_table_that_cannot_be_is_refused_by_its_number(configuration: Configuration, case: str) -> None:
    table, field, words = REFUSED[case]
    with refuses(said=words) as caught:
        configuration("dpwevote", COALITION, table)
    assert caught.value.field.startswith(field)


def test_a_misspelled_party_is_answered_with_the_one_that_was_meant(configuration: Configuration) -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'partner-2'"):
        configuration("dpwevote", {"role": "coalition", "members": ["partnr-2"]})


DEVIATING = {
    "drop-out": {"members": ["partner-1"]},
    "tampering-server": {"parameters": {"epsilon": 9.0}},
    "equivocator": {"misled": ["partner-1"]},
    "replayer": {"members": ["partner-1"]},
    "selective-abort": {"target": "partner-1"},
    "network-observer": {},
}


@pytest.mark.bad_input("an adversary in a session that cannot have it")
@pytest.mark.parametrize("role", list(DEVIATING))
def test_arrays_have_no_channels_on_which_to_deviate_or_to_listen(configuration: Configuration, role: str) -> None:
    with pytest.raises(ConfigurationError, match="transport = 'tcp'") as caught:
        configuration("dpwevote", {"role": role, **DEVIATING[role]}, transport="array")
    assert (caught.value.field, caught.value.value) == ("adversary 1: role", role)


def test_no_party_deviates_in_two_ways_of_which_one_would_be_forgotten(configuration: Configuration) -> None:
    equivocator, liar = ({"role": role, **DEVIATING[role]} for role in ("equivocator", "tampering-server"))
    with pytest.raises(ConfigurationError, match="a party that deviates for one adversary only") as caught:
        configuration("dpwevote", equivocator, liar)
    assert (caught.value.field, caught.value.value) == ("adversary 'tampering-server'", "server")
    leaver, replayer = ({"role": role, **DEVIATING[role]} for role in ("drop-out", "replayer"))
    with pytest.raises(ConfigurationError, match="is 'partner-1'"):
        configuration("dpwevote", leaver, replayer)
    assert len(configuration("dpwevote", leaver, equivocator).adversaries) == 2


def test_where_noise_is_secure_nobody_s_view_is_recorded(configuration: Configuration) -> None:
    with pytest.raises(ConfigurationError, match="since noise is secure") as caught:
        configuration("dpwevote", settings=["noise=secure", "adversary=[{role='coalition', members=['server']}]"])
    assert caught.value.field == "adversary"


def test_a_role_that_a_protocol_does_not_have_is_answered_with_those_that_it_has(configuration: Configuration) -> None:
    with pytest.raises(ConfigurationError, match=r"one that protocol 'dpwevote' has: .*coalition") as caught:
        configuration("dpwevote", {"role": "membership"})
    assert (caught.value.field, caught.value.value) == ("adversary 1: role", "membership")
    assert "membership" not in str(caught.value.allowed)


def test_a_party_with_the_server_s_name_is_told_from_it_by_nobody(configuration: Configuration) -> None:
    (candidate,) = configuration("dpwevote").protocol.parameters.candidates
    partners = f"partners=[{{partner='server', weight=1, '{candidate}'=1}}, {{partner='b', weight=2, '{candidate}'=0}}]"
    assert configuration("dpwevote", parties=partners).names == ["server", "b"]
    with pytest.raises(ConfigurationError, match="another name") as caught:
        configuration("dpwevote", {"role": "coalition", "members": ["b"]}, parties=partners)
    assert (caught.value.field, caught.value.value) == ("a partner", "server")
