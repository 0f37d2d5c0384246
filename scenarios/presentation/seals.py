"""Authenticate a folder's pictures: a code (MAC) proves that this user's Psephos drew a picture, and from which files.

The key is private to the user. The code covers the picture, its name, and all CSV and JSON files in the folder at the
time of drawing. Nobody else can make a code, and a code for another picture or other results is invalid.
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
"""Files of which each folder of results has one; only such folders get codes."""
_KEY_BYTES: Final = 32


class Seal(msgspec.Struct, frozen=True):
    """A picture's seal: the names of the covered files, and the code."""

    of: tuple[str, ...]
    code: str


def seal(folder: Path, pictures: Iterable[Path]) -> None:
    """Write seals of these pictures in a folder of results, for the folder's current files.

    Raises:
        OSError: a file cannot be read or written.
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
    """Return whether this picture was drawn here, from the folder's current files.

    Raises:
        OSError: a file cannot be read.
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
    """Return the user's key, created on first use; if it cannot be stored, a key of this process."""
    folder = platformdirs.user_state_path("psephos", appauthor=False)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        with os.fdopen(os.open(folder / "pictures.key", flags, 0o600), "r+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # of two concurrent first uses, only one creates it
            if len(key := file.read()) != _KEY_BYTES:
                key = secrets.token_bytes(_KEY_BYTES)
                os.ftruncate(file.fileno(), os.pwrite(file.fileno(), key, 0))
            return key
    except OSError:
        return key_of_this_process()


@functools.cache
def key_of_this_process() -> bytes:
    """Return a key that is not stored."""
    return secrets.token_bytes(_KEY_BYTES)
