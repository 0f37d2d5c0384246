"""The reproduction's tables as people read them."""

from collections.abc import Iterator, Sequence
from typing import Final

from ...experiments.sheets import in_percent, pivot
from ...tables import Table, listed
from .methods import METHODS
from .rows import CurvePoint, Reproduction
from .societies import MACHINE_LIKE, SYNTHETIC

__all__ = ["sheets_of"]

_MANY_PANELS: Final = 3
"""From so many on, panels differ in what their names say, and a table need not repeat it."""
_KIND_NAMES: Final = {
    SYNTHETIC: "Section 5.1's made-up voters",
    MACHINE_LIKE: "made-up voters like the Moral Machine's (a stand-in)",
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
_NOTE: Final = "accuracy in percent, with its standard error"
_TITLES: Final = {
    1: "Figure 1, Algorithm 1",
    2: "Figure 2, Algorithm 2",
    3: "Figure 3, Algorithm 3",
    4: "Figure 4, all three, n = 50",
    5: "Figure 5, features d, N = 50, n = 50",
    6: "Figure 6, Algorithm 3 with personalized ε, n = 50",
    7: "Figure 7, the bound B, N = 50, n = 50",
    8: "Figure 8, Moral Machine",
    9: "Figure 9, Algorithm 3 with personalized ε, Moral Machine",
    10: "Figure 10, the share that is kept of the accuracy without privacy",
}


def sheets_of(reproduction: Reproduction) -> Iterator[Table]:
    """Yield all tables, in the order in which they are read."""
    for figure in range(1, 11):
        panels = list(dict.fromkeys(point.panel for point in reproduction.of_figure(figure)))
        if figure in {1, 2, 3, 4, 5, 10}:
            yield _figure(reproduction, figure, "")
        else:
            for panel in panels:
                yield _figure(reproduction, figure, panel)
    yield _baselines(reproduction)
    for setting in _KIND_NAMES:
        for paradigm in ("RLDP", "RLCP", "VLDP", "VLCP"):
            yield _variants(reproduction, setting, paradigm)
    yield _weights(reproduction)
    yield _projections(reproduction)
    yield _sensitivities(reproduction)


def _figure(reproduction: Reproduction, figure: int, panel: str) -> Table:
    found = reproduction.of_figure(figure, panel)
    is_ratio = figure == 10  # noqa: PLR2004  the one of ratios
    table = pivot(found, lines=lambda point: point.at, columns=lambda point: _column(point, found))
    rows = [
        [f"{at:g}", *table.line(at, lambda point: in_percent(point.ratio if is_ratio else point.accuracy))]
        for at in sorted(table.lines)
    ]
    stand_in = found[0].setting == MACHINE_LIKE and figure in {8, 9}
    title = _TITLES[figure] + (f" ({panel})" if panel else "") + (" (a stand-in)" if stand_in else "")
    note = _NOTE
    if is_ratio:
        note = "in percent, with its standard error; (a) N = 50, n = 100; (b) a stand-in, N = 200, n = 13"
    return Table(
        caption=title, columns=[_VARIED_NAMES[found[0].varied], *table.columns], rows=rows, note=note, labels=0
    )


def _column(point: CurvePoint, among: Sequence[CurvePoint]) -> str:
    """Return what tells a curve from the others of its table."""
    parts: list[str] = []
    if len({other.method for other in among}) > 1:
        number = point.method.removeprefix("algorithm-")[0]
        weighted = point.method.endswith("weighted")
        parts.append(f"{number}w" if weighted else number)
    for name, letter in (("voters", "N"), ("records", "n"), ("features", "d")):
        if len({getattr(other, name) for other in among}) > 1 and len({other.panel for other in among}) < _MANY_PANELS:
            is_told = point.figure == 10 and name != "voters"  # noqa: PLR2004  one panel, one society
            if not is_told:
                parts.append(f"{letter}{getattr(point, name)}")
    if point.varied == "bound":
        parts.append("clean" if point.epsilon is None else f"ε={point.epsilon:g}")
    return " ".join(parts) or "accuracy"


def _baselines(reproduction: Reproduction) -> Table:
    return listed(
        reproduction.baselines,
        (
            ("voters", lambda row: _KIND_NAMES[row.setting]),
            ("N", lambda row: f"{row.voters}"),
            ("n", lambda row: f"{row.records}"),
            ("d", lambda row: f"{row.features}"),
            ("B", lambda row: f"{row.bound:g}"),
            ("society", lambda row: in_percent(row.society)),
            ("voter", lambda row: in_percent(row.voter)),
            ("paper", lambda row: "" if row.published is None else f"{100 * row.published:.1f}"),
        ),
        caption="Without privacy (Section 5.3, reading M2)",
        note=f"{_NOTE}; society: the mean of all fits; voter: the mean over voters of the accuracy of each one's fit",
    )


def _variants(reproduction: Reproduction, setting: str, paradigm: str) -> Table:
    found = [row for row in reproduction.variants if (row.setting, row.paradigm) == (setting, paradigm)]
    table = pivot(found, lines=lambda row: row.method, columns=lambda row: row.epsilon)
    rows = table.rows(
        lambda method: [METHODS[method].title],
        lambda row: (
            f"{100 * row.accuracy.value:.1f}" + ("" if row.lead_in_errors is None else f" ({row.lead_in_errors:+.0f})")
        ),
    )
    return Table(
        caption=f"{paradigm}, all methods at equal ε: {_KIND_NAMES[setting]}",
        columns=["method", *("clean" if epsilon is None else f"ε={epsilon:g}" for epsilon in table.columns)],
        rows=rows,
        note=(
            "accuracy in percent; in brackets by how many standard errors, repetition by repetition, it is ahead of "
            "the paper's own; clean: without noise"
        ),
    )


def _weights(reproduction: Reproduction) -> Table:
    return listed(
        reproduction.weights,
        (
            ("method", lambda row: METHODS[row.method].title),
            ("voters", lambda row: _KIND_NAMES[row.setting]),
            ("N", lambda row: f"{row.voters:,}" + (" fixed" if row.is_fixed else "")),
            ("plain", lambda row: in_percent(row.plain)),
            ("weighted", lambda row: in_percent(row.weighted)),
            ("gain", lambda row: in_percent(row.gain, signed=True)),
        ),
        caption="Plain and weighted means, voters with an ε of their own (reading M9)",
        note=f"{_NOTE}; fixed: the same voters in all repetitions, with noise and ε drawn afresh",
        labels=2,
    )


def _projections(reproduction: Reproduction) -> Table:
    return listed(
        reproduction.projections,
        (
            ("method", lambda row: METHODS[row.method].title),
            ("voters", lambda row: _KIND_NAMES[row.setting]),
            ("ε", lambda row: f"{row.epsilon:g}"),
            ("error", lambda row: f"{row.error.value:,.3g}"),
            ("projected", lambda row: f"{row.error_projected.value:,.3g}"),
            ("accuracy", lambda row: in_percent(row.accuracy)),
            ("gain", lambda row: in_percent(row.gain, signed=True)),
        ),
        caption="Released means projected to the ball",
        note="error: mean squared ℓ₂ distance from the mean without noise; accuracy in percent; gain: by projecting",
        labels=2,
    )


def _sensitivities(reproduction: Reproduction) -> Table:
    return listed(
        reproduction.sensitivities,
        (
            ("d", lambda row: f"{row.features}"),
            ("printed", lambda row: f"{row.printed:.2f}"),
            ("proven", lambda row: f"{row.tight:.2f}"),
            ("found", lambda row: f"{row.found:.2f}"),
        ),
        caption="The functional mechanism's sensitivity (reading M6)",
        note="found: the greatest change by one record that a search found; no bound can be below",
        labels=0,
    )
