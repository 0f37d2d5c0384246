"""The equivocator: whoever compares transcripts catches it, in every protocol, and nobody pays for it."""

from collections.abc import Callable
from typing import Any

import pytest
from psephos.agents.adversaries import Equivocator
from psephos.scenarios.running.resolution import Local

Configuration = Callable[..., Local]
Play = Callable[..., Any]

PROTOCOLS = ["dpwevote", "truth-discovery", "moral-preferences", "fair-voting", "central"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_some_are_misled_and_two_digests_differ(play: Play, configuration: Configuration, protocol: str) -> None:
    misled = list(configuration(protocol).names[1:3])
    played = play(protocol, {"role": "equivocator", "misled": misled})
    assert played.failure is None
    (attack_report,) = played.attack_reports
    assert "their transcripts have 2 digests" in attack_report.sentences[0]
    assert "has caught the server" in attack_report.sentences[0]
    assert sorted((row["parties"], row["among them misled"]) for row in attack_report.rows) == [(2, 0), (2, 2)]
    assert len({row["transcript"] for row in attack_report.rows}) == 2


@pytest.mark.parametrize(
    ("released", "told"),
    [
        ({"passes": True, "support": 1.5}, {"passes": False, "support": 1.5}),
        ({"winner": "a", "candidates": ["a", "b"]}, {"winner": "b", "candidates": ["a", "b"]}),
        ({"winner": "a", "candidates": ["a"], "n": 3}, {"winner": "a", "candidates": ["a"], "n": 3}),
        ({"means": [1.5, {"x": -2.0}], "names": ["x"]}, {"means": [-1.5, {"x": 2.0}], "names": ["x"]}),
    ],
)
def test_an_outcome_is_turned_around(configuration: Configuration, released: object, told: object) -> None:
    resolved = configuration("dpwevote", {"role": "equivocator", "misled": ["partner-1"]})
    (deviation,) = resolved.adversaries[0].deviations(resolved.context(seed=1)).values()
    assert isinstance(deviation, Equivocator)
    assert deviation.release is not None
    assert deviation.release(released) == told


def test_everybody_reports_and_pays_what_it_would(play: Play) -> None:
    table = {"role": "equivocator", "misled": ["partner-1"], "members": ["server"]}
    honest, misled = play("dpwevote"), play("dpwevote", table)
    for name in ("result.json", "ledger.jsonl"):
        assert (misled.folder / name).read_bytes() == (honest.folder / name).read_bytes()
    assert not (honest.folder / "adversaries.json").exists()


def test_a_session_that_ends_without_a_release_misleads_nobody(play: Play) -> None:
    leaver = {"role": "drop-out", "members": ["partner-4"]}
    _, attack_report = play("dpwevote", leaver, {"role": "equivocator", "misled": ["partner-1"]}).attack_reports
    assert attack_report.sentences[0].startswith("0 parties heard a release")
    assert attack_report.rows == ()
