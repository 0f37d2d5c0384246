"""The reproduction's pictures: one color for each mechanism throughout, one picture for each question."""

import functools
from collections.abc import Iterable, Sequence
from typing import Any, Final

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
from .cells import OBJECTIVES
from .published import EPSILONS, SIZES
from .rows import RealSetRow, Reproduction, TableRow
from .settings import FITTED, READ, SETTINGS
from .tables import MECHANISM_NAMES

_COLORS: Final = {
    "permute_and_flip": COLORS["green"],
    "exponential": COLORS["sky"],
    "laplace": COLORS["blue"],
    "sampling": COLORS["orange"],
    "local": COLORS["purple"],
    "sampled_pair": COLORS["purple"],
    "sampled_position": COLORS["gold"],
    "whole_ranking": COLORS["orange"],
    "noisy_scores": COLORS["blue"],
}
_OBJECTIVE_COLORS: Final = {"parity": COLORS["blue"], "constrained": COLORS["green"], "penalized": COLORS["orange"]}
_LINE: Final[dict[str, Any]] = {"linewidth": 1.6, "marker": "o", "markersize": 3.8}
_DOT: Final[dict[str, Any]] = {"marker": "o", "linestyle": "none"}
_PUBLISHED: Final[dict[str, Any]] = {"marker": "D", "markersize": 7, "linestyle": "none", "mfc": "none", "mew": 1.1}
_MARKS: Final = dict(zip(SIZES, ("o", "s", "^"), strict=True))
_SHIFTS: Final = dict(zip(SIZES, (-0.022, 0.0, 0.022), strict=True))
_SOCIETY_COLORS: Final = {FITTED.name: COLORS["blue"], READ.name: COLORS["gold"]}
_SHOWN: Final = ("permute_and_flip", "laplace", "sampling", "local")
_PANELS_OF_LOCAL: Final = (4, 8, 15)
_RATIOS: Final = (0.85, 60)
_RANGES: Final = {"ΔW": (0.4, 0.72), "W": (0.6, 1.5)}


def pictures_of(reproduction: Reproduction) -> dict[str, Picture]:
    """Return what there is to draw, by the files' name."""
    trials = f"{reproduction.trials:,} elections a point"
    number = len(_names(reproduction))
    wins, voters = "How often the right alternative wins at equal proven ε", f"1,000 and 500 voters · {trials}"
    left = "What privacy leaves of fairness: the objective of the paper"
    traded = "Fairness, welfare and proven ε: where the winners are"
    return {
        name: Picture(
            draw=functools.partial(draw, reproduction), size=size, panels=panels, title=title, setting=setting
        )
        for name, title, setting, size, panels, draw in (
            ("table-1", "Does Table 1 come out as published?", f"{trials} · {WHISKERS}", (10, 7.4), (2, 2), _table_1),
            ("equal-loss", wins, voters, (13, 7.6), (2, 3), _equal_loss),
            ("local", "Which local mechanism tells a ranking best?", "", (13, 4.2), (1, 3), _local),
            ("real", left, trials, (4.4 * number, 7.4), (2, number), _real),
            ("trade-off", traded, trials, (4.4 * number, 5.0), (1, number), _trade_off),
        )
        if (name in {"real", "trade-off"} and number) or (name not in {"real", "trade-off"} and not reproduction.own)
    }


def _rules(reproduction: Reproduction, name: str) -> dict[str, RealSetRow]:
    """Return whom rules without privacy elect in a published profile."""
    return {row.rule: row for row in where(reproduction.real_sets, name=name)}


def _names(reproduction: Reproduction) -> list[str]:
    return list(dict.fromkeys(row.name for row in reproduction.real))


def _table_1(reproduction: Reproduction, panels: Any) -> Marks:
    for row_of_panels, mechanism in zip(panels, ("laplace", "sampling"), strict=True):
        words = "Algorithm 1 (Laplace)" if mechanism == "laplace" else "Algorithm 2 (sampling)"
        for axes, measure in zip(row_of_panels, ("ΔW", "W"), strict=True):
            clean(axes, title=f"{words}: {measure}", x="ε (the paper's label)", y=measure)
            for setting in SETTINGS:
                for sizes in SIZES:
                    rows = where(reproduction.table_1, society=setting.name, mechanism=mechanism, sizes=sizes)
                    _ours(axes, rows, measure, sizes, _SOCIETY_COLORS[setting.name])
            for sizes in SIZES:
                rows = where(reproduction.table_1, society=FITTED.name, mechanism=mechanism, sizes=sizes)
                told = [
                    (row.epsilon + _SHIFTS[sizes], value)
                    for row in rows
                    if (value := row.published_disparity if measure == "ΔW" else row.published_welfare) is not None
                ]
                axes.plot([x for x, _ in told], [y for _, y in told], mec=INK, zorder=4, **_PUBLISHED)
            axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
            axes.set_xlim(0.2, 1.1)
            axes.set_ylim(*_RANGES[measure])
    return {
        "published": {**_PUBLISHED, "mec": INK},
        **{f"ours: {name}": {**_DOT, "color": color} for name, color in _SOCIETY_COLORS.items()},
        **{
            f"{n:,}, {m:,}": {**_DOT, "color": MUTED, "marker": mark, "markersize": 4.5}
            for (n, m), mark in _MARKS.items()
        },
    }


def _ours(axes: Any, rows: Sequence[TableRow], measure: str, sizes: tuple[int, int], color: str) -> None:
    for row in rows:
        found: Measurement = row.disparity if measure == "ΔW" else row.welfare
        face = color if row.is_available else "white"  # hollow where the paper has N/A
        style = {**_DOT, "marker": _MARKS[sizes], "markersize": 4.5, "elinewidth": 1, "color": color, "mfc": face}
        draw_measured(axes, [row.epsilon + _SHIFTS[sizes]], [found], **style)


def _equal_loss(reproduction: Reproduction, panels: Any) -> Marks:
    for row_of_panels, setting in zip(panels, SETTINGS, strict=True):
        for axes, objective in zip(row_of_panels, OBJECTIVES, strict=True):
            society = "fitted society" if setting is FITTED else "society of reading F5"
            clean(axes, title=f"{objective}, {society}", x="proven ε", y="right winners")
            axes.set_xscale("log")
            for mechanism in (*_SHOWN, "exponential"):
                rows = where(reproduction.equal_losses, society=setting.name, objective=objective, mechanism=mechanism)
                style = {**_LINE, "linestyle": "--" if mechanism == "exponential" else "-"}
                values = [row.agreement.value for row in rows]
                axes.plot([row.epsilon_proven for row in rows], values, color=_COLORS[mechanism], **style)
            axes.axhline(0.25, color=INK, linewidth=0.8, linestyle=":")
            axes.set_ylim(0, 1.04)
            name_ticks(axes, (0.005, 0.02, 0.1, 0.5, 2, 5))
            percent_scale(axes)
    by_lot = {"color": INK, "linewidth": 0.8, "linestyle": ":"}
    return {**_of_mechanisms((*_SHOWN, "exponential"), **_LINE), "a random winner": by_lot}


def _of_mechanisms(mechanisms: Iterable[str], **line: Any) -> dict[str, dict[str, Any]]:
    return {MECHANISM_NAMES[name]: {**line, "color": _COLORS[name]} for name in mechanisms}


def _local(reproduction: Reproduction, panels: Any) -> Marks:
    for axes, size in zip(panels.flat, _PANELS_OF_LOCAL, strict=True):
        clean(axes, title=f"{size} alternatives", x="ε", y="times the least variance")
        axes.set_xscale("log")
        log_scale(axes)
        rows = where(reproduction.variances, alternatives=size)
        for mechanism in dict.fromkeys(row.mechanism for row in rows):
            own = where(rows, mechanism=mechanism)
            axes.plot([row.epsilon for row in own], [row.ratio for row in own], color=_COLORS[mechanism], linewidth=1.8)
        for row in where(reproduction.crossings, alternatives=size):
            if row.epsilon <= max(own.epsilon for own in rows):
                axes.axvline(row.epsilon, color=MUTED, linewidth=0.8, linestyle=":")
                axes.annotate(
                    f"{row.epsilon:.1f}",
                    (row.epsilon, 1.0),
                    xycoords=("data", "axes fraction"),
                    xytext=(0, -9),
                    textcoords="offset points",
                    ha="center",
                    fontsize=8,
                    color=MUTED,
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
                )
        axes.set_ylim(*_RATIOS)
        name_ticks(axes, (1, 2, 5, 10, 20, 50), "y")
        name_ticks(axes, (0.1, 0.3, 1, 2, 4, 8))
    crossing = {"color": MUTED, "linewidth": 0.8, "linestyle": ":"}
    names = (row.mechanism for row in reproduction.variances)
    return {**_of_mechanisms(names, linewidth=1.8), "another one becomes the best": crossing}


def _real(reproduction: Reproduction, panels: Any) -> Marks:
    for column, name in enumerate(_names(reproduction)):
        rules = _rules(reproduction, name)
        first = rules["parity"]
        for axes, measure in zip((panels[0][column], panels[1][column]), ("ΔW", "W"), strict=True):
            title = f"{name}: {first.voters:,} voters, {first.alternatives} alternatives" if measure == "ΔW" else ""
            clean(axes, title=title, x="proven ε", y=f"mean {measure} of the winner")
            axes.set_xscale("log")
            ends: dict[str, tuple[float, str]] = {}
            for mechanism in _SHOWN:
                rows = where(reproduction.real, name=name, objective="parity", mechanism=mechanism)
                values = [row.disparity if measure == "ΔW" else row.welfare for row in rows]
                prices = [row.epsilon_proven for row in rows]
                draw_measured(axes, prices, values, color=_COLORS[mechanism], elinewidth=0.8, **_LINE)
            for rule, words in (("parity", "fairest"), ("borda", "Borda")):
                value = rules[rule].disparity if measure == "ΔW" else rules[rule].welfare
                axes.axhline(value, color=INK if rule == "parity" else MUTED, linewidth=0.9, linestyle=":")
                ends[words] = (value, INK if rule == "parity" else MUTED)
            if measure == "ΔW":
                axes.set_ylim(bottom=0)
            label_lines(axes, ends)
            name_ticks(axes, (0.05, 0.2, 1, 5, 10))
    without = {"color": INK, "linewidth": 0.9, "linestyle": ":"}
    return {**_of_mechanisms(_SHOWN, **_LINE), "without privacy": without}


def _trade_off(reproduction: Reproduction, panels: Any) -> Marks:
    for axes, name in zip(panels.flat, _names(reproduction), strict=True):
        rules = _rules(reproduction, name)
        first = rules["parity"]
        clean(axes, title=f"{name} ({first.voters:,} voters)", x="ΔW: less is fairer", y="W: more is better")
        for objective in OBJECTIVES:
            color = _OBJECTIVE_COLORS[objective]
            for mechanism, style in (("permute_and_flip", "-"), ("local", ":")):
                rows = where(reproduction.real, name=name, objective=objective, mechanism=mechanism)
                places = [row.disparity.value for row in rows], [row.welfare.value for row in rows]
                axes.plot(*places, color=color, linestyle=style, linewidth=1.5)
                axes.scatter(
                    *places,
                    s=[10 + 50 * place / max(len(rows) - 1, 1) for place in range(len(rows))],
                    color=color if style == "-" else "white",
                    edgecolors=color,
                    linewidths=0.9,
                    zorder=3,
                )
            goal = rules[objective]
            axes.plot(goal.disparity, goal.welfare, marker="*", markersize=13, color=color, mec="white", zorder=5)
    prices = sorted({row.epsilon_proven for row in reproduction.real})
    of_many = {"marker": "o", "markersize": 5, "color": MUTED}
    range_of_sizes = f"ε = {prices[0]:g} (small) to {prices[-1]:g} (large)"
    return {
        **{name: {"color": color, "linewidth": 2, "linestyle": "-"} for name, color in _OBJECTIVE_COLORS.items()},
        "without privacy": {"marker": "*", "markersize": 11, "linestyle": "none", "color": MUTED},
        f"permute-and-flip, {range_of_sizes}": {**of_many, "linestyle": "-"},
        "local, the same ε": {**of_many, "linestyle": ":", "mfc": "white"},
    }
