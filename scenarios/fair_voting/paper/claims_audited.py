"""The claims of the report on fair and private voting.

Source: Mohsin, Fair and Private Voting Rules, project report; readings F1 to F5.
"""

import functools
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.fair_voting import FairVoting, Parameters
from ....protocol.fair_voting.choices import SampledChoice
from ....protocol.fair_voting.sampling_bounds import num_samples
from ....protocol.privacy import NeighboringRelation
from ...experiments.findings import BoundedFinding, Certainty
from ..audit.neighbors import sums_of_profile
from ..audit.sessions import LABEL, LARGE_SIZES, disliked_alternative, exposure_by_algorithm_1
from .cells import GAMMA
from .evidence import limits_of_samples, mean_without_disparity
from .neighbors import Ties, loss_between
from .profiles import READ
from .published import EPSILONS
from .societies_fit import expected_utilities

__all__ = ["findings_on_fair_voting"]

_AUDIT: Final = "psephos audit fair-voting"
_REPRODUCE: Final = "psephos reproduce fair-voting"
_ALTERNATIVES: Final = ("a", "b", "c", "d")
_DELTA: Final = 1e-3
_TABLE_SIZES: Final = (500, 1_000)
_found: Final = functools.partial(BoundedFinding, paper="Mohsin")


def findings_on_fair_voting() -> Iterator[BoundedFinding]:
    """Yield the report's claims in its order, with what was found."""
    yield _algorithm_1(NeighboringRelation.ADD_OR_REMOVE_ONE)
    yield _algorithm_1(NeighboringRelation.REPLACE_ONE)
    yield _unbiased()
    yield from _algorithm_2()
    yield _condition()
    yield _sampled_twice()
    yield _without_random_winners()
    yield _smaller_labels()
    yield _objective()


def _vote(**given: Any) -> FairVoting:
    defaults: dict[str, Any] = {
        "alternatives": _ALTERNATIVES,
        "groups": ("left", "right"),
        "group_sizes": _TABLE_SIZES,
        "gamma": GAMMA,
    }
    return FairVoting(Parameters(**defaults | given))


def _algorithm_1(relation: NeighboringRelation) -> BoundedFinding:
    vote = _vote(mechanism="laplace", calibration="printed", relation=relation, epsilon=1.0)
    is_replaced = relation is NeighboringRelation.REPLACE_ONE
    losses = exposure_by_algorithm_1(vote, num_sessions=1).losses
    # Where a voter is removed, the first candidate is the profile without, and the others are its neighbors.
    found = losses if is_replaced else np.concatenate([losses[0], losses[:, 0]])
    return _found(
        key="F1" if is_replaced else "F7",
        claim="Algorithm 1 is ε-DP (claim 1)",
        quantity=f"ε of a voter whose ranking is {'replaced' if is_replaced else 'added or removed'}, m = 4",
        claimed=1.0,
        found=float(found.max()),
        command=_AUDIT,
        only="if a voter is added or removed, not replaced" if is_replaced else "",
        note="A reversed ranking moves W by ⌊m²/2⌋/n, not m(m - 1)/2n." if is_replaced else "",
    )


def _unbiased() -> BoundedFinding:
    return _found(
        key="F3",
        claim="ΔŴ is an unbiased estimator of ΔW (claim 1)",
        quantity=f"mean of ΔŴ where ΔW = 0, ε = {EPSILONS[0]:g}, groups of {_TABLE_SIZES[0]} and {_TABLE_SIZES[1]:,}",
        claimed=0.0,
        bound="=",
        found=mean_without_disparity(_TABLE_SIZES, epsilon=EPSILONS[0], num_alternatives=len(_ALTERNATIVES)),
        command=_REPRODUCE,
        note="It is an absolute value, and never negative.",
    )


def _algorithm_2() -> Iterator[BoundedFinding]:
    claim = f"Algorithm 2 is ε-DP (claim 2), at label {LABEL:g}"
    yield _found(
        key="F4",
        claim=claim,
        quantity=f"ε of a voter, S/n as printed, groups of {LARGE_SIZES[0]} and {LARGE_SIZES[1]:,}, γ = {GAMMA:g}",
        claimed=LABEL,
        found=_disliked_loss(_sampling(scale="printed", group_sizes=LARGE_SIZES)),
        certainty=Certainty.FOUND,
        command=_AUDIT,
        note="What nobody likes wins, until one voter likes it.",
    )
    for letter, gamma in (("b", GAMMA), ("c", 0.01)):
        yield _found(
            key=f"F4{letter}",
            claim=claim,
            quantity=f"ε of a voter, S/n as printed, 500 and 1,000, ties to the first alternative, γ = {gamma:g}",
            claimed=LABEL,
            found=_disliked_loss(_sampling(scale="printed", gamma=gamma), ties="first"),
            certainty=Certainty.FOUND,
            command=_REPRODUCE,
        )
    fair = _sampling(scale="unbiased")
    yield _found(
        key="F4d",
        claim=claim,
        quantity=f"ε of a voter, estimates without bias, ties by lot, 500 and 1,000, γ = {GAMMA:g}",
        claimed=LABEL,
        found=_disliked_loss(fair),
        certainty=Certainty.FOUND,
        command=_REPRODUCE,
        note=f"Open: {fair.losses[0].proven:.2f} is proven.",
    )


def _sampling(**given: Any) -> FairVoting:
    return _vote(**{"mechanism": "sampling", "epsilon": LABEL} | given)


def _choice_of(vote: FairVoting) -> SampledChoice:
    return vote.disclosed.elects_by(SampledChoice)


def _disliked_loss(vote: FairVoting, *, ties: Ties = "random") -> float:
    """Return what one voter loses who likes best what both groups like least: the first alternative."""
    sums: list[IntArray] = [sums_of_profile(vote, profile) for profile in disliked_alternative(vote)]
    before, after = (own.reshape(-1).tolist() for own in sums)
    loss, _ = loss_between(_choice_of(vote), before, after, ties=ties)
    return loss


def _condition() -> BoundedFinding:
    few, enough = limits_of_samples()
    return _found(
        key="F2",
        claim="n_s = O((m/ε²)·log(m/δ)) must be at most min n/ε (claim 2), which makes Table 1's N/A cells",
        quantity="most that n_s·ε² is by the cells with an election; claimed: by the others",
        claimed=few,
        bound=">",
        found=enough,
        certainty=Certainty.PROVEN,
        command=_REPRODUCE,
        note="No constant fits; ε·min n fits for some.",
    )


def _sampled_twice() -> BoundedFinding:
    by_reading = {reading: _sampling(reading=reading).losses[0].proven for reading in ("group", "subsample")}
    return _found(
        key="F4e",
        claim="Voters are sampled (line 4), and then drawn from all (line 9)",
        quantity=f"proven ε if drawn from all, label {LABEL:g}, 500 and 1,000",
        claimed=None,
        found=by_reading["group"],
        certainty=Certainty.PROVEN,
        note=f"Line 4 is then idle. From the sampled ones {by_reading['subsample']:.2f} is proven.",
    )


def _without_random_winners() -> BoundedFinding:
    vote = _sampling(gamma=0.0)
    return _found(
        key="F8",
        claim="Algorithm 2 is ε-DP for every γ, which has no value (Algorithm 2, line 2)",
        quantity="ε of a voter, γ = 0, ties to the first alternative",
        claimed=LABEL,
        found=_disliked_loss(vote, ties="first"),
        certainty=Certainty.EXACT,
        only="for γ > 0, if at all",
    )


def _smaller_labels() -> BoundedFinding:
    """Return the loss of one pair of profiles at two labels of Table 1."""
    least, greatest = LABEL, EPSILONS[-1]
    losses = [
        _disliked_loss(
            _sampling(
                scale="printed",
                group_sizes=LARGE_SIZES,
                epsilon=label,
                num_samples=num_samples(label, _DELTA, len(_ALTERNATIVES)),
            )
        )
        for label in (least, greatest)
    ]
    return _found(
        key="F9",
        claim='A smaller label is the "high privacy version" (Experimental Results)',
        quantity=f"ε of one pair of profiles at label {least:g}; claimed: at label {greatest:g}",
        claimed=losses[1],
        found=losses[0],
        command=_REPRODUCE,
        note="A smaller label asks more voters, and tells more.",
    )


def _objective() -> BoundedFinding:
    utilities = expected_utilities(READ)
    sizes = np.array([2, 1]) / 3
    welfare = sizes @ utilities
    fairest = int(np.argmin(np.abs(utilities[0] - utilities[1])))
    return _found(
        key="F5",
        claim="An outcome is fairer where the groups' utilities differ less (Algorithms for Fair ..., line 5)",
        quantity="welfare of the winner over the best alternative's, in a society like Table 1's",
        claimed=None,
        found=float(welfare[fairest] / welfare.max()),
        command=_REPRODUCE,
        note=f"Parity elects what both groups like least: W = {welfare[fairest]:.2f}, the table's 0.68.",
    )
