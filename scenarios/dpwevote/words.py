"""Words that people write for yes, no, an abstention and a line of totals, in lower case.

A scenario records those words of its file that the protocol does not know (`partners.yes`, `no`, `abstain`), so that
its meaning does not depend on these lists.
"""

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from ...protocol.dpwevote.protocol import OPINIONS
from ..reading.cells import number_in, text_of

ANSWER: Final = "answer"
"""The motion's name if each answer is a column, of which every line fills one."""
OUR_ABSTENTIONS: Final = ("", "abstain", "abstention")
"""Entries that mean neither yes nor no in every file, in addition to the file's (`partners.abstain`)."""
ONE_SESSION: Final = "all partners of one session vote on each of its motions"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split(", "))


TICKS: Final = _words("✓, ✔, ☑, ✅, 👍")
CROSSES: Final = _words("x, ✗, ✘, ☒, ❌, 👎, ×")
"""Crosses mean no if a column also has ticks; without ticks, a cross may be a mark for yes."""
YES: Final = TICKS | _words(
    "agree, agreed, strongly agree, fully agree, completely agree, totally agree, "
    "approve, approved, accept, accepted, aye, yea, support, for, in favor, in favour, pro, "
    "ja, j, dafür, zustimmung, einverstanden, oui, o, pour, d'accord, sí, si, a favor, sì, sim, "
    "tak, ano, kyllä, joo, igen, evet, ναι, да, так, 是, はい, 예"
)
NO: Final = _words(
    "disagree, disagreed, strongly disagree, fully disagree, completely disagree, totally disagree, "
    "disapprove, reject, rejected, nay, oppose, opposed, against, contra, "
    "nein, dagegen, ablehnung, non, contre, en contra, não, nao, nee, nej, nei, nie, ne, ei, nem, hayır, "
    "όχι, нет, ні, 否, いいえ, 아니요"
)
ABSTENTIONS: Final = _words(
    "abstain, abstained, abstains, abstention, enthaltung, enthalten, enthält, s'abstient, astenuto, astensione, "
    "abstención, abstenção, onthouding, avstår, blank, blanc, blanco, n/a, ?, -, –, —"
)
UNSURE: Final = _words(
    "0, no opinion, no answer, not answered, not answered yet, no vote, neither agree nor disagree, "
    "no preference, none, neutral, undecided, unsure, not sure, unknown, unkown, "
    "maybe, perhaps, pass, skip, skipped, don't know, under reserve, if need be, not applicable, na, vielleicht, egal, "
    "weiß nicht, unentschieden, keine angabe, peut-être, ne sait pas, sans opinion, no sé, no sabe, quizás, forse"
)
"""Words that are not simply the opposite of an answer, so that the user is asked about them."""
TOTALS: Final = _words(
    "total, totals, sum, subtotal, summe, gesamt, gesamtsumme, insgesamt, totale, somme, suma, soma, totaal, summa, "
    "yhteensä, итого, 合計, 合计, σύνολο"
)
CODES: Final[Mapping[str, int]] = {word: int(opinion) for word, opinion in OPINIONS.items()} | {"1": 1, "0": 0}
"""The protocol's words. All but "yes" and "no" are signs, which are not interpreted in a file with its own words."""
_KINDS: Final[Mapping[str, frozenset[str]]] = {
    "numbers": frozenset({"1", "0"}),
    "truth values": frozenset({"true", "false"}),
    "marks": TICKS | CROSSES,
}
_LETTERS: Final = frozenset({"y", "n", "j", "o"})


def word_of(entry: object) -> str:
    """Normalize an entry for comparison: lower case, and numbers without trailing zeros.

    Examples:
        >>> word_of(" Yes "), word_of("1.0")
        ('yes', '1')
    """
    word = unicodedata.normalize("NFC", str(entry).strip().casefold())
    number = number_in(word)
    return word if number != number or not word.isascii() else text_of(number)  # noqa: PLR0124  nan is not itself


def filled_of(columns: Sequence[str], entries: Sequence[object]) -> str:
    """Return the column that a line fills; empty if none. ValueError names the columns if there are several.

    Examples:
        >>> filled_of(["agree", "disagree"], ["", "x"])
        'disagree'
    """
    filled = [name for name, entry in zip(columns, entries, strict=True) if word_of(entry) not in {"", "0", "false"}]
    if len(filled) > 1:
        raise ValueError(" and ".join(filled))
    return "".join(filled)


def code_kinds(words: Collection[str]) -> dict[str, set[str]]:
    """Group the signs among words by kind: 1 and 0, true and false, ticks and crosses, single letters.

    Examples:
        >>> {kind: sorted(signs) for kind, signs in code_kinds(["yes", "1", "0", "x"]).items()}
        {'numbers': ['0', '1'], 'marks': ['x']}
    """
    words_of_kind = {kind: set(words) & signs for kind, signs in {**_KINDS, "letters": _LETTERS}.items()}
    return {kind: signs for kind, signs in words_of_kind.items() if signs}
