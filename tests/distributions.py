"""Distributions of somebody else's, as a package manager would leave them in a folder of `sys.path`."""

import contextlib
import importlib
import sys
from collections.abc import Generator
from pathlib import Path

import pytest


def write_distribution(site: Path, name: str, entry_points: str, source: str = "") -> Path:
    """Write a distribution into a folder.

    Args:
        site: the folder, made where it is not there.
        name: of the distribution and of its module.
        entry_points: what it registers.
        source: of its module; empty for none.

    Returns:
        The file of its entry points.
    """
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    metadata = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    registered = info / "entry_points.txt"
    registered.write_text(entry_points, encoding="utf-8")
    if source:
        (site / f"{name}.py").write_text(source, encoding="utf-8")
    return registered


@contextlib.contextmanager
def installed(
    monkeypatch: pytest.MonkeyPatch, site: Path, name: str, entry_points: str, source: str = ""
) -> Generator[Path]:
    """Write a distribution and put its folder first on `sys.path`; in the end its module is forgotten.

    Args:
        monkeypatch: takes the folder off again.
        site: see `write_distribution`.
        name: see `write_distribution`.
        entry_points: see `write_distribution`.
        source: see `write_distribution`.
    """
    registered = write_distribution(site, name, entry_points, source)
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    importlib.invalidate_caches()
    yield registered
    sys.modules.pop(name, None)
