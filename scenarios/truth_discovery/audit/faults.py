"""Faults planted into surveys: workers who are not asked everything, and tasks of a second answer set."""

import functools
from collections.abc import Iterator, Sequence

from ....protocol.mechanisms import RowMechanism
from ...audit.fault import Drawing, Fault, WrongNoise
from ...audit.machines import one_source
from ...audit.planting import Sessions, planted_in_stage
from ...audit.whole_sessions import of_finest_unit
from .sessions import BINARY, NUM_ANSWERS, party_of, survey_of, truth_discovery_climbs

__all__ = ["planted_faults"]

_SAMPLES = 5_000
_SECURE_SAMPLES = 1_200


def planted_faults() -> Iterator[Fault]:
    """Yield fewer tasks that are charged as one answer, and a second answer set in clear."""
    yield _fewer_tasks()
    yield _second_set_in_clear()
    yield _drawn_each_eight()


def _fewer_tasks() -> Fault:
    worker = party_of(survey_of("one_layer", 1.0, [BINARY] * NUM_ANSWERS), asked=range(NUM_ANSWERS - 2))
    right = Sessions.of_rows(worker.protocol, worker.rows[[0, -1]], worker.public)
    return right.planted(
        "fewer tasks charged as one answer",
        "A worker who is asked three of five tasks is charged for one answer; who is asked all is charged rightly.",
        "fewer tasks charged as they are",
        samples=_SAMPLES,
        entries=[of_finest_unit(entry) for entry in right.entries],
    )


def _in_the_first_set_alone(rightly: Drawing, mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
    """Return the labels of the first set as randomized, and those of the others as they are."""
    reports = rightly(mechanism, values)
    return [value if value >= len(BINARY) else report for value, report in zip(values, reports, strict=True)]


def _second_set_in_clear() -> Fault:
    worker = party_of(survey_of("two_layer", 1.0, [BINARY, BINARY, ("low", "middle", "high")]))
    # The first two rows differ in the last answer.
    return Sessions.of_rows(worker.protocol, worker.rows[:2], worker.public).planted(
        "second answer set in clear",
        "Secure noise perturbs the labels of the first answer set alone; simulations perturb all.",
        "both answer sets perturbed",
        source="secure",
        samples=_SECURE_SAMPLES,
        make_noise=one_source(functools.partial(WrongNoise, _in_the_first_set_alone)),
    )


def _anew(rightly: Drawing, mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
    """Return a report with a flip probability for each eight answers."""
    return [report for start in range(0, len(values), 8) for report in rightly(mechanism, values[start : start + 8])]


def _drawn_each_eight() -> Fault:
    (surveys,) = truth_discovery_climbs()
    stage = surveys.make("two_layer", dict(zip(surveys.sizes, (16, 8, 2), strict=True)))
    return planted_in_stage(
        stage,
        "flip probability for each eight answers",
        "With secure noise a worker's flip probability is drawn again after eight answers, which are stated together.",
        "one flip probability for many answers",
        make_noise=one_source(functools.partial(WrongNoise, _anew)),
    )
