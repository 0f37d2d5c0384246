"""How much the tests do: `make test` is quick, `make verify` is full, and one variable decides.

A statistical test takes fewer draws when quick. Its tolerance follows from their number, so that the probability of a
false alarm that it states stays what it is: what falls is the size of the fault that it can see. A test that only
`make verify` runs is marked `full` with the reason, as is a case of a parametrized one.
"""

import os
from typing import Final

IS_FULL: Final = os.environ.get("PSEPHOS_TESTS") == "full"
"""Whether everything is run at its full length."""


def draws(quick: int, *, full: int) -> int:
    """Return how many draws, sessions, trials or examples a test takes."""
    return full if IS_FULL else quick
