#!/usr/bin/env bash
# One would guess that weights of .60, .22 and .18 elect whom 60, 22 and 18 votes elect: the weight of a ballot may be a float or
# a Fraction. In VoteKit's STV the Droop quota is a whole number of weight whatever the weights are, so that a profile of
# shares has the quota 1, which is everybody: nobody ever has a surplus, and the second seat goes to another candidate.
# In tenths the quota is 4 of 10 where a third of them is meant. Nothing is said.
# Why a user would care: shares, survey weights and noisy counts of private mechanisms are what weights are for.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet votekit==3.5.0
"$folder/venv/bin/python" - <<'PYTHON'
import importlib.metadata
import sys
from fractions import Fraction

from votekit.ballot import RankBallot
from votekit.elections import STV
from votekit.pref_profile import RankProfile

votes = [("ab", 60), ("c", 22), ("d", 18)]


def elect(total):
    ballots = [
        RankBallot(ranking=[{name} for name in names], weight=Fraction(weight * total, 100)) for names, weight in votes
    ]
    election = STV(RankProfile(ballots=ballots, candidates=list("abcd")), n_seats=2)
    return int(election.threshold), "".join(sorted(name for tied in election.get_elected() for name in tied))


found = [elect(total) for total in (100, 10, 1)]
print("votekit", importlib.metadata.version("votekit"))
print("quota and elected, weights that sum to 100, 10, 1:", *found)
sys.exit(found != [(34, "ab"), (4, "ac"), (1, "ac")])
PYTHON
# Seen: quota and elected, weights that sum to 100, 10, 1: (34, 'ab') (4, 'ac') (1, 'ac')
