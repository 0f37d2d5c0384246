"""What the paper says, and whether it holds: each claim once, judged by a law here and now or by a reproduction's rows.

`psephos audit papers` shows the former, `psephos reproduce` those of the experiments: both have one declaration.

Source: Mohsin, Fair and Private Voting Rules, project report; readings F1 to F5.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.fair_voting import FairVoting, Parameters
from ....protocol.fair_voting.choices import SampledChoice
from ....protocol.fair_voting.sampling_bounds import num_samples
from ....protocol.privacy import NeighboringRelation
from ...experiments.findings import BoundedFinding, Certainty, Finding, found_in, in_sentences, said_in
from ...experiments.judging import ahead_somewhere, all_above, between, difference, errors_of
from ...experiments.measurements import Measurement, mean_square
from ...experiments.sheets import where
from ...verdicts import Judgement
from ..audit.neighbors import sums_of_profile
from ..audit.sessions import LABEL, LARGE_SIZES, disliked_alternative, exposure_by_algorithm_1
from ..audit.winner_laws import Ties, loss_between
from .cells import GAMMA
from .published import EPSILONS, RUNS, SIZES, TABLE_1
from .rows import PricedT, Reproduction, SamplingRow, TableRow, pairs_of
from .settings import FITTED, READ, SETTINGS
from .societies_fit import expected_utilities

_ALIKE = 0.005
"""What two decimals do not tell apart."""
_FITTED: Final = " But a society that is fitted to the table refutes nothing."
_AUDIT: Final = "psephos audit fair-voting"
_REPRODUCE: Final = "psephos reproduce fair-voting"
_ALTERNATIVES: Final = ("a", "b", "c", "d")
_DELTA: Final = 1e-3
_TABLE_SIZES: Final = (500, 1_000)
_found: Final = found_in(__name__, paper="Fair and private voting: Mohsin (project report)")
_said: Final = said_in(__name__)


def in_turn(pairs: Iterable[tuple[PricedT, PricedT]], cell: Callable[[PricedT], str]) -> str:
    """Return what one mechanism has against another, by ε."""
    return ", ".join(f"{cell(one)} against {cell(other)} at {one.epsilon_proven:g}" for one, other in pairs)


def distance(rows: Iterable[TableRow | SamplingRow]) -> float:
    """Return the root of the mean squared difference from the published ΔW and W."""
    differences: list[float] = []
    for row in rows:
        printed = TABLE_1[row.sizes, row.mechanism if isinstance(row, TableRow) else "sampling", row.epsilon]
        differences.append(row.welfare.value - printed.welfare)
        if printed.disparity is not None:
            differences.append(row.disparity.value - printed.disparity)
    return math.sqrt(mean_square(differences))


def percent(measurement: Measurement) -> str:
    """Return a share in percent, without its error."""
    return f"{100 * measurement.value:.0f} %"


def findings_on_paper(reproduction: Reproduction) -> Iterator[Finding]:
    """Yield what the paper says, in its order, and whether it holds."""
    yield from in_sentences(findings_on_fair_voting(), "F7", "F1", "F3", "F4", "F8", "F9", "F2")
    yield _laplace_rows(reproduction)
    yield _sampling_rows(reproduction)
    yield _line_17(reproduction)
    yield _thousand_elections(reproduction)
    yield _fairer_when_private(reproduction)
    yield _laplace_is_fairer(reproduction)


def _laplace_rows(reproduction: Reproduction) -> Finding:
    parts: list[str] = []
    alike: dict[str, Judgement] = {}
    for setting in SETTINGS:
        rows = where(reproduction.table_1, society=setting.name, mechanism="laplace")
        apart = [
            difference(one, other)
            for values in ([row.disparity for row in rows], [row.welfare for row in rows])
            for one, other in itertools.combinations(values, 2)
        ]
        alike[setting.name] = between(apart, -_ALIKE, _ALIKE, trials=reproduction.trials)
        disparities = [row.disparity.value for row in rows]
        welfares = [row.welfare.value for row in rows]
        parts.append(
            f"{setting.title}: ΔW {min(disparities):.3f} to {max(disparities):.3f}, W {min(welfares):.3f} to "
            f"{max(welfares):.3f}"
        )
    small = where(reproduction.equal_losses, society=FITTED.name, objective="parity", mechanism="laplace")
    words = ", ".join(f"{100 * row.agreement.value:.0f} % at {row.epsilon_proven:g}" for row in small)
    return _said(
        "laplace-rows",
        alike[FITTED.name],
        f"{'; '.join(parts)}. In the first society the fairest alternative leads so far that noise hardly ever "
        f"hides it: with {SIZES[0][0]:,} and {SIZES[0][1]:,} voters it wins in {words} (ε proven for replacing a "
        "ranking). It is below the paper's ε that privacy costs anything.",
    )


def _sampling_rows(reproduction: Reproduction) -> Finding:
    parts: list[str] = []
    far: dict[str, int] = {}
    for setting in SETTINGS:
        rows = where(reproduction.table_1, society=setting.name, mechanism="sampling")
        offs = [row.welfare_off for row in rows] + [row.disparity_off for row in rows if row.disparity_off is not None]
        errors = errors_of(len(offs), reproduction.trials)
        far[setting.name] = sum(abs(off) > errors for off in offs)
        parts.append(
            f"{setting.title}: off by {distance(rows):.3f} (root mean square), {far[setting.name]} of {len(offs)} "
            f"numbers by more than {errors:.1f} joint standard errors, the farthest by {max(offs, key=abs):+.1f}"
        )
    return _said(
        "sampling-rows",
        # A society that is fitted to the table cannot refute it.
        Judgement.OPEN if far[FITTED.name] else Judgement.HOLDS,
        f"{'; '.join(parts)}.{_FITTED * bool(far[FITTED.name])}",
        on_stand_in=True,
    )


def _line_17(reproduction: Reproduction) -> Finding:
    kinds = list(dict.fromkeys((row.reading, row.scale) for row in reproduction.samplings))
    parts: list[str] = []
    nearest: dict[str, tuple[str, str]] = {}
    for setting in SETTINGS:
        # Only where every reading has a cell.
        own = where(reproduction.samplings, society=setting.name)
        shared = {(row.size_1, row.epsilon) for row in where(own, reading="subsample")}
        distances = {
            (reading, scale): distance(
                row for row in where(own, reading=reading, scale=scale) if (row.size_1, row.epsilon) in shared
            )
            for reading, scale in kinds
        }
        nearest[setting.name] = min(distances, key=distances.__getitem__)
        words = ", ".join(f"{value:.3f} ({scale}, from the {reading})" for (reading, scale), value in distances.items())
        parts.append(f"{setting.title}: {words}")
    return _said(
        "line-17",
        Judgement.HOLDS if all(scale == "printed" for _, scale in nearest.values()) else Judgement.OPEN,
        f"The root of the mean squared difference from the published column is, {'; '.join(parts)}. S_k/n_k "
        f"compares counts of as many voters after dividing them by different sizes.{_FITTED}",
        on_stand_in=True,
    )


def _thousand_elections(reproduction: Reproduction) -> Finding:
    rows = where(reproduction.table_1, society=FITTED.name, mechanism="sampling")
    worst: tuple[float, str] = (0.0, "")
    for epsilon in EPSILONS:
        own = where(rows, epsilon=epsilon)
        told = [(row, row.published_disparity) for row in own if row.published_disparity is not None]
        for one, first in told:
            for other, second in told:
                # Of as many elections as the paper has, and of theirs only.
                error = one.disparity.standard_error * (reproduction.trials / RUNS) ** 0.5
                expected = one.disparity.value - other.disparity.value
                off = (first - second - expected) / (error * 2**0.5)
                if abs(off) > abs(worst[0]):
                    words = (
                        f"at ε = {epsilon:g} the paper has ΔW = {first:.2f} for {one.size_1:,} voters and {second:.2f} "
                        f"for {other.size_1:,} (ours {one.disparity.value:.3f} and {other.disparity.value:.3f})"
                    )
                    worst = off, words
    return _said(
        "elections",
        # That they are drawn independently, for each value, is our reading of the sentence.
        Judgement.OPEN,
        "Algorithm 2 has the same n_s for all sizes, and in large groups the same law, so that a column's rows "
        f"differ by chance alone: {worst[1]}, {abs(worst[0]):.1f} standard errors apart if elections scatter as "
        "ours. A profile that is drawn once for each size, and not for each election, would explain it. But that "
        '"independently" is our word.',
        on_stand_in=True,
    )


def _fairer_when_private(reproduction: Reproduction) -> Finding:
    parts: list[str] = []
    rises: list[Measurement] = []
    for setting in SETTINGS:
        for sizes in SIZES:
            rows = where(reproduction.table_1, society=setting.name, mechanism="sampling", sizes=sizes)
            rises.append(difference(rows[-1].disparity, rows[0].disparity))
            parts.append(", ".join(f"{row.disparity.value:.2f}" for row in rows))
    return _said(
        "fairer",
        all_above(rises, trials=reproduction.trials),
        f"ΔW at labels {', '.join(f'{epsilon:g}' for epsilon in EPSILONS)}: {'; '.join(parts)}. But that is "
        "the accuracy of more samples, and costs more privacy, not less.",
    )


def _laplace_is_fairer(reproduction: Reproduction) -> Finding:
    leads: list[Measurement] = []
    parts: list[str] = []
    for setting in SETTINGS:
        given = {"society": setting.name, "objective": "parity"}
        pairs = pairs_of(reproduction.equal_losses, "laplace", "sampling", **given)
        leads += [difference(sampling.disparity, laplace.disparity) for laplace, sampling in pairs]
        words = in_turn(pairs, lambda row: f"{row.disparity.value:.2f}")
        parts.append(f"{setting.title}: {words}")
    return _said(
        "laplace-fairer",
        ahead_somewhere(leads, trials=reproduction.trials),
        f"ΔW of Algorithms 1 and 2, the latter with the γ and n_s that suit it best: {'; '.join(parts)}.",
    )


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
        (cell.disparity is None, at[-1] * min(at[0]) / (size * math.log(size * min(at[0]))))
        for at, cell in TABLE_1.items()
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
