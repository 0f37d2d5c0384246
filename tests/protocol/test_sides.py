"""What a side of a session is made from."""

from typing import Any

import pytest
from bad_input import refuses
from psephos.agents import Deployment, SecureNoise, Simulation
from psephos.protocol import Party, SessionDescriptor, SessionKind, SessionMode, SimulatedNoise
from psephos.protocol.privacy import Budget, Ledger

OWN = SimulatedNoise(1, session="s")


@pytest.mark.parametrize("name", ["", " ann", "a\nn", "x" * 129])
def test_a_name_that_names_no_party_is_refused(name: str) -> None:
    with refuses("party", name):
        Party(name, 0, (1, 0))


@pytest.mark.parametrize("row", [(1.0, 0), ("1", 0), (None,)])
def test_a_row_of_anything_but_integers_is_refused(row: Any) -> None:
    with pytest.raises(TypeError):
        Party("ann", 0, row)


def test_a_party_without_a_ledger_has_one_of_its_own_and_shows_no_value() -> None:
    ann, bob = Party("ann", 0, (7351,)), Party("bob", 1, (0,), ledger=Ledger("bob", budget=Budget(epsilon=1.0)))
    assert (ann.ledger.person, ann.ledger.entries) == ("ann", ())
    assert ann.ledger is not Party("ann", 0, (7351,)).ledger
    assert bob.ledger.person == "bob"
    assert "7351" not in repr(ann)


def test_a_sessions_kind_is_its_noises() -> None:
    assert SessionMode("s", OWN).kind is Simulation("s", OWN).kind is SessionKind.SIMULATION
    assert SessionMode("s", SecureNoise()).kind is Deployment("s", SecureNoise()).kind is SessionKind.DEPLOYMENT


def test_a_simulations_id_follows_from_its_seed_unless_it_is_given_one() -> None:
    assert Simulation("s", OWN).descriptor == SessionDescriptor(OWN.session_id)
    assert Simulation("s", OWN, descriptor=SessionDescriptor("", "a roster", 5)).descriptor == SessionDescriptor(
        OWN.session_id, "a roster", 5
    )
    assert Simulation("s", OWN, descriptor=SessionDescriptor("0" * 32)).descriptor == SessionDescriptor("0" * 32)
    assert Deployment("s", SecureNoise()).descriptor == SessionDescriptor()
