"""The reproduction's tables as people read them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ...experiments.measurements import Measurement
from ...experiments.sheets import Sheet
from .cells import DELTA, FAIRNESS_WEIGHTS, GAMMA, OBJECTIVES
from .local_table import PRICES
from .profiles import SETTINGS
from .published import EPSILONS, SIZES
from .rows import EqualLossRow, ObjectiveRow, RealRow, Reproduction, SamplingRow, TableRow

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
_CELL: Final = "each ± its standard error"


def sheets_of(reproduction: Reproduction) -> Iterator[Sheet]:
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


def _table_1(reproduction: Reproduction, society: str) -> Sheet:
    rows = [row for row in reproduction.table_1 if row.society == society]
    cells = [
        [
            f"{row.size_1:,} and {row.size_2:,}",
            row.mechanism,
            f"{row.epsilon:g}",
            _samples(row),
            _published(row.published_disparity),
            _in_brackets(row, _measured(row.disparity)),
            _deviation(row.disparity_off),
            _published(row.published_welfare),
            _in_brackets(row, _measured(row.welfare)),
            _deviation(row.welfare_off),
            "" if row.epsilon_add_or_remove is None else f"{row.epsilon_add_or_remove:.2f}",
            f"{row.epsilon_replace:.2f}",
        ]
        for row in rows
    ]
    return Sheet(
        title=f"Table 1, {TITLES[society]} ({society})",
        headers=[
            "n₁ and n₂",
            "algorithm",
            "ε",
            "n_s of",
            "ΔW, paper",
            "ΔW, ours",
            "diff",
            "W, paper",
            "W, ours",
            "diff",
            "proven, add/remove",
            "proven, replace",
        ],
        rows=cells,
        note=(
            f"ours {_CELL}; diff: ours less the paper's, in joint standard errors, the paper's elections scattering as "
            f"ours; n_s of ε·min n_k, with δ = {DELTA:g} and γ = {GAMMA:g}; in brackets what comes where there is no "
            "cell, if the elections are run all the same"
        ),
        num_labels=2,
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


def _societies(reproduction: Reproduction) -> Sheet:
    rows = [
        [
            f"{'>'.join(row.center_1)} and {'>'.join(row.center_2)}",
            f"{row.dispersion_1:g} and {row.dispersion_2:g}",
            f"{row.delta:g}",
            f"{row.gamma:g}",
            row.scale,
            f"{row.winner}",
            f"{row.laplace_disparity:.3f}, {row.laplace_welfare:.3f}",
            f"{row.lead:.3f}",
            f"{row.sampling_disparity_1:.2f}, {row.sampling_welfare_1:.2f}",
            f"{row.sampling_disparity_2:.2f}, {row.sampling_welfare_2:.2f}",
            f"{row.sampling_disparity_3:.2f}, {row.sampling_welfare_3:.2f}",
            f"{row.distance:.3f}",
        ]
        for row in reproduction.societies
    ]
    published = ["the paper, mean over sizes", "", "", "", "", "", "0.450, 0.680", ""]
    rows.append([*published, "0.47, 0.76", "0.56, 0.95", "0.64, 1.05", "0"])
    return Sheet(
        title="Which societies give Table 1: ΔW and W in large groups, computed",
        headers=[
            "centers",
            "dispersions",
            "δ",
            "γ",
            "scale",
            "elected",
            "Laplace",
            "lead",
            f"sampling, ε = {EPSILONS[0]:g}",
            f"ε = {EPSILONS[1]:g}",
            f"ε = {EPSILONS[2]:g}",
            "distance",
        ],
        rows=rows,
        note=(
            "the best of each pair of centers, of all 24 and dispersions in steps of .01 that come within .03 of the "
            "Laplace rows; then the two societies of the tables above; elected: the alternative with the least ΔW; "
            "lead: by how much its ΔW is less than the next one's; distance: the root of the mean squared difference "
            "from the paper's eight numbers"
        ),
        num_labels=2,
    )


def _samplings(reproduction: Reproduction, society: str) -> Sheet:
    found = [row for row in reproduction.samplings if row.society == society]
    kinds = list(dict.fromkeys((row.reading, row.scale) for row in found))
    by_place = {(row.size_1, row.size_2, row.epsilon, row.reading, row.scale): row for row in found}
    rows: list[list[str]] = []
    for sizes in SIZES:
        for epsilon in EPSILONS:
            row = [f"{sizes[0]:,} and {sizes[1]:,}", f"{epsilon:g}"]
            for reading, scale in kinds:
                cell = by_place.get((*sizes, epsilon, reading, scale))
                row.append("" if cell is None else _pair(cell))
            rows.append(row)
    return Sheet(
        title=f"Algorithm 2's readings (F3, F4), {TITLES[society]}: ΔW, W and proven ε",
        headers=["n₁ and n₂", "ε", *(f"{scale}, from the {reading}" for reading, scale in kinds)],
        rows=rows,
        note=(
            "printed: S_k/n_k (line 17); unbiased: S_k/n_s; from the group: line 9 as printed; from the subsample: of "
            "line 4, which n_s > n_k does not allow"
        ),
        num_labels=1,
    )


def _pair(row: SamplingRow) -> str:
    return f"{row.disparity.value:.2f}, {row.welfare.value:.2f}, {row.epsilon_proven:.2f}"


def _objectives(reproduction: Reproduction, society: str, sizes: tuple[int, int]) -> Sheet:
    found = [row for row in reproduction.objectives if (row.society, (row.size_1, row.size_2)) == (society, sizes)]
    by_place: Mapping[tuple[str, float | None, str], ObjectiveRow] = {
        (row.mechanism, row.epsilon, row.objective): row for row in found
    }
    rows: list[list[str]] = []
    for mechanism, epsilon in dict.fromkeys((row.mechanism, row.epsilon) for row in found):
        cells = [by_place[mechanism, epsilon, objective] for objective in OBJECTIVES]
        proven = cells[0].epsilon_proven
        rows.append(
            [
                MECHANISM_NAMES[mechanism],
                "" if epsilon is None else f"{epsilon:g}",
                "" if proven is None else f"{proven:.2f}",
                *(f"{cell.disparity.value:.2f}, {cell.welfare.value:.2f}" for cell in cells),
                *(f"{100 * cell.agreement.value:.0f}" for cell in cells),
            ]
        )
    limit = next(setting.max_disparity for setting in SETTINGS if setting.name == society)
    return Sheet(
        title=f"Table 1 continued: all mechanisms by all objectives, {sizes[0]:,} and {sizes[1]:,} voters ({society})",
        headers=[
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
        num_labels=1,
    )


def _rules(reproduction: Reproduction) -> Sheet:
    names = list(dict.fromkeys(row.rule for row in reproduction.rules))
    rows: list[list[str]] = []
    for setting in SETTINGS:
        for sizes in SIZES:
            of_electorate = {
                row.rule: row
                for row in reproduction.rules
                if (row.society, row.size_1, row.size_2) == (setting.name, *sizes)
            }
            cells = [of_electorate[name] for name in names]
            rows.append(
                [
                    setting.name,
                    f"{sizes[0]:,} and {sizes[1]:,}",
                    *(f"{cell.disparity.value:.2f}, {cell.welfare.value:.2f}" for cell in cells),
                ]
            )
    return Sheet(
        title="Rules without privacy: ΔW and W",
        headers=["society", "n₁ and n₂", *(RULE_NAMES.get(name, name) for name in names)],
        rows=rows,
        note="egalitarian: the best worst position, ties by Borda; of many voters some rank each alternative last",
        num_labels=2,
    )


def _losses(reproduction: Reproduction) -> Sheet:
    rows = [
        [
            f"{row.size_1:,} and {row.size_2:,}",
            f"{row.epsilon:g}",
            f"{row.samples:,}",
            f"{row.gamma:g}",
            f"{row.epsilon_simple:.2f}",
            f"{row.epsilon_proven:.2f}",
            f"{row.epsilon_printed_scale:.2f}",
            f"{row.delta:.3f}",
        ]
        for row in reproduction.losses
    ]
    return Sheet(
        title="What Algorithm 2 proves of the voter who pays most (reading F4)",
        headers=["n₁ and n₂", "label ε", "n_s", "γ", "simple", "unbiased scale", "printed scale", "or (0, δ)"],
        rows=rows,
        note="simple: by how seldom the voter is looked at; the others: the least of all bounds; ties fall at random",
        num_labels=1,
    )


def _searches(reproduction: Reproduction) -> Sheet:
    rows = [
        [
            row.scale,
            "by lot" if row.ties == "random" else "to the first",
            f"{row.label:g}",
            f"{row.gamma:g}",
            f"{row.epsilon_found:.3f}",
            f"{row.epsilon_proven:.3f}" if row.ties == "random" else "",
        ]
        for row in reproduction.searches
    ]
    first = reproduction.searches[0]
    return Sheet(
        title=(
            "Algorithm 2 against its label: the loss between two neighboring electorates that a search found, "
            f"{first.size_1:,} and {first.size_2:,} voters"
        ),
        headers=["scale", "ties fall", "label ε", "γ", "found", "proven"],
        rows=rows,
        note="found: computed exactly, and so a lower bound on any ε; a search that finds less proves nothing",
        num_labels=2,
    )


def _noises(reproduction: Reproduction) -> Sheet:
    rows: list[list[str]] = []
    for society in dict.fromkeys(row.society for row in reproduction.noises):
        for price in dict.fromkeys(row.epsilon_proven for row in reproduction.noises):
            found = {
                (row.relation, row.calibration): row
                for row in reproduction.noises
                if (row.society, row.epsilon_proven) == (society, price)
            }
            rows.append(
                [
                    society,
                    f"{price:g}",
                    *(f"{row.scale:,.0f}: {100 * row.agreement.value:.1f}" for row in found.values()),
                ]
            )
    kinds = list(dict.fromkeys((row.relation, row.calibration) for row in reproduction.noises))
    return Sheet(
        title=(
            f"Algorithm 1's noise at equal proven loss (reading F1), {SIZES[0][0]:,} and {SIZES[0][1]:,} voters: its "
            "scale, and how often the winner is that without privacy, in percent"
        ),
        headers=["society", "proven ε", *(f"{_RELATIONS[relation]}, {_KINDS[kind]}" for relation, kind in kinds)],
        rows=rows,
        note="scale: of the noise on a group's sum of utilities; centered: utilities are counted from (m − 1)/2",
        num_labels=1,
    )


_RELATIONS: Final = {"replace-one": "replace", "add-remove-one": "add/remove"}
_KINDS: Final = {"printed": "as printed", "tight": "tight and centered"}


def _equal_losses(reproduction: Reproduction, society: str, objective: str) -> Sheet:
    found = [row for row in reproduction.equal_losses if (row.society, row.objective) == (society, objective)]
    mechanisms = list(dict.fromkeys(row.mechanism for row in found))
    by_place: Mapping[tuple[str, float], EqualLossRow] = {(row.mechanism, row.epsilon_proven): row for row in found}
    rows: list[list[str]] = []
    for price in dict.fromkeys(row.epsilon_proven for row in found):
        row = [f"{price:g}"]
        for mechanism in mechanisms:
            cell = by_place.get((mechanism, price))
            row.append("" if cell is None else f"{cell.disparity.value:.2f}, {cell.welfare.value:.2f}")
        for mechanism in mechanisms:
            cell = by_place.get((mechanism, price))
            row.append("" if cell is None else f"{100 * cell.agreement.value:.0f}")
        row.append(_best_sampling(by_place.get(("sampling", price))))
        rows.append(row)
    return Sheet(
        title=(
            f"At equal proven loss: {objective}, {SIZES[0][0]:,} and {SIZES[0][1]:,} voters, {TITLES[society]} "
            f"({society})"
        ),
        headers=[
            "proven ε",
            *(f"ΔW, W: {_SHORT[mechanism]}" for mechanism in mechanisms),
            *(f"right, %: {_SHORT[mechanism]}" for mechanism in mechanisms),
            "γ, n_s",
        ],
        rows=rows,
        note=(
            "for replacing a voter's ranking; sampling has the γ that suits it best, and about the most samples that "
            "it may have" + (f"; {SOFT_BOUND}" if objective == "constrained" else "")
        ),
    )


_SHORT: Final = {**MECHANISM_NAMES, "laplace": "Laplace", "sampling": "sampling", "permute_and_flip": "flips"}


def _best_sampling(row: EqualLossRow | RealRow | None) -> str:
    return "" if row is None or row.samples is None else f"{row.gamma:g}, {row.samples:,}"


def _variances(reproduction: Reproduction) -> Sheet:
    names = list(dict.fromkeys(row.mechanism for row in reproduction.variances))
    by_place = {
        (row.alternatives, row.epsilon, row.mechanism): row for row in reproduction.variances if row.epsilon in PRICES
    }
    rows: list[list[str]] = []
    for size, epsilon in dict.fromkeys((size, epsilon) for size, epsilon, _ in by_place):
        row = [f"{size}", f"{epsilon:g}"]
        for name in names:
            cell = by_place.get((size, epsilon, name))
            row.append("" if cell is None else f"{cell.variance:,.4g}" + " (least)" * (cell.ratio == 1))
        rows.append(row)
    return Sheet(
        title="Local mechanisms: the variance of one voter's estimated utilities, Borda scores",
        headers=["m", "ε", *(MECHANISM_NAMES[name] for name in names)],
        rows=rows,
        note="averaged over the alternatives, in squared units of the scores; whole rankings for at most 8 of them",
    )


def _crossings(reproduction: Reproduction) -> Sheet:
    rows = [
        [f"{row.alternatives}", f"{row.epsilon:.2f}", MECHANISM_NAMES[row.below], MECHANISM_NAMES[row.above]]
        for row in reproduction.crossings
    ]
    return Sheet(
        title="Where another local mechanism becomes the best one",
        headers=["m", "at ε", "best below", "best above"],
        rows=rows,
        note="for ε from 0.05 to 20",
    )


def _real_set(reproduction: Reproduction, name: str) -> Sheet:
    found = [row for row in reproduction.real_sets if row.name == name]
    rows = [
        [RULE_NAMES.get(row.rule, row.rule), row.winner, f"{row.disparity:.2f}", f"{row.welfare:.2f}"] for row in found
    ]
    return Sheet(
        title=f"{found[0].title}, without privacy ({name})",
        headers=["rule", "winner", "ΔW", "W"],
        rows=rows,
        note=f"groups: {found[0].groups}; utilities from 0 to {found[0].alternatives - 1}",
        num_labels=2,
    )


def _real(reproduction: Reproduction, name: str, objective: str) -> Sheet:
    found = [row for row in reproduction.real if (row.name, row.objective) == (name, objective)]
    mechanisms: Sequence[str] = list(dict.fromkeys(row.mechanism for row in found))
    by_place = {(row.mechanism, row.epsilon_proven): row for row in found}
    rows: list[list[str]] = []
    for price in dict.fromkeys(row.epsilon_proven for row in found):
        row = [f"{price:g}"]
        for mechanism in mechanisms:
            cell = by_place.get((mechanism, price))
            row.append("" if cell is None else f"{cell.disparity.value:.2f}, {cell.welfare.value:.2f}")
        local = by_place.get(("local", price))
        row += [
            _best_sampling(by_place.get(("sampling", price))),
            "" if local is None or local.reported_by is None else MECHANISM_NAMES[local.reported_by],
        ]
        rows.append(row)
    return Sheet(
        title=f"Fairness, welfare and proven ε: {name}, {objective}",
        headers=["proven ε", *(f"ΔW, W: {_SHORT[mechanism]}" for mechanism in mechanisms), "γ, n_s", "local by"],
        rows=rows,
        note=(
            "for replacing a voter's ranking; mean ΔW and W of the winners"
            + (f"; {SOFT_BOUND}" if objective == "constrained" else "")
        ),
    )
