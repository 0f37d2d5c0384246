"""Moral preferences as scenarios: the same result on every path, every source of voters, and nobody's choices left."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bad_input import check_fault
from machine_files import write_moral_machine_like
from psephos.scenarios import load_scenario, read_ledger, resolve
from psephos.scenarios.moral_preferences.data.dilemmas import FEATURES
from psephos.scenarios.running.statements import trust_in
from runs import made, read_json, refusal, result_bytes

Psephos = Callable[..., Any]
Write = Callable[[str, str | bytes], Path]

PATHS = ("memory", "tcp", "array")
SMALL = {
    "moral-machine": ("voters.voters=7", "voters.records=3"),
    "moral-synthetic": ("voters.voters=7", "voters.records=4", "voters.features=3"),
    "fairness-judgements": ("voters.voters=7", "voters.records=3"),
    "own-epsilon": (),
    "cultures": ("voters.voters=7", "voters.records=3"),
}
OF_VOTERS = {"features", "max_records", "epsilons", "societies"}
CHOICES = """voter,record,choice,lives,law
ann,1,1,5,0
ann,1,0,1,1
bob,1,1,3,0
bob,1,0,2,2
ann,2,0,0,1
ann,2,1,4,1
"""
# Everybody trades one feature for another at a rate of its own, and the numbers are found nowhere else: so many digits
# are among the random ones of a run with a chance of some 1e-4.
CHARACTERISTIC = ("7654321", "6543210")
UNLIKE = "voter,record,choice,lives,law\n" + "".join(
    f"person-{voter},{record},{choice},{765432100.5 + (record * voter if choice else 7)},"
    f"{654321050.5 - (voter if choice else record)}\n"
    for voter in range(1, 7)
    for record in range(5)
    for choice in (0, 1)
)
EPSILONS = "voter,epsilon\nbob,2\nann,0.5\n"
LISTED = """protocol = "moral-preferences"
seed = 3
noise = "simulated"

[parameters]
features = ["lives", "law"]
paradigm = "VLDP"

[[voters]]
voter = "ann"
records = [[{lives = 5, law = 0}, {lives = 1, law = 1}], [{law = 1, lives = 4}, {lives = 0, law = 1}]]

[[voters]]
voter = "bob"
records = [[[3, 0], [2, 2]]]
"""


def read(path: Path) -> Any:
    """Return what a JSON file holds."""
    return read_json(path)


# Paths.


@pytest.mark.few(most=3)
@pytest.mark.parametrize("scenario", SMALL)
def test_a_shipped_scenario_is_alike_on_every_path(tmp_path: Path, scenario: str) -> None:
    results = {
        result_bytes(scenario, tmp_path / path, *SMALL[scenario], f"transport={path}", "round=2") for path in PATHS
    }
    tables = {(tmp_path / path / "estimates.csv").read_bytes() for path in PATHS}
    assert (len(results), len(tables)) == (1, 1)
    (result,) = map(json.loads, results)
    assert (result["num_parties"], result["received"]) == (7, {"preferences": 7})
    features = result["outcome"]["features"]
    of_societies = [society["name"] for society in result["outcome"].get("societies", [])]
    assert set(result["truth"]) == {*features, *(f"{name}, {feature}" for name in of_societies for feature in features)}


@pytest.mark.parametrize("source", ["choices", "responses", "listed"])
def test_a_file_and_a_list_are_alike_on_every_path(tmp_path: Path, write: Write, source: str) -> None:
    if source == "listed":
        scenario, settings = str(write("mine.toml", LISTED)), ()
    else:
        path = write("a.csv", CHOICES)
        if source == "responses":
            write_moral_machine_like(path, voters=4, records=2)
        scenario, settings = "moral-synthetic", (f"voters={path}", "seed=7", "noise=simulated")
    results = {result_bytes(scenario, tmp_path / path, *settings, f"transport={path}") for path in PATHS}
    (result,) = map(json.loads, results)
    assert "truth" not in result  # nobody made these voters up


# Sources of voters.


@pytest.mark.parametrize("key", ["voters=a.csv", "voters.choices=a.csv", "parties.choices=a.csv", "parties=a.csv"])
def test_a_file_of_choices_takes_the_place_of_the_synthetic_voters(psephos: Psephos, write: Write, key: str) -> None:
    write("a.csv", CHOICES)
    words = ("--set", key, "--no-pictures", "--json", "--out", "out")
    ended = psephos("run", "moral-synthetic", *words)
    assert (ended.status, ended.err) == (0, "")
    result = json.loads(ended.out)
    assert (result["num_parties"], result["outcome"]["features"]) == (2, ["lives", "law"])
    assert "parties" not in read(Path("out/run.json"))  # how many records somebody has, no ε pays for
    assert read(Path("out/scenario.json"))["title"] == ""  # that was the made-up voters'
    assert psephos("run", "moral-synthetic", "--set", "synthetic=true", *words[:-1], "known").status == 0
    assert read(Path("known/run.json"))["parties"] == "3 records of 2 voters, from 6 rows"


@pytest.mark.parametrize("key", ["voters", "voters.responses"])
def test_a_file_of_responses_takes_the_place_of_the_synthetic_voters(
    psephos: Psephos, tmp_path: Path, key: str
) -> None:
    write_moral_machine_like(tmp_path / "r.csv", voters=6, records=2)
    lines = (tmp_path / "r.csv").read_bytes().splitlines(keepends=True)
    (tmp_path / "r.csv").write_bytes(b"".join(lines[:-1]))  # one response lacks its second row
    words = ("--set", f"{key}=r.csv", "--no-pictures", "--out", "out")
    ended = psephos("run", "moral-machine", *words)
    assert (ended.status, ended.err) == (0, "")
    note = "11 records of 6 voters, from 23 rows; responses dropped: 1 without a second row"
    assert note in " ".join(ended.out.split())
    assert "parties" not in read(Path("out/run.json"))
    assert read(Path("out/result.json"))["outcome"]["features"] == list(FEATURES)
    assert psephos("run", "moral-machine", "--set", "synthetic=true", *words[:-1], "known").status == 0
    assert read(Path("known/run.json"))["parties"] == note


def test_voters_may_be_listed_with_their_records(psephos: Psephos, write: Write) -> None:
    write("mine.toml", LISTED)
    write("a.csv", CHOICES)
    words = ("--no-pictures", "--json", "--seed", 4, "--set", "noise=simulated")
    listed = psephos("run", "mine.toml", *words)
    assert (listed.status, listed.err) == (0, "")
    filed = psephos("run", "mine.toml", "--set", "voters=a.csv", *words)
    assert (filed.status, filed.err) == (0, "")
    results = [json.loads(ended.out) for ended in (listed, filed)]
    assert results[0]["outcome"] | {"epsilon_record": None} == results[1]["outcome"] | {"epsilon_record": None}


@pytest.mark.bad_input("a voter without records; records of different width")
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "law = 0}",
            "lwa = 0}",
            ["records: an alternative (ann) has no 'law': describe it by all of lives, law, and by nothing else"],
        ),
        ("[[3, 0], [2, 2]]", "[[3, 0], [2]]", ["records (bob)", "each of two alternatives of 2 numbers"]),
        ("[[3, 0], [2, 2]]", "[[3, 0]]", ["records (bob)", "each of two alternatives"]),
        ("[[[3, 0], [2, 2]]]", "[]", ["records (bob)", "at least one record"]),
        ("[[3, 0], [2, 2]]", "[[3, nan], [2, 2]]", ["records (bob)", "numbers in [-1e+09, 1e+09]"]),
        ("[[3, 0], [2, 2]]", "[[3, inf], [2, 2]]", ["records (bob)", "numbers in"]),
        ("[[[3, 0], [2, 2]]]", '"all"', ["records (bob)", "a list of records"]),
        ('voter = "bob"', 'voter = "ann"', ["voter", "'ann' is also in "]),
        ('voter = "bob"\n', "", ["voters[2]", "voter and the columns of the others"]),
        ('paradigm = "VLDP"', 'paradigm = "VLDP"\nmax_records = 1', ["records (ann)", "use 1 record (max_records)"]),
        ('features = ["lives", "law"]', "", ["features"]),
        ('paradigm = "VLDP"', 'paradigm = "VLPD"', ["paradigm", "VLDP"]),
    ],
)
def test_a_fault_in_a_list_of_voters_is_named(
    psephos: Psephos, write: Write, old: str, new: str, words: list[str]
) -> None:
    check_fault(psephos, write, LISTED, (old, new), words)


def test_paths_in_a_file_are_relative_to_it(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.csv", CHOICES)
    write("e.csv", EPSILONS)
    whole = write("whole.toml", 'protocol = "moral-preferences"\nvoters = "a.csv"\n')
    table = write("table.toml", 'protocol = "moral-preferences"\n[voters]\nchoices = "a.csv"\nepsilons = "e.csv"\n')
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert list(resolve(load_scenario(str(whole))).names) == ["ann", "bob"]
    assert resolve(load_scenario("../table.toml")).protocol.parameters.epsilons == (0.5, 2)
    # What is set on the command line is seen from where one is.
    assert refusal(str(table), "voters.choices=a.csv").field == "voters.choices"


def test_features_of_a_file_cannot_be_set_otherwise(write: Write) -> None:
    path = write("a.csv", CHOICES)
    error = refusal("moral-synthetic", f"voters={path}", "features=['law', 'lives']")
    assert error.field == "features (a.csv line 1)"
    assert error.allowed.startswith("left out: it follows from")
    assert resolve(load_scenario("moral-synthetic", [f"voters={path}", "features=['lives', 'law']"]))


# An ε of one's own.


@pytest.mark.parametrize("mechanism", ["laplace", "direction"])
def test_voters_of_a_file_have_the_epsilon_that_another_file_says(tmp_path: Path, write: Write, mechanism: str) -> None:
    settings = (
        f"voters.choices={write('a.csv', CHOICES)}",
        f"voters.epsilons={write('e.csv', EPSILONS)}",
        "paradigm=VLDP",
        f"mechanism={mechanism}",
        "seed=7",
        "noise=simulated",
    )
    results = {result_bytes("moral-synthetic", tmp_path / path, *settings, f"transport={path}") for path in PATHS}
    (result,) = map(json.loads, results)
    levels = result["outcome"]["levels"]
    assert [(level["epsilon"], level["num_voters"]) for level in levels] == [(0.5, 1), (2, 1)]
    paid = {entry.person: entry.claimed for entry in read_ledger(tmp_path / "memory")}
    assert paid == {"ann": 0.5, "bob": 2}
    assert resolve(load_scenario("moral-synthetic", settings)).inputs.public.tolist() == [[0], [1]]


@pytest.mark.parametrize("key", ["voters.groups={}", "voters.groups.seed=0", "voters.groups.liberal=0.1"])
def test_groups_take_the_place_of_the_scenarios_epsilon(key: str) -> None:
    resolved = resolve(load_scenario("moral-machine", ["voters.voters=50", key]))
    epsilons = resolved.protocol.parameters.epsilons
    assert len(epsilons) > 10
    assert all(0.01 <= epsilon <= 1 for epsilon in epsilons)
    assert resolved.protocol.parameters.epsilon is None


def test_one_epsilon_beside_groups_is_refused() -> None:
    error = refusal("fairness-judgements", "voters.voters=5", "epsilon=2")
    assert (error.field, error.allowed) == ("epsilon and epsilons", "given one of them alone")
    assert refusal("moral-machine", "voters.groups={}", "epsilon=2").field == "epsilon and epsilons"


def test_central_perturbation_has_one_epsilon_for_all() -> None:
    error = refusal("moral-synthetic", "voters.voters=5", "voters.groups={}")
    assert error.field == "epsilons"
    assert error.allowed.startswith("left out: noise on a sum of all has one ε for all")


def test_levels_that_are_set_must_hold_every_voters_epsilon(write: Write) -> None:
    settings = [f"voters.choices={write('a.csv', CHOICES)}", f"voters.epsilons={write('e.csv', EPSILONS)}"]
    settings.append("paradigm=VLDP")
    wider = resolve(load_scenario("moral-synthetic", [*settings, "epsilons=[0.5, 1, 2]"]))
    assert wider.inputs.public.tolist() == [[0], [2]]
    error = refusal("moral-synthetic", *settings, "epsilons=[0.5, 1]")
    assert error.field == "epsilon (a.csv line 4, bob)"
    assert "0.5" in error.allowed


# Running again.


@pytest.mark.few(most=2)
@pytest.mark.parametrize(
    "source",
    [
        "voters=mine/a.csv",
        "voters.choices=mine/a.csv",
        "voters={choices='mine/a.csv', epsilons='mine/e.csv'}",
        "voters={responses='mine/r.csv', max_records=1, groups={}}",
        "voters={voters=5, records=2, features=2, groups={seed=3}}",
        "voters={generator='fairness', voters=5, records=2}",
    ],
)
def test_a_runs_scenario_runs_again_from_its_own_folder(
    psephos: Psephos, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    (tmp_path / "mine").mkdir()
    write("mine/a.csv", CHOICES)
    write("mine/e.csv", EPSILONS)
    write_moral_machine_like(tmp_path / "mine" / "r.csv", voters=5, records=2)
    words = ("--seed", 11, "--set", "noise=simulated", "--no-pictures", "--json")
    more = ("--set", "paradigm=VLDP", "--set", "bound=3")
    first = psephos("run", "moral-synthetic", "--set", source, *more, *words, "--out", "runs/first")
    assert (first.status, first.err) == (0, "")
    kept = read(Path("runs/first/scenario.json"))
    assert "seed" not in kept
    assert kept["parameters"].keys().isdisjoint(OF_VOTERS)  # the voters say them again
    assert (kept["parameters"]["bound"], kept["parameters"]["paradigm"]) == (3, "VLDP")
    parties = kept["parties"]
    files = {"parties": parties} if isinstance(parties, str) else parties
    for key in ("parties", "choices", "responses", "epsilons"):
        assert files.get(key, "../../mine/").startswith("../../mine/")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = psephos("run", "../runs/first/scenario.json", *words, "--out", "again")
    assert (again.status, again.err, again.out) == (0, "", first.out)


def test_more_voters_of_groups_run_again_with_their_own_levels(psephos: Psephos) -> None:
    words = ("--set", "voters.voters=5", "--no-pictures")
    assert psephos("run", "fairness-judgements", *words, "--out", "first").status == 0
    again = psephos("run", "first/scenario.json", "--set", "voters.voters=50", "--no-pictures", "--json")
    assert (again.status, again.err) == (0, "")
    assert json.loads(again.out)["num_parties"] == 50
    groups = psephos("run", "first/scenario.json", "--set", "voters.groups.seed=1", "--no-pictures", "--json")
    assert (groups.status, groups.err) == (0, "")


# Price.


def test_groups_have_a_line_for_each_level_by_arrays(tmp_path: Path) -> None:
    made("fairness-judgements", tmp_path / "out", *SMALL["fairness-judgements"], "transport=array")
    entries = read_ledger(tmp_path / "out")
    assert sum(entry.num_persons for entry in entries) == 7
    assert len({entry.claimed for entry in entries}) == len(entries) > 1
    assert all(" with ε = " in entry.person for entry in entries)


# What a run leaves.


@pytest.mark.parametrize("noise", ["simulated", "secure"])
@pytest.mark.parametrize("paradigm", ["VLCP", "VLDP"])
def test_without_record_no_file_tells_what_anybody_chose_or_prefers(
    tmp_path: Path, write: Write, noise: str, paradigm: str
) -> None:
    path = write("a.csv", UNLIKE)
    seed = () if noise == "secure" else ("seed=918273645",)
    settings = (f"voters={path}", f"noise={noise}", "name=trolleys", f"paradigm={paradigm}", *seed)
    resolved, finished = made("moral-synthetic", tmp_path / "out", *settings)
    assert finished.truth is None
    rows = [[str(number) for number in row] for row in resolved.inputs.private.tolist()]
    assert min(len(number) for row in rows for number in row) >= 6  # so that two of them are nowhere by chance
    for file in (tmp_path / "out").rglob("*"):
        text = file.read_text(encoding="utf-8").replace(trust_in(resolved.protocol), "")  # which has "private values"
        assert not any(all(number in text for number in row) for row in rows), file
        for written in ("private", '"seed"', "918273645", "views", '"rows"', '"truth"', *CHARACTERISTIC):
            assert written not in text, (file, written)
        assert ("person-" in text) == (file.name in {"events.jsonl", "ledger.jsonl"}), file


# The smallest and the odd.


@pytest.mark.bad_input("one voter and central noise")
@pytest.mark.parametrize(
    "settings", [("paradigm=VLCP",), ("paradigm=RLCP", "mechanism=direction"), ("paradigm=RLCP", "mechanism=pooled")]
)
def test_one_voter_with_a_trusted_aggregator_is_protected_by_all_the_noise(
    psephos: Psephos, settings: tuple[str, ...]
) -> None:
    words = [word for setting in ("voters.voters=1", "voters.features=2", *settings) for word in ("--set", setting)]
    ended = psephos("run", "moral-synthetic", *words, "--no-pictures", "--out", "out")
    assert (ended.status, ended.err) == (0, "")
    result = read(Path("out/result.json"))
    assert (result["num_parties"], result["received"]) == (1, {"preferences": 1})
    if settings == ("paradigm=VLCP",):
        # Laplace noise of scale 2B/ε = 4 in each coordinate, whose standard deviation is √2 times that.
        assert result["outcome"]["errors"] == pytest.approx([4 * 2**0.5] * 2, rel=1e-3)
        assert "± 5.7" in ended.out


def test_one_record_of_one_feature_is_enough(tmp_path: Path) -> None:
    for number, settings in enumerate([("paradigm=VLDP",), ("paradigm=RLDP", "mechanism=functional")]):
        small = ("voters.voters=2", "voters.records=1", "voters.features=1")
        _, finished = made("moral-synthetic", tmp_path / str(number), *small, *settings)
        assert len(finished.result["outcome"]["preferences"]) == 1


def test_identical_alternatives_say_nothing_and_stop_nothing(tmp_path: Path, write: Write) -> None:
    path = write("a.csv", "voter,record,choice,x,y\nann,1,1,2,2\nann,1,0,2,2\nbob,1,0,1,0\nbob,1,1,1,0\n")
    for number, mechanism in enumerate(("laplace", "direction", "functional")):
        settings = (f"voters={path}", "paradigm=RLDP", f"mechanism={mechanism}")
        resolved, _ = made("moral-synthetic", tmp_path / str(number), *settings)
        truth: Any = resolved.protocol.truth(resolved.inputs)
        assert truth == {"x": 0, "y": 0}


# Real choices.


@pytest.mark.parametrize(("name", "num_features"), [("moral_machine_sample", 23), ("moral_trolley", 4)])
def test_real_choices_run_and_run_again(psephos: Psephos, real_sets: Path, name: str, num_features: int) -> None:
    words = ("--seed", 3, "--set", "noise=simulated", "--no-pictures", "--json")
    more = ("--set", f"voters.data={name}", "--data", real_sets, "--transport", "array")
    first = psephos("run", "moral-machine", *more, *words, "--out", "runs/first")
    assert (first.status, first.err) == (0, "")
    result = json.loads(first.out)
    assert len(result["outcome"]["features"]) == num_features
    assert set(result["truth"]) == set(result["outcome"]["features"])  # what is public record may be shown
    again = psephos("run", "runs/first/scenario.json", *words, "--out", "again")
    assert (again.status, again.out) == (0, first.out)


def test_a_known_seed_does_not_go_with_voters_from_elsewhere(write: Write) -> None:
    """Everybody has the shipped scenario's, and with it could take the noise off again."""
    path = write("a.csv", CHOICES)
    assert load_scenario("moral-synthetic").seed is not None
    assert load_scenario("moral-synthetic", [f"voters={path}"]).seed is None
    assert load_scenario("moral-synthetic", [f"voters.choices={path}"]).seed is None
    assert load_scenario("moral-synthetic", [f"voters.choices={path}", "seed=3"]).seed == 3
    assert load_scenario("moral-synthetic", ["voters.generator=fairness"]).seed is not None
