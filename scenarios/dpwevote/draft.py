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
from ..origins import DEFAULT_ORIGIN
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
    questions_of,
    weight_of,
)
from .draft_weights import Weights, any_number, draft_weights
from .draft_words import BECOME, Words, abstentions_of, check_answers, complete_words, num_absent_of, words_by_meaning
from .words import CODES, word_of

_HEADS: Final = frozenset({*OPINIONS, "ja", "nein", "oui", "non", "sí"})  # no header, but somebody's answer
_TWO: Final = 2
_FEWEST: Final = 4  # of so many weights one may well be the sum of the others


def _draft(sheet: SavedTable, option_values: Chosen) -> Draft:
    # The first line may have an answer, or look like a partner's, which would be lost.
    for name in sheet.header:
        allowed = "There is no header: this line has an answer. Put a line such as name,proposal above it."
        refuse(name.casefold() in _HEADS, f"{sheet.path.name} line 1", ",".join(sheet.header), allowed)
    options = ("partner", "weight", "candidate", "leave-out")
    names = {name for name in sheet.header if names_persons(name) or plain_name(name) == "id"}
    check_header(sheet, option_values, options=options, names={*names, *WEIGHTS}, example="name,proposal")
    sheet, one_of = _drop_totals(sheet, option_values), list[str]()
    if not (has_page := "web" in option_values):
        sheet, one_of = merge_answer_columns(sheet, option_values)
    for option in ("yes", "no", "abstain", "abstentions", "one-of", "round-weights") if has_page else ():
        allowed = "Leave it out beside --web: partners answer on the page."
        refuse(option in option_values, f"--{option}", answer(option_values, option), allowed)
    words = Words.of(option_values, sheet)
    left_out = [check_column(sheet, name, "leave-out") for name in option_values.get("leave-out", ()) if name != NONE]
    partner, about_names = partner_of(sheet, option_values, words)
    sheet, repeats = keep_one_line_each(sheet, option_values, partner)
    weight = weight_of(sheet, option_values, {partner, *left_out}, words)
    other_columns = [name for name in sheet.header if name not in {partner, weight, *left_out}]
    candidates = (questions_of if has_page else candidates_of)(sheet, option_values, other_columns, words)
    answered = [] if has_page else candidates
    words = complete_words(sheet, option_values, answered, words)
    check_answers(sheet, answered, words)
    abstentions = abstentions_of(sheet, option_values, answered, words)
    renamed_columns = {
        field_name: column
        for field_name, column in (("partner", partner), ("weight", weight))
        if column and column != field_name
    }
    words_of_meaning = words_by_meaning(sheet, option_values, answered, words)
    lines = filled(
        ScenarioLine("file", sheet.written, "a line for each partner"),
        ScenarioLine("numbered", not partner, "it has no names"),
        ScenarioLine("columns", renamed_columns, "what the file calls them"),
        ScenarioLine("one_of", one_of, "columns of which a line fills one: its answer"),
        ScenarioLine("repeats", repeats, WHICH.get(repeats, "")),
        *(ScenarioLine(key, meant_words) for key, meant_words in words_of_meaning.items()),
        ScenarioLine("abstentions", abstentions, BECOME.get(abstentions, "")),
        ScenarioLine("without", [label for label in option_values.get("without", ()) if label != NONE], "no partners"),
    )
    identification = f"by the column {partner!r}" if partner else "by their numbers"
    sentences = [f"{sheet.count(len(sheet.rows))} partners {identification}; voted on: {', '.join(candidates)}."]
    sentences += [
        f"{', '.join(map(repr, meaning))} {'mean' if len(meaning) > 1 else 'means'} {key}."
        for key in ("yes", "no")
        if (meaning := words_of_meaning[key])
    ]
    sentences += about_names
    if abstentions:
        sentences.append(f"Abstentions: {BECOME[abstentions]}.")
    comment = "what the page asks" if has_page else "the columns that are voted on, each by itself"
    parameters = [ScenarioLine("candidates", candidates, comment)]
    majority, needed_votes = _majority(sheet, option_values, weight, num_absent_of(sheet, answered, words, abstentions))
    parameters += majority
    sentences.append(needed_votes)
    drafted_weights = draft_weights(sheet, option_values, weight) if weight else _one_vote(option_values)
    parameters += drafted_weights.parameters
    lines += drafted_weights.parties
    sentences.append(drafted_weights.said)
    further_columns = [name for name in sheet.header if name not in {partner, weight, *candidates}]
    if further_columns:
        sentences.append(f"Not used: {', '.join(further_columns)}.")
    for name in () if has_page else further_columns:
        if _holds_several(entries := sheet.column(name)):
            example = next(entry for entry in entries if ";" in entry or "," in entry)
            sentences.append(
                f"{name!r} has several answers in a cell, such as {example!r}: to vote on one of them, give it a "
                "column "
                "of its own with yes or no."
            )
    is_paid = weight and all(line.key != "public_weights" for line in parameters)
    price = "the weight and one opinion together" if is_paid else "each opinion"
    parameters.append(ScenarioLine("variant", "auto", "the most exact at this price with this trust"))
    title = f"A vote on {', '.join(candidates)}"
    return Draft(title=title, role="partner", price=price, parameters=parameters, parties=lines, said=sentences)


def _one_vote(options: Chosen) -> Weights:
    """Return what a scenario says where one person has one vote: a file without votes does not tell it by itself."""
    for option in ("public-weights", "round-weights", "decimal"):
        allowed = "left out: there is no column of weights, unless --weight COLUMN names one"
        refuse(option in options, f"--{option}", answer(options, option), allowed)
    weights = [ScenarioLine("weights", [1], "one person, one vote"), ScenarioLine("public_weights", value=True)]
    said = "No column of weights: one person, one vote, and nothing is spent on weights."
    return Weights(weights if "web" in options else [], [], said)


def _majority(sheet: SavedTable, options: Chosen, weight: str, num_absent: int) -> tuple[list[ScenarioLine], str]:
    """Return what a scenario says of the quota, and that as a sentence: more than half, or at least a share."""
    number = len(sheet.rows) - num_absent
    if not (quota := answer(options, "quota")):
        needed_text = "half of all weight" if weight else f"{number / _TWO:,.12g} of {number:,} needed"
        sentence = f"A candidate passes with more than half: more than {needed_text}."
        return [ScenarioLine("passes", "more_than", "more than half; at_least: half is enough")], sentence
    min_weight = math.ceil(share_in(quota, field="--quota") * number)
    needed_text = f"{quota} of all weight" if weight else f"{min_weight:,} of {number:,} needed"
    lines = [ScenarioLine("quota_fraction", quota, "so much or more passes"), ScenarioLine("passes", "at_least")]
    return lines, f"A candidate passes with {quota} or more: {needed_text}."


def _holds_several(entries: Sequence[str]) -> bool:
    """Return whether entries are lists of a few words, of which each stands in another one or by itself too."""
    for sign in (";", ","):
        parts = [[part.strip() for part in entry.split(sign)] for entry in entries if entry]
        parts = [[part for part in each if part and not part.isdigit()] for each in parts]  # of a date or a number
        counts = collections.Counter(itertools.chain.from_iterable(parts))
        if any(len(each) > 1 for each in parts) and sum(counts.values()) > len(counts):
            return True
    return False


def _drop_totals(sheet: SavedTable, options: Chosen) -> SavedTable:
    """Return the sheet without the lines that are said to be no partners; UnclearError for one that looks like totals.

    It is called so, or is the first or the last and has all others' sum, and has other entries than answers.
    """
    left_out_words, partner = options.get("without", ()), options.get("partner", ())
    person_columns = [name for name in sheet.header if names_persons(name) or name in partner]
    person_columns.sort(key=lambda name: name not in partner)
    place = 0 if NONE in partner or not person_columns else sheet.header.index(person_columns[0])
    rows_left_out = {row for row, cells in enumerate(sheet.rows) if cells[place] in left_out_words}
    sums = _sums(sheet, place)
    for row, cells in enumerate(sheet.rows):
        other_cells = [cell for number, cell in enumerate(cells) if number != place]
        is_called = any(cell.casefold().rstrip(" :") in known_words.TOTALS for cell in cells) or row in sums
        is_called = is_called or not known_words.TOTALS.isdisjoint(re.split(r"\W+", cells[place].casefold()))
        answers = {*CODES, *known_words.YES, *known_words.NO}
        is_odd = any(not math.isnan(any_number(cell)) or word_of(cell) not in answers for cell in other_cells)
        if row not in rows_left_out and is_called and NONE not in left_out_words and is_odd:
            name = cells[place]
            question = (
                f"is line {sheet.lines[row]} of {sheet.path.name}, {name!r}, a member? If not, add --without "
                f"{shlex.quote(name)}; if so, --without {NONE}"
            )
            raise UnclearError("without", question, [name, NONE])
    require(len(rows_left_out) < len(sheet.rows), "--without", ", ".join(left_out_words), "a line among others")
    return sheet.without(rows_left_out)


def _sums(sheet: SavedTable, names: int) -> set[int]:
    """Return the first and the last row, if it has the sum of all others in a column of numbers, which are no names."""
    sum_rows = set[int]()
    for name in (*sheet.header[:names], *sheet.header[names + 1 :]):
        numbers = [any_number(entry) for entry in sheet.column(name) if entry]
        if len(numbers) == len(sheet.rows) > _FEWEST and (whole := math.fsum(numbers)) > len(numbers):
            sum_rows |= {row for row in (0, len(numbers) - 1) if math.isclose(numbers[row], whole / 2)}
    return sum_rows


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
        Option(
            "web",
            "FILE has names and no votes yet: draw up a link for each partner, to a page at ORIGIN (default: this "
            "machine). --candidate is then any title, --out the folder of the links, and nothing is run.",
            "[ORIGIN]",
            flag_value=DEFAULT_ORIGIN,
        ),
        Option("quota", "So much or more passes: 2/3, 75% or a decimal (default: more than half).", "SHARE"),
    ),
    draft=_draft,
    shown="votes",
    sample="committee.csv",
    epsilon=2.0,
    wanted=("partner",),
)
