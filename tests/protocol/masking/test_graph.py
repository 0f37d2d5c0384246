"""Who masks with whom: neighbors are mutual, and a circle's degree is what the source's conditions ask."""

import math
from fractions import Fraction

import pytest
from psephos.protocol import ConfigurationError
from psephos.protocol.masking import Circle, Complete, circle_for
from psephos.protocol.masking.graph import _degree_for  # pyright: ignore[reportPrivateUsage]  for the source's numbers of parties
from scipy.stats import hypergeom

SEED = b"public"


def test_everybody_is_everybody_s_neighbor() -> None:
    graph = Complete(4, 3)
    assert [graph.neighbors_of(place) for place in range(4)] == [(1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2)]
    assert graph.adversary == "a server that lies"


def test_neighbors_on_a_circle_are_mutual_and_as_many_as_the_degree() -> None:
    circle = Circle(1_001, 4, 8, SEED)
    near = [circle.neighbors_of(place) for place in range(1_001)]
    assert {len({*own}) for own in near} == {8}
    assert all(place not in own for place, own in enumerate(near))
    assert all(place in near[other] for place, own in enumerate(near) for other in own)
    assert circle.adversary == "a semi-honest server only"
    another = Circle(1_001, 4, 8, b"another")
    assert near != [another.neighbors_of(place) for place in range(1_001)]


@pytest.mark.parametrize(
    ("number", "part", "degree"),
    [
        (1_000, "1/10", 50),
        (1_000, "1/5", 110),
        pytest.param(10_000, "1/10", 60, marks=pytest.mark.full("sums of large binomials")),
        pytest.param(10_000, "1/5", 134, marks=pytest.mark.full("likewise")),
        pytest.param(100_000, "1/10", 64, marks=pytest.mark.full("likewise")),
        pytest.param(100_000, "1/5", 146, marks=pytest.mark.full("likewise")),
    ],
)
def test_degrees_are_those_of_the_source(number: int, part: str, degree: int) -> None:
    """Both conditions, checked by scipy's law; the degree before has no number of shares that meets both."""
    marked = math.floor(Fraction(part) * number)
    found = _degree_for(number, marked, marked)
    assert found is not None
    assert found[0] == degree

    def is_met(among: int, needed: int) -> bool:
        colluding = number * float(hypergeom.sf(needed - 1, number - 1, marked, among))
        leaving = number * float(hypergeom.sf(among - needed, number - 1, marked - 1, among))
        return colluding <= 2.0**-40 * (1 + 1e-9) and leaving <= 2.0**-30 * (1 + 1e-9)

    assert is_met(*found)
    assert not any(is_met(degree - 2, needed) for needed in range(1, degree - 1))


def test_a_row_of_parties_that_are_gone_and_neighbors_that_collude_are_bounded_together() -> None:
    number, colluders, leavers = 1_001, 100, 5
    degree, needed = _degree_for(number, colluders, leavers) or (0, 0)
    in_a_row = math.perm(colluders + leavers, degree // 2) / math.perm(number, degree // 2)
    assert in_a_row > 0
    colluding = float(hypergeom.sf(needed - 1, number - 1, colluders, degree))
    assert number * (in_a_row + colluding) <= 2.0**-40


def test_a_circle_is_made_for_its_parties() -> None:
    circle = circle_for(1_001, corrupt=Fraction(1, 10), dropped=Fraction(1, 10), seed=SEED)
    assert (circle.degree, circle.needed) == _degree_for(1_001, 100, 100)
    assert circle_for(1_001, corrupt=Fraction(0), dropped=Fraction(0), seed=SEED).degree == 2


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((1_000, 3, 8, SEED), "parties is 1000: use at least 1001"),
        ((1_001, 3, 7, SEED), "degree is 7. Make it even"),
        ((1_001, 3, 0, SEED), "degree"),
        ((1_001, 9, 8, SEED), "needed is [09]: use a value from 1 to 8"),
        ((1_001, 0, 8, SEED), "needed is [09]: use a value from 1 to 8"),
    ],
)
def test_what_is_no_circle_is_refused(given: tuple[int, int, int, bytes], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        Circle(*given)


def test_parts_that_leave_no_circle_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="smaller parts of the parties"):
        circle_for(1_001, corrupt=Fraction(3, 5), dropped=Fraction(3, 5), seed=SEED)
    with pytest.raises(ConfigurationError, match=r"corrupt is .*: use a value of at least 0 and below 1"):
        circle_for(1_001, corrupt=Fraction(1), dropped=Fraction(0), seed=SEED)
