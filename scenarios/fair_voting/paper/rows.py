"""What a reproduction consists of: typed rows, from which files, pictures and sentences are made."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, TypeVar

import msgspec

from ...experiments.measurements import Measurement
from ...experiments.reproductions import PaperReproduction
from ...experiments.sheets import where


class ElectorateRow(msgspec.Struct, frozen=True, kw_only=True):
    """What is so in an electorate of Table 1, whose columns come first."""

    society: str  # whose voters
    size_1: int  # n₁
    size_2: int  # n₂

    @property
    def sizes(self) -> tuple[int, int]:
        """n₁ and n₂."""
        return self.size_1, self.size_2


class TableRow(ElectorateRow, frozen=True, kw_only=True):
    """One cell of Table 1."""

    mechanism: str  # "laplace" (Algorithm 1) or "sampling" (Algorithm 2), as printed but for line 17 (reading F3)
    epsilon: float  # ε, the paper's label
    samples: int | None  # n_s; None for Laplace
    most_samples: int | None  # ⌊ε·min n_k⌋, up to which there is a cell (reading F2); None for Laplace
    is_available: bool  # whether there is a cell; where there is none, it is run all the same
    published_disparity: float | None  # ΔW as printed; None where "N/A" is
    published_welfare: float  # W as printed
    disparity: Measurement  # ΔW of the winners
    welfare: Measurement  # W of the winners
    disparity_off: float | None  # ours less the published, in joint standard errors, its spread being taken as ours
    welfare_off: float  # the same for W
    epsilon_add_or_remove: float | None  # proven for adding or removing a voter; None for sampling
    epsilon_replace: float  # proven for replacing a voter's ranking


class SamplingRow(ElectorateRow, frozen=True, kw_only=True):
    """One reading of Algorithm 2 in one cell."""

    epsilon: float  # the label
    samples: int  # n_s
    reading: str  # whom line 9 draws from: "group" or "subsample" (reading F4)
    scale: str  # of line 17: "unbiased" or "printed" (reading F3)
    disparity: Measurement  # ΔW of the winners
    welfare: Measurement  # W of the winners
    disparity_off: float | None  # ours less the published, in joint standard errors; None where that is N/A
    welfare_off: float  # the same for W
    epsilon_proven: float  # for replacing a voter's ranking


class ObjectiveRow(ElectorateRow, frozen=True, kw_only=True):
    """One mechanism and one objective in the electorates of Table 1."""

    mechanism: str  # of the protocol, or "none" without privacy
    epsilon: float | None  # ε as claimed; None without privacy
    objective: str  # "parity", "constrained" or "penalized"
    samples: int | None  # n_s of Algorithm 2
    disparity: Measurement  # ΔW of the winners
    welfare: Measurement  # W of the winners
    agreement: Measurement  # how often the winner is one without privacy too
    epsilon_proven: float | None  # for replacing a voter's ranking; None without privacy


class RuleRow(ElectorateRow, frozen=True, kw_only=True):
    """One rule without privacy in an electorate of Table 1."""

    rule: str  # its name
    disparity: Measurement  # ΔW of the winner
    welfare: Measurement  # W of the winner


class NoiseRow(ElectorateRow, frozen=True, kw_only=True):
    """Algorithm 1 with another calibration of its noise, at equal proven loss."""

    calibration: str  # "printed", or "tight"
    relation: str  # which profiles are neighbors
    epsilon_proven: float  # for that relation
    epsilon: float  # as claimed
    scale: float  # of the noise on a group's sum, in units of the scores
    disparity: Measurement  # ΔW of the winners
    welfare: Measurement  # W of the winners
    agreement: Measurement  # how often the winner is that without privacy


class EqualLossRow(ElectorateRow, frozen=True, kw_only=True):
    """One mechanism at one proven ε, for replacing a voter's ranking."""

    objective: str  # what is elected
    mechanism: str  # of the protocol; "sampling" with the γ and n_s that suit it best
    epsilon_proven: float  # the price
    gamma: float | None  # of Algorithm 2
    samples: int | None  # of Algorithm 2: the most that the price allows
    disparity: Measurement  # ΔW of the winners
    welfare: Measurement  # W of the winners
    agreement: Measurement  # how often the winner is that without privacy


class VarianceRow(msgspec.Struct, frozen=True, kw_only=True):
    """How well one voter's report tells its ranking (the local model, Borda scores)."""

    alternatives: int  # m
    epsilon: float  # ε
    mechanism: str  # which
    variance: float  # of one voter's estimate, averaged over the alternatives, in squared units of the scores
    ratio: float  # over the least of all mechanisms


class CrossingRow(msgspec.Struct, frozen=True, kw_only=True):
    """From which ε on another local mechanism has the least variance."""

    alternatives: int  # m
    epsilon: float  # where they have the same variance
    below: str  # the best mechanism below
    above: str  # the best one above


class RealSetRow(msgspec.Struct, frozen=True, kw_only=True):
    """A published profile, and what rules without privacy elect in it."""

    name: str  # short
    title: str  # for people
    voters: int  # n
    alternatives: int  # m
    groups: str  # their names and sizes
    rule: str  # a rule, or an objective without privacy
    winner: str  # whom it elects; of several that tie the first
    disparity: float  # ΔW
    welfare: float  # W


class RealRow(msgspec.Struct, frozen=True, kw_only=True):
    """One mechanism and objective on a published profile, at one proven ε."""

    name: str  # of the profile
    objective: str  # what is elected
    # of the protocol; "sampling" with the γ and n_s that suit it best, "local" the one with the least variance
    mechanism: str
    epsilon_proven: float  # for replacing a voter's ranking
    gamma: float | None  # of Algorithm 2
    samples: int | None  # of Algorithm 2
    reported_by: str | None  # the local mechanism that was taken
    disparity: Measurement  # ΔW of the winners
    welfare: Measurement  # W of the winners


PricedT = TypeVar("PricedT", EqualLossRow, RealRow)


def pairs_of(rows: Iterable[PricedT], one: str, other: str, **fields: object) -> list[tuple[PricedT, PricedT]]:
    """Return the rows of two mechanisms, whose other fields have these values, at each proven ε that both have."""
    others = {row.epsilon_proven: row for row in where(rows, mechanism=other, **fields)}
    own = where(rows, mechanism=one, **fields)
    return [(row, others[row.epsilon_proven]) for row in own if row.epsilon_proven in others]


class Reproduction(PaperReproduction, frozen=True, kw_only=True):
    """All numbers of one reproduction, and what follows from them; `trials` are elections of each cell."""

    kept: ClassVar = ("trials", "seed", "versions", "missing", "paper_findings", "own_findings")

    table_1: tuple[TableRow, ...]  # each published cell beside ours, N/A cells included, with proven losses
    samplings: tuple[SamplingRow, ...]  # the readings of Algorithm 2 (F3, F4) in the same cells
    societies: tuple[Mapping[str, Any], ...]  # which Mallows models give the published table: a search
    # Every mechanism, central and local, by each objective, in Table 1's electorates.
    objectives: tuple[ObjectiveRow, ...]
    rules: tuple[RuleRow, ...]  # plurality, Borda, Copeland, egalitarian, and the objectives without privacy
    noises: tuple[NoiseRow, ...]  # Algorithm 1's calibrations at equal proven loss (reading F1)
    equal_losses: tuple[EqualLossRow, ...]  # Laplace, sampling, exponential and local mechanisms at equal proven loss
    losses: tuple[Mapping[str, Any], ...]  # what Algorithm 2 proves (reading F4)
    searches: tuple[Mapping[str, Any], ...]  # what a search found against it
    variances: tuple[VarianceRow, ...]  # of local mechanisms
    crossings: tuple[CrossingRow, ...]  # which local mechanism is best when
    real_sets: tuple[RealSetRow, ...]  # published profiles, and whom rules elect there
    real: tuple[RealRow, ...]  # fairness, welfare and proven ε there
