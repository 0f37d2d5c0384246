"""What a reproduction consists of: typed rows, from which files, pictures and sentences are made."""

from typing import ClassVar

import msgspec

from ...experiments.measurements import Measurement
from ...experiments.reproductions import PaperReproduction

__all__ = [
    "CrossingRow",
    "ElectorateRow",
    "EqualLossRow",
    "LossRow",
    "NoiseRow",
    "ObjectiveRow",
    "RealRow",
    "RealSetRow",
    "Reproduction",
    "RuleRow",
    "SamplingRow",
    "SearchRow",
    "SocietyRow",
    "TableRow",
    "VarianceRow",
]


class ElectorateRow(msgspec.Struct, frozen=True, kw_only=True):
    """What is so in an electorate of Table 1, whose columns come first.

    Args:
        society: whose voters.
        size_1: n₁.
        size_2: n₂.
    """

    society: str
    size_1: int
    size_2: int

    @property
    def sizes(self) -> tuple[int, int]:
        """n₁ and n₂."""
        return self.size_1, self.size_2


class TableRow(ElectorateRow, frozen=True, kw_only=True):
    """One cell of Table 1.

    Args:
        mechanism: "laplace" (Algorithm 1) or "sampling" (Algorithm 2), as printed but for line 17 (reading F3).
        epsilon: ε, the paper's label.
        samples: n_s; None for Laplace.
        most_samples: ⌊ε·min n_k⌋, up to which there is a cell (reading F2); None for Laplace.
        is_available: whether there is a cell; where there is none, it is run all the same.
        published_disparity: ΔW as printed; None where "N/A" is.
        published_welfare: W as printed.
        disparity: ΔW of the winners.
        welfare: W of the winners.
        disparity_off: ours less the published, in joint standard errors, its spread being taken as ours.
        welfare_off: the same for W.
        epsilon_add_or_remove: proven for adding or removing a voter; None for sampling.
        epsilon_replace: proven for replacing a voter's ranking.
    """

    mechanism: str
    epsilon: float
    samples: int | None
    most_samples: int | None
    is_available: bool
    published_disparity: float | None
    published_welfare: float
    disparity: Measurement
    welfare: Measurement
    disparity_off: float | None
    welfare_off: float
    epsilon_add_or_remove: float | None
    epsilon_replace: float


class SamplingRow(ElectorateRow, frozen=True, kw_only=True):
    """One reading of Algorithm 2 in one cell.

    Args:
        epsilon: the label.
        samples: n_s.
        reading: whom line 9 draws from: "group" or "subsample" (reading F4).
        scale: of line 17: "unbiased" or "printed" (reading F3).
        disparity: ΔW of the winners.
        welfare: W of the winners.
        disparity_off: ours less the published, in joint standard errors; None where that is N/A.
        welfare_off: the same for W.
        epsilon_proven: for replacing a voter's ranking.
    """

    epsilon: float
    samples: int
    reading: str
    scale: str
    disparity: Measurement
    welfare: Measurement
    disparity_off: float | None
    welfare_off: float
    epsilon_proven: float


class SocietyRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a society gives in large groups, exactly, beside the published table.

    Args:
        center_1: the first group's order.
        center_2: the second group's.
        dispersion_1: φ of the first group.
        dispersion_2: φ of the second group.
        delta: of n_s = ⌈(m/ε²)·ln(m/δ)⌉.
        gamma: of Algorithm 2.
        scale: of its line 17.
        winner: the alternative with the least ΔW.
        lead: the next least ΔW less the least.
        laplace_disparity: the least ΔW.
        laplace_welfare: its W.
        sampling_disparity_1: ΔW by Algorithm 2 at ε = 0.3.
        sampling_welfare_1: W there.
        sampling_disparity_2: ΔW at ε = 0.6.
        sampling_welfare_2: W there.
        sampling_disparity_3: ΔW at ε = 1.
        sampling_welfare_3: W there.
        distance: from the published means over sizes: the root of the mean square of the eight differences.
    """

    center_1: str
    center_2: str
    dispersion_1: float
    dispersion_2: float
    delta: float
    gamma: float
    scale: str
    winner: int
    lead: float
    laplace_disparity: float
    laplace_welfare: float
    sampling_disparity_1: float
    sampling_welfare_1: float
    sampling_disparity_2: float
    sampling_welfare_2: float
    sampling_disparity_3: float
    sampling_welfare_3: float
    distance: float


class ObjectiveRow(ElectorateRow, frozen=True, kw_only=True):
    """One mechanism and one objective in the electorates of Table 1.

    Args:
        mechanism: of the protocol, or "none" without privacy.
        epsilon: ε as claimed; None without privacy.
        objective: "parity", "constrained" or "penalized".
        samples: n_s of Algorithm 2.
        disparity: ΔW of the winners.
        welfare: W of the winners.
        agreement: how often the winner is one without privacy too.
        epsilon_proven: for replacing a voter's ranking; None without privacy.
    """

    mechanism: str
    epsilon: float | None
    objective: str
    samples: int | None
    disparity: Measurement
    welfare: Measurement
    agreement: Measurement
    epsilon_proven: float | None


class RuleRow(ElectorateRow, frozen=True, kw_only=True):
    """One rule without privacy in an electorate of Table 1.

    Args:
        rule: its name.
        disparity: ΔW of the winner.
        welfare: W of the winner.
    """

    rule: str
    disparity: Measurement
    welfare: Measurement


class NoiseRow(ElectorateRow, frozen=True, kw_only=True):
    """Algorithm 1 with another calibration of its noise, at equal proven loss.

    Args:
        calibration: "printed", or "tight".
        relation: which profiles are neighbors.
        epsilon_proven: for that relation.
        epsilon: as claimed.
        scale: of the noise on a group's sum, in units of the scores.
        disparity: ΔW of the winners.
        welfare: W of the winners.
        agreement: how often the winner is that without privacy.
    """

    calibration: str
    relation: str
    epsilon_proven: float
    epsilon: float
    scale: float
    disparity: Measurement
    welfare: Measurement
    agreement: Measurement


class EqualLossRow(ElectorateRow, frozen=True, kw_only=True):
    """One mechanism at one proven ε, for replacing a voter's ranking.

    Args:
        objective: what is elected.
        mechanism: of the protocol; "sampling" with the γ and n_s that suit it best.
        epsilon_proven: the price.
        gamma: of Algorithm 2.
        samples: of Algorithm 2: the most that the price allows.
        disparity: ΔW of the winners.
        welfare: W of the winners.
        agreement: how often the winner is that without privacy.
    """

    objective: str
    mechanism: str
    epsilon_proven: float
    gamma: float | None
    samples: int | None
    disparity: Measurement
    welfare: Measurement
    agreement: Measurement


class LossRow(msgspec.Struct, frozen=True, kw_only=True):
    """What Algorithm 2 with the paper's n_s proves.

    Args:
        size_1: n₁.
        size_2: n₂.
        epsilon: the label.
        samples: n_s.
        gamma: γ.
        epsilon_simple: by how seldom a voter of the second group is looked at.
        epsilon_proven: by the least bound that holds, on the unbiased scale.
        epsilon_printed_scale: the same on the printed one.
        delta: with which it is (0, δ)-DP.
    """

    size_1: int
    size_2: int
    epsilon: float
    samples: int
    gamma: float
    epsilon_simple: float
    epsilon_proven: float
    epsilon_printed_scale: float
    delta: float


class SearchRow(msgspec.Struct, frozen=True, kw_only=True):
    """The worst pair of neighboring electorates that a search found for Algorithm 2, which no ε below its loss fits.

    Args:
        size_1: n₁.
        size_2: n₂.
        label: ε as the paper says.
        gamma: γ.
        scale: "unbiased" or "printed".
        ties: "random", or "first".
        epsilon_found: the loss of the pair.
        epsilon_proven: by our bound, for ties at random.
    """

    size_1: int
    size_2: int
    label: float
    gamma: float
    scale: str
    ties: str
    epsilon_found: float
    epsilon_proven: float


class VarianceRow(msgspec.Struct, frozen=True, kw_only=True):
    """How well one voter's report tells its ranking (the local model, Borda scores).

    Args:
        alternatives: m.
        epsilon: ε.
        mechanism: which.
        variance: of one voter's estimate, averaged over the alternatives, in squared units of the scores.
        ratio: over the least of all mechanisms.
    """

    alternatives: int
    epsilon: float
    mechanism: str
    variance: float
    ratio: float


class CrossingRow(msgspec.Struct, frozen=True, kw_only=True):
    """From which ε on another local mechanism has the least variance.

    Args:
        alternatives: m.
        epsilon: where they have the same variance.
        below: the best mechanism below.
        above: the best one above.
    """

    alternatives: int
    epsilon: float
    below: str
    above: str


class RealSetRow(msgspec.Struct, frozen=True, kw_only=True):
    """A published profile, and what rules without privacy elect in it.

    Args:
        name: short.
        title: for people.
        voters: n.
        alternatives: m.
        groups: their names and sizes.
        rule: a rule, or an objective without privacy.
        winner: whom it elects; of several that tie the first.
        disparity: ΔW.
        welfare: W.
    """

    name: str
    title: str
    voters: int
    alternatives: int
    groups: str
    rule: str
    winner: str
    disparity: float
    welfare: float


class RealRow(msgspec.Struct, frozen=True, kw_only=True):
    """One mechanism and objective on a published profile, at one proven ε.

    Args:
        name: of the profile.
        objective: what is elected.
        mechanism: of the protocol; "sampling" with the γ and n_s that suit it best, "local" the one with the least
            variance.
        epsilon_proven: for replacing a voter's ranking.
        gamma: of Algorithm 2.
        samples: of Algorithm 2.
        reported_by: the local mechanism that was taken.
        disparity: ΔW of the winners.
        welfare: W of the winners.
    """

    name: str
    objective: str
    mechanism: str
    epsilon_proven: float
    gamma: float | None
    samples: int | None
    reported_by: str | None
    disparity: Measurement
    welfare: Measurement


class Reproduction(PaperReproduction, frozen=True, kw_only=True):
    """All numbers of one reproduction, and what follows from them; `trials` are elections of each cell.

    Args:
        table_1: the published cells beside ours.
        samplings: the readings of Algorithm 2.
        societies: what the paper's own may have been.
        objectives: all mechanisms and objectives in Table 1's electorates.
        rules: without privacy.
        noises: Algorithm 1's calibrations at equal proven loss.
        equal_losses: all mechanisms at equal proven loss.
        losses: what Algorithm 2 proves.
        searches: what a search found against it.
        variances: of local mechanisms.
        crossings: where the best one changes.
        real_sets: published profiles.
        real: what becomes of them.
    """

    kept: ClassVar = ("trials", "seed", "versions", "missing", "paper_findings", "own_findings")

    table_1: tuple[TableRow, ...]
    samplings: tuple[SamplingRow, ...]
    societies: tuple[SocietyRow, ...]
    objectives: tuple[ObjectiveRow, ...]
    rules: tuple[RuleRow, ...]
    noises: tuple[NoiseRow, ...]
    equal_losses: tuple[EqualLossRow, ...]
    losses: tuple[LossRow, ...]
    searches: tuple[SearchRow, ...]
    variances: tuple[VarianceRow, ...]
    crossings: tuple[CrossingRow, ...]
    real_sets: tuple[RealSetRow, ...]
    real: tuple[RealRow, ...]
