"""`new`, `show` and `samples`: from nothing, or a file of one's own, to a first scenario."""

import collections
import dataclasses
import itertools
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from .asking import use_or_ask
from .completion import complete_shipped
from .draft_files import (
    check_characters,
    check_free,
    check_page,
    check_scenario,
    target_of,
    write_new,
    write_with_links,
)
from .group import SuggestingGroup, cli, with_traceback
from .options import out_option
from .reports import command_of_context

if TYPE_CHECKING:
    from ...protocol.errors import ConfigurationError
    from ..reading.headers import TableOptions, UnclearTableError
    from ..running.drafts import Draft, Option, SavedTable, ScenarioTemplate, UnclearError

_PROTOCOL: Final = "protocol"
"""The word that begins no session, but a package."""
_MAX_TITLE: Final = 100
_ROWS_SHOWN: Final = 3
_OF_TABLES: Final = {
    "sheet": ("NAME", "The worksheet of a workbook (default: the first visible one with a table)."),
    "header": ("LINE", "The line of the header (default: the first that is not empty)."),
    "header-lines": ("NUMBER", "How many lines the header takes (default: 1)."),
    "only": ("COLUMN=WORD", "Count only rows with this word in this column; may be repeated."),
    "leave-out-empty": ("COLUMN", "Leave out rows with nothing in this column."),
}
"""Options of any file as a table: what stands for the value, and the help."""
_OF_ROWS: Final = ("only", "leave-out-empty")
_IN_ANY_CASE: Final = "needed in any case: "
_MOST_ROWS: Final = 2_000_000  # in all drafts together
_MOST_DRAFTS: Final = 60  # by which it is found what is asked for in any case


class _Kinds(SuggestingGroup):
    """A command for each system that says how it begins."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return [*_beginnings(), _PROTOCOL]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from ...protocol.errors import refuse
        from ..reading.files import similar_files
        from ..reading.headers import UnclearTableError

        is_word = args and args[0] in {*_beginnings(), _PROTOCOL}
        if args and not is_word and Path(args[0]).is_file():
            try:
                word = _word_for(Path(args[0]), args[1:])
            except UnclearTableError as error:
                return self.resolve_command(ctx, [*args, f"--{error.option}", _ask_header(error)])
            return super().resolve_command(ctx, [word, *args])
        refuse(args and not is_word and Path(args[0]).is_dir(), "FILE", args, "This is a folder. Name a table in it.")
        is_file = args and not is_word and (Path(args[0]).suffix or os.sep in args[0])
        refuse(is_file, "FILE", args, f"There is no file {args[0]}{similar_files(Path(args[0]))}. Check its name.")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from ...protocol.errors import refuse
        from ..system import protocol_names

        if cmd_name == _PROTOCOL:
            from .scaffolding import new_protocol

            return new_protocol
        if (beginning := _beginnings().get(cmd_name)) is None:
            protocols = {protocol for protocol, _ in _beginnings().values()}
            is_without = not ctx.resilient_parsing and cmd_name in {*protocol_names()} - protocols
            allowed = f"one of {', '.join(_beginnings())}, or one whose System brings the part 'beginning'"
            refuse(is_without, "the word after new", cmd_name, allowed)
            return None
        return with_traceback(_command_of(*beginning))


def _beginnings() -> "dict[str, tuple[str, ScenarioTemplate]]":
    """Return the protocol's name and its beginning, by the word of each, in the order of the systems."""
    from ..running.drafts import ScenarioTemplate
    from ..system import load_each

    return {beginning.word: (name, beginning) for name, beginning in load_each("beginning", ScenarioTemplate)}


def _word_for(path: Path, words: list[str]) -> str:
    """Return what is begun with a file, by its columns: what alone has its own columns there, or needs no word more.

    Raises:
        UnclearTableError: where its header stands has to be said.
        ConfigurationError: it is not plain, and there is no terminal to ask; or the file is no table.
    """
    from ...protocol.errors import ConfigurationError, require
    from ..running.drafts import SavedTable, UnclearError

    settings = {"ignore_unknown_options": True, "allow_extra_args": True}
    stand_in = click.Command("new", params=_table_options(), context_settings=settings)
    options = _options_of(_chosen(stand_in.make_context("new", list(words), resilient_parsing=True).params), path)
    matches, drafted_words, understood_words = list[str](), list[str](), list[str]()
    refused_by = dict[str, ConfigurationError]()
    flags = {each.partition("=")[0][2:] for each in words if each.startswith("--")}
    names = {word: {option.name for option in template.options} for word, (_, template) in _beginnings().items()}
    flags &= set[str]().union(*names.values())
    kinds = {word: template for word, (_, template) in _beginnings().items() if flags <= names[word]}
    flags_text = ", ".join(f"--{flag}" for flag in sorted(flags))
    require(
        kinds,
        "the options",
        flags_text,
        f"No session takes all of {flags_text}. Use the options of one of {', '.join(names)}.",
    )
    if flags and len(kinds) == 1:
        return next(iter(kinds))
    for word, beginning in kinds.items():
        sheet = SavedTable.of(path, data_path=str(path), wanted_columns=beginning.wanted, options=options)
        if {*beginning.wanted} <= {*sheet.header} or (beginning.fits and beginning.fits(sheet)):
            matches.append(word)
        try:
            beginning.draft(sheet, {})
            drafted_words.append(word)
        except UnclearError as error:
            columns = {option.name for option in beginning.options if option.metavar == "COLUMN"}
            understood_words += [word] if error.option not in columns else []
        except ConfigurationError as error:
            refused_by[word] = error
    for fitting in (matches, drafted_words, understood_words):
        if len(fitting) == 1:
            click.echo(f"{path.name} looks like what `psephos new {fitting[0]}` begins.", err=True)
            return fitting[0]
    if len(refused_by) == len(kinds):
        raise next(iter(refused_by.values()))
    fitting = [word for word in kinds if word not in refused_by]
    if not sys.stdin.isatty():
        commands = "; ".join(f"psephos new {word} {shlex.quote(str(path))}" for word in fitting)
        allowed = f"Which kind is it? {path.name} does not tell what it holds: {commands}"
        raise ConfigurationError(field="FILE", value="left out", allowed=allowed)
    return _asked("the word after new", f"What is {path.name}? ({', '.join(fitting)})", fitting)


@cli.group(cls=_Kinds, short_help="Make a first scenario from a CSV of your own, and run it.")
def new() -> None:
    """Make a first scenario from a CSV of your own, and run it.

    \b
    psephos new vote                          # without a file: a small synthetic one, to change
    psephos new board.csv                     # the columns tell what it is; the rest is asked
    psephos new vote board.csv
    psephos new vote board.csv --partner Name --yes agree --no disagree
    psephos new crowd answers.csv --worker Student --no-run
    psephos new vote names.csv --candidate Merger --web   # of names alone: a page, and a link for each

    `new` finds out the encoding, the separator, the columns and the words of FILE. What it cannot find out it asks in a
    terminal; without one, an error names the option to add. The scenario that it writes is short, and yours to change.
    """  # noqa: D301  the character makes click keep the lines


def _table_options() -> list[click.Parameter]:
    return [
        click.Option([f"--{name}"], metavar=metavar, help=help_, multiple=metavar.startswith("COLUMN"))
        for name, (metavar, help_) in _OF_TABLES.items()
    ]


def _option_of(option: "Option") -> click.Option:
    settings: dict[str, Any] = {"is_flag": option.is_flag or None}
    if option.flag_value:
        settings = {"is_flag": False, "flag_value": option.flag_value}
    metavar = None if option.is_flag else option.metavar
    return click.Option([f"--{option.name}"], help=option.help, metavar=metavar, multiple=option.multiple, **settings)


def _command_of(protocol: str, beginning: "ScenarioTemplate") -> click.Command:
    from ..system import find_protocol

    @click.pass_context
    def begin(context: click.Context, /, **parameters_given: Any) -> None:
        _begin(context, protocol, beginning, parameters_given)

    parameters: list[click.Parameter] = [
        click.Argument(["file"], required=False, type=click.Path(path_type=Path), metavar="[FILE]"),
        *map(_option_of, beginning.options),
        *_table_options(),
        click.Option(
            ["--epsilon"],
            type=float,
            default=beginning.epsilon,
            show_default=True,
            help="The privacy loss of each person.",
        ),
        click.Option(["--title"], help="A title of one line."),
        click.Option(
            ["--to"],
            type=click.Path(path_type=Path),
            metavar="TOML",
            help="The scenario to write (default: named after FILE).",
        ),
        click.Option(["--run/--no-run", "runs"], default=True, help="Run it at once (default: yes)."),
    ]
    if find_protocol(protocol).settings_by_trust:
        help_ = (
            f"local: trust nobody; central: whoever counts sees the {beginning.shown}; distributed: trust nobody, with "
            "little noise, by masked sums for which all are there at once (default: asked, or local)."
        )
        models = click.Choice(["local", "central", "distributed"])
        parameters.insert(-3, click.Option(["--trust"], type=models, help=help_))
    short = beginning.help.partition(". ")[0].rstrip(".") + "."  # all of it: click would cut it off
    command = click.Command(beginning.word, callback=begin, params=parameters, help=beginning.help, short_help=short)
    return out_option(command)


def _begin(context: click.Context, protocol: str, beginning: "ScenarioTemplate", values: "Mapping[str, Any]") -> None:
    from ...protocol.errors import ConfigurationError
    from ..presentation import make_console
    from ..presentation.terminal import show_note
    from ..running.draft_text import masked_lines, scenario_text
    from ..running.drafts import samples
    from ..running.synthetic import digest_of
    from .simulation import run

    data_file: Path | None = values["file"]
    links: str | None = values.get("web")
    sample = samples()[beginning.sample]
    target = target_of(values["to"], data_file or sample)
    folder: Path = values["out"] or target.with_suffix("")
    if links is not None:
        links = check_page(links, data_file, folder)
    data_path = sample.name if data_file is None else os.path.relpath(data_file, target.parent)
    answers = list[tuple[str, str]]()
    option_values = _chosen(values, beginning.options, target.parent)
    sheet, draft = _draft_until_clear(beginning, data_file or sample, data_path, option_values, answers)
    trust, note = _trust(protocol, beginning, values.get("trust"), answers)
    title = values["title"] or draft.title
    words = ["psephos", "new", beginning.word, *([data_file.name] if data_file else []), *(["--web"] if links else [])]
    use = f"Run it again, changed or not: psephos run {target.name}"
    if links is not None:
        use = f"Draw up new links: {shlex.join(['psephos', 'roster', target.name, '--links', links])}"
    text = scenario_text(
        dataclasses.replace(
            draft,
            title=title if len(title) <= _MAX_TITLE else f"{title[: _MAX_TITLE - 1]}…",
            parameters=[*draft.parameters, *(masked_lines(len(sheet.rows)) if trust == "distributed" else ())],
        ),
        head=f"Made by `{shlex.join(words)}`. {use}",
        protocol=protocol,
        epsilon=values["epsilon"],
        synthetic=digest_of([sample]) if data_file is None else "",
        trust=trust,
        options=sheet.options,
    )
    check_characters(title, field="--title")
    check_characters(text, field="FILE")
    copy = target.parent / sample.name
    if data_file is None:
        check_free(copy, sample.read_text(encoding="utf-8"), field="FILE", way_out="Name it as FILE to use it.")
    check_free(target, text, field="--to", way_out="Add --to with another name.")
    try:
        check_scenario(text, target, data_file or sample, data_path, is_served=links is not None)
    except ConfigurationError as error:
        if not answers:
            raise
        raise _with_answers(error, answers) from None
    if data_file is None:
        write_new(sample.read_text(encoding="utf-8"), copy)
    if links is None:
        write_new(text, target)
    console = make_console()
    synthetic = f"No file was given: {copy} is made up. Put your own in its place, and delete synthetic and seed."
    for sentence in filter(None, ("" if data_file else synthetic, *draft.said, note, sheet.note)):
        show_note(console, sentence)
    console.print(f"\n{text}", soft_wrap=True)
    if links is not None:
        write_with_links(context, text, target, folder, links)
        return
    console.print(f"Written to {target}", soft_wrap=True)
    if values["runs"]:
        context.invoke(run, scenario=str(target), out=values["out"])


def _options_of(option_values: Mapping[str, Sequence[str]], path: Path) -> "TableOptions":
    """Return what the command line, or an answer, says of a file as a table."""
    from ...protocol.errors import require
    from ..reading.headers import TableOptions, picks_in
    from ..reading.text_forms import header_of
    from ..running.drafts import NONE, answer

    only, numbers = dict[str, tuple[str, ...]](), dict[str, int]()
    for name in ("header", "header-lines"):
        if number := answer(option_values, name):
            require(number.isdecimal(), f"--{name}", number, "a number")
            numbers[name.replace("-", "_")] = int(number)
    sheet = answer(option_values, "sheet")
    default_options = TableOptions(sheet=sheet, only={}, leave_out_empty=(), **numbers)
    for each in option_values.get("only", ()):
        header = header_of(path, default_options) if each.count("=") > 1 else ()
        picks = picks_in(each, header)
        require((picks and picks[0][0]) or each == NONE, "--only", each, f"COLUMN=WORD, or {NONE}: all rows count")
        names = " and ".join(repr(column) for column, _ in picks)
        allowed = f'It may mean {names}. Write it into the scenario, as only = {{ "COLUMN" = ["WORD"] }}.'
        require(len(picks) <= 1, "--only", each, allowed)
        for column, word in picks:
            only[column] = (*only.get(column, ()), word)
    empty = tuple(each for each in option_values.get("leave-out-empty", ()) if each != NONE)
    return TableOptions(sheet=sheet, only=only, leave_out_empty=empty, **numbers)


def _trust(
    protocol: str, beginning: "ScenarioTemplate", model: str | None, answers: list[tuple[str, str]]
) -> tuple[str, str]:
    """Return whom a scenario trusts, and a sentence where nobody said: asked in a terminal, and local elsewhere."""
    from ..system import find_protocol

    if model or not find_protocol(protocol).settings_by_trust:
        return model or "", ""
    if not sys.stdin.isatty():
        sentence = f"Nobody is trusted. If whoever counts may see the {beginning.shown}, add --trust central."
        return "local", sentence
    question = f"May the person who counts see the {beginning.shown}? (yes, no)"
    trust = "local" if _asked("--trust", question, ["yes", "no"]) == "no" else "central"
    answers.append(("trust", trust))
    return trust, ""


def _chosen(
    parameters: Mapping[str, Any], options: "Sequence[Option]" = (), folder: Path = Path()
) -> dict[str, Sequence[str]]:
    """Return what the command line says of the file; paths lead from where the scenario is written."""
    names = (*_OF_TABLES, *(option.name for option in options))
    files = {option.name for option in options if option.is_file}
    option_values = dict[str, Sequence[str]]()
    for name in names:
        value = parameters[name.replace("-", "_")]
        values: list[str] = [str(value)] if isinstance(value, (str, bool)) else list(value or ())
        if value:
            option_values[name] = [os.path.relpath(each, folder) if name in files else each for each in values]
    return option_values


def _draft_until_clear(
    beginning: "ScenarioTemplate",
    path: Path,
    data_path: str,
    option_values: dict[str, Sequence[str]],
    answers: list[tuple[str, str]],
) -> "tuple[SavedTable, Draft]":
    """Return a file's sheet and a draft of it, once all is said; what is not is asked for, or one error for all of it.

    In a terminal an answer that turns out to be none is asked for again, once, and the others stay; an error that comes
    again says what was answered.
    """
    from ...protocol.errors import ConfigurationError
    from ..presentation import make_console
    from ..presentation.numbers import capitalize
    from ..presentation.terminal import show_table
    from ..reading.headers import UnclearTableError
    from ..running.drafts import QuestionsError, SavedTable, UnclearError, draft_of
    from ..tables import Table

    sheets, last = dict[str, SavedTable](), ""

    def draft_with(option_values: Mapping[str, Sequence[str]]) -> "tuple[SavedTable, Draft]":
        options = _options_of(option_values, path)
        if (sheet := sheets.get(repr(options))) is None:
            sheet = sheets[repr(options)] = SavedTable.of(
                path, data_path=data_path, wanted_columns=beginning.wanted, options=options
            )
        return sheet, draft_of(beginning, sheet, option_values)

    while True:
        try:
            return draft_with(option_values)
        except UnclearTableError as error:
            option, answer = error.option, _ask_header(error)
        except UnclearError as error:
            if not sys.stdin.isatty():
                max_drafts = min(_MOST_DRAFTS, _MOST_ROWS // max(len(sheet.rows) for sheet in sheets.values()))
                gaps = _gaps(draft_with, option_values, beginning, max_drafts=max(1, max_drafts))
                answers = [(gap.option, gap.choices[0]) for gap in gaps if len(gap.choices) == 1 and not gap.is_open]
                raise QuestionsError(path.name, gaps, _command(answers)) from None
            if not {name for name, _ in answers} - _OF_TABLES.keys():  # all questions on one screen with the table
                sheet = [*sheets.values()][-1]
                rows = [list(row) for row in sheet.rows[:_ROWS_SHOWN]]
                show_table(make_console(), Table(columns=list(sheet.header), rows=rows, labels=len(sheet.header)))
            choices = f" ({', '.join(error.choices)})" if error.choices else ""
            option, question = error.option, f"{capitalize(error.question)}?{choices}"
            answer = _asked(error.field, question, () if error.is_open else error.choices)
        except ConfigurationError as error:
            if not answers:
                raise
            if str(error) == last:
                raise _with_answers(error, answers) from None
            last = str(error)
            click.echo(f"  {error}", err=True)
            option, _ = answers.pop()
            *remaining_values, _ = option_values.pop(option)
            option_values |= {option: remaining_values} if remaining_values else {}
            continue
        option_values[option] = (*option_values.get(option, ()), answer)
        answers.append((option, answer))


def _asked(field: str, question: str, choices: Sequence[str] = ()) -> str:
    """Return an answer that was typed: one of the choices, if there are any."""
    from ...protocol.errors import list_choices, require

    def use(answer: str) -> str:
        require(not choices or answer in choices, field, answer, list_choices(choices, answer))
        return answer

    return use_or_ask(None, field=field, question=question, use=use)


def _ask_header(error: "UnclearTableError") -> str:
    """Return where a header stands, which is asked in a terminal; elsewhere the error is raised."""
    from ..presentation.numbers import capitalize

    if not sys.stdin.isatty():
        raise error
    return _asked(error.field, f"{error} {capitalize(error.option.replace('-', ' '))} ({error.choice})")


def _command(answers: Sequence[tuple[str, str]]) -> str:
    """Return the command that was given, with these options."""
    return shlex.join(
        [*shlex.split(command_of_context()), *(word for name, value in answers for word in (f"--{name}", value))]
    )


def _with_answers(error: "ConfigurationError", answers: Sequence[tuple[str, str]]) -> "ConfigurationError":
    """Return an error that says what was answered, so that nothing of it is lost."""
    from ...protocol.errors import ConfigurationError

    allowed = f"{error.allowed.rstrip('.')}; your answers so far: `{_command(answers)}`"
    return ConfigurationError(field=error.field, value=error.value, allowed=allowed)


def _gaps(
    draft: Callable[[dict[str, Sequence[str]]], object],
    values: Mapping[str, Sequence[str]],
    beginning: "ScenarioTemplate",
    *,
    max_drafts: int,
) -> "list[UnclearError]":
    """Return what has to be said, as far as it is asked for after most answers to what is asked before.

    What is asked after each of them, though not in the same words, has those of the option's help. What follows from
    another one that is asked for is not asked for itself.
    """
    from ...protocol.errors import ConfigurationError
    from ..running.drafts import NONE, UnclearError

    remaining = max_drafts
    help_of_option = {name: help_ for name, (_, help_) in _OF_TABLES.items()}
    help_of_option |= {own.name: own.help for own in beginning.options}

    def common(values: "dict[str, Sequence[str]]") -> "list[UnclearError] | None":
        """Return the gaps beside these answers; None where they are not allowed."""
        nonlocal remaining
        if not remaining:
            return []
        remaining -= 1
        try:
            draft(values)
        except UnclearError as error:
            first = error
        except ConfigurationError:
            return None
        else:
            return []
        other_choices = [each for each in first.choices if each != NONE]
        other_choices = other_choices if len(other_choices) == 1 else first.choices
        branches = [
            gaps
            for choice in other_choices
            if (gaps := common({**values, first.option: (*values.get(first.option, ()), choice)})) is not None
        ]
        error_behind, key_counts = dict[tuple[str, str], UnclearError](), collections.Counter[tuple[str, str]]()
        option_counts = collections.Counter(option for own in branches for option in {gap.option for gap in own})
        for gap in itertools.chain.from_iterable(branches):
            # Another question is of that branch alone, such as of a column nobody meant; counts differ in any case.
            key = gap.option, re.sub(r"\([\d,]+×\)", "", gap.question)
            key_counts[key] += 1
            error_behind[key] = _merge_gaps(error_behind[key], gap) if key in error_behind else gap
        usual_keys = {key[0]: key for key, _ in reversed(key_counts.most_common())}
        errors_to_tell = list[UnclearError]()
        for option, key in usual_keys.items():
            is_of_branch = first.option in _OF_ROWS or key_counts[key] < option_counts[option]
            if key_counts[key] * (1 if is_of_branch else 2) >= len(branches):
                errors_to_tell.append(error_behind[key])
            elif option_counts[option] == len(branches):  # in any case, though of what depends on the answer
                help_ = help_of_option[option].rstrip(".")
                question = f"{_IN_ANY_CASE}{help_[:1].lower()}{help_[1:]}"
                errors_to_tell.append(UnclearError(option, question, [], is_open=True))
        return [first, *sorted(errors_to_tell, key=lambda gap: [*error_behind].index(usual_keys[gap.option]))]

    gaps = common(dict(values)) or []
    for option, telling in beginning.told_by.items():
        columns = [column for gap in gaps if gap.option == option for column in gap.choices]
        general = [gap for gap in gaps if gap.option == telling and gap.question.startswith(_IN_ANY_CASE)]
        if columns and general:
            question = f"{general[0].question} ({', '.join(columns)})"
            errors_to_tell = UnclearError(telling, question, [])
            gaps = [errors_to_tell if gap is general[0] else gap for gap in gaps if gap.option != option]
    return gaps


def _merge_gaps(one: "UnclearError", other: "UnclearError") -> "UnclearError":
    """Return a gap with the choices of both."""
    choices = list(dict.fromkeys([*one.choices, *other.choices]))
    return type(one)(one.option, one.question, choices)


@cli.command(short_help="Print a shipped scenario, to copy and change.")
@click.argument("scenario", shell_complete=complete_shipped)
def show(scenario: str) -> None:
    """Print SCENARIO, a shipped one, to copy and change.

    \b
    psephos show consortium > mine.toml
    """  # noqa: D301  the character makes click keep the lines
    from ...protocol.errors import list_choices, require
    from ..running.config import list_scenarios, list_series

    texts = {**list_scenarios(), **list_series()}
    require(scenario in texts, "scenario", scenario, list_choices(texts, scenario))
    click.echo(texts[scenario].read_bytes(), nl=False)


@cli.command(short_help="Write small synthetic files to try.")
@click.argument("folder", type=click.Path(path_type=Path), default=Path(), metavar="[FOLDER]")
def samples(folder: Path) -> None:
    """Write the manual's small synthetic files into FOLDER (default: here).

    An existing file with other content is left as it is.
    """
    from ...protocol.errors import refuse, require
    from ..reading.files import readable
    from ..running.drafts import samples as sample_files

    allowed = f"There is no such folder. Make it first: mkdir {shlex.quote(str(folder))}"
    refuse(folder.is_file(), "FOLDER", str(folder), f"There is a file called {folder}. Name a folder.")
    require(folder.is_dir(), "FOLDER", str(folder), allowed)
    for name, path in sample_files().items():
        target = folder / name
        with readable(target, field="FOLDER", value=folder, what="where files can be written"):
            if target.exists():
                is_same = target.is_file() and target.read_bytes() == path.read_bytes()
                click.echo(f"{target} {'is there' if is_same else 'is another file, and left as it is'}")
            else:
                shutil.copyfile(path, target)
                click.echo(f"{target} written")
