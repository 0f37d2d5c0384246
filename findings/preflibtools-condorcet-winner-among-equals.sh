#!/usr/bin/env bash
# One would guess that has_condorcet of preflibtools says no where nobody strictly beats all others, as its documents define
# a Condorcet winner. It compares a candidate with those alone whom some ballot sets apart from it: where all ballots put
# two candidates together on the first place, it says yes, although pairwise_scores has no vote for either of them. And where
# all ballots put everybody together, it finds no weak Condorcet winner, although then everybody is one.
# Why a user would care: ratings and short ballots from PrefLib are weak orders (toc), where such pairs are common.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet preflibtools==2.0.33
"$folder/venv/bin/python" - <<'PYTHON'
import importlib.metadata
import sys

from preflibtools.instances import OrdinalInstance
from preflibtools.properties import has_condorcet, pairwise_scores


def ballots(*orders):
    instance = OrdinalInstance()
    instance.append_order_list(list(orders))
    return instance


together, strict = ballots(((0, 1), (2,))), ballots(((0,), (1,), (2,)), ((1,), (0,), (2,)))
everybody = ballots(((0, 1, 2),))
scores = pairwise_scores(together)
found = has_condorcet(together), has_condorcet(strict), has_condorcet(everybody, weak_condorcet=True)
print("preflibtools", importlib.metadata.version("preflibtools"))
print(f"0 and 1 together before 2: a Condorcet winner: {found[0]}; votes for 0 over 1: {scores[0][1]}, for 1: {scores[1][0]}")
print(f"the same by strict ballots, one each way: {found[1]}; all three together, a weak winner: {found[2]}")
sys.exit(found != (True, False, False) or scores[0][1] != scores[1][0])
PYTHON
# Seen: 0 and 1 together before 2: a Condorcet winner: True; votes for 0 over 1: 0, for 1: 0
#       the same by strict ballots, one each way: False; all three together, a weak winner: False
