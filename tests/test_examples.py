"""Every example in a docstring, run: what it prints is what it says."""

import doctest
import importlib
from pathlib import Path
from typing import Final

import pytest

_ROOT: Final = Path(__file__).parent.parent
_ROOMS: Final = ("protocol", "transports", "agents", "scenarios")
_FLAGS: Final = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def _modules() -> list[str]:
    """Return the modules that have examples."""
    paths = [path.relative_to(_ROOT) for room in _ROOMS for path in sorted((_ROOT / room).rglob("*.py"))]
    having = [path for path in paths if ">>> " in (_ROOT / path).read_text(encoding="utf-8")]
    return [".".join(("psephos", *path.with_suffix("").parts)).removesuffix(".__init__") for path in having]


@pytest.mark.parametrize("name", _modules())
def test_examples_print_what_they_say(name: str) -> None:
    tests = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name))
    examined = [test for test in tests if test.examples]
    wrong = list[str]()
    for test in examined:
        doctest.DocTestRunner(optionflags=_FLAGS).run(test, out=wrong.append)
    assert examined
    assert not wrong, "".join(wrong)


def test_a_wrong_example_is_found() -> None:
    wrong, told = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0), list[str]()
    assert doctest.DocTestRunner(optionflags=_FLAGS).run(wrong, out=told.append).failed == 1
    assert "Expected" in "".join(told)
