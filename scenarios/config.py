"""Scenarios: what is run, as data.

A scenario is a TOML file (or the `scenario.json` of a run): who decides what by which protocol, over which
transport. Every value may be set from the command line by its name. What is wrong is said before anything runs,
with the field, the value and what is allowed.
"""

import difflib
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal, cast

import msgspec

from ..protocol.errors import ConfigurationError
from ..protocol.phases import Inputs, PhasedProtocol
from ..protocol.server_machine import PhaseRules
from .parties import PartiesTable, read_parties
from .plugins import TRANSPORTS, find_protocol, names_in

__all__ = ["ARRAY", "Resolved", "Scenario", "load_scenario", "resolve", "shipped_scenarios"]

ARRAY: Final = "array"
"""The path without agents, where a transport's name would stand."""


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is run.

    Args:
        name: one word; names the session and the run folder.
        title: one line.
        description: what it is about; what is made up is said to be.
        trust: who trusts whom, and what a coalition can learn.
        protocol: as registered.
        parameters: the protocol's own.
        parties: a CSV file's path, a table for the protocol's generator, or the parties themselves, a table each. In a
            file the key is the plural of the protocol's client role: partners, voters.
        transport: "memory", "tcp" or another that is registered; "array" for no agents at all.
        noise: "simulated" (from the seed) or "secure" (as in a deployment; not for arrays).
        seed: of the simulated noise; without one, every run draws another.
        round: tells repeated votes of one session apart.
        budget: the most that each party may lose (ε); without one, nothing is refused.
        deadline_seconds: for every phase.
        quorum: for every phase: a number of parties, or a share of them.
        phases: rules for single phases by name ("join" is the time before the first).
    """

    name: str
    protocol: str
    title: str = ""
    description: str = ""
    trust: str = ""
    parameters: dict[str, Any] = {}
    parties: str | dict[str, Any] | list[dict[str, Any]] = {}
    transport: str = "memory"
    noise: Literal["simulated", "secure"] = "simulated"
    seed: int | None = None
    round: int = 0
    budget: float | None = None
    deadline_seconds: float = 300.0
    quorum: int | float = 1.0
    phases: dict[str, dict[str, Any]] = {}

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", self.name):
            allowed = "up to 64 small letters, digits and hyphens"
            raise ConfigurationError(field="name", value=self.name, allowed=allowed)
        if self.noise == "secure" and self.transport == ARRAY:
            raise ConfigurationError(field="noise", value="secure", allowed="'simulated' for arrays")
        for field, value in (("seed", self.seed), ("round", self.round)):
            if value is not None and value < 0:
                # A seed is a secret, so it is not shown.
                raise ConfigurationError(field=field, value="a negative number", allowed="at least 0")
        if self.noise == "secure" and self.seed is not None:
            raise ConfigurationError(field="seed", value="given", allowed="left out where noise is secure")


class Resolved(msgspec.Struct, kw_only=True):
    """A scenario with everything that it names looked up and checked.

    Args:
        scenario: as written, with what was set.
        protocol: the protocol with its parameters.
        names: the parties.
        inputs: their rows.
        rules: by phase.
        default_rules: for the other phases.
        are_parties_made_up: whether they stand in the scenario or were generated, so that showing the truth beside
            the estimates reveals nobody.
    """

    scenario: Scenario
    protocol: PhasedProtocol[Any, Any]
    names: Sequence[str]
    inputs: Inputs
    rules: Mapping[str, PhaseRules]
    default_rules: PhaseRules
    are_parties_made_up: bool


def shipped_scenarios() -> dict[str, Path]:
    """Return the scenarios that come with Psephos: name → file, sorted by name."""
    folder = Path(str(resources.files("psephos.scenarios.shipped")))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def load_scenario(source: str, settings: Sequence[str] = ()) -> Scenario:
    """Return a scenario with some values set anew.

    Args:
        source: a shipped scenario's name, or the path of a TOML or JSON file.
        settings: "key=value" each. A key is a name that only one table has, or a dotted path; a value is read as
            TOML where that is possible, else as text.

    Raises:
        ConfigurationError: there is no such scenario, it cannot be read, or a key or a value is not allowed.
    """
    path = _find(source)
    tree = _read(path)
    tree.setdefault("name", path.stem)
    pairs = [_split(setting) for setting in settings]
    for key, value in pairs:  # first of all: the other keys' meaning depends on it
        if key == "protocol":
            tree["protocol"] = value
    kind = find_protocol(_convert(tree.get("protocol", ""), str, "protocol"))
    role = kind.client_role
    for alias in (f"{role}s", "parties"):
        if alias in tree:
            tree["parties"] = _relative_to(path, tree.pop(alias))
    if any(key in {f"{role}s", "parties"} for key, _ in pairs):
        for name in kind.parameters_of_table:
            tree.get("parameters", {}).pop(name, None)
    if ("noise", "secure") in pairs:
        tree.pop("seed", None)  # the scenario's own; one that is set beside it is refused
    for key, value in pairs:
        _set(tree, "parties" if key == f"{role}s" else key, value)
    return _convert(tree, Scenario, "")


def resolve(scenario: Scenario) -> Resolved:
    """Look up and check everything that a scenario names.

    Raises:
        ConfigurationError: something is not allowed.
    """
    kind = find_protocol(scenario.protocol)
    parties: PartiesTable = read_parties(scenario.parties, scenario=scenario, protocol=kind)
    given = kind.complete(scenario.parameters, parties.table)
    parameters: msgspec.Struct = _convert(given, kind.parameters_type, "parameters")
    protocol = kind(parameters)
    _check_path(scenario, protocol)
    default = {"deadline_seconds": scenario.deadline_seconds, "quorum": scenario.quorum}
    return Resolved(
        scenario=scenario,
        protocol=protocol,
        names=parties.names,
        inputs=parties.locate(protocol.encode),
        rules={
            name: _convert({**default, **rules}, PhaseRules, f"phases.{name}")
            for name, rules in scenario.phases.items()
        },
        default_rules=_convert(default, PhaseRules, ""),
        are_parties_made_up=not parties.is_file,
    )


def _check_path(scenario: Scenario, protocol: PhasedProtocol[Any, Any]) -> None:
    """Raise ConfigurationError unless the path exists, and the budget allows the session."""
    transports = (ARRAY, *names_in(TRANSPORTS))
    if scenario.transport not in transports:
        raise ConfigurationError(field="transport", value=scenario.transport, allowed=f"one of {', '.join(transports)}")
    paid = math.fsum(loss.proven for loss in protocol.losses)
    if scenario.budget is not None and not scenario.budget >= paid:
        raise ConfigurationError(field="budget", value=scenario.budget, allowed=f"at least the session's {paid:g}")


def _find(source: str) -> Path:
    shipped = shipped_scenarios()
    if source in shipped:
        return shipped[source]
    path = Path(source)
    if path.is_file():
        return path
    close = difflib.get_close_matches(source, shipped, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise ConfigurationError(field="scenario", value=source, allowed=f"a file, or one of {', '.join(shipped)}{hint}")


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            return msgspec.json.decode(text, type=dict[str, Any])
        return tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(field="scenario", value=str(path), allowed=f"a readable file ({error})") from None
    except (tomllib.TOMLDecodeError, msgspec.DecodeError) as error:
        raise ConfigurationError(field="scenario", value=str(path), allowed=f"well-formed ({error})") from None


def _relative_to(path: Path, parties: object) -> object:
    """Return the parties, a file named in a scenario being relative to that scenario."""
    return str(path.parent / parties) if isinstance(parties, str) else parties


def _split(setting: str) -> tuple[str, Any]:
    key, equals, text = setting.partition("=")
    if not equals or not key:
        raise ConfigurationError(field="--set", value=setting, allowed="of the form key=value")
    try:
        return key, tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return key, text


def _set(tree: dict[str, Any], key: str, value: object) -> None:
    """Set one value in place, by its dotted path or by its own name."""
    *tables, name = key.split(".") if "." in key else _path_of(tree, key)
    inner = tree
    for table in tables:
        found: Any = inner.setdefault(table, {})
        if not isinstance(found, dict):
            raise ConfigurationError(field="--set", value=key, allowed=f"another key: {table!r} is no table here")
        inner = cast("dict[str, Any]", found)
    inner[name] = value


def _path_of(tree: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return where a bare key stands: in the scenario, in its parameters, or in its generator's table."""
    own = set(Scenario.__struct_fields__)
    parameters = set(find_protocol(tree["protocol"]).parameters_type.__struct_fields__)
    generated = set[str](tree["parties"]) if isinstance(tree.get("parties"), dict) else set[str]()
    if key in own:
        return (key,)
    if key in parameters:
        return ("parameters", key)
    if key in generated:
        return ("parties", key)
    known = sorted(own | parameters | generated)
    close = difflib.get_close_matches(key, known, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise ConfigurationError(field="--set", value=key, allowed=f"one of {', '.join(known)}{hint}")


def _convert(value: object, kind: type[Any], where: str) -> Any:
    """Return `value` as `kind`, or say which field is wrong.

    msgspec's message ends with the place, as in "Expected `float`, got `str` - at `$.parameters.epsilon`".
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, ConfigurationError):  # raised by the struct itself
            raise error.__cause__ from None
        problem, _, place = str(error).partition(" - at `$")
        path = ".".join(part for part in (where, place.rstrip("`").lstrip(".")) if part) or "scenario"
        given = _look_up(value, place.rstrip("`"))
        raise ConfigurationError(field=path, value=given, allowed=_phrase(problem)) from None


def _look_up(value: Any, place: str) -> object:
    """Return what stands at msgspec's path, as far as it leads."""
    for key, index in re.findall(r"\.(\w+)|\[(\d+)\]", place):
        try:
            value = value[key] if key else value[int(index)]
        except (KeyError, IndexError, TypeError):
            break
    return value


def _phrase(problem: str) -> str:
    """Turn msgspec's sentence into what is allowed."""
    expected = re.match(r"Expected (.+), got .+", problem)
    if expected:
        return expected[1].replace("`", "")
    unknown = re.match(r"Object contains unknown field `(.+)`", problem)
    if unknown:
        return f"without the unknown key {unknown[1]!r}"
    missing = re.match(r"Object missing required field `(.+)`", problem)
    return f"with the required key {missing[1]!r}" if missing else problem.replace("`", "'")
