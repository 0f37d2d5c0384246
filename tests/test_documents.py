"""What is written for readers: examples run, commands parse, links lead somewhere, and nothing names a machine."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import click
import pytest
from distributions import write_distribution
from psephos.protocol import PhasedProtocol
from psephos.scenarios import list_scenarios, load_scenario, resolve
from psephos.scenarios.cli import cli
from psephos.scenarios.running.drafts import samples
from psephos.scenarios.running.resolution import Streamed
from runs import read_rows

Protocol: TypeAlias = PhasedProtocol[Any, Any]

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "tests").glob("*.md")])
FENCE = re.compile(r"^```(?P<language>[\w{}-]*) ?(?P<file>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)


def name_of(page: Path) -> str:
    """Return a page's path below the root."""
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path, language: str) -> list[str]:
    """Return the fenced blocks of one language that are no files, in order."""
    found = FENCE.finditer(page.read_text(encoding="utf-8"))
    return [match["text"] for match in found if match["language"] == language and not match["file"]]


def files_of(page: Path) -> dict[str, str]:
    """Return the fenced blocks that are files, by the name behind their language."""
    found = FENCE.finditer(page.read_text(encoding="utf-8"))
    return {match["file"]: match["text"] for match in found if match["file"]}


def commands() -> Iterator[tuple[str, str]]:
    """Yield every command that a page shows: page, command."""
    for page in PAGES:
        for block in blocks_of(page, "console"):
            for line in block.splitlines():
                command = line.removeprefix("$ ").partition("  #")[0].strip()
                if command:
                    yield name_of(page), command


def run_console(
    page: Path, folder: Path, *, before: Callable[[list[str]], object] = list, **environment: str
) -> dict[str, str]:
    """Run a page's commands of psephos in order, as they stand there, and return what each said, by its words.

    `before` is called with each one's words; one for which it returns nothing is left out.
    """
    said: dict[str, str] = {}
    for line in (line for block in blocks_of(page, "console") for line in block.splitlines() if line.strip()):
        program, *words = shlex.split(line.removeprefix("$ "), comments=True)
        if program != "psephos":
            assert program in {"make", "pip"}, line
            continue
        if not before(words):
            continue
        ended = subprocess.run(  # noqa: S603  the page's own commands
            [sys.executable, "-m", "psephos.scenarios.cli", *words],
            cwd=folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, (line, ended.stderr)
        said[" ".join(words)] = ended.stdout
    return said


COMMANDS = list(commands())
# test_plugins_page.py runs the other one.
PYTHON_PAGES = [name_of(page) for page in PAGES if blocks_of(page, "python") and page.stem != "private-mean"]


def put_on_path(folder: Path, page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a page's files imported from a folder, and forgotten in the end."""
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    for name in files_of(page):
        module = name.removesuffix(".py")
        monkeypatch.setitem(sys.modules, module, ModuleType(module))  # so that it is taken away in the end
        del sys.modules[module]


def run_page(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run a page's Python blocks in order, as one module beside the page's files; return its names."""
    for name, text in files_of(page).items():
        (folder / name).write_text(text, encoding="utf-8")
    put_on_path(folder, page, monkeypatch)
    module = ModuleType(re.sub(r"\W", "_", page.stem))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.chdir(folder)
    for number, block in enumerate(blocks_of(page, "python"), start=1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), vars(module))  # noqa: S102  our own documents
    return vars(module)


@pytest.mark.parametrize("page", PYTHON_PAGES)
def test_a_pages_python_runs_as_it_stands(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page(ROOT / page, tmp_path, monkeypatch)


def test_the_readme_begins_with_its_two_commands() -> None:
    first = blocks_of(ROOT / "README.md", "console")[0]
    assert re.findall(r"^make (\w+)", first, re.MULTILINE) == ["demo", "test"]


@pytest.mark.parametrize("page", sorted({page for page, _ in COMMANDS}))
def test_the_commands_that_a_page_shows_exist(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a page shows a package, with what that registers."""
    files = files_of(ROOT / page)
    if declared := files.get("pyproject.toml"):
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        groups: dict[str, dict[str, str]] = tomllib.loads(declared)["project"]["entry-points"]
        lines = [f"[{group}]\n" + "\n".join(map(" = ".join, own.items())) for group, own in groups.items()]
        write_distribution(tmp_path, "page", "\n".join(lines))
        put_on_path(tmp_path, ROOT / page, monkeypatch)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in dict.fromkeys(command for shown_by, command in COMMANDS if shown_by == page):
        program, *words = shlex.split(re.sub(r"<[^>]*>", "placeholder", command))
        if program == "make":
            targets = [word for word in words if "=" not in word]
            assert all(re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE) for target in targets), command
        elif program == "psephos":
            check_psephos(words, tmp_path)


@pytest.mark.parametrize("page", [name_of(page) for page in PAGES])
def test_the_options_that_a_sentence_names_exist(page: str) -> None:
    """Of commands within sentences, which are seldom whole."""
    sentences = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    for command in re.findall(r"`(psephos\s[^`]+)`", sentences):
        found, own = command_of(shlex.split(command)[1:])
        known = {name for option in found.params for name in (*option.opts, *option.secondary_opts)}
        assert {word for word in own if word.startswith("--")} <= known | {"--help", "--version"}, command


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    """Return the command that words name, and the words behind its name."""
    command: click.Command = cli
    while (
        isinstance(command, click.Group) and words and (below := command.get_command(click.Context(command), words[0]))
    ):
        command, words = below, words[1:]
    return command, words


_CHECKED: set[tuple[str, ...]] = set()


def check_psephos(words: list[str], folder: Path) -> None:
    """Check that the command line takes these words, and that the scenario takes its settings; once for all pages."""
    if tuple(words) in _CHECKED:
        return
    _CHECKED.add(tuple(words))
    command, own = command_of(words)
    try:
        context = command.make_context(words[0], own)
    except click.exceptions.Exit as ending:  # --help, --version
        assert ending.exit_code == 0  # noqa: PT017  that it may end is no expectation
        return
    if not {"scenario", "settings"} <= context.params.keys() or context.params["scenario"] not in list_scenarios():
        return
    for name, sample in samples().items():  # as `psephos samples` writes them
        (folder / name).write_bytes(sample.read_bytes())
    given: tuple[str, ...] = context.params["settings"]
    settings = [re.sub(r"=([\w-]+\.(?:csv|soc|pb))$", lambda file: f"={folder / file[1]}", one) for one in given]
    transport: str | None = context.params.get("transport")
    chosen = [f"transport={transport}"] if transport else []
    scenario = load_scenario(context.params["scenario"], [*chosen, *settings])
    if isinstance(scenario.parties, dict) and "data" in scenario.parties:  # a folder that is a reader's to have
        assert context.params["data"]
        return
    resolved = resolve(scenario)
    assert resolved.names or isinstance(resolved, Streamed)


def links(page: Path) -> list[str]:
    """Return every link of a page to another file or heading of ours."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = dict.fromkeys(match["target"] for match in LINK.finditer(text))
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def anchor_of(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def leads_somewhere(page: Path, target: str) -> bool:
    """Return whether a link's file is there, and its heading."""
    path, _, anchor = target.partition("#")
    file = page.parent / path if path else page
    return file.exists() and (not anchor or anchor in map(anchor_of, HEADING.findall(file.read_text(encoding="utf-8"))))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_to_a_file_that_exists(page: Path) -> None:
    assert [target for target in links(page) if not leads_somewhere(page, target)] == []


MOST_WORDS = 2_500
NOT_READ_THROUGH = {"docs/readings.md", "docs/changelog.md"}
"""Looked up by number or by version."""


def test_nobody_has_to_read_a_page_of_more_than_a_quarter_of_an_hour() -> None:
    pages = [page for page in PAGES if page.parent.name == "docs" and name_of(page) not in NOT_READ_THROUGH]
    long = {name_of(page): len(page.read_text(encoding="utf-8").split()) for page in pages}
    assert {name: words for name, words in long.items() if words > MOST_WORDS} == {}


MOST_WORDS_OF_README, MOST_WORDS_OF_MANUAL = 700, 70_000
WRITTEN_BY_BUILD = re.compile(r".*-(reproduced|added|tables)|calibration|states")
"""Pages that `docs/build.py` writes whole: reproduced papers, calibration, the state diagrams."""
WRITTEN = [page for page in PAGES if page.parent == DOCS and not WRITTEN_BY_BUILD.fullmatch(page.stem)]
"""The other pages of the manual, with the tables that commands write into them."""


MARKED = re.compile(r"<!-- begin (\w+) -->.*?<!-- end \1 -->", re.DOTALL)
"""A table that a command writes into a page: `docs/figures.py`, or a benchmark."""


def words_of(page: Path) -> int:
    """Return a page's number of words, as `wc -w` counts them, without those of tables that commands write."""
    return len(MARKED.sub("", page.read_text(encoding="utf-8")).split())


def test_the_readme_is_one_page_with_one_picture() -> None:
    readme = ROOT / "README.md"
    assert words_of(readme) <= MOST_WORDS_OF_README
    assert len(re.findall(r"^!\[", readme.read_text(encoding="utf-8"), re.MULTILINE)) == 1


def test_the_manual_is_for_readers_in_a_hurry() -> None:
    """README and all of docs/, without the pages and the tables that commands write."""
    assert sum(map(words_of, [ROOT / "README.md", *WRITTEN])) <= MOST_WORDS_OF_MANUAL


INCLUDED = {"changelog", "contributing", "index", "security"}
"""Pages that show a file of the root."""


@pytest.mark.parametrize("page", [name_of(page) for page in WRITTEN if page.stem not in INCLUDED])
def test_a_page_begins_with_what_its_reader_can_do_afterwards(page: str) -> None:
    _, _, text = (ROOT / page).read_text(encoding="utf-8").partition("\n\n")
    assert text.startswith("After this page you ")


INSTEAD = {
    "whoever": "everybody who, or the party's name",
    "beside": "next to, compared with, with",
    "in league": "collude",
    "made[- ]up": "synthetic",
    "dearest?": "the largest ε, the worst-case loss",
    "kept reports?": "memoized report",
    "rungs?|ladder": "size, grid of sizes",
    "own epsilon|epsilon of one's own": "personalized privacy",
}
"""Words that the manual does not use, and what it says."""


def test_the_manual_speaks_the_fields_words() -> None:
    """Names of code, file names of links, and tables that commands write are left out."""
    spoken = {
        name_of(page): re.sub(
            r"```.*?```|`[^`]+`|\]\([^)]*\)",
            "",
            MARKED.sub("", page.read_text(encoding="utf-8")),
            flags=re.DOTALL,
        )
        for page in WRITTEN
    }
    found = [
        (page, said, better)
        for page, text in spoken.items()
        for word, better in INSTEAD.items()
        for said in re.findall(rf"\b(?:{word})\b", text, re.IGNORECASE)
    ]
    assert found == []


@pytest.mark.parametrize("word", ["excel", "tie", "weight", "phone"])
def test_a_search_for_a_users_word_finds_a_heading(word: str) -> None:
    """Titles come first in the manual's search."""
    headings = [heading for page in PAGES for heading in HEADING.findall(page.read_text(encoding="utf-8"))]
    assert [heading for heading in headings if re.search(rf"\b{word}", heading, re.IGNORECASE)]


CITED_TEST = re.compile(r"`(?P<file>tests/[\w/]+\.py)(?:::(?P<test>\w+))?`")
PROMISES = DOCS / "tables" / "promises.csv"
CITING = [*PAGES, PROMISES]


@pytest.mark.parametrize("page", [name_of(page) for page in CITING if CITED_TEST.search(page.read_text("utf-8"))])
def test_a_test_that_a_page_names_is_there(page: str) -> None:
    cited = CITED_TEST.finditer((ROOT / page).read_text(encoding="utf-8"))
    missing = [
        one[0]
        for one in cited
        if not (ROOT / one["file"]).is_file() or (one["test"] and one["test"] not in defined_tests(ROOT / one["file"]))
    ]
    assert missing == []


def defined_tests(file: Path) -> set[str]:
    """Return the names of a file's tests."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return {node.name for node in body if isinstance(node, functions) and node.name.startswith("test_")}


@pytest.mark.parametrize("page", ["threat-model", "distributed"])
def test_every_promise_of_a_page_has_a_test_that_shows_it(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    lists = re.findall(r"^\*\*Promised\.\*\*\n\n(.*?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    promises = [
        " ".join(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", promise).split())
        for each in lists
        for promise in re.split(r"^- ", each, flags=re.MULTILINE)[1:]
    ]
    shown = {row["promise"]: row["shown by"] for row in read_rows(PROMISES) if row["page"] == page}
    assert promises
    assert [promise for promise in promises if not CITED_TEST.search(shown.get(promise, ""))] == []


READINGS = ROOT / "docs" / "readings.md"
CITED = re.compile(r"\b[Rr]eadings? ((?:[A-Z]\d+(?:, | and | to )?)+)")


def test_every_reading_that_is_cited_is_explained() -> None:
    explained = set(HEADING.findall(READINGS.read_text(encoding="utf-8")))
    files = [file for file in tracked_files() if file.suffix in {".py", ".md"}] or PAGES
    cited = [
        (key, name_of(file))
        for file in files
        for keys in CITED.findall(file.read_text(encoding="utf-8"))
        for key in re.findall(r"[A-Z]\d+", keys)
    ]
    assert cited
    assert [one for one in cited if one[0] not in explained] == []


@pytest.mark.parametrize("page", [name_of(page) for page in PAGES if page.parent.name == "docs"])
def test_a_page_links_the_readings_that_it_names(page: str) -> None:
    text = FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if not line.startswith("![")]  # a caption has no links
    assert [line for line in lines if CITED.search(line)] == []


POINTING = re.compile(r"(?:See|As|Like) `[^`]*`\.?")


def test_no_docstring_only_points_elsewhere() -> None:
    documented = (ast.AsyncFunctionDef, ast.ClassDef, ast.FunctionDef, ast.Module)
    pointing = [
        f"{name_of(file)}: {text}"
        for folder in ("protocol", "transports", "agents", "scenarios", "tests")
        for file in sorted((ROOT / folder).rglob("*.py"))
        if POINTING.search(source := file.read_text(encoding="utf-8"))  # to parse all takes seconds
        for node in ast.walk(ast.parse(source))
        if isinstance(node, documented) and (text := ast.get_docstring(node)) and POINTING.fullmatch(text)
    ]
    assert pointing == []


def tracked_files() -> list[Path]:
    """Return the files that are, or would be, in the repository; none outside one."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        return []
    command = [git, "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603  git, of our own tree
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def test_no_tracked_file_names_a_machines_path() -> None:
    files = tracked_files()
    if not files:
        pytest.skip("not a git repository")
    homes = [b"/" + home + b"/" for home in (b"home", b"Users", b"root")]
    if len(ROOT.parts) > 2:  # anything shorter is a word that files may well use
        homes.append(str(ROOT).encode())
    naming = [name_of(file) for file in files if any(home in file.read_bytes() for home in homes)]
    assert naming == []


def test_the_table_of_verdicts_has_those_of_the_pages() -> None:
    pages = "dpwevote", "truth-discovery", "moral-preferences", "fair-voting"
    texts = [(ROOT / "docs" / f"{page}-reproduced.md").read_text(encoding="utf-8") for page in pages]
    added = re.compile(r"^## What we add$.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    of_papers = "".join(added.sub("", text) for text in texts)
    told = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line) for line in of_papers.splitlines() if line.startswith("- **")]
    rows = [row for row in read_rows(ROOT / "docs/tables/papers/verdicts.csv") if row["now"]]
    assert len(rows) == len(told)
    for row in rows:
        entry = f"- **{row['now'].capitalize()}.** {row['claim']} ({row['source']}"
        assert any(line.startswith(entry) for line in told), row
