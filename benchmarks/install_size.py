"""What an installation takes on a disk: a wheel of this tree in a fresh environment, part by part.

    python benchmarks/install_size.py                 # as `pip install psephos` leaves it
    python benchmarks/install_size.py --extra opendp --extra pictures
    python benchmarks/install_size.py --image          # without what the Dockerfile takes out again

The sizes are of the disk's blocks, in MB as `du -m` counts them, with all compiled files, and without the empty
environment, which holds pip. Packed, they are as a layer of an image is downloaded: by gzip, each part by itself.
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

__all__ = ["MOST_PACKED", "main", "packed"]

ROOT: Final = Path(__file__).parents[1]
_BLOCK: Final = 512
"""Bytes that `st_blocks` counts in, whatever the disk's own are."""
_NO_PARTS: Final = ("build", "docs", "mutants", "runs", "tests")
"""Folders that no wheel holds."""
_MEGABYTE: Final = 1 << 20
_SHOWN: Final = 8
MOST_PACKED: Final = 100.0
"""MB of packages in the image: less than 150 of the 250, with its base."""


def main() -> None:
    """Build, install and weigh; print the total, and then the largest parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extra", action="append", default=[], metavar="NAME", help="install this extra too")
    parser.add_argument("--image", action="store_true", help="take out what the Dockerfile takes out")
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
        file, own = Path(folder) / "packed.tar.gz", [part for part in packages.iterdir() if part.name not in before]
        total = _megabytes(place) - empty
        if options.image:
            _run("sh", "-c", _trimming().replace("/opt/psephos", str(packages)))
            total = sum(map(_megabytes, own))
        parts = sorted(((_megabytes(part), packed([part], file), part.name) for part in own), reverse=True)
        of_all = sum(in_layer for _, in_layer, _ in parts)
    print(f"psephos, with {', '.join(extras) or 'no extra'}: {total:.1f} MB, packed {of_all:.1f} MB")
    for size, in_layer, name in parts[:_SHOWN]:
        print(f"  {size:5.0f} MB, packed {in_layer:3.0f} MB  {name}")
    if options.image and of_all > MOST_PACKED:
        sys.exit(f"the image's packages must be of at most {MOST_PACKED:g} MB, got {of_all:.0f}")
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


def _trimming() -> str:
    """Return the command of the Dockerfile's last step before the image: what it takes out of /opt/psephos."""
    build, _, _ = (ROOT / "Dockerfile").read_text(encoding="utf-8").rpartition("\nFROM ")
    return build.rpartition("\nRUN ")[2].replace("\\\n", " ")


def packed(parts: Sequence[Path], file: Path) -> float:
    """Return what these take in one file, in MB: as a layer of an image is downloaded."""
    with tarfile.open(file, "w:gz", compresslevel=6) as archive:
        for part in parts:
            archive.add(part, part.name)
    return file.stat().st_size / _MEGABYTE


if __name__ == "__main__":
    main()
