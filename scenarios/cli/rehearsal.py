"""`rehearse`: run a full deployment on this machine, with a process for each party."""

import contextlib
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from .group import cli
from .options import folder_option, json_option, load, make_folder, pictures_option, scenario_options, simulate_options

if TYPE_CHECKING:
    from rich.console import Console

    from ..deployment.rehearsal import ProcessEnd, RehearsalPlan
    from ..running.config import Scenario
    from ..running.resolution import Local

_MOST_FAILURES: Final = 12
"""Most failed parties that are named with their last line."""


@cli.command(short_help="Run a full deployment on this machine.")
@scenario_options
@simulate_options
@click.option(
    "--trust-server",
    is_flag=True,
    help="Allow the central model, in which the server sees everybody's values.",
)
@click.option("--address", metavar="HOST:PORT", help="Where the server listens (default: a free port of 127.0.0.1).")
@folder_option("--out", help="Keep everything in this folder, also keys and values (default: a temporary folder).")
@click.option("--show-commands", is_flag=True, help="Print every party's command, not only the first one's.")
@json_option("result.json")
@pictures_option("the outcome", default="yes, with --out")
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
    """Run a full deployment of SCENARIO on this machine: draw up its roster, then serve and join.

    The scenario gives each party its values. Server and parties are processes of their own, connected over TLS. Their
    commands are printed; each can run on another machine. Noise is secure, unless you add --simulate; then the result
    equals that of `psephos run` with the same seed.

    The exit status is the server's. For a party that fails, its name and last line are printed.

    \b
    psephos rehearse eu-council
    psephos rehearse eu-council --simulate --seed 345 --out rehearsal --show-commands
    """  # noqa: D301  the character makes click keep the lines
    import functools

    import trio

    from ...transports.tcp import TCPTransport
    from ..deployment.common import check_seed, name_address_in_errors
    from ..deployment.rehearsal import check_rehearsed, make_plan, num_told, reserve_address, values_of, write_values
    from ..deployment.rehearsal import rehearse as run
    from ..presentation import make_console

    check_seed(simulate=simulate, seed=seed)
    if address is not None:
        with name_address_in_errors(address, field="--address"):
            TCPTransport().stays_on_this_machine(address)
    loaded_scenario = load(scenario, settings, data)
    setup = check_rehearsed(loaded_scenario, trusts_server=trust_server, seed=seed)
    values = values_of(setup)
    words = [scenario, *(word for setting in settings for word in ("--set", setting))]
    words += [] if data is None else ["--data", data]
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(_folder_of(out))
        plan = make_plan(
            setup,
            folder,
            address=stack.enter_context(reserve_address()) if address is None else address,
            scenario=words,
            seed=seed,
            trusts_server=trust_server,
            serve=[*(["--json"] if as_json else []), *([] if pictures and out is not None else ["--no-pictures"])],
        )
        write_values(plan, values)
        console = make_console()
        if not as_json:
            _show_plan(console, loaded_scenario, setup, plan, is_kept=out is not None, shows_all=show_commands)
        screen = _RehearsalScreen(hidden_folder="" if out is not None else str(folder))
        session = functools.partial(run, plan, show=screen.line, show_error=screen.error, on_failure=screen.failure)
        rehearsed = trio.run(session, restrict_keyboard_interrupt_to_checkpoints=True)
        screen.how_many_more()
        if rehearsed.server.status:
            sys.exit(rehearsed.server.status)
        if not as_json:
            number, role = num_told(plan), setup.protocol.client_role
            agreement_note = (
                f"{number:,} of {len(plan.parts):,} {role}s heard what the server released: their transcripts agree"
            )
            console.print(agreement_note, soft_wrap=True)  # below an empty line that the server prints
            if out is not None:
                console.print(f"Everything is in {folder}\n", soft_wrap=True)


class _RehearsalScreen:
    """A rehearsal's output in the terminal.

    Args:
        hidden_folder: a temporary folder; lines that name it are not shown, nor the indented lines below them.
    """

    def __init__(self, *, hidden_folder: str) -> None:
        self._hidden = hidden_folder
        self._is_hiding = False
        self._num_failed = 0

    def line(self, line: bytes, *, err: bool = False) -> None:
        """Print a line of the server."""
        text = line.decode(errors="replace")
        names_it = bool(self._hidden) and self._hidden in text
        self._is_hiding = names_it or (self._is_hiding and text.startswith("  "))
        if not self._is_hiding:
            with contextlib.suppress(OSError):  # a closed terminal does not end the session
                click.echo(text, err=err)

    def error(self, line: bytes) -> None:
        """Print a line of the server's standard error, except the address that it listens on."""
        if not line.startswith(b"listening on "):
            self.line(line, err=True)

    def failure(self, party: str, end: "ProcessEnd") -> None:
        """Print a failed party's name and last line."""
        from ...protocol.errors import printable

        self._num_failed += 1
        if self._num_failed <= _MOST_FAILURES:
            reason = end.said.removeprefix("psephos: ") or f"ended with status {end.status}"
            click.echo(f"psephos: {printable(party)}: {printable(reason)}", err=True)

    def how_many_more(self) -> None:
        """Print the number of failed parties that were not named."""
        if self._num_failed > _MOST_FAILURES:
            click.echo(f"psephos: and {self._num_failed - _MOST_FAILURES:,} more", err=True)


@contextlib.contextmanager
def _folder_of(out: Path | None) -> Generator[Path]:
    """Yield a rehearsal's folder: the named one, or a temporary one."""
    if out is not None:
        yield make_folder(out, "").path
        return
    with tempfile.TemporaryDirectory(prefix="psephos-") as folder:
        yield Path(folder)


def _show_plan(
    console: "Console",
    scenario: "Scenario",
    setup: "Local",
    plan: "RehearsalPlan",
    *,
    is_kept: bool,
    shows_all: bool,
) -> None:
    from ..running.report import show_heading

    role, number = setup.protocol.client_role, len(plan.parts)
    facts = [f"{number:,} {role}s and their server", "each a process on this machine", "known by their certificates"]
    trust = "Everybody's keys and values are on this machine: whoever runs the rehearsal could read them."
    description = "The scenario's adversaries are left out: all parties are honest here." if scenario.adversary else ""
    title = f"Rehearsal: {setup.scenario.title or setup.scenario.name}"
    show_heading(console, title=title, facts=facts, description=description, trust=trust)
    commands = plan.commands
    few = len(commands) - number + 1
    for command in commands if shows_all else commands[:few]:
        click.echo(f"  {command}")
    if number > 1 and not shows_all:
        click.echo(f"  and {number - 1:,} more like it; --show-commands prints all")
    if not is_kept:
        click.echo("  their folder is temporary; --out keeps it")
