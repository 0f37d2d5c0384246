"""`tests/verdicts.py`: that a test is measured as it is, and no share of a level is above 1."""

from pathlib import Path

import numpy as np
import pytest
import verdicts
from numpy.typing import NDArray
from psephos.protocol.arrays import IntArray
from thoroughness import draws


@pytest.mark.parametrize(
    ("system", "cells", "case"),
    [
        ("dpwevote", "_VOTES", {"variant": "joint", "epsilon": 3.0, "partners": 30}),
        (
            "fair-voting",
            "_ELECTIONS",
            {"mechanism": "laplace", "objective": "parity", "groups": (8, 8), "alternatives": 4, "epsilon": 1.0},
        ),
        ("fair-voting", "_ELECTIONS",
         {"mechanism": "whole_ranking", "objective": "welfare", "groups": (8,), "alternatives": 2, "epsilon": 1.0}),
        ("moral-preferences", "_SURVEYS",
         {"way": "laplace, VLCP", "features": 5, "voters": 20, "times the price": 10.0, "alternatives": 2}),
    ],
)  # fmt: skip
def test_verdicts_use_no_more_than_their_level(
    monkeypatch: pytest.MonkeyPatch, system: str, cells: str, case: dict[str, object]
) -> None:
    """Of the worst truth that is found; within 6 standard errors of the level, a false alarm of less than 1e-7."""
    monkeypatch.setattr(verdicts, cells, [case])
    monkeypatch.setattr(verdicts, "_LOOKED_AT", 20)
    monkeypatch.setattr(verdicts, "HELD", draws(500, full=20_000))
    monkeypatch.setattr(verdicts, "_DRAWN", 2)
    (measured,) = verdicts.MEASURES[system](np.random.default_rng(3))
    assert 0 <= measured.used <= 1 + 6 / 2.6 * max(measured.error, 2.6 * (0.05 / verdicts.HELD) ** 0.5 / 0.05)
    assert 0 <= measured.verdicts <= 100
    assert measured.seconds < 5


def test_a_test_that_uses_more_than_its_level_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elections that confirm whoever leads at all are wrong in about half of the sessions of a tie."""
    case = {"mechanism": "laplace", "objective": "welfare", "groups": (8,), "alternatives": 2, "epsilon": 1.0}
    monkeypatch.setattr(verdicts, "_ELECTIONS", [case])
    monkeypatch.setattr(verdicts, "HELD", 500)
    monkeypatch.setattr(verdicts, "_LOOKED_AT", 20)
    monkeypatch.setattr(verdicts, "_DRAWN", 1)

    def bold(_confirming: object, _utilities: object, winners: IntArray, _exactly: object) -> NDArray[np.bool_]:
        return np.ones(len(winners), dtype=np.bool_)

    monkeypatch.setattr(verdicts.Confirming, "are_confirmed", bold)
    (measured,) = verdicts.MEASURES["fair-voting"](np.random.default_rng(3))
    assert measured.used > 5


def test_a_page_keeps_what_stands_before_an_arrow(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("| one | 0.10 → 0.20 | 3 → 4 |\n| other | 0.50 | 7 |\n| third | 1 |\n", encoding="utf-8")
    cells = {name: verdicts.Measured(name, 0.876, 0.01, 9, 0.1) for name in ("one", "other")}
    verdicts.write(page, cells)
    text = page.read_text(encoding="utf-8")
    assert text == "| one | 0.10 → 0.88 | 3 → 9 |\n| other | 0.88 | 9 |\n| third | 1 |\n"
