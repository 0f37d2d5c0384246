"""Shares of all votes: what is written is what is meant."""

from fractions import Fraction

import pytest
from bad_input import refuses
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.dpwevote.quotas import share_in


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("2/3", Fraction(2, 3)),
        (" 1 / 2 ", Fraction(1, 2)),
        ("66.67%", Fraction(6667, 10_000)),
        (".55", Fraction(11, 20)),
    ],
)
def test_a_share_is_exact_on_its_way_through_a_float(text: str, share: Fraction) -> None:
    assert share_in(text, field="x") == share
    given = DPWeVote.complete({"candidates": ["m"], "quota_fraction": text}, {})
    assert Parameters(candidates=("m",), quota_fraction=given["quota_fraction"]).exact_fraction == share


def test_a_part_of_many_votes_is_no_other_number_of_them() -> None:
    for number in (300, 3_000):
        for text, least in (("2/3", number * 2 // 3), ("66.67%", number * 2 // 3 + 1)):
            given = DPWeVote.complete({"candidates": ["m"], "quota_fraction": text}, {})
            share = Parameters(candidates=("m",), quota_fraction=given["quota_fraction"]).exact_fraction
            assert (share * number <= least, share * number <= least - 1) == (True, False)


@pytest.mark.parametrize("text", ["two thirds", "", "0", "3/2", "1/0", "-1/2", "2/3001", "nan", "1e-1", "50%%"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with refuses(said="such as 2/3, 75% or 0.85"):
        DPWeVote.complete({"candidates": ["m"], "quota_fraction": text}, {})
