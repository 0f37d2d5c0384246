"""`psephos reproduce dpwevote`: Tables 3 and 4, Figure 4, and what the paper does not show.

`Reproduction` says what each table holds.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from ....protocol.dpwevote import DPWeVote, Parameters, make_offers
from ....protocol.dpwevote.signed import make_report
from ....protocol.elementary import square
from ...experiments.measurements import Measurement, as_published, deviation, share_in, share_of
from ...experiments.reproductions import Asked, Part
from .published import (
    EPSILONS,
    PARTNERS_OF_FIGURE,
    PARTNERS_OF_TABLES,
    PROTOTYPES,
    RUNS,
    TABLE_3,
    TABLE_4,
    runs_behind,
    shares_of,
)
from .rows import Cell, Cost, MechanismRow, PowerPoint, PublishedCell
from .theory import TRUE, Law, chance_of_passing, expected_quota_error, law_of, normal_accuracy
from .trials import Cells
from .workloads import SKEWED, UNIFORM, WEIGHTS, Workload, even_weights, make_vote, one_weight

_ALGORITHMS = {"laplace": "Baseline", "printed": "DPWeVote"}
_FIGURE_EPSILONS = (*EPSILONS, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)
_FIGURE_VARIANTS = ("printed", "joint", "laplace", "optimal")
_SKEWED_EPSILONS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)
_SKEWED_VARIANTS = ("printed", "joint", "laplace", "optimal")
_POWER_VARIANTS = ("printed", "joint", "optimal")
_POWER_EPSILON = 2.0
_POWER_PARTNERS = 500
# As far as the printed rule's curve goes before it is past one half.
_POWER_MARGINS = {
    "even": tuple(step / 50 for step in range(-10, 11)),
    "threes": tuple(step / 50 for step in range(-10, 29)),
}
# Points that are simulated are few enough to be told apart on the curve.
_EACH_SIMULATED = 2
_MECHANISM_PARTNERS = 100
# Mechanisms whose accuracies differ by a hundredth are to be told apart.
_TIMES_THE_TRIALS = 10
_SPLITS = tuple(part / 100 for part in range(1, 100))
_CANDIDATES = (1, 2, 3, 5, 10, 20)
_PRICES = (2.0, 5.0, 10.0, 20.0)
# Signed weights ±1, ±2, ±3 are twice what a vote for the majority adds to the margin.
_SQUARED_UNIT = 4
_ALIKE = 1 + 1e-6


def parts(asked: Asked) -> Iterator[Part]:
    """Run everything that the paper measured again, and more."""
    cells = Cells(trials=asked.trials, seed=asked.seed)
    yield Part(f"Tables 3 and 4: {len(TABLE_3) * len(EPSILONS)} cells")
    table_3, table_4 = published_tables(cells, asked.trials)
    yield Part(rows={"table_3": table_3, "table_4": table_4})
    number = len(_FIGURE_VARIANTS) * len(PARTNERS_OF_FIGURE) * len(_FIGURE_EPSILONS)
    figure_4 = _curves(cells, (UNIFORM,), _FIGURE_VARIANTS, _FIGURE_EPSILONS)
    yield Part(f"Figure 4: {number} cells", {"figure_4": figure_4})
    number = len(SKEWED) * len(_SKEWED_VARIANTS) * len(PARTNERS_OF_FIGURE) * len(_SKEWED_EPSILONS)
    skewed = _curves(cells, SKEWED, _SKEWED_VARIANTS, _SKEWED_EPSILONS)
    yield Part(f"skewed votes: {number} cells", {"skewed": skewed})
    yield Part("power against the true margin", {"power": _power(cells)})
    yield Part("better mechanisms", {"mechanisms": _mechanisms(cells)})
    yield Part("prices", {"costs": _costs()})


def published_tables(cells: Cells, trials: int) -> tuple[tuple[PublishedCell, ...], tuple[PublishedCell, ...]]:
    """Return Tables 3 and 4, from the same cells."""
    accuracies: list[PublishedCell] = []
    errors: list[PublishedCell] = []
    for num_partners in PARTNERS_OF_TABLES:
        for variant, algorithm in _ALGORITHMS.items():
            # Decisions, rather than runs: the decimals say how many there were (see `runs_behind`).
            decisions = runs_behind(shares_of(variant))
            theirs = zip(EPSILONS, TABLE_3[variant, num_partners], TABLE_4[variant, num_partners], strict=True)
            for epsilon, share, error in theirs:
                cell = cells.measure(variant, UNIFORM, num_partners=num_partners, epsilon=epsilon)
                assert cell.mse_q is not None  # noqa: S101  both variants tell the quota
                expected = expected_quota_error(make_vote(variant, epsilon=epsilon), num_partners=num_partners)
                for rows, ours, published, without_drawing in (
                    (accuracies, cell.accuracy, share_in(share, decisions), cell.normal_law),
                    (errors, cell.mse_q, as_published(error, cell.mse_q, trials=trials, runs=RUNS), expected),
                ):
                    rows.append(
                        PublishedCell(
                            algorithm=algorithm,
                            variant=variant,
                            num_partners=num_partners,
                            epsilon=epsilon,
                            ours=ours,
                            expected=without_drawing,
                            published=published,
                            difference=deviation(ours, published),
                            published_difference=deviation(published, Measurement(without_drawing, 0.0)),
                        )
                    )
    return tuple(accuracies), tuple(errors)


def _curves(
    cells: Cells, workloads: Sequence[Workload], variants: Sequence[str], epsilons: Sequence[float]
) -> Iterator[Cell]:
    for workload, variant, num_partners, epsilon in itertools.product(
        workloads, variants, PARTNERS_OF_FIGURE, epsilons
    ):
        yield cells.measure(variant, workload, num_partners=num_partners, epsilon=epsilon)


def _power(cells: Cells) -> Iterator[PowerPoint]:
    """Yield the chance to pass; margins are a partner's, w·(φ − ½) on average."""
    for name, make, mean_weight in (("even", even_weights, 2.0), ("threes", one_weight, 3.0)):
        for variant in _POWER_VARIANTS:
            vote = make_vote(variant, epsilon=_POWER_EPSILON)
            law = law_of(vote)
            for place, margin in enumerate(_POWER_MARGINS[name]):
                workload = make(0.5 + margin / mean_weight)
                numbers = workload.numbers(_POWER_PARTNERS)
                passed = None
                if place % _EACH_SIMULATED == 0:
                    passed = share_of(cells.run(vote, workload, num_partners=_POWER_PARTNERS)["passed"])
                true = math.fsum(number * part for number, part in zip(numbers, TRUE.tolist(), strict=True))
                yield PowerPoint(
                    variant=variant,
                    workload=name,
                    num_partners=_POWER_PARTNERS,
                    epsilon=_POWER_EPSILON,
                    true_margin=true / _POWER_PARTNERS,
                    passed=passed,
                    normal_law=chance_of_passing(law, numbers),
                )


def _mechanisms(cells: Cells) -> Iterator[MechanismRow]:
    for epsilon, prototype in PROTOTYPES.items():
        votes = {
            "printed": make_vote("printed", epsilon=epsilon),
            "joint": make_vote("joint", epsilon=epsilon),
            "joint, best split": _best_split(epsilon),
            "two_point": make_vote("two_point", epsilon=epsilon),
            "signed_rr": make_vote("signed_rr", epsilon=epsilon),
            "optimal": make_vote("optimal", epsilon=epsilon),
            "optimal, uniform prior": make_vote("optimal", epsilon=epsilon, prior="uniform"),
        }
        for name, vote in votes.items():
            law = law_of(vote)
            measured = cells.run(vote, UNIFORM, num_partners=_MECHANISM_PARTNERS, label=name, times=_TIMES_THE_TRIALS)
            accuracy = share_of(measured["is_right"])
            squares = [square(mean) for mean in law.means.tolist()]
            moment = law.mean_variance(UNIFORM.shares) + math.fsum(squares) / len(squares)
            bound, gap = _certificate(vote)
            known = {"printed": prototype.printed, "optimal, uniform prior": prototype.optimal}.get(name)
            yield MechanismRow(
                mechanism=name,
                epsilon=epsilon,
                second_moment=_SQUARED_UNIT * moment,
                worst_variance=_SQUARED_UNIT * law.greatest_variance,
                lower_bound=bound,
                gap=gap,
                accuracy=accuracy,
                normal_law=normal_accuracy(vote, UNIFORM, _MECHANISM_PARTNERS),
                prototype_second_moment=prototype.second_moment if name == "optimal, uniform prior" else None,
                prototype_accuracy=known,
                difference=None if known is None else deviation(accuracy, share_in(known, RUNS)),
            )


def _best_split(epsilon: float) -> DPWeVote:
    """Return the vote of variant "joint" whose split of ε has the least variance on uniform votes."""
    votes = [make_vote("joint", epsilon=epsilon, split=split) for split in _SPLITS]
    return min(votes, key=lambda vote: law_of(vote).mean_variance(UNIFORM.shares))


def _certificate(vote: DPWeVote) -> tuple[float | None, float | None]:
    """Return a proven lower bound of the objective, and how far the mechanism's own is above it, relatively."""
    if not vote.parameters.kind.takes_prior:
        return None, None
    report = make_report(vote.parameters)
    objective = report.mean_variance(report.prior) if report.prior else report.worst_variance
    assert report.certificate is not None  # noqa: S101  the optimal mechanism has one
    bound = float(report.certificate.proven_bound())
    return _SQUARED_UNIT * bound, max(objective / bound - 1, 0.0)


def _costs() -> Iterator[Cost]:
    """Yield what each variant offers to some candidates at one price of the whole session."""
    for price, number in itertools.product(_PRICES, _CANDIDATES):
        names = tuple(f"candidate-{place}" for place in range(1, number + 1))
        offers = make_offers(Parameters(candidates=names, weights=WEIGHTS, epsilon=price / number))
        least = min(offer.worst_variance for offer in offers)
        shared: dict[str, Any] = {"num_candidates": number, "price": price, "price_per_candidate": price / number}
        once, again = price / (number + 1), price / number / 2
        for variant, report in (("printed", once), ("printed, weights again", again)):
            law = law_of(make_vote("printed", epsilon=2 * report, split=0.5))
            yield Cost(
                **shared,
                variant=variant,
                epsilon_weight=report,
                epsilon_opinion=report,
                worst_variance=law.greatest_variance,
                worst_bias=law.greatest_bias,
                is_best=False,
                partners_until_worse=_partners_until_worse(law, least),
            )
        for offer in offers:
            yield Cost(
                **shared,
                variant=offer.variant,
                epsilon_weight=offer.epsilon_weight,
                epsilon_opinion=offer.epsilon_opinion,
                worst_variance=offer.worst_variance,
                worst_bias=0.0,
                is_best=offer.worst_variance <= least * _ALIKE,
                partners_until_worse=None,
            )


def _partners_until_worse(law: Law, variance: float) -> float:
    """Return from how many partners on n·Var + (n·bias)² can exceed n·`variance`, all partners holding one pair."""
    squared_biases = [square(bias) for bias in (law.means - TRUE).tolist()]
    pairs = zip(law.variances.tolist(), squared_biases, strict=True)
    return max(min(((variance - own) / bias for own, bias in pairs if bias > 0), default=math.inf), 0.0)
