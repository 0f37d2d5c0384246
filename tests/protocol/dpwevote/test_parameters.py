"""The parameters of a session: every refusal with its field, every default, and what follows from them."""

import math
from typing import Any, cast

import msgspec
import pytest
from bad_input import refuses
from psephos.protocol.dpwevote import Parameters
from psephos.protocol.dpwevote.laplace import LaplaceVariant
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import MIN_EPSILON

# As the manual says: where weights are private.
MAX_GROUPS = 100

WEIGHT_MATRIX: Any = [["5/8", "2/8", "1/8"], ["1/8", "6/8", "1/8"], [0.25, 0.25, 0.5]]
OPINION_MATRIX: Any = [[0.75, 0.25], [0.125, 0.875]]
WEIGHTS = [float(number) for number in range(1, 1002)]
GROUPS = [[1.0], [2.0, 3.0]]
THREE: dict[str, Any] = {"candidates": ["a", "b", "c"], "epsilon_weight": 0.5, "epsilon_opinion": 0.25}
SIGNED = ("two_point", "signed_rr", "optimal")
MATRICES: dict[str, Any] = {"weight_matrix": WEIGHT_MATRIX, "opinion_matrix": OPINION_MATRIX}


def parameters(**given: Any) -> Parameters:
    """Return parameters for one candidate unless told otherwise, as a file of TOML would give them."""
    return msgspec.convert({"candidates": ["merger"], **given}, Parameters)


def make(**given: Any) -> Parameters:
    """Return the same from the constructor, whose errors are not wrapped."""
    given = {"candidates": ["merger"], **given}
    return Parameters(**{name: as_tuple(value) for name, value in given.items()})


def as_tuple(value: Any) -> Any:
    return tuple(as_tuple(part) for part in cast("list[Any]", value)) if isinstance(value, list) else value


WRONG_ALONE: dict[str, list[Any]] = {
    "candidates": [
        [],
        ["a", "b", "a"],
        [str(number) for number in range(1_001)],
        *([name] for name in ("a" * 129, "", " a", "a ", "a\nb", "partner", "weight", "quota", "total weight")),
    ],
    "weights": [
        [],
        [2.0, 1.0],
        [math.nextafter(1e-9, 0), 1.0],
        *([1.0, wrong] for wrong in (1.0, math.inf, math.nextafter(1e15, math.inf), math.nan)),
        *([wrong, 1.0] for wrong in (0.0, -1.0)),
        WEIGHTS[:1001],
        WEIGHTS[: MAX_GROUPS + 1],
        [1.0],
    ],
    "groups": [
        [[1.0], [2.0]],
        [[1.0, 3.0], [2.0]],
        [[1.0], [], [2.0, 3.0]],
        [[1.0, 2.0], [2.0, 3.0]],
    ],
    "epsilon": [0.0, -1.0, math.nan, 1e-10, 30.5, 0.99 * MIN_EPSILON],
    "epsilon_weight": [0.0, 31.0],
    "epsilon_opinion": [0.0, math.inf],
    "prior": ["uniform"],
    "quota": [0.0, -3.0, math.nan, math.inf],
    "quota_fraction": [0.0, 1.1, math.nan],
}
"""Of each field, what it may not be."""
PUBLIC: dict[str, Any] = {"public_weights": True}
LAPLACE: dict[str, Any] = {"variant": "laplace"}
WRONG_TOGETHER: list[tuple[str, dict[str, Any]]] = [
    ("weights", {"weights": [math.nan], **PUBLIC}),
    ("weights", {"weights": WEIGHTS[:1001], **PUBLIC}),
    ("weights", {"weights": WEIGHTS[: MAX_GROUPS + 1], **LAPLACE}),
    ("weights", {"groups": [[1.0, 2.0, 3.0]]}),
    ("groups", {"groups": GROUPS, **PUBLIC}),
    ("groups", {"groups": GROUPS, **LAPLACE}),
    ("epsilon_weight", {"epsilon": 1.5 * MIN_EPSILON, "epsilon_opinion": 1.0}),
    ("epsilon_opinion", {"epsilon": 1.5 * MIN_EPSILON, "epsilon_weight": 1.0}),
    ("epsilon_weight", {"epsilon_weight": 0.99 * LaplaceVariant.least_epsilon, **LAPLACE}),
    ("epsilon_opinion", {"epsilon_opinion": 0.99 * LaplaceVariant.least_epsilon, **LAPLACE}),
    ("epsilon_opinion", {"epsilon": 1.99 * LaplaceVariant.least_epsilon, **LAPLACE}),
    ("epsilon_opinion", {"epsilon": 0.99 * LaplaceVariant.least_epsilon, **LAPLACE, **PUBLIC}),
    ("epsilon_weight", {"epsilon_weight": 0.5, **PUBLIC}),
    ("epsilon_opinion", {"epsilon_opinion": -1.0, **PUBLIC}),
    ("weight_collection", {"weight_collection": "per_candidate", **PUBLIC}),
    ("prior", {"prior": [0.5, 0.5], "variant": "two_point"}),
    ("prior", {"prior": "uniform", "variant": "auto"}),
    *(
        (field, {field: value, "variant": variant})
        for variant in (*SIGNED, "auto", "central")
        for field, value in (
            ("epsilon_weight", 0.5),
            ("epsilon_opinion", 0.5),
            ("weight_collection", "per_candidate"),
            ("project_counts", True),
        )
    ),
    *(
        (field, {field: value, "variant": "central"})
        for field, value in {
            "groups": GROUPS,
            "prior": "uniform",
            "game": "board",
            "opinion_matrix": OPINION_MATRIX,
        }.items()
    ),
    *(("variant", {"variant": variant, **PUBLIC}) for variant in SIGNED),
    ("quota_fraction", {"quota": 3.0, "quota_fraction": 0.5}),
]
REFUSALS = [(field, {field: value}) for field, values in WRONG_ALONE.items() for value in values] + WRONG_TOGETHER


@pytest.mark.bad_input("epsilon ≤ 0, nan, inf")
@pytest.mark.parametrize(("field", "given"), REFUSALS)
def test_what_is_not_allowed_is_refused_by_its_name(field: str, given: dict[str, Any]) -> None:
    with refuses(field):
        make(**given)


OF_MATRICES: dict[str, tuple[str, dict[str, Any], str]] = {
    "an epsilon": ("epsilon", {**MATRICES, "epsilon": 2.0}, "the price is the sum of what both reports cost"),
    "an epsilon of what is not reported by it": (
        "epsilon",
        {"weight_matrix": WEIGHT_MATRIX, "epsilon_opinion": 1.0, "epsilon": 3.0},
        "left out beside weight_matrix or opinion_matrix",
    ),
    "epsilon_weight": ("epsilon_weight", {**MATRICES, "epsilon_weight": 1.0}, "left out beside weight_matrix, whose"),
    "epsilon_opinion": ("epsilon_opinion", {**MATRICES, "epsilon_opinion": 1.0}, "left out beside opinion_matrix"),
    "no price of opinions": (
        "epsilon_opinion",
        {"weight_matrix": WEIGHT_MATRIX},
        "given beside weight_matrix, whose loss is its own, unless there is opinion_matrix",
    ),
    "no price of weights": ("epsilon_weight", {"opinion_matrix": OPINION_MATRIX}, "unless there is weight_matrix"),
    "public weights": (
        "weight_matrix",
        {**MATRICES, "public_weights": True},
        "left out where weights are public",
    ),
    **{
        variant: ("weight_matrix", {**MATRICES, "variant": variant}, "'joint' and 'printed' report by a matrix")
        for variant in ("laplace", *SIGNED, "auto")
    },
    "opinions in a variant without": (
        "opinion_matrix",
        {"opinion_matrix": OPINION_MATRIX, "variant": "auto", "public_weights": True},
        "left out in variant 'auto'",
    ),
    "a matrix of other weights": ("weight_matrix", {**MATRICES, "weights": [1.0, 2.0]}, "2 rows of 2 probabilities"),
    "a matrix of weights, not of groups": (
        "weight_matrix",
        {**MATRICES, "groups": [[1.0, 2.0], [3.0]]},
        "2 rows of 2 probabilities",
    ),
    "three opinions": ("opinion_matrix", {**MATRICES, "opinion_matrix": WEIGHT_MATRIX}, "2 rows of 2 probabilities"),
    "nothing": ("opinion_matrix", {**MATRICES, "opinion_matrix": []}, "2 rows of 2 probabilities"),
    "no law": ("opinion_matrix in row 2", {**MATRICES, "opinion_matrix": [[0.75, 0.25], [0.1, 0.8]]}, "sum to 1"),
    "singular": ("opinion_matrix", {**MATRICES, "opinion_matrix": [[0.75, 0.25], [0.75, 0.25]]}, "has an inverse"),
}


@pytest.mark.bad_input("a matrix that is no law, not square, singular or nearly so, ignored, or beside an epsilon")
@pytest.mark.parametrize("case", list(OF_MATRICES))
def test_a_matrix_that_is_none_is_ignored_or_beside_a_price_is_refused(case: str) -> None:
    field, given, said = OF_MATRICES[case]
    with refuses(field, said=said):
        make(**given)


def test_a_matrix_costs_what_it_costs() -> None:
    """Greatest ratios within a column: 5/8 to 1/8 and 7/8 to 1/4 give ln 5, and 3/4 to 1/8 gives ln 6."""
    chosen = parameters(**MATRICES)
    assert chosen.loss_of_weight == pytest.approx(math.log(5))
    assert chosen.loss_of_opinion == pytest.approx(math.log(6))
    assert chosen.epsilon == chosen.epsilon_total == chosen.loss_of_weight + chosen.loss_of_opinion
    two = parameters(**MATRICES, candidates=["a", "b"], weight_collection="per_candidate")
    assert two.epsilon_total == 2 * chosen.epsilon
    mixed = parameters(weight_matrix=WEIGHT_MATRIX, epsilon_opinion=0.25)
    assert (mixed.loss_of_weight, mixed.loss_of_opinion) == (chosen.loss_of_weight, 0.25)
    public = parameters(opinion_matrix=OPINION_MATRIX, public_weights=True)
    assert (public.loss_of_weight, public.epsilon) == (0.0, chosen.loss_of_opinion)


def test_a_matrix_comes_back_as_it_was_and_is_not_written_where_there_is_none() -> None:
    for given in (MATRICES, {"weight_matrix": WEIGHT_MATRIX, "epsilon_opinion": 1.0}):
        chosen = parameters(**given)
        for codec in (msgspec.msgpack, msgspec.json):
            assert codec.decode(codec.encode(chosen), type=Parameters) == chosen
        assert msgspec.convert(msgspec.to_builtins(chosen), Parameters) == chosen
    assert "matrix" not in str(msgspec.to_builtins(parameters()))


@pytest.mark.parametrize(
    "given",
    [
        {"candidates": ["b", "a"]},
        {"weights": [0.5, 7.25]},
        {"weights": [1e-9, 1e15]},
        {"weights": [4.0], "public_weights": True},
        {"candidates": [str(number) for number in range(1_000)]},
        {"candidates": ["a" * 128, "Ä" * 128]},
        {"weights": WEIGHTS[:MAX_GROUPS]},
        {"weights": WEIGHTS[:MAX_GROUPS], **LAPLACE},
        {"weights": WEIGHTS[:1000], **PUBLIC},
        {"weights": WEIGHTS[:1000], "groups": [WEIGHTS[10 * ten : 10 * ten + 10] for ten in range(MAX_GROUPS)]},
        {"epsilon": 2 * MIN_EPSILON},
        {"epsilon": MIN_EPSILON, **PUBLIC},
        {"epsilon": LaplaceVariant.least_epsilon / 10},
        {"epsilon": 2 * LaplaceVariant.least_epsilon, **LAPLACE},
        {"epsilon": LaplaceVariant.least_epsilon, **LAPLACE, **PUBLIC},
        {"groups": GROUPS},
        {"epsilon": 30.0},
        {"epsilon_weight": 0.0, **PUBLIC},
        {"variant": "auto", **PUBLIC},
        {"variant": "optimal", "prior": "uniform"},
        {"variant": "optimal", "prior": [1 / 6] * 6},
        {"variant": "two_point", "groups": GROUPS},
        {"variant": "signed_rr", "epsilon": MIN_EPSILON},
        {"variant": "two_point", "weights": WEIGHTS[:MAX_GROUPS]},
        {"quota": 1e-3},
        {"quota_fraction": 1.0},
    ],
)
def test_the_ends_of_what_is_allowed_are_allowed(given: dict[str, Any]) -> None:
    assert parameters(**given).candidates


def test_unknown_names_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field `quorum`"):
        parameters(quorum=3)


@pytest.mark.parametrize(
    ("given", "weight", "opinion", "total"),
    [
        ({"epsilon": 3.0}, 1.5, 1.5, 3.0),  # Section 5.1.1: ε₁ = ε₂ = ε/2
        ({"epsilon": 3.0, "epsilon_weight": 0.25}, 0.25, 1.5, 1.75),
        ({"epsilon": 3.0, "epsilon_opinion": 0.25}, 1.5, 0.25, 1.75),
        ({"epsilon": 3.0, **PUBLIC}, 0.0, 3.0, 3.0),  # nothing is spent on public weights
        ({"epsilon_opinion": 0.25, **PUBLIC}, 0.0, 0.25, 0.25),
        # Reading W5: ε_weight + k·ε_opinion, or k(ε_weight + ε_opinion) where weights are collected for each.
        (THREE, 0.5, 0.25, 0.5 + 3 * 0.25),
        ({**THREE, "weight_collection": "per_candidate"}, 0.5, 0.25, 3 * (0.5 + 0.25)),
        # Signed weights cost one report of ε for each candidate, and so do opinions alone, whatever is best.
        *(
            ({"candidates": ["a", "b", "c"], "epsilon": 0.75, "variant": variant}, 0.0, 0.75, 2.25)
            for variant in (*SIGNED, "auto")
        ),
        ({"candidates": ["a", "b"], "epsilon": 0.75, "variant": "auto", **PUBLIC}, 0.0, 0.75, 1.5),
    ],
    ids=str,
)
def test_losses_are_those_of_the_reports(given: dict[str, Any], weight: float, opinion: float, total: float) -> None:
    chosen = parameters(**given)
    assert (chosen.loss_of_weight, chosen.loss_of_opinion, chosen.epsilon_total) == (weight, opinion, total)


def test_the_quota_is_the_majority_unless_told_otherwise() -> None:
    assert parameters().fraction == 0.5
    assert parameters(quota_fraction=0.75).fraction == 0.75
    assert parameters(quota=4.0).fraction == 0.0


@pytest.mark.parametrize(
    ("given", "groups", "means", "deviation"),
    [
        ({"weights": [1.0, 4.0]}, (0, 1), (1.0, 4.0), 0.0),
        (
            {"weights": [1.0, 2.0, 6.0, 10.0, 11.0], "groups": [[1.0, 2.0, 6.0], [10.0, 11.0]]},
            (0, 0, 0, 1, 1),
            (3.0, 10.5),
            3.0,
        ),
    ],
)
def test_a_group_stands_for_its_members_by_their_mean(
    given: dict[str, Any], groups: tuple[int, ...], means: tuple[float, ...], deviation: float
) -> None:
    """By default every weight is a group of its own."""
    chosen = parameters(**given)
    assert (chosen.group_of_weight, chosen.group_means, chosen.group_deviation) == (groups, means, deviation)


@pytest.mark.parametrize("field", ["epsilon", "epsilon_weight", "epsilon_opinion"])
def test_an_error_shows_value_and_limit(field: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Parameters(candidates=("a",), **{field: -2.0})  # pyright: ignore[reportArgumentType]  one of three floats
    assert (caught.value.field, caught.value.value, caught.value.allowed) == (field, -2.0, "in [1e-09, 30]")


@pytest.mark.parametrize("field", ["epsilon_weight", "epsilon_opinion"])
def test_the_baseline_says_which_losses_it_can_hold(field: str) -> None:
    with refuses(field, 1e-4) as caught:
        make(variant="laplace", **{field: 1e-4})
    assert caught.value.allowed == "at least 0.001 in variant 'laplace'"
