"""One audit: its bound, its verdict, and what it says where it can say nothing.

Audits here are wrong with a probability of at most 1e-6 each, by their own confidence.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest
from audits import case_of, found_by
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.errors import ConfigurationError
from psephos.scenarios.audit import AuditResult, AuditVerdict, Case, LawCheck, OutputSampler, OutputView, Pair, audit
from psephos.scenarios.audit.case import NO_PLACE
from thoroughness import draws

CONFIDENCE = 1 - 1e-6
EPSILON = 1.0
KEEP = 1 / (1 + math.exp(-EPSILON))
LAWS = np.array([[KEEP, 1 - KEEP], [1 - KEEP, KEEP]])


def flips(keep: float, value: int) -> OutputSampler:
    """Return draws of binary randomized response."""

    def draw(number: int, stream: int) -> IntArray:
        lies = np.random.default_rng(stream).random(number) >= keep
        return (lies ^ bool(value)).astype(np.int64)[:, None]

    return draw


def ones_are_unlikely(outputs: IntArray) -> FloatArray:
    return -outputs[:, 0].astype(np.float64)


def beyond(number: int, stream: int) -> IntArray:
    """Return outputs that no law of two has."""
    return flips(KEEP, 0)(number, stream) + 2


def make_case(*pairs: Pair, **given: float) -> Case:
    return case_of(*pairs, **{"claimed": EPSILON, "proven": EPSILON} | given)


def sampled_pair(keep: float = KEEP, score: Callable[[IntArray], FloatArray] | None = None) -> Pair:
    return Pair("0 and 1", draws=(flips(keep, 0), flips(keep, 1)), score=score)


def found(case: Case, samples: int = 20_000) -> AuditResult:
    return found_by(case, samples, CONFIDENCE)


def test_a_law_is_audited_exactly() -> None:
    result = found(make_case(Pair("0 and 1", laws=LAWS)))
    assert result.epsilon == pytest.approx(EPSILON, abs=1e-12)
    assert (result.is_exact, result.source, result.samples) == (True, "law", 0)
    assert (result.verdict, result.follows_law) == (AuditVerdict.CONSISTENT, None)
    assert result.trade_off[1] == pytest.approx((1 - KEEP, 1 - KEEP))


@pytest.mark.parametrize(
    ("claimed", "proven", "verdict"),
    [
        (1.0, 1.0, AuditVerdict.CONSISTENT),
        (0.9, 1.0, AuditVerdict.CLAIM_REFUTED),
        (0.9, 0.99, AuditVerdict.PROOF_REFUTED),
        (1.1, 0.99, AuditVerdict.PROOF_REFUTED),
        (1.0, math.inf, AuditVerdict.CONSISTENT),
    ],
)
def test_the_verdict_is_by_the_proof_first(claimed: float, proven: float, verdict: AuditVerdict) -> None:
    assert found(make_case(Pair("0 and 1", laws=LAWS), claimed=claimed, proven=proven)).verdict is verdict


@pytest.mark.parametrize("score", [None, ones_are_unlikely])
def test_outputs_bound_the_loss_from_below_whether_the_score_is_given_or_learned(
    score: Callable[[IntArray], FloatArray] | None,
) -> None:
    result = found(make_case(sampled_pair(score=score)))
    assert result.epsilon is not None
    assert 0.8 < result.epsilon <= EPSILON
    assert (result.is_exact, result.verdict, result.source) == (False, AuditVerdict.CONSISTENT, "simulated")
    assert result.delta == 0
    assert 0 < result.mu < 2 * 0.6160  # Φ⁻¹(KEEP)
    assert all(miss >= 1 - error * math.exp(EPSILON) - 1e-9 for error, miss in result.trade_off)


def test_a_loss_beyond_the_proof_is_refuted_by_outputs() -> None:
    result = found(make_case(sampled_pair(), proven=0.5))
    assert result.verdict is AuditVerdict.PROOF_REFUTED
    assert result.delta > 0


def test_the_pair_that_tells_most_is_chosen() -> None:
    weak = dataclasses.replace(sampled_pair(0.55), name="hardly apart")
    result = found(make_case(weak, sampled_pair()))
    assert result.pair == "0 and 1"
    laws = Pair("hardly apart", laws=np.array([[0.5, 0.5], [0.45, 0.55]]))
    assert found(make_case(laws, Pair("0 and 1", laws=LAWS))).pair == "0 and 1"


def test_a_sampler_of_another_law_refutes_the_proof_even_where_it_is_more_private() -> None:
    honest = Pair("0 and 1", laws=LAWS, draws=(flips(KEEP, 0), flips(KEEP, 1)))
    assert (found(make_case(honest)).verdict, found(make_case(honest)).follows_law) == (AuditVerdict.CONSISTENT, True)
    other = Pair("0 and 1", laws=LAWS, draws=(flips(KEEP - 0.1, 0), flips(KEEP - 0.1, 1)))
    result = found(make_case(other))
    assert (result.verdict, result.follows_law, result.is_exact) == (AuditVerdict.PROOF_REFUTED, False, False)
    assert result.epsilon == result.sampled_epsilon


@pytest.mark.bad_input("too few samples for any statement")
def test_too_few_outputs_are_no_statement_and_no_zero() -> None:
    result = found(make_case(sampled_pair()), samples=60)
    assert (result.verdict, result.epsilon) == (AuditVerdict.NO_STATEMENT, None)
    assert result.needed is not None
    assert result.needed > 60
    assert found(make_case(sampled_pair()), samples=20 * result.needed).epsilon is not None


def test_neighbors_that_are_alike_are_consistent_with_a_loss_of_nothing() -> None:
    always = Pair("alike", draws=(flips(1.0, 0), flips(1.0, 0)))
    result = found(make_case(always, claimed=0, proven=0))
    assert (result.verdict, result.epsilon, result.needed) == (AuditVerdict.CONSISTENT, None, None)


def test_outputs_come_in_chunks_of_streams_that_differ() -> None:
    asked: list[tuple[int, int]] = []

    def draw(number: int, stream: int) -> IntArray:
        asked.append((number, stream))
        return flips(KEEP, 0)(number, stream)

    found(make_case(Pair("0 and 1", draws=(draw, draw))), samples=200_000)
    assert max(number for number, _ in asked) <= 1 << 16
    assert len({stream for _, stream in asked}) == len(asked)
    assert sum(number for number, _ in asked) == 400_000


def test_a_case_takes_its_share_of_the_samples() -> None:
    assert found(make_case(sampled_pair(), share=0.25)).samples == 5_000


def test_a_source_that_a_case_does_not_have_is_not_audited() -> None:
    case = make_case(sampled_pair())
    assert audit(case, samples=1_000, confidence=CONFIDENCE, source="secure") is None
    secure = make_case(dataclasses.replace(sampled_pair(), draws=None, secure=(flips(KEEP, 0), flips(KEEP, 1))))
    result = found_by(secure, 20_000, CONFIDENCE, source="secure")
    assert (result.source, result.verdict) == ("secure", AuditVerdict.CONSISTENT)


def test_a_seed_draws_the_same_and_another_one_others() -> None:
    case = make_case(sampled_pair())
    results = [audit(case, samples=2_000, confidence=CONFIDENCE, seed=seed) for seed in (1, 1, 2)]
    assert results[0] == results[1] != results[2]


def test_a_value_that_seldom_leaves_in_clear_is_a_delta_that_refutes_the_proof() -> None:
    """Of 3 in 1000 outputs; δ of the two is just that."""

    def seldom_in_clear(value: int) -> OutputSampler:
        def draw(number: int, stream: int) -> IntArray:
            is_clear = np.random.default_rng([stream, 1]).random(number) < 0.003
            return np.where(is_clear[:, None], 2 + value, flips(KEEP, value)(number, stream))

        return draw

    result = found(make_case(Pair("0 and 1", draws=(seldom_in_clear(0), seldom_in_clear(1)))), samples=100_000)
    assert result.verdict is AuditVerdict.PROOF_REFUTED
    assert 0.001 < result.delta <= 0.003


def test_an_output_that_no_law_has_refutes_the_proof() -> None:
    def sometimes_none(number: int, stream: int) -> IntArray:
        outputs = flips(KEEP, 0)(number, stream)
        outputs[::100] = NO_PLACE
        return outputs

    result = found(make_case(Pair("0 and 1", laws=LAWS, draws=(sometimes_none, flips(KEEP, 1)))))
    assert (result.verdict, result.follows_law) == (AuditVerdict.PROOF_REFUTED, False)


@pytest.mark.bad_input("a confidence outside (0, 1)")
@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, math.nan])
def test_a_confidence_out_of_range_is_refused(confidence: float) -> None:
    with pytest.raises(ConfigurationError, match=r"confidence is .*: use a value above 0 and below 1"):
        audit(make_case(sampled_pair()), samples=1_000, confidence=confidence)


@pytest.mark.bad_input("too few samples for any statement")
def test_so_few_samples_that_no_statement_is_possible_are_refused() -> None:
    with pytest.raises(
        ConfigurationError, match=r"samples is .*: use at least \d+: with fewer no statement is possible"
    ):
        audit(make_case(sampled_pair()), samples=10, confidence=CONFIDENCE)


def test_draws_that_do_not_fit_are_refused() -> None:
    def draw(number: int, stream: int) -> IntArray:
        return flips(KEEP, 0)(number + 1, stream)

    with pytest.raises(ValueError, match="give shape"):
        found(make_case(Pair("wrong", draws=(draw, draw))))
    with pytest.raises(ValueError, match="an output is no column of the law"):
        found(make_case(Pair("wrong", laws=LAWS, draws=(beyond, flips(KEEP, 1)))))
    with pytest.raises(ValueError, match="neither laws nor draws"):
        Pair("nothing")
    with pytest.raises(ValueError, match="laws have shape"):
        Pair("wrong", laws=np.ones((3, 2)))


@pytest.mark.parametrize(
    "given", [{"claimed": -1.0}, {"proven": math.nan}, {"claimed": math.nan}, {"share": 0.0}, {"share": 1.5}]
)
def test_cases_out_of_range_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=": use "):
        make_case(sampled_pair(), **given)


def check_of(value: int, keep: float = KEEP) -> LawCheck:
    """Return an input whose law is that of `KEEP`, drawn with another probability or not."""
    return LawCheck(str(value), [OutputView("", LAWS[value], lambda outputs: outputs[:, 0])], draw=flips(keep, value))


def test_an_input_that_is_no_neighbor_is_held_against_its_law() -> None:
    case = dataclasses.replace(make_case(sampled_pair()), law_checks=lambda: [check_of(0), check_of(1)])
    result = found(case)
    assert (result.verdict, result.follows_law, result.is_exact) == (AuditVerdict.CONSISTENT, True, False)
    assert (result.num_inputs, result.outputs_held, result.departure) == (2, 10_000, "")
    assert 0 < result.unnoticed < 0.01
    wrong = dataclasses.replace(case, law_checks=lambda: [check_of(0), check_of(1, 0.9)])
    result = found(wrong)
    assert (result.verdict, result.follows_law) == (AuditVerdict.PROOF_REFUTED, False)
    assert result.departure.startswith("1: ")
    assert result.epsilon is not None
    assert result.epsilon <= EPSILON


def test_inputs_alone_are_an_audit_of_their_source() -> None:
    """Without neighbors to tell apart nothing is said of ε, and nothing is missed."""
    checks = [dataclasses.replace(check_of(0), secure=flips(KEEP, 0))]
    case = dataclasses.replace(make_case(), law_checks=lambda: checks)
    result = found_by(case, 20_000, CONFIDENCE, source="secure")
    assert (result.verdict, result.epsilon, result.source) == (AuditVerdict.CONSISTENT, None, "secure")
    assert (result.samples, result.num_inputs, result.outputs_held) == (0, 1, 8_000)
    only_simulated = dataclasses.replace(case, law_checks=lambda: [check_of(0)])
    assert audit(only_simulated, samples=20_000, confidence=CONFIDENCE, source="secure") is None


def test_what_is_said_of_correct_mechanisms_is_false_as_seldom_as_the_confidence_says() -> None:
    """Audits at confidence .9, of all that is stated at once: the bounds, δ, and the laws of four inputs.

    False alarm of the test: at most 1e-6 (Chernoff's bound).
    """
    runs, confidence = draws(50, full=600), 0.9
    pair = Pair("0 and 1", laws=LAWS, draws=(flips(KEEP, 0), flips(KEEP, 1)))
    learned = dataclasses.replace(make_case(sampled_pair()), law_checks=lambda: [check_of(0), check_of(1)] * 2)
    for case in (learned, dataclasses.replace(learned, pairs=lambda: [pair])):
        wrong = 0
        for seed in range(runs):
            result = audit(case, samples=1_000, confidence=confidence, seed=seed + 1)
            assert result is not None
            is_beyond = (result.sampled_epsilon or 0.0) > EPSILON or result.delta > 1e-9
            wrong += result.verdict is AuditVerdict.PROOF_REFUTED or is_beyond
        assert wrong <= runs * (1 - confidence) + math.sqrt(runs * math.log(1e6) / 2)


def test_places_that_are_none_are_refused() -> None:
    view = OutputView("", LAWS[0], lambda outputs: outputs[:, 0] + 2)
    case = dataclasses.replace(make_case(), law_checks=lambda: [LawCheck("0", [view], draw=flips(KEEP, 0))])
    with pytest.raises(ValueError, match="an output is no column of the law"):
        found(case)
