"""Weights of a file of somebody's own: a list of them is published, or they are rounded, and nothing false is said."""

import itertools
import math
import random
from pathlib import Path
from typing import Any

import pytest
from bad_input import Psephos, Write, is_plain
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.dpwevote import DPWeVote, Outcome
from psephos.protocol.estimators import Verdict
from psephos.protocol.phases import Inputs
from psephos.scenarios import Local, load_scenario, resolve
from thoroughness import draws

SHARES = ["1%", "2,5 %", "5%", "0.07", "20%", "50%"]


def write_votes(write: Write, weights: list[Any], yes: list[bool]) -> None:
    rows = [
        f"p{place},{weight},{'yes' if own else 'no'}"
        for place, (weight, own) in enumerate(zip(weights, yes, strict=True))
    ]
    write("own.csv", "\n".join(["name,shares,roof", *rows]) + "\n")


def drafted() -> tuple[DPWeVote, Inputs]:
    resolved = resolve(load_scenario("own.toml"))
    assert isinstance(resolved, Local)
    assert isinstance(resolved.protocol, DPWeVote)
    return resolved.protocol, resolved.inputs


def verdicts(vote: DPWeVote, inputs: Inputs, seeds: int) -> set[Verdict]:
    found = set[Verdict]()
    for seed in range(seeds):
        outcome = run_population(vote, inputs, noise=SimulatedNoise(seed, session="s")).outcome
        assert isinstance(outcome, Outcome)
        found.add(outcome.candidates[0].verdict.verdict)
    return found


LADDER = [10 + place for place in range(300)]
PARETO = [min(int(10 * random.Random(place).paretovariate(0.6)), 10**6) for place in range(3_000)]


@pytest.mark.parametrize("trust", ["local", "central"])
@pytest.mark.parametrize(
    "weights", [[*LADDER, 1_000_000], [*PARETO, 10 * sum(PARETO)]], ids=["a ladder and a giant", "pareto and a giant"]
)
def test_what_a_giant_votes_down_is_never_said_to_pass(
    psephos: Psephos, write: Write, weights: list[int], trust: str
) -> None:
    """By the file a tenth or less is for it: noise that says otherwise has no chance in any run."""
    write_votes(write, weights, [True] * (len(weights) - 1) + [False])
    questions = psephos("new", "vote", "own.csv", "--weight", "shares", "--no-run").questions
    assert "different weights are private, and the scenario" in questions
    epsilon = "8" if trust == "local" else "20"
    for share in ("10%", "20%"):
        to = ("--weight", "shares", "--round-weights", share, "--trust", trust, "--epsilon", epsilon, "--no-run")
        ended = psephos("new", "vote", "own.csv", *to, "--to", f"own-{share[:-1]}.toml")
        assert (ended.status, ended.err) == (0, "")
        Path(f"own-{share[:-1]}.toml").rename("own.toml")
        vote, inputs = drafted()
        assert abs(sum(vote.weights_of(inputs)) / sum(weights) - 1) <= vote.parameters.rounding
        assert Verdict.PASSES not in (found := verdicts(vote, inputs, draws(3, full=10)))
        assert trust == "local" or found == {Verdict.FAILS}


@pytest.mark.parametrize("share", SHARES)
def test_each_weight_is_rounded_by_the_share_at_most_and_to_few_numbers(
    psephos: Psephos, write: Write, share: str
) -> None:
    generator = random.Random(5)
    weights = [round(2 * math.exp(6 * generator.random()), 3) for _ in range(80)]
    write_votes(write, weights, [True] * 60 + [False] * 20)
    ended = psephos(
        "new", "vote", "own.csv", "--weight", "shares", "--public-weights", "--round-weights", share, "--no-run"
    )
    assert (ended.status, ended.err) == (0, "")
    (vote, inputs), asked = drafted(), float(share.rstrip("% ").replace(",", ".")) / (1 if share == "0.07" else 100)
    parameters, own = vote.parameters, vote.weights_of(inputs)
    assert 0 < parameters.rounding <= asked + 1e-9
    for before, after in zip(weights, own, strict=True):
        assert abs(before - after) <= parameters.rounding * after
    ratios = [above / below for below, above in itertools.pairwise(parameters.weights)]
    assert min(ratios) > 1 + asked / 2
    assert {parameters.weights[0], parameters.weights[-1]} <= set(own)
    told = " ".join(ended.out.split())
    total = 100 * (sum(own) / sum(weights) - 1)
    assert f"all together by {total:+.2g} %; verdicts allow for that." in told


def test_one_rule_rounds_the_weights_of_all_files(psephos: Psephos, write: Write) -> None:
    """The numbers tell nothing of a file but its least and its greatest weight."""
    sets: list[set[float]] = []
    for weights in ([3, *range(100, 200)], [1000, *range(1, 50)]):
        write_votes(write, list(weights), [True] * len(weights))
        Path("own.toml").unlink(missing_ok=True)
        assert psephos("new", "vote", "own.csv", "--weight", "shares", "--round-weights", "5%", "--no-run").status == 0
        sets.append(set(drafted()[0].parameters.weights))
    low, high = max(map(min, sets)), min(map(max, sets))
    assert {weight for weight in sets[0] if low <= weight <= high} == {w for w in sets[1] if low <= w <= high}


def test_a_run_says_by_how_much_weights_are_rounded_and_leaves_no_sum_of_private_ones(
    psephos: Psephos, write: Write
) -> None:
    write_votes(write, list(range(10, 60)), [True] * 50)
    ended = psephos("new", "vote", "own.csv", "--weight", "shares", "--round-weights", "5%", "--out", "run")
    assert ended.status == 0
    said = (
        "Weights are rounded, each by at most 5 %: verdicts are about those before, other numbers about those after it."
    )
    assert said in " ".join(ended.out.split())
    report = " ".join(Path("run/report.html").read_text(encoding="utf-8").split())
    assert said in report
    assert "all together" not in report
    assert '"weights_within":0.05' in Path("run/result.json").read_text(encoding="utf-8").replace(" ", "")


@pytest.mark.bad_input("a file of one's own that does not tell what is needed")
@pytest.mark.parametrize(
    ("weights", "said", "words"),
    [
        (
            [*range(10, 40)],
            ("--round-weights", "0"),
            "--round-weights is '0': use a share of each weight from 1% to 50%",
        ),
        (
            [*range(10, 40)],
            ("--round-weights", "100000"),
            "--round-weights is '100000': use a share of each weight from 1%",
        ),
        (
            [*range(10, 40)],
            ("--round-weights", "much"),
            "--round-weights is 'much': use a share of each weight from 1%",
        ),
        (
            [*LADDER, 10**6],
            ("--round-weights", "2%"),
            "--round-weights is '2%': use a greater share: 331 weights are possible",
        ),
        ([*range(10, 40)], (), "(5%: 15 possible weights; 10%: 8 possible weights; 20%: 5 possible weights)"),
        ([*range(10, 1_200)], ("--public-weights",), "1,190 different weights are more than a scenario lists"),
        *(
            ([1, 2, entry, 2], ("--public-weights",), "shares (own.csv line 4): A weight cannot be")
            for entry in ("2/3", "50 %", "0", "-1", "", "nan", "inf")
        ),
    ],
)
def test_weights_that_would_be_published_or_are_none_are_asked_about_or_refused(
    psephos: Psephos, write: Write, weights: list[Any], said: tuple[str, ...], words: str
) -> None:
    write_votes(write, weights, [True] * len(weights))
    ended = psephos("new", "vote", "own.csv", "--weight", "shares", *said, "--no-run")
    assert (ended.status, ended.out, is_plain(ended.err)) == (2, "", True)
    assert words in ended.err


def test_public_weights_of_any_number_may_be_rounded_too(psephos: Psephos, write: Write) -> None:
    write_votes(write, [*range(10, 1_200)], [True] * 1_190)
    to = ("--weight", "shares", "--public-weights", "--round-weights", "1%", "--no-run")
    assert psephos("new", "vote", "own.csv", *to).status == 0
    vote, inputs = drafted()
    assert vote.parameters.public_weights
    assert verdicts(vote, inputs, 3) == {Verdict.PASSES}


def test_weights_that_round_to_one_are_public(psephos: Psephos, write: Write) -> None:
    write_votes(write, [100 + place / 10 for place in range(20)], [True] * 20)
    assert psephos("new", "vote", "own.csv", "--weight", "shares", "--round-weights", "20%", "--no-run").status == 0
    assert drafted()[0].parameters.public_weights


def test_weights_as_programs_write_them_are_numbers(psephos: Psephos, write: Write) -> None:
    write_votes(write, ["1e3", "1000", "2.5E2", "250"], [True] * 4)
    assert psephos("new", "vote", "own.csv", "--weight", "shares", "--no-run").status == 0
    vote, inputs = drafted()
    assert vote.weights_of(inputs) == (1000, 1000, 250, 250)
