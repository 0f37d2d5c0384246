"""How much memory this process has, and has had at most. Needs nothing but Python: rivals use it too."""

import pathlib
from typing import Final

__all__ = ["peak_bytes", "resident_bytes"]

_STATUS: Final = pathlib.Path("/proc/self/status")
_KIBIBYTE: Final = 1024


def resident_bytes() -> int | None:
    """Return what is in memory now; None where the system does not tell."""
    return _read("VmRSS:")


def peak_bytes() -> int | None:
    """Return the most that was in memory; None where the system does not tell.

    Unlike `resource.getrusage`, it begins with this program, and not with the process that started it.
    """
    return _read("VmHWM:")


def _read(name: str) -> int | None:
    if not _STATUS.exists():
        return None
    for line in _STATUS.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * _KIBIBYTE
    return None
