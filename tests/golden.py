"""Texts as readers get them: approved once, kept in a file beside the test, and compared ever since.

After a change that is meant, `PSEPHOS_GOLDEN=write pytest FILE` writes them again; read the difference before you
commit it.
"""

import os
import re
from pathlib import Path

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
