"""Files of one's own: no planted link is followed, no other's mode is kept, and who may write to a folder is known."""

import os
import stat
from pathlib import Path

import pytest
from psephos.transports.own_files import is_own, replace_private, write_private

NOBODY = 65534


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(0o700, True), (0o755, True), (0o777, False), (0o1777, False), (0o702, False), (0o770, True)],
)
def test_a_folder_is_ones_own_where_nobody_else_writes(tmp_path: Path, mode: int, *, expected: bool) -> None:
    """A group of its owner's own number is the owner's."""
    folder = tmp_path / "folder"
    folder.mkdir()
    os.chown(folder, os.geteuid(), os.geteuid())
    folder.chmod(mode)
    assert is_own(folder) is expected
    inside = folder / "inside" / "within"
    inside.mkdir(parents=True)
    for each in (inside.parent, inside):
        assert is_own(each) is (expected or mode == 0o1777)  # in a sticky one nobody moves it away


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_folder_of_somebody_else_or_of_a_group_or_behind_anothers_link_is_not(tmp_path: Path) -> None:
    others, shared, own, link = (tmp_path / name for name in ("others", "shared", "own", "link"))
    for folder in (others, shared, own):
        folder.mkdir(mode=0o700)
    os.chown(others, NOBODY, NOBODY)
    os.chown(shared, 0, NOBODY)
    shared.chmod(0o770)
    link.symlink_to(own)
    assert (is_own(others), is_own(shared), is_own(link)) == (False, False, True)
    os.lchown(link, NOBODY, NOBODY)
    assert not is_own(link)
    tmp_path.chmod(0o1777)
    for above in (link, others):  # which anybody may have put there
        (above / "within").mkdir(mode=0o700)
        assert not is_own(above / "within")
    assert is_own(own / "within")


@pytest.mark.parametrize("is_there", [True, False])
def test_a_planted_link_is_never_followed(tmp_path: Path, *, is_there: bool) -> None:
    target, planted = tmp_path / "target", tmp_path / "planted"
    if is_there:
        target.write_text("mine", encoding="utf-8")
    planted.symlink_to(target)
    with pytest.raises(FileExistsError):
        write_private(planted, b"secret")
    replace_private(planted, b"secret")
    assert (planted.read_bytes(), planted.is_symlink(), mode_of(planted)) == (b"secret", False, 0o600)
    assert target.exists() is is_there
    assert not is_there or target.read_text(encoding="utf-8") == "mine"


def test_what_takes_a_files_place_has_its_own_mode_and_leaves_nothing_where_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o666)
    before: list[str] = []  # what is there as the new one is on the disk

    def note(_: int) -> None:
        before.append(path.read_text(encoding="utf-8"))

    monkeypatch.setattr("os.fsync", note)
    replace_private(path, b"new")
    assert before == ["old"]
    assert (path.read_bytes(), mode_of(path)) == (b"new", 0o600)
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        replace_private(tmp_path / "folder", b"new")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["folder", "page"]
