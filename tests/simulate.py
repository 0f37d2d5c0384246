"""Runs the hostile world from one seed after another, and makes what fails small.

    $ make simulate SECONDS=60
    $ .venv/bin/python tests/simulate.py --seed 65        # one run again, message by message

A seed is a plan (`simulation/plans.py`), and the same plan is the same run. On a failure the smallest plan that breaks
the same invariant is printed, to be kept by name in `simulation/test_world.py`.
"""

# ruff: noqa: T201  a program

import argparse
import dataclasses
import random
import sys
import time
from collections.abc import Callable, Mapping
from typing import Final, cast

from simulation.invariants import Broke
from simulation.plans import GAME, OtherChoice, Plan, choosing, draw_plan, masking, smaller, storming
from simulation.world import run_plan

__all__ = ["KINDS", "broken_by", "main", "of_choices", "of_game", "of_masks", "of_storm", "plan_of", "shrink"]

_SEEDS_A_LINE: Final = 100


def plan_of(seed: int) -> Plan:
    return draw_plan(random.Random(seed))


def of_game(seed: int) -> Plan:
    """Return a seed's plan in which all sessions are of one game."""
    plan = plan_of(seed)
    return dataclasses.replace(plan, sessions=(GAME,) * (2 + seed % 2))


def of_choices(seed: int) -> Plan:
    """Return a seed's plan in all sessions of which voters choose their ε."""
    plan = plan_of(seed)
    events = tuple(event for event in plan.events if not isinstance(event, OtherChoice))
    sessions = ("moral-preferences",) * len(plan.sessions)
    return choosing(dataclasses.replace(plan, sessions=sessions, events=events), share=1.0)


def of_storm(seed: int) -> Plan:
    """Return a seed's plan in which processes die by the dozen."""
    return storming(plan_of(seed))


def of_masks(seed: int) -> Plan:
    """Return a seed's plan whose sessions are masked; the seed after is a storm of such."""
    plan = masking(plan_of(seed))
    return plan if seed % 2 == 0 else dataclasses.replace(storming(plan), sessions=plan.sessions)


KINDS: Final[Mapping[str, Callable[[int], Plan]]] = {
    "drawn": plan_of,
    "game": of_game,
    "choices": of_choices,
    "storm": of_storm,
    "masks": of_masks,
}
"""What is made of a seed."""


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
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on; inf for ever")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="run this one alone, and say what it does")
    parser.add_argument(
        "--kind", choices=KINDS, help="what is made of a seed (by default each in turn; of --seed: drawn)"
    )
    given = parser.parse_args()
    if given.seed is not None:
        return _show(given.seed, given.kind or "drawn")
    kinds = tuple(KINDS) if given.kind is None else (given.kind,)
    begun = time.monotonic()
    seed, num_faulty, failed = given.first, 0, 0
    while (seconds := time.monotonic() - begun) < given.seconds:
        for kind in kinds:
            plan = KINDS[kind](seed)
            num_faulty += len(plan.sessions) * plan.is_faulty
            broke = broken_by(plan)
            if broke is not None:
                failed += 1
                _tell(seed, kind, broke)
        seed += 1
        if seed % _SEEDS_A_LINE == 0:
            _count(num_faulty, f"seeds {given.first} to {seed - 1}", seconds, failed)
    _count(num_faulty, f"seeds {given.first} to {seed - 1} of {', '.join(kinds)}", seconds, failed)
    return 1 if failed else 0


def _count(num_faulty: int, seeds: str, seconds: float, failed: int) -> None:
    print(f"{num_faulty:,} faulty sessions, {seeds}, {num_faulty / seconds:.1f} a second, {failed} failed", flush=True)


def _tell(seed: int, kind: str, broke: Broke) -> None:
    print(f"seed {seed}, {kind}: {broke.invariant}: {broke.detail}")
    plan, smallest = shrink(KINDS[kind](seed), broke)
    again = f".venv/bin/python tests/simulate.py --seed {seed} --kind {kind}"
    print(f"  smallest: {smallest.detail}\n  {plan!r}\n  again: {again}", flush=True)


def _show(seed: int, kind: str) -> int:
    plan = KINDS[kind](seed)
    print(plan)
    broke = broken_by(plan)
    if broke is None:
        print("nothing is broken")
        return 0
    _tell(seed, kind, broke)
    return 1


def _cause_of(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main())
