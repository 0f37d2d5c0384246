"""How answers are perturbed and what that costs: the losses of a worker, the worst case, and what "auto" takes."""

import itertools
import math
import re
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest
from bad_input import refuses
from exact_laws import exact_moment, support_of
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.mechanisms import (
    Beta,
    Discrete,
    FreshTwoLayer,
    HyperDistribution,
    OneLayer,
    PointMass,
    TwoLayer,
    Uniform,
    epsilon_of,
    flip_probability_of,
    loss_of_all_answers,
    loss_of_one_answer,
    uniform_for,
)
from psephos.protocol.privacy import NeighboringRelation, PureAccountant, TrustModel
from psephos.protocol.privacy.exact_sums import rounded_up, units_of
from psephos.protocol.truth_discovery import (
    Parameters,
    Perturbation,
    TruthDiscovery,
    informativeness,
    known_noise,
    make_noise,
)
from strategies import CHECKED, crowds, truth_discoveries
from thoroughness import draws

TWO = ("no", "yes")
THREE = ("red", "green", "blue")
OTHER_TWO = ("left", "right")


def make(num_tasks: int = 5, *sets: tuple[str, ...], **given: Any) -> Parameters:
    """Return parameters of so many tasks; sets take turns."""
    sets = sets or (TWO,)
    complete: dict[str, Any] = {
        "tasks": tuple(f"t{task}" for task in range(num_tasks)),
        "answer_sets": sets,
        "answer_set_of_task": tuple(task % len(sets) for task in range(num_tasks)),
        "max_answers": num_tasks,
        **given,
    }
    return Parameters(**complete)


def noise_of(num_tasks: int = 5, *sets: tuple[str, ...], **given: Any) -> Perturbation:
    return make_noise(make(num_tasks, *sets, **given))


# Mechanisms and prices


def test_one_layer_has_the_same_loss_for_every_answer_set() -> None:
    noise = noise_of(4, TWO, THREE, epsilon=1.5)
    assert noise.mechanism == OneLayer.from_epsilon((2, 3), 1.5)
    assert noise.flip_probabilities == (flip_probability_of(1.5, 2), flip_probability_of(1.5, 3))
    assert (noise.name, noise.sizes, noise.epsilons, noise.hyper) == ("one_layer", (2, 3), (1.5, 1.5), None)


def test_one_layer_with_a_flip_probability_loses_more_for_larger_sets() -> None:
    noise = noise_of(4, TWO, THREE, flip_probability=0.25)
    assert noise.mechanism == OneLayer((2, 3), (0.25, 0.25))
    assert noise.epsilons == (pytest.approx(math.log(3)), pytest.approx(math.log(6)))


@pytest.mark.parametrize("mechanism", ["two_layer", "fresh_two_layer"])
def test_two_layers_draw_from_the_papers_uniform_distribution(mechanism: Any) -> None:
    """For ε = ln 3 two labels are flipped with probability 1/4: b = 2p, a = 0."""
    noise = noise_of(mechanism=mechanism, epsilon=math.log(3))
    kind = TwoLayer if mechanism == "two_layer" else FreshTwoLayer
    assert isinstance(noise.mechanism, kind)
    assert noise.mechanism.hyper == uniform_for(flip_probability_of(math.log(3), 2))
    assert support_of(noise.mechanism.hyper) == (0.0, pytest.approx(0.5))
    assert noise.flip_probabilities == (pytest.approx(0.25),)
    assert noise.epsilons == (pytest.approx(math.log(3)),)
    assert noise.hyper == (noise.mechanism.hyper if mechanism == "two_layer" else None)


@pytest.mark.parametrize("mechanism", ["two_layer", "fresh_two_layer"])
def test_the_largest_set_has_the_epsilon_that_is_asked_for_and_the_others_claim_less(mechanism: Any) -> None:
    noise = noise_of(4, TWO, THREE, mechanism=mechanism, epsilon=2.0)
    assert noise.epsilons[1] == pytest.approx(2.0)
    assert noise.epsilons[0] == pytest.approx(2.0 - math.log(2))


@pytest.mark.parametrize("mechanism", ["two_layer", "fresh_two_layer"])
@pytest.mark.parametrize("hyper", [Uniform(0.1, 0.7), Beta(2, 3, 0.0, 0.9), Discrete((0.1, 0.4), (0.5, 0.5))], ids=repr)
def test_a_hyper_distribution_may_be_given(mechanism: Any, hyper: HyperDistribution) -> None:
    noise = noise_of(mechanism=mechanism, hyper=hyper)
    assert isinstance(noise.mechanism, (TwoLayer, FreshTwoLayer))
    assert noise.mechanism.hyper == hyper
    assert noise.flip_probabilities == (hyper.mean,)
    assert noise.epsilons == (pytest.approx(epsilon_of(hyper.mean, 2), rel=1e-14),)


@pytest.mark.parametrize("flip", [0.1, 0.5])
def test_a_flip_probability_is_the_mean_of_what_is_drawn(flip: float) -> None:
    assert noise_of(mechanism="two_layer", flip_probability=flip).hyper == uniform_for(flip)


@pytest.mark.parametrize("mechanism", ["one_layer", "two_layer", "fresh_two_layer"])
@pytest.mark.parametrize("num_answers", [1, 3])
def test_a_proven_price_is_kept_and_nearly_used_up(mechanism: Any, num_answers: int) -> None:
    for price in (1.2, 4.0, 9.0):
        of_worker = TruthDiscovery(make(mechanism=mechanism, epsilon_worker=price, max_answers=num_answers)).losses[0]
        assert price * 0.999 <= of_worker.proven <= price * (1 + 1e-12)
        of_answer = TruthDiscovery(make(mechanism=mechanism, epsilon_answer=price, max_answers=num_answers)).losses[0]
        assert price * 0.999 <= of_answer.finest_loss.proven <= price * (1 + 1e-12)


@pytest.mark.parametrize(
    "answer_sets",
    [
        (TWO,),
        (THREE,),
        (TWO, THREE),
        (TWO, THREE, OTHER_TWO, tuple("abcdefg")),
        tuple(tuple("abcdefgh"[:k]) for k in range(2, 8)),
    ],
    ids=lambda sets: "-".join(str(len(labels)) for labels in sets),
)
@pytest.mark.parametrize("field", ["epsilon_answer", "epsilon_worker"])
@pytest.mark.parametrize("most", [1, 2, 9, 40])
def test_two_layers_have_every_price_that_exists_and_refuse_the_others(
    answer_sets: tuple[tuple[str, ...], ...], field: str, most: int
) -> None:
    """Below the sum of ln((s − 1)/(s_min − 1)) over the largest sets, or the greatest of them, there is none."""
    given: dict[str, Any] = {"mechanism": "two_layer", "max_answers": most}
    sizes = [len(answer_sets[task % len(answer_sets)]) for task in range(40)]
    smallest = min(map(len, answer_sets))
    terms = [math.log((size - 1) / (smallest - 1)) for size in sorted(sizes)[-most:]]
    least = sum(terms) if field == "epsilon_worker" else max(terms)
    for above in (1e-6, 0.01, 0.5, 1.995, 6.0):
        price = least + above
        (loss,) = TruthDiscovery(make(40, *answer_sets, **given, **{field: price})).losses
        stated = loss.proven if field == "epsilon_worker" else loss.finest_loss.proven
        assert price * (1 - 1e-5) - 1e-8 <= stated <= price * (1 + 1e-12)
    if least > 0:
        with refuses(field) as refused:
            noise_of(40, *answer_sets, **given, **{field: least * 0.999})
        found = re.match(r"at least ([0-9.e+-]+), ", str(refused.value.allowed))
        assert found is not None
        assert float(found[1]) == pytest.approx(least, rel=1e-5)
        assert noise_of(40, *answer_sets, **given, **{field: float(found[1])}).hyper is not None


def test_an_answer_set_that_no_task_has_bounds_the_flips_as_any_other() -> None:
    parameters = make(4, THREE, mechanism="two_layer", epsilon_answer=1.0)
    with_another = msgspec.structs.replace(parameters, answer_sets=(THREE, TWO))
    hyper = make_noise(with_another).hyper
    assert hyper is not None
    assert hyper.mean <= 0.5


def test_skipped_tasks_cost_no_more_than_the_price() -> None:
    protocol = TruthDiscovery(make(6, TWO, THREE, mechanism="two_layer", epsilon_worker=5.0, max_answers=4))
    for number in range(1, 5):
        for tasks in itertools.combinations(range(6), number):
            assert sum(loss.proven for loss in protocol.losses_of([0, *tasks])) <= 5.0 * (1 + 1e-9)


# Losses of a worker


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_one_layer_costs_exactly_epsilon_an_answer(epsilon: float, count: int) -> None:
    loss = noise_of(epsilon=epsilon).loss_of((count,))
    assert loss.claimed == count * epsilon
    assert loss.proven == rounded_up(count * units_of(epsilon))  # as exact numbers
    assert loss.finest_loss.claimed == loss.finest_loss.proven == epsilon


def test_one_layer_over_two_sets_costs_the_sum() -> None:
    noise = noise_of(6, TWO, THREE, flip_probability=0.25)
    loss = noise.loss_of((2, 3))
    assert loss.proven == pytest.approx(2 * math.log(3) + 3 * math.log(6))
    assert loss.claimed == pytest.approx(loss.proven)
    assert loss.finest_loss.proven == pytest.approx(math.log(6))
    only_two = noise.loss_of((2, 0))
    assert (only_two.proven, only_two.finest_loss.proven) == (
        pytest.approx(2 * math.log(3)),
        pytest.approx(math.log(3)),
    )


def test_two_layers_cost_what_reading_t3_has() -> None:
    """Binary, a = 0, m = 5, ε = 1: J = 3.711 and R = 1.681, where the paper claims 1 an answer."""
    loss = noise_of(mechanism="two_layer", epsilon=1.0).loss_of((5,))
    assert (loss.proven, loss.finest_loss.proven) == (pytest.approx(3.711, abs=5e-4), pytest.approx(1.681, abs=5e-4))
    assert (loss.claimed, loss.finest_loss.claimed) == (pytest.approx(5.0), pytest.approx(1.0))


def test_two_layers_at_no_loss_claimed_lose_what_can_be_counted() -> None:
    """At ε = 0, P ~ U(0, 1) and L(k) = 1/((m + 1) C(m, k)): J = ln C(m, ⌊m/2⌋), and R = ln m (reading T3)."""
    loss = noise_of(mechanism="two_layer", epsilon=0.0).loss_of((5,))
    assert (loss.proven, loss.finest_loss.proven) == (pytest.approx(math.log(10)), pytest.approx(math.log(5)))
    assert loss.claimed == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("counts", [(1, 0), (0, 1), (2, 1), (3, 3)])
def test_answers_that_share_a_flip_probability_cost_their_joint_law(counts: tuple[int, int]) -> None:
    noise = noise_of(6, TWO, THREE, mechanism="two_layer", flip_probability=0.3)
    assert noise.hyper is not None
    sizes = [2] * counts[0] + [3] * counts[1]
    loss = noise.loss_of(counts)
    assert loss.proven == loss_of_all_answers(sizes, noise.hyper)
    assert loss.finest_loss.proven == loss_of_one_answer(sizes, noise.hyper)
    epsilons = [epsilon_of(0.3, size) for size in sizes]
    assert loss.claimed == pytest.approx(sum(epsilons))
    assert loss.finest_loss.claimed == pytest.approx(max(epsilons))


@pytest.mark.parametrize("mechanism", ["one_layer", "two_layer", "fresh_two_layer"])
def test_a_loss_says_of_whom_and_against_whom(mechanism: Any) -> None:
    loss = noise_of(mechanism=mechanism).loss_of((3,))
    assert loss.mechanism == mechanism
    assert (loss.relation, loss.model) == (NeighboringRelation.REPLACE_ONE, TrustModel.LOCAL)
    assert loss.unit == "all answers of a worker"
    assert loss.finest_loss.unit == "one answer"
    assert PureAccountant.epsilon_of(loss.event, loss.relation) == loss.proven


# The phase: who pays what


def row(*tasks: int, width: int) -> list[int]:
    return [0, *tasks, *[-1] * (width - len(tasks))]


@pytest.mark.parametrize("mechanism", ["one_layer", "two_layer", "fresh_two_layer"])
def test_a_worker_pays_for_what_it_is_asked(mechanism: Any) -> None:
    protocol = TruthDiscovery(make(6, TWO, THREE, OTHER_TWO, mechanism=mechanism, flip_probability=0.3, max_answers=4))
    noise = protocol.noise
    phase = protocol.phase
    for tasks, counts in [((0,), (1, 0, 0)), ((3, 1, 4), (1, 2, 0)), ((2, 5, 0, 3), (2, 0, 2))]:
        public = row(*tasks, width=4)
        assert phase.losses_of(public) == protocol.losses_of(public) == (noise.loss_of(counts),)
    assert phase.losses_of(row(width=4)) == ()


@CHECKED
@given(st.data())
def test_nobody_pays_more_than_the_phase_states(data: st.DataObject) -> None:
    protocol = data.draw(truth_discoveries())
    inputs = data.draw(crowds(protocol, data.draw(st.integers(1, 6))))
    phase = protocol.phase
    (worst,) = phase.losses
    drawn = PureAccountant.epsilon_of(phase.event, NeighboringRelation.REPLACE_ONE)
    assert drawn == pytest.approx(worst.proven, rel=1e-9, abs=1e-12)
    for public in inputs.public.tolist():
        for loss in phase.losses_of(public):
            assert loss.proven <= worst.proven * (1 + 1e-9)
            assert loss.finest_loss.proven <= worst.finest_loss.proven * (1 + 1e-9)
            assert loss.finest_loss.proven <= loss.proven * (1 + 1e-9)


WORST_CASES: list[Parameters] = [
    make(4, TWO, mechanism=mechanism, flip_probability=0.3, max_answers=most)
    for mechanism in ("one_layer", "two_layer", "fresh_two_layer")
    for most in (1, 3)
] + [
    make(num_tasks, TWO, THREE, OTHER_TWO, mechanism=mechanism, flip_probability=0.3, max_answers=most)
    for mechanism, num_tasks in (("one_layer", 7), ("two_layer", 9), ("two_layer", 5), ("fresh_two_layer", 7))
    for most in (1, 2, 3, 4)
]


@pytest.mark.parametrize("parameters", WORST_CASES, ids=str)
def test_the_stated_loss_is_that_of_the_worst_choice_of_so_many_tasks(parameters: Parameters) -> None:
    """By trying all choices of `max_answers` tasks: no more is stated than somebody could pay."""
    protocol = TruthDiscovery(parameters)
    (worst,) = protocol.losses
    choices = itertools.combinations(range(len(parameters.tasks)), parameters.max_answers)
    losses = [loss for tasks in choices for loss in protocol.losses_of([0, *tasks])]
    assert worst.proven == pytest.approx(max(loss.proven for loss in losses), rel=1e-9)
    assert worst.finest_loss.proven == pytest.approx(max(loss.finest_loss.proven for loss in losses), rel=1e-9)


@pytest.mark.parametrize("mechanism", ["one_layer", "two_layer", "auto"])
def test_a_price_of_all_answers_is_the_price_that_is_stated_where_sets_differ(mechanism: Any) -> None:
    """Two sets of three tasks each, and at most two answers of a worker: 6 is what it pays, not 12."""
    (loss,) = TruthDiscovery(make(6, TWO, THREE, mechanism=mechanism, epsilon_worker=6.0, max_answers=2)).losses
    assert loss.proven == pytest.approx(6.0)


def test_groups_are_named_by_what_their_workers_give() -> None:
    protocol = TruthDiscovery(make(6, TWO, THREE, epsilon=1.0, max_answers=3))
    phase = protocol.phase
    public = np.array([row(0, width=3), row(2, 1, width=3), row(1, 4, width=3), row(width=3)])
    groups = phase.loss_groups(public)
    assert sum(number for _, number, _ in groups) == 4
    assert {(number, sum(loss.proven for loss in losses)) for _, number, losses in groups} == {
        (1, 1.0),
        (2, 2.0),
        (1, 0),
    }
    names = {name: number for name, number, _ in groups}
    assert len(names) == 3
    assert all(name.startswith("with ") for name in names)
    same = np.array([row(0, 1, width=3), row(3, 2, width=3)])
    assert phase.loss_groups(same) == [("", 2, (protocol.noise.loss_of((1, 1)),))]


def test_groups_of_two_sets_of_one_size_have_different_names() -> None:
    phase = TruthDiscovery(make(2, TWO, OTHER_TWO)).phase
    groups = phase.loss_groups(np.array([row(0, width=2), row(1, width=2)]))
    assert len({name for name, _, _ in groups}) == len(groups)
    assert sum(number for _, number, _ in groups) == 2


# "auto"


@pytest.mark.parametrize("field", ["epsilon_answer", "epsilon_worker"])
@pytest.mark.parametrize("price", [0.5, 1.0, 2.0, 4.0, 8.0, 16.0])
@pytest.mark.parametrize("num_answers", [1, 2, 5])
def test_auto_is_the_one_that_promises_more_at_one_price(field: str, price: float, num_answers: int) -> None:
    asked: dict[str, Any] = {field: price, "max_answers": num_answers}
    chosen = noise_of(mechanism="auto", **asked)
    one = noise_of(mechanism="one_layer", **asked)
    try:
        two = noise_of(mechanism="two_layer", **asked)
    except ValueError:
        assert chosen == one
        return
    values = [informativeness(noise, num_answers=num_answers) for noise in (one, two)]
    assert chosen == (two if values[1] > values[0] else one)


def test_auto_takes_each_of_them_somewhere() -> None:
    names = {noise_of(5, THREE, mechanism="auto", epsilon_worker=price).name for price in (1.0, 4.0, 8.0, 12.0, 16.0)}
    assert names == {"one_layer", "two_layer"}


def test_auto_is_one_layer_where_two_layers_cannot_be_priced() -> None:
    """Two answers from three labels cost two layers 2 ln 2 at least, where the other answers are from two."""
    assert noise_of(4, TWO, THREE, mechanism="auto", epsilon_worker=1.3).name == "one_layer"
    assert noise_of(20, TWO, THREE, mechanism="auto", epsilon_worker=20.0).name == "two_layer"


@pytest.mark.parametrize(("given", "price"), [({}, 1.0), ({"epsilon": 6.0}, 6.0)])
def test_auto_takes_the_papers_epsilon_as_the_proven_price_of_one_answer(given: dict[str, Any], price: float) -> None:
    assert noise_of(mechanism="auto", **given) == noise_of(mechanism="auto", epsilon_answer=price)


# Informativeness


def brute_informativeness(hyper: HyperDistribution, size: int, num_answers: int) -> float:
    """Return the same by its definition: over every pattern of flips of a worker's other answers."""
    total = Fraction()
    for pattern in itertools.product((0, 1), repeat=num_answers - 1):
        flips = sum(pattern)
        chance = exact_moment(hyper, len(pattern), flips)
        expected_flip = exact_moment(hyper, num_answers, flips + 1) / chance
        total += chance * (1 - expected_flip * Fraction(size, size - 1)) ** 2
    return float(total)


@pytest.mark.parametrize("num_answers", [1, 2, 3, 6])
@pytest.mark.parametrize("labels", [TWO, THREE], ids=len)
@pytest.mark.parametrize("hyper", [Uniform(0.0, 0.6), Uniform(0.25, 0.5), Discrete((0.1, 0.6), (0.5, 0.5))], ids=repr)
def test_informativeness_is_its_definition(hyper: HyperDistribution, labels: tuple[str, ...], num_answers: int) -> None:
    noise = noise_of(6, labels, mechanism="two_layer", hyper=hyper)
    expected = brute_informativeness(hyper, len(labels), num_answers)
    assert informativeness(noise, num_answers=num_answers) == pytest.approx(expected, abs=2.0**-30)


def test_informativeness_of_one_layer_is_the_square_of_the_signal_of_the_smallest_set() -> None:
    """(1 − 2p)² with p = 0.3, whichever set comes first; and 0 where a report tells nothing."""
    one = [noise_of(4, *sets, flip_probability=0.3) for sets in ((TWO,), (TWO, THREE), (THREE, TWO))]
    shared = noise_of(mechanism="two_layer", hyper=PointMass(0.3))
    for noise, num_answers in itertools.product((*one, shared), (1, 4)):
        assert informativeness(noise, num_answers=num_answers) == pytest.approx(0.16)
    assert informativeness(noise_of(epsilon=0.0), num_answers=3) == 0


def test_more_answers_tell_more_of_what_a_worker_drew() -> None:
    """From (E g)² with one answer to E g² with many: for P ~ U(0, 1/2), g = 1 − 2P ~ U(0, 1), from 1/4 to 1/3."""
    noise = noise_of(mechanism="two_layer", hyper=Uniform(0.0, 0.5))
    values = [informativeness(noise, num_answers=number) for number in (1, 2, 5, 50, 500, 10_000)]
    assert values == sorted(values)
    assert values[0] == pytest.approx(1 / 4)
    assert values[4] == values[5] == pytest.approx(1 / 3, abs=2e-3)


# What estimators are told


def test_one_layer_is_known_by_its_flips_and_nothing_by_none() -> None:
    assert known_noise(None, (2, 3)).flips == {2: (0.0,), 3: (0.0,)}
    one = noise_of(6, TWO, THREE, OTHER_TWO, epsilon=1.5)
    assert known_noise(one, one.sizes).flips == {size: (flip_probability_of(1.5, size),) for size in (2, 3)}


MIDDLES = [(part + 0.5) / 15 for part in range(15)]


@pytest.mark.parametrize(
    ("mechanism", "hyper", "expected"),
    [
        ("fresh_two_layer", Beta(1, 3, 0.0, 0.8), [0.2]),
        ("two_layer", Uniform(0.1, 0.4), [0.1 + 0.3 * middle for middle in MIDDLES]),
        # 1 − (1 − t)³ is the distribution function of t = p/0.8.
        ("two_layer", Beta(1, 3, 0.0, 0.8), [0.8 * (1 - (1 - middle) ** (1 / 3)) for middle in MIDDLES]),
        ("two_layer", PointMass(0.3), [0.3]),
        ("two_layer", Discrete((0.45, 0.1), (0.2, 0.8)), [0.1] * 12 + [0.45] * 3),
        ("two_layer", Discrete((0.1, 0.2, 0.3), (1 / 3, 1 / 3, 1 / 3)), [0.1] * 5 + [0.2] * 5 + [0.3] * 5),
        ("two_layer", Discrete((0.2,), (1.0,)), [0.2] * 15),
    ],
    ids=repr,
)
def test_what_is_drawn_is_known_by_its_mean_or_where_it_is_shared_by_equally_likely_values(
    mechanism: str, hyper: HyperDistribution, expected: list[float]
) -> None:
    noise = noise_of(4, TWO, THREE, mechanism=mechanism, hyper=hyper)
    flips = known_noise(noise, noise.sizes).flips
    assert list(flips) == [2, 3]
    assert all(values == pytest.approx(expected) for values in flips.values())


def test_a_noise_that_states_less_than_its_mechanism_draws_is_refused() -> None:
    mechanism = OneLayer.from_epsilon((2,), 3.0)
    with refuses(said="at least what is drawn: 3"):
        Perturbation("one_layer", mechanism, (2,), mechanism.flip_probabilities, (0.01,))
    fresh = FreshTwoLayer((2,), Uniform(0.0, 0.4))
    with refuses(said="at least what is drawn"):
        Perturbation("fresh_two_layer", fresh, (2,), (0.2,), (1.0,))
    with refuses(said="with its own hyper-distribution"):
        Perturbation("two_layer", TwoLayer((2,), Uniform(0.0, 0.4)), (2,), (0.2,), (1.4,))


def test_a_worker_with_one_answer_has_one_layer_by_auto() -> None:
    """One flip probability for a single answer is a fresh one: both mechanisms have one law, and the first is taken."""
    for place in range(1, 200, draws(11, full=1)):
        parameters = make(1, TWO, mechanism="auto", epsilon_answer=place / 40, max_answers=1)
        assert make_noise(parameters).name == "one_layer"


def test_all_rows_are_tried_by_their_numbers_and_a_bound_stands_for_too_many() -> None:
    hyper = Uniform(0.0, 0.6)
    few = Perturbation("two_layer", TwoLayer((2,), hyper), (2,), (0.3,), (0.9,), hyper)
    assert few.loss_of_longest(12_000, [12_000]).proven == few.loss_of((12_000,)).proven
    sizes = (2, 3, 4, 5, 6)
    many = Perturbation("two_layer", TwoLayer(sizes, hyper), sizes, (0.3,) * 5, (0.9, 1.6, 2.0, 2.3, 2.5), hyper)
    stated = many.loss_of_longest(30, [30] * 5)
    generator = np.random.default_rng(3)
    for _ in range(draws(1, full=20)):
        counts = np.bincount(generator.integers(0, 5, 30), minlength=5).tolist()
        loss = many.loss_of(tuple(counts))
        assert loss.proven <= stated.proven
        assert loss.finest_loss.proven <= stated.finest_loss.proven


def test_auto_needs_a_price_and_a_price_is_finite() -> None:
    with refuses(field="epsilon", allowed="above 0"):
        make_noise(make(2, TWO, mechanism="auto", epsilon=0.0))
    with refuses(field="epsilon_worker", allowed="above 0 and at most 60"):
        make(2, TWO, mechanism="two_layer", epsilon_worker=math.inf)


def test_fresh_draws_may_be_certain_and_shared_ones_may_not() -> None:
    certain = Discrete((0.0, 1.0), (0.7, 0.3))
    fresh = make_noise(make(2, TWO, mechanism="fresh_two_layer", hyper=certain))
    assert fresh.epsilons[0] == pytest.approx(math.log(0.7 / 0.3))
    with refuses(said="reports reveal all answers"):
        make_noise(make(2, TWO, mechanism="two_layer", hyper=certain))
