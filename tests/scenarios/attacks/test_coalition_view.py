"""What a coalition saw is the same from agents' views and from arrays, for every protocol and every coalition."""

import dataclasses
import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import trio
from helpers import (
    make_fair_inputs,
    make_fair_vote,
    make_inputs,
    make_names,
    make_preference_inputs,
    make_preferences,
    make_vote,
)
from psephos.agents import Simulation
from psephos.protocol import Inputs, PhasedProtocol, SimulatedNoise
from psephos.protocol.fair_voting.kinds import MechanismName
from psephos.protocol.moral_preferences import Paradigm
from psephos.protocol.truth_discovery import Parameters as CrowdParameters
from psephos.protocol.truth_discovery import TruthDiscovery
from psephos.scenarios import SessionRecord, run_agents
from psephos.scenarios.attacks import Coalition, CoalitionView, view_by_agents, view_by_arrays
from psephos.transports import MemoryTransport

SIZE = 4
Made = tuple[PhasedProtocol[Any, Any], Inputs]


def make_crowd() -> Made:
    protocol = TruthDiscovery(CrowdParameters(tasks=("t0", "t1"), answer_sets=(("no", "yes"),), max_answers=2))
    tasks = [["t0", "t1"], ["t1"], ["t0"], ["t1", "t0"]]
    answers = [["yes", "no"], ["no"], ["yes"], ["yes", "yes"]]
    return protocol, protocol.encode({"tasks": tasks, "answers": answers})


def make_dpwevote() -> Made:
    vote = make_vote()
    return vote, make_inputs(vote, SIZE)


def make_fair(mechanism: MechanismName) -> Made:
    vote = make_fair_vote(3, 1, mechanism=mechanism)
    return vote, make_fair_inputs(vote)


def make_moral(paradigm: Paradigm) -> Made:
    protocol = make_preferences(paradigm=paradigm)
    return protocol, make_preference_inputs(protocol, SIZE)


MAKERS: dict[str, Callable[[], Made]] = {
    "dpwevote": make_dpwevote,
    "truth discovery": make_crowd,
    "moral preferences": functools.partial(make_moral, Paradigm.VLDP),
    "moral preferences, central": functools.partial(make_moral, Paradigm.VLCP),
    "fair voting": functools.partial(make_fair, "sampled_pair"),
    "fair voting, central": functools.partial(make_fair, "exponential"),
}
COALITIONS = [Coalition(members, has_server) for members in ((), (1, 3), (0, 1, 3)) for has_server in (False, True)]


@functools.cache
def played(name: str) -> tuple[PhasedProtocol[Any, Any], Inputs, SessionRecord]:
    """Return what agents over memory leave of a session."""
    protocol, inputs = MAKERS[name]()
    mode = Simulation("s", SimulatedNoise(7, session="s"), record_views=True)

    async def main() -> SessionRecord:
        return await run_agents(protocol, names=make_names(SIZE), inputs=inputs, mode=mode, transport=MemoryTransport())

    return protocol, inputs, trio.run(main)


def check_equal(first: CoalitionView, second: CoalitionView) -> None:
    names = {field.name for field in dataclasses.fields(CoalitionView)} - {"find_ending"} | {"outcomes", "release"}
    for name in sorted(names):
        one: Any = getattr(first, name)
        other: Any = getattr(second, name)
        if name in {"rows", "public"}:
            np.testing.assert_array_equal(one, other, err_msg=name, strict=True)
        elif name in {"reports", "told", "totals"}:
            assert len(one) == len(other), name
            for each, its in zip(one, other, strict=True):
                np.testing.assert_array_equal(each, its, err_msg=name, strict=True)
        else:
            assert one == other, name


@pytest.mark.parametrize("coalition", COALITIONS, ids=str)
@pytest.mark.parametrize("name", MAKERS)
def test_agents_and_arrays_show_a_coalition_the_same(name: str, coalition: Coalition) -> None:
    protocol, inputs, record = played(name)
    agents = view_by_agents(
        protocol,
        record.views,
        names=make_names(SIZE),
        public=inputs.public,
        coalition=coalition,
        tallies=record.tallies,
    )
    arrays = view_by_arrays(protocol, inputs, noise=SimulatedNoise(7, session="s"), coalition=coalition)
    check_equal(agents, arrays)
    assert agents.num_parties == SIZE


@pytest.mark.parametrize("name", MAKERS)
def test_a_coalition_sees_nothing_of_others_but_what_is_published(name: str) -> None:
    protocol, inputs, _ = played(name)
    seen = view_by_arrays(
        protocol, inputs, noise=SimulatedNoise(7, session="s"), coalition=Coalition((1, 3), has_server=False)
    )
    for reports, told in zip(seen.reports, seen.told, strict=True):
        assert told.tolist() == [False, True, False, True]
        assert not reports[[0, 2]].any()
    assert seen.rows.tolist() == inputs.private[[1, 3]].tolist()


@pytest.mark.parametrize("members", [(1, 0), (1, 1)], ids=str)
def test_members_are_distinct_places_in_order(members: Sequence[int]) -> None:
    with pytest.raises(
        ValueError, match=re.escape(f"members are {members}: use places in increasing order, each once")
    ):
        Coalition(tuple(members), has_server=False)


@pytest.mark.parametrize(
    ("coalition", "missing"),
    [(Coalition((0, 2), has_server=False), "p2"), (Coalition((0,), has_server=True), "server")],
    ids=["party", "server"],
)
def test_a_view_that_was_not_recorded_is_missed(coalition: Coalition, missing: str) -> None:
    protocol, inputs, record = played("dpwevote")
    kept = [view for view in record.views if view.party == "p0"]
    with pytest.raises(ValueError, match=f"the view of {missing} was not recorded"):
        view_by_agents(protocol, kept, names=make_names(SIZE), public=inputs.public, coalition=coalition)


def test_a_session_that_came_to_no_end_leaves_the_reports_that_came() -> None:
    protocol, inputs, record = played("dpwevote")
    (server,) = [view for view in record.views if view.party not in make_names(SIZE)]
    cut = server.observations[: len(server.observations) // 2]
    view = type(server)(server.party, server.side, server.session, server.kind, observations=cut)
    whole, half = (
        view_by_agents(
            protocol,
            [each],
            names=make_names(SIZE),
            public=inputs.public,
            coalition=Coalition((), has_server=True),
            tallies=record.tallies,
        )
        for each in (server, view)
    )
    assert half.release is None
    assert half.totals == ()
    assert 0 < sum(told.sum() for told in half.told) < sum(told.sum() for told in whole.told)
    for reports, fewer, told in zip(whole.reports, half.reports, half.told, strict=True):
        np.testing.assert_array_equal(reports[told], fewer[told])
