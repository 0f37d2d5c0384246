"""Runs the hostile world from one seed after another, and makes what fails small.

    $ make simulate SECONDS=60
    $ .venv/bin/python tests/simulate.py --seed 65        # one run again, message by message

A seed is a plan (`simulation/plans.py`), and the same plan is the same run. On a failure the smallest plan that breaks
the same invariant is printed, to be kept by name in `simulation/test_world.py`.
"""

import argparse
import random
import sys
import time

from simulation.invariants import Broke
from simulation.plans import Plan, draw_plan, smaller
from simulation.world import run_plan

__all__ = ["broken_by", "main", "plan_of", "shrink"]


def plan_of(seed: int) -> Plan:
    """Return a seed's plan."""
    return draw_plan(random.Random(seed))


def broken_by(plan: Plan) -> Broke | None:
    """Run a plan, and return the first invariant that it broke; what raises is broken as well."""
    try:
        broken = run_plan(plan).observer.broken
    except Exception as error:  # noqa: BLE001  whatever it is, it is a failure to report
        return Broke("nothing raises", _cause_of(error))
    return broken[0] if broken else None


def shrink(plan: Plan, broke: Broke) -> tuple[Plan, Broke]:
    """Return the smallest plan found that breaks the same invariant, and how it does."""
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for candidate in smaller(plan):
            found = broken_by(candidate)
            if found is not None and found.invariant == broke.invariant:
                plan, broke, is_smaller = candidate, found, True
                break
    return plan, broke


def main() -> int:
    """Run what the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="run this one alone, and say what it does")
    given = parser.parse_args()
    if given.seed is not None:
        return _show(given.seed)
    begun = time.monotonic()
    seed, failed = given.first, 0
    while time.monotonic() - begun < given.seconds:
        broke = broken_by(plan_of(seed))
        if broke is not None:
            failed += 1
            _tell(seed, broke)
        seed += 1
    count = seed - given.first
    seconds = time.monotonic() - begun
    print(f"{count} runs, seeds {given.first} to {seed - 1}, {count / seconds:.1f} a second, {failed} failed")
    return 1 if failed else 0


def _tell(seed: int, broke: Broke) -> None:
    print(f"seed {seed}: {broke.invariant}: {broke.detail}")
    plan, smallest = shrink(plan_of(seed), broke)
    print(
        f"  smallest: {smallest.detail}\n  {plan!r}\n  again: .venv/bin/python tests/simulate.py --seed {seed}",
        flush=True,
    )


def _show(seed: int) -> int:
    plan = plan_of(seed)
    print(plan)
    broke = broken_by(plan)
    if broke is None:
        print("nothing is broken")
        return 0
    _tell(seed, broke)
    return 1


def _cause_of(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main())
