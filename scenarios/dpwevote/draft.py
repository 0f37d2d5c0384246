"""A first vote of one's own: who the partners are, what is voted on, which words mean yes and no, weights or none.

The rule that holds here: a column that looks like a motion is voted on, or refused with line and entry, or asked about;
it is left out where that was said. An entry counts for what it says, and nothing is taken for the likeliest.
"""

import dataclasses
import math
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from ...protocol.dpwevote.protocol import OPINIONS
from ...protocol.errors import ConfigurationError, did_you_mean, require
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
    chosen_column,
)
from ..words import marked, say_again, say_number
from . import words as known_words
from .draft_weights import any_number, are_numbers, draft_weights

__all__ = ["BEGINNING"]

# The first of these that a header has, and whose entries differ.
_NAMES: Final = (
    *("partner", "name", "names", "nom", "nombre", "nome", "naam", "namn", "mitglied", "member", "person", "voter"),
    *("company", "state", "email", "e-mail", "mail", "id"),
)
_IDS: Final = re.compile(r"(.*[\s_-])?(id|nr|no|number|code)\.?", re.IGNORECASE)
_WEIGHTS: Final = ("weight", "weights", "gewicht", "stimmen", "stimmrecht", "poids", "peso", "shares", "votes")
_HEADS: Final = frozenset({*OPINIONS, "ja", "nein", "oui", "non", "sí"})  # no header, but somebody's answer
_DATE: Final = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}|\d{1,2}:\d{2}")
_BECOME: Final = {
    "absent": marked("absent from the vote, as everybody can see"),
    "no": marked("they count as no"),
    "yes": marked("they count as yes"),
}
_TWO: Final = 2
_FEW: Final = 4
_MOST_SHOWN: Final = 3
_LAST: Final = 2


@dataclasses.dataclass(frozen=True)
class _Words:
    """What words mean in a file: opinions by the word, those for abstentions, and all in small letters."""

    opinions: Mapping[str, int]
    silent: Collection[str]

    @classmethod
    def of(cls, chosen: Chosen, entries: Collection[str]) -> "_Words":
        """Return what is known of the words among all entries."""
        said = {key: {word.casefold() for word in chosen.get(key, ())} for key in ("yes", "no", "abstain")}
        no = known_words.NO | (known_words.CROSSES if not known_words.TICKS.isdisjoint(entries) else set[str]())
        opinions = dict.fromkeys(known_words.YES, 1) | dict.fromkeys(no, 0) | {"1": 1, "0": 0}
        opinions |= {word: int(opinion) for word, opinion in OPINIONS.items()}
        opinions = {word: opinion for word, opinion in opinions.items() if word not in said["abstain"]}
        opinions |= dict.fromkeys(said["yes"], 1) | dict.fromkeys(said["no"], 0)
        silent = {*known_words.OUR_ABSTENTIONS, *known_words.ABSTENTIONS, *said["abstain"]} - said["yes"] - said["no"]
        return cls(opinions, silent)


def _draft(sheet: Sheet, chosen: Chosen) -> Draft:
    _check_header(sheet, chosen)
    sheet = _without_totals(sheet, chosen)
    words = _Words.of(chosen, {cell.casefold() for row in sheet.rows for cell in row})
    left_out = [check_column(sheet, name, "leave-out") for name in chosen.get("leave-out", ()) if name != NONE]
    partner = _partner(sheet, chosen, words)
    weight = _weight(sheet, chosen, {partner, *left_out}, words)
    rest = [name for name in sheet.header if name not in {partner, weight, *left_out}]
    candidates = _candidates(sheet, chosen, rest, words)
    words = _with_the_other(sheet, chosen, candidates, words)
    _check_answers(sheet, candidates, words)
    abstentions = _abstentions(sheet, chosen, candidates, words)
    renamed = {ours: own for ours, own in (("partner", partner), ("weight", weight)) if own and own != ours}
    lines = [Line("file", sheet.written, "a line for each partner")]
    if not partner:
        lines.append(Line("numbered", value=True, comment="it has no names"))
    if renamed:
        lines.append(Line("columns", renamed, "what the file calls them"))
    used = list(dict.fromkeys(entry for name in candidates for entry in sheet.column(name)))
    own = [word for word in used if word and word.casefold() not in {*OPINIONS, "1", "0", *known_words.OUR_ABSTENTIONS}]
    opinions = [words.opinions.get(word.casefold()) for word in own]
    meant = {  # with all words that were given, which are held against what they mean anyway
        key: list(
            dict.fromkeys([*chosen.get(key, ()), *(w for w, o in zip(own, opinions, strict=True) if o == opinion)])
        )
        for key, opinion in (("yes", 1), ("no", 0), ("abstain", None))
    }
    lines += [Line(key, found) for key, found in meant.items() if found]
    if abstentions:
        lines.append(Line("abstentions", abstentions, _BECOME[abstentions]))
    if without := [label for label in chosen.get("without", ()) if label != NONE]:
        lines.append(Line("without", without, "no partners"))
    by = marked(f"by the column {partner!r}") if partner else marked("by their numbers")
    said = [marked(f"{sheet.count(len(sheet.rows))} partners {by!s}; voted on: {', '.join(candidates)}.")]
    said += [
        say_number(
            "{words} means {key}.", "{words} mean {key}.", len(found), words=", ".join(map(repr, found)), key=key
        )
        for key, found in meant.items()
        if found and key != "abstain"
    ]
    if abstentions:
        said.append(marked(f"Abstentions: {_BECOME[abstentions]!s}."))
    parameters = [Line("candidates", candidates, "the columns that are voted on, each by itself")]
    if weight:
        drafted = draft_weights(sheet, chosen, weight)
        parameters += drafted.parameters
        lines += drafted.parties
        said.append(drafted.said)
    else:
        said.append(marked("No column of weights: one person, one vote, and nothing is spent on weights."))
    others = [name for name in sheet.header if name not in {partner, weight, *candidates}]
    if others:
        said.append(marked(f"Not used: {', '.join(others)}."))
    is_paid = weight and all(line.key != "public_weights" for line in parameters)
    price = marked("the weight and one opinion together") if is_paid else marked("each opinion")
    parameters.append(Line("variant", "auto", "the most exact at this price with this trust"))
    title = say_again(f"A vote on {', '.join(candidates)}")
    return Draft(title=title, role="partner", price=price, parameters=parameters, parties=lines, said=said)


def _check_header(sheet: Sheet, chosen: Chosen) -> None:
    """Raise ConfigurationError if the first line has an answer, or looks like a partner's, which would be lost."""
    for name in sheet.header:
        if name.casefold() in _HEADS:
            allowed = marked("the columns' names: this line has an answer. Put one above it, such as name,proposal")
            raise ConfigurationError(field=f"{sheet.path.name} line 1", value=",".join(sheet.header), allowed=allowed)
    options = ("partner", "weight", "candidate", "leave-out")
    check_header(sheet, chosen, options=options, names={*_NAMES, *_WEIGHTS}, example="name,proposal")


def _without_totals(sheet: Sheet, chosen: Chosen) -> Sheet:
    """Return the sheet without the lines that are said to be no partners; UnclearError for one that looks like totals.

    It is one of the last, is called so, and has other entries than answers.
    """
    given = chosen.get("without", ())
    named = [name for name in chosen.get("partner", ()) if name in sheet.header]
    place = sheet.header.index(named[-1]) if named else 0
    place = next((sheet.header.index(name) for name in sheet.header if name.casefold() in _NAMES), place)
    answers = {*OPINIONS, *known_words.YES, *known_words.NO, "1", "0"}
    out = {row for row, cells in enumerate(sheet.rows) if cells[place] in given}
    for row in range(max(0, len(sheet.rows) - _LAST), len(sheet.rows)):
        cells = sheet.rows[row]
        others = [cell for number, cell in enumerate(cells) if number != place]
        is_called = cells[place].casefold().rstrip(" :") in known_words.TOTALS
        is_odd = any(cell.casefold() not in answers for cell in others)
        if row not in out and is_called and NONE not in given and is_odd:
            name, line = sheet.path.name, sheet.lines[row]
            question = f"line {line} of {name} is {cells[place]!r}: which line is no partner's, or {NONE!r}"
            raise UnclearError(option="without", question=question, choices=[cells[place], NONE])
    require(len(out) < len(sheet.rows), "--without", ", ".join(given), marked("a line among others"))
    return sheet.without(out)


def _partner(sheet: Sheet, chosen: Chosen, words: _Words) -> str:
    """Return the column of names: as chosen, by its name, or the one whose entries all differ; empty where none is."""
    question = f"which column has a different name for each partner, or {NONE!r}: they are numbered"
    if not chosen.get("partner"):
        differing = [name for name in sheet.header if len(set(sheet.column(name)) - {""}) == len(sheet.rows)]
        named = sorted((_NAMES.index(name.casefold()), name) for name in sheet.header if name.casefold() in _NAMES)
        if named:
            return next((name for _, name in named if name in differing), named[0][1])
        ids = [name for name in differing if _IDS.fullmatch(name)]
        texts = [name for name in differing if all(_is_text(entry, words) for entry in sheet.column(name))]
        found = ids or texts
        if len(found) == 1 and len(sheet.rows) > _TWO:
            return found[0]
    return chosen_column(sheet, chosen, "partner", names=_NAMES, question=question, may_lack=True)


def _is_text(entry: str, words: _Words) -> bool:
    is_answer = entry.casefold() in words.opinions or entry.casefold() in words.silent
    return math.isnan(any_number(entry)) and not is_answer and not _DATE.match(entry)


def _weight(sheet: Sheet, chosen: Chosen, taken: Collection[str], words: _Words) -> str:
    """Return the column of weights; empty where there is none, and UnclearError where one may be."""
    if given := chosen.get("weight", ()):
        return "" if given[-1] == NONE else check_column(sheet, given[-1], "weight")
    others = [name for name in sheet.header if name not in {*taken, *chosen.get("candidate", ())}]
    numbers = [name for name in others if are_numbers(sheet.column(name)) and not _IDS.fullmatch(name)]
    named = [name for name in others if name.casefold() in _WEIGHTS and not _has_answers(sheet, name, words)]
    if len(named) == 1:
        return named[0]
    if numbers := named or numbers:
        question = f"which column holds weights, or {NONE!r} where everybody has one vote"
        raise UnclearError(option="weight", question=question, choices=[*numbers, NONE])
    return ""


def _has_answers(sheet: Sheet, name: str, words: _Words) -> bool:
    return any(entry.casefold() in words.opinions and not entry.isdigit() for entry in sheet.column(name))


def _looks_voted(sheet: Sheet, name: str, words: _Words) -> bool:
    """Return whether a column looks like a motion: half of it are answers, or it has few words, with one among them."""
    entries = [entry.casefold() for entry in sheet.column(name) if entry]
    if are_numbers(entries):
        return False
    answers = [entry for entry in entries if entry in words.opinions or entry in known_words.CROSSES]
    distinct = set(entries) - set(words.silent)
    return bool(answers) and (_TWO * len(answers) >= len(entries) or len(distinct) <= _FEW)


def _candidates(sheet: Sheet, chosen: Chosen, rest: Sequence[str], words: _Words) -> list[str]:
    """Return the columns that are voted on; UnclearError where one may be, by two words that nobody has explained."""
    if given := chosen.get("candidate", ()):
        return [check_column(sheet, name, "candidate") for name in given]
    found = [name for name in rest if _looks_voted(sheet, name, words)]
    unknown = {name: _unknown(sheet, name, words) for name in rest if name not in found}
    of_two = {name: pair for name, pair in unknown.items() if len(pair) == _TWO and not are_numbers(pair)}
    pairs = {name: pair for name, pair in of_two.items() if sum(map(bool, sheet.column(name))) > _TWO}
    is_said = NONE in chosen.get("leave-out", ())
    if found and pairs and not is_said:
        name, (one, other) = next(iter(pairs.items()))
        question = f"{name!r} has {_counted(sheet, name, (one, other))}: is it left out, or {NONE!r}: it is voted on"
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
    raise UnclearError(option="candidate", question="which column has the answers, yes or no", choices=rest)


def _unknown(sheet: Sheet, name: str, words: _Words) -> list[str]:
    """Return the words of a column that nobody has explained, in their order."""
    distinct: dict[str, str] = {}
    for entry in sheet.column(name):
        distinct.setdefault(entry.casefold(), entry)
    return [entry for word, entry in distinct.items() if word not in words.opinions and word not in words.silent]


def _meant(entry: str, entries: Sequence[str], words: _Words) -> str:
    """Return a hint at the answer that an entry nearly is: one that its column has, or yes or no."""
    return did_you_mean(entry.casefold(), {*OPINIONS, *(each.casefold() for each in entries)} & words.opinions.keys())


def _counted(sheet: Sheet, name: str, entries: Sequence[str]) -> str:
    return " and ".join(f"{entry!r} ({sheet.column(name).count(entry):,}×)" for entry in entries)


def _with_the_other(sheet: Sheet, chosen: Chosen, candidates: Sequence[str], words: _Words) -> _Words:
    """Return words with the meaning of the one that is left, where the other one is given; UnclearError for two.

    A word that is nearly one that is known is a typo, and left to be refused.
    """
    unknown = list(dict.fromkeys(each for name in candidates for each in _unknown(sheet, name, words)))
    given = {key for key in ("yes", "no") if chosen.get(key)}
    columns = [entry for name in candidates for entry in sheet.column(name)]
    is_typo = any(_meant(word, columns, words) for word in unknown)
    if len(unknown) == 1 and len(given) == 1 and not is_typo:
        return dataclasses.replace(words, opinions={**words.opinions, unknown[0].casefold(): int(given == {"no"})})
    for name in candidates:
        own = _unknown(sheet, name, words)
        entries = [entry.casefold() for entry in sheet.column(name)]
        answers = {words.opinions[entry] for entry in entries if entry in words.opinions}
        is_silent = any(entry in words.silent for entry in entries)
        is_pair = len(own) + (len(answers) or is_silent) == _TWO and len(own) == len(unknown)
        if own and is_pair and not is_typo and not are_numbers(own):
            option = "no" if 1 in answers or "yes" in given else "yes"
            shown = [entry for entry in dict.fromkeys(sheet.column(name)) if entry.casefold() not in words.silent]
            question = f"{name!r} has {_counted(sheet, name, shown)}: which means {option!s}"
            raise UnclearError(option=option, question=question, choices=own)
    return words


def _check_answers(sheet: Sheet, candidates: Sequence[str], words: _Words) -> None:
    """Raise ConfigurationError for entries that nobody has explained: the first by its place, and some more."""
    wrong = [
        (name, row, entry)
        for name in candidates
        for row, entry in enumerate(sheet.column(name))
        if entry.casefold() not in words.opinions and entry.casefold() not in words.silent
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

    Raises:
        ConfigurationError: a partner abstains in some motions alone, and is not said to count in all.
    """
    columns = [(name, sheet.column(name)) for name in candidates]
    rows = [
        (row, [name for name, entries in columns if entries[row].casefold() in words.silent])
        for row in range(len(sheet.rows))
    ]
    some = [(row, names) for row, names in rows if names]
    if not some:
        return ""
    given, (row, names) = (*chosen.get("abstentions", ("",)),)[-1], some[0]
    in_part = next(((row, names) for row, names in some if len(names) < len(candidates)), None)
    if given in {"no", "yes"} or (given == "absent" and in_part is None):
        return given
    if in_part is None:
        said = sheet.column(names[0])[row] or "nothing"
        question = (
            f"{sheet.where(names[0], row)!s} says {said!r}, and {len(some):,} of {len(sheet.rows):,} abstain: are they "
            "absent, as everybody will see, or do they count as no or yes, by your rules"
        )
        raise UnclearError(option="abstentions", question=question, choices=["absent", "no", "yes"])
    row, names = in_part
    allowed = marked(
        f"yes or no: {known_words.ONE_SESSION!s}, so that nobody can abstain in one alone. Hold a vote for each "
        f"motion, from which who abstains is absent (`psephos new vote {shlex.quote(str(sheet.path))} --candidate "
        f"{shlex.quote(names[0])} --abstentions absent`); or count abstentions by your rules (--abstentions no, or yes)"
    )
    raise ConfigurationError(field=sheet.where(names[0], row), value=sheet.column(names[0])[row], allowed=allowed)


BEGINNING: Final = Beginning(
    word="vote",
    help="A vote with yes or no on one or more candidates. FILE has a line for each partner: a name, "
    "the answer on each candidate, and perhaps a weight.",
    options=(
        Option("partner", f"The column of names, or {NONE!r}: partners are numbered.", multiple=False),
        Option("weight", f"The column of weights, or {NONE!r}: one person, one vote.", multiple=False),
        Option("public-weights", "Everybody knows the weights anyway: nothing is spent on them.", is_flag=True),
        Option(
            "round-weights",
            "Each weight is rounded by this share of it at most, such as 5%.",
            metavar="SHARE",
            multiple=False,
        ),
        Option("decimal", "The sign before the decimals of weights.", metavar="SIGN", multiple=False),
        Option("candidate", "A column that is voted on (default: each that holds yes and no)."),
        Option("leave-out", f"A column that is not voted on, or {NONE!r}: all that look so are."),
        Option("yes", "A word for yes, beside yes, y, true, 1 and those of other languages.", metavar="WORD"),
        Option("no", "A word for no, beside no, n, false, 0 and those of other languages.", metavar="WORD"),
        Option("abstain", "A word for an abstention, beside an empty entry.", metavar="WORD"),
        Option("abstentions", "What becomes of who abstains: absent, no or yes.", metavar="WHAT", multiple=False),
        Option("without", "The name of a line that is no partner, such as Total.", metavar="NAME"),
    ),
    draft=_draft,
    shown="votes",
    sample="committee.csv",
    epsilon=2.0,
    wanted=("partner",),
)
