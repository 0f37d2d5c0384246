"""`psephos`, whose party of a masked session lies in one of the ways of `liars`.

python lying_party.py KIND [WHEN STEP] COMMAND ...

KIND may have places of friends behind it, whom it deals to as it should, or with whom it conspires: `KIND:0,2`. With
WHEN and STEP it is killed, as by `dying.py`.
"""

import sys
from unittest import mock

import liars
from dying import die_at
from psephos.protocol import masked_sessions
from psephos.scenarios.cli import main

if __name__ == "__main__":
    name, _, friends = sys.argv.pop(1).partition(":")
    kind = getattr(liars, name)
    if friends:
        kind.friends = tuple(map(int, friends.split(",")))
    with mock.patch.object(masked_sessions, "MaskingParty", kind):
        if sys.argv[1] in {"before", "after"}:
            when, step = sys.argv.pop(1), int(sys.argv.pop(1))
            die_at(when, step)
        else:
            main()
