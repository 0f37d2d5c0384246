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
        is_signed = any("-1" in own and own <= {"-1", "0", "1", ""} for own in ({*map(word_of, c)} for c in columns))
        said = {
            key: {word_of(word) for word in chosen.get(key, ()) if word != NONE or NONE in entries}
            for key in ("yes", "no", "abstain")
        }
        no = known_words.NO | known_words.CROSSES
        opinions = {**dict.fromkeys(known_words.YES, 1), **dict.fromkeys(no, 0), **CODES}
        given = dict.fromkeys(said["yes"], 1) | dict.fromkeys(said["no"], 0)
        opinions = {word: opinion for word, opinion in opinions.items() if word not in said["abstain"]} | given
        silent = {*known_words.OUR_ABSTENTIONS, *known_words.ABSTENTIONS, *said["abstain"]} - given.keys()
        return cls(opinions, given, silent, frozenset(given.keys() | said["abstain"]), is_signed)

    def meanings(self, entries: Sequence[str]) -> dict[str, int]:
        """Return the opinions of a column's words; what may mean something else beside the others is left to be asked.

        Signs are such: 0 beside -1, or beside words of which somebody explained any, x without a tick, true beside yes.
        """
        distinct = {word_of(entry) for entry in entries}.difference(self.silent)
        given = {word: self.given[word] for word in distinct & self.given.keys()}
        known = {word: self.opinions[word] for word in distinct & self.opinions.keys() if word not in given}
        kinds = code_kinds(known)
        letters = kinds.pop("letters", set[str]())
        signs = set[str]().union(*kinds.values())
        unsure = set[str]()
        if given or "-1" in distinct:
            unsure = signs | letters
        elif len(kinds) > 1 or (kinds and known.keys() - signs):
            unsure = signs
        elif known_words.TICKS.isdisjoint(known):
            unsure = signs & known_words.CROSSES
        if self.is_signed:
            unsure |= {"1", "0"}
        if self.given.get("-1") == 0 and self.given.get("0") != 1:
            unsure -= {"1"}
        return given | {word: opinion for word, opinion in known.items() if word not in unsure}


def unknown_in(sheet: SavedTable, name: str, words: Words) -> list[str]:
    """Return the words of a column that nobody has explained, in their order."""
    distinct: dict[str, str] = {}
    for entry in sheet.column(name):
        distinct.setdefault(word_of(entry), entry)
    known = words.meanings(sheet.column(name))
    return [entry for word, entry in distinct.items() if word not in known and word not in words.silent]


def _meant(entry: str, entries: Sequence[str], words: Words) -> str:
    """Return a hint at the answer that an entry nearly is: one that its column has, or yes or no; a sign is no typo."""
    if len(entry) < _TWO or word_of(entry) in words.opinions or not math.isnan(any_number(entry)):
        return ""
    known = {"yes", "no", *(word for word in map(word_of, entries) if len(word) > 1)}
    return did_you_mean(word_of(entry), known & words.opinions.keys())


def counted(sheet: SavedTable, name: str, entries: Sequence[str]) -> str:
    """Return entries of a column, each with how often it stands there."""
    column = sheet.column(name)
    each = [
        f"{entry!r} ({column.count(entry):,}×)" if entry else f"nothing ({column.count(''):,}×)" for entry in entries
    ]
    return join_words(each[: 2 * _FEW])


def complete_words(sheet: SavedTable, chosen: Chosen, candidates: Sequence[str], words: Words) -> Words:
    """Return words with the meaning of the one that is left where the other one was given; UnclearError for others.

    A word that is nearly one that is known is a typo, and left to be refused, as are columns of more than a few words.
    """
    for name in sorted(candidates, key=lambda name: "-1" not in sheet.column(name)):  # which tells what 0 may be
        entries = sheet.column(name)
        own, known = unknown_in(sheet, name, words), words.meanings(entries)
        sides = set(known.values())
        is_typo = any(_meant(word, entries, words) for word in own)
        if not own or len(own) > _FEW or is_typo or are_numbers([*map(word_of, own)]):
            continue
        is_left = len(own) == 1 and known.keys() <= words.given.keys() and own[0].casefold() not in known_words.UNSURE
        if is_left and len(sides) == 1 and not chosen.get(_ANSWERS[1 - min(sides)]):
            given = {word_of(own[0]): 1 - min(sides)}
            words = dataclasses.replace(words, opinions={**words.opinions, **given}, given={**words.given, **given})
            continue
        shown = [entry for entry in dict.fromkeys(entries) if word_of(entry) not in words.silent]
        has = f"{name!r} has {counted(sheet, name, shown)}"
        for option, is_due in (("yes", 1 not in sides), ("no", 0 not in sides)):
            if is_due and NONE not in chosen.get(option, ()):
                choices = own if len(own) > 1 else [*own, NONE]
                raise UnclearError(option, f"{has}: which means {option}", choices)
        for option in ("abstain", "no", "yes"):
            if NONE not in chosen.get(option, ()):
                raise UnclearError(option, f"{has}: does {own[0]!r} mean {option}", [own[0], NONE])
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
    more = "".join(f"; {each}" for each in also)
    more += "; " + (f"and {len(wrong) - _MOST_SHOWN:,} more") if len(wrong) > _MOST_SHOWN else ""
    meant = _meant(entry, sheet.column(name), words)
    allowed = (
        f"yes or no{meant}; other words are given with --yes WORD, --no WORD or --abstain WORD, and a column that is "
        f"not voted on with --leave-out{more}"
    )
    raise ConfigurationError(field=sheet.where(name, row), value=entry, allowed=allowed)


def words_by_meaning(
    sheet: SavedTable, chosen: Chosen, candidates: Sequence[str], words: Words
) -> dict[str, list[str]]:
    """Return the file's words for yes, no and abstentions, none where the protocol knows all of them.

    Beside any of the file's own all signs are written too, as is each word that was given.
    """
    used = dict[str, str]()
    for entry in (entry for name in candidates for entry in sheet.column(name)):
        used.setdefault(word_of(entry), entry)
    found = {
        key: [entry for word, entry in used.items() if words.opinions.get(word) == opinion and word != key]
        for key, opinion in (("yes", 1), ("no", 0))
    }
    if all(word_of(entry) in CODES for each in found.values() for entry in each):
        found = {key: list[str]() for key in found}
    silent = [entry for word, entry in used.items() if word in words.silent and word not in known_words.OUR_ABSTENTIONS]
    found["abstain"] = silent
    for key, entries in found.items():
        known = set(map(word_of, entries))
        given = {word_of(word): word for word in chosen.get(key, ())}
        entries += [word for short, word in given.items() if short not in known and (word != NONE or NONE in used)]
    return found


def abstentions_of(sheet: SavedTable, chosen: Chosen, candidates: Sequence[str], words: Words) -> str:
    """Return what becomes of abstentions, empty where there are none; UnclearError where it is not said.

    Who abstains in some motions alone cannot be absent.
    """
    columns = [(name, sheet.column(name)) for name in candidates]
    rows = [
        (row, [name for name, entries in columns if word_of(entries[row]) in words.silent])
        for row in range(len(sheet.rows))
    ]
    some = [(row, names) for row, names in rows if names]
    if not some:
        return ""
    in_part = next(((row, names) for row, names in some if len(names) < len(candidates)), None)
    row, names = in_part or some[0]
    said = sheet.column(names[0])[row]
    counts = collections.Counter(entries[row] for row, _ in some for _, entries in columns)
    silent = [entry for entry in counts if word_of(entry) in words.silent]
    shown = join_words([f"{entry!r} {counts[entry]:,}×" for entry in silent])
    empty = (
        "; or leave lines with an empty answer out, as everybody will see (--leave-out-empty COLUMN)"
        if "" in counts
        else ""
    )
    where = f"{sheet.where(names[0], row)} says {said or 'nothing'!r}, and {len(some):,} of {len(sheet.rows):,}"
    if in_part is None:
        question = (
            f"{where} abstain ({shown}): are they absent, as everybody will see, or do they count as no or yes, by "
            f"your rules{empty}"
        )
        return chosen_word(chosen, "abstentions", question, ["absent", "no", "yes"])
    question = (
        f"{where} abstain in a motion ({shown}); {known_words.ONE_SESSION}, so that nobody can be absent from "
        f"one alone: do abstentions count as no or yes, by your rules? Or hold a vote for each motion (--candidate), "
        f"from which who abstains is absent{empty}"
    )
    return chosen_word(chosen, "abstentions", question, ["no", "yes"])


def num_absent_of(sheet: SavedTable, candidates: Sequence[str], words: Words, abstentions: str) -> int:
    """Return how many are absent."""
    if abstentions != "absent":
        return 0
    return sum(word_of(entry) in words.silent for entry in sheet.column(candidates[0]))  # who is, is so from all
