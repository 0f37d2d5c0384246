"""Measures how much of their level verdicts use, and how many of 2,000 drawn votes get one.

    $ .venv/bin/python tests/verdicts.py
    $ .venv/bin/python tests/verdicts.py fair-voting --write

Of each cell truths are tried that are as near to the other verdict as they can be: the one that breaks most is held
again, with fresh noise. Its share of wrong verdicts over the level is *used*, ± 2.6 standard errors (99 %). *Verdicts*
counts those of 40 drawn votes, each with 50 draws of its noise. All draws are seeded; the whole takes some minutes.
`--write` keeps the numbers in `docs/verdicts.md`.
"""

import argparse
import functools
import itertools
import math
import operator
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from calibration import dpwevote, fair_voting, moral_preferences
from calibration.engine import Case
from numpy.typing import NDArray
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.dpwevote import DPWeVote
from psephos.protocol.estimators import UNDECIDED, Verdict
from psephos.protocol.fair_voting.confirmation import Confirming, p_value_of
from psephos.protocol.fair_voting.objective import merits_of
from psephos.protocol.moral_preferences import MoralPreferences, rank

PAGE: Final = Path(__file__).parents[1] / "docs" / "verdicts.md"
SEED: Final = 1
_LOOKED_AT: Final = 1_000
"""Sessions of each truth that is tried."""
HELD: Final = 20_000
"""Sessions of the worst truth, drawn once more than those by which it is the worst."""
_AGAIN: Final = 3
"""Truths of which the worst is one."""
_DRAWN: Final = 40
"""Truths of the votes of which verdicts are counted."""
_LEVEL: Final = 0.05
Hold: TypeAlias = Callable[[int, np.random.Generator], float]
"""Returns the share of so many sessions of a truth whose verdict is wrong."""


class Measured(NamedTuple):
    """A cell: what is voted on, the share of the level that is used, its error, verdicts of 2,000, and time of one."""

    cell: str
    used: float
    error: float
    verdicts: int
    seconds: float


def _measure(
    cell: str,
    truths: list[Hold],
    verdicts: int,
    seconds: float,
    generator: np.random.Generator,
    *,
    times: float = 1.0,
) -> Measured:
    """Find the worst truth, which holds so many times the sessions that it is asked for."""
    shares = np.array([truth(_LOOKED_AT, generator) for truth in truths])
    first: list[int] = np.argsort(-shares)[:_AGAIN].tolist()
    again = {place: truths[place](HELD, generator) for place in first}
    worst = truths[max(first, key=again.__getitem__)](HELD, generator)
    error = 2.6 * math.sqrt(max(worst * (1 - worst), 1 / HELD) / (times * HELD))
    return Measured(cell, worst / _LEVEL, error / _LEVEL, verdicts, seconds)


_HELD_WEIGHTS: Final = ("all kinds", "the lightest", "the heaviest", "half heavy")
# DPWeVote with private weights, in the local model; one fifth of the partners has weight 3.
_GIANT: Final = {"weights": "decimals", "light": 65, "heavy": 1, "ratio": 30}
"""Public weights: 65 between 1 and 68, held by turns, and one of 2,000, held by one partner."""
_VOTES: Final[list[dict[str, Any]]] = [
    {"variant": variant, "epsilon": epsilon, "partners": partners}
    for variant, epsilon, partners in [
        ("joint", 1.0, 30), ("joint", 1.0, 100), ("joint", 3.0, 100), ("joint", 3.0, 188), ("joint", 5.0, 188),
        ("joint", 3.0, 400), ("signed_rr", 1.0, 100), ("signed_rr", 3.0, 188), ("optimal", 3.0, 100),
        ("two_point", 3.0, 100), ("laplace", 3.0, 100),
    ]
] + [{"variant": "public", "epsilon": epsilon, "partners": 188, **_GIANT} for epsilon in (3.0, 5.0)]  # fmt: skip


def measure_dpwevote(generator: np.random.Generator) -> Iterator[Measured]:
    """Measure verdicts on votes with private weights."""
    for vote_case in _VOTES:
        case = {"heavy": 1, **vote_case, "level": _LEVEL}
        vote = dpwevote.vote_of(case)
        assert vote is not None
        holds = [
            _hold_votes(vote, {**case, "held": held, "yes": yes, "wrong": wrong})
            for held in (("one heavy",) if case["variant"] == "public" else _HELD_WEIGHTS)
            for yes in ("light ones", "heavy ones")
            for wrong in ("passes", "fails")
        ]
        number, decided, drawn = int(case["partners"]), 0, np.random.default_rng(SEED)
        seconds = _time(vote, case)
        for draw in range(_DRAWN):
            yes = 0.5 + 0.4 * drawn.random() * (-1) ** draw
            opinions = (drawn.random(number) < yes).astype(np.int64)
            weights = np.array([1.0, 2.0, 3.0])[np.arange(number) % 5 % 3]
            if case["variant"] == "public":
                kinds = np.array(vote.parameters.weights)
                weights = np.append(kinds[np.arange(number - 1) % (len(kinds) - 1)], kinds[-1])
            held = dpwevote.Sessions(vote, dpwevote.Truth(weights, opinions, passes=True), 50, drawn)
            decided += sum(int(held.share_of(verdict).sum()) for verdict in (Verdict.PASSES, Verdict.FAILS))
        name = f"{case['variant']}, {number} partners, ε = {case['epsilon']:g}"
        yield _measure(name, [hold for hold in holds if hold is not None], decided, seconds, generator)


def _hold_votes(vote: DPWeVote, case: Case) -> Hold | None:
    truth = dpwevote.truth_of(case, vote.parameters)
    if truth is None:
        return None
    verdict = Verdict.FAILS if truth.passes else Verdict.PASSES

    def hold(sessions: int, generator: np.random.Generator) -> float:
        return float(dpwevote.Sessions(vote, truth, sessions, generator).share_of(verdict).mean())

    return hold


def _time(vote: DPWeVote, case: Case) -> float:
    """Return the seconds that a vote's verdicts take when nothing is known of them."""
    opinions = np.array([int(place % 4 > 0) for place in range(case["partners"])])
    truth = dpwevote.Truth(np.ones(case["partners"]), opinions, passes=True)
    session = dpwevote.Sessions(DPWeVote(vote.parameters), truth, 1, np.random.default_rng(0))
    start = time.process_time()
    session.outcome(0)
    return time.process_time() - start


_ELECTIONS: Final[list[dict[str, Any]]] = [
    {"mechanism": mechanism, "objective": objective, "groups": groups, "alternatives": size, "epsilon": epsilon}
    for mechanism, objective, groups, size, epsilon in [
        ("laplace", "welfare", (100,), 3, 0.5), ("laplace", "welfare", (100,), 8, 0.5),
        ("laplace", "parity", (60, 40), 2, 1.0), ("laplace", "parity", (60, 40), 3, 1.0),
        ("laplace", "parity", (60, 40), 8, 2.0), ("laplace", "penalized", (60, 40), 4, 1.0),
        ("laplace", "parity", (40, 30, 30), 4, 2.0),
        ("masked", "welfare", (100,), 5, 0.5), ("masked", "parity", (60, 40), 3, 1.0),
        ("sampled_pair", "welfare", (100,), 2, 2.0), ("sampled_pair", "welfare", (198,), 3, 2.0),
        ("whole_ranking", "welfare", (198,), 3, 2.0), ("noisy_scores", "welfare", (200,), 5, 4.0),
        ("sampled_pair", "parity", (120, 78), 3, 3.0), ("whole_ranking", "parity", (120, 78), 3, 3.0),
    ]
]  # fmt: skip


class _Election:
    """Elections with one mechanism, whose rankings are given as positions."""

    def __init__(self, case: Case) -> None:
        vote = fair_voting.vote_of(case)
        assert vote is not None
        self.case, self.vote, self.objective = case, vote, vote.parameters.make_objective()
        self.sizes = np.array(case["groups"], dtype=np.float64)
        self.groups = np.repeat(np.arange(len(self.sizes)), case["groups"])
        self.is_additive = case["mechanism"] in {"laplace", "masked"}
        self.noise = fair_voting.noise_of(vote, self._alternating([np.arange(case["alternatives"])]))
        size, level = case["alternatives"], vote.parameters.level
        self.confirming = Confirming(self.noise, self.objective, self.sizes, num_alternatives=size, level=level)

    def confirmed(self, estimates: FloatArray) -> tuple[IntArray, NDArray[np.bool_]]:
        """Return winners and who of them is confirmed."""
        winners = merits_of(estimates, self.objective, self.sizes).argmax(axis=1)
        return winners, self.confirming.are_confirmed(estimates, winners, estimates.__getitem__)

    def estimates(self, profile: fair_voting.Profile, votes: int, generator: np.random.Generator) -> FloatArray:
        most = max(4_000_000 // (profile.positions.size * len(self.sizes)), 1)
        parts = [min(most, votes - start) for start in range(0, votes, most)]
        return np.concatenate([fair_voting.estimates_of(self.vote, profile, part, generator) for part in parts])

    def _alternating(self, rankings: list[IntArray]) -> fair_voting.Profile:
        """Return voters of each group who have these positions in turn."""
        sizes: tuple[int, ...] = self.case["groups"]
        turns = [rankings[place % len(rankings)] for size in sizes for place in range(size)]
        return fair_voting.Profile(np.array(turns), self.groups)

    def truths(self) -> Iterator[Hold]:
        """Yield truths in which several are as good as the best, which is the first, and no others are near."""
        size, num_groups = int(self.case["alternatives"]), len(self.sizes)
        order: IntArray = np.arange(size, dtype=np.int64)
        even = self._alternating([(order + turn) % size for turn in range(size)])
        if not self.is_additive:
            swapped = order.copy()
            swapped[:2] = [1, 0]
            reverse = self._alternating([order, order[::-1].copy()])
            for profile in (even, self._alternating([order, swapped]), reverse):
                yield self._hold(profile, np.zeros((num_groups, size)))
            return
        # Noise is added whatever the utilities are. Some groups like an alternative more, by so many errors.
        error = float(np.max(self.noise.errors))
        shapes = [np.array(shape) for shape in itertools.product((0.0, 1.0), repeat=num_groups)][:-1]
        distances = (1.0, 30.0)
        kinds = [shapes[0]] + [distance * error * shape for shape in shapes[1:] for distance in distances]
        clean = np.array(self.vote.utilities_in(fair_voting.inputs_of(self.vote, even)), dtype=np.float64)
        for best, rival, rivals in itertools.product(kinds, kinds, sorted({2, size})):
            if self.objective.name == "penalized" or best.max() == rival.max():
                utilities = np.stack([best, *[rival] * (rivals - 1), *[1e6 * shapes[-1]] * (size - rivals)], axis=1)
                merits = merits_of(utilities[None], self.objective, self.sizes)[0]
                if self.objective.name == "penalized":
                    utilities = utilities - merits
                    utilities[:, rivals:] -= 1e6
                yield self._hold(even, utilities - clean)

    def _hold(self, profile: fair_voting.Profile, shift: FloatArray) -> Hold:
        """Return a truth by rankings, where something is added to utilities."""

        def hold(sessions: int, generator: np.random.Generator) -> float:
            winners, are_sure = self.confirmed(self.estimates(profile, sessions, generator) + shift)
            return float((are_sure & (winners > 0)).mean())

        return hold


def measure_fair_voting(generator: np.random.Generator) -> Iterator[Measured]:
    """Measure confirmed winners."""
    for case in _ELECTIONS:
        election = _Election(case)
        size, decided, drawn = int(case["alternatives"]), 0, np.random.default_rng(SEED)
        estimates = np.zeros(0)
        for _ in range(_DRAWN):
            # Each group likes each alternative by some strength, and each voter by itself.
            strengths: FloatArray = 1.5 * drawn.normal(size=(len(election.sizes), size)) + drawn.normal(size=size)
            liked: FloatArray = strengths[election.groups] + drawn.gumbel(size=(len(election.groups), size))
            profile = fair_voting.Profile((-liked).argsort(axis=1).argsort(axis=1), election.groups)
            estimates = election.estimates(profile, 50, drawn)
            decided += int(election.confirmed(estimates)[1].sum())
        winner = int(merits_of(estimates[:1], election.objective, election.sizes)[0].argmax())
        start = time.process_time()
        p_value_of(estimates[0] * 1.01, winner, election.noise, objective=election.objective, sizes=election.sizes)
        seconds = time.process_time() - start
        of_groups = " + ".join(map(str, case["groups"]))
        name = f"{case['mechanism']}, {case['objective']}, {of_groups} voters, {size} alternatives, "
        name += f"ε = {case['epsilon']:g}"
        yield _measure(name, list(election.truths()), decided, seconds, generator)


_SURVEYS: Final[list[dict[str, Any]]] = [
    {"way": way, "features": 5, "voters": 100, "times the price": price, "alternatives": size}
    for way, price in (
        ("laplace, VLCP", 3.0),
        ("laplace, VLDP", 10.0),
        ("laplace, VLMP", 3.0),
        ("direction, RLCP", 10.0),
    )
    for size in (2, 4)
]


def measure_moral_preferences(generator: np.random.Generator) -> Iterator[Measured]:
    """Measure the winner among alternatives of which two, the first, are as good as each other, or all are."""
    for case in _SURVEYS:
        protocol = moral_preferences.protocol_of(case)
        assert protocol is not None
        first, second, third, *_ = protocol.parameters.features
        size = int(case["alternatives"])
        alternatives = {"a0": {first: 1.0, second: 2.0}, "a1": {second: 2.0, third: 1.0}}
        alternatives |= {f"a{place}": {first: float(place % 2), third: place / 2} for place in range(2, size)}
        winners = functools.partial(_winners, protocol, case, alternatives)

        def hold(
            sessions: int,
            own: np.random.Generator,
            *,
            share: float,
            protocol: MoralPreferences = protocol,
            winners: Callable[[FloatArray, int, np.random.Generator], list[str]] = winners,
        ) -> float:
            society = np.trunc(np.array([0.0, share, 0.0, 0.0, 0.0]) * protocol.summary.bound)
            found = winners(society, math.ceil(sessions / 10), own)
            return 1 - (found.count(UNDECIDED) + found.count("a0")) / len(found)

        drawn, decided = np.random.default_rng(SEED), 0
        for _ in range(_DRAWN):
            found = winners(moral_preferences.society_of(protocol, "ball", drawn), 50, drawn)
            decided += 50 - found.count(UNDECIDED)
        start = time.process_time()
        winners(np.zeros(5), 1, drawn)
        seconds = time.process_time() - start
        holds: list[Hold] = [functools.partial(hold, share=share) for share in (0.0, 0.9)]
        yield _measure(f"{case['way']}, 100 voters, {size} alternatives", holds, decided, seconds, generator, times=0.1)


def _winners(
    protocol: MoralPreferences,
    case: Case,
    alternatives: Mapping[str, Mapping[str, float]],
    society: FloatArray,
    number: int,
    generator: np.random.Generator,
) -> list[str]:
    """Return the verdicts of so many sessions on the best of several alternatives."""
    outcomes = moral_preferences.sessions_of(protocol, society, case, number, generator)
    return [rank(outcome, alternatives, level=_LEVEL).verdict or UNDECIDED for outcome in outcomes]


MEASURES: Final = {
    "dpwevote": measure_dpwevote,
    "fair-voting": measure_fair_voting,
    "moral-preferences": measure_moral_preferences,
}


def write(page: Path, cells: Mapping[str, Measured]) -> None:
    """Write cells into a page's tables; what stands before an arrow stays."""
    lines = page.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        name, *before = [entry.strip() for entry in line.strip("| ").split(" | ")]
        if (cell := cells.get(name)) is not None:
            found = (f"{cell.used:.2f}", str(cell.verdicts))
            arrows = [f"{own.partition(' → ')[0]} → " if " → " in own else "" for own in before]
            lines[number] = "| " + " | ".join([name, *map(operator.add, arrows, found)]) + " |"
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Print the table of one system or of all."""
    parser = argparse.ArgumentParser(description="Measure how much of their level verdicts use.")
    parser.add_argument("system", nargs="?", choices=[*MEASURES, "all"], default="all")
    parser.add_argument("--write", action="store_true", help="write the tables of docs/verdicts.md as well")
    given = parser.parse_args()
    cells: dict[str, Measured] = {}
    for name, measure in MEASURES.items():
        if given.system in {name, "all"}:
            sys.stdout.write(f"| {name} | used of the level | verdicts of 2,000 | seconds |\n")
            sys.stdout.write("| :--- | ---: | ---: | ---: |\n")
            for cell in measure(np.random.default_rng(SEED)):
                cells[cell.cell] = cell
                used = f"{cell.used:.2f} ± {cell.error:.2f}"
                sys.stdout.write(f"| {cell.cell} | {used} | {cell.verdicts} | {cell.seconds:.2f} |\n")
                sys.stdout.flush()
    if given.write:
        write(PAGE, cells)


if __name__ == "__main__":
    main()
