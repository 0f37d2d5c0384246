"""A first vote of one's own: who the partners are, what is voted on, which words mean yes and no, weights or none."""

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from ...protocol.dpwevote.protocol import OPINIONS
from ...protocol.errors import ConfigurationError, require
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

__all__ = ["BEGINNING"]

_NAMES: Final = ("partner", "name", "member", "person", "voter", "company", "state")
_WEIGHTS: Final = ("weight", "weights", "shares", "votes")
_ANSWERS: Final = frozenset({*OPINIONS, "1", "0"})
_TWO: Final = 2


def _draft(sheet: Sheet, chosen: Chosen) -> Draft:
    """Return a draft of a vote. See `Beginning`."""
    _check_header(sheet, chosen)
    question = f"which column has a different name for each partner, or {NONE!r}: they are numbered"
    partner = chosen_column(sheet, chosen, "partner", names=_NAMES, question=question, may_lack=True)
    weight = _weight(sheet, chosen, partner)
    rest = [name for name in sheet.header if name not in {partner, weight}]
    words = {key: [word.casefold() for word in chosen.get(key, ())] for key in ("yes", "no")}
    known = _ANSWERS.union(*words.values())
    candidates = _candidates(sheet, chosen, rest, known)
    for name in candidates:
        _check_answers(sheet, name, known, chosen)
    renamed = {ours: own for ours, own in (("partner", partner), ("weight", weight)) if own and own != ours}
    lines = [Line("file", sheet.written, "a line for each partner")]
    if not partner:
        lines.append(Line("numbered", value=True, comment="it has no names"))
    if renamed:
        lines.append(Line("columns", renamed, "what the file calls them"))
    lines += [Line(key, list(chosen[key])) for key in ("yes", "no") if chosen.get(key)]
    parameters = [Line("candidates", candidates, "the columns that are voted on, each by itself")]
    is_public = bool(chosen.get("public-weights"))
    if weight:
        weights = sorted({_number(entry, sheet, weight) for entry in sheet.column(weight)})
        is_public = is_public or len(weights) == 1  # then there is nothing to learn
        comment = "public: nothing is spent on them" if is_public else "everybody may know that these are possible"
        parameters.append(Line("weights", weights, comment))
        if is_public:
            parameters.append(Line("public_weights", value=True, comment="everybody knows who has which weight"))
    by = f"by the column {partner!r}" if partner else "by their numbers"
    said = [f"{sheet.count(len(sheet.rows))} partners {by}; voted on: {', '.join(candidates)}."]
    if weight:
        said.append(f"Weights are those of the column {weight!r}, and {'public' if is_public else 'private'}.")
    else:
        said.append("No column of weights: one person, one vote, and nothing is spent on weights.")
    left_out = [name for name in rest if name not in candidates]
    if left_out:
        said.append(f"Not used: {', '.join(left_out)}.")
    price = "the weight and one opinion together" if weight else "each opinion"
    title = f"A vote on {', '.join(candidates)}"
    return Draft(title=title, role="partner", price=price, parameters=parameters, parties=lines, said=said)


def _check_header(sheet: Sheet, chosen: Chosen) -> None:
    """Raise ConfigurationError if the first line has an answer, or looks like a partner's, which would be lost."""
    for name in sheet.header:
        if name.casefold() in _ANSWERS and not name.isdigit():
            allowed = "the columns' names: this line has an answer. Put one above it, such as name,proposal"
            raise ConfigurationError(field=f"{sheet.path.name} line 1", value=",".join(sheet.header), allowed=allowed)
    options = ("partner", "weight", "candidate")
    check_header(sheet, chosen, options=options, names={*_NAMES, *_WEIGHTS}, example="name,proposal")


def _weight(sheet: Sheet, chosen: Chosen, partner: str) -> str:
    """Return the column of weights; empty where there is none, and UnclearError where one may be."""
    if given := chosen.get("weight", ()):
        return "" if given[-1] == NONE else check_column(sheet, given[-1], "weight")
    named = [name for name in sheet.header if name.casefold() in _WEIGHTS]
    if len(named) == 1 and named[0].casefold() == _WEIGHTS[0]:
        return named[0]
    others = [name for name in sheet.header if name not in {partner, *chosen.get("candidate", ())}]
    numbers = named or [name for name in others if _is_number(sheet.column(name))]
    if numbers:
        question = f"which column holds weights, or {NONE!r} where everybody has one vote"
        raise UnclearError(option="weight", question=question, choices=[*numbers, NONE])
    return ""


def _candidates(sheet: Sheet, chosen: Chosen, rest: Sequence[str], known: AbstractSet[str]) -> list[str]:
    """Return the columns that are voted on: those that hold answers, in words that are explained, else UnclearError."""
    if given := chosen.get("candidate", ()):
        return [check_column(sheet, name, "candidate") for name in given]
    words = {name: list(dict.fromkeys(entry.casefold() for entry in sheet.column(name))) for name in rest}
    found = [name for name in rest if set(words[name]) <= known]
    if found:
        return found
    for name in rest:
        if len(words[name]) == _TWO and "" not in words[name] and not _is_number(words[name]):
            _ask_words(sheet, name, chosen)
    require(rest, sheet.path.name, list(sheet.header), "a column with the answers, yes or no")
    if len(rest) == 1:  # whose entries are refused, with their places
        return list(rest)
    raise UnclearError(option="candidate", question="which column has the answers, yes or no", choices=rest)


def _ask_words(sheet: Sheet, name: str, chosen: Chosen) -> None:
    """Raise UnclearError for the word of a column that means yes, or for the one that means no."""
    entries = sheet.column(name)
    counts = {word: entries.count(word) for word in dict.fromkeys(entries)}
    shown = " and ".join(f"{word!r} ({count:,}×)" for word, count in counts.items())
    yes = {word for word, opinion in OPINIONS.items() if opinion} | {"1", *map(str.casefold, chosen.get("yes", ()))}
    option = "no" if any(word.casefold() in yes for word in counts) else "yes"
    given = _ANSWERS.union(map(str.casefold, (*chosen.get("yes", ()), *chosen.get("no", ()))))
    choices = [word for word in counts if word.casefold() not in given]
    raise UnclearError(option=option, question=f"{name!r} has {shown}: which means {option}", choices=choices)


def _check_answers(sheet: Sheet, name: str, known: Collection[str], chosen: Chosen) -> None:
    """Make sure that all entries of a column that is voted on are known to mean yes or no."""
    words = list(dict.fromkeys(entry.casefold() for entry in sheet.column(name)))
    unknown = [word for word in words if word not in known]
    if "" in unknown:
        row = sheet.column(name).index("") + 1
        allowed = "yes or no for each partner; leave the line out of whoever does not vote"
        raise ConfigurationError(field=f"{name} ({sheet.path.name}, row {row})", value="", allowed=allowed)
    if unknown and len(words) <= _TWO:
        _ask_words(sheet, name, chosen)
    if unknown:
        entries = sheet.column(name)
        row = next(place for place, entry in enumerate(entries, start=1) if entry.casefold() == unknown[0])
        allowed = "yes or no in each row; other words for them are given with --yes WORD and --no WORD"
        field = f"{name} ({sheet.path.name}, row {row})"
        raise ConfigurationError(field=field, value=entries[row - 1], allowed=allowed)


def _is_number(entries: Sequence[str]) -> bool:
    """Return whether entries are numbers, and others than 0 and 1 among them."""
    if set(entries) <= {"0", "1"}:
        return False
    try:
        return all(float(entry.replace(",", ".")) > 0 for entry in entries)
    except ValueError:
        return False


def _number(entry: str, sheet: Sheet, column: str) -> float:
    """Return a weight."""
    try:
        number = float(entry)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        place = sheet.column(column).index(entry) + 1
        allowed = "a number > 0, with a point before its decimals"
        raise ConfigurationError(field=f"{column} ({sheet.path.name}, row {place})", value=entry, allowed=allowed)
    return int(number) if number.is_integer() else number


BEGINNING: Final = Beginning(
    word="vote",
    help="A vote with yes or no on one or more candidates. FILE has a line for each partner: a name, "
    "the answer on each candidate, and perhaps a weight.",
    options=(
        Option("partner", f"The column of names, or {NONE!r}: partners are numbered.", multiple=False),
        Option("weight", f"The column of weights, or {NONE!r}: one person, one vote.", multiple=False),
        Option("public-weights", "Everybody knows the weights anyway: nothing is spent on them.", is_flag=True),
        Option("candidate", "A column that is voted on (default: each that holds yes and no)."),
        Option("yes", "A word for yes, beside yes, y, true and 1.", metavar="WORD"),
        Option("no", "A word for no, beside no, n, false and 0.", metavar="WORD"),
    ),
    draft=_draft,
    sample="committee.csv",
    epsilon=2.0,
    wanted=("partner",),
)
