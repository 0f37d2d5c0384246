#!/usr/bin/env bash
# One would guess that a copy of a struct with one field changed is checked as the struct itself is. Up to msgspec 0.20,
# structs.replace runs no __post_init__: what that method refuses or computes is neither. From 0.21 on it does.
# Why a user would care: limits that a struct promises (a loss is a number of at least 0) hold or not by the version that a
# resolver happened to choose, and `msgspec>=0.19` allows both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
program='
import importlib.metadata
import msgspec

class Loss(msgspec.Struct, frozen=True):
    epsilon: float

    def __post_init__(self):
        if not self.epsilon >= 0:
            raise ValueError(self.epsilon)

try:
    found = f"accepted {msgspec.structs.replace(Loss(1.0), epsilon=-1.0).epsilon}"
except ValueError:
    found = "refused"
print("msgspec", importlib.metadata.version("msgspec"), found)
'
for version in 0.20.0 0.21.0; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install --quiet "msgspec==$version"
    "$folder/$version/bin/python" -c "$program"
done | tee "$folder/seen"
diff "$folder/seen" - <<'SEEN'
msgspec 0.20.0 accepted -1.0
msgspec 0.21.0 refused
SEEN
# Seen: msgspec 0.20.0 accepted -1.0, msgspec 0.21.0 refused
