#!/usr/bin/env bash
# One would guess that a secure integer too large for its type raises, wraps around, or is simply exact, since MPyC computes in
# a field with room to spare. Sums are exact: the votes of three shareholders, billions each, open as they should in the
# default `SecInt()`, which has 32 bits. Comparisons of the same sums are not: "yes > no" opens to 3, "no > yes" to -2, the
# greatest of both is 32,100,000,000 where 12,700,000,000 shares exist, and argmax names the place 3 of two. Nothing is
# said, neither where a value comes in nor where it is compared.
# Why a user would care: to count weighted votes with servers that share the work, one opens the decision alone. `if result:`
# takes 3 and -2 alike for "passed"; whoever tests with small weights sees nothing of it. SecInt(64) is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mpyc==0.11
"$folder/venv/bin/python" - <<'PYTHON' 2>"$folder/log"
import importlib.metadata
import sys

from mpyc.runtime import mpc


async def vote(secint):
    yes = secint(2_500_000_000) + secint(9_000_000_000)
    no = secint(1_200_000_000)
    asked = (yes, yes > no, no > yes, mpc.max(yes, no), mpc.argmax([no, yes])[0])
    return [int(await mpc.output(number)) for number in asked]


print("mpyc", importlib.metadata.version("mpyc"), "bits of SecInt():", mpc.SecInt().bit_length)
found = [mpc.run(vote(kind)) for kind in (mpc.SecInt(), mpc.SecInt(64))]
for numbers in found:
    print("yes, yes > no, no > yes, the greatest, its place:", *numbers)
sys.exit(found != [[11500000000, 3, -2, 32100000000, 3], [11500000000, 1, 0, 11500000000, 1]])
PYTHON
# Seen: yes, yes > no, no > yes, the greatest, its place: 11500000000 3 -2 32100000000 3
#       yes, yes > no, no > yes, the greatest, its place: 11500000000 1 0 11500000000 1
