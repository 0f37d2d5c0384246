"""The hostile world: hundreds of seeds, the same run for the same seed, and failures of the past by name.

`tests/simulate.py` runs more of them and says how to repeat one.
"""

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from liars import ALONE, AnotherH, BoxOfOtherValues
from psephos.agents.rollback_guard import RollbackGuard
from psephos.protocol.errors import HandshakeError
from psephos.protocol.masking import MaskingMove
from psephos.protocol.moral_preferences import Outcome
from psephos.transports.faults import Faults
from simulate import REGISTER, Range, broken_by, digest_of, read_register, record, shrink
from simulation.disks import FolderDisk, SnapshotDisk
from simulation.kinds import KINDS, of_choices, of_game, of_masks, of_storm, plan_of
from simulation.plans import (
    CASES,
    CHOSEN,
    GAME,
    LEAST_ON_A_CIRCLE,
    LIES,
    MASKED,
    MODELS,
    NO_LEVEL,
    USUAL_STEPS,
    Clock,
    Crash,
    FullDisk,
    Liar,
    Lie,
    Misconfigured,
    OtherChoice,
    Partition,
    Plan,
    Revoked,
    WriteFault,
    WrongClock,
)
from simulation.planted import (
    a_choice_that_is_no_level_is_taken,
    a_closing_is_not_kept,
    a_kept_report_is_forgotten,
    a_later_choice_is_taken,
    planted,
)
from simulation.world import run_plan
from thoroughness import draws

TESTS = Path(__file__).parents[1]
NUM_BLOCKS = draws(1, full=4)


@pytest.mark.unmeasured
@pytest.mark.parametrize("block", range(NUM_BLOCKS))
def test_whatever_happens_the_invariants_hold(block: int) -> None:
    for seed in range(block, draws(40, full=4000), NUM_BLOCKS):
        broke = broken_by(plan_of(seed))
        assert broke is None, f"seed {seed}: {broke}; .venv/bin/python tests/simulate.py --seed {seed}"


@pytest.mark.unmeasured
def test_the_invariants_hold_over_real_files(tmp_path: Path) -> None:
    for seed in range(draws(6, full=150)):
        folder = tmp_path / str(seed)
        world = run_plan(plan_of(seed), make_disk=lambda name, folder=folder: FolderDisk(folder / name))
        assert not world.observer.broken, f"seed {seed}"


@pytest.mark.unmeasured
def test_an_older_snapshot_of_any_disk_is_found_and_the_newest_goes_on(tmp_path: Path) -> None:
    """Of persons and of servers, whenever a process begins."""
    num_refused = 0
    for seed in range(draws(6, full=100)):
        folder, luck, disks = tmp_path / str(seed), random.Random(seed), dict[str, SnapshotDisk]()

        def make(name: str, folder: Path = folder, luck: random.Random = luck, disks: Any = disks) -> SnapshotDisk:
            witness = RollbackGuard(folder / "witness", name)
            disks[name] = SnapshotDisk(folder / "disks" / name, witness=witness, luck=luck)
            return disks[name]

        world = run_plan(of_storm(seed), make_disk=make)
        assert not world.observer.broken, f"seed {seed}"
        num_refused += sum(disk.num_refused for disk in disks.values())
    assert num_refused >= draws(3, full=50)


@pytest.mark.unmeasured
def test_storms_over_hidden_and_trusting_sessions_lose_nothing() -> None:
    for seed in range(draws(16, full=1000)):
        broke = broken_by(of_storm(seed))
        assert broke is None, f"seed {seed}: {broke}; .venv/bin/python tests/simulate.py --seed {seed} --kind storm"


@pytest.mark.unmeasured
def test_masked_sums_tell_nothing_else_and_are_charged_whatever_happens_and_whoever_lies() -> None:
    for seed in range(draws(8, full=1000)):
        broke = broken_by(of_masks(seed))
        assert broke is None, f"seed {seed}: {broke}; .venv/bin/python tests/simulate.py --seed {seed} --kind masks"


@pytest.mark.unmeasured
@pytest.mark.parametrize("kind", ["models", "liars", "windows", "revoked", "hosts"])
def test_systems_in_all_models_liars_windows_revocations_and_hosts_keep_the_invariants(kind: str) -> None:
    for seed in range(draws(6, full=600)):
        broke = broken_by(KINDS[kind](seed))
        assert broke is None, f"seed {seed}: {broke}; .venv/bin/python tests/simulate.py --seed {seed} --kind {kind}"


def test_who_is_revoked_is_out_and_nobody_else() -> None:
    """What it has reported before stands."""
    events = (Revoked("server0", "p1", run=1), Crash("server0", run=0, step=14, seconds=0.3))
    plan = Plan(seed=3, sessions=("dpwevote",), num_parties=4, quorum=0.5, deadline=60.0, is_gentle=True, events=events)
    world = run_plan(plan)
    assert not world.observer.broken
    assert isinstance(world.endings["p1", 0], HandshakeError)
    assert [party for party in plan.parties if isinstance(world.endings[party, 0], Exception)] == ["p1"]


def test_parties_of_a_host_are_released_to_all_over_one_connection_in_calm_weather() -> None:
    cases = ("dpwevote", "moral-preferences-central", "fair-voting-hidden")
    plan = Plan(seed=1, sessions=cases, num_parties=4, hosted=3, quorum=1.0, is_gentle=True, deadline=1e6)
    world = run_plan(plan)
    assert not world.observer.broken
    assert not [ending for ending in world.endings.values() if isinstance(ending, Exception)]
    assert next(world.numbers) == 2 * len(cases)  # connections: of the host and of the other party, one each a session


def test_each_way_to_lie_and_each_system_in_each_model_is_drawn() -> None:
    told = {
        event.lie for seed in range(2 * len(LIES)) for event in KINDS["liars"](seed).events if isinstance(event, Liar)
    }
    assert told == {*range(len(LIES))}
    cases = {case for seed in range(100) for case in KINDS["models"](seed).sessions}
    assert cases == {case for models in MODELS for case in models}


def test_the_register_says_what_was_run_and_counts_no_seed_twice(tmp_path: Path) -> None:
    lines = read_register()
    for line in lines:
        assert line.kind in KINDS
        seeds = range(line.first, line.last + 1)
        if line.plans == digest_of(line.kind):  # as many faulty sessions as its plans hold
            seeds = seeds[: draws(100, full=2000)]
            plans = map(KINDS[line.kind], seeds)
            faulty = sum(len(plan.sessions) * plan.is_faulty for plan in plans)
            assert faulty <= line.faulty
            assert faulty == line.faulty or len(seeds) < line.last - line.first + 1
    path = tmp_path / "register.csv"
    path.write_text(REGISTER.read_text())
    new = Range("drawn", "0" * 12, 5, 9, 7, 0, "2026-11-29")
    record([new], path)
    record([new._replace(first=10, last=19, faulty=13)], path)
    assert [line for line in read_register(path) if line.plans == new.plans] == [new._replace(last=19, faulty=20)]
    with pytest.raises(ValueError, match="counts seed 15 of drawn twice"):
        record([new._replace(first=15, last=30)], path)
    assert sum(line.faulty for line in read_register(path)) == sum(line.faulty for line in lines) + 20


def test_the_readme_says_how_many_faulty_sessions_are_recorded() -> None:
    total = sum(line.faulty for line in read_register())
    assert f"{total:,} faulty sessions" in (TESTS / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("number", [4, LEAST_ON_A_CIRCLE])
@pytest.mark.parametrize("step", USUAL_STEPS)
def test_a_lie_in_any_step_is_refused_for_good_and_the_others_are_released(step: int, number: int) -> None:
    """After a restart of either side, and on a circle, too."""
    crashes = (Crash("p1", run=0, step=9, seconds=0.3), Crash("server0", run=0, step=40, seconds=0.3))
    events = (Lie("server0", "p1", step), *crashes)
    world = run_plan(Plan(seed=3, sessions=MASKED[:1], num_parties=number, deadline=60.0, events=events))
    assert not world.observer.broken
    (held,) = world.held
    assert held.result is not None
    assert held.result.num_received == (number - (step <= list(MaskingMove).index(MaskingMove.MASKED)),)
    is_sparse = held.protocol.losses[0].mechanism.endswith("semi-honest server only")
    assert is_sparse == (number == LEAST_ON_A_CIRCLE)
    assert [party for party in world.plan.parties if world.observer.has_refused(held, party)] == ["p1"]
    assert isinstance(world.endings["p1", 0], Exception)


@pytest.mark.parametrize("number", [4, LEAST_ON_A_CIRCLE])
@pytest.mark.parametrize("lie", range(len(ALONE)), ids=[kind.__name__ for kind in ALONE])
def test_a_party_that_lies_holds_nobody_up_through_restarts_of_all(lie: int, number: int) -> None:
    """Of itself, of somebody honest, and of the server; all others hear the outcome, and the sum is theirs."""
    crashes = [Crash(process, run=0, step=step, seconds=0.3) for process, step in (("p1", 14), ("p2", 17), ("p0", 9))]
    events = (Liar("p1", lie), *crashes, Crash("server0", run=0, step=60, seconds=0.3))
    world = run_plan(
        Plan(seed=3, sessions=MASKED[:1], num_parties=number, quorum=0.5, deadline=60.0, is_gentle=True, events=events)
    )
    assert not world.observer.broken
    (held,) = world.held
    assert held.result is not None
    assert {name for (name, _), ending in world.endings.items() if isinstance(ending, Exception)} <= {"p1"}


@pytest.mark.parametrize("case", [*CASES, CHOSEN, *MASKED])
def test_a_session_of_each_case_is_released_to_all_in_calm_weather(case: str) -> None:
    plan = Plan(seed=1, sessions=(case,), num_parties=3, quorum=1.0, is_gentle=True, deadline=1e6)
    world = run_plan(plan)
    assert not world.observer.broken
    assert not [ending for ending in world.endings.values() if isinstance(ending, Exception)]


@pytest.mark.unmeasured
def test_a_game_has_one_weight_of_each_party_whatever_happens() -> None:
    for seed in range(draws(8, full=1000)):
        broke = broken_by(of_game(seed))
        assert broke is None, f"seed {seed}: {broke}"


def test_votes_of_a_game_are_released_to_all_in_calm_weather() -> None:
    plan = Plan(seed=1, sessions=(GAME,) * 3, num_parties=3, quorum=1.0, is_gentle=True, deadline=1e6)
    world = run_plan(plan)
    assert not world.observer.broken
    assert not [ending for ending in world.endings.values() if isinstance(ending, Exception)]
    tallies = [held.result.tallies[0].totals.tolist() for held in world.held if held.result is not None]
    assert len(tallies) == 3
    assert tallies[0] == tallies[1] == tallies[2]


@pytest.mark.unmeasured
def test_each_voter_has_one_epsilon_whatever_happens() -> None:
    plans = [of_choices(seed) for seed in range(draws(12, full=2000))]
    assert any(isinstance(event, OtherChoice) and event.choice == NO_LEVEL for plan in plans for event in plan.events)
    for plan in plans:
        broke = broken_by(plan)
        assert broke is None, f"{plan}: {broke}"


@pytest.mark.few(most=1)
@pytest.mark.parametrize(
    ("run", "choice", "fault"), [(0, NO_LEVEL, a_choice_that_is_no_level_is_taken), (1, 1, a_later_choice_is_taken)]
)
def test_another_choice_is_refused_and_the_voter_comes_back_with_its_first_one(
    run: int, choice: int, fault: Callable[[], Any]
) -> None:
    plan = Plan(
        seed=2,
        sessions=(CHOSEN,),
        num_parties=3,
        quorum=1.0,
        is_gentle=True,
        deadline=1e4,
        events=(
            Crash("p0", run=0, step=3, seconds=1.0),
            Crash("server0", run=0, step=9, seconds=0.0),
            OtherChoice("p0", run=run, choice=choice, is_forged=True),
        ),
    )
    world = run_plan(plan)
    assert not world.observer.broken
    (held,) = world.held
    assert held.result is not None
    outcome = held.result.outcome
    assert isinstance(outcome, Outcome)
    assert [(level.epsilon, level.num_voters) for level in outcome.levels] == [(0.5, 1), (1.0, 1), (2.0, 1)]
    with planted(fault):
        assert broken_by(plan) is not None


def test_a_weight_that_is_drawn_again_is_found() -> None:
    with planted(a_kept_report_is_forgotten):
        broken = [broken_by(of_game(seed)) for seed in range(6)]
    found = {broke.invariant for broke in broken if broke is not None}
    assert "no kept phase is drawn twice in a game" in found


def test_a_plan_is_the_same_run_each_time_and_in_each_process() -> None:
    """However strings hash there."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from simulation.kinds import plan_of; from simulation.world import run_plan; "
        "print([run_plan(plan_of(seed)).trace.hexdigest() for seed in range(3)])"
    )
    here = str([run_plan(plan_of(seed)).trace.hexdigest() for seed in range(3)])
    arguments = [sys.executable, "-c", code, str(TESTS)]
    there = subprocess.run(arguments, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7"})  # noqa: S603  this test's own
    assert there.stdout.strip() == here


def test_other_seeds_are_other_runs() -> None:
    assert len({run_plan(plan_of(seed)).trace.digest() for seed in range(8)}) == 8


def test_a_failure_is_made_small() -> None:
    with planted(a_closing_is_not_kept):
        plan = next(plan for plan in map(plan_of, range(60)) if plan.events and broken_by(plan) is not None)
        broke = broken_by(plan)
        assert broke is not None
        small, same = shrink(plan, broke)
        assert same.invariant == broke.invariant
        assert not small.events
        assert len(small.sessions) == 1


def test_what_raises_is_broken_as_well() -> None:
    broke = broken_by(Plan(seed=1, num_parties=0))
    assert broke is not None
    assert broke.invariant == "nothing raises"


# Failures of the past

NAMED: dict[str, Plan] = {
    "a party leaves for the silence of a server whose lie it cannot see yet, and comes back": Plan(
        seed=2542027988,
        sessions=("dpwevote-masked",),
        num_parties=5,
        quorum=0.5,
        deadline=300.0,
        commit_seconds=0.5,
        faults=Faults(loss=0.0, delay=0.0, duplication=0.0, partition=0.02),
        events=(
            Crash(process="p3", run=0, step=17, seconds=0.3, is_silent=False),
            WriteFault(process="p0", commit=1, is_durable=True),
            Lie(process="server0", party="p1", step=2),
        ),
    ),
    "an acknowledgement for a lost connection was told to the next one, before its welcome": Plan(
        seed=2613703787,
        quorum=1.0,
        deadline=1e6,
        is_gentle=True,
        commit_seconds=3.0,
        events=(WriteFault(process="server0", commit=2, is_durable=False),),
    ),
    "a journal whose last commit nobody knows refused a session by what it remembered": Plan(
        seed=2215065895,
        sessions=("truth-discovery-masked", "fair-voting-central", "dpwevote-laplace"),
        num_parties=2,
        quorum=1,
        has_certificates=True,
        affordable=1,
        period=1000.0,
        gap=300.0,
        faults=Faults(loss=0.0, delay=0.0, duplication=0.0, partition=0.02),
        events=(
            WriteFault(process="p0", commit=1, is_durable=True),
            Partition(process="p0", begin=1.5220468329210761, seconds=100.0),
        ),
    ),
    "a party that heard nothing for half a minute left for good": Plan(
        seed=4039606680,
        sessions=("moral-preferences",),
        quorum=1.0,
        deadline=1e6,
        is_gentle=True,
        faults=Faults(loss=0.02, delay=7.0),
        events=(Partition(process="p1", begin=2.49165655948857, seconds=100.0),),
    ),
    "who had left a masked session was asked again by a server that was started anew": Plan(
        seed=799641954,
        sessions=("dpwevote-masked", "fair-voting-masked"),
        num_parties=3,
        deadline=300.0,
        events=(
            Crash("server1", run=1, step=12, seconds=100.0),
            WriteFault("server1", commit=9, is_durable=False),
            Crash("p0", run=2, step=4, seconds=3.0),
            Crash("server1", run=0, step=3, seconds=0.0),
            Crash("p0", run=0, step=1, seconds=3.0),
        ),
    ),
    "a report of a party that was let in late made the journal unusable": Plan(
        seed=3138997482,
        sessions=("fair-voting", "dpwevote-laplace"),
        num_parties=3,
        deadline=300.0,
        faults=Faults(loss=0.02),
        events=(
            Crash(process="p1", run=0, step=7, seconds=0.0),
            Partition(process="p0", begin=0.03138645123865345, seconds=20.0),
            Crash(process="p1", run=1, step=22, seconds=20.0),
            FullDisk(process="p0", begin=0.7260155293263906, seconds=100.0),
            WriteFault(process="server1", commit=3, is_durable=True),
        ),
    ),
    "a party that had answered nothing, and came back when all was over, took the release for a lie": Plan(
        seed=3051921352,
        sessions=("fair-voting-masked",),
        num_parties=4,
        deadline=5.0,
        has_certificates=False,
        commit_seconds=0.5,
        faults=Faults(delay=1.0),
        events=(Crash(process="p3", run=0, step=4, seconds=20.0),),
    ),
    "a server that was started anew took all who were not asked for a proof for gone": Plan(
        seed=2494740733,
        sessions=("moral-preferences-masked",),
        num_parties=3,
        quorum=0.5,
        deadline=1e6,
        is_gentle=True,
        faults=Faults(delay=1.0),
        events=(
            WriteFault(process="server0", commit=10, is_durable=False),
            Liar("p1", ALONE.index(BoxOfOtherValues)),
        ),
    ),
    "of two parties one lied about its deal, and the other took the server for a liar": Plan(
        seed=1625293405,
        sessions=("dpwevote-masked",),
        quorum=0.5,
        deadline=60.0,
        events=(Liar("p0", ALONE.index(AnotherH)),),
    ),
    "both sides die again and again": Plan(
        seed=5,
        sessions=("fair-voting-central", "quiz"),
        num_parties=3,
        quorum=1.0,
        deadline=1e6,
        is_gentle=True,
        events=(
            *(
                Crash(process="server0", run=run, step=9 + 3 * run, seconds=1.0, is_silent=run % 2 == 0)
                for run in range(4)
            ),
            *(Crash(process="p1", run=run, step=4 + run, seconds=0.3) for run in range(4)),
            Misconfigured(process="server0", run=1),
            Clock(begin=5.0, seconds=100.0),
        ),
    ),
}


@pytest.mark.parametrize("name", list(NAMED))
def test_a_run_that_is_kept_by_name(name: str) -> None:
    assert broken_by(NAMED[name]) is None


def test_a_clock_that_is_set_back_as_its_owner_comes_back_dates_nothing_before_what_was_kept() -> None:
    """Of a session that was left, and joined again: the time of leaving was forgotten."""
    plan = Plan(
        seed=2264996686,
        sessions=("moral-preferences-central",),
        num_parties=4,
        quorum=0.5,
        deadline=300.0,
        events=(
            Crash("server0", run=0, step=18, seconds=0.3, is_silent=True),
            WrongClock("p1", run=1, seconds=-86_400.0),
        ),
    )
    assert not run_plan(plan).observer.broken
