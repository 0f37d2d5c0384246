"""Plain data into typed values: every complaint names the place, what stands there and what is allowed."""

from typing import Any, Literal

import msgspec
import pytest
from psephos.protocol import ConfigurationError
from psephos.scenarios.reading.conversion import convert


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    """A table in a table."""

    number: float
    mode: Literal["slow", "fast"] = "slow"


class Outer(msgspec.Struct, forbid_unknown_fields=True):
    """A table."""

    inner: Inner
    numbers: tuple[int, ...] = ()
    switch: bool = False
    note: str | None = None
    by_name: dict[str, Inner] = {}
    mode: Literal["slow", "fast"] = "slow"
    pace: Literal["even", "odd"] | None = None
    side: Literal["left", "right"] | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        if len(self.numbers) > 3:
            raise ConfigurationError(field="numbers", value=len(self.numbers), allowed="at most 3")


SOUND: dict[str, Any] = {"inner": {"number": 1}, "numbers": [1, 2], "switch": True, "note": "n"}


def test_what_is_sound_is_converted() -> None:
    assert convert(SOUND, Outer, "here") == Outer(Inner(1.0), (1, 2), switch=True, note="n")


@pytest.mark.parametrize(
    ("given", "field", "value", "allowed"),
    [
        ({"inner": 3}, "here.inner", 3, "a table"),
        ({"inner": {"number": "x"}}, "here.inner.number", "x", "a number"),
        ({"inner": {}}, "here.inner", {}, "with the required key 'number'"),
        ({"inner": {"number": 1, "nubmer": 2}}, "here.inner", None, "without the unknown key 'nubmer'"),
        ({"numbers": [1, 2.5]}, "here.numbers[1]", 2.5, "an integer"),
        ({"numbers": "many"}, "here.numbers", "many", "a list"),
        ({"switch": "on"}, "here.switch", "on", "true or false"),
        ({"note": 5}, "here.note", 5, "text or left out"),
        ({"by_name": {"a": {"number": "x"}}}, "here.by_name[...].number", None, "a number"),
        ({"mode": "best"}, "here.mode", "best", "one of slow, fast"),
        ({"pace": "best"}, "here.pace", "best", "one of even, odd, or left out"),
        ({"side": "best"}, "here.side", "best", "one of left, right"),
        ({"numbers": [1, 2, 3, 4]}, "numbers", 4, "at most 3"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, Any], field: str, value: object, allowed: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        convert({**SOUND, **given}, Outer, "here")
    assert (caught.value.field, caught.value.allowed) == (field, allowed)
    assert value is None or caught.value.value == value


def test_without_a_place_a_whole_scenario_is_meant() -> None:
    with pytest.raises(ConfigurationError) as caught:
        convert({}, Outer, "")
    assert (caught.value.field, caught.value.allowed) == ("scenario", "with the required key 'inner'")


def test_an_enumeration_further_inside_keeps_msgspecs_words() -> None:
    with pytest.raises(ConfigurationError, match="best") as caught:
        convert({"inner": {"number": 1, "mode": "best"}}, Outer, "here")
    assert (caught.value.field, caught.value.value) == ("here.inner.mode", "best")
