"""A package that `psephos new protocol` writes runs, keeps all promises, and passes its own tests."""

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from bad_input import Psephos, is_plain
from distributions import installed
from psephos.scenarios.audit.any_protocol import cases_of_protocol
from psephos.scenarios.testing import PROTOCOL_PROMISES, check_protocol
from thoroughness import IS_FULL

MODELS = ["local", "central", "masked"]
MOST_LINES = 110


@pytest.mark.parametrize("model", MODELS)
def test_a_package_runs_keeps_its_promises_and_passes_its_tests(
    psephos: Psephos, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"office_{model}"
    name = module.replace("_", "-")
    ended = psephos("new", "protocol", name, "--model", model, "--to", str(tmp_path / "new"))
    assert (ended.status, ended.err) == (0, "")
    assert f"Written to {tmp_path / 'new'}" in ended.out
    files = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "new").iterdir()}
    assert sorted(files) == sorted([f"{module}.py", f"test_{module}.py", "pyproject.toml", f"{name}.toml"])
    assert all(len(text.splitlines()) <= MOST_LINES for text in files.values())
    entry = f"[psephos.protocols]\n{name} = {module}:Office{model.capitalize()}\n"
    with installed(monkeypatch, tmp_path / "site", module, entry, files[f"{module}.py"]):
        made: Any = importlib.import_module(module)
        protocol, voters = made.example()
        promises = PROTOCOL_PROMISES if IS_FULL else PROTOCOL_PROMISES[:12]
        check_protocol(protocol, voters, promises=promises)
        assert cases_of_protocol(protocol)
        ran = psephos("run", str(tmp_path / "new" / f"{name}.toml"), "--no-pictures", "--out", str(tmp_path / "run"))
        assert (ran.status, ran.err) == (0, "")
        assert "total" in ran.out
        spec = importlib.util.spec_from_file_location(f"test_{module}", tmp_path / "new" / f"test_{module}.py")
        assert spec is not None
        assert spec.loader is not None
        tests: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(tests)
        tests.test_the_total_is_near_the_truth()
        for entry in ("11", "-1", "1.5", "", "many"):
            tests.test_an_entry_that_is_no_number_is_refused_by_its_row(entry)
    sys.modules.pop(module, None)


@pytest.mark.bad_input("psephos new protocol with a name that is none, or is taken, or a folder that holds something")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["Office_Total"], "small letters, digits and hyphens"),
        (["../away"], "small letters, digits and hyphens"),
        (["numpy"], "no protocol or Python module has yet"),
        (["class"], "no protocol or Python module has yet"),
        (["dpwevote"], "no protocol or Python module has yet"),
        (["mine", "--to", "full"], "Name a new or an empty folder"),
    ],
)
def test_a_name_or_folder_that_cannot_be_is_refused(psephos: Psephos, words: list[str], said: str) -> None:
    Path("full").mkdir()
    Path("full/notes.txt").write_text("mine", encoding="utf-8")
    refusal = psephos("new", "protocol", *words).refusal
    assert said in refusal
    assert is_plain(refusal)
    assert sorted(path.name for path in Path().iterdir()) == ["full"]
