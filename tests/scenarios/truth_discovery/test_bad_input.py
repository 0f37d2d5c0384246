"""Bad input of truth discovery, by the command line."""

import json

import msgspec
import pytest
from bad_input import Psephos, Write, check_refused
from psephos.scenarios import load_scenario, resolve, run_session
from psephos.scenarios.reading import columns
from thoroughness import draws

# A file of answers and settings, and what the sentence has.

CROWD_FINE = "task,worker,label\nq1,ann,yes\nq2,ann,no\nq1,bob,yes\n"
TWICE = f"{CROWD_FINE}q1,ann,no\n"
TWO_LAYERS = "mechanism=two_layer"
NAMED_SETS = "task,worker,label,answer_set\n"
CROWD: dict[str, tuple[str | bytes, list[str], list[str]]] = {
    "a label outside the answer set": (
        CROWD_FINE,
        ["answer_sets=[['yes', 'nope']]"],
        ["label (own.csv line 3) is 'no': use one of 'yes', 'nope'"],
    ),
    "a truth outside the answer set": (
        CROWD_FINE,
        ["workers.answers=own.csv", "workers.truth=truth.csv"],
        ["truth (truth.csv line 3)", "'no', 'yes'", "is 'maybe'"],
    ),
    "a worker's label outside the answer set, in a list": (
        CROWD_FINE,
        ["workers=[{worker='ann', tasks='q1; q2', answers='yes;maybe'}]", "answer_sets=[['yes', 'no']]"],
        ["answers (ann) is 'maybe': use one of yes, no (task 'q2'), or nothing"],
    ),
    "an epsilon that is no level": (
        "worker,tasks,answers,epsilon\nann,q1; q2,yes; no,1\nbob,q1,yes,4\n",
        ["epsilons=[1, 2]", "answer_sets=[['yes', 'no']]"],
        ["epsilon (own.csv line 3, bob) is '4': use one of 1, 2"],
    ),
    "levels without a column of them": (
        CROWD_FINE,
        ["epsilons=[1, 2]"],
        ["the table has no column epsilon, with a line for each party: its own ε"],
    ),
    "one epsilon beside levels": (
        CROWD_FINE,
        ["epsilons=[1, 2]", "parameters.epsilon=1"],
        ["leave out epsilon beside epsilons: each worker has one of these"],
    ),
    "levels of a trusted server": (
        CROWD_FINE,
        ["epsilons=[1, 2]", "mechanism=central"],
        ["leave out epsilons in mechanism 'central': the noise is in counts of all workers' answers"],
    ),
    "two different answers to one task": (
        TWICE,
        [],
        [
            "label (own.csv line 5): Which counts? Worker 'ann' answered 'yes' to task 'q1' before (own.csv line 2)",
            "and 'no' here. Set workers.repeats to first or last.",
        ],
    ),
    "an unknown policy": (
        TWICE,
        ["workers.answers=own.csv", "workers.repeats=majority"],
        ["workers.repeats is 'majority': use one of error, first, last"],
    ),
    "an answer set of one label": (CROWD_FINE, ["answer_sets=[['yes']]"], ["answer_sets", "two or more", "['yes']"]),
    "a made-up crowd of one class": (
        CROWD_FINE,
        ["workers={tasks=3, workers=2, answers_per_task=1, classes=1}"],
        ["classes is 1: use a value from 2 to 1000"],
    ),
    "a flip probability above a half": (
        CROWD_FINE,
        ["flip_probability=0.5000001"],
        ["flip_probability is", "is 0.5", "(0, 0.5], for sets of 2 labels"],
    ),
    "a flip probability above two thirds, of three labels": (
        CROWD_FINE,
        ["flip_probability=0.7", "answer_sets=[['yes', 'no', 'unsure']]"],
        ["flip_probability is", "is 0.7", "(0, 0.666667], for sets of 3 labels"],
    ),
    "a flip probability above a half where some tasks have two labels": (
        f"{NAMED_SETS}q1,ann,yes,yes|no\nq2,ann,red,red|green|blue\n",
        ["flip_probability=0.6"],
        ["flip_probability is", "is 0.6", "(0, 0.5], for sets of 2 labels"],
    ),
    "a flip probability of 0": (CROWD_FINE, ["flip_probability=0"], ["flip_probability is 0"]),
    "a above b": (
        CROWD_FINE,
        [TWO_LAYERS, "hyper={type='Uniform', low=0.6, high=0.4}"],
        ["low is 0.6: use at most high = 0.4"],
    ),
    "a value of a hyper-distribution above 1": (
        CROWD_FINE,
        [TWO_LAYERS, "hyper={type='Discrete', probabilities=[0.1, 1.2], shares=[0.5, 0.5]}"],
        ["probabilities", "is 1.2: use a value from 0 to 1"],
    ),
    "a hyper-distribution of no kind": (
        CROWD_FINE,
        [TWO_LAYERS, "hyper={type='Unifrom', low=0.1, high=0.4}"],
        ["hyper.type 'Unifrom' is unknown"],
    ),
    "a hyper-distribution of one layer": (
        CROWD_FINE,
        ["mechanism=one_layer", "hyper={type='Uniform', low=0.1, high=0.4}"],
        ["leave out hyper", "two-layer"],
    ),
    "epsilon of answers below 0": (CROWD_FINE, ["epsilon=-1"], ["epsilon is -1"]),
    "epsilon of a worker of 0": (CROWD_FINE, ["epsilon_worker=0"], ["epsilon_worker is 0"]),
    "two prices": (
        CROWD_FINE,
        ["epsilon=1", "flip_probability=0.2"],
        ["give one of epsilon and flip_probability alone"],
    ),
    "a second moment that no law of this mean has": (
        CROWD_FINE,
        [TWO_LAYERS, "hyper={type='Moments', moments=[0.3, 0.05]}"],
        ["Make it such that moment 2 is inside (0.09, 0.3)", "is 0.05"],
    ),
    "a mean that no law on a range has": (
        CROWD_FINE,
        [TWO_LAYERS, "hyper={type='Moments', moments=[0.3, 0.1], high=0.25}"],
        ["Make it such that moment 1 is inside (0, 0.25)", "is 0.3"],
    ),
    "fewer moments than a worker has answers": (
        CROWD_FINE,
        [TWO_LAYERS, "hyper={type='Moments', moments=[0.3]}"],
        ["hyper.moments is 1 of them: use at least 2, one for each of the max_answers"],
    ),
    "a table whose shares do not sum to 1": (
        CROWD_FINE,
        [TWO_LAYERS, "hyper={type='Piecewise', edges=[0, 0.2, 0.5], shares=[0.5, 0.6]}"],
        ["use 0, or at least 1e-09, with the sum 1", "0.5, 0.6"],
    ),
    "edges that fall": (
        CROWD_FINE,
        [TWO_LAYERS, "hyper={type='Piecewise', edges=[0, 0.6, 0.5], shares=[0.5, 0.5]}"],
        ["Make them rising"],
    ),
    "a normal law as narrow as a point": (
        CROWD_FINE,
        [TWO_LAYERS, "hyper={type='TruncatedNormal', location=0.2, scale=0.001}"],
        ["Make it finite, and at least 0.025", "is 0.001"],
    ),
    "a beta law of a negative parameter": (
        CROWD_FINE,
        [TWO_LAYERS, "hyper={type='Beta', alpha=-0.5, beta=2}"],
        ["hyper.alpha is -0.5: use a value from 0.01 to 1000"],
    ),
    "an unknown weight function": (
        CROWD_FINE,
        ["estimator=truth_discovery", "weight_function=sqrt"],
        ["weight_function is 'sqrt': use one of linear, log_odds"],
    ),
    "a weight function of an estimator that has none": (
        CROWD_FINE,
        ["estimator=majority", "weight_function=linear"],
        ["leave out weight_function, except with truth_discovery"],
    ),
    "an unknown divisor": (
        CROWD_FINE,
        ["estimator=truth_discovery", "normalization=some"],
        ["normalization is 'some': use one of"],
    ),
    "an unknown mechanism": (CROWD_FINE, ["mechanism=three_layer"], ["mechanism", "three_layer", "se one of"]),
    "a budget below the price": (CROWD_FINE, ["epsilon=2", "budget=3"], ["budget is 3", "use at least", "4"]),
    "no file of answers": (CROWD_FINE, ["workers=nowhere.csv"], ["There is no file 'nowhere.csv'"]),
    "a workbook": (
        b"PK\x03\x04 and more",
        [],
        ["own.csv: This is no workbook", "save it as CSV"],
    ),
    "a worker with a name that names nobody": (
        f"{CROWD_FINE}q2,{'x' * 129},no\n",
        [],
        ["worker", "1 to 128", "x" * 100],
    ),
    "a task with a name that needs a separator": (f"{CROWD_FINE}q;2,bob,no\n", [], ["tasks is", "is 'q;2'"]),
}


@pytest.mark.bad_input(
    "a label outside the task's answer set",
    "a worker who answers a task twice with different labels",
    "one class",
    "p^f above (s - 1)/s; a > b; [a, b] outside [0, 1]",
    "moments of no distribution; a table that is none; a hyper-distribution's parameters out of range",
    "a law with fewer moments than a worker has answers",
    "a weight function that does not increase, is not known, or is no function",
    "an empty file, wrong columns, text that is none",
)
@pytest.mark.parametrize("case", list(CROWD))
def test_wrong_input_of_a_crowd_gets_one_sentence_status_2_and_no_folder(
    psephos: Psephos, write: Write, case: str
) -> None:
    content, settings, words = CROWD[case]
    write("own.csv", content)
    write("truth.csv", "task,truth\nq1,yes\nq2,maybe\n")
    write("own.toml", 'protocol = "truth-discovery"\nworkers = "own.csv"\n')
    check_refused(psephos, "own.toml", ["synthetic=true", *settings], words)


def found(
    psephos: Psephos, write: Write, content: str, *settings: str, estimator: str = "auto"
) -> dict[str, str | None]:
    """Return the truths of a file by task, at an epsilon that changes no answer.

    A flip has a probability of e^-30 for each of less than 20 answers: 2e-12 in all.
    """
    write("own.csv", content)
    write("own.toml", 'protocol = "truth-discovery"\nseed = 1\nworkers = "own.csv"\n')
    options = [
        word for setting in (*settings, f"estimator={estimator}", "synthetic=true") for word in ("--set", setting)
    ]
    ended = psephos("run", "own.toml", "--set", "epsilon=30", *options, "--no-pictures", "--json")
    assert (ended.status, ended.err) == (0, "")
    outcome = json.loads(ended.out)["outcome"]
    return dict(zip(outcome["tasks"], outcome["truths"], strict=True))


ESTIMATORS = (
    "majority",
    "truth_discovery",
    "one_coin",
    "dawid_skene",
    "crh",
    "noise_aware",
    "noise_aware_dawid_skene",
    "noise_aware_crh",
)


@pytest.mark.bad_input("a worker who answers a task twice with different labels")
@pytest.mark.parametrize(("repeats", "truth"), [("first", "yes"), ("last", "no")])
def test_of_several_answers_to_a_task_the_one_that_is_asked_for_counts(
    psephos: Psephos, write: Write, repeats: str, truth: str
) -> None:
    content = "task,worker,label\nq1,ann,yes\nq2,ann,yes\nq1,ann,no\n"
    settings = ("workers.answers=own.csv", f"workers.repeats={repeats}", "workers.labels=['no', 'yes']")
    assert found(psephos, write, content, *settings) == {"q1": truth, "q2": "yes"}


SETS = "answer_sets=[['yes', 'no']]"
OF_FILES = ("workers.answers=own.csv", "workers.truth=truth.csv", "workers.labels=['no', 'yes']")
SKIPPED = "workers=[{worker='ann', tasks='q1; q2', answers='; no'}, {worker='bob', tasks='q2; q1', answers='no; '}]"
SILENT = "workers=[{worker='ann', tasks='q1; q2', answers='; '}]"
HEAD = "task,worker,label\n"
EQUAL = HEAD + "".join(f"q1,{worker},yes\nq2,{worker},no\nq3,{worker},yes\n" for worker in ("ann", "bob", "cid", "dee"))
FOUND = (
    (f"{CROWD_FINE}q2,bob,no\n", OF_FILES, {"q1": "yes", "q2": "no", "q3": None}),
    (CROWD_FINE, (SKIPPED, SETS), {"q1": None, "q2": "no"}),
    (CROWD_FINE, (SILENT, SETS), {"q1": None, "q2": None}),
    (f"{HEAD}q1,ann,yes\nq2,ann,no\nq3,ann,yes\n", (), {"q1": "yes", "q2": "no", "q3": "yes"}),
    (
        f"{HEAD}q1,ann,yes\nq2,ann,yes\nq1,bob,yes\n",
        ("answer_sets=[['no', 'unsure', 'yes']]",),
        {"q1": "yes", "q2": "yes"},
    ),
    (EQUAL, (), {"q1": "yes", "q2": "no", "q3": "yes"}),
)


@pytest.mark.few(most=12)
@pytest.mark.bad_input("a task that nobody answered", "one worker", "one class", "all workers equal")
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("content", "settings", "truths"), FOUND)
def test_every_estimator_finds_the_truths_that_there_are(
    psephos: Psephos,
    write: Write,
    content: str,
    settings: tuple[str, ...],
    truths: dict[str, str | None],
    estimator: str,
) -> None:
    write("truth.csv", "task,truth\nq1,yes\nq3,no\n")
    assert found(psephos, write, content, *settings, estimator=estimator) == truths


@pytest.mark.few(most=3)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_workers_who_are_all_equal_weigh_alike(write: Write, estimator: str) -> None:
    write("own.csv", EQUAL)
    path = write("own.toml", 'protocol = "truth-discovery"\nseed = 1\nworkers = "own.csv"\n')
    settings = ("epsilon=30", f"estimator={estimator}", "synthetic=true")
    record = run_session(resolve(load_scenario(str(path), settings)), seed=1)
    assert len(record.own_outcomes) == 4
    assert len({msgspec.json.encode(each) for each in record.own_outcomes.values()}) == 1


@pytest.mark.bad_input("p^f above (s - 1)/s; a > b; [a, b] outside [0, 1]")
@pytest.mark.parametrize(
    "settings",
    [
        ["flip_probability=0.5"],
        ["flip_probability=0.6", "answer_sets=[['yes', 'no', 'unsure']]"],
        ["mechanism=two_layer", "flip_probability=0.5"],
        ["mechanism=two_layer", "hyper={type='Uniform', low=0.0, high=1.0}"],
        ["mechanism=two_layer", "hyper={type='Uniform', low=0.2, high=0.2}"],
        ["epsilon=0"],
    ],
)
def test_a_flip_probability_at_its_limit_is_allowed(psephos: Psephos, write: Write, settings: list[str]) -> None:
    write("own.csv", CROWD_FINE)
    write("own.toml", 'protocol = "truth-discovery"\nworkers = "own.csv"\n')
    options = [word for setting in ("synthetic=true", *settings) for word in ("--set", setting)]
    ended = psephos("run", "own.toml", *options, "--no-pictures", "--json")
    assert (ended.status, ended.err) == (0, "")
    assert json.loads(ended.out)["outcome"]["num_answers"] == [2, 1]


@pytest.mark.bad_input("a large file")
def test_a_large_file_is_read_and_its_last_line_is_named(
    psephos: Psephos, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read at once is smaller. Of 100 workers the first 70 say yes to everything."""
    at_once = 1 << draws(18, full=22)
    monkeypatch.setattr(columns, "_BLOCK_BYTES", at_once)
    num_tasks = draws(350, full=3500)
    rows = [
        f"question-{task:05},worker-{worker:03},{'yes' if worker < 70 else 'no'}\n"
        for worker in range(100)
        for task in range(num_tasks)
    ]
    content = f"task,worker,label\n{''.join(rows)}"
    assert len(content) > 2 * at_once
    write("own.csv", content)
    write("own.toml", 'protocol = "truth-discovery"\nseed = 1\nworkers = "own.csv"\n')
    options = "--set synthetic=true --set estimator=majority --set epsilon=30 --transport array --no-pictures --json"
    ended = psephos("run", "own.toml", *options.split())
    assert (ended.status, ended.err) == (0, "")
    outcome = json.loads(ended.out)["outcome"]
    assert (len(outcome["tasks"]), set(outcome["truths"]), set(outcome["num_answers"])) == (num_tasks, {"yes"}, {100})
    write("own.csv", f"{content}question-00007,worker-000,no\n")
    refusal = psephos("run", "own.toml", *options.split()).refusal
    assert f"label (own.csv line {len(rows) + 2})" in refusal
    assert "(own.csv line 9)" in refusal
