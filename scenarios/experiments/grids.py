"""Grids: a scenario with some of its values set to each of several, every combination a cell."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import msgspec

from ...protocol.errors import ConfigurationError, refuse
from ..running.config import Scenario, load_scenario

Settings: TypeAlias = tuple[tuple[str, str], ...]  # what is set in one cell: keys and values, as they were written

_MOST_CELLS: Final = 1_000
_OPENING, _CLOSING, _QUOTES = "[{", "]}", "\"'"


def read_axes(grid: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the keys of a grid, each of the form "key=value,value,...", with their values.

    Commas inside brackets and quotes do not part values.

    Raises:
        ConfigurationError: one has another form, a key or a value stands there twice, a key is the seed, or there are
            too many cells.
    """
    axes: dict[str, tuple[str, ...]] = {}
    cells = 1
    for text in grid:
        key, equals, listed = text.partition("=")
        values = tuple(value.strip() for value in _parts(listed))
        refuse(not equals or not key or not all(values), "--grid", text, "of the form key=value,value,...")
        refuse(key in axes, "--grid", key, "given once: all of its values behind it")
        refuse(key == "seed", "--grid", text, "another key: all cells have one seed (--seed), and so the same luck")
        refuse(len(set(values)) < len(values), "--grid", text, "distinct values")
        axes[key] = values
        cells *= len(values)
    refuse(cells > _MOST_CELLS, "--grid", f"{cells:,} cells", f"at most {_MOST_CELLS:,}")
    return list(axes.items())


def load_cells(
    source: str, settings: Sequence[str], *, grid: Sequence[str], data: str | None = None, seed: int | None = None
) -> list[tuple[Settings, Scenario]]:
    """Return the cells of a grid, the last key's values changing first; without a grid the scenario alone.

    Data and seed stand in place of the scenario's.
    """
    axes = read_axes(grid)
    cells: list[tuple[Settings, Scenario]] = []
    for values in itertools.product(*(values for _, values in axes)):
        own = tuple((key, value) for (key, _), value in zip(axes, values, strict=True))
        try:
            scenario = load_scenario(source, [*settings, *(f"{key}={value}" for key, value in own)])
        except ConfigurationError as error:
            if error.field == "--set" and any(str(error.value).partition(".")[0] in key for key, _ in own):
                raise ConfigurationError(field="--grid", value=error.value, allowed=error.allowed) from None
            raise
        changes = {name: value for name, value in (("data", data), ("seed", seed)) if value is not None}
        cells.append((own, msgspec.structs.replace(scenario, **changes)))
    return cells


def _parts(text: str) -> Iterator[str]:
    """Yield what stands between the commas of a text that are in no bracket and no quotes."""
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
        if sign == "," and not quote and depth <= 0:
            yield part
            part = ""
        else:
            part += sign
    yield part
