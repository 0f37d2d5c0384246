"""`psephos reproduce dpwevote`: rows of Tables 3 and 4, Figure 4, and further experiments.

`page.toml` defines what is run, the tables, and their presentation.
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
from ....protocol.elementary import square
from ....protocol.phases import InputBlock, Inputs
from ....protocol.randomness import SimulatedNoise, stream_key
from ...experiments.comparing import Row, select
from ...experiments.declared import experiments_of
from ...experiments.judging import difference
from ...experiments.measurements import (
    deviation,
    mean_of,
    mean_square,
    run_in_blocks,
    share_in,
    share_of,
    to_published,
)
from ...experiments.paper_files import rows_beside
from ...experiments.reproductions import Asked, PaperPart
from ..measures import VoteMeasures
from .claims import findings_on_dpwevote
from .laws import TRUE, chance_of_passing, expected_quota_error, law_of, normal_accuracy
from .workloads import FIXED, UNIFORM, WEIGHTS, Workload, fixed_votes, inputs_of_pairs, make_vote

_RUNS: Final = 2000
"""Runs of each experiment, by Section 5.1.1."""
_MECHANISM_PARTNERS: Final = 100
# The variants that are compared at one ε, with alternative options of `make_vote`; the best options on uniform votes
# are used.
_MECHANISMS: Final[Mapping[str, Sequence[Mapping[str, Any]]]] = {
    "printed": [{}],
    "joint": [{}],
    "joint, best split": [{"split": part / 100} for part in range(1, 100)],
    "two_point": [{}],
    "signed_rr": [{}],
    "optimal": [{}],
    "optimal, uniform prior": [{"prior": "uniform"}],
}
# With a majority quota, signed weights ±1, ±2, ±3 are twice the contributions to the margin.
_SQUARED_UNIT: Final = 4
_HALF: Final = 0.5 - 1e-9
# Fractions of partners with weights 1, 2 and 3.
_ELECTORATES: Final = {"even": (1 / 3, 1 / 3, 1 / 3), "threes": (0.0, 0.0, 1.0)}


class VoteCells:
    """Runs and caches cells with a number of trials, since tables and figures share some.

    Examples:
        >>> cells = VoteCells(trials=50, seed=1)
        >>> found = cells.run(make_vote("joint", epsilon=5.0), UNIFORM, num_partners=20)
        >>> float(found["accuracy"].mean())
        0.84
    """

    def __init__(self, *, trials: int, seed: int) -> None:
        self._trials = trials
        self._seed = seed
        self._known: dict[str, Mapping[str, Any]] = {}

    def run(
        self, vote: DPWeVote, workload: Workload, *, num_partners: int, label: str = "", times: int = 1
    ) -> Mapping[str, Any]:
        """Return a cell's results by measure (`VoteMeasures`, and "passed"), a number for each trial.

        `times` multiplies the usual number of trials. `label` distinguishes votes of the same variant and ε.
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
                values = measures.measure_block(
                    inputs, *decide_sessions(vote, inputs, noise.make_rounds(range(start, stop)))
                )
                return {**values, "passed": values["true passes"] + values["false passes"]}

            at_a_time = sessions_at_once(vote, public, are_alike=False)
            self._known[cell] = run_in_blocks(block, trials=times * self._trials, at_a_time=at_a_time)
        return self._known[cell]

    def measure(self, workload: Workload, variant: str, num_partners: int, epsilon: float) -> dict[str, Any]:
        """Return a cell's measurements, with the normal approximation of its accuracy."""
        vote = make_vote(variant, epsilon=epsilon)
        results = self.run(vote, workload, num_partners=num_partners)
        errors = {"mse_w": "MSE weights", "mse_q": "MSE quota", "mse_phi": "MSE yes votes"}
        return {
            "variant": variant,
            "workload": workload.name,
            "num_partners": num_partners,
            "epsilon": epsilon,
            "accuracy": share_of(results["accuracy"] == 1),
            "normal_law": normal_accuracy(vote, workload, num_partners),
            **{name: mean_of(results[measure]) if measure in results else None for name, measure in errors.items()},
        }


def parts(asked: Asked) -> Iterator[PaperPart]:
    """Run the paper's experiments again, and further ones."""
    cells, grids = VoteCells(trials=asked.trials, seed=asked.seed), asked.grids

    def curves(title: str, table: str, workloads: Sequence[Workload]) -> PaperPart:
        cases: list[tuple[Any, ...]] = [*itertools.product(workloads, *grids[table].values())]
        return PaperPart(title, {table: (cells.measure(*case) for case in cases)}, number=len(cases))

    for number in "34":
        rows = published_table(number, cells, asked.trials)
        yield PaperPart(f"Table {number}", {f"table_{number}": rows}, number=60)
    yield curves("Figure 4", "figure_4", [UNIFORM])
    yield curves("skewed votes", "skewed", FIXED)
    yield PaperPart(rows={"gaps": _gaps(asked)})
    yield PaperPart("power against the true margin", {"power": _power(cells, grids)})
    yield PaperPart(rows={"facts": _facts(asked)})
    prototypes = grids["prototypes"]
    rows = _mechanisms(cells, prototypes)
    yield PaperPart("better mechanisms", {"mechanisms": rows}, number=len(_MECHANISMS) * len(prototypes))
    yield PaperPart("prices", {"costs": _costs(grids["costs"])})


def runs_behind(shares: Sequence[float]) -> int:
    """Return the least multiple of the stated runs for which all shares are whole numbers of runs.

    Five printed decimals restrict the number of runs: 0.49440 is not a multiple of 1/2,000. If no multiple up to 25
    fits, return the stated number.

    Examples:
        >>> runs_behind([0.49440, 0.50128])
        40000
    """
    # Half of the last printed decimal, and a margin for numbers on the boundary.
    rounding = 0.5e-5 + 1e-9
    for runs in range(_RUNS, 26 * _RUNS, _RUNS):
        if all(abs(share - round(share * runs) / runs) <= rounding for share in shares):
            return runs
    return _RUNS


def published_table(number: str, cells: VoteCells, trials: int) -> Iterator[Row]:
    """Yield rows of Table 3 or 4: the paper's numbers, those of Psephos, and the expected ones."""
    lines = rows_beside(__name__, "published.csv")
    # Decisions instead of runs, whose number the decimals determine.
    decisions = {
        variant: runs_behind(
            [float(line["value"]) for line in lines if (line["table"], line["variant"]) == ("3", variant)]
        )
        for variant in ("laplace", "printed")
    }
    for line in (line for line in lines if line["table"] == number):
        variant, num_partners = line["variant"], int(line["partners"])
        epsilon, value = float(line["epsilon"]), float(line["value"])
        cell = cells.measure(UNIFORM, variant, num_partners, epsilon)
        if number == "3":
            own_value, expected, published = cell["accuracy"], cell["normal_law"], share_in(value, decisions[variant])
        else:
            own_value = cell["mse_q"]
            expected = expected_quota_error(make_vote(variant, epsilon=epsilon), num_partners=num_partners)
            published = to_published(value, own_value, trials=trials, runs=_RUNS)
        yield {
            "algorithm": variant,
            "variant": variant,
            "num_partners": num_partners,
            "epsilon": epsilon,
            "ours": own_value,
            "published": published,
            "published_value": value,
            "decisions": decisions[variant],
            "expected": expected,
            "difference": deviation(own_value, published),
        }


def _gaps(asked: Asked) -> Iterator[Row]:
    numbers = asked.grids["figure_4"]["partners"]
    few, max_rows = (
        select(asked.tables, f"figure_4 variant=printed num_partners={limit(numbers)}") for limit in (min, max)
    )
    for one, other in zip(few, max_rows, strict=True) if len({*numbers}) > 1 else ():
        errors = {name: difference(one[name], other[name]) for name in ("mse_w", "mse_q", "mse_phi")}
        yield {"epsilon": one["epsilon"], **errors}


def _facts(asked: Asked) -> Iterator[Row]:
    """Yield facts: the linearity of the accuracy curve, the similarity of two error curves, and balanced votes."""
    rows = select(asked.tables, "figure_4 variant=printed num_partners=100")
    epsilons, accuracies = ([row[name] for row in rows] for name in ("epsilon", "normal_law"))
    errors = ([math.log(row[name].value) for row in rows] for name in ("mse_q", "mse_phi"))
    if len(rows) > 1:
        yield {"what": "share of the variation that a line explains", "found": correlation(epsilons, accuracies) ** 2}
        yield {"what": "correlation of the errors' logarithms", "found": correlation(*errors)}
    for variant in asked.grids["power"]["variants"]:
        points = select(asked.tables, f"power workload=threes variant={variant}")
        passing_margins = [point["true_margin"] for point in points if point["normal_law"] >= _HALF]
        yield {"what": f"margin in balance, {variant}", "found": min(passing_margins, default=math.inf)}


def _power(cells: VoteCells, grids: Mapping[str, Any]) -> Iterator[Row]:
    """Yield probabilities of passing; margins are for each partner, w·(φ − ½) on average."""
    for (name, shares), variant, num_partners, epsilon in itertools.product(
        grids["yes"].items(), *grids["power"].values()
    ):
        vote = make_vote(variant, epsilon=epsilon)
        law = law_of(vote)
        for percent in shares:
            share = percent / 100
            workload = fixed_votes(f"{name}-{share:.4f}", _ELECTORATES[name], share)
            numbers = workload.numbers(num_partners)
            yield {
                "variant": variant,
                "workload": name,
                "num_partners": num_partners,
                "epsilon": epsilon,
                "true_margin": float(np.dot(numbers, TRUE)) / num_partners,
                "passed": share_of(cells.run(vote, workload, num_partners=num_partners)["passed"]),
                "normal_law": chance_of_passing(law, numbers),
            }


def _mechanisms(cells: VoteCells, prototypes: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    for prototype, name in itertools.product(prototypes, _MECHANISMS):
        epsilon, prototype_row = prototype["epsilon"], prototype.get(name, {})
        votes = (make_vote(name.split(",")[0], epsilon=epsilon, **options) for options in _MECHANISMS[name])
        vote = min(votes, key=lambda vote: law_of(vote).mean_variance)
        law = law_of(vote)
        # Twice the trials, to distinguish accuracies that differ by a hundredth.
        results = cells.run(vote, UNIFORM, num_partners=_MECHANISM_PARTNERS, label=name, times=2)
        bound, gap = certificate_of(vote)
        yield {
            "mechanism": name,
            "epsilon": epsilon,
            "second_moment": _SQUARED_UNIT * (law.mean_variance + mean_square(law.means.tolist())),
            "worst_variance": _SQUARED_UNIT * float(law.variances.max()),
            "lower_bound": bound,
            "gap": gap,
            "is_certified": bound is not None,
            "accuracy": share_of(results["accuracy"] == 1),
            "normal_law": normal_accuracy(vote, UNIFORM, _MECHANISM_PARTNERS),
            "prototype_second_moment": prototype_row.get("second_moment"),
            "prototype_accuracy": share_in(prototype_row["accuracy"], _RUNS) if "accuracy" in prototype_row else None,
        }


def certificate_of(vote: DPWeVote) -> tuple[float | None, float | None]:
    """Return a proven lower bound of the objective, and the mechanism's relative excess over it."""
    if not vote.parameters.kind.takes_prior:
        return None, None
    report = make_report(vote.parameters)
    objective = report.mean_variance(report.prior) if report.prior else report.worst_variance
    assert report.certificate is not None  # noqa: S101  the optimal mechanism has one
    bound = float(report.certificate.proven_bound())
    return _SQUARED_UNIT * bound, max(objective / bound - 1, 0.0)


def _costs(grid: Mapping[str, Sequence[Any]]) -> Iterator[Row]:
    """Yield each variant's error, by number of candidates, at one ε of the whole session."""
    for price, number in itertools.product(*grid.values()):
        names = tuple(f"candidate-{place}" for place in range(1, number + 1))
        offers = make_offers(Parameters(candidates=names, weights=WEIGHTS, epsilon=price / number))
        variances = {offer.variant: offer.worst_variance for offer in offers}
        least_variance = min(variances.values())
        rows: list[tuple[Any, ...]] = [
            (each.variant, each.epsilon_weight, each.epsilon_opinion, each.worst_variance, 0.0, None) for each in offers
        ]
        for variant, epsilon in (("printed", price / (number + 1)), ("printed, weights again", price / number / 2)):
            law = law_of(make_vote("printed", epsilon=2 * epsilon))
            biases = law.means - TRUE
            # If all partners hold one pair: the number n from which n·Var + (n·bias)² can exceed n·least.
            partners = [
                (least_variance - variance) / square(bias)
                for variance, bias in zip(law.variances.tolist(), biases.tolist(), strict=True)
                if bias
            ]
            max_partners = max(min(partners, default=math.inf), 0.0)
            rows.append(
                (variant, epsilon, epsilon, float(law.variances.max()), float(np.abs(biases).max()), max_partners)
            )
        for variant, of_weight, of_opinion, variance, bias, max_partners in rows:
            yield {
                "price": price,
                "num_candidates": number,
                "variant": variant,
                "epsilon_weight": of_weight,
                "epsilon_opinion": of_opinion,
                "worst_variance": variance,
                "ratio": variance / variances["optimal"],
                "worst_bias": bias,
                "partners_until_worse": max_partners,
            }


EXPERIMENTS: Final = experiments_of(__name__, parts=parts, laws=findings_on_dpwevote, steps=8)
