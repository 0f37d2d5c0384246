"""Lessons: on a terminal, and as plain data without infinities."""

import io
import json
import math

from psephos.scenarios.adversaries import AttackReport, Row
from psephos.scenarios.presentation import attack_report_to_dict, show_lesson
from rich.console import Console


def attack_report(*, rows: tuple[Row, ...] = ()) -> AttackReport:
    """Return a lesson."""
    return AttackReport(role="coalition", who="the server", trust="Nobody.", sentences=("It is so.",), rows=rows)


def shown(told: AttackReport) -> str:
    """Return what a terminal shows."""
    output = io.StringIO()
    show_lesson(Console(file=output, width=100), told)
    return output.getvalue()


def test_a_terminal_shows_who_trust_words_and_the_table() -> None:
    rows: tuple[Row, ...] = (
        {"others": 1200, "case": "[bold]", "ε": math.inf, "bound_on_success": 0.123456},
        {"others": 3, "case": "other", "ε": 1.0, "bound_on_success": 1.0},
    )
    text = shown(attack_report(rows=rows))
    for words in (
        "Adversary: coalition, the server",
        "Trust: Nobody.",
        "  It is so.",
        "Bound on success",
        "ε",
        "Others",
    ):
        assert words in text
    for cell in ("1,200", "[bold]", "∞", "0.1235"):
        assert cell in text
    assert text.index("Case") < text.index("Others")  # texts stand before numbers


def test_a_long_table_and_no_table_are_left_to_the_folder() -> None:
    rows: tuple[Row, ...] = tuple({"number": n} for n in range(25))
    assert "The table has 25 rows" in shown(attack_report(rows=rows))
    assert "Number" not in shown(attack_report(rows=rows))
    assert "Number" in shown(attack_report(rows=rows[:24]))
    assert "adversary-" not in shown(attack_report())


def test_plain_data_has_null_where_json_has_no_number() -> None:
    told = attack_report(rows=({"odds": math.inf, "bits": math.nan, "who": "server", "n": 2},))
    plain = json.loads(json.dumps(attack_report_to_dict(told), allow_nan=False))
    assert plain["rows"] == [{"odds": None, "bits": None, "who": "server", "n": 2}]
    assert plain["sentences"] == ["It is so."]
