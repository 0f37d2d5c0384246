"""Check a scenario's statement that its parties are synthetic, for files by the digest of their content.

A synthetic file may be replaced by a real one while its scenario still states `synthetic`. So for files, `synthetic` is
their digest. Real values never get a known seed, and their truth is not shown.
"""

import glob
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from ...protocol.errors import ConfigurationError, refuse
from ..reading.files import readable
from ..reading.frames import FrameText
from ..reading.sources import PartySources

_DIGITS = 32
_MANIFEST = "manifest"  # describes files, and is not one of them


def has_own_values(parties: object, sources: PartySources) -> bool:
    """Return whether parties may be real: from files, frames or rows, neither published nor generated."""
    return bool(sources.published & parties.keys()) if isinstance(parties, dict) else bool(parties)


def digest_of(files: Sequence[Path]) -> str:
    """Return the value of `synthetic` for files; for one file, the first digits of its SHA-256.

    Raises:
        ConfigurationError: a file cannot be read.
    """
    digests = list[bytes]()
    for path in files:
        with readable(path, field="synthetic"), path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").digest())
    whole = digests[0] if len(digests) == 1 else hashlib.sha256(b"".join(digests)).digest()
    return f"sha256:{whole.hex()[:_DIGITS]}"


def check_synthetic(
    parties: object, sources: PartySources, *, synthetic: bool | str, is_chosen: bool = True
) -> bool | str:
    """Check and return a scenario's `synthetic`, which for files is their digest.

    Args:
        is_chosen: whether the user states `true` now, for the current files; otherwise the scenario stated a digest.

    Raises:
        ConfigurationError: the digest is missing, or does not match the files.
    """
    files = _files_in(parties, sources)
    if not synthetic or any(isinstance(file, FrameText) for file in files):
        return synthetic
    file_names = ", ".join(Path(file).name for file in files)
    if not files:
        refuse(
            isinstance(synthetic, str),
            "synthetic",
            synthetic,
            "true or false: no file is named that could have a digest",
        )
        return synthetic
    if not all(Path(file).exists() or glob.glob(file, recursive=True) for file in files):  # noqa: PTH207  or absolute
        return synthetic  # reading the file reports that it is missing
    if not all(Path(file).is_file() for file in files):
        allowed = (
            f"confirmed as --set synthetic=true (in Python synthetic=True): {file_names} may hold other files by now"
        )
        refuse(isinstance(synthetic, str) or not is_chosen, "synthetic", synthetic, allowed)
        return synthetic
    digest = digest_of([Path(file) for file in files])
    if synthetic != digest and not (synthetic is True and is_chosen):
        allowed = (
            f"left out, as seed is, if {file_names} has values of real people. If nobody real stands behind what it "
            "has now, "
            f"write synthetic = {digest!r}"
        )
        raise ConfigurationError(field="synthetic", value=synthetic, allowed=allowed)
    return digest


def _files_in(parties: object, sources: PartySources) -> list[str]:
    """Return the files with parties' values, in the order of their keys."""
    if isinstance(parties, str):
        return [parties] if parties else []
    table = cast("Mapping[str, Any]", parties) if isinstance(parties, Mapping) else dict[str, Any]()
    if not sources.published & table.keys():
        return []
    paths = [table.get(key) for key in sorted(sources.paths) if key != _MANIFEST]
    paths += [path for key in sources.path_tables for _, path in sorted((table.get(key) or dict[str, Any]()).items())]
    return [path for path in paths if isinstance(path, str) and path]


def check_seed(seed: int | None, *, is_real: bool) -> None:
    """Raise ConfigurationError if real values would get noise from a known seed, which could be removed."""
    allowed = (
        "left out: these are values of real people, and whoever knows the seed takes their noise off again. If that is "
        "meant, add --set noise=simulated; if nobody real stands behind them, --set synthetic=true (in Python: "
        "noise='simulated', or synthetic=True)"
    )
    refuse(is_real and seed is not None, "seed", "given", allowed)
