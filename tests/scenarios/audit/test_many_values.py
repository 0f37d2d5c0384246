"""Faults of mechanisms of many values alone: none shows at six, and each is found on the ladder of `responses`."""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from audits import found_by
from psephos.protocol.mechanisms import (
    GeneralizedRandomizedResponse,
    HadamardResponse,
    LocalHashing,
    SubsetSelection,
    discrete_laplace,
)
from psephos.protocol.mechanisms.exact import RandBelow, happens_exp
from psephos.scenarios.audit import AuditVerdict, Case
from psephos.scenarios.audit.mechanisms.noise import noise_cases
from psephos.scenarios.audit.mechanisms.responses import response_cases

_ORACLES: Final = SubsetSelection, HadamardResponse, LocalHashing
_made: dict[type[Any], Any] = {kind: kind.make_reports for kind in _ORACLES}
_randomize = GeneralizedRandomizedResponse.randomize
_FROM: Final = 200  # values: below, nothing is wrong


def _in_order_of_drawing(own: SubsetSelection, values: Any, kept: Any, drawn: Any) -> Any:
    """The first number is the true one's, where it is in the subset."""
    reports = _made[SubsetSelection](own, values, kept, drawn)
    truth = values - np.argmax(own.subsets(reports) == values[:, None], axis=1)
    reports[kept, 0] = truth[kept]
    return reports


def _near_its_value(own: SubsetSelection, values: Any, kept: Any, drawn: Any) -> Any:
    """The value's neighbor is in the subset as often as the value."""
    reports = _made[SubsetSelection](own, values, kept, drawn)
    subsets, beside = own.subsets(reports), (values + 1) % own.num_choices
    lacks = kept & ~(subsets == beside[:, None]).any(axis=1)
    place = np.where(subsets[:, 0] == values, -1, 0)
    subsets[lacks, place[lacks]] = beside[lacks]
    return np.sort(subsets, axis=1) - np.arange(own.law.num_numbers)


def _kept_more_often(own: HadamardResponse, values: Any, kept: Any, drawn: Any) -> Any:
    return _made[HadamardResponse](own, values, kept | (drawn[:, 0] % 4 == 0), drawn)


def _of_half_the_shifts(own: LocalHashing, values: Any, kept: Any, drawn: Any) -> Any:
    drawn[:, 1] //= 2
    return _made[LocalHashing](own, values, kept, drawn)


def _few_lies(own: GeneralizedRandomizedResponse, values: Any, uniforms: Any) -> Any:
    reports = _randomize(own, values, uniforms)
    return np.where(reports == values, values, reports % _FROM) if own.num_choices > _FROM else reports


FAULTS: Final[dict[str, tuple[type, str, str, Callable[..., Any]]]] = {
    "a subset whose order tells": (SubsetSelection, "subset-selection", "make_reports", _in_order_of_drawing),
    "a subset around its value": (SubsetSelection, "subset-selection", "make_reports", _near_its_value),
    "a place kept too often": (HadamardResponse, "hadamard-response", "make_reports", _kept_more_often),
    "half of the functions": (LocalHashing, "local-hashing", "make_reports", _of_half_the_shifts),
    "few lies": (GeneralizedRandomizedResponse, "k-rr", "randomize", _few_lies),
}


def _planted(kind: type, method: str, fault: Callable[..., Any]) -> Callable[..., Any]:
    right = getattr(kind, method)

    def made(own: Any, *given: Any) -> Any:
        return (fault if own.num_choices > _FROM else right)(own, *given)

    return made


def _cases(group: str) -> dict[str, Case]:
    return {case.name: case for case in response_cases() if case.group == group}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_from_many_values_on_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a quick run's outputs, at its part of the risk of `make verify`; of fewer values nothing is found."""
    kind, group, method, fault = FAULTS[name]
    monkeypatch.setattr(kind, method, _planted(kind, method, fault))
    cases = _cases(group)
    for size, verdict in ((64, AuditVerdict.CONSISTENT), (300, AuditVerdict.PROOF_REFUTED)):
        assert found_by(cases[f"{size} values, ε = 1"], 50_000, 1 - 1e-9).verdict is verdict


@pytest.mark.parametrize("group", ["k-rr", "subset-selection", "hadamard-response", "local-hashing"])
def test_what_is_told_apart_of_many_values_has_the_loss_of_the_proof(group: str) -> None:
    """A little less, as chances are multiples of 2⁻⁵³; and both sources follow their laws."""
    cases = _cases(group)
    for source, samples, size in (("simulated", 20_000, 2000), ("secure", 2_000, 300)):
        found = found_by(cases[f"{size} values, ε = 1"], samples, 1 - 1e-9, source=source)
        assert found.verdict is AuditVerdict.CONSISTENT
        assert found.epsilon == pytest.approx(1.0, abs=1e-9)


def test_noise_that_is_uniform_in_blocks_of_a_large_scale_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the exact sampler corrects within a block of steps, below the scales that are looked at step by step."""
    case = next(case for case in noise_cases() if "fine grid" in case.name)
    assert found_by(case, 1_000, 1 - 1e-9, source="secure").verdict is not AuditVerdict.PROOF_REFUTED

    def of_whole_blocks(numerator: int, denominator: int, randbelow: RandBelow) -> bool:
        block = 1 << max(0, math.ceil(denominator) - 1).bit_length()
        return numerator < block or happens_exp(numerator, denominator, randbelow)

    monkeypatch.setattr(discrete_laplace, "happens_exp", of_whole_blocks)
    assert found_by(case, 1_000, 1 - 1e-9, source="secure").verdict is AuditVerdict.PROOF_REFUTED
