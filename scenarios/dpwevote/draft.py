"""A first vote of one's own: who the partners are, what is voted on, which words mean yes and no, weights or none.

The rule that holds here: a column that looks like a motion is voted on, or refused with line and entry, or asked about;
it is left out where that was said. An entry counts for what it says, and nothing is taken for the likeliest.
"""

import collections
import dataclasses
import itertools
import math
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from ...protocol.dpwevote.protocol import OPINIONS
from ...protocol.dpwevote.quotas import share_in
from ...protocol.errors import ConfigurationError, did_you_mean, require
from ..presentation.numbers import in_a_row
from ..running.drafts import (
    NONE,
    Beginning,
    Chosen,
    Draft,
    Line,
    Option,
    Sheet,
    UnclearError,
    check_column,
    check_header,
)
from ..words import marked, say_again, say_number
from . import words as known_words
from .draft_weights import any_number, are_numbers, draft_weights
from .words import CODES, alike, code_kinds, word_of

__all__ = ["BEGINNING"]

# Columns by their names, in small letters and with single blanks. Those that name one person for sure come first.
_PERSONS: Final = (
    *("partner", "email", "e mail", "mail", "email address", "e mail address", "recipientemail", "recipient email"),
    *("username", "user name", "user", "user id", "login", "account", "voter id", "member id", "participant"),
    *("participant id", "worker id"),
)
_NAMES: Final = (
    *("name", "names", "full name", "nom", "nombre", "nome", "naam", "namn", "mitglied", "member", "person", "voter"),
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
_WEIGHTS: Final = ("weight", "weights", "gewicht", "stimmen", "stimmrecht", "poids", "peso", "shares", "votes")
_HEADS: Final = frozenset({*OPINIONS, "ja", "nein", "oui", "non", "sí"})  # no header, but somebody's answer
_DATE: Final = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}|\d{1,2}:\d{2}|\w{3} \w{3} \d\d \d{4}")
_LONG_AGO: Final = 1e9  # seconds since 1970 are times
_BECOME: Final = {
    "absent": marked("absent from the vote, as everybody can see"),
    "no": marked("they count as no"),
    "yes": marked("they count as yes"),
}
_ANSWERS: Final = ("no", "yes")
_TWO: Final = 2
_FEW: Final = 4
_MOST_SHOWN: Final = 3
_LAST: Final = 2


@dataclasses.dataclass(frozen=True)
class _Words:
    """What words mean in a file, as `word_of` has them.

    Args:
        opinions: by the word, whoever knows it.
        given: those that somebody explained.
        silent: words for abstentions.
    """

    opinions: Mapping[str, int]
    given: Mapping[str, int]
    silent: Collection[str]

    @classmethod
    def of(cls, chosen: Chosen, entries: Collection[str]) -> "_Words":
        """Return what is known of the words among all entries."""
        said = {
            key: {word_of(word) for word in chosen.get(key, ()) if word != NONE or NONE in entries}
            for key in ("yes", "no", "abstain")
        }
        opinions = dict.fromkeys(known_words.YES, 1) | dict.fromkeys(known_words.NO | known_words.CROSSES, 0) | CODES
        given = dict.fromkeys(said["yes"], 1) | dict.fromkeys(said["no"], 0)
        opinions = {word: opinion for word, opinion in opinions.items() if word not in said["abstain"]} | given
        silent = {*known_words.OUR_ABSTENTIONS, *known_words.ABSTENTIONS, *said["abstain"]} - given.keys()
        return cls(opinions, given, silent)

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
        if given.get("-1") == 0:
            unsure -= {"1"}
        return given | {word: opinion for word, opinion in known.items() if word not in unsure}


def _draft(sheet: Sheet, chosen: Chosen) -> Draft:
    _check_header(sheet, chosen)
    sheet = _without_totals(sheet, chosen)
    words = _Words.of(chosen, {cell for row in sheet.rows for cell in row})
    left_out = [check_column(sheet, name, "leave-out") for name in chosen.get("leave-out", ()) if name != NONE]
    partner, about_names = _partner(sheet, chosen, words)
    sheet, repeats = _one_line_each(sheet, chosen, partner)
    weight = _weight(sheet, chosen, {partner, *left_out}, words)
    rest = [name for name in sheet.header if name not in {partner, weight, *left_out}]
    candidates = _candidates(sheet, chosen, rest, words)
    words = _explained(sheet, chosen, candidates, words)
    _check_answers(sheet, candidates, words)
    abstentions = _abstentions(sheet, chosen, candidates, words)
    renamed = {ours: own for ours, own in (("partner", partner), ("weight", weight)) if own and own != ours}
    lines = [Line("file", sheet.written, "a line for each partner")]
    if not partner:
        lines.append(Line("numbered", value=True, comment="it has no names"))
    if renamed:
        lines.append(Line("columns", renamed, "what the file calls them"))
    if repeats:
        lines.append(Line("repeats", repeats, _WHICH[repeats]))
    meant = _meant_by(sheet, chosen, candidates, words)
    lines += [Line(key, found) for key, found in meant.items() if found]
    if abstentions:
        lines.append(Line("abstentions", abstentions, _BECOME[abstentions]))
    if without := [label for label in chosen.get("without", ()) if label != NONE]:
        lines.append(Line("without", without, "no partners"))
    by = marked(f"by the column {partner!r}") if partner else marked("by their numbers")
    said = [marked(f"{sheet.count(len(sheet.rows))} partners {by!s}; voted on: {', '.join(candidates)}."), *about_names]
    said += [
        say_number(
            "{words} means {key}.", "{words} mean {key}.", len(found), words=", ".join(map(repr, found)), key=key
        )
        for key, found in meant.items()
        if found and key != "abstain"
    ]
    if abstentions:
        said.append(marked(f"Abstentions: {_BECOME[abstentions]!s}."))
    is_yes = {name: [words.opinions.get(word_of(entry)) == 1 for entry in sheet.column(name)] for name in candidates}
    parameters = [Line("candidates", candidates, "the columns that are voted on, each by itself")]
    majority, needed = _majority(sheet, chosen, weight, _num_absent(sheet, candidates, words, abstentions))
    parameters += majority
    said.append(needed)
    if weight:
        drafted = draft_weights(sheet, chosen, weight, is_yes=is_yes)
        parameters += drafted.parameters
        lines += drafted.parties
        said.append(drafted.said)
    else:
        said.append(marked("No column of weights: one person, one vote, and nothing is spent on weights."))
    others = [name for name in sheet.header if name not in {partner, weight, *candidates}]
    if others:
        said.append(marked(f"Not used: {', '.join(others)}."))
    said += [_of_several(sheet, name) for name in others if _holds_several(sheet.column(name))]
    is_paid = weight and all(line.key != "public_weights" for line in parameters)
    price = marked("the weight and one opinion together") if is_paid else marked("each opinion")
    parameters.append(Line("variant", "auto", "the most exact at this price with this trust"))
    title = say_again(f"A vote on {', '.join(candidates)}")
    return Draft(title=title, role="partner", price=price, parameters=parameters, parties=lines, said=said)


def _meant_by(sheet: Sheet, chosen: Chosen, candidates: Sequence[str], words: _Words) -> dict[str, list[str]]:
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
        found = {"yes": [], "no": []}
    silent = [entry for word, entry in used.items() if word in words.silent and word not in known_words.OUR_ABSTENTIONS]
    found["abstain"] = silent
    for key, entries in found.items():
        known = set(map(word_of, entries))
        given = {word_of(word): word for word in chosen.get(key, ())}
        entries += [word for short, word in given.items() if short not in known and (word != NONE or NONE in used)]
    return found


def _num_absent(sheet: Sheet, candidates: Sequence[str], words: _Words, abstentions: str) -> int:
    if abstentions != "absent":
        return 0
    return sum(word_of(entry) in words.silent for entry in sheet.column(candidates[0]))  # who is, is so from all


def _majority(sheet: Sheet, chosen: Chosen, weight: str, num_absent: int) -> tuple[list[Line], str]:
    """Return what a scenario says of the quota, and that as a sentence: more than half, or at least a share."""
    number = len(sheet.rows) - num_absent
    if not (given := chosen.get("quota", ())):
        of = marked("half of all weight") if weight else marked(f"{number / _TWO:,.12g} of {number:,} needed")
        said = marked(f"A candidate passes with more than half: more than {of!s}.")
        return [Line("passes", "more_than", "more than half; at_least: half is enough")], said
    share = share_in(given[-1], field="--quota")
    least = math.ceil(share * number)
    of = marked(f"{given[-1]} of all weight") if weight else marked(f"{least:,} of {number:,} needed")
    lines = [Line("quota_fraction", given[-1], "so much or more passes"), Line("passes", "at_least")]
    return lines, marked(f"A candidate passes with {given[-1]} or more: {of!s}.")


def _holds_several(entries: Sequence[str]) -> bool:
    """Return whether entries are lists of a few words, of which each stands in another one or by itself too."""
    for sign in (";", ","):
        parts = [[part.strip() for part in entry.split(sign) if part.strip()] for entry in entries if entry]
        counts = collections.Counter(itertools.chain.from_iterable(parts))
        if any(len(each) > 1 for each in parts) and sum(counts.values()) > len(counts) < len(entries):
            return True
    return False


def _of_several(sheet: Sheet, name: str) -> str:
    shown = next(entry for entry in sheet.column(name) if ";" in entry or "," in entry)
    return marked(
        f"{name!r} has several answers in a cell, such as {shown!r}: to vote on one of them, give it a column of its "
        "own with yes or no."
    )


def _check_header(sheet: Sheet, chosen: Chosen) -> None:
    """Raise ConfigurationError if the first line has an answer, or looks like a partner's, which would be lost."""
    for name in sheet.header:
        if name.casefold() in _HEADS:
            allowed = marked("the columns' names: this line has an answer. Put one above it, such as name,proposal")
            raise ConfigurationError(field=f"{sheet.path.name} line 1", value=",".join(sheet.header), allowed=allowed)
    options = ("partner", "weight", "candidate", "leave-out")
    names = {name for name in sheet.header if _plain(name) in {*_PERSONS, *_NAMES, "id"}}
    check_header(sheet, chosen, options=options, names={*names, *_WEIGHTS}, example="name,proposal")


def _plain(name: str) -> str:
    """Return a column's name in small letters, with single blanks between words."""
    return " ".join(re.split(r"[\s_.-]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold())).strip()


def _without_totals(sheet: Sheet, chosen: Chosen) -> Sheet:
    """Return the sheet without the lines that are said to be no partners; UnclearError for one that looks like totals.

    It is one of the last, is called so, and has other entries than answers.
    """
    given, partner = chosen.get("without", ()), chosen.get("partner", ())
    named = [name for name in sheet.header if _plain(name) in {*_PERSONS, *_NAMES} or name in partner]
    named.sort(key=lambda name: (name not in partner, _plain(name) not in _NAMES))  # Sum stands where names do
    place = 0 if NONE in partner or not named else sheet.header.index(named[0])
    out = {row for row, cells in enumerate(sheet.rows) if cells[place] in given}
    for row in range(max(0, len(sheet.rows) - _LAST), len(sheet.rows)):
        cells = sheet.rows[row]
        others = [cell for number, cell in enumerate(cells) if number != place]
        is_called = cells[place].casefold().rstrip(" :") in known_words.TOTALS
        is_odd = any(word_of(cell) not in {*CODES, *known_words.YES, *known_words.NO} for cell in others)
        if row not in out and is_called and NONE not in given and is_odd:
            name = cells[place]
            option = shlex.quote(name)
            question = marked(
                f"is line {sheet.lines[row]} of {sheet.path.name}, {name!r}, a member? If not, add --without {option}; "
                f"if so, --without {NONE}"
            )
            raise UnclearError(option="without", question=question, choices=[name, NONE])
    require(len(out) < len(sheet.rows), "--without", ", ".join(given), marked("a line among others"))
    return sheet.without(out)


def _partner(sheet: Sheet, chosen: Chosen, words: _Words) -> tuple[str, list[str]]:
    """Return the column of names, empty where partners are numbered, and sentences of it.

    It is as chosen, or one that is called so and has nearly as many names as lines, or the one whose entries all
    differ. A column that counts lines names nobody, so that partners are numbered.
    """
    if given := chosen.get("partner", ()):
        return ("" if given[-1] == NONE else check_column(sheet, given[-1], "partner")), []
    differing = [name for name in sheet.header if len(set(sheet.column(name)) - {""}) == len(sheet.rows)]
    for known in (_PERSONS, _NAMES):
        named = [name for name in sheet.header if _plain(name) in known]
        found = [name for name in named if name in differing] or [name for name in named if _is_near(sheet, name)]
        if found:
            return min(found, key=lambda name: known.index(_plain(name))), []
    ids = {name: found for name in differing if (found := _IDS.fullmatch(_plain(name)))}
    rows = [name for name, found in ids.items() if _ROWS.fullmatch(found[1] or "")]
    texts = [name for name in differing if all(_is_text(entry, words) for entry in sheet.column(name))]
    texts = [name for name in texts if not _KEPT_BY_PROGRAMS.fullmatch(_plain(name)) and name not in ids]
    found = [name for name in ids if name not in rows] or ([] if rows else texts)
    if len(found) == 1 and len(sheet.rows) > _TWO:
        return found[0], []
    if rows and not found:
        return "", [
            marked(f"Each line counts as one person's: {rows[0]!r} numbers lines, and no column names persons.")
        ]
    question = f"which column has a different name for each partner, or {NONE!r}: they are numbered"
    choices = [name for name in sheet.header if not _are_times(sheet, name)]
    raise UnclearError(option="partner", question=question, choices=[NONE, *choices])


def _is_near(sheet: Sheet, name: str) -> bool:
    """Return whether a column has a name in nearly every line, but some more than once."""
    entries = [alike(entry) for entry in sheet.column(name) if entry]
    return _TWO * len(set(entries)) >= len(sheet.rows) and len(entries) == len(sheet.rows)


def _are_times(sheet: Sheet, name: str) -> bool:
    entries = [entry for entry in sheet.column(name) if entry]
    return bool(entries) and all(_DATE.match(entry) or any_number(entry) > _LONG_AGO for entry in entries)


def _is_text(entry: str, words: _Words) -> bool:
    is_answer = word_of(entry) in words.opinions or word_of(entry) in words.silent
    return math.isnan(any_number(entry)) and not is_answer and not _DATE.match(entry)


_WHICH: Final = {
    "first": marked("of several lines of one name this one counts"),
    "last": marked("of several lines of one name this one counts"),
    "none": marked("names that are nearly alike are different persons'"),
}


def _one_line_each(sheet: Sheet, chosen: Chosen, partner: str) -> tuple[Sheet, str]:
    """Return a line of each partner, and which that is of several; empty where each has one.

    Raises:
        UnclearError: it is not said which of several lines counts, or whether names that are nearly alike are one's.
    """
    if not partner:
        return sheet, ""
    rows = dict[str, list[int]]()
    names = sheet.column(partner)
    for row, name in enumerate(names):
        rows.setdefault(alike(name), []).append(row)
    several = [each for each in rows.values() if len(each) > 1]
    if not several:
        return sheet, ""
    same = [each for each in several if len({names[row] for row in each}) < len(each)]
    choices = ["last", "first", *([] if same else [NONE])]
    given = chosen.get("repeats", ("",))[-1]
    if given not in choices:
        shown = (same or several)[0]
        lines = " and ".join(str(sheet.lines[row]) for row in shown[:_MOST_SHOWN])
        more = marked(f", and {len(several) - 1:,} more names so") if len(several) > 1 else ""
        fits = marked(
            f"{partner!r} names {len(rows):,} persons in {len(names):,} lines: {names[shown[0]]!r} stands in lines "
            f"{lines}{more!s}"
        )
        one = marked("which of one person's lines counts")
        one = one if same else marked(f"which counts, if that is one person, or {NONE!r}: these are different persons")
        question = marked(f"{fits!s}; {one!s}? A file with a line for each vote needs --only too, for one motion")
        raise UnclearError(option="repeats", question=question.removesuffix("?"), choices=choices)
    if given == NONE:
        return sheet, NONE
    kept = {each[0 if given == "first" else -1] for each in rows.values()}
    return sheet.without(set(range(len(names))) - kept), given


def _weight(sheet: Sheet, chosen: Chosen, taken: Collection[str], words: _Words) -> str:
    """Return the column of weights; empty where there is none, and UnclearError where one may be."""
    if given := chosen.get("weight", ()):
        return "" if given[-1] == NONE else check_column(sheet, given[-1], "weight")
    others = [name for name in sheet.header if name not in {*taken, *chosen.get("candidate", ())}]
    named = [name for name in others if name.casefold() in _WEIGHTS and not _has_answers(sheet, name, words)]
    numbers = [name for name in others if are_numbers(sheet.column(name)) and all(sheet.column(name))]
    numbers = [name for name in numbers if not _is_noted(sheet, name)]
    numbers = [name for name in numbers if name not in _places(sheet, numbers)]
    if len(named) == 1:
        return named[0]
    if numbers := named or numbers:
        question = f"which column holds weights, or {NONE!r} where everybody has one vote"
        raise UnclearError(option="weight", question=question, choices=[*numbers, NONE])
    return ""


def _is_noted(sheet: Sheet, name: str) -> bool:
    """Return whether a column holds what a program notes beside answers: an id, a time, how far somebody came."""
    plain = _plain(name)
    return bool(_IDS.fullmatch(plain) or _KEPT_BY_PROGRAMS.fullmatch(plain)) or _are_times(sheet, name)


def _places(sheet: Sheet, numbers: Sequence[str]) -> set[str]:
    """Return columns that rank alternatives, one for each: every line has the places from 1 on in them, each once."""
    ranked = [name for name in numbers if all(entry.isdigit() for entry in sheet.column(name))]
    rows = list(zip(*(map(int, sheet.column(name)) for name in ranked), strict=True))
    every = list(range(1, len(ranked) + 1))
    return set(ranked) if len(ranked) > 1 and all(sorted(row) == every for row in rows) else set()


def _has_answers(sheet: Sheet, name: str, words: _Words) -> bool:
    return any(word_of(entry) in words.opinions and not entry.isdigit() for entry in sheet.column(name))


def _looks_voted(sheet: Sheet, name: str, words: _Words) -> bool:
    """Return whether a column looks like a motion: half of it are answers, or it has few words, with one among them."""
    entries = [word_of(entry) for entry in sheet.column(name) if entry]
    if words.given and set(entries) <= words.given.keys() | set(words.silent):
        return not words.given.keys().isdisjoint(entries)
    if are_numbers(entries) or (_is_noted(sheet, name) and all(any_number(entry) >= 0 for entry in entries)):
        return False
    answers = [entry for entry in entries if entry in words.opinions]
    distinct = set(entries) - set(words.silent)
    return bool(answers) and (_TWO * len(answers) >= len(entries) or len(distinct) <= _FEW)


def _is_sign(sheet: Sheet, name: str, words: _Words) -> bool:
    """Return whether a column has true and false, or 1 and 0, alone, or one word beside empty entries, as a tick is."""
    entries = {word_of(entry) for entry in sheet.column(name)}
    given = entries - {""}
    if not given.isdisjoint(words.given):
        return False
    is_truth = given <= {"true", "false"} or given <= {"1", "0"}
    return is_truth or (len(given) == 1 and "" in entries)


def _candidates(sheet: Sheet, chosen: Chosen, rest: Sequence[str], words: _Words) -> list[str]:
    """Return the columns that are voted on; UnclearError where one may be, by two words that nobody has explained."""
    if given := chosen.get("candidate", ()):
        return [check_column(sheet, name, "candidate") for name in given]
    found = [name for name in rest if _looks_voted(sheet, name, words)]
    signs = [name for name in found if _is_sign(sheet, name, words)]
    unsure = [name for name in signs if len(signs) < len(found) or _STATUS.fullmatch(_plain(name))]
    unknown = {name: _unknown(sheet, name, words) for name in rest if name not in found and not _is_noted(sheet, name)}
    of_two = {name: pair for name, pair in unknown.items() if len(pair) == _TWO and not are_numbers(pair)}
    pairs = {name: pair for name, pair in of_two.items() if sum(map(bool, sheet.column(name))) > _TWO}
    unsure += pairs if found else ()
    if unsure and NONE not in chosen.get("leave-out", ()):
        name = unsure[0]
        shown = _counted(sheet, name, list(dict.fromkeys(sheet.column(name))))
        question = marked(
            f"{name!r} has {shown!s}: is it left out, or {NONE!r}: it is voted on (or say with --candidate what is)"
        )
        raise UnclearError(option="leave-out", question=question, choices=[name, NONE])
    if not found and not pairs:
        pairs = of_two
    if not found and len(set(map(frozenset, pairs.values()))) > 1:
        question = "which column has the answers, yes or no; then --yes and --no say which word is which"
        raise UnclearError(option="candidate", question=question, choices=list(pairs))
    found = [name for name in rest if name in found or name in pairs]
    if found:
        return found
    require(rest, sheet.path.name, list(sheet.header), "a column with the answers, yes or no")
    if len(rest) == 1:  # whose entries are refused, with their places
        return list(rest)
    likely = sorted(rest, key=lambda name: _is_noted(sheet, name))
    raise UnclearError(option="candidate", question="which column has the answers, yes or no", choices=likely)


def _unknown(sheet: Sheet, name: str, words: _Words) -> list[str]:
    """Return the words of a column that nobody has explained, in their order."""
    distinct: dict[str, str] = {}
    for entry in sheet.column(name):
        distinct.setdefault(word_of(entry), entry)
    known = words.meanings(sheet.column(name))
    return [entry for word, entry in distinct.items() if word not in known and word not in words.silent]


def _meant(entry: str, entries: Sequence[str], words: _Words) -> str:
    """Return a hint at the answer that an entry nearly is: one that its column has, or yes or no; a sign is no typo."""
    if len(entry) < _TWO or not math.isnan(any_number(entry)):
        return ""
    known = {"yes", "no", *(word for word in map(word_of, entries) if len(word) > 1)}
    return did_you_mean(word_of(entry), known & words.opinions.keys())


def _counted(sheet: Sheet, name: str, entries: Sequence[str]) -> str:
    column = sheet.column(name)
    each = [
        f"{entry!r} ({column.count(entry):,}×)" if entry else f"nothing ({column.count(''):,}×)" for entry in entries
    ]
    return in_a_row(each[: 2 * _FEW])


def _explained(sheet: Sheet, chosen: Chosen, candidates: Sequence[str], words: _Words) -> _Words:
    """Return words with the meaning of the one that is left where the other one was given; UnclearError for others.

    A word that is nearly one that is known is a typo, and left to be refused, as are columns of more than a few words.
    """
    for name in candidates:
        entries = sheet.column(name)
        own, known = _unknown(sheet, name, words), words.meanings(entries)
        sides = set(known.values())
        if not own or len(own) > _FEW or any(_meant(word, entries, words) for word in own) or are_numbers(own):
            continue
        is_left = len(own) == 1 and known.keys() <= words.given.keys() and own[0].casefold() not in known_words.UNSURE
        if is_left and len(sides) == 1 and not chosen.get(_ANSWERS[1 - min(sides)]):
            given = {word_of(own[0]): 1 - min(sides)}
            words = dataclasses.replace(words, opinions={**words.opinions, **given}, given={**words.given, **given})
            continue
        shown = [entry for entry in dict.fromkeys(entries) if word_of(entry) not in words.silent]
        has = marked(f"{name!r} has {_counted(sheet, name, shown)!s}")
        for option, is_due in (("yes", 1 not in sides), ("no", 0 not in sides)):
            if is_due and NONE not in chosen.get(option, ()):
                choices = own if len(own) > 1 else [*own, NONE]
                raise UnclearError(option=option, question=marked(f"{has!s}: which means {option!s}"), choices=choices)
        for option in ("abstain", "no", "yes"):
            if NONE not in chosen.get(option, ()):
                question = marked(f"{has!s}: does {own[0]!r} mean {option!s}")
                raise UnclearError(option=option, question=question, choices=[own[0], NONE])
    return words


def _check_answers(sheet: Sheet, candidates: Sequence[str], words: _Words) -> None:
    """Raise ConfigurationError for entries that nobody has explained: the first by its place, and some more."""
    wrong = [
        (name, row, entry)
        for name in candidates
        for unknown in [{word_of(each) for each in _unknown(sheet, name, words)}]
        for row, entry in enumerate(sheet.column(name))
        if word_of(entry) in unknown
    ]
    if not wrong:
        return
    name, row, entry = wrong[0]
    also = [marked(f"also {entry!r} in {sheet.where(name, row)!s}") for name, row, entry in wrong[1:_MOST_SHOWN]]
    more = "".join(f"; {each}" for each in also)
    more += "; " + marked(f"and {len(wrong) - _MOST_SHOWN:,} more") if len(wrong) > _MOST_SHOWN else ""
    meant = _meant(entry, sheet.column(name), words)
    allowed = marked(
        f"yes or no{meant!s}; other words are given with --yes WORD, --no WORD or --abstain WORD, and a column that is "
        f"not voted on with --leave-out{more!s}"
    )
    raise ConfigurationError(field=sheet.where(name, row), value=entry, allowed=allowed)


def _abstentions(sheet: Sheet, chosen: Chosen, candidates: Sequence[str], words: _Words) -> str:
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
    given, (row, names) = (*chosen.get("abstentions", ("",)),)[-1], some[0]
    in_part = next(((row, names) for row, names in some if len(names) < len(candidates)), None)
    if given in {"no", "yes"} or (given == "absent" and in_part is None):
        return given
    row, names = some[0] if in_part is None else in_part
    said = sheet.column(names[0])[row]
    counts = collections.Counter(entries[row] for row, _ in some for _, entries in columns)
    silent = [entry for entry in counts if word_of(entry) in words.silent]
    shown = in_a_row([marked(f"{entry!r} {counts[entry]:,}×") for entry in silent])
    empty = marked("; or leave lines with an empty answer out (--leave-out-empty)") if "" in counts else ""
    where = marked(
        f"{sheet.where(names[0], row)!s} says {said or 'nothing'!r}, and {len(some):,} of {len(sheet.rows):,}"
    )
    if in_part is None:
        question = marked(
            f"{where!s} abstain ({shown!s}): are they absent, as everybody will see, or do they count as no or yes, by "
            f"your rules{empty!s}"
        )
        raise UnclearError(option="abstentions", question=question, choices=["absent", "no", "yes"])
    question = marked(
        f"{where!s} abstain in a motion ({shown!s}); {known_words.ONE_SESSION!s}, so that nobody can be absent from "
        f"one alone: do abstentions count as no or yes, by your rules? Or hold a vote for each motion (--candidate) from "
        f"which who abstains is absent{empty!s}"
    )
    raise UnclearError(option="abstentions", question=question, choices=["no", "yes"])


BEGINNING: Final = Beginning(
    word="vote",
    help="A vote with yes or no on one or more candidates. FILE has a line for each partner: a name, "
    "the answer on each candidate, and perhaps a weight.",
    options=(
        Option("partner", f"The column of names, or {NONE!r}: partners are numbered.", multiple=False),
        Option("weight", f"The column of weights, or {NONE!r}: one person, one vote.", multiple=False),
        Option("public-weights", "Everybody knows the weights anyway: nothing is spent on them.", is_flag=True),
        Option("round-weights", "Private weights become multiples of this.", metavar="STEP", multiple=False),
        Option("decimal", "The sign before the decimals of weights.", metavar="SIGN", multiple=False),
        Option("candidate", "A column that is voted on (default: each that holds yes and no)."),
        Option("leave-out", f"A column that is not voted on, or {NONE!r}: all that look so are."),
        Option("yes", "A word for yes, beside yes, y, true, 1 and those of other languages.", metavar="WORD"),
        Option("no", "A word for no, beside no, n, false, 0 and those of other languages.", metavar="WORD"),
        Option("abstain", "A word for an abstention, beside an empty entry.", metavar="WORD"),
        Option("abstentions", "What becomes of who abstains: absent, no or yes.", metavar="WHAT", multiple=False),
        Option("without", "The name of a line that is no partner, such as Total.", metavar="NAME"),
        Option(
            "repeats",
            f"Which line counts of a partner who has several: last or first; or {NONE!r}: names that differ in case or "
            "blanks alone are different persons'.",
            metavar="WHICH",
            multiple=False,
        ),
        Option(
            "quota",
            "So much or more passes: 2/3, 75% or a decimal (default: more than half).",
            metavar="SHARE",
            multiple=False,
        ),
    ),
    draft=_draft,
    shown="votes",
    sample="committee.csv",
    epsilon=2.0,
    wanted=("partner",),
)
