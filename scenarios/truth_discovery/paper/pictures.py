"""The reproduction's pictures: points are simulated, the density of Δ is computed."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from ...experiments.measurements import Measurement
from ...experiments.sheets import where
from ...presentation.drawing import (
    COLORS,
    INK,
    MUTED,
    WHISKERS,
    Marks,
    Picture,
    clean,
    draw_measured,
    fold,
    percent_scale,
)
from .published import METHODS
from .rows import PublishedCell, Reproduction
from .trials import MECHANISM_NAMES

_METHOD_COLORS = dict(zip(METHODS, (MUTED, COLORS["orange"], COLORS["sky"], COLORS["blue"]), strict=True))
_CURVE_COLORS = (COLORS["green"], COLORS["orange"], COLORS["blue"])
_PRICE_COLORS = (COLORS["purple"], COLORS["orange"], COLORS["blue"], COLORS["green"])
_PUBLISHED: dict[str, Any] = {"marker": "D", "markersize": 6, "linestyle": "none", "mfc": "none", "mew": 0.9}
_POINT: dict[str, Any] = {"linestyle": "none", "markersize": 4, "elinewidth": 0.9, "marker": "o"}
_HIGHEST_DENSITY = 25
_DENSE = 0.12
_WORDS = {"peer-grading": "peer grading (a made-up stand-in)", "duchenne": "Duchenne smiles"}


def pictures_of(reproduction: Reproduction) -> dict[str, Picture]:
    """Return what there is to draw, by the files' name."""
    trials = f"{reproduction.trials:,} trials a point · {WHISKERS}"
    compared = f"{reproduction.comparison_trials:,} trials · {WHISKERS}"
    priced = f"one trial · two layers · ε = {reproduction.weights[0].epsilon:g}"
    crowds, own = len(_words_of(reproduction)), reproduction.own
    again = f"Figure 4 again, on {own}" if own else "Figure 4 again"
    table_2, table_3 = (functools.partial(_trade_off, name) for name in ("table_2", "table_3"))
    size, rows = (9.5, 4.8), (10, 1.6 + 0.36 * len(reproduction.crowds))
    gains = "Accuracy of truth discovery: two layers less one layer"
    leads = "Accuracy at equal claimed ε: auto less the paper's truth discovery"
    return {
        name: Picture(
            draw=functools.partial(draw, reproduction), size=size, panels=panels, title=title, setting=setting
        )
        for name, title, setting, size, panels, draw in (
            ("figure-1", "Figure 1 again: the density of the error rate change Δ", "", (10, 4), (1, 2), _figure_1),
            ("figure-2", "Figure 2 again: weights of workers", priced, (10, 4), (1, crowds), _figure_2),
            ("figure-3", "Figure 3 again, on a made-up stand-in", trials, size, (1, 1), table_2),
            ("figure-4", again, trials, size, (1, 1), table_3),
            ("equal-loss", gains, trials, rows, (1, 2), _equal_loss),
            ("estimators", leads, compared, rows, (1, 2), _estimators),
        )
        if (reproduction.table_3 or name != "figure-4") and (not own or name in {"figure-2", "figure-4"})
    }


def _words_of(reproduction: Reproduction) -> Mapping[str, str]:
    """Return the crowds of Figure 2 and what they are called."""
    return {reproduction.own: reproduction.own} if reproduction.own else _WORDS


def _figure_1(reproduction: Reproduction, panels: Any) -> None:
    titles = {"a": "(a) b varied", "b": "(b) n varied"}
    for axes, (panel, title) in zip(panels.flat, titles.items(), strict=True):
        points = where(reproduction.densities, panel=panel)
        curves = list(dict.fromkeys((point["high"], point["num_workers"]) for point in points))
        clean(axes, title=title, x="Δ", y="f(Δ)")
        for (high, number), color in zip(curves, _CURVE_COLORS, strict=True):
            found = where(points, high=high, num_workers=number)
            xs, ys = [point["change"] for point in found], [point["density"] for point in found]
            axes.plot(xs, ys, color=color, linewidth=1.6, label=f"b = {high:g}, n = {number}")
            axes.axvline((high / 2) ** number, color=color, linewidth=0.9, linestyle=":")
        axes.set_ylim(0, _HIGHEST_DENSITY)
        axes.legend(frameon=False, fontsize=9, title="dotted: one layer's, and the mean", title_fontsize=8)


def _figure_2(reproduction: Reproduction, panels: Any) -> Marks:
    for axes, (crowd, words) in zip(panels.flat, _words_of(reproduction).items(), strict=True):
        found = where(reproduction.weights, crowd=crowd, is_drawn=True)
        clean(axes, title=words if found else f"{words}: no data", x="worker, and the flip probability that it drew")
        axes.set_ylabel("weight")
        places = range(len(found))
        axes.plot(places, [row.clean for row in found], color=COLORS["blue"], marker="o", markersize=4)
        axes.plot(places, [row.reported for row in found], color=COLORS["orange"], marker="s", markersize=4, ls="--")
        names = [f"{fold(row.name, most_lines=1)}\n" if reproduction.own else "" for row in found]
        labels = [f"{name}{row.flip_probability:.2f}" for name, row in zip(names, found, strict=True)]
        axes.set_xticks(places, labels, fontsize=7.5)
        axes.axhline(0, color=INK, linewidth=0.8, linestyle=":")
    return {
        "from the answers": {"color": COLORS["blue"], "marker": "o", "markersize": 4},
        "from the reports": {"color": COLORS["orange"], "marker": "s", "markersize": 4, "linestyle": "--"},
    }


def _trade_off(table: str, reproduction: Reproduction, panels: Any) -> Marks:
    axes = panels[0, 0]
    cells: Sequence[PublishedCell] = getattr(reproduction, table)
    clean(axes, x="ε, as claimed", y="error rate change")
    marks: dict[str, dict[str, Any]] = {}
    for method, color in _METHOD_COLORS.items():
        found = sorted(where(cells, method=method), key=lambda cell: cell.epsilon)
        epsilons = [cell.epsilon for cell in found]
        style = {**_POINT, "color": color, "linestyle": "-", "linewidth": 1.2}
        draw_measured(axes, epsilons, (cell.change for cell in found), **style)
        marks[method] = style
        known = [(cell.epsilon, cell.published.value) for cell in found if cell.published is not None]
        axes.plot(*zip(*known, strict=True), mec=color, zorder=4, **_PUBLISHED)
    percent_scale(axes)
    return marks if reproduction.own else {**marks, "published": {**_PUBLISHED, "mec": MUTED}}


def _equal_loss(reproduction: Reproduction, panels: Any) -> Marks:
    titles = {"claimed": "equal claimed ε", "all answers": "equal proven loss of all answers"}
    for axes, (unit, title) in zip(panels.flat, titles.items(), strict=True):
        choices = where(reproduction.choices, unit=unit)
        gains = [(row.crowd, row.price, gain) for row in choices if (gain := row.two_layer_gain) is not None]
        _dots(axes, reproduction, gains, title=title)
    return _marks_of_prices(reproduction)


def _estimators(reproduction: Reproduction, panels: Any) -> Marks:
    for axes, (mechanism, title) in zip(panels.flat, MECHANISM_NAMES.items(), strict=True):
        rows = where(reproduction.comparisons, unit="claimed", mechanism=mechanism, estimator="auto")
        leads = [(row.crowd, row.price, row.lead) for row in rows if row.lead is not None]
        _dots(axes, reproduction, leads, title=title)
    return _marks_of_prices(reproduction)


def _dots(
    axes: Any, reproduction: Reproduction, found: Sequence[tuple[str, float, Measurement]], *, title: str
) -> None:
    """Draw differences as points with bars, a row for each crowd."""
    clean(axes, title=title, x="percentage points")
    crowds = [row.crowd for row in reproduction.crowds]
    prices = list(dict.fromkeys(price for _, price, _ in found))
    for number, (price, color) in enumerate(zip(prices, _PRICE_COLORS, strict=False)):
        of_price = [(crowds.index(crowd), difference) for crowd, at, difference in found if at == price]
        axes.errorbar(
            [100 * difference.value for _, difference in of_price],
            [place + _DENSE * (number - (len(prices) - 1) / 2) for place, _ in of_price],
            xerr=[200 * difference.standard_error for _, difference in of_price],
            color=color,
            **_POINT,
        )
    axes.set_yticks(range(len(crowds)), crowds)
    axes.set_ylim(len(crowds) - 0.5, -0.5)
    axes.axvline(0, color=INK, linewidth=0.8, linestyle=":")


def _marks_of_prices(reproduction: Reproduction) -> Marks:
    prices = dict.fromkeys(choice.price for choice in reproduction.choices if choice.unit == "claimed")
    colored = zip(prices, _PRICE_COLORS, strict=False)
    return {f"{price:g} an answer": {**_POINT, "color": color} for price, color in colored}
