"""A first vote of one's own: who the partners are, what is voted on, which words mean yes and no, weights or none.

What the file does not tell is asked about (`draft_columns`, `draft_words`): nothing is taken for the likeliest.
"""

import collections
import itertools
import math
import re
import shlex
from collections.abc import Sequence
from typing import Final

from ...protocol.dpwevote.protocol import OPINIONS
from ...protocol.dpwevote.quotas import share_in
from ...protocol.errors import refuse, require
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
    filled,
    word_option,
)
from . import words as known_words
from .draft_columns import (
    WEIGHTS,
    WHICH,
    candidates_of,
    keep_one_line_each,
    merge_answer_columns,
    names_persons,
    partner_of,
    plain_name,
    weight_of,
)
from .draft_weights import any_number, draft_weights
from .draft_words import BECOME, Words, abstentions_of, check_answers, complete_words, num_absent_of, words_by_meaning
from .words import CODES, word_of

_HEADS: Final = frozenset({*OPINIONS, "ja", "nein", "oui", "non", "sí"})  # no header, but somebody's answer
_TWO: Final = 2
_FEWEST: Final = 4  # of so many weights one may well be the sum of the others


def _draft(sheet: SavedTable, chosen: Chosen) -> Draft:
    # The first line may have an answer, or look like a partner's, which would be lost.
    for name in sheet.header:
        allowed = "There is no header: this line has an answer. Put a line such as name,proposal above it."
        refuse(name.casefold() in _HEADS, f"{sheet.path.name} line 1", ",".join(sheet.header), allowed)
    options = ("partner", "weight", "candidate", "leave-out")
    names = {name for name in sheet.header if names_persons(name) or plain_name(name) == "id"}
    check_header(sheet, chosen, options=options, names={*names, *WEIGHTS}, example="name,proposal")
    sheet, one_of = merge_answer_columns(_drop_totals(sheet, chosen), chosen)
    words = Words.of(chosen, sheet)
    left_out = [check_column(sheet, name, "leave-out") for name in chosen.get("leave-out", ()) if name != NONE]
    partner, about_names = partner_of(sheet, chosen, words)
    sheet, repeats = keep_one_line_each(sheet, chosen, partner)
    weight = weight_of(sheet, chosen, {partner, *left_out}, words)
    rest = [name for name in sheet.header if name not in {partner, weight, *left_out}]
    candidates = candidates_of(sheet, chosen, rest, words)
    words = complete_words(sheet, chosen, candidates, words)
    check_answers(sheet, candidates, words)
    abstentions = abstentions_of(sheet, chosen, candidates, words)
    renamed = {ours: own for ours, own in (("partner", partner), ("weight", weight)) if own and own != ours}
    meant = words_by_meaning(sheet, chosen, candidates, words)
    lines = filled(
        ScenarioLine("file", sheet.written, "a line for each partner"),
        ScenarioLine("numbered", not partner, "it has no names"),
        ScenarioLine("columns", renamed, "what the file calls them"),
        ScenarioLine("one_of", one_of, "columns of which a line fills one: its answer"),
        ScenarioLine("repeats", repeats, WHICH.get(repeats, "")),
        *(ScenarioLine(key, found) for key, found in meant.items()),
        ScenarioLine("abstentions", abstentions, BECOME.get(abstentions, "")),
        ScenarioLine("without", [label for label in chosen.get("without", ()) if label != NONE], "no partners"),
    )
    by = f"by the column {partner!r}" if partner else "by their numbers"
    said = [f"{sheet.count(len(sheet.rows))} partners {by}; voted on: {', '.join(candidates)}."]
    said += [
        f"{', '.join(map(repr, known))} {'mean' if len(known) > 1 else 'means'} {key}."
        for key in ("yes", "no")
        if (known := meant[key])
    ]
    said += about_names
    if abstentions:
        said.append(f"Abstentions: {BECOME[abstentions]}.")
    parameters = [ScenarioLine("candidates", candidates, "the columns that are voted on, each by itself")]
    majority, needed = _majority(sheet, chosen, weight, num_absent_of(sheet, candidates, words, abstentions))
    parameters += majority
    said.append(needed)
    if weight:
        drafted = draft_weights(sheet, chosen, weight)
        parameters += drafted.parameters
        lines += drafted.parties
        said.append(drafted.said)
    else:
        for option in ("public-weights", "round-weights", "decimal"):
            allowed = "left out: there is no column of weights, unless --weight COLUMN names one"
            refuse(option in chosen, f"--{option}", answer(chosen, option), allowed)
        said.append("No column of weights: one person, one vote, and nothing is spent on weights.")
    others = [name for name in sheet.header if name not in {partner, weight, *candidates}]
    if others:
        said.append(f"Not used: {', '.join(others)}.")
    for name in others:
        if _holds_several(entries := sheet.column(name)):
            shown = next(entry for entry in entries if ";" in entry or "," in entry)
            said.append(
                f"{name!r} has several answers in a cell, such as {shown!r}: to vote on one of them, give it a column "
                "of its own with yes or no."
            )
    is_paid = weight and all(line.key != "public_weights" for line in parameters)
    price = "the weight and one opinion together" if is_paid else "each opinion"
    parameters.append(ScenarioLine("variant", "auto", "the most exact at this price with this trust"))
    title = f"A vote on {', '.join(candidates)}"
    return Draft(title=title, role="partner", price=price, parameters=parameters, parties=lines, said=said)


def _majority(sheet: SavedTable, chosen: Chosen, weight: str, num_absent: int) -> tuple[list[ScenarioLine], str]:
    """Return what a scenario says of the quota, and that as a sentence: more than half, or at least a share."""
    number = len(sheet.rows) - num_absent
    if not (given := answer(chosen, "quota")):
        of = "half of all weight" if weight else f"{number / _TWO:,.12g} of {number:,} needed"
        said = f"A candidate passes with more than half: more than {of}."
        return [ScenarioLine("passes", "more_than", "more than half; at_least: half is enough")], said
    least = math.ceil(share_in(given, field="--quota") * number)
    of = f"{given} of all weight" if weight else f"{least:,} of {number:,} needed"
    lines = [ScenarioLine("quota_fraction", given, "so much or more passes"), ScenarioLine("passes", "at_least")]
    return lines, f"A candidate passes with {given} or more: {of}."


def _holds_several(entries: Sequence[str]) -> bool:
    """Return whether entries are lists of a few words, of which each stands in another one or by itself too."""
    for sign in (";", ","):
        parts = [[part.strip() for part in entry.split(sign)] for entry in entries if entry]
        parts = [[part for part in each if part and not part.isdigit()] for each in parts]  # of a date or a number
        counts = collections.Counter(itertools.chain.from_iterable(parts))
        if any(len(each) > 1 for each in parts) and sum(counts.values()) > len(counts):
            return True
    return False


def _drop_totals(sheet: SavedTable, chosen: Chosen) -> SavedTable:
    """Return the sheet without the lines that are said to be no partners; UnclearError for one that looks like totals.

    It is called so, or is the first or the last and has all others' sum, and has other entries than answers.
    """
    given, partner = chosen.get("without", ()), chosen.get("partner", ())
    named = [name for name in sheet.header if names_persons(name) or name in partner]
    named.sort(key=lambda name: name not in partner)
    place = 0 if NONE in partner or not named else sheet.header.index(named[0])
    out = {row for row, cells in enumerate(sheet.rows) if cells[place] in given}
    sums = _sums(sheet, place)
    for row, cells in enumerate(sheet.rows):
        others = [cell for number, cell in enumerate(cells) if number != place]
        is_called = any(cell.casefold().rstrip(" :") in known_words.TOTALS for cell in cells) or row in sums
        is_called = is_called or not known_words.TOTALS.isdisjoint(re.split(r"\W+", cells[place].casefold()))
        answers = {*CODES, *known_words.YES, *known_words.NO}
        is_odd = any(not math.isnan(any_number(cell)) or word_of(cell) not in answers for cell in others)
        if row not in out and is_called and NONE not in given and is_odd:
            name = cells[place]
            question = (
                f"is line {sheet.lines[row]} of {sheet.path.name}, {name!r}, a member? If not, add --without "
                f"{shlex.quote(name)}; if so, --without {NONE}"
            )
            raise UnclearError("without", question, [name, NONE])
    require(len(out) < len(sheet.rows), "--without", ", ".join(given), "a line among others")
    return sheet.without(out)


def _sums(sheet: SavedTable, names: int) -> set[int]:
    """Return the first and the last row, if it has the sum of all others in a column of numbers, which are no names."""
    found = set[int]()
    for name in (*sheet.header[:names], *sheet.header[names + 1 :]):
        numbers = [any_number(entry) for entry in sheet.column(name) if entry]
        if len(numbers) == len(sheet.rows) > _FEWEST and (whole := math.fsum(numbers)) > len(numbers):
            found |= {row for row in (0, len(numbers) - 1) if math.isclose(numbers[row], whole / 2)}
    return found


BEGINNING: Final = ScenarioTemplate(
    word="vote",
    help="A vote with yes or no on one or more candidates. FILE has a line for each partner: a name, "
    "the answer on each candidate, and perhaps a weight.",
    options=(
        Option("partner", f"The column of names, or {NONE!r}: partners are numbered."),
        Option("weight", f"The column of weights, or {NONE!r}: one person, one vote."),
        Option("public-weights", "Everybody knows the weights anyway: nothing is spent on them.", is_flag=True),
        Option("round-weights", "Each weight is rounded by this share of it at most, such as 5%.", "SHARE"),
        Option("decimal", "The sign before the decimals of weights.", "SIGN", words=(".", ",")),
        Option("candidate", "A column that is voted on (default: each that holds yes and no).", multiple=True),
        Option("leave-out", f"A column that is not voted on, or {NONE!r}: all that look so are.", multiple=True),
        Option("yes", "A word for yes, beside yes, y, true, 1 and those of other languages.", "WORD", multiple=True),
        Option("no", "A word for no, beside no, n, false, 0 and those of other languages.", "WORD", multiple=True),
        Option("abstain", "A word for an abstention, beside an empty entry.", "WORD", multiple=True),
        word_option("abstentions", "What becomes of who abstains", *BECOME),
        Option("without", "The name of a line that is no partner, such as Total.", "NAME", multiple=True),
        Option("one-of", "Columns of which a line fills one, its answer: agree, disagree.", "COLUMNS"),
        word_option(
            "repeats",
            f"Which line counts of a partner who has several ({NONE}: names that differ in case or blanks alone are "
            "different persons')",
            *("last", "first", NONE),
        ),
        Option("quota", "So much or more passes: 2/3, 75% or a decimal (default: more than half).", "SHARE"),
    ),
    draft=_draft,
    shown="votes",
    sample="committee.csv",
    epsilon=2.0,
    wanted=("partner",),
)
