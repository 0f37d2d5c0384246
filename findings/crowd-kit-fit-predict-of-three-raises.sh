#!/usr/bin/env bash
# One would guess that all of crowd-kit's aggregators of labels are called alike, by fit_predict of a frame, as its documents
# show. OneCoinDawidSkene takes that method from DawidSkene, which hands three arguments to a fit that takes one: it raises a
# TypeError for every frame, and fit(frame).labels_ is the way. Wawa and ZeroBasedSkill raise an AttributeError with
# scikit-learn from 1.8 on, which asks whatever it checks for tags that they do not have; with 1.7 they answer.
# Why a user would care: a loop over aggregators, the usual baseline of a comparison, ends or loses three of its rows.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
cat >"$folder/aggregate.py" <<'PYTHON'
import sys
import warnings

warnings.filterwarnings("ignore")
import pandas as pd
import sklearn
from crowdkit.aggregation import DawidSkene, MajorityVote, OneCoinDawidSkene, Wawa, ZeroBasedSkill

rows = [(task, worker, "yes" if task % 2 else "no") for task in range(6) for worker in "abc"]
frame = pd.DataFrame(rows, columns=["task", "worker", "label"])


def outcome(aggregator):
    try:
        return f"{len(aggregator.fit_predict(frame))} labels"
    except (AttributeError, TypeError) as error:
        return type(error).__name__


found = {kind.__name__: outcome(kind()) for kind in (MajorityVote, DawidSkene, OneCoinDawidSkene, Wawa, ZeroBasedSkill)}
print("scikit-learn", sklearn.__version__, found)
print("OneCoinDawidSkene().fit(frame).labels_:", len(OneCoinDawidSkene().fit(frame).labels_), "labels")
sys.exit([*found.values()] != ["6 labels", "6 labels", "TypeError", *[sys.argv[1]] * 2])
PYTHON
"$folder/venv/bin/pip" install --quiet crowd-kit==1.4.1 scikit-learn==1.9.1
echo "crowd-kit 1.4.1"
"$folder/venv/bin/python" "$folder/aggregate.py" AttributeError
"$folder/venv/bin/pip" install --quiet scikit-learn==1.7.0
"$folder/venv/bin/python" "$folder/aggregate.py" "6 labels"
# Seen: scikit-learn 1.9.1: MajorityVote and DawidSkene 6 labels, OneCoinDawidSkene TypeError, the others AttributeError
#       scikit-learn 1.7.0: OneCoinDawidSkene TypeError, all others 6 labels
