"""Decisions of a released run: read from whatever a run leaves, of alternatives as text or in files, said in words."""

import gzip
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bad_input import refuses
from makers import as_usual, preference_outcome
from pages import Page, page_of
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.moral_preferences import Ball, LevelOutcome, Outcome
from psephos.scenarios.moral_preferences.alternatives import (
    AlternativePair,
    parse_alternative,
    read_alternatives,
    read_pairs,
)
from psephos.scenarios.moral_preferences.decisions import (
    decide_pairs,
    rank_alternatives,
    read_outcome,
    show_decision,
    show_decisions,
    show_ranking,
)

Write = Callable[[str, str | bytes], Path]

# One dog weighs as much as half a man; the third feature has a name that a list has to quote.
VALUES = (1.0, 0.5, -0.25)


released = as_usual(
    preference_outcome,
    preferences=VALUES,
    features=("Man", "Dog", "red, light=2"),
    errors=(0.3, 0.4, 0.0),
    num_voters=50,
)
"""Returns an outcome on three features with standard errors of 0.3, 0.4 and 0."""


OUTCOME = released()
DIRECTION = released(is_direction=True, paradigm="RLDP", mechanism="direction")
POOLED = released(errors=None, ball=None, paradigm="RLCP", mechanism="pooled")


def result(outcome: Outcome, **options: Any) -> str:
    """Return the text of a `result.json`."""
    fields: dict[str, Any] = {
        "session": "s",
        "protocol": "moral-preferences",
        "outcome": msgspec.to_builtins(outcome),
        "tallies": [],
    }
    return json.dumps({**fields, **options})


def normal(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


# Outcomes


def test_an_outcome_is_read_from_a_run_from_a_voters_folder_and_from_their_files(tmp_path: Path) -> None:
    for folder, name, text in (
        ("run", "result.json", result(OUTCOME)),
        ("voter", "outcome.json", msgspec.json.encode(OUTCOME).decode()),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text, encoding="utf-8")
        assert read_outcome(tmp_path / folder) == OUTCOME
        assert read_outcome(tmp_path / folder / name) == OUTCOME


def refusal_of(run: Path) -> str:
    """Return what is said against a run."""
    with refuses("RUN") as refused:
        read_outcome(run)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_no_run_is_said_to_be_none(tmp_path: Path) -> None:
    assert "No such file" in refusal_of(tmp_path / "nowhere")
    assert "neither result.json nor outcome.json" in refusal_of(tmp_path)


def test_a_run_that_failed_is_told_from_a_folder_that_is_no_run(tmp_path: Path, write: Write) -> None:
    write("run.json", "{}")
    assert "nothing was released; run.json says why" in refusal_of(tmp_path)


def test_a_run_of_another_protocol_is_refused_by_its_name(write: Write) -> None:
    path = write("result.json", result(OUTCOME, protocol="dpwevote"))
    assert "a run of protocol 'moral-preferences', got " in refusal_of(path)
    assert "'dpwevote'" in refusal_of(path)


def test_an_outcome_of_another_protocol_is_refused_by_what_it_lacks(write: Write) -> None:
    path = write("outcome.json", '{"tasks": ["a"], "truths": ["b"]}')
    assert "outcome.json needs the key 'features'" in refusal_of(path)


@pytest.mark.parametrize("content", ["", "no json", "[1, 2]", b"\xff\xfe", "[" * 100_000, '{"outcome": '])
def test_what_is_no_json_object_is_refused(content: str | bytes, write: Write) -> None:
    assert "a run's result or outcome in JSON" in refusal_of(write("outcome.json", content))


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"features": ("Man", "Man", "Dog")}, "features must be distinct"),
        ({"features": (), "preferences": (), "errors": None}, "features must be distinct"),
        ({"preferences": (1.0, 2.0)}, "preferences must be 3 entries, as features has"),
        ({"preferences": (1.0, 2.0, 1e101)}, "preferences must be a number for each feature"),
        ({"errors": (0.1,)}, "errors must be 3 entries, as features has"),
        ({"errors": (0.1, -0.1, 0.1)}, "errors must be a number ≥ 0 for each feature"),
        ({"paradigm": "XLDP"}, "It must be one of VLCP, RLCP, VLDP, RLDP"),
        ({"levels": ()}, "levels must have voters"),
        ({"levels": (LevelOutcome(epsilon=0.0, num_voters=1, weight=1.0),)}, "levels must have voters"),
        ({"levels": (LevelOutcome(epsilon=1.0, num_voters=0, weight=1.0),)}, "levels must have voters"),
        ({"ball": Ball(norm="l1", radius=0.0)}, "the radius of ball must be a number > 0"),
        ({"ball": Ball(norm="l2", radius=1e101)}, "the radius of ball must be a number > 0"),
    ],
)
def test_an_outcome_that_no_session_releases_is_refused(options: Any, fault: str, write: Write) -> None:
    written = json.loads(result(released()))
    written["outcome"] |= msgspec.to_builtins(options)  # as a file has it: no such outcome can be made
    assert fault in refusal_of(write("result.json", json.dumps(written)))


# Alternatives as text


@pytest.mark.parametrize(
    ("text", "alternative"),
    [
        ("Man=1", {"Man": 1.0}),
        (" Man = 1 ,Dog=-2.5", {"Man": 1.0, "Dog": -2.5}),
        ('Dog=0, "red, light=2=1e1"', {"Dog": 0.0, "red, light=2": 10.0}),
        ("Man=1000000000", {"Man": 1e9}),
    ],
)
def test_an_alternative_is_features_with_values(text: str, alternative: dict[str, float]) -> None:
    assert parse_alternative(text, OUTCOME, field="--first") == alternative


@pytest.mark.parametrize(
    ("text", "field", "said"),
    [
        ("", "--first", "features with their values"),
        ("  , ", "--first", "features with their values"),
        ("Man", "--first", "feature=value"),
        ("Man=1,", "--first", "feature=value"),
        ("Man=1, Man=2", "--first", "named once"),
        ("man=1", "--first", r"did you mean 'Man'\?"),
        ("Dgo=1", "--first", r"did you mean 'Dog'\?"),
        ("volcano=1", "--first", "one of Man, Dog, red, light=2"),
        ("=1", "--first", "one of Man, Dog"),
        ("Man=one", "Man in --first", r"a number in \[-1e\+09, 1e\+09\], got 'one'"),
        ("Man=nan", "Man in --first", "a number"),
        ("Man=-inf", "Man in --first", "a number"),
        ("Man=1.1e9", "Man in --first", "a number"),
        ('"Man=1', "--first", "as in 'Man=1, Dog=0'"),
    ],
)
def test_what_is_no_alternative_is_refused(text: str, field: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as refused:
        parse_alternative(text, OUTCOME, field=field.rpartition(" ")[2])
    assert refused.value.field == field


def test_of_many_features_an_error_names_the_first_ones() -> None:
    many = released(features=tuple(f"feature {n}" for n in range(40)), preferences=(0.0,) * 40, errors=None)
    with pytest.raises(ConfigurationError, match="feature 29 and 10 more"):
        parse_alternative("volcano=1", many, field="--first")


# Alternatives in files

PAIRS = """pair,alternative,Dog,Man
one,first,0,1
two,second,3,0
"b, c",first,0.5,-1e3
one, second ,2,0
two,first,0,0
"b, c",second,0,0
"""


def test_pairs_of_a_file_keep_the_order_in_which_they_appear(write: Write, tmp_path: Path) -> None:
    expected = [
        AlternativePair(name="one", first={"Dog": 0.0, "Man": 1.0}, second={"Dog": 2.0, "Man": 0.0}),
        AlternativePair(name="two", first={"Dog": 0.0, "Man": 0.0}, second={"Dog": 3.0, "Man": 0.0}),
        AlternativePair(name="b, c", first={"Dog": 0.5, "Man": -1000.0}, second={"Dog": 0.0, "Man": 0.0}),
    ]
    assert read_pairs(write("pairs.csv", PAIRS), OUTCOME) == expected
    packed = tmp_path / "pairs.csv.gz"
    packed.write_bytes(gzip.compress(PAIRS.encode()))
    assert read_pairs(packed, OUTCOME) == expected


@pytest.mark.parametrize(
    ("text", "field", "said"),
    [
        ("pair,alternative,Man\n1,first,1\n1,frist,0\n", "alternative (pairs.csv line 3)", "'first' or 'second'"),
        ("pair,alternative,Man\n1,first,1\n1,first,0\n", "alternative (pairs.csv line 3)", "named once"),
        (
            "pair,alternative,Man\n2,first,1\n2,second,1\n1,second,1\n",
            "pair '1' (pairs.csv line 4)",
            "the first one is",
        ),
        ("pair,alternative,Man\n1,first,1\n", "pair '1' (pairs.csv line 2)", "the second one is missing"),
        (
            "pair,alternative,Man\n1,first,1\n1,second,x\n",
            "Man (pairs.csv line 3)",
            "a number in [-1e+09, 1e+09], got 'x'",
        ),
        ("pair,alternative,Man\n1,first,2e9\n1,second,1\n", "Man (pairs.csv line 2)", "1e+09], got"),
        ("pair,alternative,Mann\n1,first,1\n", "pairs.csv line 1", "did you mean 'Man'?"),
        ("pair,Man\n1,1\n", "pairs.csv line 1", "the columns 'pair', 'alternative' and features"),
        ("alternative,Man\nfirst,1\n", "pairs.csv line 1", "the columns 'pair', 'alternative' and features"),
        ("pair,alternative\n1,first\n", "pairs.csv line 1", "features after 'pair' and 'alternative'"),
        ("pair,alternative,Man\n1,first,1,1\n", "pairs.csv line 2", "3 entries"),
        ("pair,alternative,Man\n", "pairs.csv", "rows"),
        ("", "pairs.csv", "a header"),
    ],
)
def test_a_fault_in_a_file_is_named_with_its_line(text: str, field: str, said: str, write: Write) -> None:
    with refuses(field, said=said):
        read_pairs(write("pairs.csv", text), OUTCOME)


def test_a_file_that_is_not_there_is_blamed_on_its_option(tmp_path: Path) -> None:
    with refuses("--pairs"):
        read_pairs(tmp_path / "pairs.csv", OUTCOME)


# Decisions


def pair(first: dict[str, float], second: dict[str, float]) -> AlternativePair:
    return AlternativePair(name="p", first=first, second=second)


MAN_OR_DOGS = pair({"Man": 1.0}, {"Dog": 1.0})


def test_decisions_are_those_of_the_probit_model() -> None:
    # 1 − 0.5; with B = 2 and d = 3, τ² = 2·4/20 = 0.4, and each error counts by 0.4/(0.4 + its square).
    shares = 0.4 / 0.49, 0.4 / 0.56
    reach = (shares[0] - shares[1] / 2) / math.sqrt(0.09 * shares[0] + 0.16 * shares[1])
    (decision,) = decide_pairs(OUTCOME, [MAN_OR_DOGS])
    assert (decision.choice, decision.margin) == ("first", 0.5)
    assert decision.probability == pytest.approx(normal(0.5), abs=1e-15)
    assert decision.certainty == pytest.approx(normal(reach), abs=1e-14)
    assert decision.certainty == pytest.approx(0.855, abs=5e-4)


def said(outcome: Outcome, decided: AlternativePair) -> str:
    """Return a decision in words, on one line."""
    (decision,) = decide_pairs(outcome, [decided])
    page = page_of(show_decision, outcome, decided, decision, width=80)
    assert max(map(len, page.text.splitlines())) <= 80
    return " ".join(page.text.split())


def test_a_choice_is_said_with_its_probability_and_its_certainty() -> None:
    text = said(OUTCOME, MAN_OR_DOGS)
    assert text.startswith("Undecided at 5 %. By the release the society prefers the first, but the noise ")
    assert " first Man 1 0.691 second Dog 1 0.309 preferred: the probability " in text
    assert "certainty 0.855: the chance of the same choice without the noise" in text
    assert "The release of 50 voters (VLDP, laplace) is taken as it is." in text


def test_the_probability_in_words_is_that_of_the_choice() -> None:
    text = said(OUTCOME, pair({"Dog": 1.0}, {"Man": 1.0, "Dog": 0.0}))
    assert "prefers the second" in text
    assert " first Dog 1 0.309 second Man 1 0.691 " in text


def test_of_a_direction_no_probability_is_said_and_why() -> None:
    text = said(DIRECTION, MAN_OR_DOGS)
    assert " first Man 1 second Dog 1 no probability: only the direction" in text
    assert "certainty 0.855: " in text
    assert "Preferred" not in text


def test_without_errors_no_certainty_is_said_and_why() -> None:
    text = said(POOLED, MAN_OR_DOGS)
    assert text.startswith(
        "By the release the society prefers the first. How much the noise may have changed that is not"
    )
    assert " first Man 1 0.691 " in text
    assert "no certainty: the errors of 'pooled' have no closed form" in text
    assert "certainty 0" not in text


def test_without_a_verdict_the_sentence_has_the_certainty_where_there_is_one() -> None:
    """It said that nothing is known, and the certainty stood below."""
    projected = released(is_projected=True)
    text = said(projected, MAN_OR_DOGS)
    (decision,) = decide_pairs(projected, [MAN_OR_DOGS])
    chance = f"with a probability of {decision.certainty:.3f}, on average over societies (prior: ball)"
    assert f"prefers the first. Without the noise the choice is the same {chance}" in text
    assert "is not known" not in text
    text = " ".join(ranked(projected, {"a": {"Man": 1.0}, "b": {}}).split())
    assert "the winner is the same with a probability of at least 0." in text
    assert "is not known" not in text


def test_of_alternatives_that_are_worth_the_same_neither_is_preferred() -> None:
    text = said(OUTCOME, pair({"Man": 1.0}, {"Dog": 2.0}))
    assert text.startswith("The society prefers neither: both are worth the same to it. ")
    assert " first Man 1 0.500 second Dog 2 0.500 " in text
    assert "certain" not in text
    assert "second 0 of every feature" in said(OUTCOME, pair({"Man": 1.0}, {"Dog": 0.0}))


def test_where_the_reports_cancel_out_neither_is_preferred() -> None:
    nothing = released(preferences=(0.0, 0.0, 0.0), errors=None, is_direction=True, mechanism="direction")
    assert "prefers neither: the reports cancel out" in said(nothing, MAN_OR_DOGS)


def test_what_is_all_but_certain_is_never_said_to_be_certain() -> None:
    text = said(OUTCOME, pair({"red, light=2": -40.0}, {"red, light=2": 0.0}))
    assert " first red, light=2 -40 > 0.999 second " in text
    assert "certainty > 0.999: " in text


def test_a_verdict_is_said_with_its_level() -> None:
    assert said(OUTCOME, MAN_OR_DOGS).startswith("Undecided at 5 %.")
    assert said(OUTCOME, pair({}, {"Man": 40.0})).startswith(
        "The society prefers the second. Wrong in at most 5 % of such votes, whatever the society is."
    )
    assert "verdict" not in said(POOLED, MAN_OR_DOGS).replace("no verdict: the errors", "")


def test_the_prior_is_named_with_what_it_claims_too_much_of() -> None:
    assert "anywhere in the ball of the bound (prior: ball)" in said(OUTCOME, MAN_OR_DOGS)
    (decision,) = decide_pairs(OUTCOME, [MAN_OR_DOGS], prior="size")
    assert "(prior: size)" in page_of(show_decision, OUTCOME, MAN_OR_DOGS, decision).text
    with pytest.raises(ConfigurationError, match="prior must be one of ball, size"):
        decide_pairs(OUTCOME, [MAN_OR_DOGS], prior="flat")


def test_one_voter_is_no_plural() -> None:
    assert "of 1 voter (" in said(released(num_voters=1), MAN_OR_DOGS)


SEVERAL = [MAN_OR_DOGS, pair({"Dog": 40.0}, {}), pair({}, {"Man": 40.0}), pair({}, {})]


def table(outcome: Outcome) -> Page:
    """Return the page of several decisions."""
    page = page_of(show_decisions, outcome, SEVERAL, decide_pairs(outcome, SEVERAL), width=80)
    assert max(map(len, page.text.splitlines())) <= 80
    return page


def test_several_decisions_have_a_line_each_and_a_sum() -> None:
    page = table(OUTCOME)
    head = page.lines.index(["Pair", "Choice", "Margin", "P(first)", "Certainty", "Verdict"])
    assert page.lines[head + 2 : head + 6] == [
        ["p", "first", "+0.5", "0.691", "0.855", "undecided"],
        ["p", "first", "+20", ">", "0.999", "0.855", "undecided"],
        ["p", "second", "-40", "<", "0.001", "0.999", "second"],
        ["p", "neither", "0", "0.500", "undecided"],
    ]
    said_first = "Of 4 pairs the society prefers the first in 2, the second in 1, neither in 1. 3 are undecided."
    assert " ".join(page.text.split()).startswith(said_first)
    assert "P(first): the probability" in page.text


def test_a_table_has_no_column_for_what_is_not_known() -> None:
    assert ["Pair", "Choice", "Margin", "Certainty", "Verdict"] in table(DIRECTION).lines
    assert ["Pair", "Choice", "Margin", "P(first)"] in table(POOLED).lines
    assert ["Pair", "Choice", "Margin"] in table(released(is_direction=True, errors=None)).lines


# Several alternatives

LIST = "alternative,Man,Dog\nswerve,1,0\nstay,0,2\nbrake,2,0\n"


def test_alternatives_of_a_file_keep_their_names_and_their_order(write: Write) -> None:
    read = read_alternatives(write("list.csv", LIST), released())
    assert list(read.items()) == [
        ("swerve", {"Man": 1.0, "Dog": 0.0}),
        ("stay", {"Man": 0.0, "Dog": 2.0}),
        ("brake", {"Man": 2.0, "Dog": 0.0}),
    ]


@pytest.mark.parametrize(
    ("text", "field", "said"),
    [
        ("name,Man\na,1\n", "list.csv line 1", "a header with the columns 'alternative' and features"),
        ("alternative\na\n", "list.csv line 1", "a header with features after 'alternative'"),
        ("alternative,Cat\na,1\n", "list.csv line 1", "one of Man, Dog"),
        ("alternative,Man\na,1\na,2\n", "alternative (list.csv line 3)", "that no other alternative has"),
        ("alternative,Man\n ,1\n", "alternative (list.csv line 2)", "a name of printable characters"),
        ("alternative,Man\na,one\n", "Man (list.csv line 2)", "a number in"),
    ],
)
def test_a_fault_in_a_list_is_named_with_its_line(text: str, field: str, said: str, write: Write) -> None:
    with refuses(field, allowed=said):
        read_alternatives(write("list.csv", text), released())


def ranked(outcome: Outcome, alternatives: Mapping[str, Mapping[str, float]], **options: Any) -> str:
    return page_of(show_ranking, outcome, rank_alternatives(outcome, alternatives, **options)).text


def test_a_ranking_is_said_with_its_winner_and_its_ranks() -> None:
    alternatives = {"stay": {"Dog": 1.0}, "swerve": {"Man": 9.0}, "brake": {"Man": -9.0}}
    text = ranked(released(), alternatives)
    assert text.startswith("\nOf 3 alternatives the society prefers swerve. Wrong in at most 5 % of such ")
    assert "certainty 0.996: at least the chance of the same winner" in text
    assert "ranks without noise: noise makes any of them wrong with a probability of at most 5 %" in text
    lines = [line.split() for line in text.splitlines()]
    assert ["swerve", "+9", "1", "1"] in lines
    assert ["stay", "+0.5", "2", "2"] in lines
    assert ["brake", "-9", "3", "3"] in lines


def test_of_a_ranking_without_errors_no_certainty_is_said_and_why() -> None:
    text = ranked(released(errors=None, ball=None, mechanism="functional"), {"a": {"Man": 1.0}, "b": {}})
    assert "no certainty: the errors of 'functional' have no closed form" in text
    assert "no verdict: " in text
    assert "Ranks without noise" not in text


def test_of_equal_alternatives_none_wins() -> None:
    text = ranked(released(), {"a": {"Man": 1.0}, "b": {"Dog": 2.0}, "c": {}})
    assert text.startswith("\nThe society prefers none: the best are worth the same to it.")
