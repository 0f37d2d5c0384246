"""Draw a plan: the variants' error over ε, with the aimed error and the chosen ε."""

import functools
from collections.abc import Mapping
from typing import Any, Final

from ...protocol.privacy import TrustModel
from ..presentation.drawing import COLORS, INK, MUTED, WIDTH, Marks, Picture, clean, label_lines, name_ticks
from ..running.statements import certainty_of, rounded_up
from .plans import Plan, PlannedVariant

_HEIGHT: Final = 4.6
_REACH: Final = 16.0
"""Factor around the chosen ε that the picture covers on either side."""
_BELOW: Final = 30.0
"""Factor below the aimed error that the picture covers at most; upwards it ends at an error of 100 %."""
_MARGIN: Final = 1.3
_TICKS: Final = tuple(float(f"{digit}e{power}") for power in range(-9, 5) for digit in (1, 2, 5))
_STYLES: Final = dict(zip(TrustModel, ("-", "-.", "--"), strict=True))


def picture_of(plan: Plan, *, error: str, trust: Mapping[TrustModel, str]) -> Picture:
    """Return the picture of a plan with curves, labeled by the error's name and the trust models."""
    return Picture(draw=functools.partial(_draw, plan=plan, error=error, trust=trust), size=(WIDTH, _HEIGHT))


def _draw(panels: Any, *, plan: Plan, error: str, trust: Mapping[TrustModel, str]) -> Marks:
    axes = panels[0, 0]
    chosen_epsilons = [each.offered.epsilon for each in plan.best if each.offered is not None]
    low, high = min(chosen_epsilons) / _REACH, max(chosen_epsilons) * _REACH
    axes.set_xscale("log")
    axes.set_yscale("log")
    shown_variants = _best_variants(plan)
    ends: dict[str, tuple[float, str]] = {}
    middle = plan.aim or plan.best[0].share
    last, least_epsilon, greatest = max(chosen_epsilons), middle, middle
    for each, color in zip(shown_variants, COLORS.values(), strict=False):
        points = [
            (offer.epsilon, offer.error.value / plan.unit.whole)
            for offer in each.curve
            if low <= offer.epsilon <= high and offer.error.value > 0
        ]
        if not points:
            continue
        places, values = zip(*points, strict=True)
        errors = [offer.error.standard_error / plan.unit.whole for offer in each.curve if offer.epsilon in places]
        style = {"color": color, "linestyle": _STYLES[each.model], "linewidth": 1.6}
        axes.plot(places, values, **style)
        if any(errors):
            axes.errorbar(
                places, values, yerr=[2 * drawn_error for drawn_error in errors], fmt="o", markersize=3.5, color=color
            )
        ends[each.name] = (values[-1], color)
        last = max(last, *places)
        least_epsilon, greatest = min(least_epsilon, *values), max(greatest, *values)
    high = min(high, last)
    axes.set_xlim(low, high)
    bottom = max(least_epsilon, middle / _BELOW) / _MARGIN
    top = min(greatest, max(1.0, _MARGIN * middle)) * _MARGIN
    axes.set_ylim(bottom, top)
    clean(axes, x="ε in all, of one person", y=error)
    shares = [tick for tick in _TICKS if bottom <= tick <= top]
    axes.set_yticks(shares, [f"{100 * share:,.10g} %" for share in shares])
    axes.set_yticks([], minor=True)
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    name_ticks(axes, ticks)
    top_axis = axes.secondary_xaxis("top")
    top_axis.set_xticks(ticks, [_certainty(tick) for tick in ticks])
    top_axis.set_xticks([], minor=True)
    top_axis.set_xlabel("how sure someone who had no idea (50 : 50) can become of one person", color=MUTED)
    top_axis.spines["top"].set_visible(False)
    top_axis.tick_params(length=0, colors=MUTED, labelsize=8)
    if plan.aim is not None:
        axes.axhline(plan.aim, color=INK, linewidth=1.1, linestyle=":")
    for epsilon in dict.fromkeys(chosen_epsilons):
        axes.axvline(epsilon, color=INK, linewidth=0.9)
    label_lines(axes, {name: (max(value, bottom), color) for name, (value, color) in ends.items()})
    return _marks(plan, trust)


def _marks(plan: Plan, trust: Mapping[TrustModel, str]) -> Marks:
    marks: dict[str, dict[str, Any]] = {}
    if len(trust) > 1:
        marks |= {trust[model]: {"color": MUTED, "linestyle": _STYLES[model]} for model in _STYLES if model in trust}
    if plan.aim is not None:
        marks[f"wanted: {100 * plan.aim:.3g} %"] = {"color": INK, "linestyle": ":"}
    chosen_text = " and ".join(f"{each.offered.epsilon:.3g}" for each in plan.best if each.offered is not None)
    marks[f"ε = {chosen_text}"] = {"color": INK, "linewidth": 0.9}
    return marks


def _best_variants(plan: Plan) -> list[PlannedVariant]:
    """Return the best variants, as many as there are colors."""
    met = [each for each in plan.variants if each.offered is not None]
    met.sort(key=lambda each: (each.offered.epsilon, each.share) if each.offered else (0.0, 0.0))
    other_variants = [each for each in plan.variants if each.offered is None]
    return [*met, *other_variants][: len(COLORS)]


def _certainty(epsilon: float) -> str:
    certainty_text = rounded_up(certainty_of(epsilon))
    return "" if certainty_text.startswith("over ") else certainty_text
