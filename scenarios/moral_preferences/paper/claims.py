"""What the paper says, and whether it holds: every verdict, and every number in a sentence, comes from the rows."""

from collections.abc import Iterator

from ...experiments.findings import Finding, in_a_row
from ...experiments.measurements import FAR, TOLERANCE, Measurement, deviation
from .effects import ORDERS
from .methods import ALGORITHMS, METHODS
from .published import DIMENSIONS, HIGH_RATIO, RATIO
from .rows import CurvePoint, Reproduction
from .societies import MACHINE_LIKE, SYNTHETIC

__all__ = ["findings_on_paper", "share"]

_KINDS = {SYNTHETIC: "Section 5.1's voters", MACHINE_LIKE: "the stand-in for the Moral Machine's voters"}
_CLOSE = 0.01
_NAMED_BOUNDS = (2.0, 3.0)
_MACHINE_FIGURE = 9
_ALONG_THE_AXIS = frozenset({"epsilon", "less conservative", "epsilon_conservative", "epsilon_moderate"})


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


def share(measurement: Measurement) -> str:
    """Return a share as people write it, .912 ± .003."""
    value, error = f"{measurement.value:.3f}", f"{measurement.standard_error:.3f}"
    return f"{value.removeprefix('0')} ± {error.removeprefix('0')}"


def _of_effect(
    reproduction: Reproduction, figure: int, panel: str, what: str, claim: str, source: str, *, extra: str = ""
) -> Finding:
    """Return the verdict on a difference: that it is no chance, and no single pair says the contrary."""
    row = next(row for row in reproduction.effects if (row.figure, row.panel, row.what) == (figure, panel, what))
    value, error = row.difference.value, row.difference.standard_error
    average, each = f"on average over {row.number} pairs", "single pairs"
    if what in _ALONG_THE_AXIS:
        average, each = "from one end of the axis to the other", "single steps"
    return Finding(
        claim=claim,
        source=source,
        holds=value > TOLERANCE * error and row.least > -FAR,
        numbers=(
            f"The accuracy differs by {100 * value:+.1f} ± {100 * error:.1f} points {average} "
            f"({each} by {row.least:+.1f} to {row.most:+.1f} standard errors).{extra}"
        ),
    )


def _more_is_better(reproduction: Reproduction) -> Iterator[Finding]:
    lost = "; the paper's values of n are lost (reading M11)"
    for figure, method in enumerate(ALGORITHMS, start=1):
        for what, claim, remark in (
            ("epsilon", "a smaller ε leads to a lower accuracy", ""),
            ("voters", "more voters give a better accuracy", ""),
            ("records", "more records of a voter give a better accuracy", lost),
        ):
            title, source = METHODS[method].title, f"Figure {figure}{remark}"
            yield _of_effect(reproduction, figure, "", what, f"{title}: {claim}.", source)


def _order(reproduction: Reproduction) -> Iterator[Finding]:
    for better, worse in ORDERS:
        titles = METHODS[better].title, METHODS[worse].title
        extra = ""
        if better == "algorithm-3":
            found = reproduction.of_figure(4, at=1.0)
            costs = [next(point.epsilon_voter for point in found if point.method == each) for each in (better, worse)]
            extra = (
                f" But ε is a record's for the one and a voter's for the other (reading M7): at ε = 1 a voter pays up "
                f"to {costs[0]:g} with {titles[0]} and {costs[1]:g} with {titles[1]}."
            )
        claim = f"{titles[0]} outperforms {titles[1]} at equal ε."
        yield _of_effect(reproduction, 4, "", f"{better} against {worse}", claim, "Figure 4", extra=extra)


def _dimension(reproduction: Reproduction) -> Iterator[Finding]:
    for panel, method in zip("ab", ("algorithm-1", "algorithm-3"), strict=True):
        claim = f"{METHODS[method].title}: the accuracy falls as the number of features grows."
        source = f"Figure 5({panel}), fewer against more of {in_a_row(map(str, DIMENSIONS))}"
        yield _of_effect(reproduction, 5, panel, "fewer features", claim, source)


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
        said = f"Algorithm 3 with personalized ε: the accuracy {claim}."
        yield _of_effect(reproduction, figure, panel, varied, said, f"Figure {figure}({panel}){where}")
    for panel in "bc":
        said = "Algorithm 3 with personalized ε: more voters lead to a better accuracy."
        yield _of_effect(reproduction, 6, panel, "voters", said, f"Figure 6({panel})")
    first, second = (reproduction.of_figure(6, panel, method="algorithm-3") for panel in "bc")
    lowest = min(point.accuracy.value for point in first)
    highest = max(point.accuracy.value for point in second)
    means = [sum(point.accuracy.value for point in each) / len(each) for each in (first, second)]
    yield _of_effect(
        reproduction,
        6,
        "",
        "(b) against (c)",
        "The accuracy of Figure 6(b) is higher than that of Figure 6(c).",
        "Section 5.1, at equal places of the axes",
        extra=(
            f" On average over each panel it is {means[0]:.3f} against {means[1]:.3f}; the lowest point of (b) has "
            f"{lowest:.3f}, the highest of (c) {highest:.3f}."
        ),
    )


def _bound(reproduction: Reproduction) -> Iterator[Finding]:
    for method in ("algorithm-1", "algorithm-2"):
        found = reproduction.of_figure(7, method=method)
        epsilon = min(point.epsilon for point in found if point.epsilon is not None)
        at = {
            point.at: point.accuracy for point in sorted(found, key=lambda point: point.at) if point.epsilon == epsilon
        }
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
        source = f"Figure 8({panel}), on {_KINDS[MACHINE_LIKE]} (reading M13)"
        for what, claim in (("epsilon", "a larger ε gives"), ("voters", "more voters give")):
            said = f"{METHODS[method].title}: {claim} a better accuracy."
            yield _of_effect(reproduction, 8, panel, what, said, source)
    for better, worse, claim in (
        ("algorithm-1", "algorithm-3", "Algorithm 1 outperforms Algorithm 3."),
        ("algorithm-3", "algorithm-2", "Algorithm 2 has a lower accuracy than Algorithm 3 in all cases."),
    ):
        source = f"Figure 8(d), on {_KINDS[MACHINE_LIKE]} (reading M13)"
        yield _of_effect(reproduction, 8, "d", f"{better} against {worse}", claim, source)


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
            found = sorted(reproduction.of_figure(10, panel, method=method), key=lambda point: point.at)
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
