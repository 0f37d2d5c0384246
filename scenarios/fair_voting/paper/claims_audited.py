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
from ..audit.winner_laws import Ties, loss_between
from .cells import GAMMA
from .evidence import limits_of_samples, mean_without_disparity
from .published import EPSILONS
from .settings import READ
from .societies_fit import expected_utilities

__all__ = ["findings_on_fair_voting"]

_AUDIT: Final = "psephos audit fair-voting"
_REPRODUCE: Final = "psephos reproduce fair-voting"
_ALTERNATIVES: Final = ("a", "b", "c", "d")
_DELTA: Final = 1e-3
_TABLE_SIZES: Final = (500, 1_000)
_found: Final = functools.partial(BoundedFinding, paper="Fair and private voting: Mohsin (project report)")


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
        quantity=f"loss of a voter whose ranking is {'replaced' if is_replaced else 'added or removed'}, ε = 1, "
        "m = 4 alternatives",
        claimed=1.0,
        found=float(found.max()),
        command=_AUDIT,
        only="if a voter is added or removed, not replaced" if is_replaced else "",
        note="Reversing one of n rankings changes the welfares W by ⌊m²/2⌋/n in all, not by m(m - 1)/2n."
        if is_replaced
        else "It loses exactly this.",
    )


def _unbiased() -> BoundedFinding:
    return _found(
        key="F3",
        claim="The noisy disparity ΔŴ is an unbiased estimator of the disparity ΔW (claim 1)",
        quantity=f"mean of ΔŴ if ΔW = 0, ε = {EPSILONS[0]:g}, groups of {_TABLE_SIZES[0]} and {_TABLE_SIZES[1]:,}",
        claimed=0.0,
        bound="=",
        found=mean_without_disparity(_TABLE_SIZES, epsilon=EPSILONS[0], num_alternatives=len(_ALTERNATIVES)),
        command=_REPRODUCE,
        note="ΔŴ is an absolute value. Noise cannot make it negative, so its mean is too large.",
    )


def _algorithm_2() -> Iterator[BoundedFinding]:
    claim = "Algorithm 2 is ε-DP (claim 2)"
    loss = f"loss of a voter at ε = {LABEL:g}"
    yield _found(
        key="F4",
        claim=claim,
        quantity=f"{loss}, printed scale S/n, groups of {LARGE_SIZES[0]} and {LARGE_SIZES[1]:,}, γ = {GAMMA:g}",
        claimed=LABEL,
        found=_disliked_loss(_sampling(scale="printed", group_sizes=LARGE_SIZES)),
        certainty=Certainty.FOUND,
        command=_AUDIT,
        note="An alternative that nobody likes wins, until one voter likes it. The winner tells that voter's ranking.",
    )
    for letter, gamma in (("b", GAMMA), ("c", 0.01)):
        yield _found(
            key=f"F4{letter}",
            claim=claim,
            quantity=f"{loss}, printed scale S/n, groups of 500 and 1,000, ties to the first one, γ = {gamma:g}",
            claimed=LABEL,
            found=_disliked_loss(_sampling(scale="printed", gamma=gamma), ties="first"),
            certainty=Certainty.FOUND,
            command=_REPRODUCE,
            note="The loss is larger than the label ε, and the larger, the smaller γ is.",
        )
    fair = _sampling(scale="unbiased")
    yield _found(
        key="F4d",
        claim=claim,
        quantity=f"{loss}, unbiased scale, groups of 500 and 1,000, ties by lot, γ = {GAMMA:g}",
        claimed=LABEL,
        found=_disliked_loss(fair),
        certainty=Certainty.FOUND,
        command=_REPRODUCE,
        note=f"This is not known: no case above the label was found, and only {fair.losses[0].proven:.2f} is proven.",
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
        claim="The number of samples n_s = O((m/ε²)·log(m/δ)) must be at most min n/ε; elsewhere Table 1 has N/A",
        quantity="largest n_s·ε² that the cells with an election allow",
        claimed=few,
        bound=">",
        found=enough,
        certainty=Certainty.PROVEN,
        command=_REPRODUCE,
        note="No constant in O(·) gives Table 1's N/A cells. The condition n_s ≤ ε·min n does, for some constants.",
        compared="needed for the N/A cells",
    )


def _sampled_twice() -> BoundedFinding:
    by_reading = {reading: _sampling(reading=reading).losses[0].proven for reading in ("group", "subsample")}
    return _found(
        key="F4e",
        claim="Algorithm 2 samples voters (line 4), and then draws from all voters (line 9)",
        quantity=f"proven loss of a voter at ε = {LABEL:g} if all may be drawn, groups of 500 and 1,000",
        claimed=None,
        found=by_reading["group"],
        certainty=Certainty.PROVEN,
        note="The two lines contradict each other: by line 9, line 4 has no effect. If only sampled voters are drawn, "
        f"{by_reading['subsample']:.2f} is proven.",
    )


def _without_random_winners() -> BoundedFinding:
    vote = _sampling(gamma=0.0)
    return _found(
        key="F8",
        claim="Algorithm 2 is ε-DP for every γ; the report gives no value for γ (Algorithm 2, line 2)",
        quantity=f"loss of a voter at ε = {LABEL:g}, γ = 0, ties to the first alternative",
        claimed=LABEL,
        found=_disliked_loss(vote, ties="first"),
        certainty=Certainty.EXACT,
        only="for γ > 0, if at all",
        note="Without the random winners that γ > 0 gives, one voter can make an outcome possible that was impossible.",
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
        claim='A smaller label ε is the "high privacy version" (Experimental Results)',
        quantity=f"loss in one pair of profiles at the label ε = {least:g}",
        claimed=losses[1],
        found=losses[0],
        command=_REPRODUCE,
        note="A smaller label makes Algorithm 2 ask more voters, so the winner tells more.",
        compared=f"at ε = {greatest:g}",
    )


def _objective() -> BoundedFinding:
    utilities = expected_utilities(READ)
    sizes = np.array([2, 1]) / 3
    welfare = sizes @ utilities
    fairest = int(np.argmin(np.abs(utilities[0] - utilities[1])))
    return _found(
        key="F5",
        claim="An outcome is fairer if the groups' utilities differ less (Algorithms for Fair ..., line 5)",
        quantity="welfare of the fairest alternative, divided by that of the best, in a society like Table 1's",
        claimed=None,
        found=float(welfare[fairest] / welfare.max()),
        command=_REPRODUCE,
        note="By that rule the alternative can win that both groups like least: here its welfare is "
        f"{welfare[fairest]:.2f}, as is the winner's in Table 1.",
    )
