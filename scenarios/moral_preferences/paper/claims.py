"""What the paper says, and whether it holds: every verdict, and every number in a sentence, comes from the rows."""

from collections.abc import Iterator

from ...experiments.findings import Finding, in_a_row
from ...experiments.measurements import TOLERANCE, deviation
from .evidence import curve, effect, effect_in_words, is_ahead, points, share
from .methods import ALGORITHMS, METHODS
from .published import DIMENSIONS, HIGH_RATIO, RATIO
from .rows import CurvePoint, EffectRow, Reproduction
from .societies import MACHINE_LIKE, SYNTHETIC

__all__ = ["findings_on_paper"]

_KINDS = {SYNTHETIC: "Section 5.1's voters", MACHINE_LIKE: "the stand-in for the Moral Machine's voters"}
_CLOSE = 0.01
_NAMED_BOUNDS = (2.0, 3.0)
_MACHINE_FIGURE = 9


def findings_on_paper(reproduction: Reproduction) -> Iterator[Finding]:
    """Yield what the paper says, in its order, and whether it holds."""
    yield from _more_is_better(reproduction)
    yield from _order(reproduction)
    yield from _dimension(reproduction)
    yield from _groups(reproduction)
    yield from _bound(reproduction)
    yield from _machine(reproduction)
    yield from _baselines(reproduction)
    yield from _ratios(reproduction)
    yield from _sensitivity(reproduction)


def _of_effect(claim: str, source: str, row: EffectRow, *, steps: bool = False, extra: str = "") -> Finding:
    words = effect_in_words(row, steps=steps)
    return Finding(claim=claim, source=source, holds=is_ahead(row), numbers=f"The accuracy differs by {words}.{extra}")


def _more_is_better(reproduction: Reproduction) -> Iterator[Finding]:
    for figure, method in enumerate(ALGORITHMS, start=1):
        title, source = METHODS[method].title, f"Figure {figure}"
        yield _of_effect(
            f"{title}: a smaller ε leads to a lower accuracy.",
            source,
            effect(reproduction, figure, "epsilon"),
            steps=True,
        )
        yield _of_effect(
            f"{title}: more voters give a better accuracy.",
            source,
            effect(reproduction, figure, "voters"),
        )
        yield _of_effect(
            f"{title}: more records of a voter give a better accuracy.",
            f"{source}; the paper's values of n are lost (reading M11)",
            effect(reproduction, figure, "records"),
        )


def _order(reproduction: Reproduction) -> Iterator[Finding]:
    for better, worse in (
        ("algorithm-1", "algorithm-3"),
        ("algorithm-1", "algorithm-2"),
        ("algorithm-3", "algorithm-2"),
    ):
        titles = METHODS[better].title, METHODS[worse].title
        extra = ""
        if better == "algorithm-3":
            found = points(reproduction, 4, at=1.0)
            costs = [next(point.epsilon_voter for point in found if point.method == each) for each in (better, worse)]
            extra = (
                f" But ε is a record's for the one and a voter's for the other (reading M7): at ε = 1 a voter pays up "
                f"to {costs[0]:g} with {titles[0]} and {costs[1]:g} with {titles[1]}."
            )
        row = effect(reproduction, 4, f"{better} against {worse}")
        yield _of_effect(f"{titles[0]} outperforms {titles[1]} at equal ε.", "Figure 4", row, extra=extra)


def _dimension(reproduction: Reproduction) -> Iterator[Finding]:
    for panel, method in zip("ab", ("algorithm-1", "algorithm-3"), strict=True):
        yield _of_effect(
            f"{METHODS[method].title}: the accuracy falls as the number of features grows.",
            f"Figure 5({panel}), fewer against more of {in_a_row(map(str, DIMENSIONS))}",
            effect(reproduction, 5, "fewer features", panel),
        )


def _groups(reproduction: Reproduction) -> Iterator[Finding]:
    what = {
        (6, "a"): ("falls as more voters are conservative (f_C)", "less conservative"),
        (6, "b"): ("grows with ε_C", "epsilon_conservative"),
        (6, "c"): ("grows with ε_M", "epsilon_moderate"),
        (9, "a"): ("grows with ε_C", "epsilon_conservative"),
        (9, "b"): ("grows with ε_M", "epsilon_moderate"),
    }
    for (figure, panel), (claim, varied) in what.items():
        where = f", on {_KINDS[MACHINE_LIKE]} (reading M13)" if figure == _MACHINE_FIGURE else ""
        yield _of_effect(
            f"Algorithm 3 with personalized ε: the accuracy {claim}.",
            f"Figure {figure}({panel}){where}",
            effect(reproduction, figure, varied, panel),
            steps=True,
        )
    for panel in "bc":
        yield _of_effect(
            "Algorithm 3 with personalized ε: more voters lead to a better accuracy.",
            f"Figure 6({panel})",
            effect(reproduction, 6, "voters", panel),
        )
    first, second = (points(reproduction, 6, panel, method="algorithm-3") for panel in "bc")
    lowest = min(point.accuracy.value for point in first)
    highest = max(point.accuracy.value for point in second)
    means = [sum(point.accuracy.value for point in each) / len(each) for each in (first, second)]
    yield _of_effect(
        "The accuracy of Figure 6(b) is higher than that of Figure 6(c).",
        "Section 5.1, at equal places of the axes",
        effect(reproduction, 6, "(b) against (c)"),
        extra=(
            f" On average over each panel it is {means[0]:.3f} against {means[1]:.3f}; the lowest point of (b) has "
            f"{lowest:.3f}, the highest of (c) {highest:.3f}."
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
            claim=f"{METHODS[method].title} is best with a bound B around 2 or 3.",
            source=f"Figure 7, ε = {epsilon:g}; reading M5",
            holds=best in _NAMED_BOUNDS and bool(beaten),
            numbers=f"The accuracy is {words}: the best is at B = {best:g}.",
        )


def _machine(reproduction: Reproduction) -> Iterator[Finding]:
    for panel, method in zip("abc", ALGORITHMS, strict=True):
        title, source = METHODS[method].title, f"Figure 8({panel}), on {_KINDS[MACHINE_LIKE]} (reading M13)"
        yield _of_effect(
            f"{title}: a larger ε gives a better accuracy.",
            source,
            effect(reproduction, 8, "epsilon", panel),
            steps=True,
        )
        yield _of_effect(
            f"{title}: more voters give a better accuracy.", source, effect(reproduction, 8, "voters", panel)
        )
    for better, worse, claim in (
        ("algorithm-1", "algorithm-3", "Algorithm 1 outperforms Algorithm 3."),
        ("algorithm-3", "algorithm-2", "Algorithm 2 has a lower accuracy than Algorithm 3 in all cases."),
    ):
        row = effect(reproduction, 8, f"{better} against {worse}", "d")
        yield _of_effect(claim, f"Figure 8(d), on {_KINDS[MACHINE_LIKE]} (reading M13)", row)


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
                f"stays above {100 * level:g} % from ε = {at:g} on"
                if at is not None
                else f"is not above {100 * level:g} % at the largest ε"
                for level, at in zip((much, most), reached, strict=True)
            )
            yield Finding(
                claim=(
                    f"{METHODS[method].title} keeps more than {100 * much:g} % of the accuracy without privacy for ε > "
                    f"{low:g}, and more than {100 * most:g} % for ε > {high:g}."
                ),
                source=f"Section 5.3, Figure 10({panel}), on {_KINDS[setting]}; reading M5",
                holds=not missed,
                numbers=f"It keeps {words}; it {where}. A coin keeps {_coin(found[0]):.0f} %.",
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
