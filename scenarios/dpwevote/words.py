"""Words that people write for yes, no and an abstention, and for a line of totals; all in small letters.

A scenario keeps those of its file that the protocol does not know (`partners.yes`, `no`, `abstain`), so that it means
the same whatever stands here.
"""

from typing import Final

from ..words import marked

__all__ = ["ABSTENTIONS", "CROSSES", "NO", "ONE_SESSION", "OUR_ABSTENTIONS", "TICKS", "TOTALS", "YES"]

OUR_ABSTENTIONS: Final = ("", "abstain", "abstention")
"""Entries that say neither yes nor no in every file, beside its own (`partners.abstain`)."""
ONE_SESSION: Final = marked("all partners of one session vote on each of its motions")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split(", "))


TICKS: Final = _words("✓, ✔, ☑, ✅, 👍")
CROSSES: Final = _words("x, ✗, ✘, ☒, ❌, 👎, ×")
"""They mean no where a column has ticks; alone, a cross may be a mark for yes."""
YES: Final = TICKS | _words(
    "agree, agreed, approve, approved, accept, accepted, aye, yea, support, for, in favor, in favour, pro, "
    "ja, j, dafür, zustimmung, einverstanden, oui, o, pour, d'accord, sí, si, a favor, sì, sim, "
    "tak, ano, kyllä, joo, igen, evet, ναι, да, так, 是, はい, 예"
)
NO: Final = _words(
    "disagree, disagreed, disapprove, reject, rejected, nay, oppose, opposed, against, contra, "
    "nein, dagegen, ablehnung, non, contre, en contra, não, nao, nee, nej, nei, nie, ne, ei, nem, hayır, "
    "όχι, нет, ні, 否, いいえ, 아니요"
)
ABSTENTIONS: Final = _words(
    "abstain, abstained, abstains, abstention, enthaltung, enthalten, enthält, s'abstient, astenuto, astensione, "
    "abstención, abstenção, onthouding, avstår, blank, blanc, blanco, n/a, ?, -, –, —"
)
TOTALS: Final = _words(
    "total, totals, sum, subtotal, summe, gesamt, gesamtsumme, insgesamt, totale, somme, suma, soma, totaal, summa, "
    "yhteensä, итого, 合計, 合计, σύνολο"
)
