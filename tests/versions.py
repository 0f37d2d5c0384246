"""Tests the lowest versions that `pyproject.toml` allows, and the newest, each in an environment of its own.

    python tests/versions.py FOLDER    # holds the environments, which are made anew where the bounds have changed

In each it runs `TESTS`, by which every dependency is touched, and takes what `frozen.py --quick` computes. It ends with
status 1 where a test fails, or where the two versions compute different bits; which field, it says.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import frozen

ROOT: Final = Path(__file__).parents[1]
TESTS: Final = {
    "click": "scenarios/cli/test_cli.py",
    "cryptography": "transports/test_tls.py",
    "dask": "scenarios/running/test_cluster.py",
    "dp-accounting": "protocol/privacy/test_accountants.py",
    "h11": "scenarios/deployment/test_status.py",
    "jinja2": "scenarios/reports/test_run_page.py",
    "matplotlib": "scenarios/reports/test_comparison.py",
    "msgpack": "scenarios/running/test_cluster.py",
    "msgspec": "protocol/privacy/test_ledger.py",
    "numpy": "vectors/test_vectors.py",
    "opendp": "agents/test_opendp_measurements.py",
    "pandas": "scenarios/reading/test_frames.py",
    "platformdirs": "agents/test_rollback_guard.py",
    "prometheus-client": "scenarios/deployment/test_status.py",
    "pyarrow": "scenarios/running/test_columns.py",
    "pynacl": "agents/test_masking.py",
    "python-calamine": "scenarios/reading/test_workbooks.py",
    "rich": "scenarios/running/test_report.py",
    "scipy": "protocol/estimators/test_linear.py",
    "segno": "scenarios/deployment/test_web.py",
    "structlog": "scenarios/running/test_folder.py",
    "tornado": "scenarios/running/test_cluster.py",
    "trio": "agents/test_driver.py",
    "urllib3": "scenarios/running/test_cluster.py",
    "wsproto": "scenarios/deployment/test_web.py",
}
"""Of each dependency what touches it, in `tests/`."""
LAYOUT: Final = ("help.txt", "refusals.txt", "exports.txt", "scenarios/printed.txt")
"""What `click` and Python lay out in their own ways; no number is in it."""
_REQUIREMENT: Final = re.compile(r"([\w.-]+)(\[[\w,]+\])?>=([\w.]+)$")


def lowest(project: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each dependency of a project's table, those of its extras too, with the lowest version that it allows."""
    extras: dict[str, list[str]] = project["optional-dependencies"]
    for each in [*project["dependencies"], *(one for extra in extras.values() for one in extra)]:
        found = _REQUIREMENT.match(each)
        if found is None:
            raise ValueError(f"a dependency must say its lowest version and no more, as in 'trio>=0.26', got {each!r}")
        yield found[1], found[3]


def made(folder: Path, pins: list[str], extras: list[str]) -> str:
    """Return the interpreter of an environment with Psephos, its extras and tests, and these versions."""
    python, mark = folder / "bin" / "python", folder / "made.txt"
    if not mark.exists() or mark.read_text(encoding="utf-8") != "\n".join(pins):
        venv.create(folder, clear=True)
        pins_file = folder / "pins.txt"
        pins_file.write_text("\n".join(pins), encoding="utf-8")
        chosen = ["--constraint", str(pins_file)] if pins else ["--upgrade", "--upgrade-strategy", "eager"]
        what = [f"{ROOT}[{','.join(extras)}]", "--group", f"{ROOT / 'pyproject.toml'}:test"]
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
        subprocess.run([*pip, *chosen, *what], check=True)  # noqa: S603  our own
        mark.write_text("\n".join(pins), encoding="utf-8")
    again = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    subprocess.run([*again, "--force-reinstall", str(ROOT)], check=True)  # noqa: S603  our own
    return str(python)


def main(words: list[str]) -> int:
    """Make both environments, test and compare; return the exit status."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bounds, extras = dict(lowest(project)), sorted(project["optional-dependencies"])
    files = sorted({str(ROOT / "tests" / name) for name in TESTS.values()})
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, pins in (("lowest", [f"{each}=={bounds[each]}" for each in sorted(bounds)]), ("newest", [])):
            python = made(Path(words[0]).absolute() / name, pins, extras)
            sys.stdout.write(f"{name}:\n")
            sys.stdout.flush()
            # Of older versions some warn of what newer ones of others have changed: that is no failure here.
            tested = [python, "-m", "pytest", "-q", "-W", "default", "-p", "no:cacheprovider", *files]
            if subprocess.run(tested, cwd=ROOT, check=False).returncode:  # noqa: S603  our own
                failed.append(f"tests fail with the {name} versions")
            taken = [python, str(ROOT / "tests" / "frozen.py"), "take", str(Path(folder) / name), "--quick"]
            subprocess.run(taken, cwd=ROOT, check=True)  # noqa: S603  our own
        for left_out in LAYOUT:
            for name in ("lowest", "newest"):
                (Path(folder) / name / left_out).unlink(missing_ok=True)
        number, differences = frozen.compare(Path(folder) / "lowest", Path(folder) / "newest")
    failed += differences
    sys.stdout.write("\n\n".join([*failed, f"{number} files compared, {len(differences)} differ\n"]))
    return int(bool(failed) or not number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
