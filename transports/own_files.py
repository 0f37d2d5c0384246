"""Files that nobody but their owner reads, in folders into which nobody else puts any.

The rule that holds here: a file has its owner's rights alone at every moment, and no link is followed to it.
"""

import os
import stat
import tempfile
from pathlib import Path
from typing import Final

OWN_FOLDER: Final = "a folder of one's own, to which nobody else may write (chmod go-w)"
"""The allowed folders where `is_own` has to hold, as a phrase."""


def write_private(path: Path, data: bytes) -> None:
    """Write a new file that nobody but its owner can read, at no moment.

    Raises:
        OSError: it is there already, or cannot be written.
    """
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.write(data)


def replace_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, in place of any that is there; no link is followed.

    Raises:
        OSError: it cannot be written; then what was there is there.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)  # or a loss of power could leave an empty file under the name
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def is_own(folder: Path) -> bool:
    """Return whether nobody else may put files or links into a folder, or another folder in its place or on the way.

    A group that has its owner's number is taken for the owner's alone, as systems make one for each user.

    Raises:
        OSError: it cannot be looked into.
    """
    status = folder.stat()
    shared = stat.S_IWOTH | (0 if status.st_gid == status.st_uid else stat.S_IWGRP)
    is_ours = status.st_uid == folder.lstat().st_uid == os.geteuid() and not status.st_mode & shared
    ways = (folder.absolute(), folder.resolve())
    return is_ours and all(
        _stays(*pair) for way in ways for pair in zip((way, *way.parents), way.parents, strict=False)
    )


def _stays(inner: Path, outer: Path) -> bool:
    """Return whether nobody else can replace what is in a folder, or has done so."""
    mode = outer.stat().st_mode
    is_open, is_sticky = mode & stat.S_IWOTH, mode & stat.S_ISVTX
    return not is_open or (bool(is_sticky) and inner.lstat().st_uid in {0, os.geteuid()})
