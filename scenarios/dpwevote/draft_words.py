"""Words in a file of somebody's own: which mean yes and no, which an abstention, and which nobody can know.

The rule that holds here: a word that somebody explained beats one that is built in, and an entry counts for what it
says; nothing is taken for the likeliest.
"""

import collections
import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from ...protocol.errors import ConfigurationError, did_you_mean
from ..presentation.numbers import join_words
from ..running.drafts import NONE, Chosen, SavedTable, UnclearError, chosen_word
from . import words as known_words
from .draft_weights import any_number, are_numbers
from .words import CODES, code_kinds, word_of

_TWO: Final = 2
_FEW: Final = 4
_MOST_SHOWN: Final = 3

_ANSWERS: Final = ("no", "yes")
BECOME: Final = {
    "absent": "absent from the vote, as everybody can see",
    "no": "they count as no",
    "yes": "they count as yes",
}


@dataclasses.dataclass(frozen=True)
class Words:
    """What words mean in a file, as `word_of` has them.

    Args:
        opinions: by the word, whoever knows it.
        given: those that somebody explained.
        silent: words for abstentions.
        said: those that somebody explained, and for abstentions.
        is_signed: whether a column of the file has -1 beside 1 or 0, so that 0 may be neither answer in any.
    """

    opinions: Mapping[str, int]
    given: Mapping[str, int]
    silent: Collection[str]
    said: frozenset[str]
    is_signed: bool

    @classmethod
    def of(cls, chosen: Chosen, sheet: SavedTable) -> "Words":
        """Return what is known of the words in a file."""
        columns = [set(sheet.column(name)) for name in sheet.header]
        entries = set[str]().union(*columns)
        is_signed = any(
            "-1" in words_of_column and words_of_column <= {"-1", "0", "1", ""}
            for words_of_column in ({*map(word_of, c)} for c in columns)
        )
        words_of_key = {
            key: {word_of(word) for word in chosen.get(key, ()) if word != NONE or NONE in entries}
            for key in ("yes", "no", "abstain")
        }
        no = known_words.NO | known_words.CROSSES
        opinions = {**dict.fromkeys(known_words.YES, 1), **dict.fromkeys(no, 0), **CODES}
        opinion_of_word = dict.fromkeys(words_of_key["yes"], 1) | dict.fromkeys(words_of_key["no"], 0)
        opinions = {
            word: opinion for word, opinion in opinions.items() if word not in words_of_key["abstain"]
        } | opinion_of_word
        silent_words = {
            *known_words.OUR_ABSTENTIONS,
            *known_words.ABSTENTIONS,
            *words_of_key["abstain"],
        } - opinion_of_word.keys()
        return cls(
            opinions,
            opinion_of_word,
            silent_words,
            frozenset(opinion_of_word.keys() | words_of_key["abstain"]),
            is_signed,
        )

    def meanings(self, entries: Sequence[str]) -> dict[str, int]:
        """Return the opinions of a column's words; what may mean something else beside the others is left to be asked.

        Signs are such: 0 beside -1, or beside words of which somebody explained any, x without a tick, true beside yes.
        """
        distinct = {word_of(entry) for entry in entries}.difference(self.silent)
        given_meanings = {word: self.given[word] for word in distinct & self.given.keys()}
        known_meanings = {
            word: self.opinions[word] for word in distinct & self.opinions.keys() if word not in given_meanings
        }
        kinds = code_kinds(known_meanings)
        letters = kinds.pop("letters", set[str]())
        signs = set[str]().union(*kinds.values())
        unsure_words = set[str]()
        if given_meanings or "-1" in distinct:
            unsure_words = signs | letters
        elif len(kinds) > 1 or (kinds and known_meanings.keys() - signs):
            unsure_words = signs
        elif known_words.TICKS.isdisjoint(known_meanings):
            unsure_words = signs & known_words.CROSSES
        if self.is_signed:
            unsure_words |= {"1", "0"}
        if self.given.get("-1") == 0 and self.given.get("0") != 1:
            unsure_words -= {"1"}
        return given_meanings | {word: opinion for word, opinion in known_meanings.items() if word not in unsure_words}


def unknown_in(sheet: SavedTable, name: str, words: Words) -> list[str]:
    """Return the words of a column that nobody has explained, in their order."""
    distinct: dict[str, str] = {}
    for entry in sheet.column(name):
        distinct.setdefault(word_of(entry), entry)
    meanings = words.meanings(sheet.column(name))
    return [entry for word, entry in distinct.items() if word not in meanings and word not in words.silent]


def _meant(entry: str, entries: Sequence[str], words: Words) -> str:
    """Return a hint at the answer that an entry nearly is: one that its column has, or yes or no; a sign is no typo."""
    if len(entry) < _TWO or word_of(entry) in words.opinions or not math.isnan(any_number(entry)):
        return ""
    known_entries = {"yes", "no", *(word for word in map(word_of, entries) if len(word) > 1)}
    return did_you_mean(word_of(entry), known_entries & words.opinions.keys())


def counted(sheet: SavedTable, name: str, entries: Sequence[str]) -> str:
    """Return entries of a column, each with how often it stands there."""
    column = sheet.column(name)
    each = [
        f"{entry!r} ({column.count(entry):,}×)" if entry else f"nothing ({column.count(''):,}×)" for entry in entries
    ]
    return join_words(each[: 2 * _FEW])


def complete_words(sheet: SavedTable, options: Chosen, candidates: Sequence[str], words: Words) -> Words:
    """Return words with the meaning of the one that is left where the other one was given; UnclearError for others.

    A word that is nearly one that is known is a typo, and left to be refused, as are columns of more than a few words.
    """
    for name in sorted(candidates, key=lambda name: "-1" not in sheet.column(name)):  # which tells what 0 may be
        entries = sheet.column(name)
        unknown_words, meanings = unknown_in(sheet, name, words), words.meanings(entries)
        sides = set(meanings.values())
        is_typo = any(_meant(word, entries, words) for word in unknown_words)
        if not unknown_words or len(unknown_words) > _FEW or is_typo or are_numbers([*map(word_of, unknown_words)]):
            continue
        is_left = (
            len(unknown_words) == 1
            and meanings.keys() <= words.given.keys()
            and unknown_words[0].casefold() not in known_words.UNSURE
        )
        if is_left and len(sides) == 1 and not options.get(_ANSWERS[1 - min(sides)]):
            new_opinions = {word_of(unknown_words[0]): 1 - min(sides)}
            words = dataclasses.replace(
                words, opinions={**words.opinions, **new_opinions}, given={**words.given, **new_opinions}
            )
            continue
        spoken_entries = [entry for entry in dict.fromkeys(entries) if word_of(entry) not in words.silent]
        has = f"{name!r} has {counted(sheet, name, spoken_entries)}"
        for option, is_due in (("yes", 1 not in sides), ("no", 0 not in sides)):
            if is_due and NONE not in options.get(option, ()):
                choices = unknown_words if len(unknown_words) > 1 else [*unknown_words, NONE]
                raise UnclearError(option, f"{has}: which means {option}", choices)
        for option in ("abstain", "no", "yes"):
            if NONE not in options.get(option, ()):
                raise UnclearError(option, f"{has}: does {unknown_words[0]!r} mean {option}", [unknown_words[0], NONE])
    return words


def check_answers(sheet: SavedTable, candidates: Sequence[str], words: Words) -> None:
    """Raise ConfigurationError for entries that nobody has explained: the first by its place, and some more."""
    wrong = [
        (name, row, entry)
        for name in candidates
        for unknown in [{word_of(each) for each in unknown_in(sheet, name, words)}]
        for row, entry in enumerate(sheet.column(name))
        if word_of(entry) in unknown
    ]
    if not wrong:
        return
    name, row, entry = wrong[0]
    also = [f"also {entry!r} in {sheet.where(name, row)}" for name, row, entry in wrong[1:_MOST_SHOWN]]
    more_note = "".join(f"; {each}" for each in also)
    more_note += "; " + (f"and {len(wrong) - _MOST_SHOWN:,} more") if len(wrong) > _MOST_SHOWN else ""
    meaning = _meant(entry, sheet.column(name), words)
    allowed = (
        f"yes or no{meaning}; other words are given with --yes WORD, --no WORD or --abstain WORD, and a column that is "
        f"not voted on with --leave-out{more_note}"
    )
    raise ConfigurationError(field=sheet.where(name, row), value=entry, allowed=allowed)


def words_by_meaning(
    sheet: SavedTable, options: Chosen, candidates: Sequence[str], words: Words
) -> dict[str, list[str]]:
    """Return the file's words for yes, no and abstentions, none where the protocol knows all of them.

    Beside any of the file's own all signs are written too, as is each word that was given.
    """
    entry_of_word = dict[str, str]()
    for entry in (entry for name in candidates for entry in sheet.column(name)):
        entry_of_word.setdefault(word_of(entry), entry)
    words_of_meaning = {
        key: [entry for word, entry in entry_of_word.items() if words.opinions.get(word) == opinion and word != key]
        for key, opinion in (("yes", 1), ("no", 0))
    }
    if all(word_of(entry) in CODES for each in words_of_meaning.values() for entry in each):
        words_of_meaning = {key: list[str]() for key in words_of_meaning}
    silent_entries = [
        entry
        for word, entry in entry_of_word.items()
        if word in words.silent and word not in known_words.OUR_ABSTENTIONS
    ]
    words_of_meaning["abstain"] = silent_entries
    for key, entries in words_of_meaning.items():
        known_words_here = set(map(word_of, entries))
        given_words = {word_of(word): word for word in options.get(key, ())}
        entries += [
            word
            for short, word in given_words.items()
            if short not in known_words_here and (word != NONE or NONE in entry_of_word)
        ]
    return words_of_meaning


def abstentions_of(sheet: SavedTable, options: Chosen, candidates: Sequence[str], words: Words) -> str:
    """Return what becomes of abstentions, empty where there are none; UnclearError where it is not said.

    Who abstains in some motions alone cannot be absent.
    """
    columns = [(name, sheet.column(name)) for name in candidates]
    rows = [
        (row, [name for name, entries in columns if word_of(entries[row]) in words.silent])
        for row in range(len(sheet.rows))
    ]
    silent_rows = [(row, names) for row, names in rows if names]
    if not silent_rows:
        return ""
    in_part = next(((row, names) for row, names in silent_rows if len(names) < len(candidates)), None)
    row, names = in_part or silent_rows[0]
    example = sheet.column(names[0])[row]
    counts = collections.Counter(entries[row] for row, _ in silent_rows for _, entries in columns)
    silent_entries = [entry for entry in counts if word_of(entry) in words.silent]
    counts_text = join_words([f"{entry!r} {counts[entry]:,}×" for entry in silent_entries])
    empty = (
        "; or leave lines with an empty answer out, as everybody will see (--leave-out-empty COLUMN)"
        if "" in counts
        else ""
    )
    place_text = (
        f"{sheet.where(names[0], row)} says {example or 'nothing'!r}, and {len(silent_rows):,} of {len(sheet.rows):,}"
    )
    if in_part is None:
        question = (
            f"{place_text} abstain ({counts_text}): are they absent, as everybody will see, or do they count as no or "
            "yes, by "
            f"your rules{empty}"
        )
        return chosen_word(options, "abstentions", question, ["absent", "no", "yes"])
    question = (
        f"{place_text} abstain in a motion ({counts_text}); {known_words.ONE_SESSION}, so that nobody can be absent "
        "from "
        f"one alone: do abstentions count as no or yes, by your rules? Or hold a vote for each motion (--candidate), "
        f"from which who abstains is absent{empty}"
    )
    return chosen_word(options, "abstentions", question, ["no", "yes"])


def num_absent_of(sheet: SavedTable, candidates: Sequence[str], words: Words, abstentions: str) -> int:
    """Return how many are absent."""
    if abstentions != "absent":
        return 0
    return sum(word_of(entry) in words.silent for entry in sheet.column(candidates[0]))  # who is, is so from all
