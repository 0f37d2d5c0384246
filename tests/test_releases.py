"""What a release is made of: where holes are reported, what is installed with which hashes, and what is known of it."""

import json
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[1]
CLEAN: Final[dict[str, Any]] = {"name": "trio", "version": "0.30.0", "vulns": []}
HOLED: Final[dict[str, Any]] = {
    "name": "h11",
    "version": "0.14.0",
    "vulns": [{"id": "GHSA-vqfr-h8mv-ghfj", "fix_versions": ["0.16.0"], "aliases": [], "description": "chunks"}],
}
UNKNOWN: Final[dict[str, Any]] = {"name": "psephos", "skip_reason": "not in any database"}
NOTHING_SAID: Final = (
    "NOTHING WAS LOOKED UP: no database of vulnerabilities is at hand ({}); run this again where one is"
)


@pytest.mark.parametrize(
    ("packages", "status", "lines"),
    [
        ([CLEAN], 0, ["no vulnerability is known of 1 packages"]),
        ([CLEAN, HOLED], 1, ["h11 0.14.0: GHSA-vqfr-h8mv-ghfj, repaired in 0.16.0"]),
        (
            [CLEAN, UNKNOWN],
            0,
            ["no vulnerability is known of 1 packages", "not looked up: psephos (not in any database)"],
        ),
        ([UNKNOWN], 3, [NOTHING_SAID.format("not in any database")]),
        ([], 3, [NOTHING_SAID.format("nothing is installed")]),
    ],
)
def test_what_is_known_is_listed_and_what_cannot_be_known_is_said(
    tmp_path: Path, packages: list[dict[str, Any]], status: int, lines: list[str]
) -> None:
    """As pip-audit tells it."""
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"dependencies": packages, "fixes": []}), encoding="utf-8")
    command = [sys.executable, str(ROOT / "tests" / "vulnerabilities.py"), "--report", str(report)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  our own
    assert (ended.returncode, ended.stdout.splitlines(), ended.stderr) == (status, lines, "")


def test_without_the_tool_it_fails_and_says_of_each_file_that_nothing_was_looked_up(tmp_path: Path) -> None:
    (tmp_path / "pip_audit.py").write_text("raise SystemExit('no network')", encoding="utf-8")
    command = [sys.executable, str(ROOT / "tests" / "vulnerabilities.py"), "constraints.txt", "extras.txt"]
    environment = {"PYTHONPATH": str(tmp_path)}
    ended = subprocess.run(  # noqa: S603  our own
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    said = "".join(f"{name}: {NOTHING_SAID.format('no network')}\n" for name in ("constraints.txt", "extras.txt"))
    assert (ended.returncode, ended.stdout) == (3, said)


def test_a_hole_is_reported_to_an_address_or_nobody_is_told_that_there_is_one() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    (contact,) = re.findall(r"^Contact: (.+)$", text, flags=re.MULTILINE)
    has_address = re.fullmatch(r"(mailto:|https://)\S+|\S+@\S+\.\S+", contact) is not None
    assert has_address != (contact == "none yet")
    assert has_address != ("no private way\nexists" in text)


@pytest.mark.full("it installs all that a deployment needs")
def test_what_a_deployment_needs_is_installed_by_its_hashes_alone(tmp_path: Path) -> None:
    constraints = tmp_path / "constraints.txt"
    make = shutil.which("make")
    assert make is not None
    made = subprocess.run(  # noqa: S603  our own
        [make, "constraints", f"CONSTRAINTS={constraints}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"no registry is at hand: {made.stderr.strip().splitlines()[-1]}")
    text = constraints.read_text(encoding="utf-8")
    pinned = re.findall(r"^([a-z0-9-]+)==", text, flags=re.MULTILINE)
    assert {"cryptography", "msgspec", "numpy", "pynacl", "trio"} <= set(pinned)
    assert text.count("--hash=sha256:") >= len(pinned)
    assert "://" not in text
    extras = (tmp_path / "constraints-extras.txt").read_text(encoding="utf-8")
    assert {"distributed", "opendp", "pyarrow", "tornado", *pinned} <= set(
        re.findall(r"^([a-z0-9-]+)==", extras, re.MULTILINE)
    )
    assert "setuptools==" in (tmp_path / "constraints-build.txt").read_text(encoding="utf-8")
    venv.create(tmp_path / "fresh", with_pip=True)
    pip = str(tmp_path / "fresh" / "bin" / "pip")
    install = [pip, "install", "--quiet", "--require-hashes", "--requirement", str(constraints)]
    subprocess.run(install, check=True, capture_output=True)  # noqa: S603  our own
    altered = tmp_path / "altered.txt"
    altered.write_text(re.sub(r"sha256:[0-9a-f]", "sha256:x", text).replace("sha256:x", "sha256:0"), encoding="utf-8")
    refused = subprocess.run(  # noqa: S603  our own
        [*install[:-1], str(altered), "--force-reinstall", "--no-deps"], capture_output=True, text=True, check=False
    )
    assert refused.returncode
    assert "DO NOT MATCH THE HASHES" in refused.stderr
