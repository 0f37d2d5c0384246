"""What the paper says, and whether it holds: every verdict, and every number in a sentence, comes from the rows."""

from collections.abc import Iterator

from ....protocol.fair_voting.sampling_bounds import is_feasible, num_samples
from ...experiments.findings import Finding
from ...experiments.measurements import FAR
from .cells import DELTA, GAMMA
from .evidence import (
    CLEAR,
    distance,
    equal_losses,
    in_turn,
    limits_of_samples,
    mean_without_disparity,
    table,
)
from .published import EPSILONS, RUNS, SIZES, TABLE_1
from .rows import Reproduction
from .settings import FITTED, READ
from .societies_fit import DELTAS
from .tables import TITLES

__all__ = ["findings_on_paper"]

_SETTINGS = (FITTED.name, READ.name)
_ALIKE = 0.005
"""What two decimals do not tell apart."""
_NUM_ALTERNATIVES = 4


def findings_on_paper(reproduction: Reproduction) -> Iterator[Finding]:
    """Yield what the paper says, in its order, and whether it holds."""
    yield from _algorithm_1(reproduction)
    yield _unbiased()
    yield _algorithm_2(reproduction)
    yield _label_order(reproduction)
    yield _condition()
    yield _not_available(reproduction)
    yield _laplace_rows(reproduction)
    yield _sampling_rows(reproduction)
    yield _line_17(reproduction)
    yield _thousand_elections(reproduction)
    yield _fairer_when_private(reproduction)
    yield _laplace_is_fairer(reproduction)


def _algorithm_1(reproduction: Reproduction) -> Iterator[Finding]:
    rows = table(reproduction, FITTED.name, "laplace")
    ratios = [row.epsilon_replace / row.epsilon for row in rows]
    others = [(row.epsilon_add_or_remove or 0.0) / row.epsilon for row in rows]
    yield Finding(
        claim="Algorithm 1 is ε-DP where a voter is added or removed, the groups' sizes being public and fixed.",
        source="Results, 1; Algorithm 1, line 3; reading F1",
        holds=max(others) <= 1 + 1e-9,
        numbers=(
            f"One voter's utilities add up to m(m − 1)/2 = {_NUM_ALTERNATIVES * (_NUM_ALTERNATIVES - 1) // 2}, which "
            f"is the scale's numerator: the proven loss is {max(others):.2f}·ε."
        ),
    )
    yield Finding(
        claim="Algorithm 1 is ε-DP where a voter's ranking is replaced by another one.",
        source="Results, 1; Algorithm 1, line 3; reading F1",
        holds=max(ratios) <= 1 + 1e-9,
        numbers=(
            f"A reversed ranking moves W_k by ⌊m²/2⌋/n_k = {_NUM_ALTERNATIVES**2 // 2}/n_k in ℓ₁ norm; the loss is "
            f"{max(ratios):.2f}·ε, and that is attained. (The text's (m − 1)/n_k for each of m coordinates would ask "
            "for a scale twice as large as the algorithm's.)"
        ),
    )


def _unbiased() -> Finding:
    parts: list[str] = []
    for epsilon in (EPSILONS[0], EPSILONS[0] / 10):
        mean = mean_without_disparity(SIZES[0], epsilon=epsilon, num_alternatives=_NUM_ALTERNATIVES)
        parts.append(f"{mean:.3f} at ε = {epsilon:g}")
    return Finding(
        claim="ΔŴ is an unbiased estimator of ΔW.",
        source="Results, 1; reading F3",
        holds=False,
        numbers=(
            "It is an absolute value of what is unbiased, and never negative: where ΔW = 0, its mean is "
            f"{' and '.join(parts)} for groups of {SIZES[0][0]:,} and {SIZES[0][1]:,} (b₁² + b₁b₂ + b₂² over b₁ + b₂)."
        ),
    )


def _algorithm_2(reproduction: Reproduction) -> Finding:
    cells = [row for row in table(reproduction, FITTED.name, "sampling") if row.is_available]
    proven = [row for row in cells if row.epsilon_replace <= row.epsilon]
    missed = ", ".join(
        f"{row.epsilon_replace:.2f} for {row.epsilon:g} (n₂ = {row.size_2:,})" for row in cells if row not in proven
    )
    broken = [row for row in reproduction.searches if row.epsilon_found > row.label]
    words = "; ".join(
        f"{row.epsilon_found:.2f} at label {row.label:g} ({row.scale} scale, γ = {row.gamma:g}, ties "
        f"{'by lot' if row.ties == 'random' else 'to the first alternative'})"
        for row in broken
    )
    sound = [row for row in reproduction.searches if (row.scale, row.ties) == ("unbiased", "random")]
    most = max(sound, key=lambda row: row.epsilon_found / row.label)
    return Finding(
        claim="Algorithm 2 is ε-DP at its label ε.",
        source="Results, 2; readings F2 to F4; γ, which the paper leaves open, decides",
        holds=not broken,
        numbers=(
            f"Neighboring electorates lose {words or 'no more than their labels in any case that was searched'}, "
            f"computed exactly. With the unbiased scale and lots the most that was found is {most.epsilon_found:.2f} "
            f"at label {most.label:g}, and the label is proven in {len(proven)} of the table's {len(cells)} cells at γ "
            f"= {GAMMA:g}; proven is {missed or 'no more than the label in all'}. With γ = 0 no ε is proven at all."
        ),
    )


def _label_order(reproduction: Reproduction) -> Finding:
    parts: list[str] = []
    is_smaller = True
    for sizes in SIZES:
        rows = [row for row in table(reproduction, FITTED.name, "sampling") if row.sizes == sizes]
        losses = [row.epsilon_replace for row in rows]
        is_smaller &= losses == sorted(losses)
        parts.append(f"{', '.join(f'{loss:.2f}' for loss in losses)} (n₂ = {sizes[1]:,})")
    return Finding(
        claim='Algorithm 2 with a smaller label ε is the "high privacy version".',
        source="Experimental Results",
        holds=is_smaller,
        numbers=(
            f"A smaller label asks more voters more often, and what is proven grows: at labels "
            f"{', '.join(f'{epsilon:g}' for epsilon in EPSILONS)} it is {'; '.join(parts)}, with γ = {GAMMA:g}."
        ),
    )


def _condition() -> Finding:
    few, enough = limits_of_samples()
    fitting = [
        delta
        for delta in DELTAS
        if all(
            is_feasible(num_samples(epsilon, delta, _NUM_ALTERNATIVES), epsilon, sizes)
            == (TABLE_1[sizes, "sampling", epsilon].disparity is not None)
            for sizes in SIZES
            for epsilon in EPSILONS
        )
    ]
    samples = ", ".join(f"{num_samples(epsilon, DELTA, _NUM_ALTERNATIVES):,}" for epsilon in EPSILONS)
    return Finding(
        claim="The cells without an election are those with n_s > min(n₁, n₂)/ε.",
        source="Results, 2, with n_s = K/ε²; reading F2",
        holds=few < enough,
        numbers=(
            f"The printed condition is K ≤ ε·min n_k. It would take K > {few:g} for the N/A cells and K ≤ {enough:g} "
            "for the others, which no K is. With n_s ≤ ε·min n_k and n_s = (m/ε²)·ln(m/δ) the N/A cells are exactly "
            f"the paper's for δ = {', '.join(f'{delta:g}' for delta in fitting)} and between; here δ = {DELTA:g}, n_s "
            f"= {samples} at ε = {', '.join(f'{epsilon:g}' for epsilon in EPSILONS)}."
        ),
    )


def _not_available(reproduction: Reproduction) -> Finding:
    rows = [row for row in table(reproduction, FITTED.name, "sampling") if not row.is_available]
    words = "; ".join(
        f"W = {row.published_welfare:.2f} for {row.size_1:,} and {row.size_2:,} voters, ours {row.welfare.value:.2f} ± "
        f"{row.welfare.standard_error:.2f}"
        for row in rows
    )
    return Finding(
        claim="There is no election where there are not enough samples.",
        source="Experimental Results, Table 1",
        holds=False,
        numbers=f"ΔW is N/A there, and yet a W is printed. Run with the samples that are asked for: {words}.",
    )


def _laplace_rows(reproduction: Reproduction) -> Finding:
    parts: list[str] = []
    spreads: dict[str, float] = {}
    for society in _SETTINGS:
        rows = table(reproduction, society, "laplace")
        by_size = [[row for row in rows if row.sizes == sizes] for sizes in SIZES]
        spreads[society] = max(
            max(value) - min(value)
            for own in by_size
            for value in ([row.disparity.value for row in own], [row.welfare.value for row in own])
        )
        disparities = [row.disparity.value for row in rows]
        welfares = [row.welfare.value for row in rows]
        parts.append(
            f"{TITLES[society]}: ΔW {min(disparities):.3f} to {max(disparities):.3f}, W {min(welfares):.3f} to "
            f"{max(welfares):.3f}"
        )
    small = equal_losses(reproduction, FITTED.name, "parity", "laplace")
    words = ", ".join(f"{100 * row.agreement.value:.0f} % at {price:g}" for price, row in small.items())
    return Finding(
        claim="Algorithm 1's rows are the same for all ε and all sizes.",
        source="Experimental Results; Table 1, to two decimals",
        holds=spreads[FITTED.name] <= _ALIKE,
        numbers=(
            f"{'; '.join(parts)}. In the first society the fairest alternative leads so far that noise hardly ever "
            f"hides it: with {SIZES[0][0]:,} and {SIZES[0][1]:,} voters it wins in {words} (ε proven for replacing a "
            "ranking). It is below the paper's ε that privacy costs anything."
        ),
    )


def _sampling_rows(reproduction: Reproduction) -> Finding:
    parts: list[str] = []
    far: dict[str, int] = {}
    for society in _SETTINGS:
        rows = table(reproduction, society, "sampling")
        offs = [row.welfare_off for row in rows] + [row.disparity_off for row in rows if row.disparity_off is not None]
        far[society] = sum(abs(off) > FAR for off in offs)
        parts.append(
            f"{TITLES[society]}: off by {distance(rows):.3f} (root mean square), {far[society]} of {len(offs)} numbers "
            f"by more than {FAR:g} joint standard errors, the farthest by {max(offs, key=abs):+.1f}"
        )
    return Finding(
        claim="Algorithm 2's rows come out as published.",
        source="Table 1, for the societies that were found; the unbiased scale, from the group",
        holds=far[FITTED.name] == 0,
        numbers=f"{'; '.join(parts)}.",
    )


def _line_17(reproduction: Reproduction) -> Finding:
    kinds = list(dict.fromkeys((row.reading, row.scale) for row in reproduction.samplings))
    parts: list[str] = []
    nearest: dict[str, tuple[str, str]] = {}
    for society in _SETTINGS:
        # Only where every reading has a cell.
        own = [row for row in reproduction.samplings if row.society == society]
        shared = {(row.size_1, row.epsilon) for row in own if row.reading == "subsample"}
        distances = {
            (reading, scale): distance(
                row
                for row in own
                if (row.reading, row.scale) == (reading, scale) and (row.size_1, row.epsilon) in shared
            )
            for reading, scale in kinds
        }
        nearest[society] = min(distances, key=distances.__getitem__)
        words = ", ".join(f"{value:.3f} ({scale}, from the {reading})" for (reading, scale), value in distances.items())
        parts.append(f"{TITLES[society]}: {words}")
    return Finding(
        claim="W̃_k = S_k/n_k, as line 17 says, is what the published column was computed with.",
        source="Algorithm 2, line 17; reading F3",
        holds=all(scale == "printed" for _, scale in nearest.values()),
        numbers=(
            f"The root of the mean squared difference from the published column is, {'; '.join(parts)}. S_k/n_k "
            "compares counts of as many voters after dividing them by different sizes."
        ),
    )


def _thousand_elections(reproduction: Reproduction) -> Finding:
    rows = table(reproduction, FITTED.name, "sampling")
    worst: tuple[float, str] = (0.0, "")
    for epsilon in EPSILONS:
        own = [row for row in rows if row.epsilon == epsilon]
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
    return Finding(
        claim="Each value is the average of 1,000 elections that are drawn independently.",
        source="Experimental Results",
        holds=abs(worst[0]) <= FAR,
        numbers=(
            "Algorithm 2 has the same n_s for all sizes, and in large groups the same law, so that a column's rows "
            f"differ by chance alone: {worst[1]}, {abs(worst[0]):.1f} standard errors apart if elections scatter as "
            "ours. A profile that is drawn once for each size, and not for each election, would explain it."
        ),
    )


def _fairer_when_private(reproduction: Reproduction) -> Finding:
    parts: list[str] = []
    is_rising = True
    for society in _SETTINGS:
        for sizes in SIZES:
            own = [row for row in table(reproduction, society, "sampling") if row.sizes == sizes]
            values = [row.disparity.value for row in own]
            is_rising &= values == sorted(values)
            parts.append(", ".join(f"{value:.2f}" for value in values))
    return Finding(
        claim="Algorithm 2 is fairer at a smaller label ε.",
        source="Experimental Results; Table 1",
        holds=is_rising,
        numbers=(
            f"ΔW at labels {', '.join(f'{epsilon:g}' for epsilon in EPSILONS)}: {'; '.join(parts)}. But that is the "
            "accuracy of more samples, and costs more privacy, not less."
        ),
    )


def _laplace_is_fairer(reproduction: Reproduction) -> Finding:
    leads: list[float] = []
    parts: list[str] = []
    for society in _SETTINGS:
        laplace = equal_losses(reproduction, society, "parity", "laplace")
        sampling = equal_losses(reproduction, society, "parity", "sampling")
        shared = [price for price in laplace if price in sampling]
        for price in shared:
            ours, other = laplace[price].disparity, sampling[price].disparity
            error = (ours.standard_error**2 + other.standard_error**2) ** 0.5
            leads.append((other.value - ours.value) / error if error else 0.0)
        words = in_turn(laplace, sampling, lambda row: f"{row.disparity.value:.2f}", shared)
        parts.append(f"{TITLES[society]}: {words}")
    return Finding(
        claim="Algorithm 1 is fairer than Algorithm 2, at equal proven loss too.",
        source="Conclusion; there at equal labels",
        holds=max(leads) > CLEAR and min(leads) > -CLEAR,
        numbers=f"ΔW of Algorithms 1 and 2, the latter with the γ and n_s that suit it best: {'; '.join(parts)}.",
    )
