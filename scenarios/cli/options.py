"""Options that commands share: a scenario with its settings, and a folder for the results."""

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from .completion import complete_keys, complete_scenario
from .group import folders

if TYPE_CHECKING:
    from rich.console import Console

    from ..running.config import Scenario
    from ..running.folder import RunFolder

_HOW: Final = "pip install 'psephos[pictures]'"

_CommandT = TypeVar("_CommandT", bound=Callable[..., Any])


def scenario_options(command: _CommandT) -> _CommandT:
    """Add the parameters of a scenario to a command: `scenario`, `settings` and `data`."""
    return _with(
        command,
        click.argument("scenario", shell_complete=complete_scenario),
        click.option(
            "--set",
            "settings",
            metavar="KEY=VALUE",
            multiple=True,
            shell_complete=complete_keys,
            help="Set any value of the scenario; may be repeated.",
        ),
        click.option("--data", metavar="FOLDER", help="The folder of data sets (default: the variable PSEPHOS_DATA)."),
    )


def json_option(content: str) -> Callable[[_CommandT], _CommandT]:
    """Return the option `--json`, which prints JSON instead of sentences."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print {content} and nothing else.")


def pictures_option(content: str, default: str = "yes") -> Callable[[_CommandT], _CommandT]:
    """Return the option `--no-pictures`."""
    return click.option("--pictures/--no-pictures", default=True, help=f"Draw {content} (default: {default}).")


def simulate_options(command: _CommandT) -> _CommandT:
    """Add the options of a simulation to a command: `simulate` and `seed`."""
    return _with(
        command,
        click.option(
            "--simulate",
            is_flag=True,
            help="Use simulated noise, which protects nobody; server and parties must both say so.",
        ),
        click.option(
            "--seed", type=click.IntRange(min=0), help="The seed of the simulated noise, equal for server and parties."
        ),
    )


def _with(command: _CommandT, *options: Callable[[Any], Any]) -> _CommandT:
    for option in reversed(options):
        command = option(command)
    return command


def file_option(*names: str, metavar: str = "FILE", **settings: Any) -> Callable[[_CommandT], _CommandT]:
    """Return an option whose value is a path."""
    return click.option(*names, type=click.Path(path_type=Path), metavar=metavar, **settings)


def folder_option(*names: str, **settings: Any) -> Callable[[_CommandT], _CommandT]:
    """Return an option whose value is a folder's path."""
    return file_option(*names, metavar="FOLDER", **settings)


out_option = folder_option("--out", help="Write the run into this folder (default: a new one in runs/).")
resume_option = folder_option(
    "--resume", help="Continue the same command, interrupted earlier, in the folder that it wrote."
)
cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Compute on this Dask scheduler's workers (tcp://HOST:8786), or on a local cluster (local).",
)
witness_option = folder_option(
    "--witness",
    envvar="PSEPHOS_WITNESS",
    help="A folder outside the journal's. It records the journal's length, so that a rolled-back copy is detected "
    "(default: your user's state folder; PSEPHOS_WITNESS).",
)
transport_option = click.option(
    "--transport",
    default="tls",
    metavar="NAME",
    help="How server and parties connect, the same on both sides (default: tls). tcp neither encrypts nor "
    "authenticates: use it on one machine only.",
)


def load(source: str, settings: tuple[str, ...], data: str | None, *, seed: int | None = None) -> "Scenario":
    """Return the scenario that the options of `scenario_options` name, with a seed if one is given."""
    import msgspec

    from ..running.config import load_scenario

    # The text as given: a folder may be called 2024, which TOML would read as a number.
    overrides = {name: value for name, value in (("data", data), ("seed", seed)) if value is not None}
    return msgspec.structs.replace(load_scenario(source, settings), **overrides)


def warn(warning: str, *, err: bool = False) -> None:
    """Print a warning on the session's accuracy, before anything is spent; nothing if it is empty."""
    from ...protocol.errors import printable

    if warning:
        click.echo(f"warning: {printable(warning)}", err=err)


def print_json(value: object) -> None:
    """Print a value as JSON and nothing else."""
    import msgspec

    from ..running.folder import to_json

    click.echo(msgspec.json.format(to_json(value), indent=2))


_FILES: Final = {
    "report.html": "all of it on a page, for a browser",
    "estimates.svg": "the outcome as a picture",
    "estimates.csv": "the outcome as a table",
    "workers.csv": "each worker's weight, error and importance",
    "plan.png": "error over ε as a picture",
    "plan.csv": "each variant at each price that was tried",
    "plan.json": "the plan for programs",
    "result.json": "the outcome for programs, to the last digit",
    "ledger.jsonl": "every loss of every party: psephos ledger adds them up",
    "run.json": "how it ran",
}
"""The interesting files in a folder, by name."""


def tell_folder(console: "Console", folder: "RunFolder", *, draws: bool = False, is_brief: bool = False) -> None:
    """Print a run's folder and its interesting files; with `is_brief`, only the page.

    If matplotlib is missing for pictures, print how to install it, unless `--no-pictures` is given.
    """
    from ..presentation.terminal import show_facts

    files_found = {name: words for name, words in _FILES.items() if (folder.path / name).exists()}
    if is_brief:
        page = {name: files_found[name] for name in ("report.html",) if name in files_found}
        files_found = page | {"--verbose": "prints the rest here"}
    console.print(f"\nEverything is in {folder.path}", soft_wrap=True)
    if files_found:
        show_facts(console, files_found, indent=2, spaced=False)
    console.print()
    draws = draws and click.get_current_context().params.get("pictures", True)
    if draws and importlib.util.find_spec("matplotlib") is None:
        console.print(f"There is no picture, since matplotlib is not installed: {_HOW}", soft_wrap=True)
        console.print()


def tell_transcript(console: "Console", digest: str | None) -> None:
    """Print the transcript's digest, by which parties compare it; it is None for a client that missed a phase."""
    from ...protocol.transcript import show_digest

    if digest is not None:
        console.print(f"\nPublic transcript {show_digest(digest)}: compare it with the others'", soft_wrap=True)


def make_folder(out: Path | None, name: str, *, resume: Path | None = None) -> "RunFolder":
    """Return a run's folder: the named one, the resumed one, or a new one below runs/."""
    from ..running.folder import RunFolder

    if resume is not None:
        if out is not None:
            raise click.UsageError("--resume has the folder already: leave out --out")
        folders[resume] = False
        return RunFolder(resume, resumes=True)
    if out is not None:
        folders[out] = False
        return RunFolder(out)
    stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    number = 1
    path = Path("runs") / stem
    while path.exists():
        number += 1
        path = Path("runs") / f"{stem}-{number}"
    folders[path] = True
    return RunFolder(path)
