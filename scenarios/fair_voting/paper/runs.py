"""`psephos reproduce fair-voting`: rows of Table 1, and of further experiments.

`page.toml` defines what is run, the tables, and their presentation; `own.toml` the same for the user's profile.
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
from ...experiments.measurements import to_published
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


def parts(request: Asked) -> Iterator[PaperPart]:
    """Run the paper's experiments again, and further ones."""
    grids = request.grids
    loaded_profiles, missing = load_profiles(request.data, grids["profiles"])
    for society, sizes in itertools.product((FITTED, READ), SIZES):
        cells = electorate(society, sizes, trials=request.trials, seed=request.seed)
        name = f"{society.name}, {cells.columns['sizes']} voters"
        yield PaperPart(f"Table 1: {name}", {"table_1": table_1(cells, grids)}, missing)
        if sizes == SIZES[0]:
            rows = {
                "noises": _noises(cells, grids),
                "equal_losses": compare_at_equal_loss(cells, grids["prices"], grids),
            }
            yield PaperPart(f"all mechanisms at equal proven loss: {name}", rows)
    yield PaperPart(rows={"variances": _variances(grids["variances"])})
    for loaded_profile in loaded_profiles:
        yield _on_profile(loaded_profile, request, grids)


def parts_on_own_data(request: Asked) -> Iterator[PaperPart]:
    """Run the experiments on published profiles with the user's profile."""
    yield _on_profile(load_own_profile(request.own["rankings"]), request, GRIDS)


def _on_profile(loaded_profile: Loaded, request: Asked, grids: Mapping[str, Any]) -> PaperPart:
    name = loaded_profile.columns["profile"]
    cells = ElectorateCells(name=name, trials=request.trials, seed=request.seed, **loaded_profile._asdict())
    rows = {"profiles": compare_at_equal_loss(cells, grids["profile_prices"], grids)}
    return PaperPart(f"fairness, welfare and proven loss: {name}", rows)


def table_1(cells: ElectorateCells, grids: Mapping[str, Any] = GRIDS) -> Iterator[Row]:
    """Yield Table 1's cells of one electorate: ΔW and W, published and computed, also by line 17 as printed."""
    for algorithm, epsilon in itertools.product(grids["algorithms"], EPSILONS):
        parameters_given = {**algorithm}
        name = parameters_given.pop("name")
        parameters = cells.parameters(epsilon=epsilon, **parameters_given)
        measurements = cells.measure(parameters, ("parity",))["parity"]
        published_row = PUBLISHED[cells.profiles.group_sizes, parameters.mechanism, epsilon]
        for measure in _MEASURES:
            own_value, published = measurements[measure], None
            if published_row[measure] != "N/A":
                # "Each value in the table represents the average of 1000 sample elections."
                published = to_published(float(published_row[measure]), own_value, trials=cells.trials, runs=1_000)
            yield {
                **cells.columns,
                "algorithm": name,
                "epsilon": epsilon,
                "samples": parameters.samples if parameters.mechanism == "sampling" else None,
                "what": measure,
                "ours": own_value,
                "printed": published_row[measure],
                "is_published": published is not None,
                "published": published,
                "distance": None if published is None else abs(own_value.value - published.value),
                "proven": proven_of(parameters),
            }


def _noises(cells: ElectorateCells, grids: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the noise of Algorithm 1 if a voter is added or removed, with printed and with centered scores."""
    for price, calibration in itertools.product(grids["noise_prices"], ("printed", "tight")):
        removal_settings = {"calibration": calibration, "relation": NeighboringRelation.ADD_OR_REMOVE_ONE}
        parameters_once = cells.parameters("laplace", 1.0, **removal_settings)
        parameters = msgspec.structs.replace(parameters_once, epsilon=price / proven_of(parameters_once))
        measurements = cells.measure(parameters, ("parity",))["parity"]
        yield {**cells.columns, "calibration": calibration, "epsilon_proven": price, **measurements}


def compare_at_equal_loss(cells: ElectorateCells, prices: Sequence[float], grids: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the measurements without privacy, and of each mechanism at a proven ε, by objective."""
    clean = {name: cells.measure_clean(name) for name in (*OBJECTIVES, "welfare")}
    ends = {
        f"{measure}_of_{name}": clean[name][measure].value for name in ("parity", "welfare") for measure in _MEASURES
    }
    for name, measurements in clean.items():
        yield {**cells.columns, "objective": name, "mechanism": "none", "epsilon_proven": None, **measurements}
    mechanisms: Sequence[str] = grids["mechanisms"]
    for price, mechanism in itertools.product(prices, mechanisms):
        for name, parameters, measurements in _measure_at_price(cells, mechanism, price, grids["gammas"]):
            yield {
                **cells.columns,
                "objective": name,
                "mechanism": mechanism,
                "epsilon_proven": price,
                **({"gamma": parameters.gamma, "samples": parameters.samples} if mechanism == "sampling" else {}),
                **measurements,
                "right": measurements["agreement"].value,
                **ends,
            }


def _measure_at_price(
    cells: ElectorateCells, mechanism: str, price: float, gammas: Sequence[float]
) -> Iterator[tuple[str, Parameters, Mapping[str, Any]]]:
    """Yield a mechanism's measurements at a proven ε, by objective; nothing if Algorithm 2 does not support it."""
    if mechanism != "sampling":
        parameters = cells.parameters(mechanism, price)
        yield from ((name, parameters, measurements) for name, measurements in cells.measure(parameters).items())
        return
    # A part of the elections suffices to choose γ.
    pilot = cells.first(max(cells.trials // 20, PAPER.least_trials))
    for name in OBJECTIVES:
        parameters_of_gamma: dict[float, Parameters] = {}
        for gamma in gammas:
            parameters = with_objective(cells.parameters("sampling", 1.0, gamma=gamma, num_samples=1), name)
            if samples := samples_for(parameters, price=price, is_fixed=cells.profiles.is_fixed):
                parameters = msgspec.structs.replace(parameters, num_samples=samples)
                parameters_of_gamma[pilot.measure(parameters, (name,))[name]["merit"].value] = parameters
        if parameters_of_gamma:
            best = parameters_of_gamma[max(parameters_of_gamma)]
            yield name, best, cells.measure(best, (name,))[name]


def _variances(axes: Mapping[str, Sequence[Any]]) -> Iterator[Row]:
    """Yield each local mechanism's variance of one voter's estimated utilities, averaged over alternatives."""
    for size, epsilon in itertools.product(*axes.values()):
        reports = possible_reports(Scoring(make_scores("borda", size)), epsilon)
        least_variance = min(report.mean_variance for report in reports)
        for report in reports:
            yield {
                "alternatives": size,
                "epsilon": epsilon,
                "mechanism": report.name,
                "variance": report.mean_variance,
                "ratio": report.mean_variance / least_variance,
                "is_least": " (least)" * (report.mean_variance == least_variance),
            }


EXPERIMENTS: Final = experiments_of(__name__, parts=parts, laws=findings_on_fair_voting, steps=12)
ON_OWN_DATA: Final = experiments_of(
    __name__, parts=parts_on_own_data, laws=findings_on_fair_voting, data="own.toml", claims="additions.csv"
)
