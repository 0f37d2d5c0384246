"""The reproduction's tables as people read them."""

import operator
from collections.abc import Iterator, Sequence
from typing import Final

from ...experiments.sheets import Words, listing, pivoting, where
from ...tables import Table
from .methods import METHODS
from .rows import CurvePoint, Reproduction
from .societies import MACHINE_LIKE, OWN, SYNTHETIC

_MANY_PANELS: Final = 3  # from so many on, panels differ in what their names say, and a table need not repeat it
_KIND_NAMES: Final = {
    SYNTHETIC: "Section 5.1's made-up voters",
    MACHINE_LIKE: "made-up voters like the Moral Machine's (a stand-in)",
    OWN: "your file's",
}
"""What societies are called."""
_VARIED_NAMES: Final = {
    "epsilon": "ε",
    "bound": "B",
    "conservative": "f_C",
    "epsilon_conservative": "ε_C",
    "epsilon_moderate": "ε_M",
}
"""What axes are called."""
_WORDS: Final[Words] = {"setting": _KIND_NAMES, "method": {name: method.title for name, method in METHODS.items()}}
_NOTE: Final = "accuracy in percent, with its standard error"
_TITLES: Final = {
    1: "Figure 1, Algorithm 1",
    2: "Figure 2, Algorithm 2",
    3: "Figure 3, Algorithm 3",
    4: "Figure 4, all three, n = 50",
    5: "Figure 5, features d, N = 50, n = 50",
    6: "Figure 6, Algorithm 3 with personalized ε, n = 50",
    7: "Figure 7, the bound B, n = 50",
    8: "Figure 8, Moral Machine",
    9: "Figure 9, Algorithm 3 with personalized ε, Moral Machine",
    10: "Figure 10, the share that is kept of the accuracy without privacy",
}
_BY_PANEL: Final = (6, 7, 8, 9)  # figures of which every panel has a table


def sheets_of(reproduction: Reproduction) -> Iterator[Table]:
    """Yield all tables, in the order in which they are read."""
    for figure in _TITLES:
        if not (points := reproduction.of_figure(figure)):
            continue
        panels = dict.fromkeys(point.panel for point in points) if figure in _BY_PANEL else [""]
        for panel in panels:
            yield _figure(where(points, panel=panel) if panel else points, figure, panel)
    yield listing(
        reproduction.baselines,
        "voters: {setting} | N: {voters} | n: {records} | d: {features} | B: {bound:g} | society: {society:%}"
        " | voter: {voter:%} | paper: {published:.1%}",
        caption="Without privacy (Section 5.3, reading M2)",
        note=f"{_NOTE}; society: the mean of all fits; voter: the mean over voters of the accuracy of each one's fit",
        words=_WORDS,
    )
    for setting, kind in _KIND_NAMES.items():
        for paradigm in ("RLDP", "RLCP", "VLDP", "VLCP"):
            yield pivoting(
                "method: {method}",
                (where(reproduction.variants, setting=setting, paradigm=paradigm), "{at}: {accuracy.value:.1%}{lead}"),
                caption=f"{paradigm}, all methods at equal ε: {kind}",
                note="accuracy in percent; in brackets by how many standard errors, repetition by repetition, it is "
                "ahead of the paper's own; clean: without noise",
                words={
                    **_WORDS,
                    "at": lambda row: _epsilon(row.epsilon),
                    "lead": lambda row: "" if row.lead_in_errors is None else f" ({row.lead_in_errors:+.0f})",
                },
            )
    yield listing(
        reproduction.weights,
        "method: {method} | voters: {setting} | N: {voters:,}{is_fixed} | plain: {plain:%} | weighted: {weighted:%}"
        " | gain: {gain:+%}",
        labels=2,
        caption="Plain and weighted means, voters with an ε of their own (reading M9)",
        note=f"{_NOTE}; fixed: the same voters in all repetitions, with noise and ε drawn afresh",
        words={**_WORDS, "is_fixed": {True: " fixed", False: ""}},
    )
    yield listing(
        reproduction.projections,
        "method: {method} | voters: {setting} | ε: {epsilon:g} | error: {error.value:,.3g}"
        " | projected: {error_projected.value:,.3g} | accuracy: {accuracy:%} | gain: {gain:+%}",
        labels=2,
        caption="Released means projected to the ball",
        note="error: mean squared ℓ₂ distance from the mean without noise; accuracy in percent; gain: by projecting",
        words=_WORDS,
    )
    yield listing(
        reproduction.sensitivities,
        "d: {features} | printed: {printed:.2f} | proven: {tight:.2f} | found: {found:.2f}",
        labels=0,
        caption="The functional mechanism's sensitivity (reading M6)",
        note="found: the greatest change by one record that a search found; no bound can be below",
    )


def _figure(found: Sequence[CurvePoint], figure: int, panel: str) -> Table:
    is_ratio = figure == 10  # noqa: PLR2004  the one of ratios
    stand_in = found[0].setting == MACHINE_LIKE and figure in {8, 9}
    is_own = found[0].setting == OWN
    return pivoting(
        f"{_VARIED_NAMES[found[0].varied]}: {{at:g}}",
        (sorted(found, key=operator.attrgetter("at")), f"{{curve}}: {{{'ratio' if is_ratio else 'accuracy'}:%}}"),
        labels=0,
        caption=_TITLES[figure]
        + (f" ({panel})" if panel else "")
        + (" (a stand-in)" if stand_in else "")
        + (" (your data)" if is_own else ""),
        note="in percent, with its standard error; (a) N = 50, n = 100; (b) a stand-in, N = 200, n = 13"
        if is_ratio and not is_own
        else _NOTE,
        words={"curve": lambda point: _curve(point, found)},
    )


def _curve(point: CurvePoint, among: Sequence[CurvePoint]) -> str:
    """Return what tells a curve from the others of its table."""
    parts: list[str] = []
    if len({other.method for other in among}) > 1:
        number = point.method.removeprefix("algorithm-")[0]
        parts.append(number + "w" * point.method.endswith("weighted"))
    for name, letter in (("voters", "N"), ("records", "n"), ("features", "d")):
        if len({getattr(other, name) for other in among}) > 1 and len({other.panel for other in among}) < _MANY_PANELS:
            is_told = point.figure == 10 and name != "voters"  # noqa: PLR2004  one panel, one society
            if not is_told:
                parts.append(f"{letter}{getattr(point, name)}")
    if point.varied == "bound":
        parts.append(_epsilon(point.epsilon))
    return " ".join(parts) or "accuracy"


def _epsilon(epsilon: float | None) -> str:
    return "clean" if epsilon is None else f"ε={epsilon:g}"
