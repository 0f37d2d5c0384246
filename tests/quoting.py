"""What no refusal, no line of a log and no file may quote: rows, entries, secrets and keys of the same test's parties.

Every error of ours passes `PsephosError`, every log `log_unless_it_fails`, every private row `Party`, and every root of
masks `MaskingParty`; what a person gives passes `Joining`, every folder of a run `RunFolder`, and every journal
`JournalFile`. A row is looked for where it has three numbers or more, not all alike, and in a file eight or more, of
which chance makes none; a number by itself where it is so long that it is no limit that a sentence names.

**Where it may stand.** Nothing of this is looked for in

- a folder's `private/`: a simulation's record, which says so;
- `key.pem`, `signature.pem`, `server.pem`, `invitations/`: for their owners alone, and of keys no other file;
- results, estimates and pictures of a simulation: the truth, which may be shown there, of one party is its value;
- journals, but for secrets, roots and keys: a person's has what it sent, a server's what it received, which in the
  central model is the row; of what a person holds beside it there is a keyed seal alone, and of a root one as well.
"""

import base64
import contextlib
import functools
import re
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import left_behind
from psephos.agents import events
from psephos.agents.journal_file import JournalFile
from psephos.protocol.errors import ConfigurationError, PsephosError
from psephos.protocol.masking import MaskingParty
from psephos.protocol.sides import Party
from psephos.scenarios.deployment.agreement import Joining
from psephos.scenarios.running import folder as run_folder
from psephos.scenarios.running.folder import RunFolder

_MOST: Final = 500  # rows, secrets and sentences that are kept of a test
_LEAST_ROW, _LEAST_BYTES, _LEAST_NUMBER, _LEAST_TEXT = 3, 16, 10**7, 6
_LEAST_ROW_OF_FILE: Final = 8
_MOST_BYTES: Final = 1 << 20  # of a file that is read
_KEY: Final = b"PRIVATE KEY"
_OF_KEYS: Final = frozenset(("key.pem", "signature.pem", "server.pem"))
_OF_TRUTHS: Final = frozenset(("result.json", "estimates.csv", "estimates.svg", "estimates-narrow.svg", "report.html"))

_PUBLIC: Final = re.compile(r"public row \([^)]*\)")  # which may happen to have the numbers of a private one

_private: Final[dict[str, str]] = {}  # how it would be quoted → what it is
_in_files: Final[dict[bytes, str]] = {}
_in_journals: Final[dict[bytes, str]] = {}
_said: Final[dict[str, None]] = {}
_refused: Final[dict[tuple[str, str, str], None]] = {}  # fields with what is allowed, and what was given
_folders: Final[dict[Path, None]] = {}
_written: Final[dict[Path, int]] = {}  # when each file was written by us: a test may damage it afterwards
_journals: Final[dict[Path, None]] = {}


def begin() -> None:
    """Forget what other tests had."""
    for kept in (_private, _in_files, _in_journals, _said, _refused, _folders, _written, _journals):
        kept.clear()


def found() -> str:
    """Return which sentence or file quotes what, or which folder states what is not so; nothing where all is well."""
    quoted = (f"{text!r} quotes {kind}" for text in _said for own, kind in _private.items() if own in text)
    if _private and (fault := next(quoted, "")):
        return fault
    for folder in _folders:
        if fault := next(_faults_in(folder), "") or (_is_as_left(folder) and left_behind.fault_of(folder)):
            return fault
    return next(_faults_of_journals(), "")


def _faults_in(folder: Path) -> Iterator[str]:
    is_partys = b'"server":' in _read(folder / "run.json")
    for path in sorted(folder.rglob("*")):
        if "private" in path.parts or not path.is_file():
            continue
        content = _read(path)
        if _KEY in content and path.name not in _OF_KEYS and path.parent.name != "invitations":
            yield f"{path.name} holds a private key"
        for own, kind in _in_files.items():
            if own in content and path.name not in _OF_TRUTHS and path.parent.name != "invitations":
                yield f"{path.name} quotes {kind}"
        if path in _written and path.stat().st_mode & 0o077:
            yield f"{path.name} can be read by others"
        if is_partys and _refused:
            yield from _faults_of_reasons(path.name, content.decode(errors="replace"))


def _is_as_left(folder: Path) -> bool:
    """Return whether no test has changed what a run says of its privacy."""
    files = [path for name in left_behind.FILES for path in folder.rglob(name)]
    return all(_written.get(path) == path.stat().st_mtime_ns for path in files)


def _faults_of_reasons(name: str, text: str) -> Iterator[str]:
    """Yield where a party's file names a field with what was given, which the party's terminal alone may show."""
    for field, allowed, value in _refused:
        for line in text.splitlines() if field in text else ():
            rest = line.replace(allowed, "").replace(field, "")
            if len(rest) < len(line) - len(field) and re.search(rf"\b{re.escape(value)}\b", rest):
                yield f"{name} quotes what was given for {field}"


def _faults_of_journals() -> Iterator[str]:
    for path in _journals:
        for beside in (path, *path.parent.glob(f"{path.name}*")):
            content = _read(beside)
            if _KEY in content:
                yield f"{beside.name} holds a private key"
            yield from (f"{beside.name} holds {kind}" for own, kind in _in_journals.items() if own in content)


def _read(path: Path) -> bytes:
    with contextlib.suppress(OSError):
        if path.stat().st_size <= _MOST_BYTES:
            return path.read_bytes()
    return b""


def watch() -> None:
    """Note from now on what parties hold, what is said and what is left."""
    _before(Party, "__init__", lambda given, named: _keep(given[3], named.get("secret", b"")))
    _before(MaskingParty, "__init__", lambda _, named: _keep((), named["root"]))
    _before(PsephosError, "__init__", lambda given, named: _say(*given[1:], **named))
    _before(ConfigurationError, "__init__", lambda _, named: _note_refused(**named))
    _before(events, "log_unless_it_fails", lambda given, named: _say(" ".join(map(str, (given[1], *named.values())))))
    _before(Joining, "__init__", lambda _, named: _keep_entries(named["entries"], named.get("choices", {})))
    _before(RunFolder, "__init__", lambda given, _: _folders.setdefault(given[1].absolute()))
    _before(JournalFile, "__init__", lambda given, _: _journals.setdefault(given[1]))
    _around(RunFolder, "_open", lambda given: given[0].path / given[1])
    _around(run_folder, "open_event_log", lambda given: given[0])


def _around(owner: Any, name: str, path_of: Callable[[tuple[Any, ...]], Path]) -> None:
    """Note when a file was written that is open in a block."""
    right = getattr(owner, name)

    @functools.wraps(right)
    @contextlib.contextmanager
    def noting(*args: Any, **given: Any) -> Generator[Any]:
        path = path_of(args).absolute()
        try:
            with right(*args, **given) as opened:
                yield opened
        finally:
            with contextlib.suppress(OSError):
                _written[path] = path.stat().st_mtime_ns

    _put(owner, name, right, noting)


def _before(owner: Any, name: str, note: Callable[[Sequence[Any], Mapping[str, Any]], object]) -> None:
    right = getattr(owner, name)

    @functools.wraps(right)
    def noting(*args: Any, **given: Any) -> Any:
        note(args, given)
        return right(*args, **given)

    _put(owner, name, right, noting)


def _put(owner: Any, name: str, right: object, noting: object) -> None:
    setattr(owner, name, noting)
    for module in list(sys.modules.values()):  # what has imported it by its name
        if getattr(module, name, None) is right:
            setattr(module, name, noting)


def _keep(row: Any, secret: bytes) -> None:
    if len(_private) >= _MOST:
        return
    numbers = [int(number) for number in row]
    if len(numbers) >= _LEAST_ROW and len({*numbers}) > 1:
        told = ", ".join(map(str, numbers))
        _private[told] = "a private row"
        if len(numbers) >= _LEAST_ROW_OF_FILE:
            _in_files[told.encode()] = _in_files[told.replace(" ", "").encode()] = "a private row"
    for number in numbers:
        if abs(number) >= _LEAST_NUMBER and number & (number - 1):  # powers of two are limits
            _private[str(abs(number))] = _in_files[str(abs(number)).encode()] = "a private number"
    if len(secret) >= _LEAST_BYTES:
        _private[secret.hex()] = _private[repr(secret)[2:-1]] = "a secret"
        for own in (secret, secret.hex().encode(), base64.b64encode(secret)):
            _in_files[own] = _in_journals[own] = "a secret"


def _keep_entries(entries: Mapping[str, Any], choices: Mapping[str, Any]) -> None:
    for column, entry in entries.items():
        text = str(entry)
        if len(text) >= _LEAST_TEXT and column not in choices and len(_in_files) < _MOST:
            _in_files[text.encode()] = f"an entry of {column}"


def _note_refused(*, field: str, value: object, allowed: str) -> None:
    text = str(value)
    if len(_refused) < _MOST and text.strip() and text not in allowed and text not in field:
        _refused[field, allowed, text] = None


def _say(reason: str) -> None:
    if len(_said) < _MOST:
        _said[_PUBLIC.sub("", reason)] = None
