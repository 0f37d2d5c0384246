"""Elections as readers see them: who wins, how well that serves each group, how sure that is, and what it cost."""

import csv
import functools
import io
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec
import pages
import pytest
from pages import Page, drawn
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.estimators import Estimate
from psephos.protocol.fair_voting import AlternativeOutcome, Assurance, FairVoting, Outcome, Parameters
from psephos.protocol.fair_voting.kinds import BY_QUALITY, CENTRAL, MechanismName
from psephos.protocol.fair_voting.objective import ObjectiveName
from psephos.protocol.fair_voting.outcome import Details
from psephos.protocol.phases import Inputs
from psephos.scenarios.presentation import draw_outcome, rows_of, verdict_of
from runs import read_rows

shown = functools.partial(pages.shown, width=110)
RULES = ("this objective", "least disparity", "plurality", "borda", "copeland", "egalitarian")
# Mean utilities to a group of 300 voters and to one of 100.
UTILITIES = {"pier": (2.5, 1.0), "fair": (1.5, 1.4), "zoo": (0.5, 2.5)}
GROUPS = {"north": 300, "south": 100}
SURE = Assurance(
    probability=0.999, prior="uniform differences", verdict="confirmed", level=0.05, p_value=0.001, shortfall=None
)
CLOSE = Assurance(
    probability=0.731,
    prior="uniform differences",
    verdict="too close to tell",
    level=0.05,
    p_value=0.26,
    shortfall=None,
)
ALONE = Assurance(probability=None, prior=None, verdict=None, level=0.05, p_value=None, shortfall=0.0903)


def served(utilities: Sequence[float], sizes: Sequence[int]) -> tuple[float, float]:
    """Return welfare and disparity."""
    welfare = sum(value * size for value, size in zip(utilities, sizes, strict=True)) / sum(sizes)
    return welfare, max(utilities) - min(utilities)


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
        welfare, disparity = served(values, sizes)
        deviations = errors or [0.1] * len(values)
        alternatives.append(
            AlternativeOutcome(
                name=name,
                utilities=tuple(Estimate(value, error) for value, error in zip(values, deviations, strict=True)),
                welfare=Estimate(welfare, 0.08 * any(deviations)),
                disparity=disparity,
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
    return Outcome(**{**fields, **options})


def truth_of(
    utilities: Mapping[str, Sequence[float]] = UTILITIES, groups: Mapping[str, int] = GROUPS, **winners: str
) -> dict[str, Any]:
    """Return the truth that has these mean utilities; every rule elects the first alternative unless told otherwise."""
    told: dict[str, Any] = {
        f"{name} ({group})": value
        for name, values in utilities.items()
        for group, value in zip(groups, values, strict=True)
    }
    first = next(iter(utilities))
    return {**told, **{rule: winners.get(rule.replace(" ", "_"), first) for rule in RULES}}


IF_DIFFERENCES = "if all differences between the groups are equally likely"
WINNER_ALONE: dict[str, Any] = {"alternatives": (), "mechanism": "exponential", "winner": "pier", "assurance": ALONE}
MANY_GROUPS = {f"district {number}": 10 + number for number in range(1000)}
MANY = {f"a{place}": [0.001 * number * (1 + 0.1 * place) for number in range(1000)] for place in range(50)}


def row_of(page: Page, beginning: str) -> str:
    """Return the first line of a table that begins so."""
    return next(line for line in page.text.splitlines() if line.startswith(f"{beginning} ") and " wins" not in line)


def cells_of(page: Page, beginning: str) -> list[str]:
    """Return the cells of that line."""
    return re.split(r" {2,}", row_of(page, beginning).strip())


def said_of(page: Page, fact: str) -> str:
    """Return what stands beside a fact."""
    return next(line for line in page.text.splitlines() if line.startswith(fact)).removeprefix(fact).strip()


def test_a_winner_is_never_announced_without_how_sure_that_is() -> None:
    page = shown(released())
    assert said_of(page, "Verdict") == "It is the best: wrong in at most 5 % of such votes, whatever the rankings are."
    page = shown(released(assurance=CLOSE), width=250)
    undecided = "Whether it is the best is undecided at a level of 5 %."
    chance = f"The probability that it is the best is 0.73, {IF_DIFFERENCES}; near a tie it says nothing."
    assert said_of(page, "Verdict") == f"{undecided} {chance}"


def test_of_a_winner_alone_it_is_said_what_holds_whoever_wins() -> None:
    page = shown(released(**WINNER_ALONE))
    assert said_of(page, "Verdict") == "With 95 % certainty no other one's quality is higher by 0.091 or more."
    nothing = Assurance(
        probability=0.3, prior="uniform utilities", verdict=None, level=0.1, p_value=None, shortfall=None
    )
    alone: dict[str, Any] = {**WINNER_ALONE, "assurance": nothing}
    page = shown(released(**alone))
    assert said_of(page, "Verdict").startswith("The probability that it is the best is 0.30, if all utilities of all")


def test_an_alternative_has_welfare_utilities_to_each_group_and_disparity() -> None:
    page = shown(released())
    assert cells_of(page, "Alternative") == ["Alternative", "Welfare", "north (300)", "south (100)", "Disparity"]
    assert cells_of(page, "pier") == ["pier", "2.125 ± 0.080", "2.50 ± 0.10", "1.00 ± 0.10", "1.50"]


def test_under_parity_alternatives_stand_by_their_disparity() -> None:
    page = shown(released())
    assert [words[0] for words in page.lines if words and words[0] in UTILITIES and words[1] != "wins"] == [
        *("fair", "pier", "zoo")
    ]


@pytest.mark.parametrize(
    ("options", "below"),
    [
        ({"objective": "constrained", "max_disparity": 0.5}, ("fair", "pier")),
        ({"objective": "constrained", "max_disparity": 1.6}, ("pier", "fair")),
        ({"objective": "penalized", "fairness_weight": 1.0}, ("fair", "pier")),
        ({"objective": "penalized", "fairness_weight": 0.1}, ("pier", "fair")),
    ],
)
def test_below_the_winner_alternatives_stand_as_the_objective_has_them(
    options: dict[str, Any], below: tuple[str, str]
) -> None:
    """Welfare 2.125, 1.475 and 1, disparity 1.5, .1 and 2 of pier, fair and zoo."""
    page = shown(released(winner="zoo", **options))
    assert [words[0] for words in page.lines if words and words[0] in UTILITIES and words[1] != "wins"] == [
        *("zoo", *below)
    ]


@pytest.mark.parametrize(("limit", "is_kept"), [(0.05, False), (0.2, True)])
def test_that_nothing_keeps_the_limit_is_said(limit: float, is_kept: bool) -> None:  # noqa: FBT001  a parameter of pytest's
    page = shown(released(objective="constrained", max_disparity=limit))
    assert ("none is within it" in page.text) is not is_kept


@pytest.mark.parametrize(
    ("utilities", "errors", "cells"),
    [
        (UTILITIES, (0.0042, 1.3), ["1.000 ± 0.080", "0.5000 ± 0.0042", "2.5 ± 1.3", "2.0"]),
        (UTILITIES, (0.0, 0.0), ["1.00", "0.50", "2.50", "2.00"]),
        ({"zoo": (-0.004, -0.2)}, (0.1, 0.1), ["-0.053 ± 0.080", "0.00 ± 0.10", "-0.20 ± 0.10", "0.20"]),
        ({"zoo": (0.0, 0.0)}, (0.0, 0.0), ["0", "0", "0", "0"]),
    ],
    ids=["two errors", "no errors", "what is rounded to 0 has no sign", "all are 0"],
)
def test_each_column_has_as_many_decimals_as_its_errors_deserve(
    utilities: Mapping[str, Sequence[float]], errors: Sequence[float], cells: list[str]
) -> None:
    page = shown(released(utilities, errors=errors))
    assert cells_of(page, "zoo") == ["zoo", *cells]
    assert "True" not in page.text  # where no truth is given
    assert "Non-private" not in page.text


def test_the_truth_stands_beside_where_it_may_be_shown() -> None:
    page = shown(released(), truth=truth_of({"pier": (2.4, 1.2), "fair": (1.0, 2.0), "zoo": (0.0, 3.0)}))
    assert cells_of(page, "Alternative")[-2:] == ["True welfare", "True disparity"]
    assert cells_of(page, "fair")[-2:] == ["1.250", "1.00"]
    assert cells_of(page, "zoo")[-2:] == ["0.750", "3.00"]


def rules_of(page: Page) -> list[list[str]]:
    """Return the rows of the table of rules without privacy."""
    _, _, table = page.text.partition("Non-private winner")
    rows, _, _ = table.partition("\n  welfare: ")
    return [re.split(r" {2,}", line.strip()) for line in rows.splitlines()[2:]]


def test_rules_without_privacy_stand_by_whom_they_elect_with_its_welfare_and_disparity() -> None:
    page = shown(released(), truth=truth_of(this_objective="fair", least_disparity="fair", copeland="zoo"))
    assert rules_of(page) == [
        ["fair", "this objective, least disparity", "1.48", "0.10"],
        ["pier", "plurality, borda, egalitarian", "2.12", "1.50"],
        ["zoo", "copeland", "1.00", "2.00"],
    ]


def test_a_rule_with_tied_winners_has_the_range_of_what_they_give() -> None:
    page = shown(released(), width=120, truth=truth_of(borda="pier, fair"))
    assert rules_of(page)[1] == ["pier, fair", "borda", "1.48 to 2.12", "0.10 to 1.50"]


def test_a_comma_in_a_name_is_no_tie() -> None:
    utilities = {"sun": (1.0, 1.0), "sun, sea": (2.0, 1.0), "sea": (0.0, 3.0)}
    truth = truth_of(utilities, borda="sun, sea", copeland="sun, sun, sea, sea")
    _, borda, copeland = rules_of(shown(released(utilities), truth=truth))
    assert borda == ["sun, sea", "borda", "1.75", "1.00"]
    assert copeland == ["sun, sun, sea, sea", "copeland", "0.75 to 1.75", "0.00 to 3.00"]


@pytest.mark.parametrize("mechanism", ["sampling", "exponential", "permute_and_flip"])
def test_where_only_the_winner_is_released_that_is_said_and_no_estimate_shown(mechanism: str) -> None:
    outcome = released(alternatives=(), mechanism=mechanism, winner="zoo")
    page = shown(outcome)
    assert "Only the winner is released, and no estimate." in page.text
    assert verdict_of(outcome).startswith("zoo wins, ")
    assert "±" not in page.text
    assert "Welfare" not in page.text


def test_where_only_the_winner_is_released_the_truth_is_said_to_be_one() -> None:
    page = shown(released(**WINNER_ALONE), truth=truth_of())
    assert "The truth, which nobody was told:" in page.text
    assert cells_of(page, "fair") == ["fair", "1.48", "1.50", "1.40", "0.10"]
    rows = [words[0] for words in page.lines if words and words[0] in UTILITIES and len(words) == 5]
    assert rows == ["pier", "fair", "zoo"]
    assert "noise" not in page.text


@pytest.mark.parametrize("objective", get_args(ObjectiveName))
@pytest.mark.parametrize("mechanism", sorted({*get_args(MechanismName)} - {"local", "joint"}))
def test_every_mechanism_and_objective_has_its_words(mechanism: MechanismName, objective: ObjectiveName) -> None:
    model = "central" if mechanism in CENTRAL else "local"
    page = shown(released(mechanism=mechanism, model=model, objective=objective))
    assert re.search(rf"^Objective +{objective}: the ", page.text, re.MULTILINE)
    assert re.search(rf"^Mechanism +{mechanism}: \w", page.text, re.MULTILINE)


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


def test_notes_say_what_errors_mean_in_each_model() -> None:
    assert "the noise; who sent nothing counts as indifferent" in shown(released()).text
    local: dict[str, Any] = {"model": "local", "num_reports": (300, 100)}
    page = shown(released(mechanism="sampled_pair", **local))
    assert "one standard error of the randomization" in page.text
    assert "indifferent" not in page.text
    assert "noise makes it larger on average" in page.text


def test_reports_are_shown_where_voters_are_missing() -> None:
    local: dict[str, Any] = {"model": "local", "mechanism": "noisy_scores"}
    page = shown(released(**local, num_reports=(290, 0)))
    assert re.search(r"^Voters +400: 300 of north, 100 of south *$", page.text, re.MULTILINE)
    assert re.search(r"^Reports +290: 290 of north, 0 of south *$", page.text, re.MULTILINE)
    assert "a group without a report counts as indifferent" in page.text
    assert "Reports" not in shown(released(**local, num_reports=(300, 100))).text


def test_of_many_groups_the_worst_and_the_best_off_are_shown() -> None:
    groups = {f"district {number}": 10 for number in range(9)}
    utilities = {"pier": [2.0, 1.9, 1.8, 0.5, 2.6, 2.0, 2.0, 2.0, 2.0], "zoo": [1.0] * 8 + [3.0]}
    page = shown(released(utilities, groups))
    assert cells_of(page, "Alternative")[1:] == [
        *("Welfare", "Least", "Worst off", "Greatest", "Best off", "Disparity")
    ]
    assert cells_of(page, "pier")[2:] == ["0.50 ± 0.10", "district 3", "2.60 ± 0.10", "district 4", "2.10"]
    assert "10 of district 7, and 1 more groups" in re.sub(r"\s+", " ", page.text)


def test_groups_with_long_names_are_shortened() -> None:
    groups = {"those who live in the north of the town": 300, "those who live elsewhere in the district": 100}
    page = shown(released(groups=groups), width=90)
    assert cells_of(page, "pier")[-2:] == ["those who live …", "1.50"]


@pytest.mark.parametrize("width", [36, 50, 60, 80, 110])
def test_a_narrow_terminal_gets_fewer_columns_and_whole_numbers(width: int) -> None:
    page = shown(released(), width=width, truth=truth_of(borda="pier, fair"))
    is_one_below_the_other = width == 36  # no room for three columns
    assert ("\npier\n  Welfare  2.125 ± 0.080\n  Disparity  1.50\n" in page.text) == is_one_below_the_other
    assert is_one_below_the_other or "2.125 ± 0.080" in row_of(page, "pier")
    assert max(map(len, page.text.splitlines())) <= width
    assert "…" not in page.text
    header = page.text.splitlines()[0]
    assert ("True welfare" in header) == (width == 110)
    said = " ".join(page.text.split())
    assert ("for want of room in" in said) == (width < 110)
    assert ("north (300)" in header) == (width >= 80)
    assert "Its disparity" in page.text


@pytest.mark.full("a picture more")
@pytest.mark.parametrize("width", [80, 110])
def test_a_thousand_groups_and_fifty_alternatives_fit(width: int) -> None:
    page = shown(released(MANY, MANY_GROUPS), width=width, truth=truth_of(MANY, MANY_GROUPS), table="outcome.json")
    assert max(map(len, page.text.splitlines())) <= width
    assert "and 10 more alternatives in outcome.json" in page.text
    assert "and 992 more groups" in page.text
    for place in range(40):
        assert " ± " in row_of(page, f"a{place}")


@pytest.mark.parametrize(
    "options",
    [
        {"objective": "constrained"},
        {"mechanism": "sampled_pair", "model": "local", "num_reports": (300, 0)},
        {"mechanism": "noisy_scores", "model": "local", "num_reports": (300, 0)},
        WINNER_ALONE,
    ],
)
def test_no_note_needs_a_second_line_of_80_characters(options: Any) -> None:
    lines = shown(released(**options), width=80, truth=truth_of()).text.splitlines()
    below = lines[[line.startswith("  welfare: ") for line in lines].index(True) :]
    below = below[: below.index("")]
    assert len(below) >= 2
    assert all(line.startswith("  ") for line in below)


@pytest.mark.parametrize("name", ["$5 to $6", "_hidden_", "日本の港", "Ελληνικά", "a (b)", "]x["])
def test_names_are_shown_as_they_are(name: str) -> None:
    utilities = {name: (2.0, 1.0), "zoo": (0.0, 1.0)}
    groups = {f"to {name}": 10, "others": 5}
    outcome = released(utilities, groups, winner=name)
    page = shown(outcome, truth=truth_of(utilities, groups))
    assert verdict_of(outcome).startswith(f"{name} wins, ")
    assert f"to {name} (10)" in page.text
    assert row_of(page, name)


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


def test_a_picture_has_the_winner_the_groups_and_what_was_elected(tmp_path: Path) -> None:
    text = drawn(released(), tmp_path)
    for said in (
        *UTILITIES,
        "A vote",
        "wins, confirmed",
        "to north (300)",
        "to south (100)",
        "whiskers: 2 standard errors",
        "laplace, parity",
    ):
        assert f">{said}<" in text, said
    assert "allowed" not in text
    assert "disparity 1.50" in text
    assert "truth" not in text
    places = [text.index(f">{name}<") for name in ("fair", "pier", "zoo")]
    assert places == sorted(places)


def test_the_truth_is_drawn_below_where_it_may_be_shown(tmp_path: Path) -> None:
    assert ">hollow, below: the truth<" in drawn(released(), tmp_path, truth=truth_of())


def test_where_only_the_winner_is_released_the_truth_is_drawn_or_nothing(tmp_path: Path) -> None:
    assert draw_outcome(released(**WINNER_ALONE), title="A vote", truth=None, folder=tmp_path) == []
    assert list(tmp_path.iterdir()) == []
    text = drawn(released(**WINNER_ALONE, epsilon_proven=None), tmp_path, truth=truth_of())
    assert "true mean utility; only the winner was released" in text
    assert ", parity, ε = 0.5 claimed, none proven<" in text
    assert "standard errors" not in text
    assert ">wins, how sure is not known<" in text


def test_more_groups_than_marks_are_drawn_alike(tmp_path: Path) -> None:
    groups = {f"district {number}": 10 for number in range(7)}
    utilities = {"pier": [0.1 * number for number in range(7)], "zoo": [1.0] * 7}
    text = drawn(released(utilities, groups), tmp_path, truth=truth_of(utilities, groups))
    assert ">to each of 7 groups<" in text
    assert ">below: the truth<" in text
    assert "district" not in text


@pytest.mark.full("two seconds of drawing")
def test_of_many_alternatives_the_first_are_drawn_and_many_marks_are_a_small_file(tmp_path: Path) -> None:
    text = drawn(released(MANY, MANY_GROUPS), tmp_path, truth=truth_of(MANY, MANY_GROUPS))
    assert ">A vote (the first 40 of 50 alternatives)<" in text
    assert ">a39<" in text
    assert ">a40<" not in text
    assert len(text) < 1_000_000


@pytest.mark.few(most=1)
@pytest.mark.parametrize("name", ["from $5 to $6", "$a$ $\\bad$", "_hidden", "a_b^c", "日本"])
def test_names_are_drawn_as_they_are(tmp_path: Path, name: str) -> None:
    utilities = {name: (2.0, 1.0), "zoo": (0.0, 3.0)}
    groups = {name: 10, "others": 5}
    text = drawn(released(utilities, groups), tmp_path, truth=truth_of(utilities, groups))
    assert f">{name}<" in text
    assert f">to {name} (10)<" in text


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


def test_a_verdict_says_who_wins_what_for_and_how_sure_that_is() -> None:
    sure = verdict_of(released(assurance=SURE))
    assert sure == (
        "fair wins, elected for the least disparity. It is the best: wrong in at most 5 % of such votes, whatever the "
        "rankings are."
    )
    close = verdict_of(released(assurance=CLOSE))
    assert close.startswith("fair wins, elected for the least disparity. Whether it is the best is undecided")
    assert close.endswith(
        f" The probability that it is the best is 0.73, {IF_DIFFERENCES}; near a tie it says nothing."
    )
    bare = verdict_of(released(assurance=msgspec.structs.replace(CLOSE, probability=None)))
    assert bare.endswith("Whether it is the best is undecided at a level of 5 %.")
    alone = verdict_of(released(assurance=ALONE))
    assert alone.endswith("With 95 % certainty no other one's quality is higher by 0.091 or more.")
    nothing = Assurance(probability=None, prior=None, verdict=None, level=0.05, p_value=None, shortfall=None)
    said = verdict_of(released(assurance=nothing))
    assert said.endswith("Nothing tells how near the others come: any of them may be better.")


@pytest.mark.few(most=1)
@pytest.mark.parametrize("mechanism", sorted(BY_QUALITY))
def test_a_limit_that_has_a_price_is_not_said_to_be_kept(tmp_path: Path, mechanism: MechanismName) -> None:
    """The verdict had "within a disparity of 0.6" of a winner whose disparity was .76."""
    alone: dict[str, Any] = {**WINNER_ALONE, "mechanism": mechanism, "max_disparity": 0.6, "fairness_weight": 2.0}
    limited = released(objective="constrained", **alone)
    assert "elected for the most welfare less 2 times the disparity beyond 0.6. With 95 %" in verdict_of(limited)
    assert said_of(shown(limited), "Objective").endswith("less 2 times the disparity beyond 0.6")
    details = Details(welfare_share=0.75, least_score=0.0)
    floored = released(objective="welfare_constrained", details=details, **alone)
    said = "elected for the least disparity plus 2 times what welfare is short of 75 % of the greatest. "
    assert said in verdict_of(floored)
    assert "this objective, its limit kept" in shown(limited, truth=truth_of(this_objective="fair")).text
    alone["mechanism"] = "sampling"
    strict = released(objective="constrained", **alone)
    assert "within a disparity of 0.6" in verdict_of(strict)
    for outcome, words in ((limited, "more than 0.6, at a price"), (strict, "more than the 0.6 allowed")):
        assert words in drawn(outcome, tmp_path, truth=truth_of())
    assert "limit kept" not in shown(strict, truth=truth_of(this_objective="fair")).text


def test_a_verdict_says_where_nothing_keeps_the_limit() -> None:
    said = verdict_of(released(objective="constrained", max_disparity=0.01))
    assert "within a disparity of 0.01; none is within it, so that the least disparity wins." in said
