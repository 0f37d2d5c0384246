"""Findings on the paper's claims that exact laws decide; `claims.csv` says how trials decide the others.

`psephos audit papers` shows the former, `psephos reproduce` all of them.

Source: Mohsin, Fair and Private Voting Rules, project report; readings F1 to F5.
"""

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ....protocol.fair_voting import FairVoting, Parameters
from ....protocol.fair_voting.choices import SampledChoice
from ....protocol.fair_voting.sampling_bounds import num_samples
from ....protocol.privacy import NeighboringRelation
from ...experiments.findings import BoundedFinding, make_finder
from ..audit.neighbors import sums_of_profile
from ..audit.sessions import LABEL, LARGE_SIZES, disliked_alternative, exposure_by_algorithm_1
from ..audit.winner_laws import Ties, loss_between
from .cells import EPSILONS, GAMMA, PUBLISHED, READ, expected_utilities

_SIZE: Final = 4  # number of alternatives m in Table 1
_GROUP_SIZES: Final = (500, 1_000)
_found: Final = make_finder(__name__, paper="Fair and private voting: Mohsin (project report)")


def findings_on_fair_voting() -> Iterator[BoundedFinding]:
    """Yield the findings on the report's claims, in its order."""
    yield _found("F7", _loss_by_algorithm_1(NeighboringRelation.ADD_OR_REMOVE_ONE))
    yield _found("F1", _loss_by_algorithm_1(NeighboringRelation.REPLACE_ONE))
    first, second = (_SIZE * (_SIZE - 1) / (2 * size * EPSILONS[0]) for size in _GROUP_SIZES)
    # E|X − Y| of two Laplace variables with the groups' scales.
    yield _found("F3", (first * first + first * second + second * second) / (first + second))
    yield _found("F4", _loss_of_disliked(_vote(scale="printed", group_sizes=LARGE_SIZES)))
    yield _found("F4b", _loss_of_disliked(_vote(scale="printed"), ties="first"))
    yield _found("F4c", _loss_of_disliked(_vote(scale="printed", gamma=0.01), ties="first"))
    fair = _vote()
    yield _found("F4d", _loss_of_disliked(fair), proven=fair.losses[0].proven)
    # The K for which n_s = K·(m/ε²)·ln(m/δ) ≤ min n/ε, with δ = 1/min n, exactly in the cells with an election.
    constants: dict[bool, list[float]] = {True: [], False: []}
    for (sizes, mechanism, epsilon), cell in PUBLISHED.items():
        if mechanism == "sampling":
            constant = epsilon * min(sizes) / (_SIZE * math.log(_SIZE * min(sizes)))
            constants[cell["disparity"] == "N/A"].append(constant)
    yield _found("F2", max(constants[True]), most=min(constants[False]))
    group, subsample = (_vote(reading=reading).losses[0].proven for reading in ("group", "subsample"))
    yield _found("F4e", group, sampled=subsample)
    yield _found("F8", _loss_of_disliked(_vote(gamma=0.0), ties="first"))
    least_loss, greatest_loss = (
        _loss_of_disliked(
            _vote(scale="printed", group_sizes=LARGE_SIZES, epsilon=label, num_samples=num_samples(label, 1e-3, _SIZE))
        )
        for label in (LABEL, EPSILONS[-1])
    )
    yield _found("F9", least_loss, greatest_loss)
    utilities = expected_utilities(READ)
    welfare = np.array([2, 1]) / 3 @ utilities
    fairest = welfare[np.argmin(np.abs(utilities[0] - utilities[1]))]
    yield _found("F5", fairest / welfare.max(), welfare=fairest)


def _vote(**parameters_given: Any) -> FairVoting:
    """Return an election by Algorithm 2 at the size of Table 1, with changed parameters."""
    parameters: dict[str, Any] = {
        "alternatives": ("a", "b", "c", "d"),
        "groups": ("left", "right"),
        "group_sizes": _GROUP_SIZES,
        "mechanism": "sampling",
        "epsilon": LABEL,
        "gamma": GAMMA,
    }
    return FairVoting(Parameters(**parameters | parameters_given))


def _loss_by_algorithm_1(relation: NeighboringRelation) -> float:
    vote = _vote(mechanism="laplace", calibration="printed", relation=relation, epsilon=1.0)
    losses = exposure_by_algorithm_1(vote, num_sessions=1).losses
    # If a voter is removed, the first candidate is the profile without it, and the others are its neighbors.
    if relation is NeighboringRelation.REPLACE_ONE:
        return float(losses.max())
    return float(max(losses[0].max(), losses[:, 0].max()))


def _loss_of_disliked(vote: FairVoting, *, ties: Ties = "random") -> float:
    """Return the loss of one voter who ranks first the alternative that both groups rank last."""
    sums_before, sums_after = (
        sums_of_profile(vote, profile).reshape(-1).tolist() for profile in disliked_alternative(vote)
    )
    return loss_between(vote.disclosed_phase.elects_by(SampledChoice), sums_before, sums_after, ties=ties)[0]
