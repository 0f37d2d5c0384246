#!/usr/bin/env bash
# One would guess that Borda's points depend on how many candidates stand: of six, a first place is worth five or six. In VoteKit
# it is worth as many points as the longest ballot *that somebody cast* has places, and a candidate who is not named gets none.
# So one voter's ballot says what everybody else's is worth. Of sixteen short ballots a wins (12 points, the others 10).
# A further voter ranks all six, a first: now a has 42 points, c has 51 and wins. By a score vector of six it is c before and
# after. The documentation names the length of the longest ballot; what comes of it is not said.
# Why a user would care: ranked ballots of real elections are short, and cleaned files differ in their longest one. Results
# of one electorate in two files are not comparable, and a ballot for a candidate may unseat that candidate.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet votekit==3.5.0
"$folder/venv/bin/python" - <<'PYTHON'
import importlib.metadata
import sys

from votekit.ballot import RankBallot
from votekit.elections import Borda
from votekit.pref_profile import RankProfile


def count(ballots, **options):
    cast = [RankBallot(ranking=[{name} for name in names], weight=weight) for names, weight in ballots]
    election = Borda(RankProfile(ballots=cast, candidates=list("abcdef")), **options)
    (winners,) = election.get_elected()
    scores = election.election_states[0].scores
    return "".join(winners), [float(scores[name]) for name in "ac"]


short = [("a", 6), ("bc", 5), ("dc", 5)]
more = [*short, ("afedbc", 1)]
found = [count(short), count(more)]
whole = [count(ballots, score_vector=[6, 5, 4, 3, 2, 1])[0] for ballots in (short, more)]
print("votekit", importlib.metadata.version("votekit"))
print("winner, points of a and c:", *found[0], "; with one more ballot, a first of six:", *found[1])
print("winners with a score vector of six:", *whole)
sys.exit(found != [("a", [12.0, 10.0]), ("c", [42.0, 51.0])] or whole != ["c", "c"])
PYTHON
# Seen: winner, points of a and c: a [12.0, 10.0] ; with one more ballot, a first of six: c [42.0, 51.0]
#       winners with a score vector of six: c c
