"""Outcomes of protocols without a room of their own: their fields, by name."""

from pathlib import Path

import msgspec
from pages import Page
from psephos.protocol.dpwevote import Outcome, PossibleRanges
from psephos.protocol.estimators import Estimate
from psephos.scenarios.presentation import draw_outcome, rows_of, show_outcome


class Answer(msgspec.Struct):
    """What some other protocol releases."""

    mean: float
    name: str


class Estimated(msgspec.Struct):
    """What another one estimates."""

    mean: Estimate
    name: str
    note: str | None = None


class Derived(Outcome, frozen=True, kw_only=True):
    """What a protocol made from another releases."""

    round_number: int


def test_another_protocols_outcome_is_a_table_of_its_fields() -> None:
    page = Page()
    show_outcome(page.console, Answer(1234.5, "plain"), truth={"mean": 1200.0})
    assert ["mean", "1,234.5"] in [line.split() for line in page.text.splitlines()]
    assert "mean (true)" in page.text


def test_a_truth_in_words_is_shown_in_words() -> None:
    page = Page()
    show_outcome(page.console, Answer(1234.5, "plain"), truth={"name": "[flowery]"})
    assert ["name", "(true)", "[flowery]"] in page.lines


def test_what_one_party_is_told_is_a_table_too() -> None:
    page = Page()
    show_outcome(page.console, Estimated(Estimate(3.0, 0.5), "yours"))
    assert ["mean", "3.0", "±", "0.5"] in page.lines


def test_another_protocols_outcome_has_a_column_for_each_field_and_its_error() -> None:
    (row,) = rows_of(Estimated(Estimate(1 / 3, 0.5), "plain"), truth=None)
    assert row == {"mean": 1 / 3, "mean_standard_error": 0.5, "name": "plain"}


def test_an_outcome_without_a_picture_of_its_own_leaves_none(tmp_path: Path) -> None:
    assert draw_outcome(Answer(1.0, "a"), title="A survey", truth=None, folder=tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_an_outcome_made_from_another_is_shown_as_that() -> None:
    page = Page()
    derived = Derived(
        candidates=(),
        num_partners=7,
        total_weight=None,
        weight_counts=(),
        weight_bias_bound=0.0,
        error_prior="mixed",
        joint_level=0.0,
        possible=PossibleRanges(
            total_weight=(7.0, 21.0), support=(0.0, 21.0), quota=(3.5, 10.5), margin=(-10.5, 10.5), count=(0.0, 7.0)
        ),
        epsilon_weight=0.0,
        epsilon_opinion=1.0,
        epsilon_total=1.0,
        round_number=2,
    )
    show_outcome(page.console, derived, truth=None)
    assert "from the reports of 7 partners" in page.text
