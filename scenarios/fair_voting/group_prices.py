"""What it costs that groups are private: the error of a mean utility, beside that where groups are public.

Both at the same ε, of a mean utility to the smallest group, on average over the alternatives. Beside the best report of
group and ranking together stand two ways that it was chosen from: randomized response among groups and answers to the
same question, and a budget that is split, half for the group by randomized response, half for the ranking by the best
local mechanism.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from ...protocol.elementary import square
from ...protocol.errors import refuse
from ...protocol.fair_voting import Parameters, Scoring
from ...protocol.fair_voting.joint_reports import JointReport, possible_joint_reports
from ...protocol.fair_voting.reports import best_report
from ...protocol.mechanisms import MAX_JOINT_GROUPS, GeneralizedRandomizedResponse
from ..presentation.terminal import show_note, show_table
from ..tables import listed

PRICES: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # ε of the table, beside the scenario's own


@dataclasses.dataclass(frozen=True)
class GroupPrice:
    """Standard errors at one ε."""

    epsilon: float  # of a voter
    public: str  # the best local mechanism for public groups
    public_error: float  # its error
    private: str  # the best mechanism for private groups
    private_error: float  # its error
    # That of randomized response among groups and answers: the better of a position, or a ranking, or, for equally
    # spaced scores, a comparison.
    one_answer_error: float
    split_error: float  # that of a budget in two halves


def prices_of_groups(parameters: Parameters, epsilons: Sequence[float] = PRICES) -> list[GroupPrice]:
    """Return what private groups cost at each ε; ConfigurationError where there are too many."""
    sizes = parameters.group_sizes
    refuse(len(sizes) > MAX_JOINT_GROUPS, "groups", len(sizes), f"at most {MAX_JOINT_GROUPS}")
    scoring, smallest, voters = parameters.make_scoring(is_centered=True), sizes.index(min(sizes)), sum(sizes)
    told: list[GroupPrice] = []
    for epsilon in epsilons:
        public = best_report(scoring, epsilon)
        possible = possible_joint_reports(scoring, epsilon, sizes)
        private = min(possible, key=lambda report: report.error_of(smallest, voters))
        told.append(
            GroupPrice(
                epsilon=epsilon,
                public=public.name,
                public_error=math.sqrt(public.mean_variance / sizes[smallest]),
                private=private.name,
                private_error=private.error_of(smallest, voters),
                one_answer_error=_error_of_one_answer(possible, scoring, epsilon, sizes),
                split_error=_error_of_split(scoring, epsilon, sizes),
            )
        )
    return told


def show_group_prices(console: Console, parameters: Parameters) -> None:
    """Print the table for a vote, with its own ε among the others."""
    prices = prices_of_groups(parameters, sorted({*PRICES, parameters.epsilon}))
    table = listed(
        prices,
        [
            ("ε", lambda price: f"{price.epsilon:g}"),
            ("Public groups", lambda price: price.public),
            ("Private groups", lambda price: price.private),
            ("Public ±", lambda price: f"{price.public_error:.4g}"),
            ("Private ±", lambda price: f"{price.private_error:.4g}"),
            ("Times", lambda price: f"{price.private_error / price.public_error:.3g}"),
            ("One answer ±", lambda price: f"{price.one_answer_error:.4g}"),
            ("Halves ±", lambda price: f"{price.split_error:.4g}"),
        ],
        labels=3,
    )
    own = next(price for price in prices if price.epsilon == parameters.epsilon)
    times = own.private_error / own.public_error
    console.print(
        Text(f"At ε = {own.epsilon:g}, groups that are private make errors {times:.3g} times as large.", style="bold")
    )
    console.print()
    show_table(console, table, drop=("Halves ±", "One answer ±"))
    sizes = parameters.group_sizes
    for note in (
        f"± is the standard error of a mean utility to the smallest group, {min(sizes):,} of {sum(sizes):,} voters",
        "one answer: randomized response among all groups and answers; halves: ε/2 for the group, ε/2 for the ranking",
    ):
        show_note(console, note)


def _error_of_one_answer(
    possible: Sequence[JointReport], scoring: Scoring, epsilon: float, sizes: Sequence[int]
) -> float:
    """Return the error of the best randomized response among groups and answers."""
    smallest, voters = sizes.index(min(sizes)), sum(sizes)
    errors = [
        report.error_of(smallest, voters) for report in possible if report.name in {"joint_position", "joint_ranking"}
    ]
    if scoring.is_equally_spaced:
        # Of a comparison with p of the true group and answer, and q of each other: see `joint_pair` with one sign.
        size, gap = scoring.num_alternatives, float(scoring.range * scoring.step) / (scoring.num_alternatives - 1)
        response = GeneralizedRandomizedResponse(epsilon, 2 * len(sizes))
        keep, lie = response.keep_probability, response.lie_probability
        of_one = square(gap) * size * square(size - 1) / 8 / square(keep - lie)
        spread = best_report(scoring, epsilon).spread
        own, share = of_one * (keep + lie) - spread, sizes[smallest]
        errors.append(math.sqrt(share * own + (voters - share) * of_one * 2 * lie) / share)
    return min(errors)


def _error_of_split(scoring: Scoring, epsilon: float, sizes: Sequence[int]) -> float:
    """Return the error of telling the group and the ranking independently, at half of ε each.

    The ranking's estimate counts for a group by (1 − q)/(p − q) where the group was told, else by −q/(p − q).
    """
    half = best_report(scoring, epsilon / 2)
    response = GeneralizedRandomizedResponse(epsilon / 2, len(sizes))
    keep, lie = response.keep_probability, response.lie_probability
    second_moment = half.mean_variance + half.spread

    def square_of(chance: float) -> float:
        return (chance * square(1 - lie) + (1 - chance) * square(lie)) / square(keep - lie) * second_moment

    voters, smallest = sum(sizes), min(sizes)
    return math.sqrt(smallest * (square_of(keep) - half.spread) + (voters - smallest) * square_of(lie)) / smallest
