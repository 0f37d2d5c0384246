"""Sessions of processes over a transport of somebody: named on both sides, with its addresses, or refused."""

import contextlib
import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from approval import BALLOTS
from deployments import NOBODY_LISTENS, Process
from psephos.protocol import ConfigurationError
from psephos.scenarios.deployment.common import check_address, find_transport
from runs import read_json

Psephos = Callable[..., Any]


@pytest.mark.usefixtures("approval")
@pytest.mark.parametrize("name", ["memory", "array", "nowhere"])
def test_a_transport_by_which_processes_cannot_meet_is_refused_with_the_reason(psephos: Psephos, name: str) -> None:
    reasons = {"memory": "it stays inside one process", "array": "no party is there by itself", "nowhere": "one of"}
    for words in (
        ("serve", "tea.toml", "--listen", "127.0.0.1:0"),
        ("join", NOBODY_LISTENS, "--as", "voter-1", "--input", "ballots.csv"),
    ):
        refusal = psephos(*words, "--transport", name, "--out", "out").refusal
        assert refusal.startswith("psephos: transport ")
        assert reasons[name] in refusal
        assert f"is '{name}'" in refusal
    assert not Path("out").exists()


@pytest.mark.usefixtures("approval")
def test_an_address_is_the_transports_to_judge() -> None:
    unix, silent, known = (find_transport(name) for name in ("unix", "silent", "known"))
    check_address("/tmp/socket", field="--listen", transport=unix)  # noqa: S108  nobody listens
    with pytest.raises(ConfigurationError) as caught:
        check_address("7000", field="--listen", transport=unix)
    assert str(caught.value) == ("--listen is '7000': use an address of its transport (a socket's path has a slash)")
    with pytest.raises(ConfigurationError, match="'silent' is known to keep on this machine") as caught:
        check_address("/tmp/socket", field="--listen", transport=silent)  # noqa: S108  the same
    assert "over 'silent' nobody proves who it is" in caught.value.allowed
    for address, transport in (("127.0.0.1:7000", silent), ("example.org:7000", known)):
        check_address(address, field="--listen", transport=transport)


@pytest.mark.usefixtures("approval")
def test_what_a_transport_says_against_an_address_at_last_is_one_line(psephos: Psephos) -> None:
    words = ("--as", "voter-1", "--input", "own.csv", "--simulate", "--seed", 4, "--transport", "known")
    Path("own.csv").write_text("tea,coffee,lime soda\n1,0,1\n", encoding="utf-8")
    ended = psephos("join", "nowhere", *words, "--out", "out")
    expected = "the server's address is 'nowhere': use an address of its transport (a socket's path has a slash)"
    assert (ended.status, ended.err) == (2, f"psephos: {expected}\n")


@pytest.mark.full("four processes; other transports are tested within one")
def test_processes_over_a_transport_of_somebody_decide_what_arrays_decide(
    approval: Path, psephos: Psephos, monkeypatch: pytest.MonkeyPatch
) -> None:
    header, *rows = list(csv.reader(BALLOTS.splitlines()))[:6]
    with (approval / "ballots.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    for name, *entries in rows:
        (approval / f"{name}.csv").write_text(f"{','.join(header[1:])}\n{','.join(entries)}\n", encoding="utf-8")
    assert psephos("run", "tea.toml", "--transport", "array", "--out", "ran").status == 0
    monkeypatch.setenv("PYTHONPATH", str(approval / "site"))
    with contextlib.ExitStack() as stack:

        def start(*words: object) -> Process:
            how = ("--simulate", "--seed", 4, "--transport", "unix")
            return stack.enter_context(Process(*words, *how, folder=approval, is_measured=False))

        server = start("serve", "tea.toml", "--listen", "./socket", "--out", "served")
        address = server.address()
        assert address == "./socket"
        clients = [
            start("join", address, "--as", name, "--input", f"{name}.csv", "--json", "--out", f"as-{name}")
            for name, *_ in rows
        ]
        heard = [client.ending() for client in clients]
        served = server.ending()
    assert [(ended.status, ended.err) for ended in (served, *heard)] == [(0, "")] * 6
    assert [words[0] for line in served.out.splitlines() if len(words := line.split()) == 4][:2] == ["tea", "coffee"]
    expected = read_json("ran/result.json")
    result = read_json("served/result.json")
    assert result["outcome"] == expected["outcome"]
    assert [json.loads(ended.out) for ended in heard] == [expected["outcome"]] * 5
    assert read_json("served/run.json")["transport"] == "unix"
    assert Path("served/estimates.svg").exists()
