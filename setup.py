"""README.md as a package index shows it: there, links to this repository's files lead somewhere or are none.

All else that a build needs is in `pyproject.toml`. Where that names a `Source` among its URLs, links to files become
links to that address, at this version's tag. Without one a link leaves its text, and a picture nothing.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from setuptools import setup

ROOT = Path(__file__).parent
PICTURE = re.compile(r"^!\[[^\]]*\]\((?![a-z]+:|#)(?P<file>[^)\s]+)\)\n\n?", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?![a-z]+:|#)(?P<file>[^)\s]+)\)")


def long_description(readme: str, *, source: str = "", version: str = "") -> str:
    """Return a README without relative links.

    Args:
        readme: Markdown.
        source: the address of the repository's page; empty where there is none.
        version: whose tag links lead to.
    """
    if not source:
        return LINK.sub(lambda link: link["text"], PICTURE.sub("", readme))
    raw = PICTURE.sub(lambda own: own[0].replace(own["file"], f"{source}/raw/v{version}/{own['file']}"), readme)
    return LINK.sub(lambda link: f"[{link['text']}]({source}/blob/v{version}/{link['file']})", raw)


def built_description() -> str:
    """Return the description of this version."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return long_description(readme, source=project.get("urls", {}).get("Source", ""), version=project["version"])


if __name__ == "__main__":
    setup(long_description=built_description(), long_description_content_type="text/markdown")
