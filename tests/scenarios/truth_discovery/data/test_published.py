"""Published crowds: the real ones have the counts and accuracies that are known; small ones show what is refused."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from psephos.protocol import ConfigurationError
from psephos.scenarios.truth_discovery.data import Crowd
from psephos.scenarios.truth_discovery.data.files import rows_of
from psephos.scenarios.truth_discovery.data.published import CROWDS, PassMark, load_crowd
from scipy.io import savemat

Put = Callable[[str, str | bytes], None]

# Tasks, workers, answers after repeats, gold tasks, labels, accuracy of majority voting (ties to the smaller label).
REAL = {
    "duchenne": (2134, 64, 17729, 159, 2, 121 / 159),
    "ducks": (240, 53, 9600, 240, 2, 0.692),
    "peer_grading": (724, 636, 2084, 23, 2, 19 / 23),
    "bluebird": (108, 39, 4212, 108, 2, 0.759),
    "rte": (800, 164, 8000, 800, 2, 0.919),
    "dog": (807, 109, 8070, 807, 4, 0.818),
    "web_search": (2665, 177, 15567, 2653, 5, 0.776),
    "d_product": (8315, 176, 24945, 8315, 2, 0.897),
    "d_sentiment": (1000, 85, 20000, 1000, 2, 0.932),
    "relevance": (20232, 766, 96883, 4460, 4, 0.538),
    "adult": (11040, 825, 89799, 333, 4, 0.760),
    "weather_sentiment_amt": (300, 110, 6025, 300, 5, 0.847),
    "sentiment_polarity": (4999, 203, 27746, 4999, 2, 0.890),
    "sentiment_polarity_amt": (500, 143, 10000, 500, 2, 0.944),
    "music_genre": (700, 44, 2945, 700, 10, 0.710),
    "zencrowd_in": (2040, 25, 10495, 2040, 2, 0.743),
}
# Where answers are repeated, the published accuracy counts every row.
EVERY_ROW = {"relevance": (98453, 0.536), "adult": (92721, 0.763), "zencrowd_in": (11205, 0.745)}

SMALL = {
    "duchenne/mturklabels.txt": "0001 w01 1\n2001 w01 1\n2001 w01 0\n2001 w02 0\n",
    "duchenne/groundtruth.txt": "2001\t1\n2136\t0\n",
    "ducks/labels.txt": "3 2 4\n0 0 1\n1 0 0\n2 0 1\n0 1 0\n",
    "ducks/classes.yaml": "labels: {0: 1, 1: 0,\n  2: 2}\n"
    "species: {American Black Duck: 2, Canada Goose: 1, Mallard: 0}\n",
    "rte/label.csv": "item,worker,label\n0,0,1\n1,0,0\n0,0,0\n",
    "rte/truth.csv": "item,truth\n0,1\n",
}


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Writes a file of the small folder."""

    def put_file(name: str, content: str | bytes) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    return put_file


@pytest.fixture
def sets(put: Put, tmp_path: Path) -> Path:
    """A small folder of data sets."""
    for name, content in SMALL.items():
        put(name, content)
    put_grades(tmp_path)
    return tmp_path


def put_grades(folder: Path, *, score: Any = 25, width: int = 4, staff: Any = None, is_packed: bool = False) -> None:
    """Write a small set of peer grades."""
    (folder / "peer_grading").mkdir(exist_ok=True)
    grades = [[7, "aa", "bb", 12], [7, "cc", "bb", score], [9, "aa", "dd", 13]]
    cells = np.empty((3, width), dtype=object)
    for row, entries in enumerate(grades):
        for column in range(width):
            cells[row, column] = entries[column]
    savemat(folder / "peer_grading" / "gradeass3.mat", {"gradeass3": cells}, do_compression=is_packed)
    truth = np.array([[7, 20, 18]]) if staff is None else staff
    savemat(folder / "peer_grading" / "ground3.mat", {"ground3": truth})


def counts(crowd: Crowd) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return how often each label was answered to each task."""
    answers = crowd.answers
    cells = answers.tasks * answers.num_classes + answers.labels
    return np.bincount(cells, minlength=answers.num_tasks * answers.num_classes).reshape(-1, answers.num_classes)


def accuracy(crowd: Crowd, *, is_last: bool = False) -> float:
    """Return the share of gold tasks that majority voting has right; ties go to the first label, or to the last."""
    votes = counts(crowd)
    chosen = votes.shape[1] - 1 - votes[:, ::-1].argmax(axis=1) if is_last else votes.argmax(axis=1)
    gold = crowd.truth >= 0
    return float((chosen[gold] == crowd.truth[gold]).mean())


def check_refused(folder: Path, name: str, field: str, allowed: str = "", **options: object) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        load_crowd(name, folder, **options)
    assert caught.value.field == field
    assert allowed in caught.value.allowed
    return caught.value


@pytest.mark.parametrize("name", CROWDS)
def test_a_real_crowd_has_the_counts_and_the_accuracy_that_are_known(real_sets: Path, name: str) -> None:
    crowd = load_crowd(name, real_sets)
    tasks, workers, answers, gold, labels, right = REAL[name]
    assert (len(crowd.tasks), len(crowd.workers), len(crowd.answers)) == (tasks, workers, answers)
    assert (int((crowd.truth >= 0).sum()), list(map(len, crowd.answer_sets))) == (gold, [labels])
    assert np.all(crowd.answers.sizes == labels)
    assert accuracy(crowd) == pytest.approx(right, abs=5e-4)
    pairs = crowd.answers.workers * tasks + crowd.answers.tasks
    assert np.all(np.diff(pairs) > 0)


@pytest.mark.parametrize("name", EVERY_ROW)
def test_all_rows_of_a_crowd_with_repeats_have_the_published_accuracy(real_sets: Path, name: str) -> None:
    crowd = load_crowd(name, real_sets)
    answers = rows_of(real_sets / name / "label.csv", field="data")
    size = len(crowd.answer_sets[0])
    place = {task: code for code, task in enumerate(crowd.tasks)}
    label = {text: code for code, text in enumerate(crowd.answer_sets[0])}
    cells = answers.tasks.recode(place) * size + answers.labels.recode(label)
    votes = np.bincount(cells, minlength=len(crowd.tasks) * size).reshape(-1, size)
    gold = crowd.truth >= 0
    right = float((votes[gold].argmax(axis=1) == crowd.truth[gold]).mean())
    assert (int(votes.sum()), right) == (EVERY_ROW[name][0], pytest.approx(EVERY_ROW[name][1], abs=5e-4))


@pytest.mark.parametrize(("repeats", "zero", "one"), [("first", 121, 109), ("last", 119, 111)])
def test_smiles_by_rule_for_repeats_and_ties(real_sets: Path, repeats: str, zero: int, one: int) -> None:
    crowd = load_crowd("duchenne", real_sets, repeats=repeats)
    assert accuracy(crowd) == zero / 159
    assert accuracy(crowd, is_last=True) == one / 159
    assert int((crowd.truth == 1).sum()) == 58


def test_ducks_with_ties_to_the_duck_have_the_published_accuracy(real_sets: Path) -> None:
    crowd = load_crowd("ducks", real_sets)
    assert accuracy(crowd, is_last=True) == pytest.approx(0.683, abs=5e-4)
    assert int(crowd.truth.sum()) == 100
    assert set(counts(crowd).sum(axis=1).tolist()) == {40}


@pytest.mark.parametrize(("threshold", "passed"), [(10, 16), (13, 7), (22, 0)])
def test_staff_grades_pass_by_the_threshold(real_sets: Path, threshold: int, passed: int) -> None:
    crowd = load_crowd("peer_grading", real_sets, threshold=threshold)
    assert int((crowd.truth == 1).sum()) == passed
    assert crowd.answer_sets == [("fail", "pass")]


def test_every_crowd_says_what_it_is() -> None:
    assert set(CROWDS) == set(REAL)
    assert all(crowd.title.endswith(("?", ")")) and crowd.source[-4:].isdecimal() for crowd in CROWDS.values())


def test_small_smiles(sets: Path) -> None:
    crowd = load_crowd("duchenne", sets)
    assert (crowd.tasks, crowd.workers, crowd.answer_sets) == (["0001", "2001"], ["w01", "w02"], [("0", "1")])
    assert (crowd.answers.labels.tolist(), crowd.truth.tolist()) == ([1, 1, 0], [-1, 1])
    assert load_crowd("duchenne", sets, repeats="last").answers.labels.tolist() == [1, 0, 0]
    assert check_refused(sets, "duchenne", "label (mturklabels.txt line 3)", repeats="error").value == "0"


def test_small_ducks(sets: Path) -> None:
    crowd = load_crowd("ducks", sets)
    assert (crowd.truth.tolist(), crowd.answers.labels.tolist()) == ([0, 1, 1], [1, 0, 1, 0])


def test_small_grades_have_running_numbers_for_graders(sets: Path) -> None:
    crowd = load_crowd("peer_grading", sets)
    assert (crowd.tasks, crowd.workers) == (["7", "9"], ["1", "2"])
    assert crowd.answers.workers.tolist() == [0, 0, 1]
    assert (crowd.answers.labels.tolist(), crowd.truth.tolist()) == ([0, 1, 1], [1, -1])


def test_a_small_uniform_crowd(sets: Path) -> None:
    assert load_crowd("rte", sets).answers.labels.tolist() == [1, 0]
    assert load_crowd("rte", sets, repeats="last").answers.labels.tolist() == [0, 0]
    check_refused(sets, "rte", "label (label.csv line 4)", repeats="error")


@pytest.mark.parametrize(
    ("name", "options", "field", "allowed"),
    [
        ("duchene", {}, "crowd", "(did you mean 'duchenne'?)"),
        ("rte", {"repeats": "both"}, "crowd.repeats", "one of error, first, last"),
        ("ducks", {"repeats": "first"}, "crowd", "without the unknown key 'repeats'"),
        ("peer_grading", {"threshold": 1}, "threshold", "in [2, 25]"),
        ("peer_grading", {"threshold": 26}, "threshold", "in [2, 25]"),
    ],
)
def test_a_wrong_choice_is_refused(sets: Path, name: str, options: dict[str, object], field: str, allowed: str) -> None:
    check_refused(sets, name, field, allowed, **options)


def test_the_limits_of_the_pass_mark_are_allowed() -> None:
    assert [PassMark(threshold=threshold).threshold for threshold in (2, 25)] == [2, 25]


@pytest.mark.parametrize("file", [*SMALL, "peer_grading/gradeass3.mat", "peer_grading/ground3.mat"])
def test_a_missing_file_is_named_with_its_folder(sets: Path, file: str) -> None:
    (sets / file).unlink()
    error = check_refused(sets, file.partition("/")[0], "data", f"a readable file {file} (No such file")
    assert error.value == str(sets)


@pytest.mark.parametrize(
    ("file", "content", "field", "allowed"),
    [
        ("duchenne/mturklabels.txt", "0001 w01 1\n0001 w02 2\n", "mturklabels.txt line 2", "image worker label"),
        ("duchenne/mturklabels.txt", "", "mturklabels.txt line 1", "image worker label"),
        ("duchenne/mturklabels.txt", b"\xff", "data", "can't decode"),
        ("duchenne/groundtruth.txt", "2001 1\n", "groundtruth.txt line 1", "image, TAB, label"),
        ("duchenne/groundtruth.txt", "2001\t1\n2001\t0\n", "truth (groundtruth.txt line 2)", "'1', which is the truth"),
        ("ducks/labels.txt", "3 2 5\n0 0 1\n", "labels.txt line 1", "the number of answers, 1"),
        ("ducks/labels.txt", "3 2 1\n0 0 x\n", "labels.txt line 2", "three numbers"),
        ("ducks/labels.txt", "3 2 1\n0 0 2\n", "label (labels.txt line 2)", "one of '0', '1'"),
        ("ducks/classes.yaml", "labels: {0: 1}\n", "species (classes.yaml)", "given as {key: value, ...}"),
        ("ducks/classes.yaml", "labels: {0}\nspecies: {Mallard: 0}\n", "labels (classes.yaml)", "given as {key"),
        ("ducks/classes.yaml", "labels: {0: 1}\nspecies: {Mallard: 0}\n", "species (classes.yaml)", "with American"),
        (
            "rte/label.csv",
            "item,worker,label\n0,0\n",
            "label.csv line 2",
            "This line has 2 entries, and the header 3: item, worker, label.",
        ),
        ("rte/truth.csv", "item,truth\n0,7\n", "truth (truth.csv line 2)", "'0', '1'"),
        ("peer_grading/gradeass3.mat", b"MATLAB", "data", "a readable file peer_grading/gradeass3.mat"),
        ("peer_grading/gradeass3.mat", b"", "data", "a readable file peer_grading/gradeass3.mat"),
    ],
)
def test_a_damaged_file_is_refused(
    sets: Path, put: Put, file: str, content: str | bytes, field: str, allowed: str
) -> None:
    put(file, content)
    check_refused(sets, file.partition("/")[0], field, allowed)


@pytest.mark.parametrize(
    ("changed", "field", "allowed"),
    [
        ({"score": 26}, "score (gradeass3.mat row 2)", "an integer in [1, 25]"),
        ({"score": "high"}, "score (gradeass3.mat row 2)", "an integer in [1, 25]"),
        ({"score": 2.5}, "data", "2.5, which is not an integer"),
        ({"score": np.array([1, 2])}, "score (gradeass3.mat row 2)", "an integer in [1, 25]"),
        ({"width": 3}, "data", "rows of 4 entries in gradeass3 of peer_grading/gradeass3.mat"),
        ({"staff": np.array([[7, 0, 3]])}, "score (ground3.mat row 1)", "an integer in [1, 25]"),
        ({"staff": np.zeros((0, 3))}, "data", "rows of 3 entries in ground3 of peer_grading/ground3.mat"),
    ],
)
def test_grades_that_are_none_are_refused(sets: Path, changed: dict[str, Any], field: str, allowed: str) -> None:
    put_grades(sets, **changed)
    check_refused(sets, "peer_grading", field, allowed)


def test_a_matlab_file_cut_off_or_damaged_anywhere_is_refused_or_read(sets: Path) -> None:
    path = sets / "peer_grading" / "gradeass3.mat"
    plain = path.read_bytes()
    put_grades(sets, is_packed=True)
    for whole in (plain, path.read_bytes()):
        for place in range(0, len(whole), 3):
            for content in (whole[:place], whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]):
                path.write_bytes(content)
                # It may be read, but nothing else may be raised.
                with contextlib.suppress(ConfigurationError):
                    load_crowd("peer_grading", sets)
