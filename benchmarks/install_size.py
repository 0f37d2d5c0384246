"""What an installation takes on a disk: a wheel of this tree in a fresh environment, part by part.

    python benchmarks/install_size.py                 # as `pip install psephos` leaves it
    python benchmarks/install_size.py --extras opendp,pictures
    python benchmarks/install_size.py --image          # without what the Dockerfile takes out again

The sizes are of the disk's blocks, in MB as `du -m` counts them, with all compiled files, and without the empty
environment, which holds pip. Packed, they are as a layer of an image is downloaded: by gzip, each part by itself.
"""

import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness import options

ROOT = Path(__file__).parents[1]
_MEGABYTE = 1 << 20
MOST_PACKED = 100.0
"""MB of packages in the image: less than 150 of the 250, with its base."""


def _main() -> None:
    """Build, install and weigh; print the total, and then the largest parts."""
    asked = options(__doc__, extras="", image=False)
    with tempfile.TemporaryDirectory() as folder:
        # A wheel of a copy of this tree, without what an earlier build has left, and without folders that none holds.
        tree, place, file = Path(folder, "tree"), Path(folder, "venv"), Path(folder, "packed.tar.gz")
        none = (".*", "*.egg-info", "__pycache__", "build", "docs", "mutants", "runs", "tests")
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*none))
        _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, tree)
        (wheel,) = Path(folder).glob("*.whl")
        _run(sys.executable, "-m", "venv", place)
        empty = _megabytes(place)
        (packages,) = place.glob("lib/python*/site-packages")
        before = set(packages.iterdir())
        _run(place / "bin" / "pip", "install", "--quiet", f"{wheel}[{asked.extras}]" if asked.extras else wheel)
        _run(place / "bin" / "psephos", "run", "consortium", "--out", Path(folder, "run"))
        own = set(packages.iterdir()) - before
        total = _megabytes(place) - empty
        if asked.image:
            _run("sh", "-c", _trimming().replace("/opt/psephos", str(packages)))
            total = sum(map(_megabytes, own))
        parts = sorted(((_megabytes(part), packed([part], file), part.name) for part in own), reverse=True)
    of_all = sum(in_layer for _, in_layer, _ in parts)
    print(f"psephos, with {asked.extras or 'no extra'}: {total:.1f} MB, packed {of_all:.1f} MB")
    for size, in_layer, name in parts[:8]:
        print(f"  {size:5.0f} MB, packed {in_layer:3.0f} MB  {name}")
    if asked.image and of_all > MOST_PACKED:
        sys.exit(f"the image's packages must be of at most {MOST_PACKED:g} MB, got {of_all:.0f}")


def _run(*command: object) -> None:
    subprocess.run(list(map(str, command)), check=True)  # noqa: S603  pip, and what it has installed


def _megabytes(path: Path) -> float:
    """Return what a file, or all files below a folder, take: blocks of 512 bytes, whatever the disk's own are."""
    return sum(own.lstat().st_blocks for own in (path, *path.rglob("*"))) * 512 / _MEGABYTE


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
    _main()
