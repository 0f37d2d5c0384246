"""Cache the facts that a pass over large files found, in a file that a scenario names: later runs skip the pass.

It has path, size and time of each file, and what the session's parameters are made of, which everybody
is told: names of tasks or groups, possible weights, the most that one person says. It holds nobody's row, and is for
its owner alone, since it says where private files are.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from ...protocol.errors import ConfigurationError, require
from .batches import TableFiles
from .files import readable
from .headers import USUAL

_SCHEMA: Final = 1
_ANEW: Final = "remove the manifest, or name another, to read the files anew"


class ListedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was.

    Args:
        path: where, in full.
        modified: when it was changed last, in nanoseconds since 1970.
    """

    path: str
    num_bytes: int
    modified: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a pass over files, in order, found by the settings that it depends on."""

    schema: int
    asked: dict[str, Any]
    files: list[ListedFile]
    found: dict[str, Any]


def remembered(
    manifest: str,
    files: TableFiles,
    find: Callable[[], Mapping[str, Any]],
    *,
    facts_asked: Mapping[str, Any],
    companions: Sequence[Path] = (),
) -> Mapping[str, Any]:
    """Return what a pass over files finds, or found when a manifest was written, which is written if it is not there.

    Args:
        manifest: its path; without one nothing is kept.
        files: the tables.
        find: makes the pass.
        facts_asked: the settings that its result depends on.
        companions: further files that it reads.

    Raises:
        ConfigurationError: as `find`; a file has changed, there is another one, or the manifest cannot be read or
            written, or is of other settings.
    """
    if not manifest:
        return find()
    options_asked = {} if files.options == USUAL else {"options": msgspec.to_builtins(files.options)}
    path, plain_asked = Path(manifest), _plain({**facts_asked, **options_asked})
    states = [_state_of(each) for each in (*files.paths, *companions)]
    if path.exists():
        manifest_known = _read(path)
        require(
            manifest_known.asked == plain_asked,
            "manifest",
            manifest,
            f"of these settings, and not of {manifest_known.asked}: {_ANEW}",
        )
        _check_unchanged(manifest_known.files, states)
        return manifest_known.found
    require(path.absolute().parent.is_dir(), "manifest", manifest, "a file in a folder that is there")
    facts = find()
    _check_unchanged(states, [_state_of(each) for each in (*files.paths, *companions)])
    new_manifest = Manifest(schema=_SCHEMA, asked=plain_asked, files=states, found=_plain(facts))
    with readable(path, field="manifest", what="a file that can be written"):
        path.touch(mode=0o600, exist_ok=False)
        path.write_bytes(msgspec.json.format(msgspec.json.encode(new_manifest)) + b"\n")
    return new_manifest.found


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as they come back from a file."""
    return msgspec.json.decode(msgspec.json.encode(values))


def _read(path: Path) -> Manifest:
    with readable(path, field="manifest"):
        content = path.read_bytes()
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except msgspec.DecodeError as error:
        raise ConfigurationError(field="manifest", value=str(path), allowed=f"a whole one ({error}): {_ANEW}") from None
    require(manifest.schema == _SCHEMA, "manifest", manifest.schema, f"of schema {_SCHEMA}: {_ANEW}")
    return manifest


def _state_of(path: Path) -> ListedFile:
    with readable(path, field=path.name):
        file_state = path.stat()
    return ListedFile(path=str(path.absolute()), num_bytes=file_state.st_size, modified=file_state.st_mtime_ns)


def _check_unchanged(known_files: Sequence[ListedFile], files_found: Sequence[ListedFile]) -> None:
    """Raise ConfigurationError unless these are the same files, none of which has changed."""
    file_of_path = {each.path: each for each in known_files}
    for each in files_found:
        was = file_of_path.pop(each.path, None)
        require(was, "manifest", Path(each.path).name, f"one that lists this file: {_ANEW}")
        assert was is not None  # noqa: S101  just required
        is_same = (was.num_bytes, was.modified) == (each.num_bytes, each.modified)
        value = f"{each.num_bytes:,} bytes, changed since"
        require(is_same, Path(each.path).name, value, f"the file of the manifest, of {was.num_bytes:,} bytes: {_ANEW}")
    missing = ", ".join(Path(path).name for path in file_of_path)
    require(not file_of_path, "manifest", missing, f"one of files that are there: {_ANEW}")
