#!/usr/bin/env bash
# One would guess that an evaluation of votelib which cannot tell candidates apart answers with a Tie of them, as its
# documents say. Schulze and Copeland count whom a candidate beats: where nobody beats anybody, as in a cycle of three, they
# have no scores at all and answer with an empty list. A fourth candidate, who loses to all, brings the Tie back. Minimax
# ties all three, and RankedPairs elects the first one, without a word.
# Why a user would care: an empty list is also what CondorcetWinner answers where there is none; and whoever reads the first
# element fails in the one election that a method for cycles is for.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet votelib==0.4.0
"$folder/venv/bin/python" - <<'PYTHON'
import importlib.metadata
import sys

from votelib.convert import RankedToCondorcetVotes
from votelib.evaluate.condorcet import Copeland, MinimaxCondorcet, RankedPairs, Schulze
from votelib.evaluate.core import Tie

cycle = {("a", "b", "c"): 1, ("b", "c", "a"): 1, ("c", "a", "b"): 1}
with_loser = {(*ranking, "d"): count for ranking, count in cycle.items()}
opposed = {("a", "b", "c"): 1, ("c", "b", "a"): 1}


def elected(method, votes):
    return method().evaluate(RankedToCondorcetVotes().convert(votes), 1)


found = [elected(Schulze, cycle), elected(Schulze, with_loser), elected(Copeland, opposed)]
print("votelib", importlib.metadata.version("votelib"))
print("Schulze, a cycle of three:", found[0], "with a fourth who loses to all:", len(found[1][0]), "tie")
print("Copeland, two opposed ballots:", found[2])
print("Minimax, the cycle:", len(elected(MinimaxCondorcet, cycle)[0]), "tie; RankedPairs:", elected(RankedPairs, cycle))
sys.exit(found != [[], [Tie({"a", "b", "c"})], []])
PYTHON
# Seen: Schulze, a cycle of three: [] with a fourth who loses to all: 3 tie
#       Copeland, two opposed ballots: []
#       Minimax, the cycle: 3 tie; RankedPairs: ['a']
