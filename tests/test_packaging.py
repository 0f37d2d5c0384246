"""What is installed: the lists in `pyproject.toml` against the tree, and a wheel built from it."""

import importlib.metadata
import inspect
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from psephos.scenarios.system import SYSTEMS, System, find_protocol

ROOT = Path(__file__).parents[1]
ROOMS = ("protocol", "transports", "agents", "scenarios")
TEXT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PYPROJECT: dict[str, Any] = tomllib.loads(TEXT)
SETUPTOOLS: dict[str, Any] = PYPROJECT["tool"]["setuptools"]
ENTRY_POINTS: dict[str, dict[str, str]] = {
    "console_scripts": PYPROJECT["project"]["scripts"],
    **PYPROJECT["project"]["entry-points"],
}
RELATIVE_LINK = re.compile(r"\]\((?!https?:|#)[^)]*\)")
DECLARED = [(group, name, value) for group, entries in ENTRY_POINTS.items() for name, value in entries.items()]


FRONT = ROOT / "scenarios" / "front"
"""The package `psephos` itself."""


def package_of(folder: Path) -> str:
    """Return the package that a folder of the tree is installed as."""
    if folder == FRONT:
        return "psephos"
    return ".".join(("psephos", *folder.relative_to(ROOT).parts))


def packages_in_tree() -> dict[str, Path]:
    """Return every package of the four rooms: name → folder."""
    return {package_of(file.parent): file.parent for room in ROOMS for file in (ROOT / room).rglob("__init__.py")}


def data_files() -> list[Path]:
    """Return every file of the rooms that is neither source nor left by running it."""
    files = [file for room in ROOMS for file in (ROOT / room).rglob("*") if file.is_file()]
    return [file for file in files if "__pycache__" not in file.parts and file.suffix != ".py"]


def requirement_lines() -> list[str]:
    """Return the lines of `pyproject.toml` that ask for something at run time."""
    project = TEXT[TEXT.index("[project]") : TEXT.index("[project.scripts]")]
    return [line.strip() for line in project.splitlines() if re.search(r'"[\w.-]+(\[[\w,]+\])?[><=~!]=', line)]


def test_the_packages_listed_are_those_in_the_tree() -> None:
    assert SETUPTOOLS["packages"] == sorted(packages_in_tree())


def test_every_source_file_is_in_a_listed_package() -> None:
    folders = {file.parent for room in ROOMS for file in (ROOT / room).rglob("*.py")}
    assert {package_of(folder) for folder in folders} == set(SETUPTOOLS["packages"])


def test_each_room_is_mapped_to_its_folder() -> None:
    front = {"psephos": FRONT.relative_to(ROOT).as_posix()}
    assert SETUPTOOLS["package-dir"] == front | {f"psephos.{room}": room for room in ROOMS}


def test_every_room_says_that_it_is_typed() -> None:
    for folder in (FRONT, *(ROOT / room for room in ROOMS)):
        assert (folder / "py.typed").is_file()
        assert "py.typed" in SETUPTOOLS["package-data"][package_of(folder)]


def test_every_file_that_is_no_source_is_package_data() -> None:
    listed: dict[str, list[str]] = SETUPTOOLS["package-data"]
    assert [
        str(file.relative_to(ROOT))
        for file in data_files()
        if not any(map(file.match, listed.get(package_of(file.parent), [])))
    ] == []


def test_every_line_of_package_data_matches_a_file() -> None:
    for package, patterns in SETUPTOOLS["package-data"].items():
        for pattern in patterns:
            assert list(packages_in_tree()[package].glob(pattern)), f"{package}: {pattern}"


def test_every_dependency_says_why_it_is_there() -> None:
    extras: dict[str, list[str]] = PYPROJECT["project"]["optional-dependencies"]
    asked = [*PYPROJECT["project"]["dependencies"], *(one for extra in extras.values() for one in extra)]
    lines = requirement_lines()
    assert len(lines) == len(asked)
    assert [line for line in lines if not re.search(r"#\s+\S+", line)] == []


@pytest.mark.parametrize(("group", "name", "value"), DECLARED)
def test_every_entry_point_loads(group: str, name: str, value: str) -> None:
    loaded = importlib.metadata.EntryPoint(name, value, group).load()
    if group == SYSTEMS:
        assert isinstance(loaded, System)
        loaded = find_protocol(name)
    if group == "pytest11":
        assert inspect.ismodule(loaded)
        return
    assert callable(loaded)
    # Protocols and transports are called what they are registered as, and so are roles.
    if group not in {"console_scripts", "psephos.showing"}:
        assert getattr(loaded, "role", getattr(loaded, "name", None)) == name


def test_what_is_declared_is_what_is_installed() -> None:
    installed = importlib.metadata.distribution("psephos").entry_points
    assert {(each.group, each.name, each.value) for each in installed} == set(DECLARED)


def test_a_wheel_holds_all_of_it_and_nothing_else(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for room in ROOMS:
        shutil.copytree(ROOT / room, tree / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "setup.py"):
        shutil.copy(ROOT / name, tree)
    offline = ["--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", *offline, "--wheel-dir", str(tmp_path), str(tree)]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603  our own
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        record = archive.read(next(name for name in names if name.endswith("/entry_points.txt"))).decode()
        metadata = archive.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    info = f"psephos-{PYPROJECT['project']['version']}.dist-info"
    assert {name.partition("/")[0] for name in names} == {"psephos", info}
    sources = [file for room in ROOMS for file in (ROOT / room).rglob("*.py")]
    expected = {f"{package_of(file.parent).replace('.', '/')}/{file.name}" for file in [*sources, *data_files()]}
    assert {name for name in names if name.startswith("psephos/")} == expected
    assert RELATIVE_LINK.findall(metadata) == []
    assert "Description-Content-Type: text/markdown" in metadata
    assert f"{info}/licenses/LICENSE" in names
    assert all(f"{name} = {value}" in record for _, name, value in DECLARED)


PAGE = """See [the manual](docs/index.md), [h11](https://h11.example) or [below](#below).

![A vote](docs/vote.png)

End.
"""


def long_description(readme: str, **given: str) -> str:
    """Return what `setup.py`, which no package holds, makes of a README."""
    namespace: dict[str, Any] = runpy.run_path(str(ROOT / "setup.py"))
    return namespace["long_description"](readme, **given)


def test_a_package_index_is_shown_no_link_that_leads_nowhere() -> None:
    shown = long_description(PAGE)
    assert shown == "See the manual, [h11](https://h11.example) or [below](#below).\n\nEnd.\n"


def test_a_package_index_is_shown_links_to_this_versions_files_where_they_are_public() -> None:
    shown = long_description(PAGE, source="https://hub.example/psephos", version="1.2")
    assert "[the manual](https://hub.example/psephos/blob/v1.2/docs/index.md)" in shown
    assert "![A vote](https://hub.example/psephos/raw/v1.2/docs/vote.png)" in shown


def test_the_citation_is_of_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {PYPROJECT['project']['version']}\n" in citation
