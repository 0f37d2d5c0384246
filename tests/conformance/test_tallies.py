"""What every phase's tally keeps: it merges exactly, whoever counts which clients and in whatever order."""

import functools
import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from helpers import Session, closed, make_vote
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol import Tally, run_population
from psephos.protocol.arrays import IntArray
from psephos.protocol.population import draw_reports, tally_batch
from strategies import CHECKED, crowd_sessions, fair_sessions, preference_sessions, quizzes, sessions

every_session = sessions() | quizzes() | crowd_sessions() | preference_sessions() | fair_sessions()
every_small_session = (
    sessions(largest=4)
    | quizzes(largest=4)
    | crowd_sessions(largest=4)
    | preference_sessions(largest=4)
    | fair_sessions(largest=4)
)


def tallies_of_shards(session: Session, shards: Sequence[Sequence[int]]) -> list[list[Tally]]:
    """Return each phase's tallies, one for each shard of the places."""
    drawn: list[IntArray] = []
    tallies: list[list[Tally]] = []
    for phase in session.protocol.phases:
        noise = session.fresh_noise()
        reports = draw_reports(phase, session.inputs, noise=noise, protocol=session.protocol.name, start=0)
        rows = [np.array(shard, dtype=np.int64) for shard in shards]
        tallies.append([tally_batch(phase, reports, drawn, session.inputs.public, of_shard) for of_shard in rows])
        drawn.append(reports)
    return tallies


def partition(num_parties: int, data: st.DataObject) -> list[list[int]]:
    """Return the places in any order, cut into shards, some of them empty."""
    order = data.draw(st.permutations(range(num_parties)))
    cuts = sorted(data.draw(st.lists(st.integers(0, num_parties), max_size=4)))
    return [list(order[start:stop]) for start, stop in zip([0, *cuts], [*cuts, num_parties], strict=True)]


@CHECKED
@given(every_session, st.data())
def test_any_partition_in_any_order_gives_the_same_tallies_and_outcome(session: Session, data: st.DataObject) -> None:
    whole = run_population(session.protocol, session.inputs, noise=session.fresh_noise())
    shards = tallies_of_shards(session, partition(len(session.inputs), data))
    merged = [
        closed(session, phase, functools.reduce(Tally.merge, data.draw(st.permutations(of_phase))))
        for phase, of_phase in zip(session.protocol.phases, shards, strict=True)
    ]
    assert tuple(merged) == whole.tallies
    assert session.protocol.outcome(merged) == whole.outcome
    assert session.protocol.own_outcomes(merged) == whole.own_outcomes


@CHECKED
@given(every_session, st.data())
def test_merging_is_associative_and_commutative(session: Session, data: st.DataObject) -> None:
    shards = [*partition(len(session.inputs), data), [], []][:3]
    for first, second, third in tallies_of_shards(session, shards):
        assert first.merge(second) == second.merge(first)
        assert first.merge(second).merge(third) == first.merge(second.merge(third))


@CHECKED
@given(every_small_session)
def test_the_tally_of_nobody_is_neutral(session: Session) -> None:
    for everybody, nobody in tallies_of_shards(session, [range(len(session.inputs)), []]):
        assert nobody.num_reports == 0
        assert not nobody.totals.any()
        assert len(nobody.rows) == 0
        assert everybody.merge(nobody) == nobody.merge(everybody) == everybody


@CHECKED
@given(every_small_session)
def test_a_tally_holds_64_bit_integers(session: Session) -> None:
    for (tally,) in tallies_of_shards(session, [range(len(session.inputs))]):
        assert tally.totals.dtype == np.int64
        assert tally.rows.dtype == np.int64
        rows: list[list[int]] = tally.rows.tolist()
        assert all(before <= after for before, after in itertools.pairwise(rows))  # voters may rank alike
        assert tally.num_reports == len(session.inputs)


@pytest.mark.parametrize("largest", [2.0**20, 2.0**32, 2.0**36])
def test_a_tally_of_large_weights_is_exact_or_refused(largest: float) -> None:
    """Shares of a company are counted in billions, and a wrapped sum of squares looks like any other."""
    vote = make_vote(variant="laplace", weights=(1.0, 2.0, largest))
    phase = vote.phases[0]
    reports = [[phase.mechanism.value_range[1]], [3]]
    try:
        tally = phase.tally(np.array(reports, dtype=np.int64), earlier=[], public=np.empty((2, 0), dtype=np.int64))
    except OverflowError:
        return
    assert tally.totals.tolist() == [sum(report for (report,) in reports), sum(report**2 for (report,) in reports)]
