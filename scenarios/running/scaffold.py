"""Templates of a package with a new protocol: module, tests and scenario."""

import re
from collections.abc import Mapping
from importlib import resources

import jinja2


def protocol_files(name: str, model: str) -> Mapping[str, str]:
    """Return the files of a package by name.

    Args:
        name: name of protocol and package: lower-case letters, digits and hyphens.
        model: the template's trust model: "local", "central" or "masked".
    """
    module = name.replace("-", "_")
    names = {
        "protocol.py.j2": f"{module}.py",
        "protocol-tests.py.j2": f"test_{module}.py",
        "protocol-pyproject.toml.j2": "pyproject.toml",
        "protocol-scenario.toml.j2": f"{name}.toml",
    }
    kind = re.sub("(^|-)([a-z0-9])", lambda match: match[2].upper(), name)
    folder = resources.files("psephos.scenarios.shipped")
    settings = jinja2.Environment(
        autoescape=False,  # noqa: S701  no markup: the name is checked
        keep_trailing_newline=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    words = {"name": name, "module": module, "kind": kind, "model": model}
    return {
        target: settings.from_string((folder / source).read_text(encoding="utf-8")).render(words)
        for source, target in names.items()
    }
