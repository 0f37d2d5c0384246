"""Fair voting as scenarios: the same result on every path, every source of voters, and nobody's ranking left."""

import csv
import gzip
import json
import math
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from bad_input import Psephos, Write, check_fault
from ballot_files import BUDGET, COMPANION, ORDERS
from psephos.protocol.fair_voting.kinds import CENTRAL, MechanismName
from psephos.scenarios import load_scenario, read_ledger, resolve
from psephos.scenarios.running.statements import trust_in
from runs import made, read_json, read_lines, refusal, words_of

PATHS = ("memory", "tcp", "array")
MECHANISMS: tuple[str, ...] = tuple(
    name for name in typing.get_args(MechanismName) if name not in {"masked", "pairwise"}
)
"""Of several groups."""
SMALL = ("voters.groups.north.voters=8", "voters.groups.south.voters=5", "num_samples=4")
OF_GROUPS = {"groups", "group_sizes"}
VOTERS = """voter,group,ranking
ann,north,a > b > c
bob,north,b>a>c
cid,south,c > a > b
dee,south," c > b > a "
eve,south,a > c > b
"""
LISTED = """protocol = "fair-voting"
seed = 3
noise = "simulated"

[parameters]
epsilon = 2.0

[[voters]]
voter = "ann"
group = "north"
ranking = "a > b > c"

[[voters]]
voter = "bob"
group = "south"
ranking = ["b", "a", "c"]
"""


def results_of(scenario: str, folder: Path, *settings: str) -> list[dict[str, Any]]:
    """Run a scenario on every path, and return the different results that are left; their tables must be alike too."""
    for path in PATHS:
        made(scenario, folder / path, *settings, f"transport={path}")
    tables = {(folder / path / "estimates.csv").read_bytes() for path in PATHS}
    assert len(tables) == 1
    return [json.loads(left) for left in {(folder / path / "result.json").read_bytes() for path in PATHS}]


def read(path: Path) -> Any:
    """Return what a JSON file holds."""
    return read_json(path)


def write_sources(write: Write, folder: Path) -> None:
    """Write files of voters, of every kind, into `mine`."""
    (folder / "mine").mkdir()
    write("mine/v.csv", VOTERS)
    write("mine/x.soc", ORDERS)
    write("mine/y.soc.gz", gzip.compress(ORDERS.encode()))
    write("mine/g.csv", COMPANION)
    write("mine/b.pb", BUDGET)


# Paths.


OBJECTIVES: tuple[str, ...] = ("parity", "constrained", "penalized")


@pytest.mark.parametrize("mechanism", [*MECHANISMS, "masked"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_mechanism_is_alike_on_every_path(tmp_path: Path, mechanism: str, objective: str) -> None:
    sizes = ("threshold=12", "colluders=1") if mechanism == "masked" else ()
    settings = (*SMALL, f"mechanism={mechanism}", f"objective={objective}", "round=2", *sizes)
    (result,) = results_of("two-societies", tmp_path, *settings)
    assert (result["num_parties"], result["received"]) == (13, {"rankings": 13})
    outcome = result["outcome"]
    assert outcome["winner"] in outcome["candidates"]
    assert (outcome["groups"], outcome["group_sizes"]) == (["north", "south"], [8, 5])
    assert (outcome["model"] == "central") == (mechanism in CENTRAL)
    assert outcome["mechanism"] == mechanism or mechanism in {"local", "joint"}


SOURCES: Mapping[str, tuple[str, ...]] = {
    "a CSV": ("voters=mine/v.csv",),
    "orders": ("voters=mine/x.soc", "voters.groups_file=mine/g.csv"),
    "orders, the groups first": ("voters.groups_file=mine/g.csv", "voters=mine/x.soc"),
    "orders as a table": ("voters.file=mine/x.soc", "voters.groups_file=mine/g.csv"),
    "orders, packed": ("parties={file='mine/y.soc.gz', groups_file='mine/g.csv'}",),
    "a file for each group": ("voters.group_files={north='mine/x.soc', south='mine/y.soc.gz'}",),
    "a file for each group, one by one": ("voters.group_files.n=mine/x.soc", "voters.group_files.s=mine/x.soc"),
    "a budget": ("voters=mine/b.pb", "voters.group_column=sex", "voters.group_names={F='women', M='men'}"),
    "a budget by age": ("voters=mine/b.pb", "voters.group_column=age", "voters.age_cuts=[35]"),
    "a budget and a rule": ("voters=mine/b.pb", "voters.group_rule=alternating", "voters.groups=['a', 'b']"),
}


@pytest.mark.few(most=5)
@pytest.mark.parametrize("source", list(SOURCES))
def test_ones_own_voters_are_alike_on_every_path(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    write_sources(write, tmp_path)
    monkeypatch.chdir(tmp_path)
    (result,) = results_of("two-societies", tmp_path, *SOURCES[source], "seed=7", "noise=simulated")
    assert "truth" not in result  # nobody made these voters up
    assert sum(result["outcome"]["group_sizes"]) == result["num_parties"]
    # A scenario's own seed is known to everybody, and with it the noise.
    assert load_scenario("two-societies", SOURCES[source]).seed is None


def test_a_plain_election_needs_no_groups_on_any_path_nor_from_files_in_batches(
    psephos: Psephos, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    write("mine/p.csv", "voter,ranking\nann,a > b > c\nbob,b>a>c\ncid,c > a > b\n")
    monkeypatch.chdir(tmp_path)
    settings = ("groups=['all']", "objective=welfare", "seed=7", "noise=simulated")
    (result,) = results_of("two-societies", tmp_path, "voters=mine/p.csv", *settings)
    assert (result["outcome"]["groups"], result["outcome"]["group_sizes"]) == (["all"], [3])
    made("two-societies", tmp_path / "batches", "voters=mine/*.csv", *settings, "transport=array")
    assert read(tmp_path / "batches" / "result.json")["outcome"] == result["outcome"]
    again = psephos(
        "run", "array/scenario.json", "--seed", 7, "--set", "noise=simulated", "--no-pictures", "--out", "again"
    )
    assert (again.status, again.err) == (0, "")


def test_winners_by_pairs_are_one_on_every_path_and_all_is_shown(
    psephos: Psephos, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    write("mine/p.csv", "voter,ranking\nann,a > b > c\nbob,b>a>c\ncid,a > c > b\n")
    monkeypatch.chdir(tmp_path)
    settings = ("groups=['all']", "mechanism=pairwise", "objective=kemeny", "epsilon=30", "seed=7", "noise=simulated")
    (result,) = results_of("two-societies", tmp_path, "voters=mine/p.csv", *settings)
    assert result["outcome"]["details"]["ranking"] == ["a", "b", "c"]
    assert result["outcome"]["details"]["copeland_scores"] == [2.0, 1.0, 0.0]
    rows = list(csv.DictReader((tmp_path / "array" / "estimates.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["alternative"], row["contests_won"]) for row in rows] == [("a", "2.0"), ("b", "1.0"), ("c", "0.0")]
    shown = psephos(
        "run",
        "array/scenario.json",
        "--seed",
        7,
        "--set",
        "noise=simulated",
        "--no-pictures",
        "--verbose",
        "--out",
        "again",
    )
    assert "a > b > c (Kemeny's)" in shown.out
    assert "Contests won" in shown.out
    refusal = psephos("run", "array/scenario.json", "--set", "mechanism=laplace", "--out", "refused").refusal
    assert ": use 'pairwise' with objective 'kemeny'" in refusal


@pytest.mark.few(most=4)
@pytest.mark.parametrize("source", list(SOURCES))
def test_a_runs_scenario_runs_again_from_its_own_folder(
    psephos: Psephos, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    write_sources(write, tmp_path)
    words = ("--seed", 11, "--set", "noise=simulated", "--no-pictures", "--json")
    more = words_of(*SOURCES[source], "max_disparity=0.25", "mechanism=exponential")
    first = psephos("run", "two-societies", *more, *words, "--out", "runs/first")
    assert (first.status, first.err) == (0, "")
    kept = read(Path("runs/first/scenario.json"))
    assert "seed" not in kept
    assert kept["parameters"].keys().isdisjoint(OF_GROUPS)  # the voters say them again
    assert (kept["parameters"]["max_disparity"], kept["parameters"]["mechanism"]) == (0.25, "exponential")
    parties: Any = kept["parties"]
    paths = [parties] if isinstance(parties, str) else [*parties.get("group_files", {}).values()]
    paths += [] if isinstance(parties, str) else [parties[key] for key in ("file", "groups_file") if key in parties]
    assert all(path.startswith("../../mine/") for path in paths)
    assert paths
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = psephos("run", "../runs/first/scenario.json", *words, "--out", "again")
    assert (again.status, again.err, again.out) == (0, "", first.out)


# Sources of voters.


@pytest.mark.parametrize("key", ["voters", "parties"])
def test_a_file_takes_the_place_of_the_synthetic_voters(psephos: Psephos, write: Write, key: str) -> None:
    write("v.csv", VOTERS)
    ended = psephos("run", "two-societies", "--set", f"{key}=v.csv", "--no-pictures", "--json", "--out", "out")
    assert (ended.status, ended.err) == (0, "")
    outcome = json.loads(ended.out)["outcome"]
    assert (outcome["candidates"], outcome["groups"], outcome["group_sizes"]) == (
        ["a", "b", "c"],
        ["north", "south"],
        [2, 3],
    )
    assert read(Path("out/scenario.json"))["title"] == ""  # that was the made-up voters'
    assert json.loads(ended.out) == read(Path("out/result.json"))


def test_rankings_of_a_file_are_what_it_says(write: Write) -> None:
    resolved = resolve(load_scenario("two-societies", [f"voters={write('v.csv', VOTERS)}"]))
    assert resolved.inputs.private.tolist() == [[0, 1, 2], [1, 0, 2], [1, 2, 0], [2, 1, 0], [0, 2, 1]]
    assert resolved.inputs.public.tolist() == [[0], [0], [1], [1], [1]]
    # Alternatives and groups may be put in another order.
    settings = [f"voters={write('v.csv', VOTERS)}", "alternatives=['c', 'b', 'a']", "groups=['south', 'north']"]
    turned = resolve(load_scenario("two-societies", settings))
    assert turned.inputs.private.tolist() == [row[::-1] for row in resolved.inputs.private.tolist()]
    assert turned.inputs.public.tolist() == [[1], [1], [0], [0], [0]]
    assert turned.protocol.parameters.group_sizes == (3, 2)


def test_voters_may_be_listed_with_their_rankings(psephos: Psephos, write: Write) -> None:
    write("mine.toml", LISTED)
    write("two.csv", "voter,group,ranking\nann,north,a>b>c\nbob,south,b>a>c\n")
    words = ("--no-pictures", "--json", "--seed", 4, "--set", "noise=simulated")
    listed = psephos("run", "mine.toml", *words)
    assert (listed.status, listed.err) == (0, "")
    filed = psephos("run", "mine.toml", "--set", "voters=two.csv", *words)
    assert (filed.status, filed.err, filed.out) == (0, "", listed.out)


@pytest.mark.bad_input("a ranking that repeats, omits or invents an alternative")
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('["b", "a", "c"]', '["b", "a", "b"]', ["ranking: repeated alternative (bob)", "each of a, b, c once", "'b'"]),
        ('["b", "a", "c"]', "5", ["ranking: unknown alternative (bob)", "is '5'"]),
        ('voter = "bob"', 'voter = "ann"', ["voter", "'ann' is also in "]),
        ('group = "south"\n', "", ["voters[2]", "voter and the columns of the others"]),
    ],
)
def test_a_fault_in_a_list_of_voters_is_named(
    psephos: Psephos, write: Write, old: str, new: str, words: list[str]
) -> None:
    check_fault(psephos, write, LISTED, (old, new), words)


@pytest.mark.parametrize(
    "lines",
    [
        "voters = 'mine/v.csv'\n",
        "[voters]\nfile = 'mine/x.soc'\ngroups_file = 'mine/g.csv'\n",
        "[voters.group_files]\nnorth = 'mine/x.soc'\nsouth = 'mine/y.soc.gz'\n",
        "[voters]\nfile = 'mine/b.pb'\ngroup_column = 'sex'\n",
    ],
    ids=["a CSV", "a file and its groups", "a file for each group", "a budget"],
)
def test_paths_in_a_file_are_relative_to_it(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str
) -> None:
    write_sources(write, tmp_path)
    path = write("own.toml", f'protocol = "fair-voting"\n{lines}')
    here = resolve(load_scenario(str(path)))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert resolve(load_scenario("../own.toml")).names == here.names
    # What is set on the command line is seen from where one is.
    assert refusal("../own.toml", "voters={file='mine/x.soc', groups_file='mine/g.csv'}").field == "voters.file"


def test_a_file_of_ballots_without_groups_says_how_to_name_them(write: Write, tmp_path: Path) -> None:
    write_sources(write, tmp_path)
    for settings in ([f"voters={tmp_path}/mine/x.soc"], [f"voters.file={tmp_path}/mine/x.soc"]):
        error = refusal("two-societies", *settings)
        assert "voters.groups_file" in str(error)
        assert "voters.group_column" not in str(error)  # which a file of orders has not
    assert "voters.group_column" in str(refusal("two-societies", f"voters={tmp_path}/mine/b.pb"))


def test_what_follows_from_voters_cannot_be_set_otherwise(write: Write, tmp_path: Path) -> None:
    write_sources(write, tmp_path)
    for settings, source in (
        ((), "made-up voters"),
        ((f"voters={tmp_path}/mine/b.pb", "voters.group_column=sex"), "b.pb"),
    ):
        for setting in ("groups=['a', 'b']", "group_sizes=[1, 2]", "alternatives=['a', 'b']"):
            error = refusal("two-societies", *settings, setting)
            assert error.field == setting.partition("=")[0]
            assert error.allowed.startswith("left out: it follows from")
            assert source in error.allowed


@pytest.mark.parametrize(("name", "key"), [("preflib_00024_dots", "tasks=[1, 4]"), ("zurich_pb", "ballot=SN")])
@pytest.mark.parametrize("scenario", ["two-societies", "breakfast"])
def test_another_data_set_takes_the_place_of_voters_and_their_options(
    psephos: Psephos, real_sets: Path, scenario: str, name: str, key: str
) -> None:
    words = ("--seed", 3, "--set", "noise=simulated", "--no-pictures", "--json", "--transport", "array")
    more = ("--data", real_sets, *words_of(f"voters.data={name}", f"voters.{key}"))
    first = psephos("run", scenario, *more, *words, "--out", "runs/first")
    assert (first.status, first.err) == (0, "")
    assert "truth" in json.loads(first.out)
    again = psephos("run", "runs/first/scenario.json", *words, "--out", "again")
    assert (again.status, again.err, again.out) == (0, "", first.out)


# Price.


def test_a_larger_group_pays_less_where_its_size_protects_it(tmp_path: Path) -> None:
    for mechanism in ("sampling", "exponential"):
        made("two-societies", tmp_path / mechanism, *SMALL, f"mechanism={mechanism}", "transport=array")
        north, south = (entry.proven for entry in read_ledger(tmp_path / mechanism))
        assert north < south
    assert south == pytest.approx(0.6)


def test_without_a_random_winner_nothing_bounds_the_loss(psephos: Psephos) -> None:
    words = (*words_of(*SMALL, "mechanism=sampling", "gamma=0"), "--no-pictures", "--out", "out")
    ended = psephos("run", "two-societies", *words)
    assert (ended.status, ended.err) == (0, "")
    assert "inf" in ended.out
    result = read(Path("out/result.json"))
    assert result["outcome"]["epsilon_proven"] is None
    assert result["privacy"]["person"] == {
        "claimed": 0.6,
        "proven": None,
        "relation": "replace-one",
        "certainty": 1.0,
        "against": "whoever sees the releases, and no view of a trusted server",
    }
    assert all(math.isinf(entry.proven) for entry in read_ledger(Path("out")))
    told = psephos("ledger", "out")
    assert (told.status, told.err) == (0, "")
    assert "inf" in told.out
    error = refusal("two-societies", *SMALL, "mechanism=sampling", "gamma=0", "budget=1000")
    assert (error.field, error.allowed) == ("budget", "at least inf, which the session costs for replace-one neighbors")


def test_a_budget_is_held_against_the_smallest_group(tmp_path: Path) -> None:
    settings = (*SMALL, "mechanism=exponential")
    error = refusal("two-societies", *settings, "budget=0.59")
    assert (error.field, error.value, error.allowed) == (
        "budget",
        0.59,
        "at least 0.6, which the session costs for replace-one neighbors",
    )
    made("two-societies", tmp_path / "out", *settings, "budget=0.6")
    events = read_lines(tmp_path / "out" / "events.jsonl")
    left = sorted(event["remaining"] for event in events if event["event"] == "privacy_loss")
    assert left[:5] == pytest.approx([0] * 5)
    assert left[5] > 0.1


# Algorithm 2's number of samples.


# What a run leaves.


@pytest.mark.parametrize("noise", ["simulated", "secure"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_without_record_no_file_tells_what_anybody_prefers(
    tmp_path: Path, write: Write, noise: str, mechanism: str
) -> None:
    path = write("v.csv", VOTERS.replace("ann", "person-1").replace("bob", "person-2"))
    seed = () if noise == "secure" else ("seed=918273645",)
    settings = (f"voters={path}", f"noise={noise}", "name=plans", f"mechanism={mechanism}", "num_samples=2", *seed)
    resolved, finished = made("two-societies", tmp_path / "out", *settings)
    assert finished.truth is None
    assert finished.result["kind"] == ("deployment" if noise == "secure" else "simulation")
    rows = [json.dumps(row) for row in resolved.inputs.private.tolist()]
    for file in (tmp_path / "out").rglob("*"):
        text = file.read_text(encoding="utf-8").replace(trust_in(resolved.protocol), "")  # which has "private values"
        for written in (
            *rows,
            *(row.replace(" ", "") for row in rows),
            "a > b",
            "a>b",
            "private",
            '"seed"',
            "918273645",
        ):
            assert written not in text, (file, written)
        assert "truth" not in text, file
        assert ("person-" in text) == (file.name in {"events.jsonl", "ledger.jsonl"}), file


def test_the_truth_names_the_winners_of_well_known_rules(tmp_path: Path, write: Write) -> None:
    """Among a > b > c twice and c > b > a once, a has most first places and b is never last.

    Borda's scores are 4, 3 and 2.
    """
    path = write("v.csv", "voter,group,ranking\nann,n,a>b>c\nbob,n,a>b>c\ncid,s,c>b>a\n")
    _, finished = made("two-societies", tmp_path / "out", f"voters={path}", "synthetic=true", "objective=parity")
    truth = finished.truth
    assert isinstance(truth, dict)
    assert (truth["a (n)"], truth["b (n)"], truth["a (s)"], truth["c (s)"]) == (2, 1, 0, 2)
    assert (truth["plurality"], truth["borda"], truth["least disparity"], truth["this objective"]) == (
        "a",
        "a",
        "b",
        "b",
    )


# The smallest and the odd.


@pytest.mark.few(most=4)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_two_voters_of_two_alternatives_are_enough(tmp_path: Path, write: Write, mechanism: str) -> None:
    path = write("v.csv", "voter,group,ranking\nann,n,a>b\nbob,s,b>a\n")
    settings = (f"voters={path}", f"mechanism={mechanism}", "num_samples=1", "seed=5", "noise=simulated")
    (result,) = results_of("two-societies", tmp_path, *settings)
    assert result["outcome"]["group_sizes"] == [1, 1]


@pytest.mark.few(most=1)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_many_groups_of_one_voter_each_are_allowed(tmp_path: Path, write: Write, mechanism: str) -> None:
    rows = "".join(f"v{number},g{number},{'a>b>c' if number % 2 else 'c>a>b'}\n" for number in range(30))
    path = write("v.csv", f"voter,group,ranking\n{rows}")
    settings = (f"voters={path}", f"mechanism={mechanism}", "num_samples=1", "seed=5", "noise=simulated")
    (result,) = results_of("two-societies", tmp_path, *settings)
    assert len(result["outcome"]["groups"]) == 30
