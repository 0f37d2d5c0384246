"""Inputs that are held against laws: their laws are the mechanisms', and samplers of another law depart."""

import itertools

import numpy as np
import pytest
from psephos.protocol.mechanisms import (
    NO_ANSWER,
    DiscreteLaplace,
    FreshTwoLayer,
    GeneralizedRandomizedResponse,
    RowMechanism,
    SphericalLaplace,
    TwoLayer,
    Uniform,
    VectorLaplace,
)
from psephos.scenarios.audit.case import NO_PLACE
from psephos.scenarios.audit.following import departure
from psephos.scenarios.audit.mechanisms import shared_cases
from psephos.scenarios.audit.mechanisms.checking import checks_of, some_rows
from psephos.scenarios.audit.mechanisms.sampling import list_rows


def test_the_law_of_noise_is_the_mechanisms_own() -> None:
    mechanism = DiscreteLaplace(3.0, 0, 5)
    (check,) = checks_of(mechanism, np.array([[2]]))
    (view,) = check.views
    low, high = mechanism.report_range
    reports = np.arange(low, high + 1)
    places = view.places(reports[:, None])
    law = np.bincount(places, weights=np.exp(mechanism.log_probabilities(reports, np.array([2]))[:, 0]))
    assert law == pytest.approx(view.law[: len(law)], rel=1e-12, abs=1e-25)
    assert view.law.sum() == pytest.approx(1, abs=1e-12)
    assert view.places(np.array([[low - 1], [high + 1]])).tolist() == [NO_PLACE] * 2


def test_the_law_of_wide_noise_is_that_of_narrow_noise_by_cells() -> None:
    """At the same places in scales: both are nearly continuous, and the finer one has 2¹¹ times as many steps."""
    fine, coarse = DiscreteLaplace(2.0**21, 0, 1), DiscreteLaplace(2.0**10, 0, 1)
    views = [checks_of(mechanism, np.array([[0]]))[0].views[0] for mechanism in (fine, coarse)]
    for scales in (-20.0, -3.0, -0.5, 0.0, 1.0, 7.0):
        below = [
            float(view.law[: view.places(np.array([[int(scales * mechanism.scale)]]))[0]].sum())
            for view, mechanism in zip(views, (fine, coarse), strict=True)
        ]
        assert below[0] == pytest.approx(below[1], rel=0.02)


def test_the_low_bits_of_wide_noise_are_summed_up() -> None:
    scale = 2.0**21
    (check,) = checks_of(DiscreteLaplace(scale, 0, 1), np.array([[0]]))
    low_bits = check.views[1]
    assert low_bits.name == "number 1's low bits"
    rests = np.arange(256)
    # Few terms are enough where noise is as narrow as this; the formula is the same.
    narrow = np.array([sum(np.exp(-abs(rest + 256 * turn) / 40) for turn in range(-40, 41)) for rest in rests])
    formula = np.exp(-rests / 40) + np.exp((rests - 256) / 40)
    assert narrow / narrow.sum() == pytest.approx(formula / formula.sum(), rel=1e-12)
    assert low_bits.law == pytest.approx(np.full(256, 1 / 256), rel=1e-3)
    assert low_bits.places(np.array([[-1], [256], [3]])).tolist() == [255, 0, 3]


def test_numbers_of_a_row_together_are_independent() -> None:
    mechanism = VectorLaplace(scale=50.0, sensitivity=50, bound=50)
    (check,) = checks_of(mechanism, np.array([[0, 50]]))
    joint = check.views[-1]
    assert joint.name == "all numbers together"
    assert joint.law.sum() == pytest.approx(1, abs=1e-12)
    size = round(len(joint.law) ** 0.5)
    table = joint.law.reshape(size, size)
    assert table == pytest.approx(np.outer(table.sum(axis=1), table.sum(axis=0)))
    assert check.draw is not None
    outputs = check.draw(50_000, 1)
    shared = np.column_stack([outputs[:, 0], outputs[:, 0] + 50])  # each number by itself is as likely as before
    followed, departed = (
        departure(np.bincount(joint.places(own), minlength=size**2 + 1), joint.law, len(own), 1e-6)
        for own in (outputs, shared)
    )
    assert not followed  # false alarm: 1e-6
    assert "never drawn" in departed


@pytest.mark.parametrize("dimension", [1, 3])
def test_the_law_of_a_number_of_spherical_noise_has_its_variance(dimension: int) -> None:
    """scale²·(d + 1), and 1/12 for rounding."""
    mechanism = SphericalLaplace(scale=40.0, sensitivity=40, bound=10, dimension=dimension)
    (check,) = checks_of(mechanism, np.zeros((1, dimension), dtype=np.int64))
    view = check.views[0]
    reports = np.arange(-3_000, 3_001)
    places = view.places(np.column_stack([reports] * dimension))
    inner = (places > 0) & (places < len(view.law) - 1)
    variance = float(np.sum(view.law[places[inner]] * reports[inner].astype(np.float64) ** 2))
    assert variance == pytest.approx(mechanism.noise_variance + 1 / 12, rel=1e-3)


def test_a_dimension_without_an_elementary_law_is_refused() -> None:
    mechanism = SphericalLaplace(scale=40.0, sensitivity=40, bound=10, dimension=2)
    with pytest.raises(NotImplementedError, match="law of SphericalLaplace"):
        checks_of(mechanism, np.zeros((1, 2), dtype=np.int64))


def test_whole_reports_have_the_law_of_the_row_with_answers_left_out() -> None:
    mechanism = TwoLayer((2, 3), Uniform(0.0, 0.6))
    row = [0, NO_ANSWER, 3]
    (check,) = checks_of(mechanism, np.array([row]))
    (view,) = check.views
    reports = np.array(list(itertools.product(range(-1, 5), repeat=3)))
    logs = mechanism.log_likelihoods(reports, np.array([row]))[:, 0]
    assert view.law[view.places(reports)] == pytest.approx(np.exp(logs), abs=1e-12)
    assert np.count_nonzero(view.law) == 6


def test_all_rows_are_drawn_where_they_are_few_and_else_the_extremes_with_others() -> None:
    assert some_rows(list_rows(2, 3), 9).tolist() == list_rows(2, 3).tolist()
    chosen = some_rows(list_rows(3, 5), 20)
    assert len(np.unique(chosen, axis=0)) == 20
    assert [0, 0, 0] in chosen.tolist()
    assert [4, 4, 4] in chosen.tolist()
    assert np.array_equal(chosen, some_rows(list_rows(3, 5), 20))


@pytest.mark.parametrize(
    "mechanism", [GeneralizedRandomizedResponse(1.0, 3), FreshTwoLayer((3,), Uniform(0.1, 0.3))], ids=["k-RR", "fresh"]
)
def test_either_source_draws_what_the_check_is_of(mechanism: RowMechanism) -> None:
    (check, *_) = checks_of(mechanism, np.array([[1, 2]]))
    assert check.mechanism is mechanism
    for draw in (check.draw, check.secure):
        assert draw is not None
        places = check.views[0].places(draw(50, 1))
        assert np.all(check.views[0].law[places] > 0)


def test_each_value_of_every_response_is_drawn() -> None:
    """Not the worst pair alone."""
    cases = [case for case in shared_cases() if case.group in {"k-rr", "channels"}]
    assert {case.group for case in cases} == {"k-rr", "channels"}
    for case in cases:
        checks = case.law_checks()
        (mechanism,) = {check.mechanism for check in checks}
        assert mechanism is not None
        low, high = mechanism.value_range
        names = {check.name for check in checks}
        if high - low < 10:
            assert {f"[{value}]" for value in range(low, high + 1)} <= names
            assert any("," in name for name in names)
        else:  # of many, which are alike: both ends, and one between them
            assert len(names) == 3
            assert {f"[{low}]", f"[{high}]"} < names
