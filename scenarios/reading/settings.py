"""Settings: single values of a scenario, set anew by name (`--set key=value`).

A key is a name that stands in one place only (`epsilon`, `count`), or a dotted path (`phases.weights.quorum`).
Here a scenario is still the tables that its file holds; what is set is checked with the rest.
"""

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from ...protocol.errors import ConfigurationError, list_choices, refuse

Tables: TypeAlias = dict[str, Any]  # a scenario as its file holds it

Settings: TypeAlias = Sequence[str] | Mapping[str, object]  # what is set: "key=value" each, or values by key

_MOST_DOTS: Final = 100  # of a key: reading one takes as long as the square of its parts, of 100 KB more than a minute
_QUOTED: Final = re.compile(
    r""""{3}(?:\\.|[^\\])*?(?:"{3,5}|\Z)|'{3}.*?(?:'{3,5}|\Z)|"(?:\\.|[^"\\\n])*"?|'[^'\n]*'?|#[^\n]*""", re.DOTALL
)
"""Strings and comments of TOML, in which dots mean nothing."""


def read_toml(text: str) -> Tables:
    """Return what a text of TOML holds.

    Raises:
        ValueError: it is none, or a key in it has more dots than any has.
        RecursionError: it is nested without end.

    Examples:
        >>> read_toml("epsilon = 0.5")
        {'epsilon': 0.5}
    """
    keys = _QUOTED.sub(lambda quoted: "\n" * quoted[0].count("\n"), text)
    for number, line in enumerate(keys.split("\n"), start=1):
        if any(part.count(".") > _MOST_DOTS for part in re.split(r"[=,{}[\]]", line)):
            raise ValueError(f"a key may have {_MOST_DOTS} dots, and line {number} has more in a row")
    return tomllib.loads(text)


def read_settings(settings: Settings) -> list[tuple[str, Any]]:
    """Return keys and values in order.

    Examples:
        >>> read_settings(["epsilon=2", "name=vote"])
        [('epsilon', 2), ('name', 'vote')]
    """
    if isinstance(settings, Mapping):
        return list(settings.items())
    return [read_setting(setting) for setting in settings]


def read_setting(text: str) -> tuple[str, Any]:
    """Return key and value of "key=value"; the value is read as TOML where that is possible, else as text.

    Examples:
        >>> read_setting("weights=[1, 2]")
        ('weights', [1, 2])
    """
    key, equals, value = text.partition("=")
    refuse(not equals or not key, "--set", text, f"Write a key and its value, as epsilon=2, in place of {text!r}.")
    try:
        tables = read_toml(f"value = {value}")
    except (ValueError, RecursionError):  # no TOML, or an integer of more digits than Python reads
        return key, value
    refuse(len(tables) > 1, "--set", text, f"Write one key and its value, and --set for each, in place of {text!r}.")
    return key, tables["value"]


def set_value(
    tables: Tables, key: str, value: object, *, own_keys: Collection[str], parameters: Collection[str], parties: str
) -> None:
    """Set one value, by a name or a dotted path, in place.

    Args:
        tables: the scenario.
        key: a name or a dotted path.
        own_keys: the names that stand in the scenario itself.
        parameters: the names that stand in its parameters.
        parties: where its parties stand, whose generator's names count as well.

    Raises:
        ConfigurationError: the key stands nowhere, or below something that is no table.

    Examples:
        >>> tables = {"parameters": {"epsilon": 1.0}}
        >>> set_value(tables, "epsilon", 2.0, own_keys=("seed",), parameters=("epsilon",), parties="voters")
        >>> tables
        {'parameters': {'epsilon': 2.0}}
    """
    *path, name = (
        key.split(".")
        if "." in key
        else _path_of(tables, key, own_keys=own_keys, parameters=parameters, parties=parties)
    )
    inner = tables
    for part in path:
        inner_value: Any = inner.setdefault(part, {})
        refuse(not isinstance(inner_value, dict), "--set", key, f"another key: {part!r} is no table here")
        inner = cast("Tables", inner_value)
    inner[name] = value


def _path_of(
    tables: Tables, key: str, *, own_keys: Collection[str], parameters: Collection[str], parties: str
) -> tuple[str, ...]:
    """Return where a bare key stands: in the scenario, in its parameters, or in its generator's table."""
    table = tables.get(parties)
    generated_keys = set(cast("Tables", table)) if isinstance(table, dict) else set[str]()
    for path, names in (((), own_keys), (("parameters",), parameters), ((parties,), generated_keys)):
        if key in names:
            return (*path, key)
    raise ConfigurationError(
        field="--set", value=key, allowed=list_choices(sorted({*own_keys, *parameters, *generated_keys}), key)
    )
