"""`psephos reproduce fair-voting`: Table 1, and what the paper does not show, as rows.

`page.toml` says what is run, what each table of rows holds, and how it is told; `own.toml` of somebody's own profile.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from ....protocol.fair_voting import Parameters, Scoring, make_scores
from ....protocol.fair_voting.reports import possible_reports
from ....protocol.privacy import NeighboringRelation
from ...experiments.comparing import Row
from ...experiments.declared import experiments_of
from ...experiments.measurements import as_published
from ...experiments.reproductions import Asked, PaperPart
from . import PAPER
from .cells import (
    EPSILONS,
    FITTED,
    GRIDS,
    OBJECTIVES,
    PUBLISHED,
    READ,
    SIZES,
    ElectorateCells,
    electorate,
    proven_of,
    samples_for,
    with_objective,
)
from .claims import findings_on_fair_voting
from .profiles import Loaded, load_own_profile, load_profiles

_MEASURES: Final = ("disparity", "welfare")


def parts(asked: Asked) -> Iterator[PaperPart]:
    """Run everything that the paper measured again, and more."""
    grids = asked.grids
    loaded, missing = load_profiles(asked.data, grids["profiles"])
    for society, sizes in itertools.product((FITTED, READ), SIZES):
        cells = electorate(society, sizes, trials=asked.trials, seed=asked.seed)
        name = f"{society.name}, {cells.columns['sizes']} voters"
        yield PaperPart(f"Table 1: {name}", {"table_1": table_1(cells, grids)}, missing)
        if sizes == SIZES[0]:
            rows = {"noises": _noises(cells, grids), "equal_losses": at_equal_loss(cells, grids["prices"], grids)}
            yield PaperPart(f"all mechanisms at equal proven loss: {name}", rows)
    yield PaperPart(rows={"variances": _variances(grids["variances"])})
    for own in loaded:
        yield _on_profile(own, asked, grids)


def parts_on_own_data(asked: Asked) -> Iterator[PaperPart]:
    """Run what is of published profiles on somebody's own."""
    yield _on_profile(load_own_profile(asked.own["rankings"]), asked, GRIDS)


def _on_profile(own: Loaded, asked: Asked, grids: Mapping[str, Any]) -> PaperPart:
    name = own.columns["profile"]
    cells = ElectorateCells(name=name, trials=asked.trials, seed=asked.seed, **own._asdict())
    rows = {"profiles": at_equal_loss(cells, grids["profile_prices"], grids)}
    return PaperPart(f"fairness, welfare and proven loss: {name}", rows)


def table_1(cells: ElectorateCells, grids: Mapping[str, Any] = GRIDS) -> Iterator[Row]:
    """Yield the paper's cells of one electorate: ΔW and W, published and ours; and by line 17 as it is printed."""
    for algorithm, epsilon in itertools.product(grids["algorithms"], EPSILONS):
        given = {**algorithm}
        name = given.pop("name")
        parameters = cells.parameters(epsilon=epsilon, **given)
        found = cells.measure(parameters, ("parity",))["parity"]
        printed = PUBLISHED[cells.profiles.group_sizes, parameters.mechanism, epsilon]
        for what in _MEASURES:
            ours, published = found[what], None
            if printed[what] != "N/A":
                # "Each value in the table represents the average of 1000 sample elections."
                published = as_published(float(printed[what]), ours, trials=cells.trials, runs=1_000)
            yield {
                **cells.columns,
                "algorithm": name,
                "epsilon": epsilon,
                "samples": parameters.samples if parameters.mechanism == "sampling" else None,
                "what": what,
                "ours": ours,
                "printed": printed[what],
                "is_published": published is not None,
                "published": published,
                "distance": None if published is None else abs(ours.value - published.value),
                "proven": proven_of(parameters),
            }


def _noises(cells: ElectorateCells, grids: Mapping[str, Any]) -> Iterator[Row]:
    """Yield what Algorithm 1's noise is where a voter is added or removed, as printed and about the middle."""
    for price, calibration in itertools.product(grids["noise_prices"], ("printed", "tight")):
        removing = {"calibration": calibration, "relation": NeighboringRelation.ADD_OR_REMOVE_ONE}
        once = cells.parameters("laplace", 1.0, **removing)
        parameters = msgspec.structs.replace(once, epsilon=price / proven_of(once))
        found = cells.measure(parameters, ("parity",))["parity"]
        yield {**cells.columns, "calibration": calibration, "epsilon_proven": price, **found}


def at_equal_loss(cells: ElectorateCells, prices: Sequence[float], grids: Mapping[str, Any]) -> Iterator[Row]:
    """Yield what there is without privacy, and what each mechanism gives for a proven ε, by objective."""
    clean = {name: cells.measure_clean(name) for name in (*OBJECTIVES, "welfare")}
    ends = {f"{what}_of_{name}": clean[name][what].value for name in ("parity", "welfare") for what in _MEASURES}
    for name, found in clean.items():
        yield {**cells.columns, "objective": name, "mechanism": "none", "epsilon_proven": None, **found}
    mechanisms: Sequence[str] = grids["mechanisms"]
    for price, mechanism in itertools.product(prices, mechanisms):
        for name, parameters, found in _at_price(cells, mechanism, price, grids["gammas"]):
            yield {
                **cells.columns,
                "objective": name,
                "mechanism": mechanism,
                "epsilon_proven": price,
                **({"gamma": parameters.gamma, "samples": parameters.samples} if mechanism == "sampling" else {}),
                **found,
                "right": found["agreement"].value,
                **ends,
            }


def _at_price(
    cells: ElectorateCells, mechanism: str, price: float, gammas: Sequence[float]
) -> Iterator[tuple[str, Parameters, Mapping[str, Any]]]:
    """Yield what a mechanism gives for a proven ε, by objective; nothing where Algorithm 2 cannot have so little."""
    if mechanism != "sampling":
        parameters = cells.parameters(mechanism, price)
        yield from ((name, parameters, found) for name, found in cells.measure(parameters).items())
        return
    # A part of the elections is enough to choose γ.
    pilot = cells.first(max(cells.trials // 20, PAPER.least_trials))
    for name in OBJECTIVES:
        tried: dict[float, Parameters] = {}
        for gamma in gammas:
            parameters = with_objective(cells.parameters("sampling", 1.0, gamma=gamma, num_samples=1), name)
            if samples := samples_for(parameters, price=price, is_fixed=cells.profiles.is_fixed):
                parameters = msgspec.structs.replace(parameters, num_samples=samples)
                tried[pilot.measure(parameters, (name,))[name]["merit"].value] = parameters
        if tried:
            best = tried[max(tried)]
            yield name, best, cells.measure(best, (name,))[name]


def _variances(axes: Mapping[str, Sequence[Any]]) -> Iterator[Row]:
    """Yield the variance of one voter's estimated utilities, averaged over the alternatives, by local mechanism."""
    for size, epsilon in itertools.product(*axes.values()):
        reports = possible_reports(Scoring(make_scores("borda", size)), epsilon)
        least = min(report.mean_variance for report in reports)
        for report in reports:
            yield {
                "alternatives": size,
                "epsilon": epsilon,
                "mechanism": report.name,
                "variance": report.mean_variance,
                "ratio": report.mean_variance / least,
                "is_least": " (least)" * (report.mean_variance == least),
            }


EXPERIMENTS: Final = experiments_of(__name__, parts=parts, laws=findings_on_fair_voting, steps=12)
ON_OWN_DATA: Final = experiments_of(
    __name__, parts=parts_on_own_data, laws=findings_on_fair_voting, data="own.toml", claims="additions.csv"
)
