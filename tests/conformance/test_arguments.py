"""Numbers of every kind and width, in arrays and lists: equal results, or an error that names the argument.

Every public name of mechanisms, estimators and accounting stands in `CALLS`, each with calls of which one argument
after another is given in every other form, or in `NO_CALLS`, with the reason. A new name that is in neither fails.
"""

import dataclasses
import functools
import importlib
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pytest
from forms import Form, Real, Reals, form_of
from makers import loss_of
from psephos.protocol.errors import UnsupportedEventError
from psephos.protocol.estimators import (
    Estimate,
    LinearEstimator,
    binomial_bounds,
    check_level,
    debiased_values,
    estimate_counts,
    l1_ball,
    project_to_simplex,
    truth_inference,
)
from psephos.protocol.estimators.truth_inference import (
    AnswerBlock,
    Answers,
    KnownNoise,
    LevelCounts,
    OwnNoise,
    check_weight_function,
)
from psephos.protocol.mechanisms import (
    Beta,
    Certificate,
    Disclosure,
    Discrete,
    DiscreteLaplace,
    FiniteChannel,
    FrequencyOracle,
    FreshTwoLayer,
    GeneralizedRandomizedResponse,
    HadamardResponse,
    JointPair,
    JointPosition,
    JointRanking,
    JointScores,
    LocalHashing,
    Moments,
    NoiseShare,
    NoisyScores,
    OneLayer,
    Piecewise,
    PointMass,
    ResponseSum,
    RowMechanism,
    SampledPair,
    SampledPosition,
    SphericalLaplace,
    SubsetSelection,
    ThresholdDecision,
    TruncatedNormal,
    TwoLayer,
    Uniform,
    VectorLaplace,
    WholeRanking,
    bernoulli,
    bernoulli_exp,
    block_offsets,
    check_epsilon,
    code_of_rankings,
    compare_hypers,
    epsilon_of,
    flip_probability_of,
    has_optimal,
    hypers_of_mean,
    laplace_grid,
    least_uniform_loss,
    loss_of_all_answers,
    loss_of_flip_probability,
    loss_of_longest_row,
    loss_of_mean,
    loss_of_one_answer,
    optimal,
    randomized_response,
    rankings_of_codes,
    scores_of_positions,
    share_log_law,
    two_point,
    uniform_for,
    uniform_of_loss,
)
from psephos.protocol.privacy import (
    ApproximateAccountant,
    Budget,
    ConcentratedAccountant,
    DiscreteLaplaceNoise,
    Ledger,
    LocalRandomizer,
    NeighboringRelation,
    PureAccountant,
    PureMechanism,
    RandomizedResponse,
    SelfComposed,
    SharedDiscreteLaplace,
    TrustModel,
    shared_laplace_loss,
)
from thoroughness import draws

PACKAGES: Final = (
    "psephos.protocol.mechanisms",
    "psephos.protocol.estimators",
    "psephos.protocol.estimators.l1_ball",
    "psephos.protocol.estimators.truth_inference",
    "psephos.protocol.privacy",
)


@dataclasses.dataclass(frozen=True)
class Call:
    """A function, and its arguments by name."""

    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    is_lenient: bool = False
    """Whether what is no number may end in any error."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "arguments", {name: form_of(value) for name, value in self.arguments.items()})


def call(function: Callable[..., Any], **arguments: Any) -> Call:
    return Call(function, arguments)


def methods(make: Callable[[], Any], **called: Mapping[str, Any]) -> list[Call]:

    def calling(name: str) -> Callable[..., Any]:
        def of_new(**given: Any) -> Any:
            return getattr(make(), name)(**given)

        return of_new

    return [Call(calling(name), arguments) for name, arguments in called.items()]


ONE, TWO = [[0, 2]], [[0, 2], [1, 1]]


def mechanism(make: Callable[[], RowMechanism], *, width: int = 2, value: int = 1, report: int = 1) -> list[Call]:
    """Return calls of all that a mechanism computes of numbers."""
    row = make()
    slots = row.slots_of(width)
    reports = row.num_reports_of(width)
    uniforms = tuple((1 + place) / 16 for place in range(slots))
    called: dict[str, Mapping[str, Any]] = {
        "event_of": {"num_values": width},
        "slots_of": {"num_values": width},
        "num_reports_of": {"num_values": width},
        "randomize_row": {"values": (value,) * width, "uniforms": Reals(uniforms, are_drawn=True)},
        "randomize_rows": {"values": [[value] * width] * 3, "uniforms": [uniforms] * 3},
        "log_likelihoods": {
            "reports": [[report] * reports] * 2,
            "values": [[value] * width, [value] * width],
        },
    }
    if hasattr(row, "randomize_one"):
        own = tuple((1 + place) / 16 for place in range(row.slots_of(1)))
        called["randomize_one"] = {"value": value, "uniforms": Reals(own, are_drawn=True)}
        called["randomize"] = {"values": [value] * 3, "uniforms": [own] * 3}
        called["log_probabilities"] = {"reports": [report, report], "values": [value]}
    return methods(make, **called)


HALF = Fraction(1, 2)
SUMMED, RESPONSE = VectorLaplace(4.0, 3, 100), GeneralizedRandomizedResponse(1.0, 2)
UNIFORM = Uniform(0.0, 0.5)
VALUES = (-2.0, -1.0, 1.0, 2.0)
CHANNEL = ((0.75, 0.25), (0.25, 0.75))
INVERSE = ((1.5, -0.5), (-0.5, 1.5))
REPLACE = NeighboringRelation.REPLACE_ONE
SMALL_CHANNEL = ((1 << 52, 1 << 52), (1 << 51, (1 << 53) - (1 << 51)))


def below(number: int) -> int:
    """Draw the greatest always."""
    return number - 1


def answers(**given: Any) -> Answers:
    complete: dict[str, Any] = {
        "tasks": np.array([0, 0, 1, 1]),
        "workers": np.array([0, 1, 0, 1]),
        "labels": np.array([1, 1, 0, 2]),
        "num_tasks": 2,
        "num_workers": 2,
        "sizes": np.array([2, 3]),
    }
    return Answers(**{**complete, **given})


NOISE = KnownNoise.from_flip_probabilities({2: 0.25, 3: 0.25})


def infers(name: str, *, noise: bool = False, **arguments: Any) -> Call:
    function = getattr(truth_inference, name)
    known: dict[str, Any] = {"answers": answers()} | ({"noise": NOISE} if noise else {})
    return Call(function, {**known, **arguments})


def scored(scores: Any, weights: Any, num_iterations: Any) -> Any:
    """Return what is inferred by scores."""
    return truth_inference.infer_by_scores(answers(), scores, weights=weights, num_iterations=num_iterations)


def votes(labels: Any) -> Any:
    """Return the majority's labels."""
    return truth_inference.majority_vote(answers(labels=labels))


def votes_of_crowds(labels: Any) -> Any:
    """Return the majority's labels of many crowds."""
    return truth_inference.majority_vote(AnswerBlock(answers(), labels))


def bound_of_certificate(**given: Any) -> Fraction:
    return Certificate(**given).proven_bound()


def cost_of(event: Callable[..., Any]) -> Callable[..., float]:
    """Return what tells the price of an event."""

    def cost(**given: Any) -> float:
        return PureAccountant.epsilon_of(event(**given), REPLACE)

    return cost


def spent(epsilon: Any) -> float:
    """Return what a ledger adds up of a loss."""
    ledger = Ledger("somebody")
    loss = loss_of(event=PureMechanism(epsilon=epsilon), claimed=1.0)
    ledger.charge(loss, session="s", phase="p")
    return ledger.spent


def left(epsilon: Any, delta: Any = 0.0) -> float:
    """Return what a budget leaves after many small losses."""
    ledger = Ledger("somebody", budget=Budget(epsilon=epsilon, delta=delta))
    loss = loss_of(event=SelfComposed(LocalRandomizer(epsilon=0.03125), 30), claimed=1.0)
    ledger.charge(loss, session="s", phase="p")
    return ledger.remaining


def composed(count: Any) -> float:
    """Return what an event costs so many times."""
    accountant = PureAccountant(REPLACE)
    accountant.compose(LocalRandomizer(epsilon=0.5), count)
    return accountant.epsilon


def concentrated(count: Any) -> float:
    """Return ρ of an event so many times."""
    accountant = ConcentratedAccountant(REPLACE)
    accountant.compose(LocalRandomizer(epsilon=0.5), count)
    return accountant.rho


def approximate(delta: Any) -> float:
    accountant = ApproximateAccountant(REPLACE, delta=delta)
    accountant.compose(LocalRandomizer(epsilon=0.5), 3)
    return accountant.epsilon


def oracle(kind: type[FrequencyOracle]) -> list[Call]:
    """Return calls of all that a frequency oracle computes of numbers."""
    numbers = [[2] * kind(1.0, 4).num_reports_of(1)] * 3
    called: dict[str, Mapping[str, Any]] = {
        "reach": {"value": 1, "holder": 3},
        "variance_of": {"value": 1, "holder": 3},
        "support_counts": {"reports": numbers},
        "estimate_support": {"counts": [[1, 2, 3, 0], [5, 5, 5, 5]], "num_reports": 5},
    }
    made = methods(lambda: kind(1.0, 4), **called)
    return [call(kind, epsilon=1.0, num_choices=100), *mechanism(lambda: kind(1.0, 4)), *made]


PARTS = [LevelCounts(100, 120, 0.25)] * 2
CALLS: Final[Mapping[str, Sequence[Call]]] = {
    # Mechanisms
    "Beta": [
        call(Beta, alpha=2.0, beta=3.5, low=0.0, high=0.5),
        *methods(lambda: Beta(2, 3), log_moments={"num_answers": 3}),
    ],
    "Certificate": [
        call(
            bound_of_certificate,
            epsilon=1.0,
            values=(-1.0, 1.0),
            slopes=(-2.0, 2.0),
            masses=(1.0, 1.0),
            prior=(1.0, 1.0),
        )
    ],
    "Disclosure": [call(Disclosure, bound=5), *mechanism(lambda: Disclosure(5))],
    "Discrete": [call(Discrete, probabilities=(0.25, 0.5), shares=(0.5, 0.5))],
    "DiscreteLaplace": [
        call(DiscreteLaplace, scale=2.0, least=-100, greatest=100),
        *mechanism(lambda: DiscreteLaplace(20.0, -100, 100), value=100, report=-100),
        *mechanism(lambda: DiscreteLaplace(20.0, -100, 100), value=-100, report=127),
    ],
    "FiniteChannel": [
        call(functools.partial(FiniteChannel, masses=SMALL_CHANNEL), epsilon=2.0),
        *mechanism(lambda: FiniteChannel(2.0, SMALL_CHANNEL)),
    ],
    "FreshTwoLayer": [
        call(functools.partial(FreshTwoLayer, hyper=UNIFORM), sizes=(2, 3)),
        *mechanism(lambda: FreshTwoLayer((2, 3), UNIFORM)),
    ],
    "GeneralizedRandomizedResponse": [
        call(GeneralizedRandomizedResponse, epsilon=1.0, num_choices=100),
        *mechanism(lambda: GeneralizedRandomizedResponse(1.0, 100), value=99),
        *methods(
            lambda: GeneralizedRandomizedResponse(1.0, 3),
            debias={"values": (100.0, 100.0, 27.0)},
        ),
        *methods(lambda: GeneralizedRandomizedResponse(1.0, 3), debias={"values": (1.5, 100.0, 27.0)}),
    ],
    "HadamardResponse": oracle(HadamardResponse),
    "JointPair": [
        call(JointPair, epsilon=1.0, num_alternatives=3, num_groups=4, num_signs=2),
        *mechanism(lambda: JointPair(1.0, 3, 4, 4), width=3),
        *methods(lambda: JointPair(1.0, 3, 2, 2), is_report={"report": (2, 1, -1)}),
    ],
    "JointPosition": [
        call(JointPosition, epsilon=1.0, num_alternatives=3, num_groups=2),
        *mechanism(lambda: JointPosition(1.0, 3, 2), width=3),
    ],
    "JointRanking": [
        call(JointRanking, epsilon=1.0, num_alternatives=3, num_groups=2),
        *mechanism(lambda: JointRanking(1.0, 3, 2), width=3),
    ],
    "JointScores": [
        call(JointScores, epsilon=1.0, steps=(50, 0, -50), num_groups=2),
        *mechanism(lambda: JointScores(1.0, (50, 0, -50), 2), width=3),
    ],
    "LocalHashing": [
        *oracle(LocalHashing),
        *methods(lambda: LocalHashing(1.0, 4), collision_probability={"num_hashes": 3}),
    ],
    "NoisyScores": [
        call(NoisyScores, epsilon=1.0, steps=(100, 50, 0)),
        *mechanism(lambda: NoisyScores(1.0, (100, 50, 0)), width=3),
    ],
    "OneLayer": [
        call(OneLayer, sizes=(2, 3), flip_probabilities=(0.25, 0.5)),
        call(OneLayer.from_epsilon, sizes=(2, 3), epsilon=1.0),
        call(OneLayer.from_flip_probability, sizes=(2, 3), flip_probability=0.25),
        *mechanism(lambda: OneLayer((2, 3), (0.25, 0.5))),
    ],
    "Moments": [call(Moments, moments=(0.25, 0.09375), low=0.0, high=0.5)],
    "Piecewise": [call(Piecewise, edges=(0.0, 0.25, 0.5), shares=(0.5, 0.5))],
    "PointMass": [call(PointMass, probability=0.25)],
    "SampledPair": [
        call(SampledPair, epsilon=1.0, num_alternatives=3),
        *mechanism(lambda: SampledPair(1.0, 3), width=3),
        *methods(lambda: SampledPair(1.0, 3), report_probabilities={"positions": (2, 0, 1)}),
    ],
    "SampledPosition": [
        call(SampledPosition, epsilon=1.0, num_alternatives=3),
        *mechanism(lambda: SampledPosition(1.0, 3), width=3),
    ],
    "SphericalLaplace": [
        call(SphericalLaplace, scale=4.0, sensitivity=2.0, bound=100, dimension=2),
        *mechanism(lambda: SphericalLaplace(4.0, 2.0, 100, 2), value=100, report=-100),
    ],
    "SubsetSelection": oracle(SubsetSelection),
    "TruncatedNormal": [call(TruncatedNormal, location=0.25, scale=0.125, low=0.0, high=0.5)],
    "TwoLayer": [
        call(functools.partial(TwoLayer, hyper=UNIFORM), sizes=(2, 3)),
        *mechanism(lambda: TwoLayer((2, 3), UNIFORM)),
    ],
    "Uniform": [call(Uniform, low=0.0, high=0.5)],
    "NoiseShare": [
        call(NoiseShare, scale=4.0, sensitivity=100, bound=100, planned=3),
        *mechanism(lambda: NoiseShare(4.0, 100, 100, 3), value=100, report=-100),
        *methods(lambda: NoiseShare(4.0, 8, 100, 3), privacy={"num_values": 2, "honest": 2}),
        *methods(lambda: NoiseShare(4.0, 8, 100, 3), check_sum={"num_shares": 100}),
    ],
    "share_log_law": [call(share_log_law, scale=4.0, planned=3, num_shares=2)],
    "ResponseSum": [
        call(functools.partial(ResponseSum, SUMMED, RESPONSE), gains=(3, 5), numbers=(2, 1), width=2),
        *mechanism(lambda: ResponseSum(SUMMED, RESPONSE, (3,), (2,), 1), report=4),
        *methods(lambda: ResponseSum(SUMMED, RESPONSE, (3,), (2,), 1), chances_to_reach={"values": [0, 1], "least": 3}),
    ],
    "ThresholdDecision": [
        call(ThresholdDecision, scale=4.0, sensitivity=3, bound=100, passing=2, failing=-3, width=2),
        *mechanism(lambda: ThresholdDecision(4.0, 3, 100), value=100, report=3),
        *methods(lambda: ThresholdDecision(4.0, 3, 100), chance_of_error={"margin": 7}),
    ],
    "VectorLaplace": [
        call(VectorLaplace, scale=4.0, sensitivity=100, bound=100),
        *mechanism(lambda: VectorLaplace(4.0, 100, 100), value=100, report=-100),
    ],
    "WholeRanking": [
        call(WholeRanking, epsilon=1.0, num_alternatives=3),
        *mechanism(lambda: WholeRanking(1.0, 3), width=3),
    ],
    "block_offsets": [call(block_offsets, sizes=(100, 100, 3))],
    "check_epsilon": [call(check_epsilon, epsilon=1.0)],
    "code_of_rankings": [call(code_of_rankings, positions=[[2, 0, 1, 3, 5, 4], [0, 1, 2, 3, 4, 5]])],
    "compare_hypers": [
        call(
            functools.partial(compare_hypers, {"one": PointMass(0.25), "two": UNIFORM}),
            num_answers=3,
            num_labels=2,
        )
    ],
    "epsilon_of": [call(epsilon_of, flip_probability=0.25, num_labels=3)],
    "flip_probability_of": [call(flip_probability_of, epsilon=1.0, num_labels=127)],
    "bernoulli": [call(functools.partial(bernoulli, randbelow=below), probability=Real(0.5, is_exact=True))],
    "bernoulli_exp": [call(functools.partial(bernoulli_exp, randbelow=below), x=Real(0.5, is_exact=True))],
    "has_optimal": [call(has_optimal, values=VALUES)],
    "hypers_of_mean": [call(hypers_of_mean, mean=0.25)],
    "laplace_grid": [call(laplace_grid, scale=100.0)],
    "least_uniform_loss": [
        call(functools.partial(least_uniform_loss, unit="all answers"), sizes=(2, 3, 3), most_flips=0.5)
    ],
    "loss_of_all_answers": [call(functools.partial(loss_of_all_answers, hyper=UNIFORM), sizes=(2, 100, 3))],
    "loss_of_mean": [call(functools.partial(loss_of_mean, Uniform(0.0, 0.5)), num_labels=100)],
    "loss_of_flip_probability": [
        call(loss_of_flip_probability, flip_probability=0.25, num_labels=100),
        call(loss_of_flip_probability, flip_probability=HALF, num_labels=100),
    ],
    "loss_of_longest_row": [call(functools.partial(loss_of_longest_row, hyper=UNIFORM), num_answers=100, sizes=(2, 3))],
    "loss_of_one_answer": [call(functools.partial(loss_of_one_answer, hyper=UNIFORM), sizes=(2, 100, 3))],
    "optimal": [
        call(optimal, values=VALUES, epsilon=1.0),
        call(optimal, values=VALUES, epsilon=1.0, prior=(0.25, 0.25, 0.25, 0.25)),
    ],
    "randomized_response": [
        call(randomized_response, values=VALUES, epsilon=1.0),
        *methods(
            lambda: randomized_response([Fraction(-1), Fraction(1)], epsilon=1.0),
            mean_variance={"prior": (0.25, 0.75)},
        ),
    ],
    "rankings_of_codes": [call(rankings_of_codes, codes=[5, 0, 100], num_alternatives=6)],
    "scores_of_positions": [call(scores_of_positions, positions=[[0, 1, 2], [0, 0, 2]], steps=(4, 2, 0))],
    "two_point": [call(two_point, values=VALUES, epsilon=1.0)],
    "uniform_for": [call(uniform_for, mean=0.25)],
    "uniform_of_loss": [
        call(
            functools.partial(uniform_of_loss, unit="all answers"),
            loss=4.0,
            sizes=(2, 3, 3),
            most_flips=0.5,
        )
    ],
    # Estimators
    "Estimate": [
        call(Estimate, value=Real(1.5, True, True), standard_error=Real(0.5, True, True)),  # noqa: FBT003  what is not known is nan
    ],
    "LinearEstimator": [
        call(LinearEstimator, contributions=(1.5, -0.5), channel=CHANNEL, inverse=INVERSE),
        *methods(
            lambda: LinearEstimator((1.5, -0.5), CHANNEL, INVERSE),
            expectation={"value": 1},
            variance={"value": 1},
            total={"counts": (100, 100)},
            total_variance={"counts": (100, 100)},
            estimate={"counts": (100, 100)},
        ),
    ],
    "debiased_values": [
        call(functools.partial(debiased_values, GeneralizedRandomizedResponse(1.0, 3)), values=(1.5, 2.0, 3.0))
    ],
    "estimate_counts": [
        call(functools.partial(estimate_counts, GeneralizedRandomizedResponse(1.0, 3)), counts=(100, 100, 27))
    ],
    "binomial_bounds": [call(binomial_bounds, number=100, probability=0.25, level=0.125)],
    "check_level": [call(check_level, level=0.125)],
    "project_to_simplex": [call(project_to_simplex, values=(100.0, -1.5, 27.0), total=100.0)],
    # The ℓ₁ ball
    "fit_probit": [
        call(
            l1_ball.fit_probit,
            differences=[[1.0, -2.0], [2.0, 1.0], [-1.0, 0.0]],
            offsets=[0, 2, 3],
            radius=2.0,
            tolerance=0.125,
            max_iterations=20,
        )
    ],
    "log_likelihoods": [
        call(
            l1_ball.log_likelihoods,
            differences=[[1.0, -2.0], [2.0, 1.0], [-1.0, 0.0]],
            offsets=[0, 2, 3],
            points=[[0.5, 0.5], [0.0, 1.0]],
        )
    ],
    "maximize_quadratics": [
        call(
            l1_ball.maximize_quadratics,
            linear=[[1.0, -2.0]],
            quadratic=[[[-1.0, 0.0], [0.0, -2.0]]],
            radius=1.0,
            tolerance=0.125,
            max_iterations=20,
        )
    ],
    "project_to_l1_ball": [call(l1_ball.project_to_l1_ball, points=[[100.0, -2.5], [0.5, 0.0]], radius=1.0)],
    # Truth inference
    "Answers": [
        call(
            answers,
            tasks=[0, 0, 1, 1],
            workers=[0, 1, 0, 1],
            labels=[1, 1, 0, 2],
            num_tasks=2,
            num_workers=2,
            sizes=[2, 3],
        )
    ],
    "AnswerBlock": [call(votes_of_crowds, labels=[[1, 1, 0, 2], [0, 1, 1, 2]])],
    "KnownNoise": [
        call(KnownNoise, flips={2: (0.25, 0.5), 3: (0.25, 0.5)}),
        call(KnownNoise.from_flip_probabilities, flip_probabilities={2: 0.25, 100: 0.5}),
        call(KnownNoise.uniform, bounds={2: (0.25, 0.5)}, num_values=3),
        *methods(lambda: NOISE, means_of={"sizes": [2, 3, 2]}, values_of={"sizes": [2, 3, 2]}),
    ],
    "OwnNoise": [
        call(OwnNoise, levels=(NOISE, NOISE), level_of_worker=[0, 1, 0]),
        *methods(lambda: OwnNoise((NOISE,), np.zeros(2, dtype=np.int64)), means_of={"sizes": [2, 3, 2]}),
    ],
    "cautious_truth_discovery": [
        infers(
            "cautious_truth_discovery",
            noise=True,
            least_odds=2.0,
            clamp=0.125,
            max_iterations=5,
            tolerance=Real(0.125, may_be_infinite=True),
        )
    ],
    "dawid_skene": [
        infers(
            "dawid_skene",
            smoothing=0.5,
            floor=0.125,
            max_iterations=5,
            tolerance=Real(0.125, may_be_infinite=True),
        ),
    ],
    "debiased_majority": [infers("debiased_majority", noise=True)],
    "majority_vote": [call(votes, labels=[1, 1, 0, 2])],
    "noise_aware_dawid_skene": [
        infers(
            "noise_aware_dawid_skene",
            noise=True,
            prior_answers=8.0,
            prior_quality=0.75,
            max_iterations=5,
            tolerance=Real(0.125, may_be_infinite=True),
        )
    ],
    "noise_aware_one_coin": [
        infers(
            "noise_aware_one_coin",
            noise=True,
            competence_prior=(2.0, 1.0),
            least_competence=0.0,
            max_iterations=5,
            tolerance=Real(0.125, may_be_infinite=True),
        )
    ],
    "check_weight_function": [call(functools.partial(check_weight_function, math.sqrt), num_answers=3, clamp=0.125)],
    "infer_by_scores": [
        call(
            scored,
            scores=[[1.0, 2.0, 0.0], [0.5, 0.5, 0.0]],
            weights=[1.0, 2.0],
            num_iterations=3,
        )
    ],
    "minimax_entropy": [
        infers(
            "minimax_entropy",
            penalty=0.5,
            max_iterations=5,
            tolerance=Real(0.125, may_be_infinite=True),
        )
    ],
    "crh": [infers("crh", noise=True, clamp=0.125, max_iterations=5)],
    "one_coin": [
        infers(
            "one_coin",
            smoothing=0.5,
            clamp=0.125,
            max_iterations=5,
            tolerance=Real(0.125, may_be_infinite=True),
        )
    ],
    "estimate_support": [
        call(
            truth_inference.estimate_support,
            reports=100,
            num_answers=120,
            flip_probability=0.25,
            num_labels=3,
        )
    ],
    "estimate_support_by_level": [
        call(functools.partial(truth_inference.estimate_support_by_level, PARTS), num_labels=3)
    ],
    "support_limits_by_level": [
        call(functools.partial(truth_inference.support_limits_by_level, PARTS), num_labels=3, level=0.125)
    ],
    "support_limits": [
        call(
            truth_inference.support_limits,
            reports=100,
            num_answers=120,
            flip_probability=0.25,
            num_labels=3,
            level=0.125,
        )
    ],
    "truth_discovery": [infers("truth_discovery", max_iterations=5, clamp=0.125)],
    # Accounting. What an event costs is judged by the accountant.
    "ApproximateAccountant": [call(approximate, delta=0.125)],
    "Budget": [
        Call(left, {"epsilon": Real(2.0, True)}, is_lenient=True),  # noqa: FBT003  all may be spent
        call(functools.partial(left, 2.0), delta=0.125),
    ],
    "ConcentratedAccountant": [call(concentrated, count=100)],
    "DiscreteLaplaceNoise": [
        call(
            cost_of(DiscreteLaplaceNoise),
            scale=Real(2.0, True),  # noqa: FBT003  noise without an end
            sensitivity=100,
        )
    ],
    "Ledger": [
        call(spent, epsilon=Real(1.0, True)),  # noqa: FBT003  nothing is protected
        call(
            functools.partial(Ledger("somebody").approximate_total, relation=REPLACE, model=TrustModel.LOCAL),
            delta=0.125,
        ),
    ],
    "LocalRandomizer": [
        call(cost_of(LocalRandomizer), epsilon=Real(1.0, True))  # noqa: FBT003  nothing is protected
    ],
    "PureAccountant": [call(composed, count=100)],
    "PureMechanism": [
        call(cost_of(PureMechanism), epsilon=Real(1.0, True))  # noqa: FBT003  nothing is protected
    ],
    "RandomizedResponse": [
        call(
            cost_of(RandomizedResponse),
            epsilon=Real(1.0, True),  # noqa: FBT003  nothing is protected
            num_choices=100,
        )
    ],
    "SharedDiscreteLaplace": [
        call(
            cost_of(SharedDiscreteLaplace),
            scale=2.0,
            sensitivity=4,
            planned=3,
            honest=2,
            width=2,
        )
    ],
    "shared_laplace_loss": [
        call(
            shared_laplace_loss,
            scale=2.0,
            sensitivity=4,
            planned=3,
            honest=2,
            width=2,
        )
    ],
    "SelfComposed": [
        call(
            cost_of(functools.partial(SelfComposed, LocalRandomizer(0.5))),
            count=100,
        )
    ],
}

NO_CALLS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "CLAMP_IN_SCALES",
            "DEFAULT_LEVEL",
            "MAX_ALTERNATIVES",
            "MAX_DIMENSION",
            "MAX_EPSILON",
            "MAX_JOINT_GROUPS",
            "MAX_RANKED",
            "MIN_EPSILON",
            "MIN_FLIP_PROBABILITY",
            "MOST_SYMMETRIC_VALUES",
            "MOST_VALUES",
            "MISSING",
            "NO_ANSWER",
            "WEIGHT_FUNCTIONS",
        ),
        "a number",
    ),
    "Estimates": "what is returned: its numbers are those of each `Estimate`",
    **dict.fromkeys(
        (
            "RandBelow",
            "ClassPrior",
            "HyperDistribution",
            "LossScale",
            "LossUnit",
            "Normalization",
            "PrivacyEvent",
            "Ties",
            "WeightFunction",
        ),
        "the name of a type",
    ),
    **dict.fromkeys(
        (
            "Accountant",
            "ExactMechanism",
            "FiniteMechanism",
            "FrequencyOracle",
            "Mechanism",
            "PostProcessed",
            "Prepared",
            "RowMechanism",
        ),
        "abstract; its methods are called of those that inherit",
    ),
    **dict.fromkeys(
        (
            "NeighboringRelation",
            "TrustModel",
            "SEMI_HONEST",
            "UNDECIDED",
            "is_semi_honest",
            "NoRelease",
            "NonPrivate",
            "Composed",
            "OnArrays",
            "Verdict",
        ),
        "has no numbers",
    ),
    **dict.fromkeys(
        (
            "BallMaximum",
            "Confusions",
            "DebiasedCounts",
            "HyperLosses",
            "Inference",
            "InferenceBlock",
            "LevelCounts",
            "SupportLimits",
            "UnbiasedReport",
        ),
        "what functions return",
    ),
    **dict.fromkeys(
        (
            "Charge",
            "LedgerEntry",
            "PartLoss",
            "PrivacyLoss",
            "Reservation",
            "Total",
            "approximate_epsilon",
            "common_relation",
            "compose_parallel",
            "local_loss",
            "total_of",
        ),
        "the ledger's records, whose numbers are those of events",
    ),
}


def named_calls() -> list[Any]:
    return [
        pytest.param(one, id=f"{name} {place}: {', '.join(one.arguments)}")
        for name, calls in CALLS.items()
        for place, one in enumerate(calls)
    ]


every_call = pytest.mark.parametrize("one", named_calls())
every_strict_call = pytest.mark.parametrize("one", [one for one in named_calls() if not one.values[0].is_lenient])


def plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.plain if isinstance(value, Form) else value for name, value in arguments.items()}


def shown(result: Any) -> str:
    """Return all that a result says, to the last bit and with the types of its numbers."""
    with np.printoptions(threshold=10**6, floatmode="unique", precision=17):
        return repr(result)


def test_every_public_name_is_called_or_said_why_not() -> None:
    public = {name for package in PACKAGES for name in importlib.import_module(package).__all__}
    assert not CALLS.keys() & NO_CALLS.keys()
    assert public == CALLS.keys() | NO_CALLS.keys()


@every_call
def test_numbers_of_every_kind_give_equal_results(one: Call) -> None:
    """Warnings are errors here, those of an overflow too. Quick, every third kind, others of each argument."""
    expected, step = shown(one.function(**plain(one.arguments))), draws(3, full=1)
    for place, (name, argument) in enumerate(one.arguments.items()):
        if isinstance(argument, Form):
            for form in itertools.islice(argument.equal(), place % step, None, step):
                assert shown(one.function(**{**plain(one.arguments), name: form})) == expected, (name, form)


@every_strict_call
def test_what_is_no_such_number_is_refused_by_name(one: Call) -> None:
    for name, argument in one.arguments.items():
        if not isinstance(argument, Form):
            continue
        for form in argument.refused():
            try:
                result = one.function(**{**plain(one.arguments), name: form})
            except (ValueError, TypeError, UnsupportedEventError) as error:
                message = str(error)
            else:
                pytest.fail(f"{name} = {form!r} gave {result!r}")
            assert name.removesuffix("s").replace("_", " ")[:5] in message.replace("_", " "), (name, form)


def test_counts_are_debiased_whatever_they_are_held_in() -> None:
    """Of numpy's own integers, which fractions multiplied in 64 bits, this was garbage with a warning."""
    response = GeneralizedRandomizedResponse(1.0, 3)
    reports = np.random.default_rng(1).integers(3, size=10_000)
    counts: Any = np.bincount(reports)
    assert response.debias(counts) == response.debias(counts.tolist())
    assert sum(response.debias(counts)) == 10_000
    assert all(isinstance(number.numerator, int) for number in response.debias(counts))


def test_small_integers_do_not_wrap_around() -> None:
    hundred: Any = np.int8(100)
    assert DiscreteLaplace(1.0, -100, 100).randomize_one(hundred, [1 - 2.0**-53]) == 136
    assert LinearEstimator((1.0, 1.0), CHANNEL, INVERSE).total([hundred, hundred]) == 200
    assert block_offsets([hundred, hundred, hundred]) == (0, 100, 200, 300)
