"""Columns of a file of somebody's own: of names, of weights, and those that are voted on.

The rule that holds here: a column that looks like a motion is voted on, or refused with line and entry, or asked about;
it is left out where that was said.
"""

import collections
import dataclasses
import itertools
import math
import re
import shlex
from collections.abc import Collection, Sequence
from typing import Final

from ...protocol.columns import normalize_name
from ...protocol.errors import ConfigurationError, refuse, require
from ..presentation.numbers import join_words
from ..running.drafts import (
    NONE,
    Chosen,
    SavedTable,
    UnclearError,
    answer,
    check_column,
    chosen_column,
    chosen_word,
    is_status,
    split_names,
)
from .draft_weights import any_number, are_numbers
from .draft_words import Words, counted, unknown_in
from .words import ABSTENTIONS, ANSWER, NO, YES, code_kinds, filled_of, word_of

_TWO: Final = 2
_FEW: Final = 4
_MOST_SHOWN: Final = 3
_MOST_MOTIONS: Final = 12
_MOST_LINES: Final = 0.8

# Columns by their names, in small letters and with single blanks. Those that name one person for sure come first.
_PERSONS: Final = (
    *("partner", "email", "e mail", "mail", "email address", "e mail address", "recipientemail", "recipient email"),
    *("username", "user name", "user", "user id", "login", "account", "voter id", "member id", "participant"),
    *("participant id", "worker id"),
)
_NAMES: Final = (
    *("name", "names", "full name", "nom", "nombre", "nome", "naam", "namn", "mitglied", "member", "person", "voter"),
    *("your name", "owner", "holder", "shareholder", "eigentümer"),
    *("voter name", "company", "state", "column 1"),  # the last is a first column without a name
)
_IDS: Final = re.compile(r"(?:(.*) )?(id|nr|no|number|code)\.?")
_ROWS: Final = re.compile(
    r"|.*\b(response|respondent|record|submission|ballot|row|line|entry|answer|form|session|collector|poll|group)"
)
"""Before "id": what is counted by it, lines and not persons."""
_KEPT_BY_PROGRAMS: Final = re.compile(
    r"(n|num|number of|count of) \w+|.*\b(seed|lastpage|last page|progress|duration|seconds|minutes|time|timestamp|"
    r"date|datetime|datestamp|submitdate|started|submitted|language|startlanguage|userlanguage|ip|ipaddr|ipaddress|refurl|"
    r"latitude|longitude|locationlatitude|locationlongitude|channel|distributionchannel|collector|custom data|token|"
    r"status|response type|precinct|format|created at|updated at|browser|device|count|hash|index|page)( \d+)?( \(.*\))?"
)
"""What a program notes beside answers: no weights, and of two words no motion."""
_STATUS: Final = re.compile(
    r"(is|has|was|are) .*|.*\b(finished|complete|completed|delegate|duplicate|duplicate rank|verified|valid|active|"
    r"approved|deleted|hidden|consent|test|preview|draft|anonymous|registered|present|eligible|spoiled|rejected|flagged)"
)
"""What is true or false of a line, rather than an answer."""
WEIGHTS: Final = ("weight", "weights", "gewicht", "stimmen", "stimmrecht", "poids", "peso", "shares", "votes")
_ENDED: Final = re.compile(r"(is )?(finished|complete|completed|delegate|test|preview|draft)")
_DATE: Final = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}|\d{1,2}:\d{2}|\w{3} \w{3} \d\d \d{4}")
_LONG_AGO: Final = 1e9  # seconds since 1970 are times
WHICH: Final = {
    **dict.fromkeys(("first", "last"), "of several lines of one name this one counts"),
    NONE: "names that are nearly alike are different persons'",
}


def plain_name(name: str) -> str:
    """Return a column's name in small letters, with single blanks between words.

    Examples:
        >>> plain_name("Full_Name"), plain_name("voterId")
        ('full name', 'voter id')
    """
    return " ".join(re.split(r"[\s_.-]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold())).strip()


def partner_of(sheet: SavedTable, options: Chosen, words: Words) -> tuple[str, list[str]]:
    """Return the column of names, empty where partners are numbered, and sentences of it.

    It is as chosen, or one that is called so and has nearly as many names as lines, or the one whose entries all
    differ. A column that counts lines names nobody, so that partners are numbered.
    """
    if (column := chosen_column(sheet, options, "partner")) is not None:
        return column, []
    distinct_columns = [name for name in sheet.header if len(set(sheet.column(name)) - {""}) == len(sheet.rows)]
    for known_names in (_PERSONS, _NAMES):
        named_columns = [name for name in sheet.header if plain_name(name) in known_names]
        person_columns = [name for name in named_columns if name in distinct_columns]
        for name in (
            named_columns if not person_columns else ()
        ):  # a name in every line, of which some stand in more than one
            entries = sheet.column(name)
            number = len(set(map(normalize_name, entries)))
            # Most differ, where what is called so may be no person's name.
            if all(entries) and (_TWO * number >= len(entries) if known_names is _NAMES else number > 1):
                person_columns.append(name)
        if person_columns:
            return min(person_columns, key=lambda name: known_names.index(plain_name(name))), []
    ids = {name: match for name in distinct_columns if (match := _IDS.fullmatch(plain_name(name)))}
    rows = [name for name, match in ids.items() if _ROWS.fullmatch(match[1] or "")]
    texts = [
        name
        for name in distinct_columns
        if name not in ids
        and not _KEPT_BY_PROGRAMS.fullmatch(plain_name(name))
        and len(set(map(normalize_name, sheet.column(name)))) == len(sheet.rows)
        and all(_is_text(entry, words) for entry in sheet.column(name))
    ]
    person_columns = [name for name in ids if name not in rows] or ([] if rows else texts)
    if len(person_columns) == 1 and len(sheet.rows) > _TWO:
        return person_columns[0], []
    if len(sheet.header) == 1:
        return sheet.header[0] if "web" in options else "", []  # it is voted on, and nothing names anybody
    if rows and not person_columns:
        return "", [f"Each line counts as one person's: {rows[0]!r} numbers lines, and no column names persons."]
    question = f"which column has a different name for each partner, or {NONE!r}: they are numbered"
    possible = [name for name in sheet.header if not _are_times(sheet, name)]
    choices = [name for name in possible if name in distinct_columns] or possible
    raise UnclearError("partner", question, [NONE, *choices], is_open=True)


def _are_times(sheet: SavedTable, name: str) -> bool:
    entries = [entry for entry in sheet.column(name) if entry]
    return bool(entries) and all(_DATE.match(entry) or any_number(entry) > _LONG_AGO for entry in entries)


def _is_text(entry: str, words: Words) -> bool:
    is_answer = word_of(entry) in words.opinions or word_of(entry) in words.silent
    return math.isnan(any_number(entry)) and not is_answer and not _DATE.match(entry)


def keep_one_line_each(sheet: SavedTable, options: Chosen, partner: str) -> tuple[SavedTable, str]:
    """Return a line of each partner, and which that is of several; empty where each has one.

    Raises:
        UnclearError: it is not said which of several lines counts, or whether names that are nearly alike are one's.
    """
    if not partner:
        return sheet, ""
    rows = dict[str, list[int]]()
    names = sheet.column(partner)
    for row, name in enumerate(names):
        rows.setdefault(normalize_name(name), []).append(row)
    repeated_rows = [each for each in rows.values() if len(each) > 1]
    if not repeated_rows:
        return sheet, ""
    if "repeats" not in options and _TWO * len(repeated_rows) > len(rows):
        _check_one_motion(sheet, partner, list(rows.values()))
    same = [each for each in repeated_rows if len({names[row] for row in each}) < len(each)]
    example_rows = (same or repeated_rows)[0]
    lines = " and ".join(str(sheet.lines[row]) for row in example_rows[:_MOST_SHOWN])
    more_note = f", and {len(repeated_rows) - 1:,} more names so" if len(repeated_rows) > 1 else ""
    one = "which of one person's lines counts"
    one = one if same else f"which counts, if that is one person, or {NONE!r}: these are different persons"
    question = (
        f"{partner!r} names {len(rows):,} persons in {len(names):,} lines: {names[example_rows[0]]!r} stands in lines "
        f"{lines}{more_note} (a file with a line for each vote needs --only too, for one motion); {one}"
    )
    answer_word = chosen_word(options, "repeats", question, ["last", "first", *([] if same else [NONE])])
    if answer_word == NONE:
        return sheet, NONE
    kept_rows = {each[0 if answer_word == "first" else -1] for each in rows.values()}
    return sheet.without(set(range(len(names))) - kept_rows), answer_word


def _check_one_motion(sheet: SavedTable, partner: str, rows: Sequence[Sequence[int]]) -> None:
    """Raise UnclearError where lines of one partner, as most have several, are for motions that a column names."""
    motions_found = dict[str, list[str]]()
    for name in sheet.header:
        entries = sheet.column(name)
        persons = collections.Counter(entry for each in rows for entry in {entries[row] for row in each})
        is_few = 1 < len(persons) <= _MOST_MOTIONS and min(persons.values()) > 1 and "" not in persons
        is_of_motions = is_few and persons.total() >= _MOST_LINES * len(entries) and name != partner
        if is_of_motions and not any(word_of(entry) in {*YES, *NO, "-1"} for entry in persons):
            motions_found[name] = list(persons)
    if len(motions_found) == 1:
        ((name, motions),) = motions_found.items()
        question = (
            f"{partner!r} names {len(rows):,} persons in {len(sheet.rows):,} lines, as a rule one for each {name!r}: "
            "which of these is voted on (or --repeats, where a person's lines are of one vote)"
        )
        raise UnclearError("only", question, [f"{name}={motion}" for motion in motions])


def weight_of(sheet: SavedTable, options: Chosen, taken_columns: Collection[str], words: Words) -> str:
    """Return the column of weights; empty where there is none, and UnclearError where one may be."""
    if (column := chosen_column(sheet, options, "weight")) is not None:
        return column
    other_columns = [name for name in sheet.header if name not in {*taken_columns, *options.get("candidate", ())}]
    weight_columns = [
        name
        for name in other_columns
        if name.casefold() in WEIGHTS
        and not any(word_of(entry) in words.opinions and not entry.isdigit() for entry in sheet.column(name))
    ]
    numbers = [
        name
        for name in other_columns
        if all(entries := sheet.column(name)) and are_numbers([*map(word_of, entries)]) and not _is_noted(sheet, name)
    ]
    # Columns may rank alternatives: every line has the places from 1 on in them, each once.
    integer_columns = [name for name in numbers if all(entry.isdigit() for entry in sheet.column(name))]
    places = list(range(1, len(integer_columns) + 1))
    rows = zip(*(map(int, sheet.column(name)) for name in integer_columns), strict=True)
    if len(integer_columns) > 1 and all(sorted(row) == places for row in rows):
        numbers = [name for name in numbers if name not in integer_columns]
    if len(weight_columns) == 1:
        return weight_columns[0]
    if numbers := weight_columns or numbers:
        question = f"which column holds weights, or {NONE!r} where everybody has one vote"
        raise UnclearError("weight", question, [*numbers, NONE])
    return ""


def merge_answer_columns(sheet: SavedTable, options: Chosen) -> tuple[SavedTable, list[str]]:
    """Return a sheet in which columns of one motion's answers, of which a line fills one, are one; and these columns.

    Raises:
        UnclearError: columns are called as answers are, and nobody said whether they are one motion's.
        ConfigurationError: a line fills several of those that were named.
    """
    answer_columns = answer(options, "one-of")
    names = (
        [check_column(sheet, name, "one-of") for name in split_names([answer_columns], ())]
        if answer_columns not in {"", NONE}
        else []
    )
    if not answer_columns:
        kinds = ({*YES, "yes"}, {*NO, "no"}, ABSTENTIONS)
        columns_of_kind = [[name for name in sheet.header if plain_name(name) in kind] for kind in kinds]
        names = (
            [name for name in sheet.header if name in itertools.chain(*columns_of_kind)]
            if all(columns_of_kind[:_TWO])
            else []
        )
    if not names:
        return sheet, []
    answers = list[str]()
    for row, entries in enumerate(zip(*map(sheet.column, names), strict=True)):
        try:
            answers.append(filled_of(names, entries))
        except ValueError as error:
            if not answer_columns:
                return sheet, []
            allowed = "one of them filled, or none"
            raise ConfigurationError(field=sheet.where("--one-of", row), value=str(error), allowed=allowed) from None
    if not answer_columns:
        members = join_words(map(repr, names))
        question = f"{members} are called as answers are, and a line fills one at most: are they one motion"
        raise UnclearError("one-of", question, [", ".join(names), NONE])
    other_places = [place for place, name in enumerate(sheet.header) if name not in names]
    require(
        ANSWER not in sheet.header,
        "--one-of",
        answer_columns,
        f"The file has a column {ANSWER!r} already. Rename that first, or leave out --one-of.",
    )
    rows = [
        (*(cells[place] for place in other_places), answer) for cells, answer in zip(sheet.rows, answers, strict=True)
    ]
    header = [*(sheet.header[place] for place in other_places), ANSWER]
    return dataclasses.replace(sheet, header=header, rows=rows), names


def _is_noted(sheet: SavedTable, name: str) -> bool:
    """Return whether a column holds what a program notes beside answers: an id, a time, how far somebody came."""
    plain = plain_name(name)
    return bool(_IDS.fullmatch(plain) or _KEPT_BY_PROGRAMS.fullmatch(plain)) or _are_times(sheet, name)


def _looks_voted(sheet: SavedTable, name: str, words: Words) -> bool:
    """Return whether a column looks like a motion: half of it are answers, or it has few words, with one among them."""
    entries = [word_of(entry) for entry in sheet.column(name) if entry]
    if _is_noted(sheet, name) and all(any_number(entry) >= 0 for entry in entries):
        return False
    if set(entries) <= words.given.keys() | set(words.silent):  # who is silent in words has a motion before them
        return any(entry in words.said or entry.isalpha() for entry in entries)
    if are_numbers(entries):
        return False
    answers = [entry for entry in entries if entry in words.opinions or entry == "-1"]
    distinct = set(entries) - set(words.silent)
    return bool(answers) and (_TWO * len(answers) >= len(entries) or len(distinct) <= _FEW)


def _is_unsure(sheet: SavedTable, name: str, words: Words, *, are_others: bool) -> bool:
    """Return whether a column of true and false, of 1 and 0, or of one sign beside empty entries, may be no motion.

    So it is where its name says that it is true of a line, or beside other columns of answers, unless somebody has
    explained its signs.
    """
    entries = {word_of(entry) for entry in sheet.column(name)}
    spoken_entries = entries - {""}
    is_truth = spoken_entries <= {"true", "false"} or spoken_entries <= {"1", "0"}
    if is_truth and _STATUS.fullmatch(plain_name(name)):
        return True
    is_tick = len(spoken_entries) == 1 and "" in entries and any(code_kinds(spoken_entries).values())
    is_explained = not spoken_entries.isdisjoint(words.given) or (words.is_signed and spoken_entries <= {"1", "0"})
    return are_others and (is_truth or is_tick) and not is_explained


def _tells_what_counts(sheet: SavedTable, name: str) -> bool:
    """Return whether a column says which lines count: by its name, or since it was used to choose them.

    So does one that says of all lines alike that they are finished, or that they are not.
    """
    is_ended = len(set(sheet.column(name))) == 1 and _ENDED.fullmatch(plain_name(name)) is not None
    return is_ended or is_status(name) or len(sheet.options.only.get(name, ())) == 1


def candidates_of(sheet: SavedTable, options: Chosen, columns: Sequence[str], words: Words) -> list[str]:
    """Return the columns that are voted on; UnclearError where one may be, by two words that nobody has explained."""
    if candidate_names := options.get("candidate", ()):
        return [check_column(sheet, name, "candidate") for name in candidate_names]
    columns = [name for name in columns if any(sheet.column(name))]
    voted_columns = [name for name in columns if _looks_voted(sheet, name, words)]
    if NONE not in options.get("leave-out", ()):
        voted_columns = [name for name in voted_columns if not _tells_what_counts(sheet, name)] or voted_columns
    clear = [name for name in voted_columns if not _is_unsure(sheet, name, words, are_others=True)]
    unsure_columns = [name for name in voted_columns if _is_unsure(sheet, name, words, are_others=bool(clear))]
    other_columns = [
        name for name in columns if name not in voted_columns and not _is_noted(sheet, name) and not names_persons(name)
    ]
    of_few: dict[str, Sequence[str]] = {}  # two or three words that nobody knows, or one beside abstentions
    for name in other_columns:
        unknown, entries = unknown_in(sheet, name, words), sheet.column(name)
        is_silent = any(entry and word_of(entry) in words.silent for entry in entries)
        if (1 if is_silent else _TWO) <= len(unknown) < _FEW and not are_numbers(unknown):
            of_few[name] = unknown
    pairs = {name: few for name, few in of_few.items() if sum(map(bool, sheet.column(name))) > len(few)}
    unsure_columns += pairs if voted_columns else ()
    if unsure_columns and NONE not in options.get("leave-out", ()):
        name = unsure_columns[0]
        entry_counts = counted(sheet, name, list(dict.fromkeys(sheet.column(name))))
        question = (
            f"{name!r} has {entry_counts}: is it left out, or {NONE!r}: it is voted on (or say with --candidate what "
            "is)"
        )
        raise UnclearError("leave-out", question, [name, NONE])
    if not voted_columns and not pairs:
        pairs = of_few
    if not voted_columns and len(set(map(frozenset, pairs.values()))) > 1:
        question = "which column has the answers, yes or no; then --yes and --no say which word is which"
        raise UnclearError("candidate", question, list(pairs))
    voted_columns = [name for name in columns if name in voted_columns or name in pairs]
    if voted_columns:
        return voted_columns
    require(
        columns,
        sheet.path.name,
        list(sheet.header),
        "There is no column with answers. Add one in which each line says yes or no.",
    )
    if len(columns) == 1:  # whose entries are refused, with their places
        return list(columns)
    likely = sorted(columns, key=lambda name: _is_noted(sheet, name))
    raise UnclearError("candidate", "which column has the answers, yes or no", likely)


def questions_of(sheet: SavedTable, options: Chosen, columns: Sequence[str], words: Words) -> list[str]:
    """Return what partners will be asked on a page, as it was named.

    Raises:
        UnclearError: nothing was named.
        ConfigurationError: the file has votes already, which nothing would count.
    """
    questions = list(options.get("candidate", ()))
    for name in sheet.header:
        entries = sheet.column(name)
        is_voted = name in questions or (name in columns and _looks_voted(sheet, name, words))
        allowed = (
            "Partners answer on the page, and nothing in the file counts as an answer. Empty this column, or leave out "
            "--web to count it. If it holds no votes, "
            + ("name the question otherwise." if name in questions else f"add --leave-out {shlex.quote(name)}.")
        )
        row = next((row for row, entry in enumerate(entries) if entry), 0)
        refuse(is_voted and any(entries), sheet.where(name, row), "filled in", allowed)
    if not questions:
        empty_columns = [name for name in columns if not any(sheet.column(name))]
        question = "what do partners answer yes or no to: a title of yours, or an empty column"
        raise UnclearError("candidate", question, empty_columns, is_open=True)
    return questions


def names_persons(name: str) -> bool:
    """Return whether a column is called as those of persons are.

    Examples:
        >>> names_persons("E-Mail"), names_persons("Budget 2026")
        (True, False)
    """
    return plain_name(name) in {*_PERSONS, *_NAMES}
