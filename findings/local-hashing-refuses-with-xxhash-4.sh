#!/usr/bin/env bash
# One would guess that local hashing (OLH), the method of most comparisons, works in a fresh environment, as all other oracles
# of pure-ldp and multi-freq-ldpy do. Both hash str(value) by xxhash, of which they ask for no version. Its third version
# hashes a text's UTF-8; its fourth refuses texts, as hashlib always has: the first report of a client raises a TypeError.
# Why a user would care: a comparison of oracles loses its best row, or a loop that catches errors leaves it out unseen. With
# xxhash<4 all is as it was.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pure-ldp==1.2.0 statsmodels scikit-learn multi-freq-ldpy==0.2.5
cat >"$folder/report.py" <<'PYTHON'
import warnings

warnings.filterwarnings("ignore")
import xxhash
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
from pure_ldp.frequency_oracles.direct_encoding import DEClient
from pure_ldp.frequency_oracles.local_hashing import LHClient


def outcome(draw):
    try:
        draw()
    except TypeError as error:
        return f"TypeError: {error}"
    return "a report"


print("xxhash", xxhash.VERSION)
print("k-RR:", outcome(lambda: DEClient(epsilon=1, d=4).privatise(1)), "and", outcome(lambda: GRR_Client(1, 4, 1.0)))
print("pure-ldp, OLH:", outcome(lambda: LHClient(epsilon=1, d=4, use_olh=True).privatise(1)))
print("multi-freq-ldpy, OLH:", outcome(lambda: LH_Client(1, 4, 1.0)))
PYTHON
for version in 3.6.0 4.1.0; do
    "$folder/venv/bin/pip" install --quiet "xxhash==$version"
    "$folder/venv/bin/python" "$folder/report.py" | tee "$folder/$version"
done
[ "$(grep -c "OLH: a report" "$folder/3.6.0")" = 2 ]
[ "$(grep -c "OLH: TypeError" "$folder/4.1.0")" = 2 ]
[ "$(grep -c "k-RR: a report and a report" "$folder/4.1.0")" = 1 ]
# Seen: xxhash 3.6.0: all four give a report
#       xxhash 4.1.0: k-RR: a report and a report
#                     pure-ldp, OLH: TypeError: Strings must be encoded before hashing, and multi-freq-ldpy likewise
