#!/usr/bin/env bash
# One would guess that a private median comes near the median as epsilon grows. diffprivlib's median and quantile draw a
# place between neighboring data points, with a weight that takes the distance between these: where people give the same
# answers, as on a scale from 0 to 5, no place at their answer can be drawn. Of fifty people who all say 3 the median is
# uniform on the whole scale at epsilon 1 as at epsilon 10; of a hundred who say 1 to 5 equally often, between 2 and 4.
# Why a user would care: ratings are whole numbers, and neither more people nor a larger epsilon helps.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet diffprivlib==0.6.6 scikit-learn==1.5.2
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import importlib.metadata
import sys

import diffprivlib
import numpy as np

draws = range(2000)


def medians(data, epsilon):
    return [diffprivlib.tools.median(data, epsilon=epsilon, bounds=(0, 5), random_state=seed) for seed in draws]


def spread(data, epsilon):
    return np.quantile(medians(np.asarray(data, dtype=float), epsilon), [0.05, 0.95]).round(1).tolist()


alike, equally = [3] * 50, [1, 2, 3, 4, 5] * 20
apart = np.linspace(2.9, 3.1, 50)
found = [spread(alike, 1), spread(alike, 10), spread(equally, 10), spread(apart, 10)]
print("diffprivlib", importlib.metadata.version("diffprivlib"))
print("nine tenths of the medians lie within, at epsilon 1 and 10 of fifty who say 3:", *found[:2])
print("at epsilon 10 of 1 to 5, equally often:", found[2], "of fifty from 2.9 to 3.1:", found[3])
wide = [high - low > 4 for low, high in found[:2]]
sys.exit(not all(wide) or found[2][1] - found[2][0] < 1.5 or found[3][1] - found[3][0] > 0.3)
PYTHON
# Seen: nine tenths of the medians lie within, at epsilon 1 and 10 of fifty who say 3: [0.2, 4.7] [0.2, 4.7]
#       at epsilon 10 of 1 to 5, equally often: [2.1, 3.9] of fifty from 2.9 to 3.1: [3.0, 3.0]
