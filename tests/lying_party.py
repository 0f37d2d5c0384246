"""`psephos`, whose party of a masked session lies in one of the ways of `liars`.

python lying_party.py KIND COMMAND ...
"""

import sys
from unittest import mock

import liars
from psephos.protocol import masked_sessions
from psephos.scenarios.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    with mock.patch.object(masked_sessions, "MaskingParty", getattr(liars, sys.argv.pop(1))):
        main()
