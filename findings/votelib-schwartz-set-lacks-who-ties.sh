#!/usr/bin/env bash
# One would guess that a Schwartz set has each candidate whom nobody beats: it joins all smallest sets that nobody outside
# beats, and such a candidate is one. votelib's SchwartzSet keeps one of two candidates who tie with each other and beat all
# others, the first one; SmithSet has both.
# Why a user would care: which of two equal candidates stays in the race follows from the order of the ballots.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet votelib==0.4.0
"$folder/venv/bin/python" - <<'PYTHON'
import importlib.metadata
import sys

from votelib.convert import RankedToCondorcetVotes
from votelib.evaluate.condorcet import SchwartzSet, SmithSet

ballots = [("a", "b", "c"), ("b", "a", "c")]


def chosen(method, order):
    return sorted(method().evaluate(RankedToCondorcetVotes().convert(dict.fromkeys(order, 1))))


found = [chosen(SchwartzSet, ballots), chosen(SchwartzSet, ballots[::-1]), chosen(SmithSet, ballots)]
print("votelib", importlib.metadata.version("votelib"))
print("Schwartz:", found[0], "with the ballots in the other order:", found[1], "Smith:", found[2])
sys.exit(found != [["a"], ["b"], ["a", "b"]])
PYTHON
# Seen: Schwartz: ['a'] with the ballots in the other order: ['b'] Smith: ['a', 'b']
