"""Convert plain data to typed values by msgspec, and its errors to sentences for the author of the data."""

import enum
import re
import types
import typing
from typing import Any, Final

import msgspec

from ...protocol.errors import ConfigurationError, did_you_mean, list_choices

# msgspec's names of types, as somebody who writes TOML knows them.
_WORDS: Final = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "an integer",
    "null": "left out",
    "object": "a table",
    "str": "text",
}
# What a union of literals may have beside them.
_CHOICES: Final[dict[object, str]] = {tuple: "or a list", types.NoneType: "or left out"}


def convert(value: object, kind: type[Any], field: str) -> Any:
    """Return plain data as a struct or another type that msgspec knows.

    Raises:
        ConfigurationError: it is none, or a value in it is not allowed; `field`, empty for a whole scenario, and the
            place in it are named.

    Examples:
        >>> convert(["a", "b"], tuple[str, ...], "candidates")
        ('a', 'b')
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, ConfigurationError):  # raised by a struct itself
            raise error.__cause__ from None
        # The message ends with the place, as in "Expected `float`, got `str` - at `$.parameters.epsilon`".
        problem, _, place = str(error).partition(" - at `$")
        place = place.rstrip("`").lstrip(".")
        place_text = ".".join(part for part in (field, place) if part) or "scenario"
        value_found = _look_up(value, place)
        raise ConfigurationError(
            field=place_text, value=value_found, allowed=_allowed(problem, kind, place, value_found)
        ) from None


def _look_up(value: Any, place: str) -> object:
    """Return what stands at msgspec's place, as far as it leads."""
    for key, index in re.findall(r"(\w+)|\[(\d+)\]", place):
        try:
            value = value[key] if key else value[int(index)]
        except (KeyError, IndexError, TypeError):
            break
    return value


def _allowed(problem: str, kind: type[Any], place: str, value: object) -> str:
    """Turn msgspec's sentence into what is allowed."""
    if expected := re.match(r"Expected `(.+)`, got .+", problem):
        return " or ".join(_WORDS.get(name, name) for name in expected[1].split(" | "))
    if unknown := re.match(r"Object contains unknown field `(.+)`", problem):
        known_fields = (
            [field.name for field in msgspec.structs.fields(kind)]
            if hasattr(kind, "__struct_fields__") and not place
            else []
        )
        return f"without the unknown key {unknown[1]!r}{did_you_mean(unknown[1], known_fields)}"
    if missing := re.match(r"Object missing required field `(.+)`", problem):
        return f"with the required key {missing[1]!r}"
    if bounded := re.fullmatch(r"Expected `(\w+)` ((?:of length )?[<>]=? \S+)", problem):
        return f"{_WORDS.get(bounded[1], bounded[1])} {bounded[2].removesuffix('.0')}"
    if problem.startswith("Invalid enum value") and (choices := _choices(_type_at(kind, place))):
        return list_choices(choices, value)
    if problem.startswith("Invalid value") and place.endswith(".type") and (tags := _tags(kind, place[:-5])):
        return list_choices(tags, value)
    return f"another value ({problem.replace('`', '')})"


def _type_at(kind: Any, place: str) -> Any:
    """Return the type of what stands at msgspec's place, in structs and lists; None for what stands elsewhere."""
    for key, _ in re.findall(r"(\w+)|\[(\d+)\]", place):
        inner: Any = typing.get_args(kind)[0] if typing.get_origin(kind) is typing.Annotated else kind
        if key:
            fields = msgspec.structs.fields(inner) if hasattr(inner, "__struct_fields__") else ()
            kind = {field.name: field.type for field in fields}.get(key)
        else:
            kind = next(iter(typing.get_args(inner)), None)
    return kind


def _choices(type_named: Any) -> list[str]:
    """Return what literals, or an enumeration, allow; nothing for another type."""
    if isinstance(type_named, type) and issubclass(type_named, enum.Enum):
        return [str(member.value) for member in type_named]
    choices: list[str] = []
    for choice in typing.get_args(type_named):  # of a literal its values, of a union its parts
        if choice is msgspec.UnsetType:  # nobody can write it: it is what is left out
            continue
        words = typing.get_args(choice) if typing.get_origin(choice) is typing.Literal else [choice]
        choices += [_CHOICES.get(typing.get_origin(word) or word, str(word)) for word in words]
    return choices


def _tags(kind: type[Any], name: str) -> list[str]:
    """Return the types that a struct's field of tagged structs may have; nothing for a field of another type."""
    declared_types = {field.name: field.type for field in msgspec.structs.fields(kind)}
    members = typing.get_args(declared_types.get(name))
    return [str(member.__struct_config__.tag) for member in members if hasattr(member, "__struct_config__")]
