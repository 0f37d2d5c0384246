"""Numbers of every kind and width, in arrays and lists: equal results, or an error that names the argument.

Every public name of mechanisms, estimators and accounting stands in `CALLS`, each with calls of which one argument
after another is given in every other form, or in `NO_CALLS`, with the reason. A new name that is in neither fails.
"""

import dataclasses
import importlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pytest
from psephos.protocol.errors import UnsupportedEventError
from psephos.protocol.estimators import (
    Estimate,
    LinearEstimator,
    debiased_values,
    estimate_counts,
    l1_ball,
    probability_of_other_sign,
    project_to_simplex,
    truth_inference,
)
from psephos.protocol.estimators.truth_inference import Answers, KnownNoise
from psephos.protocol.mechanisms import (
    Beta,
    Certificate,
    Disclosure,
    Discrete,
    DiscreteLaplace,
    FiniteChannel,
    FreshTwoLayer,
    GeneralizedRandomizedResponse,
    NoisyScores,
    OneLayer,
    PointMass,
    RowMechanism,
    SampledPair,
    SampledPosition,
    SphericalLaplace,
    TwoLayer,
    Uniform,
    VectorLaplace,
    WholeRanking,
    block_offsets,
    check_epsilon,
    code_of_rankings,
    compare_hypers,
    epsilon_of,
    flip_probability_of,
    has_happened,
    has_happened_exp,
    has_optimal,
    hypers_of_mean,
    laplace_grid,
    least_uniform_loss,
    loss_of_all_answers,
    loss_of_flip_probability,
    loss_of_longest_row,
    loss_of_one_answer,
    optimal,
    randomized_response,
    rankings_of_codes,
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
    PrivacyLoss,
    PureAccountant,
    PureMechanism,
    RandomizedResponse,
    SelfComposed,
    TrustModel,
)

PACKAGES: Final = (
    "psephos.protocol.mechanisms",
    "psephos.protocol.estimators",
    "psephos.protocol.estimators.l1_ball",
    "psephos.protocol.estimators.truth_inference",
    "psephos.protocol.privacy",
)
INTEGERS: Final = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
FLOATS: Final = (np.float16, np.float32, np.float64)


class Form:
    """An argument that is given in several forms."""

    plain: Any

    def equal(self) -> Iterator[Any]:
        """Yield other forms of the same numbers."""
        raise NotImplementedError

    def refused(self) -> Iterator[Any]:
        """Yield what is no such number."""
        raise NotImplementedError


@dataclasses.dataclass
class Whole(Form):
    """An integer."""

    plain: int

    def equal(self) -> Iterator[Any]:
        """Yield it at each width."""
        for kind in INTEGERS:
            if np.iinfo(kind).min <= self.plain <= np.iinfo(kind).max:
                yield kind(self.plain)
                yield np.array(self.plain, dtype=kind)

    def refused(self) -> Iterator[Any]:
        """Yield floats, whole or not, truth values, text, arrays."""
        yield from (float(self.plain), self.plain + 0.5, np.float32(self.plain), math.nan, math.inf)
        yield from (True, np.bool_(True), str(self.plain), None, [self.plain], np.array([self.plain, self.plain]))  # noqa: FBT003  a value to try


@dataclasses.dataclass
class Real(Form):
    """A number; one that half precision holds."""

    plain: float
    may_be_infinite: bool = False
    may_be_nan: bool = False
    is_exact: bool = False
    """Whether numbers that no float holds are welcome."""

    def __post_init__(self) -> None:
        assert float(np.float16(self.plain)) == self.plain

    def equal(self) -> Iterator[Any]:
        """Yield it at each precision, and as an integer where it is one."""
        for kind in FLOATS:
            yield kind(self.plain)
            yield np.array(self.plain, dtype=kind)
        if self.plain.is_integer():
            yield int(self.plain)
            yield from Whole(int(self.plain)).equal()

    def refused(self) -> Iterator[Any]:
        """Yield what is no number, and numbers without a meaning."""
        if not self.may_be_nan:
            yield from (math.nan, np.float32(math.nan))
        if not self.may_be_infinite:
            yield from (math.inf, -math.inf, np.float16(math.inf))
        if not self.is_exact:
            yield 10**400
        yield from (True, np.bool_(True), "0.5", 1j, [self.plain], np.array([self.plain, self.plain]))  # noqa: FBT003  a value to try


@dataclasses.dataclass
class Wholes(Form):
    """Integers, one after another."""

    plain: tuple[int, ...]

    def equal(self) -> Iterator[Any]:
        """Yield a list, arrays of each width, and lists of such scalars."""
        yield list(self.plain)
        for kind in INTEGERS:
            if np.iinfo(kind).min <= min(self.plain) <= max(self.plain) <= np.iinfo(kind).max:
                yield np.array(self.plain, dtype=kind)
                yield [kind(number) for number in self.plain]

    def refused(self) -> Iterator[Any]:
        """Yield floats, truth values, tables, and no sequence at all."""
        yield np.array(self.plain, dtype=np.float64)
        yield [number + 0.5 for number in self.plain]
        yield np.ones(len(self.plain), dtype=np.bool_)
        yield np.array([self.plain])
        yield from ("12", 3, [math.nan] * len(self.plain))


@dataclasses.dataclass
class Reals(Form):
    """Numbers, one after another, that half precision holds."""

    plain: tuple[float, ...]
    are_drawn: bool = False
    """Whether a noise source draws them, whose promise it is that they are in [0, 1)."""

    def equal(self) -> Iterator[Any]:
        """Yield a list, and arrays and lists of each precision."""
        yield list(self.plain)
        for kind in FLOATS:
            yield np.array(self.plain, dtype=kind)
            yield [kind(number) for number in self.plain]
        if all(float(number).is_integer() for number in self.plain):
            yield from Wholes(tuple(map(int, self.plain))).equal()

    def refused(self) -> Iterator[Any]:
        """Yield what are no numbers, or such without a meaning."""
        yield from ("12", 3.0, np.array([self.plain]), np.ones(len(self.plain), dtype=np.bool_))
        for wrong in ("1", None) if self.are_drawn else ("1", None, math.nan, math.inf):
            yield [wrong, *self.plain[1:]]


@dataclasses.dataclass
class Integers(Form):
    """An array of integers."""

    plain: Any

    def __post_init__(self) -> None:
        self.plain = np.array(self.plain, dtype=np.int64)

    def equal(self) -> Iterator[Any]:
        """Yield lists and arrays of each width."""
        yield self.plain.tolist()
        for kind in INTEGERS:
            if np.iinfo(kind).min <= self.plain.min() <= self.plain.max() <= np.iinfo(kind).max:
                yield self.plain.astype(kind)

    def refused(self) -> Iterator[Any]:
        """Yield floats, truth values, text, and integers that do not fit."""
        yield self.plain.astype(np.float64)
        yield (self.plain + 0.5).tolist()
        yield self.plain.astype(np.bool_)
        yield self.plain.astype(str)
        yield np.full(self.plain.shape, 2**64 - 1, dtype=np.uint64)


@dataclasses.dataclass
class Numbers(Form):
    """An array of floats that half precision holds."""

    plain: Any

    def __post_init__(self) -> None:
        self.plain = np.array(self.plain, dtype=np.float64)

    def equal(self) -> Iterator[Any]:
        """Yield lists and arrays of each precision."""
        yield self.plain.tolist()
        for kind in FLOATS:
            yield self.plain.astype(kind)
        if (self.plain == np.floor(self.plain)).all():
            yield from Integers(self.plain.astype(np.int64)).equal()

    def refused(self) -> Iterator[Any]:
        """Yield truth values, text, complex numbers."""
        yield self.plain.astype(np.bool_)
        yield self.plain.astype(str)
        yield self.plain.astype(np.complex128)


@dataclasses.dataclass
class Table(Form):
    """Numbers by integers; of pairs where the values are tuples."""

    plain: Mapping[int, Any]

    def equal(self) -> Iterator[Any]:
        """Yield keys and values of other widths."""
        for kind, precision in zip((np.int8, np.uint16, np.int64), FLOATS, strict=True):
            yield {kind(key): self._as(value, precision) for key, value in self.plain.items()}

    def refused(self) -> Iterator[Any]:
        """Yield keys and values that are no numbers, and no table."""
        yield {float(key): value for key, value in self.plain.items()}
        yield dict.fromkeys(self.plain, "1")
        yield {
            key: math.nan if isinstance(value, float) else (math.nan,) * len(value) for key, value in self.plain.items()
        }
        yield list(self.plain)

    def _as(self, value: Any, precision: Callable[[float], Any]) -> Any:
        return precision(value) if isinstance(value, float) else np.array([precision(part) for part in value])


@dataclasses.dataclass(frozen=True)
class Call:
    """A function, and its arguments by name."""

    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    is_lenient: bool = False
    """Whether what is no number may end in any error."""


def call(function: Callable[..., Any], **arguments: Any) -> Call:
    return Call(function, arguments)


def methods(make: Callable[[], Any], **called: Mapping[str, Any]) -> list[Call]:
    """Return calls of the methods of what is made."""

    def calling(name: str) -> Callable[..., Any]:
        return lambda **given: getattr(make(), name)(**given)  # noqa: PLW0108  it is made anew for each call

    return [Call(calling(name), arguments) for name, arguments in called.items()]


ONE, TWO = Integers([[0, 2]]), Integers([[0, 2], [1, 1]])


def mechanism(make: Callable[[], RowMechanism], *, width: int = 2, value: int = 1, report: int = 1) -> list[Call]:
    """Return calls of all that a mechanism computes of numbers."""
    row = make()
    slots = row.slots_of(width)
    reports = row.num_reports_of(width)
    uniforms = tuple((1 + place) / 16 for place in range(slots))
    called: dict[str, Mapping[str, Any]] = {
        "event_of": {"num_values": Whole(width)},
        "slots_of": {"num_values": Whole(width)},
        "num_reports_of": {"num_values": Whole(width)},
        "randomize_row": {"values": Wholes((value,) * width), "uniforms": Reals(uniforms, are_drawn=True)},
        "randomize_rows": {"values": Integers([[value] * width] * 3), "uniforms": Numbers([uniforms] * 3)},
        "log_likelihoods": {
            "reports": Integers([[report] * reports] * 2),
            "values": Integers([[value] * width, [value] * width]),
        },
    }
    if hasattr(row, "randomize_one"):
        own = tuple((1 + place) / 16 for place in range(row.slots_of(1)))
        called["randomize_one"] = {"value": Whole(value), "uniforms": Reals(own, are_drawn=True)}
        called["randomize"] = {"values": Integers([value] * 3), "uniforms": Numbers([own] * 3)}
        called["log_probabilities"] = {"reports": Integers([report, report]), "values": Integers([value])}
    return methods(make, **called)


HALF = Fraction(1, 2)
UNIFORM = Uniform(0.0, 0.5)
VALUES = Reals((-2.0, -1.0, 1.0, 2.0))
CHANNEL = ((0.75, 0.25), (0.25, 0.75))
INVERSE = ((1.5, -0.5), (-0.5, 1.5))
REPLACE = NeighboringRelation.REPLACE_ONE
SMALL_CHANNEL = ((1 << 52, 1 << 52), (1 << 51, (1 << 53) - (1 << 51)))


def below(number: int) -> int:
    """Draw the greatest always."""
    return number - 1


def answers(**given: Any) -> Answers:
    complete = {
        "tasks": np.array([0, 0, 1, 1]),
        "workers": np.array([0, 1, 0, 1]),
        "labels": np.array([1, 1, 0, 2]),
        "num_tasks": 2,
        "num_workers": 2,
        "sizes": np.array([2, 3]),
    }
    return Answers(**{**complete, **given})


NOISE = KnownNoise.fixed({2: 0.25, 3: 0.25})


def infers(name: str, *, noise: bool = False, **arguments: Any) -> Call:
    function = getattr(truth_inference, name)
    known: dict[str, Any] = {"answers": answers()} | ({"noise": NOISE} if noise else {})
    return Call(function, {**known, **arguments})


def spent(epsilon: Any) -> float:
    """Return what a ledger adds up of a loss."""
    ledger = Ledger("somebody")
    loss = PrivacyLoss(
        mechanism="any",
        event=PureMechanism(epsilon=epsilon),
        unit="voter",
        relation=REPLACE,
        model=TrustModel.LOCAL,
        claimed=1.0,
    )
    ledger.charge(loss, session="s", phase="p")
    return ledger.spent


def left(epsilon: Any, delta: Any = 0.0) -> float:
    """Return what a budget leaves after many small losses."""
    ledger = Ledger("somebody", budget=Budget(epsilon=epsilon, delta=delta))
    loss = PrivacyLoss(
        mechanism="any",
        event=SelfComposed(LocalRandomizer(epsilon=0.03125), 30),
        unit="voter",
        relation=REPLACE,
        model=TrustModel.LOCAL,
        claimed=1.0,
    )
    ledger.charge(loss, session="s", phase="p")
    return ledger.remaining


def composed(accountant: PureAccountant | ConcentratedAccountant, count: Any) -> float:
    """Return what an event costs so many times."""
    accountant.compose(LocalRandomizer(epsilon=0.5), count)
    return accountant.epsilon if isinstance(accountant, PureAccountant) else accountant.rho


def approximate(delta: Any) -> float:
    """Return ε at this δ."""
    accountant = ApproximateAccountant(REPLACE, delta=delta)
    accountant.compose(LocalRandomizer(epsilon=0.5), 3)
    return accountant.epsilon


CALLS: Final[Mapping[str, Sequence[Call]]] = {
    # Mechanisms
    "Beta": [
        call(Beta, alpha=Whole(2), beta=Whole(3), low=Real(0.0), high=Real(0.5)),
        *methods(lambda: Beta(2, 3), log_moments={"num_answers": Whole(3)}),
    ],
    "Certificate": [
        call(
            lambda **given: Certificate(**given).proven_bound(),
            epsilon=Real(1.0),
            values=Reals((-1.0, 1.0)),
            slopes=Reals((-2.0, 2.0)),
            masses=Reals((1.0, 1.0)),
            prior=Reals((1.0, 1.0)),
        )
    ],
    "Disclosure": [call(Disclosure, bound=Whole(5)), *mechanism(lambda: Disclosure(5))],
    "Discrete": [call(Discrete, probabilities=Reals((0.25, 0.5)), shares=Reals((0.5, 0.5)))],
    "DiscreteLaplace": [
        call(DiscreteLaplace, scale=Real(2.0), least=Whole(-100), greatest=Whole(100)),
        *mechanism(lambda: DiscreteLaplace(20.0, -100, 100), value=100, report=-100),
        *mechanism(lambda: DiscreteLaplace(20.0, -100, 100), value=-100, report=127),
    ],
    "FiniteChannel": [
        call(lambda epsilon: FiniteChannel(epsilon, SMALL_CHANNEL), epsilon=Real(2.0)),
        *mechanism(lambda: FiniteChannel(2.0, SMALL_CHANNEL)),
    ],
    "FreshTwoLayer": [
        call(lambda sizes: FreshTwoLayer(sizes, UNIFORM), sizes=Wholes((2, 3))),
        *mechanism(lambda: FreshTwoLayer((2, 3), UNIFORM)),
    ],
    "GeneralizedRandomizedResponse": [
        call(GeneralizedRandomizedResponse, epsilon=Real(1.0), num_choices=Whole(100)),
        *mechanism(lambda: GeneralizedRandomizedResponse(1.0, 100), value=99),
        *methods(
            lambda: GeneralizedRandomizedResponse(1.0, 3),
            debias={"values": Reals((100.0, 100.0, 27.0))},
        ),
        *methods(lambda: GeneralizedRandomizedResponse(1.0, 3), debias={"values": Reals((1.5, 100.0, 27.0))}),
    ],
    "NoisyScores": [
        call(NoisyScores, epsilon=Real(1.0), steps=Wholes((100, 50, 0))),
        *mechanism(lambda: NoisyScores(1.0, (100, 50, 0)), width=3),
    ],
    "OneLayer": [
        call(OneLayer, sizes=Wholes((2, 3)), flip_probabilities=Reals((0.25, 0.5))),
        call(OneLayer.of_epsilon, sizes=Wholes((2, 3)), epsilon=Real(1.0)),
        call(OneLayer.of_flip_probability, sizes=Wholes((2, 3)), flip_probability=Real(0.25)),
        *mechanism(lambda: OneLayer((2, 3), (0.25, 0.5))),
    ],
    "PointMass": [call(PointMass, probability=Real(0.25))],
    "SampledPair": [
        call(SampledPair, epsilon=Real(1.0), num_alternatives=Whole(3)),
        *mechanism(lambda: SampledPair(1.0, 3), width=3),
        *methods(lambda: SampledPair(1.0, 3), report_probabilities={"positions": Wholes((2, 0, 1))}),
    ],
    "SampledPosition": [
        call(SampledPosition, epsilon=Real(1.0), num_alternatives=Whole(3)),
        *mechanism(lambda: SampledPosition(1.0, 3), width=3),
    ],
    "SphericalLaplace": [
        call(SphericalLaplace, scale=Real(4.0), sensitivity=Real(2.0), bound=Whole(100), dimension=Whole(2)),
        *mechanism(lambda: SphericalLaplace(4.0, 2.0, 100, 2), value=100, report=-100),
    ],
    "TwoLayer": [
        call(lambda sizes: TwoLayer(sizes, UNIFORM), sizes=Wholes((2, 3))),
        *mechanism(lambda: TwoLayer((2, 3), UNIFORM)),
    ],
    "Uniform": [call(Uniform, low=Real(0.0), high=Real(0.5))],
    "VectorLaplace": [
        call(VectorLaplace, scale=Real(4.0), sensitivity=Whole(100), bound=Whole(100)),
        *mechanism(lambda: VectorLaplace(4.0, 100, 100), value=100, report=-100),
    ],
    "WholeRanking": [
        call(WholeRanking, epsilon=Real(1.0), num_alternatives=Whole(3)),
        *mechanism(lambda: WholeRanking(1.0, 3), width=3),
    ],
    "block_offsets": [call(block_offsets, sizes=Wholes((100, 100, 3)))],
    "check_epsilon": [call(check_epsilon, epsilon=Real(1.0))],
    "code_of_rankings": [call(code_of_rankings, positions=Integers([[2, 0, 1, 3, 5, 4], [0, 1, 2, 3, 4, 5]]))],
    "compare_hypers": [
        call(
            lambda **given: compare_hypers({"one": PointMass(0.25), "two": UNIFORM}, **given),
            num_answers=Whole(3),
            num_labels=Whole(2),
        )
    ],
    "epsilon_of": [call(epsilon_of, flip_probability=Real(0.25), num_labels=Whole(3))],
    "flip_probability_of": [call(flip_probability_of, epsilon=Real(1.0), num_labels=Whole(127))],
    "has_happened": [call(lambda probability: has_happened(probability, below), probability=Real(0.5, is_exact=True))],
    "has_happened_exp": [call(lambda x: has_happened_exp(x, below), x=Real(0.5, is_exact=True))],
    "has_optimal": [call(has_optimal, values=VALUES)],
    "hypers_of_mean": [call(hypers_of_mean, mean=Real(0.25))],
    "laplace_grid": [call(laplace_grid, scale=Real(100.0))],
    "least_uniform_loss": [
        call(
            lambda **given: least_uniform_loss(unit="all answers", **given),
            sizes=Wholes((2, 3, 3)),
            most_flips=Real(0.5),
        )
    ],
    "loss_of_all_answers": [call(lambda sizes: loss_of_all_answers(sizes, UNIFORM), sizes=Wholes((2, 100, 3)))],
    "loss_of_flip_probability": [
        call(loss_of_flip_probability, flip_probability=Real(0.25), num_labels=Whole(100)),
        call(loss_of_flip_probability, flip_probability=HALF, num_labels=Whole(100)),
    ],
    "loss_of_longest_row": [
        call(lambda **given: loss_of_longest_row(hyper=UNIFORM, **given), num_answers=Whole(100), sizes=Wholes((2, 3)))
    ],
    "loss_of_one_answer": [call(lambda sizes: loss_of_one_answer(sizes, UNIFORM), sizes=Wholes((2, 100, 3)))],
    "optimal": [
        call(optimal, values=VALUES, epsilon=Real(1.0)),
        call(optimal, values=VALUES, epsilon=Real(1.0), prior=Reals((0.25, 0.25, 0.25, 0.25))),
    ],
    "randomized_response": [
        call(randomized_response, values=VALUES, epsilon=Real(1.0)),
        *methods(
            lambda: randomized_response([Fraction(-1), Fraction(1)], epsilon=1.0),
            mean_variance={"prior": Reals((0.25, 0.75))},
        ),
    ],
    "rankings_of_codes": [call(rankings_of_codes, codes=Integers([5, 0, 100]), num_alternatives=Whole(6))],
    "two_point": [call(two_point, values=VALUES, epsilon=Real(1.0))],
    "uniform_for": [call(uniform_for, mean=Real(0.25))],
    "uniform_of_loss": [
        call(
            lambda **given: uniform_of_loss(unit="all answers", **given),
            loss=Real(4.0),
            sizes=Wholes((2, 3, 3)),
            most_flips=Real(0.5),
        )
    ],
    # Estimators
    "Estimate": [
        call(Estimate, value=Real(1.5, True, True), standard_error=Real(0.5, True, True)),  # noqa: FBT003  what is not known is nan
    ],
    "LinearEstimator": [
        call(LinearEstimator, contributions=Reals((1.5, -0.5)), channel=CHANNEL, inverse=INVERSE),
        *methods(
            lambda: LinearEstimator((1.5, -0.5), CHANNEL, INVERSE),
            expectation={"value": Whole(1)},
            variance={"value": Whole(1)},
            total={"counts": Wholes((100, 100))},
            total_variance={"counts": Wholes((100, 100))},
            estimate={"counts": Wholes((100, 100))},
        ),
    ],
    "debiased_values": [
        call(
            lambda values: debiased_values(GeneralizedRandomizedResponse(1.0, 3), values), values=Reals((1.5, 2.0, 3.0))
        )
    ],
    "estimate_counts": [
        call(
            lambda counts: estimate_counts(GeneralizedRandomizedResponse(1.0, 3), counts), counts=Wholes((100, 100, 27))
        )
    ],
    "probability_of_other_sign": [
        call(
            lambda value, standard_error: probability_of_other_sign(Estimate(value, standard_error), positive=True),
            value=Real(1.5, True, True),  # noqa: FBT003  what is not known is nan
            standard_error=Real(0.5, True, True),  # noqa: FBT003  likewise
        )
    ],
    "project_to_simplex": [call(project_to_simplex, values=Reals((100.0, -1.5, 27.0)), total=Real(100.0))],
    # The ℓ₁ ball
    "fit_probit": [
        call(
            l1_ball.fit_probit,
            differences=Numbers([[1.0, -2.0], [2.0, 1.0], [-1.0, 0.0]]),
            offsets=Integers([0, 2, 3]),
            radius=Real(2.0),
            start=Numbers([[0.5, 0.5], [0.0, 1.0]]),
            tolerance=Real(0.125),
            max_iterations=Whole(20),
        )
    ],
    "log_likelihoods": [
        call(
            l1_ball.log_likelihoods,
            differences=Numbers([[1.0, -2.0], [2.0, 1.0], [-1.0, 0.0]]),
            offsets=Integers([0, 2, 3]),
            points=Numbers([[0.5, 0.5], [0.0, 1.0]]),
        )
    ],
    "maximize_quadratics": [
        call(
            l1_ball.maximize_quadratics,
            linear=Numbers([[1.0, -2.0]]),
            quadratic=Numbers([[[-1.0, 0.0], [0.0, -2.0]]]),
            radius=Real(1.0),
            start=Numbers([[0.5, 0.5]]),
            tolerance=Real(0.125),
            max_iterations=Whole(20),
        )
    ],
    "project_to_l1_ball": [
        call(l1_ball.project_to_l1_ball, points=Numbers([[100.0, -2.5], [0.5, 0.0]]), radius=Real(1.0))
    ],
    # Truth inference
    "Answers": [
        call(
            answers,
            tasks=Integers([0, 0, 1, 1]),
            workers=Integers([0, 1, 0, 1]),
            labels=Integers([1, 1, 0, 2]),
            num_tasks=Whole(2),
            num_workers=Whole(2),
            sizes=Integers([2, 3]),
        )
    ],
    "KnownNoise": [
        call(KnownNoise, flips=Table({2: (0.25, 0.5), 3: (0.25, 0.5)})),
        call(KnownNoise.fixed, flip_probabilities=Table({2: 0.25, 100: 0.5})),
        call(KnownNoise.uniform, bounds=Table({2: (0.25, 0.5)}), num_values=Whole(3)),
        *methods(lambda: NOISE, means_of={"sizes": Integers([2, 3, 2])}, values_of={"sizes": Integers([2, 3, 2])}),
    ],
    "cautious_truth_discovery": [
        infers(
            "cautious_truth_discovery",
            noise=True,
            least_odds=Real(2.0),
            clamp=Real(0.125),
            max_rounds=Whole(3),
            max_iterations=Whole(5),
            tolerance=Real(0.125, may_be_infinite=True),
        )
    ],
    "dawid_skene": [
        infers(
            "dawid_skene",
            smoothing=Real(0.5),
            floor=Real(0.125),
            max_iterations=Whole(5),
            tolerance=Real(0.125, may_be_infinite=True),
        ),
    ],
    "debiased_majority": [infers("debiased_majority", noise=True, weights=Numbers([1.0, 2.0]))],
    "majority_vote": [
        call(lambda labels: truth_inference.majority_vote(answers(labels=labels)), labels=Integers([1, 1, 0, 2]))
    ],
    "noise_aware_dawid_skene": [
        infers(
            "noise_aware_dawid_skene",
            noise=True,
            prior_answers=Real(8.0),
            prior_quality=Real(0.75),
            max_iterations=Whole(5),
            tolerance=Real(0.125, may_be_infinite=True),
        )
    ],
    "noise_aware_one_coin": [
        infers(
            "noise_aware_one_coin",
            noise=True,
            competence_prior=Reals((2.0, 1.0)),
            least_competence=Real(0.0),
            max_iterations=Whole(5),
            tolerance=Real(0.125, may_be_infinite=True),
        )
    ],
    "one_coin": [
        infers(
            "one_coin",
            smoothing=Real(0.5),
            clamp=Real(0.125),
            max_iterations=Whole(5),
            tolerance=Real(0.125, may_be_infinite=True),
        )
    ],
    "truth_discovery": [infers("truth_discovery", max_iterations=Whole(5), clamp=Real(0.125))],
    # Accounting. What an event costs is judged by the accountant.
    "ApproximateAccountant": [call(approximate, delta=Real(0.125))],
    "Budget": [
        Call(left, {"epsilon": Real(2.0, True)}, is_lenient=True),  # noqa: FBT003  all may be spent
        call(lambda delta: left(2.0, delta), delta=Real(0.125)),
    ],
    "ConcentratedAccountant": [call(lambda count: composed(ConcentratedAccountant(REPLACE), count), count=Whole(100))],
    "DiscreteLaplaceNoise": [
        call(
            lambda **given: PureAccountant.epsilon_of(DiscreteLaplaceNoise(**given), REPLACE),
            scale=Real(2.0, True),  # noqa: FBT003  noise without an end
            sensitivity=Whole(100),
        )
    ],
    "Ledger": [
        call(spent, epsilon=Real(1.0, True)),  # noqa: FBT003  nothing is protected
        call(
            lambda delta: Ledger("somebody").approximate_total(relation=REPLACE, model=TrustModel.LOCAL, delta=delta),
            delta=Real(0.125),
        ),
    ],
    "LocalRandomizer": [
        call(lambda epsilon: PureAccountant.epsilon_of(LocalRandomizer(epsilon), REPLACE), epsilon=Real(1.0, True))  # noqa: FBT003  nothing is protected
    ],
    "PureAccountant": [call(lambda count: composed(PureAccountant(REPLACE), count), count=Whole(100))],
    "PureMechanism": [
        call(lambda epsilon: PureAccountant.epsilon_of(PureMechanism(epsilon), REPLACE), epsilon=Real(1.0, True))  # noqa: FBT003  nothing is protected
    ],
    "RandomizedResponse": [
        call(
            lambda **given: PureAccountant.epsilon_of(RandomizedResponse(**given), REPLACE),
            epsilon=Real(1.0, True),  # noqa: FBT003  nothing is protected
            num_choices=Whole(100),
        )
    ],
    "SelfComposed": [
        call(
            lambda count: PureAccountant.epsilon_of(SelfComposed(LocalRandomizer(0.5), count), REPLACE),
            count=Whole(100),
        )
    ],
}

NO_CALLS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "CLAMP_IN_SCALES",
            "MAX_ALTERNATIVES",
            "MAX_DIMENSION",
            "MAX_EPSILON",
            "MAX_RANKED",
            "MIN_EPSILON",
            "MIN_FLIP_PROBABILITY",
            "MOST_SYMMETRIC_VALUES",
            "MOST_VALUES",
            "MISSING",
            "NO_ANSWER",
        ),
        "a number",
    ),
    **dict.fromkeys(
        ("Below", "ClassPrior", "HyperDistribution", "LossUnit", "Normalization", "PrivacyEvent", "Ties"),
        "the name of a type",
    ),
    **dict.fromkeys(
        ("ExactMechanism", "FiniteMechanism", "Mechanism", "PostProcessed", "Prepared", "RowMechanism", "Accountant"),
        "abstract; its methods are called of those that inherit",
    ),
    **dict.fromkeys(("NeighboringRelation", "TrustModel", "NoRelease", "NonPrivate", "Composed"), "has no numbers"),
    **dict.fromkeys(
        ("BallMaximum", "Confusions", "DebiasedCounts", "HyperLosses", "Inference", "UnbiasedReport"),
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
    """Warnings are errors here, those of an overflow too."""
    expected = shown(one.function(**plain(one.arguments)))
    for name, argument in one.arguments.items():
        if isinstance(argument, Form):
            for form in argument.equal():
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
    counts = np.bincount(reports)
    assert response.debias(counts) == response.debias(counts.tolist())
    assert sum(response.debias(counts)) == 10_000
    assert all(isinstance(number.numerator, int) for number in response.debias(counts))


def test_small_integers_do_not_wrap_around() -> None:
    hundred = np.int8(100)
    assert DiscreteLaplace(1.0, -100, 100).randomize_one(hundred, [1 - 2.0**-53]) == 136
    assert LinearEstimator((1.0, 1.0), CHANNEL, INVERSE).total([hundred, hundred]) == 200
    assert block_offsets([hundred, hundred, hundred]) == (0, 100, 200, 300)
