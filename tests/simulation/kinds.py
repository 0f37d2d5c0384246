"""What is made of a seed: a plan of each kind, so that all of the world is drawn, and what is rare by chance is not."""

import dataclasses
import random
from collections.abc import Callable, Mapping
from typing import Final

from liars import ALONE, PAIRS
from simulation.plans import (
    CASES,
    GAME,
    HOST,
    LEAST_ON_A_CIRCLE,
    LIES,
    MASKED,
    MODELS,
    Clock,
    Crash,
    Liar,
    OtherChoice,
    Plan,
    Revoked,
    WrongClock,
    choosing,
    draw_plan,
    masking,
    server_name,
    storming,
)

__all__ = ["KINDS", "of_choices", "of_game", "of_masks", "of_storm", "plan_of"]


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


def of_models(seed: int) -> Plan:
    """Return a seed's plan whose sessions are of all systems in all three models, as often; each other time a storm."""
    draw, plan = random.Random(f"models of {seed}"), _without_choices(plan_of(seed))
    plan = dataclasses.replace(plan, num_parties=draw.choice((2, 3, 3, 4, LEAST_ON_A_CIRCLE)))
    sessions = tuple(MODELS[(seed + number) % 4][draw.randrange(3)] for number in range(draw.choice((1, 2, 2, 3))))
    plan = plan if seed % 2 else storming(plan)
    return _with_masked_quorum(dataclasses.replace(plan, sessions=sessions))


def of_liars(seed: int) -> Plan:
    """Return a seed's plan of masked sessions in which somebody lies, in each way as often; of a pair, both do."""
    draw, plan = random.Random(f"liars of {seed}"), masking(plan_of(seed))
    number = draw.choice((5, 5, 6, 7))
    plan = dataclasses.replace(plan, num_parties=number, quorum=0.5)
    lie, names = seed % len(LIES), draw.sample(plan.parties, 2)
    told = [Liar(names[0], lie)]
    if len(ALONE) <= lie < len(ALONE) + 2 * len(PAIRS):
        first = lie - (lie - len(ALONE)) % 2
        told = [Liar(names[0], first), Liar(names[1], first + 1)]
    elif draw.random() < 0.3:
        told.append(Liar(names[1], draw.randrange(len(ALONE))))
    return dataclasses.replace(plan, events=(*(event for event in plan.events if not isinstance(event, Liar)), *told))


def of_windows(seed: int) -> Plan:
    """Return a seed's plan of a series of sessions under a budget that holds in any window of a length."""
    draw, plan = random.Random(f"windows of {seed}"), _without_choices(plan_of(seed))
    period = draw.choice((100.0, 1000.0, 10_000.0))
    cases = (*CASES, *MASKED, "dpwevote-central", "truth-discovery-central")
    plan = dataclasses.replace(
        plan,
        sessions=tuple(draw.choice(cases) for _ in range(draw.choice((2, 3, 3, 4)))),
        affordable=draw.choice((1, 1, 1, 2)),
        period=period,
        gap=period * draw.choice((0.3, 0.6, 1.1, 2.0)),
        deadline=min(plan.deadline, period),
        is_gentle=False,
    )
    clocks = [
        WrongClock(draw.choice(plan.parties), draw.randrange(3), draw.choice((-period, -1.0, 0.5 * period, period)))
        for _ in range(draw.choice((0, 0, 1, 2)))
    ]
    return _with_masked_quorum(dataclasses.replace(plan, events=(*plan.events, *clocks)))


def of_revoked(seed: int) -> Plan:
    """Return a seed's plan in which servers begin again, and take some party's certificate no more."""
    draw, plan = random.Random(f"revoked of {seed}"), of_models(seed)
    if plan.is_gentle:  # in which sessions follow one another, and each waits here for who is out
        plan = dataclasses.replace(plan, sessions=plan.sessions[:1])
    events = list(plan.events)
    for number in range(len(plan.sessions)):
        server = server_name(number)
        events.append(Revoked(server, draw.choice(plan.parties), draw.choice((0, 1, 1, 1, 2))))
        events += (Crash(server, run, draw.randrange(4, 60), draw.choice((0.0, 0.3, 3.0))) for run in range(2))
    return dataclasses.replace(plan, has_certificates=True, quorum=0.5, events=tuple(events))


def of_hosts(seed: int) -> Plan:
    """Return a seed's plan in which a host takes part for two persons or more; each other time a storm."""
    draw, plan = random.Random(f"hosts of {seed}"), _without_choices(plan_of(seed))
    number = draw.choice((3, 4, 5))
    hosted = draw.randrange(2, number + 1)
    local = [MODELS[draw.randrange(4)][draw.randrange(2)] for _ in plan.sessions]
    sessions = tuple(draw.choice((case, case, draw.choice((GAME, "fair-voting-hidden", "quiz")))) for case in local)
    plan = dataclasses.replace(plan, num_parties=number, has_certificates=True)
    plan = plan if seed % 2 else storming(plan)
    plan = dataclasses.replace(plan, sessions=sessions, faults=dataclasses.replace(plan.faults, duplication=0.0))
    names = plan.parties[:hosted]
    events = tuple(
        event if isinstance(event, Clock) or event.process not in names else dataclasses.replace(event, process=HOST)
        for event in plan.events
    )
    return dataclasses.replace(plan, hosted=hosted, events=events)


def _without_choices(plan: Plan) -> Plan:
    return dataclasses.replace(
        plan, events=tuple(event for event in plan.events if not isinstance(event, (OtherChoice, Liar)))
    )


def _with_masked_quorum(plan: Plan) -> Plan:
    """Return the plan; where a session is masked, nothing is repeated within gentle ones, as `masking` has it."""
    if plan.is_gentle and {*plan.sessions} & {*MASKED}:
        return dataclasses.replace(plan, faults=dataclasses.replace(plan.faults, duplication=0.0))
    return plan


KINDS: Final[Mapping[str, Callable[[int], Plan]]] = {
    "drawn": plan_of,
    "game": of_game,
    "choices": of_choices,
    "storm": of_storm,
    "masks": of_masks,
    "models": of_models,
    "liars": of_liars,
    "windows": of_windows,
    "revoked": of_revoked,
    "hosts": of_hosts,
}
"""What is made of a seed."""
