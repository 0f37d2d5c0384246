"""Truth discovery as scenarios: the same result on every path, every source of workers, and nobody's answers left."""

import collections
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from psephos.protocol.truth_discovery import OwnOutcome
from psephos.scenarios import load_scenario, read_ledger, resolve
from psephos.scenarios.reading.cells import rows_in
from psephos.scenarios.running.statements import trust_in
from runs import made, price, read_json, read_lines, refusal, result_bytes

Psephos = Callable[..., Any]
Write = Callable[[str, str | bytes], Path]

PATHS = ("memory", "tcp", "array")
SMALL = ("workers.tasks=20", "workers.workers=9", "workers.answers_per_task=4")
OF_TABLE = {"tasks", "answer_sets", "answer_set_of_task", "max_answers"}
SEEDED = ("--seed", 11, "--set", "noise=simulated", "--no-pictures", "--json")
ANSWERS = "task,worker,label\nq1,ann,yes\nq2,ann,no\nq1,bob,yes\nq3,bob,no\nq2,cid,no\nq1,cid,no\nq3,dee,yes\n"
LABELS = "answer_sets=[['no','yes']]"  # which everybody may know, and nobody reads off what real people answered
# Without noise: two of three say yes to q1, both say no to q2, and q3 is open.
CLEAN = {"q1": ("yes", 3), "q2": ("no", 2), "q3": ("no", 2)}


@pytest.fixture(autouse=True)
def _answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of answers in the folder where one is."""
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(ANSWERS, encoding="utf-8")


@pytest.fixture
def duchenne(tmp_path: Path) -> Path:
    """A folder of data sets with a small one of the name; two of the workers judge twice."""
    folder = tmp_path / "sets" / "duchenne"
    folder.mkdir(parents=True)
    labels = "0001 w01 1\n0002 w01 0\n0001 w02 1\n0002 w02 0\n0001 w02 0\n0003 w03 1\n0001 w03 1\n"
    (folder / "mturklabels.txt").write_text(labels, encoding="utf-8")
    (folder / "groundtruth.txt").write_text("0001\t1\n0002\t0\n", encoding="utf-8")
    return tmp_path / "sets"


def found(printed: str) -> dict[str, tuple[str | None, int]]:
    """Return for each task the truth that a result says, and how many answered."""
    outcome = json.loads(printed)["outcome"]
    pairs = zip(outcome["truths"], outcome["num_answers"], strict=True)
    return dict(zip(outcome["tasks"], pairs, strict=True))


# Paths.


@pytest.mark.few(most=3)
@pytest.mark.parametrize(
    "settings",
    [
        SMALL,
        (*SMALL, "workers.classes=4", "mechanism=two_layer"),
        (*SMALL, "epsilons=[0.5, 1, 4]", "chosen_by=worker"),
        (*SMALL, "workers.classes=3", "mechanism=central"),
        ("workers={tasks=6, workers=5, answer_probability=0.3}",),
        ("workers={stand_in='peer_grading', groups=5, students=7, grades=2}",),
        ("workers=a.csv", LABELS, "seed=7", "noise=simulated"),
        ("workers.data=duchenne", "seed=7", "noise=simulated"),
    ],
)
def test_a_crowd_is_alike_on_every_path(duchenne: Path, tmp_path: Path, settings: tuple[str, ...]) -> None:
    """In the file are workers with two answers and one with one, so that rows are padded."""
    chosen = [f"data={duchenne}", *settings]
    results = {result_bytes("crowd", tmp_path / path, f"transport={path}", *chosen) for path in PATHS}
    tables = {(tmp_path / path / "estimates.csv").read_bytes() for path in PATHS}
    assert (len(results), len(tables)) == (1, 1)


# Sources of workers.


@pytest.mark.parametrize("key", ["workers=a.csv", "workers.answers=a.csv", "parties.answers=a.csv"])
def test_a_file_of_answers_takes_the_place_of_the_synthetic_crowd(psephos: Psephos, key: str) -> None:
    words = ("--set", key, "--set", LABELS, "--set", "epsilon=30")
    ended = psephos("run", "crowd", *words, "--no-pictures", "--json")
    assert (ended.status, ended.err) == (0, "")
    assert found(ended.out) == CLEAN
    result = json.loads(ended.out)
    assert result["num_parties"] == 4
    assert "truth" not in result  # what the clean answers say is nobody's to show


def test_known_truths_do_not_change_what_is_found(psephos: Psephos, write: Write) -> None:
    write("t.csv", "task,truth\nq1,no\n")
    usual = f"run crowd --seed 7 --set noise=simulated --set {LABELS} --no-pictures --json".split()
    plain = psephos(*usual, "--set", "workers=a.csv")
    known = psephos(*usual, "--set", "workers.answers=a.csv", "--set", "workers.truth=t.csv")
    assert (known.status, known.err, known.out) == (0, "", plain.out)


def test_a_truth_without_its_answers_is_refused(psephos: Psephos, write: Write) -> None:
    write("t.csv", "task,truth\nq1,no\n")
    assert "truth" in psephos("run", "crowd", "--set", "workers.truth=t.csv", "--out", "out").refusal
    assert not Path("out").exists()


def test_truths_are_known_beside_what_is_found(write: Write, tmp_path: Path) -> None:
    known = write("t.csv", "task,truth\nq1,no\n")
    settings = ("workers.answers=a.csv", f"workers.truth={known}")
    resolved, finished = made("crowd", tmp_path / "out", "synthetic=true", *settings)
    assert resolved.gold == finished.gold == {"q1": "no"}
    assert finished.truth == {task: truth for task, (truth, _) in CLEAN.items()}


def test_a_stand_in_takes_the_place_of_the_synthetic_crowd(tmp_path: Path) -> None:
    usual, _ = made("crowd", tmp_path / "usual", "workers.stand_in=peer_grading")
    peers = resolve(load_scenario("peer-grading"))
    assert (len(usual.names), list(usual.names)) == (72, list(peers.names))
    assert usual.inputs.private.tolist() == peers.inputs.private.tolist()
    assert usual.gold == peers.gold != {}


def test_a_data_set_takes_the_place_of_the_synthetic_crowd(duchenne: Path, tmp_path: Path) -> None:
    resolved, finished = made("crowd", tmp_path / "out", "workers.data=duchenne", f"data={duchenne}")
    assert list(resolved.names) == ["w01", "w02", "w03"]
    assert finished.gold == {"0001": "1", "0002": "0"}
    assert (resolved.scenario.title, resolved.scenario.description) == ("", "")


def test_another_source_takes_the_title_with_it_and_what_is_said_of_tasks(write: Write) -> None:
    path = write(
        "mine.toml",
        'protocol = "truth-discovery"\ntitle = "Mine"\nworkers = [{worker = "ann", tasks = "q1", answers = "a"}]\n'
        '[parameters]\nanswer_sets = [["a", "b"]]\ntasks = ["q1", "q9"]\nmax_answers = 1\nepsilon = 3.0\n',
    )
    assert len(resolve(load_scenario(str(path))).protocol.parameters.tasks) == 2
    scenario = load_scenario(str(path), ["workers=a.csv"])
    assert (scenario.title, scenario.parameters) == ("", {"epsilon": 3.0})
    assert refusal(str(path), "workers=a.csv").field == "workers.labels"
    scenario = load_scenario(str(path), ["workers=a.csv", LABELS])
    assert resolve(scenario).protocol.parameters.tasks == ("q1", "q2", "q3")


def test_paths_in_a_file_are_relative_to_it(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, psephos: Psephos
) -> None:
    write("t.csv", "task,truth\nq1,yes\n")
    whole = write("whole.toml", 'protocol = "truth-discovery"\nworkers = "a.csv"\n')
    text = 'protocol = "truth-discovery"\n[workers]\nanswers = "a.csv"\ntruth = "t.csv"\n'
    table = write("table.toml", text)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    said = ["synthetic=true"]
    assert resolve(load_scenario(str(whole), said)).gold == {}
    assert resolve(load_scenario("../table.toml", said)).gold == {"q1": "yes"}
    assert list(resolve(load_scenario(str(table), said)).names) == ["ann", "bob", "cid", "dee"]
    # What is set on the command line is seen from where one is.
    assert psephos("run", table, "--set", "workers.answers=a.csv", "--out", "out", "--no-pictures").status == 2


def test_other_answers_to_the_truths_of_a_file_are_set_one_by_one(write: Write) -> None:
    write("t.csv", "task,truth\nq1,yes\n")
    text = 'protocol = "truth-discovery"\n[workers]\nanswers = "a.csv"\ntruth = "t.csv"\nrepeats = "first"\n'
    text += 'labels = ["no", "yes"]\n'
    path = str(write("table.toml", text))
    other = write("b.csv", f"{ANSWERS}q1,ann,no\n")
    resolved = resolve(load_scenario(path, [f"workers.answers={other}"]))
    assert (len(resolved.names), resolved.gold) == (4, {"q1": "yes"})
    assert refusal(path, f"workers.answers={other}", "workers.repeats=error").field == "label (b.csv line 9)"


# What is set of tasks and labels keeps the answers' meaning.


@pytest.mark.parametrize(
    "setting",
    [
        "answer_sets=[['yes', 'no']]",
        "answer_sets=[['no', 'yes']]",
        "answer_sets=[['no', 'unsure', 'yes']]",
        "answer_sets=[['yes', 'no'], ['a', 'b']]",
        "tasks=['q3', 'q2', 'q1']",
        "tasks=['q0', 'q1', 'q2', 'q3']",
        "tasks=['x', 'y', 'z']",
        "answer_set_of_task=[0, 0, 0]",
    ],
)
def test_what_is_set_of_tasks_and_labels_is_refused_or_keeps_every_answer_as_it_was(
    psephos: Psephos, setting: str
) -> None:
    labels = "workers.labels=['no', 'yes']" if setting[:11] != "answer_sets" else "workers.repeats=first"
    words = ("--set", "workers.answers=a.csv", "--set", "epsilon=30", "--set", setting, "--set", labels)
    ended = psephos("run", "crowd", *words, "--set", "estimator=majority", "--no-pictures", "--json", "--out", "out")
    if ended.status == 2:
        assert setting.partition("=")[0] in ended.err or "workers.labels" in ended.err
        return
    assert ended.status == 0
    outcome = found(ended.out)
    assert {task: outcome[task] for task in ("q1", "q2")} == {task: CLEAN[task] for task in ("q1", "q2")}
    assert outcome["q3"][1] == 2
    assert all(outcome[task] == (None, 0) for task in outcome if task not in CLEAN)


def test_answer_sets_in_another_order_than_the_files_are_refused_or_keep_every_answer_as_it_was(
    psephos: Psephos, write: Write
) -> None:
    write("a.csv", "task,worker,label,answer_set\nq1,ann,yes,yes|no\nq1,bob,yes,yes|no\nq2,bob,off,on|off\n")
    words = ("--set", "epsilon=30", "--no-pictures", "--json")
    for number, sets in enumerate(("[['on', 'off'], ['yes', 'no']]", "[['yes', 'no'], ['on', 'off']]")):
        setting = f"answer_sets={sets}"
        ended = psephos("run", "crowd", "--set", "workers=a.csv", "--set", setting, *words, "--out", f"out-{number}")
        if ended.status == 2:
            assert "answer_sets" in ended.err
        else:
            assert found(ended.out) == {"q1": ("yes", 2), "q2": ("off", 1)}


def test_an_answer_set_that_is_given_is_the_one_that_answers_are_held_to() -> None:
    source = "workers=a.csv"
    wider = resolve(load_scenario("crowd", [source, "answer_sets=[['yes', 'unsure', 'no']]"]))
    assert wider.protocol.parameters.answer_sets == (("yes", "unsure", "no"),)
    assert (wider.protocol.truth(wider.inputs) or {})["q2"] == "no"
    error = refusal("crowd", source, "answer_sets=[['yes', 'unsure']]")
    assert (error.field, error.value) == ("label (a.csv line 3)", "no")


# Running again.


@pytest.mark.few(most=2)
@pytest.mark.parametrize(
    "source",
    [
        "workers={answers='mine/a.csv', labels=['no', 'yes']}",
        "workers={answers='mine/a.csv', truth='mine/t.csv', repeats='first', labels=['no', 'yes']}",
        "workers.stand_in=peer_grading",
        "workers={tasks=5, workers=3, answers_per_task=2}",
    ],
)
def test_a_runs_scenario_runs_again_from_its_own_folder(
    psephos: Psephos, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    (tmp_path / "mine").mkdir()
    write("mine/a.csv", ANSWERS)
    write("mine/t.csv", "task,truth\nq1,yes\n")
    first = psephos("run", "crowd", "--set", source, "--set", "mechanism=two_layer", *SEEDED, "--out", "runs/first")
    assert (first.status, first.err) == (0, "")
    kept = read_json("runs/first/scenario.json")
    assert "seed" not in kept
    assert kept["parameters"].keys().isdisjoint(OF_TABLE)  # the workers say them again
    if "mine" in source:
        assert kept["parties"] in (
            {"answers": "../../mine/a.csv", "labels": ["no", "yes"]},
            {
                "answers": "../../mine/a.csv",
                "truth": "../../mine/t.csv",
                "repeats": "first",
                "labels": ["no", "yes"],
            },
        )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = psephos("run", "../runs/first/scenario.json", *SEEDED, "--out", "again")
    assert (again.status, again.out) == (0, first.out)


def test_a_rerun_of_a_file_that_has_grown_has_its_new_tasks(psephos: Psephos, write: Write) -> None:
    words = ("--set", "workers=a.csv", "--set", "answer_sets=[['no', 'maybe', 'yes']]")
    assert psephos("run", "crowd", *words, "--no-pictures", "--out", "first").status == 0
    write("a.csv", f"{ANSWERS}q4,eve,maybe\n")
    again = psephos("run", "first/scenario.json", "--no-pictures", "--out", "again", "--json")
    assert again.status == 0
    assert set(found(again.out)) == {"q1", "q2", "q3", "q4"}


def test_a_rerun_of_a_file_that_names_answer_sets_by_now_has_them(psephos: Psephos, write: Write) -> None:
    words = ("--set", "workers=a.csv", "--set", "synthetic=true", "--no-pictures")
    assert psephos("run", "crowd", *words, "--out", "first").status == 0
    write(
        "a.csv",
        "task,worker,label,answer_set\nq1,ann,yes,yes|no\nq2,ann,red,red|green|blue\nq2,bob,red,red|green|blue\n",
    )
    words = ("--set", "epsilon=30", "--set", "synthetic=true", "--no-pictures", "--json")
    again = psephos("run", "first/scenario.json", *words, "--out", "again")
    assert (again.status, again.err) == (0, "")
    assert found(again.out) == {"q1": ("yes", 1), "q2": ("red", 2)}


def test_what_was_set_of_an_answer_set_is_kept_for_a_rerun(psephos: Psephos) -> None:
    wider = "answer_sets=[['yes', 'unsure', 'no']]"
    first = psephos("run", "crowd", "--set", "workers=a.csv", "--set", wider, *SEEDED, "--out", "first")
    assert read_json("first/scenario.json")["parameters"]["answer_sets"] == [["yes", "unsure", "no"]]
    assert psephos("run", "first/scenario.json", *SEEDED, "--out", "again").out == first.out


def test_a_data_sets_run_runs_again_and_leaves_the_tasks_to_the_data_set(psephos: Psephos, duchenne: Path) -> None:
    first = psephos("run", "duchenne", "--data", duchenne, *SEEDED, "--out", "first")
    assert (first.status, first.err) == (0, "")
    kept = read_json("first/scenario.json")
    assert (kept["data"], kept["parties"]) == ("../sets", {"data": "duchenne"})
    assert kept["parameters"].keys().isdisjoint(OF_TABLE)
    assert psephos("run", "first/scenario.json", *SEEDED, "--out", "again").out == first.out


# Price.


def test_a_budget_is_held_against_who_pays_most(tmp_path: Path) -> None:
    """Dee answers once, the others twice: at 2 an answer, the session costs 4."""
    source = "workers=a.csv"
    error = refusal("crowd", source, LABELS, "budget=3.99")
    assert (error.field, error.value) == ("budget", 3.99)
    assert "4" in error.allowed
    made("crowd", tmp_path / "out", source, LABELS, "budget=4")
    events = read_lines(tmp_path / "out" / "events.jsonl")
    left = {event["party"]: event["remaining"] for event in events if event["event"] == "privacy_loss"}
    assert left == {"ann": 0, "bob": 0, "cid": 0, "dee": 2}


def test_a_budget_knows_the_joint_law_of_two_layers() -> None:
    """All answers share one draw, so that a worker's loss is J and not a sum."""
    source = "workers=a.csv"
    resolved = resolve(load_scenario("crowd", [source, LABELS, "mechanism=two_layer", "epsilon=1"]))
    (loss,) = resolved.protocol.losses
    assert loss.claimed == pytest.approx(2)
    assert loss.proven != pytest.approx(2)
    for share, is_allowed in ((1 - 1e-9, False), (1, True)):
        settings = [source, LABELS, "mechanism=two_layer", "epsilon=1", f"budget={loss.proven * share!r}"]
        if is_allowed:
            resolve(load_scenario("crowd", settings))
        else:
            assert refusal("crowd", *settings).field == "budget"


@pytest.mark.parametrize("setting", ["mechanism=one_layer", "mechanism=two_layer", "epsilons=[0.5, 4]"])
def test_arrays_charge_in_groups_what_agents_are_charged_one_by_one(tmp_path: Path, setting: str) -> None:
    """Workers differ in how many answers they give; one group for each number, with as many persons as agents."""
    charged: dict[str, collections.Counter[bytes]] = {}
    lines: dict[str, int] = {}
    for path in PATHS:
        made("crowd", tmp_path / path, *SMALL, setting, f"transport={path}")
        entries = read_ledger(tmp_path / path)
        lines[path] = len(entries)
        charged[path] = collections.Counter()
        for entry in entries:
            charged[path][price(entry)] += entry.num_persons
    assert charged["memory"] == charged["tcp"] == charged["array"]
    assert charged["array"].total() == 9
    assert lines == {"memory": 9, "tcp": 9, "array": len(charged["array"])}
    assert len(charged["array"]) > 1
    grouped = [entry.person for entry in read_ledger(tmp_path / "array")]
    assert all(person.startswith("each of ") and " with " in person for person in grouped)
    assert len(set(grouped)) == len(grouped)
    for entry in read_ledger(tmp_path / "memory"):
        assert (entry.unit, entry.phase, entry.num_persons) == ("all answers of a worker", "answers", 1)
        assert entry.part is not None
        assert entry.part.unit == "one answer"
        assert entry.part.proven <= entry.proven


# What a run leaves.


@pytest.mark.parametrize("noise", ["simulated", "secure"])
def test_without_record_no_file_tells_who_answered_what_or_what_anybody_was_told(
    tmp_path: Path, write: Write, noise: str
) -> None:
    """Real workers. Their labels are everybody's to know and their names too, but not one beside the other.

    Weights, qualities and what is released are numbers with 20 binary places, so that one of 16 numbers equals one of
    18 others by chance in about 3 of 10,000 runs with secure noise, and two of them do in one of 10 million: whoever
    wrote them down would write down all.
    """
    labels = ("gemsbok", "okapi", "quagga")
    workers = [f"person-{letter}" for letter in "abcdefgh"]
    rows = [
        (task, worker, labels[(3 * place + number * number) % 3])
        for place, worker in enumerate(workers)
        for number, task in enumerate(f"question-{number}" for number in range(6))
        if (place + number) % 4
    ]
    answers = write("a.csv", "task,worker,label\n" + "".join(f"{','.join(row)}\n" for row in rows))
    known = write("t.csv", "task,truth\nquestion-1,okapi\n")
    settings = (f"workers.answers={answers}", f"workers.truth={known}", f"noise={noise}", "name=zoo")
    settings = (*settings, f"workers.labels={list(labels)}")
    seed = () if noise == "secure" else ("seed=918273645",)
    resolved, finished = made("crowd", tmp_path / "out", *settings, *seed)
    assert finished.truth is None
    owns = [own for own in finished.record.own_outcomes.values() if isinstance(own, OwnOutcome)]
    assert len(owns) == 8
    own_numbers = {repr(number) for own in owns for number in (own.weight, own.quality)}
    telling = {number for number in own_numbers if len(number) >= 8}
    assert len(telling) > 2
    rows_of_codes = {json.dumps(row, separators=(",", ":")) for row in resolved.inputs.private.tolist()}
    for path in (tmp_path / "out").rglob("*"):
        text = path.read_text(encoding="utf-8").replace(trust_in(resolved.protocol), "")  # which has "private values"
        assert sum(number in text for number in telling) < 2, path
        for written in ('"weight"', '"quality"', "private", '"seed"', "918273645", "views", '"rows"', '"truth"'):
            assert written not in text or (written, path.name) == ('"truth"', "scenario.json"), (path, written)
        squeezed = "".join(text.split())
        assert not any(row in squeezed for row in rows_of_codes), path
        for line in text.splitlines():
            assert not (any(worker in line for worker in workers) and any(label in line for label in labels)), path
        assert any(worker in text for worker in workers) == (path.name in {"events.jsonl", "ledger.jsonl"}), path
    result = read_json(tmp_path / "out" / "result.json")
    assert result["kind"] == {"secure": "deployment", "simulated": "simulation"}[noise]


def test_with_record_a_worker_sees_its_own_report_and_weight_and_the_aggregator_sees_all(tmp_path: Path) -> None:
    resolved, finished = made("crowd", tmp_path / "out", *SMALL, record=True)
    recorded = read_json(tmp_path / "out" / "private" / "simulation.json")
    assert recorded["private_rows"] == resolved.inputs.private.tolist()
    assert recorded["public_rows"] == resolved.inputs.public.tolist()
    assert recorded["truth"] == finished.truth
    assert recorded["seed"] == "7"
    _, *lines = read_lines(tmp_path / "out/private/views.jsonl")
    beginnings = {line["party"]: line for line in lines if "side" in line}
    assert set(beginnings) == {*resolved.names, "aggregator"}
    seen: dict[str, list[Any]] = {party: [] for party in beginnings}
    for line in lines:
        if "side" not in line:
            seen[line["party"]].append(line["message"])
    for place, name in enumerate(resolved.names):
        assert beginnings[name]["private_row"] == resolved.inputs.private[place].tolist()
        own = finished.record.own_outcomes[place]
        releases = [message for message in seen[name] if message is not None and "own" in json.dumps(message)]
        assert json.dumps(msgspec.to_builtins(own)) in json.dumps(releases)
        others = [each for other, each in finished.record.own_outcomes.items() if each != own and other != place]
        assert not any(json.dumps(msgspec.to_builtins(other)) in json.dumps(seen[name]) for other in others)
    everything = json.dumps(seen["aggregator"])
    assert all(json.dumps(msgspec.to_builtins(own)) in everything for own in finished.record.own_outcomes.values())


# What may be shown.


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        (SMALL, ["truth"]),
        ((*SMALL, "noise=secure"), []),
        (("workers.stand_in=peer_grading",), ["truth"]),
        (("workers.data=duchenne",), ["truth"]),
        (("workers.data=duchenne", "noise=secure"), []),
        (("workers=a.csv", LABELS), []),
        (("workers=a.csv", "public_record=true"), ["truth"]),
        (("workers=a.csv", "synthetic=true"), ["truth"]),
        (("workers=a.csv", "synthetic=true", "noise=secure"), []),
    ],
)
def test_the_truth_of_clean_answers_is_shown_of_nobody_real_or_of_public_record(
    duchenne: Path, tmp_path: Path, settings: tuple[str, ...], shown: list[str]
) -> None:
    resolved, finished = made("crowd", tmp_path / "out", f"data={duchenne}", *settings)
    assert finished.truth == (resolved.protocol.truth(resolved.inputs) if shown else None)
    assert [key for key in finished.result if key == "truth"] == shown
    assert (tmp_path / "out" / "workers.csv").exists() == bool(shown)


def test_each_worker_of_a_crowd_that_is_nobodys_secret_has_its_weight_error_and_importance(
    write: Write, tmp_path: Path
) -> None:
    """By hand: of the truths q1 yes, q2 no, cid has one wrong of two; dee answered neither, and Im(½) = 1/G(½) = 1."""
    known = write("t.csv", "task,truth\nq1,yes\nq2,no\n")
    settings = ("workers.answers=a.csv", f"workers.truth={known}", "synthetic=true")
    made("crowd", tmp_path / "out", *settings)
    rows: dict[Any, Mapping[str, Any]] = {row["worker"]: row for row in rows_in(tmp_path / "out" / "workers.csv")}
    assert {name: (row["answers"], row["error"], row["importance"]) for name, row in rows.items()} == {
        "ann": (2, 0.0, None),
        "bob": (2, 0.0, None),
        "cid": (2, 0.5, 1.0),
        "dee": (1, None, None),
    }
    assert rows["ann"]["weight"] > rows["cid"]["weight"]


def test_where_the_server_counts_answers_it_knows_no_weights(tmp_path: Path) -> None:
    made("crowd", tmp_path / "out", *SMALL, "trust=central")
    assert not (tmp_path / "out" / "workers.csv").exists()
