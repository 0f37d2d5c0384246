"""Private files: readable only by their owner, in folders to which nobody else may write.

A file never has other permissions, not even for a moment, and links to it are not followed.
"""

import os
import stat
import tempfile
from pathlib import Path
from typing import Final

OWN_FOLDER: Final = "a folder of one's own, to which nobody else may write (chmod go-w)"
"""A phrase for messages: the folders for which `is_own` holds."""


def write_private(path: Path, data: bytes) -> None:
    """Write a new file that only its owner can ever read.

    Raises:
        OSError: the file exists, or cannot be written.
    """
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.write(data)


def replace_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, in place of any that is there; no link is followed.

    Raises:
        OSError: it cannot be written; an earlier file then stays unchanged.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)  # otherwise a loss of power could leave an empty file
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def is_own(folder: Path) -> bool:
    """Return whether nobody else may write to a folder, or replace it or one of its parents.

    A group with the same number as its owner counts as the owner's, since systems make such a group for each user.

    Raises:
        OSError: the folder cannot be inspected.
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
