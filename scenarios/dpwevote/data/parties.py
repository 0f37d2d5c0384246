"""Partners in a file, as somebody saved it: yes and no in words, columns by other names, weights or none.

Of a session all partners take part in every motion. So who abstains is absent from the vote, which everybody sees, or
votes as a scenario says; and a line with answers to some of its motions alone is refused.
"""

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
import numpy as np

from ....protocol.columns import CodedColumn
from ....protocol.dpwevote import DPWeVote
from ....protocol.dpwevote.protocol import complete_noise_weight
from ....protocol.errors import ConfigurationError, did_you_mean, list_choices, refuse, require
from ....protocol.phases import Entries
from ...reading.batches import TableFiles, is_in_batches, is_table
from ...reading.cells import may_be_thousands, number_of
from ...reading.conversion import convert
from ...reading.frames import path_of
from ...reading.headers import TableOptions
from ...reading.sources import PartiesTable, PartySources, RowFiles
from ...running.parties import check_unlike, one_row_each, read_parties_file
from ...running.rosters import KEY_COLUMNS
from ..words import ANSWER, CODES, ONE_SESSION, OUR_ABSTENTIONS, filled_of, word_of
from .synthetic import draw_partners, make_like, make_partners

_FIELD: Final = "partners"
_WEIGHT: Final = "weight"
_LEFT_OUT: Final = "left out: partners are read in batches, row by row"
_ONE_VOTE: Final[Mapping[str, Any]] = {"public_weights": True, "weights": [1.0]}


class VoteFile(TableOptions, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file with a line for each partner, of whatever form; one without weights is one person, one vote.

    Raises:
        ConfigurationError: a value is not allowed.
    """

    file: str  # a CSV of partner, weight and a column for each candidate
    columns: dict[str, str] = {}  # what the file calls `partner` or `weight`, where it calls them otherwise
    yes: tuple[str, ...] = ()  # words for yes, beside yes, y, true and 1; in any case
    no: tuple[str, ...] = ()  # words for no, beside no, n, false and 0
    numbered: bool = False  # it has no names: partners are called by their number in it
    abstain: tuple[str, ...] = ()  # words for an abstention, beside abstain, abstention and an empty entry
    # Who abstains is absent, as everybody sees, or votes so; by default an abstention is refused.
    abstentions: Literal["absent", "no", "yes"] | None = None
    without: tuple[str, ...] = ()  # lines of these names are no partners, but totals or the like
    # Of several lines of one name, which may differ in case and blanks, the first or the last counts; with "none" names
    # that are nearly alike are different persons'.
    repeats: Literal["first", "last", "none"] | None = None
    # Columns of which a line fills one at most: together they are one motion, called "answer", and their names answers.
    one_of: tuple[str, ...] = ()
    decimal: Literal[".", ","] | None = None  # before the decimals of weights; the other one stands between thousands
    manifest: str = ""  # keeps what a pass over files of any size finds (`reading.manifests`)

    def __post_init__(self) -> None:
        known_columns = (DPWeVote.client_role, _WEIGHT)
        for name in self.columns:
            require(name in known_columns, f"{_FIELD}.columns", name, list_choices(known_columns, name))
        refuse(self.numbered and self.repeats, f"{_FIELD}.repeats", self.repeats, "left out: partners are numbered")
        meanings = {"yes": 1, "no": 0}
        for key, opinion in (("yes", 1), ("no", 0), ("abstain", -1)):
            for word in getattr(self, key):
                field = f"{_FIELD}.{key}"
                require(word.strip(), field, word, f"The word {word!r} is blank. Use another word.")
                is_clear = meanings.setdefault(word_of(word), opinion) == opinion
                require(is_clear, field, word, f"Another answer has {word!r} already. Use another word.")

    @property
    def words(self) -> Mapping[str, int]:
        """The file's own words for opinions, as `word_of` has them."""
        abstention_opinions = (
            {} if self.abstentions in {None, "absent"} else dict.fromkeys(self.silent, int(self.abstentions == "yes"))
        )
        spoken_opinions = dict.fromkeys(map(word_of, self.yes), 1) | dict.fromkeys(map(word_of, self.no), 0)
        return {**abstention_opinions, **spoken_opinions}

    @property
    def silent(self) -> frozenset[str]:
        """Entries that say neither, as `word_of` has them."""
        return frozenset({*OUR_ABSTENTIONS, *map(word_of, self.abstain)})


def load_partners(parties: str | Mapping[str, Any], *, parameters: Mapping[str, Any]) -> PartiesTable:
    """Return the partners of a file (a path or a table of `VoteFile`), or those of `synthetic.WeightedVotes`.

    Beside a table of `VoteFile` that names candidates, the file's other columns are left out. It may have names
    alone, for a session whose partners hold their opinions.
    """
    if isinstance(parties, Mapping) and "file" not in parties:
        return make_partners(parties, parameters=parameters)
    options: VoteFile = VoteFile(file=parties) if isinstance(parties, str) else convert(dict(parties), VoteFile, _FIELD)
    path = path_of(options.file)
    has_numbers = options.numbered or options.repeats in {"first", "last"}  # whose names are looked at below
    read_table = read_parties_file(
        path, DPWeVote.client_role, options.columns, has_numbers=has_numbers, options=options
    )
    candidates: list[str] = convert(parameters.get("candidates", []), list[str], "candidates")
    read_table = _drop_lines(_merge_answer_columns(read_table, options), options)
    if options.repeats in {"first", "last"}:
        read_table = one_row_each(read_table, DPWeVote.client_role, options.repeats)
    elif not (options.numbered or options.repeats):
        check_unlike(read_table, DPWeVote.client_role)
    read_table = _drop_absent(read_table, options, candidates)
    if _WEIGHT in read_table.table and not options.decimal and may_be_thousands(read_table.table[_WEIGHT]):
        entry = next(each for each in read_table.table[_WEIGHT] if may_be_thousands([each]))
        raise _unclear_decimal(f"{_WEIGHT} ({read_table.source})", entry)
    if _WEIGHT in read_table.table and options.decimal:
        read_table = dataclasses.replace(read_table, table={**read_table.table, _WEIGHT: _weights(read_table, options)})
    other_columns = _other_columns(parameters)
    table = {name: entries for name, entries in read_table.table.items() if name not in other_columns}
    voted = [name for name in table if not candidates or name in candidates]
    with read_table.name_lines_in_errors():
        table |= {name: _opinions(name, table[name], options) for name in voted}
    if candidates and not isinstance(parties, str):
        table = {name: entries for name, entries in table.items() if name in candidates}
    if options.abstentions in {"no", "yes"}:
        silent_words = options.silent
        number = sum(word_of(entry) in silent_words for name in voted for entry in read_table.table[name])
        read_table = read_table.with_note(f"{number:,} abstentions count as {options.abstentions}." if number else "")
    if _WEIGHT in read_table.table:
        own_columns = {name: read_table.table[name] for name in other_columns if name in read_table.table}
        return dataclasses.replace(read_table, table={**own_columns, **table})
    has_opinions = any(name in candidates if candidates else name not in KEY_COLUMNS for name in table)
    is_one_vote = parameters.get("public_weights") is True and parameters.get("weights") == [1]
    if not has_opinions and not is_one_vote:
        kept = {name: entries for name, entries in read_table.table.items() if name in {*table, *KEY_COLUMNS}}
        return dataclasses.replace(read_table, table=kept)  # whoever holds the rest says it
    _check_without_weights(read_table, candidates, parameters)
    note = f"{path.name} has no column {_WEIGHT!r}: one person, one vote, and nothing is spent on weights."
    table = {_WEIGHT: np.broadcast_to(1.0, len(read_table.names)), **table}
    return dataclasses.replace(read_table, table=table, parameters=_ONE_VOTE).with_note(note)


def _other_columns(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that are no candidate's: weights, and ε where partners have their own."""
    return (_WEIGHT, "epsilon") if "epsilons" in parameters else (_WEIGHT,)


def _drop_lines(parties: PartiesTable, options: VoteFile) -> PartiesTable:
    """Return partners without the lines that are none, by their names or, where these are numbers, first entries."""
    if not options.without:
        return parties
    person_column = DPWeVote.client_role if options.repeats and DPWeVote.client_role in parties.table else ""
    labels = (
        parties.table[person_column]
        if person_column
        else next(iter(parties.table.values()), ())
        if options.numbered
        else parties.names
    )
    entries = [str(label).strip() for label in labels]
    for word in options.without:
        require(word in entries, f"{_FIELD}.without", word, list_choices(sorted({*entries})[-12:], word))
    kept_parties = parties.of_rows([row for row, entry in enumerate(entries) if entry not in options.without])
    return kept_parties.with_note(f"Left out: {', '.join(options.without)}.")


def _drop_absent(parties: PartiesTable, options: VoteFile, candidates: Collection[str]) -> PartiesTable:
    """Return partners without those who abstain in all motions; ConfigurationError for who does in some alone."""
    columns = [name for name in parties.table if name != _WEIGHT and (not candidates or name in candidates)]
    if options.abstentions != "absent" or not columns:
        return parties
    is_silent = np.array([[word_of(entry) in options.silent for entry in parties.table[name]] for name in columns])
    is_absent = is_silent.all(axis=0)
    for place, row in np.argwhere(is_silent & ~is_absent):
        place_text = f"{columns[place]} ({parties.source} line {parties.lines[row]}, {parties.names[row]})"
        allowed = f"yes or no: {ONE_SESSION}, and who is absent is so from all. Hold a vote for each motion"
        raise ConfigurationError(field=place_text, value=parties.table[columns[place]][row], allowed=allowed)
    present = parties.of_rows(np.flatnonzero(~is_absent).tolist())
    refuse(not present.names, f"{_FIELD}.abstentions", "absent", "no or yes, since nobody is left to vote")
    return present.with_note(
        f"{is_absent.sum():,} of {len(is_silent[0]):,} abstain, and are absent, which everybody can see."
    )


def _weights(parties: PartiesTable, options: VoteFile) -> list[float]:
    """Return weights with their own decimals; ConfigurationError for what is none."""
    weights, decimal = list[float](), options.decimal or "."
    for row, entry in enumerate(parties.table[_WEIGHT]):
        weights.append(number_of(str(entry), decimal))
        place_text = f"{_WEIGHT} ({parties.source} line {parties.lines[row]}, {parties.names[row]})"
        require(0 < weights[-1] < math.inf, place_text, entry, f"a number > 0 ({decimal!r} before decimals)")
    return weights


def _merge_answer_columns(parties: PartiesTable, options: VoteFile) -> PartiesTable:
    """Return partners with one column in place of those of which each fills one at most."""
    if not options.one_of:
        return parties
    for name in options.one_of:
        require(name in parties.table, f"{_FIELD}.one_of", name, list_choices(list(parties.table), name))
    answers = list[str]()
    for row, entries in enumerate(zip(*(parties.table[name] for name in options.one_of), strict=True)):
        try:
            answers.append(filled_of(options.one_of, entries))
        except ValueError as error:
            place_text = f"{ANSWER} ({parties.source} line {parties.lines[row]})"
            raise ConfigurationError(
                field=place_text, value=str(error), allowed="one of them filled, or none"
            ) from None
    other_columns = {name: entries for name, entries in parties.table.items() if name not in options.one_of}
    return dataclasses.replace(parties, table={**other_columns, ANSWER: answers})


def _opinions(name: str, entries: Entries, options: VoteFile) -> Entries:
    """Return opinions with the file's own words as numbers, and what is none of them as it is.

    Raises:
        ConfigurationError: a sign, such as 0, stands where it may mean something else than the protocol takes it for.
    """
    words, silent_words = options.words, options.silent
    has_own = bool(options.yes or options.no)
    if isinstance(entries, np.ndarray) and not (has_own or options.abstain):
        return entries
    distinct_entries = entries.names if isinstance(entries, CodedColumn) else np.asarray(entries, dtype=object).tolist()
    opinion_of_entry = dict[object, Any]()
    for entry in dict.fromkeys(distinct_entries):
        word = word_of(entry)
        allowed = ""
        if word in words:
            opinion_of_entry[entry] = words[word]
        elif word in silent_words and word in CODES:
            allowed = f"yes or no: it is an abstention ({_FIELD}.abstain), and {_FIELD}.abstentions counts none"
        elif has_own and word in CODES and word not in {"yes", "no"}:
            allowed = f"explained, since the scenario has words of its own: in {_FIELD}.yes, no or abstain"
        elif word == "-1":
            allowed = (
                f"explained, and a 0 beside it too, in {_FIELD}.yes, no or abstain, which `psephos new vote` writes"
            )
        if allowed:
            place = distinct_entries.index(entry)
            # A name may be one that no row of a coded column has.
            rows = np.flatnonzero(entries.codes == place)[:1] if isinstance(entries, CodedColumn) else [place]
            for row in rows:
                raise ConfigurationError(field=f"{name} in row {row + 1}", value=entry, allowed=allowed)
    if not opinion_of_entry:
        return entries
    if isinstance(entries, CodedColumn):
        return CodedColumn([str(opinion_of_entry.get(entry, entry)) for entry in distinct_entries], entries.codes)
    return [opinion_of_entry.get(entry, entry) for entry in distinct_entries]


def _check_without_weights(parties: PartiesTable, candidates: Collection[str], parameters: Mapping[str, Any]) -> None:
    """Raise ConfigurationError if partners cannot all have weight 1, or a column may be meant for weights."""
    other_names = {name.casefold(): name for name in parties.table if name not in candidates}
    if did_you_mean(_WEIGHT, other_names) or _WEIGHT in other_names:
        close = next(name for folded_name, name in other_names.items() if did_you_mean(_WEIGHT, [folded_name]))
        allowed = (
            f"Call {close!r} {_WEIGHT!r}, if it holds weights, or name it among the candidates, if it is voted on."
        )
        raise ConfigurationError(field=f"a column of {parties.source} (line 1)", value=close, allowed=allowed)
    allowed = f"true, or left out: {parties.source} has no column {_WEIGHT!r}, and one person, one vote is no secret"
    refuse(parameters.get("public_weights") is False, "public_weights", value=False, allowed=allowed)
    weights: list[float] = convert(parameters.get("weights", [1.0]), list[float], "weights")
    allowed = f"Add 1 to them, or leave them out: {parties.source} has no column {_WEIGHT!r}, so each partner weighs 1."
    refuse(1.0 not in weights, "weights", weights, allowed)


def _rows_of_partners(parties: str | Mapping[str, Any], parameters: Mapping[str, Any]) -> RowFiles | None:
    """Return the files that hold partners, by their path or a table of `VoteFile`, to be read in batches.

    Raises:
        ConfigurationError: the table asks for what needs all partners at once.
    """
    if isinstance(parties, Mapping) and "file" not in parties:
        return None
    options: VoteFile = VoteFile(file=parties) if isinstance(parties, str) else convert(dict(parties), VoteFile, _FIELD)
    candidates: list[str] = convert(parameters.get("candidates", []), list[str], "candidates")
    other_columns = _other_columns(parameters)
    if not is_in_batches(options.file):
        return None
    whole = {name: getattr(options, name) for name in ("without", "one_of")}
    whole["repeats"] = None if options.repeats == "none" else options.repeats
    if is_table(options.file) and (options.abstentions == "absent" or any(whole.values())):
        return None  # what needs all partners is read at once
    for name, public_entries in whole.items():
        refuse(public_entries, f"{_FIELD}.{name}", public_entries, _LEFT_OUT)
    refuse(options.abstentions == "absent", f"{_FIELD}.abstentions", "absent", f"no, yes or {_LEFT_OUT}")

    def prepare_rows(table: Mapping[str, Entries]) -> dict[str, Entries]:
        votes = {
            name: entries if name in other_columns else _opinions(name, entries, options)
            for name, entries in table.items()
        }
        if _WEIGHT not in votes:
            return {_WEIGHT: np.ones(len(next(iter(table.values()), ()))), **votes}
        return votes | {_WEIGHT: _plain_weights(votes[_WEIGHT], options)}

    def parameters_of(files: TableFiles) -> Mapping[str, Any]:
        if _WEIGHT not in files.names:
            columns: dict[str, Entries] = dict.fromkeys(files.names, ())
            _check_without_weights(PartiesTable((), columns, source=options.file), candidates, parameters)
            return _ONE_VOTE
        if parameters.get("public_weights") is not True:
            return {}

        def find() -> dict[str, Any]:
            entries = CodedColumn.from_values(map(str, files.counts(_WEIGHT)))
            weights = {number_of(weight) for weight in _plain_weights(entries, options)}
            return {"weights": sorted(filter(math.isfinite, weights))}

        def count() -> tuple[Entries, Sequence[int]]:
            counts = files.counts(_WEIGHT)
            return _plain_weights(CodedColumn.from_values(map(str, counts)), options), list(counts.values())

        from ...reading.manifests import remembered  # noqa: PLC0415  only files of any size need it

        facts = {"columns": options.columns, "decimal": options.decimal}
        weights: Mapping[str, Any] = (
            {} if "weights" in parameters else remembered(options.manifest, files, find, facts_asked=facts)
        )
        return {**weights, **complete_noise_weight({**parameters, **weights}, count)}

    return RowFiles(
        path=options.file,
        columns=options.columns,
        only=[*other_columns, *candidates] if candidates and not isinstance(parties, str) else (),
        prepared=prepare_rows,
        parameters_of=parameters_of,
        options=options,
        each_once="" if options.numbered else "same" if options.repeats == "none" else "unlike",
    )


def _plain_weights(entries: Entries, options: VoteFile) -> Entries:
    """Return a batch's weights with a point before decimals; ConfigurationError where nobody can know where these are.

    What is none is left to be refused with its row.
    """
    if not isinstance(entries, CodedColumn):
        return entries
    used_names = [entries.names[code] for code in np.unique(entries.codes).tolist()]
    if options.decimal is None and may_be_thousands(used_names):
        row = next(row for row, code in enumerate(entries.codes) if may_be_thousands([entries.names[code]]))
        raise _unclear_decimal(f"{_WEIGHT} in row {row + 1}", entries[row])
    decimal = options.decimal or "."
    weights = [number_of(name, decimal) for name in entries.names]
    names = [name if math.isnan(weight) else repr(weight) for name, weight in zip(entries.names, weights, strict=True)]
    return CodedColumn(names, entries.codes)


def _unclear_decimal(field: str, entry: str) -> ConfigurationError:
    allowed = f"Which number is {entry!r}? Set {_FIELD}.decimal to the sign before decimals, '.' or ','."
    return ConfigurationError(field=field, value=entry, allowed=allowed)


SOURCES: Final = PartySources(
    read=load_partners,
    stream=_rows_of_partners,
    like=make_like,
    draws=draw_partners,
    paths=("file", "manifest"),
    published=frozenset({"file"}),
    of_each={"weight_shares": "weights"},
    parameters_of_table=frozenset({"candidates", "noise_weight"}),
    parameters_of_public_columns=frozenset({"noise_weight"}),
    implied_parameters=frozenset(_ONE_VOTE),
    alternatives=(frozenset({"epsilon", "epsilons"}),),
    words={"votes": ""},
)
