"""Series as data: what a vote is made of, who is there, and what is refused before anything runs."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bad_input import Psephos, Write, check_refused
from psephos.protocol import ConfigurationError
from psephos.scenarios import load_scenario
from psephos.scenarios.running.config import list_series
from psephos.scenarios.running.resolution import Local
from psephos.scenarios.running.series import Series, is_series, load_series
from psephos.scenarios.running.series_run import resolve_series, say_allowance
from psephos.scenarios.running.synthetic import digest_of
from series_plans import BUDGET, HEAD, PERIOD, PLAN

Load = Callable[..., tuple[Series, list[Local]]]


@pytest.fixture
def load(write: Write) -> Load:
    """Reads and resolves a series that is written down."""

    def read(text: str, *settings: str) -> tuple[Series, list[Local]]:
        series = load_series(str(write("plan.toml", text)), settings)
        return series, resolve_series(series)

    return read


def test_each_vote_is_the_scenario_with_some_keys_replaced(load: Load) -> None:
    series, resolved = load(HEAD + PLAN)
    first, second, third = (vote.scenario for vote in series.votes)
    assert [each.round for each in (first, second, third)] == [1, 2, 3]
    assert {each.name for each in (first, second, third)} == {"plan"}
    assert [each.title for each in (first, second, third)] == ["plan, vote 1", "Garden", "plan, vote 3"]
    assert [each.protocol.parameters.epsilon for each in resolved] == [1.0, 2.0, 1.0]
    assert [each.protocol.parameters.candidates for each in resolved] == [("roof",), ("garden",), ("pool",)]
    assert series.votes[1].at == dt.datetime(2026, 1, 12, 17, tzinfo=dt.UTC)


def test_parties_join_stay_leave_and_are_away(load: Load) -> None:
    _, resolved = load(HEAD + PLAN)
    assert [each.names for each in resolved] == [["ann", "bob", "eve"], ["ann", "bob", "zoe"], ["ann", "eve", "zoe"]]


def test_single_entries_hold_for_their_vote_alone(load: Load) -> None:
    _, resolved = load(HEAD + PLAN)
    held = [[weight for weight, *_ in each.inputs.public.tolist()] for each in resolved]
    assert held == [[0, 1, 2], [0, 1, 1], [1, 2, 1]]  # places in the set of weights


def test_a_file_and_a_setting_say_the_same(load: Load, write: Write) -> None:
    write("votes.toml", PLAN)
    inline, by_file = load(HEAD + PLAN), load('votes = "votes.toml"\n' + HEAD)
    assert by_file[0] == inline[0]
    assert load(HEAD, "votes=votes.toml")[0] == inline[0]
    assert is_series(str(write("single.toml", HEAD)), ["votes=votes.toml"])
    assert not is_series(str(write("single.toml", HEAD)))


def test_a_csv_has_a_line_for_each_party_in_each_vote(load: Load, write: Write) -> None:
    write(
        "votes.csv",
        "vote,at,partner,roof,garden\nRoof,2026-01-05,ann,1,\nRoof,,eve,0,\nGarden,2026-01-12,bob,,1\nGarden,,ann,,0\n",
    )
    series, resolved = load('votes = "votes.csv"\n' + HEAD)
    assert [vote.scenario.title for vote in series.votes] == ["Roof", "Garden"]
    assert [vote.at for vote in series.votes] == [dt.datetime(2026, 1, day, tzinfo=dt.UTC) for day in (5, 12)]
    assert [each.names for each in resolved] == [["ann", "eve"], ["ann", "bob"]]
    assert [each.inputs.private[:, 0].tolist() for each in resolved] == [[1, 0], [0, 1]]


def test_a_csv_may_have_all_of_the_parties(load: Load, write: Write) -> None:
    write("votes.csv", "vote,partner,weight,roof\nA,ann,1,1\nA,bob,2,0\nB,bob,2,1\n")
    head = HEAD.replace("partners =", "# partners =")
    _, resolved = load('votes = "votes.csv"\n' + head)
    assert [each.names for each in resolved] == [["ann", "bob"], ["bob"]]


def test_a_file_of_parties_is_changed_as_a_list_is(load: Load, write: Write) -> None:
    path = write("p.csv", "partner,weight\nann,1\nbob,2\neve,3\n")
    said = f'synthetic = "{digest_of([path])}"'
    head = "\n".join(said if line.startswith("synthetic") else line for line in HEAD.splitlines())
    head = "\n".join('partners = "p.csv"' if line.startswith("partners") else line for line in head.splitlines())
    assert [each.names for each in load(head + PLAN)[1]] == [each.names for each in load(HEAD + PLAN)[1]]


def test_a_generators_table_is_replaced_key_by_key(load: Load) -> None:
    text = 'protocol = "dpwevote"\nseed = 1\n[partners]\ncount = 9\nyes_shares = [0.5]\n[[votes]]\n[[votes]]\n'
    _, resolved = load(text + 'absent = ["partner-3"]\npartners = {yes_shares = [1.0]}\n')
    assert [len(each.names) for each in resolved] == [9, 8]
    assert resolved[1].inputs.private[:, 1].tolist() == [1] * 8


def test_a_setting_holds_for_all_votes(load: Load) -> None:
    series, resolved = load(HEAD + PLAN, "epsilon=3", "budget=9", "transport=array", "seed=7", "noise=simulated")
    assert [each.protocol.parameters.epsilon for each in resolved] == [3.0] * 3
    assert {vote.scenario.seed for vote in series.votes} == {7}
    assert series.allowance.budget is not None


def test_synthetic_parties_are_shown_as_such_until_others_join(load: Load) -> None:
    text = 'protocol = "dpwevote"\n[parameters]\ncandidates = ["m"]\n[partners]\ncount = 9\n[[votes]]\n[[votes]]\n'
    _, resolved = load(text + 'join = [{partner = "zoe", weight = 1, m = 1}]\n')
    assert [each.may_show_truth for each in resolved] == [True, False]


def test_the_shipped_series_resolve() -> None:
    assert "housing-cooperative" in list_series()
    for name in list_series():
        series = load_series(name)
        assert series.title
        assert len(resolve_series(series)) == len(series.votes)


def test_the_series_of_the_page_on_them_resolves(load: Load) -> None:
    page = (Path(__file__).parents[3] / "docs" / "series.md").read_text(encoding="utf-8")
    series, resolved = load(page.partition("```toml\n")[2].partition("```")[0])
    assert [each.names for each in resolved] == [["ann", "bob", "eve"], ["ann", "bob", "zoe"]]
    assert series.allowance.period_seconds == 7 * 86_400


def test_a_series_is_for_the_command_that_runs_it() -> None:
    with pytest.raises(ConfigurationError, match="psephos run"):
        load_scenario("housing-cooperative")


@pytest.mark.bad_input("a budget by periods without a clock, or of no length; dates that go backwards")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            BUDGET + PERIOD + HEAD + PLAN.replace("at = 2026-01-20\n", ""),
            ["at (vote 3) is missing", "use a date or a time in each vote"],
        ),
        (BUDGET + 'budget_period = "1 month"\n' + HEAD + PLAN, ["budget_period", "1 month", "days"]),
        ('budget_period = "7 days"\n' + HEAD + PLAN, ["budget_period", "without a budget"]),
        (BUDGET + "budget_in_all = 9\n" + HEAD + PLAN, ["budget_in_all", "budget_period"]),
        (BUDGET + 'budget_period = "7 days"\nbudget_in_all = 1\n' + HEAD + PLAN, ["budget_in_all", "at least"]),
        (HEAD + PLAN.replace("2026-01-20", "2026-01-11"), ["at (vote 3)", "not before vote 2"]),
        (HEAD + PLAN.replace("2026-01-20", '"soon"'), ["at (vote 3)", "soon"]),
    ],
)
def test_what_is_wrong_with_a_clock_that_is_missing_or_goes_backwards_is_said_before_anything_runs(
    psephos: Psephos, write: Write, text: str, words: list[str]
) -> None:
    check_refused(psephos, str(write("plan.toml", text)), [], words)


@pytest.mark.bad_input("a series without votes; an unknown key in a vote, or one that a vote cannot replace")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("votes = []\n" + HEAD, ["votes", "at least one"]),
        ("votes = 3\n" + HEAD, ["votes"]),
        ('votes = "nowhere.toml"\n' + HEAD, ["nowhere.toml"]),
        ("round = 3\n" + HEAD + PLAN, ["leave out round"]),
        ("budgt = 3\n" + HEAD + PLAN, ["budgt"]),
        ("epsilon = 3\n" + HEAD + PLAN, ["'epsilon'", "it is a parameter, as in parameters = { epsilon = ... }"]),
        (
            HEAD + PLAN.replace("leave =", "epsilon = 1\nleave ="),
            ["'epsilon' (vote 3)", "parameters = { epsilon = ... }"],
        ),
        (HEAD + PLAN.replace("leave", "leaves"), ["leaves", "vote 3", "did you mean 'leave'"]),
        *(
            (HEAD + PLAN.replace("leave =", f"{key} = 1\nleave ="), [f"leave out {key} (vote 3)"])
            for key in ("protocol", "seed", "round", "budget", "name", "noise", "transport", "budget_period")
        ),
        (HEAD + PLAN.replace("epsilon = 2.0", "epsilon = -2.0"), ["epsilon (vote 2)", "-2"]),
    ],
)
def test_what_is_wrong_with_a_key_of_a_vote_is_said_before_anything_runs(
    psephos: Psephos, write: Write, text: str, words: list[str]
) -> None:
    check_refused(psephos, str(write("plan.toml", text)), [], words)


@pytest.mark.bad_input("a vote without parties, with unknown ones, one twice, or without somebody's entry")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD + PLAN.replace('absent = ["eve"]', 'absent = ["eva"]'), ["absent (vote 2)", "eva", "did you mean 'eve'"]),
        (HEAD + PLAN.replace('absent = ["eve"]', 'absent = ["eve", "eve"]'), ["absent (vote 2)", "is named twice"]),
        (HEAD + PLAN.replace('leave = ["bob"]', 'leave = ["bop"]'), ["leave (vote 3)", "bop"]),
        (HEAD + PLAN.replace('partner = "zoe"', 'partner = "ann"'), ["join (vote 2)", "ann", "is named twice"]),
        (HEAD + PLAN.replace('{partner = "zoe", weight', "{weight"), ["join (vote 2)", "'partner'"]),
        (HEAD + PLAN.replace("roof = {ann = 1, ", "roof = {"), ["entries.roof (vote 1)", "ann"]),
        (HEAD + PLAN.replace("roof = {ann", "roof = {anne"), ["entries.roof (vote 1)", "anne"]),
        (HEAD + PLAN.replace("{ann = 1, bob = 0, zoe = 1}", "{ann = 1, bob = 0, zoe = 1, eve = 1}"), ["vote 2", "eve"]),
        (HEAD + PLAN.replace("roof = {ann = 1", "roof = {ann = 7"), ["roof", "ann", "vote 1"]),
        (HEAD + '[[votes]]\nabsent = ["ann", "bob", "eve"]\n', ["partners (vote 1)", "at least one partner"]),
        (
            HEAD + '[[votes]]\nabsent = ["ann", "bob", "eve"]\nentries = {roof = {ann = 1}}\n',
            ["partners (vote 1)", "at least one partner"],
        ),
        (HEAD + PLAN.replace(", weight = 2}]\nparam", ", wieght = 2}]\nparam"), ["weight (vote 2)", "zoe"]),
    ],
)
def test_what_is_wrong_with_a_party_of_a_vote_is_said_before_anything_runs(
    psephos: Psephos, write: Write, text: str, words: list[str]
) -> None:
    check_refused(psephos, str(write("plan.toml", text)), [], words)


@pytest.mark.bad_input("a vote without parties, with unknown ones, one twice, or without somebody's entry")
@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("A,2026-01-05,ann,1\nA,,ann,1\n", ["partner (votes.csv line 3)", "line 2"]),
        ("A,2026-01-05,ann,1\nA,2026-01-06,bob,1\n", ["at (votes.csv line 3)", "2026-01-06"]),
        ("A,,dan,1\n", ["partners (vote 1)", "dan"]),
        (",,ann,1\n", ["vote (votes.csv line 2)"]),
        ("A,,ann\n", ["votes.csv line 2", "This line has 3 entries, and the header 4: vote, at, partner, roof"]),
        ("", ["votes", "at least one"]),
    ],
)
def test_what_is_wrong_with_a_csv_of_votes_is_said_with_its_line(
    psephos: Psephos, write: Write, rows: str, words: list[str]
) -> None:
    write("votes.csv", "vote,at,partner,roof\n" + rows)
    check_refused(psephos, str(write("plan.toml", 'votes = "votes.csv"\n' + HEAD)), [], words)


@pytest.mark.bad_input("a vote without parties, with unknown ones, one twice, or without somebody's entry")
def test_a_csv_that_has_all_of_the_parties_has_all_of_their_entries(psephos: Psephos, write: Write) -> None:
    write("votes.csv", "vote,partner,weight,roof\nA,ann,1,1\nA,bob,2,\n")
    text = 'protocol = "dpwevote"\nvotes = "votes.csv"\n[parameters]\npublic_weights = true\n'
    words = ["roof (vote 1)", "an entry for bob too"]
    check_refused(psephos, str(write("plan.toml", text)), [], words)


def test_streamed_parties_are_in_no_series(write: Write, psephos: Psephos, tmp_path: Path) -> None:
    del tmp_path
    text = 'protocol = "moral-preferences"\ntransport = "array"\n[voters]\nsynthetic = 5\n[[votes]]\n'
    ended: Any = psephos("run", write("plan.toml", text), "--out", "out")
    assert ended.status == 2


def test_a_cap_of_a_datum_is_held_beside_that_of_a_person(load: Load) -> None:
    series, _ = load("budget = 9\nbudget_datum = 2.5\n" + HEAD + PLAN)
    assert say_allowance(series) == "ε at most 9 for each partner and 2.5 for each datum in all"
    series, _ = load('budget = 9\nbudget_datum = 2.5\nbudget_period = "3 days"\n' + HEAD + PLAN)
    assert say_allowance(series) == "ε at most 9 for each partner and 2.5 for each datum in any 3 days"
