"""Write a long run's finished parts to disk, so that an interrupted run can resume.

The first line of `finished.jsonl` identifies the run; each further line has a part's key, its answer, and a digest. A
killed process leaves at most one partial line, which is dropped. Parts are pure, with addressed noise, so a repeated
part must be equal; otherwise the run stops.
"""

import fcntl
import functools
import hashlib
import importlib.metadata
import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from ...protocol.errors import ConfigurationError, JournalError, PsephosError, require

FINISHED: Final = "finished.jsonl"
"""Name of the file, which is removed when the run is complete."""
_ROOMS: Final = ("protocol", "transports", "agents", "scenarios")


class ConflictingCopyError(PsephosError):
    """A part of a run differs from its earlier result."""

    def __init__(self, part: str) -> None:
        super().__init__(f"{part} came out otherwise than before: it is pure, so that nobody knows which copy is right")


class FinishedParts:
    """The finished parts of a run: `finished` has their answers by key.

    Args:
        heading: the run's identifying facts, which must be equal when it is resumed.
        resumes: whether to continue an existing file, instead of creating one.

    Raises:
        ConfigurationError: the folder has no such file, or one of another run.
        JournalError: the file is damaged.
        ConflictingCopyError: two results of a part differ.
    """

    def __init__(self, folder: Path, heading: Mapping[str, str], *, resumes: bool) -> None:
        self._path = folder / FINISHED
        self.finished: dict[str, bytes] = {}
        if resumes:
            _heading_in(folder)
        flags = os.O_WRONLY | os.O_NOFOLLOW | (0 if resumes else os.O_CREAT | os.O_EXCL)
        self._file = os.fdopen(os.open(self._path, flags, 0o600), "wb", buffering=0)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            allowed = "the folder of a run that no other process goes on with"
            raise ConfigurationError(field="--resume", value=str(folder), allowed=allowed) from None
        try:
            size = self._read(folder, heading) if resumes else 0
        except BaseException:
            self.close()
            raise
        self._file.truncate(size)
        self._file.seek(size)
        if not resumes:
            self._write(heading)

    def _read(self, folder: Path, heading: Mapping[str, str]) -> int:
        """Read all complete lines; return their size in bytes."""
        known_heading = _heading_in(folder)
        for name, heading_value in heading.items():
            allowed = f"the folder of this run: its {name} is {known_heading.get(name)!r}, and not {heading_value!r}"
            require(known_heading.get(name) == heading_value, "--resume", str(folder), allowed)
        first, *lines = self._path.read_bytes().splitlines(keepends=True)
        size = len(first)
        for number, line in enumerate(lines, start=2):
            try:
                key, answer, digest = msgspec.json.decode(line, type=tuple[str, bytes, str])
            except (msgspec.DecodeError, UnicodeDecodeError):
                key, answer, digest = "", b"", ""
            if digest != _digest_of(key, answer) or not line.endswith(b"\n"):
                if number == len(lines) + 1:
                    break
                raise JournalError(f"is damaged at line {number}", path=str(self._path))
            self._take(key, answer)
            size += len(line)
        return size

    def _take(self, key: str, answer: bytes) -> None:
        if self.finished.setdefault(key, answer) != answer:
            raise ConflictingCopyError(key)

    def add(self, key: str, answer: bytes) -> None:
        """Write a part's answer durably; ConflictingCopyError: it differs from an earlier one."""
        is_new = key not in self.finished
        self._take(key, answer)
        if is_new:
            self._write((key, answer, _digest_of(key, answer)))

    def _write(self, line: object) -> None:
        remainder = memoryview(msgspec.json.encode(line) + b"\n")
        try:
            while remainder:
                remainder = remainder[self._file.write(remainder) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            error.filename = str(self._path)
            raise

    def close(self) -> None:
        """Close the file without removing it."""
        self._file.close()

    def drop(self) -> None:
        """Remove the file, after the run is complete."""
        self.close()
        self._path.unlink()


def _digest_of(key: str, answer: bytes) -> str:
    return hashlib.sha256(key.encode() + answer).hexdigest()[:16]


def _heading_in(folder: Path) -> dict[str, str]:
    try:
        with (folder / FINISHED).open("rb") as file:
            return msgspec.json.decode(file.readline(), type=dict[str, str])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        allowed = f"the folder of a run that was interrupted, with a {FINISHED}"
        raise ConfigurationError(field="--resume", value=str(folder), allowed=allowed) from None


def seed_in(folder: Path) -> int:
    """Return the seed of an interrupted run; ConfigurationError: the folder has none."""
    seed_text = _heading_in(folder).get("seed", "")
    require(
        seed_text.isdecimal(), "--resume", str(folder), "the folder of a run that was interrupted, whose seed it says"
    )
    return int(seed_text)


@functools.cache
def installed_versions() -> dict[str, str]:
    """Return the software versions with a digest of all code; equal bits are guaranteed only for equal versions."""
    code = hashlib.sha256()
    for room in _ROOMS:
        spec = importlib.util.find_spec(f"psephos.{room}")
        folder = Path("" if spec is None else spec.origin or "").parent
        for path in sorted(folder.rglob("*.py")):
            code.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    versions = {name: importlib.metadata.version(name) for name in ("psephos", "numpy", "scipy")}
    return {**versions, "code": code.hexdigest()[:12]}
