"""`psephos power`: the numbers of the game, what is simulated against what is exact, and whose weights are told."""

import html
import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bad_input import Psephos, Write
from makers import as_usual, vote_of
from psephos.protocol.dpwevote import DPWeVote, WeightedGame, released_power
from psephos.scenarios.dpwevote.power import measure_power, simulate_power
from psephos.scenarios.running.config import load_scenario
from psephos.scenarios.running.resolution import resolve
from runs import read_rows
from thoroughness import draws

WEIGHTS = (1.0, 1.0, 2.0, 3.0, 3.0, 4.0)


vote = as_usual(vote_of, candidates=("a", "b"), weights=(1.0, 2.0, 3.0, 4.0))


def counted(weights: Sequence[int], quota: int, place: int) -> tuple[float, float]:
    """Return the Shapley-Shubik index and the Banzhaf measure of one member, by a plain count of the others' sums."""
    number = len(weights)
    by_size: Counter[tuple[int, int]] = Counter({(0, 0): 1})
    for other, weight in enumerate(weights):
        if other != place:
            by_size += Counter({(size + 1, total + weight): count for (size, total), count in by_size.items()})
    swings = {each: count for each, count in by_size.items() if quota - weights[place] <= each[1] < quota}
    orders = [count * math.factorial(size) * math.factorial(number - 1 - size) for (size, _), count in swings.items()]
    return sum(orders) / math.factorial(number), sum(swings.values()) / 2 ** (number - 1)


def test_the_council_of_27_has_the_indices_that_a_plain_count_finds(psephos: Psephos) -> None:
    """Nice, 255 of 345, with 29 votes for Germany and 3 for Malta."""
    ended = psephos("power", "eu-council")
    assert (ended.status, ended.err) == (0, "")
    said = " ".join(ended.out.split())
    assert said.startswith("Germany and 3 more, with weight 29, decide most often: each in 3.27 % of votes in which")
    assert "with the noise of ε = 3: P[passes | yes]" in said
    lines = [line.split() for line in ended.out.splitlines()]
    (germany,) = [line for line in lines if line[:1] == ["29"]]
    (malta,) = [line for line in lines if line[:1] == ["3"]]
    assert germany[-5:] == ["0.0841", "0.0867", "0.0778", "0.03269", "0.04335"]
    assert malta[1:] == ["Malta", "0.0087", "0.0082", "0.0094", "0.003957", "0.005064"]
    assert "P[passes | yes] − P[passes | no], exact" in said
    side = resolve(load_scenario("eu-council"))
    assert isinstance(side.protocol, DPWeVote)
    weights = [int(weight) for weight in side.protocol.weights_of(side.inputs)]
    for line, weight in ((germany, 29), (malta, 3)):
        index, measure = counted(weights, 255, weights.index(weight))
        assert (float(line[-4]), float(line[-2])) == (round(index, 4), float(f"{measure:.4g}"))


def test_a_folder_gets_a_line_for_each_partner_a_picture_and_a_page_of_which_a_run_tells(
    psephos: Psephos,
) -> None:
    bare = ("--transport", "array", "--no-pictures", "--no-report")
    assert psephos("run", "eu-council", *bare, "--out", "out").status == 0
    ended = psephos("power", "eu-council", "--out", "out/power")
    assert ended.status == 0
    assert "all of it on a page" in ended.out
    names = {"power.csv", "power.svg", "power-narrow.svg", "pictures.json", "report.html", "study.json"}
    assert {path.name for path in Path("out/power").iterdir()} == names
    rows = read_rows("out/power/power.csv")
    assert len(rows) == 27
    assert math.fsum(float(row["shapley_shubik"]) for row in rows) == pytest.approx(1)
    assert math.fsum(float(row["banzhaf_normalized"]) for row in rows) == pytest.approx(1)
    assert {row["released_power_error"] for row in rows} == {"0.0"}
    assert psephos("report", "out").status == 0
    for page in (Path("out/report.html"), Path("out/power/report.html")):
        text = page.read_text(encoding="utf-8")
        words = html.unescape(re.sub(r"<[^>]*>", " ", text)).replace("\N{NO-BREAK SPACE}", " ")
        assert "The game behind the vote" in words
        assert "Germany and 3 more, with weight 29, decide most often: each in 3.27 % of votes" in words
        assert "quota: 255 of 345 units of weight" in words
        titles = "Partner Weight Shapley-Shubik Banzhaf Decides Moves the release"
        assert titles in " ".join(words.split())
        assert ">Malta<" in text
        assert "eleased power" not in words  # what a column is called, as in the terminal


def test_what_the_command_tells_is_what_the_protocol_computes() -> None:
    side = resolve(load_scenario("eu-council"))
    powers = measure_power(side, trials=100, seed=0)
    assert isinstance(side.protocol, DPWeVote)
    weights = side.protocol.weights_of(side.inputs)
    assert powers.game == WeightedGame.from_vote(side.protocol.parameters, weights)
    assert [own.value for own in powers.released] == list(released_power(side.protocol.parameters, weights))
    assert not powers.is_simulated


def within(found: Sequence[Any], expected: Sequence[float]) -> bool:
    """Return whether all are within 4.5 standard errors, and their errors are small."""
    return all(
        abs(own.value - right) <= 4.5 * own.standard_error and own.standard_error < 0.02
        for own, right in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize(
    "given",
    [{}, {"passes": "more_than"}, {"quota": 5.0}, {"opinion_matrix": ((0.9, 0.1), (0.4, 0.6)), "quota_fraction": 0.75}],
    ids=str,
)
def test_simulated_votes_agree_with_the_exact_law(given: dict[str, Any]) -> None:
    """Public weights, ties among them: six partners within 4.5 errors each, chance 4e-5 a case."""
    public = vote(public_weights=True, **given)
    found = simulate_power(public, WEIGHTS, trials=draws(4_000, full=40_000), seed=3)
    assert within(found, released_power(public.parameters, WEIGHTS))


@pytest.mark.parametrize(
    "variant",
    [
        "joint",
        "printed",
        "laplace",
        "two_point",
        "signed_rr",
        pytest.param("optimal", marks=pytest.mark.full("its law takes a second to find")),
    ],
)
def test_at_a_large_epsilon_every_variant_leaves_partners_their_power(variant: Any) -> None:
    """At ε = 20 hardly any noise is left, and an odd total has no ties; within 4.5 errors each, chance 4e-5 a case."""
    weights = (1.0, 2.0, 3.0, 3.0, 4.0)
    own = vote(variant=variant, epsilon=20.0)
    measure = [float(each.banzhaf) for each in WeightedGame.from_vote(own.parameters, weights).powers]
    found = simulate_power(own, weights, trials=draws(4_000, full=40_000), seed=4)
    if variant in {"two_point", "laplace"}:  # one bit tells no weight but the greatest; Laplace noise stays
        assert found[4].value > found[2].value > found[0].value
    else:
        assert within(found, measure)


def test_private_weights_are_told_of_synthetic_partners_alone(psephos: Psephos, write: Write) -> None:
    assert psephos("power", "consortium", "--set", "count=9", "--trials", 100).status == 0
    write("own.csv", "partner,weight,merger\nann,1,1\nbob,3,0\n")
    write("own.toml", 'protocol = "dpwevote"\npartners = "own.csv"\n')
    refusal = psephos("power", "own.toml").refusal
    assert refusal.startswith("psephos: public_weights is")
    assert psephos("power", "own.toml", "--set", "public_weights=true").status == 0
    assert psephos("power", "own.toml", "--set", "synthetic=true", "--trials", 100).status == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["crowd"], "protocol: Power is of weighted votes (dpwevote). crowd is of protocol 'truth-discovery'."),
        (["eu-council", "--set", "quota=346"], "quota is 346.0: use at most the weight of all partners, 345"),
        (["eu-council", "--set", "quota=345", "--set", "passes=more_than"], ": use a value from 1 to 345"),
        (["nothing"], "There is no file and no shipped scenario"),
    ],
)
def test_what_is_no_game_is_refused(psephos: Psephos, words: list[str], said: str) -> None:
    assert said in psephos("power", *words, "--out", "out").refusal


def test_many_partners_have_no_index_of_orders_and_are_told_so(psephos: Psephos) -> None:
    ended = psephos("power", "consortium", "--set", "count=900", "--trials", 100)
    assert ended.status == 0
    assert "Shapley-Shubik indices would take too long" in ended.out
    assert "estimated by simulated votes" in ended.out
    assert "partner-1 and" in ended.out
