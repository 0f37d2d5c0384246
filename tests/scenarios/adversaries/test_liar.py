"""The liar: clients that agreed to something else refuse before anything is drawn or charged."""

from collections.abc import Callable
from typing import Any

import pytest
from psephos.protocol import ConfigurationError, QuorumError
from psephos.scenarios import read_ledger
from psephos.scenarios.running.resolution import Resolved

Stage = Callable[..., Resolved]
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
    played = play(protocol, {"role": "liar", "parameters": parameters}, transport=transport, settings=["quorum=1"])
    assert isinstance(played.failure, QuorumError)
    (lesson,) = played.lessons
    assert [row["parties"] for row in lesson.rows] == [4, 4, 0, 0]
    assert "4 of 4 parties refused before anything was drawn or charged" in lesson.sentences[0]
    assert lesson.sentences[1].startswith("The first said: ")
    assert next(iter(parameters)) in lesson.sentences[1]
    assert read_ledger(played.folder) == []


@pytest.mark.parametrize(
    ("keys", "field", "words"),
    [
        ({"parameters": {"epsilon": 9.0}, "members": ["partner-2"]}, "members", "'server', or left out"),
        ({"parameters": {}}, "parameters", "at least one that is false"),
        ({"parameters": {"epsilom": 9.0}}, "parameters", "one of candidates, weights, "),
        ({"parameters": {"epsilon": 1.0}}, "parameters.epsilon", "another value than agreed"),
        ({"parameters": {"weights": [1, 2, 3]}}, "parameters.weights", "another value than agreed"),
    ],
)
def test_what_cannot_be_is_refused(stage: Stage, keys: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        stage("dpwevote", {"role": "liar", **keys})
    assert caught.value.field == f"adversary 1: {field}"
    assert words in str(caught.value)
