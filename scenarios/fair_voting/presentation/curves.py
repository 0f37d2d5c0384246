"""The curves of fairness, welfare and proven ε of a profile: a table, a CSV and a picture."""

from collections.abc import Sequence
from typing import Any, Final

from rich.console import Console

from ....protocol.fair_voting.kinds import BY_QUALITY
from ...experiments.measurements import Measurement
from ...experiments.sheets import flat
from ...presentation import drawing
from ...presentation.numbers import in_a_row
from ...presentation.terminal import show_note, show_table
from ...running.folder import RunFolder
from ...tables import Table
from ...verdicts import at_most
from ..comparisons import PRICED
from ..trade_offs import TradeOff, TradeOffRow

_STYLES: Final[dict[str, dict[str, Any]]] = {
    "laplace": {"color": drawing.COLORS["blue"], "marker": "o"},
    "sampling, by label": {"color": drawing.COLORS["orange"], "marker": "s", "linestyle": ":", "mfc": "white"},
    "sampling, proven": {"color": drawing.COLORS["orange"], "marker": "s"},
    "exponential": {"color": drawing.COLORS["sky"], "marker": "^"},
    "permute_and_flip": {"color": drawing.COLORS["green"], "marker": "v"},
    "local": {"color": drawing.COLORS["purple"], "marker": "D"},
    "joint": {"color": drawing.COLORS["purple"], "marker": "D", "linestyle": "--", "mfc": "white"},
}
_LINE: Final[dict[str, Any]] = {"linewidth": 1.5, "markersize": 4.5, "elinewidth": 0.9, "capsize": 2}
_CLEAN: Final[dict[str, Any]] = {"color": drawing.INK, "linewidth": 1.0, "linestyle": "--"}
_ALTERNATIVE: Final[dict[str, Any]] = {
    "color": drawing.MUTED,
    "marker": "x",
    "linestyle": "none",
    "markersize": 7,
    "markeredgewidth": 1.6,
}
_SMALL: Final[dict[str, Any]] = {"markersize": 3.2, "linewidth": 1.0, "elinewidth": 0.5, "capsize": 0}
"""Where all lines end in one point."""
_WINNER: Final[dict[str, Any]] = {
    "color": drawing.INK,
    "marker": "*",
    "linestyle": "none",
    "markersize": 14,
    "markeredgecolor": "white",
    "zorder": 5,
}
_MOST_NAMED: Final = 12  # alternatives whose names a panel has room for
_WIDEST: Final = 18


def show_trade_off(console: Console, found: TradeOff) -> None:
    """Print a row for each mechanism and price."""
    parameters = found.parameters
    disparity, welfare = found.clean
    rows: list[Sequence[str]] = [
        (
            row.mechanism,
            f"{row.epsilon:g}",
            f"{row.epsilon_claimed:.3g}",
            "unbounded" if row.epsilon_proven is None else at_most(row.epsilon_proven, 3),
            _written(row.disparity, row),
            _written(row.welfare, row),
            _written(row.agreement, row, percent=True),
        )
        for row in found.rows
    ]
    rows.append(("without privacy", "", "", "", f"{disparity:.3f}", f"{welfare:.3f}", "100 %"))
    columns = ("Mechanism", "ε", "ε claimed", "ε proven", "Disparity", "Welfare", "Right")
    show_table(console, Table(columns=columns, rows=rows), drop=("ε claimed",))
    for name, reason in found.left_out.items():
        show_note(console, f"{name} is left out at some ε: {reason}", style="yellow")
    trials = max((row.trials for row in found.rows), default=0)
    show_note(console, f"objective {parameters.objective}; means of the true values of the winners")
    show_note(console, f"± is one standard error over {trials:,} elections; without ± the law is computed")
    if features := [feature.name for feature in parameters.features or ()]:
        show_note(console, f"disparity: the greatest between the groups of any feature ({in_a_row(features)})")
    named = {row.mechanism for row in found.rows}
    if parameters.objective in PRICED and named & BY_QUALITY:
        show_note(console, PRICED[parameters.objective])
    if parameters.is_joint or "joint" in named:
        others = "in all others" if "joint" in named else "in all of these"
        told = "groups are private in joint, and public " if "joint" in named else "groups are public "
        show_note(console, told + others, style="yellow")
    show_note(console, "computed from the rankings themselves: this table is not private", style="yellow")


def save_trade_off(folder: RunFolder, found: TradeOff, *, title: str, setting: str = "") -> None:
    """Write trade-off.csv, and trade-off.svg and .png where matplotlib is installed."""
    if found.rows:
        folder.write_table("trade-off.csv", flat(found.rows))
        drawing.save_picture(
            picture_of_trade_off(found), folder=folder.path, name="trade-off", title=title, setting=setting
        )


def picture_of_trade_off(found: TradeOff) -> drawing.Picture:
    """Return disparity and welfare against proven ε, and one against the other."""
    trials = max(row.trials for row in found.rows)
    private = " · groups are private in joint alone" if any(row.mechanism == "joint" for row in found.rows) else ""
    return drawing.Picture(
        draw=lambda panels: _draw(found, panels),
        size=(10, 7.4),
        panels=(2, 2),
        title=f"what privacy costs under {found.parameters.objective}",
        setting=f"{trials:,} elections a point · {drawing.WHISKERS}{private}",
    )


def _draw(found: TradeOff, panels: Any) -> drawing.Marks:
    by_loss = panels[0][0], panels[0][1]
    both = panels[1][0]
    panels[1][1].remove()
    both.set_subplotspec(panels[0][0].get_gridspec()[1, :])
    names = list(dict.fromkeys(row.mechanism for row in found.rows))
    limits = _limits_of(found)
    for axes, measure, title in zip(by_loss, ("disparity", "welfare"), ("Disparity", "Welfare"), strict=True):
        better = "less is fairer" if measure == "disparity" else "more is better"
        drawing.clean(axes, title=f"{title} of the winner: {better}", x="proven ε of a voter", y=f"mean {measure}")
        axes.set_xscale("log")
        axes.axhline(found.clean[0 if measure == "disparity" else 1], **_CLEAN)
    drawing.clean(both, title="One against the other, ε rising along each line", x="mean disparity", y="mean welfare")
    for name in names:
        rows = sorted((row for row in found.rows if row.mechanism == name), key=_price)
        style = {**_LINE, **_STYLES[name]}
        bounded = [row for row in rows if row.epsilon_proven is not None]
        for axes, measure in zip(by_loss, ("disparity", "welfare"), strict=True):
            drawing.draw_measured(axes, map(_price, bounded), [getattr(row, measure) for row in bounded], **style)
        both.errorbar(
            [row.disparity.value for row in rows],
            [row.welfare.value for row in rows],
            xerr=[drawing.ERRORS_SHOWN * row.disparity.standard_error for row in rows],
            yerr=[drawing.ERRORS_SHOWN * row.welfare.standard_error for row in rows],
            **style | _SMALL,
        )
    _draw_alternatives(found, both)
    for axes, limit, is_most in zip(by_loss, limits, (True, False), strict=True):
        if limit is not None:  # what the objective rules out
            low, high = axes.get_ylim()
            low, high = min(low, 0.98 * limit), max(high, 1.02 * limit)
            axes.axhspan(limit, high if is_most else low, color=drawing.BEYOND, linewidth=0, zorder=0)
            axes.set_ylim(low, high)
    prices = [row.epsilon_proven for row in found.rows if row.epsilon_proven is not None]
    if prices:
        ticks = [tick for tick in _TICKS if min(prices) / _BESIDE <= tick <= max(prices) * _BESIDE]
        for axes in by_loss:
            drawing.name_ticks(axes, ticks)
    marks = {name: {**_LINE, **_STYLES[name]} for name in names}
    for mark in marks.values():
        del mark["capsize"]
    if limits != (None, None):
        marks["ruled out by the objective"] = {
            "color": drawing.BEYOND,
            "marker": "s",
            "markersize": 11,
            "linestyle": "none",
        }
    return {
        **marks,
        "without privacy": _CLEAN,
        "an alternative": _ALTERNATIVE,
        "the winner without privacy": _WINNER,
    }


def _limits_of(found: TradeOff) -> tuple[float | None, float | None]:
    """Return the most disparity and the least welfare that the objective allows; None for what it does not limit."""
    objective = found.parameters.make_objective()
    if objective.name == "constrained":
        return float(objective.max_disparity), None
    if objective.name == "welfare_constrained":
        most = max(found.welfares)
        return None, most - float(1 - objective.welfare_share) * (most - float(objective.least_utility))
    return None, None


_TICKS: Final = tuple(step * 10.0**power for power in range(-4, 2) for step in (1, 3))
_BESIDE: Final = 1.3  # ticks may lie so far beside the lines, as a factor


def _draw_alternatives(found: TradeOff, axes: Any) -> None:
    parameters = found.parameters
    axes.plot(found.disparities, found.welfares, **_ALTERNATIVE)
    for place in found.best:
        axes.plot([found.disparities[place]], [found.welfares[place]], **_WINNER)
    if len(parameters.alternatives) <= _MOST_NAMED:
        for place, name in enumerate(parameters.alternatives):
            short = name if len(name) <= _WIDEST else f"{name[: _WIDEST - 1]}…"
            axes.annotate(
                short,
                (found.disparities[place], found.welfares[place]),
                xytext=(7, -14 if place in found.best else 6),  # lines come to a winner, mostly from its sides
                textcoords="offset points",
                fontsize=8.5,
                color=drawing.INK if place in found.best else drawing.MUTED,
            )
    axes.margins(0.14)


def _price(row: TradeOffRow) -> float:
    return float("inf") if row.epsilon_proven is None else row.epsilon_proven


def _written(found: Measurement, row: TradeOffRow, *, percent: bool = False) -> str:
    factor, decimals, unit = (100, 1, " %") if percent else (1, 3, "")
    if not row.trials:
        return f"{factor * found.value:.{decimals}f}{unit}"
    return f"{factor * found.value:.{decimals}f} ± {factor * found.standard_error:.{decimals}f}{unit}"
