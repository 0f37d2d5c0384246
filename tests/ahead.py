"""`psephos`, whose clock is set forward whenever it is continued (SIGCONT), as if it had been stopped for so long.

python ahead.py SECONDS COMMAND ...
"""

import functools
import signal
import sys
from unittest import mock

import trio
from deployments import SettableClock
from psephos.scenarios.cli import main


def run_ahead(seconds: float) -> None:
    """Run the command line with a clock that each SIGCONT sets forward."""
    clock = SettableClock()
    signal.signal(signal.SIGCONT, lambda _, __: clock.set_forward(seconds))
    with mock.patch.object(trio, "run", functools.partial(trio.run, clock=clock)):
        main()


if __name__ == "__main__":
    number = sys.argv.pop(1)
    run_ahead(float(number))
