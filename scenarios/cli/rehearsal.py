"""`rehearse`: a whole deployment on this machine, each party a process of its own."""

import contextlib
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from .group import cli
from .options import load, make_folder, scenario_options, simulate_options

if TYPE_CHECKING:
    from rich.console import Console

    from ..deployment.rehearsal import Ended, Plan
    from ..running.config import Scenario
    from ..running.resolution import Resolved

__all__ = ["rehearse"]

_MOST_FAILURES: Final = 12
"""Parties that are named with what they said."""


@cli.command(short_help="Rehearse a deployment of SCENARIO: server and parties as processes on this machine.")
@scenario_options
@simulate_options
@click.option(
    "--trust-server",
    is_flag=True,
    help="Allow a session in which the server sees everybody's values as they are (central model).",
)
@click.option(
    "--address", metavar="HOST:PORT", help="Where the server listens (default: 127.0.0.1 and a port that is free)."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Keep everything in this folder, keys and values too (default: a temporary one).",
)
@click.option("--show-commands", is_flag=True, help="Print the command of each party, and not of one of them alone.")
@click.option("--json", "as_json", is_flag=True, help="Print result.json and nothing else.")
@click.option("--pictures/--no-pictures", default=True, help="Draw the outcome (default: yes, in a folder of --out).")
def rehearse(
    scenario: str,
    settings: tuple[str, ...],
    data: str | None,
    seed: int | None,
    address: str | None,
    out: Path | None,
    *,
    simulate: bool,
    trust_server: bool,
    show_commands: bool,
    as_json: bool,
    pictures: bool,
) -> None:
    """Rehearse a deployment of SCENARIO: draw up its roster, then serve and join, each party with its own values.

    The values are those of the scenario. Server and parties are processes on this machine, and meet over TLS. The
    commands that they run are printed: each can be run on a machine of its own. Noise is secure unless --simulate says
    otherwise; then the result is that of `psephos run` with this seed.

    The exit status is the server's. A party that fails is named with the line that it ends with.

    \b
    psephos rehearse eu-council
    psephos rehearse eu-council --simulate --seed 345 --out rehearsal --show-commands
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    import functools

    import trio

    from ...protocol.errors import printable
    from ..deployment.common import check_seed
    from ..deployment.rehearsal import check_rehearsed, make_plan, num_told, reserved_address, write_values
    from ..deployment.rehearsal import rehearse as run
    from ..presentation import make_console

    check_seed(simulate=simulate, seed=seed)
    loaded = load(scenario, settings, data)
    resolved = check_rehearsed(loaded, trusts_server=trust_server)
    words = [scenario, *(word for setting in settings for word in ("--set", setting))]
    words += [] if data is None else ["--data", data]
    serving = [*(["--json"] if as_json else []), *([] if pictures and out is not None else ["--no-pictures"])]
    console = make_console()
    num_failed = 0

    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(_folder_of(out))
        where = stack.enter_context(reserved_address()) if address is None else address
        plan = make_plan(
            resolved,
            folder,
            address=where,
            scenario=words,
            seed=seed,
            trusts_server=trust_server,
            serve=serving,
        )
        write_values(plan, resolved)
        if not as_json:
            _show_plan(console, loaded, resolved, plan, is_kept=out is not None, shows_all=show_commands)
        hidden = None if out is not None else str(folder)  # which is gone in the end

        def show(line: bytes, *, err: bool = False) -> None:
            text = line.decode(errors="replace")
            if hidden is None or hidden not in text:
                click.echo(text, err=err)

        def show_error(line: bytes) -> None:
            if not line.startswith(b"listening on "):
                show(line, err=True)

        def on_failure(party: str, ended: "Ended") -> None:
            nonlocal num_failed
            num_failed += 1
            if num_failed <= _MOST_FAILURES:
                said = ended.said.removeprefix("psephos: ") or f"ended with status {ended.status}"
                click.echo(f"psephos: {printable(party)}: {said}", err=True)

        session = functools.partial(run, plan, show=show, show_error=show_error, on_failure=on_failure)
        rehearsed = trio.run(session, restrict_keyboard_interrupt_to_checkpoints=True)
        if num_failed > _MOST_FAILURES:
            click.echo(f"psephos: and {num_failed - _MOST_FAILURES:,} more", err=True)
        if rehearsed.server.status:
            sys.exit(rehearsed.server.status)
        if not as_json:
            number, role = num_told(plan), resolved.protocol.client_role
            told = f"{number:,} of {len(plan.parts):,} {role}s heard what the server released: their transcripts agree"
            console.print(f"\n{told}", soft_wrap=True)
            if out is not None:
                console.print(f"Everything is in {folder}\n", soft_wrap=True)


@contextlib.contextmanager
def _folder_of(out: Path | None) -> Generator[Path]:
    """Yield the folder of a rehearsal: the one named, or one that is gone in the end."""
    if out is not None:
        yield make_folder(out, "").path
        return
    with tempfile.TemporaryDirectory(prefix="psephos-") as folder:
        yield Path(folder)


def _show_plan(
    console: "Console", scenario: "Scenario", resolved: "Resolved", plan: "Plan", *, is_kept: bool, shows_all: bool
) -> None:
    from ..running.report import show_heading

    role, number = resolved.protocol.client_role, len(plan.parts)
    facts = [f"{number:,} {role}s and their server", "each a process on this machine", "known by their certificates"]
    trust = "Everybody's keys are made here, and everybody's values lie here: whoever rehearses could read them."
    description = "The scenario's adversaries are left out: all parties are honest here." if scenario.adversary else ""
    title = f"Rehearsal: {resolved.scenario.title or resolved.scenario.name}"
    show_heading(console, title=title, facts=facts, description=description, trust=trust)
    commands = plan.commands
    few = len(commands) - number + 1
    for command in commands if shows_all else commands[:few]:
        click.echo(f"  {command}")
    if number > 1 and not shows_all:
        click.echo(f"  and {number - 1:,} more like it; --show-commands prints all")
    if not is_kept:
        click.echo("  their folder is temporary; --out keeps it")
