"""Sessions held by arrays, machines and agents leave the same numbers; what fails, or says too much, is told."""

import functools
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from planted.planting import ReportChanger
from psephos.agents.noise import SecureNoise
from psephos.protocol import ClientMachine, Inputs, PhasedProtocol, SimulatedNoise
from psephos.protocol.errors import BudgetExceededError, MalformedMessageError
from psephos.protocol.fair_voting import FairVoting
from psephos.protocol.fair_voting import Outcome as Election
from psephos.protocol.fair_voting import Parameters as ElectionParameters
from psephos.protocol.messages import Report
from psephos.protocol.moral_preferences import MoralPreferences
from psephos.protocol.moral_preferences import Parameters as PreferenceParameters
from psephos.protocol.privacy import Budget, Ledger, NeighboringRelation
from psephos.protocol.truth_discovery import Parameters as SurveyParameters
from psephos.protocol.truth_discovery import TruthDiscovery
from psephos.scenarios.audit import machines
from psephos.scenarios.audit.case import Source
from psephos.scenarios.audit.following import departure
from psephos.scenarios.audit.machines import (
    noise_of,
    reports_of_each,
    roster_of,
    run_by_agents,
    run_by_arrays,
    run_by_machines,
    session_sampler,
)
from psephos.scenarios.audit.observables import exposure_of_party
from psephos.scenarios.audit.whole_sessions import charge, exposure_of_two

from tests.helpers import make_vote

RISK = 1e-12
FEW = 300


def vote_case() -> tuple[PhasedProtocol[Any, Any], Inputs]:
    vote = make_vote(variant="laplace")
    return vote, vote.encode({"weight": [1, 3, 2], "ada": [0, 1, 1], "bob": [1, 1, 0]})


def survey_case() -> tuple[PhasedProtocol[Any, Any], Inputs]:
    survey = TruthDiscovery(
        SurveyParameters(
            tasks=("s", "t"), answer_sets=(("no", "yes"),), max_answers=2, mechanism="two_layer", epsilon=1.0
        )
    )
    return survey, survey.encode({"tasks": [["s", "t"], ["t"]], "answers": [["no", "yes"], ["yes"]]})


def election_case() -> tuple[PhasedProtocol[Any, Any], Inputs]:
    vote = FairVoting(
        ElectionParameters(
            alternatives=("a", "b", "c"), groups=("left", "right"), group_sizes=(1, 1), mechanism="noisy_scores"
        )
    )
    return vote, vote.encode({"group": ["left", "right"], "ranking": ["a>b>c", "c>b>a"]})


def preference_case() -> tuple[PhasedProtocol[Any, Any], Inputs]:
    protocol = MoralPreferences(PreferenceParameters(features=("x", "y"), epsilons=(0.5, 2.0), max_records=1))
    return protocol, Inputs(np.array([[9, -4], [0, 7]]), np.array([[0], [1]]))


CASES = [vote_case, survey_case, election_case, preference_case]


@pytest.mark.parametrize("make", CASES)
def test_arrays_machines_and_agents_leave_the_same_numbers(
    make: Callable[[], tuple[PhasedProtocol[Any, Any], Inputs]],
) -> None:
    protocol, inputs = make()
    held = [
        hold(protocol, inputs, session="s", noise=SimulatedNoise(5, session="s"))
        for hold in (run_by_arrays, run_by_machines, run_by_agents)
    ]
    numbers = [[list(report) for report in each.reports] for each in held]
    assert numbers[0] == numbers[1] == numbers[2]
    assert held[0].outcome is None
    assert held[1].outcome is not None
    assert held[1].outcome == held[2].outcome


@pytest.mark.parametrize("make", CASES)
@pytest.mark.parametrize("hold", [run_by_machines, run_by_agents])
def test_sessions_are_held_with_secure_noise(
    make: Callable[[], tuple[PhasedProtocol[Any, Any], Inputs]], hold: machines.SessionRunner
) -> None:
    protocol, inputs = make()
    held = hold(protocol, inputs, session="s", noise=SecureNoise())
    width = sum(phase.num_reported for phase in protocol.phases)
    assert [len(report) for report in held.reports] == [width] * len(inputs)
    assert isinstance(held.outcome, protocol.outcome_type)


def test_the_ledger_of_a_party_has_its_sessions() -> None:
    survey, inputs = survey_case()
    rows, public = inputs.private.tolist(), inputs.public.tolist()
    both, one = (charge(survey, row, own, num_sessions=2) for row, own in zip(rows, public, strict=True))
    assert [entry.session for entry in both] == ["audited-1", "audited-2"]
    # Two answers that share a flip probability, and one.
    assert both[0].proven == pytest.approx(survey.losses[0].proven)
    assert one[0].proven == pytest.approx(1.0)


def test_a_loss_that_the_budget_refuses_ends_the_session() -> None:
    vote, inputs = vote_case()
    ledgers = [Ledger(f"party-{place}", budget=Budget(epsilon=0.1)) for place in range(len(inputs))]
    with pytest.raises(BudgetExceededError):
        run_by_machines(vote, inputs, session="s", noise=SimulatedNoise(1, session="s"), ledgers=ledgers)


def test_bytes_that_are_not_those_of_the_numbers_are_told() -> None:
    """A report of as many bytes as its own numbers need is refused; another format of as many says more."""

    class Short(ReportChanger):
        def changed(self, report: Report) -> Report:
            numbers = msgspec.msgpack.decode(report.payload)
            return Report(report.step, msgspec.Raw(msgspec.msgpack.encode(numbers)))

    class Signed(ReportChanger):
        def changed(self, report: Report) -> Report:
            numbers = msgspec.msgpack.decode(report.payload)
            payload = bytes(report.payload)
            if len(payload) == 1 + 5 * len(numbers):
                signed = (b"\xd2" + number.to_bytes(4, "big", signed=True) for number in numbers)
                payload = payload[:1] + b"".join(signed)
            return Report(report.step, msgspec.Raw(payload))

    vote, inputs = vote_case()
    noise = SimulatedNoise(1, session="s")
    rightly, wrongly = (
        run_by_machines(vote, inputs, session="s", noise=noise, machine=machine) for machine in (ClientMachine, Signed)
    )
    assert rightly.reports == wrongly.reports
    assert rightly.others != wrongly.others
    with pytest.raises(MalformedMessageError, match="its numbers do not take the 5 bytes"):
        run_by_machines(vote, inputs, session="s", noise=noise, machine=Short)


def test_all_but_the_numbers_of_reports_is_the_same_in_any_session_and_for_any_row() -> None:
    vote, inputs = vote_case()
    alike = roster_of(vote, [inputs.private[1]] * len(inputs), inputs.public.tolist())
    held = [
        run_by_machines(vote, roster, session=name, noise=SecureNoise())
        for roster, name in ((inputs, "s"), (inputs, "a longer name"), (alike, "s"))
    ]
    assert len({each.others for each in held}) == 1


def test_outputs_are_of_sessions_of_their_own() -> None:
    vote, inputs = vote_case()
    sides = [
        session_sampler(vote, inputs, reports_of_each, noise_of("simulated"), side=side, num_sessions=2)(9, 4)
        for side in (0, 1)
    ]
    width = sides[0].shape[1] // 2
    parts = np.concatenate([side[:, place : place + width] for side in sides for place in (0, width)])
    assert len(np.unique(parts, axis=0)) == len(parts)
    again = session_sampler(vote, inputs, reports_of_each, noise_of("simulated"), side=0, num_sessions=2)
    assert np.array_equal(sides[0], again(9, 4))
    assert not np.array_equal(sides[0], again(9, 5))


@pytest.mark.few(most=1)
@pytest.mark.parametrize("source", ["simulated", "secure"])
def test_two_parties_follow_the_product_of_their_laws(source: Source) -> None:
    """False alarm: 2e-12, with secure noise at each run."""
    vote = make_vote(candidates=("ada",))
    rows = vote.encode({"weight": [1, 3], "ada": [0, 1]}).private
    observable = exposure_of_two(vote, rows, (), (rows[1], ()))
    pair = observable.pair(0, 1, name="the two")
    alone = exposure_of_party(vote, rows, (), num_sessions=1)
    assert pair.laws is not None
    for law, first in zip(pair.laws, (0, 1), strict=True):
        laws = [np.exp(part.log_laws) for part in alone.parts if part.log_laws is not None]
        product = functools.reduce(np.kron, [*(each[first] for each in laws), *(each[1] for each in laws)])
        assert law == pytest.approx(product)
    draws = pair.draws if source == "simulated" else pair.secure
    assert draws is not None
    for law, draw in zip(pair.laws, draws, strict=True):
        hits = np.bincount(draw(FEW, 3)[:, 0], minlength=len(law))
        assert not departure(np.append(hits, 0), law, FEW, RISK)


def test_a_release_is_read_from_its_bytes() -> None:
    vote = FairVoting(
        ElectionParameters(
            alternatives=("a", "b", "c"),
            groups=("left", "right"),
            group_sizes=(1, 2),
            relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
        )
    )
    inputs = roster_of(vote, [[0, 1, 2], [2, 1, 0], [1, 0, 2]], [(0,), (1,), (1,)])
    held = run_by_machines(vote, inputs, session="s", noise=SimulatedNoise(5, session="s"))
    assert isinstance(held.outcome, Election)
    assert held.outcome.winner in {"a", "b", "c"}
    # What voters show the trusted server is their ranking.
    assert [list(report) for report in held.reports] == inputs.private.tolist()
