"""What the paper says, and whether it holds: every verdict, and every number in a sentence, comes from the rows."""

import itertools
from collections.abc import Iterator

from ..findings import Finding
from ..measurements import Measurement, deviation
from .evidence import TOLERANCE, Comparison, ascent, compare, curve, curves_of, listed, points, share
from .methods import ALGORITHMS, METHODS
from .published import HIGH_RATIO, RATIO
from .rows import CurvePoint, Reproduction
from .societies import MACHINE_LIKE, SYNTHETIC

__all__ = ["findings_on_paper"]

_KINDS = {SYNTHETIC: "Section 5.1's voters", MACHINE_LIKE: "the stand-in for the Moral Machine's voters"}
_CLOSE = 0.01
_NAMED_BOUNDS = (2.0, 3.0)


def findings_on_paper(reproduction: Reproduction) -> tuple[Finding, ...]:
    """Return what the paper says, in its order, and whether it holds."""
    return tuple(_findings(reproduction))


def _findings(reproduction: Reproduction) -> Iterator[Finding]:
    yield from _more_is_better(reproduction)
    yield from _order(reproduction)
    yield from _dimension(reproduction)
    yield from _groups(reproduction)
    yield from _bound(reproduction)
    yield from _machine(reproduction)
    yield from _baselines(reproduction)
    yield from _ratios(reproduction)
    yield from _sensitivity(reproduction)


def _title(method: str) -> str:
    return METHODS[method].title


def _rise(curves: list[dict[float, Measurement]], *, falls: bool = False) -> tuple[bool, str]:
    """Return whether curves rise from their first point to their last without a clear fall between, and in words."""
    steps = ascent(curves)
    ends = [(each[min(each)], each[max(each)]) for each in curves]
    if falls:
        steps = ascent([dict(reversed(each.items())) for each in curves])
        ends = [(last, first) for first, last in ends]
    rising = sum(deviation(last, first) > TOLERANCE for first, last in ends)
    holds = rising == len(ends) and not steps.far_below
    low, high = (min(first.value for first, _ in ends), max(last.value for _, last in ends))
    return holds, (
        f"{rising} of {len(ends)} curves do, from end to end, by more than {TOLERANCE:g} standard errors, between "
        f"{low:.3f} and {high:.3f}; of {steps.number} single steps {steps.below} go the other way by as much"
    )


def _more_is_better(reproduction: Reproduction) -> Iterator[Finding]:
    for figure, method in enumerate(ALGORITHMS, start=1):
        found = points(reproduction, figure)
        holds, words = _rise(curves_of(found))
        yield Finding(
            claim=f"{_title(method)}: a smaller ε leads to a lower accuracy.",
            source=f"Figure {figure}",
            holds=holds,
            numbers=f"The curves rise with ε: {words}.",
        )
        voters = compare(_pairs(found, "voters", 50, 100))
        records = compare(_pairs(found, "records", 50, 100))
        yield _compared(f"{_title(method)}: 100 voters give a better accuracy than 50.", f"Figure {figure}", voters)
        yield _compared(
            f"{_title(method)}: 100 records of a voter give a better accuracy than 50.",
            f"Figure {figure}; the paper's values of n are lost (reading M11)",
            records,
        )


def _pairs(found: list[CurvePoint], field: str, low: int, high: int) -> Iterator[tuple[Measurement, Measurement]]:
    """Yield the accuracies of points that differ in one field alone, the larger value's first."""

    def place(point: CurvePoint) -> tuple[object, ...]:
        names = [name for name in ("method", "voters", "records", "features", "varied", "at") if name != field]
        panel = "" if field == "voters" else point.panel
        return (panel, *(getattr(point, name) for name in names))

    smaller = {place(point): point for point in found if getattr(point, field) == low}
    for point in found:
        if getattr(point, field) == high and place(point) in smaller:
            yield point.accuracy, smaller[place(point)].accuracy


def _compared(claim: str, source: str, comparison: Comparison) -> Finding:
    return Finding(
        claim=claim,
        source=source,
        holds=comparison.holds,
        numbers=f"The accuracy differs {comparison.words}.",
    )


def _order(reproduction: Reproduction) -> Iterator[Finding]:
    for better, worse in (
        ("algorithm-1", "algorithm-3"),
        ("algorithm-1", "algorithm-2"),
        ("algorithm-3", "algorithm-2"),
    ):
        found = points(reproduction, 4)
        comparison = compare(_methods(found, better, worse))
        extra = ""
        if better == "algorithm-3":
            cost = {m: next(p for p in found if (p.method, p.at) == (m, 1.0)).epsilon_voter for m in (better, worse)}
            extra = (
                f" But ε is a record's for the one and a voter's for the other (reading M7): at ε = 1 a voter pays up "
                f"to {cost[better]:g} with {_title(better)} and {cost[worse]:g} with {_title(worse)}."
            )
        yield Finding(
            claim=f"{_title(better)} outperforms {_title(worse)} at equal ε.",
            source="Figure 4",
            holds=comparison.holds,
            numbers=f"The accuracy differs {comparison.words}.{extra}",
        )


def _methods(found: list[CurvePoint], better: str, worse: str) -> Iterator[tuple[Measurement, Measurement]]:
    others = {(p.panel, p.voters, p.at): p for p in found if p.method == worse}
    for point in found:
        if point.method == better:
            yield point.accuracy, others[point.panel, point.voters, point.at].accuracy


def _dimension(reproduction: Reproduction) -> Iterator[Finding]:
    for panel, method in zip("ab", ("algorithm-1", "algorithm-3"), strict=True):
        found = points(reproduction, 5, panel)
        dimensions = sorted({point.features for point in found})
        pairs = [
            (one, other)
            for less, more in itertools.pairwise(dimensions)
            for other, one in _pairs(found, "features", less, more)
        ]
        yield _compared(
            f"{_title(method)}: the accuracy falls as the number of features grows, from {listed(_few(dimensions))}.",
            f"Figure 5({panel})",
            compare(pairs),
        )


def _few(numbers: list[int]) -> list[str]:
    return [str(number) for number in numbers]


def _groups(reproduction: Reproduction) -> Iterator[Finding]:
    what = {
        (6, "a"): ("falls as more voters are conservative (f_C)", True),
        (6, "b"): ("grows with ε_C", False),
        (6, "c"): ("grows with ε_M", False),
        (9, "a"): ("grows with ε_C", False),
        (9, "b"): ("grows with ε_M", False),
    }
    for (figure, panel), (claim, falls) in what.items():
        found = points(reproduction, figure, panel, method="algorithm-3")
        holds, words = _rise(curves_of(found), falls=falls)
        where = "" if figure == 6 else f", on {_KINDS[MACHINE_LIKE]}"  # noqa: PLR2004  the synthetic one
        yield Finding(
            claim=f"Algorithm 3 with personalized ε: the accuracy {claim}{where}.",
            source=f"Figure {figure}({panel})",
            holds=holds,
            numbers=f"The curves do: {words}.",
        )
    found = [point for panel in "bc" for point in points(reproduction, 6, panel, method="algorithm-3")]
    yield _compared(
        "Algorithm 3 with personalized ε: more voters lead to a better accuracy.",
        "Figures 6(b) and 6(c)",
        compare(_pairs(found, "voters", 50, 100)),
    )
    first, second = (points(reproduction, 6, panel, method="algorithm-3") for panel in "bc")
    lowest, highest = (pick(p.accuracy.value for p in each) for pick, each in ((min, first), (max, second)))
    means = [sum(p.accuracy.value for p in each) / len(each) for each in (first, second)]
    shared = [(p.accuracy, q.accuracy) for p in first for q in second if (p.voters, p.at) == (q.voters, q.at)]
    comparison = compare(shared)
    yield Finding(
        claim="The accuracy of Figure 6(b) is higher than that of Figure 6(c).",
        source="Section 5.1, at equal places of the axes",
        holds=comparison.holds,
        numbers=(
            f"It differs {comparison.words}. On average it is {means[0]:.3f} against {means[1]:.3f}; the lowest point "
            f"of (b) is {lowest:.3f}, the highest of (c) {highest:.3f}."
        ),
    )


def _bound(reproduction: Reproduction) -> Iterator[Finding]:
    for method in ("algorithm-1", "algorithm-2"):
        found = points(reproduction, 7, method=method)
        epsilon = min(point.epsilon for point in found if point.epsilon is not None)
        at = curve([point for point in found if point.epsilon == epsilon])
        best = max(at, key=lambda bound: at[bound].value)
        named = max((at[bound] for bound in _NAMED_BOUNDS), key=lambda each: each.value)
        others = [bound for bound in at if bound not in _NAMED_BOUNDS]
        beaten = [bound for bound in others if deviation(named, at[bound]) > TOLERANCE]
        words = ", ".join(f"{share(accuracy)} at B = {bound:g}" for bound, accuracy in at.items())
        yield Finding(
            claim=f"{_title(method)} is best with a bound B around 2 or 3.",
            source=f"Figure 7, ε = {epsilon:g}; reading M5",
            holds=best in _NAMED_BOUNDS and bool(beaten),
            numbers=f"The accuracy is {words}: the best is at B = {best:g}.",
        )


def _machine(reproduction: Reproduction) -> Iterator[Finding]:
    for panel, method in zip("abc", ALGORITHMS, strict=True):
        found = points(reproduction, 8, panel)
        holds, words = _rise(curves_of(found))
        sizes = sorted({point.voters for point in found})
        comparison = compare(
            pair for less, more in itertools.pairwise(sizes) for pair in _pairs(found, "voters", less, more)
        )
        yield Finding(
            claim=f"{_title(method)}: a larger ε or more voters give a better accuracy, on Moral Machine data.",
            source=f"Figure 8({panel}), on {_KINDS[MACHINE_LIKE]} (reading M13)",
            holds=holds and comparison.holds,
            numbers=f"The curves rise with ε: {words}. With N the accuracy differs {comparison.words}.",
        )
    found = points(reproduction, 8, "d")
    first, second = (
        compare(_methods(found, *pair)) for pair in (("algorithm-1", "algorithm-3"), ("algorithm-3", "algorithm-2"))
    )
    yield Finding(
        claim="Algorithm 1 outperforms Algorithm 3, and Algorithm 2 has the lowest accuracy in all cases.",
        source=f"Figure 8(d), on {_KINDS[MACHINE_LIKE]} (reading M13)",
        holds=first.holds and second.holds,
        numbers=(
            f"Algorithm 1 against Algorithm 3: the accuracy differs {first.words}. Algorithm 3 against Algorithm 2: "
            f"{second.words}."
        ),
    )


def _baselines(reproduction: Reproduction) -> Iterator[Finding]:
    for row in reproduction.baselines:
        if row.published is None:
            continue
        wide = max(
            (
                r
                for r in reproduction.baselines
                if (r.setting, r.voters, r.records) == (row.setting, row.voters, row.records)
            ),
            key=lambda r: r.bound,
        )
        stand_in = " (a stand-in, reading M13)" if row.setting == MACHINE_LIKE else ""
        yield Finding(
            claim=(
                f"Without privacy the accuracy is {100 * row.published:g} % (N = {row.voters}, n = {row.records}, on "
                f"{_KINDS[row.setting]})."
            ),
            source=f"Section 5.3, reading M2{stand_in}",
            holds=abs(row.society.value - row.published) <= _CLOSE,
            numbers=(
                f"The mean of all voters' fits has {share(row.society)} with B = {row.bound:g}, and "
                f"{share(wide.society)} with B = {wide.bound:g}. Single voters' fits, each against the voter's own "
                f"preferences, have {share(row.voter)} and {share(wide.voter)}."
            ),
        )


def _ratios(reproduction: Reproduction) -> Iterator[Finding]:
    for panel, setting in (("a", SYNTHETIC), ("b", MACHINE_LIKE)):
        for method in ("algorithm-1", "algorithm-3"):
            found = sorted(points(reproduction, 10, panel, method=method), key=lambda point: point.at)
            (low, much), (high, most) = RATIO, HIGH_RATIO
            missed = [
                point
                for point in found
                if (point.at > low and point.ratio.value <= much) or (point.at > high and point.ratio.value <= most)
            ]
            words = ", ".join(f"{100 * p.ratio.value:.0f} % at {p.at:g}" for p in found if p.at >= low)
            reached = [
                next((point.at for point in found if _stays_above(found, point, level)), None) for level in (much, most)
            ]
            where = " and ".join(
                f"above {100 * level:g} % from ε = {at:g} on"
                if at is not None
                else f"never stays above {100 * level:g} %"
                for level, at in zip((much, most), reached, strict=True)
            )
            yield Finding(
                claim=(
                    f"{METHODS[method].title} keeps more than {100 * much:g} % of the accuracy without privacy for ε > "
                    f"{low:g}, and more than {100 * most:g} % for ε > {high:g}."
                ),
                source=f"Section 5.3, Figure 10({panel}), on {_KINDS[setting]}; reading M5",
                holds=not missed,
                numbers=f"It keeps {words}; it is {where}. A coin keeps {_coin(found[0]):.0f} %.",
            )


def _stays_above(found: list[CurvePoint], first: CurvePoint, level: float) -> bool:
    return all(point.ratio.value > level for point in found if point.at >= first.at)


def _coin(point: CurvePoint) -> float:
    """Return what tossing a coin keeps of the accuracy without privacy, in percent."""
    return 50 * point.ratio.value / point.accuracy.value


def _sensitivity(reproduction: Reproduction) -> Iterator[Finding]:
    rows = reproduction.sensitivities
    words = "; ".join(
        f"d = {row.features}: printed {row.printed:.2f}, proven {row.tight:.2f}, found {row.found:.2f}" for row in rows
    )
    yield Finding(
        claim="One record changes the objective's coefficients by no more than Δ = 2(√(2d/π) + d/π).",
        source="Section 4.4, reading M6",
        holds=all(row.found <= row.printed for row in rows),
        numbers=f"A lower bound is proven, and a search finds no change above that either: {words}.",
    )
