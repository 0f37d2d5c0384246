"""A first ranking of one's own: who votes, in which group if in any, and how each voter ranks the alternatives.

Rankings stand in one cell, or as places, scores or choices in columns that are found by their form: a question's parts
(`Rank them [pool]`), the header's names above small numbers, `Rank 1`, `Rank 2`. What the form does not tell is asked:
whether numbers are places or scores, what becomes of ties, of a voter or an alternative that is there twice, and
whether what few people named is an alternative. What is no alternative in any export (`undervote`) is left out, said
and written down.
"""

import dataclasses
import itertools
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from ...protocol.columns import first_alike, normalize_name
from ...protocol.errors import ConfigurationError, refuse, require
from ...protocol.fair_voting.parameters import SEPARATOR
from ..reading.cells import number_in
from ..running.drafts import (
    NONE,
    Chosen,
    Draft,
    Option,
    SavedTable,
    ScenarioLine,
    ScenarioTemplate,
    UnclearError,
    answer,
    check_column,
    check_header,
    chosen_column,
    chosen_word,
    filled,
    joined,
    split_names,
    word_option,
)
from .data.own_tables import RankingTable, Tiers, parts_of, place_in

_VOTERS: Final = ("voter", "name", "member", "person", "partner")
_PERSONS: Final = re.compile(r"(voter|member|user)?[\s_]*name|.*e-?mail.*|voter|member|person|partner", re.IGNORECASE)
_IDS: Final = re.compile(r"(?i:(.*[\s_-])?(id|nr|no|number|code))|.*[a-z]I[dD]")
_GROUPS: Final = ("group", "team", "district", "gender", "sex", "department")
_NO_ALTERNATIVES: Final = frozenset(
    {*("undervote", "overvote", "skipped", "no opinion", "no preference", "unranked", "not ranked", "blank")}
    | {"write-in", "write in", "writein", "-", "--", "n/a"}
)
_ABOUT_BALLOTS: Final = frozenset({"overvote_rank", "has_duplicate_rank"})  # of BetterVoting, and no alternatives
_COUNTS: Final = frozenset({"#", "count", "counts", "multiplicity"})
_PART: Final = re.compile(r"(.*?)\s*\[([^\]]+)\]")
_NUMBERED: Final = re.compile(r"(.*(?:rank|choice|place|prefer|priorit|position)\D*?)\s*(\d+)", re.IGNORECASE)
_ORDINAL: Final = re.compile(r"(\d+(?:st|nd|rd|th)) (?=choice|preference|place|rank|pick)", re.IGNORECASE)
_SIGNS: Final = (";", "\n", ",", "|")
_KINDS: Final = {"ranking": "ranking", "place": "places", "score": "scores", "choice": "choices"}
_ABOUT: Final = {
    "places": "a column for each alternative, with its place: 1 is the best",
    "scores": "a column for each alternative, with its score: the higher, the better",
    "choices": "the best first",
}
_PLACES: Final = re.compile(
    r"rank|place|position|preference|priorit|rang|platz|reihenfolge|classement|choice|\dst\b", re.IGNORECASE
)
_LEAST: Final = 2
_FEW: Final = 0.01  # of the voters
_MOST_GROUPS: Final = 50
_MOST_SCORE: Final = 100


@dataclasses.dataclass(frozen=True)
class _RankingColumns:
    """Where rankings are: the kind as a table of voters has it, its columns, and the alternatives that a header has."""

    kind: str
    columns: Sequence[str]
    names: Sequence[str] = ()
    between: str = SEPARATOR

    @property
    def about(self) -> str:
        """What stands in several columns; empty for rankings in one."""
        return _ABOUT.get(self.kind, "")


def _draft(sheet: SavedTable, option_values: Chosen) -> Draft:
    options = ("voter", "group", *_KINDS)
    check_header(
        sheet, option_values, options=options, names={*_VOTERS, *_GROUPS, "ranking"}, example="voter,group,ranking"
    )
    if count_column := next(
        (name for name in sheet.header if name.casefold() in _COUNTS and {*sheet.column(name)} != {"1"}), ""
    ):
        allowed = f"Column {count_column!r} seems to count voters. Write a line for each, or use a file of PrefLib."
        raise ConfigurationError(field=sheet.path.name, value=count_column, allowed=allowed)
    person_columns = [answer(option_values, key) for key in ("voter", "group")]
    silent_words = _words_of_silence(sheet, option_values)
    other_columns = [
        name
        for name in sheet.header
        if name not in person_columns and name.casefold() not in {*_ABOUT_BALLOTS, *silent_words}
    ]
    ranking_columns = _rankings(sheet, option_values, other_columns, silent_words)
    _check_needed(sheet, option_values, ranking_columns)
    tiers, names = _read(sheet, option_values, ranking_columns, silent_words)
    unused_columns = [
        name for name in sheet.header if name not in ranking_columns.columns and name.casefold() not in _ABOUT_BALLOTS
    ]
    voter = _voter(sheet, option_values, unused_columns)
    group = _group(sheet, option_values, [name for name in unused_columns if name != voter])
    columns = {"voter": voter, "group": group} | (
        {} if ranking_columns.about else {"ranking": ranking_columns.columns[0]}
    )
    lines = filled(
        ScenarioLine("file", sheet.written, "a line for each voter"),
        ScenarioLine("numbered", not voter, "it has no names"),
        ScenarioLine(
            "columns",
            {name: own_name for name, own_name in columns.items() if own_name not in {"", name}},
            "what the file calls them",
        ),
        ScenarioLine(ranking_columns.kind, ranking_columns.about and ranking_columns.columns, ranking_columns.about),
        ScenarioLine("alternatives", names if names != ranking_columns.columns else ()),
        ScenarioLine(
            "between",
            ranking_columns.between if ranking_columns.between != SEPARATOR else "",
            "the sign between alternatives in one cell",
        ),
        ScenarioLine("not_ranked", [*silent_words.values()], "no alternatives, and no places"),
        *_settle_ties(sheet, option_values, tiers, names, voter),
    )
    groups = list(dict.fromkeys(sheet.column(group))) if group else []
    _check_unlike(groups, f"{sheet.path.name}, {group}", "write one group alike in the file")
    allowed = "a column with two groups or more, which the winner is to serve alike, or 'none'"
    refuse(group and len(groups) < _LEAST, "--group", group, allowed)
    allowed = "a column of groups: by this one each voter is a group of its own; 'none' has all voters in one"
    refuse(len(groups) == len(sheet.rows) > _LEAST, "--group", group, allowed)
    number, names_text = sheet.count(len(sheet.rows)), ", ".join(names)
    if group:
        sentences = [f"{number} voters of {len(groups):,} groups ({', '.join(groups[:9])}) rank {names_text}."]
        parameters = [ScenarioLine("objective", "penalized", "the welfare of all, less what groups differ by")]
        title = f"Which of {names_text} serves all groups alike"
    else:
        sentences = [f"{number} voters rank {names_text}: one group, and the most welfare wins."]
        parameters = [
            ScenarioLine("groups", ["voters"], "one: nobody is compared"),
            ScenarioLine("objective", "welfare"),
        ]
        title = f"Which of {names_text} is elected"
    if silent_words:
        sentences.append(f"No alternatives: {', '.join(silent_words.values())}.")
    if ranking_columns.about:
        sentences.append(f"{', '.join(ranking_columns.columns)}: {ranking_columns.about}.")
    sentences.append(f"Voters by the column {voter!r}." if voter else "Voters are numbered.")
    price = "a voter's ranking"
    return Draft(title=title, role="voter", price=price, parameters=parameters, parties=lines, said=sentences)


def _check_needed(sheet: SavedTable, options: Chosen, ranking_columns: _RankingColumns) -> None:
    """Raise ConfigurationError for an option of other rankings than these, which would have no effect."""
    is_of_numbers = ranking_columns.kind in {"places", "scores"}
    for option, has_effect, need in (
        ("numbers", is_of_numbers, "numbers in columns of alternatives"),
        ("between", not is_of_numbers, "several alternatives in one cell"),
    ):
        allowed = f"left out: {', '.join(ranking_columns.columns)} has no {need}"
        refuse(option in options and not has_effect, f"--{option}", answer(options, option), allowed)
    words = {cell.casefold() for cells in (sheet.header, *sheet.rows) for cell in cells}
    for word in options.get("not-ranked", ()):
        require(word.casefold() in words, "--not-ranked", word, f"a word that stands in {sheet.path.name}")


def _words_of_silence(sheet: SavedTable, options: Chosen) -> dict[str, str]:
    """Return what stands for no alternative, in header or cells, as it is written, by its small letters."""
    named_alternatives = [name.casefold() for name in split_names(options.get("alternatives", ()), ())]
    words = [*sheet.header, *dict.fromkeys(cell for row in sheet.rows for cell in row)]
    known_words = {word.casefold(): word for word in reversed(words) if word.casefold() in _NO_ALTERNATIVES}
    known_words |= {word.casefold(): word for word in options.get("not-ranked", ())}
    return {word: spelling for word, spelling in known_words.items() if word not in named_alternatives}


def _rankings(
    sheet: SavedTable, options: Chosen, other_columns: Sequence[str], silent_words: Collection[str]
) -> _RankingColumns:
    """Return where rankings are; UnclearError where the file does not tell it."""
    kinds = [key for key in _KINDS if options.get(key)]
    if len(kinds) > 1:
        allowed = f"left out beside --{kinds[0]}"
        raise ConfigurationError(field=f"--{kinds[1]}", value=options[kinds[1]][0], allowed=allowed)
    questions = _questions(other_columns)
    sign = answer(options, "between").replace("\\n", "\n")
    if kinds:
        (key,) = kinds
        named_columns = [part for name in options[key] for part in questions.get(name, {name: ""})]
        columns = [check_column(sheet, name, key) for name in named_columns]
        if key == "ranking":
            columns = columns[-1:]
            return _RankingColumns("ranking", columns, between=sign or _sign_of(sheet, columns[0]))
        return _ranking_columns(sheet, _KINDS[key], columns, sign)
    if sign:
        candidates = [
            _RankingColumns("ranking", [name], between=sign)
            for name in other_columns
            if _sets(sheet.column(name), sign)
        ]
    else:
        candidates = _find_rankings(sheet, options, other_columns, questions, silent_words)
    if len(candidates) == 1:
        return candidates[0]
    question = (
        f"which column has a ranking, such as a {SEPARATOR} b {SEPARATOR} c; or --place (or --score) for each column"
        " with the places (or scores) of an alternative, or --choice for the first, second and further choices in turn"
    )
    raise UnclearError("ranking", question, [each.columns[0] for each in candidates] or other_columns)


def _ranking_columns(sheet: SavedTable, kind: str, columns: Sequence[str], sign: str = "") -> _RankingColumns:
    if kind != "choices":
        parts = [_PART.fullmatch(name) for name in columns]
        return _RankingColumns(
            kind, columns, [part.group(2) if part else name for part, name in zip(parts, columns, strict=True)]
        )
    is_split = any("\n" in cell for name in columns for cell in sheet.column(name))
    return _RankingColumns(kind, columns, between=sign or ("\n" if is_split else SEPARATOR))


def _questions(header: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the columns of each question, and which part of it each is of: `Rank [pool]`, or `Rank 1`, `Rank 2`."""
    questions: dict[str, dict[str, str]] = {}
    for name in header:
        match = _PART.fullmatch(name) or _NUMBERED.fullmatch(name)
        ordinal = _ORDINAL.search(name)
        if match or ordinal or place_in(name) >= 1:
            question, part = match.groups() if match else ("", name)
            question, part = (_ORDINAL.sub("", name), ordinal[1]) if ordinal else (question, part)
            questions.setdefault(question.strip(), {})[name] = part
    return {question: columns for question, columns in questions.items() if len(columns) > 1}


def _find_rankings(
    sheet: SavedTable,
    options: Chosen,
    column_names: Sequence[str],
    questions: Mapping[str, Mapping[str, str]],
    silent_words: Collection[str],
) -> list[_RankingColumns]:
    """Return all that look like rankings."""
    candidates: list[_RankingColumns] = []
    for name in column_names:
        entries = [entry for entry in sheet.column(name) if entry]
        if sum(SEPARATOR in entry for entry in entries) > len(entries) / _LEAST:  # some rank one alone
            candidates.append(_RankingColumns("ranking", [name]))
        elif signs := [sign for sign in _SIGNS if len(set(_sets(entries, sign))) == 1]:
            candidates.append(_RankingColumns("ranking", [name], between=signs[0]))
    question_columns = {name for columns in questions.values() for name in columns}
    other_columns = [name for name in column_names if name not in question_columns and not _is_about(name)]
    alternative_columns = _alternatives(sheet, options, other_columns, silent_words)
    for columns in [*map(list, questions.values()), alternative_columns]:
        levels = [_levels(sheet, name, silent_words, is_maybe_empty=columns is alternative_columns) for name in columns]
        if len(columns) > 1 and all(levels):
            words = [*columns, *(cell for name in columns for cell in sheet.column(name) if place_in(cell) >= 0)]
            are_called = any(_PLACES.search(word) for word in words)
            rows = [dict(zip(columns, row, strict=True)) for row in zip(*levels, strict=True)]
            kind = _kind_of(columns, rows, options, are_called=are_called)
            candidates.append(_ranking_columns(sheet, kind, columns))
    for columns in questions.values():
        is_in_turn = list(map(place_in, columns.values())) == list(range(1, len(columns) + 1))
        rows = [[cell for cell in row_entries if cell] for row_entries in zip(*map(sheet.column, columns), strict=True)]
        is_text = all(math.isnan(number_in(cell)) for row_entries in rows for cell in row_entries)
        is_ranked = sum(len(row_entries) == len(set(row_entries)) for row_entries in rows) > len(rows) / _LEAST
        if is_in_turn and is_text and is_ranked:
            candidates.append(_ranking_columns(sheet, "choices", list(columns)))
    return candidates


def _alternatives(sheet: SavedTable, options: Chosen, names: Sequence[str], silent_words: Collection[str]) -> list[str]:
    """Return the columns that have small numbers under the name of an alternative, or none where nobody ranked it.

    UnclearError where an empty column may be one of these.
    """
    named_alternatives = split_names(options.get("alternatives", ()), ())
    with_numbers = [name for name in names if _levels(sheet, name, silent_words)]
    empty = [name for name in names if not any(sheet.column(name))]
    if len(with_numbers) < _LEAST or not empty:
        return with_numbers
    all_of_them = [name for name in names if name in {*with_numbers, *empty}]
    if not named_alternatives:
        question = f"whether {', '.join(empty)}, without an entry, is an alternative that nobody ranked"
        raise UnclearError("alternatives", question, [",".join(with_numbers), ",".join(all_of_them)])
    return [name for name in all_of_them if name in named_alternatives]


def _sets(entries: Sequence[str], sign: str) -> list[frozenset[str]]:
    """Return the names in each cell that has several of them, none twice; none where a cell is otherwise."""
    rows = [[name.strip() for name in entry.split(sign) if name.strip()] for entry in entries if entry]
    are_fine = all(len(set(names)) == len(names) > 1 for names in rows)
    return [frozenset(names) for names in rows] if are_fine else []


def _sign_of(sheet: SavedTable, column: str) -> str:
    """Return the sign between the alternatives of a column's cells."""
    entries = [entry for entry in sheet.column(column) if entry]
    if any(SEPARATOR in entry for entry in entries):
        return SEPARATOR
    signs_present = [sign for sign in _SIGNS if any(sign in entry for entry in entries)]
    usual_signs = [sign for sign in signs_present if len(set(_sets(entries, sign))) == 1]
    if len(usual_signs or signs_present) == 1:
        return (usual_signs or signs_present)[0]
    question = f"which sign stands between the alternatives in {column!r}"
    choices = [sign.replace("\n", "\\n") for sign in signs_present or _SIGNS]
    raise UnclearError("between", question, choices)


def _is_about(name: str) -> bool:
    """Return whether a column is of the answer and not of what is asked, as programs call such ones."""
    return bool(_IDS.fullmatch(name)) or re.sub(r"[\s_]", "", name.casefold()) in {
        *("lastpage", "seed", "progress", "age", "weight", "duration", "finished", "timestamp", "year"),
        *("duration(inseconds)", "locationlatitude", "locationlongitude", "precinctportion", "#"),
    }


def _levels(
    sheet: SavedTable, name: str, silent_words: Collection[str], *, is_maybe_empty: bool = False
) -> list[int | None]:
    """Return the small numbers of a column, none where a cell is empty; nothing where it has no such or other cells."""
    cells = [cell if cell.casefold() not in silent_words else "" for cell in sheet.column(name)]
    places = [place_in(cell) for cell in cells]
    numbers = [
        place if place >= 0 else number_in(cell) if cell else None for place, cell in zip(places, cells, strict=True)
    ]
    numbers_given = [number for number in numbers if number is not None]
    if not (numbers_given or is_maybe_empty) or not all(
        number.is_integer() and 0 <= number <= _MOST_SCORE for number in numbers_given
    ):
        return []
    return [None if number is None else int(number) for number in numbers]


def _kind_of(
    columns: Sequence[str], rows: Sequence[Mapping[str, int | None]], options: Chosen, *, are_called: bool
) -> str:
    """Return whether numbers are places or scores.

    Places are 1, 2, … in every row, all of these in some, and called so: points from 1 to n look alike.
    """
    numbers = [sorted(number for number in row.values() if number is not None) for row in rows]
    are_places = all(
        places[0] == 1
        and all(b - a <= 1 or b == place for place, (a, b) in enumerate(itertools.pairwise(places), start=2))
        for places in filter(None, numbers)
    )
    are_all = list(range(1, len(columns) + 1)) in numbers
    if are_places and are_all and are_called and not answer(options, "numbers"):
        return "places"
    question = (
        f"what the numbers in {', '.join(columns)} are: places (1 is the best), or scores (the higher, the better)"
    )
    return chosen_word(options, "numbers", question, ("places", "scores"))


def _read(
    sheet: SavedTable, options: Chosen, ranking_columns: _RankingColumns, silent_words: Mapping[str, str]
) -> tuple[list[Tiers], Sequence[str]]:
    """Return what each row ranks, and the alternatives; UnclearError for those that few named."""
    fields: dict[str, Any] = (
        {ranking_columns.kind: tuple(ranking_columns.columns)} if ranking_columns.kind != "ranking" else {}
    )
    columns = [sheet.column(name) for name in ranking_columns.columns]
    rows = list(zip(*columns, strict=True))

    def parts(names: Sequence[str]) -> list[Tiers]:
        table = RankingTable(
            file="",
            between=ranking_columns.between,
            not_ranked=tuple(silent_words),
            alternatives=tuple(names),
            **fields,
        )
        places_of_lines = [f"({sheet.path.name} line {line})" for line in sheet.lines]
        return [parts_of(row, names, table, place_text) for row, place_text in zip(rows, places_of_lines, strict=True)]

    if ranking_columns.names:
        return parts(ranking_columns.names), ranking_columns.names
    single = {cell for cells in columns for cell in cells if "\n" not in cell}
    first = parts(sorted(single) if ranking_columns.kind == "choices" else ())
    counts = Counter(name for tiers in first for name in {name for tier in tiers for name in tier})
    if named_alternatives := split_names(options.get("alternatives", ()), counts):
        return parts(named_alternatives), named_alternatives
    names = sorted(counts)
    _check_unlike(names, sheet.path.name, "write one alternative alike in the file, or name all with --alternatives")
    rare = [name for name in names if counts[name] < min(max(_LEAST, _FEW * len(rows)), len(rows))]
    if rare:
        usual_names = [name for name in names if name not in rare]
        question = (
            f"which names are alternatives: few voters name {', '.join(rare[:9])}; --not-ranked leaves out what is none"
        )
        raise UnclearError(
            "alternatives", question, [joined(place_text) for place_text in (usual_names, names) if place_text]
        )
    require(len(names) >= _LEAST, ranking_columns.columns[0], ", ".join(names), "rankings of two alternatives or more")
    return parts(names), names


def _check_unlike(names: Sequence[str], place_text: str, to_do: str) -> None:
    """Raise ConfigurationError where two names differ in large letters or blanks alone: they may be one."""
    if (places := first_alike(names)) is not None:
        first, second_name = (names[place] for place in places)
        allowed = f"unlike {first!r}, but for case and blanks: {to_do}"
        raise ConfigurationError(field=place_text, value=second_name, allowed=allowed)


def _settle_ties(
    sheet: SavedTable, options: Chosen, tiers: Sequence[Tiers], names: Sequence[str], voter: str
) -> list[ScenarioLine]:
    """Return what was said of ties, and of what stands there twice; UnclearError for what was not."""
    answers = dict[str, str]()
    flat = [[name for tier in row_tiers for name in tier] for row_tiers in tiers]
    repeating_rows = [row for row, row_tiers in enumerate(flat) if len(set(row_tiers)) < len(row_tiers)]
    if repeating_rows:
        question = (
            f"line {sheet.lines[repeating_rows[0]]} ranks an alternative twice: its first place counts, or the file "
            "is refused"
        )
        answers["twice"] = chosen_word(options, "twice", question, ("first", "refuse"))
    tied_rows = [
        row
        for row, (row_tiers, ranked_names) in enumerate(zip(tiers, flat, strict=True))
        if len(set(ranked_names)) < len(names) or any(len(tier) > 1 for tier in row_tiers)
    ]
    if tied_rows:
        voters_text, first = f"{len(tied_rows):,} voter{'s' * (len(tied_rows) != 1)}", sheet.lines[tied_rows[0]]
        question = (
            f"ties, or alternatives left out, of {voters_text}, the first in line {first}: what is left out stands "
            "last,"
            " and what is tied shares the mean score of its places; or the file is refused"
        )
        if num_empty := sum(1 for ranked_names in flat if not ranked_names):
            question = f"{question}; {num_empty:,} rank nothing, which --leave-out-empty leaves out"
        answers["ties"] = chosen_word(options, "ties", question, ("mean", "refuse"))
    people: dict[str, dict[int, str]] = {}
    for row, name in enumerate(sheet.column(voter) if voter else ()):
        people.setdefault(normalize_name(name), {})[sheet.lines[row]] = name
    repeated_people = [row_tiers for row_tiers in people.values() if len(row_tiers) > 1]
    same = [row_tiers for row_tiers in repeated_people if len({*row_tiers.values()}) < len(row_tiers)]
    for row_tiers in (same or repeated_people)[:1]:
        example = ", ".join(map(str, row_tiers))
        question = f"{next(iter(row_tiers.values()))} stands in lines {example}: which row counts"
        if not same:
            question = f"{question}, if that is one voter, or {NONE!r}: these are different voters"
        answers["repeats"] = chosen_word(options, "repeats", question, ["last", "first", *([] if same else [NONE])])
    return [ScenarioLine(*each) for each in answers.items()]


def _voter(sheet: SavedTable, options: Chosen, other_columns: Sequence[str]) -> str:
    """Return the column of voters' names: of persons before that of ballots; empty where they are numbered."""
    if (column := chosen_column(sheet, options, "voter")) is not None:
        return column
    entries = {name: sheet.column(name) for name in other_columns}
    full = [
        name for name in other_columns if all(entries[name]) and (len({*entries[name]}) > 1 or len(sheet.rows) == 1)
    ]
    known_columns = [name for name in full if name.casefold() in _VOTERS] or [n for n in full if _PERSONS.fullmatch(n)]
    distinct = [name for name in full if len({*entries[name]}) == len(sheet.rows)]
    if not known_columns:
        known_columns = [name for name in distinct if _IDS.fullmatch(name)][:1]
    if len(known_columns) == 1 or not (distinct or known_columns):
        return known_columns[0] if known_columns else ""
    question = f"which column has a different name for each voter, or {NONE!r}: they are numbered"
    raise UnclearError("voter", question, [*(known_columns or distinct), NONE])


def _group(sheet: SavedTable, options: Chosen, other_columns: Sequence[str]) -> str:
    """Return the column of groups; empty where there is one group: it was said, or no column could tell any."""
    if (column := chosen_column(sheet, options, "group")) is not None:
        return column
    known_columns = [name for name in other_columns if name.casefold() in _GROUPS]
    if len(known_columns) == 1:
        return known_columns[0]
    counts = {name: Counter(sheet.column(name)) for name in known_columns or other_columns}
    possible = [
        name
        for name, count in counts.items()
        if 1 < len(count) <= _MOST_GROUPS and "" not in count and min(count.values()) >= _LEAST
    ]
    if not (known_columns or possible):
        return ""
    question = f"which column says in which group each voter is, or {NONE!r}: one group, and the most welfare wins"
    raise UnclearError("group", question, [*(known_columns or possible), NONE])


BEGINNING: Final = ScenarioTemplate(
    word="ranking",
    help="A vote by rankings whose winner serves all groups of voters alike, or has the most welfare in one. FILE has "
    f"a line for each voter: a name, a group, and a ranking such as pool {SEPARATOR} library {SEPARATOR} rink.",
    options=(
        Option("voter", f"The column of names, or {NONE!r}: voters are numbered."),
        Option("group", f"The column of groups, or {NONE!r}: all are in one."),
        Option("ranking", "The column of rankings."),
        Option(
            "place", "In place of it, a column of places, or a question of several: 1 the best place.", multiple=True
        ),
        Option(
            "score",
            "In place of it, a column of scores, or a question of several: the higher, the better.",
            multiple=True,
        ),
        Option(
            "choice", "In place of it, the column of the first, then of the second choice, and so on.", multiple=True
        ),
        word_option("numbers", "What numbers in columns are", "places", "scores"),
        Option("between", "The sign between alternatives in one cell; \\n for a line break.", "SIGN"),
        Option("alternatives", "What may be ranked, with commas between the names.", "NAMES", multiple=True),
        Option(
            "not-ranked",
            "A word in place of an alternative or its place, which stands for none.",
            "WORD",
            multiple=True,
        ),
        word_option("ties", "Ties and blanks have the mean score of their places, or are refused", "mean", "refuse"),
        word_option("twice", "Which place counts of an alternative that a voter ranks twice", "first", "refuse"),
        word_option("repeats", "Which row counts of a voter who has several", "first", "last", NONE),
    ),
    draft=_draft,
    shown="rankings",
    sample="rankings.csv",
    epsilon=2.0,
    wanted=("voter", "group", "ranking"),
)
