"""The law of all that leaves one party: rows sum to one, sessions multiply, and there is None without a list."""

from typing import Any

import numpy as np
import pytest
from makers import as_usual, vote_of
from psephos.scenarios import load_scenario, resolve
from psephos.scenarios.attacks import find_attack, session_channel

VARIANTS: list[dict[str, Any]] = [
    {"variant": "joint"},
    {"variant": "printed", "weight_collection": "per_candidate"},
    {"variant": "optimal"},
    {"variant": "two_point"},
    {"public_weights": True},
]


protocol_of = as_usual(vote_of, candidates=("a", "b"), weights=(1, 2), epsilon=1.0)


@pytest.mark.parametrize("settings", VARIANTS, ids=repr)
def test_the_largest_ratio_of_a_session_s_law_is_its_proven_loss(settings: dict[str, Any]) -> None:
    protocol = protocol_of(**settings)
    public = [0, 0] if protocol.parameters.public_weights else []
    rows = find_attack(protocol).candidates("opinions").rows
    channel = session_channel(protocol, rows, public=public)
    assert channel is not None
    np.testing.assert_allclose(channel.sum(axis=1), 1, rtol=1e-9)
    ratio = np.log(channel.max(axis=0) / channel.min(axis=0)).max()
    assert ratio == pytest.approx(sum(loss.proven for loss in protocol.losses), rel=1e-9)


def test_two_votes_are_the_product_of_one_with_itself() -> None:
    protocol = protocol_of()
    rows = find_attack(protocol).candidates("weight").rows
    once, twice = (session_channel(protocol, rows, public=(), votes=votes) for votes in (1, 2))
    assert once is not None
    assert twice is not None
    assert twice.shape == (len(rows), once.shape[1] ** 2)
    np.testing.assert_allclose(twice, np.einsum("ca,cb->cab", once, once).reshape(len(rows), -1), rtol=1e-12)


def test_a_channel_with_more_outputs_than_can_be_looked_at_is_none() -> None:
    protocol = protocol_of()
    rows = find_attack(protocol).candidates("weight").rows
    assert session_channel(protocol, rows, public=(), votes=5) is not None
    assert session_channel(protocol, rows, public=(), votes=6) is None
    assert session_channel(protocol_of(variant="laplace"), rows, public=()) is None


def test_what_a_trusted_server_sees_is_no_channel() -> None:
    resolved = resolve(load_scenario("traffic-analysis", ["voters={voters=3, records=2, features=2}"]))
    assert resolved.protocol.trusts_server
    assert session_channel(resolved.protocol, resolved.inputs.private, public=()) is None
