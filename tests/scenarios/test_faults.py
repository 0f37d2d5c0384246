"""A mistake in somebody else's protocol, transport or role is named in one sentence, on every path."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import trio
from faulty_plugins import FAULTS, MODULE, SCENARIO, Fault, install
from psephos.protocol import (
    ConfigurationError,
    PluginError,
    SessionResult,
    SimulatedNoise,
    Tally,
    UnheardError,
    UnusablePluginError,
    run_batches,
)
from psephos.scenarios import load_scenario, presentation, resolve, resolve_served, run_session, simulate
from psephos.scenarios.deployment import server
from psephos.scenarios.deployment.common import make_mode
from psephos.scenarios.presentation.presenter import Presenter
from psephos.scenarios.running.folder import RunFolder
from psephos.scenarios.running.plugin_errors import Plugin, blame_plugins
from runs import read_json
from thoroughness import IS_FULL

VOTES = {"ann": 1, "bob": 1, "eve": 0, "dan": 1, "kim": 0, "liv": 1}
# Those that stop a session itself, whoever runs it.
OF_SESSIONS = [
    fault
    for fault in FAULTS
    if not fault.settings and not fault.scenario and fault.status == 1 and not fault.name.startswith("a truth that ")
]
# Agents drop whoever reports what is out of range, and end for want of a quorum.
ON_PATHS = [
    pytest.param(fault, path, id=f"{fault.name}-{path}")
    for fault in OF_SESSIONS
    for path in ("array", "memory")
    if path == "array" or not fault.said_by_agents
]


@pytest.fixture
def brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Installs the distribution, with a mistake or none, and returns its module where that can be imported."""
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])

    def bring(fault: Fault | None = None) -> None:
        install(tmp_path / "site", fault)
        importlib.invalidate_caches()
        (tmp_path / "tea.toml").write_text(SCENARIO + (fault.scenario if fault else ""), encoding="utf-8")

    yield bring
    sys.modules.pop(MODULE, None)


def _is_of_agents_alone(fault: Fault) -> bool:
    return any(setting.startswith("transport=") for setting in fault.settings)


@pytest.mark.few(most=24)
@pytest.mark.parametrize(
    ("fault", "transport"),
    [
        pytest.param(fault, transport, id=f"{fault.name}-{transport}")
        for place, fault in enumerate(FAULTS)
        for number, transport in enumerate(("memory", "array"))
        # When quick, one after another on either path in turn.
        if (transport == "memory" if _is_of_agents_alone(fault) else IS_FULL or place % 2 == number)
    ],
)
def test_a_mistake_is_one_sentence_on_every_path(
    brought: Callable[..., None], psephos: Callable[..., Any], fault: Fault, transport: str
) -> None:
    brought(fault)
    settings = [word for setting in fault.settings for word in ("--set", setting)]
    ended = psephos("run", "tea.toml", "--out", "out", "--set", f"transport={transport}", *settings)
    assert ended.status == fault.status, ended.err
    assert ended.err.startswith("psephos: ")
    assert ended.err.count("\n") == 1
    said = (fault.said_by_agents or fault.said) if transport == "memory" else fault.said
    assert [words for words in said if words not in ended.err] == [], ended.err
    assert "told to" not in ended.out
    has_line = fault.has_line and not (transport == "memory" and fault.said_by_agents)
    assert (f"{MODULE}.py, line " in ended.err) == has_line
    if has_line:
        assert "--traceback" in ended.err
    if fault.status == 2 and "kettle" not in str(fault.settings):
        assert not Path("out").exists()


@pytest.mark.parametrize("fault", [None, *OF_SESSIONS], ids=lambda fault: fault.name if fault else "none")
def test_batches_stop_where_arrays_stop(brought: Callable[..., None], fault: Fault | None) -> None:
    brought(fault)
    module: Any = importlib.import_module(MODULE)
    tea = module.Tea(module.Price())
    table = {"likes": list(VOTES.values())}
    noise = SimulatedNoise(4, session="tea")
    if fault is None:
        assert run_batches(tea, [tea.encode(table)], noise=noise).outcome.counted == len(VOTES)
        return
    with pytest.raises((PluginError, RuntimeError)) as caught:  # a mechanism's own error is blamed in scenarios
        run_batches(tea, [tea.encode(table)], noise=noise)
    if isinstance(caught.value, PluginError):
        assert [words for words in fault.said if words not in str(caught.value)] == []
    else:
        assert fault.name == "a mechanism that raises"


@pytest.mark.few(most=8)
@pytest.mark.parametrize(("fault", "transport"), ON_PATHS)
def test_from_python_it_is_one_class_of_error_chained_to_the_cause(
    brought: Callable[..., None], fault: Fault, transport: str
) -> None:
    brought(fault)
    module: Any = importlib.import_module(MODULE)
    with pytest.raises(PluginError) as caught:
        simulate(
            module.Tea(module.Price()), {name: (vote,) for name, vote in VOTES.items()}, seed=4, transport=transport
        )
    assert caught.value.plugin == "protocol 'tea'"
    assert bool(caught.value.place) == fault.has_line
    if fault.has_line:
        assert f"{type(caught.value.__cause__).__name__}: " in caught.value.reason


@pytest.mark.parametrize("name", ["phases that raise", "a constructor that raises"])
def test_what_fails_before_a_session_is_a_configuration_error_too(brought: Callable[..., None], name: str) -> None:
    brought(next(fault for fault in FAULTS if fault.name == name))
    with pytest.raises(UnusablePluginError) as caught:
        resolve(load_scenario("tea.toml" if Path("tea.toml").exists() else str(Path(sys.path[0]).parent / "tea.toml")))
    assert isinstance(caught.value, ConfigurationError)
    assert caught.value.field == "protocol 'tea'"
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize("transport", ["array", "memory"])
def test_traceback_shows_all_and_the_sentence_below(
    brought: Callable[..., None], psephos: Callable[..., Any], transport: str
) -> None:
    brought(next(fault for fault in FAULTS if fault.name == "an outcome that raises"))
    ended = psephos("run", "tea.toml", "--out", "out", "--transport", transport, "--traceback")
    assert ended.status == 1
    assert "Traceback (most recent call last)" in ended.err
    assert "share / 0" in ended.err
    last = ended.err.splitlines()[-1]
    assert last.startswith("psephos: protocol 'tea' failed in outcome: ZeroDivisionError")
    assert "--traceback" not in last


@pytest.mark.parametrize(
    "command",
    [
        "run",
        "serve",
        "join",
        "roster",
        "audit",
        "ledger",
        "scenarios",
        "power",
        "trials",
        "variants",
        "reproduce",
        "new vote",
    ],
)
def test_every_command_takes_traceback_which_help_shows_once(psephos: Callable[..., Any], command: str) -> None:
    ended = psephos(*command.split(), "--traceback", "--help")
    assert ended.status == 0
    assert "--traceback" not in ended.out
    assert psephos("--traceback", *command.split(), "--help").status == 0
    assert psephos("--help").out.count("--traceback") == 1


def test_parties_hear_which_protocol_failed_and_not_what_the_exception_says(
    brought: Callable[..., None], psephos: Callable[..., Any]
) -> None:
    brought(next(fault for fault in FAULTS if fault.name == "a tally that raises"))
    ended = psephos("run", "tea.toml", "--out", "out", "--transport", "memory", "--record")
    assert ended.status == 1
    assert read_json("out/run.json")["failure"]["error"] == "PluginError"
    aborts = [text for path in Path("out").rglob("*") if path.is_file() for text in [path.read_text(errors="replace")]]
    assert any("no such column" in text for text in aborts)  # the server's own events
    views = [path.read_text(errors="replace") for path in Path("out").rglob("*view*") if path.is_file()]
    assert not any("no such column" in text for text in views)


def test_a_role_that_deviates_needs_agents_though_it_does_not_say_so(
    brought: Callable[..., None], psephos: Callable[..., Any]
) -> None:
    brought()
    adversary = '[[adversary]]\nrole = "sleeper"\nmembers = ["eve"]\n'
    Path("tea.toml").write_text(SCENARIO + adversary, encoding="utf-8")
    refusal = psephos("run", "tea.toml", "--out", "out", "--transport", "array").refusal
    assert "adversary 1: role " in refusal
    assert "needs agents" in refusal
    assert not Path("out").exists()
    assert psephos("run", "tea.toml", "--out", "out", "--transport", "memory", "--set", "quorum=1").status == 0


@pytest.mark.few(most=1)
@pytest.mark.parametrize("transport", ["array", "memory"])
def test_simulate_is_psephos_run_at_the_same_seed_and_round(
    brought: Callable[..., None], psephos: Callable[..., Any], transport: str
) -> None:
    """`simulate(..., session=<the scenario's name>)`: bit for bit, and another round is another draw."""
    brought()
    module: Any = importlib.import_module(MODULE)
    tea, parties = module.Tea(module.Price(epsilon=0.1)), {name: (vote,) for name, vote in VOTES.items()}
    found: list[Any] = []
    for round_number in (0, 5):
        ended = psephos(
            "run", "tea.toml", "--out", f"out-{round_number}", "--transport", transport, "--seed", 11,
            "--set", "epsilon=0.1", "--set", f"round={round_number}",
        )  # fmt: skip
        assert ended.status == 0, ended.err
        of_run = read_json(f"out-{round_number}/result.json")["outcome"]
        for path in ("array", "memory"):
            own = simulate(tea, parties, seed=11, session="tea", round_number=round_number, transport=path)
            assert {"share": {"value": own.share.value, "standard_error": 0.5}, "counted": 6} == of_run
        found.append(of_run)
    assert any(of_round != found[0] for of_round in found)


def test_run_session_names_the_mechanism_of_a_protocol_over_tcp_too(brought: Callable[..., None]) -> None:
    brought(next(fault for fault in FAULTS if fault.name == "a mechanism that raises"))
    resolved = resolve(load_scenario(str(Path(sys.path[0]).parent / "tea.toml"), ["transport=tcp"]))
    with pytest.raises(PluginError, match="protocol 'tea' failed in randomize_row: RuntimeError: it tore") as caught:
        run_session(resolved, seed=4)
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize(
    ("settings", "field", "value"),
    [
        ((), "protocol", "'tea'"),
        (("protocol='dpwevote'",), "leave out unknown key", "'voters'"),
        (("protocol='latte'",), "protocol", "'latte'"),
    ],
)
def test_variants_names_what_is_wrong_with_a_scenario_of_ones_own(
    brought: Callable[..., None], psephos: Callable[..., Any], settings: tuple[str, ...], field: str, value: str
) -> None:
    brought()
    refusal = psephos("variants", "tea.toml", *(word for setting in settings for word in ("--set", setting))).refusal
    assert refusal.startswith(f"psephos: {field}"), refusal
    assert value in refusal
    assert "scenario must" not in refusal


def test_of_public_weights_there_is_one_variant(psephos: Callable[..., Any]) -> None:
    ended = psephos("variants", "consortium", "--set", "public_weights=true")
    assert ended.status == 0
    assert ended.out.count("\njoint ") == 1
    assert "weights are public" in ended.out


def test_a_release_that_nobody_heard_fails_and_the_folder_holds_it(
    brought: Callable[..., None], psephos: Callable[..., Any]
) -> None:
    """The server hangs up on everybody instead of the release."""
    silent = '        if type(message).__name__ != "Report":\n'
    brought(Fault("", silent, silent.replace("Report", "Release"), ()))
    by_server = '[[adversary]]\nrole = "sleeper"\nmembers = ["server"]\n'
    Path("tea.toml").write_text(SCENARIO + by_server, encoding="utf-8")
    ended = psephos("run", "tea.toml", "--out", "out", "--transport", "memory")
    assert ended.status == 1
    assert "the outcome was told to 0 voters of 6; the first did not hear it because" in ended.err
    assert ended.err.count("\n") == 1
    assert "It slept." in ended.out
    assert read_json("out/run.json")["failure"]["error"] == "UnheardError"
    assert read_json("out/result.json")["outcome"]["counted"] == 6


def test_a_server_whose_release_reaches_nobody_fails_too(
    brought: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought()
    side = resolve_served(load_scenario(str(tmp_path / "tea.toml")))
    tally = Tally(6, np.array([3]))

    async def to_nobody(*_: object, **__: object) -> SessionResult:
        return SessionResult(side.protocol.outcome([tally]), (tally,), (6,), num_told=0)

    monkeypatch.setattr(server, "serve", to_nobody)
    with pytest.raises(UnheardError, match="told to 0 voters of 6"):
        server.serve_in_folder(
            server.Serving(side=side, address="127.0.0.1:0", mode=make_mode("tea", seed=1)),
            RunFolder(tmp_path / "out"),
            pictures=False,
        )
    assert read_json(tmp_path / "out/run.json")["failure"]["error"] == "UnheardError"
    assert (tmp_path / "out/result.json").exists()


def test_what_may_quote_values_or_count_people_is_left_out(
    brought: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the server is trusted with values, or it is private who takes part."""
    brought(next(fault for fault in FAULTS if fault.name == "a tally that raises"))
    module: Any = importlib.import_module(MODULE)
    for private in ("trusts_server", "hides_participation"):
        with monkeypatch.context() as patched:
            patched.setattr(module.Tea, private, True)
            with pytest.raises(PluginError, match="KeyError: what it says is left out") as caught:
                simulate(module.Tea(module.Price()), {name: (vote,) for name, vote in VOTES.items()}, seed=4)
        assert "no such column" not in str(caught.value)
        assert f"{MODULE}.py, line " in str(caught.value)


class _Talking:
    """A server's role that raises, and quotes."""

    def __init__(self, *_: object, **__: object) -> None:
        raise KeyError("row 1, 0")


@pytest.mark.parametrize("is_private", [True, False])
def test_what_a_server_s_role_says_is_left_out_where_it_may_quote_values(
    brought: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_private: bool
) -> None:
    brought()
    side = resolve_served(load_scenario(str(tmp_path / "tea.toml")))
    monkeypatch.setattr(type(side.protocol), "trusts_server", is_private)

    def found(_: str) -> type[_Talking]:
        return _Talking

    monkeypatch.setattr(server, "find_server_role", found)
    serving = server.Serving(side=side, address="127.0.0.1:0", transport="tcp", mode=make_mode("tea", seed=1))
    with pytest.raises(PluginError, match="server role 'aggregator' failed in __init__: KeyError: ") as caught:
        trio.run(server.serve, serving)
    assert ("row 1, 0" in str(caught.value)) is not is_private


class _Shown(msgspec.Struct, frozen=True):
    value: float


@pytest.mark.parametrize("step", ["show", "rows", "draw", "say"])
def test_a_presenter_that_raises_is_named_whoever_asks_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: str
) -> None:
    """Wherever an outcome is shown: by a run, a server, a party, or from Python."""

    def fails(*_: object) -> Any:
        raise KeyError("no colour")

    def tables(*_: object, is_imported: bool = False) -> list[tuple[str, object]]:
        del is_imported
        return [("elsewhere", {_Shown: Presenter(fails, fails, fails, fails)})]

    monkeypatch.setattr(presentation, "load_each", tables)
    console, shown = presentation.make_console(), _Shown(1.0)
    asked: dict[str, Callable[[], object]] = {
        "show": lambda: presentation.show_outcome(console, shown),
        "rows": lambda: presentation.rows_of(shown, truth=None),
        "draw": lambda: presentation.draw_outcome(shown, title="", truth=None, folder=tmp_path),
        "say": lambda: presentation.describe_phase_outcome(shown),
    }
    with pytest.raises(PluginError, match=f"presenter of _Shown failed in {step}: KeyError: 'no colour'") as caught:
        asked[step]()
    assert f"{Path(__file__).name}, line " in caught.value.place


def test_what_is_private_is_left_out_of_a_truth_that_raises(
    brought: Callable[..., None], psephos: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    brought(next(fault for fault in FAULTS if fault.name == "a truth that raises"))
    module: Any = importlib.import_module(MODULE)
    monkeypatch.setattr(module.Tea, "trusts_server", True)
    ended = psephos("run", "tea.toml", "--out", "out")
    assert ended.status == 1
    assert "truth: AttributeError: what it says is left out" in ended.err
    assert "all_of_it" not in ended.err


def test_a_bug_of_ours_is_not_blamed_on_whoever_takes_part() -> None:
    """An import that fails, for one, is no plug-in's; a value of theirs that ours cannot take is."""
    theirs = [Plugin("protocol 'tea'", (type("Tea", (), {"__module__": "tea_elsewhere"}),))]
    with pytest.raises(ImportError), blame_plugins(theirs, is_last=True):
        raise ImportError
    named = "protocol 'tea' failed in what it returned: TypeError: theirs"
    with pytest.raises(PluginError, match=named), blame_plugins(theirs, is_last=True):
        raise TypeError("theirs")
    with pytest.raises(TypeError), blame_plugins([], is_last=True):
        raise TypeError
