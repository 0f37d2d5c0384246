"""What is public: every module says so in `__all__`, which is true, and what is public is documented."""

import importlib
import inspect
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("protocol", "transports", "agents", "scenarios")


def module_names() -> list[str]:
    """Return the dotted names of all modules of the four rooms."""
    files = [path.relative_to(ROOT).with_suffix("").parts for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    return sorted(".".join(("psephos", *(part for part in parts if part != "__init__"))) for parts in files)


@pytest.fixture(params=module_names())
def module(request: pytest.FixtureRequest) -> ModuleType:
    """Each module in turn."""
    return importlib.import_module(request.param)


def own_definitions(module: ModuleType) -> dict[str, object]:
    """Return the classes and functions that a module defines itself."""
    return {
        name: value
        for name, value in vars(module).items()
        if (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__ == module.__name__
    }


def test_every_module_has_all_and_its_names_exist(module: ModuleType) -> None:
    names = getattr(module, "__all__", None)
    assert names is not None, f"{module.__name__} has no __all__"
    assert [name for name in names if not hasattr(module, name)] == []
    assert len(set(names)) == len(names)
    assert [name for name in names if name.startswith("_")] == []


def test_no_public_definition_is_missing_from_all(module: ModuleType) -> None:
    public = {name for name in own_definitions(module) if not name.startswith("_")}
    assert public - set(getattr(module, "__all__", ())) == set()


def test_every_module_begins_with_what_it_is(module: ModuleType) -> None:
    assert (module.__doc__ or "").strip()


def test_every_public_definition_has_a_docstring(module: ModuleType) -> None:
    silent: list[str] = []
    for name, value in own_definitions(module).items():
        if name.startswith("_"):
            continue
        if not (value.__doc__ or "").strip():
            silent.append(name)
        if inspect.isclass(value):
            for inner, member in vars(value).items():
                is_method = inspect.isfunction(member) or isinstance(member, (property, classmethod, staticmethod))
                if is_method and not inner.startswith("_") and not inspect.getdoc(getattr(value, inner)):
                    silent.append(f"{name}.{inner}")
    assert silent == []


def test_a_name_that_a_room_does_not_have_is_an_attribute_error() -> None:
    scenarios = importlib.import_module("psephos.scenarios")
    with pytest.raises(AttributeError, match=r"'psephos\.scenarios' has no attribute 'simulated'"):
        _ = scenarios.simulated
