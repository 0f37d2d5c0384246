"""Ask in a terminal for options of `join` that were not given: one at a time, again after an invalid answer.

Answers are checked against the invitation, and are never written to a log, an event or a file.
"""

import dataclasses
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ...protocol.phases import PhasedProtocol
    from ..deployment import Invitation, TLSKeys
    from ..deployment.own_entries import Questions

_T = TypeVar("_T")


def use_or_ask(value: str | None, *, field: str, question: str, use: Callable[[str], _T]) -> _T:
    """Return what `use` makes of a value; if none was given, ask for one until it can be used.

    Raises:
        ConfigurationError: `use` refuses the given value; or there is no terminal to ask in.
    """
    from ...protocol.errors import ConfigurationError, require

    if value is not None:
        return use(value)
    require(sys.stdin.isatty(), field, "left out", "given: there is no terminal to ask for it")
    while True:
        answer = _ask(question)
        try:
            return use(answer)
        except ConfigurationError as error:
            _show(error)


def ask_invitation(value: str | None, *, party: str | None) -> tuple[Path, "Invitation"]:
    """Return an invitation and its path; ask for the path and the party if they are missing.

    `value` is the invitation's file, or a folder with the invitations of several parties.

    Raises:
        ConfigurationError: as `find_invitation`; or there is no terminal to ask in.
    """
    from ..deployment import find_invitation

    def find(source: str) -> tuple[Path, "Invitation"]:
        path = Path(source)
        if party is None and path.is_dir() and sys.stdin.isatty():
            question = "Your name on the roster"
            return path, use_or_ask(
                None, field="--as", question=question, use=lambda name: find_invitation(path, party=name)
            )
        return path, find_invitation(path, party=party)

    return use_or_ask(value, field="INVITATION", question="Your invitation (a file)", use=find)


def ask_keys(invitation: "Invitation", candidates: list[Path]) -> "TLSKeys":
    """Return the party's keys; ask in a terminal if no candidate file or folder has them.

    Raises:
        ConfigurationError: as `Invitation.find_keys`, if there is no terminal to ask in.
    """
    from ...protocol.errors import ConfigurationError

    try:
        return invitation.find_keys(candidates)
    except ConfigurationError as error:
        if error.field != "--key" or not sys.stdin.isatty():
            raise
        _show(error)
    question = "The folder of your keys, as `psephos enroll` made it"
    return use_or_ask(None, field="--key", question=question, use=lambda folder: invitation.find_keys([Path(folder)]))


def ask_own(
    file: Path | None,
    settings: Sequence[str],
    *,
    party: str,
    invitation: "Invitation | None",
    trusts_server: bool,
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return a party's entries and its choices, by column, from its file and settings, or from questions in a terminal.

    `settings` are strings NAME=VALUE for choices. The other arguments are as in `ask_entries`.

    Raises:
        ConfigurationError: as `ask_entries`; or a setting is not a choice.
    """
    from ...protocol.errors import require

    choices: Mapping[str, Any] = {}
    for setting in settings:
        name, separator, value = (part.strip() for part in setting.partition("="))
        require(separator and name and name not in choices, "--set", setting, "NAME=VALUE, once for each name")
        choices = {**choices, name: value}
    if file is None:
        choices = _ask_choices(choices, {}, invitation=invitation, trusts_server=trusts_server)
    entries = ask_entries(file, party=party, invitation=invitation, trusts_server=trusts_server, choices=choices)
    if file is not None:
        choices = _ask_choices(choices, entries, invitation=invitation, trusts_server=trusts_server)
    return entries, choices


def _ask_choices(
    given_choices: Mapping[str, str],
    entries: Mapping[str, Any],
    *,
    invitation: "Invitation | None",
    trusts_server: bool,
) -> Mapping[str, Any]:
    """Return a party's choices by column; ask in a terminal for those that neither settings nor entries give.

    Without an invitation, the possible choices are not known.

    Raises:
        ConfigurationError: as `encode_chosen`, for a given choice.
    """
    from ..deployment.own_rows import check_choices

    if invitation is None or not (given_choices or sys.stdin.isatty()):
        return given_choices
    protocol = _protocol_of(invitation, trusts_server=trusts_server)
    check_choices(protocol, given_choices)
    choices: dict[str, Any] = dict(given_choices)
    for column in protocol.columns():
        if column.chosen and column.name not in {**given_choices, **entries} and sys.stdin.isatty():
            choices[column.name] = use_or_ask(
                None,
                field="--set",
                question=f"  {column.name}, which everybody will see ({column.description})",
                use=functools.partial(_check_choice, protocol, column.name, choices),
            )
    return choices


def _check_choice(
    protocol: "PhasedProtocol[Any, Any]", name: str, other_choices: Mapping[str, Any], answer: str
) -> str:
    """Return an answer after checking it together with the others; errors of missing ones are ignored."""
    from ...protocol.errors import ConfigurationError
    from ..deployment.own_rows import encode_chosen
    from ..running.plugin_errors import blaming

    try:
        with blaming(type(protocol)):
            encode_chosen(protocol, {**other_choices, name: answer})
    except ConfigurationError as error:
        if error.field == name:
            raise
    return answer


def ask_entries(
    entry_file: Path | None,
    *,
    party: str,
    invitation: "Invitation | None",
    trusts_server: bool,
    choices: Mapping[str, Any] | None = None,
) -> Mapping[str, Any]:
    """Return a party's entries by column, from its file, or from questions in a terminal.

    Args:
        entry_file: the party's file; None if it was not given.
        invitation: the invitation; without one only the file can be asked for.
        trusts_server: whether the party lets the server see its unprotected values.
        choices: choices already made, by column, which are not asked for.

    Raises:
        ConfigurationError: as `read_own_entries`; there is no terminal to ask in; or, before any question, the server
            would have to be trusted, or the session is over.
    """
    from ...protocol.errors import printable
    from ..deployment.invitations import check_expiry
    from ..deployment.own_entries import questions_of, read_own_entries
    from ..deployment.own_rows import encode_own, with_choices
    from ..plugins import ROLES, names_in
    from ..running.plugin_errors import blaming

    known_answers = choices or {}

    def check(entries: Mapping[str, Any]) -> None:
        """Accept a given file without checks; joining checks it."""

    if entry_file is None and invitation is not None and sys.stdin.isatty():
        check_expiry(invitation.descriptor, field="INVITATION")
        protocol, public = _protocol_of(invitation, trusts_server=trusts_server), invitation.public

        def check(entries: Mapping[str, Any]) -> None:
            with blaming(type(protocol)):
                own_entries = {**entries, **known_answers}
                encode_own(protocol, own_entries, with_choices(protocol, own_entries, public))

        if (questions := questions_of(protocol, public)) is not None:
            open_questions = {name: allowed for name, allowed in questions.allowed.items() if name not in known_answers}
            questions = dataclasses.replace(questions, allowed=open_questions)
            click.echo(f"Your values as {printable(party)} in session {printable(invitation.session)}", err=True)
            return _ask_each(protocol, questions, check)

    def read_entries(file: str) -> Mapping[str, Any]:
        entries = read_own_entries(Path(file), party=party, roles=names_in(ROLES))
        check(entries)
        return entries

    given_file = None if entry_file is None else str(entry_file)
    return use_or_ask(given_file, field="--input", question="Your values (a CSV file)", use=read_entries)


def _protocol_of(invitation: "Invitation", *, trusts_server: bool) -> "PhasedProtocol[Any, Any]":
    """Return an invitation's protocol; check the party's public row, and that a trusted server is accepted."""
    from ..deployment.agreement import protocol_of
    from ..running.plugin_errors import blaming

    protocol = protocol_of(invitation, trusts_server=trusts_server)
    with blaming(type(protocol)):
        protocol.check_public(invitation.public)
    return protocol


def _ask_each(
    protocol: "PhasedProtocol[Any, Any]", questions: "Questions", check: Callable[[Mapping[str, Any]], None]
) -> Mapping[str, Any]:
    """Return the entries by column from questions, asked one by one, and again after an invalid answer.

    An answer is checked together with blanks for later questions, whose errors are ignored.
    """
    from ...protocol.errors import ConfigurationError, PluginError

    descriptions = {column.name: column.description for column in protocol.columns()}
    allowed = dict(questions.allowed)
    answers = dict.fromkeys(allowed, "")
    waiting = list(allowed)
    while waiting:
        name = waiting.pop(0)
        answers[name] = _ask(f"  {name} ({allowed[name]})")
        try:
            check(questions.entries(answers))
        except ConfigurationError as error:
            at_fault = [each for each in allowed if error.field == each or error.field.startswith(f"{each}:")]
            if waiting and (isinstance(error, PluginError) or any(each in waiting for each in at_fault)):
                continue
            if not at_fault and error.field in descriptions and questions.allowed.keys() <= descriptions.keys():
                allowed[error.field] = descriptions[error.field]  # public, and required by the protocol
                waiting.append(error.field)
                continue
            _show(error)
            to_ask = at_fault or ([name] if waiting else list(allowed))
            waiting = [*to_ask, *waiting]
    return questions.entries(answers)


def _ask(question: str) -> str:
    from ...protocol.errors import printable

    answer: str = click.prompt(printable(question), default="", show_default=False, err=True)
    return answer.strip()


def _show(error: Exception) -> None:
    click.echo(f"  {error}", err=True)
