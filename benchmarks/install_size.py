"""What an installation takes on a disk: a wheel of this tree in a fresh environment, part by part.

    python benchmarks/install_size.py                 # as `pip install psephos` leaves it
    python benchmarks/install_size.py --extra deployment --extra pictures

The sizes are of the disk's blocks, in MB as `du -m` counts them, with all compiled files, and without the empty
environment, which holds pip. Packed, they are as a layer of an image is downloaded: one tar, by gzip.
"""

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

__all__ = ["main"]

ROOT: Final = Path(__file__).parents[1]
_BLOCK: Final = 512
"""Bytes that `st_blocks` counts in, whatever the disk's own are."""
_NO_PARTS: Final = ("build", "docs", "mutants", "runs", "tests")
"""Folders that no wheel holds."""
_MEGABYTE: Final = 1 << 20
_SHOWN: Final = 8


def main() -> None:
    """Build, install and weigh; print the total, and then the largest parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extra", action="append", default=[], metavar="NAME", help="install this extra too")
    parser.add_argument("--most", type=int, metavar="MB", help="fail where it is more")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheel = _build(Path(folder))
        place = Path(folder) / "venv"
        extras: Sequence[str] = options.extra
        named = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
        _run(sys.executable, "-m", "venv", str(place))
        empty = _megabytes(place)
        (packages,) = place.glob("lib/python*/site-packages")
        before = {own.name for own in packages.iterdir()}
        _run(str(place / "bin" / "pip"), "install", "--quiet", named)
        _run(str(place / "bin" / "psephos"), "run", "consortium", "--out", str(Path(folder) / "run"))
        parts = {own.name: _megabytes(own) for own in packages.iterdir() if own.name not in before}
        total = _megabytes(place) - empty
        packed = _packed([own for own in packages.iterdir() if own.name not in before], Path(folder) / "packed.tar.gz")
    print(f"psephos, with {', '.join(extras) or 'no extra'}: {total:.1f} MB, packed {packed:.1f} MB")
    for name, size in sorted(parts.items(), key=lambda part: -part[1])[:_SHOWN]:
        print(f"  {size:5.0f} MB  {name}")
    if options.most is not None and total > options.most:
        sys.exit(f"the installation must be of at most {options.most} MB, got {total:.0f}")


def _build(folder: Path) -> Path:
    """Return a wheel of a copy of this tree, without what an earlier build has left."""
    tree = folder / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "*.egg-info", "__pycache__", *_NO_PARTS))
    _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(tree))
    (wheel,) = folder.glob("*.whl")
    return wheel


def _run(*command: str) -> None:
    subprocess.run(command, check=True)  # noqa: S603  pip, and what it has installed


def _megabytes(path: Path) -> float:
    """Return what a file, or all files below a folder, take."""
    files = [path, *path.rglob("*")] if path.is_dir() else [path]
    return sum(own.lstat().st_blocks for own in files) * _BLOCK / _MEGABYTE


def _packed(parts: Sequence[Path], file: Path) -> float:
    """Return what these take in one file."""
    with tarfile.open(file, "w:gz", compresslevel=6) as archive:
        for part in parts:
            archive.add(part, part.name)
    return file.stat().st_size / _MEGABYTE


if __name__ == "__main__":
    main()
