"""The parameters of a moral preferences session: every refusal by its field, and what follows from them."""

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from bad_input import refused_by
from helpers import make_preferences
from makers import as_usual
from psephos.protocol.arguments import MAX_NAME_LENGTH
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.moral_preferences import Level, MoralPreferences, Paradigm, Parameters
from psephos.protocol.moral_preferences.parameters import (
    MAX_BOUND,
    MAX_EPSILON,
    MAX_FEATURES,
    MAX_FEATURES_OF_COEFFICIENTS,
    MAX_LEVELS,
    MAX_RECORDS,
    MIN_BOUND,
    MIN_EPSILON,
)
from psephos.protocol.moral_preferences.whitening import Whitening
from psephos.protocol.privacy import TrustModel

EYE = ((1.0, 0.0), (0.0, 1.0))
CENTRAL = [Paradigm.VLCP, Paradigm.RLCP]
LOCAL = [Paradigm.VLDP, Paradigm.RLDP]
MASKED = [Paradigm.VLMP, Paradigm.RLMP]
SIZES: dict[str, Any] = {"threshold": 4, "colluders": 1}


refusal = as_usual(refused_by, Parameters, features=("a", "b"))


def make_paradigm(paradigm: Paradigm) -> Parameters:
    return Parameters(features=("a",), paradigm=paradigm, **(SIZES if paradigm in MASKED else {}))


def test_a_paradigm_says_whom_voters_trust_and_what_is_protected() -> None:
    says = {paradigm.value: (paradigm.level, paradigm.model) for paradigm in Paradigm}
    assert [paradigm for paradigm in Paradigm if make_paradigm(paradigm).is_local] == LOCAL
    assert says == {
        "VLCP": (Level.VOTER, TrustModel.CENTRAL),
        "RLCP": (Level.RECORD, TrustModel.CENTRAL),
        "VLDP": (Level.VOTER, TrustModel.LOCAL),
        "RLDP": (Level.RECORD, TrustModel.LOCAL),
        "VLMP": (Level.VOTER, TrustModel.DISTRIBUTED),
        "RLMP": (Level.RECORD, TrustModel.DISTRIBUTED),
    }


def test_defaults_are_algorithm_2_at_epsilon_1() -> None:
    parameters = Parameters(features=("a", "b"))
    assert (parameters.paradigm, parameters.mechanism, parameters.levels) == (Paradigm.VLDP, "laplace", (1.0,))
    assert (parameters.bound, parameters.num_features) == (2.0, 2)
    assert parameters.is_local
    assert not parameters.is_personal
    assert np.array_equal(parameters.covariance_matrix, np.eye(2))


def test_levels_are_those_given() -> None:
    assert Parameters(features=("a",), epsilon=0.3).levels == (0.3,)
    personal = Parameters(features=("a",), epsilons=(0.1, 2.0))
    assert personal.levels == (0.1, 2.0)
    assert personal.is_personal
    assert Parameters(features=("a",), epsilons=(0.5,)).is_personal


@pytest.mark.parametrize("bound", [MIN_BOUND, MAX_BOUND])
@pytest.mark.parametrize("epsilon", [MIN_EPSILON, MAX_EPSILON])
def test_bounds_and_epsilons_at_both_limits_have_mechanisms(bound: float, epsilon: float) -> None:
    phase = make_preferences(bound=bound, epsilon=epsilon).phase
    assert phase.losses[0].proven == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, -0.5, math.nan, math.inf, MIN_EPSILON / 2, 2 * MAX_EPSILON])
def test_an_epsilon_out_of_range_is_refused(epsilon: float) -> None:
    assert refusal(epsilon=epsilon).field == "epsilon"
    levels = (epsilon, 1.0) if not epsilon > 1 else (1.0, epsilon)
    error = refusal(epsilons=levels)
    assert error.field == "epsilons"
    assert error.value is epsilon


def test_masked_sums_have_sizes_no_societies_and_no_tiny_epsilon() -> None:
    masked: dict[str, Any] = {"paradigm": Paradigm.RLMP, "mechanism": "direction", **SIZES}
    assert refusal(paradigm=Paradigm.RLMP).field == "threshold"
    assert refusal(threshold=3).allowed == "left out in paradigm 'VLDP'"
    assert refusal(**masked, societies=("n", "s")).allowed == "left out in RLMP: masked sums are of all voters"
    with pytest.raises(ConfigurationError, match=r"epsilon is .*: use at least .* in RLMP"):
        _ = MoralPreferences(Parameters(features=tuple(map(str, range(512))), epsilon=1e-4, **masked)).phase


def test_more_levels_than_there_may_be_are_refused() -> None:
    levels = tuple(number / 100 for number in range(1, MAX_LEVELS + 2))
    assert refusal(epsilons=levels).value == f"{MAX_LEVELS + 1} levels"
    assert len(Parameters(features=("a",), epsilons=levels[:-1]).levels) == MAX_LEVELS


NO_MATRIX = "a symmetric, positive definite matrix that changes no number more than 1e+06 times"
REFUSED: list[tuple[dict[str, Any], str, str]] = [
    *(({"bound": bound}, "bound", "") for bound in (0.0, -1.0, math.nan, math.inf, MIN_BOUND / 2, 2 * MAX_BOUND)),
    *(({"max_records": number}, "max_records", "") for number in (0, -3, MAX_RECORDS + 1)),
    ({"epsilon": 1.0, "epsilons": (0.5, 1.0)}, "epsilon and epsilons", "given one of them alone"),
    *(
        ({"epsilons": levels}, "epsilons", "distinct, ascending")
        for levels in ((1.0, 0.5), (0.5, 0.5), (0.1, 0.3, 0.2))
    ),
    *(({"paradigm": paradigm, "epsilons": (0.5, 1.0)}, "epsilons", "") for paradigm in CENTRAL),
    *(({"paradigm": paradigm, "epsilons": (0.5, 1.0), **SIZES}, "epsilons", "") for paradigm in MASKED),
    *(
        ({"paradigm": paradigm, "mechanism": mechanism}, "mechanism", paradigm.value)
        for paradigm in (Paradigm.VLCP, Paradigm.VLDP)
        for mechanism in ("functional", "pooled")
    ),
    ({"paradigm": Paradigm.RLCP, "mechanism": "functional"}, "mechanism", "'pooled'"),
    *(
        ({"features": features}, "features", "")
        for features in (
            ("a", ""),
            ("a", "a"),
            ("a", " b"),
            ("b ", "a"),
            ("a", "x" * (MAX_NAME_LENGTH + 1)),
            ("a\x1b[31mX",),
            ("two\nlines",),
        )
    ),
    *(
        ({"mechanism": "direction", "covariance": covariance}, "covariance", "2 rows of 2 numbers")
        for covariance in (((1.0,),), ((1.0, 0.0),), ((1.0, 0.0), (0.0,)), (*EYE, (0.0, 0.0)))
    ),
    *(
        ({"paradigm": Paradigm.RLDP, "mechanism": mechanism, "covariance": EYE}, "covariance", "only directions")
        for mechanism in ("laplace", "functional", "pooled")
    ),
    *(
        ({"mechanism": "direction", "covariance": covariance}, "covariance", NO_MATRIX)
        for covariance in (
            ((1.0, 0.5), (0.4, 1.0)),  # not symmetric
            ((1.0, 2.0), (2.0, 1.0)),  # indefinite
            ((1.0, 1.0), (1.0, 1.0)),  # singular
            ((0.0, 0.0), (0.0, 0.0)),
            ((-1.0, 0.0), (0.0, 1.0)),
            ((math.nan, 0.0), (0.0, 1.0)),
            ((math.inf, 0.0), (0.0, 1.0)),
            ((1e-308, 1.2), (1.2, 1.6e308)),  # a record would overflow, or not, by what is in it
        )
    ),
    *(
        ({"features": ("a",), "mechanism": "direction", "covariance": ((number,),)}, "covariance", NO_MATRIX)
        for number in (1e-320, 1e-14, 1e14)
    ),
]


@pytest.mark.parametrize(("given", "field", "allowed"), REFUSED, ids=lambda each: repr(each)[:60])
def test_what_is_not_allowed_is_refused_by_its_field(given: dict[str, Any], field: str, allowed: str) -> None:
    error = refusal(**given)
    assert error.field == field
    assert allowed in error.allowed


@pytest.mark.parametrize(
    ("mechanism", "most"),
    [
        ("laplace", MAX_FEATURES),
        ("direction", MAX_FEATURES),
        ("pooled", MAX_FEATURES_OF_COEFFICIENTS),
        ("functional", MAX_FEATURES_OF_COEFFICIENTS),
    ],
)
def test_there_are_features_and_no_more_than_a_report_holds(mechanism: Any, most: int) -> None:
    names = tuple(f"f{number}" for number in range(most + 1))
    given: dict[str, Any] = {"paradigm": Paradigm.RLDP, "mechanism": mechanism}
    assert refusal(features=(), **given).value == "0 features"
    assert refusal(features=names, **given).value == f"{most + 1} features"
    assert Parameters(features=names[:-1], **given).num_features == most


@pytest.mark.parametrize("mechanism", ["laplace", "direction", "pooled", "functional"])
@pytest.mark.parametrize("epsilon", [MIN_EPSILON, MAX_EPSILON])
@pytest.mark.parametrize("paradigm", [Paradigm.RLCP, Paradigm.RLDP])
def test_the_widest_reports_at_every_limit_fit_into_64_bits(mechanism: Any, epsilon: float, paradigm: Paradigm) -> None:
    if mechanism == "functional" and paradigm is Paradigm.RLCP:
        return
    most = MAX_FEATURES if mechanism in {"laplace", "direction"} else MAX_FEATURES_OF_COEFFICIENTS
    protocol = make_preferences()
    parameters = msgspec.structs.replace(
        protocol.parameters,
        features=tuple(f"f{number}" for number in range(most)),
        paradigm=paradigm,
        mechanism=mechanism,
        epsilon=epsilon,
        max_records=MAX_RECORDS,
        bound=MAX_BOUND,
        sensitivity="printed",
    )
    phase = type(protocol)(parameters).phase
    assert max(map(abs, phase.mechanism.report_range)) < 2**62


def test_a_covariance_that_is_accepted_can_be_used() -> None:
    """Of matrices that are singular but for rounding, what whitens accepts some; parameters accept the same ones."""
    generator = np.random.default_rng(3)
    accepted: list[bool] = []
    for trial in range(200):
        factors = generator.normal(size=(3, 2 + trial % 2))
        square = factors @ factors.T
        matrix = (square + square.T) / 2
        try:
            Whitening(matrix)
        except ValueError:
            usable = False
        else:
            usable = True
        covariance = tuple(tuple(row) for row in matrix.tolist())
        given: dict[str, Any] = {"features": ("a", "b", "c"), "mechanism": "direction", "covariance": covariance}
        try:
            Parameters(**given)
        except ConfigurationError:
            accepted.append(False)
        else:
            accepted.append(True)
        assert accepted[-1] == usable
    assert set(accepted) == {False, True}


@pytest.mark.parametrize(
    ("field", "value"),
    [("mechanism", "gauss"), ("mean", "median"), ("remedy", "pray"), ("sensitivity", "2B"), ("clipping", "none")],
)
def test_a_word_that_is_not_among_the_options_is_refused(field: str, value: str) -> None:
    given = msgspec.to_builtins(Parameters(features=("a",)))
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert({**given, field: value}, Parameters)


def test_parameters_survive_the_wire_and_are_refused_from_it_too() -> None:
    parameters = Parameters(features=("a", "b"), mechanism="direction", epsilons=(0.1, 1.0), covariance=EYE)
    payload = msgspec.msgpack.encode(parameters)
    assert msgspec.msgpack.decode(payload, type=Parameters) == parameters
    bad = {**msgspec.to_builtins(parameters), "bound": -1.0}
    with pytest.raises(msgspec.ValidationError, match="bound is") as caught:
        msgspec.convert(bad, Parameters)
    assert isinstance(caught.value.__cause__, ConfigurationError)
    with pytest.raises(msgspec.ValidationError, match="unknown field `radius`"):
        msgspec.convert({**msgspec.to_builtins(parameters), "radius": 1.0}, Parameters)
