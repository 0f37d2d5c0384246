"""The command itself: its own commands and those that systems bring, and how it ends."""

import functools
import sys
from typing import NoReturn

import click

__all__ = ["cli", "main", "of_systems"]

_RUN_FAILED, _WRONG_INPUT, _INTERRUPTED = 1, 2, 130


class _Commands(click.Group):
    """A group with commands of its own and those of systems, which are looked up where a word is none of its own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted({*self.commands, *of_systems()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or of_systems().get(cmd_name)


@functools.cache
def of_systems() -> dict[str, click.Command]:
    """Return the commands that systems bring, by name; looked up once."""
    from ..system import commands

    return commands(click.Command)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="psephos", prog_name="psephos")
def cli() -> None:
    """Run, check and deploy differentially private votes and surveys."""


def main() -> NoReturn:
    """Run the command line and exit."""
    try:
        cli.main(prog_name="psephos", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        _fail("interrupted", status=_INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BaseExceptionGroup as group:
        if group.subgroup(KeyboardInterrupt) is None:
            raise
        _fail("interrupted", status=_INTERRUPTED)
    except Exception as error:
        from ...protocol.errors import ConfigurationError, PsephosError

        if isinstance(error, ConfigurationError):
            _fail(str(error), status=_WRONG_INPUT)
        if isinstance(error, (PsephosError, OSError)):
            _fail(str(error), status=_RUN_FAILED)
        raise  # a bug of ours: its traceback is what we want to be sent
    sys.exit(0)


def _fail(message: str, *, status: int) -> NoReturn:
    click.echo(f"psephos: {message}", err=True)
    sys.exit(status)
