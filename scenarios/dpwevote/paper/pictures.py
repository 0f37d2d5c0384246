"""The reproduction's pictures: points are simulated, lines are computed."""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

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
    label_lines,
    log_scale,
    name_ticks,
    percent_scale,
)
from .rows import Cell, PowerPoint, PublishedCell, Reproduction
from .tables import NAMES

RowT = TypeVar("RowT", Cell, PowerPoint)

_VARIANT_COLORS = {
    "optimal": COLORS["green"],
    "printed": COLORS["orange"],
    "joint": COLORS["blue"],
    "laplace": MUTED,
    "two_point": COLORS["sky"],
    "signed_rr": COLORS["purple"],
}
_PARTNER_COLORS = {10: COLORS["gold"], 50: COLORS["purple"], 100: COLORS["orange"], 500: COLORS["blue"]}
_PARTNER_MARKS = {10: "o", 100: "s", 500: "^"}
_POINT: dict[str, Any] = {"linestyle": "none", "markersize": 4, "elinewidth": 0.9}
# Of the small ones, where all variants are near one half; the table has them all.
_FEW_SMALL_EPSILONS = {0.1, 0.5}
_RATIOS = (0.4, 16)
_RATIO_TICKS = (0.5, 1, 2, 5, 10)
_PUBLISHED: dict[str, Any] = {"marker": "D", "markersize": 6.5, "linestyle": "none", "mfc": "none", "mew": 0.9}


def pictures_of(reproduction: Reproduction) -> dict[str, Picture]:
    """Return what there is to draw, by the files' name."""
    trials = f"{reproduction.trials:,} trials a point · {WHISKERS}"
    offered = "Worst-case variance of k candidates at one price of the whole session"
    return {
        name: Picture(
            draw=functools.partial(draw, reproduction), size=size, panels=panels, title=title, setting=setting
        )
        for name, title, setting, size, panels, draw in (
            ("figure-4", "Figure 4 again: DPWeVote as printed, uniform votes", trials, (10, 7.4), (2, 2), _figure_4),
            ("variants", "Four variants on the paper's own data", trials, (10, 4.2), (1, 2), _variants),
            ("skewed", "Skewed votes", f"500 partners but where it is said · {trials}", (10, 7.4), (2, 2), _skewed),
            ("power", "How often a vote passes", f"500 partners · ε = 2 · {trials}", (10, 4.2), (1, 2), _power),
            ("costs", offered, "", (10, 7), (2, 2), _costs),
        )
    }


def _by_variant(rows: Sequence[RowT]) -> Iterator[tuple[str, str, list[RowT]]]:
    for variant in dict.fromkeys(row.variant for row in rows):
        yield variant, _VARIANT_COLORS[variant], where(rows, variant=variant)


def _figure_4(reproduction: Reproduction, panels: Any) -> Marks:
    cells = where(reproduction.figure_4, variant="printed")
    measures: Sequence[tuple[str, str, Callable[[Cell], Measurement | None], Sequence[PublishedCell]]] = (
        ("(a) Accuracy", "share of right decisions", lambda cell: cell.accuracy, reproduction.table_3),
        ("(b) MSE_w, of the weights' shares", "mean squared error", lambda cell: cell.mse_w, ()),
        ("(c) MSE_q, of the quota", "mean squared error", lambda cell: cell.mse_q, reproduction.table_4),
        ("(d) MSE_φ, of the yes votes' shares", "mean squared error", lambda cell: cell.mse_phi, ()),
    )
    for axes, (title, unit, measure, table) in zip(panels.flat, measures, strict=True):
        clean(axes, title=title, x="ε", y=unit)
        for num_partners in dict.fromkeys(cell.num_partners for cell in cells):
            color = _PARTNER_COLORS[num_partners]
            found = where(cells, num_partners=num_partners)
            published = where(table, variant="printed", num_partners=num_partners)
            places = [c.epsilon for c in published], [c.published.value for c in published]
            axes.plot(*places, **_PUBLISHED, mec=color, zorder=4)
            _points(axes, found, measure, color=color, marker=_PARTNER_MARKS[num_partners])
        if measure(cells[0]) is cells[0].accuracy:
            _normal_laws(axes, cells, color=INK)
            percent_scale(axes)
        else:
            log_scale(axes)
    return {
        **{f"n = {n}": {**_POINT, "color": _PARTNER_COLORS[n], "marker": mark} for n, mark in _PARTNER_MARKS.items()},
        "published (n = 10, 100)": {**_PUBLISHED, "mec": MUTED},
        "½ + arcsin(ρ)/π, without n (reading W9)": {"color": INK, "linewidth": 1.3},
    }


def _variants(reproduction: Reproduction, panels: Any) -> Marks:
    for axes, num_partners in zip(panels.flat, (10, 500), strict=True):
        clean(axes, title=f"n = {num_partners}", x="ε", y="share of right decisions")
        ends: dict[str, tuple[float, str]] = {}
        for variant, color, found in _by_variant(where(reproduction.figure_4, num_partners=num_partners)):
            spread = [cell for cell in found if cell.epsilon >= 1 or cell.epsilon in _FEW_SMALL_EPSILONS]
            _points(axes, spread, lambda cell: cell.accuracy, color=color, marker="o")
            _normal_laws(axes, found, color=color)
            ends[NAMES.get(variant, variant)] = (found[-1].normal_law, color)
        axes.set_ylim(0.45, 0.95)
        percent_scale(axes)
        label_lines(axes, ends)
    return {
        "simulated": {**_POINT, "color": MUTED, "marker": "o"},
        "½ + arcsin(ρ)/π (reading W9)": {"color": MUTED, "linewidth": 1.3},
    }


def _skewed(reproduction: Reproduction, panels: Any) -> Marks:
    words = {"all-heavy": "all weights 3, 60 % yes", "few-heavy": "90 % weigh 1, 10 % weigh 3; 40 % yes"}
    for column, (workload, title) in enumerate(words.items()):
        cells = where(reproduction.skewed, workload=workload)
        accuracy, error = panels[0][column], panels[1][column]
        clean(accuracy, title=title, x="ε", y="share of right decisions")
        clean(error, title="MSE_φ for n = 10 (dashed) and 500", x="ε", y="mean squared error")
        ends: dict[str, tuple[float, str]] = {}
        for variant, color, found in _by_variant(where(cells, num_partners=500)):
            _points(accuracy, found, lambda cell: cell.accuracy, color=color, marker="o")
            _normal_laws(accuracy, found, color=color)
            if variant in {"printed", "joint"}:
                few = where(cells, variant=variant, num_partners=10)
                for of_size, style in ((few, "--"), (found, "-")):
                    heights = [cell.mse_phi.value for cell in of_size if cell.mse_phi is not None]
                    error.plot([c.epsilon for c in of_size], heights, color=color, linestyle=style, linewidth=1.3)
                    _points(error, of_size, lambda cell: cell.mse_phi, color=color, marker="o")
                ends[NAMES.get(variant, variant)] = (found[-1].mse_phi.value if found[-1].mse_phi else 0.0, color)
        accuracy.axhline(0.5, color=INK, linewidth=0.8, linestyle=":")
        accuracy.text(5.05, 0.515, "a coin", color=MUTED, fontsize=8, ha="right")
        accuracy.set_ylim(0, 1.03)
        percent_scale(accuracy)
        log_scale(error)
        label_lines(error, ends)
    return _of_variants((cell.variant for cell in reproduction.skewed), linewidth=1.3)


def _power(reproduction: Reproduction, panels: Any) -> Marks:
    titles = {"even": "weights 1, 2 and 3 alike", "threes": "all weights 3"}
    for axes, (workload, title) in zip(panels.flat, titles.items(), strict=True):
        clean(axes, title=title, x="true margin (support less quota), a partner", y="share of votes that pass")
        for _, color, found in _by_variant(where(reproduction.power, workload=workload)):
            axes.plot([p.true_margin for p in found], [p.normal_law for p in found], color=color, linewidth=1.5)
            drawn = [(point.true_margin, point.passed) for point in found if point.passed is not None]
            draw_measured(axes, (x for x, _ in drawn), (y for _, y in drawn), color=color, marker="o", **_POINT)
        axes.axvline(0, color=INK, linewidth=0.8, linestyle=":")
        axes.axhline(0.5, color=INK, linewidth=0.8, linestyle=":")
        for words, shift, side in (("should pass →", 6, "left"), ("← should fail", -6, "right")):
            place: dict[str, Any] = {"xytext": (shift, 0), "textcoords": "offset points", "ha": side, "va": "center"}
            axes.annotate(words, (0, 1.07), **place, color=MUTED, fontsize=8)
        axes.set_ylim(-0.03, 1.12)
        percent_scale(axes)
    return _of_variants((point.variant for point in reproduction.power), linewidth=1.5)


def _of_variants(variants: Iterable[str], *, linewidth: float) -> Marks:
    line: dict[str, Any] = {**_POINT, "marker": "o", "linestyle": "-", "linewidth": linewidth}
    return {NAMES.get(variant, variant): {**line, "color": _VARIANT_COLORS[variant]} for variant in variants}


def _costs(reproduction: Reproduction, panels: Any) -> None:
    for axes, price in zip(panels.flat, dict.fromkeys(cost.price for cost in reproduction.costs), strict=True):
        costs = where(reproduction.costs, price=price)
        least = {cost.num_candidates: cost.worst_variance for cost in where(costs, variant="optimal")}
        clean(axes, title=f"ε = {price:g} for the session", x="candidates", y="times the optimal variance")
        axes.set_xscale("log")
        log_scale(axes)
        name_ticks(axes, list(least))
        axes.set_ylim(*_RATIOS)
        name_ticks(axes, _RATIO_TICKS, "y")
        ends: dict[str, tuple[float, str]] = {}
        for variant in ("two_point", "signed_rr", "joint", "printed", "optimal"):
            found = where(costs, variant=variant)
            color = _VARIANT_COLORS[variant]
            # What is beyond the panel would make it empty; the table has the numbers.
            ratios = [cost.worst_variance / least[cost.num_candidates] for cost in found]
            style = "--" if variant == "printed" else "-"
            axes.plot(list(least), ratios, color=color, linewidth=1.6, linestyle=style, marker="o", markersize=4)
            ends[NAMES.get(variant, variant) + " (biased)" * (variant == "printed")] = (ratios[-1], color)
        label_lines(axes, ends)


def _points(
    axes: Any, cells: Sequence[Cell], measure: Callable[[Cell], Measurement | None], *, color: str, marker: str
) -> None:
    drawn = [(cell.epsilon, found) for cell in cells if (found := measure(cell)) is not None]
    draw_measured(axes, (x for x, _ in drawn), (y for _, y in drawn), color=color, marker=marker, **_POINT)


def _normal_laws(axes: Any, cells: Sequence[Cell], *, color: str) -> None:
    by_epsilon = {cell.epsilon: cell.normal_law for cell in cells}
    axes.plot(list(by_epsilon), list(by_epsilon.values()), color=color, linewidth=1.3)
