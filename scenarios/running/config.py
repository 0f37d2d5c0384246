"""Scenarios: the description of a run, as data.

A scenario is a TOML file, or the `scenario.json` of a run. It names the parties, the protocol with its parameters, and
the transport. Every value can be set from the command line by its name. Errors are found before anything runs, and name
the field, the value and what is allowed.
"""

import contextlib
import dataclasses
import math
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal, cast

import msgspec

from ...protocol.errors import ConfigurationError, did_you_mean, list_choices, quote, refuse, require
from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import Budget, TrustModel
from ...protocol.shown import brief
from ...transports.faults import Faults
from ..plugins import ARRAY, AUTO
from ..reading.conversion import convert
from ..reading.files import CUT_SHORT, check_size, similar_files
from ..reading.frames import FrameText, is_frame, with_frames
from ..reading.settings import Settings, Tables, read_settings, read_toml, set_value
from ..reading.sources import PartySources
from ..system import find_protocol
from .parties import sources_of
from .synthetic import check_synthetic

VOTES: Final = "votes"  # a file with this key is a series (`series.load_series`)


_TABLES: Final = frozenset({".csv", ".tsv"})
_MAX_BYTES: Final = 1 << 26  # size of a scenario's file; many parties belong in a separate file
_BEST: Final = "auto"  # a parameter's value for an automatic choice, which may follow from `trust`


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A scenario's fields.

    Examples:
        >>> scenario = Scenario(name="tea", protocol="dpwevote", trust="central", budget=2.0)
        >>> scenario.model.value, scenario.budget_of_parties.epsilon
        ('central', 2.0)
    """

    name: str  # one word, which names the session and the run's folder
    protocol: str  # the protocol's registered name
    title: str = ""  # one line
    description: str = ""  # the subject, and what in it is synthetic
    # The trust model, from which the protocol's parameters follow: "local" (no trusted party), "distributed" (secure
    # aggregation) or "central" (trusted server). Or a text on who trusts whom, and what a coalition can learn.
    trust: str = ""
    parameters: dict[str, Any] = {}  # the protocol's parameters
    # A CSV file's path, a table for the protocol's generator, a table that names a data set, or a list of tables, one
    # for each party. In a file, the key is the plural of the protocol's client role (partners, voters), and paths are
    # relative to the file.
    parties: str | dict[str, Any] | list[dict[str, Any]] = {}
    # The folder of data sets, relative to the file; by default the environment's PSEPHOS_DATA.
    data: str = ""
    # Whether the parties are synthetic, so that the truth may be shown; generated parties always are. For files it is
    # their digest (`synthetic`).
    synthetic: bool | str = False
    # Whether the parties' values are public already, so that the truth may be shown; true for some data sets.
    public_record: bool = False
    # "memory", "tcp" or another registered transport; "array" for no agents; by default "auto": agents over memory up
    # to 10,000 parties, else arrays.
    transport: str = AUTO
    # "simulated" (from the seed) or "secure" (as in a deployment); by default "auto": secure for real participants,
    # unless a simulation is requested, or arrays draw the parties' reports.
    noise: Literal["auto", "simulated", "secure"] = AUTO
    seed: int | None = None  # seed of simulated noise; by default every run draws a new one
    round: int = 0  # distinguishes repeated votes of one session
    # Each party's budget (ε, replace-one neighbors); by default no limit.
    budget: float | None = None
    # The δ of the budget: 0 for the sum of pure losses; in (0, 1) for tighter composition, which allows more small
    # losses.
    budget_delta: float = 0.0
    # The budget (ε) of one datum: a party's answer to one question, or one record, over all votes of a series.
    budget_datum: float | None = None
    deadline_seconds: float = 300.0  # deadline of every phase
    # Quorum of every phase: a number or a fraction of parties; by default all. There is none if participation is
    # private.
    quorum: int | float | None = None
    phases: dict[str, Any] = {}  # rules for single phases by name ("join" is the time before the first)
    # Faults of the network between agents (`transports.faults.Faults`), drawn from the seed; simulations only.
    network: dict[str, float] = {}
    # Adversaries, one table each (`adversaries.Role`); simulations only.
    adversary: list[dict[str, Any]] = []

    def __post_init__(self) -> None:
        suggestion = re.sub(r"[^a-z0-9]+", "-", self.name[:64].lower()).strip("-") or "vote"
        allowed = (
            f"Rename {quote(self.name)}, for example to {suggestion} (at most 64 small letters, digits and hyphens)."
        )
        require(re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", self.name), "name", self.name, allowed)
        for field, value in (("budget_delta", self.budget_delta or None), ("budget_datum", self.budget_datum)):
            refuse(self.budget is None and value is not None, field, value, "left out without a budget")
        require(0 <= self.budget_delta < 1, "budget_delta", self.budget_delta, "in [0, 1)")
        if self.budget is not None:
            Budget(epsilon=self.budget, datum=self._most_of_datum)  # raises an error for an invalid budget
        for field, value in (("seed", self.seed), ("round", self.round)):
            # Seeds are secret, so errors do not show them.
            refuse(value is not None and value < 0, field, "negative", "at least 0")
        words = self.trust.split()  # a single word is not a text, and a misspelled model would be ignored
        models = [model.value for model in TrustModel]
        if len(words) == 1 and words[0] not in models:
            raise ConfigurationError(
                field="trust", value=words[0], allowed=f"{list_choices(models, words[0])}, or a text"
            )
        if self.network:
            self._check_network()
        allowed = "left out, since noise is secure: only simulations record an adversary's view"
        refuse(self.noise == "secure" and self.adversary, "adversary", f"{len(self.adversary)} given", allowed)
        refuse(self.noise == "secure" and self.seed is not None, "seed", "given", "left out where noise is secure")

    def _check_network(self) -> None:
        known_faults = [field.name for field in dataclasses.fields(Faults)]
        for key in self.network:
            refuse(key not in known_faults, "network", key, list_choices(known_faults, key))
        refuse(self.transport == ARRAY, "network", self.network, "left out for arrays, which have none")
        _ = self.faults  # raises an error for invalid numbers

    def __repr__(self) -> str:
        """Return a short representation, without seed and parties' values."""
        facts = {"protocol": self.protocol, "parameters": self.parameters, "transport": self.transport}
        return f"Scenario({self.name!r}, {', '.join(f'{key}={brief(value)}' for key, value in facts.items())})"

    @property
    def model(self) -> TrustModel | None:
        """The requested trust model; None if the parameters decide it."""
        return next((model for model in TrustModel if model.value == self.trust.strip()), None)

    @property
    def trust_note(self) -> str:
        """The text on trust."""
        return "" if self.model else self.trust

    @property
    def faults(self) -> Faults | None:
        """The network's faults; None for none."""
        if not self.network:
            return None
        try:
            return Faults(**self.network)
        except ConfigurationError as error:
            raise ConfigurationError(field=f"network.{error.field}", value=error.value, allowed=error.allowed) from None

    @property
    def budget_of_parties(self) -> Budget | None:
        """Each party's budget; None for no limit."""
        if self.budget is None:
            return None
        return Budget(epsilon=self.budget, delta=self.budget_delta, datum=self._most_of_datum)

    @property
    def _most_of_datum(self) -> float:
        return math.inf if self.budget_datum is None else self.budget_datum


def list_scenarios() -> dict[str, Path]:
    """Return the files of shipped scenarios by name, sorted.

    Examples:
        >>> {"consortium", "eu-council"} <= list_scenarios().keys()
        True
    """
    return _list_shipped("*.toml")


def list_series() -> dict[str, Path]:
    """Return the files of shipped series by name, sorted.

    Examples:
        >>> list(list_series())
        ['housing-cooperative', 'one-game']
    """
    return _list_shipped("series/*.toml")


def _list_shipped(pattern: str) -> dict[str, Path]:
    folder = Path(str(resources.files("psephos.scenarios.shipped")))
    return dict(sorted((path.stem, path) for path in folder.glob(pattern)))


def load_scenario(source: str, settings: Settings = ()) -> Scenario:
    """Load a scenario, with some values changed.

    Args:
        source: a shipped scenario's name, or the path of a TOML or JSON file.
        settings: strings "key=value", or a mapping from keys to values. A key is a name that is unique among tables, or
            a dotted path; a string's value is parsed as TOML if possible, else it is text.

    Raises:
        ConfigurationError: there is no such scenario, it cannot be read, or a key or a value is not allowed.

    Examples:
        >>> load_scenario("consortium", ["epsilon=2", "partners.count=30"]).parties["count"]
        30
        >>> load_scenario("consortium", {"epsilon": 0.5}).parameters["epsilon"]
        0.5
    """
    path = find_source(source)
    tables = read_tables(path)
    allowed = "left out: a series of votes is for `psephos run`, this is for a single one"
    refuse(VOTES in tables, VOTES, "given", allowed)
    return scenario_of(tables, settings, folder=path.parent)


def scenario_of(tables: Tables, settings: Settings = (), *, folder: Path) -> Scenario:
    """Return the scenario from a file's tables in a folder, with changed values; the tables are modified."""
    pairs = read_settings(settings)
    all_settings = dict(pairs)
    # First, since the meaning of other keys depends on it.
    protocol = protocol_of(tables, all_settings)
    word = f"{protocol.client_role}s"
    own_keys = {*Scenario.__struct_fields__, word}
    for key in tables:
        if key not in own_keys:
            raise unknown_key(key, own_keys, protocol)
    known_sources = sources_of(protocol)
    name_parties(tables, word, folder=folder, sources=known_sources)
    words = (word, "parties")
    tables[word] = _to_table(tables.get(word, {}), known_sources)
    own_table: Any = tables[word]
    pairs = [each for pair in pairs for each in _expand_setting(*pair, own_table, words=words, sources=known_sources)]
    all_settings = dict(pairs)
    if isinstance(settings, Mapping):  # a mapping may have both a word and its key
        for place, (key, _) in enumerate(pairs):
            refuse(key in dict(pairs[:place]), "settings", key, "set once")
    if isinstance(tables.get("data"), str) and tables["data"]:
        tables["data"] = str(folder / tables["data"])
    sources = {source for key in all_settings for source in known_sources.keys if _is_below(key, source, words)}
    if sources - _sources_of(tables.get(word), all_settings, words):
        tables[word] = {}  # another source, to which the old source's settings do not apply
    has_others = bool(sources or {*words} & all_settings.keys())
    if has_others:  # the scenario's statements on its own parties no longer apply
        for field in ("title", "description", "synthetic", "public_record"):
            tables.pop(field, None)
        _drop_parameters(tables, known_sources.parameters_of_table)
    drop_replaced(tables, all_settings, words, known_sources)
    if all_settings.get("noise") == "secure":
        tables.pop("seed", None)  # drop the scenario's seed; a seed that is set together with secure noise is refused
    of_protocol = protocol.parameters_type.__struct_fields__
    pairs.sort(key=lambda pair: pair[0] not in words)  # whole tables before their parts
    for key, value in pairs:
        first, dot, remainder = key.partition(".")
        known_word = word if first == "parties" else first
        set_value(
            tables,
            f"{known_word}{dot}{remainder}",
            value,
            own_keys=own_keys - {"parties"},
            parameters=of_protocol,
            parties=word,
        )
    tables["parties"] = tables.pop(word, {})
    if has_others and "seed" not in all_settings and not is_synthetic(tables["parties"], known_sources):
        tables.pop("seed", None)  # the scenario's seed is public, and would allow to remove the noise from real values
    scenario: Scenario = convert(tables, Scenario, "")
    if scenario.synthetic is True:
        check_synthetic(scenario.parties, known_sources, synthetic=True, is_chosen="synthetic" in all_settings)
    return scenario


def _expand_setting(
    key: str, value: Any, own_keys: Collection[str], *, words: Sequence[str], sources: PartySources
) -> Iterator[tuple[str, object]]:
    """Yield a setting by its full key, with frames in place of files."""
    unpacked_value = sources.unpack(value) if key in sources.words and sources.unpack is not None else None
    if unpacked_value is not None:
        yield from unpacked_value.items()
    elif key in sources.words and (is_frame(value) or isinstance(value, str)):
        inner_keys = sources.words[key]
        held_value = FrameText.of(key, value) if inner_keys and is_frame(value) else with_frames(key, value)
        yield (f"{words[0]}.{inner_keys}" if inner_keys else words[0]), held_value
    elif key.partition(".")[0] in words:
        held_value = with_frames(key, value)
        yield key, _to_table(held_value, sources) if key in words else held_value
    else:
        refuse(key in sources.words and key not in own_keys, key, value, "a frame, or the path of a file")
        refuse(is_frame(value), key, "a frame", f"no frame: one is given as {' or '.join((*sources.words, words[0]))}")
        yield key, value


def _is_below(key: str, source: str, words: Collection[str]) -> bool:
    """Return whether a setting's key is a source of parties, or in its table."""
    return any(key == f"{word}.{source}" or key.startswith(f"{word}.{source}.") for word in words)


def _sources_of(parties: object, chosen_tables: Tables, words: Collection[str]) -> set[str]:
    """Return the source of a scenario's own parties, unless it is a data set that is replaced by another one."""
    if not isinstance(parties, dict):
        return set()
    own_tables = cast("Tables", parties)
    is_another = any(
        chosen_tables.get(f"{word}.data", own_tables.get("data")) != own_tables.get("data") for word in words
    )
    return {key for key in own_tables if not (key == "data" and is_another)}


def _to_table(parties: object, sources: PartySources) -> object:
    """Return a path as its equivalent table; other values unchanged."""
    return sources.table_of(parties) if isinstance(parties, str) else parties


def is_synthetic(parties: object, sources: PartySources) -> bool:
    """Return whether a generator makes the parties."""
    return isinstance(parties, dict) and not (sources.keys - sources.synthetic) & cast("Tables", parties).keys()


def drop_replaced(tables: Tables, chosen_tables: Tables, words: Collection[str], sources: PartySources) -> None:
    """Drop the scenario's parameters that chosen parameters, or the parties' own, replace.

    `words` are possible keys of its parties.
    """
    _drop_alternatives(tables, sources, {key.removeprefix("parameters.") for key in chosen_tables})
    for key, replaced_keys in sources.own_parameters.items():
        if _is_chosen(key, chosen_tables, words):
            _drop_parameters(tables, replaced_keys)
    for key, of_each in sources.of_each.items():
        values = chosen_tables.get(of_each, chosen_tables.get(f"parameters.{of_each}"))
        for parties_table in (tables[word] for word in words if isinstance(tables.get(word), dict)):
            if (
                isinstance(values, list)
                and len(parties_table.get(key, values)) != len(cast("list[Any]", values))
                and not _is_chosen(key, chosen_tables, words)
            ):
                del parties_table[key]


def _drop_alternatives(tables: Tables, sources: PartySources, chosen_names: Collection[str]) -> None:
    """Drop the scenario's parameters that chosen ones replace, and with levels also who chooses them."""
    groups = (group for group in sources.alternatives if group & set(chosen_names))
    dropped_names = {name for group in groups for name in group - set(chosen_names)}
    _drop_parameters(
        tables, dropped_names | ({"chosen_by"} - set(chosen_names) if "epsilons" in dropped_names else set())
    )


def _is_chosen(name: str, chosen_tables: Tables, words: Collection[str]) -> bool:
    """Return whether a key of the parties' table is set, separately or with the table."""
    for key, value in chosen_tables.items():
        first, _, remainder = key.partition(".")
        if first in words and remainder.partition(".")[0] == name:
            return True
        if key in words and isinstance(value, dict) and name in value:
            return True
    return False


def _drop_parameters(tables: Tables, names: Collection[str]) -> None:
    """Drop some of the scenario's parameters."""
    parameters = tables.get("parameters")
    if isinstance(parameters, dict):
        own_parameters = cast("Tables", parameters)
        tables["parameters"] = {name: value for name, value in own_parameters.items() if name not in names}


def protocol_of(tables: Tables, chosen_tables: Tables) -> type[PhasedProtocol[Any, Any]]:
    """Return the protocol that a scenario's tables or settings name."""
    name = chosen_tables.get("protocol", tables.get("protocol"))
    if name is None:
        for key in tables:
            if key not in Scenario.__struct_fields__ and did_you_mean(key, ["protocol"]):
                raise unknown_key(key, ["protocol"], None)
        name = ""
    return find_protocol(convert(name, str, "protocol"))


def unknown_key(
    key: str, known_keys: Collection[str], protocol: type[PhasedProtocol[Any, Any]] | None
) -> ConfigurationError:
    """Return the error for an unknown key; it points to the protocol's parameters if the key is one of them."""
    allowed = f"left out{did_you_mean(key, sorted(known_keys))}"
    if protocol is not None and key in protocol.parameters_type.__struct_fields__:
        allowed = f"left out: it is a parameter, as in parameters = {{ {key} = ... }}"
    return ConfigurationError(field=f"unknown key {key!r}", value=key, allowed=allowed)


def name_parties(tables: Tables, word: str, *, folder: Path, sources: PartySources) -> None:
    """Move the parties to the key `word`, which errors name, with paths relative to the file's folder."""
    if "parties" in tables and word != "parties":
        refuse(word in tables, "parties", "given", f"left out beside {word}")
        tables[word] = tables.pop("parties")
    parties_value = tables.get(word)
    if isinstance(parties_value, str):
        tables[word] = str(folder / parties_value)
    elif isinstance(parties_value, dict):
        tables[word] = _move_paths(cast("Tables", parties_value), lambda path: str(folder / path), sources)


def with_absolute_paths(scenario: Scenario) -> Scenario:
    """Return a scenario with absolute paths, for a process in another folder."""
    return with_paths(scenario, lambda path: str(Path(path).absolute()))


def with_paths(scenario: Scenario, move: Callable[[str], str]) -> Scenario:
    """Return a scenario with every path in it replaced."""
    parties = scenario.parties
    if isinstance(parties, str):
        parties = parties and move(parties)
    elif isinstance(parties, dict):
        parties = _move_paths(parties, move, sources_of(find_protocol(scenario.protocol)))
    return msgspec.structs.replace(scenario, parties=parties, data=scenario.data and move(scenario.data))


def _move_paths(parties: Tables, move: Callable[[str], str], sources: PartySources) -> Tables:
    """Return a table of parties with the paths in its sources' keys replaced."""
    moved_paths = dict(parties)
    for key in sources.paths:
        if isinstance(parties.get(key), str) and parties[key]:
            moved_paths[key] = move(parties[key])
    for key in sources.path_tables:
        if isinstance(parties.get(key), dict):
            table = cast("Tables", parties[key])
            moved_paths[key] = {
                name: move(path) if isinstance(path, str) and path else path for name, path in table.items()
            }
    return moved_paths


def settable_keys(source: str) -> list[str]:
    """Return the sorted keys of values that can be set: the scenario's, its parameters' and its parties'.

    Examples:
        >>> {"epsilon", "quorum", "count"} <= {*settable_keys("consortium")}
        True
    """
    tables = read_tables(find_source(source))
    protocol = protocol_of(tables, {})
    word = f"{protocol.client_role}s"
    own_keys = {*Scenario.__struct_fields__, word} - {"parties", "parameters", "protocol", "name"}
    parties = tables.get(word, tables.get("parties"))
    of_parties = set(cast("Tables", parties)) if isinstance(parties, dict) else set[str]()
    return sorted({*own_keys, *protocol.parameters_type.__struct_fields__, *of_parties})


def find_source(source: str) -> Path:
    """Return the file of a scenario or series, by shipped name or path."""
    shipped_sources = {**list_scenarios(), **list_series()}
    if source in shipped_sources:
        return shipped_sources[source]
    with contextlib.suppress(OSError):  # the name is too long for a file
        path = Path(source)
        if path.is_file():
            return path
        if path.exists():
            kind = "a folder" if path.is_dir() else "neither a file nor a folder"
            allowed = f"This is {kind}. Name a scenario: a TOML file, or the scenario.json of a run."
            raise ConfigurationError(field="scenario", value=source, allowed=allowed)
    hint = did_you_mean(source, shipped_sources) or similar_files(Path(source))
    allowed = (
        f"There is no file and no shipped scenario {quote(source)}{hint}. `psephos scenarios` lists the shipped ones."
    )
    raise ConfigurationError(field="scenario", value=source, allowed=allowed)


def read_tables(path: Path) -> Tables:
    """Read the tables of a TOML or JSON file; by default the file's name is the scenario's."""
    return {"name": path.stem, **_read(path)}


def _read(path: Path) -> Tables:
    try:
        check_size(path, field="scenario", max_bytes=_MAX_BYTES)
        text = path.read_text(encoding="utf-8-sig")
        refuse(path.suffix == ".json" and not text, "scenario", str(path), f"a file that is {CUT_SHORT}")
        return msgspec.json.decode(text, type=Tables) if path.suffix == ".json" else read_toml(text)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(field="scenario", value=str(path), allowed=f"a readable file ({error})") from None
    # invalid TOML, or an integer with too many digits
    except (ValueError, msgspec.DecodeError, RecursionError) as error:
        allowed = f"well-formed ({error}); texts stand in quotes, lists in [ ], and decimals take a point"
        if path.suffix.lower() in _TABLES:
            allowed = f"This is a table, and no scenario. Make one of it: psephos new {shlex.quote(str(path))}"
        raise ConfigurationError(field="scenario", value=str(path), allowed=allowed) from None


def with_trust(scenario: Scenario, kind: type[PhasedProtocol[Any, Any]]) -> Scenario:
    """Return a scenario with parameters for its requested trust model, if they do not state one.

    Examples:
        >>> from psephos.scenarios import load_scenario
        >>> from psephos.scenarios.system import find_protocol
        >>> with_trust(load_scenario("trusted-count"), find_protocol("dpwevote")).parameters["variant"]
        'central'
    """
    if (model := scenario.model) is None:
        return scenario
    settings = dict(kind.settings_by_trust)
    models = [each.value for each in settings]
    allowed = list_choices(models, model.value) if models else f"left out: {scenario.protocol} has one model of trust"
    require(model in settings, "trust", model.value, allowed)
    stated = {name: value for name, value in scenario.parameters.items() if value != _BEST}
    parameters = {**scenario.parameters, **settings[model], **stated}
    return msgspec.structs.replace(scenario, parameters=parameters)
