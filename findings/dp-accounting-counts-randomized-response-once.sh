#!/usr/bin/env bash
# One would guess that an event which is composed ten times at once costs what ten events cost that are composed one by one.
# dp-accounting's PLDAccountant takes the count of a randomized response for one, and so does a SelfComposedDpEvent of it;
# its RdpAccountant counts them all, and so do both for Laplace noise.
# Why a user would care: a survey of ten questions, each by randomized response of epsilon ln 3, is said to cost what one
# question does, and nothing warns. Composed one by one, or by ComposedDpEvent, the same questions cost ten times as much.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet dp-accounting==0.6.0
"$folder/venv/bin/python" - <<'PYTHON'
import importlib.metadata
import sys

import dp_accounting
from dp_accounting.pld import PLDAccountant

answer = dp_accounting.RandomizedResponseDpEvent(noise_parameter=0.5, num_buckets=2)  # right with 3/4: ln 3


def epsilon(*composed):
    accountant = PLDAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
    for event, count in composed:
        accountant.compose(event, count)
    return round(accountant.get_epsilon(1e-6), 3)


one, at_once, one_by_one = epsilon((answer, 1)), epsilon((answer, 10)), epsilon(*[(answer, 1)] * 10)
nested = epsilon((dp_accounting.SelfComposedDpEvent(answer, 10), 1))
print("dp-accounting", importlib.metadata.version("dp-accounting"))
print(f"epsilon of one: {one}; of ten at once: {at_once}, nested: {nested}; of ten one by one: {one_by_one}")
sys.exit(not one == at_once == nested < one_by_one / 9)
PYTHON
# Seen: epsilon of one: 1.099; of ten at once: 1.099, nested: 1.099; of ten one by one: 10.987
