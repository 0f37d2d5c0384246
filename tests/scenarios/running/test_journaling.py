"""What is finished of a long run: kept as it comes, read again whole, and of no other run."""

from pathlib import Path

import pytest
from psephos.protocol.errors import ConfigurationError, JournalError
from psephos.scenarios.running.journaling import FINISHED, ConflictingCopyError, FinishedParts, installed_versions

RUN = {"command": "trials", "seed": "5"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    journal = FinishedParts(tmp_path, RUN, resumes=False)
    journal.add("a", b"\x00one")
    journal.add("b", b"two")
    journal.close()
    return tmp_path


def finished(folder: Path) -> dict[str, bytes]:
    journal = FinishedParts(folder, RUN, resumes=True)
    journal.close()
    return journal.finished


def test_what_was_kept_is_read_again_and_goes_in_the_end(folder: Path) -> None:
    assert finished(folder) == {"a": b"\x00one", "b": b"two"}
    journal = FinishedParts(folder, RUN, resumes=True)
    journal.add("c", b"three")
    journal.close()
    assert list(finished(folder)) == ["a", "b", "c"]
    journal = FinishedParts(folder, RUN, resumes=True)
    journal.drop()
    assert not list(folder.iterdir())


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_half_a_line_at_the_end_is_dropped_and_written_over(folder: Path, cut: int) -> None:
    path = folder / FINISHED
    path.write_bytes(path.read_bytes()[:-cut])
    assert finished(folder) == {"a": b"\x00one"}
    journal = FinishedParts(folder, RUN, resumes=True)
    journal.add("b", b"two")
    journal.close()
    assert finished(folder) == {"a": b"\x00one", "b": b"two"}


@pytest.mark.parametrize("old", [b'"b"', b"dHdv"])
def test_damage_of_the_last_line_drops_it_and_any_other_is_refused(folder: Path, old: bytes) -> None:
    path = folder / FINISHED
    whole = path.read_bytes()
    assert whole.count(old) == 1
    path.write_bytes(whole.replace(old, b'"d"' if old == b'"b"' else b"dHdx"))
    assert list(finished(folder)) == ["a"]
    path.write_bytes(whole.replace(b'"a"', b'"x"'))
    with pytest.raises(JournalError, match="is damaged at line 2"):
        finished(folder)


def test_a_second_copy_must_be_equal(folder: Path) -> None:
    journal = FinishedParts(folder, RUN, resumes=True)
    journal.add("a", b"\x00one")
    with pytest.raises(ConflictingCopyError, match=r"^a came out otherwise than before"):
        journal.add("a", b"other")
    journal.close()
    path = folder / FINISHED
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, lines[1]]))
    assert list(finished(folder)) == ["a", "b"]


@pytest.mark.bad_input("a run to go on with that is another one, or none")
def test_another_run_is_refused_by_what_it_differs_in(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"^--resume (is|are) .*the folder of this run: its seed is '5', and not '6'"
    ):
        FinishedParts(folder, {**RUN, "seed": "6"}, resumes=True)
    (tmp_path / "other").mkdir()
    for content in (None, b"", b"no json\n", b"\xff\n"):
        if content is not None:
            (tmp_path / "other" / FINISHED).write_bytes(content)
        with pytest.raises(ConfigurationError, match=r"^--resume (is|are) .*the folder of a run that was interrupted"):
            FinishedParts(tmp_path / "other", RUN, resumes=True)


def test_versions_have_a_digest_of_all_code() -> None:
    assert {*installed_versions()} == {"psephos", "numpy", "scipy", "code"}
    assert len(installed_versions()["code"]) == 12
