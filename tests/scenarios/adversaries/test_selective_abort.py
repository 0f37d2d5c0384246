"""Selective abort: a quorum stops it; without one the target has its own noise, which its ledger charges for."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from psephos.protocol import ConfigurationError, QuorumError
from psephos.scenarios import read_ledger
from psephos.scenarios.resolution import Resolved

Stage = Callable[..., Resolved]
Play = Callable[..., Any]


def abort(**keys: Any) -> dict[str, Any]:
    """Return a table."""
    return {"role": "selective-abort", "target": "partner-2", "trials": 10, **keys}


@pytest.mark.parametrize("transport", ["memory", "tcp"])
@pytest.mark.parametrize("hangs_up", [True, False])
def test_without_a_quorum_the_target_alone_is_counted_and_loses_what_its_ledger_says(
    play: Play, transport: str, *, hangs_up: bool
) -> None:
    settings = ["quorum=1", "deadline_seconds=0.3"] if not hangs_up else ["quorum=1"]
    played = play("dpwevote", abort(hangs_up=hangs_up), transport=transport, settings=settings)
    (lesson,) = played.lessons
    assert "ended with 1 of 4 parties counted" in lesson.sentences[0]
    assert "3 were cut off, and know it" in lesson.sentences[0]
    crowd, alone, server = lesson.rows
    assert [row["the target"] for row in lesson.rows] == ["in the crowd", "isolated", "the server itself"]
    assert alone["bits"] == pytest.approx(server["bits"])
    assert crowd["bits"] < alone["bits"]
    entries = read_ledger(played.folder)
    assert {entry.person for entry in entries} == ({"partner-2"} if hangs_up else {f"partner-{n}" for n in range(1, 5)})
    assert sum(entry.proven for entry in entries if entry.person == "partner-2") == pytest.approx(1.0)
    assert "its ε = 1 allows 0.352" in lesson.sentences[-1]


def test_a_quorum_holds_and_names_who_is_missing(play: Play) -> None:
    played = play("dpwevote", abort(members=["partner-4"]), settings=["quorum=1.0"])
    assert isinstance(played.failure, QuorumError)
    (lesson,) = played.lessons
    assert lesson.who == "a server that drops all but partner-2 and 1 accomplices"
    assert "The quorum held: phase 'weights' had 2 of 4 reports" in lesson.sentences[0]
    assert "Nothing was published" in lesson.sentences[0]
    (written,) = json.loads((played.folder / "adversaries.json").read_bytes())
    assert written["sentences"] == list(lesson.sentences)
    assert (played.folder / "adversary-1.csv").is_file()
    assert "failure" in json.loads((played.folder / "run.json").read_bytes())


@pytest.mark.parametrize(
    ("table", "settings", "field", "words"),
    [
        (abort(members=["partner-2"]), (), "target", "no member of the coalition"),
        (abort(target="partner-9"), (), "target", "a partner of the roster"),
        (abort(target="server"), (), "target", "a partner of the roster"),
        (abort(members=["mallory"]), (), "members", "a partner of the roster"),
        (abort(trials=0), (), "trials", "at least 1"),
        (abort(secret="ranking"), (), "secret", "one of weight and opinions"),  # noqa: S106  what is inferred
        (abort(), ("variant=laplace",), "coalition", "of Laplace noise"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(
    stage: Stage, table: dict[str, Any], settings: list[str], field: str, words: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        stage("dpwevote", table, settings=settings)
    assert caught.value.field == f"adversary 1: {field}"
    assert words in str(caught.value)
