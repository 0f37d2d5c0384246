"""Shell completion of scenarios and of keys of `--set`.

Modules are imported when a shell asks. After any error, nothing is completed, and no message is printed.
"""

import contextlib
from collections.abc import Iterator

import click
from click.shell_completion import CompletionItem


def complete_shipped(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the shipped scenarios whose names begin with the incomplete word."""
    del context, parameter
    from ..running.config import list_scenarios, list_series

    return [CompletionItem(name) for name in [*list_scenarios(), *list_series()] if name.startswith(incomplete)]


def complete_scenario(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return shipped scenarios, or else files."""
    return complete_shipped(context, parameter, incomplete) or [CompletionItem(incomplete, type="file")]


def complete_keys(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the keys of the command's scenario that begin with the incomplete word, each with "="."""
    del parameter
    # click leaves the scenario there before a value
    source = context.params.get("scenario") or next(iter(context.args), "")
    keys: Iterator[str] = iter(())
    with contextlib.suppress(Exception):  # a message would appear in the middle of the typed line
        from ..running.config import settable_keys

        keys = iter(settable_keys(str(source)))
    return [CompletionItem(f"{key}=") for key in keys if key.startswith(incomplete)]
