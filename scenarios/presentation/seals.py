"""Authenticate a folder's pictures: a code for each shows that this user's Psephos drew it, and from which files.

The rule that holds here: a code is made with a key that the user alone has, and covers the picture, its name, and all
files of CSV and JSON that lay in the folder as it was drawn. Somebody else can make none, and one that was made for
another picture, or of other results, does not hold.
"""

import fcntl
import functools
import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
import platformdirs

from ...transports.own_files import replace_private

SEALS: Final = "pictures.json"
_RESULTS: Final = frozenset({"adversaries.json", "reproduction.json", "result.json", "study.json", "summary.json"})
"""One of these is in each folder of which a page has pictures; no other folder gets codes."""
_KEY_BYTES: Final = 32


class Seal(msgspec.Struct, frozen=True):
    """What shows that a picture was drawn here: the names of the files that lay beside it, and the code."""

    of: tuple[str, ...]
    code: str


def seal(folder: Path, pictures: Iterable[Path]) -> None:
    """Keep in a folder of results that these pictures in it were drawn from what lies there now.

    Raises:
        OSError: something cannot be read or written.
    """
    names = {path.name for path in folder.iterdir() if path.suffix in {".csv", ".json"}} - {SEALS}
    if names.isdisjoint(_RESULTS):
        return
    sorted_names, path = tuple(sorted(filter(str.isprintable, names))), folder / SEALS
    try:
        seals = msgspec.json.decode(path.read_bytes(), type=dict[str, Seal])
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
        seals = dict[str, Seal]()
    seals |= {
        picture.name: Seal(sorted_names, _code(picture, picture.read_bytes(), sorted_names)) for picture in pictures
    }
    replace_private(path, msgspec.json.format(msgspec.json.encode(seals), indent=2) + b"\n")


def is_sealed(picture: Path, content: bytes, picture_seal: Seal) -> bool:
    """Return whether a picture with this content was drawn here, from the files that now lie beside it.

    Raises:
        OSError: one of these cannot be read.
    """
    present_names = {path.name for path in picture.parent.iterdir() if path.is_file()}
    return present_names.issuperset(picture_seal.of) and hmac.compare_digest(
        _code(picture, content, picture_seal.of).encode(), picture_seal.code.encode()
    )


def _code(picture: Path, content: bytes, sources: Iterable[str]) -> str:
    digests: list[tuple[str, str]] = []
    for name in sources:
        with (picture.parent / name).open("rb") as file:
            digests.append((name, hashlib.file_digest(file, "sha256").hexdigest()))
    sealed_content = msgspec.json.encode((picture.name, hashlib.sha256(content).hexdigest(), digests))
    return hmac.digest(_key(), sealed_content, "sha256").hex()


def _key() -> bytes:
    """Return the user's key, which is made at first use; where none can be kept, this process's own."""
    folder = platformdirs.user_state_path("psephos", appauthor=False)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        with os.fdopen(os.open(folder / "pictures.key", flags, 0o600), "r+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # of two that use it first, one makes it
            if len(key := file.read()) != _KEY_BYTES:
                key = secrets.token_bytes(_KEY_BYTES)
                os.ftruncate(file.fileno(), os.pwrite(file.fileno(), key, 0))
            return key
    except OSError:
        return key_of_this_process()


@functools.cache
def key_of_this_process() -> bytes:
    """Return a key that nobody keeps."""
    return secrets.token_bytes(_KEY_BYTES)
