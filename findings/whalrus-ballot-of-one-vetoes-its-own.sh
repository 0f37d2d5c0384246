#!/usr/bin/env bash
# One would guess that a ballot with one name says "this one before all others", as ballots of real elections do. For whalrus it
# is a ballot about one candidate, who is its first and its last: RuleVeto counts it against the very candidate whom it names.
# Nine of ten voters name a alone, one ranks b before c: b wins. RuleMaximin and RuleCondorcet see no comparison in nine of
# the ballots, and answer with all three. A warning about sets of candidates is all that is said.
# Why a user would care: truncated ballots are the rule in public files, and those who were surest are counted for nothing, or
# against themselves. Ballots on which the others stand last with a tie, "a > b ~ c", are counted as meant by the latter two.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet whalrus==0.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import importlib.metadata
import logging
import sys

from whalrus import RuleCondorcet, RuleMaximin, RuleVeto

logging.disable()
short = ["a"] * 9 + ["b > c"]
whole = ["a > b ~ c"] * 9 + ["b > c > a"]


def winners(rule, ballots):
    return "".join(sorted(rule(ballots=ballots, candidates=set("abc")).cowinners_))


vetoes = RuleVeto(ballots=short, candidates=set("abc"))
vetoed = {name: float(vetoes.scores_[name]) for name in "abc"}
found = [[winners(rule, ballots) for rule in (RuleMaximin, RuleCondorcet)] for ballots in (short, whole)]
print("whalrus", importlib.metadata.version("whalrus"))
print("nine ballots name a alone, one ranks b before c; vetoes:", vetoed, "who wins:", winners(RuleVeto, short))
print("Maximin, Condorcet:", found[0], "with b and c last, tied, on the nine:", found[1])
sys.exit(vetoed != {"a": -0.9, "b": 0.0, "c": -0.1} or found != [["abc"] * 2, ["a"] * 2])
PYTHON
# Seen: nine ballots name a alone, one ranks b before c; vetoes: {'a': -0.9, 'b': 0.0, 'c': -0.1} who wins: b
#       Maximin, Condorcet: ['abc', 'abc'] with b and c last, tied, on the nine: ['a', 'a']
