"""Names into codes and back: what tables may hold, and how each error names column, row and entry."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol import SimulatedNoise
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import NO_ANSWER
from psephos.protocol.population import draw_reports
from psephos.protocol.truth_discovery import NO_TASK, Codes, Parameters, TruthDiscovery
from psephos.protocol.truth_discovery.codes import encode_answers, encode_tasks, list_tasks
from strategies import CHECKED, crowds, seeds, truth_discoveries

# Codes: no 0, yes 1; red 2, green 3, blue 4.
PARAMETERS = Parameters(
    tasks=("bridge", "flag", "a = b", "door"),
    answer_sets=(("no", "yes"), ("red", "green", "blue")),
    answer_set_of_task=(0, 1, 0, 1),
    max_answers=3,
)
PROTOCOL = TruthDiscovery(PARAMETERS)
CODES = PROTOCOL.codes
TASKS = np.array([[0, 1, NO_TASK], [3, 2, 0], [NO_TASK] * 3])
ANSWERS = np.array([[1, 4, NO_ANSWER], [2, NO_ANSWER, 0], [NO_ANSWER] * 3])


def test_codes_name_set_and_label() -> None:
    assert CODES.sizes == (2, 3)
    assert CODES.size_of_task.tolist() == [2, 3, 2, 3]
    assert CODES.offset_of_task.tolist() == [0, 2, 0, 2]
    codes = [CODES.find_answer(label, 1, field="f") for label in ("red", "green", "blue")]
    assert codes == [2, 3, 4]
    assert [CODES.find_task(name, field="f") for name in PARAMETERS.tasks] == [0, 1, 2, 3]


def test_a_task_is_looked_up_in_its_own_set_where_two_sets_share_a_label() -> None:
    codes = Codes(("t1", "t2"), (("no", "yes"), ("yes", "no")), np.array([0, 1]))
    assert [codes.find_answer("yes", task, field="f") for task in (0, 1)] == [1, 2]


WAYS_TO_WRITE: list[tuple[Any, Any]] = [
    (["bridge; flag", "door;a = b ;bridge", ""], ["yes; blue", "red;;no", ""]),
    (["bridge;flag;", "door; a = b; bridge", " "], ["yes;blue", "red; ; no", " "]),
    (
        [["bridge", "flag"], ["door", "a = b", "bridge"], []],
        [["yes", "blue"], ["red", "", "no"], []],
    ),
    ([("bridge", "flag"), "door;a = b;bridge", []], [("yes", "blue"), ["red", None, "no"], []]),
    (np.array(["bridge;flag", "door;a = b;bridge", ""]), np.array(["yes;blue", "red;;no", ""])),
    (TASKS, ANSWERS),
]


@pytest.mark.parametrize(
    ("tasks", "answers"), WAYS_TO_WRITE, ids=["text", "blanks", "lists", "mixed", "array of text", "codes"]
)
def test_text_lists_and_codes_give_the_same_rows(tasks: Any, answers: Any) -> None:
    inputs = PROTOCOL.encode({"tasks": tasks, "answers": answers})
    assert inputs.private.tolist() == ANSWERS.tolist()
    assert inputs.public.tolist() == [[0, 0, 1, NO_TASK], [1, 3, 2, 0], [2, NO_TASK, NO_TASK, NO_TASK]]
    assert inputs.private.dtype == inputs.public.dtype == np.int64
    assert PROTOCOL.encode_public({"tasks": tasks}, num_parties=3).tolist() == inputs.public.tolist()


def test_fewer_answers_than_tasks_leave_the_last_ones_out() -> None:
    assert PROTOCOL.encode({"tasks": ["bridge;flag;door"], "answers": ["yes"]}).private.tolist() == [[1, -1, -1]]
    assert PROTOCOL.encode({"tasks": ["bridge;flag;door"], "answers": [[]]}).private.tolist() == [[-1, -1, -1]]


def test_labels_that_are_numbers_may_be_given_as_numbers() -> None:
    numbers = TruthDiscovery(Parameters(tasks=("7", "8"), answer_sets=(("1", "2"),), max_answers=2))
    inputs = numbers.encode({"tasks": [[7, 8]], "answers": [[2, 1]]})
    assert (inputs.private.tolist(), inputs.public.tolist()) == ([[1, 0]], [[0, 0, 1]])


def test_an_empty_table_has_no_rows() -> None:
    inputs = PROTOCOL.encode({"tasks": [], "answers": []})
    assert (inputs.private.shape, inputs.public.shape) == ((0, 3), (0, 4))


@pytest.mark.parametrize(
    ("row", "entry", "value", "allowed"),
    [
        (1, "bridge;tunnel", "tunnel", "one of the tasks: bridge, flag, a = b, door"),
        (2, ["Bridge"], "Bridge", "one of the tasks: bridge"),
        (3, ["flag", 7], "7", "one of the tasks: bridge"),
        (1, "bridge;flag;bridge", "bridge;flag;bridge", "distinct tasks"),
        (2, ["door", "door"], ["door", "door"], "distinct tasks"),
        (3, "bridge;flag;a = b;door", "4 tasks", "at most 3 (max_answers)"),
    ],
)
def test_a_task_that_is_not_allowed_is_refused_by_column_and_row(
    row: int, entry: object, value: object, allowed: str
) -> None:
    tasks: list[object] = ["bridge", "flag", "door"]
    tasks[row - 1] = entry
    for encode in (
        lambda: PROTOCOL.encode({"tasks": tasks, "answers": ["", "", ""]}),
        lambda: PROTOCOL.encode_public({"tasks": tasks}, num_parties=3),
    ):
        with refuses(f"tasks in row {row}", value, allowed):
            encode()


@pytest.mark.parametrize(
    ("row", "entry", "value", "allowed"),
    [
        (1, "maybe", "maybe", "one of no, yes (task 'bridge'), or nothing"),
        (1, "red", "red", "one of no, yes (task 'bridge'), or nothing"),
        (1, ["Yes"], "Yes", "one of no, yes (task 'bridge')"),
        (2, "blue;yes", "yes", "one of red, green, blue (task 'door')"),
        (2, ["blue", 1], 1, "one of red, green, blue (task 'door')"),
        (3, "yes;no", "2 answers", "at most 1, the number of tasks"),
        (4, "yes", "1 answers", "at most 0, the number of tasks"),
    ],
)
def test_an_answer_that_is_not_allowed_is_refused_by_column_and_row(
    row: int, entry: object, value: object, allowed: str
) -> None:
    answers: list[object] = ["yes", "red;red", "no", ""]
    answers[row - 1] = entry
    with refuses(f"answers in row {row}", value, allowed):
        PROTOCOL.encode({"tasks": ["bridge", "flag;door", "a = b", ""], "answers": answers})


@pytest.mark.parametrize("entry", [None, 7, float("nan")])
@pytest.mark.parametrize("column", ["tasks", "answers"])
def test_an_entry_that_is_neither_text_nor_a_list_is_refused_by_column_and_row(column: str, entry: object) -> None:
    """A file of numbers gives these, and an empty cell."""
    table: dict[str, list[object]] = {"tasks": ["bridge", "flag"], "answers": ["yes", "red"]}
    table[column][1] = entry
    with refuses(f"{column} in row 2") as caught:
        PROTOCOL.encode(table)
    assert caught.value.value == f"of type {type(entry).__name__}"  # an answer is private, and not shown


def test_an_error_shows_a_dozen_names_at_most() -> None:
    names = tuple(f"t{number}" for number in range(20))
    many = TruthDiscovery(Parameters(tasks=names, answer_sets=(("no", "yes"),), max_answers=1))
    with refuses(said="is 'x': use one of the tasks: t0, t1, "):
        many.encode({"tasks": ["x"], "answers": [""]})


@pytest.mark.parametrize(
    ("tasks", "field", "allowed"),
    [
        ([[0, 1]], "tasks", "shape (n, 3)"),
        ([[0, 1, 2, 3]], "tasks", "shape (n, 3)"),
        ([[0, 1, 4]], "tasks", "codes in [-1, 3]"),
        ([[0, -2, 1]], "tasks", "codes in [-1, 3]"),
        *(
            ([[0, 1, 2], [NO_TASK] * 3, twice], "tasks in row 3", "distinct tasks")
            for twice in ([1, 1, -1], [2, 0, 2], [3, 3, 3])
        ),
    ],
)
def test_codes_of_tasks_out_of_range_or_twice_are_refused(tasks: list[list[int]], field: str, allowed: str) -> None:
    with refuses(field, allowed=allowed):
        encode_tasks(np.array(tasks), CODES, width=3)


@pytest.mark.parametrize(
    ("row", "codes"),
    [
        (1, [2, 4, -1]),  # red is no answer to the bridge
        (1, [1, 1, -1]),  # yes is none to the flag
        (1, [1, 5, -1]),
        (1, [1, 4, 3]),  # where no task was asked
        (1, [-2, 4, -1]),
        (2, [1, -1, 0]),
        (3, [-1, 2, -1]),
    ],
)
def test_a_code_of_an_answer_outside_its_set_is_refused_by_its_row(row: int, codes: list[int]) -> None:
    answers = ANSWERS.copy()
    answers[row - 1] = codes
    with refuses(f"answers in row {row}", said="one of the task's answer set, or -1"):
        encode_answers(answers, TASKS, CODES)


def test_codes_of_answers_in_another_shape_are_refused() -> None:
    with refuses("answers", said="an array of shape (3, 3)"):
        encode_answers(ANSWERS[:, :2], TASKS, CODES)


@pytest.mark.parametrize(
    ("table", "field", "words"),
    [
        ({"tasks": ["bridge"]}, "answers", "the table has no column"),
        ({"answers": ["yes"]}, "tasks", "the table has no column"),
        ({}, "tasks", "the table has no column"),
        ({"tasks": ["bridge"], "answers": ["yes"], "weight": [1]}, "weight", "the columns are tasks, answers"),
        ({"tasks": ["bridge"], "answers": ["yes", "no"]}, "table", "columns of one length"),
    ],
)
def test_missing_unknown_and_uneven_columns_are_refused(table: dict[str, list[Any]], field: str, words: str) -> None:
    with refuses(field, said=words):
        PROTOCOL.encode(table)


def test_public_rows_of_another_number_of_parties_are_refused() -> None:
    with refuses("tasks", said="3 entries"):
        PROTOCOL.encode_public({"tasks": ["bridge", "flag"]}, num_parties=3)
    with refuses(said="the table has no column"):
        PROTOCOL.encode_public({}, num_parties=3)


def test_tasks_and_the_most_that_one_worker_has_follow_from_the_public_column() -> None:
    assert list_tasks(["b; a", "", ["c", "a", "d"], "a"]) == (["b", "a", "c", "d"], 3)
    assert list_tasks([]) == ([], 0)
    assert list_tasks(TASKS) == ([], 3)
    table = {"tasks": ["b; a", "c"], "answers": ["", ""]}
    assert TruthDiscovery.complete({}, table) == {"tasks": ["b", "a", "c"], "max_answers": 2}
    assert TruthDiscovery.complete({"tasks": ["a"], "epsilon": 2.0}, table) == {
        "tasks": ["a"],
        "epsilon": 2.0,
        "max_answers": 2,
    }
    given = {"tasks": ["a"], "max_answers": 1}
    assert TruthDiscovery.complete(given, table) == given
    for nothing, said in (
        ({"answers": [""]}, "the table has no column tasks"),
        ({"tasks": ["", ""], "answers": ["", ""]}, "tasks is 'none': use at least one task"),
    ):
        with refuses(said=said):
            TruthDiscovery.complete({}, nothing)
    with refuses(said="use distinct tasks"):
        TruthDiscovery.complete({}, {"tasks": ["a", "b; b"], "answers": ["", ""]})


@CHECKED
@given(st.data())
def test_written_public_columns_are_read_again(data: st.DataObject) -> None:
    protocol = data.draw(truth_discoveries())
    inputs = data.draw(crowds(protocol, data.draw(st.integers(1, 5))))
    written = protocol.write_public(inputs.public)
    again = protocol.encode_public(written, num_parties=len(inputs))
    assert again.tolist() == inputs.public.tolist()


# A worker's own row

ASKED = (3, 2, 0)  # door, a = b, bridge


@pytest.mark.parametrize(
    ("answers", "row"),
    [
        ({"door": "green", "a = b": "yes", "bridge": "no"}, (3, 1, 0)),
        ({"bridge": "no", "door": "green"}, (3, NO_ANSWER, 0)),
        ({"bridge": None, "door": " ", "a = b": ""}, (NO_ANSWER,) * 3),
        ({"flag": "red", "bridge": "yes"}, (NO_ANSWER, NO_ANSWER, 1)),  # the flag is not asked
        ({}, (NO_ANSWER,) * 3),
        ("", (NO_ANSWER,) * 3),
        ("door=green; a = b=yes; bridge=no", (3, 1, 0)),
        ("door = green;a = b = yes;;bridge= no;", (3, 1, 0)),
        ("bridge=no; door=", (NO_ANSWER, NO_ANSWER, 0)),
    ],
    ids=str,
)
def test_an_own_row_is_in_the_order_of_what_is_asked(answers: object, row: tuple[int, ...]) -> None:
    assert CODES.encode_row(answers, ASKED) == row
    assert PROTOCOL.encode_own({"answers": answers}, (7, *ASKED)) == row


@pytest.mark.parametrize(
    ("answers", "value", "allowed"),
    [
        ({"tunnel": "yes"}, "tunnel", "one of the tasks"),
        ("tunnel=yes", "tunnel", "one of the tasks"),
        ({"bridge": "red"}, "red", "one of no, yes (task 'bridge'), or nothing"),
        ("bridge=no; bridge=yes", "bridge", "each task named once"),
        ("bridge=no; bridge=", "bridge", "each task named once"),
        ("flag=yes", "yes", "one of red, green, blue (task 'flag')"),  # not asked, but no label either
        ("bridge", "bridge", "of the form task=label; task=label"),
        ("bridge=no, door=red", "bridge=no, door", "one of the tasks"),
    ],
    ids=str,
)
def test_an_own_row_that_is_not_allowed_is_refused(answers: object, value: str, allowed: str) -> None:
    with refuses("answers", value, allowed):
        CODES.encode_row(answers, ASKED)


def test_an_own_row_needs_answers() -> None:
    with refuses("answers", said="the table has no column"):
        PROTOCOL.encode_own({}, (7, *ASKED))


@pytest.mark.parametrize(
    "public",
    [
        (),
        (7,),
        (7, 0, 1),
        (7, 0, 1, 2, 3),
        (-1, 0, 1, 2),
        (7, 0, 1, 0),
        (7, 0, 4, NO_TASK),
        (7, 0, -2, NO_TASK),
    ],
)
def test_a_public_row_that_is_none_is_refused_before_it_is_read(public: tuple[int, ...]) -> None:
    for read in (
        lambda: PROTOCOL.check_public(public),
        lambda: PROTOCOL.encode_own({"answers": "bridge=no"}, public),
    ):
        with refuses("the server's public row", said="a place and 3 distinct tasks of 4"):
            read()


@pytest.mark.parametrize("public", [(0, 0, 1, 2), (7, 3, NO_TASK, NO_TASK), (7, *[NO_TASK] * 3)])
def test_a_public_row_of_a_place_and_distinct_tasks_passes(public: tuple[int, ...]) -> None:
    PROTOCOL.check_public(public)


@pytest.mark.parametrize("tasks", ["bridge;door;a = b", ["door", "bridge", "a = b"], "door; a = b; bridge"])
def test_a_worker_may_say_what_it_is_asked_in_any_order(tasks: object) -> None:
    assert PROTOCOL.encode_own({"tasks": tasks, "answers": "bridge=no"}, (7, *ASKED)) == (NO_ANSWER, NO_ANSWER, 0)


@pytest.mark.parametrize("tasks", ["bridge;door;a = b", ["bridge", "door", "a = b"]])
@pytest.mark.parametrize("answers", [["no", "green", ""], "no; green", ("no", "green", None)])
def test_a_worker_may_say_labels_alone_beside_its_tasks(tasks: object, answers: object) -> None:
    """As a table has them, and whatever order the server asks in."""
    assert PROTOCOL.encode_own({"tasks": tasks, "answers": answers}, (7, *ASKED)) == (3, NO_ANSWER, 0)


@pytest.mark.parametrize(
    ("answers", "allowed"), [(["no"] * 4, "at most 3"), (["red"], "one of no, yes"), (7, "a list")]
)
def test_labels_alone_that_do_not_fit_are_refused(answers: object, allowed: str) -> None:
    with pytest.raises(ConfigurationError, match=allowed):
        PROTOCOL.encode_own({"tasks": "bridge;door;a = b", "answers": answers}, (7, *ASKED))


@pytest.mark.parametrize("tasks", ["bridge;door", "bridge;door;flag", ""])
def test_a_worker_who_is_asked_something_else_than_it_says_refuses(tasks: str) -> None:
    with refuses("tasks", said="the tasks that the server has: door; a = b; bridge"):
        PROTOCOL.encode_own({"tasks": tasks, "answers": "bridge=no"}, (7, *ASKED))


# Rows and reports against public rows

PUBLIC = (5, 0, 1, NO_TASK)  # bridge and flag


@pytest.mark.parametrize("row", [(0, 2, -1), (1, 4, -1), (-1, 3, -1), (-1, -1, -1)])
def test_answers_to_what_is_asked_pass(row: Sequence[int]) -> None:
    CODES.check_row(row, PUBLIC)
    PROTOCOL.check_row(row, PUBLIC)
    PROTOCOL.phase.check_report(row, PUBLIC)


@pytest.mark.parametrize(
    ("row", "public", "words"),
    [
        ((0, 2), PUBLIC, "3 tasks stand behind the worker's place: give 2"),
        ((0, 2, -1), (5, 0, 1), "2 tasks stand behind the worker's place: give 3"),
        ((0, 2, -1), (), "give 3"),
        ((0, -1, -1), (5, 0, 4, NO_TASK), "there is no task 4"),
        ((0, -1, -1), (5, 0, -2, NO_TASK), "there is no task -2"),
        ((0, 2, 0), PUBLIC, "there is an answer where no task was asked"),
        ((2, 2, -1), PUBLIC, "an answer to task 'bridge' is outside its answer set"),
        ((-2, 2, -1), PUBLIC, "an answer to task 'bridge' is outside its answer set"),
        ((0, 1, -1), PUBLIC, "an answer to task 'flag' is outside its answer set"),
        ((0, 5, -1), PUBLIC, "an answer to task 'flag' is outside its answer set"),
    ],
)
def test_a_row_or_report_that_does_not_fit_its_public_row_is_refused(
    row: Sequence[int], public: Sequence[int], words: str
) -> None:
    for check in (CODES.check_row, PROTOCOL.check_row, PROTOCOL.phase.check_report):
        with pytest.raises(ValueError, match=words):
            check(row, public)


def test_a_refusal_says_nothing_of_the_answers() -> None:
    """It goes to the server, before anything is perturbed."""
    messages: set[str] = set()
    for code in (2, 3, 4):
        with pytest.raises(ValueError, match="outside") as caught:
            PROTOCOL.check_row((code, -1, -1), PUBLIC)
        messages.add(str(caught.value))
    assert len(messages) == 1


@CHECKED
@given(st.data())
def test_every_honest_report_passes_and_says_which_places_are_answered(data: st.DataObject) -> None:
    protocol = data.draw(truth_discoveries())
    inputs = data.draw(crowds(protocol, data.draw(st.integers(1, 5))))
    phase = protocol.phase
    noise = SimulatedNoise(data.draw(seeds()), session="s")
    reports = draw_reports(phase, inputs, noise=noise, protocol=protocol.name, start=0)
    assert np.array_equal(reports == NO_ANSWER, inputs.private == NO_ANSWER)
    tables: list[list[list[int]]] = [table.tolist() for table in (inputs.private, reports, inputs.public)]
    for row, report, public in zip(*tables, strict=True):
        protocol.check_row(row, public)
        phase.check_report(report, public)


def test_a_session_in_which_nobody_is_asked_anything_is_refused() -> None:
    nobody = PROTOCOL.encode_public({"tasks": ["", []]}, num_parties=2)
    with refuses("tasks", said="at least one task for one worker"):
        PROTOCOL.check_roster(nobody)
    PROTOCOL.check_roster(PROTOCOL.encode_public({"tasks": ["", "door"]}, num_parties=2))


@CHECKED
@given(st.lists(st.tuples(st.integers(-2, 5), st.integers(-2, 6)), max_size=6), st.integers(-1, 1))
def test_a_row_is_checked_as_by_a_plain_loop(pairs: list[tuple[int, int]], longer: int) -> None:
    """Tasks and answers that there are, that there are not, and that do not fit; and rows of other lengths."""
    tasks, row = [task for task, _ in pairs], [answer for _, answer in pairs]
    allowed = [{-1, 0, 1}, {-1, 2, 3, 4}, {-1, 0, 1}, {-1, 2, 3, 4}, {-1}]  # of each task, and of none
    fits = longer == 0 and all(-1 <= task <= 3 and answer in allowed[task] for task, answer in pairs)
    public = [7, *tasks, *[NO_TASK] * max(longer, 0)][: len(tasks) + 1 + longer]
    try:
        CODES.check_row(row, public)
    except ValueError:
        assert not fits
    else:
        assert fits


def test_rows_that_do_not_fit_are_refused_each_time_and_others_asked_about_once() -> None:
    row, public = (1, 4, NO_ANSWER), (0, 0, 1, NO_TASK)
    asked: list[tuple[int, ...]] = []

    class Asked(TruthDiscovery):
        def check_row(self, row: Sequence[int], public: Sequence[int]) -> None:
            asked.append(tuple(row))
            super().check_row(row, public)

    protocol = Asked(PARAMETERS)
    for _ in range(2):
        protocol.check_fit(row, public)
        for wrong in ((1, 0, NO_ANSWER), (1, 4, 0)):
            with pytest.raises(ValueError, match="answer"):
                protocol.check_fit(wrong, public)
        with refuses(said="distinct tasks"):
            protocol.check_fit(row, (0, 0, 0, NO_TASK))
    assert asked == [row, (1, 0, NO_ANSWER), (1, 4, 0), (1, 0, NO_ANSWER), (1, 4, 0)]
