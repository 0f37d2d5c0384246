"""Makers of small votes, preferences, rankings and surveys, with inputs for them."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from psephos.protocol import Inputs, Phase, Tally
from psephos.protocol.arrays import IntArray
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.fair_voting import FairVoting, Rankings
from psephos.protocol.fair_voting import Parameters as FairVotingParameters
from psephos.protocol.moral_preferences import Ball, LevelOutcome, MoralPreferences
from psephos.protocol.moral_preferences import Outcome as PreferenceOutcome
from psephos.protocol.moral_preferences import Parameters as PreferenceParameters
from psephos.protocol.privacy import NeighboringRelation, PrivacyLoss, PureMechanism, TrustModel
from psephos.protocol.truth_discovery import Parameters as TruthDiscoveryParameters
from psephos.protocol.truth_discovery import TruthDiscovery

T = TypeVar("T")


class AddedUp(Phase):
    """A phase whose reports are added up."""

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        del earlier, public
        return Tally(len(reports), reports.sum(axis=0))


def as_usual(make: Callable[..., T], *first: Any, **usual: Any) -> Callable[..., T]:
    """Return what makes one with these arguments, or with others where they are given."""
    return functools.partial(make, *first, **usual)


def vote_of(**given: Any) -> DPWeVote:
    return DPWeVote(Parameters(**given))


make_vote = as_usual(vote_of, candidates=("ada", "bob"), epsilon=2.0)
"""Returns a vote on two candidates with weights 1, 2, 3 at ε = 2, changed as asked."""


def loss_of(epsilon: float = 1.0, **given: Any) -> PrivacyLoss:
    """Return a voter's loss to a mechanism of somebody's in the local model, of replaced votes, changed as asked."""
    usual: dict[str, Any] = {
        "mechanism": "somebody's",
        "event": PureMechanism(epsilon),
        "unit": "voter",
        "relation": NeighboringRelation.REPLACE_ONE,
        "model": TrustModel.LOCAL,
        "claimed": epsilon,
    }
    return PrivacyLoss(**usual | given)


def make_names(num_parties: int) -> tuple[str, ...]:
    """Return the names of a roster, numbered from p0."""
    return tuple(f"p{place}" for place in range(num_parties))


def make_inputs(vote: DPWeVote, num_parties: int, *, seed: int = 0) -> Inputs:
    """Return rows drawn from the vote's weights and from both opinions, as users' tables would make them."""
    generator = np.random.default_rng(seed)
    table: dict[str, list[float]] = {
        "weight": [
            vote.parameters.weights[n] for n in generator.integers(len(vote.parameters.weights), size=num_parties)
        ]
    }
    for candidate in vote.parameters.candidates:
        table[candidate] = [float(opinion) for opinion in generator.integers(2, size=num_parties)]
    return vote.encode(table)


def make_preferences(num_features: int = 2, **given: Any) -> MoralPreferences:
    """Return a session on moral preferences whose features are called a, b and so on."""
    return MoralPreferences(PreferenceParameters(features=tuple("abcdefghij"[:num_features]), **given))


def preference_outcome(preferences: tuple[float, ...], *, num_voters: int = 7, **given: Any) -> PreferenceOutcome:
    """Return an outcome at ε = 1 a voter, changed as asked; features and errors are to be given."""
    usual: dict[str, Any] = {
        "is_direction": False,
        "paradigm": "VLDP",
        "mechanism": "laplace",
        "levels": (LevelOutcome(epsilon=1.0, num_voters=num_voters, weight=1.0),),
        "is_projected": False,
        "epsilon_record": 1.0,
        "epsilon_voter": 1.0,
        "ball": Ball(norm="l1", radius=2.0),
    }
    return PreferenceOutcome(preferences=preferences, num_voters=num_voters, **usual | given)


def make_preference_inputs(protocol: MoralPreferences, num_voters: int, *, seed: int = 0) -> Inputs:
    """Return rows of voters with one to four records of normal features; societies and levels of ε take turns."""
    parameters = protocol.parameters
    generator = np.random.default_rng(seed)
    numbers = generator.integers(1, min(4, parameters.max_records), size=num_voters, endpoint=True).tolist()
    table: dict[str, list[Any]] = {
        "records": [generator.normal(size=(number, 2, parameters.num_features)) for number in numbers]
    }
    if names := parameters.names_of_societies:
        table["society"] = [names[voter % len(names)] for voter in range(num_voters)]
    if parameters.is_personal:
        table["epsilon"] = [parameters.epsilons[voter % len(parameters.epsilons)] for voter in range(num_voters)]
    return protocol.encode(table)


def make_fair_vote(*group_sizes: int, num_alternatives: int = 3, **given: Any) -> FairVoting:
    """Return a fair vote on alternatives called a, b and so on, of groups called g0, g1 and so on."""
    sizes = group_sizes or (3, 2)
    return FairVoting(
        FairVotingParameters(
            alternatives=tuple("abcdefghijklmnopqrstuvwxyz"[:num_alternatives]),
            groups=tuple(f"g{number}" for number in range(len(sizes))),
            group_sizes=sizes,
            **given,
        )
    )


def make_fair_inputs(protocol: FairVoting, *, seed: int = 0) -> Inputs:
    """Return rows of all voters of the groups, in an order drawn at random, whose rankings are uniform."""
    parameters = protocol.parameters
    generator = np.random.default_rng(seed)
    groups = generator.permutation(np.repeat(np.arange(len(parameters.groups)), parameters.group_sizes))
    positions = [generator.permutation(len(parameters.alternatives)) for _ in groups]
    return protocol.encode({"group": groups, "ranking": Rankings(np.array(positions, dtype=np.int64))})


def make_survey(*labels: tuple[str, ...], **given: Any) -> TruthDiscovery:
    """Return a survey with a task for each of these answer sets, whose server is trusted unless asked otherwise."""
    sets = tuple(dict.fromkeys(labels))
    fields: dict[str, Any] = {
        "tasks": tuple(f"t{place}" for place in range(len(labels))),
        "answer_sets": sets,
        "answer_set_of_task": tuple(sets.index(own) for own in labels),
        "max_answers": len(labels),
        "mechanism": "central",
        **given,
    }
    return TruthDiscovery(TruthDiscoveryParameters(**fields))
