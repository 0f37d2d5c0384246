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
from golden import check_golden
from makers import as_usual, preference_outcome
from pages import page_of
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.moral_preferences import Ball, LevelOutcome, Outcome, rank
from psephos.scenarios.moral_preferences.alternatives import (
    AlternativePair,
    parse_alternative,
    read_alternatives,
    read_pairs,
)
from psephos.scenarios.moral_preferences.decisions import (
    decide_pairs,
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


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("nowhere", None, "No such file"),
        (".", None, "neither result.json nor outcome.json"),
        ("run.json", "{}", "nothing was released; run.json says why"),
        ("result.json", result(OUTCOME, protocol="dpwevote"), "result.json"),
        (
            "outcome.json",
            '{"tasks": ["a"], "truths": ["b"]}',
            "outcome.json needs the key 'features'",
        ),
    ],
)
def test_what_is_no_run_of_preferences_is_refused(
    tmp_path: Path, write: Write, name: str, text: str | None, said: str
) -> None:
    if text:
        write(name, text)
    assert said in refusal_of(tmp_path if text == "{}" else tmp_path / name)


@pytest.mark.parametrize("content", ["", "no json", "[1, 2]", b"\xff\xfe", "[" * 100_000, '{"outcome": '])
def test_what_is_no_json_object_is_refused(content: str | bytes, write: Write) -> None:
    assert "a run's result or outcome in JSON" in refusal_of(write("outcome.json", content))


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"features": ("Man", "Man", "Dog")}, "its features are none, or repeated"),
        ({"features": (), "preferences": (), "errors": None}, "its features are none, or repeated"),
        ({"preferences": (1.0, 2.0)}, "preferences has 2 entries, and needs 3 entries, as features has"),
        ({"preferences": (1.0, 2.0, 1e101)}, "its preferences are not a number"),
        ({"errors": (0.1,)}, "errors has 1 entry, and needs 3 entries, as features has"),
        ({"errors": (0.1, -0.1, 0.1)}, "its errors are not a number of at least 0"),
        ({"paradigm": "XLDP"}, "Use one of VLCP, RLCP, VLDP, RLDP"),
        ({"levels": ()}, "its levels are none, or one has"),
        (
            {"levels": (LevelOutcome(epsilon=0.0, num_voters=1, weight=1.0),)},
            "its levels are none, or one has no voters",
        ),
        (
            {"levels": (LevelOutcome(epsilon=1.0, num_voters=0, weight=1.0),)},
            "its levels are none, or one has no voters",
        ),
        ({"ball": Ball(norm="l1", radius=0.0)}, "the radius of its ball is not above 0"),
        ({"ball": Ball(norm="l2", radius=1e101)}, "the radius of its ball is not above 0"),
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
        ("Man=1, Man=2", "--first", "named twice"),
        ("man=1", "--first", r"did you mean 'Man'\?"),
        ("Dgo=1", "--first", r"did you mean 'Dog'\?"),
        ("volcano=1", "--first", "one of Man, Dog, red, light=2"),
        ("=1", "--first", "one of Man, Dog"),
        ("Man=one", "Man in --first", r"is 'one': use a value from -1e\+09 to 1e\+09"),
        ("Man=nan", "Man in --first", "use a value from"),
        ("Man=-inf", "Man in --first", "use a value from"),
        ("Man=1.1e9", "Man in --first", "use a value from"),
        ('"Man=1', "--first", "as in 'Man=1, Dog=0'"),
    ],
)
def test_what_is_no_alternative_is_refused(text: str, field: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as refused:
        parse_alternative(text, OUTCOME, field=field.rpartition(" ")[2])
    assert refused.value.field == field


def test_of_many_features_an_error_names_the_first_ones() -> None:
    many = released(features=tuple(f"feature {n}" for n in range(40)), preferences=(0.0,) * 40, errors=None)
    with pytest.raises(ConfigurationError, match="feature 10, feature 11 and 28 more"):
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
            "is 'x': use a value from -1e+09 to 1e+09",
        ),
        ("pair,alternative,Man\n1,first,2e9\n1,second,1\n", "Man (pairs.csv line 2)", "-1e+09 to 1e+09"),
        ("pair,alternative,Mann\n1,first,1\n", "pairs.csv line 1", "did you mean 'Man'?"),
        ("pair,Man\n1,1\n", "pairs.csv line 1", "the columns 'pair', 'alternative' and features"),
        ("alternative,Man\nfirst,1\n", "pairs.csv line 1", "the columns 'pair', 'alternative' and features"),
        ("pair,alternative\n1,first\n", "pairs.csv line 1", "features after 'pair' and 'alternative'"),
        ("pair,alternative,Man\n1,first,1,1\n", "pairs.csv line 2", "and the header 3"),
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


PROJECTED = released(is_projected=True)
SAID: dict[str, tuple[Outcome, AlternativePair]] = {
    "undecided: a probability and a certainty": (OUTCOME, MAN_OR_DOGS),
    "the probability is that of the choice": (OUTCOME, pair({"Dog": 1.0}, {"Man": 1.0, "Dog": 0.0})),
    "a direction has no probability": (DIRECTION, MAN_OR_DOGS),
    "no certainty without errors": (POOLED, MAN_OR_DOGS),
    "no verdict, but a certainty": (PROJECTED, MAN_OR_DOGS),
    "worth the same": (OUTCOME, pair({"Man": 1.0}, {"Dog": 2.0})),
    "0 of every feature": (OUTCOME, pair({"Man": 1.0}, {"Dog": 0.0})),
    "the reports cancel out": (
        released(preferences=(0.0, 0.0, 0.0), errors=None, is_direction=True, mechanism="direction"),
        MAN_OR_DOGS,
    ),
    "all but certain": (OUTCOME, pair({"red, light=2": -40.0}, {"red, light=2": 0.0})),
    "a verdict": (OUTCOME, pair({}, {"Man": 40.0})),
    "one voter is no plural": (released(num_voters=1), MAN_OR_DOGS),
}
SEVERAL = [MAN_OR_DOGS, pair({"Dog": 40.0}, {}), pair({}, {"Man": 40.0}), pair({}, {})]
TABLES = {
    "several": OUTCOME,
    "several: no column for a probability": DIRECTION,
    "several: no column for a certainty": POOLED,
    "several: neither": released(is_direction=True, errors=None),
}
THREE = {"stay": {"Dog": 1.0}, "swerve": {"Man": 9.0}, "brake": {"Man": -9.0}}
RANKED: dict[str, tuple[Outcome, Mapping[str, Mapping[str, float]]]] = {
    "a ranking, its winner and ranks": (OUTCOME, THREE),
    "a ranking without errors": (
        released(errors=None, ball=None, mechanism="functional"),
        {"a": {"Man": 1.0}, "b": {}},
    ),
    "a ranking without a verdict": (PROJECTED, {"a": {"Man": 1.0}, "b": {}}),
    "the best are worth the same": (OUTCOME, {"a": {"Man": 1.0}, "b": {"Dog": 2.0}, "c": {}}),
}


@pytest.mark.parametrize("name", [*SAID, *TABLES, *RANKED])
def test_decisions_are_said_as_approved(name: str) -> None:
    if name in RANKED:
        outcome, alternatives = RANKED[name]
        page = page_of(show_ranking, outcome, rank(outcome, alternatives), width=80)
    elif name in TABLES:
        page = page_of(show_decisions, TABLES[name], SEVERAL, decide_pairs(TABLES[name], SEVERAL), width=80)
    else:
        outcome, asked = SAID[name]
        page = page_of(show_decision, outcome, asked, *decide_pairs(outcome, [asked]), width=80)
    assert max(map(len, page.text.splitlines())) <= 80
    check_golden(Path(__file__).with_name("decisions.txt"), name, page.text)


def test_a_prior_is_named() -> None:
    (decision,) = decide_pairs(OUTCOME, [MAN_OR_DOGS], prior="size")
    assert "(prior: size)" in page_of(show_decision, OUTCOME, MAN_OR_DOGS, decision).text


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
