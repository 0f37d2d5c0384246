#!/usr/bin/env bash
# One would guess that a profile from which a candidate was removed still says who its candidates are. pref_voting numbers
# those who stay anew from 0, and hands on the names (cmap) as they were, keyed by the numbers of before: each name behind
# the removed one belongs to somebody else. Which new number was which old one stands only beside the profile, in the
# second part of what remove_candidates returns.
# Why a user would care: to look up a winner in the profile's own cmap names a candidate who did not win.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pref_voting==1.18.2
"$folder/venv/bin/python" - <<'PYTHON'
import importlib.metadata
import sys

from pref_voting.profiles import Profile
from pref_voting.scoring_methods import plurality

votes = Profile([[0, 1, 2], [2, 1, 0], [2, 0, 1]], cmap={0: "Ann", 1: "Bob", 2: "Cid"})
left, was = votes.remove_candidates([0])
(winner,) = plurality(left)
by_name, in_truth = left.cmap[winner], votes.cmap[int(was[winner])]
print("pref_voting", importlib.metadata.version("pref_voting"))
print("Ann removed; the winner by the profile's cmap:", by_name, "in truth:", in_truth)
sys.exit((by_name, in_truth) != ("Bob", "Cid"))
PYTHON
# Seen: Ann removed; the winner by the profile's cmap: Bob in truth: Cid
