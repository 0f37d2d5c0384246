"""Votes of one game: a weight is drawn and paid once, on every path, and who joins later pays then."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
import trio
from bad_input import refuses
from psephos.agents import Simulation
from psephos.agents.adversaries import Poisoner
from psephos.protocol import (
    ConfigurationError,
    Inputs,
    KeptReports,
    QuorumError,
    SessionRules,
    SimulatedNoise,
)
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.population import run_batches
from psephos.protocol.privacy import LedgerEntry
from psephos.scenarios import Adversity, SessionRecord, run_agents, run_arrays
from psephos.scenarios.running.record import SessionObservers
from psephos.transports import MemoryTransport

NAMES = ("ann", "bob", "cid", "dan", "eve", "fay")
WEIGHTS = dict(zip(NAMES, (1, 2, 3, 3, 1, 2), strict=True))
SESSION = "votes"


@dataclasses.dataclass(frozen=True)
class Vote:
    """One vote of a game: who takes part, on what."""

    number: int
    names: Sequence[str] = NAMES
    changes: tuple[tuple[str, Any], ...] = ()
    weights: tuple[tuple[str, int], ...] = ()

    @property
    def protocol(self) -> DPWeVote:
        given: dict[str, Any] = {"game": "board", "epsilon_weight": 0.7, "epsilon_opinion": 0.2}
        return DPWeVote(Parameters(candidates=("x", f"y{self.number}"), **{**given, **dict(self.changes)}))

    @property
    def inputs(self) -> Inputs:
        protocol, random = self.protocol, np.random.default_rng(self.number)
        weights = {**WEIGHTS, **dict(self.weights)}
        opinions = {name: random.integers(2, size=len(self.names)) for name in protocol.parameters.candidates}
        return protocol.encode({"weight": [weights[name] for name in self.names], **opinions})

    @property
    def noise(self) -> SimulatedNoise:
        return SimulatedNoise(11, session=SESSION, round_number=self.number)


def by_arrays(vote: Vote, kept: KeptReports) -> SessionRecord:
    return run_arrays(
        vote.protocol, inputs=vote.inputs, noise=vote.noise, names=vote.names, observers=SessionObservers(kept=kept)
    )


def by_agents(
    vote: Vote, kept: KeptReports, *, entries: list[LedgerEntry] | None = None, **given: Any
) -> SessionRecord:
    observers = SessionObservers(kept=kept, entries=[] if entries is None else entries)

    async def hold() -> SessionRecord:
        return await run_agents(
            vote.protocol,
            names=vote.names,
            inputs=vote.inputs,
            mode=Simulation(SESSION, vote.noise),
            transport=MemoryTransport(),
            observers=observers,
            **given,
        )

    return trio.run(hold)


PATHS: dict[str, Callable[[Vote, KeptReports], SessionRecord]] = {"arrays": by_arrays, "agents": by_agents}


def paid(entries: Sequence[LedgerEntry], phase: str) -> float:
    """Return what all persons together paid in a phase."""
    return sum(entry.proven * entry.num_persons for entry in entries if entry.phase == phase)


@pytest.mark.parametrize("variant", ["joint", "printed", "laplace"])
def test_votes_of_a_game_are_the_same_on_both_paths_and_repeat_every_weight(variant: str) -> None:
    kept: dict[str, KeptReports] = {"arrays": {}, "agents": {}}
    votes = [
        Vote(0, NAMES[:4], changes=(("variant", variant),)),
        Vote(1, NAMES, changes=(("variant", variant),)),
        Vote(2, (*NAMES[3:], "ann"), changes=(("variant", variant),)),  # other places, and some have left
    ]
    first: dict[str, tuple[int, ...]] = {}
    for vote in votes:
        records = {path: hold(vote, kept[path]) for path, hold in PATHS.items()}
        assert records["arrays"].outcome == records["agents"].outcome
        assert records["arrays"].kept == records["agents"].kept
        drawn = records["arrays"].kept["board", "weights"].drawn
        assert set(drawn) >= set(vote.names)
        for name, report in drawn.items():
            assert first.setdefault(name, report) == report
        alone = by_arrays(Vote(vote.number, vote.names, changes=(*vote.changes, ("game", "alone"))), {})
        assert (records["arrays"].outcome == alone.outcome) == (vote.number == 0)


@pytest.mark.parametrize("path", PATHS)
def test_game_costs_one_weight_and_all_opinions(path: str) -> None:
    kept: KeptReports = {}
    entries = [each for number in range(4) for each in PATHS[path](Vote(number), kept).entries]
    assert paid(entries, "weights") == pytest.approx(len(NAMES) * 0.7, abs=1e-9)
    assert paid(entries, "opinions") == pytest.approx(len(NAMES) * 4 * 2 * 0.2, abs=1e-9)
    total = 0.7 + 4 * 2 * 0.2
    assert sum(entry.proven * entry.num_persons for entry in entries) == pytest.approx(len(NAMES) * total, abs=1e-9)
    if path == "agents":
        own = [entry for entry in entries if entry.person == "eve"]
        assert sum(entry.proven for entry in own) == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("path", PATHS)
def test_who_joins_later_pays_for_its_weight_then(path: str) -> None:
    kept: KeptReports = {}
    PATHS[path](Vote(0, NAMES[:4]), kept)
    later = PATHS[path](Vote(1), kept).entries
    assert paid(later, "weights") == pytest.approx(2 * 0.7, abs=1e-9)


@pytest.mark.parametrize("path", PATHS)
def test_games_side_by_side_keep_their_own_weights(path: str) -> None:
    kept: KeptReports = {}
    club = (("game", "club"), ("epsilon_weight", 0.3))
    for vote in (Vote(0), Vote(1, changes=club)):
        assert paid(PATHS[path](vote, kept).entries, "weights") > 0
    for vote in (Vote(2, changes=club), Vote(3)):
        assert paid(PATHS[path](vote, kept).entries, "weights") == 0
    assert set(kept) == {("board", "weights"), ("club", "weights")}


@pytest.mark.parametrize("path", PATHS)
def test_one_vote_of_a_game_is_the_vote_without_it(path: str) -> None:
    of_game = PATHS[path](Vote(0), {})
    alone = PATHS[path](Vote(0, changes=(("game", msgspec.UNSET),)), {})
    assert of_game.outcome == alone.outcome
    assert alone.kept == {}


@pytest.mark.bad_input("a game: none to keep, another's weights, changed weights or settings")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (Vote(1, weights=(("bob", 3),)), "bob first took part in game 'board': a changed one needs a new game"),
        (Vote(1, changes=(("weights", (1.0, 2.0, 3.0, 4.0)),)), "use 1.0, 2.0, 3.0, as in the earlier"),
        (Vote(1, changes=(("groups", ((1.0, 2.0), (3.0,))),)), "use one for each weight"),
        (Vote(1, changes=(("epsilon_weight", 0.8),)), "use 0.7"),
        (Vote(1, changes=(("variant", "laplace"),)), "use k-RR"),
    ],
)
def test_changed_weight_or_setting_within_a_game_is_refused_and_nothing_paid(
    path: str, changed: Vote, words: str
) -> None:
    kept: KeptReports = {}
    PATHS[path](Vote(0), kept)
    before = {name: dict(each.drawn) for name, each in kept.items()}
    with refuses(said=words):
        PATHS[path](changed, kept)
    assert {name: dict(each.drawn) for name, each in kept.items()} == before


def test_weight_drawn_in_a_vote_that_failed_is_repeated_all_the_same() -> None:
    kept: KeptReports = {}
    entries: list[LedgerEntry] = []
    with pytest.raises(QuorumError):
        by_agents(
            Vote(0),
            kept,
            entries=entries,
            adversity=Adversity(deviations={"bob": Poisoner({0: (9,)})}),
            rules=SessionRules(quorum=6),
        )
    assert paid(entries, "weights") == pytest.approx(len(NAMES) * 0.7, abs=1e-9)
    assert paid(by_agents(Vote(1), kept).entries, "weights") == 0


def test_server_blames_who_told_another_weight_in_the_games_first_vote() -> None:
    kept: KeptReports = {}
    by_agents(Vote(0), kept)
    first = kept["board", "weights"].received["bob"][0]
    record = by_agents(
        Vote(1),
        kept,
        adversity=Adversity(deviations={"bob": Poisoner({0: ((first + 1) % 3,)})}),
        rules=SessionRules(quorum=5),
    )
    assert set(record.endings) == {"bob"}
    assert "otherwise than in an earlier session of game 'board'" in str(record.endings["bob"])
    assert record.num_received == (5, 5)
    assert kept["board", "weights"].received["bob"] == (first,)


def test_parties_without_names_and_batches_keep_nothing() -> None:
    vote = Vote(0)
    with pytest.raises(ValueError, match="reports are kept by the parties' names"):
        run_arrays(vote.protocol, inputs=vote.inputs, noise=vote.noise, observers=SessionObservers(kept={}))
    assert run_arrays(vote.protocol, inputs=vote.inputs, noise=vote.noise).kept == {}
    with pytest.raises(ConfigurationError, match=r"phase (is|are) .*one that keeps no reports"):
        run_batches(vote.protocol, [vote.inputs], noise=vote.noise)
