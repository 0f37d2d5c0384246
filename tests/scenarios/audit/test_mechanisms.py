"""The mechanisms' cases: correct ones pass, tight ones are attained, and what the papers claim too little is refuted.

Audits here refute a correct proof with a probability of at most 1e-7 each, 1e-5 together.
"""

import functools
import math

import numpy as np
import pytest
from audits import found_by
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse, TwoLayer, Uniform, VectorLaplace
from psephos.scenarios.audit import AuditVerdict, Case
from psephos.scenarios.audit.mechanisms.sampling import finite_pairs, list_rows, pair_of, secure_draw, simulate_draw
from psephos.scenarios.audit.running import mechanism_cases
from psephos.scenarios.cli import cli
from psephos.scenarios.system import protocol_names
from thoroughness import draws

CONFIDENCE = 1 - 1e-7
SLOW = ("sampled-choice", "exponential", "permute-and-flip")


@functools.cache
def all_cases() -> dict[str, Case]:
    cases = mechanism_cases()
    named = {f"{case.group}: {case.name}": case for case in cases}
    assert len(named) == len(cases)
    return named


def test_the_command_names_every_group() -> None:
    text = cli.commands["audit"].help
    assert text is not None
    assert {case.group for case in all_cases().values()} | set(protocol_names()) <= set(text.split())


def test_correct_mechanisms_pass_and_tight_laws_are_attained() -> None:
    fast = [
        case
        for name, case in all_cases().items()
        if case.group not in SLOW and (name.endswith("ε = 1") or "p in [0, .6]" in name or "VLDP" in name)
    ]
    assert len(fast) > 30
    for case in fast:
        found = found_by(case, draws(150, full=2_000), CONFIDENCE)
        assert found.verdict is not AuditVerdict.PROOF_REFUTED, case.name
        if found.is_exact and case.is_tight:
            assert found.epsilon == pytest.approx(case.proven, rel=1e-6), case.name


@pytest.mark.few(most=2)
@pytest.mark.parametrize("name", ["laplace: Laplace, ε = 1", "k-rr: 10-RR, ε = 1", "answers: one layer, s = 3, ε = 1"])
def test_the_noise_of_deployments_follows_the_law_too(name: str) -> None:
    (case,) = (case for key, case in all_cases().items() if key.startswith(name))
    found = found_by(case, 300, CONFIDENCE, source="secure")
    assert (found.source, found.follows_law) == ("secure", True)


def test_one_answer_of_a_worker_costs_more_than_the_paper_claims() -> None:
    case = all_cases()["answers: two layers, s = 2, p in [0, .6]: one answer"]
    assert found_by(case, 100, CONFIDENCE).verdict is AuditVerdict.CLAIM_REFUTED


@pytest.mark.few(most=1)
@pytest.mark.parametrize(("group", "number"), [("permute-and-flip", 4), ("exponential", 7)])
def test_choices_of_a_winner_are_within_their_proof_for_each_group(group: str, number: int) -> None:
    """By the law alone: what is drawn is tested where the mechanisms are."""
    cases = [case for case in all_cases().values() if case.group == group and "ε = 2" in case.name]
    assert len(cases) == number
    for case in cases:
        found = found_by(case, 1_000, CONFIDENCE)
        assert found.is_exact
        assert found.epsilon is not None
        assert 0.3 * case.proven < found.epsilon <= case.proven


def test_all_pairs_of_rows_are_tried_for_a_finite_mechanism() -> None:
    """Of two layers the worst rows differ everywhere, and where they are neighbors in one answer alone there."""
    mechanism = TwoLayer((2,), Uniform(0.0, 0.6))
    rows = list_rows(2, 2)
    (pair,) = finite_pairs(mechanism, rows, is_secure=False, reports=rows)
    assert pair.name == "[0, 0] and [1, 1]"
    (pair,) = finite_pairs(
        mechanism,
        rows,
        is_secure=False,
        reports=rows,
        are_neighbors=lambda one, other: bool((one != other).sum() == 1),
    )
    assert pair.name == "[0, 0] and [0, 1]"
    assert pair.laws is not None
    assert pair.laws.sum(axis=1) == pytest.approx(1)


def test_drawn_reports_are_numbered_as_the_law_numbers_them() -> None:
    """A row whose reports are hardly ever perturbed has its own number: 5 of [1, 0, 1]."""
    mechanism = GeneralizedRandomizedResponse(20.0, 2)
    rows = np.array([[1, 0, 1], [0, 0, 0]])
    (pair,) = finite_pairs(mechanism, rows, is_secure=True, reports=list_rows(3, 2))
    assert pair.laws is not None
    assert pair.laws.argmax(axis=1).tolist() == [5, 0]
    assert pair.draws is not None
    assert pair.secure is not None
    for both in (pair.draws, pair.secure):
        assert [draw(3, 1).tolist() for draw in both] == [[[5]] * 3, [[0]] * 3]


def test_reports_that_are_no_rows_of_ranges_are_refused() -> None:
    mechanism = GeneralizedRandomizedResponse(1.0, 2)
    with pytest.raises(ValueError, match="reports have gaps: give all rows of numbers within ranges"):
        finite_pairs(mechanism, list_rows(2, 2), is_secure=False, reports=list_rows(2, 2)[:3])


def test_draws_are_those_of_sessions() -> None:
    """Streams differ, one stream repeats itself; secure outputs have the same shape and no streams."""
    mechanism = VectorLaplace(scale=50.0, sensitivity=50, bound=50)
    draw = simulate_draw(mechanism, [0, 50])
    assert draw(20, 7).tolist() == draw(20, 7).tolist() != draw(20, 8).tolist()
    assert secure_draw(mechanism, [0, 50])(4, 7).shape == (4, 2)


def test_the_score_is_the_loss_that_a_report_realizes() -> None:
    mechanism = VectorLaplace(scale=50.0, sensitivity=50, bound=50)
    pair = pair_of(mechanism, [0, 0], [50, 0], name="apart", is_secure=False)
    assert pair.score is not None
    assert pair.score(np.array([[0, 3], [50, 3], [25, 9]])).tolist() == pytest.approx([1.0, -1.0, 0.0])


def test_an_unwritten_law_has_no_score() -> None:
    (pair,) = all_cases()["moral-preferences: mechanism RLDP functional"].pairs()
    assert pair.score is None
    assert pair.draws is not None
    assert all(math.isfinite(number) for number in pair.draws[0](5, 1).reshape(-1).tolist())
