#!/usr/bin/env bash
# One would guess that a Pabulib file which pabutools writes is one that pabutools reads. Of cumulative ballots without a
# limit, write_pabulib fills the obligatory line max_sum_points with the words "Auto-filled max_sum_points" as it fills a
# missing description, and parse_pabulib then wants a number there: the file cannot be read back.
# Why a user would care: ballots that were collected in Python and stored are locked in; the repair is to set
# profile.legal_max_total_score before writing, or to put a number there by hand.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pabutools==1.2.3
"$folder/venv/bin/python" - "$folder/votes.pb" <<'PYTHON'
import importlib.metadata
import pathlib
import sys

from pabutools.election import CumulativeBallot, CumulativeProfile, Instance, Project
from pabutools.election.pabulib import parse_pabulib, write_pabulib

path = sys.argv[1]
park, road = Project("park", 1), Project("road", 2)
projects = Instance([park, road], budget_limit=2)


def written(**limits: int) -> tuple[str, str]:
    votes = CumulativeProfile([CumulativeBallot({park: 3, road: 1})], instance=projects, **limits)
    write_pabulib(projects, votes, path)
    lines = pathlib.Path(path).read_text(encoding="utf-8-sig").splitlines()
    (line,) = (line for line in lines if line.startswith("max_sum_points"))
    try:
        parse_pabulib(path)
    except ValueError as error:
        return line, f"ValueError: {error}"
    return line, "read"


print("pabutools", importlib.metadata.version("pabutools"))
without, within = written(), written(legal_max_total_score=4)
print(without, within)
sys.exit((without[1][:10], within[1]) != ("ValueError", "read"))
PYTHON
# Seen: ('max_sum_points;Auto-filled max_sum_points', 'ValueError: invalid digits') ('max_sum_points;4', 'read')
