"""What we add to the paper: better variants at the same ε; every number comes from the rows."""

import itertools
import math
from collections.abc import Iterator, Sequence

from ...experiments.findings import Finding
from ...experiments.judging import ahead_somewhere, all_above, difference, errors_of, judged
from ...experiments.measurements import Measurement, apart
from ...experiments.sheets import where
from .claims import share
from .methods import METHODS
from .plan import REFERENCES
from .published import HIGH_RATIO, RATIO
from .rows import ProjectionRow, Reproduction, VariantRow, WeightRow
from .societies import MACHINE_LIKE, SYNTHETIC

_SOURCES = {
    "clipped": "reading M6 and the clipping of differences",
    "tight": "reading M6",
    **dict.fromkeys(("direction", "whitened", "pooled"), "reading M8"),
    **dict.fromkeys(("central-direction", "central-whitened", "central-pooled"), "reading M8"),
    **dict.fromkeys(("voter-direction", "central-voter-direction"), "reading M8, for voters"),
    **dict.fromkeys(("voter-whitened", "central-voter-whitened"), "reading M8, for voters"),
    **dict.fromkeys(("trimmed", "nonconvex"), "reading M3"),
}
"""Of the methods that are held against the paper's own, in their order."""
_KINDS = {SYNTHETIC: "Section 5.1's voters", MACHINE_LIKE: "voters like the Moral Machine's"}


def own_findings(reproduction: Reproduction) -> Iterator[Finding]:
    """Yield what the paper does not say, and whether it holds."""
    yield _meets_the_claim(reproduction)
    for setting, (method, source) in itertools.product(_KINDS, _SOURCES.items()):
        if rows := where(reproduction.variants, setting=setting, method=method):
            yield _against_the_paper(rows, source, reproduction.trials)
    yield _whitening(reproduction)
    yield _equal_voter_loss(reproduction)
    for method in ("algorithm-2", "algorithm-3", "direction"):
        yield _weights(where(reproduction.weights, method=method), reproduction.trials)
    yield from _projection(reproduction)
    yield _tight(reproduction)


def _meets_the_claim(reproduction: Reproduction) -> Finding:
    found = where(reproduction.variants, setting=SYNTHETIC, method="direction")
    ratios = {row.epsilon: row.ratio.value for row in found if row.epsilon is not None}
    (low, much), (high, most) = RATIO, HIGH_RATIO
    beyond = [
        Measurement(row.ratio.value - (most if row.epsilon >= high else much), row.ratio.standard_error)
        for row in found
        if row.epsilon is not None and row.epsilon >= low
    ]
    words = ", ".join(f"{100 * ratio:.1f} % at ε = {epsilon:g}" for epsilon, ratio in ratios.items())
    return Finding(
        claim=f"With directions, local noise for records keeps more than {100 * much:g} % of the accuracy without "
        f"privacy from ε = {low:g} on, and more than {100 * most:g} % from ε = {high:g} on.",
        source=f"what Section 5.3 says of Algorithm 3, for the direction release (reading M8), on {_KINDS[SYNTHETIC]}",
        judgement=all_above(beyond, trials=reproduction.trials),
        numbers=f"It keeps {words}.",
    )


def _against_the_paper(rows: Sequence[VariantRow], source: str, trials: int) -> Finding:
    first = rows[0]
    reference = METHODS[REFERENCES[first.paradigm]].title
    noisy = [
        (row.epsilon, row.lead.value, row.lead_in_errors)
        for row in rows
        if row.epsilon is not None and row.lead is not None and row.lead_in_errors is not None
    ]
    words = ", ".join(f"{100 * lead:+.1f} at {epsilon:g} ({errors:+.0f})" for epsilon, lead, errors in noisy)
    return Finding(
        claim=f"{first.paradigm}, {_KINDS[first.setting]}: {_lower(first.title)} is better than {reference} at some ε, "
        "and at none worse.",
        source=source,
        judgement=ahead_somewhere(
            (row.lead for row in rows if row.epsilon is not None and row.lead is not None), trials=trials
        ),
        numbers=f"Points of accuracy, by ε, and in standard errors: {words}.",
    )


def _lower(title: str) -> str:
    return title if title.startswith("Algorithm") else f"the {title}" if "direction" in title else title


def _whitening(reproduction: Reproduction) -> Finding:
    gains: list[Measurement] = []
    for plain, whitened in (
        ("direction", "whitened"),
        ("central-direction", "central-whitened"),
        ("voter-direction", "voter-whitened"),
        ("central-voter-direction", "central-voter-whitened"),
    ):
        rows, others = (where(reproduction.variants, setting=MACHINE_LIKE, method=each) for each in (plain, whitened))
        gains += [
            difference(turned.accuracy, row.accuracy)
            for row, turned in zip(rows, others, strict=True)
            if row.epsilon is not None
        ]
    errors = errors_of(len(gains), reproduction.trials)
    better, worse = apart(gains, errors)
    return Finding(
        claim=f"Whitening by the public covariance helps the direction release at every ε, on {_KINDS[MACHINE_LIKE]}.",
        source="reading M8",
        judgement=all_above(gains, trials=reproduction.trials),
        numbers=f"It helps in {better} of {len(gains)} cases and hurts in {worse}, by more than {errors:.1f} standard "
        "errors. Whitening turns the sum to where β points, and makes "
        "noise larger along features that vary little: it pays where the noise is small.",
    )


def _equal_voter_loss(reproduction: Reproduction) -> Finding:
    functional, voters = (
        sorted(reproduction.of_figure(10, "a", method=method), key=lambda point: point.at)
        for method in ("algorithm-3", "algorithm-2")
    )
    pairs = [
        (ours, other)
        for ours, other in itertools.product(functional, voters)
        if math.isclose(ours.epsilon_voter or 0, other.epsilon_voter or math.inf, rel_tol=1e-6)
    ]
    words = "; ".join(
        f"a voter pays {other.epsilon_voter:g}: {share(ours.accuracy)} (ε = {ours.at:g} a record) against "
        f"{share(other.accuracy)}"
        for ours, other in pairs
    )
    return Finding(
        claim="At equal loss of a voter Algorithm 2 is better than Algorithm 3.",
        source="reading M7, N = 50, n = 100",
        judgement=all_above(
            (difference(other.accuracy, ours.accuracy) for ours, other in pairs), trials=reproduction.trials
        ),
        numbers=f"Algorithm 3 against Algorithm 2, where {words}.",
    )


def _weights(rows: Sequence[WeightRow], trials: int) -> Finding:
    def place(row: WeightRow) -> str:
        return f"{'the same ' if row.is_fixed else ''}{row.voters:,} {_KINDS[row.setting]}"

    words = "; ".join(
        f"{place(row)}: {share(row.plain)} to {share(row.weighted)}, {100 * row.gain.value:+.1f} points "
        f"({row.gain.value / (row.gain.standard_error or 1):+.0f} standard errors)"
        for row in rows
    )
    return Finding(
        claim=f"{METHODS[rows[0].method].title}, voters with an ε of their own: a weighted mean beats the plain one.",
        source="reading M9, groups of reading M11; ε depends on no preference",
        judgement=all_above((row.gain for row in rows), trials=trials),
        numbers=f"{words[0].upper()}{words[1:]}.",
    )


def _projection(reproduction: Reproduction) -> Iterator[Finding]:
    rows = reproduction.projections
    smaller = [row for row in rows if row.error_projected.value <= row.error.value]

    def place(row: ProjectionRow) -> str:
        return f"{METHODS[row.method].title}, {_KINDS[row.setting]}, ε = {row.epsilon:g}"

    most = max(rows, key=lambda row: row.error.value / max(row.error_projected.value, 1e-300))
    yield Finding(
        claim="Projecting the released mean to the ball never makes its squared error larger.",
        source="a property of projections to convex sets that hold the clean mean",
        judgement=judged(holds=len(smaller) == len(rows)),
        numbers=f"It makes it smaller or leaves it in {len(smaller)} of {len(rows)} cases; most for {place(most)}: "
        f"{most.error.value:,.3g} to {most.error_projected.value:,.3g}.",
    )
    errors = errors_of(len(rows), reproduction.trials)
    better, worse = apart((row.gain for row in rows), errors)
    losses = "; ".join(
        f"{place(row)}: {100 * row.gain.value:+.1f} points" for row in rows if apart([row.gain], errors)[1]
    )
    yield Finding(
        claim="It helps decisions too, which need the direction alone, at some ε, and hurts them at none.",
        source="the same releases",
        judgement=ahead_somewhere((row.gain for row in rows), trials=reproduction.trials),
        numbers=f"The accuracy is higher in {better} of {len(rows)} cases, by more than {errors:.1f} standard "
        f"errors, and lower in {worse}{f' ({losses})' if losses else ''}: projection sets small numbers to 0.",
    )


def _tight(reproduction: Reproduction) -> Finding:
    rows = reproduction.sensitivities
    words = ", ".join(f"{100 * (1 - row.tight / row.printed):.0f} % at d = {row.features}" for row in rows)
    return Finding(
        claim="A lower sensitivity of the functional mechanism is proven.",
        source="reading M6",
        judgement=judged(holds=all(row.found <= row.tight < row.printed for row in rows)),
        numbers=f"It is lower by {words}, and no search found a change above it.",
    )
