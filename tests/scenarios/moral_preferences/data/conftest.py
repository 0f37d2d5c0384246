"""What the tests of surveys share: files of some lines."""

from collections.abc import Callable
from pathlib import Path

import pytest

Put = Callable[[str], Path]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Return what writes a file of this text."""

    def write(text: str) -> Path:
        path = tmp_path / "survey.csv"
        path.write_bytes(text.encode())
        return path

    return write
