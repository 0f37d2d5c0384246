"""File systems of little room, for tests that fill them; where none may be mounted, these tests are skipped."""

import contextlib
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Generator[Path]:
    """Yield a new folder in this one, on a disk of its own of this size, as `mount` has it."""
    small = folder / "small"
    small.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "psephos", str(small)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:  # noqa: S603  its own
        pytest.skip("may not mount a small file system here")
    try:
        yield small
    finally:
        subprocess.run(["umount", str(small)], check=True)  # noqa: S603, S607  its own
