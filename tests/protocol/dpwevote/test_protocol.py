"""DPWeVote as a protocol: its phases and what they cost, tables into rows, and the truth beside the estimate."""

import math
from fractions import Fraction
from typing import Any, Literal

import msgspec
import numpy as np
import pytest
from bad_input import refuses
from psephos.protocol import SimulatedNoise, Tally, run_population
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.dpwevote.laplace import LaplaceGrids
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import DiscreteLaplace, GeneralizedRandomizedResponse
from psephos.protocol.privacy import NeighboringRelation, TrustModel
from strategies import told
from vote_margins import margin_of

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
    """Scales (3 − 1)/ε_w = 4 and 1/ε_o = 2.

    Reports reach 60 scales beyond the values: 242 and 121 in all. In fewer than 2¹⁹ steps, that is 2⁻¹¹ and 2⁻¹² each.
    """
    weights, opinions = vote(variant="laplace", epsilon=1.0).phases
    assert weights.mechanism == DiscreteLaplace(4 * 2.0**11, 0, 2 * 2**11)
    assert opinions.mechanism == DiscreteLaplace(2 * 2.0**12, 0, 2**12)


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


ROWS: list[tuple[dict[str, Any], list[list[int]], list[list[int]]]] = [
    ({}, [[2, 1, 0, 2], [0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 1, 1]], [[]] * 4),
    ({"groups": ((1.0,), (2.0, 3.0))}, [[1, 1, 0, 2], [0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 1, 1]], [[]] * 4),
    ({"public_weights": True}, [[1, 0], [0, 0], [1, 1], [0, 1]], [[2, 2], [0, 0], [1, 1], [1, 1]]),
    (
        {"variant": "laplace", "epsilon": 1.0},  # on the grid
        [[4096, 4096, 0, 2], [0, 0, 0, 0], [2048, 4096, 4096, 1], [2048, 0, 4096, 1]],
        [[]] * 4,
    ),
]


@pytest.mark.parametrize(("given", "private", "public"), ROWS, ids=str)
def test_rows_hold_group_opinions_and_place(
    given: dict[str, Any], private: list[list[int]], public: list[list[int]]
) -> None:
    inputs = vote(**given).encode(TABLE)
    assert (inputs.private.tolist(), inputs.public.tolist()) == (private, public)


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
        ("a", 1, "maybe"),
        ("b", 4, -1),
        ("b", 3, 0.5),
    ],
)
def test_an_entry_that_is_not_allowed_is_refused_by_column_and_row(column: str, row: int, entry: object) -> None:
    table: dict[str, list[Any]] = {name: list(entries) for name, entries in TABLE.items()}
    table[column][row - 1] = entry
    with refuses(f"{column} in row {row}") as caught:
        vote().encode(table)
    assert caught.value.value is entry or caught.value.value == entry
    assert caught.value.allowed == ("one of 1, 2, 3" if column == "weight" else "yes or no (y/n, true/false, 1/0)")


@pytest.mark.parametrize("column", ["weight", "a", "b"])
def test_a_missing_column_is_refused_by_its_name(column: str) -> None:
    with refuses(column, said="the table has no column"):
        vote().encode({name: entries for name, entries in TABLE.items() if name != column})


@pytest.mark.parametrize("column", ["weight", "a", "b"])
def test_columns_of_different_length_are_refused(column: str) -> None:
    with refuses(said="columns of one length"):
        vote().encode({**TABLE, column: [1, 1, 1]})


def test_a_column_of_tables_is_refused() -> None:
    with refuses("a", said="one entry for each party"):
        vote().encode({**TABLE, "a": [[1, 0], [0, 1], [1, 1], [0, 0]]})


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


def test_an_epsilon_beside_a_matrix_is_refused_also_where_it_is_the_default() -> None:
    given = {"opinion_matrix": [["2/3", "1/3"], ["1/3", "2/3"]], "epsilon_weight": 1.0}
    assert DPWeVote.complete(given, {"a": [0]}) == {**given, "candidates": ["a"]}
    with pytest.raises(ConfigurationError, match=r"^leave out parameters\.epsilon beside weight_matrix"):
        DPWeVote.complete({**given, "epsilon": 1}, {"a": [0]})


@pytest.mark.parametrize("variant", VARIANTS)
def test_almost_no_noise_gives_the_truth(variant: Variant) -> None:
    """ε = 55 for each: k-RR lies with probability below 1e-10, Laplace noise has scales of 1/15 and 1/25."""
    session = vote(variant=variant, epsilon_weight=30.0, epsilon_opinion=25.0)
    table = {"weight": [3, 1, 2, 2] * 50, "a": [1, 0, 1, 1] * 50, "b": [0, 1, 0, 0] * 50}
    outcome = run_population(session, session.encode(table), noise=SimulatedNoise(5, session="s")).outcome
    assert [candidate.leans_yes for candidate in outcome.candidates] == [True, False]
    near = 1e-6 if variant != "laplace" else 15
    assert told(outcome.total_weight).value == pytest.approx(400, abs=near)
    a, b = outcome.candidates
    assert (a.name, b.name) == ("a", "b")
    assert (told(a.support).value, told(b.support).value) == (pytest.approx(350, abs=near), pytest.approx(50, abs=near))
    assert (margin_of(a).value, margin_of(b).value) == (pytest.approx(150, abs=near), pytest.approx(-150, abs=near))
    assert outcome.num_partners == 200
    assert (outcome.epsilon_weight, outcome.epsilon_opinion, outcome.epsilon_total) == (30.0, 25.0, 80.0)


@pytest.mark.parametrize("variant", ["joint", "printed"])
@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("weights", [(1.0, 2.0, 3.0), (0.1, 0.3, 0.7)])
def test_balanced_reports_are_a_tie(
    variant: Variant, weights: tuple[float, ...], epsilon: float, *, public: bool
) -> None:
    """As many yes as no reports in each group: Σ w(φ̂ − 1/2) is 0, since φ̂(1) + φ̂(0) = 1, and a tie passes (W4).

    The last bit of a sum must not decide instead.
    """
    opinions = Tally(6, np.ones((1, 3, 2), dtype=np.int64))
    tallies = [opinions] if public else [Tally(6, np.full(3, 2)), opinions]
    given: dict[str, Any] = {"variant": variant, "epsilon": epsilon, "public_weights": public, "weights": weights}
    assert margin_of(vote(("a",), **given).outcome(tallies).candidates[0]).value == 0
    assert vote(("a",), **given).outcome(tallies).candidates[0].leans_yes
    assert not vote(("a",), **given, passes="more_than").outcome(tallies).candidates[0].leans_yes


def sides_near(support: float, passes: str, tallies: list[Tally], **given: Any) -> list[bool]:
    """Return the side where the quota is the float just below this support, the support itself, and the one above."""
    outcomes = [
        vote(("a",), quota=quota, passes=passes, **given).outcome(tallies)
        for quota in (math.nextafter(support, -math.inf), support, math.nextafter(support, math.inf))
    ]
    assert {told(outcome.candidates[0].support).value for outcome in outcomes} == {support}
    assert margin_of(outcomes[1].candidates[0]).value == 0
    return [outcome.candidates[0].leans_yes for outcome in outcomes]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_a_support_that_equals_a_fixed_quota_passes_only_at_least(variant: Variant, epsilon: float) -> None:
    """φ̂(1) + φ̂(0) = 1, so as much weight of yes as of no, 11 here, is a support of 11 at every ε.

    Laplace noise is on a dyadic grid, so its sums are floats without rounding.
    """
    given: dict[str, Any] = {"variant": variant, "public_weights": True, "epsilon": epsilon}
    if variant == "laplace":
        step = LaplaceGrids(vote(("a",), **given).parameters).opinion_step
        counts, support = [[2, 7000], [3, 6000], [1, 5000]], step * (7000 + 2 * 6000 + 3 * 5000)
    else:
        counts, support = [[4, 1], [2, 2], [1, 2]], 1.0 * 1 + 2 * 2 + 3 * 2
    tallies = [Tally(6 if variant == "laplace" else 12, np.array([counts]))]
    assert sides_near(support, "at_least", tallies, **given) == [True, True, False]
    assert sides_near(support, "more_than", tallies, **given) == [True, False, False]


@pytest.mark.parametrize("variant", ["joint", "printed"])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_a_support_from_private_weights_that_equals_a_fixed_quota_passes_only_at_least(
    variant: Variant, epsilon: float
) -> None:
    """ŵ is affine in the reported weight and leaves the mean weight 2 as it is, at every ε.

    No minus yes is (1, −2, 1) by group, which weighs ŵ(1) − 2ŵ(2) + ŵ(3) = 0; so the support is that of seven yes,
    2ŵ(1) + 3ŵ(2) + 2ŵ(3) = 14.
    """
    counts = np.array([[[3, 2], [1, 3], [3, 2]]])
    tallies = [Tally(14, counts.sum(axis=(0, 2))), Tally(14, counts)]
    given: dict[str, Any] = {"variant": variant, "epsilon": epsilon}
    assert sides_near(14.0, "at_least", tallies, **given) == [True, True, False]
    assert sides_near(14.0, "more_than", tallies, **given) == [True, False, False]


@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.0, 1.5, 2.0, 3.0])
def test_a_support_that_no_float_holds_is_compared_without_rounding_it(epsilon: float) -> None:
    """The quota next to it decides by the exact support Σ w·φ̂ at the channel's own p, and not by its nearest float."""
    keep = Fraction(GeneralizedRandomizedResponse(epsilon, 2).keep_probability)
    no, yes = ((Fraction(opinion) - (1 - keep)) / (2 * keep - 1) for opinion in (0, 1))
    counts = [[1, 4], [2, 3], [0, 5]]
    exact = sum((w * (n * no + y * yes) for w, (n, y) in enumerate(counts, start=1)), start=Fraction(0))
    near = float(exact)
    tallies = [Tally(15, np.array([counts]))]
    for quota in (math.nextafter(near, -math.inf), near, math.nextafter(near, math.inf)):
        for passes, expected in (("at_least", exact >= quota), ("more_than", exact > quota)):
            outcome = vote(("a",), public_weights=True, epsilon=epsilon, quota=quota, passes=passes).outcome(tallies)
            assert outcome.candidates[0].leans_yes == expected
            assert margin_of(outcome.candidates[0]).value == float(exact - Fraction(quota))


# A partner's own row


OWN_ENTRIES = {"a": "1", "b": "0"}


@pytest.mark.parametrize("weight", [None, "2", 2, 2.0, "2.0"])
def test_a_public_weight_is_taken_from_the_row_and_may_be_left_out(weight: object) -> None:
    entries = OWN_ENTRIES if weight is None else {**OWN_ENTRIES, "weight": weight}
    assert vote(public_weights=True).encode_own(entries, (1, 1)) == (1, 0)


@pytest.mark.parametrize("public", [(0, 0), (2, 2)])
def test_a_public_weight_that_is_not_the_servers_is_refused(public: tuple[int, int]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        vote(public_weights=True).encode_own({**OWN_ENTRIES, "weight": "2"}, public)
    given = (caught.value.field, caught.value.value, caught.value.allowed)
    assert given == ("weight", "2", f"{public[1] + 1}, as the server has it")


def test_without_a_row_a_public_weight_must_be_entered() -> None:
    public = vote(public_weights=True)
    assert public.encode_own({**OWN_ENTRIES, "weight": "3"}, ()) == (1, 0)
    with refuses(said="weight"):
        public.encode_own(OWN_ENTRIES, ())


def test_a_public_weight_that_is_none_of_the_list_is_refused_whatever_the_server_says() -> None:
    for public in ((), (1, 1)):
        with refuses(said="is '9': use one of 1, 2, 3"):
            vote(public_weights=True).encode_own({**OWN_ENTRIES, "weight": "9"}, public)


@pytest.mark.parametrize("entries", [OWN_ENTRIES, {**OWN_ENTRIES, "weight": "3"}])
@pytest.mark.parametrize("public", [(1,), (0, 3), (0, -1), (0, 2), (1, 1, 1), (2**63, 0)])
def test_a_row_that_a_server_made_up_is_refused_and_never_raises_otherwise(
    public: tuple[int, ...], entries: dict[str, str]
) -> None:
    """It comes from the server's terms, before anything was compared with them."""
    with pytest.raises(ConfigurationError):
        vote(public_weights=True).encode_own(entries, public)


def test_a_private_weight_is_encoded_whatever_the_row() -> None:
    assert vote().encode_own({**OWN_ENTRIES, "weight": "3"}, ()) == vote().encode_own(
        {**OWN_ENTRIES, "weight": "3"}, (1, 1)
    )
    with refuses(said="weight"):
        vote().encode_own(OWN_ENTRIES, ())


@pytest.mark.parametrize(
    ("weights", "yes", "quota"),
    [
        ((0.1, 0.2, 0.3), (1, 1, 0), {}),
        ((0.1, 0.2, 0.3, 0.3), (1, 1, 1, 0), {"quota_fraction": 2 / 3}),
        ((0.1, 0.2, 0.3), (1, 1, 0), {"quota": 0.3}),
        ((0.7, 0.1, 0.2, 1.1), (1, 1, 1, 0), {"quota": 1.0}),
    ],
)
def test_a_tie_of_weights_as_they_are_written_is_one(
    weights: tuple[float, ...], yes: tuple[int, ...], quota: dict[str, Any]
) -> None:
    """In floats 0.1 + 0.2 is more than 0.3, and 0.7 + 0.1 + 0.2 less than 1."""
    for passes in ("at_least", "more_than"):
        fields: dict[str, Any] = {"weights": sorted(set(weights)), "passes": passes, **quota}
        vote = DPWeVote(Parameters(candidates=("a",), **fields))
        inputs = vote.encode({"weight": weights, "a": yes})
        truth = vote.truth(inputs)
        assert truth["a"] == truth["quota"]
        assert vote.should_pass(inputs) == {"a": passes == "at_least"}


@pytest.mark.parametrize("given", [{}, {"public_weights": True}, {"variant": "laplace"}])
def test_a_long_table_is_encoded_as_a_short_one_is(given: dict[str, Any]) -> None:
    """Part by part, and a wrong entry far down is named with its row in the whole table."""
    draw, number = np.random.default_rng(1), 2**18 + 3
    table = {"weight": draw.integers(1, 4, number), "a": draw.integers(0, 2, number), "b": draw.integers(0, 2, number)}
    protocol = vote(**given)
    whole = protocol.encode(table)
    for rows in (slice(0, 5), slice(number - 5, number)):
        part = protocol.encode({name: column[rows] for name, column in table.items()})
        assert np.array_equal(whole.private[rows], part.private)
        assert np.array_equal(whole.public[rows], part.public)
    table["b"][-1] = 7
    with pytest.raises(ConfigurationError, match=f"b in row {number}"):
        protocol.encode(table)
