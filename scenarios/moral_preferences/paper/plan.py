"""What is measured: the figures' points and the comparisons, as cells.

Lost in the paper's text are the values of n in Figures 1 to 3 (50 and 100 here, reading M11), the numbers of voters in
Figures 6, 8 and 9 but for the greatest, and those in Figure 5 but for (50, 50); Figure 7 gives none.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Final

import msgspec

from ....protocol.moral_preferences import Level
from ..data.privacy_groups import PrivacyGroups
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
from .trials import Cell


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """How large the societies are."""

    short: Setting = Setting(records=50)  # Section 5.1's voters with few records each
    long: Setting = Setting(records=100)  # with twice as many
    # the stand-in for the Moral Machine's voters
    machine: Setting = Setting(kind=MACHINE_LIKE, records=13, features=23)
    # as many voters as in reading M9: too many to be drawn afresh for each repetition
    crowd: Setting = Setting(records=50, is_fixed=True)
    few: int = 50  # voters
    many: int = 100  # twice as many
    most: int = 200  # four times as many, of the stand-in
    crowd_voters: int = 5_000  # of the crowd
    crowd_objectives: int = 1_000  # of the crowd with Algorithm 3, whose every report is a maximization
    dimensions: tuple[int, ...] = DIMENSIONS  # d in Figure 5, ascending
    # as many repetitions of the figures of groups and of methods for voters, whose effects are of a point or two; a
    # quarter of it where variants are compared, and four times as many of the stand-in's weights
    times: int = 16
    often: int = 32  # likewise of Figure 6(b), whose effect is the least

    @property
    def compared(self) -> dict[str, tuple[Setting, int]]:
        """Where variants are compared: the two places of Section 5.3."""
        return {
            SYNTHETIC: (_repeated(self.long, max(self.times // 4, 1)), self.few),
            MACHINE_LIKE: (self.machine, self.most),
        }


def _repeated(setting: Setting, times: int) -> Setting:
    """Return a setting with so many times as many repetitions."""
    return msgspec.structs.replace(setting, times=times)


PAPER: Final = Sizes()
"""Those of the paper."""
_EPSILONS: Final = (0.1, 0.3, 1.0, 3.0, 10.0)
BASELINE_BOUNDS: Final = (2.0, 10.0, 100.0, 1_000.0)
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
    """Where a cell stands in the figures."""

    figure: int  # the figure's number
    panel: str = ""  # its letter, N in Figure 7, or empty
    varied: str = "epsilon"  # what the horizontal axis has
    at: float  # the place there
    cell: Cell  # the cell


def baseline_of(cell: Cell) -> Cell:
    """Return the cell of what the paper compares with: the mean of all voters' fits, without noise."""
    return Cell(setting=cell.setting, voters=cell.voters, method="algorithm-1", epsilon=math.inf)


def curve_places(sizes: Sizes = PAPER) -> Iterator[Place]:
    """Yield the points of Figures 1 to 10."""
    for figure, method in enumerate(ALGORITHMS, start=1):
        for panel, voters in zip("ab", (sizes.few, sizes.many), strict=True):
            for setting in (sizes.short, sizes.long):
                yield from _over_epsilon(figure, panel, setting, voters, method, EPSILONS)
    for panel, voters in zip("ab", (sizes.few, sizes.many), strict=True):
        for method in ALGORITHMS:
            yield from _over_epsilon(4, panel, sizes.short, voters, method, EPSILONS)
    for panel, method in zip("ab", ("algorithm-1", "algorithm-3"), strict=True):
        for features in sizes.dimensions:
            yield from _over_epsilon(
                5, panel, msgspec.structs.replace(sizes.short, features=features), sizes.few, method, AXIS
            )
    yield from _figures_of_groups(sizes)
    for voters, method in itertools.product((sizes.few, sizes.many), ALGORITHMS[:2]):
        clean = (math.inf,) if method == "algorithm-1" else ()
        for bound, epsilon in itertools.product(BOUNDS, (EPSILON_OF_BOUNDS, 1.0, *clean)):
            cell = Cell(setting=sizes.short, voters=voters, method=method, epsilon=epsilon, bound=bound)
            yield Place(figure=7, panel=f"N = {voters}", varied="bound", at=bound, cell=cell)
    for panel, method in zip("abc", ALGORITHMS, strict=True):
        for voters in (sizes.few, sizes.many, sizes.most):
            yield from _over_epsilon(8, panel, sizes.machine, voters, method, EPSILONS)
    for method in ALGORITHMS:
        yield from _over_epsilon(8, "d", sizes.machine, sizes.many, method, EPSILONS)
    for panel, (setting, voters) in zip("ab", sizes.compared.values(), strict=True):
        for method in ALGORITHMS:
            yield from _over_epsilon(10, panel, setting, voters, method, EPSILONS)


def _over_epsilon(
    figure: int, panel: str, setting: Setting, voters: int, method: str, epsilons: tuple[float, ...]
) -> Iterator[Place]:
    for epsilon in epsilons:
        cell = Cell(setting=setting, voters=voters, method=method, epsilon=epsilon)
        yield Place(figure=figure, panel=panel, at=epsilon, cell=cell)


def _figures_of_groups(sizes: Sizes) -> Iterator[Place]:
    """Yield the points of Figures 6 and 9, as the paper has them and with the weighted mean."""
    for method in ("algorithm-3", "algorithm-3-weighted"):
        for figure, setting in ((6, sizes.short), (9, sizes.machine)):
            panels = {
                "epsilon_conservative": [
                    (at, PrivacyGroups(epsilon_conservative=at, epsilon_moderate=0.5)) for at in EPSILONS_CONSERVATIVE
                ],
                "epsilon_moderate": [(at, PrivacyGroups(epsilon_moderate=at)) for at in EPSILONS_MODERATE],
            }
            if figure == 6:  # noqa: PLR2004  the one with three panels
                shares = [
                    (at, PrivacyGroups(conservative=at, moderate=SHARE_MODERATE, liberal=1 - (at + SHARE_MODERATE)))
                    for at in SHARES_CONSERVATIVE
                ]
                panels = {"conservative": shares, **panels}
            for panel, (varied, points) in zip("abc", panels.items(), strict=False):
                is_least = (figure, panel) == (6, "b")
                often = _repeated(setting, sizes.often if is_least else sizes.times)
                for voters in (sizes.few, sizes.many):
                    for at, groups in points:
                        cell = Cell(setting=often, voters=voters, method=method, groups=groups)
                        yield Place(figure=figure, panel=panel, varied=varied, at=at, cell=cell)


def variant_cells(sizes: Sizes = PAPER) -> Iterator[Cell]:
    """Yield every method of every paradigm at equal ε."""
    for setting, voters in sizes.compared.values():
        for name, method in METHODS.items():
            is_new = setting.kind == SYNTHETIC
            if name.endswith(_SEPARATE) or (method.is_whitened and is_new) or (name in _NOT_FOR_ALL and not is_new):
                continue
            own = _repeated(setting, sizes.times) if method.paradigm.level is Level.VOTER else setting
            for epsilon in _FEWER.get((name, setting.kind), (*_EPSILONS, math.inf)):
                yield Cell(setting=own, voters=voters, method=name, epsilon=epsilon)


def weight_cells(sizes: Sizes = PAPER) -> Iterator[Cell]:
    """Yield plain and weighted means over voters with an ε of their own."""
    for setting, numbers in (
        (_repeated(sizes.short, sizes.times), (sizes.few, sizes.many)),
        (sizes.crowd, (sizes.crowd_objectives, sizes.crowd_voters)),
        (_repeated(sizes.machine, 4 * sizes.times), (sizes.many,)),
    ):
        for plain in ("algorithm-2", "algorithm-3", "direction"):
            for voters in numbers:
                if plain == "algorithm-3" and voters > sizes.crowd_objectives:
                    continue
                for method in (plain, f"{plain}-weighted"):
                    yield Cell(setting=setting, voters=voters, method=method, groups=PrivacyGroups())


def projection_cells(sizes: Sizes = PAPER) -> Iterator[Cell]:
    """Yield Algorithms 1 and 2 with and without the projection of the released mean."""
    for setting, voters in sizes.compared.values():
        for plain in ("algorithm-1", "algorithm-2"):
            for method in (plain, f"{plain}-projected"):
                for epsilon in _EPSILONS:
                    yield Cell(setting=setting, voters=voters, method=method, epsilon=epsilon)


def baseline_cells(sizes: Sizes = PAPER) -> Iterator[Cell]:
    """Yield what there is without noise."""
    for setting, voters in ((sizes.short, sizes.few), *sizes.compared.values()):
        for bound in BASELINE_BOUNDS:
            yield Cell(setting=setting, voters=voters, method="algorithm-1", epsilon=math.inf, bound=bound)
