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


REFUSALS: list[tuple[str, dict[str, Any]]] = [
    ("candidates", {"candidates": []}),
    ("candidates", {"candidates": ["a", "b", "a"]}),
    ("candidates", {"candidates": [str(number) for number in range(1_001)]}),
    ("candidates", {"candidates": ["a" * 129]}),
    ("candidates", {"candidates": [""]}),
    ("candidates", {"candidates": [" a"]}),
    ("candidates", {"candidates": ["a "]}),
    ("candidates", {"candidates": ["a\nb"]}),
    ("candidates", {"candidates": ["partner"]}),
    ("candidates", {"candidates": ["weight"]}),
    ("candidates", {"candidates": ["quota"]}),
    ("candidates", {"candidates": ["total weight"]}),
    ("weights", {"weights": []}),
    ("weights", {"weights": [1.0, 1.0]}),
    ("weights", {"weights": [2.0, 1.0]}),
    ("weights", {"weights": [0.0, 1.0]}),
    ("weights", {"weights": [-1.0, 1.0]}),
    ("weights", {"weights": [1.0, math.inf]}),
    ("weights", {"weights": [math.nextafter(1e-9, 0), 1.0]}),
    ("weights", {"weights": [1.0, math.nextafter(1e15, math.inf)]}),
    ("weights", {"weights": [1.0, math.nan]}),
    ("weights", {"weights": [math.nan], "public_weights": True}),
    ("weights", {"weights": [float(number) for number in range(1, 1002)]}),
    ("weights", {"weights": [float(number) for number in range(1, 1002)], "public_weights": True}),
    ("weights", {"weights": [float(number) for number in range(1, MAX_GROUPS + 2)]}),
    ("weights", {"weights": [float(number) for number in range(1, MAX_GROUPS + 2)], "variant": "laplace"}),
    ("weights", {"weights": [1.0]}),
    ("weights", {"groups": [[1.0, 2.0, 3.0]]}),
    ("groups", {"groups": [[1.0], [2.0]]}),
    ("groups", {"groups": [[1.0, 3.0], [2.0]]}),
    ("groups", {"groups": [[1.0], [], [2.0, 3.0]]}),
    ("groups", {"groups": [[1.0, 2.0], [2.0, 3.0]]}),
    ("groups", {"groups": [[1.0], [2.0, 3.0]], "public_weights": True}),
    ("groups", {"groups": [[1.0], [2.0, 3.0]], "variant": "laplace"}),
    ("epsilon", {"epsilon": 0.0}),
    ("epsilon", {"epsilon": -1.0}),
    ("epsilon", {"epsilon": math.nan}),
    ("epsilon", {"epsilon": 1e-10}),
    ("epsilon", {"epsilon": 30.5}),
    ("epsilon", {"epsilon": 0.99 * MIN_EPSILON}),
    ("epsilon_weight", {"epsilon": 1.5 * MIN_EPSILON, "epsilon_opinion": 1.0}),
    ("epsilon_opinion", {"epsilon": 1.5 * MIN_EPSILON, "epsilon_weight": 1.0}),
    ("epsilon_weight", {"epsilon_weight": 0.99 * LaplaceVariant.least_epsilon, "variant": "laplace"}),
    ("epsilon_opinion", {"epsilon_opinion": 0.99 * LaplaceVariant.least_epsilon, "variant": "laplace"}),
    ("epsilon_opinion", {"epsilon": 1.99 * LaplaceVariant.least_epsilon, "variant": "laplace"}),
    ("epsilon_opinion", {"epsilon": 0.99 * LaplaceVariant.least_epsilon, "variant": "laplace", "public_weights": True}),
    ("epsilon_weight", {"epsilon_weight": 0.0}),
    ("epsilon_weight", {"epsilon_weight": 31.0}),
    ("epsilon_weight", {"epsilon_weight": 0.5, "public_weights": True}),
    ("epsilon_opinion", {"epsilon_opinion": 0.0}),
    ("epsilon_opinion", {"epsilon_opinion": math.inf}),
    ("epsilon_opinion", {"epsilon_opinion": -1.0, "public_weights": True}),
    ("weight_collection", {"weight_collection": "per_candidate", "public_weights": True}),
    ("prior", {"prior": "uniform"}),
    ("prior", {"prior": [0.5, 0.5], "variant": "two_point"}),
    ("prior", {"prior": "uniform", "variant": "auto"}),
    *(
        (field, {field: value, "variant": variant})
        for variant in ("two_point", "signed_rr", "optimal", "auto")
        for field, value in (
            ("epsilon_weight", 0.5),
            ("epsilon_opinion", 0.5),
            ("weight_collection", "per_candidate"),
            ("project_counts", True),
        )
    ),
    ("variant", {"variant": "two_point", "public_weights": True}),
    ("variant", {"variant": "signed_rr", "public_weights": True}),
    ("variant", {"variant": "optimal", "public_weights": True}),
    ("quota", {"quota": 0.0}),
    ("quota", {"quota": -3.0}),
    ("quota", {"quota": math.nan}),
    ("quota", {"quota": math.inf}),
    ("quota_fraction", {"quota_fraction": 0.0}),
    ("quota_fraction", {"quota_fraction": 1.1}),
    ("quota_fraction", {"quota_fraction": math.nan}),
    ("quota_fraction", {"quota": 3.0, "quota_fraction": 0.5}),
]


@pytest.mark.bad_input("epsilon ≤ 0, nan, inf")
@pytest.mark.parametrize(("field", "given"), REFUSALS)
def test_what_is_not_allowed_is_refused_by_its_name(field: str, given: dict[str, Any]) -> None:
    with refuses(field) as caught:
        make(**given)
    assert str(caught.value).startswith(f"{field} must be ")


OF_MATRICES: dict[str, tuple[str, dict[str, Any], str]] = {
    "an epsilon": ("epsilon", {**MATRICES, "epsilon": 2.0}, "the price is the sum of what both reports cost, got 2.0"),
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
        "given beside weight_matrix, whose loss is its own, unless there is opinion_matrix, got 'left out'",
    ),
    "no price of weights": ("epsilon_weight", {"opinion_matrix": OPINION_MATRIX}, "unless there is weight_matrix"),
    "public weights": (
        "weight_matrix",
        {**MATRICES, "public_weights": True},
        "left out where weights are public, got 'given'",
    ),
    **{
        variant: ("weight_matrix", {**MATRICES, "variant": variant}, "'joint' and 'printed' report by a matrix")
        for variant in ("laplace", "two_point", "signed_rr", "optimal", "auto")
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
        {"weights": [float(number) for number in range(1, MAX_GROUPS + 1)]},
        {"weights": [float(number) for number in range(1, MAX_GROUPS + 1)], "variant": "laplace"},
        {"weights": [float(number) for number in range(1, 1001)], "public_weights": True},
        {
            "weights": [float(number) for number in range(1, 1001)],
            "groups": [[float(10 * ten + one) for one in range(1, 11)] for ten in range(MAX_GROUPS)],
        },
        {"epsilon": 2 * MIN_EPSILON},
        {"epsilon": MIN_EPSILON, "public_weights": True},
        {"epsilon": LaplaceVariant.least_epsilon / 10},
        {"epsilon": 2 * LaplaceVariant.least_epsilon, "variant": "laplace"},
        {"epsilon": LaplaceVariant.least_epsilon, "variant": "laplace", "public_weights": True},
        {"groups": [[1.0], [2.0, 3.0]]},
        {"epsilon": 30.0},
        {"epsilon_weight": 0.0, "public_weights": True},
        {"variant": "auto", "public_weights": True},
        {"variant": "optimal", "prior": "uniform"},
        {"variant": "optimal", "prior": [1 / 6] * 6},
        {"variant": "two_point", "groups": [[1.0], [2.0, 3.0]]},
        {"variant": "signed_rr", "epsilon": MIN_EPSILON},
        {"variant": "two_point", "weights": [float(number) for number in range(1, MAX_GROUPS + 1)]},
        {"quota": 1e-3},
        {"quota_fraction": 1.0},
    ],
)
def test_the_ends_of_what_is_allowed_are_allowed(given: dict[str, Any]) -> None:
    assert parameters(**given).candidates


def test_unknown_names_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field `quorum`"):
        parameters(quorum=3)


def test_epsilon_is_halved_between_weight_and_opinion() -> None:
    """Section 5.1.1: ε₁ = ε₂ = ε/2."""
    chosen = parameters(epsilon=3.0)
    assert (chosen.loss_of_weight, chosen.loss_of_opinion, chosen.epsilon_total) == (1.5, 1.5, 3.0)


def test_each_loss_can_be_set_by_itself() -> None:
    chosen = parameters(epsilon=3.0, epsilon_weight=0.25)
    assert (chosen.loss_of_weight, chosen.loss_of_opinion, chosen.epsilon_total) == (0.25, 1.5, 1.75)
    chosen = parameters(epsilon=3.0, epsilon_opinion=0.25)
    assert (chosen.loss_of_weight, chosen.loss_of_opinion, chosen.epsilon_total) == (1.5, 0.25, 1.75)


def test_nothing_is_spent_on_public_weights() -> None:
    chosen = parameters(epsilon=3.0, public_weights=True)
    assert (chosen.loss_of_weight, chosen.loss_of_opinion, chosen.epsilon_total) == (0.0, 3.0, 3.0)
    assert parameters(epsilon_opinion=0.25, public_weights=True).loss_of_opinion == 0.25


def test_several_candidates_cost_one_weight_and_each_an_opinion() -> None:
    """Reading W5: ε_weight + k·ε_opinion, or k(ε_weight + ε_opinion) where weights are collected for each."""
    three: dict[str, Any] = {"candidates": ["a", "b", "c"], "epsilon_weight": 0.5, "epsilon_opinion": 0.25}
    assert parameters(**three).epsilon_total == 0.5 + 3 * 0.25
    assert parameters(**three, weight_collection="per_candidate").epsilon_total == 3 * (0.5 + 0.25)


@pytest.mark.parametrize("variant", ["two_point", "signed_rr", "optimal", "auto"])
def test_signed_weights_cost_one_report_of_epsilon_for_each_candidate(variant: str) -> None:
    chosen = parameters(candidates=["a", "b", "c"], epsilon=0.75, variant=variant)
    assert chosen.reports_signed_weights
    assert (chosen.loss_of_weight, chosen.loss_of_opinion, chosen.epsilon_total) == (0.0, 0.75, 2.25)


def test_opinions_alone_cost_epsilon_each_whatever_is_best() -> None:
    chosen = parameters(candidates=["a", "b"], epsilon=0.75, variant="auto", public_weights=True)
    assert (chosen.loss_of_weight, chosen.loss_of_opinion, chosen.epsilon_total) == (0.0, 0.75, 1.5)


def test_the_quota_is_the_majority_unless_told_otherwise() -> None:
    assert parameters().fraction == 0.5
    assert parameters(quota_fraction=0.75).fraction == 0.75
    assert parameters(quota=4.0).fraction == 0.0


def test_every_weight_is_a_group_of_its_own_by_default() -> None:
    chosen = parameters(weights=[1.0, 4.0])
    assert chosen.group_of_weight == (0, 1)
    assert chosen.group_means == (1.0, 4.0)
    assert chosen.group_deviation == 0.0


def test_a_group_stands_for_its_members_by_their_mean() -> None:
    chosen = parameters(weights=[1.0, 2.0, 6.0, 10.0, 11.0], groups=[[1.0, 2.0, 6.0], [10.0, 11.0]])
    assert chosen.group_of_weight == (0, 0, 0, 1, 1)
    assert chosen.group_means == (3.0, 10.5)
    assert chosen.group_deviation == 3.0


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
