"""Truth discovery audited: all answers of a worker, and one of them, over repeated surveys."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.privacy import LedgerEntry
from ....protocol.truth_discovery import Parameters, TruthDiscovery
from ....protocol.truth_discovery.parameters import MechanismName
from ...audit.case import Case
from ...audit.exposures import case_of, exposure_of_party

__all__ = ["BINARY", "NUM_ANSWERS", "case_of_worker", "survey_of", "truth_discovery_cases"]

NUM_ANSWERS = 5
BINARY = ("no", "yes")
_TERNARY = ("low", "middle", "high")


def truth_discovery_cases(*, epsilon: float = 1.0) -> Iterator[Case]:
    """Yield the mechanisms, for a worker's answers together and for one of them.

    Args:
        epsilon: the paper's ε, which Theorems 6.2 and 6.3 state for one answer.
    """
    mechanisms: tuple[MechanismName, ...] = ("one_layer", "two_layer", "fresh_two_layer")
    for mechanism in mechanisms:
        survey = survey_of(mechanism, epsilon, [BINARY] * NUM_ANSWERS)
        for num_sessions, is_one_answer in itertools.product((1, 2), (False, True)):
            name = f"{mechanism}, {NUM_ANSWERS} answers"
            yield case_of_worker(survey, name, num_sessions=num_sessions, is_one_answer=is_one_answer)
    mixed = survey_of("two_layer", epsilon, [BINARY, BINARY, _TERNARY])
    for is_one_answer in (False, True):
        yield case_of_worker(mixed, "two_layer, 2, 2 and 3 labels", num_sessions=1, is_one_answer=is_one_answer)
    widest = survey_of("two_layer", 0.0, [BINARY] * NUM_ANSWERS)
    note = "Flip probabilities from U(0, 1), which the paper calls ε = 0."
    yield case_of_worker(widest, f"two_layer, {NUM_ANSWERS} answers, claimed 0", num_sessions=1, note=note)


def case_of_worker(
    survey: TruthDiscovery, name: str, *, num_sessions: int, is_one_answer: bool = False, note: str = ""
) -> Case:
    """Return the audit of a worker's reports, whatever it answers to all tasks.

    Args:
        survey: what is run.
        name: of the mechanism.
        num_sessions: how often the survey is repeated.
        is_one_answer: neighbors differ in one answer, the others being known, and not in all of them.
        note: see `Case`.
    """
    rows, public, names = _candidates(survey)

    def charged(entry: LedgerEntry) -> tuple[float, float]:
        if not is_one_answer:
            return entry.claimed, entry.proven
        return entry.finest.claimed, entry.finest.proven

    def are_neighbors(first: int, second: int) -> bool:
        num_changed = int(np.count_nonzero(rows[first] != rows[second]))
        return num_changed == 1 if is_one_answer else num_changed > 0

    return case_of(
        survey,
        lambda: exposure_of_party(survey, rows, public, num_sessions=num_sessions),
        public,
        name=f"{name}, one of them" if is_one_answer else name,
        unit="one answer, the others known" if is_one_answer else "all answers of a worker",
        num_sessions=num_sessions,
        names=names,
        are_neighbors=are_neighbors,
        charged=charged,
        is_tight=True,
        note=note,
    )


def survey_of(mechanism: MechanismName, epsilon: float, labels: Sequence[tuple[str, ...]]) -> TruthDiscovery:
    """Return a survey with a task for each of these answer sets, all of which every worker may answer."""
    sets = tuple(dict.fromkeys(labels))
    return TruthDiscovery(
        Parameters(
            tasks=tuple(f"task {number}" for number in range(1, len(labels) + 1)),
            answer_sets=sets,
            answer_set_of_task=tuple(sets.index(own) for own in labels),
            max_answers=len(labels),
            mechanism=mechanism,
            epsilon=epsilon,
        )
    )


def _candidates(survey: TruthDiscovery) -> tuple[IntArray, list[int], list[str]]:
    """Return every row of answers to all tasks, the public row, and the rows' names."""
    parameters = survey.parameters
    labels = [parameters.answer_sets[number] for number in parameters.set_of_task]
    choices = list(itertools.product(*labels))
    inputs = survey.encode(
        {"tasks": [list(parameters.tasks)] * len(choices), "answers": [list(own) for own in choices]}
    )
    return inputs.private, inputs.public[0].tolist(), ["/".join(own) for own in choices]
