"""Lists known vulnerabilities of what a deployment installs; where no database is at hand it says so, and is skipped.

    python tests/vulnerabilities.py constraints.txt          # asks pip-audit
    python tests/vulnerabilities.py --report FILE            # reads what pip-audit --format json wrote

It ends with status 1 where something is known, and only there.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["main", "verdict"]


def verdict(report: dict[str, Any]) -> tuple[list[str], bool]:
    """Return what is to be said of a report, a line each, and whether a vulnerability is known."""
    packages: list[dict[str, Any]] = report["dependencies"]
    left_out = [package for package in packages if "skip_reason" in package]
    if len(left_out) == len(packages):
        reason = left_out[0]["skip_reason"] if left_out else "nothing is installed"
        return [f"skipped: no database of vulnerabilities is at hand ({reason})"], False
    known = [
        "{name} {version}: {id}, repaired in {fixes}".format(
            **package, id=found["id"], fixes=", ".join(found["fix_versions"]) or "none"
        )
        for package in packages
        for found in package.get("vulns", ())
    ]
    said = known or [f"no vulnerability is known of {len(packages) - len(left_out)} packages"]
    return [*said, *(f"not looked up: {package['name']} ({package['skip_reason']})" for package in left_out)], bool(
        known
    )


def main(words: Sequence[str]) -> int:
    """Say what is known, and return the status."""
    if words[0] == "--report":
        text = Path(words[1]).read_text(encoding="utf-8")
    else:
        tool = ("pip_audit", "--require-hashes", "--disable-pip", "--progress-spinner", "off", "--format", "json")
        command = [sys.executable, "-m", *tool, "--requirement", words[0]]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  our own
        text, errors = ended.stdout, ended.stderr.strip().splitlines()
        if not text.startswith("{"):
            reason = errors[-1] if errors else "no word why"
            sys.stdout.write(f"skipped: no database of vulnerabilities is at hand ({reason})\n")
            return 0
    said, is_known = verdict(json.loads(text))
    sys.stdout.write("".join(f"{line}\n" for line in said))
    return int(is_known)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
