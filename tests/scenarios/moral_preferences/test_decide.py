"""`psephos decide`: what it prints, where, and with which exit status."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.moral_preferences import (
    MoralPreferences,
    Outcome,
    Paradigm,
    Parameters,
    compare_societies,
    decide,
    rank,
)

Psephos = Callable[..., Any]
Write = Callable[[str, str | bytes], Path]

PAIRS = "pair,alternative,Man,Dog\na,first,1,0\na,second,0,2\nb,first,0,0\nb,second,1,1\n"
ONE = ("--first", "Man=1, Dog=0", "--second", "Man=0, Dog=2")


@pytest.fixture
def outcome(tmp_path: Path) -> Outcome:
    """What a small session released, in the folder `run`."""
    generator = np.random.default_rng(2)
    protocol = MoralPreferences(Parameters(features=("Man", "Dog"), epsilon=5.0))
    inputs = protocol.encode({"records": [generator.normal(size=(4, 2, 2)) for _ in range(30)]})
    released = run_population(protocol, inputs, noise=SimulatedNoise(1, session="s")).outcome
    (tmp_path / "run").mkdir()
    written: dict[str, Any] = {"session": "s", "protocol": protocol.name, "outcome": released, "tallies": []}
    (tmp_path / "run/result.json").write_bytes(msgspec.json.encode(written))
    (tmp_path / "run/outcome.json").write_bytes(msgspec.json.encode(released))
    return released


def test_a_decision_is_said_in_words(psephos: Psephos, outcome: Outcome) -> None:
    ended = psephos("decide", "run", *ONE)
    assert (ended.status, ended.err) == (0, "")
    chosen = decide(outcome, {"Man": 1.0}, {"Dog": 2.0}).choice
    assert decide(outcome, {"Man": 1.0}, {"Dog": 2.0}).verdict == "undecided"
    said = " ".join(ended.out.split())
    parts = [
        f"Undecided at 5 %. By the release the society prefers the {chosen}, but the noise alone may have",
        "Alternative Features Preferred",
        "certainty 0.",
        "Privacy loss per person: none: a decision is computed from the release alone.",
        "Trust: The release of ",
    ]
    places = [said.index(part) for part in parts]
    assert places == sorted(places)  # the order of a run
    assert places[0] == 0
    assert not re.search(r"[ \t]+$", ended.out, re.MULTILINE)
    assert "\x1b[" not in ended.out


@pytest.mark.parametrize("run", ["run", "run/result.json", "run/outcome.json"])
def test_json_is_the_decision_and_nothing_else(psephos: Psephos, outcome: Outcome, run: str) -> None:
    ended = psephos("decide", run, *ONE, "--json")
    assert (ended.status, ended.err) == (0, "")
    assert json.loads(ended.out) == msgspec.to_builtins(decide(outcome, {"Man": 1.0}, {"Dog": 2.0}))


def test_pairs_of_a_file_are_a_table_or_a_line_of_json_each(psephos: Psephos, outcome: Outcome, write: Write) -> None:
    write("pairs.csv", PAIRS)
    ended = psephos("decide", "run", "--pairs", "pairs.csv")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.lstrip().startswith("Of 2 pairs the society prefers")
    ended = psephos("decide", "run", "--pairs", "pairs.csv", "--json")
    assert (ended.status, ended.err) == (0, "")
    expected = [decide(outcome, {"Man": 1.0}, {"Dog": 2.0}), decide(outcome, {}, {"Man": 1.0, "Dog": 1.0})]
    assert [json.loads(line) for line in ended.out.splitlines()] == [
        {"pair": name, **msgspec.to_builtins(decision)} for name, decision in zip("ab", expected, strict=True)
    ]


def test_alternatives_of_a_file_are_ranked(psephos: Psephos, outcome: Outcome, write: Write) -> None:
    write("list.csv", "alternative,Man,Dog\na,1,0\nb,0,2\nc,1,1\n")
    ended = psephos("decide", "run", "--alternatives", "list.csv", "--level", "0.3", "--json")
    assert (ended.status, ended.err) == (0, "")
    made = rank(outcome, {"a": {"Man": 1.0}, "b": {"Dog": 2.0}, "c": {"Man": 1.0, "Dog": 1.0}}, level=0.3)
    assert json.loads(ended.out) == json.loads(msgspec.json.encode(made))
    ended = psephos("decide", "run", "--alternatives", "list.csv")
    assert (ended.status, ended.err) == (0, "")
    assert f"f 3 alternatives the society prefers {made.winner}" in " ".join(ended.out.split())


def test_level_and_prior_are_those_that_are_asked_for(psephos: Psephos, outcome: Outcome) -> None:
    ended = psephos("decide", "run", *ONE, "--level", "0.3", "--prior", "size", "--json")
    expected = decide(outcome, {"Man": 1.0}, {"Dog": 2.0}, level=0.3, prior="size")
    assert (expected.level, expected.prior) == (0.3, "size")
    assert json.loads(ended.out) == msgspec.to_builtins(expected)


@pytest.mark.bad_input("an unknown prior; a level outside (0, 1/2); a verdict without errors")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere", *ONE), "use the folder of a run"),
        ((".", *ONE), "neither result.json nor outcome.json"),
        (("run", "--first", "Man=1"), "give --second"),
        (("run", "--second", "Man=1"), "give --first"),
        (("run",), "give --first"),
        (("run", "--first", "", "--second", "Man=1"), "use features with their values"),
        (("run", "--first", "man=1", "--second", "Dog=1"), "did you mean 'Man'?"),
        (("run", "--first", "Man=one", "--second", "Dog=1"), "Man in --first is 'one': use a value from"),
        (("run", *ONE, "--level", "0.5"), "level is 0.5: use a value above 0 and below 0.5"),
        (("run", *ONE, "--level", "nan"), "level is nan: use a value above 0 and below 0.5"),
        (("run", *ONE, "--prior", "flat"), "prior is 'flat': use one of ball, size"),
        (("run", "--pairs", "pairs.csv", "--first", "Man=1"), "leave out --first, since --pairs is given"),
        (("run", "--pairs", "pairs.csv", "--second", ""), "leave out --second, since --pairs is given"),
        (("run", "--pairs", "nowhere.csv"), "There is no file "),
        (
            ("run", "--alternatives", "l.csv", "--pairs", "p.csv"),
            "leave out --pairs, since --alternatives is given",
        ),
        (
            ("run", "--alternatives", "l.csv", "--first", "Man=1"),
            "leave out --first, since --alternatives is given",
        ),
        (("run", "--alternatives", "nowhere.csv"), "There is no file "),
        (("run", "--alternatives", "one.csv"), "alternatives is 1 given: use 2 to 100"),
        (("run", "--pairs", "bad.csv"), "Man (bad.csv line 3) is 'none': use a value from -1e+09 to 1e+09"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(
    psephos: Psephos, outcome: Outcome, write: Write, words: tuple[str, ...], said: str
) -> None:
    assert outcome.features == ("Man", "Dog")
    write("pairs.csv", PAIRS)
    write("one.csv", "alternative,Man\na,1\n")
    write("bad.csv", "pair,alternative,Man\na,first,1\na,second,none\n")
    assert said in psephos("decide", *words).refusal


def test_a_run_of_another_protocol_is_refused(psephos: Psephos) -> None:
    assert psephos("run", "consortium", "--set", "count=4", "--no-pictures", "--out", "vote").status == 0
    assert "vote is of 'dpwevote'" in psephos("decide", "vote", *ONE).refusal


def test_help_has_an_example(psephos: Psephos) -> None:
    ended = psephos("decide", "--help")
    assert ended.status == 0
    assert '--first "Man=1, Dog=0" --second "Man=0, Dog=2"' in ended.out
    assert "decide" in psephos("--help").out


@pytest.fixture
def societies(tmp_path: Path) -> Outcome:
    """What a session of two societies released, in the folder `divide`."""
    generator = np.random.default_rng(2)
    parameters = Parameters(features=("Man", "Dog"), paradigm=Paradigm.VLCP, epsilon=5.0, societies=("east", "north"))
    protocol = MoralPreferences(parameters)
    records = [generator.normal(size=(4, 2, 2)) for _ in range(30)]
    inputs = protocol.encode({"records": records, "society": ["east", "north", "north"] * 10})
    released = run_population(protocol, inputs, noise=SimulatedNoise(1, session="s")).outcome
    (tmp_path / "divided").mkdir()
    (tmp_path / "divided/outcome.json").write_bytes(msgspec.json.encode(released))
    return released


def test_each_society_decides_for_itself(psephos: Psephos, societies: Outcome) -> None:
    ended = psephos("decide", "divided", *ONE, "--json")
    assert (ended.status, ended.err) == (0, "")
    whole, *each = (json.loads(line) for line in ended.out.splitlines())
    asked = {"Man": 1.0}, {"Dog": 2.0}
    assert whole == msgspec.to_builtins(decide(societies, *asked))
    own = {name: msgspec.to_builtins(decide(societies.society_outcome(name), *asked)) for name in ("east", "north")}
    assert each == [{"society": name, **decision} for name, decision in own.items()]
    ended = psephos("decide", "divided", *ONE, "--json", "--society", "north")
    assert json.loads(ended.out) == own["north"]
    ended = psephos("decide", "divided", *ONE)
    assert (ended.status, ended.err) == (0, "")
    alike = own["east"]["choice"] == own["north"]["choice"]
    assert ("All societies choose alike" if alike else "The societies do not choose alike") in ended.out
    assert "30 voters" in ended.out


def test_differences_are_those_of_the_release(psephos: Psephos, societies: Outcome) -> None:
    ended = psephos("decide", "divided", "--differences", "--level", "0.2", "--json")
    assert (ended.status, ended.err) == (0, "")
    assert [json.loads(line) for line in ended.out.splitlines()] == [
        msgspec.to_builtins(each) for each in compare_societies(societies, level=0.2)
    ]
    ended = psephos("decide", "divided", "--differences", "--level", "0.2")
    assert (ended.status, ended.err) == (0, "")
    assert "all of them at once, at the 20 % level" in ended.out
    assert ended.out.startswith(("\nThe societies differ most clearly on ", "\nEvery difference between societies is "))


@pytest.mark.bad_input("societies that are not two or more, or that a voter is not in exactly once")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--differences"), "leave out --differences: fewer than two societies reported"),
        (("divided", "--differences", "--first", "Man=1"), "leave out --first, since --differences is given"),
        (("divided", "--differences", "--society", "east"), "leave out --society, since --differences is given"),
        (("divided", "--differences", "--prior", "ball"), "leave out --prior, since --differences is given"),
        (("divided", "--differences", "--level", "2"), "level is 2.0: use a value above 0 and below 0.5"),
    ],
)
def test_differences_of_what_cannot_be_compared_are_refused(
    psephos: Psephos, outcome: Outcome, societies: Outcome, words: tuple[str, ...], said: str
) -> None:
    assert societies.features == outcome.features
    assert said in psephos("decide", *words).refusal


@pytest.mark.bad_input("societies that are not two or more, or that a voter is not in exactly once")
def test_an_unknown_society_and_files_that_no_session_leaves_are_refused(
    psephos: Psephos, outcome: Outcome, societies: Outcome, tmp_path: Path
) -> None:
    assert outcome.society_outcomes == ()
    refusal = psephos("decide", "divided", *ONE, "--society", "west").refusal
    assert "society is 'west': use one of east, north" in refusal
    refusal = psephos("decide", "run", *ONE, "--society", "west").refusal
    assert "leave out society: all voters are one society" in refusal
    first, second = societies.society_outcomes
    for changed, why in (
        ((first, first), "each society needs a name of its own"),
        (
            (first, msgspec.structs.replace(second, preferences=(1.0,))),
            "and needs 2 entries, as features has",
        ),
    ):
        broken = {**msgspec.to_builtins(societies), "societies": changed}
        (tmp_path / "divided/outcome.json").write_bytes(msgspec.json.encode(broken))
        assert why in psephos("decide", "divided", *ONE).refusal
