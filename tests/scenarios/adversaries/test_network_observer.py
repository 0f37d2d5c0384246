"""The network observer: sizes as sent tell nothing, in every protocol; sizes that follow numbers would."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from psephos.protocol import ConfigurationError
from psephos.protocol.integers import RowCodec
from psephos.scenarios import RunFolder, load_scenario, resolve, run_in_folder
from psephos.scenarios.adversaries.network_observer import NetworkObserverRole, _evaluate_sizes  # pyright: ignore[reportPrivateUsage]  what its lesson is made of
from psephos.scenarios.running.resolution import Local

Configuration = Callable[..., Local]
Play = Callable[..., Any]

OBSERVER: dict[str, Any] = {"role": "network-observer"}


@pytest.mark.parametrize("transport", ["memory", "tcp"])
@pytest.mark.parametrize("protocol", ["dpwevote", "truth-discovery", "moral-preferences", "fair-voting", "central"])
def test_what_is_seen_on_the_wire_tells_of_no_value(play: Play, protocol: str, transport: str) -> None:
    (attack_report,) = play(protocol, OBSERVER, transport=transport).attack_reports
    assert attack_report.sentences[0].startswith("4 connections were seen")
    assert "no size tells anything of the" in attack_report.sentences[1]
    assert all(row["bits as sent"] == pytest.approx(0.0, abs=1e-9) for row in attack_report.rows)


def test_numbers_as_short_as_can_be_would_tell_of_preferences(play: Play) -> None:
    (attack_report,) = play(
        "central", OBSERVER, parties="voters={generator='normal', voters=12, records=20, features=6}"
    ).attack_reports
    ((row,),) = (attack_report.rows,)
    assert row["bytes a number"] > 1
    assert 0.1 < row["bits if compact"] <= math.log2(12)
    assert row["right if compact"] > row["guessing"] + 0.05


def test_sizes_as_sent_are_those_of_what_is_written_and_not_of_what_should_be(
    configuration: Configuration, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of rows that are written as short as can be they tell as much as is said of such."""
    context = configuration(
        "central", parties="voters={generator='normal', voters=12, records=20, features=6}"
    ).context(seed=3)
    (phase,), (attack, secret) = context.protocol.phases, NetworkObserverRole().attack(context)
    as_sent, as_needed = _evaluate_sizes(context, phase, attack, secret)
    assert as_sent.information == pytest.approx(0, abs=1e-9)
    assert as_needed.information > 0.1

    def encode(_: RowCodec, row: Sequence[int]) -> bytes:
        return msgspec.msgpack.encode(tuple(row))

    monkeypatch.setattr(RowCodec, "encode", encode)
    as_sent, as_needed = _evaluate_sizes(context, phase, attack, secret)
    assert as_sent == as_needed


def test_a_long_name_is_seen_and_said(play: Play, configuration: Configuration) -> None:
    (candidate,) = configuration("dpwevote").protocol.parameters.candidates
    partners = (
        f"partners=[{{partner='ann', weight=1, '{candidate}'=1}}, {{partner='theodora', weight=2, '{candidate}'=0}}]"
    )
    (attack_report,) = play("dpwevote", OBSERVER, parties=partners).attack_reports
    assert "names have 3 to 8 bytes" in attack_report.sentences[1]
    assert "sizes tell who has a long name, and no value" in attack_report.sentences[1]


@pytest.mark.few(most=1)
@pytest.mark.usefixtures("approval")
@pytest.mark.parametrize("transport", ["unix", "memory", "tcp"])
def test_it_watches_a_protocol_of_somebody_over_a_transport_of_somebody(transport: str) -> None:
    scenario = load_scenario("tea.toml", [f"transport={transport}", "adversary=[{ role = 'network-observer' }]"])
    (attack_report,) = run_in_folder(resolve(scenario), RunFolder(Path("out")), pictures=False).attack_reports
    assert attack_report.sentences[0].startswith("300 connections were seen")
    assert [(row["phase"], row["bits as sent"]) for row in attack_report.rows] == [
        ("ballots", pytest.approx(0.0, abs=1e-9))
    ]


@pytest.mark.usefixtures("approval")
def test_what_cannot_be_relayed_is_refused_before_anything_runs() -> None:
    settings = ["adversary=[{ role = 'network-observer' }]", "transport=known"]
    with pytest.raises(ConfigurationError, match="one over TCP, or one whose ends do not know each other") as caught:
        resolve(load_scenario("tea.toml", settings))
    assert (caught.value.field, caught.value.value) == ("transport", "known")
    with pytest.raises(ConfigurationError, match="network-observer"):
        resolve(load_scenario("tea.toml", [*settings, "transport=array"]))
