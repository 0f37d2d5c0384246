"""What the tests of surveys share: files of some lines, and the folder of real data sets."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
Put = Callable[[str], Path]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Return what writes a file of this text."""

    def write(text: str) -> Path:
        path = tmp_path / "survey.csv"
        path.write_bytes(text.encode())
        return path

    return write


@pytest.fixture
def data() -> Path:
    """Return the folder of real data sets, or skip the test."""
    named = os.environ.get("PSEPHOS_DATA")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no folder of data sets: neither PSEPHOS_DATA nor shared/data beside the checkout")
    return folder
