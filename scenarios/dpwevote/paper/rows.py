"""What a reproduction consists of: typed rows, from which files, pictures and sentences are made."""

import msgspec

from ...experiments.measurements import Measurement
from ...experiments.reproductions import PaperReproduction


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One variant, workload, number of partners and ε."""

    variant: str  # how the vote was held
    workload: str  # what partners held, by name
    num_partners: int  # in each trial
    epsilon: float  # the price of a candidate with its weight
    accuracy: Measurement  # equation (10)
    # a normal approximation of the accuracy: on uniform votes reading W9's limit, on fixed ones with a term for the
    # skewness. For ten partners it may be off by some percentage points
    normal_law: float
    mse_w: Measurement | None  # equation (11); None where the reports do not tell
    mse_q: Measurement | None  # equation (12); None the same
    mse_phi: Measurement | None  # equation (13), by reported group in variant "printed"; None the same


class PublishedCell(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of a published table, beside ours."""

    algorithm: str  # what the paper calls it
    variant: str  # what we do
    num_partners: int  # n
    epsilon: float  # ε
    ours: Measurement  # from our trials
    expected: float  # without drawing: the normal law of an accuracy (reading W9), or the expectation of an MSE_q
    published: Measurement  # with the standard error that its number of runs gives it
    difference: float  # ours less published, in joint standard errors
    published_difference: float  # published less expected, in the published one's standard errors


class PowerPoint(msgspec.Struct, frozen=True, kw_only=True):
    """How often fixed votes pass."""

    variant: str  # how the vote was held
    workload: str  # "even" (weights 1, 2 and 3 alike) or "threes" (all weights 3)
    num_partners: int  # n
    epsilon: float  # ε
    true_margin: float  # support less quota, a partner
    passed: Measurement | None  # the share of trials that passed; None where only the normal law was computed
    normal_law: float  # a normal approximation of the same, with a term for the skewness


class MechanismRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a way to report costs in precision, in units of signed weights ±1, ±2, ±3 (twice what moves a margin)."""

    mechanism: str  # the variant, with its prior or split
    epsilon: float  # ε of one candidate, weight included
    second_moment: float  # E[t²] of what a report stands for, over uniform signed weights
    worst_variance: float  # of what it stands for
    # what no unbiased mechanism falls below in the objective that this one minimizes, proven over all subsets of the
    # values; None for others
    lower_bound: float | None
    gap: float | None  # by how much the objective may exceed the least, relatively; None for others
    accuracy: Measurement  # with 100 partners on uniform votes, from ten times as many trials as elsewhere
    normal_law: float  # reading W9's
    prototype_second_moment: float | None  # reading W8's, where it gives one
    prototype_accuracy: float | None  # the same
    # our accuracy less the prototype's, in joint standard errors, its own being that of 2,000 runs
    difference: float | None


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What a session of some candidates gets for its price."""

    num_candidates: int  # k
    price: float  # ε of the whole session, for one partner
    variant: str  # with its split or pricing
    epsilon_weight: float  # of one report of the weight; 0 where there is none
    epsilon_opinion: float  # of one report of an opinion or of a signed weight
    price_per_candidate: float  # price over k
    worst_variance: float  # of what a partner adds to one margin
    worst_bias: float  # of the same, in size; it grows with n where the deviation grows with √n
    is_best: bool  # whether no unbiased variant has a smaller variance
    # from so many partners on the worst mean squared error of a biased variant exceeds that of the best unbiased one;
    # None for unbiased ones
    partners_until_worse: float | None


class Reproduction(PaperReproduction, frozen=True, kw_only=True):
    """All numbers of one reproduction, and what follows from them."""

    table_3: tuple[PublishedCell, ...]  # each published accuracy beside ours
    table_4: tuple[PublishedCell, ...]  # each published MSE_q beside ours
    figure_4: tuple[Cell, ...]  # four measures over ε for n = 10, 100 and 500, for each variant
    skewed: tuple[Cell, ...]  # the same where partners lean to a side and weights are uneven (reading W2)
    power: tuple[PowerPoint, ...]  # how often a vote passes, over its true margin
    mechanisms: tuple[MechanismRow, ...]  # better ways to report at the same ε (reading W8)
    costs: tuple[Cost, ...]  # what k candidates get for one price
