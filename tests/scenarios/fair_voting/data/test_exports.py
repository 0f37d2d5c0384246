"""Rankings in the forms of programs' exports: the options that are typed, and what a session then counts, by hand."""

import shutil
from pathlib import Path
from typing import Any, cast

import pytest
from bad_input import Psephos
from psephos.protocol.fair_voting import FairVoting
from psephos.scenarios.running.config import load_scenario
from psephos.scenarios.running.resolution import resolve

EXPORTS = Path(__file__).parents[3] / "exports"

# The file, the options, how many voters there are, and each alternative's sum of Borda scores over all of them.
COUNTED: list[tuple[str, tuple[str, ...], int, dict[str, float]]] = [
    # 1 2 3; 2 1 -; 1 1 2; 3 1 2: pool 2 + 1 + 1.5 + 0.
    (
        "bettervoting_rank.csv",
        ("--group", "none", "--numbers", "places", "--ties", "mean"),
        4,
        {"pool": 4.5, "rink": 1 + 2 + 1.5 + 2, "library": 0 + 0 + 0 + 1},
    ),
    # Scores 5 0 3; 0 5 -; 4 4 1; nothing at all. What is not scored stands last.
    (
        "bettervoting_star.csv",
        ("--group", "none", "--numbers", "scores", "--ties", "mean"),
        4,
        {"pool": 2 + 1 + 1.5 + 1, "rink": 0 + 2 + 1.5 + 1, "library": 1 + 0 + 0 + 1},
    ),
    (
        "civs.csv",
        ("--numbers", "places", "--ties", "mean"),
        4,
        {"pool": 2 + 1 + 1.5 + 0, "rink": 1 + 2 + 1.5 + 1, "library": 0 + 0 + 0 + 2},
    ),
    # Without the column of write-ins: 1 2 3; - 2 1; 3 1 2; 2 1 -.
    (
        "rctab_generic.csv",
        ("--numbers", "places", "--ties", "mean"),
        4,
        {"pool": 2 + 0 + 0 + 1, "rink": 1 + 1 + 2 + 2, "library": 0 + 2 + 1 + 0},
    ),
    # pool > rink > library; rink > pool; nothing; pool = rink > library; library > rink.
    (
        "rctab_cvr.csv",
        ("--group", "none", "--ties", "mean", "--twice", "first"),
        5,
        {"pool": 2 + 1 + 1 + 1.5 + 0, "rink": 1 + 2 + 1 + 1.5 + 1, "library": 0 + 0 + 1 + 0 + 2},
    ),
    # A2 > A1 > A3; A1; A3 > A2 > A1; who did not finish is left out.
    (
        "limesurvey_codes.csv",
        ("--leave-out-empty", "submitdate", "--ties", "mean"),
        3,
        {"A1": 1 + 2 + 0, "A2": 2 + 0.5 + 1, "A3": 0 + 0.5 + 2},
    ),
    # Ann: pool; Bob's last answer: pool; Cleo ranks nothing, and is left out.
    (
        "google_forms.csv",
        ("--leave-out-empty", "Rank [pool]", "--repeats", "last"),
        2,
        {"pool": 2, "rink": 0},
    ),
    ("ms_forms.csv", ("--leave-out-empty", "Rank them"), 2, {"pool": 2 + 1, "rink": 1 + 2, "library": 0}),
    (
        "decidim_responses.csv",
        ("--only", "none", "--leave-out-empty", "4. Rank them"),
        2,
        {"pool": 2 + 1, "rink": 1 + 2, "library": 0},
    ),
    # The preview and the unfinished response are left out.
    (
        "qualtrics.csv",
        ("--numbers", "places", "--only", "Status=IP Address", "--leave-out-empty", "Q3 [pool]"),
        2,
        {"pool": 2 + 1, "rink": 1 + 2, "library": 0},
    ),
    (
        "surveymonkey.csv",
        ("--header-lines", "2", "--leave-out-empty", "Rank them [pool]"),
        2,
        {"pool": 2 + 1, "rink": 1 + 2, "library": 0},
    ),
]


def counted(name: str) -> tuple[int, dict[str, float]]:
    """Return the voters of a scenario, and each alternative's sum of scores."""
    resolved = resolve(load_scenario(name))
    protocol = cast("FairVoting", resolved.protocol)
    (means,) = protocol.utilities_in(resolved.inputs)
    number = len(resolved.names)
    return number, {
        own: float(mean * number) for own, mean in zip(protocol.parameters.alternatives, means, strict=True)
    }


@pytest.mark.parametrize(("file", "options", "voters", "scores"), COUNTED, ids=[case[0] for case in COUNTED])
def test_an_export_is_counted_right_with_three_options_at_most(
    psephos: Psephos, file: str, options: tuple[str, ...], voters: int, scores: dict[str, float]
) -> None:
    assert len(options) <= 6
    shutil.copyfile(EXPORTS / file, file)
    ended = psephos("new", "ranking", file, *options, "--to", "own.toml", "--no-run")
    assert (ended.status, ended.err) == (0, "")
    assert counted("own.toml") == (voters, scores)
    # Each of them is asked for, or the file would be refused.
    assert psephos("new", "ranking", file, "--to", "other.toml", "--no-run", *options[:-2]).questions
    assert not Path("other.toml").exists()


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("bettervoting_star.csv", "places (1 is the best), or scores (the higher, the better)"),
        ("bettervoting_rank.csv", "One of precinct, none"),
        ("google_forms.csv", "bob@example.org stands in lines 3, 4: which row counts"),
        ("rctab_cvr.csv", "line 6 ranks an alternative twice"),
        ("ms_forms.csv", "1 rank nothing, which --leave-out-empty leaves out"),
    ],
)
def test_what_an_export_does_not_tell_is_asked(psephos: Psephos, file: str, words: str) -> None:
    shutil.copyfile(EXPORTS / file, file)
    assert words in psephos("new", "ranking", file, "--no-run").questions


def test_what_is_left_out_and_taken_for_places_is_said_and_written(psephos: Psephos) -> None:
    shutil.copyfile(EXPORTS / "rctab_cvr.csv", "cvr.csv")
    ended = psephos("new", "ranking", "cvr.csv", "--group", "none", "--ties", "mean", "--twice", "first", "--no-run")
    assert ended.status == 0
    assert "No alternatives: undervote." in ended.out
    assert "Rank 1, Rank 2, Rank 3: the best first." in ended.out
    voters = cast("dict[str, Any]", load_scenario("cvr.toml").parties)
    assert voters["alternatives"] == ["library", "pool", "rink"]
    assert (voters["not_ranked"], voters["between"], voters["ties"], voters["twice"]) == (
        ["undervote"],
        "\n",
        "mean",
        "first",
    )


def test_a_name_that_one_voter_wrote_is_no_alternative_in_silence(psephos: Psephos) -> None:
    rows = "".join(f"v{n},{'pool,rink' if n % 2 else 'rink,pool'}\n" for n in range(9))
    Path("own.csv").write_text(f"voter,Choice 1,Choice 2\n{rows}v9,scurvy,pool\n", encoding="utf-8")
    questions = psephos("new", "ranking", "own.csv", "--group", "none", "--ties", "mean", "--no-run").questions
    assert "few voters name scurvy" in questions
    told = ("--group", "none", "--ties", "mean", "--no-run")
    assert psephos("new", "ranking", "own.csv", *told, "--alternatives", "pool,rink", "--to", "a.toml").status == 2
    left_out = psephos("new", "ranking", "own.csv", *told, "--not-ranked", "scurvy", "--to", "b.toml")
    assert (left_out.status, left_out.err) == (0, "")
    assert counted("b.toml")[1] == {"pool": 4 + 1, "rink": 5}
    named = psephos("new", "ranking", "own.csv", *told, "--alternatives", "pool, rink, scurvy", "--to", "c.toml")
    assert (named.status, named.err) == (0, "")
    assert counted("c.toml")[1] == {"pool": 4 * 2 + 5 + 1, "rink": 5 * 2 + 4, "scurvy": 2}


@pytest.mark.parametrize(
    ("table", "kind", "scores"),
    [
        ("Rang [Pool],Rang [Bad]\n1.,2.\n2.,1.\n1.,2.\n", "places", {"Pool": 2, "Bad": 1}),
        ("pool,rink\n1st,2nd\n2nd choice,1st choice\n1st,2nd\n", "places", {"pool": 2, "rink": 1}),
        ("Rank them [First choice],Rank them [Second choice]\na,b\nb,a\na,b\n", "choices", {"a": 2, "b": 1}),
        ("First,Second\na,b\nb,a\na,b\n", "choices", {"a": 2, "b": 1}),
        ("Choice 1,Choice 2\na,b\nb,a\na,b\n", "choices", {"a": 2, "b": 1}),
        ("age,lastpage,Rank [pool],Rank [rink]\n34,2,1,2\n55,2,2,1\n44,3,1,2\n", "places", {"pool": 2, "rink": 1}),
    ],
)
def test_other_forms_are_found_too(psephos: Psephos, table: str, kind: str, scores: dict[str, float]) -> None:
    Path("own.csv").write_text(table, encoding="utf-8")
    ended = psephos("new", "ranking", "own.csv", "--voter", "none", "--group", "none", "--no-run")
    assert (ended.status, ended.err) == (0, "")
    assert kind in cast("dict[str, Any]", load_scenario("own.toml").parties)
    assert counted("own.toml") == (3, scores)


def test_numbers_from_1_on_may_be_points_and_are_asked_about(psephos: Psephos) -> None:
    Path("own.csv").write_text("voter,pool,rink,ice\na,3,2,1\nb,3,1,2\nc,3,2,1\n", encoding="utf-8")
    words = ("new", "ranking", "own.csv", "--group", "none", "--no-run")
    ended = psephos(*words)
    assert (ended.status, "--numbers: what the numbers in pool, rink, ice are" in ended.err) == (2, True)
    for kind, pool in (("places", 0), ("scores", 6)):
        assert psephos(*words, "--numbers", kind, "--to", kind).status == 0
        assert counted(f"{kind}.toml")[1]["pool"] == pool


def test_lines_that_stand_for_several_voters_are_refused(psephos: Psephos) -> None:
    """As pref_voting writes a profile: the last column says how many."""
    Path("own.csv").write_text("oak,ash,elm,#\n1,2,3,3\n3,2,1,2\n", encoding="utf-8")
    refusal = psephos("new", "ranking", "own.csv", "--no-run").refusal
    assert "Column '#' seems to count voters" in refusal


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ('places = ["a", "b"]\n', "use each place from 1 to 2 once"),
        ('places = ["a", "b"]\nties = "mean"\n', "use a place, 1 the best"),
        ('scores = ["a", "b"]\nplaces = ["a"]\n', "leave out voters.scores beside voters.places"),
        ('choices = ["a", "b"]\nties = "mean"\n', "give voters.alternatives with ties"),
        ('choices = ["a", "b"]\nalternatives = ["1", "2"]\n', ": use one of 1, 2"),
        ('scores = ["a", "c"]\n', "use columns of own.csv"),
        ('scores = ["a", "b"]\nrepeats = "last"\n', "leave out voters.repeats beside numbered"),
    ],
)
def test_what_a_scenario_says_wrongly_of_such_a_table_is_named(psephos: Psephos, options: str, words: str) -> None:
    Path("own.csv").write_text("a,b\n1,2\n2,x\n", encoding="utf-8")
    Path("own.toml").write_text(
        'title = "t"\nprotocol = "fair-voting"\n[parameters]\ngroups = ["all"]\nobjective = "welfare"\n'
        f'epsilon = 1.0\n[voters]\nfile = "own.csv"\nnumbered = true\n{options}',
        encoding="utf-8",
    )
    assert words in psephos("run", "own.toml").refusal
