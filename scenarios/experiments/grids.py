"""Grids: a scenario with several values for some settings; each combination is a cell."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import msgspec

from ...protocol.errors import ConfigurationError, refuse
from ..running.config import Scenario, load_scenario

Settings: TypeAlias = tuple[tuple[str, str], ...]  # keys and values set in one cell, as they were written

_MOST_CELLS: Final = 1_000
_OPENING, _CLOSING, _QUOTES = "[{", "]}", "\"'"


def read_axes(grid: Sequence[str]) -> list[list[Settings]]:
    """Parse a grid's axes into the settings of each of their values.

    An axis has the form "key=value,value,...", or "key,key=value/value,value/value,...", which sets several keys
    together. Commas and slashes inside brackets and quotes do not separate values.

    Raises:
        ConfigurationError: an axis has another form, a key or a value is repeated, a key is the seed, or there are too
            many cells.

    Examples:
        >>> read_axes(["epsilon=0.5,1"])
        [[(('epsilon', '0.5'),), (('epsilon', '1'),)]]
    """
    axes: list[list[Settings]] = []
    known_keys: set[str] = set()
    for text in grid:
        axis_key, equals, value_list = text.partition("=")
        keys = [key.strip() for key in axis_key.split(",")]
        parts = [list(_parts(value, "/")) if len(keys) > 1 else [value] for value in _parts(value_list, ",")]
        values = [tuple(part.strip() for part in settings) for settings in parts]
        has_all = all(keys) and all(itertools.chain(*values))
        refuse(
            not equals or not has_all,
            "--grid",
            text,
            f"Write a key and its values, as epsilon=1,2 or epsilon,variant=1/joint,2/laplace, in place of {text!r}.",
        )
        allowed = f"with {len(keys)} values in each place, parted by /, one for each key"
        refuse({*map(len, values)} != {len(keys)}, "--grid", text, allowed)
        refuse("seed" in keys, "--grid", text, "another key: all cells have one seed (--seed), and so the same luck")
        refuse(len({*values}) < len(values), "--grid", text, "distinct values")
        for key in keys:
            refuse(key in known_keys, "--grid", key, "given once: all of its values behind it")
            known_keys.add(key)
        axes.append([tuple(zip(keys, settings, strict=True)) for settings in values])
    cells = math.prod(map(len, axes))
    refuse(cells > _MOST_CELLS, "--grid", f"{cells:,} cells", f"at most {_MOST_CELLS:,}")
    return axes


def load_cells(
    source: str, settings: Sequence[str], *, grid: Sequence[str], data: str | None = None, seed: int | None = None
) -> list[tuple[Settings, Scenario]]:
    """Return the cells of a grid, with the last axis changing fastest; without a grid, the scenario alone.

    `data` and `seed` override the scenario's.

    Examples:
        >>> [settings for settings, _ in load_cells("consortium", [], grid=["epsilon=0.5,1"])]
        [(('epsilon', '0.5'),), (('epsilon', '1'),)]
    """
    cells: list[tuple[Settings, Scenario]] = []
    for values in itertools.product(*read_axes(grid)):
        cell_settings = tuple(itertools.chain(*values))
        try:
            scenario = load_scenario(source, [*settings, *(f"{key}={value}" for key, value in cell_settings)])
        except ConfigurationError as error:
            if error.field == "--set" and any(str(error.value).partition(".")[0] in key for key, _ in cell_settings):
                raise ConfigurationError(field="--grid", value=error.value, allowed=error.allowed) from None
            raise
        changes = {name: value for name, value in (("data", data), ("seed", seed)) if value is not None}
        cells.append((cell_settings, msgspec.structs.replace(scenario, **changes)))
    return cells


def _parts(text: str, mark: str) -> Iterator[str]:
    """Split a text at a separator outside brackets and quotes."""
    part, depth, quote = "", 0, ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in _QUOTES:
            quote = sign
        elif sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            depth -= 1
        if sign == mark and not quote and depth <= 0:
            yield part
            part = ""
        else:
            part += sign
    yield part
