"""The reproduction's pictures: one color for each algorithm throughout."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

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
    name_ticks,
    percent_scale,
)
from .methods import ALGORITHMS, METHODS
from .published import AXIS, HIGH_RATIO, RATIO
from .rows import CurvePoint, Reproduction, VariantRow
from .societies import MACHINE_LIKE, SYNTHETIC

_COLORS: Final = {
    "algorithm-1": COLORS["blue"],
    "algorithm-2": COLORS["orange"],
    "algorithm-3": COLORS["green"],
    "direction": COLORS["purple"],
    "pooled": COLORS["gold"],
}
_POINT: Final[dict[str, Any]] = {"marker": "o", "markersize": 3.5, "elinewidth": 0.8, "linewidth": 1.4}
_SHADES: Final = ("-", "--", ":")
_KINDS: Final = {SYNTHETIC: "Section 5.1's voters", MACHINE_LIKE: "a stand-in for the Moral Machine"}
_SHORT_KINDS: Final = {SYNTHETIC: "Section 5.1's", MACHINE_LIKE: "stand-in"}
_DIFFERS: Final = {1: "records", 2: "records", 3: "records", 5: "features", 8: "voters"}
"""In a figure's panels with one algorithm."""
_LETTERS: Final = {"records": "n", "features": "d", "voters": "N"}
_GAP: Final = 0.062

_Named = tuple[str, str, Sequence[CurvePoint], dict[str, Any]]


def pictures_of(reproduction: Reproduction) -> dict[str, Picture]:
    """Return what there is to draw, by the files' name."""
    trials: dict[str, set[int]] = {}
    for row in reproduction.effects:
        trials.setdefault(f"figure-{row.figure}", set()).add(row.trials)
    or_more = f"{reproduction.trials:,} or more"
    two = (10.0, 4.2)
    over = {number: functools.partial(_over_epsilon, number=number) for number in (1, 2, 3, 4, 5, 8)}
    groups = {number: functools.partial(_groups, number=number) for number in _GROUP_TITLES}
    again = f"again, on {reproduction.own or 'a stand-in'}"
    high = (9.0, 1.8 + 0.3 * len(reproduction.weights))
    return {
        name: Picture(
            draw=functools.partial(draw, reproduction),
            size=size,
            panels=panels,
            title=title,
            setting=f"{' or '.join(f'{number:,}' for number in sorted(trials.get(name, ()))) or or_more} repetitions a "
            f"point · {WHISKERS}",
        )
        for name, title, size, panels, draw in (
            *(
                (f"figure-{n}", f"Figure {n} again: {METHODS[method].title}", two, (1, 2), over[n])
                for n, method in enumerate(ALGORITHMS, start=1)
            ),
            ("figure-4", "Figure 4 again: the algorithms at equal ε", two, (1, 2), over[4]),
            ("figure-5", "Figure 5 again: the number of features d", two, (1, 2), over[5]),
            ("figure-6", "Figure 6 again: Algorithm 3, personalized ε", (13.0, 4.2), (1, 3), groups[6]),
            ("figure-7", "Figure 7 again: the bound B", two, (1, 2), _figure_7),
            ("figure-8", f"Figure 8 {again}", (10.0, 7.6), (2, 2), over[8]),
            ("figure-9", f"Figure 9 {again}", two, (1, 2), groups[9]),
            ("figure-10", "Figure 10 again: what privacy leaves", two, (1, len(_kinds_of(reproduction))), _figure_10),
            ("variants", "All methods at equal ε", (14.0, 7.6), (2, 4), _variants),
            ("weights", "Weighted against plain means", high, (1, 1), _weights),
        )
        if not reproduction.own or name in {"figure-8", "figure-9", "figure-10"}
    }


def _kinds_of(reproduction: Reproduction) -> dict[str, str]:
    """Return the panels of Figure 10, and what each is of."""
    return {"b": reproduction.own} if reproduction.own else {"a": _KINDS[SYNTHETIC], "b": _KINDS[MACHINE_LIKE]}


def _epsilon_axis(axes: Any, *, title: str, y: str, low: float, high: float = 1.0) -> None:
    clean(axes, title=title, x="ε", y=y)
    axes.set_xscale("log")
    name_ticks(axes, AXIS)
    axes.set_ylim(low, high)
    percent_scale(axes)


def _curves(
    axes: Any,
    named: Iterable[_Named],
    *,
    is_ratio: bool = False,
    others: Mapping[str, tuple[float, str]] = MappingProxyType({}),
) -> None:
    """Draw curves, or their ratios, with their names at their ends, and beside them `others`, by value and color."""
    ends = dict(others)
    for name, color, found, style in named:
        ordered = sorted(found, key=lambda point: point.at)
        values = [point.ratio if is_ratio else point.accuracy for point in ordered]
        draw_measured(axes, (point.at for point in ordered), values, **{**_POINT, "color": color, **style})
        if name:
            ends[name] = (values[-1].value, color)
    label_lines(axes, ends, gap=_GAP)


def _shaded(found: Sequence[CurvePoint], field: str) -> list[_Named]:
    """Return a curve for each of some numbers, all in their algorithm's color."""
    values = sorted({getattr(point, field) for point in found}, reverse=field != "features")
    color = _COLORS[found[0].method]
    return [
        (f"{_LETTERS[field]} = {value}", color, where(found, **{field: value}), {"ls": style})
        for value, style in zip(values, _SHADES, strict=False)
    ]


def _algorithms(found: Sequence[CurvePoint]) -> list[_Named]:
    return [(METHODS[method].title, _COLORS[method], where(found, method=method), {}) for method in ALGORITHMS]


def _over_epsilon(reproduction: Reproduction, panels: Any, *, number: int) -> None:
    """Draw curves over ε: of all algorithms, or of one that differ in a number."""
    for axes, panel in zip(panels.flat, "abcd", strict=False):
        found = reproduction.of_figure(number, panel)
        first, field = found[0], _DIFFERS.get(number, "")
        if len({point.method for point in found}) > 1:
            title, named = f"N = {first.voters}, n = {first.records}", _algorithms(found)
        else:
            title = f"N = {first.voters}" if field == "records" else METHODS[first.method].title
            named = _shaded(found, field)
        high = 0.9 if first.setting == MACHINE_LIKE else 1.0
        _epsilon_axis(axes, title=f"({panel}) {title}", y="accuracy", low=0.45, high=high)
        _curves(axes, named)


_GROUP_TITLES: Final = {
    6: {
        "a": ("(a) share of conservative voters", "f_C"),
        "b": ("(b) conservative ε, ε_M = 0.5", "ε_C"),
        "c": ("(c) moderate ε, ε_C = 0.01", "ε_M"),
    },
    9: {"a": ("(a) conservative ε, ε_M = 0.5", "ε_C"), "b": ("(b) moderate ε, ε_C = 0.01", "ε_M")},
}


def _groups(reproduction: Reproduction, panels: Any, *, number: int) -> None:
    values = [point.accuracy.value for point in reproduction.of_figure(number)]
    low, high = min(values) - 0.03, max(values) + 0.03
    for axes, (panel, (title, x)) in zip(panels.flat, _GROUP_TITLES[number].items(), strict=True):
        found = reproduction.of_figure(number, panel)
        clean(axes, title=title, x=x, y="accuracy")
        axes.set_ylim(low, high)
        percent_scale(axes)
        named: list[_Named] = []
        sizes = sorted({point.voters for point in found}, reverse=True)
        for voters, color in zip(sizes, (_COLORS["algorithm-3"], COLORS["sky"]), strict=True):
            for method, style in (("algorithm-3-weighted", "--"), ("algorithm-3", "-")):
                name = f"N = {voters}" + (", weighted" if style == "--" else "")
                members = where(found, voters=voters, method=method)
                named.append((name if axes is panels.flat[-1] else "", color, members, {"ls": style}))
        _curves(axes, named)


def _figure_7(reproduction: Reproduction, panels: Any) -> None:
    found = reproduction.of_figure(7)
    found = where(found, panel=found[0].panel)
    epsilons = sorted({point.epsilon for point in found if point.epsilon is not None})
    for axes, epsilon in zip(panels.flat, epsilons, strict=True):
        clean(axes, title=f"ε = {epsilon:g}, N = {found[0].voters}, n = {found[0].records}", x="B", y="accuracy")
        axes.set_ylim(0.45, 1)
        percent_scale(axes)
        named: list[_Named] = [
            (METHODS[method].title, _COLORS[method], where(found, method=method, epsilon=epsilon), {})
            for method in ALGORITHMS[:2]
        ]
        _curves(axes, [*named, ("without noise", MUTED, where(found, epsilon=None), {"ls": ":"})])


def _figure_10(reproduction: Reproduction, panels: Any) -> None:
    for axes, (panel, kind) in zip(panels.flat, _kinds_of(reproduction).items(), strict=True):
        found = reproduction.of_figure(10, panel)
        title = f"({panel}) {kind}, N = {found[0].voters}, n = {found[0].records}"
        _epsilon_axis(axes, title=title, y="share of the accuracy without privacy", low=0.45, high=1.04)
        (low, much), (high, most) = RATIO, HIGH_RATIO
        axes.plot([low, high, high, AXIS[-1]], [much, much, most, most], color=INK, linewidth=0.9, linestyle=":")
        _curves(axes, _algorithms(found), is_ratio=True, others={"Section 5.3": (most, INK)})


def _variants(reproduction: Reproduction, panels: Any) -> Marks:
    marks: dict[str, dict[str, Any]] = {}
    for axes_of_row, setting in zip(panels, (SYNTHETIC, MACHINE_LIKE), strict=True):
        for axes, paradigm in zip(axes_of_row, ("RLDP", "RLCP", "VLDP", "VLCP"), strict=True):
            rows = where(reproduction.variants, setting=setting, paradigm=paradigm)
            found = [row for row in rows if row.epsilon is not None]
            _epsilon_axis(axes, title=f"{paradigm}, {_SHORT_KINDS[setting]}", y="accuracy", low=0.45)
            axes.set_xlim(0.08, 13)
            for method in dict.fromkeys(row.method for row in found):
                rows = where(found, method=method)
                style = _variant_style(rows[0])
                epsilons = [row.epsilon or 0 for row in rows]
                draw_measured(axes, epsilons, (row.accuracy for row in rows), **{**_POINT, **style})
                marks[rows[0].title] = style
    return marks


def _variant_style(row: VariantRow) -> dict[str, Any]:
    method = METHODS[row.method]
    style: dict[str, Any] = {"marker": "o", "linestyle": "-", "linewidth": 1.4, "markersize": 3.5}
    if row.title in {"Algorithm 1", "Algorithm 2", "Algorithm 3"}:
        return {**style, "color": _COLORS[f"algorithm-{row.title[-1]}"], "linewidth": 2.6}
    if method.mechanism == "functional":
        kinds = {"tight": "--", "clipped": "-", "trimmed": ":", "nonconvex": "-."}
        return {**style, "color": _COLORS["algorithm-3"], "linestyle": kinds[row.method], "marker": "s"}
    if method.mechanism == "pooled":
        return {**style, "color": _COLORS["pooled"], "marker": "^"}
    return {**style, "color": _COLORS["direction"], "linestyle": "--" if method.is_whitened else "-", "marker": "D"}


def _weights(reproduction: Reproduction, panels: Any) -> Marks:
    axes = panels.flat[0]
    clean(axes, x="accuracy")
    rows = sorted(reproduction.weights, key=lambda row: (row.method, row.setting, row.voters))
    labels: list[str] = []
    for place, row in enumerate(rows):
        color = _COLORS[row.method]
        axes.plot([row.plain.value, row.weighted.value], [place, place], color=MUTED, linewidth=0.8, linestyle=":")
        for measured, face, shift in ((row.plain, "white", 0.12), (row.weighted, color, -0.12)):
            axes.errorbar(
                measured.value,
                place + shift,
                xerr=2 * measured.standard_error,
                color=color,
                marker="o",
                markersize=5,
                mfc=face,
                elinewidth=1.1,
            )
        labels.append(
            f"{METHODS[row.method].title}, {row.voters:,} {_SHORT_KINDS[row.setting]}{' (fixed)' * row.is_fixed}"
        )
    axes.set_yticks(range(len(rows)), labels)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    percent_scale(axes, "x")
    mean = {"marker": "o", "linestyle": "none", "color": MUTED}
    return {"plain mean": {**mean, "mfc": "white"}, "weighted mean": mean}
