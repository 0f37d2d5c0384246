"""What is published of a run, to the last bit and with the truth only where it may be shown."""

from typing import Any

import msgspec
from psephos.protocol.dpwevote import DPWeVote, Outcome, Parameters
from psephos.protocol.estimators import Estimate
from psephos.scenarios import simulate
from psephos.scenarios.results import rows_of
from strategies import told

PARTIES = {f"p{n}": (1 + n % 3, n % 2, int(n % 5 > 0)) for n in range(60)}
TRUTH = {"rail": 60.0, "fish": 96.0, "total weight": 120.0, "quota": 60.0}


def outcome(**options: Any) -> Outcome:
    """Return what a vote on two candidates released."""
    return simulate(DPWeVote(Parameters(candidates=("rail", "fish"), **options)), PARTIES, seed=8)


def test_rows_hold_the_numbers_to_their_last_bit() -> None:
    released = outcome()
    rows = rows_of(released, truth=TRUTH)
    assert [row["candidate"] for row in rows] == ["rail", "fish"]
    for row, candidate in zip(rows, released.candidates, strict=True):
        assert row["support"] == told(candidate.support).value
        assert row["margin_standard_error"] == candidate.margin.standard_error
        assert row["error_probability"] == candidate.error_probability
        assert (row["true_support"], row["true_quota"]) == (TRUTH[candidate.name], 60.0)


def test_without_a_truth_no_row_has_one() -> None:
    assert not any("true" in column for row in rows_of(outcome(), truth=None) for column in row)


def test_an_outcome_that_tells_the_margin_alone_has_no_column_for_the_rest() -> None:
    rows = rows_of(outcome(variant="two_point"), truth=TRUTH)
    assert not any(column.startswith(("support", "quota")) for row in rows for column in row)
    assert [row["true_margin"] for row in rows] == [0.0, 36.0]
    with_support = rows_of(outcome(variant="two_point", quota=60), truth=TRUTH)
    assert [row["quota"] for row in with_support] == [60.0, 60.0]
    assert all("support_standard_error" in row for row in with_support)


class Answer(msgspec.Struct):
    """What some other protocol releases."""

    mean: Estimate
    name: str


def test_another_protocols_outcome_has_a_column_for_each_field_and_its_error() -> None:
    (row,) = rows_of(Answer(Estimate(1 / 3, 0.5), "plain"), truth=None)
    assert row == {"mean": 1 / 3, "mean_standard_error": 0.5, "name": "plain"}
