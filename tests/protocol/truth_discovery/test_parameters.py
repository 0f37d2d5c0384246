"""The parameters of a session: every refusal with its field, every default, and what follows from them."""

import math
from typing import Any, cast

import msgspec
import numpy as np
import pytest
from bad_input import refuses
from psephos.protocol import Inputs, SimulatedNoise, run_population
from psephos.protocol.errors import ConfigurationError, PluginError
from psephos.protocol.mechanisms import MAX_EPSILON, Beta, Discrete, Moments, PointMass, Uniform
from psephos.protocol.truth_discovery import Outcome, OwnOutcome, Parameters, TruthDiscovery
from psephos.protocol.truth_discovery.parameters import MAX_LABELS, MAX_NAME_LENGTH, ROUNDED


def parameters(**given: Any) -> Parameters:
    """Return parameters of two tasks with one set of two labels unless told otherwise, as a file of TOML gives them."""
    complete = {"tasks": ["t1", "t2"], "answer_sets": [["no", "yes"]], "max_answers": 2, **given}
    return msgspec.convert(complete, Parameters)


def make(**given: Any) -> Parameters:
    """Return the same from the constructor, whose errors are not wrapped."""
    given = {"tasks": ["t1", "t2"], "answer_sets": [["no", "yes"]], "max_answers": 2, **given}
    return Parameters(**{name: as_tuple(value) for name, value in given.items()})


def as_tuple(value: Any) -> Any:
    return tuple(as_tuple(part) for part in cast("list[Any]", value)) if isinstance(value, list) else value


BEYOND = math.nextafter(MAX_EPSILON, math.inf)
TWO_SETS: dict[str, Any] = {"answer_sets": [["no", "yes"], ["red", "green", "blue"]], "answer_set_of_task": [0, 1]}

WRONG_ALONE: list[tuple[str, str, list[Any]]] = [
    ("tasks", "at least one task", [[]]),
    ("tasks", "distinct names", [["t1", "t2", "t1"]]),
    ("tasks", "names of 1 to", [["t1", ""], ["t" * (MAX_NAME_LENGTH + 1)]]),
    ("tasks", "blanks around", [[" t1"], ["t1 "]]),
    ("tasks", "without ;", [["t1;t2"]]),
    ("answer_sets", "at least one", [[]]),
    ("answer_sets[0]", "2 to", [[[]], [["yes"]], [[str(label) for label in range(MAX_LABELS + 1)]]]),
    ("answer_sets[1]", "2 to", [[["no", "yes"], ["red"]]]),
    ("answer_sets[0]", "distinct names", [[["no", "yes", "no"]]]),
    ("answer_sets[1]", "names of 1 to", [[["no", "yes"], ["", "red"]]]),
    ("answer_sets[0]", "without ; and =", [[["a=b", "c"]], [["a;b", "c"]]]),
    ("answer_sets[0]", "blanks around", [[["a", "b "]]]),
    ("answer_sets", "distinct sets", [[["no", "yes"], ["no", "yes"]]]),
    ("answer_set_of_task", "one number for each of 2 tasks", [[0], [0, 0, 0]]),
    ("answer_set_of_task", "in [0, 0]", [[0, 1], [0, -1]]),
    ("max_answers", "in [1, 2]", [0, 3]),
    ("max_iterations", "at least 1", [0]),
    ("quality_clamp", "in (0, 0.5)", [0.0, 0.5, math.nan]),
    ("epsilon", "in [0,", [-0.1, BEYOND, math.nan, math.inf]),
    ("epsilon_answer", "in (0,", [0.0, BEYOND, math.nan]),
    ("epsilon_worker", "above 0", [0.0, -1.0, math.nan]),
    ("hyper", "left out: only the two-layer", [Uniform(0.0, 0.6)]),
    ("weight_function", "left out, except with truth_discovery", ["linear"]),
]
"""Of a field, what is allowed, and what it may not be."""
REFUSALS: list[tuple[str, str, dict[str, Any]]] = [
    *((field, allowed, {field.split("[")[0]: value}) for field, allowed, values in WRONG_ALONE for value in values),
    *(
        (" and ".join(prices), "one of them alone", {**dict.fromkeys(prices, 0.3), "mechanism": "two_layer"})
        for prices in (
            ("epsilon", "flip_probability"),
            ("epsilon", "epsilon_worker"),
            ("epsilon_answer", "epsilon_worker"),
        )
    ),
    (
        "flip_probability and hyper",
        "one of them alone",
        {"flip_probability": 0.3, "hyper": Uniform(0.0, 0.6), "mechanism": "two_layer"},
    ),
    ("hyper.moments", "at least 2, one for each", {"hyper": Moments((0.3,)), "mechanism": "two_layer"}),
    ("normalization", "left out, except with truth_discovery", {"normalization": "all", "estimator": "crh"}),
    (
        "tasks",
        "at most 67 with estimator 'minimax_entropy'",  # 1,000,000 confusions each
        {
            "tasks": [f"t{number}" for number in range(68)],
            "answer_sets": [[f"a{number}" for number in range(1000)]],
            "estimator": "minimax_entropy",
        },
    ),
    ("weight_function", "names of 1 to", {"weight_function": "", "estimator": "truth_discovery"}),
    ("hyper", "left out: only the two-layer", {"hyper": Uniform(0.0, 0.6), "mechanism": "auto"}),
]


def test_more_workers_than_there_is_memory_for_their_confusions_are_refused_before_a_session() -> None:
    sets = [["no", "yes"], [f"a{number}" for number in range(1000)]]
    survey = TruthDiscovery(parameters(answer_sets=sets, answer_set_of_task=[0, 1], estimator="minimax_entropy"))
    survey.check_numbers(np.array([[1]]), np.array([33]))
    with refuses(field="workers", allowed="at most 33 with estimator 'minimax_entropy'"):
        survey.check_numbers(np.array([[1]]), np.array([34]))


@pytest.mark.parametrize(("field", "allowed", "given"), REFUSALS, ids=str)
def test_a_value_that_is_not_allowed_is_refused_by_field(field: str, allowed: str, given: dict[str, Any]) -> None:
    with refuses(field, allowed=allowed):
        make(**given)


def test_a_name_given_twice_among_many_is_found_without_holding_each_against_all() -> None:
    """A server's terms may have as many as a frame has room for, and a client reads them before it can leave."""
    compared = 0

    class Name(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    names = [Name(f"task {number}") for number in range(1_000)]
    with refuses(said="'task 999'"):
        make(tasks=[*names, Name("task 999")])
    assert compared < 3 * len(names)


@pytest.mark.parametrize(
    ("field", "make_hyper"),
    [
        ("hyper.low", lambda: Uniform(0.6, 0.2)),
        ("hyper.low", lambda: Uniform(-0.1, 0.2)),
        ("hyper.high", lambda: Uniform(0.2, 1.1)),
        ("hyper.probability", lambda: PointMass(1.5)),
        ("hyper.low", lambda: Beta(1, 1, 0.6, 0.2)),
    ],
)
def test_a_range_outside_the_probabilities_or_turned_round_is_refused(field: str, make_hyper: Any) -> None:
    with refuses(field):
        make_hyper()


# What only shows when the perturbation is made.
UNREACHABLE: list[tuple[str, str, dict[str, Any]]] = [
    ("flip_probability", "(0, 0.5]", {"flip_probability": 0.0}),
    ("flip_probability", "(0, 0.5]", {"flip_probability": math.nextafter(0.5, 1)}),
    ("flip_probability", "(0, 0.5]", {"flip_probability": -0.1}),
    ("flip_probability", "(0, 0.5]", {"flip_probability": math.nan}),
    ("flip_probability", "(0, 0.5]", {"flip_probability": 0.6, **TWO_SETS}),
    ("flip_probability", "for sets of 3 labels", {"flip_probability": 0.7, "answer_sets": [["a", "b", "c"]]}),
    ("flip_probability", "(a negative survey) rules its label out, at an infinite loss", {"flip_probability": 1.0}),
    ("flip_probability", "in (0, 0.5]", {"flip_probability": 0.6, "mechanism": "two_layer"}),
    ("flip_probability", "in (0, 0.5]", {"flip_probability": 0.6, "mechanism": "fresh_two_layer"}),
    ("flip_probability", "mechanisms are compared", {"flip_probability": 0.3, "mechanism": "auto"}),
    ("hyper", "in (0, 0.5]", {"hyper": Uniform(0.4, 1.0), "mechanism": "two_layer"}),
    ("hyper", "some", {"hyper": PointMass(0.0), "mechanism": "two_layer"}),
    ("hyper", "some", {"hyper": PointMass(1.0), "mechanism": "two_layer"}),
    ("hyper", "some", {"hyper": Discrete((0.0, 1.0), (0.6, 0.4)), "mechanism": "two_layer"}),
    ("hyper", "some", {"hyper": Uniform(0.0, 0.0), "mechanism": "fresh_two_layer"}),
    # Theorem 6.3's p for three labels at ε = 0.5 is 0.548, and sets of two labels would be turned round.
    ("epsilon", "for sets of 2 labels", {"epsilon": 0.5, "mechanism": "two_layer", **TWO_SETS}),
    ("epsilon", "for sets of 2 labels", {"epsilon": 0.5, "mechanism": "fresh_two_layer", **TWO_SETS}),
    # An answer from three labels that is flipped every second time still loses ln 2 = 0.693.
    ("epsilon_worker", "at least 0.693148, ", {"epsilon_worker": 0.69, "mechanism": "two_layer", **TWO_SETS}),
    ("epsilon_answer", "at least 0.693148, ", {"epsilon_answer": 0.69, "mechanism": "two_layer", **TWO_SETS}),
    # Less than the accounting can tell from 0.
    ("epsilon_worker", "at least 4.65662e-10, ", {"epsilon_worker": 1e-12, "mechanism": "two_layer"}),
    ("epsilon_worker", "for each of 2 answers", {"epsilon_worker": 2 * MAX_EPSILON + 1}),
    ("epsilon_worker", "for each of 2 answers", {"epsilon_worker": math.inf}),
    ("epsilon_worker", "for each of 2 answers", {"epsilon_worker": math.inf, "mechanism": "auto"}),
]


@pytest.mark.parametrize(("field", "allowed", "given"), UNREACHABLE, ids=str)
def test_a_perturbation_that_is_not_possible_is_refused_by_field(
    field: str, allowed: str, given: dict[str, Any]
) -> None:
    with refuses(field, allowed=allowed):
        _ = TruthDiscovery(make(**given)).phases


@pytest.mark.parametrize(
    "given",
    [
        {"flip_probability": 0.5},
        {"flip_probability": 2.0**-44},
        {"flip_probability": 2 / 3, "answer_sets": [["a", "b", "c"]]},
        {"epsilon": 0.0},
        {"epsilon": MAX_EPSILON},
        {"epsilon": 0.0, **TWO_SETS},
        {"epsilon_worker": 2 * MAX_EPSILON},
        {"epsilon_answer": MAX_EPSILON},
        {"epsilon": 0.0, "mechanism": "two_layer"},
        {"epsilon_worker": 0.7, "mechanism": "two_layer"},
        {"epsilon_answer": 0.7, "mechanism": "two_layer"},
        {"hyper": Uniform(0.0, 1.0), "mechanism": "two_layer"},
        {"hyper": PointMass(0.3), "mechanism": "two_layer"},
        {"hyper": Discrete((0.0, 0.4), (0.5, 0.5)), "mechanism": "fresh_two_layer"},
        {"max_answers": 1},
        {"tasks": ["t" * MAX_NAME_LENGTH, "a = b"]},
        {"answer_sets": [[str(label) for label in range(MAX_LABELS)]]},
        {"quality_clamp": 0.01, "max_iterations": 1},
    ],
    ids=str,
)
def test_what_is_just_allowed_is_allowed(given: dict[str, Any]) -> None:
    phase = TruthDiscovery(make(**given)).phase
    (loss,) = phase.losses
    assert 0 <= loss.proven < math.inf


def test_labels_of_one_set_may_be_labels_of_another() -> None:
    assert make(answer_sets=[["no", "yes"], ["yes", "no"], ["no", "yes", "perhaps"]]).sizes == (2, 2, 3)


def test_defaults() -> None:
    defaults = parameters()
    assert defaults == make()
    assert defaults.mechanism == "one_layer"
    assert defaults.estimator == "auto"
    assert defaults.ties == "first"
    assert defaults.set_of_task == (0, 0)
    prices = (defaults.epsilon, defaults.flip_probability, defaults.hyper)
    assert (*prices, defaults.epsilon_answer, defaults.epsilon_worker) == (None,) * 5
    (loss,) = TruthDiscovery(defaults).losses
    assert (loss.claimed, loss.proven) == (2.0, 2.0)  # ε = 1, twice


def test_the_sizes_and_sets_of_tasks_are_those_given() -> None:
    given = parameters(**TWO_SETS)
    assert given.sizes == (2, 3)
    assert given.set_of_task == (0, 1)


def test_a_hyper_distribution_is_read_from_a_table_by_its_type() -> None:
    given = parameters(mechanism="two_layer", hyper={"type": "Uniform", "low": 0.0, "high": 0.5})
    assert given.hyper == Uniform(0.0, 0.5)
    beta = parameters(mechanism="two_layer", hyper={"type": "Beta", "alpha": 2, "beta": 3, "low": 0.1, "high": 0.7})
    assert beta.hyper == Beta(2, 3, 0.1, 0.7)


@pytest.mark.parametrize("given", [{"mechanism": "three_layer"}, {"ties": "missing"}, {"epsilom": 1.0}, {"tasks": 3}])
def test_what_is_not_of_the_declared_type_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        parameters(**given)


def test_parameters_survive_the_wire() -> None:
    given = make(mechanism="two_layer", hyper=Beta(2, 3, 0.1, 0.7), estimator="one_coin", **TWO_SETS)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(given), type=Parameters) == given


@pytest.mark.parametrize("estimator", sorted(ROUNDED))
def test_a_session_has_the_rounds_that_are_asked_for(estimator: str) -> None:
    protocol = TruthDiscovery(make(estimator=estimator, rounds=7))
    public = np.array([[0, 0, 1], [0, 0, -1], [0, 1, -1]])
    inputs = Inputs(np.array([[0, 1], [1, -1], [1, -1]]), public)
    outcome = run_population(protocol, inputs, noise=SimulatedNoise(3, session="s")).outcome
    assert isinstance(outcome, Outcome)
    assert outcome.num_iterations == 7


@pytest.mark.parametrize("estimator", ["auto", "majority", "truth_discovery", "cautious"])
def test_rounds_are_for_estimators_that_end_by_a_likelihood(estimator: str) -> None:
    with pytest.raises(
        ConfigurationError, match="leave out rounds, except with the estimators accu, dawid_skene, noise"
    ):
        make(estimator=estimator, rounds=7)


@pytest.mark.parametrize("rounds", [0, -1, 10_001])
def test_rounds_out_of_range_are_refused(rounds: int) -> None:
    with refuses(field="rounds", allowed="in [1, 10000]"):
        make(estimator="dawid_skene", rounds=rounds)


@pytest.mark.parametrize(
    ("estimator", "given"),
    [("dawid_skene", {"rounds": 7}), ("truth_discovery", {"weight_function": "linear", "normalization": "all"})],
)
def test_some_fields_are_on_the_wire_only_where_they_are_given(estimator: str, given: dict[str, Any]) -> None:
    """So that sessions without them have the same bytes as before there were any."""
    plain, chosen = make(estimator=estimator), make(estimator=estimator, **given)
    assert bytes(TruthDiscovery(plain).encoded_parameters)[0] == 0x80 + 14  # a map of fourteen, its number in one byte
    assert msgspec.to_builtins(chosen) == {**msgspec.to_builtins(plain), **given}
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(chosen), type=Parameters) == chosen


def test_moments_may_be_fewer_than_answers_where_each_answer_has_its_own_draw() -> None:
    assert make(hyper=Moments((0.3,)), mechanism="fresh_two_layer").max_answers == 2


PUBLIC = np.array([[0, 0, 1], [1, 0, 1], [2, 0, -1]])
ROWS = np.array([[0, 1], [1, 0], [1, -1]])


def own_of(protocol: TruthDiscovery) -> tuple[list[float], list[float]]:
    """Return the weights and the qualities that workers are told, without noise to speak of."""
    result = run_population(protocol, Inputs(ROWS, PUBLIC), noise=SimulatedNoise(3, session="s"))
    own = cast("dict[int, OwnOutcome]", result.own_outcomes)
    told = [own[worker] for worker in sorted(own)]
    return [each.weight for each in told], [each.quality for each in told]


def of_weights(name: str) -> Parameters:
    return make(estimator="truth_discovery", weight_function=name, epsilon=30.0)


def test_a_function_of_somebody_s_own_is_what_its_name_stands_for() -> None:
    """Workers are told weights that are g of the qualities that they are told."""
    weights, qualities = own_of(TruthDiscovery(of_weights("square"), weight_function=lambda share: 16 * share * share))
    assert weights == pytest.approx([16 * share**2 for share in qualities], abs=1e-4)
    weights, qualities = own_of(TruthDiscovery(of_weights("linear")))
    assert weights == pytest.approx([2 * share - 1 for share in qualities], abs=1e-5)


def test_a_worker_does_without_the_function_and_the_finder_of_truths_does_not() -> None:
    """A client makes the protocol of the parameters alone, and reports; only truths ask for the weights."""
    protocol = TruthDiscovery(of_weights("square"))
    assert protocol.foreign_functions == {"weight_function": "square"}
    assert protocol.phase.mechanism.slots_of(2) == 2
    with pytest.raises(
        PluginError,
        match=r"weight_function is .*: use one of log_odds, linear; or TruthDiscovery",
    ):
        own_of(protocol)


@pytest.mark.bad_input("a weight function that does not increase, is not known, or is no function")
@pytest.mark.parametrize("name", ["linear", "log_odds", None])
def test_a_function_that_no_parameter_names_is_refused(name: str | None) -> None:
    parameters = of_weights(name) if name else make(estimator="truth_discovery")
    with refuses(said="name it by the parameters"):
        TruthDiscovery(parameters, weight_function=math.sqrt)


def test_a_function_that_does_not_increase_is_refused_before_anything_runs() -> None:
    with refuses(said="Make it increasing"):
        TruthDiscovery(of_weights("falling"), weight_function=lambda share: -share)


def test_other_parameters_keep_the_function() -> None:
    square = TruthDiscovery(of_weights("square"), weight_function=lambda share: share * share)
    other = square.with_parameters(msgspec.structs.replace(square.parameters, epsilon=20.0))
    assert own_of(other) == own_of(square)
