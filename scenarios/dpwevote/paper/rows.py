"""What a reproduction consists of: typed rows, from which files, pictures and sentences are made."""

import msgspec

from ...experiments.measurements import Measurement
from ...experiments.reproductions import PaperReproduction

__all__ = ["Cell", "Cost", "MechanismRow", "PowerPoint", "PublishedCell", "Reproduction"]


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One variant, workload, number of partners and ε.

    Args:
        variant: how the vote was held.
        workload: what partners held, by name.
        num_partners: in each trial.
        epsilon: the price of a candidate with its weight.
        accuracy: equation (10).
        normal_law: a normal approximation of the accuracy: on uniform votes reading W9's limit, on fixed ones with a
            term for the skewness. For ten partners it may be off by some percentage points.
        mse_w: equation (11); None where the reports do not tell.
        mse_q: equation (12); None the same.
        mse_phi: equation (13), by reported group in variant "printed"; None the same.
    """

    variant: str
    workload: str
    num_partners: int
    epsilon: float
    accuracy: Measurement
    normal_law: float
    mse_w: Measurement | None
    mse_q: Measurement | None
    mse_phi: Measurement | None


class PublishedCell(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of a published table, beside ours.

    Args:
        algorithm: what the paper calls it.
        variant: what we do.
        num_partners: n.
        epsilon: ε.
        ours: from our trials.
        expected: without drawing: the normal law of an accuracy (reading W9), or the expectation of an MSE_q.
        published: with the standard error that its number of runs gives it.
        difference: ours less published, in joint standard errors.
        published_difference: published less expected, in the published one's standard errors.
    """

    algorithm: str
    variant: str
    num_partners: int
    epsilon: float
    ours: Measurement
    expected: float
    published: Measurement
    difference: float
    published_difference: float


class PowerPoint(msgspec.Struct, frozen=True, kw_only=True):
    """How often fixed votes pass.

    Args:
        variant: how the vote was held.
        workload: "even" (weights 1, 2 and 3 alike) or "threes" (all weights 3).
        num_partners: n.
        epsilon: ε.
        true_margin: support less quota, a partner.
        passed: the share of trials that passed; None where only the normal law was computed.
        normal_law: a normal approximation of the same, with a term for the skewness.
    """

    variant: str
    workload: str
    num_partners: int
    epsilon: float
    true_margin: float
    passed: Measurement | None
    normal_law: float


class MechanismRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a way to report costs in precision, in units of signed weights ±1, ±2, ±3 (twice what moves a margin).

    Args:
        mechanism: the variant, with its prior or split.
        epsilon: ε of one candidate, weight included.
        second_moment: E[t²] of what a report stands for, over uniform signed weights.
        worst_variance: of what it stands for.
        lower_bound: what no unbiased mechanism falls below in the objective that this one minimizes, proven over all
            subsets of the values; None for others.
        gap: by how much the objective may exceed the least, relatively; None for others.
        accuracy: with 100 partners on uniform votes, from ten times as many trials as elsewhere.
        normal_law: reading W9's.
        prototype_second_moment: reading W8's, where it gives one.
        prototype_accuracy: the same.
        difference: our accuracy less the prototype's, in joint standard errors, its own being that of 2,000 runs.
    """

    mechanism: str
    epsilon: float
    second_moment: float
    worst_variance: float
    lower_bound: float | None
    gap: float | None
    accuracy: Measurement
    normal_law: float
    prototype_second_moment: float | None
    prototype_accuracy: float | None
    difference: float | None


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What a session of some candidates gets for its price.

    Args:
        num_candidates: k.
        price: ε of the whole session, for one partner.
        variant: with its split or pricing.
        epsilon_weight: of one report of the weight; 0 where there is none.
        epsilon_opinion: of one report of an opinion or of a signed weight.
        price_per_candidate: price over k.
        worst_variance: of what a partner adds to one margin.
        worst_bias: of the same, in size; it grows with n where the deviation grows with √n.
        is_best: whether no unbiased variant has a smaller variance.
        partners_until_worse: from so many partners on the worst mean squared error of a biased variant exceeds that of
            the best unbiased one; None for unbiased ones.
    """

    num_candidates: int
    price: float
    variant: str
    epsilon_weight: float
    epsilon_opinion: float
    price_per_candidate: float
    worst_variance: float
    worst_bias: float
    is_best: bool
    partners_until_worse: float | None


class Reproduction(PaperReproduction, frozen=True, kw_only=True):
    """All numbers of one reproduction, and what follows from them.

    Args:
        table_3: accuracy, as published.
        table_4: MSE_q, as published.
        figure_4: four measures over ε, on uniform votes.
        skewed: the same on skewed ones.
        power: the chance to pass over the true margin.
        mechanisms: better ones at the same ε.
        costs: what k candidates get for one price.
    """

    table_3: tuple[PublishedCell, ...]
    table_4: tuple[PublishedCell, ...]
    figure_4: tuple[Cell, ...]
    skewed: tuple[Cell, ...]
    power: tuple[PowerPoint, ...]
    mechanisms: tuple[MechanismRow, ...]
    costs: tuple[Cost, ...]
