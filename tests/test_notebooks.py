"""The notebooks of the manual: they run from beginning to end, hold no outputs, and warn of nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from runs import read_json

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
NOTEBOOKS = sorted(path.name for path in FOLDER.glob("*.ipynb"))
_SECONDS = 300


def read(name: str) -> dict[str, Any]:
    """Return a notebook as its file holds it."""
    return read_json(FOLDER / name)


def test_there_are_a_vote_a_crowd_and_an_attack() -> None:
    assert NOTEBOOKS == ["attack.ipynb", "crowd.ipynb", "vote.ipynb"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_holds_text_and_code_and_nothing_that_a_run_left(name: str) -> None:
    notebook = read(name)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [(cell["outputs"], cell["execution_count"]) for cell in code] == [([], None)] * len(code)
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    assert notebook["cells"][0]["source"][0].startswith("# ")


@pytest.mark.parametrize("name", NOTEBOOKS)
@pytest.mark.full("a kernel of its own for each, half a minute together")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Jupyter's own client
def test_a_notebook_runs_from_beginning_to_end(name: str, tmp_path: Path) -> None:
    nbformat: Any = pytest.importorskip("nbformat", reason="nbclient is not installed: make verify installs it")
    nbclient: Any = pytest.importorskip("nbclient", reason="nbclient is not installed: make verify installs it")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed: make verify installs it")
    notebook = nbformat.reads(json.dumps(read(name)), as_version=4)
    nbclient.NotebookClient(notebook, timeout=_SECONDS, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert [output["text"] for output in outputs if output.get("name") == "stderr"] == []
    assert any("text/html" in output.get("data", {}) for output in outputs)
    assert list(tmp_path.iterdir()) == []
