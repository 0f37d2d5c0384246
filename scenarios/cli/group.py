"""The `psephos` command: its subcommands, those of systems, and how it ends."""

import contextlib
import dataclasses
import errno
import functools
import re
import signal
import socket
import sys
import traceback
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

import click

from ..words import show_all_signs

_RUN_FAILED, _WRONG_INPUT = 1, 2
_ENDED_BY_SIGNAL: Final = 128  # a shell's convention: 128 plus the signal's number
SECTIONS: Final = {
    "Start": ("new", "scenarios", "show", "samples", "plan", "run"),
    "Read results": ("report", "compare", "ledger"),
    "Compare and measure": ("variants", "trials", "audit", "reproduce"),
    "Deploy": ("rehearse", "enroll", "roster", "serve", "revoke", "join", "tally", "journal"),
}
"""The commands by section, in the order in which a user needs them; systems' commands follow."""
_HELP: Final = {
    errno.ECONNREFUSED: "Nobody listens there: is the server running, and the address right?",
    errno.ENOSPC: "Make room on the disk, and run the command again.",
    socket.EAI_NONAME: "Check the host's name.",
}
"""What to do, by the operating system's error number."""
_CLICK: Final = (
    (r"is not a valid integer(?: range)?$", "is no whole number"),
    (r"is not a valid float(?: range)?$", "is no number"),
    (r"is not in the range x>=(\S+)$", r"is too little: use at least \1"),
    (r"is not in the range x>(\S+)$", r"is too little: use more than \1"),
    (r"is not in the range x(<=?)(\S+)$", r"is too much: use x \1 \2"),
    (r"is not in the range (\S+?)(<=?)x(<=?)(\S+)$", r"is out of range: use \1 \2 x \3 \4"),
    (r"is not one of (.*)$", r"is unknown: use one of \1"),
)
"""Click's words, and ours."""
_AGAIN_SECONDS: Final = 0.01  # after this time, an interrupt that was lost is sent again
_stopped_by: list[signal.Signals] = []
"""The signals that told this process to end, in order, except Ctrl-C."""
folders: Final[dict[Path, bool]] = {}  # folders that this command writes to, and whether it chose each by itself


@dataclasses.dataclass
class _Ending:
    """How a failed command ends: its message and exit status."""

    shows_traceback: bool = False


def _show_traceback(context: click.Context, parameter: click.Parameter, value: object) -> None:
    del parameter
    ending = context.find_object(_Ending)
    if ending is not None and value:
        ending.shows_traceback = True


class SuggestingGroup(click.Group):
    """A group that suggests a similar command for an unknown word."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return a word's command; UsageError if there is none."""
        from ...protocol.errors import did_you_mean, printable

        word = str(args[0])
        if not word.startswith("-") and not ctx.resilient_parsing and self.get_command(ctx, word) is None:
            hint = did_you_mean(word, self.list_commands(ctx))
            raise click.UsageError(f"No such command {printable(word)!r}{hint}.", ctx)
        return super().resolve_command(ctx, args)


class _Commands(SuggestingGroup):
    """A group with its own commands and those of systems, which are loaded for words that it does not know.

    Every command has the option `--traceback`.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted({*self.commands, *system_commands()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name) or system_commands().get(cmd_name)
        return None if command is None else with_traceback(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(ctx)
        own_commands = {name for section in SECTIONS.values() for name in section}
        sections = {**SECTIONS, "For single systems": [name for name in names if name not in own_commands]}
        longest = max(map(len, names))
        for title, of_section in sections.items():
            commands = {name: self.get_command(ctx, name) for name in of_section}
            width = formatter.width - 6 - longest
            rows = [
                (name.ljust(longest), command.get_short_help_str(width))
                for name, command in commands.items()
                if command is not None
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class _Context(click.Context):
    """A command's context, remembered as the latest, since errors of parsing do not name their command."""

    latest: "click.Context | None" = None

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        _Context.latest = self


def with_traceback(command: click.Command, *, is_shown: bool = False) -> click.Command:
    """Add the option `--traceback` to a command; it is shown in the command's help, or only in that of `psephos`."""
    if all(option.name != "traceback" for option in command.params):
        option = click.Option(
            ["--traceback"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_show_traceback,
            hidden=not is_shown,
            help="On failure, show Python's full traceback. Every command takes this option.",
        )
        command.params.append(option)
        command.context_class = _Context
    return command


@functools.cache
def system_commands() -> dict[str, click.Command]:
    """Return the commands of systems by name; loaded once."""
    from ..system import commands

    return commands(click.Command)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="psephos", prog_name="psephos")
def cli() -> None:
    """Run, check and deploy differentially private votes and surveys."""


with_traceback(cli, is_shown=True)


def main() -> NoReturn:
    """Run the command line and exit."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # otherwise the signal is meant to be ignored, as by nohup
            signal.signal(number, _interrupt)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell script starts background processes with SIGINT ignored. Then Ctrl-C stays blocked, but other signals
        # must still end the process: they are delivered as SIGINT, which must not be ignored for that.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
    ending = _Ending()
    folders.clear()
    _Context.latest = None
    show_all_signs()
    try:
        with _rethrow_interrupts():
            cli.main(prog_name="psephos", standalone_mode=False, obj=ending)
    except (click.exceptions.Abort, KeyboardInterrupt):
        _fail_interrupted()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        from ...protocol.errors import printable

        context: click.Context | None = getattr(error, "ctx", None) or _Context.latest
        command = "psephos" if context is None else context.command_path
        sentence = " ".join(error.format_message().split()).rstrip(".")
        for pattern, words in _CLICK:
            sentence = re.sub(pattern, words, sentence)
        if isinstance(error, click.NoSuchOption):
            sentence = _without_option(error.option_name, context)
        _fail(f"{printable(sentence)}. Help: {command} --help", status=error.exit_code)
    except BaseExceptionGroup as group:
        if group.subgroup(KeyboardInterrupt) is None:
            raise
        _fail_interrupted()
    except Exception as error:
        from ...protocol.errors import BudgetExceededError, ConfigurationError, JournalError, PluginError, PsephosError

        if ending.shows_traceback:
            traceback.print_exception(error)
        has_more = isinstance(error, PluginError) and error.__cause__ is not None and not ending.shows_traceback
        sentence = f"{error}; --traceback shows all of it" if has_more else str(error)
        if isinstance(error, BudgetExceededError):
            sentence = f"{sentence}. A larger --budget allows it."
        if isinstance(error, (ConfigurationError, JournalError)):  # the user can repair a journal, or wait for it
            _fail(sentence, status=_WRONG_INPUT)
        if isinstance(error, (PsephosError, OSError)):
            _fail(_of_system(error) if isinstance(error, OSError) else sentence, status=_RUN_FAILED)
        raise  # a bug in Psephos: show the traceback, to be reported
    sys.exit(0)


def _without_option(name: str, context: click.Context | None) -> str:
    """Return a message that a command has no such option, with a similar one, and how to set a scenario's value."""
    from ...protocol.errors import did_you_mean

    options = [] if context is None else [each for each in context.command.params if isinstance(each, click.Option)]
    hint = did_you_mean(name.lstrip("-"), [word.removeprefix("--") for option in options for word in option.opts])
    if not hint and any("--set" in option.opts for option in options):
        hint = f". A value of the scenario is set by --set {name.lstrip('-')}=VALUE"
    return f"No such option {name!r}{hint}"


def _of_system(error: OSError) -> str:
    """Return the operating system's message on a file or address, without its number, and what to do."""
    said = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else error.strerror or str(error)
    number = errno.ECONNREFUSED if "attempts to connect" in said else error.errno  # trio's error has no number
    return f"{said}. {_HELP[number]}" if number in _HELP else said


def _interrupt(number: int, _: FrameType | None) -> None:
    """End as by Ctrl-C: tasks are cancelled, and results written."""
    _stopped_by.append(signal.Signals(number))
    signal.raise_signal(signal.SIGINT)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # deliver it if it was blocked


@contextlib.contextmanager
def _rethrow_interrupts() -> Generator[None]:
    """Send an interrupt again if Python drops it, since no exception leaves a `__del__` method.

    While a library is drawing that frees every value in `__del__`, one interrupt in five is lost so.
    """
    hook, handler = sys.unraisablehook, signal.getsignal(signal.SIGALRM)

    def see(exception: "sys.UnraisableHookArgs") -> None:
        if issubclass(exception.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)  # raised here, it would be dropped again
        else:
            hook(exception)

    def interrupt_again(number: int, _: FrameType | None) -> None:
        del number
        signal.raise_signal(signal.SIGINT)

    sys.unraisablehook = see
    signal.signal(signal.SIGALRM, interrupt_again)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


def _fail_interrupted() -> NoReturn:
    number = _stopped_by[0] if _stopped_by else signal.SIGINT
    signal_name = f" ({number.name})" if _stopped_by else ""
    _fail(f"interrupted{signal_name}{_what_was_kept()}", status=_ENDED_BY_SIGNAL + number)


def _what_was_kept() -> str:
    """Return a clause that names the folders with results; remove an empty folder that this command made."""
    from ...protocol.errors import printable

    kept_text = ""
    for folder, is_own in folders.items():
        with contextlib.suppress(OSError):
            names = sorted(path.name for path in folder.iterdir())
            if is_own and not names:
                folder.rmdir()
            kept_text += f"; {folder} keeps {', '.join(names)}" if names else "; nothing was kept"
            kept_text += f": --resume {folder} goes on" if "finished.jsonl" in names else ""
    return printable(kept_text)


def _fail(message: str, *, status: int) -> NoReturn:
    click.echo(f"psephos: {message}", err=True)
    sys.exit(status)
