"""What a shell completes: scenarios, and the keys of `--set`.

Psephos's own modules are imported when a shell asks, and whatever is wrong then, nothing is completed and nothing said.
"""

import contextlib
from collections.abc import Iterator

import click
from click.shell_completion import CompletionItem


def complete_shipped(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the scenarios that come with Psephos and begin so."""
    del context, parameter
    from ..running.config import list_scenarios, list_series

    return [CompletionItem(name) for name in [*list_scenarios(), *list_series()] if name.startswith(incomplete)]


def complete_scenario(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return those, or else files."""
    return complete_shipped(context, parameter, incomplete) or [CompletionItem(incomplete, type="file")]


def complete_keys(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the keys of the command's scenario that begin so, with the sign that follows them."""
    del parameter
    source = context.params.get("scenario") or next(iter(context.args), "")  # which is left there before a value
    keys: Iterator[str] = iter(())
    with contextlib.suppress(Exception):  # an error would stand in the middle of what somebody types
        from ..running.config import settable_keys

        keys = iter(settable_keys(str(source)))
    return [CompletionItem(f"{key}=") for key in keys if key.startswith(incomplete)]
