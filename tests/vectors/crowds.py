"""Vectors of truth discovery."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from helpers import Session
from psephos.protocol import SessionRules
from psephos.protocol.truth_discovery import Parameters, TruthDiscovery

from .recorder import Plain, Recorder, all_goes_well, with_a_forged_report

ONE_SET: Final[Plain] = {"answer_sets": (("no", "yes"),), "tasks": ("bridge", "tunnel", "ferry")}
MIXED_SETS: Final[Plain] = {
    "answer_sets": (("no", "yes"), ("red", "green", "blue")),
    "tasks": ("bridge", "tunnel", "flag", "door"),
    "answer_set_of_task": (0, 0, 1, 1),
}
YES_OR_NO: Final = {
    "p0": (("bridge", "yes"), ("tunnel", "no"), ("ferry", "yes")),
    "p1": (("ferry", "yes"), ("bridge", "yes")),
    "p2": (("tunnel", "no"), ("bridge", "no"), ("ferry", "yes")),
    "p3": (("tunnel", "yes"),),
}
MIXED: Final = {
    "p0": (("flag", "blue"), ("bridge", "yes"), ("door", "red")),
    "p1": (("bridge", "yes"), ("tunnel", "no")),
    "p2": (("flag", "blue"), ("door", "green"), ("tunnel", "no")),
    "p3": (("door", "red"),),
}
SKIPPED: Final = {
    "p0": (("bridge", "yes"), ("tunnel", ""), ("flag", "blue")),
    "p1": (("bridge", ""), ("tunnel", "")),
    "p2": (("flag", ""), ("bridge", "no"), ("tunnel", "")),
    "p3": (),
}


def _crowd(columns: Mapping[str, Sequence[tuple[str, str]]], *, quorum: float = 1.0, **given: Any) -> Session:
    """Return a truth discovery session.

    Args:
        columns: for each worker its tasks with its answers, blank where it skips one.
        quorum: how many must take part.
        given: parameters.
    """
    protocol = TruthDiscovery(Parameters(max_answers=3, **given))
    tasks = [[task for task, _ in pairs] for pairs in columns.values()]
    answers = [[answer for _, answer in pairs] for pairs in columns.values()]
    inputs = protocol.encode({"tasks": tasks, "answers": answers})
    return Session(protocol, inputs, names=tuple(columns), seed=2018, rules=SessionRules(quorum=quorum))


def _good_crowd(about: str, columns: Mapping[str, Sequence[tuple[str, str]]], **given: Any) -> Recorder:
    return all_goes_well(_crowd(columns, **given), about)


def _forged_answers(about: str, answers: Sequence[int]) -> Recorder:
    """Let p3, who is asked about the door alone, report these codes."""
    return with_a_forged_report(_crowd(MIXED, quorum=3, **MIXED_SETS), about, "p3", answers)


VECTORS: Final[Mapping[str, Callable[[], Recorder]]] = {
    "good_one_layer": lambda: _good_crowd(
        "Each answer is perturbed by itself; each worker is told its own weight.", YES_OR_NO, **ONE_SET
    ),
    "good_two_layer": lambda: _good_crowd(
        "Each worker draws its own flip probability for all its answers.",
        YES_OR_NO,
        mechanism="two_layer",
        estimator="truth_discovery",
        **ONE_SET,
    ),
    "good_fresh_two_layer": lambda: _good_crowd(
        "A flip probability is drawn for each answer.",
        YES_OR_NO,
        mechanism="fresh_two_layer",
        estimator="majority",
        **ONE_SET,
    ),
    "good_mixed_answer_sets": lambda: _good_crowd(
        "Answer sets of two and of three labels: a code names both.", MIXED, epsilon=3.0, **MIXED_SETS
    ),
    "good_skipped_answers": lambda: _good_crowd(
        "Answers are skipped, p1 skips all, p3 is asked nothing, and two tasks have no answer: none is made up.",
        SKIPPED,
        mechanism="two_layer",
        flip_probability=0.25,
        **MIXED_SETS,
    ),
    "good_answers_central": lambda: _good_crowd(
        "The server is trusted with the answers, and adds noise to the counts of labels once.",
        MIXED,
        mechanism="central",
        epsilon=3.0,
        **MIXED_SETS,
    ),
    "bad_answer_outside_its_set": lambda: _forged_answers(
        "A report answers a question of colors by yes, a code of another answer set.", [1, -1, -1]
    ),
    "bad_answer_to_no_task": lambda: _forged_answers("A report holds two answers where one was asked for.", [2, 3, -1]),
}
