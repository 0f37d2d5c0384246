"""An average over the votes of a game says of a weight exactly what its one report says."""

import math

import numpy as np
import pytest
from psephos.protocol import ConfigurationError, SimulatedNoise
from psephos.protocol.arrays import IntArray
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.scenarios.attacks import (
    Coalition,
    CoalitionView,
    find_attack,
    session_channel,
    view_by_arrays,
    view_by_server,
)

VOTES = 7
WEIGHT, OPINIONS = "weight", "opinions"
TARGETS = np.arange(9, dtype=np.int64)


def vote_of(game: str | None, variant: str = "joint") -> DPWeVote:
    given = {} if game is None else {"game": game}
    return DPWeVote(Parameters(candidates=("a",), variant=variant, epsilon_weight=0.7, epsilon_opinion=0.4, **given))  # pyright: ignore[reportArgumentType]  one of two


def sessions_of(vote: DPWeVote) -> list[CoalitionView]:
    inputs = vote.encode({"weight": [1, 2, 3] * 3, "a": [0, 1, 1] * 3})
    earlier: dict[str, IntArray] = {}
    return [
        view_by_server(vote, inputs, noise=SimulatedNoise(5, session="v", round_number=number), earlier_reports=earlier)
        for number in range(VOTES)
    ]


@pytest.mark.parametrize("variant", ["joint", "laplace"])
def test_posterior_of_a_weight_after_many_votes_is_that_of_the_first(variant: str) -> None:
    vote = vote_of("board", variant)
    sessions = sessions_of(vote)
    attack = find_attack(vote)
    first, last = (attack.posteriors(seen, TARGETS, secret=WEIGHT) for seen in (sessions[:1], sessions))
    assert last.probabilities == pytest.approx(first.probabilities, rel=1e-12)
    if variant == "joint":  # k-RR of three weights: e^ε to 1 for the one that was reported
        reported = sessions[0].reports[0][:, 0]
        assert np.max(last.probabilities, axis=1) == pytest.approx(math.exp(0.7) / (math.exp(0.7) + 2), rel=1e-12)
        assert np.argmax(last.probabilities, axis=1).tolist() == reported.tolist()
    opinions = [attack.posteriors(seen, TARGETS, secret=OPINIONS) for seen in (sessions[:1], sessions)]
    assert not np.allclose(opinions[0].probabilities, opinions[1].probabilities)


def test_posterior_sharpens_where_weights_are_drawn_in_each_vote() -> None:
    vote = vote_of(None)
    attack, sessions = find_attack(vote), sessions_of(vote)
    greatest = [
        float(np.max(attack.posteriors(sessions[:number], TARGETS, secret=WEIGHT).probabilities)) for number in (1, 7)
    ]
    assert greatest[1] > greatest[0] + 0.2


def test_channel_of_votes_has_one_weight_report() -> None:
    rows = vote_of(None).encode({"weight": [1, 2, 3], "a": [0, 0, 0]}).private
    channel = session_channel(vote_of("board"), rows, public=(), votes=3)
    assert channel is not None
    assert channel.shape == (3, 3 * 2**3)
    assert math.log(float(np.max(channel[0] / channel[2]))) == pytest.approx(0.7)
    apart = session_channel(vote_of(None), rows, public=(), votes=3)
    assert apart is not None
    assert math.log(float(np.max(apart[0] / apart[2]))) == pytest.approx(3 * 0.7)


def test_loss_of_votes_counts_a_kept_weight_once() -> None:
    vote = vote_of("board")
    attack = find_attack(vote)
    who, public = Coalition((), has_server=True), np.empty((9, 0), dtype=np.int64)
    losses = [
        attack.loss_of_votes(secret, public, TARGETS, who, votes=VOTES)
        for secret in (WEIGHT, OPINIONS, "weight and opinions")
    ]
    assert losses == pytest.approx([0.7, VOTES * 0.4, 0.7 + VOTES * 0.4])


def test_tallies_of_several_votes_of_a_game_are_refused() -> None:
    vote = vote_of("board")
    inputs = vote.encode({"weight": [1, 2, 3], "a": [0, 1, 1]})
    who = Coalition((0,), has_server=False)
    seen = view_by_arrays(vote, inputs, noise=SimulatedNoise(5, session="v"), coalition=who)
    with pytest.raises(ConfigurationError, match=r"votes (is|are) .*1 without the server"):
        find_attack(vote).posteriors([seen, seen], np.array([1]), secret=WEIGHT)
