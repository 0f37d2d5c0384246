"""DPWeVote as a protocol: its phases and what they cost, tables into rows, and the truth beside the estimate."""

import math
from typing import Any, Literal

import msgspec
import numpy as np
import pytest
from psephos.protocol import SimulatedNoise, Tally, run_population
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import DiscreteLaplace, GeneralizedRandomizedResponse
from psephos.protocol.privacy import NeighboringRelation, TrustModel

Variant = Literal["joint", "printed", "laplace"]
VARIANTS: list[Variant] = ["joint", "printed", "laplace"]
TABLE: dict[str, list[Any]] = {"weight": [3, 1, 2, 2], "a": [1, 0, 1, 0], "b": [0, 0, 1, 1]}


def vote(candidates: tuple[str, ...] = ("a", "b"), **given: Any) -> DPWeVote:
    return DPWeVote(Parameters(candidates=candidates, **given))


def test_weights_are_collected_once_and_then_opinions_on_all_candidates() -> None:
    weights, opinions = vote(epsilon_weight=0.5, epsilon_opinion=2.0).phases
    assert (weights.name, weights.columns, weights.num_values) == ("weights", slice(0, 1), 1)
    assert (opinions.name, opinions.columns, opinions.num_values) == ("opinions", slice(1, 3), 2)
    assert weights.mechanism == GeneralizedRandomizedResponse(0.5, 3)
    assert opinions.mechanism == GeneralizedRandomizedResponse(2.0, 2)


def test_weights_may_be_collected_for_each_candidate() -> None:
    phases = vote(weight_collection="per_candidate").phases
    assert [phase.name for phase in phases] == ["weights-1", "opinions-1", "weights-2", "opinions-2"]
    assert [phase.columns for phase in phases] == [slice(0, 1), slice(1, 2), slice(0, 1), slice(2, 3)]


@pytest.mark.parametrize("variant", VARIANTS)
def test_public_weights_are_not_asked_for(variant: Variant) -> None:
    (opinions,) = vote(public_weights=True, variant=variant).phases
    assert (opinions.name, opinions.columns) == ("opinions", slice(0, 2))


def test_the_baseline_randomizes_by_laplace_noise() -> None:
    """Scales (3 − 1)/ε_w = 4 and 1/ε_o = 2, on grids of 128 steps a scale."""
    weights, opinions = vote(variant="laplace", epsilon=1.0).phases
    assert weights.mechanism == DiscreteLaplace(128.0, 32, 96)
    assert opinions.mechanism == DiscreteLaplace(128.0, 0, 64)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "given", [{}, {"weight_collection": "per_candidate"}, {"public_weights": True}, {"epsilon": 0.07}, {"epsilon": 9.0}]
)
def test_proven_and_claimed_losses_sum_to_the_total(variant: Variant, given: dict[str, Any]) -> None:
    session = vote(variant=variant, **given)
    losses = session.losses
    assert math.fsum(loss.proven for loss in losses) == pytest.approx(session.parameters.epsilon_total, rel=1e-12)
    assert math.fsum(loss.claimed for loss in losses) == pytest.approx(session.parameters.epsilon_total, rel=1e-12)
    assert {loss.relation for loss in losses} == {NeighboringRelation.REPLACE_ONE}
    assert {loss.model for loss in losses} == {TrustModel.LOCAL}
    units = [loss.unit for phase in session.phases for loss in phase.losses]
    assert units.count("opinion") == 2
    assert units.count("weight") == len(session.phases) - (2 if "weight_collection" in given else 1)


def test_columns_say_who_may_know_them() -> None:
    assert [(column.name, column.private) for column in vote().columns()] == [
        ("weight", True),
        ("a", True),
        ("b", True),
    ]
    public = vote(public_weights=True, weights=tuple(float(n) for n in range(1, 20))).columns()
    assert not public[0].private
    assert public[0].description.endswith("11, 12, ...")


def test_rows_hold_group_opinions_and_place() -> None:
    inputs = vote().encode(TABLE)
    assert inputs.private.tolist() == [[2, 1, 0, 2], [0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 1, 1]]
    assert inputs.public.shape == (4, 0)


def test_rows_of_grouped_weights_hold_the_group() -> None:
    inputs = vote(groups=((1.0,), (2.0, 3.0))).encode(TABLE)
    assert inputs.private.tolist() == [[1, 1, 0, 2], [0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 1, 1]]


def test_public_weights_are_in_the_public_row() -> None:
    inputs = vote(public_weights=True).encode(TABLE)
    assert inputs.private.tolist() == [[1, 0], [0, 0], [1, 1], [0, 1]]
    assert inputs.public.tolist() == [[2, 2], [0, 0], [1, 1], [1, 1]]


def test_rows_of_the_baseline_are_on_the_grid() -> None:
    inputs = vote(variant="laplace", epsilon=1.0).encode(TABLE)
    assert inputs.private.tolist() == [[96, 64, 0, 2], [32, 0, 0, 0], [64, 64, 64, 1], [64, 0, 64, 1]]


@pytest.mark.parametrize("variant", VARIANTS)
def test_text_and_numbers_give_the_same_rows(variant: Variant) -> None:
    session = vote(variant=variant)
    text = {"weight": ["3", "1.0", "2", "2"], "a": ["1", "0", "1", "0"], "b": ["0", "0", "1", "1.0"]}
    arrays = {name: np.array(entries) for name, entries in TABLE.items()}
    expected = session.encode(TABLE).private.tolist()
    assert session.encode(text).private.tolist() == expected
    assert session.encode(arrays).private.tolist() == expected


@pytest.mark.parametrize(
    ("column", "row", "entry"),
    [
        ("weight", 1, 4),
        ("weight", 3, "two"),
        ("weight", 2, ""),
        ("weight", 4, math.nan),
        ("weight", 1, None),
        ("weight", 2, 1.5),
        ("weight", 4, math.inf),
        pytest.param("weight", 3, 10**400, id="huge"),
        ("a", 2, 2),
        ("a", 1, "yes"),
        ("b", 4, -1),
        ("b", 3, 0.5),
    ],
)
def test_an_entry_that_is_not_allowed_is_refused_by_column_and_row(column: str, row: int, entry: object) -> None:
    table: dict[str, list[Any]] = {name: list(entries) for name, entries in TABLE.items()}
    table[column][row - 1] = entry
    with pytest.raises(ConfigurationError) as caught:
        vote().encode(table)
    assert caught.value.field == f"{column} in row {row}"
    assert caught.value.value is entry or caught.value.value == entry
    assert caught.value.allowed == ("one of 1, 2, 3" if column == "weight" else "one of 0, 1")


@pytest.mark.parametrize("column", ["weight", "a", "b"])
def test_a_missing_column_is_refused_by_its_name(column: str) -> None:
    with pytest.raises(ConfigurationError, match="no such column") as caught:
        vote().encode({name: entries for name, entries in TABLE.items() if name != column})
    assert caught.value.field == column


@pytest.mark.parametrize("column", ["weight", "a", "b"])
def test_columns_of_different_length_are_refused(column: str) -> None:
    with pytest.raises(ConfigurationError, match="columns of one length"):
        vote().encode({**TABLE, column: [1, 1, 1]})


def test_a_column_of_tables_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="one entry for each party") as caught:
        vote().encode({**TABLE, "a": [[1, 0], [0, 1], [1, 1], [0, 0]]})
    assert caught.value.field == "a"


def test_an_empty_table_has_no_rows() -> None:
    assert len(vote().encode({"weight": [], "a": [], "b": []})) == 0


def test_candidates_and_public_weights_follow_from_the_table() -> None:
    table = {"weight": ["2.5", "7", "2.5"], "a": [0, 1, 1]}
    completed = DPWeVote.complete({"public_weights": True}, table)
    assert completed == {"public_weights": True, "candidates": ["a"], "weights": [2.5, 7.0]}
    assert msgspec.convert(completed, Parameters).weights == (2.5, 7.0)


def test_private_weights_and_what_is_given_are_not_taken_from_the_table() -> None:
    table: dict[str, list[Any]] = {"weight": [2, 7], "a": [0, 1], "b": [0, 1]}
    assert DPWeVote.complete({}, table) == {"candidates": ["a", "b"]}
    given = {"candidates": ["b"], "public_weights": True, "weights": [2.0, 7.0, 9.0]}
    assert DPWeVote.complete(given, table) == given


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("public", [True, False])
def test_the_truth_is_the_noise_free_count(variant: Variant, *, public: bool) -> None:
    session = vote(variant=variant, public_weights=public)
    assert session.truth(session.encode(TABLE)) == {"a": 5.0, "b": 4.0, "total weight": 8.0, "quota": 4.0}


@pytest.mark.parametrize(("given", "quota"), [({"quota": 3.5}, 3.5), ({"quota_fraction": 0.75}, 6.0)])
def test_the_true_quota_is_fixed_or_a_share(given: dict[str, Any], quota: float) -> None:
    session = vote(**given)
    truth = session.truth(session.encode(TABLE))
    assert truth["quota"] == quota


def test_the_truth_of_grouped_weights_is_that_of_the_weights_themselves() -> None:
    session = vote(groups=((1.0,), (2.0, 3.0)))
    assert session.truth(session.encode(TABLE))["total weight"] == 8.0


@pytest.mark.parametrize("variant", VARIANTS)
def test_almost_no_noise_gives_the_truth(variant: Variant) -> None:
    """ε = 60 in all: k-RR lies with probability below 1e-12, Laplace noise has scales of 1/15 and 1/30."""
    session = vote(variant=variant, epsilon_weight=30.0, epsilon_opinion=30.0)
    table = {"weight": [3, 1, 2, 2] * 50, "a": [1, 0, 1, 1] * 50, "b": [0, 1, 0, 0] * 50}
    outcome = run_population(session, session.encode(table), noise=SimulatedNoise(5, session="s")).outcome
    assert outcome.winners == ("a",)
    near = 1e-6 if variant != "laplace" else 15
    assert outcome.total_weight.value == pytest.approx(400, abs=near)
    a, b = outcome.candidates
    assert (a.name, b.name) == ("a", "b")
    assert (a.support.value, b.support.value) == (pytest.approx(350, abs=near), pytest.approx(50, abs=near))
    assert (a.margin.value, b.margin.value) == (pytest.approx(150, abs=near), pytest.approx(-150, abs=near))
    assert max(a.error_probability, b.error_probability) < 1e-6
    assert outcome.num_partners == 200


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_outcome_says_what_was_paid(variant: Variant) -> None:
    session = vote(variant=variant, epsilon_weight=0.5, epsilon_opinion=0.25)
    outcome = run_population(session, session.encode(TABLE), noise=SimulatedNoise(5, session="s")).outcome
    assert (outcome.epsilon_weight, outcome.epsilon_opinion, outcome.epsilon_total) == (0.5, 0.25, 1.0)


@pytest.mark.parametrize("variant", ["joint", "printed"])
@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.0, 1.5, 2.0, 3.0])
def test_balanced_reports_are_a_tie(variant: Variant, epsilon: float, *, public: bool) -> None:
    """As many yes as no reports in each group: Σ w(φ̂ − 1/2) is 0, since φ̂(1) + φ̂(0) = 1, and a tie passes (W4).

    The last bit of a sum must not decide instead.
    """
    opinions = Tally(6, np.ones((1, 3, 2), dtype=np.int64))
    tallies = [opinions] if public else [Tally(6, np.full(3, 2)), opinions]
    given: dict[str, Any] = {"variant": variant, "epsilon": epsilon, "public_weights": public}
    assert vote(("a",), **given).outcome(tallies).winners == ("a",)
    assert vote(("a",), **given, passes="more_than").outcome(tallies).winners == ()


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_support_that_equals_a_fixed_quota_passes_only_at_least(variant: Variant) -> None:
    given: dict[str, Any] = {"variant": variant, "public_weights": True}
    counts = [[[2, 70], [3, 60], [1, 50]]] if variant == "laplace" else [[[1, 4], [2, 3], [0, 5]]]
    tallies = [Tally(15, np.array(counts))]
    support = vote(("a",), **given, quota=1.0).outcome(tallies).candidates[0].support.value
    assert vote(("a",), **given, quota=support).outcome(tallies).winners == ("a",)
    assert vote(("a",), **given, quota=support, passes="more_than").outcome(tallies).winners == ()
    above = math.nextafter(support, math.inf)
    assert vote(("a",), **given, quota=above).outcome(tallies).winners == ()
