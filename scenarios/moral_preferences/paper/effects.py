"""What one thing changes with all else equal, repetition by repetition: what the paper's claims are judged by.

Cells of one repetition have the same voters and, where they can, the same uniforms, so that their difference is known
better than either accuracy.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from ....protocol.arrays import FloatArray
from ...experiments.measurements import Measurement, deviation, mean_of
from ...experiments.sheets import where
from .methods import ALGORITHMS
from .plan import Place
from .published import EPSILON_OF_BOUNDS, NAMED_BOUNDS
from .rows import EffectRow
from .trials import Cell, Trials

_Found = Mapping[Cell, Trials]
_Pairs = Sequence[tuple[Place, Place]]
ORDERS: Final = (("algorithm-1", "algorithm-3"), ("algorithm-1", "algorithm-2"), ("algorithm-3", "algorithm-2"))
"""Which algorithm the paper says is the better one, and than which."""


def effects_of(places: Sequence[Place], found: _Found) -> Iterator[EffectRow]:
    """Yield the effects that the paper speaks of, between the points of its figures."""

    def of(figure: int, panel: str = "", method: str = "") -> list[Place]:
        found = where(places, figure=figure, **({"panel": panel} if panel else {}))
        return [place for place in found if method in {"", place.cell.method}]

    for figure in (1, 2, 3):
        yield from _of_curves(found, figure, "", of(figure))
    for first, second in ORDERS:
        yield from _effect(found, 4, "", f"{first} against {second}", _by_method(of(4), first, second))
        yield from _effect(found, 8, "d", f"{first} against {second}", _by_method(of(8, "d"), first, second))
    for panel in "ab":
        pairs = [(few, many) for many, few in _pairs(of(5, panel), _FIELDS["features"])]
        yield from _effect(found, 5, panel, "fewer features", pairs)
    for figure, panel in ((6, "a"), (6, "b"), (6, "c"), (9, "a"), (9, "b")):
        members = of(figure, panel, "algorithm-3")
        yield from _of_curves(found, figure, panel, members, falls=(figure, panel) == (6, "a"))
    higher = [
        (one, other)
        for one in of(6, "b", "algorithm-3")
        for other in of(6, "c", "algorithm-3")
        if (one.at, one.cell.voters) == (other.at, other.cell.voters)
    ]
    yield from _effect(found, 6, "", "(b) against (c)", higher)
    bounds = [place for place in of(7) if place.cell.epsilon == EPSILON_OF_BOUNDS]
    for one, other in itertools.product(bounds, bounds):
        at, method = one.at, one.cell.method
        if (
            at in NAMED_BOUNDS
            and other.at not in NAMED_BOUNDS
            and (other.panel, other.cell.method) == (one.panel, method)
        ):
            yield from _effect(found, 7, one.panel, f"{method}: {at:g} against {other.at:g}", [(one, other)])
    for panel, method in zip("abc", ALGORITHMS, strict=True):
        yield from _of_curves(found, 8, panel, of(8, panel, method))


_FIELDS: Final[Mapping[str, Callable[[Place], float]]] = {
    "voters": lambda place: place.cell.voters,
    "records": lambda place: place.cell.setting.records,
    "features": lambda place: place.cell.setting.features,
}


def _pairs(places: Iterable[Place], field: Callable[[Place], float]) -> list[tuple[Place, Place]]:
    """Return the places that differ in one field alone: the larger value's first, next to the one before."""
    members: dict[tuple[object, ...], list[Place]] = {}
    for place in places:
        others = [each(place) for each in _FIELDS.values() if each is not field]
        members.setdefault((place.cell.method, place.at, *others), []).append(place)
    return [
        (more, less)
        for each in members.values()
        for less, more in itertools.pairwise(sorted(each, key=field))
        if field(more) > field(less)
    ]


def _by_method(places: Sequence[Place], first: str, second: str) -> list[tuple[Place, Place]]:
    others = {(place.cell.voters, place.at): place for place in places if place.cell.method == second}
    return [(place, others[place.cell.voters, place.at]) for place in places if place.cell.method == first]


def _of_curves(
    found: _Found, figure: int, panel: str, places: Sequence[Place], *, falls: bool = False
) -> Iterator[EffectRow]:
    """Yield what the whole axis changes on average over the curves, its pairs being the single steps; and N and n."""
    curves: dict[tuple[object, ...], list[Place]] = {}
    for place in places:
        curves.setdefault(tuple(each(place) for each in _FIELDS.values()), []).append(place)
    ordered = [sorted(each, key=lambda place: -place.at if falls else place.at) for each in curves.values()]
    ends = [(each[-1], each[0]) for each in ordered]
    steps = [(later, earlier) for each in ordered for earlier, later in itertools.pairwise(each)]
    varied = places[0].varied if places else ""
    yield from _effect(found, figure, panel, f"{'less ' * falls}{varied}", steps, ends)
    for what in ("voters", "records"):
        yield from _effect(found, figure, panel, what, _pairs(places, _FIELDS[what]))


def _effect(
    found: _Found, figure: int, panel: str, what: str, pairs: _Pairs, whole: _Pairs | None = None
) -> Iterator[EffectRow]:
    """Yield how far the first of two is ahead: on average over pairs, or over what is the whole of them, if any are."""
    if not pairs:
        return
    each = [_difference(found, pair) for pair in pairs]
    total = each if whole is None else [_difference(found, pair) for pair in whole]
    apart = [deviation(mean_of(difference), Measurement(0.0, 0.0)) for difference in each]
    yield EffectRow(
        figure=figure,
        panel=panel,
        what=what,
        number=len(pairs),
        trials=len(total[0]),
        difference=mean_of(np.sum(total, axis=0) / len(total)),
        least=min(apart),
        most=max(apart),
    )


def _difference(found: _Found, pair: tuple[Place, Place]) -> FloatArray:
    first, second = (found[place.cell].accuracies for place in pair)
    both = min(len(first), len(second))
    return np.subtract(first[:both], second[:both])
