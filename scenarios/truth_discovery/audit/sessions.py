"""Audits of truth discovery: all answers of a worker, and one of them, over repeated surveys.

Workers have all tasks or some of them, from one answer set or from two. Each worker's audit uses the loss for its
tasks.
"""

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ....protocol.mechanisms import Beta, Discrete, HyperDistribution, Moments, Piecewise, TruncatedNormal, Uniform
from ....protocol.phases import Inputs
from ....protocol.truth_discovery import CountedAnswers, Outcome, Parameters, TruthDiscovery
from ....protocol.truth_discovery.parameters import MechanismName
from ...audit.case import Case
from ...audit.machines import roster_of
from ...audit.masked_configurations import MASKED_RUNGS, MaskedStage, sizes_of
from ...audit.observables import Observable, exposure_of_release
from ...audit.size_grid import ALPHABETS, OWN, RUNGS, Configuration, Ends, Member, SizeSweep, other_level_ends
from ...audit.whole_sessions import AuditParty, keep_finest_loss, two_party_cases

NUM_ANSWERS = 5
BINARY = ("no", "yes")
_TERNARY = ("low", "middle", "high")
_MIXED = (BINARY, BINARY, _TERNARY)
_MECHANISMS: Final[tuple[MechanismName, ...]] = ("one_layer", "two_layer", "fresh_two_layer")
_LEVELS: Final = (1.0, 1.5, 2.5)
"""The levels of personalized ε."""
_HYPERS: Final[Mapping[str, HyperDistribution]] = {
    "Beta(2, 3)": Beta(2, 3, 0.1, 0.5),
    "Beta(1.5, 0.5)": Beta(1.5, 0.5, 0.1, 0.5),
    "truncated normal": TruncatedNormal(0.2, 0.1, 0.05, 0.5),
    "two points": Discrete((0.1, 0.5), (0.5, 0.5)),
    "two pieces": Piecewise((0.05, 0.1, 0.3, 0.5), (0.5, 0.0, 0.5)),
    "three moments": Moments((0.25, 0.08, 0.03), 0.0, 0.5),
}
"""Hyper-distributions of flip probabilities, besides the uniform one."""
_NUM_MANY: Final = 6
_MANY_SETS: Final = f"{_NUM_MANY} answer sets"
# Fractions of the requested outputs: each is a whole session, which takes most of a millisecond.
_SHARES_OF_RELEASES: Final = {"share": 0.02, "secure_share": 0.03}
_ALL, _ONE = "all answers of a worker", "one answer, the others known"


def truth_discovery_cases(*, epsilon: float = 1.0) -> Iterator[Case]:
    """Yield audits of the mechanisms, for all answers of a worker and for one, whose ε Theorems 6.2 and 6.3 state."""
    for mechanism in _MECHANISMS:
        survey = survey_of(mechanism, epsilon, [BINARY] * NUM_ANSWERS)
        for num_sessions, is_one_answer in itertools.product((1, 2), (False, True)):
            name = f"{mechanism}, {NUM_ANSWERS} answers"
            yield case_of_worker(survey, name, num_sessions=num_sessions, is_one_answer=is_one_answer)
    mixed_survey = survey_of("two_layer", epsilon, _MIXED)
    for is_one_answer in (False, True):
        yield case_of_worker(mixed_survey, "two_layer, 2, 2 and 3 labels", num_sessions=1, is_one_answer=is_one_answer)
    for name, hyper in _HYPERS.items():
        of_hyper = survey_of("two_layer", None, _MIXED, hyper=hyper)
        for is_one_answer in (False, True):
            label = f"two_layer, {name}, 2, 2 and 3 labels"
            yield case_of_worker(of_hyper, label, num_sessions=1, is_one_answer=is_one_answer)
    yield from _cases_of_some_tasks(epsilon)
    yield from _cases_of_counts(epsilon)
    yield from _cases_of_levels()
    widest = survey_of("two_layer", 0.0, [BINARY] * NUM_ANSWERS)
    note = "Flip probabilities from U(0, 1), which the paper calls ε = 0."
    yield case_of_worker(widest, f"two_layer, {NUM_ANSWERS} answers, claimed 0", num_sessions=1, note=note)
    party = party_of(mixed_survey)
    yield from two_party_cases(party, (party.rows[-1], party.public), name="two_layer, 2, 2 and 3 labels", unit=_ALL)


def _cases_of_some_tasks(epsilon: float) -> Iterator[Case]:
    """Yield audits of workers with only some tasks."""
    for mechanism in _MECHANISMS:
        survey = survey_of(mechanism, epsilon, [BINARY] * NUM_ANSWERS)
        for number in (1, 3):
            name = f"{mechanism}, {number} of {NUM_ANSWERS} tasks"
            yield case_of_worker(survey, name, num_sessions=2, asked_tasks=range(number))
        mixed_survey = survey_of(mechanism, epsilon, _MIXED)
        for asked_tasks, labels in (((0, 1), "2 and 2"), ((0, 2), "2 and 3"), ((2,), "3")):
            yield case_of_worker(
                mixed_survey, f"{mechanism}, {labels} of 2, 2 and 3 labels", num_sessions=2, asked_tasks=asked_tasks
            )


def _cases_of_levels() -> Iterator[Case]:
    """Yield audits of workers at each level of ε, which is public: neighbors have the same level."""
    for mechanism, level in itertools.product(_MECHANISMS[:2], _LEVELS):
        survey = survey_of(mechanism, None, _MIXED, settings={"epsilons": _LEVELS})
        for is_one_answer in (False, True):
            name = f"{mechanism}, 2, 2 and 3 labels, own ε = {level:g}"
            yield case_of_worker(survey, name, num_sessions=2, is_one_answer=is_one_answer, level=level)


def _cases_of_counts(epsilon: float) -> Iterator[Case]:
    """Yield audits of a trusted server's release on one worker and another, whose answers cancel."""
    two, mixed_survey = (survey_of("central", epsilon, labels) for labels in ([BINARY] * 3, _MIXED))
    for survey, name in ((two, "central, 3 answers"), (mixed_survey, "central, 2, 2 and 3 labels")):
        for num_sessions, is_one_answer in ((1, False), (2, False), (1, True)):
            yield case_of_worker(survey, name, num_sessions=num_sessions, is_one_answer=is_one_answer)
    yield case_of_worker(mixed_survey, "central, 2 and 3 of 2, 2 and 3 labels", num_sessions=1, asked_tasks=(0, 2))


def _released(party: AuditParty, num_sessions: int) -> Observable:
    survey, phase = party.protocol, party.protocol.phases[0]
    rosters = [roster_of(survey, [row, party.rows[0]], [party.public] * 2) for row in party.rows]
    assert isinstance(phase, CountedAnswers)  # noqa: S101  of the mechanism `central`

    def read_outcome(outcome: Outcome) -> list[int]:
        """Return a trusted server's noisy counts from its outcome."""
        pairs = zip(outcome.reports, phase.is_told.tolist(), strict=True)
        return [
            count for reports, own_pair in pairs for count, is_told in zip(reports, own_pair, strict=False) if is_told
        ]

    return exposure_of_release(survey, phase, rosters, read_outcome, num_sessions=num_sessions)


def truth_discovery_climbs() -> Iterator[SizeSweep]:
    """Yield sweeps over labels, answers, workers and consecutive surveys, for every mechanism."""
    sizes = {"labels": ALPHABETS, "answers": RUNGS, "workers": RUNGS, "surveys in a row": RUNGS}
    mechanisms = ["two_layer", "one_layer", "fresh_two_layer"]
    mixed_kinds = [
        "two_layer of two answer sets",
        *(f"{name} of {_MANY_SETS}" for name in mechanisms),
        *(f"two_layer of {name}" for name in _HYPERS),
    ]
    mixed_kinds += [f"{name}{OWN}{level:g}" for name, level in zip(mechanisms, _LEVELS, strict=True)]
    yield SizeSweep("surveys", sizes, [*mechanisms, *mixed_kinds], _stage, alphabets=["labels"])
    counted_sizes = {"labels": ALPHABETS, "answers": RUNGS, "workers": RUNGS}
    yield SizeSweep(
        "counts",
        counted_sizes,
        ["one answer set", "two answer sets"],
        _count_configuration,
        alphabets=["labels"],
        most=400,
    )
    masked = {**counted_sizes, "workers": MASKED_RUNGS}
    choices = ["one answer set", "two answer sets", "half of the tasks"]
    yield SizeSweep("masked surveys", masked, choices, masked_configuration, most=400)


def _answer_sets_of(choice: str, sizes: Mapping[str, int]) -> list[tuple[str, ...]]:
    """Return each task's answer set; with two sets, every other task has a different number of labels."""
    usual_labels = tuple(f"label {place}" for place in range(sizes["labels"]))
    sets = (
        (_TERNARY, usual_labels)
        if choice == "two answer sets" and len(usual_labels) != len(_TERNARY)
        else (usual_labels,)
    )
    return [sets[place % len(sets)] for place in range(sizes["answers"])]


def masked_configuration(choice: str, sizes: Mapping[str, int]) -> MaskedStage:
    """Return masked surveys of one worker with all or half of the tasks, among others with all tasks."""
    labels, number = _answer_sets_of(choice, sizes), sizes["workers"]
    survey = survey_of("masked", 1.0, labels, settings=sizes_of(number))
    tasks = list(survey.parameters.tasks)
    own_tasks = tasks[: -(-len(tasks) // 2)] if choice == "half of the tasks" else tasks
    firsts, lasts = [each[0] for each in labels], [each[-1] for each in labels]

    def roster(answers: list[str]) -> Inputs:
        asked_tasks = [own_tasks, *[tasks] * (number - 1)]
        return survey.encode({"tasks": asked_tasks, "answers": [answers, *([firsts, lasts] * number)[: number - 1]]})

    first, last, no_answers = firsts[: len(own_tasks)], lasts[: len(own_tasks)], [""] * len(own_tasks)
    kinds = {
        "all answers": (first, last),
        "one answer": (first, [*first[:-1], last[-1]]),
        "or none": (last, no_answers),
    }
    ends = {kind: Ends(*map(roster, pair)) for kind, pair in kinds.items()}
    return MaskedStage(survey, ends, num_parties=number)


def _count_configuration(choice: str, sizes: Mapping[str, int]) -> Configuration:
    """Return central surveys of one worker among others, who all give one label, the other, or answer only one task."""
    labels = _answer_sets_of(choice, sizes)
    survey = survey_of("central", 1.0, labels)
    tasks, num_others = list(survey.parameters.tasks), sizes["workers"] - 1
    firsts, lasts = [task_labels[0] for task_labels in labels], [task_labels[-1] for task_labels in labels]

    def ends(other_labels: list[str]) -> Ends:
        asked_tasks = [tasks, *[tasks[: len(other_labels)]] * num_others]
        return Ends(
            *(
                survey.encode({"tasks": asked_tasks, "answers": [task_labels, *[other_labels] * num_others]})
                for task_labels in (firsts, lasts)
            )
        )

    kinds = {"others say the first": ends(firsts), "others say the last": ends(lasts), "one task": ends(firsts[:1])}
    return Configuration(survey, kinds, num_parties=sizes["workers"], is_central=True)


def _stage(choice: str, sizes: Mapping[str, int]) -> Configuration:
    number = sizes["answers"]
    kind, _, level = choice.partition(OWN)
    name, _, kind_of_sets = kind.partition(" of ")
    mechanisms: dict[str, MechanismName] = {"one_layer": "one_layer", "fresh_two_layer": "fresh_two_layer"}
    usual_labels = tuple(f"label {place}" for place in range(sizes["labels"]))
    sets = (_TERNARY, usual_labels, usual_labels) if kind_of_sets == "two answer sets" else (usual_labels,)
    if kind_of_sets == _MANY_SETS:
        sets = tuple(tuple(f"{place} of {size}" for place in range(size)) for size in range(2, 2 + _NUM_MANY))
    labels = [sets[place % len(sets)] for place in range(number)]
    hyper = _HYPERS.get(kind_of_sets, Uniform(0.0, 0.6) if len(sets) > 1 and name != "one_layer" else None)
    if isinstance(hyper, Moments):
        number = min(number, len(hyper.moments))  # moments for more answers are unknown
        labels = labels[:number]
    level_parameters: dict[str, Any] = {"epsilons": _LEVELS} if level else {}
    epsilon = None if hyper or level else 1.0
    survey = survey_of(mechanisms.get(name, "two_layer"), epsilon, labels, hyper=hyper, settings=level_parameters)
    tasks, firsts, lasts = (
        survey.parameters.tasks,
        [level_parameters[0] for level_parameters in labels],
        [level_parameters[-1] for level_parameters in labels],
    )
    answers = [firsts, lasts, [*firsts[:-1], lasts[-1]], [lasts[0], *firsts[1:]]]
    table = {"tasks": [list(tasks)] * 4 + [list(tasks[:1])] * 2, "answers": [*answers, firsts[:1], lasts[:1]]}
    inputs = survey.encode(table | ({"epsilon": [level] * 6} if level else {}))
    asked_row, single = (
        tuple(inputs.public[0].tolist()),
        tuple(inputs.public[-1].tolist()),
    )  # except for the worker's index
    first, last, of_last, of_first = (Member(tuple(row), asked_row) for row in inputs.private[:4].tolist())
    one, other = (Member(tuple(row), single) for row in inputs.private[4:].tolist())
    kinds = {"all answers": Ends(first, last), "the last answer": Ends(first, of_last)}
    kinds |= {"the first answer": Ends(first, of_first), "one task alone": Ends(one, other)}
    if level:
        kinds |= other_level_ends(first, len(_LEVELS))
    return Configuration(survey, kinds, num_parties=sizes["workers"], num_sessions=sizes["surveys in a row"])


def case_of_worker(
    survey: TruthDiscovery,
    name: str,
    *,
    num_sessions: int,
    is_one_answer: bool = False,
    note: str = "",
    asked_tasks: Sequence[int] | None = None,
    level: float = _LEVELS[0],
) -> Case:
    """Return the audit of a worker's reports, over all answers to its tasks. See `party_of`.

    Neighbors differ in one answer, with the others known, or in all answers.
    """
    party = party_of(survey, asked_tasks, level=level)
    case_fields: dict[str, Any] = {"num_sessions": num_sessions, "is_tight": True, "note": note}
    if survey.trusts_server:
        case_fields |= {"observable": functools.partial(_released, party, num_sessions), **_SHARES_OF_RELEASES}
    if not is_one_answer:
        return party.case(name, _ALL, **case_fields)
    return party.case(
        f"{name}, one of them",
        _ONE,
        entries=[keep_finest_loss(entry) for entry in party.charge(num_sessions)],
        are_neighbors=lambda first, second: np.count_nonzero(party.rows[first] != party.rows[second]) == 1,
        **case_fields,
    )


def survey_of(
    mechanism: MechanismName,
    epsilon: float | None,
    labels: Sequence[tuple[str, ...]],
    *,
    hyper: HyperDistribution | None = None,
    settings: Mapping[str, Any] | None = None,
) -> TruthDiscovery:
    """Return a survey with a task for each answer set, which every worker may answer.

    `settings` are further parameters, such as T and c of a masked survey, or levels of ε.
    """
    sets = tuple(dict.fromkeys(labels))
    return TruthDiscovery(
        Parameters(
            tasks=tuple(f"task {number}" for number in range(1, len(labels) + 1)),
            answer_sets=sets,
            answer_set_of_task=tuple(sets.index(task_labels) for task_labels in labels),
            max_answers=len(labels),
            mechanism=mechanism,
            epsilon=epsilon,
            hyper=hyper,
            estimator="majority",  # the estimator is post-processing of the reports, and others are slow
            **(settings or {}),
        )
    )


def party_of(
    survey: TruthDiscovery, asked_tasks: Sequence[int] | None = None, *, level: float = _LEVELS[0]
) -> AuditParty:
    """Return a worker with all rows of answers to the tasks with these indices; by default all tasks.

    `level` is its ε, if ε is personalized.
    """
    parameters = survey.parameters
    places = range(len(parameters.tasks)) if asked_tasks is None else asked_tasks
    choices = list(itertools.product(*(parameters.answer_sets[parameters.set_of_task[place]] for place in places)))
    tasks = [parameters.tasks[place] for place in places]
    level_columns = {column.name: [level] * len(choices) for column in parameters.own_levels.columns}
    inputs = survey.encode(
        {"tasks": [tasks] * len(choices), "answers": [list(each) for each in choices], **level_columns}
    )
    return AuditParty(survey, inputs.private, inputs.public[0].tolist(), ["/".join(each) for each in choices])
