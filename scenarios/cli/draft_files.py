"""Where `new` writes a scenario: checked before, nothing of anybody's lost, and all of it or nothing."""

import os
import re
import shlex
import shutil
import urllib.parse
from pathlib import Path
from typing import Any, Final

import click

_MAX_NAME: Final = 64


def target_of(path: Path | None, file: Path) -> Path:
    """Return where the scenario is written: by default here, under the file's name in small letters."""
    from ...protocol.errors import refuse

    if path is not None:
        refuse(path.name in {"", ".."}, "--to", str(path), "the name of a file")
        return path if path.suffix == ".toml" else path.with_name(f"{path.name}.toml")
    stem = file.name.removesuffix(".gz").removesuffix(file.suffix)
    slug = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:_MAX_NAME].strip("-")
    return Path(f"{slug or 'scenario'}.toml")


def check_characters(text: str, *, field: str) -> None:
    """Raise ConfigurationError if a text has bytes that are no characters, as the name of a file may."""
    from ...protocol.errors import ConfigurationError

    try:
        text.encode()
    except UnicodeEncodeError as error:
        excerpt = text[max(0, error.start - 20) : error.end]
        raise ConfigurationError(field=field, value=excerpt, allowed="named in UTF-8, as a scenario is") from None


def write_new(text: str, path: Path) -> None:
    """Write a file unless it is there, where `check_free` has found the same in it."""
    from ..reading.files import readable

    with readable(path, field="--to", what="where a file can be written"):
        if not path.exists():
            with path.open("x", encoding="utf-8") as file:  # which follows no link
                file.write(text)


def check_free(path: Path, text: str, *, field: str, way_out: str) -> None:
    """Raise ConfigurationError if a file is there that holds something else: nothing of anybody's is lost."""
    from ...protocol.errors import refuse, require
    from ..reading.files import readable

    allowed = f"There is no folder {path.parent}. Make it first, or choose another."
    require(path.parent.is_dir(), field, str(path), allowed)
    allowed = f"The file {path} exists and holds something else. {way_out}"
    with readable(path, field=field):
        refuse(path.exists() and path.read_bytes() != text.encode(), field, str(path), allowed)


def check_scenario(text: str, target: Path, file: Path, data_path: str, *, is_served: bool) -> None:
    """Raise ConfigurationError if the scenario, to be written at `target`, cannot be run, or served."""
    import tomllib

    from ..running.config import scenario_of
    from ..running.resolution import resolve, resolve_served

    tables: dict[str, dict[str, Any]] = tomllib.loads(text)
    *_, parties = tables.values()  # the last table
    for key, value in parties.items():
        if value == data_path:
            parties[key] = str(file.absolute())  # a sample is not copied yet
    (resolve_served if is_served else resolve)(scenario_of({"name": target.stem, **tables}, folder=target.parent))


def check_page(origin: str, data_file: Path | None, folder: Path) -> str:
    """Return the page's origin; ConfigurationError: it is none, there is no file, or the folder of links is there."""
    from ...protocol.errors import refuse
    from ..deployment.links import check_origin

    allowed = "Name a file with those who may vote, before --web: psephos new vote FILE --web"
    refuse(data_file is None, "FILE", "left out", allowed)
    allowed = f"There is a folder {folder} already, perhaps with links that were sent. Add --out with a new folder."
    refuse(os.path.lexists(folder), "--out", str(folder), allowed)
    return check_origin(origin, field="--web")


def write_with_links(context: click.Context, text: str, target: Path, folder: Path, origin: str) -> None:
    """Write a scenario and the folder of its roster, or neither, and print the command that holds the vote."""
    from ..reading.files import readable
    from .enrollment import roster

    with readable(folder, field="--out", what="a new folder"):
        folder.mkdir(mode=0o700, parents=True)  # only of ours may be taken away again
    is_new = not target.exists()
    try:
        write_new(text, target)
        context.invoke(roster, scenario=str(target), out=folder, links=origin)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        if is_new:
            target.unlink(missing_ok=True)
        raise
    parts = urllib.parse.urlsplit(origin)
    address = parts.netloc.removeprefix("127.0.0.1:") if parts.port else f"{parts.netloc}:80"
    is_proxied = parts.scheme == "https"
    scenario = f"./{target}" if str(target).startswith("-") else str(target)  # which is no option
    words = ["psephos", "serve", scenario, "--roster", str(folder), "--web", "8000" if is_proxied else address]
    words += ["--web-hours", "24"]
    after = f", behind a proxy that passes {origin} on to port 8000 of this machine" if is_proxied else ""
    click.echo(f"{target}: the scenario. Hold the vote{after}:\n\n{shlex.join(words)}")
