"""Faults planted into surveys: workers who are not asked everything, and tasks of a second answer set."""

import secrets
from collections.abc import Iterator, Sequence

from planted.fault import Drawing, Fault
from planted.masked_faults import masked_faults
from planted.planting import Sessions, by_draw, planted_in_stage
from psephos.protocol.mechanisms import OneLayer, RowMechanism
from psephos.scenarios.audit.whole_sessions import keep_finest_loss
from psephos.scenarios.truth_discovery.audit.sessions import (
    BINARY,
    NUM_ANSWERS,
    masked_configuration,
    party_of,
    survey_of,
    truth_discovery_climbs,
)

_SAMPLES = 5_000
_SECURE_SAMPLES = 1_200
_LABELS = 6


def planted_faults() -> Iterator[Fault]:
    """Yield fewer tasks that are charged as one answer, a second answer set in clear, and faults of some sizes."""
    yield _fewer_tasks()
    yield _second_set_in_clear()
    yield from _of_sizes()
    yield from masked_faults(
        "answers", masked_configuration("one answer set", {"labels": 2, "answers": 2, "workers": 8})
    )


def _fewer_tasks() -> Fault:
    worker = party_of(survey_of("one_layer", 1.0, [BINARY] * NUM_ANSWERS), asked_tasks=range(NUM_ANSWERS - 2))
    right = Sessions.of_rows(worker.protocol, worker.rows[[0, -1]], worker.public)
    return right.planted(
        "fewer tasks charged as one answer",
        "A worker who is asked three of five tasks is charged for one answer; who is asked all is charged rightly.",
        "fewer tasks charged as they are",
        samples=_SAMPLES,
        entries=[keep_finest_loss(entry) for entry in right.entries],
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
        make_noise=by_draw(_in_the_first_set_alone),
    )


def _anew(rightly: Drawing, mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
    """Return a report with a flip probability for each eight answers."""
    return [report for start in range(0, len(values), 8) for report in rightly(mechanism, values[start : start + 8])]


def _uneven(rightly: Drawing, mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
    """Return a report whose lies are remainders of eight numbers, so that three of five other labels are likelier."""
    others = [secrets.randbits(3) % (_LABELS - 1) for _ in values]
    lies = [other + (other >= value) for value, other in zip(values, others, strict=True)]
    reports = zip(rightly(mechanism, values), values, lies, strict=True)
    return [report if report == value else lie for report, value, lie in reports]


def _bold_from_the_third_set(rightly: Drawing, mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
    """Return a report in which labels from the third answer set on are lies only where two draws are."""
    if not isinstance(mechanism, OneLayer):
        return rightly(mechanism, values)
    first = sum(mechanism.sizes[:2])
    draws = zip(values, rightly(mechanism, values), rightly(mechanism, values), strict=True)
    return [value if value >= first and value in reports else reports[0] for value, *reports in draws]


def _of_sizes() -> Iterator[Fault]:
    """Yield what shows at some numbers of labels or answers alone, planted into surveys as the ladder draws them."""
    surveys, *_ = truth_discovery_climbs()
    for mechanism, sizes, name, what, repaired, drawing in (
        (
            "two_layer",
            (2, 16, 8, 2),
            "flip probability for each eight answers",
            "With secure noise a flip probability is drawn again after eight answers, which are stated together.",
            "one flip probability for many answers",
            _anew,
        ),
        (
            "one_layer",
            (_LABELS, 8, 8, 2),
            "lies of six labels as remainders",
            "With secure noise a lie of six labels is a remainder of eight numbers; of two, three or five it is right.",
            "lies of six labels alike",
            _uneven,
        ),
        (
            "one_layer of 6 answer sets",
            (2, 16, 3, 1),
            "few lies from the third answer set on",
            "With secure noise labels of the third answer set and later ones are lies too rarely.",
            "lies of six answer sets",
            _bold_from_the_third_set,
        ),
    ):
        configuration = surveys.make(mechanism, dict(zip(surveys.sizes, sizes, strict=True)))
        yield planted_in_stage(configuration, name, what, repaired, times=2, make_noise=by_draw(drawing))
