"""Objects in a REPL and a notebook: exact lines, frames, and tables in which nothing is markup."""

import re
from typing import Any

import msgspec
import pandas as pd
import pytest
from makers import loss_of
from psephos.protocol.estimators import Estimate
from psephos.protocol.mechanisms import DiscreteLaplace, FiniteChannel, GeneralizedRandomizedResponse, OneLayer
from psephos.protocol.privacy import Budget, Ledger, LocalRandomizer
from psephos.protocol.shown import Shown
from psephos.scenarios import load, run
from psephos.scenarios.adversaries import AttackReport
from psephos.scenarios.presentation.objects import frame_of, html_of, table_of, text_of

HOSTILE = "<img src=x onerror=alert(1)>"
LOSS = loss_of(mechanism="k-RR", event=LocalRandomizer(epsilon=0.5), unit="answer", claimed=0.5)


class Answer(Shown, msgspec.Struct, frozen=True):
    """What somebody else's vote publishes."""

    question: str
    yes: Estimate
    notes: tuple[str, ...] = ()


def ledger_of(person: str) -> Ledger:
    """Return a ledger with two losses."""
    ledger = Ledger(person, budget=Budget(epsilon=4.0))
    for phase in ("first", "second"):
        ledger.charge(LOSS, session="poll", phase=phase)
    return ledger


def test_an_exact_line_rounds_nothing_and_says_how_much_it_leaves_out() -> None:
    answer = Answer("tea?", Estimate(1 / 3, 0.1), tuple(map(str, range(99))))
    told = "Estimate(value=0.3333333333333333, standard_error=0.1)"
    assert repr(answer) == f"Answer(question='tea?', yes={told}, notes=<99 str>)"
    assert repr(Answer("?" * 200, answer.yes)) == f"Answer(question=<200 characters>, yes={told}, notes=())"


def test_what_prints_well_is_the_same_struct_as_before() -> None:
    answer = Answer("tea?", Estimate(0.5, 0.1))
    assert msgspec.json.decode(msgspec.json.encode(answer), type=Answer) == answer
    assert hash(answer) == hash(Answer("tea?", Estimate(0.5, 0.1)))


@pytest.mark.parametrize("name", ["eu-council", "crowd", "moral-synthetic", "two-societies"])
def test_an_outcome_of_every_system_prints_and_has_a_frame(name: str) -> None:
    outcome: Any = run(load(name), transport="array").outcome
    assert str(outcome) != repr(outcome)
    assert len(repr(outcome)) < 1_000
    assert repr(outcome).startswith("Outcome(")
    assert len(outcome.to_frame())
    assert "<table" in outcome._repr_html_()


def test_an_outcome_prints_its_verdict_and_the_numbers_behind_it() -> None:
    first, *lines, last = str(run(load("eu-council"), transport="array").outcome).splitlines()
    assert first.startswith("Rail corridors and Data act pass; Fishing quotas fails.")
    assert lines[0].strip() == "Fishing quotas fails: 215 ± 19 of 345, quota 255"
    assert len(lines) == 3
    assert last == "  (± is one standard error)"


def test_a_notebook_shows_each_estimate_with_its_error_and_the_truth_where_it_may() -> None:
    left: Any = run(load("eu-council"), transport="array")
    shown = left._repr_html_().replace("\N{NO-BREAK SPACE}", " ")
    assert "<p><strong>Rail corridors and Data act pass; Fishing quotas fails." in shown
    assert "<td>308 ± 19</td>" in shown
    assert "standard_error" not in shown
    assert "<th>True support</th>" in shown
    assert "True support" not in html_of(left.outcome)
    assert "± is one standard error" in shown
    assert "<td>passes</td>" in shown


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("canteen", []),  # an election that tells no scores
        (
            "two-societies",
            ["Verdict", "Probability of best", "Welfare", "Disparity", "Utility (north)", "Utility (south)"],
        ),
    ],
)
def test_a_notebook_shows_no_column_that_is_empty_and_no_error_by_itself(name: str, numbers: list[str]) -> None:
    shown = html_of(run(load(name), transport="array").outcome)
    assert re.findall("<th>(.*?)</th>", shown) == ["Alternative", "Wins", *numbers]
    assert ("± is one standard error" in shown) is bool(numbers)


def test_what_a_terminal_would_obey_is_not_printed() -> None:
    assert "\x1b" not in str(ledger_of("\x1b[2Jann"))
    assert "\x1b" not in text_of(Answer("\x1b[2J", Estimate(0.5, 0.1)))


def test_a_ledger_reads_well_and_has_a_frame() -> None:
    ledger = ledger_of("ann")
    assert str(ledger) == "ann: 2 losses, ε = 1 in all (proven, replace-one neighbors); the budget leaves 3"
    assert repr(ledger) == "Ledger('ann', spent=1.0, remaining=3.0, relation='replace-one', entries=<2 LedgerEntry>)"
    assert repr(Ledger("bob")) == "Ledger('bob', spent=0.0, remaining=inf, relation='replace-one', entries=none)"
    circle = msgspec.structs.replace(LOSS, mechanism="shares, semi-honest server only")
    ledger_of_circle = Ledger("eve")
    ledger_of_circle.charge(circle, session="poll", phase="votes")
    assert str(ledger_of_circle).endswith("in all (proven, replace-one neighbors, semi-honest server only)")
    frame = ledger.to_frame()
    assert frame[["phase", "unit", "model", "proven"]].to_numpy().tolist() == [
        ["first", "answer", "local", 0.5],
        ["second", "answer", "local", 0.5],
    ]


def test_an_empty_ledgers_frame_has_the_columns_of_others() -> None:
    assert list(Ledger("bob").to_frame().columns) == list(ledger_of("ann").to_frame().columns)


def test_the_frame_of_a_finite_mechanism_is_its_law() -> None:
    mechanism = GeneralizedRandomizedResponse(epsilon=1.0, num_choices=3)
    frame = mechanism.to_frame()
    assert frame.to_numpy().tolist() == [list(row) for row in mechanism.channel_matrix()]
    assert (frame.index.name, frame.columns.name) == ("value", "report")


def test_a_channel_in_a_notebook_says_what_it_costs_whom() -> None:
    shown = html_of(GeneralizedRandomizedResponse(epsilon=1.0, num_choices=3))
    assert "P[report | value] of 3 values and 3 reports. ε = 1 for one value: proven, replace-one neighbors" in shown
    assert shown.count("<tr") == 5  # two lines of headers, three values


def test_a_channel_of_several_blocks_protects_within_them() -> None:
    shown = html_of(OneLayer((2, 3), (0.25, 0.25)))
    assert "for one value among those with the same possible reports" in shown


def test_a_large_channel_is_not_written_out_unasked() -> None:
    shown = html_of(GeneralizedRandomizedResponse(epsilon=1.0, num_choices=1_000_000))
    assert "1,000,000 values" in shown
    assert "<table" not in shown


def test_the_exact_line_of_a_channel_has_no_masses() -> None:
    half = 1 << 52
    assert repr(FiniteChannel(1.0, ((half, half), (half, half)))) == "FiniteChannel(epsilon=1.0, masses=<2 rows of 2>)"


def test_names_with_markup_are_text() -> None:
    attack_report = AttackReport(
        role=HOSTILE, who=HOSTILE, trust="", sentences=(HOSTILE,), rows=({HOSTILE: HOSTILE, "n": 1},)
    )
    for shown in (Answer(HOSTILE, Estimate(0.5, 0.1), (HOSTILE,)), ledger_of(HOSTILE), attack_report):
        written = html_of(shown)
        assert "<img" not in written
        assert "&lt;img src=x" in written


def test_a_long_table_says_what_it_leaves_out() -> None:
    shown = table_of(pd.DataFrame({"n": range(50)}))
    assert "… and 10 more rows: to_frame() returns all." in shown
    assert shown.count("<tr") == 41
    assert "more row" not in table_of(pd.DataFrame({"n": range(40)}))


def test_what_has_no_frame_is_named() -> None:
    with pytest.raises(TypeError, match="DiscreteLaplace has no frame"):
        frame_of(DiscreteLaplace(scale=1.0, least=0, greatest=1))
    assert text_of(3) == "3"
