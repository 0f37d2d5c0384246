"""The reproduction's tables as people read them."""

import dataclasses
from collections.abc import Iterator
from typing import Final

from ...experiments.measurements import Measurement
from ...experiments.sheets import Words, listing, pivoting, where
from ...tables import Table
from .cells import DELTA, FAIRNESS_WEIGHTS, GAMMA, OBJECTIVES
from .local_table import PRICES
from .published import EPSILONS, SIZES
from .rows import EqualLossRow, RealRow, Reproduction, TableRow
from .settings import SETTINGS

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
_RULE_NAMES: Final = {"parity": "parity (the paper's)", "borda": "Borda", "copeland": "Copeland"}
"""What rules without privacy are called; others by their own names."""
_SOFT_BOUND: Final = (
    "; where qualities are chosen by (flips, exponential) the bound on ΔW is soft: an excess costs "
    f"{FAIRNESS_WEIGHTS['constrained']:g} a unit"
)
"""What "constrained" is where it is no rule of noisy numbers."""
_SIZES: Final = "n₁ and n₂: {size_1:,} and {size_2:,}"
_ELECTED: Final = "{disparity.value:.2f}, {welfare.value:.2f}"


def _samples(row: EqualLossRow | RealRow) -> str:
    return "" if row.samples is None else f"{row.gamma:g}, {row.samples:,}"


_WORDS: Final[Words] = {
    "rule": _RULE_NAMES,
    "mechanism": MECHANISM_NAMES,
    "reported_by": MECHANISM_NAMES,
    "below": MECHANISM_NAMES,
    "above": MECHANISM_NAMES,
    "ties": {"random": "by lot", "first": "to the first"},
    "short": lambda row: _SHORT.get(row.mechanism, row.mechanism),
    "best": _samples,
}
_SHORT: Final = {"laplace": "Laplace", "permute_and_flip": "flips"}


def sheets_of(reproduction: Reproduction) -> Iterator[Table]:
    """Yield all tables, in the order in which they are read."""
    for setting in SETTINGS:
        yield _table_1(where(reproduction.table_1, society=setting.name), f"{setting.title} ({setting.name})")
    yield _societies(reproduction)
    for setting in SETTINGS:
        yield pivoting(
            f"{_SIZES} | ε: {{epsilon:g}}",
            (
                where(reproduction.samplings, society=setting.name),
                f"{{scale}}, from the {{reading}}: {_ELECTED}, {{epsilon_proven:.2f}}",
            ),
            caption=f"Algorithm 2's readings (F3, F4), {setting.title}: ΔW, W and proven ε",
            note="printed: S_k/n_k (line 17); unbiased: S_k/n_s; from the group: line 9 as printed; from the "
            "subsample: of line 4, which n_s > n_k does not allow",
        )
    for setting in SETTINGS:
        for sizes in SIZES:
            rows = where(reproduction.objectives, society=setting.name, sizes=sizes)
            rows = [row for objective in OBJECTIVES for row in where(rows, objective=objective)]
            yield pivoting(
                "mechanism: {mechanism} | ε: {epsilon:g} | proven: {epsilon_proven:.2f}",
                (rows, f"ΔW, W: {{objective}}: {_ELECTED}"),
                (rows, "right, %: {objective}: {agreement.value:.0%}"),
                caption="Table 1 continued: all mechanisms by all objectives, "
                f"{sizes[0]:,} and {sizes[1]:,} voters ({setting.name})",
                note="parity: the least ΔW (the paper's); constrained: the most W with ΔW ≤ "
                f"{setting.max_disparity:g}; penalized: the most W − ΔW; right: how often the winner is one without "
                "privacy; proven: for replacing a voter's ranking",
                words=_WORDS,
            )
    yield pivoting(
        f"society: {{society}} | {_SIZES}",
        (reproduction.rules, f"{{rule}}: {_ELECTED}"),
        labels=2,
        caption="Rules without privacy: ΔW and W",
        note="egalitarian: the best worst position, ties by Borda; of many voters some rank each alternative last",
        words=_WORDS,
    )
    yield from _losses(reproduction)
    for setting in SETTINGS:
        for objective in OBJECTIVES:
            rows = where(reproduction.equal_losses, society=setting.name, objective=objective)
            yield pivoting(
                "proven ε: {epsilon_proven:g}",
                (rows, f"ΔW, W: {{short}}: {_ELECTED}"),
                (rows, "right, %: {short}: {agreement.value:.0%}"),
                (where(rows, mechanism="sampling"), "γ, n_s: {best}"),
                labels=0,
                caption=f"At equal proven loss: {objective}, {SIZES[0][0]:,} and {SIZES[0][1]:,} voters, "
                f"{setting.title} ({setting.name})",
                note="for replacing a voter's ranking; sampling has the γ that suits it best, and about the most "
                "samples that it may have" + _SOFT_BOUND * (objective == "constrained"),
                words=_WORDS,
            )
    yield from _local(reproduction)
    yield from sheets_of_profiles(reproduction)


def sheets_of_profiles(reproduction: Reproduction) -> Iterator[Table]:
    """Yield the tables of profiles that are no electorate of Table 1."""
    for name in dict.fromkeys(row.name for row in reproduction.real_sets):
        yield from _real(reproduction, name)


def _table_1(rows: list[TableRow], society: str) -> Table:
    return listing(
        rows,
        f"{_SIZES} | algorithm: {{mechanism}} | ε: {{epsilon:g}} | n_s of: {{samples}} | ΔW, paper: {{printed}}"
        " | ΔW, ours: {disparity} | diff: {disparity_off:+.1f} | W, paper: {published_welfare:.2f} | W, ours: {welfare}"
        " | diff: {welfare_off:+.1f} | proven, add/remove: {epsilon_add_or_remove:.2f}"
        " | proven, replace: {epsilon_replace:.2f}",
        labels=2,
        caption=f"Table 1, {society}",
        note="ours each ± its standard error; diff: ours less the paper's, in joint standard errors, the paper's "
        f"elections scattering as ours; n_s of ε·min n_k, with δ = {DELTA:g} and γ = {GAMMA:g}; in brackets what comes "
        "where there is no cell, if the elections are run all the same",
        words={
            "samples": lambda row: "" if row.samples is None else f"{row.samples:,} of {row.most_samples:,}",
            "printed": lambda row: "N/A" if row.published_disparity is None else f"{row.published_disparity:.2f}",
            "disparity": lambda row: _in_brackets(row, row.disparity),
            "welfare": lambda row: _in_brackets(row, row.welfare),
        },
    )


def _in_brackets(row: TableRow, measurement: Measurement) -> str:
    return f"{measurement:.3f}" if row.is_available else f"({measurement:.3f})"


def _societies(reproduction: Reproduction) -> Table:
    columns = "".join(
        f" | {header}: {{sampling_disparity_{place}:.2f}}, {{sampling_welfare_{place}:.2f}}"
        for place, header in enumerate(
            (f"sampling, ε = {EPSILONS[0]:g}", *(f"ε = {epsilon:g}" for epsilon in EPSILONS[1:])), start=1
        )
    )
    found = listing(
        reproduction.societies,
        "centers: {center_1} and {center_2} | dispersions: {dispersion_1:g} and {dispersion_2:g} | δ: {delta:g}"
        " | γ: {gamma:g} | scale: {scale} | elected: {winner} | Laplace: {laplace_disparity:.3f}, {laplace_welfare:.3f}"
        f" | lead: {{lead:.3f}}{columns} | distance: {{distance:.3f}}",
        labels=2,
        caption="Which societies give Table 1: ΔW and W in large groups, computed",
        note="the best of each pair of centers, of all 24 and dispersions in steps of .01 that come within .03 of the "
        "Laplace rows; then the two societies of the tables above; elected: the alternative with the least ΔW; "
        "lead: by how much its ΔW is less than the next one's; distance: the root of the mean squared difference "
        "from the paper's eight numbers",
        words={
            "center_1": lambda row: ">".join(row["center_1"]),
            "center_2": lambda row: ">".join(row["center_2"]),
        },
    )
    published = ["the paper, mean over sizes", "", "", "", "", "", "0.450, 0.680", ""]
    published += ["0.47, 0.76", "0.56, 0.95", "0.64, 1.05", "0"]
    return dataclasses.replace(found, rows=[*found.rows, published])


def _losses(reproduction: Reproduction) -> Iterator[Table]:
    yield listing(
        reproduction.losses,
        f"{_SIZES} | label ε: {{epsilon:g}} | n_s: {{samples:,}} | γ: {{gamma:g}} | simple: {{epsilon_simple:.2f}}"
        " | unbiased scale: {epsilon_proven:.2f} | printed scale: {epsilon_printed_scale:.2f} | or (0, δ): {delta:.3f}",
        caption="What Algorithm 2 proves of the voter who pays most (reading F4)",
        note="simple: by how seldom the voter is looked at; the others: the least of all bounds; ties fall at random",
    )
    if reproduction.searches:
        first = reproduction.searches[0]
        yield listing(
            reproduction.searches,
            "scale: {scale} | ties fall: {ties} | label ε: {label:g} | γ: {gamma:g} | found: {epsilon_found:.3f}"
            " | proven: {proven:.3f}",
            labels=2,
            caption="Algorithm 2 against its label: the loss between two neighboring electorates that a search found, "
            f"{first['size_1']:,} and {first['size_2']:,} voters",
            note="found: computed exactly, and so a lower bound on any ε; a search that finds less proves nothing",
            words={**_WORDS, "proven": lambda row: row["epsilon_proven"] if row["ties"] == "random" else None},
        )
    yield pivoting(
        "society: {society} | proven ε: {epsilon_proven:g}",
        (reproduction.noises, "{relation}, {calibration}: {scale_and_share}"),
        caption=f"Algorithm 1's noise at equal proven loss (reading F1), {SIZES[0][0]:,} and {SIZES[0][1]:,} voters: "
        "its scale, and how often the winner is that without privacy, in percent",
        note="scale: of the noise on a group's sum of utilities; centered: utilities are counted from (m − 1)/2",
        words={
            "relation": {"replace-one": "replace", "add-remove-one": "add/remove"},
            "calibration": {"printed": "as printed", "tight": "tight and centered"},
            "scale_and_share": lambda row: f"{row.scale:,.0f}: {100 * row.agreement.value:.1f}",
        },
    )


def _local(reproduction: Reproduction) -> Iterator[Table]:
    yield pivoting(
        "m: {alternatives} | ε: {epsilon:g}",
        ([row for row in reproduction.variances if row.epsilon in PRICES], "{mechanism}: {variance:,.4g}{least}"),
        labels=0,
        caption="Local mechanisms: the variance of one voter's estimated utilities, Borda scores",
        note="averaged over the alternatives, in squared units of the scores; whole rankings for at most 8 of them",
        words={**_WORDS, "least": lambda row: " (least)" * (row.ratio == 1)},
    )
    yield listing(
        reproduction.crossings,
        "m: {alternatives} | at ε: {epsilon:.2f} | best below: {below} | best above: {above}",
        labels=0,
        caption="Where another local mechanism becomes the best one",
        note="for ε from 0.05 to 20",
        words=_WORDS,
    )


def _real(reproduction: Reproduction, name: str) -> Iterator[Table]:
    found = where(reproduction.real_sets, name=name)
    yield listing(
        found,
        "rule: {rule} | winner: {winner} | ΔW: {disparity:.2f} | W: {welfare:.2f}",
        labels=2,
        caption=f"{found[0].title}, without privacy ({name})",
        note=f"groups: {found[0].groups}; utilities from 0 to {found[0].alternatives - 1}",
        words=_WORDS,
    )
    for objective in OBJECTIVES:
        rows = where(reproduction.real, name=name, objective=objective)
        yield pivoting(
            "proven ε: {epsilon_proven:g}",
            (rows, f"ΔW, W: {{short}}: {_ELECTED}"),
            (where(rows, mechanism="sampling"), "γ, n_s: {best}"),
            (where(rows, mechanism="local"), "local by: {reported_by}"),
            labels=0,
            caption=f"Fairness, welfare and proven ε: {name}, {objective}",
            note="for replacing a voter's ranking; mean ΔW and W of the winners"
            + _SOFT_BOUND * (objective == "constrained"),
            words=_WORDS,
        )
