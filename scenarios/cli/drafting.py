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

from .asking import given_or_asked
from .completion import complete_shipped
from .group import Named, cli, with_traceback
from .options import out_option
from .scaffolding import PROTOCOL, new_protocol

if TYPE_CHECKING:
    from rich.console import Console

    from ..reading.headers import TableOptions
    from ..running.drafts import Beginning, Draft, Sheet, UnclearError

_MAX_TITLE: Final = 100
_MAX_NAME: Final = 64
_ROWS_SHOWN: Final = 3
_OF_TABLES: Final[Sequence[tuple[str, str, Mapping[str, Any]]]] = (
    ("sheet", "NAME", {"help": "Of a workbook the worksheet (default: the first visible one with a table)."}),
    ("header", "LINE", {"type": int, "default": 0, "help": "The header's line (default: the first not empty)."}),
    ("header-lines", "NUMBER", {"type": int, "default": 1, "help": "How many lines the header takes (default: 1)."}),
    ("only", "COLUMN=WORD", {"multiple": True, "help": "Only rows with this word there count; may be repeated."}),
    ("leave-out-empty", "COLUMN", {"multiple": True, "help": "Rows with nothing there do not count."}),
)
"""What may be said of any file as a table."""
_OF_ROWS: Final = ("only", "leave-out-empty")
_MOST_ROWS: Final = 2_000_000  # in all drafts together
_MOST_DRAFTS: Final = 60  # by which it is found what is asked for in any case


class _Kinds(Named):
    """A command for each system that says how it begins."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return [*_beginnings(), PROTOCOL]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from ...protocol.errors import refuse

        if args and args[0] == PROTOCOL:
            return PROTOCOL, new_protocol, args[1:]
        if args and args[0] not in _beginnings() and Path(args[0]).is_file():
            return super().resolve_command(ctx, [_word_for(Path(args[0]), args[1:]), *args])
        is_file = args and args[0] not in _beginnings() and (Path(args[0]).suffix or os.sep in args[0])
        refuse(is_file, "FILE", args[0], "a file that is there, or a word: psephos new --help lists them")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == PROTOCOL:
            return new_protocol
        found = _beginnings().get(cmd_name)
        if found is None:
            if not ctx.resilient_parsing:
                _check_beginning(cmd_name)
            return None
        return with_traceback(_command_of(*found))


def _check_beginning(name: str) -> None:
    """Raise ConfigurationError where a protocol is named whose system does not say how a scenario of it begins."""
    from ...protocol.errors import refuse
    from ..system import protocol_names

    is_without = name in protocol_names() and name not in {protocol for protocol, _ in _beginnings().values()}
    allowed = f"one of {', '.join(_beginnings())}, or one whose System brings the part 'beginning', a Beginning"
    refuse(is_without, "the word after new", name, allowed)


def _beginnings() -> "dict[str, tuple[str, Beginning]]":
    """Return the protocol's name and its beginning, by the word of each, in the order of the systems."""
    from ..running.drafts import Beginning
    from ..system import load_each

    found: dict[str, tuple[str, Beginning]] = {}
    for name, beginning in load_each("beginning", Beginning):
        found[beginning.word] = name, beginning
    return found


def _word_for(path: Path, words: list[str]) -> str:
    """Return what is begun with a file, by its columns: what alone has its own columns there, or needs no word more.

    Raises:
        ConfigurationError: it is not plain, and there is no terminal to ask; or the file is no table.
    """
    from ...protocol.errors import ConfigurationError, one_of, require
    from ..running.drafts import Sheet, UnclearError

    known = click.Command("new", params=_table_options(), context_settings={"ignore_unknown_options": True})
    known.allow_extra_args = True
    given = known.make_context("new", list(words), resilient_parsing=True).params
    options = _options_of(given, {name: given[name.replace("-", "_")] for name in _OF_ROWS})
    named, drafted, understood = list[str](), list[str](), list[str]()
    refused_by = dict[str, ConfigurationError]()
    said = {each.partition("=")[0][2:] for each in words if each.startswith("--")}
    names = {word: {option.name for option in own.options} for word, (_, own) in _beginnings().items()}
    said &= set[str]().union(*names.values())
    kinds = {word: own for word, (_, own) in _beginnings().items() if said <= names[word]}
    if said and len(kinds) == 1:
        return next(iter(kinds))
    for word, beginning in kinds.items():
        sheet = Sheet.of(path, written=str(path), wanted=beginning.wanted, options=options)
        named += [word] if {*beginning.wanted} <= {*sheet.header} or (beginning.fits and beginning.fits(sheet)) else []
        try:
            beginning.draft(sheet, {})
            drafted.append(word)
        except UnclearError as error:
            columns = {option.name for option in beginning.options if option.metavar == "COLUMN"}
            understood += [word] if error.option not in columns else []
        except ConfigurationError as error:
            refused_by[word] = error
    for fitting in (named, drafted, understood):
        if len(fitting) == 1:
            click.echo(f"{path.name} looks like what `psephos new {fitting[0]}` begins.", err=True)
            return fitting[0]
    if len(refused_by) == len(kinds):
        raise next(iter(refused_by.values()))
    fitting = [word for word in kinds if word not in refused_by]

    def use(answer: str) -> str:
        require(answer in fitting, "the word after new", answer, one_of(fitting, answer))
        return answer

    if not sys.stdin.isatty():
        told = "; ".join(f"psephos new {word} {shlex.quote(str(path))}" for word in fitting)
        allowed = f"given, since {path.name} does not tell what it holds: {told}"
        raise ConfigurationError(field="the word after new", value="left out", allowed=allowed)
    question = f"What is {path.name}" + f"? ({', '.join(fitting)})"
    return given_or_asked(None, field="the word after new", question=question, use=use)


@cli.group(cls=_Kinds, short_help="Make a first scenario of a CSV of your own, and run it.")
def new() -> None:
    """Make a first scenario of a CSV of your own, and run it.

    \b
    psephos new vote                          # without a file: a small made-up one, to change
    psephos new board.csv                     # what it is, by its columns; what they do not tell is asked
    psephos new vote board.csv
    psephos new vote board.csv --partner Name --yes agree --no disagree
    psephos new crowd answers.csv --worker Student --no-run

    FILE is looked at: its encoding, the sign between entries, its columns, and which words it has. What it does not
    tell is asked for in a terminal, and elsewhere an error names the option that says it. The scenario that is written
    is short, and yours to change.
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are


def _table_options() -> list[click.Parameter]:
    return [click.Option([f"--{name}"], metavar=metavar, **how) for name, metavar, how in _OF_TABLES]


def _command_of(protocol: str, beginning: "Beginning") -> click.Command:
    from ..system import find_protocol

    @click.pass_context
    def begin(context: click.Context, /, **given: Any) -> None:
        _begin(context, protocol, beginning, given)

    parameters: list[click.Parameter] = [
        click.Argument(["file"], required=False, type=click.Path(path_type=Path), metavar="[FILE]"),
        *(
            click.Option([f"--{option.name}"], help=option.help, is_flag=True)
            if option.is_flag
            else click.Option([f"--{option.name}"], help=option.help, metavar=option.metavar, multiple=option.multiple)
            for option in beginning.options
        ),
        *_table_options(),
        click.Option(
            ["--epsilon"], type=float, default=beginning.epsilon, show_default=True, help="What it may cost each one."
        ),
        click.Option(["--title"], help="One line that says what it is about."),
        click.Option(
            ["--to"],
            type=click.Path(path_type=Path),
            metavar="TOML",
            help="Where to write it (default: by FILE's name).",
        ),
        click.Option(["--run/--no-run", "runs"], default=True, help="Run it at once (default: yes)."),
    ]
    if find_protocol(protocol).settings_by_trust:
        help_ = f"local: nobody is trusted; central: who counts sees the {beginning.shown} (else asked, or local)."
        parameters.insert(-3, click.Option(["--trust"], type=click.Choice(["local", "central"]), help=help_))
    short = beginning.help.partition(". ")[0].rstrip(".") + "."  # all of it: click would cut it off
    command = click.Command(beginning.word, callback=begin, params=parameters, help=beginning.help, short_help=short)
    return out_option(command)


def _begin(context: click.Context, protocol: str, beginning: "Beginning", given: "Mapping[str, Any]") -> None:
    from ...protocol.errors import ConfigurationError
    from ..presentation import make_console
    from ..presentation.terminal import show_note
    from ..running.drafts import samples, scenario_text
    from ..running.synthetic import digest_of
    from .simulation import run

    own: Path | None = given["file"]
    sample = samples()[beginning.sample]
    target = _target(given["to"], own or sample)
    written = sample.name if own is None else os.path.relpath(own, target.parent)
    chosen = _chosen(beginning, given, target.parent)
    said = dict(chosen)
    sheet, draft = _drafted(beginning, own or sample, written, given, chosen)
    trust, told = _trust(protocol, beginning, given.get("trust"))
    title = given["title"] or draft.title
    text = scenario_text(
        dataclasses.replace(draft, title=title if len(title) <= _MAX_TITLE else f"{title[: _MAX_TITLE - 1]}…"),
        name=target.name,
        protocol=protocol,
        epsilon=given["epsilon"],
        made_by=shlex.join(["psephos", "new", beginning.word, *([] if own is None else [own.name])]),
        made_up=digest_of([sample]) if own is None else "",
        trust=trust,
        options=sheet.options,
    )
    _check_characters(title, field="--title")
    _check_characters(text, field="FILE")
    copy = target.parent / sample.name
    if own is None:
        _check_free(copy, sample.read_text(encoding="utf-8"), field="FILE", fix=f"{copy} is there already: name it")
    _check_free(target, text, field="--to", fix=f"another file: {target} is there already, and holds something else")
    try:
        _check(text, target, own or sample, written)
    except ConfigurationError as error:  # nothing that was answered is lost
        if chosen == said:
            raise
        told = f"; your answers so far: `{_command(beginning, own or sample, given, chosen, ())}`"
        raise ConfigurationError(field=error.field, value=error.value, allowed=error.allowed + told) from None
    if own is None:
        _write(sample.read_text(encoding="utf-8"), copy)
    _write(text, target)
    console = make_console()
    made_up = f"No file was given: {copy} is made up. Put your own in its place, and delete made_up and seed."
    made_up = made_up if own is None else ""
    for sentence in (made_up, *draft.said, told, sheet.note):
        if sentence:
            show_note(console, sentence)
    console.print(f"\n{text}", soft_wrap=True)
    console.print(f"Written to {target}", soft_wrap=True)
    if given["runs"]:
        context.invoke(run, scenario=str(target), out=given["out"])


def _options_of(given: Mapping[str, Any], chosen: Mapping[str, Sequence[str]]) -> "TableOptions":
    """Return what the command line, or an answer, says of a file as a table."""
    from ...protocol.errors import require
    from ..reading.headers import TableOptions
    from ..running.drafts import NONE

    only = dict[str, tuple[str, ...]]()
    for each in chosen.get("only", ()):
        column, sign, word = (part.strip() for part in each.rpartition("="))
        require((column and sign) or each == NONE, "--only", each, f"COLUMN=WORD, or {NONE}: all rows count")
        if column:
            only[column] = (*only.get(column, ()), word)
    empty = tuple(each for each in chosen.get("leave-out-empty", ()) if each != NONE)
    known = {name: given[name] for name in ("header", "header_lines")}
    return TableOptions(sheet=given["sheet"] or "", only=only, leave_out_empty=empty, **known)


def _trust(protocol: str, beginning: "Beginning", given: str | None) -> tuple[str, str]:
    """Return whom a scenario trusts, and a sentence where nobody said: asked in a terminal, and local elsewhere."""
    from ...protocol.errors import require
    from ..system import find_protocol

    if not find_protocol(protocol).settings_by_trust:
        return "", ""
    if given is None and not sys.stdin.isatty():
        said = f"Nobody is trusted. If who counts may see the {beginning.shown}, say --trust central."
        return "local", said
    words = {"yes": "central", "no": "local", "central": "central", "local": "local"}

    def use(answer: str) -> str:
        require(answer in words, "--trust", answer, "yes or no")
        return words[answer]

    question = f"May the person who counts see the {beginning.shown}? (yes, no)"
    return given_or_asked(given, field="--trust", question=question, use=use), ""


def _chosen(beginning: "Beginning", given: "Mapping[str, Any]", folder: Path) -> "dict[str, Sequence[str]]":
    """Return what the command line says of the file; paths lead from where the scenario is written."""
    chosen = {name: given[name.replace("-", "_")] for name in _OF_ROWS if given[name.replace("-", "_")]}
    for option in beginning.options:
        value = given[option.name.replace("-", "_")]
        if option.is_flag:
            chosen |= {option.name: ("yes",)} if value else {}
        elif value:
            values: tuple[str, ...] = tuple(value) if option.multiple else (value,)
            chosen[option.name] = [os.path.relpath(each, folder) for each in values] if option.is_file else values
    return chosen


def _drafted(
    beginning: "Beginning", path: Path, written: str, given: Mapping[str, Any], chosen: "dict[str, Sequence[str]]"
) -> "tuple[Sheet, Draft]":
    """Return a file's sheet and a draft of it, once all is said; what is not is asked for, or one error for all of it.

    In a terminal an answer that turns out to be none is asked for again, once, and the others stay; an error that comes
    again says what was answered.
    """
    from ...protocol.errors import ConfigurationError, one_of, require
    from ..presentation import make_console
    from ..presentation.numbers import capitalized
    from ..reading.headers import UnclearTableError
    from ..running.drafts import QuestionsError, Sheet, UnclearError, draft_of

    given, asked, last = dict(given), list[str](), ""

    known = dict[str, Sheet]()

    def drafted(chosen: Mapping[str, Sequence[str]]) -> "tuple[Sheet, Draft]":
        options = _options_of(given, chosen)
        if (sheet := known.get(repr(options))) is None:
            sheet = known[repr(options)] = Sheet.of(path, written=written, wanted=beginning.wanted, options=options)
        return sheet, draft_of(beginning, sheet, chosen)

    while True:
        try:
            return drafted(chosen)
        except UnclearTableError as error:
            if not sys.stdin.isatty() and not error.is_sure:
                raise
            name = error.option.replace("-", "_")
            known_line = str(error.choice) if error.is_sure else None
            question = f"{error} {capitalized(error.option.replace('-', ' '))} ({error.choice})"
            given[name] = given_or_asked(known_line, field=error.field, question=question, use=_line_of)
            continue
        except UnclearError as error:
            unclear = error
            if not sys.stdin.isatty():
                most = min(_MOST_DRAFTS, _MOST_ROWS // max(len(sheet.rows) for sheet in known.values()))
                gaps = _gaps(drafted, chosen, beginning, most=max(1, most))
                raise QuestionsError(path.name, gaps, _command(beginning, path, given, chosen, gaps)) from None
        except ConfigurationError as error:
            if not asked:
                raise
            if str(error) == last:
                told = f"; your answers so far: `{_command(beginning, path, given, chosen, ())}`"
                raise ConfigurationError(field=error.field, value=error.value, allowed=error.allowed + told) from None
            last = str(error)
            click.echo(f"  {error}", err=True)
            option = asked.pop()
            left = chosen.pop(option)[:-1]
            chosen |= {option: left} if left else {}
            continue
        if not asked:
            _show_sheet(make_console(), [*known.values()][-1])

        def use(answer: str, unclear: UnclearError = unclear) -> str:
            require(
                answer in unclear.choices or unclear.is_open,
                f"--{unclear.option}",
                answer,
                one_of(unclear.choices, answer),
            )
            return answer

        question = f"{capitalized(unclear.question)}? ({', '.join(unclear.choices)})"
        answer = given_or_asked(None, field=f"--{unclear.option}", question=question, use=use)
        chosen[unclear.option] = (*chosen.get(unclear.option, ()), answer)
        asked.append(unclear.option)


def _line_of(answer: str) -> int:
    from ...protocol.errors import require

    require(answer.isdecimal(), "a line", answer, "a number")
    return int(answer)


def _gaps(
    draft: Callable[[dict[str, Sequence[str]]], object],
    chosen: Mapping[str, Sequence[str]],
    beginning: "Beginning",
    *,
    most: int,
) -> "list[UnclearError]":
    """Return what has to be said, as far as it is asked for after most answers to what is asked before.

    What is asked after each of them, though not in the same words, has those of the option's help. What follows from
    another one that is asked for is not asked for itself.
    """
    from ...protocol.errors import ConfigurationError
    from ..running.drafts import NONE, UnclearError

    left = most
    helps = {option.name: option.help for option in beginning.options} | {
        name: how["help"] for name, _, how in _OF_TABLES
    }

    def common(chosen: "dict[str, Sequence[str]]") -> "list[UnclearError] | None":
        """Return the gaps beside these answers; None where they are not allowed."""
        nonlocal left
        if not left:
            return []
        left -= 1
        try:
            draft(chosen)
        except UnclearError as error:
            first = error
        except ConfigurationError:
            return None
        else:
            return []
        others = [each for each in first.choices if each != NONE]
        others = others if len(others) == 1 else first.choices
        branches = [
            found
            for choice in others
            if (found := common({**chosen, first.option: (*chosen.get(first.option, ()), choice)})) is not None
        ]
        behind, number = dict[tuple[str, str], UnclearError](), collections.Counter[tuple[str, str]]()
        asked = collections.Counter(option for own in branches for option in {gap.option for gap in own})
        for gap in itertools.chain.from_iterable(branches):
            key = gap.option, gap.question  # another one is of that branch alone, such as of a column nobody meant
            number[key] += 1
            behind[key] = _either(behind[key], gap) if key in behind else gap
        usual = {key[0]: key for key, _ in reversed(number.most_common())}
        told = list[UnclearError]()
        for option, key in usual.items():
            if 2 * number[key] > len(branches):
                told.append(behind[key])
            elif asked[option] == len(branches):  # in any case, though of what depends on the answer
                question = f"needed in any case: {helps[option].rstrip('.')}"
                told.append(UnclearError(option=option, question=question, choices=[], is_open=True))
        return [first, *sorted(told, key=lambda gap: [*behind].index(usual[gap.option]))]

    gaps = common(dict(chosen)) or []
    asked = {gap.option for gap in gaps}
    return [gap for gap in gaps if beginning.told_by.get(gap.option) not in asked]


def _either(one: "UnclearError", other: "UnclearError") -> "UnclearError":
    """Return a gap with the choices of both."""
    choices = list(dict.fromkeys([*one.choices, *other.choices]))
    return type(one)(option=one.option, question=one.question, choices=choices)


def _command(
    beginning: "Beginning",
    path: Path,
    given: Mapping[str, Any],
    chosen: "Mapping[str, Sequence[str]]",
    gaps: "Sequence[UnclearError]",
) -> str:
    """Return the command that says all that was given, with what stands for its value in place of what was not."""
    flags = {option.name for option in beginning.options if option.is_flag}
    shown = {option.name: option.metavar for option in beginning.options}
    shown |= {name: metavar for name, metavar, _ in _OF_TABLES}
    words = ["psephos", "new", beginning.word, str(path)]
    for name, _, how in _OF_TABLES:
        value = given[name.replace("-", "_")]
        words += [f"--{name}", str(value)] if name not in _OF_ROWS and value not in (None, how.get("default")) else []
    for option, values in chosen.items():
        for value in values:
            words += [f"--{option}"] if option in flags else [f"--{option}", value]
    for gap in gaps:
        words += [f"--{gap.option}", shown.get(gap.option, "VALUE")]
    return shlex.join(words)


def _show_sheet(console: "Console", sheet: "Sheet") -> None:
    """Print the header and the first rows, so that all questions are on one screen with them."""
    from ..presentation.terminal import show_table
    from ..tables import Table

    rows = [list(row) for row in sheet.rows[:_ROWS_SHOWN]]
    show_table(console, Table(columns=list(sheet.header), rows=rows, labels=len(sheet.header)))


def _target(given: Path | None, file: Path) -> Path:
    """Return where the scenario is written: by default here, under the file's name in small letters."""
    from ...protocol.errors import refuse

    if given is not None:
        refuse(given.name in {"", ".."}, "--to", str(given), "the name of a file")
        return given if given.suffix == ".toml" else given.with_name(f"{given.name}.toml")
    stem = file.name.removesuffix(".gz").removesuffix(file.suffix)
    slug = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:_MAX_NAME].strip("-")
    return Path(f"{slug or 'scenario'}.toml")


def _check_characters(text: str, *, field: str) -> None:
    """Raise ConfigurationError if a text has bytes that are no characters, as the name of a file may."""
    from ...protocol.errors import ConfigurationError

    try:
        text.encode()
    except UnicodeEncodeError as error:
        shown = text[max(0, error.start - 20) : error.end]
        raise ConfigurationError(field=field, value=shown, allowed="named in UTF-8, as a scenario is") from None


def _write(text: str, path: Path) -> None:
    """Write a file unless it is there, where `_check_free` has found the same in it."""
    from ..reading.files import readable

    with readable(path, field="--to", what="where a file can be written"):
        if not path.exists():
            with path.open("x", encoding="utf-8") as file:  # which follows no link
                file.write(text)


def _check_free(path: Path, text: str, *, field: str, fix: str) -> None:
    """Raise ConfigurationError if a file is there that holds something else: nothing of anybody's is lost."""
    from ...protocol.errors import refuse, require
    from ..reading.files import readable

    require(path.parent.is_dir(), field, str(path), "in a folder that is there")
    with readable(path, field=field):
        refuse(path.exists() and path.read_bytes() != text.encode(), field, str(path), fix)


def _check(text: str, target: Path, file: Path, written: str) -> None:
    """Raise ConfigurationError if the scenario, to be written at `target`, cannot be run: nothing is written then."""
    import tomllib

    from ..running.config import scenario_of
    from ..running.resolution import resolve

    tables: dict[str, dict[str, Any]] = tomllib.loads(text)
    *_, parties = tables.values()  # the last table
    for key, value in parties.items():
        if value == written:
            parties[key] = str(file.absolute())  # a sample is not copied yet
    resolve(scenario_of({"name": target.stem, **tables}, folder=target.parent))


@cli.command(short_help="Print a scenario, to copy and change.")
@click.argument("scenario", shell_complete=complete_shipped)
def show(scenario: str) -> None:
    """Print SCENARIO, one that comes with Psephos, to copy and change.

    \b
    psephos show consortium > mine.toml
    """  # noqa: D301  click reads the character, by which it leaves the lines as they are
    from ...protocol.errors import one_of, require
    from ..running.config import shipped_scenarios, shipped_series

    shipped = {**shipped_scenarios(), **shipped_series()}
    require(scenario in shipped, "scenario", scenario, one_of(shipped, scenario))
    click.echo(shipped[scenario].read_bytes(), nl=False)


@cli.command(short_help="Write small made-up files to try.")
@click.argument("folder", type=click.Path(path_type=Path), default=Path(), metavar="[FOLDER]")
def samples(folder: Path) -> None:
    """Write the small made-up files that the documents use into FOLDER (default: here).

    A file that is there already, and is another one, is left as it is.
    """
    from ...protocol.errors import require
    from ..reading.files import readable
    from ..running.drafts import samples as sample_files

    require(folder.is_dir(), "FOLDER", str(folder), "a folder that is there")
    for name, path in sample_files().items():
        target = folder / name
        with readable(target, field="FOLDER", value=folder, what="where files can be written"):
            if target.exists():
                is_same = target.is_file() and target.read_bytes() == path.read_bytes()
                click.echo(f"{target} {'is there' if is_same else 'is another file, and left as it is'}")
            else:
                shutil.copyfile(path, target)
                click.echo(f"{target} written")
