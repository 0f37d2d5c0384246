"""What is measured: the figures' points and the comparisons, as cells.

Lost in the paper's text are the values of n in Figures 1 to 3 (50 and 100 here, reading M11), the numbers of voters in
Figures 6, 8 and 9 but for the greatest, and those in Figures 5 and 7 but for (50, 50).
"""

import math
from collections.abc import Iterator
from typing import Final

import msgspec

from .methods import ALGORITHMS, METHODS
from .published import (
    AXIS,
    BOUNDS,
    DIMENSIONS,
    EPSILON_OF_BOUNDS,
    EPSILONS,
    EPSILONS_CONSERVATIVE,
    EPSILONS_MODERATE,
    SHARE_MODERATE,
    SHARES_CONSERVATIVE,
)
from .societies import MACHINE_LIKE, SYNTHETIC, Setting
from .trials import Cell, Groups

__all__ = [
    "BASELINE_BOUNDS",
    "COMPARED",
    "CROWD",
    "LONG",
    "MACHINE",
    "REFERENCES",
    "SHORT",
    "Place",
    "baseline_of",
    "baseline_places",
    "curve_places",
    "projection_places",
    "variant_places",
    "weight_places",
]

SHORT: Final = Setting(records=50)
LONG: Final = Setting(records=100)
MACHINE: Final = Setting(kind=MACHINE_LIKE, records=13, features=23)
CROWD: Final = Setting(records=50, is_fixed=True)
"""As many voters as in reading M9: too many to be drawn afresh for each repetition."""
_VOTERS: Final = (50, 100)
_VOTERS_OF_MACHINE: Final = (50, 100, 200)
_CROWD_SIZE: Final = 5_000
_CROWD_OF_OBJECTIVES: Final = 1_000
"""Of Algorithm 3, whose every report is a maximization."""
_OTHERS_CONSERVATIVE: Final = (0.01, 0.1, 0.3, 0.5)
_OTHERS_MODERATE: Final = (0.05, 0.2, 0.35, 0.5)
"""Of Figure 9, which has fewer points here than in the paper: maximizing in 23 dimensions takes long."""
_EPSILONS: Final = (0.1, 0.3, 1.0, 3.0, 10.0)
BASELINE_BOUNDS: Final = (2.0, 10.0)
COMPARED: Final = {SYNTHETIC: (LONG, 50), MACHINE_LIKE: (MACHINE, 200)}
"""Where variants are compared: the two places of Section 5.3."""
REFERENCES: Final = {
    "VLCP": "algorithm-1",
    "VLDP": "algorithm-2",
    "RLCP": "central-laplace",
    "RLDP": "algorithm-3",
}
"""The paper's own method in each paradigm."""
_NOT_FOR_ALL: Final = frozenset({"nonconvex", "trimmed", "tight", "record-laplace"})
_FEWER: Final = {("nonconvex", SYNTHETIC): (0.3, 1.0, 3.0), ("clipped", MACHINE_LIKE): (1.0, 3.0, 10.0)}
"""Where a maximization takes long."""
_SEPARATE: Final = ("-weighted", "-projected")


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a cell stands.

    Args:
        figure: the figure's number; 0 for none.
        panel: its letter, or empty.
        varied: what the horizontal axis has.
        at: the place there.
        cell: the cell.
    """

    figure: int = 0
    panel: str = ""
    varied: str = "epsilon"
    at: float = 0.0
    cell: Cell


def baseline_of(cell: Cell) -> Cell:
    """Return the cell of what the paper compares with: the mean of all voters' fits, without noise."""
    return Cell(setting=cell.setting, voters=cell.voters, method="algorithm-1", epsilon=math.inf)


def curve_places() -> Iterator[Place]:
    """Yield the points of Figures 1 to 10."""
    for figure, method in enumerate(ALGORITHMS, start=1):
        for panel, voters in zip("ab", _VOTERS, strict=True):
            for setting in (SHORT, LONG):
                yield from _over_epsilon(figure, panel, setting, voters, method, EPSILONS)
    for panel, voters in zip("ab", _VOTERS, strict=True):
        for method in ALGORITHMS:
            yield from _over_epsilon(4, panel, SHORT, voters, method, EPSILONS)
    for panel, method in zip("ab", ("algorithm-1", "algorithm-3"), strict=True):
        for features in DIMENSIONS:
            yield from _over_epsilon(5, panel, Setting(features=features), 50, method, AXIS)
    yield from _figures_of_groups()
    for method in ("algorithm-1", "algorithm-2"):
        for bound in BOUNDS:
            cell = Cell(setting=SHORT, voters=50, method=method, epsilon=EPSILON_OF_BOUNDS, bound=bound)
            yield Place(figure=7, varied="bound", at=bound, cell=cell)
            if method == "algorithm-1":
                yield Place(figure=7, varied="bound", at=bound, cell=msgspec.structs.replace(cell, epsilon=1.0))
                yield Place(figure=7, varied="bound", at=bound, cell=msgspec.structs.replace(cell, epsilon=math.inf))
            else:
                yield Place(figure=7, varied="bound", at=bound, cell=msgspec.structs.replace(cell, epsilon=1.0))
    for panel, method in zip("abc", ALGORITHMS, strict=True):
        for voters in _VOTERS_OF_MACHINE:
            yield from _over_epsilon(8, panel, MACHINE, voters, method, AXIS)
    for method in ALGORITHMS:
        yield from _over_epsilon(8, "d", MACHINE, 100, method, AXIS)
    for panel, (setting, voters) in zip("ab", COMPARED.values(), strict=True):
        for method in ALGORITHMS:
            epsilons = EPSILONS if setting.kind == SYNTHETIC else AXIS
            yield from _over_epsilon(10, panel, setting, voters, method, epsilons)


def _over_epsilon(
    figure: int, panel: str, setting: Setting, voters: int, method: str, epsilons: tuple[float, ...]
) -> Iterator[Place]:
    for epsilon in epsilons:
        cell = Cell(setting=setting, voters=voters, method=method, epsilon=epsilon)
        yield Place(figure=figure, panel=panel, at=epsilon, cell=cell)


def _figures_of_groups() -> Iterator[Place]:
    """Yield the points of Figures 6 and 9, as the paper has them and with the weighted mean."""
    for method in ("algorithm-3", "algorithm-3-weighted"):
        for figure, setting, conservatives, moderates in (
            (6, SHORT, EPSILONS_CONSERVATIVE, EPSILONS_MODERATE),
            (9, MACHINE, _OTHERS_CONSERVATIVE, _OTHERS_MODERATE),
        ):
            panels = {
                "epsilon_conservative": [
                    (at, Groups(epsilon_conservative=at, epsilon_moderate=0.5)) for at in conservatives
                ],
                "epsilon_moderate": [(at, Groups(epsilon_moderate=at)) for at in moderates],
            }
            if figure == 6:  # noqa: PLR2004  the one with three panels
                shares = [(at, Groups(conservative=at, moderate=SHARE_MODERATE)) for at in SHARES_CONSERVATIVE]
                panels = {"conservative": shares, **panels}
            for panel, (varied, points) in zip("abc", panels.items(), strict=False):
                for voters in _VOTERS:
                    for at, groups in points:
                        cell = Cell(setting=setting, voters=voters, method=method, groups=groups)
                        yield Place(figure=figure, panel=panel, varied=varied, at=at, cell=cell)


def variant_places() -> Iterator[Place]:
    """Yield every method of every paradigm at equal ε."""
    for setting, voters in COMPARED.values():
        for name, method in METHODS.items():
            is_new = setting.kind == SYNTHETIC
            if name.endswith(_SEPARATE) or (method.is_whitened and is_new) or (name in _NOT_FOR_ALL and not is_new):
                continue
            for epsilon in _FEWER.get((name, setting.kind), (*_EPSILONS, math.inf)):
                yield Place(at=epsilon, cell=Cell(setting=setting, voters=voters, method=name, epsilon=epsilon))


def weight_places() -> Iterator[Place]:
    """Yield plain and weighted means over voters with an ε of their own."""
    for setting, sizes in ((SHORT, (50, 100)), (CROWD, (_CROWD_OF_OBJECTIVES, _CROWD_SIZE)), (MACHINE, (100,))):
        for plain in ("algorithm-2", "algorithm-3", "direction"):
            for voters in sizes:
                if plain == "algorithm-3" and voters > _CROWD_OF_OBJECTIVES:
                    continue
                for method in (plain, f"{plain}-weighted"):
                    cell = Cell(setting=setting, voters=voters, method=method, groups=Groups())
                    yield Place(varied="voters", at=voters, cell=cell)


def projection_places() -> Iterator[Place]:
    """Yield Algorithms 1 and 2 with and without the projection of the released mean."""
    for setting, voters in COMPARED.values():
        for plain in ("algorithm-1", "algorithm-2"):
            for method in (plain, f"{plain}-projected"):
                for epsilon in _EPSILONS:
                    yield Place(at=epsilon, cell=Cell(setting=setting, voters=voters, method=method, epsilon=epsilon))


def baseline_places() -> Iterator[Place]:
    """Yield what there is without noise."""
    for setting, voters in ((SHORT, 50), (LONG, 50), (MACHINE, 200)):
        for bound in BASELINE_BOUNDS:
            cell = Cell(setting=setting, voters=voters, method="algorithm-1", epsilon=math.inf, bound=bound)
            yield Place(varied="bound", at=bound, cell=cell)
