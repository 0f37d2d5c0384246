"""Write a drafted scenario as text: short TOML that a reader understands line by line."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from ...protocol.errors import printable
from ..reading.headers import USUAL, TableOptions
from .drafts import Draft, ScenarioLine

_TRUSTED: Final = {
    "local": 'nobody is trusted; "central": who counts is, and the result is far more exact',
    "central": 'who counts is trusted; "local": nobody is',
    "distributed": "nobody is trusted: whoever counts sees a masked sum alone",
}
MOST_LINES: Final = 20
"""Of a scenario that is written: it is to be read."""


def table_lines(options: TableOptions) -> list[ScenarioLine]:
    """Return the lines of a scenario's table of parties that say what was said of their file as a table."""
    return [
        ScenarioLine(key, value)
        for key, value in msgspec.to_builtins(options.alone()).items()
        if value != getattr(USUAL, key)
    ]


def scenario_text(
    draft: Draft,
    *,
    head: str,
    protocol: str,
    epsilon: float,
    synthetic: str,
    trust: str,
    options: TableOptions = USUAL,
) -> str:
    """Return a scenario as TOML, of at most `MOST_LINES` lines.

    Args:
        head: the first line: the command that made it, and what to do with it.
        synthetic: the digest of a file behind which nobody real stands; empty of one of somebody's own.
        trust: the model of trust; empty where the protocol has one alone.
        options: what was said of the parties' file as a table.

    Examples:
        >>> draft = Draft(title="The roof", role="partner", price="each opinion")
        >>> print(scenario_text(draft, head="By hand", protocol="dpwevote", epsilon=2, synthetic="", trust=""))
        # By hand
        ...
        epsilon = 2  # the price of each opinion: less is more private, and less exact
        ...
    """
    lines = [f"# {printable(head)}"]
    lines += map(format_line, [ScenarioLine("title", draft.title), ScenarioLine("protocol", protocol)])
    if trust:
        lines.append(format_line(trust_line(trust)))
    if synthetic:
        real = "of the made-up file: the truth may be shown"
        seed = "of the simulated noise; with values of your own delete this line and the one above"
        lines += [
            format_line(ScenarioLine("synthetic", synthetic, real)),
            format_line(ScenarioLine("seed", 2026, seed)),
        ]
    lines += ["", "[parameters]", *map(format_line, [*draft.parameters, price_line(draft, epsilon)])]
    lines += ["", f"[{draft.role}s]", *map(format_line, [*draft.parties, *table_lines(options)])]
    return "\n".join(line for line in lines if line or len(lines) <= MOST_LINES) + "\n"


def trust_line(trust: str) -> ScenarioLine:
    """Return the line of a scenario that says whom it trusts: nobody ("local" or "distributed"), or who counts.

    Examples:
        >>> trust_line("central").value
        'central'
    """
    return ScenarioLine("trust", trust, _TRUSTED[trust])


def masked_lines(number: int) -> list[ScenarioLine]:
    """Return the lines of a masked scenario of so many: a tenth of them may leave or cheat, and a tenth collude.

    Examples:
        >>> [(line.key, line.value) for line in masked_lines(27)]
        [('threshold', 25), ('colluders', 2)]
    """
    tenth = number // 10
    return [
        ScenarioLine("threshold", number - tenth, f"of {number} so many take part to the end, or there is no result"),
        ScenarioLine("colluders", tenth, "so many may work together with whoever counts, and learn no more"),
    ]


def price_line(draft: Draft, epsilon: float) -> ScenarioLine:
    """Return the line of a scenario that says what it costs each one.

    Examples:
        >>> price_line(Draft(title="The roof", role="partner", price="each opinion"), 2.0).key
        'epsilon'
    """
    return ScenarioLine("epsilon", epsilon, f"the price of {draft.price}: less is more private, and less exact")


def format_line(line: ScenarioLine) -> str:
    """Return a line as TOML, with its comment.

    Examples:
        >>> format_line(ScenarioLine("columns", {"partner": "Full name"}))
        'columns = { partner = "Full name" }'
    """
    comment = f"  # {printable(line.comment)}" if line.comment else ""
    return f"{_key(line.key)} = {_value(line.value)}{comment}"


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _value(name)


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
        case Mapping():
            pairs = cast("Mapping[str, Any]", value).items()
            return f"{{ {', '.join(f'{_key(name)} = {_value(each)}' for name, each in pairs)} }}"
        case list() | tuple():
            return f"[{', '.join(map(_value, cast('Sequence[Any]', value)))}]"
        case _:
            return repr(value)
