"""`psephos reproduce moral-preferences`: Figures 1 to 10, and what the paper does not show.

`Reproduction` says what each table holds. All voters are made up; those of Figures 8, 9 and 10(b) are a stand-in for
the Moral Machine's (reading M13).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from ....protocol.moral_preferences import MoralPreferences
from ....protocol.moral_preferences.sensitivity import printed_sensitivity, tight_sensitivity
from ...experiments.measurements import Measurement, mean_of
from ...experiments.reproductions import Asked, Part
from ...experiments.sheets import Row
from ...running.processes import num_cores
from ..audit.witnesses import search_sensitivity
from .effects import effects_of
from .methods import METHODS, parameters_of
from .plan import (
    PAPER,
    REFERENCES,
    Place,
    Sizes,
    baseline_cells,
    baseline_of,
    curve_places,
    projection_cells,
    variant_cells,
    weight_cells,
)
from .published import BASELINES, BOUND
from .rows import BaselineRow, CurvePoint, ProjectionRow, SensitivityRow, VariantRow, WeightRow
from .societies import own_setting
from .trials import Cell, Trials, measure_all

_SEED_OF_SEARCH: Final = 1
_SEARCHED: Final = (5, 10, 23)

_Found = Mapping[Cell, Trials]


def parts(asked: Asked, *, sizes: Sizes = PAPER) -> Iterator[Part]:
    """Run everything that the paper measured again, and more: each repetition has voters and noise of its own."""
    curves = list(curve_places(sizes))
    plans = variant_cells, weight_cells, projection_cells, baseline_cells
    variants, weights, projections, baselines = (list(each(sizes)) for each in plans)
    found = _measured(asked, [*(place.cell for place in curves), *variants, *weights, *projections, *baselines])
    rows = {
        **_of_curves(curves, baselines, found, sizes),
        "variants": (_variant(cell, found) for cell in variants),
        "weights": _weights(weights, found),
        "projections": _projections(projections, found),
        "sensitivities": _sensitivities(),
    }
    yield Part(rows=rows)


def parts_on_own_data(asked: Asked) -> Iterator[Part]:
    """Run Figures 8, 9 and 10(b) on somebody's own file: each repetition draws its voters, and holds others out."""
    setting, number = own_setting(asked.own["responses"])
    most = min(PAPER.most, number // 2)
    sizes = msgspec.structs.replace(PAPER, machine=setting, most=most, many=most // 2, few=most // 4, times=1)
    curves = [place for place in curve_places(sizes) if place.cell.setting == setting]
    baselines = [cell for cell in baseline_cells(sizes) if cell.setting == setting]
    found = _measured(asked, [*(place.cell for place in curves), *baselines])
    yield Part(rows=_of_curves(curves, baselines, found, sizes))


def _measured(asked: Asked, planned: Sequence[Cell]) -> _Found:
    """Measure cells, and what each is compared with."""
    cells = [each for cell in planned for each in (cell, baseline_of(cell))]
    workers = asked.workers or num_cores()
    return measure_all(cells, trials=asked.trials, seed=asked.seed, workers=workers, on_progress=asked.tell)


def _of_curves(
    curves: Sequence[Place], baselines: Sequence[Cell], found: _Found, sizes: Sizes
) -> dict[str, Iterable[Row]]:
    return {
        "curves": (_curve_point(place, found) for place in curves),
        "effects": effects_of(curves, found),
        "baselines": (_baseline(cell, found, sizes) for cell in baselines),
    }


def _lead(ours: Sequence[float], others: Sequence[float]) -> Measurement:
    return mean_of(np.subtract(ours, others))


def _ratio(found: _Found, cell: Cell) -> Measurement:
    """Return the ratio of two means over the same societies, with its error to first order."""
    ours, base = found[cell].accuracies, found[baseline_of(cell)].accuracies
    ratio, below = math.fsum(ours) / math.fsum(base), math.fsum(base) / len(base)
    rest = _lead(ours, [ratio * other for other in base])
    return Measurement(ratio, rest.standard_error / below)


def _epsilon(cell: Cell) -> float | None:
    return None if cell.groups is not None or math.isinf(cell.epsilon) else cell.epsilon


def _cost(cell: Cell) -> float | None:
    """Return what a voter pays; None where voters have an ε of their own, or there is no noise."""
    if _epsilon(cell) is None:
        return None
    parameters = parameters_of(
        METHODS[cell.method],
        num_features=cell.setting.features,
        max_records=cell.setting.records,
        epsilon=cell.epsilon,
        bound=cell.bound or None,
    )
    (loss,) = MoralPreferences(parameters).losses
    return loss.claimed


def _curve_point(place: Place, found: _Found) -> CurvePoint:
    cell = place.cell
    groups = cell.groups
    return CurvePoint(
        figure=place.figure,
        panel=place.panel,
        setting=cell.setting.kind,
        method=cell.method,
        voters=cell.voters,
        records=cell.setting.records,
        features=cell.setting.features,
        bound=cell.bound or METHODS[cell.method].bound,
        varied=place.varied,
        at=place.at,
        epsilon=_epsilon(cell),
        conservative=None if groups is None else groups.conservative,
        epsilon_conservative=None if groups is None else groups.epsilon_conservative,
        epsilon_moderate=None if groups is None else groups.epsilon_moderate,
        epsilon_voter=_cost(cell),
        accuracy=mean_of(found[cell].accuracies),
        ratio=_ratio(found, cell),
    )


def _variant(cell: Cell, found: _Found) -> VariantRow:
    method = METHODS[cell.method]
    reference = REFERENCES[method.paradigm.value]
    other = msgspec.structs.replace(cell, method=reference)
    lead = None if cell.method == reference else _lead(found[cell].accuracies, found[other].accuracies)
    return VariantRow(
        setting=cell.setting.kind,
        paradigm=method.paradigm.value,
        method=cell.method,
        title=method.title,
        epsilon=_epsilon(cell),
        epsilon_voter=_cost(cell),
        accuracy=mean_of(found[cell].accuracies),
        ratio=_ratio(found, cell),
        lead=lead,
        lead_in_errors=None if lead is None or not lead.standard_error else lead.value / lead.standard_error,
    )


def _with_and_without(suffix: str, cells: Iterable[Cell], found: _Found) -> Iterator[tuple[Cell, Trials, Trials]]:
    """Yield each cell of a plain method, with its trials and those of the method with the suffix."""
    for cell in cells:
        if not cell.method.endswith(suffix):
            yield cell, found[cell], found[msgspec.structs.replace(cell, method=cell.method + suffix)]


def _weights(cells: Iterable[Cell], found: _Found) -> Iterator[WeightRow]:
    for cell, plain, weighted in _with_and_without("-weighted", cells, found):
        yield WeightRow(
            setting=cell.setting.kind,
            is_fixed=cell.setting.is_fixed,
            voters=cell.voters,
            method=cell.method,
            plain=mean_of(plain.accuracies),
            weighted=mean_of(weighted.accuracies),
            gain=_lead(weighted.accuracies, plain.accuracies),
        )


def _projections(cells: Iterable[Cell], found: _Found) -> Iterator[ProjectionRow]:
    for cell, plain, projected in _with_and_without("-projected", cells, found):
        yield ProjectionRow(
            setting=cell.setting.kind,
            method=cell.method,
            epsilon=cell.epsilon,
            error=mean_of(plain.errors),
            error_projected=mean_of(projected.errors),
            accuracy=mean_of(plain.accuracies),
            gain=_lead(projected.accuracies, plain.accuracies),
        )


def _baseline(cell: Cell, found: _Found, sizes: Sizes) -> BaselineRow:
    setting = cell.setting
    trials = found[cell]
    has_number = cell.bound == BOUND and (setting, cell.voters) == sizes.compared.get(setting.kind)
    return BaselineRow(
        setting=setting.kind,
        voters=cell.voters,
        records=setting.records,
        features=setting.features,
        bound=cell.bound,
        society=mean_of(trials.accuracies),
        voter=mean_of(trials.own) if trials.own else None,
        published=BASELINES[setting.kind] if has_number else None,
    )


def _sensitivities() -> Iterator[SensitivityRow]:
    for features in _SEARCHED:
        found, _ = search_sensitivity(features, seed=_SEED_OF_SEARCH)
        yield SensitivityRow(
            features=features, printed=printed_sensitivity(features), tight=tight_sensitivity(features), found=found
        )
