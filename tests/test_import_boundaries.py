"""Who may import whom: the design's table, compared with every import of the four rooms.

Relative imports are resolved, imports under `TYPE_CHECKING` and inside functions count, and so does
`importlib.import_module` with a name that is written out.
"""

import ast
import dataclasses
import functools
import itertools
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]
COMPUTED = "<computed>"


@dataclasses.dataclass(frozen=True)
class Rule:
    """What one room may import.

    Args:
        ours: modules of `psephos`, with everything inside them.
        packages: of third parties.
        standard: of the standard library; None for all but `NOWHERE`.
    """

    ours: tuple[str, ...]
    packages: frozenset[str]
    standard: frozenset[str] | None = None


# Pure: nothing here reads a file, a clock or the environment, starts a thread, or draws.
PURE_NAMES = (
    "abc bisect collections contextlib copy dataclasses decimal difflib enum fractions functools hashlib heapq "
    "itertools math numbers operator re string struct types typing unicodedata"
)
PURE = frozenset(PURE_NAMES.split())
# Global randomness, a second event loop, threads beside trio's, and bytes that run as code.
NOWHERE = frozenset({"asyncio", "concurrent", "marshal", "multiprocessing", "pickle", "random", "shelve", "threading"})
SCENARIOS_NAMES = (
    "click matplotlib msgspec numpy pabutools pandas platformdirs pref_voting pyarrow python_calamine rich "
    "scipy structlog trio"
)

RULES = {
    "protocol": Rule(("protocol",), frozenset({"dp_accounting", "msgspec", "numpy", "scipy"}), PURE),
    "transports": Rule(("transports", "protocol.errors", "protocol.roles"), frozenset({"cryptography", "trio"})),
    "agents": Rule(("agents", "transports", "protocol"), frozenset({"msgspec", "opendp", "structlog", "trio"})),
    "scenarios": Rule(
        ("scenarios", "agents", "transports", "protocol"),
        frozenset(SCENARIOS_NAMES.split()),
    ),
}

# Of single files, what else they may import: the plugin is pytest's, which alone imports it; pages speak HTTP; one
# writes HTML; one speaks with a cluster; one has the primitives of masked sums.
ALSO = {
    "scenarios/pytest_plugin.py": frozenset({"pytest"}),
    "scenarios/running/cluster.py": frozenset({"dask", "distributed"}),
    "agents/masking.py": frozenset({"cryptography", "nacl"}),
    "scenarios/deployment/status.py": frozenset({"h11", "prometheus_client"}),
    "scenarios/deployment/links.py": frozenset({"segno"}),
    "scenarios/deployment/web.py": frozenset({"h11"}),
    "transports/http_server.py": frozenset({"h11"}),
    "transports/web.py": frozenset({"h11", "wsproto"}),
    "scenarios/reports/page.py": frozenset({"jinja2"}),
    "scenarios/running/scaffold.py": frozenset({"jinja2"}),
}

# What single files may import where somebody asks for it alone, inside a function or for its types, and nothing that a
# session computes depends on: what shows outcomes is found where it registered itself.
LATE = {
    "protocol/shown.py": frozenset({"importlib.metadata", "pandas"}),
}

# Inside `protocol/`, each may import those before it. A new module takes its place here.
ORDER = (
    "errors",
    "shown",
    "arrays",
    "arguments",
    "estimate",
    "integers",
    "memoized_reports",
    "elementary",
    "roles",
    "privacy",
    "mechanisms",
    "estimators",
    "messages",
    "transcript",
    "states",
    "masking",
    "tally",
    "records",
    "randomness",
    "sides",
    "on_arrays",
    "guard",
    "columns",
    "privacy_levels",
    "phases",
    "plugin_faults",
    "plugin_checks",
    "views",
    "effects",
    "faults",
    "population",
    "blocks",
    "roster",
    "masked_sessions",
    "rules",
    "traffic",
    "admission",
    "client_table",
    "phase_reports",
    "session_flow",
    "replay",
    "agreement",
    "answers",
    "client_machine",
    "server_machine",
)
# These may use all of the above, and not each other.
PROTOCOLS = frozenset({"dpwevote", "fair_voting", "moral_preferences", "truth_discovery"})

# Inside `scenarios/`, a house each, which only its descriptor leads to (entry points `psephos.systems`); all else there
# is an engine, that knows no system, and no system's protocol.
SYSTEMS = PROTOCOLS
SYSTEM_NAMES = frozenset(name.replace("_", "-") for name in SYSTEMS)

# A dotted name of something in a system's `paper/`, whole or after an f-string's first part.
NAMES_A_PAPER = re.compile(r"(\w*\.)*paper[.:][\w.:]+")

# What hangs on a model of trust stands where the models do.
TRUST = frozenset({"protocol/privacy/relations.py", "protocol/phases/central_phase.py"})

# Of numpy, what is impure: files, and everything about randomness but generators with a key of their own.
NUMPY_FILES = frozenset({"fromfile", "genfromtxt", "load", "loadtxt", "memmap", "save", "savetxt", "savez"})
NUMPY_RANDOM = frozenset({"Generator", "Philox"})
IMPURE_BUILTINS = frozenset({"__import__", "breakpoint", "eval", "exec", "input", "open", "print"})

# Of a module, which has one idea.
MOST_LINES = 600


@dataclasses.dataclass(frozen=True)
class Import:
    """One import: the absolute name of what is imported, the line, and whether it waits for a call or is of types."""

    name: str
    line: int
    is_late: bool = False


def module_of(file: PurePosixPath) -> str:
    """Return the dotted name of a file of a room."""
    parts = file.with_suffix("").parts
    return ".".join(("psephos", *(parts[:-1] if parts[-1] == "__init__" else parts)))


# What any check looks at.
LOOKED_AT = frozenset(
    {
        ast.AsyncFunctionDef,
        ast.Attribute,
        ast.Call,
        ast.Compare,
        ast.Constant,
        ast.Dict,
        ast.FunctionDef,
        ast.If,
        ast.Import,
        ast.ImportFrom,
        ast.match_case,
    }
)


@functools.lru_cache(maxsize=1)
def nodes_of(source: str) -> tuple[ast.AST, ...]:
    """Return the nodes of a text that a check may look at; Python parses it once for all of them."""
    return tuple(node for node in ast.walk(ast.parse(source)) if type(node) in LOOKED_AT)


@functools.lru_cache(maxsize=1)
def imports_of(source: str, file: PurePosixPath, modules: frozenset[str]) -> tuple[Import, ...]:
    """Return every import of one file, by absolute name.

    Args:
        source: its text.
        file: its path below the root.
        modules: all modules of the rooms, to tell `from .a import module` from `from .a import name`.
    """
    return tuple(_imports_in(source, file, modules))


def _imports_in(source: str, file: PurePosixPath, modules: frozenset[str]) -> Iterator[Import]:
    module = module_of(file)
    package = module if file.stem == "__init__" else module.rpartition(".")[0]
    nodes = nodes_of(source)
    late = _late_nodes(nodes) if str(file) in LATE else set[ast.AST]()
    for node in nodes:
        match node:
            case ast.Import():
                yield from (Import(alias.name, node.lineno, node in late) for alias in node.names)
            case ast.ImportFrom():
                base = node.module or ""
                if node.level:
                    above = package.split(".")[: len(package.split(".")) - node.level + 1]
                    base = ".".join([*above, *([node.module] if node.module else [])])
                for alias in node.names:
                    inner = f"{base}.{alias.name}"
                    name = inner if inner in modules or base == "psephos" else base
                    yield Import(name, node.lineno, node in late)
            case ast.Call(func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__")):
                yield Import(_literal(node, package), node.lineno)
            case _:
                pass


def _late_nodes(nodes: Iterable[ast.AST]) -> set[ast.AST]:
    """Return all that stands in a function, or under `if TYPE_CHECKING`."""
    waiting = [
        node
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        or (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING")
    ]
    return {inner for node in waiting for inner in ast.walk(node)}


def _literal(call: ast.Call, package: str) -> str:
    """Return the name that a call imports, if it is written out; `from its own package` counts as that package."""
    match call.args[:1]:
        case [ast.Constant(value=str(name))]:
            return f"{package}{name}" if name.startswith(".") else name
        case [ast.JoinedStr(values=[ast.Constant(value=str(name)), *_])] if name == ".":
            return package
        case _:
            return COMPUTED


def is_inside(name: str, whole: str) -> bool:
    """Whether a dotted name is `whole` or lies inside it."""
    return name == whole or name.startswith(f"{whole}.")


def violations_of(source: str, file: PurePosixPath, modules: frozenset[str] = frozenset()) -> list[str]:
    """Return what a file imports or uses against the rules, a sentence each."""
    room = file.parts[0]
    rule = RULES[room]
    found: list[str] = []
    for each in imports_of(source, file, modules):
        top = each.name.partition(".")[0]
        where = f"{file}:{each.line}"
        if each.is_late and each.name in LATE.get(str(file), frozenset()):
            continue
        if top == "psephos":
            if not any(is_inside(each.name, f"psephos.{ours}") for ours in rule.ours):
                found.append(f"{where} {room} may not import {each.name}")
            elif room == "protocol":
                found += [f"{where} {reason}" for reason in _order_violations(file, each.name)]
            elif room == "scenarios":
                found += [f"{where} {reason}" for reason in _house_violations(file, each.name)]
        elif top in sys.stdlib_module_names:
            if top in NOWHERE or (rule.standard is not None and top not in rule.standard):
                found.append(f"{where} {room} may not import {each.name} of the standard library")
        elif top not in rule.packages | ALSO.get(str(file), frozenset()):
            found.append(f"{where} {room} may not import {each.name}")
    if room == "protocol":
        found += _impure_uses(source, file)
    if str(file) not in TRUST and re.search("CentralPhase|TrustModel", source):  # to look at all nodes takes long
        found += _asked_of_trust(source, file)
    if room == "scenarios" and house_of(file) is None and any(name in source for name in SYSTEM_NAMES):
        found += _named_systems(source, file)
    if room == "scenarios" and file.parts[2:3] != ("paper",) and "paper" in source:
        found += _papers_named(source, file, imports_of(source, file, modules))
    return found


def house_of(file: PurePosixPath) -> str | None:
    """Return the system in whose house a file of `scenarios/` is; None for an engine's."""
    return file.parts[1] if file.parts[1] in SYSTEMS else None


def _house_violations(file: PurePosixPath, name: str) -> Iterator[str]:
    """Yield what is wrong about one import inside `scenarios/`, or of a protocol there."""
    own = house_of(file)
    for system in SYSTEMS - {own}:
        if is_inside(name, f"psephos.scenarios.{system}"):
            yield f"{'an engine' if own is None else own} may not import {name}: a system is found by its descriptor"
        if is_inside(name, f"psephos.protocol.{system}"):
            yield f"{'an engine' if own is None else own} may not import {name}: it knows no such protocol"


def _papers_named(source: str, file: PurePosixPath, imports: Iterable[Import]) -> Iterator[str]:
    """Yield where a file that is no paper's imports a system's `paper/`, or, but for descriptors, names it."""
    for each in imports:
        if any(is_inside(each.name, f"psephos.scenarios.{system}.paper") for system in SYSTEMS):
            yield f"{file}:{each.line} paper is a leaf: nothing outside may import {each.name}"
    if file.name != "system.py":
        for node in nodes_of(source):
            match node:
                case ast.Constant(value=str(name)) if NAMES_A_PAPER.fullmatch(name):
                    yield f"{file}:{node.lineno} paper is a leaf: only a descriptor may name {name}"
                case _:
                    pass


def _named_systems(source: str, file: PurePosixPath) -> Iterator[str]:
    """Yield where an engine compares with a system's name."""
    for node in nodes_of(source):
        if isinstance(node, ast.Constant) and node.value in SYSTEM_NAMES:
            yield f"{file}:{node.lineno} an engine may not ask whether a protocol is {node.value!r}"


def _asked_of_trust(source: str, file: PurePosixPath) -> Iterator[str]:
    """Yield where a model of trust is told from others; that a loss or a mechanism is of one may be said anywhere."""
    for node in nodes_of(source):
        match node:
            case ast.Compare() | ast.Dict():
                asked = [*ast.iter_child_nodes(node)]
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, *asked]):
                pass
            case ast.match_case(pattern=pattern):
                asked = [*ast.walk(pattern)]
            case _:
                continue
        for part in itertools.chain.from_iterable(map(ast.walk, asked)):
            match part:
                case ast.Name(id="CentralPhase" as name) | ast.Attribute(value=ast.Name(id="TrustModel"), attr=name):
                    yield f"{file}:{part.lineno} {name} is told from other models: ask the phase, or its model"
                case _:
                    pass


def _order_violations(file: PurePosixPath, name: str) -> list[str]:
    """Return what is wrong about one import inside `protocol/`."""
    importer = file.with_suffix("").parts[1]
    imported = name.split(".")[2] if name.count(".") > 1 else "__init__"
    if importer in {"__init__", imported}:
        return []
    for unit in (importer, imported):
        if unit not in ORDER and unit not in PROTOCOLS:
            return [f"{unit} has no place in the order of protocol/"]
    if imported in PROTOCOLS or (importer in ORDER and ORDER.index(imported) > ORDER.index(importer)):
        return [f"in protocol/, {importer} may not import {imported}"]
    return []


def _impure_uses(source: str, file: PurePosixPath) -> Iterator[str]:
    for node in nodes_of(source):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in IMPURE_BUILTINS:
                yield f"{file}:{node.lineno} protocol may not call {name}"
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="random"), attr=name):
                if name not in NUMPY_RANDOM:
                    yield f"{file}:{node.lineno} protocol may not use numpy.random.{name}"
            case ast.Attribute(value=ast.Name(id="np" | "numpy"), attr=name) if name in NUMPY_FILES:
                yield f"{file}:{node.lineno} protocol may not use numpy.{name}"
            case _:
                pass


FILES = sorted(
    PurePosixPath(path.relative_to(ROOT).as_posix()) for room in RULES for path in (ROOT / room).rglob("*.py")
)
MODULES = frozenset(map(module_of, FILES))


def test_every_file_imports_only_what_its_room_may_and_rooms_of_scenarios_one_way() -> None:
    """No room of scenarios needs, by the imports at the heads of its modules, one that needs it."""
    found: list[str] = []
    needs: dict[str, set[str]] = {}
    for file in FILES:
        source = (ROOT / file).read_text(encoding="utf-8")
        found += violations_of(source, file, MODULES)
        if file.parts[0] == "scenarios":
            lines = source.splitlines()
            imports = imports_of(source, file, MODULES)
            names = [each.name for each in imports if lines[each.line - 1].startswith(("import ", "from "))]
            room = file.with_suffix("").parts[1]
            others = {name.split(".")[2] for name in names if name.startswith("psephos.scenarios.")}
            needs.setdefault(room, set()).update(others - {room})
    assert found == []
    done: set[str] = set()
    while ready := {room for room in needs if room not in done and needs[room] <= done}:
        done |= ready
    assert sorted(set(needs) - done) == []


def test_tests_are_filed_as_what_they_test() -> None:
    """Each folder of a room's tests is one of that room's folders."""
    folders = {
        path.parent.relative_to(ROOT / "tests") for room in RULES for path in (ROOT / "tests" / room).rglob("*.py")
    }
    assert [str(folder) for folder in sorted(folders) if not (ROOT / folder).is_dir()] == []


def test_no_module_outgrows_its_idea() -> None:
    """Where a module has more lines, it has more than one idea, and a reader looks for the second one elsewhere."""
    lines = {str(file): len((ROOT / file).read_text(encoding="utf-8").splitlines()) for file in FILES}
    assert [f"{file} has {number} lines" for file, number in lines.items() if number > MOST_LINES] == []


def test_every_suppression_says_why() -> None:
    bare = re.compile(r"# noqa(: [A-Z0-9, ]+)?$", re.MULTILINE)
    files = [*FILES, *(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*.py"))]
    assert [str(file) for file in files if bare.search((ROOT / file).read_text(encoding="utf-8"))] == []


def test_every_room_has_files() -> None:
    assert {file.parts[0] for file in FILES} == set(RULES)


def test_the_order_names_only_what_exists() -> None:
    units = {file.with_suffix("").parts[1] for file in FILES if file.parts[0] == "protocol"} - {"__init__"}
    assert units == {*ORDER, *PROTOCOLS}


def test_mechanisms_estimators_and_privacy_come_before_messages() -> None:
    assert max(map(ORDER.index, ("mechanisms", "estimators", "privacy"))) < ORDER.index("messages")


def test_errors_roles_messages_states_phases_machine_is_the_order() -> None:
    named = ["errors", "roles", "messages", "states", "phases", "server_machine"]
    assert sorted(named, key=ORDER.index) == named


@pytest.mark.parametrize(
    ("file", "source", "named"),
    [
        ("protocol/rules.py", "import trio", "trio"),
        ("protocol/rules.py", "import os.path", "os.path"),
        ("protocol/rules.py", "def f():\n    import secrets", "secrets"),
        ("protocol/rules.py", "import socket, ssl", "ssl"),
        ("protocol/rules.py", "import importlib\nimportlib.import_module('trio')", "trio"),
        ("protocol/rules.py", "from ..agents.client import Client", "psephos.agents.client"),
        ("protocol/rules.py", "from .. import transports", "psephos.transports"),
        ("protocol/rules.py", "from psephos.scenarios import simulate", "psephos.scenarios"),
        (
            "protocol/rules.py",
            "def f():\n    from ..scenarios.presentation.objects import text_of",
            "psephos.scenarios",
        ),
        ("protocol/shown.py", "from ..scenarios.presentation.objects import text_of", "psephos.scenarios"),
        ("protocol/shown.py", "def f():\n    from ..scenarios.presentation import objects", "psephos.scenarios"),
        ("protocol/shown.py", "import importlib.metadata", "importlib.metadata"),
        (
            "protocol/mechanisms/mechanism.py",
            "def f():\n    from ..on_arrays import perturb",
            "may not import on_arrays",
        ),
        ("protocol/mechanisms/mechanism.py", "def f():\n    from ..randomness import stream_key", "import randomness"),
        ("protocol/rules.py", "from .server_machine import JOIN", "may not import server_machine"),
        ("protocol/rules.py", "from . import dpwevote", "may not import dpwevote"),
        ("protocol/rules.py", "from .utils import anything", "utils has no place"),
        ("protocol/mechanisms/laplace.py", "from ..messages import Report", "may not import messages"),
        ("protocol/mechanisms/__init__.py", "from ..messages import Report", "may not import messages"),
        ("protocol/privacy/ledger.py", "from ..mechanisms import Mechanism", "may not import mechanisms"),
        ("protocol/rules.py", "open('x')", "call open"),
        ("protocol/rules.py", "import numpy as np\nnp.random.seed(1)", "numpy.random.seed"),
        ("protocol/rules.py", "import numpy as np\nnp.load('x')", "numpy.load"),
        ("transports/tcp.py", "from ..protocol.messages import Hello", "psephos.protocol.messages"),
        ("transports/tcp.py", "from ..protocol import PsephosError", "psephos.protocol"),
        ("transports/tcp.py", "from ..agents import Client", "psephos.agents"),
        ("transports/tcp.py", "import msgspec", "msgspec"),
        ("transports/testing/channels.py", "import pytest", "pytest"),
        ("agents/driver.py", "from ..scenarios import simulate", "psephos.scenarios"),
        ("agents/driver.py", "import asyncio", "asyncio"),
        ("agents/noise.py", "import importlib\nimportlib.import_module('matplotlib')", "matplotlib"),
        ("agents/noise.py", "from importlib import import_module\nimport_module(name)", COMPUTED),
        ("scenarios/running/run.py", "from ..dpwevote.data import DATA_SETS", "an engine may not import"),
        ("scenarios/running/run.py", "from ...protocol.dpwevote import DPWeVote", "it knows no such protocol"),
        ("scenarios/running/run.py", "def f():\n    from ..fair_voting import data", "an engine may not import"),
        (
            "scenarios/running/run.py",
            "protocol.name == 'fair-voting'",
            "may not ask whether a protocol is",
        ),
        ("scenarios/dpwevote/data/files.py", "from ...fair_voting.data import lines", "dpwevote may not import"),
        ("scenarios/dpwevote/data/files.py", "from ....protocol import fair_voting", "it knows no such protocol"),
        ("scenarios/dpwevote/measures.py", "from .paper.theory import law_of", "paper is a leaf"),
        ("scenarios/dpwevote/audit/sessions.py", "def f():\n    from ..paper import theory", "paper is a leaf"),
        ("scenarios/dpwevote/measures.py", "import psephos.scenarios.dpwevote.paper.theory", "paper is a leaf"),
        ("scenarios/dpwevote/measures.py", "load(f'{HERE}.paper:PAPER')", "only a descriptor may name .paper:PAPER"),
        ("scenarios/dpwevote/system.py", "from .paper import PAPER", "paper is a leaf"),
        ("scenarios/running/run.py", "loss.model is TrustModel.CENTRAL", "CENTRAL is told from other models"),
        ("scenarios/running/run.py", "{TrustModel.LOCAL: 'local'}", "LOCAL is told from other models"),
        ("agents/noise.py", "isinstance(phase, (A, CentralPhase))", "CentralPhase is told from other models"),
        ("agents/noise.py", "match phase:\n    case CentralPhase():\n        pass", "CentralPhase is told"),
        ("protocol/phases/phase.py", "model in (TrustModel.LOCAL,)", "LOCAL is told from other models"),
        ("scenarios/running/run.py", "import polars", "polars"),
        ("scenarios/deployment/server.py", "import h11", "h11"),
        ("scenarios/running/run.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import cvxpy", "cvxpy"),
    ],
)
def test_a_planted_violation_is_caught(file: str, source: str, named: str) -> None:
    modules = MODULES | {"psephos.protocol.utils"}
    (*others, last) = violations_of(source, PurePosixPath(file), modules)
    assert named in " ".join([*others, last])


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("protocol/rules.py", "import numpy as np\nfrom numpy.typing import NDArray\nimport scipy.special, msgspec"),
        ("protocol/rules.py", "from .errors import ConfigurationError\nfrom . import arrays, tally"),
        ("protocol/privacy/relations.py", "model is TrustModel.CENTRAL"),
        ("protocol/dpwevote/finite.py", "PrivacyLoss(model=TrustModel.LOCAL)"),
        ("protocol/fair_voting/parameters.py", "TrustModel.CENTRAL if name in CENTRAL else TrustModel.LOCAL"),
        ("protocol/rules.py", "import numpy as np\nnp.random.Generator(np.random.Philox(key=1))"),
        ("protocol/shown.py", "def f():\n    import importlib.metadata"),
        ("protocol/shown.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas as pd"),
        ("protocol/dpwevote/protocol.py", "from ..server_machine import JOIN\nfrom .outcome import Outcome"),
        ("protocol/privacy/accountants.py", "def f():\n    from dp_accounting.pld import common"),
        ("transports/memory.py", "import trio\nfrom ..protocol.errors import RemoteProtocolError\nimport errno"),
        ("agents/opendp_measurements.py", "import importlib\nimportlib.import_module('opendp.prelude')"),
        ("scenarios/pytest_plugin.py", "import pytest\ndef f():\n    from .testing import check_protocol"),
        ("scenarios/deployment/status.py", "import h11\nfrom prometheus_client import CollectorRegistry"),
        ("scenarios/__init__.py", "import importlib\nimportlib.import_module(f'.{home}', __name__)"),
        ("scenarios/running/run.py", "import importlib\nimportlib.import_module('matplotlib.figure')\nimport time"),
        (
            "scenarios/dpwevote/data/files.py",
            "from ...running.run import FinishedRun\nfrom ....protocol import dpwevote",
        ),
        ("scenarios/dpwevote/paper/rows.py", "from ..data import DATA_SETS\nname = 'dpwevote'"),
        ("scenarios/dpwevote/paper/claims.py", "from .rows import Row\nfrom . import PAPER"),
        ("scenarios/dpwevote/system.py", "reproduction = f'{_HERE}.paper:PAPER'"),
        ("scenarios/experiments/reproductions.py", "from .paper import Paper\nnamed = 'The paper: again'"),
    ],
)
def test_what_the_table_allows_is_no_violation(file: str, source: str) -> None:
    assert violations_of(source, PurePosixPath(file), MODULES) == []
