"""What we add to the paper: other mechanisms and objectives; every number comes from the rows."""

import itertools
import math
from collections.abc import Iterator

from ...experiments.findings import Finding
from ...experiments.judging import (
    ahead_somewhere,
    all_above,
    between,
    difference,
    difference_of_shares,
    errors_of,
    judged,
)
from ...experiments.measurements import Measurement, apart
from ...experiments.sheets import where
from .cells import DELTA, GAMMA, OBJECTIVES
from .claims import distance, in_turn, percent
from .local_table import PRICES
from .published import EPSILONS, SIZES
from .rows import EqualLossRow, ObjectiveRow, RealRow, Reproduction, pairs_of
from .settings import FITTED, READ, SETTINGS, Setting
from .tables import MECHANISM_NAMES

_SMALL = SIZES[0]
_NEAR = 0.1
_RANDOM_WELFARE = 1.5
"""(m − 1)/2, the mean of all alternatives."""
_SMALL_PRICE = 1.0
_MOST_BY_LAW = 63
"""Samples of Algorithm 2 with which a winner of two groups is told by its law, so that nothing of it is drawn."""


def own_findings(reproduction: Reproduction) -> Iterator[Finding]:
    """Yield what the paper does not say, and whether it holds."""
    yield _societies(reproduction)
    yield _not_available(reproduction)
    yield _disliked(reproduction)
    yield from _objectives(reproduction)
    yield _centered(reproduction)
    for objective in OBJECTIVES:
        yield _by_quality(reproduction, objective)
    yield _flips(reproduction)
    yield _samples(reproduction)
    yield _pair(reproduction)
    yield _crossings(reproduction)
    yield _order(reproduction)
    yield _trust(reproduction)
    if reproduction.real:
        yield from findings_on_profiles(reproduction)


def _societies(reproduction: Reproduction) -> Finding:
    rows, others = (where(reproduction.table_1, society=setting.name) for setting in (FITTED, READ))
    worst = max(abs(row.welfare.value - row.published_welfare) for row in rows)
    of_disparity = max(
        abs(row.disparity.value - row.published_disparity) for row in rows if row.published_disparity is not None
    )
    return Finding(
        claim=f"Mallows models with {FITTED.title} give all of Table 1 to within {_NEAR:g}.",
        source=f"a search over all centers, dispersions in steps of .01; δ = {DELTA:g}, γ = {GAMMA:g}",
        judgement=judged(holds=max(worst, of_disparity) <= _NEAR),
        numbers=f"ΔW is off by {of_disparity:.3f} at most and W by {worst:.3f}, {distance(rows):.3f} in the root of "
        f"the mean square. {READ.title[0].upper()}{READ.title[1:]}, found for the Laplace rows of large groups alone "
        f"(reading F5), are off by {distance(others):.3f}: there two alternatives are nearly as fair, and in "
        "groups of these sizes either may be the fairest. None "
        "fits to within chance, so that the paper's laws may be others still.",
    )


def _not_available(reproduction: Reproduction) -> Finding:
    rows = where(reproduction.table_1, society=FITTED.name, mechanism="sampling", is_available=False)
    words = "; ".join(
        f"W = {row.published_welfare:.2f} for {row.size_1:,} and {row.size_2:,} voters, ours {row.welfare:.3f}"
        for row in rows
    )
    return Finding(
        claim="Where Table 1 has no ΔW, since there are not enough samples, it has the W of an election.",
        source="Experimental Results, Table 1",
        judgement=judged(holds=bool(rows)),
        numbers=f"Run with the samples that are asked for: {words}.",
    )


def _small(reproduction: Reproduction, society: str, mechanism: str, objective: str, epsilon: float) -> ObjectiveRow:
    """Return a mechanism's row in the smallest electorate."""
    rows = where(reproduction.objectives, society=society, sizes=_SMALL)
    return where(rows, mechanism=mechanism, objective=objective, epsilon=epsilon)[0]


_Pairs = list[tuple[EqualLossRow, EqualLossRow]]


def _pairs(reproduction: Reproduction, setting: Setting, one: str, other: str, objective: str = "parity") -> _Pairs:
    return pairs_of(reproduction.equal_losses, one, other, society=setting.name, objective=objective)


def _leads(pairs: _Pairs, trials: int) -> list[Measurement]:
    """Return by how much more often the first mechanism is right."""
    return [difference_of_shares(one.agreement, other.agreement, trials) for one, other in pairs]


def _disliked(reproduction: Reproduction) -> Finding:
    parts: list[str] = []
    behind: list[Measurement] = []
    for setting in SETTINGS:
        clean, best = (
            where(reproduction.rules, society=setting.name, sizes=SIZES[-1], rule=rule)[0]
            for rule in ("parity", "borda")
        )
        behind.append(difference(Measurement(_RANDOM_WELFARE, 0.0), clean.welfare))
        parts.append(
            f"{setting.title}: W = {clean.welfare.value:.2f} where Borda's winner has {best.welfare.value:.2f} "
            f"and a random one {_RANDOM_WELFARE:g}"
        )
    return Finding(
        claim="The least ΔW alone elects what both groups dislike: worse than a random winner.",
        source="reading F5",
        judgement=all_above(behind, trials=reproduction.trials),
        numbers=f"Without privacy, {SIZES[-1][0]:,} and {SIZES[-1][1]:,} voters, {'; '.join(parts)}.",
    )


def _objectives(reproduction: Reproduction) -> Iterator[Finding]:
    for objective, words in (
        ("constrained", "the most W within a bound on ΔW"),
        ("penalized", "the most W − ΔW"),
    ):
        parts: list[str] = []
        gains: list[Measurement] = []
        for setting in SETTINGS:
            for epsilon in (EPSILONS[0], EPSILONS[-1]):
                plain = _small(reproduction, setting.name, "laplace", "parity", epsilon)
                other = _small(reproduction, setting.name, "laplace", objective, epsilon)
                gains.append(difference(other.welfare, plain.welfare))
                parts.append(
                    f"W {plain.welfare.value:.2f} to {other.welfare.value:.2f}, ΔW {plain.disparity.value:.2f} to "
                    f"{other.disparity.value:.2f} ({setting.name}, ε = {epsilon:g})"
                )
        yield Finding(
            claim=f"Electing {words} gains welfare at the same proven loss.",
            source="reading F5; Algorithm 1's noise, which any objective may be computed from",
            judgement=all_above(gains, trials=reproduction.trials),
            numbers=f"{_SMALL[0]:,} and {_SMALL[1]:,} voters: {'; '.join(parts)}.",
        )


def _centered(reproduction: Reproduction) -> Finding:
    parts: list[str] = []
    gains: list[Measurement] = []
    ratios: set[float] = set()
    for setting in SETTINGS:
        rows = where(reproduction.noises, society=setting.name, relation="add-remove-one")
        for printed, tight in zip(where(rows, calibration="printed"), where(rows, calibration="tight"), strict=True):
            price = printed.epsilon_proven
            gains.append(difference_of_shares(tight.agreement, printed.agreement, reproduction.trials))
            ratios.add(round(tight.scale / printed.scale, 3))
            parts.append(f"{percent(printed.agreement)} to {percent(tight.agreement)} at {price:g} ({setting.name})")
    return Finding(
        claim="Utilities counted from (m − 1)/2 take a third of Algorithm 1's noise away, at equal proven loss.",
        source="reading F1: what is the same for all alternatives cancels in W₁ − W₂; add or remove a voter, m = 4",
        judgement=ahead_somewhere(gains, trials=reproduction.trials)
        if max(ratios) < 0.67  # noqa: PLR2004  two thirds
        else judged(holds=False),
        numbers=f"The scale falls to {', '.join(f'{ratio:.3f}' for ratio in sorted(ratios))} of the printed one, and "
        f"the fairest alternative wins more often: {'; '.join(parts)}.",
    )


def _by_quality(reproduction: Reproduction, objective: str) -> Finding:
    told: dict[str, Measurement] = {}
    for setting in SETTINGS:
        pairs = _pairs(reproduction, setting, "permute_and_flip", "laplace", objective)
        for pair, lead in zip(pairs, _leads(pairs, reproduction.trials), strict=True):
            told[f"{setting.name}: {in_turn([pair], _right)}"] = lead
    errors = errors_of(len(told), reproduction.trials)
    better, worse = apart(told.values(), errors)
    back = "; ".join(words for words, lead in told.items() if apart([lead], errors)[1])
    return Finding(
        claim="Permute-and-flip, which releases the winner alone, is right more often than Algorithm 1 at some proven "
        f"losses, and at none less often: {objective}.",
        source=f"{_SMALL[0]:,} and {_SMALL[1]:,} voters; McKenna and Sheldon (2020)",
        judgement=ahead_somewhere(told.values(), trials=reproduction.trials),
        numbers=f"Right: the winner is one without privacy. It is ahead at {better} of {len(told)} losses by more than "
        f"{errors:.1f} standard errors, and behind at {worse}{f' ({back})' if back else ''}.",
    )


def _flips(reproduction: Reproduction) -> Finding:
    differences = [
        one.agreement.value - other.agreement.value
        for setting, objective in itertools.product(SETTINGS, ("parity", "penalized"))
        for one, other in _pairs(reproduction, setting, "permute_and_flip", "exponential", objective)
    ]
    return Finding(
        claim="Permute-and-flip is never worse than the exponential mechanism.",
        source="McKenna and Sheldon (2020), Theorem 2; parity and penalized, at equal proven loss",
        # By laws: the winners' probabilities are computed, and no winner is drawn.
        judgement=judged(holds=min(differences) >= -1e-9),  # noqa: PLR2004  rounding
        numbers=f"It is right more often by {100 * min(differences):.1f} to {100 * max(differences):.1f} percentage "
        f"points in {len(differences)} cells.",
    )


def _samples(reproduction: Reproduction) -> Finding:
    parts: list[str] = []
    behind: list[Measurement] = []
    for setting in SETTINGS:
        pairs = _pairs(reproduction, setting, "sampling", "exponential")
        words = ", ".join(f"{_right(row)} at {row.epsilon_proven:g}" for row, _ in pairs)
        parts.append(f"{setting.name}: {words}")
        by_law = [pair for pair in pairs if (pair[0].samples or math.inf) <= _MOST_BY_LAW]
        behind += [difference(other.agreement, own.agreement) for own, other in by_law]
        behind += _leads([(other, own) for own, other in pairs if (own, other) not in by_law], reproduction.trials)
    return Finding(
        claim="At its proven loss Algorithm 2 is behind the exponential mechanism at every ε.",
        source="readings F2 to F4; with the γ and n_s that suit it best",
        judgement=all_above(behind, trials=reproduction.trials),
        numbers=f"It is right in {'; '.join(parts)}.",
    )


def _pair(reproduction: Reproduction) -> Finding:
    rows = [row for row in reproduction.variances if row.epsilon <= _SMALL_PRICE and row.epsilon in PRICES]
    best = [row for row in rows if row.ratio == 1]
    others = [row for row in rows if row.mechanism != "sampled_pair"]
    nearest = min(others, key=lambda row: row.ratio)
    sizes = sorted({row.alternatives for row in rows})
    return Finding(
        claim=f"Where nobody is trusted, one comparison of a random pair tells a ranking best, for ε ≤ "
        f"{_SMALL_PRICE:g} and {sizes[0]} to {sizes[-1]} alternatives.",
        source="variances of one voter's estimate, Borda scores",
        judgement=judged(holds=all(row.mechanism == "sampled_pair" for row in best)),
        numbers=f"It has the least variance in {sum(row.mechanism == 'sampled_pair' for row in best)} of {len(best)} "
        f"cases; the nearest rival has {nearest.ratio:.1f} times as much ({MECHANISM_NAMES[nearest.mechanism]}, m "
        f"= {nearest.alternatives}, ε = {nearest.epsilon:g}).",
    )


def _crossings(reproduction: Reproduction) -> Finding:
    words = "; ".join(
        f"m = {row.alternatives}: {MECHANISM_NAMES[row.above]} from ε = {row.epsilon:.2f} on"
        for row in reproduction.crossings
    )
    last = {row.alternatives: row.above for row in reproduction.crossings}
    few = [above for size, above in last.items() if size <= 8]  # noqa: PLR2004  whole rankings go so far
    return Finding(
        claim="For a large ε the whole ranking is best for up to 8 alternatives, and noisy scores beyond.",
        source="the same variances, ε up to 20",
        judgement=judged(
            holds=all(above == "whole_ranking" for above in few)
            and all(above == "noisy_scores" for size, above in last.items() if size > 8)  # noqa: PLR2004  the same
        ),
        numbers=f"The best one changes: {words}.",
    )


def _order(reproduction: Reproduction) -> Finding:
    names = ("sampled_pair", "sampled_position", "noisy_scores", "whole_ranking")
    variances = {
        (row.mechanism, row.epsilon): row.variance
        for row in reproduction.variances
        if row.alternatives == 4  # noqa: PLR2004  the paper's
    }
    leads: list[Measurement] = []
    parts: list[str] = []
    for epsilon in EPSILONS:
        rows = {name: _small(reproduction, FITTED.name, name, "parity", epsilon) for name in names}
        parts.append(
            f"ε = {epsilon:g}: "
            + ", ".join(f"{MECHANISM_NAMES[name]} {percent(rows[name].agreement)}" for name in names)
        )
        for one in names:
            for other in names:
                if variances[one, epsilon] < variances[other, epsilon]:
                    pair = rows[one].agreement, rows[other].agreement
                    leads.append(difference_of_shares(*pair, reproduction.trials))
    return Finding(
        claim="The local mechanism with the smaller variance elects the right alternative more often.",
        source=f"{_SMALL[0]:,} and {_SMALL[1]:,} voters, {FITTED.title}, parity",
        judgement=ahead_somewhere(leads, trials=reproduction.trials),
        numbers=f"In {sum(lead.value > 0 for lead in leads)} of {len(leads)} comparisons. Right: {'; '.join(parts)}.",
    )


def _trust(reproduction: Reproduction) -> Finding:
    parts: list[str] = []
    gaps: list[Measurement] = []
    for setting in SETTINGS:
        pairs = _pairs(reproduction, setting, "local", "laplace")
        pairs = [pair for pair in pairs if pair[0].epsilon_proven >= EPSILONS[0]]
        gaps += _leads([(trusted, own) for own, trusted in pairs], reproduction.trials)
        parts.append(f"{setting.name}: {in_turn(pairs, _right)}")
    return Finding(
        claim="Trusting nobody costs accuracy at some ε, and gains it at none.",
        source=f"the best local mechanism, Algorithm 1, equal proven loss, {_SMALL[0]:,} and {_SMALL[1]:,} voters",
        judgement=ahead_somewhere(gaps, trials=reproduction.trials),
        numbers=f"Right: {'; '.join(parts)}.",
    )


def findings_on_profiles(reproduction: Reproduction) -> Iterator[Finding]:
    """Yield what holds on profiles that are no electorate of Table 1."""
    rules = {
        name: {row.rule: row for row in where(reproduction.real_sets, name=name)}
        for name in dict.fromkeys(row.name for row in reproduction.real)
    }
    prices: list[str] = []
    for name, clean in rules.items():
        borda, fair = clean["borda"], clean["parity"]
        prices.append(
            f"{name}: {fair.winner} (ΔW {fair.disparity:.2f}, W {fair.welfare:.2f}) instead of {borda.winner} (ΔW "
            f"{borda.disparity:.2f}, W {borda.welfare:.2f})"
        )
    yield Finding(
        claim="On real profiles the least ΔW costs welfare.",
        source="published profiles, without privacy; against Borda's winner",
        judgement=judged(holds=all(clean["parity"].welfare < clean["borda"].welfare for clean in rules.values())),
        numbers=f"Elected are, {'; '.join(prices)}.",
    )
    parts: list[str] = []
    leads: list[Measurement] = []
    for name in rules:
        pairs = pairs_of(reproduction.real, "permute_and_flip", "laplace", name=name, objective="parity")
        leads += [difference(laplace.disparity, flips.disparity) for flips, laplace in pairs]
        parts.append(f"{name}: {in_turn(pairs, _disparity)}")
    yield Finding(
        claim="On real profiles permute-and-flip elects more fairly than Algorithm 1 at some proven losses, and at "
        "none less fairly.",
        source="parity; ε proven for replacing a ranking",
        judgement=ahead_somewhere(leads, trials=reproduction.trials),
        numbers=f"ΔW: {'; '.join(parts)}.",
    )
    needed: list[str] = []
    for name, clean in rules.items():
        fair = clean["parity"]
        rows = where(reproduction.real, name=name, objective="parity", mechanism="permute_and_flip")
        # Halfway from what nearly no information gives to the best there is.
        half = (rows[0].disparity.value + fair.disparity) / 2
        reached = next((row.epsilon_proven for row in rows if row.disparity.value <= half), None)
        told = "at none of the measured ε" if reached is None else f"from ε = {reached:g} on"
        needed.append(f"{name} ({fair.voters:,} voters, {fair.alternatives} alternatives) {told}")
    yield Finding(
        claim=f"Few voters and many alternatives need an ε above {_SMALL_PRICE:g} for half of the fairness.",
        source="permute-and-flip, parity; half of the way from ΔW at the least ε to the least ΔW",
        judgement=judged(holds=any(told in words for words in needed for told in (" ε = 2 ", " ε = 5 ", " none "))),
        numbers=f"It is reached, {'; '.join(needed)}.",
    )
    by_nobody = {name: where(reproduction.real, name=name, objective="parity", mechanism="local") for name in rules}
    words = (
        f"{name}: " + ", ".join(f"{_disparity(row)} at {row.epsilon_proven:g}" for row in rows)
        for name, rows in by_nobody.items()
    )
    small = next(iter(by_nobody.values()))
    yield Finding(
        claim="With a few dozen voters, trusting nobody leaves next to no fairness at ε ≤ 2.",
        source=f"the best local mechanism, parity: ΔW falls by less than {_NEAR:g} from that at the least ε",
        judgement=between(
            (
                difference(small[0].disparity, row.disparity)
                for row in small[1:]
                if row.epsilon_proven <= 2  # noqa: PLR2004  the claim's
            ),
            -math.inf,
            _NEAR,
            trials=reproduction.trials,
        ),
        numbers=f"ΔW: {'; '.join(words)}.",
    )


def _right(row: EqualLossRow) -> str:
    return percent(row.agreement)


def _disparity(row: EqualLossRow | RealRow) -> str:
    return f"{row.disparity.value:.2f}"
