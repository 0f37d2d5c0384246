"""Series that are run: the same bits on every path, one ledger a person, and votes that go on without somebody."""

import datetime as dt
import errno
import io
import itertools
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pytest
from bad_input import Psephos, Write, check_refused
from psephos.protocol import ConfigurationError
from psephos.protocol.errors import BudgetExceededError
from psephos.protocol.privacy import LedgerEntry, total_of
from psephos.scenarios import RunFolder, load_scenario, read_ledger, resolve, run_in_folder
from psephos.scenarios.presentation import briefs_of
from psephos.scenarios.running.ledgers import entries_of, summarize_ledgers
from psephos.scenarios.running.series import load_series
from psephos.scenarios.running.series_run import (
    _without,  # pyright: ignore[reportPrivateUsage]  what a vote waits for without some is seen nowhere else
    facts_of_votes,
    resolve_series,
    run_series,
)
from psephos.scenarios.running.series_shown import draw_series, show_votes
from psephos.scenarios.running.statements import trust_of
from rich.console import Console
from runs import read_json
from series_plans import BUDGET, HEAD, PERIOD, PLAN, hold

PATHS = ("array", "memory", "tcp")
SHIPPED = "housing-cooperative"


def left_by(source: object, folder: Path, *settings: str) -> Path:
    hold(source, folder, *settings)
    return folder


def paid_by(entries: Sequence[LedgerEntry]) -> dict[str, float]:
    names = dict.fromkeys(entry.person for entry in entries)
    return {name: total_of([entry for entry in entries if entry.person == name]).proven for name in names}


def written(folder: Path) -> dict[str, bytes]:
    """Return what has to be the same on every path: all results, all losses by person, the votes' estimates."""
    kept = [folder / "ledger.jsonl", folder / "losses.csv", *sorted(folder.rglob("result.json"))]
    return {str(path.relative_to(folder)): path.read_bytes() for path in [*kept, *sorted(folder.rglob("*.csv"))]}


def test_a_series_leaves_the_same_files_on_every_path(tmp_path: Path) -> None:
    found = [written(left_by(SHIPPED, tmp_path / path, f"transport={path}")) for path in PATHS]
    assert len(found[0]) == 4 * 2 + 4
    assert found[0] == found[1] == found[2]


def test_a_vote_of_a_series_is_the_run_of_its_scenario_in_that_round(tmp_path: Path) -> None:
    hold(SHIPPED, tmp_path / "series")
    third = load_series(SHIPPED).votes[0]
    run_in_folder(resolve(third.scenario, turnout=third.turnout), RunFolder(tmp_path / "alone"), pictures=False)
    for name in ("result.json", "ledger.jsonl", "scenario.json", "estimates.csv"):
        assert (tmp_path / "series" / "vote-1" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()


def test_equal_votes_draw_other_noise(tmp_path: Path, write: Write) -> None:
    text = 'protocol = "dpwevote"\nseed = 1\n[parameters]\ncandidates = ["m"]\n[partners]\ncount = 200\n'
    hold(write("two.toml", text + "[[votes]]\n[[votes]]\n"), tmp_path / "out")
    first, second = (read_json(tmp_path / "out" / name / "result.json")["tallies"] for name in ("vote-1", "vote-2"))
    assert first != second


@pytest.mark.parametrize("path", ["array", "memory"])
def test_the_ledger_has_each_person_over_all_votes(tmp_path: Path, path: str) -> None:
    finished = hold(SHIPPED, tmp_path / "out", f"transport={path}")
    entries = read_ledger(tmp_path / "out")
    assert paid_by(entries) == {
        "Aalto": 9,
        "Brecht": 6,
        "Curie": 9,
        "Dijkstra": 9,
        "Erdős": 9,
        "Franklin": 9,
        "Gauss": 9,
    }
    assert {entry.session for entry in entries if entry.person == "Gauss"} == {
        f"{SHIPPED}, vote {k}" for k in (2, 3, 4)
    }
    person = finished.result["privacy"]["person"]
    assert (person["proven"], person["against"]) == (9, "everyone else, even if all of them collude")
    assert finished.result["privacy"]["budget"] == {"epsilon": 6, "delta": 0, "period_seconds": 604_800, "in_all": 9}


def test_who_has_no_budget_left_pays_nothing_and_the_others_go_on(tmp_path: Path) -> None:
    finished = hold(SHIPPED, tmp_path / "out")
    third = finished.held[2]
    assert list(third.refused) == ["Brecht", "Dijkstra", "Erdős"]
    assert list(third.names) == ["Aalto", "Curie", "Franklin", "Gauss"]
    assert third.paid == dict.fromkeys(third.names, 3.0)
    assert finished.result["votes"][2]["refused"] == ["Brecht", "Dijkstra", "Erdős"]
    people = {entry.person for entry in read_ledger(tmp_path / "out" / "vote-3")}
    assert people == {*third.names}


@pytest.mark.parametrize("path", ["array", "memory"])
@pytest.mark.parametrize("quorum", ["quorum=5", "quorum=1.0", "quorum=0.6"])
def test_a_vote_whose_quorum_the_others_miss_is_not_held_and_the_next_one_is(
    tmp_path: Path, path: str, quorum: str
) -> None:
    finished = hold(SHIPPED, tmp_path / "out", f"transport={path}", quorum.replace("quorum=5", "quorum=0.7"))
    third, fourth = finished.held[2:]
    assert third.finished is None
    assert "quorum" in str(third.failure)
    assert not third.paid
    assert not (tmp_path / "out" / "vote-3").exists()
    assert "failure" in finished.result["votes"][2]
    assert finished.result["votes"][2]["num_there"] == 7  # of whom three had no budget
    shown = io.StringIO()
    show_votes(Console(file=shown, width=120), load_series(SHIPPED, []), [third])
    assert "0 of 7" in shown.getvalue()
    assert fourth.finished is not None


def test_the_quorum_is_of_all_who_are_there_and_not_of_those_with_budgets(tmp_path: Path) -> None:
    # Four of seven have room: 4/7 is 0.57, and 0.9 of these four would be four.
    assert hold(SHIPPED, tmp_path / "a", "quorum=0.57").held[2].finished is not None
    assert hold(SHIPPED, tmp_path / "b", "quorum=0.9").held[2].finished is None
    assert hold(SHIPPED, tmp_path / "c", "phases.opinions.quorum=0.9").held[2].finished is None


@pytest.mark.parametrize("quorum", ["quorum=0.57", "quorum=0.3", "phases.opinions.quorum=0.57", "quorum=1"])
def test_whoever_is_refused_lowers_no_quorum(quorum: str) -> None:
    """Those who are left have to be as many as if all had room, in each phase, whoever of them leaves it later."""
    series = load_series(SHIPPED, [quorum])
    vote, side = series.votes[2], resolve_series(series)[2]
    needed = {wait.name: wait.quorum for wait in side.rules.waits_of(side.protocol, num_parties=len(side.names))}
    error = BudgetExceededError(requested=1, remaining=0, unit="vote")
    for number in range(1, len(side.names)):
        if len(side.names) - number < max(needed.values()):
            break
        rest = _without(side, vote, dict.fromkeys(side.names[:number], error))
        waits = rest.rules.waits_of(rest.protocol, num_parties=len(rest.names))
        assert {wait.name: wait.quorum for wait in waits} == needed
        assert len(rest.names) == len(side.names) - number


def test_a_masked_series_has_equal_files_on_every_path_and_goes_on_while_enough_have_budgets(
    tmp_path: Path, write: Write
) -> None:
    head = HEAD.replace("quorum = 0.5", 'trust = "distributed"').replace("public_weights = true", "colluders = 0")
    series = write("masked.toml", f"budget = 3\n{head}threshold = 2\n{PLAN}")
    held = {path: hold(series, tmp_path / path, f"transport={path}") for path in PATHS[:2]}
    assert written(tmp_path / "array") == written(tmp_path / "memory")
    # ann and bob have spent 1 and 2, and of the three of the last vote two are enough.
    assert [list(each.names) for each in held["memory"].held] == [
        ["ann", "bob", "eve"],
        ["ann", "bob", "zoe"],
        ["eve", "zoe"],
    ]
    assert paid_by(held["memory"].accounts.entries) == {"ann": 3.0, "bob": 3.0, "eve": 2.0, "zoe": 3.0}
    few = hold(series, tmp_path / "few", "budget=2")  # of the second vote zoe alone has room
    assert [each.finished is not None for each in few.held] == [True, False, True]


def test_a_series_is_said_to_trust_as_its_vote_that_trusts_most(psephos: Psephos, write: Write) -> None:
    """A page that said of the first vote alone that nobody is trusted would be wrong of the second one."""
    votes = "".join(
        f'[[votes]]\ntitle = "{name}"\nparameters = {{ {how} }}\nentries = {{ {name} = {{ ann = 1, bob = 0 }} }}\n'
        for name, how in (("first", "epsilon = 2"), ("second", 'epsilon = 1, variant = "central"'))
    )
    partners = '[{ partner = "ann", weight = 1 }, { partner = "bob", weight = 2 }]'
    head = f'title = "two"\nprotocol = "dpwevote"\npartners = {partners}\n'
    series = write("two.toml", f"{head}[parameters]\nweights = [1, 2]\n{votes}")
    ended: Any = psephos(
        "run", series, "--out", "out", "--no-pictures", "--verbose", "--seed", "1", "--set", "noise=simulated"
    )
    assert ended.status == 0, ended.err
    said = " ".join(ended.out.split())
    assert "In one vote, and in others less: The cloud server is trusted" in said
    assert "learns no more of one person than ε = 2 in all allows" in said
    assert "Nobody is trusted" not in said


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (
            "threshold = 27, colluders = 10",
            "Fewer than 16 who take part to the end release nothing. The cloud server with up to 0 others learns",
        ),
        ('variant = "central"', "Whoever sees what it releases, with up to 0 others, learns"),
    ],
)
def test_of_a_series_is_said_what_holds_in_each_of_its_masked_votes(write: Write, first: str, said: str) -> None:
    """With ten colluders the second vote's loss is 3.8 and more: that is true of the first one alone."""
    second = 'variant = "masked", threshold = 16, colluders = 0, epsilon = 2'
    votes = "".join(f"[[votes]]\nparameters = {{ {how} }}\n" for how in (first, second))
    head = 'protocol = "dpwevote"\n[parameters]\nweights = [1, 2]\ncandidates = ["a"]\nepsilon = 1\n'
    masked = 'variant = "masked"\n' * first.startswith("threshold")
    plan = "[partners]\ncount = 30\nweight_shares = [0.5, 0.5]\nyes_shares = [0.5]\n"
    facts = facts_of_votes(resolve_series(load_series(str(write("two.toml", f"{head}{masked}{plan}{votes}")), [])))
    assert f"{said} no more of one person than ε = 2 in all allows" in " ".join(trust_of(facts))
    assert facts.prices is not None
    assert facts.prices.replaced == 2


def test_a_budget_over_all_votes_is_spent_once(tmp_path: Path, write: Write) -> None:
    finished = hold(write("plan.toml", "budget = 3\n" + HEAD + PLAN), tmp_path / "out")
    # 1, then 2 at another epsilon: ann and bob have spent 3, and eve, who was away for that, 1.
    assert [list(each.names) for each in finished.held] == [
        ["ann", "bob", "eve"],
        ["ann", "bob", "zoe"],
        ["eve", "zoe"],
    ]
    assert list(finished.held[2].refused) == ["ann"]


def test_below_a_series_pictures_stands_the_most_that_one_person_paid_over_all_votes(
    tmp_path: Path, write: Write
) -> None:
    for number, plan in enumerate((HEAD + PLAN, "budget = 3\n" + HEAD + PLAN, "budget = 2\n" + HEAD + PLAN)):
        finished = hold(write("plan.toml", plan), tmp_path / str(number))
        most = max(paid_by(finished.accounts.entries).values())
        (said,) = re.findall(r"at most ε = ([0-9.]+) proven for one partner over all votes", finished.setting)
        assert float(said) == most


@pytest.mark.parametrize(
    ("in_all", "voted"), [(100, [1, 2, 5, 7, 9, 11]), (6, [1, 2, 5, 7, 9, 11]), (5, [1, 2, 5, 7, 9]), (2, [1, 2])]
)
def test_no_window_of_a_series_holds_more_than_its_budget_and_all_of_them_no_more_than_that(
    tmp_path: Path, write: Write, in_all: float, voted: list[int]
) -> None:
    head = "".join(f"[[votes]]\nat = 2026-03-{day:02}\n" for day in (1, 3, 4, 7, 8, 9, 11, 14, 15, 16, 23))
    begun = HEAD.replace("}", ", m = 1}")
    text = f'{BUDGET}{PERIOD}budget_in_all = {in_all}\ntransport = "array"\n{begun}'
    finished = hold(write("plan.toml", text + head), tmp_path / "out")
    held = [(each.vote.at, each.paid.get("ann", 0.0)) for each in finished.held]
    for begin, _ in held:
        assert begin is not None
        window = [paid for at, paid in held if at is not None and 0 <= (at - begin).days < 7]
        assert math.fsum(window) <= 2
    assert math.fsum(paid for _, paid in held) <= in_all
    assert [number for number, (_, paid) in enumerate(held, start=1) if paid] == voted


def test_a_window_is_of_time_that_passes_whatever_the_zones_of_its_votes(tmp_path: Path, write: Write) -> None:
    """Clocks on walls are up to 26 hours apart; the second vote is within the first one's window, the third is not."""
    first = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
    apart = dt.timedelta(), dt.timedelta(days=7, hours=-1), dt.timedelta(days=7)
    head = "budget = 1\n" + PERIOD + 'transport = "array"\n' + HEAD.replace("}", ", m = 1}")
    for hours in itertools.permutations((-12, 0, 14)):
        zones = (dt.timezone(dt.timedelta(hours=each)) for each in hours)
        times = ((first + later).astimezone(zone).isoformat() for later, zone in zip(apart, zones, strict=True))
        votes = "".join(f"[[votes]]\nat = {at}\n" for at in times)
        finished = hold(write("plan.toml", head + votes), tmp_path / str(hours))
        assert [len(each.names) for each in finished.held] == [3, 0, 3], hours


def test_a_session_that_fails_stays_paid_and_the_next_one_is_held(tmp_path: Path, write: Write) -> None:
    leaving = 'adversary = [{role = "drop-out", members = ["eve"]}]\n[votes.entries]\nroof'
    text = HEAD.replace("quorum = 0.5", "quorum = 1.0") + PLAN.replace("[votes.entries]\nroof", leaving)
    finished = hold(write("plan.toml", "budget = 4\n" + text), tmp_path / "out")
    assert [each.finished is None for each in finished.held] == [True, False, False]
    assert finished.held[0].paid == {"ann": 1, "bob": 1, "eve": 0}
    assert paid_by(read_ledger(tmp_path / "out" / "vote-1")) == {"ann": 1, "bob": 1}
    assert paid_by(finished.accounts.entries) == {"ann": 4, "bob": 3, "eve": 1, "zoe": 3}


@pytest.mark.parametrize("path", ["array", "memory"])
def test_a_vote_whose_results_cannot_be_written_stays_paid(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    full = mock.Mock(side_effect=OSError(errno.ENOSPC, "the disk is full"))
    monkeypatch.setattr("psephos.scenarios.running.run.write_outcome", full)
    with pytest.raises(OSError, match="the disk is full"):
        hold(write("plan.toml", HEAD + PLAN), tmp_path / "out", f"transport={path}")
    assert paid_by(read_ledger(tmp_path / "out")) == {"ann": 1, "bob": 1, "eve": 1}


@pytest.mark.few(most=1)
@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_shows_votes_losses_and_who_had_no_budget(
    psephos: Psephos, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr("psephos.scenarios.presentation.terminal._WIDTH_WHEN_PIPED", width)
    ended: Any = psephos("run", SHIPPED, "--out", "out", "--no-pictures")
    assert ended.status == 0, ended.err
    words = " ".join(ended.out.split())
    assert "vote 3: too little budget left (0 of 3), so not there: Brecht, Dijkstra, Erdős" in words
    assert "A shared garden undecided, leaning" in words
    assert len(ended.out.splitlines()) <= 30
    verbose: Any = psephos("run", SHIPPED, "--out", "all", "--no-pictures", "--verbose")
    assert "Brecht 3 3 – – 6 3" in " ".join(verbose.out.split())  # each person's loss, vote by vote
    assert max(map(len, (*ended.out.splitlines(), *verbose.out.splitlines()))) <= width


@pytest.mark.full("a picture more")
def test_a_series_is_drawn(tmp_path: Path) -> None:
    series = load_series(SHIPPED, ["transport=array"])
    finished = run_series(series, resolve_series(series), RunFolder(tmp_path / "out"), pictures=False)
    (svg,) = draw_series(series, finished, folder=tmp_path)
    text = svg.read_text(encoding="utf-8")
    for word in ("budget: refused above", "Dijkstra, Erdős", "in the 7 days up to each vote", "3  A shared garden"):
        assert word in text
    entries = finished.accounts.entries_of
    paid = max(total_of(entries(person)).proven for person in finished.accounts.persons)
    assert (
        f">7 partners · at most ε = {paid:g} proven for one partner over all votes (replace-one) · local model" in text
    )


def test_json_is_the_series_result_and_nothing_else(psephos: Psephos) -> None:
    ended: Any = psephos("run", SHIPPED, "--out", "out", "--json", "--no-pictures")
    assert json.loads(ended.out) == read_json("out/result.json")
    told = " ".join(ended.err.split())
    assert told.startswith(
        "A new roof and Sell the parking lot: 6 partners at ε = 3 can only tell margins of 34 % (84 : 16) and more"
    )
    assert told.count("4 partners at ε = 3 can only tell margins of 50 %") == 1
    assert not Path("out/series.svg").exists()


def test_shipped_series_are_listed(psephos: Psephos) -> None:
    ended: Any = psephos("scenarios")
    assert SHIPPED in ended.out


def test_runs_of_the_same_persons_add_up_by_name(tmp_path: Path, psephos: Psephos) -> None:
    for number in (1, 2):
        scenario = load_scenario("consortium", ["count=3", f"round={number}", f"epsilon={number}"])
        run_in_folder(resolve(scenario), RunFolder(tmp_path / f"run-{number}"), pictures=False)
    each = [paid_by(read_ledger(tmp_path / f"run-{number}")) for number in (1, 2)]
    both = paid_by(list(entries_of([tmp_path / "run-1", tmp_path / "run-2"])))
    assert both == {name: each[0][name] + each[1][name] for name in each[0]}
    ended: Any = psephos("ledger", "run-1", "run-2")
    assert f"ε proven = {both['partner-1']:g}" in ended.out
    alone: Any = psephos("ledger", "run-1", "run-2", "--party", "partner-2", "--json")
    assert len(alone.out.splitlines()) == 4


def test_runs_by_arrays_add_up_where_their_numbers_agree(tmp_path: Path) -> None:
    for number in (1, 2):
        scenario = load_scenario("consortium", ["count=30", f"round={number}", "transport=array"])
        run_in_folder(resolve(scenario), RunFolder(tmp_path / f"run-{number}"), pictures=False)
    assert paid_by(list(entries_of([tmp_path / "run-1", tmp_path / "run-2"]))) == {"each of 30 partners": 2.0}


@pytest.mark.bad_input("runs whose losses cannot be added")
def test_runs_whose_losses_cannot_be_added_are_refused(tmp_path: Path, psephos: Psephos) -> None:
    for name, settings in {"a": ["transport=array"], "b": ["transport=array", "count=4"], "c": []}.items():
        scenario = load_scenario("consortium", ["count=3", *settings])
        run_in_folder(resolve(scenario), RunFolder(tmp_path / name), pictures=False)
    refused = {("a", "b"): "each of 4 partners", ("a", "c"): "each person by name", ("c", "b"): "each of 4 partners"}
    for runs, words in refused.items():
        ended: Any = psephos("ledger", *runs)
        assert (ended.status, ended.out) == (2, "")
        assert words in ended.err
        assert "nobody knows whose losses add up" in ended.err
    for words, expected in ((("a", "a"), "is named twice"), (("a", "nowhere"), "nowhere")):
        again: Any = psephos("ledger", *words)
        assert again.status == 2
        assert expected in again.err
    with pytest.raises(ConfigurationError):
        summarize_ledgers([tmp_path / "a", tmp_path / "c"], party=None)


GAME = """
protocol = "dpwevote"
synthetic = true
seed = 5
noise = "simulated"
partners = [{partner = "ann", weight = 1}, {partner = "bob", weight = 2}, {partner = "eve", weight = 3}]
[parameters]
game = "board"
weights = [1, 2, 3]
epsilon_weight = 2.0
epsilon_opinion = 1.0
"""


def test_votes_of_one_game_draw_and_charge_each_weight_once_on_every_path(tmp_path: Path, write: Write) -> None:
    path = write(
        "plan.toml", GAME + PLAN.replace("parameters = {epsilon = 2.0}\n", "").replace("weight = {ann = 2}\n", "")
    )
    found = [written(left_by(path, tmp_path / each, f"transport={each}")) for each in PATHS]
    assert found[0] == found[1] == found[2]
    paid = [each.paid for each in hold(path, tmp_path / "again").held]
    assert paid == [{"ann": 3, "bob": 3, "eve": 3}, {"ann": 1, "bob": 1, "zoe": 3}, {"ann": 1, "eve": 1, "zoe": 1}]


def test_a_repeated_weight_needs_no_room_on_a_budget(tmp_path: Path, write: Write) -> None:
    text = GAME + PLAN.replace("parameters = {epsilon = 2.0}\n", "").replace("weight = {ann = 2}\n", "")
    finished = hold(write("plan.toml", "budget = 5\n" + text), tmp_path / "out")
    assert not any(each.refused for each in finished.held)
    assert finished.accounts.remaining("ann", None) == 0


@pytest.mark.bad_input("a game: none to keep, another's weights, changed weights or settings")
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("weight = {ann = 2}\n", "weight = {ann = 2}\n", ["ann", "vote 3", "game"]),
        ("weight = {ann = 2}\n", "[votes.parameters]\nepsilon_weight = 1.0\n", ["epsilon_weight", "vote 3", "game"]),
    ],
)
def test_a_series_whose_parties_change_weights_in_a_game_is_refused_before_anything_runs(
    psephos: Psephos, write: Write, old: str, new: str, words: list[str]
) -> None:
    plan = PLAN.replace("parameters = {epsilon = 2.0}\n", "").replace(old, new)
    check_refused(psephos, str(write("plan.toml", GAME + plan)), [], words)


CROWD = "[parameters]\nepsilon = 1.0\n[workers]\ntasks = 6\nworkers = 20\nanswers_per_task = 8\n"
GROUPS = '[voters]\ngenerator = "impartial"\nalternatives = 3\ngroups = {a = {voters = 30}, b = {voters = 20}}\n'
OTHERS = {
    "moral-preferences": ("[parameters]\nepsilon = 1.0\n[voters]\nvoters = 30\n", " ± "),
    "truth-discovery": (CROWD, "more"),
    "fair-voting": (GROUPS, "winner: "),
}


@pytest.mark.parametrize("protocol", OTHERS)
def test_a_series_of_any_system_says_what_each_vote_released(psephos: Psephos, write: Write, protocol: str) -> None:
    parties, words = OTHERS[protocol]
    text = f'protocol = "{protocol}"\ntransport = "array"\nseed = 3\n{parties}[[votes]]\n[[votes]]\n'
    ended: Any = psephos("run", write("plan.toml", text), "--out", "out", "--no-pictures")
    assert ended.status == 0, ended.err
    rows = [line for line in ended.out.splitlines() if re.match(r"[12]   vote [12] ", line)]
    assert len(rows) == 2
    assert words in " ".join(ended.out.split())


class Answer(msgspec.Struct, frozen=True):
    """An outcome of a protocol that brings no presenter, and estimates nothing."""

    winner: str
    rounds: int


def test_an_outcome_without_a_presenter_is_told_by_its_own_fields() -> None:
    assert [(each.name, each.said.plain) for each in briefs_of(Answer("tea", 3))] == [
        ("winner", "tea"),
        ("rounds", "3"),
    ]


@pytest.mark.parametrize("hidden", [(), (1,), (2,), (3,), (1, 3), (1, 2, 3)])
def test_a_series_counts_nobody_where_any_of_its_votes_hides_who_takes_part(
    tmp_path: Path, write: Write, hidden: Sequence[int]
) -> None:
    votes = ("replace-one", "add-remove-one")
    lines = "".join(f'[[votes]]\nparameters.relation = "{votes[vote in hidden]}"\n' for vote in (1, 2, 3))
    text = 'protocol = "fair-voting"\nsynthetic = true\n'
    text += f'[parameters]\nepsilon = 1.0\nmechanism = "laplace"\n{lines}{GROUPS}'
    (header, *_) = (left_by(write("votes.toml", text), tmp_path / "run") / "votes.csv").read_text().splitlines()
    assert ("parties" in header.split(","), "refused_no_budget" in header.split(",")) == (not hidden,) * 2
