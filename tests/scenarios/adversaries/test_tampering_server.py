"""The liar: clients that agreed to something else refuse before anything is drawn or charged."""

from collections.abc import Callable
from typing import Any

import pytest
from psephos.protocol import QuorumError
from psephos.scenarios import read_ledger

Play = Callable[..., Any]


@pytest.mark.parametrize("transport", ["memory", "tcp"])
@pytest.mark.parametrize(
    ("protocol", "parameters"),
    [
        ("dpwevote", {"epsilon": 99.0}),
        ("dpwevote", {"epsilon": -1.0}),
        ("dpwevote", {"variant": "laplace"}),
        ("fair-voting", {"epsilon": 50.0}),
    ],
)
def test_nobody_reports_or_pays_on_false_terms(
    play: Play, protocol: str, parameters: dict[str, Any], transport: str
) -> None:
    played = play(
        protocol, {"role": "tampering-server", "parameters": parameters}, transport=transport, settings=["quorum=1"]
    )
    assert isinstance(played.failure, QuorumError)
    (attack_report,) = played.attack_reports
    assert [row["parties"] for row in attack_report.rows] == [4, 4, 0, 0]
    assert "4 of 4 parties refused before anything was drawn or charged" in attack_report.sentences[0]
    assert attack_report.sentences[1].startswith("The first said: ")
    assert next(iter(parameters)) in attack_report.sentences[1]
    assert read_ledger(played.folder) == []
