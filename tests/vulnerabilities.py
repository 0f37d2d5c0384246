"""Lists known vulnerabilities of what is installed; where no database is at hand it fails, and says so.

    python tests/vulnerabilities.py constraints.txt ...      # asks pip-audit
    python tests/vulnerabilities.py --report FILE            # reads what pip-audit --format json wrote

It ends with status 1 where something is known, and with status 3 where nothing was looked up.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Final

from runs import read_json

KNOWN: Final = 1
NOT_LOOKED_UP: Final = 3
_SKIPPED: Final = "NOTHING WAS LOOKED UP: no database of vulnerabilities is at hand ({}); run this again where one is"


def verdict(report: dict[str, Any]) -> tuple[list[str], int]:
    """Return what is to be said of a report, a line each, and the status."""
    packages: list[dict[str, Any]] = report["dependencies"]
    left_out = [package for package in packages if "skip_reason" in package]
    if len(left_out) == len(packages):
        reason = left_out[0]["skip_reason"] if left_out else "nothing is installed"
        return [_SKIPPED.format(reason)], NOT_LOOKED_UP
    known = [
        "{name} {version}: {id}, repaired in {fixes}".format(
            **package, id=found["id"], fixes=", ".join(found["fix_versions"]) or "none"
        )
        for package in packages
        for found in package.get("vulns", ())
    ]
    said = known or [f"no vulnerability is known of {len(packages) - len(left_out)} packages"]
    return [*said, *(f"not looked up: {package['name']} ({package['skip_reason']})" for package in left_out)], (
        KNOWN if known else 0
    )


def main(words: Sequence[str]) -> int:
    """Say what is known, and return the status."""
    status = 0
    for word in words if words[0] != "--report" else words[1:]:
        if words[0] == "--report":
            said, own = verdict(read_json(word))
        else:
            said, own = _asked(word)
            said = [f"{word}: {line}" for line in said]
        sys.stdout.write("".join(f"{line}\n" for line in said))
        status = KNOWN if KNOWN in {status, own} else max(status, own)
    return status


def _asked(path: str) -> tuple[list[str], int]:
    """Return what pip-audit says of a file of requirements."""
    tool = ("pip_audit", "--require-hashes", "--disable-pip", "--progress-spinner", "off", "--format", "json")
    command = [sys.executable, "-m", *tool, "--requirement", path]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  our own
    if ended.stdout.startswith("{"):
        return verdict(json.loads(ended.stdout))
    errors = ended.stderr.strip().splitlines()
    return [_SKIPPED.format(errors[-1] if errors else "no word why")], NOT_LOOKED_UP


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
