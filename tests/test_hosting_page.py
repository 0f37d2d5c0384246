"""The image and the unit of `docs/hosting.md`: linted, and built step by step where no engine runs."""

import fnmatch
import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from install_size import MOST_PACKED, packed
from packaging.requirements import Requirement
from test_documents import DOCS, ROOT, blocks_of, check_psephos, files_of

DOCKERFILE: Final = ROOT / "Dockerfile"
IGNORED: Final = ROOT / ".dockerignore"
MOST_EXPOSED: Final = 20
"""Of a unit, in tenths: up to there systemd's own review says OK."""
_PLACES: Final = re.compile(r"(?<![\w./-])/(?=(?:build|data|opt|wheels)\b)")
"""The root of a path in the image, of which a test has folders of its own."""
_OFFLINE: Final = {
    "PIP_NO_INDEX": "1",
    "PIP_NO_DEPS": "1",
    "PIP_NO_BUILD_ISOLATION": "0",  # so pip reads it: there is none
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}


def configurations() -> list[list[tuple[str, str]]]:
    """Return the instructions of each stage, with what they say."""
    text = re.sub(r"^#[^\n]*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE).replace("\\\n", " ")
    found: list[list[tuple[str, str]]] = []
    for line in filter(None, text.splitlines()):
        instruction, _, said = line.partition(" ")
        if instruction == "FROM":
            found.append([])
        if found:  # before is the argument that names the base
            found[-1].append((instruction, said.strip()))
    return found


def found_by(pattern: str) -> list[Path]:
    """Return what a pattern of COPY finds in the tree."""
    return sorted(ROOT.glob(pattern)) if "[" in pattern else [ROOT / pattern]


def test_the_lint_of_dockerfiles_finds_nothing() -> None:
    lint = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if lint is None:
        pytest.skip("hadolint is not installed (the group hosting)")
    linted = subprocess.run([lint, str(DOCKERFILE)], capture_output=True, text=True, check=False)  # noqa: S603  a lint
    assert (linted.returncode, linted.stdout) == (0, "")


def test_the_image_runs_as_nobody_in_particular_and_holds_no_tree() -> None:
    build, final = configurations()
    bases = {
        said.split()[0]
        for configuration in (build, final)
        for instruction, said in configuration
        if instruction == "FROM"
    }
    assert bases == {"${BASE}"}
    assert "*@sha256:*" in next(said for instruction, said in build if instruction == "RUN")
    assert re.search(r'BASE="\$\(docker .*RepoDigests.* python:3\.\d+-slim-\w+\)"', (DOCS / "hosting.md").read_text())
    installs = [part for _, said in build for part in said.split("&&") if re.search("pip (install|wheel) ", part)]
    assert len(installs) == 4
    assert all("--no-deps" in part and ("--require-hashes" in part or "/wheels" in part) for part in installs)
    (user,) = [said for instruction, said in final if instruction == "USER"]
    assert 1_000 <= int(user.split(":")[0]) < 60_000
    assert [said.split()[0] for instruction, said in final if instruction == "COPY"] == ["--from=build"]
    assert dict(final)["ENTRYPOINT"] == '["psephos"]'
    assert {instruction for configuration in (build, final) for instruction, _ in configuration}.isdisjoint(
        {"ADD", "SHELL", "ONBUILD"}
    )


def test_what_is_sent_to_the_builder_is_what_it_copies() -> None:
    sent = {line[1:] for line in IGNORED.read_text(encoding="utf-8").splitlines() if line.startswith("!")}
    build, _ = configurations()
    copied = {name for instruction, said in build if instruction == "COPY" for name in said.split()[:-1]}
    assert {name for name in sent if not any(fnmatch.fnmatch(name, pattern) for pattern in copied)} == set()
    assert {pattern for pattern in copied if not any(fnmatch.fnmatch(name, pattern) for name in sent)} == set()
    assert "*" in IGNORED.read_text(encoding="utf-8").splitlines()


def take_steps(steps: Sequence[tuple[str, str]], root: Path, *, copied_from: Path | None, tools: Path) -> None:
    """Take a stage's steps in a folder in place of an image's root."""

    def there(said: str, *, top: Path = root) -> str:
        return _PLACES.sub(f"{top}/", said)

    place = root
    environment = {
        **os.environ,
        **_OFFLINE,
        "BASE": "python@sha256:0",
        "PATH": f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    for instruction, said in steps:
        match instruction:
            case "WORKDIR":
                place = Path(there(said))
                place.mkdir(parents=True, exist_ok=True)
            case "COPY" if said.startswith("--from="):
                assert copied_from is not None
                _, source, target = said.split()
                shutil.copytree(there(source, top=copied_from), there(target), symlinks=True)
            case "COPY" if said.startswith("constraints"):
                pass  # packages are those that are here
            case "COPY":
                *patterns, target = said.split()
                for found in (one for pattern in patterns for one in found_by(pattern)):
                    if found.is_dir():
                        shutil.copytree(found, place / target, ignore=shutil.ignore_patterns("__pycache__"))
                    else:
                        shutil.copy(found, place / target)
            case "RUN":
                kept = " && ".join(part for part in said.split("&&") if "--require-hashes" not in part)
                command = ["sh", "-c", there(kept)]
                done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)  # noqa: S603  the image's own
                assert done.returncode == 0, (said, done.stdout, done.stderr)
            case _:
                pass


def copy_packages(target: Path) -> None:
    """Copy all that `psephos` needs from where it is installed here."""
    wanted, seen = [("psephos", "")], set[str]()
    while wanted:
        name, extra = wanted.pop()
        for own in map(Requirement, importlib.metadata.requires(name) or ()):
            if own.name not in seen and (own.marker is None or own.marker.evaluate({"extra": extra})):
                seen.add(own.name)
                wanted.append((own.name, ""))
    for name in seen:
        for file in importlib.metadata.files(name) or ():
            source = Path(str(file.locate()))
            if ".." not in file.parts and source.is_file():
                (target / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target / file)


@pytest.mark.full("builds a wheel, and an environment with it")
def test_the_images_steps_leave_a_psephos_that_works_in_any_folder(tmp_path: Path) -> None:
    """Packages of the index are those that are here; no user is made here: that is noted."""
    tools, first, last, elsewhere = (tmp_path / name for name in ("tools", "first", "last", "elsewhere"))
    for folder in (tools, first, last, elsewhere):
        folder.mkdir()
    noted = tools / "useradd"
    noted.write_text(f'#!/bin/sh\necho "$@" >> {shlex.quote(str(tmp_path / "useradd"))}\n', encoding="utf-8")
    noted.chmod(0o755)
    build, final = configurations()
    *builds, trim = build
    take_steps(builds, first, copied_from=None, tools=tools)
    (packages,) = first.glob("opt/psephos/lib/python*/site-packages")
    copy_packages(packages)
    take_steps([trim], first, copied_from=None, tools=tools)
    take_steps(final, last, copied_from=first, tools=tools)
    assert "--system --uid 10001" in (tmp_path / "useradd").read_text(encoding="utf-8")
    environment = last / "opt" / "psephos"
    (packages,) = environment.glob("lib/python*/site-packages")
    assert (packages / "psephos").is_dir()
    assert not (packages / "pip").exists()
    assert packed([packages], tmp_path / "packed.tar.gz") < MOST_PACKED
    python = str(environment / "bin" / "python")
    for words in (
        ["-c", f"import psephos.protocol as p; assert p.__file__.startswith({str(packages)!r}), p.__file__"],
        ["-m", "psephos.scenarios.cli", "run", "consortium", "--out", "run"],
        ["-m", "psephos.scenarios.cli", "run", "consortium", "--set", "noise=secure", "--out", "secure"],
        ["-m", "psephos.scenarios.cli", "serve", "--help"],
        ["-c", "import pandas, scipy.stats, scipy.optimize, scipy.sparse, numpy.testing, rich, trio"],
    ):
        ended = subprocess.run([python, *words], cwd=elsewhere, capture_output=True, text=True, check=False)  # noqa: S603  what was built
        assert (ended.returncode, ended.stderr) == (0, "")
    assert (elsewhere / "run" / "report.html").is_file()
    assert (environment / "bin" / "psephos").is_file()


def test_the_container_is_told_words_that_psephos_takes(tmp_path: Path) -> None:
    (block,) = [block for block in blocks_of(DOCS / "hosting.md", "sh") if "docker run" in block]
    words = shlex.split(block.replace("\\\n", " ").partition("docker run")[2])
    assert dict(configurations()[1])["EXPOSE"] in words[words.index("--publish") + 1].split(":")
    check_psephos(words[words.index("psephos") + 1 :], tmp_path)


def test_systemd_takes_the_unit_and_finds_it_hardened(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("there is no systemd-analyze here")
    ((name, text),) = files_of(DOCS / "hosting.md").items()
    unit = tmp_path / name
    assert "User=psephos\n" in text
    unit.write_text(text.replace("/opt/psephos/bin/psephos", sys.executable), encoding="utf-8")
    for words in (["verify"], ["security", "--offline=true", f"--threshold={MOST_EXPOSED}"]):
        said = subprocess.run([analyze, *words, str(unit)], capture_output=True, text=True, check=False)  # noqa: S603  the system's own
        assert said.returncode == 0, said.stdout + said.stderr
        assert said.stderr == "" or words[0] == "security"


def write_empty_wheels(folder: Path) -> None:
    """Write a wheel of each package that is here, of its metadata alone, so that pip finds what is asked for."""
    for own in importlib.metadata.distributions():
        name, metadata = own.name.replace("-", "_"), own.read_text("METADATA")
        if metadata is None or name == "psephos":
            continue
        info = f"{name}-{own.version}.dist-info"
        with zipfile.ZipFile(folder / f"{name}-{own.version}-py3-none-any.whl", "w") as archive:
            archive.writestr(f"{info}/METADATA", metadata)
            archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{info}/RECORD", "")


@pytest.mark.full("builds a wheel, and an environment with it")
def test_pipx_installs_the_wheel_and_it_runs_from_another_folder(tmp_path: Path) -> None:
    """All that the wheel asks for is resolved; modules are those that are here."""
    pytest.importorskip("pipx", reason="pipx is not installed (the group hosting)")
    tree, index, elsewhere = (tmp_path / name for name in ("tree", "index", "elsewhere"))
    for folder in (tree, index, elsewhere):
        folder.mkdir()
    take_steps(configurations()[0][1:-1], tree, copied_from=None, tools=tmp_path)  # what is copied for the image
    write_empty_wheels(index)
    environment = {**os.environ, **_OFFLINE, "PIP_FIND_LINKS": str(index), "PIPX_HOME": str(tmp_path / "pipx")}
    environment["PIPX_BIN_DIR"] = str(tmp_path / "bin")

    def run(*words: object, folder: Path = tmp_path) -> None:
        command = list(map(str, words))
        ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S603  our own
        assert ended.returncode == 0, (words, ended.stdout, ended.stderr)

    run(sys.executable, "-m", "pip", "wheel", "--wheel-dir", tmp_path, tree / "build")
    del environment["PIP_NO_DEPS"]
    (wheel,) = tmp_path.glob("*.whl")
    run(sys.executable, "-m", "pipx", "install", "--skip-maintenance", wheel)
    (packages,) = (tmp_path / "pipx").glob("venvs/psephos/lib/python*/site-packages")
    (packages / "here.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n", encoding="utf-8")
    run(tmp_path / "bin" / "psephos", "samples", folder=elsewhere)
    run(tmp_path / "bin" / "psephos", "new", "vote", "committee.csv", folder=elsewhere)
    assert (elsewhere / "committee.toml").is_file()
