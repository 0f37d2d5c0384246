"""`new protocol`: write the template of a package with a new protocol."""

import keyword
import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click

_MAX_NAME: Final = 64


@click.command("protocol", short_help="Write a package with a protocol of your own, its tests and a scenario.")
@click.argument("name")
@click.option(
    "--model",
    type=click.Choice(["local", "central", "masked"]),
    default="local",
    show_default=True,
    help="Who adds the noise: each person; a trusted server; or all together, with secure aggregation.",
)
@click.option("--to", type=click.Path(path_type=Path), metavar="FOLDER", help="The folder to write (default: NAME).")
def new_protocol(name: str, model: str, to: Path | None) -> None:
    """Write a package with a protocol of your own, its tests and a scenario: a total of numbers, to change.

    \b
    psephos new protocol office-total
    cd office-total && pip install . && pytest && psephos run office-total.toml
    """  # noqa: D301  the character makes click keep the lines
    from ...protocol.errors import refuse, require
    from ..reading.files import readable
    from ..running.scaffold import protocol_files
    from ..system import protocol_names

    module = name.replace("-", "_")
    is_named = re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) and len(name) <= _MAX_NAME
    better = re.sub(r"[^a-z0-9]+", "-", name[:_MAX_NAME].lower()).strip("-0123456789") or "office-total"
    allowed = f"Choose another, for example {better} (up to {_MAX_NAME} small letters, digits and hyphens)."
    require(is_named, "NAME", name, allowed)
    is_free = name not in protocol_names() and not keyword.iskeyword(module) and find_spec(module) is None
    require(is_free, "NAME", name, "a name that no protocol or Python module has yet")
    folder = to or Path(name)
    allowed = f"There is something in {folder} already. Name a new or an empty folder."
    refuse(folder.exists() and (not folder.is_dir() or any(folder.iterdir())), "--to", str(folder), allowed)
    with readable(folder, field="--to", what="where a folder can be made"):
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in protocol_files(name, model).items():
            with (folder / file).open("x", encoding="utf-8") as target:
                target.write(text)
    click.echo(f"Written to {folder}. Next: cd {shlex.quote(str(folder))} && pip install . && pytest")
    click.echo(f"Then: psephos run {name}.toml")
