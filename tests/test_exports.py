"""What is public: every face says so in `__all__`, which is true, and what is public is documented."""

import ast
import functools
import importlib
import importlib.metadata
import inspect
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("protocol", "transports", "agents", "scenarios")
VERSION = "__version__"
METHODS = (FunctionType, property, functools.cached_property, classmethod, staticmethod)


def module_names() -> list[str]:
    """Return the dotted names of all modules of the four rooms, and of the package that holds them."""
    files = [path.relative_to(ROOT).with_suffix("").parts for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    files = [() if parts == ("scenarios", "front", "__init__") else parts for parts in files]
    return sorted(".".join(("psephos", *(part for part in parts if part != "__init__"))) for parts in files)


@pytest.fixture(scope="module")
def modules() -> list[ModuleType]:
    """All modules of the four rooms."""
    return [importlib.import_module(name) for name in module_names()]


def is_face(module: ModuleType) -> bool:
    """Tell whether a module is a package, whose `__all__` is what it shows."""
    return hasattr(module, "__path__")


def own_definitions(module: ModuleType) -> dict[str, object]:
    """Return the classes and functions that a module defines itself, also where a cache wraps them."""
    return {
        name: value
        for name, value in vars(module).items()
        if (inspect.isclass(value) or inspect.isfunction(inspect.unwrap(value))) and value.__module__ == module.__name__
    }


def own_classes(modules: Sequence[ModuleType]) -> Iterator[tuple[str, type]]:
    """Yield each class that a module defines at its top, with the module's name."""
    for module in modules:
        for value in vars(module).values():
            if inspect.isclass(value) and value.__module__ == module.__name__ and "." not in value.__qualname__:
                yield module.__name__, value


def undocumented(name: str, value: object) -> Iterator[str]:
    """Yield what of one public definition has no docstring: itself, and its public members."""
    if not (value.__doc__ or "").strip():
        yield name
    if inspect.isclass(value):
        for inner, member in vars(value).items():
            told = (vars(kind)[inner].__doc__ for kind in value.__mro__ if inner in vars(kind))
            if isinstance(member, METHODS) and not inner.startswith("_") and not any(told):
                yield f"{name}.{inner}"


def test_every_face_has_all_and_its_names_exist(modules: list[ModuleType]) -> None:
    wrong: list[str] = []
    for module in modules:
        names: Sequence[str] | None = getattr(module, "__all__", None)
        if names is None:
            wrong += [f"{module.__name__} has no __all__"] * is_face(module)
            continue
        wrong += [f"{module.__name__} has no {name}" for name in names if not hasattr(module, name)]
        wrong += [f"{module.__name__} has {name} twice" for name in set(names) if names.count(name) > 1]
        wrong += [f"{module.__name__}.{name} is private" for name in names if name.startswith("_") and name != VERSION]
    assert wrong == []


def test_no_public_definition_is_missing_from_all(modules: list[ModuleType]) -> None:
    assert [
        f"{module.__name__}.{name}"
        for module in filter(is_face, modules)
        for name in own_definitions(module)
        if not name.startswith("_") and name not in module.__all__
    ] == []


def test_every_module_begins_with_what_it_is(modules: list[ModuleType]) -> None:
    assert [module.__name__ for module in modules if not (module.__doc__ or "").strip()] == []


def test_every_public_definition_has_a_docstring(modules: list[ModuleType]) -> None:
    assert [
        f"{module.__name__}.{silent}"
        for module in modules
        for name, value in own_definitions(module).items()
        if not name.startswith("_")
        for silent in undocumented(name, value)
    ] == []


def unused(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return the arguments that no line of a method mentions; of one that is only declared, none."""
    body = [
        line for line in function.body if not isinstance(line, ast.Expr) or not isinstance(line.value, ast.Constant)
    ]
    own = function.args
    given = {each.arg for each in (*own.posonlyargs, *own.args, *own.kwonlyargs)} - {"self", "cls", "_"}
    return (
        given - {each.id for line in body for each in ast.walk(line) if isinstance(each, ast.Name)} if body else set()
    )


def test_an_argument_that_a_method_does_not_use_is_one_that_a_contract_names(modules: list[ModuleType]) -> None:
    """A class may take what it has no use for where a class above or below it has the method, too."""
    nodes = {
        (module.__name__, node.name): node
        for module in modules
        for node in ast.parse(Path(inspect.getfile(module)).read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    found = [(value, nodes[name, value.__qualname__]) for name, value in own_classes(modules)]
    overridden = {(kind, method) for value, _ in found for kind in value.__mro__[1:] for method in vars(value)}
    assert [
        f"{value.__qualname__}.{method.name}: {argument}"
        for value, node in found
        for method in node.body
        if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) and not method.name.startswith("__")
        if not any(method.name in vars(kind) for kind in value.__mro__[1:]) and (value, method.name) not in overridden
        for argument in sorted(unused(method))
    ] == []


def test_a_name_that_a_room_does_not_have_is_an_attribute_error() -> None:
    scenarios = importlib.import_module("psephos.scenarios")
    with pytest.raises(AttributeError, match=r"'psephos\.scenarios' has no attribute 'simulated'"):
        _ = scenarios.simulated


def test_every_public_name_is_found_by_tab_completion(modules: list[ModuleType]) -> None:
    assert [
        f"{module.__name__}.{name}"
        for module in filter(is_face, modules)
        for name in module.__all__
        if name not in dir(module)
    ] == []


def test_the_package_has_a_version_and_leads_to_runs() -> None:
    psephos = importlib.import_module("psephos")
    scenarios = importlib.import_module("psephos.scenarios")
    assert psephos.__version__ == importlib.metadata.version("psephos")
    assert (psephos.run, psephos.load, psephos.simulate) == (scenarios.run, scenarios.load, scenarios.simulate)
    assert {"run", "load", "simulate", "__version__"} <= set(dir(psephos))
    assert not {"Any", "TYPE_CHECKING", "importlib"} & {*dir(psephos), *dir(psephos.scenarios)}  # what completion shows
    with pytest.raises(AttributeError, match=r"'psephos' has no attribute 'ran'"):
        _ = psephos.ran


def test_to_import_the_package_imports_nothing_heavy() -> None:
    command = "import sys; import psephos, psephos.scenarios; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)  # noqa: S603  ours
    assert {"numpy", "trio", "msgspec", "pandas", "importlib.metadata"} & set(done.stdout.split()) == set()


def test_others_may_add_packages_to_ours(tmp_path: Path) -> None:
    (tmp_path / "psephos" / "elsewhere").mkdir(parents=True)
    (tmp_path / "psephos" / "elsewhere" / "__init__.py").write_text("word = 'found'\n", encoding="utf-8")
    for path in ("[sys.argv[1], *sys.path]", "[*sys.path, sys.argv[1]]"):
        command = f"import sys; sys.path = {path}; import psephos.elsewhere as e, psephos.protocol.roles; print(e.word)"
        words = [sys.executable, "-c", command, str(tmp_path)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)  # noqa: S603  our own
        assert done.stdout == "found\n"
