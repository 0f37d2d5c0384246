"""`psephos reproduce dpwevote`: Tables 3 and 4, Figure 4, and what the paper does not show, as rows.

`page.toml` says what is run, what each table of rows holds, and how it is told.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import correlation
from typing import Any, Final

import numpy as np

from ....protocol.blocks import decide_sessions, sessions_at_once
from ....protocol.dpwevote import DPWeVote, Parameters, make_offers
from ....protocol.dpwevote.signed import make_report
from ....protocol.dpwevote.variant import VoteDecisions
from ....protocol.elementary import square
from ....protocol.phases import InputBlock, Inputs
from ....protocol.randomness import SimulatedNoise, stream_key
from ...experiments.comparing import Row, select
from ...experiments.declared import experiments_of
from ...experiments.judging import difference
from ...experiments.measurements import (
    as_published,
    deviation,
    in_blocks,
    mean_of,
    share_in,
    share_of,
)
from ...experiments.paper_files import rows_beside
from ...experiments.reproductions import Asked, Part
from ..measures import VoteMeasures
from .claims import findings_on_dpwevote
from .laws import TRUE, Law, chance_of_passing, expected_quota_error, law_of, normal_accuracy
from .workloads import FIXED, UNIFORM, WEIGHTS, Workload, inputs_of_pairs, make_vote, votes_of

_RUNS: Final = 2000
"""Section 5.1.1."""
_MOST_REPETITIONS: Final = 25
# Half of the last decimal that is printed, with room for a number that lies on the border.
_ROUNDING: Final = 0.5e-5 + 1e-9
_MECHANISM_PARTNERS: Final = 100
# Mechanisms whose accuracies differ by a hundredth are to be told apart.
_TIMES_THE_TRIALS: Final = 2
_SPLITS: Final = tuple(part / 100 for part in range(1, 100))
# Signed weights ±1, ±2, ±3 are twice what a vote for the majority adds to the margin.
_SQUARED_UNIT: Final = 4
_HALF: Final = 0.5 - 1e-9


class Cells:
    """Measures cells of so many trials, and remembers them: tables and figures share some."""

    def __init__(self, *, trials: int, seed: int) -> None:
        self._trials = trials
        self._seed = seed
        self._known: dict[str, Mapping[str, Any]] = {}

    def run(
        self, vote: DPWeVote, workload: Workload, *, num_partners: int, label: str = "", times: int = 1
    ) -> Mapping[str, Any]:
        """Return a cell's trials, so many times the usual number; a label tells votes of one variant and ε apart.

        By the names of `VoteMeasures`, and "passed", a number for each trial.
        """
        variant, epsilon = vote.parameters.variant, vote.parameters.epsilon
        cell = f"{workload.name}/{label or variant}/n={num_partners}/epsilon={epsilon!r}" + f"/{times}" * (times > 1)
        if cell not in self._known:
            rows = inputs_of_pairs(vote)
            public = np.tile(rows.public[:1], (num_partners, 1))
            noise = SimulatedNoise(self._seed, session=cell)
            key = stream_key(
                seed=self._seed, session=cell, round_number=0, protocol=vote.name, phase="pairs", purpose="workload"
            )
            first = workload.pairs(num_partners, key=key, start=0, stop=1)[0]
            measures = VoteMeasures(vote, Inputs(rows.private[first], public), gold={})

            def block(start: int, stop: int) -> Mapping[str, Any]:
                inputs = measures.block
                if workload.is_drawn:
                    pairs = workload.pairs(num_partners, key=key, start=start, stop=stop)
                    inputs = InputBlock(np.take(rows.private, pairs, axis=0), public)
                decisions, tallies = decide_sessions(vote, inputs, noise.of_rounds(range(start, stop)))
                assert isinstance(decisions, VoteDecisions)  # noqa: S101  what this protocol decides
                return {**measures.of_block(inputs, decisions, tallies), "passed": decisions.leans_yes[:, 0]}

            at_a_time = sessions_at_once(vote, public, are_alike=False)
            self._known[cell] = in_blocks(block, trials=times * self._trials, at_a_time=at_a_time)
        return self._known[cell]

    def measure(self, variant: str, workload: Workload, *, num_partners: int, epsilon: float) -> dict[str, Any]:
        """Return what a cell's trials say, beside what the normal law does."""
        vote = make_vote(variant, epsilon=epsilon)
        found = self.run(vote, workload, num_partners=num_partners)
        errors = {"mse_w": "MSE weights", "mse_q": "MSE quota", "mse_phi": "MSE yes votes"}
        return {
            "variant": variant,
            "workload": workload.name,
            "num_partners": num_partners,
            "epsilon": epsilon,
            "accuracy": share_of(found["accuracy"] == 1),
            "normal_law": normal_accuracy(vote, workload, num_partners),
            **{name: mean_of(found[measure]) if measure in found else None for name, measure in errors.items()},
        }


def parts(asked: Asked) -> Iterator[Part]:
    """Run everything that the paper measured again, and more."""
    cells, grids = Cells(trials=asked.trials, seed=asked.seed), asked.grids
    figure_4, skewed = (
        [*itertools.product(workloads, *grids[name].values())]
        for name, workloads in (("figure_4", [UNIFORM]), ("skewed", FIXED))
    )
    for table, told, number, rows in (
        ("table_3", "Table 3", 60, published_table("3", cells, asked.trials)),
        ("table_4", "Table 4", 60, published_table("4", cells, asked.trials)),
        ("figure_4", "Figure 4", len(figure_4), _curves(cells, figure_4)),
        ("skewed", "skewed votes", len(skewed), _curves(cells, skewed)),
        ("gaps", "", 0, _gaps(asked)),
        ("power", "power against the true margin", 0, _power(cells, grids)),
        ("facts", "", 0, _facts(asked)),
        ("mechanisms", "better mechanisms", 7 * len(grids["prototypes"]), _mechanisms(cells, grids["prototypes"])),
        ("costs", "prices", 0, _costs(grids["costs"])),
    ):
        yield Part(told, {table: rows}, number=number)


def runs_behind(shares: Sequence[float]) -> int:
    """Return the least multiple of the stated runs of which all these shares can be whole numbers of runs.

    A share that is printed with five decimals tells how many runs it can be of: 0.49440 is no share of 2,000. Where no
    multiple up to 25 fits, the decimals tell nothing, and it is the stated number.
    """
    for repetitions in range(1, _MOST_REPETITIONS + 1):
        runs = _RUNS * repetitions
        if all(abs(share - round(share * runs) / runs) <= _ROUNDING for share in shares):
            return runs
    return _RUNS


def published_table(number: str, cells: Cells, trials: int) -> Iterator[Row]:
    """Yield Table 3 or 4: each number of the paper beside ours, and beside what is expected without drawing."""
    all_rows = rows_beside(__name__, "published.csv")
    for line in (line for line in all_rows if line["table"] == number):
        variant, num_partners = line["variant"], int(line["partners"])
        told = [row for row in all_rows if (row["table"], row["variant"]) == ("3", variant)]
        # Decisions, rather than runs: the decimals say how many there were.
        decisions = runs_behind([float(value) for row in told for value in list(row.values())[3:]])
        for epsilon, value in ((float(name), float(value)) for name, value in list(line.items())[3:]):
            cell = cells.measure(variant, UNIFORM, num_partners=num_partners, epsilon=epsilon)
            if number == "3":
                ours, expected, published = cell["accuracy"], cell["normal_law"], share_in(value, decisions)
            else:
                ours = cell["mse_q"]
                expected = expected_quota_error(make_vote(variant, epsilon=epsilon), num_partners=num_partners)
                published = as_published(value, ours, trials=trials, runs=_RUNS)
            yield {
                "algorithm": variant,
                "variant": variant,
                "num_partners": num_partners,
                "epsilon": epsilon,
                "ours": ours,
                "published": published,
                "published_value": value,
                "decisions": decisions,
                "expected": expected,
                "difference": deviation(ours, published),
            }


def _curves(cells: Cells, places: Iterable[tuple[Any, ...]]) -> Iterator[Row]:
    for workload, variant, num_partners, epsilon in places:
        yield cells.measure(variant, workload, num_partners=num_partners, epsilon=epsilon)


def _gaps(asked: Asked) -> Iterator[Row]:
    numbers = asked.grids["figure_4"]["partners"]
    few, many = min(numbers), max(numbers)
    rows = (select(asked.tables, f"figure_4 variant=printed num_partners={number}") for number in (few, many))
    for one, other in zip(*rows, strict=True) if few < many else ():
        errors = ("mse_w", "mse_q", "mse_phi")
        yield {"epsilon": one["epsilon"], **{name: difference(one[name], other[name]) for name in errors}}


def _facts(asked: Asked) -> Iterator[Row]:
    """Yield how straight the curve of accuracies is, how alike two of errors are, and where a vote is in balance."""
    rows = select(asked.tables, "figure_4 variant=printed num_partners=100")
    epsilons, accuracies = ([row[name] for row in rows] for name in ("epsilon", "normal_law"))
    errors = ([math.log(row[name].value) for row in rows] for name in ("mse_q", "mse_phi"))
    if len(rows) > 1:
        yield {"what": "share of the variation that a line explains", "found": correlation(epsilons, accuracies) ** 2}
        yield {"what": "correlation of the errors' logarithms", "found": correlation(*errors)}
    for variant in asked.grids["power"]["variants"]:
        points = select(asked.tables, f"power workload=threes variant={variant}")
        passing = [point["true_margin"] for point in points if point["normal_law"] >= _HALF]
        yield {"what": f"margin in balance, {variant}", "found": min(passing, default=math.inf)}


def _power(cells: Cells, grids: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the chance to pass; margins are a partner's, w·(φ − ½) on average."""
    for (name, shares), variant, num_partners, epsilon in itertools.product(
        grids["yes"].items(), *grids["power"].values()
    ):
        vote = make_vote(variant, epsilon=epsilon)
        law = law_of(vote)
        for share in shares:
            workload = votes_of(name, share / 100)
            numbers = workload.numbers(num_partners)
            true = math.fsum(number * part for number, part in zip(numbers, TRUE.tolist(), strict=True))
            yield {
                "variant": variant,
                "workload": name,
                "num_partners": num_partners,
                "epsilon": epsilon,
                "true_margin": true / num_partners,
                "passed": share_of(cells.run(vote, workload, num_partners=num_partners)["passed"]),
                "normal_law": chance_of_passing(law, numbers),
            }


def _mechanisms(cells: Cells, prototypes: Iterable[Mapping[str, float]]) -> Iterator[Row]:
    for prototype in prototypes:
        epsilon = prototype["epsilon"]
        votes = {
            "printed": make_vote("printed", epsilon=epsilon),
            "joint": make_vote("joint", epsilon=epsilon),
            "joint, best split": _best_split(epsilon),
            "two_point": make_vote("two_point", epsilon=epsilon),
            "signed_rr": make_vote("signed_rr", epsilon=epsilon),
            "optimal": make_vote("optimal", epsilon=epsilon),
            "optimal, uniform prior": make_vote("optimal", epsilon=epsilon, prior="uniform"),
        }
        known = {
            "printed": (None, prototype.get("printed")),
            "optimal, uniform prior": (prototype["second_moment"], prototype.get("optimal")),
        }
        for name, vote in votes.items():
            law, number = law_of(vote), _MECHANISM_PARTNERS
            found = cells.run(vote, UNIFORM, num_partners=number, label=name, times=_TIMES_THE_TRIALS)
            squares = [square(mean) for mean in law.means.tolist()]
            bound, gap = certificate_of(vote)
            moment, accuracy = known.get(name, (None, None))
            yield {
                "mechanism": name,
                "epsilon": epsilon,
                "second_moment": _SQUARED_UNIT
                * (law.mean_variance(UNIFORM.shares) + math.fsum(squares) / len(squares)),
                "worst_variance": _SQUARED_UNIT * law.greatest_variance,
                "lower_bound": bound,
                "gap": gap,
                "is_certified": bound is not None,
                "accuracy": share_of(found["accuracy"] == 1),
                "normal_law": normal_accuracy(vote, UNIFORM, number),
                "prototype_second_moment": moment,
                "prototype_accuracy": None if accuracy is None else share_in(accuracy, _RUNS),
            }


def _best_split(epsilon: float) -> DPWeVote:
    """Return the vote of variant "joint" whose split of ε has the least variance on uniform votes."""
    votes = [make_vote("joint", epsilon=epsilon, split=split) for split in _SPLITS]
    return min(votes, key=lambda vote: law_of(vote).mean_variance(UNIFORM.shares))


def certificate_of(vote: DPWeVote) -> tuple[float | None, float | None]:
    """Return a proven lower bound of the objective, and how far the mechanism's own is above it, relatively."""
    if not vote.parameters.kind.takes_prior:
        return None, None
    report = make_report(vote.parameters)
    objective = report.mean_variance(report.prior) if report.prior else report.worst_variance
    assert report.certificate is not None  # noqa: S101  the optimal mechanism has one
    bound = float(report.certificate.proven_bound())
    return _SQUARED_UNIT * bound, max(objective / bound - 1, 0.0)


def _costs(places: Mapping[str, Sequence[Any]]) -> Iterator[Row]:
    """Yield what each variant offers to some candidates at one price of the whole session."""
    for price, number in itertools.product(*places.values()):
        names = tuple(f"candidate-{place}" for place in range(1, number + 1))
        offers = make_offers(Parameters(candidates=names, weights=WEIGHTS, epsilon=price / number))
        variances = {offer.variant: offer.worst_variance for offer in offers}
        least = min(variances.values())
        rows: list[tuple[str, float, float, Law | None]]
        rows = [(each.variant, each.epsilon_weight, each.epsilon_opinion, None) for each in offers]
        for variant, report in (("printed", price / (number + 1)), ("printed, weights again", price / number / 2)):
            law = law_of(make_vote("printed", epsilon=2 * report, split=0.5))
            variances[variant] = law.greatest_variance
            rows.append((variant, report, report, law))
        for variant, of_weight, of_opinion, law in rows:
            yield {
                "price": price,
                "num_candidates": number,
                "variant": variant,
                "epsilon_weight": of_weight,
                "epsilon_opinion": of_opinion,
                "worst_variance": variances[variant],
                "ratio": variances[variant] / variances["optimal"],
                "worst_bias": 0.0 if law is None else law.greatest_bias,
                "partners_until_worse": None if law is None else _partners_until_worse(law, least),
            }


def _partners_until_worse(law: Law, variance: float) -> float:
    """Return from how many partners on n·Var + (n·bias)² can exceed n·`variance`, all partners holding one pair."""
    squared_biases = [square(bias) for bias in (law.means - TRUE).tolist()]
    pairs = zip(law.variances.tolist(), squared_biases, strict=True)
    return max(min(((variance - own) / bias for own, bias in pairs if bias > 0), default=math.inf), 0.0)


EXPERIMENTS: Final = experiments_of(__name__, parts=parts, laws=findings_on_dpwevote, steps=8)
