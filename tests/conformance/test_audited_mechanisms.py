"""Every mechanism of `psephos.protocol` is audited, by itself and with either noise: one without a case fails here."""

import ast
import functools
import importlib
import inspect
import pkgutil
import random
import secrets
from collections.abc import Sequence
from typing import get_args

import psephos.protocol
import pytest
from psephos.agents import SecureNoise
from psephos.protocol.mechanisms import FreshTwoLayer, HyperDistribution, RowMechanism, TwoLayer
from psephos.scenarios.audit.case import LawCheck
from psephos.scenarios.audit.running import mechanism_cases


def mechanisms() -> list[type[RowMechanism]]:
    """Return all mechanisms that can be made."""
    for module in pkgutil.walk_packages(psephos.protocol.__path__, "psephos.protocol."):
        importlib.import_module(module.name)
    kinds: set[type[RowMechanism]] = set()
    left: list[type[RowMechanism]] = [RowMechanism]
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        if not inspect.isabstract(kind) and kind.__module__.startswith("psephos.protocol."):
            kinds.add(kind)
    return sorted(kinds, key=lambda kind: kind.__name__)


def hyper_distributions() -> list[type]:
    return list(get_args(HyperDistribution))


@functools.cache
def checks() -> list[LawCheck]:
    """Return how each case is held against its law; only the worker that runs this file needs them."""
    return [check for case in mechanism_cases() for check in case.law_checks()]


def test_there_are_the_mechanisms_that_are_known() -> None:
    """The search finds those of systems too."""
    names = {kind.__name__ for kind in mechanisms()}
    assert {"GeneralizedRandomizedResponse", "SphericalLaplace", "NoisyObjective", "Subsample", "TwoLayer"} <= names


@pytest.mark.parametrize("kind", mechanisms(), ids=lambda kind: kind.__name__)
def test_a_mechanism_is_drawn_and_held_against_its_law_with_either_noise(kind: type[RowMechanism]) -> None:
    own = [check for check in checks() if type(check.mechanism) is kind]
    assert own, f"{kind.__name__} has no case among the audits of mechanisms"
    assert all(check.views for check in own)
    assert any(check.draw is not None for check in own)
    assert any(check.secure is not None for check in own)


@pytest.mark.parametrize("hyper", hyper_distributions(), ids=lambda hyper: hyper.__name__)
@pytest.mark.parametrize("kind", [TwoLayer, FreshTwoLayer])
def test_two_layers_are_drawn_with_each_hyper_distribution(
    kind: type[TwoLayer] | type[FreshTwoLayer], hyper: type
) -> None:
    own = [check for check in checks() if isinstance(check.mechanism, kind) and type(check.mechanism.hyper) is hyper]
    assert any(check.secure is not None for check in own)


class _Entropy(random.Random):
    """What `secrets` gives, of a seed that can be set back."""

    def randbits(self, number: int) -> int:
        return self.getrandbits(number)


@pytest.mark.parametrize("kind", mechanisms(), ids=lambda kind: kind.__name__)
def test_a_report_is_made_of_its_row_and_of_fresh_entropy_alone(
    kind: type[RowMechanism], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the same entropy comes the same report, whatever the noise has drawn before: nothing is kept of it."""
    entropy = _Entropy()
    monkeypatch.setattr(secrets, "randbits", entropy.randbits)

    def draw(source: SecureNoise, mechanism: RowMechanism, row: Sequence[int], seed: int) -> list[int]:
        entropy.seed(seed)
        return source.randomize(mechanism, row, protocol="p", phase="f", place=0)

    inputs = [
        (check.mechanism, ast.literal_eval(check.name))
        for check in checks()
        if check.mechanism is not None and type(check.mechanism) is kind
    ][:10]
    old = SecureNoise()
    for seed, (mechanism, row) in enumerate([*inputs, *inputs[::-1]]):
        assert draw(old, mechanism, row, seed % 7) == draw(SecureNoise(), mechanism, row, seed % 7)
