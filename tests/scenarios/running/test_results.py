"""What is published of a run: what anybody may know, with the price of all answers and of one of them."""

import math
from typing import Any

import pytest
from psephos.protocol import PhasedProtocol, SimulatedNoise, run_population
from psephos.protocol.dpwevote import DPWeVote
from psephos.protocol.dpwevote import Parameters as VoteParameters
from psephos.protocol.fair_voting import FairVoting
from psephos.protocol.fair_voting import Parameters as VotingParameters
from psephos.protocol.phases import Inputs
from psephos.protocol.privacy import NeighboringRelation, TrustModel
from psephos.protocol.roles import SessionKind
from psephos.protocol.session_flow import SessionResult
from psephos.protocol.truth_discovery import Parameters, TruthDiscovery
from psephos.scenarios.running.results import public_result


def content(protocol: PhasedProtocol[Any, Any], inputs: Inputs) -> dict[str, Any]:
    """Return what is published of a session in which everybody took part."""
    left = run_population(protocol, inputs, noise=SimulatedNoise(8, session="s"))
    received = tuple(tally.num_reports for tally in left.tallies)
    result = SessionResult(left.outcome, left.tallies, received)
    return public_result(protocol, result, session="s", kind=SessionKind.SIMULATION, num_parties=len(inputs))


def test_a_vote_has_no_part_of_a_unit_to_price() -> None:
    ballot = DPWeVote(VoteParameters(candidates=("rail", "fish")))
    result = content(ballot, ballot.encode({"weight": [1, 2, 3], "rail": [0, 1, 1], "fish": [1, 0, 1]}))
    assert result["privacy"] == {
        "person": {
            "claimed": 1.5,
            "proven": 1.5,
            "relation": "replace-one",
            "certainty": pytest.approx(0.8176, abs=1e-4),
            "against": TrustModel.LOCAL.adversary,
        },
        "relation": ["replace-one"],
        "model": ["local"],
    }
    assert result["received"] == {"weights": 3, "opinions": 3}
    assert (result["session"], result["kind"], result["num_parties"]) == ("s", "simulation", 3)


def test_truth_discovery_publishes_what_one_answer_loses_beside_all_and_only_totals_of_its_tally() -> None:
    """The joint loss of two answers that share a flip probability is less than twice that of one: see reading T3."""
    crowd = TruthDiscovery(
        Parameters(tasks=("q1", "q2"), answer_sets=(("no", "yes"),), max_answers=2, mechanism="two_layer")
    )
    inputs = crowd.encode({"tasks": [["q1", "q2"], ["q2"]], "answers": [["yes", "no"], ["no"]]})
    result = content(crowd, inputs)
    ((loss,),) = (phase.losses for phase in crowd.phases)
    assert loss.part is not None
    assert result["privacy"]["person"] == {
        "claimed": pytest.approx(2.0),
        "proven": loss.proven,
        "relation": "replace-one",
        "certainty": pytest.approx(math.exp(loss.proven) / (1 + math.exp(loss.proven))),
        "against": TrustModel.LOCAL.adversary,
    }
    (part,) = result["privacy"]["part"]
    assert part == {
        "phase": "answers",
        "unit": "one answer",
        "claimed": loss.part.claimed,
        "proven": loss.part.proven,
    }
    assert part["claimed"] < part["proven"] < loss.proven
    (totals,) = result["tallies"]
    assert [sum(of_task) for of_task in totals] == [1, 2]  # of each task by label: nobody's own reports


@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_who_took_part_is_not_published_where_that_is_protected(relation: NeighboringRelation) -> None:
    """One voter of the roster has not reported: with add-remove-one neighbors nobody may know."""
    vote = FairVoting(
        VotingParameters(alternatives=("a", "b"), groups=("g", "h"), group_sizes=(2, 1), relation=relation)
    )
    inputs = vote.encode({"group": ["g", "h"], "ranking": ["a > b", "b > a"]})
    result = content(vote, inputs)
    hides = relation is NeighboringRelation.ADD_OR_REMOVE_ONE
    assert result["received"] == ({} if hides else {"rankings": 2})
    assert result["outcome"]["group_sizes"] == (2, 1)
