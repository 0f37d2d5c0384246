"""What laws say of the paper's claims, here and now; what trials say of the others, `claims.csv` has by rows.

`psephos audit papers` shows these, `psephos reproduce` all of them.

Source: Mohsin, Fair and Private Voting Rules, project report; readings F1 to F5.
"""

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.fair_voting import FairVoting, Parameters
from ....protocol.fair_voting.choices import SampledChoice
from ....protocol.fair_voting.sampling_bounds import num_samples
from ....protocol.privacy import NeighboringRelation
from ...experiments.findings import BoundedFinding, Certainty, found_in
from ..audit.neighbors import sums_of_profile
from ..audit.sessions import LABEL, LARGE_SIZES, disliked_alternative, exposure_by_algorithm_1
from ..audit.winner_laws import Ties, loss_between
from .cells import GAMMA
from .electorates import EPSILONS, PUBLISHED, READ, expected_utilities

_AUDIT: Final = "psephos audit fair-voting"
_REPRODUCE: Final = "psephos reproduce fair-voting"
_ALTERNATIVES: Final = ("a", "b", "c", "d")
_DELTA: Final = 1e-3
_TABLE_SIZES: Final = (500, 1_000)
_found: Final = found_in(__name__, paper="Fair and private voting: Mohsin (project report)")


def findings_on_fair_voting() -> Iterator[BoundedFinding]:
    """Yield the report's claims in its order, with what was found."""
    yield _algorithm_1(NeighboringRelation.ADD_OR_REMOVE_ONE)
    yield _algorithm_1(NeighboringRelation.REPLACE_ONE)
    num_alternatives = len(_ALTERNATIVES)
    first, second = (num_alternatives * (num_alternatives - 1) / (2 * size * EPSILONS[0]) for size in _TABLE_SIZES)
    yield _found(
        key="F3",
        quantity=f"mean of ΔŴ if ΔW = 0, ε = {EPSILONS[0]:g}, groups of {_TABLE_SIZES[0]} and {_TABLE_SIZES[1]:,}",
        claimed=0.0,
        bound="=",
        # E|X − Y| of two Laplace numbers of the groups' scales.
        found=(first * first + first * second + second * second) / (first + second),
        command=_REPRODUCE,
        note="ΔŴ is an absolute value. Noise cannot make it negative, so its mean is too large.",
        undecided="The report writes ΔŴ_k and ΔW_k, of a group k, and does not say what that is.",
    )
    loss = f"loss of a voter at ε = {LABEL:g}"
    yield _found(
        key="F4",
        quantity=f"{loss}, printed scale S/n, groups of {LARGE_SIZES[0]} and {LARGE_SIZES[1]:,}, γ = {GAMMA:g}",
        claimed=LABEL,
        found=_disliked_loss(_sampling(scale="printed", group_sizes=LARGE_SIZES)),
        certainty=Certainty.FOUND,
        command=_AUDIT,
        only=f"for other γ than {GAMMA:g}, if for any: the report names none",
        note="An alternative that nobody likes wins, until one voter likes it. The winner tells that voter's ranking.",
    )
    for letter, gamma in (("b", GAMMA), ("c", 0.01)):
        yield _found(
            key=f"F4{letter}",
            quantity=f"{loss}, printed scale S/n, groups of 500 and 1,000, ties to the first one, γ = {gamma:g}",
            claimed=LABEL,
            found=_disliked_loss(_sampling(scale="printed", gamma=gamma), ties="first"),
            certainty=Certainty.FOUND,
            command=_REPRODUCE,
            only=f"for other γ than {gamma:g}, if for any: the report names none",
            note="The loss is larger than the label ε, and the larger, the smaller γ is.",
        )
    fair = _sampling(scale="unbiased")
    yield _found(
        key="F4d",
        quantity=f"{loss}, unbiased scale, groups of 500 and 1,000, ties by lot, γ = {GAMMA:g}",
        claimed=LABEL,
        found=_disliked_loss(fair),
        certainty=Certainty.FOUND,
        command=_REPRODUCE,
        note=f"This is not known: no case above the label was found, and only {fair.losses[0].proven:.2f} is proven.",
    )
    least, most = _constants_of_table_1()
    yield _found(
        key="F2",
        quantity="least constant K in O(·) that gives Table 1's N/A cells, if δ = 1/min n",
        claimed=None,
        found=least,
        command=_REPRODUCE,
        note=f"With one δ for all rows no K gives them. The report names no δ: with 1/min n every K up to {most:.2f} "
        "does, and n_s ≤ ε·min n gives them, too, with one δ.",
    )
    by_reading = {reading: _sampling(reading=reading).losses[0].proven for reading in ("group", "subsample")}
    yield _found(
        key="F4e",
        quantity=f"proven loss of a voter at ε = {LABEL:g} if all may be drawn, groups of 500 and 1,000",
        claimed=None,
        found=by_reading["group"],
        certainty=Certainty.PROVEN,
        note="The two lines contradict each other: by line 9, line 4 has no effect. If only sampled voters are drawn, "
        f"{by_reading['subsample']:.2f} is proven.",
    )
    vote = _sampling(gamma=0.0)
    yield _found(
        key="F8",
        quantity=f"loss of a voter at ε = {LABEL:g}, γ = 0, ties to the first alternative",
        claimed=LABEL,
        found=_disliked_loss(vote, ties="first"),
        certainty=Certainty.EXACT,
        only="for γ > 0, if at all",
        note="Without the random winners that γ > 0 gives, one voter can make an outcome possible that was impossible.",
    )
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
    yield _found(
        key="F9",
        quantity=f"loss in one pair of profiles at the label ε = {least:g}",
        claimed=losses[1],
        found=losses[0],
        command=_REPRODUCE,
        note="A smaller label makes Algorithm 2 ask more voters, so the winner tells more.",
        compared=f"at ε = {greatest:g}",
    )
    utilities = expected_utilities(READ)
    sizes = np.array([2, 1]) / 3
    welfare = sizes @ utilities
    fairest = int(np.argmin(np.abs(utilities[0] - utilities[1])))
    yield _found(
        key="F5",
        quantity="welfare of the fairest alternative, divided by that of the best, in a society like Table 1's",
        claimed=None,
        found=float(welfare[fairest] / welfare.max()),
        command=_REPRODUCE,
        note="By that rule the alternative can win that both groups like least: here its welfare is "
        f"{welfare[fairest]:.2f}, as is the winner's in Table 1.",
    )


def _constants_of_table_1() -> tuple[float, float]:
    """Return the K for which n_s = K·(m/ε²)·ln(m/δ) ≤ min n/ε, δ = 1/min n, in just the cells with an election."""
    size = len(_ALTERNATIVES)
    limits = [
        (cell["disparity"] == "N/A", at[-1] * min(at[0]) / (size * math.log(size * min(at[0]))))
        for at, cell in PUBLISHED.items()
        if at[1] == "sampling"
    ]
    return max(limit for is_na, limit in limits if is_na), min(limit for is_na, limit in limits if not is_na)


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


def _sampling(**given: Any) -> FairVoting:
    return _vote(**{"mechanism": "sampling", "epsilon": LABEL} | given)


def _disliked_loss(vote: FairVoting, *, ties: Ties = "random") -> float:
    """Return what one voter loses who likes best what both groups like least: the first alternative."""
    sums: list[IntArray] = [sums_of_profile(vote, profile) for profile in disliked_alternative(vote)]
    before, after = (own.reshape(-1).tolist() for own in sums)
    loss, _ = loss_between(vote.disclosed.elects_by(SampledChoice), before, after, ties=ties)
    return loss
