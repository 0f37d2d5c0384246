"""What stands in files beside the tests: texts that readers get, approved once, and tables of cases.

After a change that is meant, `PSEPHOS_GOLDEN=write pytest FILE` writes them again; read the difference before you
commit it.
"""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

_HEAD = "════ "


def check_golden(file: Path, name: str, text: str) -> None:
    """Check that a file has this text below this name; blanks at the end of lines do not count."""
    kept: dict[str, str] = {}
    if file.exists():
        for section in re.split(f"^{_HEAD}", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            head, _, body = section.partition("\n")
            kept[head] = body
    text = "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"
    if os.environ.get("PSEPHOS_GOLDEN") == "write":
        kept[name] = text
        file.write_text("".join(f"{_HEAD}{head}\n{body}" for head, body in kept.items()), encoding="utf-8")
    assert kept.get(name) == text


def tables_beside(test: str, name: str) -> dict[str, Any]:
    """Return the tables of a TOML file beside a test, whose path is given, each with its cases by their names."""
    return tomllib.loads(Path(test).with_name(name).read_text(encoding="utf-8"))


def rows_beside(test: str, table: str) -> list[tuple[Any, ...]]:
    """Return the rows of one table of `refused.toml` beside a test, in the order of the columns there."""
    return [tuple(row.values()) for row in tables_beside(test, "refused.toml")[table]]
