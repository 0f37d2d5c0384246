"""`psephos reproduce fair-voting`: Table 1, and what the paper does not show.

`Reproduction` says what each table holds. Without a folder of data sets there is all but the published profiles.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from ....protocol.fair_voting import FairVoting, Parameters
from ....protocol.fair_voting.choices import SampledChoice, SampleScale
from ....protocol.fair_voting.kinds import LOCAL, MechanismName
from ....protocol.fair_voting.sampling_bounds import (
    delta_of_hit,
    epsilon_of_hit,
    hit_bound,
    is_feasible,
    num_samples,
    simple_hit_bound,
)
from ....protocol.mechanisms import VectorLaplace
from ....protocol.privacy import NeighboringRelation
from ...experiments.measurements import as_published, deviation
from ...experiments.reproductions import Asked, Part
from ..audit.winner_laws import Ties, search_neighbors
from . import PAPER
from .cells import DELTA, OBJECTIVES, Cells, Electorate, Measured, proven_of, rule_winners, samples_for, with_objective
from .local_table import find_crossings, variances
from .published import EPSILONS, MECHANISMS, RUNS, SIZES, TABLE_1, PrintedCell
from .real_sets import LoadedSet, load_own_set, load_real_sets
from .rows import (
    EqualLossRow,
    NoiseRow,
    ObjectiveRow,
    RealRow,
    RealSetRow,
    RuleRow,
    SamplingRow,
    TableRow,
)
from .settings import FITTED, SETTINGS, Setting
from .societies_fit import find_societies

_READINGS: Final = ("group", "subsample")
_SCALES: Final = ("unbiased", "printed")
_SMALL_SIZES: Final = (1000, 500)
_NOISE_PRICES: Final = (0.005, 0.01, 0.02, 0.05, 0.1)
_PRICES: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_REAL_PRICES: Final = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_EQUAL_MECHANISMS: Final[Sequence[MechanismName]] = (
    "permute_and_flip",
    "exponential",
    "laplace",
    "sampling",
    "local",
)
_LOSS_GAMMAS: Final = (0.01, 0.05, 0.2)
_TRIED_GAMMAS: Final = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7)
"""Among which Algorithm 2 has the one that suits it best, at equal proven loss."""
_PILOT: Final = 5
"""A part of the elections is enough to choose γ."""
_SEARCHES: Final = ((0.6, 0.05), (0.6, 0.01), (1.0, 0.05), (1.0, 0.01))
"""Label and γ."""
_SEARCH_KINDS: Final[Sequence[tuple[SampleScale, Ties]]] = (
    ("unbiased", "random"),
    ("printed", "random"),
    ("printed", "first"),
)
"""Scale, and how ties fall: to the first alternative, as where a program takes the first least number."""
_SEARCH_STARTS: Final = 2
_SEARCH_STEPS: Final = 100


def parts(asked: Asked) -> Iterator[Part]:
    """Run everything that the paper measured again, and more."""
    trials, seed = asked.trials, asked.seed
    real_sets, missing = load_real_sets(asked.data)
    for setting in SETTINGS:
        for sizes in SIZES:
            cells = Electorate(setting, sizes, trials=trials, seed=seed)
            rows = {
                "table_1": _table(cells),
                "samplings": _samplings(cells),
                "objectives": _objectives(cells),
                "rules": _rules(cells),
            }
            told = f"Table 1 and all mechanisms: {setting.name}, {sizes[0]:,} and {sizes[1]:,} voters"
            yield Part(told, rows, missing)
            if sizes == _SMALL_SIZES:
                rows = {"noises": _noises(cells), "equal_losses": _equal_losses(cells)}
                yield Part(f"all mechanisms at equal proven loss: {setting.name}", rows)
    rows = {
        "societies": find_societies(),
        "losses": _losses(),
        "searches": _searches(seed=seed),
        "variances": variances(),
        "crossings": find_crossings(),
        "real_sets": (row for loaded in real_sets for row in _real_set(loaded)),
    }
    yield Part("what Algorithm 2 proves, and which societies give Table 1", rows)
    for loaded in real_sets:
        yield _on_profile(loaded, asked)


def parts_on_own_data(asked: Asked) -> Iterator[Part]:
    """Run what is of published profiles on somebody's own."""
    loaded = load_own_set(asked.own["rankings"])
    yield Part(rows={"real_sets": _real_set(loaded)})
    yield _on_profile(loaded, asked)


def _on_profile(loaded: LoadedSet, asked: Asked) -> Part:
    told = f"fairness, welfare and proven loss: {loaded.real_set.name}"
    return Part(told, {"real": _real(loaded, trials=asked.trials, seed=asked.seed)})


def table_1(setting: Setting, *, trials: int, seed: int = 1) -> tuple[TableRow, ...]:
    """Return the paper's Table 1 alone: 18 cells of so many elections each."""
    cells = (Electorate(setting, sizes, trials=trials, seed=seed) for sizes in SIZES)
    return tuple(row for each in cells for row in _table(each))


def _table(cells: Electorate) -> Iterator[TableRow]:
    for mechanism, epsilon in itertools.product(MECHANISMS, EPSILONS):
        printed = TABLE_1[cells.sizes, mechanism, epsilon]
        is_sampling = mechanism == "sampling"
        others = {} if is_sampling else {"calibration": "printed"}
        parameters = cells.parameters("sampling" if is_sampling else "laplace", epsilon, **others)
        found = cells.measure(parameters, ("parity",))["parity"]
        coming = {} if is_sampling else {"relation": NeighboringRelation.ADD_OR_REMOVE_ONE}
        yield TableRow(
            **cells.columns,
            mechanism=mechanism,
            epsilon=epsilon,
            samples=parameters.samples if is_sampling else None,
            most_samples=math.floor(epsilon * min(cells.sizes)) if is_sampling else None,
            is_available=not is_sampling or is_feasible(parameters.samples, epsilon, cells.sizes),
            published_disparity=printed.disparity,
            published_welfare=printed.welfare,
            **_beside(printed, found, cells.trials),
            epsilon_add_or_remove=None if is_sampling else proven_of(msgspec.structs.replace(parameters, **coming)),
            epsilon_replace=proven_of(parameters),
        )


def _samplings(cells: Electorate) -> Iterator[SamplingRow]:
    for epsilon in EPSILONS:
        printed = TABLE_1[cells.sizes, "sampling", epsilon]
        for reading in _READINGS:
            parameters = cells.parameters("sampling", epsilon)
            if reading == "subsample" and parameters.samples > min(cells.sizes):
                continue  # there are not as many voters to sample
            parameters = msgspec.structs.replace(parameters, reading=reading)
            released = cells.release(parameters)
            for scale in _SCALES:
                found = cells.elect(released.rescaled() if scale == "printed" else released, "parity")
                yield SamplingRow(
                    **cells.columns,
                    epsilon=epsilon,
                    samples=parameters.samples,
                    reading=reading,
                    scale=scale,
                    **_beside(printed, found, cells.trials),
                    epsilon_proven=proven_of(parameters),
                )


def _beside(printed: PrintedCell, found: Measured, trials: int) -> dict[str, Any]:
    """Return the columns of ΔW and W, with how many joint standard errors each is off the published one."""
    columns: dict[str, Any] = {}
    pairs = ("disparity", found.disparity, printed.disparity), ("welfare", found.welfare, printed.welfare)
    for name, ours, value in pairs:
        published = None if value is None else as_published(value, ours, trials=trials, runs=RUNS)
        columns |= {name: ours, f"{name}_off": None if published is None else deviation(ours, published)}
    return columns


def _objectives(cells: Electorate) -> Iterator[ObjectiveRow]:
    mechanisms: list[MechanismName] = ["laplace", "sampling", "exponential", "permute_and_flip"]
    if cells.setting is FITTED:
        mechanisms += LOCAL
    clean = {name: cells.measure_clean(name) for name in OBJECTIVES}
    asked: list[tuple[str, Parameters | None]] = [("none", None)]
    for mechanism, epsilon in itertools.product(mechanisms, EPSILONS):
        others = {"calibration": "printed"} if mechanism == "laplace" else {}
        asked.append((mechanism, cells.parameters(mechanism, epsilon, **others)))
    for mechanism, parameters in asked:
        for name, found in (clean if parameters is None else cells.measure(parameters)).items():
            yield ObjectiveRow(
                **cells.columns,
                mechanism=mechanism,
                epsilon=None if parameters is None else parameters.epsilon,
                objective=name,
                samples=parameters.samples if parameters is not None and mechanism == "sampling" else None,
                **found.elected,
                agreement=found.agreement,
                epsilon_proven=None if parameters is None else proven_of(parameters),
            )


def _rules(cells: Electorate) -> Iterator[RuleRow]:
    found = {name: cells.of_winners(winners, "parity") for name, winners in rule_winners(cells.profiles)}
    found |= {name: cells.measure_clean(name) for name in OBJECTIVES}
    for name, measured in found.items():
        yield RuleRow(**cells.columns, rule=name, **measured.elected)


def _noises(cells: Electorate) -> Iterator[NoiseRow]:
    relations = (NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE)
    for price, relation, calibration in itertools.product(_NOISE_PRICES, relations, ("printed", "tight")):
        once = cells.parameters("laplace", 1.0, calibration=calibration, relation=relation)
        parameters = msgspec.structs.replace(once, epsilon=price / proven_of(once))
        found = cells.measure(parameters, ("parity",))["parity"]
        phase = FairVoting(parameters).disclosed
        noise = cast("VectorLaplace", phase.tally_mechanism)
        yield NoiseRow(
            **cells.columns,
            calibration=calibration,
            relation=relation.value,
            epsilon_proven=price,
            epsilon=parameters.epsilon,
            scale=noise.scale * phase.scoring.step,
            **found.elected,
            agreement=found.agreement,
        )


def _equal_losses(cells: Electorate) -> Iterator[EqualLossRow]:
    for columns, _, found in _at_prices(cells, _PRICES):
        yield EqualLossRow(**cells.columns, **columns, agreement=found.agreement)


def _at_prices(cells: Cells, prices: Sequence[float]) -> Iterator[tuple[dict[str, Any], Parameters, Measured]]:
    """Yield what each mechanism gives at equal proven loss: shared columns, and what they are of."""
    for price, mechanism in itertools.product(prices, _EQUAL_MECHANISMS):
        for objective, (parameters, found) in _at_price(cells, mechanism, price).items():
            columns = {
                "objective": objective,
                "mechanism": mechanism,
                "epsilon_proven": price,
                "gamma": parameters.gamma if mechanism == "sampling" else None,
                "samples": parameters.samples if mechanism == "sampling" else None,
                **found.elected,
            }
            yield columns, parameters, found


def _at_price(cells: Cells, mechanism: MechanismName, price: float) -> dict[str, tuple[Parameters, Measured]]:
    """Return what a mechanism gives for a proven ε, by objective; nothing where Algorithm 2 cannot have so little."""
    if mechanism != "sampling":
        parameters = cells.parameters(mechanism, price)
        return {objective: (parameters, found) for objective, found in cells.measure(parameters).items()}
    pilot = cells.first(max(cells.trials // _PILOT, PAPER.least_trials))
    told: dict[str, tuple[Parameters, Measured]] = {}
    for objective in OBJECTIVES:
        best: tuple[float, Parameters] | None = None
        for gamma in _TRIED_GAMMAS:
            tried = with_objective(cells.parameters("sampling", 1.0, gamma=gamma, num_samples=1), objective)
            samples = samples_for(tried, price=price, is_fixed=cells.profiles.is_fixed)
            if samples is not None:
                tried = msgspec.structs.replace(tried, num_samples=samples)
                merit = pilot.measure(tried, (objective,))[objective].merit.value
                best = (merit, tried) if best is None or merit > best[0] else best
        if best is not None:
            told[objective] = best[1], cells.measure(best[1], (objective,))[objective]
    return told


def _losses() -> Iterator[Mapping[str, Any]]:
    """Yield what Algorithm 2 with the paper's n_s proves."""
    for sizes in SIZES:
        base = msgspec.structs.replace(Cells.parameters_only(4, sizes), mechanism="sampling")
        scoring = base.make_scoring(is_centered=True)
        for epsilon in EPSILONS:
            samples = num_samples(epsilon, DELTA, 4)
            for gamma in _LOSS_GAMMAS:
                parameters = msgspec.structs.replace(base, epsilon=epsilon, num_samples=samples, gamma=gamma)
                simple = simple_hit_bound(4, group_size=min(sizes), samples=samples, reading="group")
                hit = hit_bound(scoring, group_size=min(sizes), samples=samples, reading="group")
                yield {
                    **_sizes(sizes),
                    "epsilon": epsilon,  # the label
                    "samples": samples,
                    "gamma": gamma,
                    # By how seldom a voter of the second group is looked at, and by the least bound that holds.
                    "epsilon_simple": epsilon_of_hit(simple, gamma=gamma, num_alternatives=4),
                    "epsilon_proven": proven_of(parameters),
                    "epsilon_printed_scale": proven_of(msgspec.structs.replace(parameters, scale="printed")),
                    "delta": delta_of_hit(hit, gamma=gamma),  # with which it is (0, δ)-DP
                }


def _searches(*, seed: int) -> Iterator[Mapping[str, Any]]:
    """Yield the worst pairs of neighboring electorates that a search found, which no ε below their loss fits."""
    sizes = (min(SIZES[0]), max(SIZES[0]))  # the searched voter is of the first group
    for scale, ties in _SEARCH_KINDS:
        for label, gamma in _SEARCHES:
            parameters = msgspec.structs.replace(
                Cells.parameters_only(4, sizes), mechanism="sampling", epsilon=label, gamma=gamma, scale=scale
            )
            choice = FairVoting(parameters).disclosed.elects_by(SampledChoice)
            found = search_neighbors(choice, seed=seed, num_starts=_SEARCH_STARTS, num_steps=_SEARCH_STEPS, ties=ties)
            yield {
                **_sizes(sizes[::-1]),
                "label": label,
                "gamma": gamma,
                "scale": scale,
                "ties": ties,
                "epsilon_found": found.loss,
                "epsilon_proven": proven_of(parameters),  # for ties at random
            }


def _sizes(sizes: Sequence[int]) -> dict[str, int]:
    return {"size_1": sizes[0], "size_2": sizes[1]}


def _cells_of(loaded: LoadedSet, *, trials: int, seed: int) -> Cells:
    return Cells(
        loaded.profiles,
        name=loaded.real_set.name,
        trials=trials,
        seed=seed,
        max_disparity=loaded.real_set.max_disparity,
    )


def _real_set(loaded: LoadedSet) -> Iterator[RealSetRow]:
    cells = _cells_of(loaded, trials=1, seed=0)
    profiles = loaded.profiles
    winners = {name: int(own[0]) for name, own in rule_winners(profiles)}
    winners |= {name: int(cells.clean_winners(name)[0]) for name in OBJECTIVES}
    for rule, winner in winners.items():
        yield RealSetRow(
            name=loaded.real_set.name,
            title=loaded.real_set.title,
            voters=sum(profiles.group_sizes),
            alternatives=profiles.num_alternatives,
            groups=", ".join(f"{name} {size}" for name, size in zip(loaded.groups, profiles.group_sizes, strict=True)),
            rule=rule,
            winner=loaded.alternatives[winner],
            disparity=float(profiles.disparities[0, winner]),
            welfare=float(profiles.welfares[0, winner]),
        )


def _real(loaded: LoadedSet, *, trials: int, seed: int) -> Iterator[RealRow]:
    for columns, parameters, _ in _at_prices(_cells_of(loaded, trials=trials, seed=seed), _REAL_PRICES):
        (loss,) = FairVoting(parameters).losses
        reported_by = loss.mechanism if parameters.mechanism == "local" else None
        yield RealRow(name=loaded.real_set.name, **columns, reported_by=reported_by)
