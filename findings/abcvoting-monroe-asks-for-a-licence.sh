#!/usr/bin/env bash
# One would guess that abcvoting's default algorithm, "fastest", is the fastest that can be run. It is the first in a list whose
# package is installed, and for Monroe's rule that is Gurobi, which pip brings along with a licence for small models only: 200
# ballots over twelve candidates raise a GurobiError. The second in the list, HiGHS, is no dependency; asked for by name, it
# says "Solver found no solution", of thirty ballots as well, as if there were no such committee. Brute force, the last, finds it.
# Proportional approval voting of the same ballots is a smaller model and goes well, so that a first try says nothing.
# Why a user would care: the demonstration with thirty ballots works and the election does not, and the message on the way out
# sends one to look for a fault in the ballots.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet abcvoting==2.19.2
"$folder/venv/bin/python" - <<'PYTHON'
import importlib.metadata
import random
import sys

from abcvoting import abcrules
from abcvoting.preferences import Profile

random.seed(1)
ballots = [random.sample(range(12), 4) for _ in range(200)]


def outcome(rule, number, **options):
    profile = Profile(12)
    profile.add_voters(ballots[:number])
    try:
        committee = abcrules.compute(rule, profile, committeesize=4, resolute=True, **options)[0]
    except Exception as error:
        return f"{type(error).__name__}: {error}".split(";")[0]
    return f"{len(committee)} members"


found = [
    outcome("monroe", 30),
    outcome("monroe", 200),
    outcome("monroe", 30, algorithm="pulp-highs"),
    outcome("monroe", 200, algorithm="brute-force"),
    outcome("pav", 200),
]
print("abcvoting", importlib.metadata.version("abcvoting"), "gurobipy", importlib.metadata.version("gurobipy"))
print("Monroe, 30 ballots:", found[0], "| 200:", found[1])
print("by HiGHS, 30 ballots:", found[2])
print("by brute force, 200:", found[3], "| PAV, 200:", found[4])
ends = [text.split(":")[0] for text in found]
sys.exit(ends != ["4 members", "GurobiError", "RuntimeError", "4 members", "4 members"])
PYTHON
# Seen: Monroe, 30 ballots: 4 members | 200: GurobiError: Model too large for size-limited license
#       by HiGHS, 30 ballots: RuntimeError: Solver found no solution (model Monroe)
#       by brute force, 200: 4 members | PAV, 200: 4 members
