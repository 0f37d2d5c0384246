"""Another variant is named where it is better by a tenth at the same price, and nothing is said where none is."""

import math
import time

import pytest
from psephos.protocol.dpwevote import DPWeVote, Parameters, make_offers
from psephos.scenarios.running.config import load_scenario
from psephos.scenarios.running.offers import Offer, best_offer, sentence_of
from psephos.scenarios.running.resolution import resolve

THREE = ("candidates=['a', 'b', 'c']", "partners.yes_shares=[0.5, 0.5, 0.5]")


def said_of(scenario: str, *settings: str) -> str:
    """Return what a run says of another variant; empty where it says nothing."""
    resolved = resolve(load_scenario(scenario, settings))
    offer = best_offer(resolved.protocol, num_parties=len(resolved.names))
    return "" if offer is None else sentence_of(offer)


def test_a_vote_by_the_papers_split_is_told_of_the_optimal_variant() -> None:
    """The numbers are those of `psephos variants consortium`."""
    said = "optimal: ± 134 instead of ± 504 of a margin at worst, at the same price"
    assert said_of("consortium") == said
    assert said_of("consortium", "variant=printed") == said


@pytest.mark.parametrize("variant", ["optimal", "auto"])
def test_the_best_variant_is_told_of_no_other(variant: str) -> None:
    assert not said_of("consortium", f"variant={variant}")


def test_a_variant_that_is_offered_costs_what_the_session_does() -> None:
    """The paper's split charges (k + 1)·ε/2, so that others have less than ε for a candidate."""
    said = said_of("consortium", *THREE)
    assert said.startswith("optimal with epsilon=0.6667: ± ")
    price = 4 * 0.5 / 3
    vote = resolve(load_scenario("consortium", [*THREE, "variant=optimal", f"epsilon={price}"])).protocol
    assert math.fsum(loss.proven for loss in vote.losses) == pytest.approx(2)
    (worst,) = [offer for offer in make_offers(vote.parameters) if offer.variant == "optimal"]
    assert f"± {math.sqrt(2000 * worst.worst_variance):.0f} instead" in said


def test_laplace_noise_is_worse_than_what_is_offered() -> None:
    assert said_of("consortium", "variant=laplace").startswith("optimal: ± 134 instead of ± ")


def test_public_weights_leave_nothing_to_compare() -> None:
    assert not said_of("eu-council")


def test_local_rankings_are_compared_where_nobody_is_trusted() -> None:
    assert said_of("two-societies", "mechanism=noisy_scores").startswith("sampled_pair: ± 0.322 instead of ± 0.843")
    assert not said_of("two-societies", "mechanism=local")


def test_winners_alone_are_compared_with_each_other() -> None:
    said = said_of("two-societies", "mechanism=exponential")
    assert said.startswith("permute_and_flip: 0.090 instead of 0.108 of quality that the winner may lack")
    assert not said_of("two-societies", "mechanism=permute_and_flip")
    assert not said_of("two-societies")


def test_mechanisms_of_a_crowd_are_compared_at_a_price_of_all_answers() -> None:
    one_layer = ("mechanism=one_layer", "epsilon_worker=30")
    assert said_of("crowd", *one_layer).startswith("two_layer: 0.")
    assert not said_of("crowd", "mechanism=auto", "epsilon_worker=30")
    assert not said_of("crowd")


def test_a_protocol_without_the_part_says_nothing() -> None:
    assert not said_of("moral-synthetic")


@pytest.mark.parametrize(
    ("own", "is_less_better", "gain"), [(10.0, True, 0.1), (9.0, False, 0.0), (8.0, True, -0.125), (5.0, False, 0.8)]
)
def test_gains_are_shares_of_the_own_number(*, own: float, is_less_better: bool, gain: float) -> None:
    offer = Offer(name="x", value=9.0, own=own, of="of it", is_less_better=is_less_better)
    assert offer.gain == pytest.approx(gain)


@pytest.mark.few(most=1)
@pytest.mark.parametrize(
    "parameters",
    [
        Parameters(candidates=("a",), weights=tuple(map(float, range(1, 5))), epsilon=5.0),
        Parameters(candidates=("a",), weights=tuple(map(float, range(1, 11))), epsilon=1.0),
        Parameters(candidates=("a",), quota_fraction=0.7, epsilon=5.0),
        Parameters(candidates=("a",), weights=tuple(map(float, range(1, 51)))),
        Parameters(candidates=("a",), weights=tuple(map(float, range(1, 101)))),
        Parameters(candidates=("a",), epsilon=20.0),
    ],
)
def test_offers_take_no_long_time(parameters: Parameters) -> None:
    """Processor time, of which half a second is meant; a busy or a slow machine has ten times as much."""
    vote = DPWeVote(parameters)
    started = time.process_time()
    best_offer(vote, num_parties=100)
    assert time.process_time() - started < 5
