"""Elections as readers see them: who wins, how well that serves each group, how sure that is, and what it cost."""

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
from golden import check_golden
from pages import drawn, shown
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.estimators import Estimate
from psephos.protocol.fair_voting import AlternativeOutcome, Assurance, FairVoting, Outcome, Parameters
from psephos.protocol.fair_voting.kinds import BY_QUALITY, CENTRAL, MechanismName
from psephos.protocol.fair_voting.objective import ObjectiveName
from psephos.protocol.fair_voting.outcome import Details
from psephos.protocol.phases import Inputs
from psephos.scenarios.presentation import draw_outcome, rows_of, verdict_of
from runs import read_rows

PAGES, PICTURES = (Path(__file__).with_name(f"presentation_{kind}.txt") for kind in ("pages", "pictures"))
RULES = ("this objective", "least disparity", "plurality", "borda", "copeland", "egalitarian")
# Mean utilities to a group of 300 voters and to one of 100: welfare 2.125, 1.475 and 1, disparity 1.5, .1 and 2.
UTILITIES = {"pier": (2.5, 1.0), "fair": (1.5, 1.4), "zoo": (0.5, 2.5)}
GROUPS = {"north": 300, "south": 100}


def assured(**given: Any) -> Assurance:
    """Return how sure a winner is: by default nothing is known."""
    nothing: dict[str, Any] = {
        "probability": None,
        "prior": None,
        "verdict": None,
        "level": 0.05,
        "p_value": None,
        "shortfall": None,
    }
    return Assurance(**nothing | given)


SURE = assured(probability=0.999, prior="uniform differences", verdict="confirmed", p_value=0.001)
CLOSE = {"prior": "uniform differences", "verdict": "too close to tell", "p_value": 0.26}


def released(
    utilities: Mapping[str, Sequence[float]] = UTILITIES,
    groups: Mapping[str, int] = GROUPS,
    *,
    errors: Sequence[float] = (),
    winner: str = "",
    **options: Any,
) -> Outcome:
    """Return an outcome with these mean utilities, each with a standard error of 0.1."""
    sizes = tuple(groups.values())
    alternatives: list[AlternativeOutcome] = []
    for name, values in utilities.items():
        deviations = errors or [0.1] * len(values)
        welfare = sum(value * size for value, size in zip(values, sizes, strict=True)) / sum(sizes)
        alternatives.append(
            AlternativeOutcome(
                name=name,
                utilities=tuple(map(Estimate, values, deviations)),
                welfare=Estimate(welfare, 0.08 * any(deviations)),
                disparity=max(values) - min(values),
            )
        )
    fields: dict[str, Any] = {
        "winner": winner or min(alternatives, key=lambda alternative: alternative.disparity).name,
        "alternatives": tuple(alternatives),
        "candidates": tuple(utilities),
        "groups": tuple(groups),
        "group_sizes": sizes,
        "num_reports": (),
        "mechanism": "laplace",
        "objective": "parity",
        "max_disparity": 0.5,
        "fairness_weight": 1.0,
        "model": "central",
        "epsilon_claimed": 0.5,
        "epsilon_proven": 0.5,
        "assurance": SURE,
    }
    return Outcome(**fields | options)


def truth_of(
    utilities: Mapping[str, Sequence[float]] = UTILITIES, groups: Mapping[str, int] = GROUPS, **winners: str
) -> dict[str, Any]:
    """Return the truth that has these mean utilities; every rule elects the first alternative unless told otherwise."""
    first = next(iter(utilities))
    truth: dict[str, Any] = {rule: winners.get(rule.replace(" ", "_"), first) for rule in RULES}
    for name, values in utilities.items():
        truth |= {f"{name} ({group})": value for group, value in zip(groups, values, strict=True)}
    return truth


WINNER_ALONE: dict[str, Any] = {
    "alternatives": (),
    "mechanism": "exponential",
    "winner": "pier",
    "assurance": assured(shortfall=0.0903),
}
LOCAL: dict[str, Any] = {"mechanism": "noisy_scores", "model": "local"}
MANY_GROUPS = {f"district {number}": 10 + number for number in range(1000)}
MANY = {f"a{place}": [0.001 * number * (1 + 0.1 * place) for number in range(1000)] for place in range(50)}
DISTRICTS = {f"district {number}": 10 for number in range(9)}
OF_DISTRICTS = {"pier": [2.0, 1.9, 1.8, 0.5, 2.6, 2.0, 2.0, 2.0, 2.0], "zoo": [1.0] * 8 + [3.0]}
LONG = {"those who live in the north of the town": 300, "those who live elsewhere in the district": 100}
ODD: Mapping[str, Sequence[float]] = dict.fromkeys(
    ("zoo", "from $5 to $6", "a (b)", "$a$ $\\bad$", "_hidden_", "日本の港", "Ελληνικά", "]x["), (2.0, 1.0)
)
COMMAS = {"sun": (1.0, 1.0), "sun, sea": (2.0, 1.0), "sea": (0.0, 3.0)}
PRICED: dict[str, Any] = {**WINNER_ALONE, "max_disparity": 0.6, "fairness_weight": 2.0}
FLOOR = Details(welfare_share=0.75, least_score=0.0)
OTHERS = truth_of({"pier": (2.4, 1.2), "fair": (1.0, 2.0), "zoo": (0.0, 3.0)})
RULED = truth_of(this_objective="fair", least_disparity="fair", copeland="zoo")
NARROW: dict[str, dict[str, Any]] = {
    "constrained": {"objective": "constrained"},
    "pairs": {"mechanism": "sampled_pair", "model": "local", "num_reports": (300, 0)},
    "scores": {**LOCAL, "num_reports": (300, 0)},
    "a winner alone": WINNER_ALONE,
}
CASES: dict[str, tuple[Outcome, dict[str, Any]]] = {
    "it is the best: by disparity, and notes on the noise of a trusted server": (released(), {}),
    "undecided, with a probability": (released(assurance=assured(probability=0.731, **CLOSE)), {}),
    "undecided, without one": (released(assurance=assured(**CLOSE)), {}),
    "a winner alone: what holds whoever wins": (released(**WINNER_ALONE), {}),
    "a winner alone: a probability": (
        released(
            **dict[str, Any](WINNER_ALONE, assurance=assured(probability=0.3, prior="uniform utilities", level=0.1))
        ),
        {},
    ),
    "nothing tells how near the others come": (released(assurance=assured()), {}),
    "a winner alone: the truth is said to be one": (released(**WINNER_ALONE), {"truth": truth_of()}),
    "a winner alone, by samples": (released(alternatives=(), mechanism="sampling", winner="zoo"), {}),
    **{
        f"{objective}, limit {most}, weight {weight}: alternatives as the objective has them": (
            released(winner="zoo", objective=objective, max_disparity=most, fairness_weight=weight),
            {},
        )
        for objective, most, weight in (
            ("constrained", 0.5, 1.0),
            ("constrained", 1.6, 1.0),
            ("penalized", 0.5, 1.0),
            ("penalized", 0.5, 0.1),
        )
    },
    **{
        f"constrained, limit {most}: whether any is within it": (
            released(objective="constrained", max_disparity=most),
            {},
        )
        for most in (0.01, 0.05, 0.2)
    },
    "decimals as two errors deserve": (released(errors=(0.0042, 1.3)), {}),
    "decimals without errors": (released(errors=(0.0, 0.0)), {}),
    "what is rounded to 0 has no sign": (released({"zoo": (-0.004, -0.2)}), {}),
    "all are 0": (released({"zoo": (0.0, 0.0)}, errors=(0.0, 0.0)), {}),
    "the truth beside": (released(), {"truth": OTHERS}),
    "rules by whom they elect": (released(), {"truth": RULED}),
    "a rule with tied winners has a range": (released(), {"width": 120, "truth": truth_of(borda="pier, fair")}),
    "a comma in a name is no tie": (
        released(COMMAS),
        {"truth": truth_of(COMMAS, borda="sun, sea", copeland="sun, sun, sea, sea")},
    ),
    "the randomization of reports": (released(**LOCAL, num_reports=(300, 100)), {}),
    "voters are missing": (released(**LOCAL, num_reports=(290, 0)), {}),
    "many groups: the worst and the best off": (released(OF_DISTRICTS, DISTRICTS), {}),
    "groups with long names": (released(groups=LONG), {"width": 90}),
    "names as they are": (
        released(ODD, {"to $5": 10, "others": 5}),
        {"truth": truth_of(ODD, {"to $5": 10, "others": 5})},
    ),
    **{
        f"{width} characters: fewer columns and whole numbers": (
            released(),
            {"width": width, "truth": truth_of(borda="pier, fair")},
        )
        for width in (36, 50, 60, 80)
    },
    **{
        f"80 characters: no note needs a second line ({name})": (released(**given), {"width": 80, "truth": truth_of()})
        for name, given in NARROW.items()
    },
    **{
        f"{mechanism}: whether a limit has a price": (
            released(objective="constrained", **dict[str, Any](PRICED, mechanism=mechanism)),
            {"truth": truth_of(this_objective="fair")},
        )
        for mechanism in (*sorted(BY_QUALITY), "sampling")
    },
    "a floor that has a price": (released(objective="welfare_constrained", details=FLOOR, **PRICED), {}),
}


@pytest.mark.parametrize("name", list(CASES))
def test_an_election_is_told_as_approved(name: str) -> None:
    """A verdict, below which a terminal shows it: nothing is wider, and no word is cut."""
    outcome, given = CASES[name]
    options: dict[str, Any] = {"width": 110, **given}
    text = shown(outcome, **options).text
    assert max(map(len, text.splitlines())) <= options["width"]
    check_golden(PAGES, name, f"{verdict_of(outcome)}\n\n{text}")


@pytest.mark.full("a picture more")
@pytest.mark.parametrize("width", [80, 110])
def test_a_thousand_groups_and_fifty_alternatives_fit(width: int) -> None:
    text = shown(released(MANY, MANY_GROUPS), width=width, truth=truth_of(MANY, MANY_GROUPS), table="outcome.json").text
    assert max(map(len, text.splitlines())) <= width
    assert "and 10 more alternatives in outcome.json" in text
    assert "and 992 more groups" in text


@pytest.mark.parametrize("objective", get_args(ObjectiveName))
@pytest.mark.parametrize("mechanism", sorted({*get_args(MechanismName)} - {"local", "joint"}))
def test_every_mechanism_and_objective_has_its_words(mechanism: MechanismName, objective: ObjectiveName) -> None:
    model = "central" if mechanism in CENTRAL else "local"
    text = shown(released(mechanism=mechanism, model=model, objective=objective)).text
    assert re.search(rf"^Objective +{objective}: the ", text, re.MULTILINE)
    assert re.search(rf"^Mechanism +{mechanism}: \w", text, re.MULTILINE)


@pytest.mark.full("a picture more")
def test_features_have_tables_of_their_own_and_the_worst_of_them_counts(psephos: Any, tmp_path: Path) -> None:
    """On the terminal, in the file and in the picture, as estimated and in truth; that of the crossings beside them."""
    ended = psephos("run", "two-features", "--transport", "array", "--out", "out", "--verbose")
    assert ended.status == 0
    picture = (tmp_path / "out" / "estimates.svg").read_text(encoding="utf-8")
    assert "disparity 0.73 (diet)" in picture
    assert "disparity of crossings" in picture
    assert re.search(r"Disparity of gender$", ended.out, re.MULTILINE)
    assert re.search(r"Disparity of diet$", ended.out, re.MULTILINE)
    assert re.search(r"Disparity of crossings$", ended.out, re.MULTILINE)
    assert re.search(r"^Features +gender \(women, men\); diet \(vegan, any\)", ended.out, re.MULTILINE)
    rows = read_rows(tmp_path / "out" / "estimates.csv")
    assert len(rows) == 4
    for row in rows:
        for kind in ("disparity", "true_disparity"):
            of_features = (float(row[f"{kind} (gender)"]), float(row[f"{kind} (diet)"]))
            assert float(row[kind]) == pytest.approx(max(of_features))
        assert {"utility (gender: women)", "utility_standard_error (diet: any)"} <= row.keys()
        for kind, of in (("disparity", "utility"), ("true_disparity", "true_utility")):
            utilities = [
                float(row[f"{of} ({one} × {other})"]) for one in ("women", "men") for other in ("vegan", "any")
            ]
            assert float(row[f"{kind} (crossings)"]) == pytest.approx(max(utilities) - min(utilities))


def test_rows_hold_the_numbers_to_their_last_bit_in_the_order_of_the_session() -> None:
    utilities = {"pier": (1 / 3, 1 / 7), "zoo": (0.1, 0.2)}
    rows = rows_of(released(utilities), truth=truth_of(utilities))
    assert [row["alternative"] for row in rows] == ["pier", "zoo"]
    assert [row["wins"] for row in rows] == [0, 1]
    assert [row["probability_of_best"] for row in rows] == [None, 0.999]
    assert (rows[0]["utility (north)"], rows[0]["utility_standard_error (north)"]) == (1 / 3, 0.1)
    assert (rows[0]["true_utility (south)"], rows[0]["true_disparity"]) == (1 / 7, 1 / 3 - 1 / 7)
    assert rows[1]["true_welfare"] == pytest.approx(0.125, abs=1e-15)
    assert (rows[1]["welfare"], rows[1]["welfare_standard_error"]) == (pytest.approx(0.125, abs=1e-15), 0.08)


def test_rows_without_estimates_have_empty_ones_and_without_a_truth_no_column_for_it() -> None:
    rows = rows_of(released(**WINNER_ALONE), truth=None)
    assert [row["wins"] for row in rows] == [1, 0, 0]
    names = {"alternative", "wins"}
    assert all(value is None for row in rows for column, value in row.items() if column not in names)
    assert not any("true" in column for row in rows for column in row)
    assert rows[0].keys() == rows_of(released(), truth=None)[0].keys()


OF_SEVEN = {"pier": [0.1 * number for number in range(7)], "zoo": [1.0] * 7}
SEVEN = {f"district {number}": 10 for number in range(7)}
DRAWN: dict[str, tuple[Outcome, dict[str, Any] | None]] = {
    "the winner, the groups and what was elected": (released(), None),
    "the truth below": (released(), truth_of()),
    "a winner alone, and the truth": (released(**WINNER_ALONE, epsilon_proven=None), truth_of()),
    "more groups than marks": (released(OF_SEVEN, SEVEN), truth_of(OF_SEVEN, SEVEN)),
    "names as they are": (released(ODD, {"to $5": 10, "$a$": 5}), None),
    **{
        f"{mechanism}: what is beyond the limit": (
            released(objective="constrained", **dict[str, Any](PRICED, mechanism=mechanism)),
            truth_of(),
        )
        for mechanism in ("exponential", "sampling")
    },
}


@pytest.mark.parametrize("name", list(DRAWN))
def test_an_election_is_drawn_as_approved(tmp_path: Path, name: str) -> None:
    """The words of the picture, from first to last, without the axis's numbers."""
    outcome, truth = DRAWN[name]
    words = re.findall(r">([^<>]*[^\W\d_][^<>]*)<", drawn(outcome, tmp_path, truth=truth))
    check_golden(PICTURES, name, "\n".join(words))


def test_of_a_winner_alone_nothing_is_drawn_without_a_truth(tmp_path: Path) -> None:
    assert draw_outcome(released(**WINNER_ALONE), title="A vote", truth=None, folder=tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full("two seconds of drawing")
def test_of_many_alternatives_the_first_are_drawn_and_many_marks_are_a_small_file(tmp_path: Path) -> None:
    text = drawn(released(MANY, MANY_GROUPS), tmp_path, truth=truth_of(MANY, MANY_GROUPS))
    assert ">A vote (the first 40 of 50 alternatives)<" in text
    assert ">a39<" in text
    assert ">a40<" not in text
    assert len(text) < 1_000_000


@pytest.mark.few(most=1)
@pytest.mark.parametrize("mechanism", ["laplace", "sampling", "exponential", "local", "noisy_scores"])
def test_what_the_protocol_releases_is_shown_with_its_own_truth(tmp_path: Path, mechanism: Any) -> None:
    names = ("pier", "fair", "zoo")
    vote = FairVoting(
        Parameters(alternatives=names, groups=("b", "a"), group_sizes=(40, 20), mechanism=mechanism, num_samples=20)
    )
    rankings = ["pier > fair > zoo"] * 30 + ["zoo > fair > pier"] * 20 + ["fair > zoo > pier"] * 10
    inputs: Inputs = vote.encode({"group": ["b"] * 40 + ["a"] * 20, "ranking": rankings})
    outcome = run_population(vote, inputs, noise=SimulatedNoise(1, session="s")).outcome
    truth = vote.truth(inputs)
    page = shown(outcome, truth=truth)
    assert verdict_of(outcome).startswith(f"{outcome.winner} wins, ")
    assert "plurality" in page.text
    rows = rows_of(outcome, truth=truth)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(rows[0]))
    writer.writerows(rows)
    read = list(csv.DictReader(io.StringIO(text.getvalue(), newline=""), fieldnames=list(rows[0])))
    # Group b: pier first 30 times, zoo first 10 times; group a: fair and zoo first 10 times each.
    assert [float(row["true_utility (b)"]) for row in read] == [1.5, 1.0, 0.5]
    assert [float(row["true_utility (a)"]) for row in read] == [0.0, 1.5, 1.5]
    assert [float(row["true_welfare"]) for row in read] == pytest.approx([1.0, 7 / 6, 5 / 6])
    assert all(row["welfare"] == "" or math.isfinite(float(row["welfare"])) for row in read)
    drawn(outcome, tmp_path, truth=truth)
