"""The reproduction's tables as people read them."""

import dataclasses
from collections.abc import Iterator
from typing import Final, TypeAlias

from ...experiments.measurements import Measurement
from ...experiments.sheets import pivot
from ...tables import Table, listed
from .cells import DELTA, FAIRNESS_WEIGHTS, GAMMA, OBJECTIVES
from .local_table import PRICES
from .published import EPSILONS, SIZES
from .rows import EqualLossRow, ObjectiveRow, RealRow, Reproduction, RuleRow, SamplingRow, TableRow
from .settings import SETTINGS

__all__ = ["MECHANISM_NAMES", "OBJECTIVE_NAMES", "RULE_NAMES", "SOFT_BOUND", "TITLES", "sheets_of"]

MECHANISM_NAMES: Final = {
    "none": "without privacy",
    "laplace": "Laplace (Algorithm 1)",
    "sampling": "sampling (Algorithm 2)",
    "exponential": "exponential",
    "permute_and_flip": "permute-and-flip",
    "local": "local",
    "sampled_pair": "sampled pair",
    "sampled_position": "sampled position",
    "whole_ranking": "whole ranking",
    "noisy_scores": "noisy scores",
}
"""What mechanisms are called."""
OBJECTIVE_NAMES: Final = {
    "parity": "parity (the paper's)",
    "constrained": "constrained",
    "penalized": "penalized",
}
"""What objectives are called."""
RULE_NAMES: Final = {**OBJECTIVE_NAMES, "borda": "Borda", "copeland": "Copeland"}
"""What rules without privacy are called; others by their own names."""
TITLES: Final = {setting.name: setting.title for setting in SETTINGS}
"""What the societies are."""
SOFT_BOUND: Final = (
    "where qualities are chosen by (flips, exponential) the bound on ΔW is soft: an excess costs "
    f"{FAIRNESS_WEIGHTS['constrained']:g} a unit"
)
"""What "constrained" is where it is no rule of noisy numbers."""
_Elected: TypeAlias = EqualLossRow | ObjectiveRow | RealRow | RuleRow | SamplingRow
_CELL: Final = "each ± its standard error"


def sheets_of(reproduction: Reproduction) -> Iterator[Table]:
    """Yield all tables, in the order in which they are read."""
    for setting in SETTINGS:
        yield _table_1(reproduction, setting.name)
    yield _societies(reproduction)
    for setting in SETTINGS:
        yield _samplings(reproduction, setting.name)
    for setting in SETTINGS:
        for sizes in SIZES:
            yield _objectives(reproduction, setting.name, sizes)
    yield _rules(reproduction)
    yield _losses(reproduction)
    if reproduction.searches:
        yield _searches(reproduction)
    yield _noises(reproduction)
    for setting in SETTINGS:
        for objective in OBJECTIVES:
            yield _equal_losses(reproduction, setting.name, objective)
    yield _variances(reproduction)
    yield _crossings(reproduction)
    for name in dict.fromkeys(row.name for row in reproduction.real_sets):
        yield _real_set(reproduction, name)
        for objective in OBJECTIVES:
            yield _real(reproduction, name, objective)


def _table_1(reproduction: Reproduction, society: str) -> Table:
    rows = [row for row in reproduction.table_1 if row.society == society]
    return listed(
        rows,
        (
            ("n₁ and n₂", lambda row: f"{row.size_1:,} and {row.size_2:,}"),
            ("algorithm", lambda row: row.mechanism),
            ("ε", lambda row: f"{row.epsilon:g}"),
            ("n_s of", _samples),
            ("ΔW, paper", lambda row: _published(row.published_disparity)),
            ("ΔW, ours", lambda row: _in_brackets(row, _measured(row.disparity))),
            ("diff", lambda row: _deviation(row.disparity_off)),
            ("W, paper", lambda row: _published(row.published_welfare)),
            ("W, ours", lambda row: _in_brackets(row, _measured(row.welfare))),
            ("diff", lambda row: _deviation(row.welfare_off)),
            (
                "proven, add/remove",
                lambda row: "" if row.epsilon_add_or_remove is None else f"{row.epsilon_add_or_remove:.2f}",
            ),
            ("proven, replace", lambda row: f"{row.epsilon_replace:.2f}"),
        ),
        caption=f"Table 1, {TITLES[society]} ({society})",
        note=f"ours {_CELL}; diff: ours less the paper's, in joint standard errors, the paper's elections scattering "
        f"as ours; n_s of ε·min n_k, with δ = {DELTA:g} and γ = {GAMMA:g}; in brackets what comes where there is no "
        "cell, if the elections are run all the same",
        labels=2,
    )


def _samples(row: TableRow) -> str:
    return "" if row.samples is None else f"{row.samples:,} of {row.most_samples:,}"


def _in_brackets(row: TableRow, words: str) -> str:
    return words if row.is_available else f"({words})"


def _published(value: float | None) -> str:
    return "N/A" if value is None else f"{value:.2f}"


def _measured(measurement: Measurement) -> str:
    return f"{measurement.value:.3f} ± {measurement.standard_error:.3f}"


def _deviation(value: float | None) -> str:
    return "" if value is None else f"{value:+.1f}"


def _societies(reproduction: Reproduction) -> Table:
    found = listed(
        reproduction.societies,
        (
            ("centers", lambda row: f"{'>'.join(row.center_1)} and {'>'.join(row.center_2)}"),
            ("dispersions", lambda row: f"{row.dispersion_1:g} and {row.dispersion_2:g}"),
            ("δ", lambda row: f"{row.delta:g}"),
            ("γ", lambda row: f"{row.gamma:g}"),
            ("scale", lambda row: row.scale),
            ("elected", lambda row: f"{row.winner}"),
            ("Laplace", lambda row: f"{row.laplace_disparity:.3f}, {row.laplace_welfare:.3f}"),
            ("lead", lambda row: f"{row.lead:.3f}"),
            (
                f"sampling, ε = {EPSILONS[0]:g}",
                lambda row: f"{row.sampling_disparity_1:.2f}, {row.sampling_welfare_1:.2f}",
            ),
            (f"ε = {EPSILONS[1]:g}", lambda row: f"{row.sampling_disparity_2:.2f}, {row.sampling_welfare_2:.2f}"),
            (f"ε = {EPSILONS[2]:g}", lambda row: f"{row.sampling_disparity_3:.2f}, {row.sampling_welfare_3:.2f}"),
            ("distance", lambda row: f"{row.distance:.3f}"),
        ),
        caption="Which societies give Table 1: ΔW and W in large groups, computed",
        note="the best of each pair of centers, of all 24 and dispersions in steps of .01 that come within .03 of the "
        "Laplace rows; then the two societies of the tables above; elected: the alternative with the least ΔW; "
        "lead: by how much its ΔW is less than the next one's; distance: the root of the mean squared difference "
        "from the paper's eight numbers",
        labels=2,
    )
    published = ["the paper, mean over sizes", "", "", "", "", "", "0.450, 0.680", ""]
    published += ["0.47, 0.76", "0.56, 0.95", "0.64, 1.05", "0"]
    return dataclasses.replace(found, rows=[*found.rows, published])


def _samplings(reproduction: Reproduction, society: str) -> Table:
    found = [row for row in reproduction.samplings if row.society == society]
    table = pivot(
        found, lines=lambda row: (row.size_1, row.size_2, row.epsilon), columns=lambda row: (row.reading, row.scale)
    )
    rows = table.rows(
        lambda place: [f"{place[0]:,} and {place[1]:,}", f"{place[2]:g}"],
        lambda row: f"{_disparity_and_welfare(row)}, {row.epsilon_proven:.2f}",
    )
    return Table(
        caption=f"Algorithm 2's readings (F3, F4), {TITLES[society]}: ΔW, W and proven ε",
        columns=["n₁ and n₂", "ε", *(f"{scale}, from the {reading}" for reading, scale in table.columns)],
        rows=rows,
        note=(
            "printed: S_k/n_k (line 17); unbiased: S_k/n_s; from the group: line 9 as printed; from the subsample: of "
            "line 4, which n_s > n_k does not allow"
        ),
    )


def _disparity_and_welfare(row: _Elected) -> str:
    return f"{row.disparity.value:.2f}, {row.welfare.value:.2f}"


def _right(row: ObjectiveRow | EqualLossRow) -> str:
    return f"{100 * row.agreement.value:.0f}"


def _objectives(reproduction: Reproduction, society: str, sizes: tuple[int, int]) -> Table:
    found = [row for row in reproduction.objectives if (row.society, row.sizes) == (society, sizes)]
    table = pivot(
        (row for objective in OBJECTIVES for row in found if row.objective == objective),
        lines=lambda row: (row.mechanism, row.epsilon, row.epsilon_proven),
        columns=lambda row: row.objective,
    )
    rows = [
        [
            MECHANISM_NAMES[at[0]],
            "" if at[1] is None else f"{at[1]:g}",
            "" if at[2] is None else f"{at[2]:.2f}",
            *table.line(at, _disparity_and_welfare),
            *table.line(at, _right),
        ]
        for at in table.lines
    ]
    limit = next(setting.max_disparity for setting in SETTINGS if setting.name == society)
    return Table(
        caption="Table 1 continued: all mechanisms by all objectives, "
        f"{sizes[0]:,} and {sizes[1]:,} voters ({society})",
        columns=[
            "mechanism",
            "ε",
            "proven",
            *(f"ΔW, W: {name}" for name in OBJECTIVES),
            *(f"right, %: {name}" for name in OBJECTIVES),
        ],
        rows=rows,
        note=(
            f"parity: the least ΔW (the paper's); constrained: the most W with ΔW ≤ {limit:g}; penalized: the most "
            "W − ΔW; right: how often the winner is one without privacy; proven: for replacing a voter's ranking"
        ),
    )


def _rules(reproduction: Reproduction) -> Table:
    table = pivot(
        reproduction.rules, lines=lambda row: (row.society, row.size_1, row.size_2), columns=lambda row: row.rule
    )
    rows = table.rows(lambda place: [place[0], f"{place[1]:,} and {place[2]:,}"], _disparity_and_welfare)
    return Table(
        caption="Rules without privacy: ΔW and W",
        columns=["society", "n₁ and n₂", *(RULE_NAMES.get(name, name) for name in table.columns)],
        rows=rows,
        note="egalitarian: the best worst position, ties by Borda; of many voters some rank each alternative last",
        labels=2,
    )


def _losses(reproduction: Reproduction) -> Table:
    return listed(
        reproduction.losses,
        (
            ("n₁ and n₂", lambda row: f"{row.size_1:,} and {row.size_2:,}"),
            ("label ε", lambda row: f"{row.epsilon:g}"),
            ("n_s", lambda row: f"{row.samples:,}"),
            ("γ", lambda row: f"{row.gamma:g}"),
            ("simple", lambda row: f"{row.epsilon_simple:.2f}"),
            ("unbiased scale", lambda row: f"{row.epsilon_proven:.2f}"),
            ("printed scale", lambda row: f"{row.epsilon_printed_scale:.2f}"),
            ("or (0, δ)", lambda row: f"{row.delta:.3f}"),
        ),
        caption="What Algorithm 2 proves of the voter who pays most (reading F4)",
        note="simple: by how seldom the voter is looked at; the others: the least of all bounds; ties fall at random",
    )


def _searches(reproduction: Reproduction) -> Table:
    first = reproduction.searches[0]
    return listed(
        reproduction.searches,
        (
            ("scale", lambda row: row.scale),
            ("ties fall", lambda row: "by lot" if row.ties == "random" else "to the first"),
            ("label ε", lambda row: f"{row.label:g}"),
            ("γ", lambda row: f"{row.gamma:g}"),
            ("found", lambda row: f"{row.epsilon_found:.3f}"),
            ("proven", lambda row: f"{row.epsilon_proven:.3f}" if row.ties == "random" else ""),
        ),
        caption="Algorithm 2 against its label: the loss between two neighboring electorates that a search found, "
        f"{first.size_1:,} and {first.size_2:,} voters",
        note="found: computed exactly, and so a lower bound on any ε; a search that finds less proves nothing",
        labels=2,
    )


def _noises(reproduction: Reproduction) -> Table:
    table = pivot(
        reproduction.noises,
        lines=lambda row: (row.society, row.epsilon_proven),
        columns=lambda row: f"{_RELATIONS[row.relation]}, {_KINDS[row.calibration]}",
    )
    rows = table.rows(
        lambda place: [place[0], f"{place[1]:g}"], lambda row: f"{row.scale:,.0f}: {100 * row.agreement.value:.1f}"
    )
    return Table(
        caption=(
            f"Algorithm 1's noise at equal proven loss (reading F1), {SIZES[0][0]:,} and {SIZES[0][1]:,} voters: its "
            "scale, and how often the winner is that without privacy, in percent"
        ),
        columns=["society", "proven ε", *table.columns],
        rows=rows,
        note="scale: of the noise on a group's sum of utilities; centered: utilities are counted from (m − 1)/2",
    )


_RELATIONS: Final = {"replace-one": "replace", "add-remove-one": "add/remove"}
_KINDS: Final = {"printed": "as printed", "tight": "tight and centered"}


def _equal_losses(reproduction: Reproduction, society: str, objective: str) -> Table:
    found = [row for row in reproduction.equal_losses if (row.society, row.objective) == (society, objective)]
    table = pivot(found, lines=lambda row: row.epsilon_proven, columns=lambda row: row.mechanism)
    rows = [
        [
            f"{price:g}",
            *table.line(price, _disparity_and_welfare),
            *table.line(price, _right),
            _best_sampling(table.places.get((price, "sampling"))),
        ]
        for price in table.lines
    ]
    return Table(
        caption=(
            f"At equal proven loss: {objective}, {SIZES[0][0]:,} and {SIZES[0][1]:,} voters, {TITLES[society]} "
            f"({society})"
        ),
        columns=[
            "proven ε",
            *(f"ΔW, W: {_SHORT[mechanism]}" for mechanism in table.columns),
            *(f"right, %: {_SHORT[mechanism]}" for mechanism in table.columns),
            "γ, n_s",
        ],
        rows=rows,
        note=(
            "for replacing a voter's ranking; sampling has the γ that suits it best, and about the most samples that "
            "it may have" + (f"; {SOFT_BOUND}" if objective == "constrained" else "")
        ),
        labels=0,
    )


_SHORT: Final = {**MECHANISM_NAMES, "laplace": "Laplace", "sampling": "sampling", "permute_and_flip": "flips"}


def _best_sampling(row: EqualLossRow | RealRow | None) -> str:
    return "" if row is None or row.samples is None else f"{row.gamma:g}, {row.samples:,}"


def _variances(reproduction: Reproduction) -> Table:
    table = pivot(
        (row for row in reproduction.variances if row.epsilon in PRICES),
        lines=lambda row: (row.alternatives, row.epsilon),
        columns=lambda row: row.mechanism,
    )
    rows = table.rows(
        lambda place: [f"{place[0]}", f"{place[1]:g}"],
        lambda row: f"{row.variance:,.4g}" + " (least)" * (row.ratio == 1),
    )
    return Table(
        caption="Local mechanisms: the variance of one voter's estimated utilities, Borda scores",
        columns=["m", "ε", *(MECHANISM_NAMES[name] for name in table.columns)],
        rows=rows,
        note="averaged over the alternatives, in squared units of the scores; whole rankings for at most 8 of them",
        labels=0,
    )


def _crossings(reproduction: Reproduction) -> Table:
    return listed(
        reproduction.crossings,
        (
            ("m", lambda row: f"{row.alternatives}"),
            ("at ε", lambda row: f"{row.epsilon:.2f}"),
            ("best below", lambda row: MECHANISM_NAMES[row.below]),
            ("best above", lambda row: MECHANISM_NAMES[row.above]),
        ),
        caption="Where another local mechanism becomes the best one",
        note="for ε from 0.05 to 20",
        labels=0,
    )


def _real_set(reproduction: Reproduction, name: str) -> Table:
    found = [row for row in reproduction.real_sets if row.name == name]
    return listed(
        found,
        (
            ("rule", lambda row: RULE_NAMES.get(row.rule, row.rule)),
            ("winner", lambda row: row.winner),
            ("ΔW", lambda row: f"{row.disparity:.2f}"),
            ("W", lambda row: f"{row.welfare:.2f}"),
        ),
        caption=f"{found[0].title}, without privacy ({name})",
        note=f"groups: {found[0].groups}; utilities from 0 to {found[0].alternatives - 1}",
        labels=2,
    )


def _real(reproduction: Reproduction, name: str, objective: str) -> Table:
    found = [row for row in reproduction.real if (row.name, row.objective) == (name, objective)]
    table = pivot(found, lines=lambda row: row.epsilon_proven, columns=lambda row: row.mechanism)
    rows: list[list[str]] = []
    for price in table.lines:
        local = table.places.get((price, "local"))
        by = "" if local is None or local.reported_by is None else MECHANISM_NAMES[local.reported_by]
        sampling = _best_sampling(table.places.get((price, "sampling")))
        rows.append([f"{price:g}", *table.line(price, _disparity_and_welfare), sampling, by])
    return Table(
        caption=f"Fairness, welfare and proven ε: {name}, {objective}",
        columns=["proven ε", *(f"ΔW, W: {_SHORT[mechanism]}" for mechanism in table.columns), "γ, n_s", "local by"],
        rows=rows,
        note=(
            "for replacing a voter's ranking; mean ΔW and W of the winners"
            + (f"; {SOFT_BOUND}" if objective == "constrained" else "")
        ),
        labels=0,
    )
