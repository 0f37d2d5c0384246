"""What masked sessions of deployments draw: each share, all bits of masks, what roots are made of, order and sizes.

Faults are planted where deployments alone draw; the confidence is that of `make verify`, and more.
"""

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import pytest
from audits import found_by
from psephos.agents.masking import Cryptography
from psephos.agents.noise import SecureNoise
from psephos.protocol.mechanisms import NoiseShare, RowMechanism
from psephos.scenarios.audit import AuditVerdict
from psephos.scenarios.audit.mechanisms.checking import sizes_of_shares
from psephos.scenarios.dpwevote.audit.sessions import masked_configuration

_SIZES: Final = {"weights": 3, "candidates": 8, "partners": 8, "votes in a row": 2}
_CAME: Final = 7  # of eight parties, of whom two are in league with the server: T − c is 5
_WIDTH: Final = 8

_OF_KEYS: Final = masked_configuration("public weights", _SIZES).protocol.steps[0].codec
_randomize, _entropy, _expand, _encode = (
    SecureNoise.randomize,
    SecureNoise.entropy,
    Cryptography.expand,
    type(_OF_KEYS).encode,
)


def _shared_by_those_who_came(
    noise: SecureNoise, mechanism: RowMechanism, values: Sequence[int], **address: Any
) -> list[int]:
    if isinstance(mechanism, NoiseShare):
        mechanism = NoiseShare(mechanism.scale, mechanism.sensitivity, mechanism.bound, _CAME)
    return _randomize(noise, mechanism, values, **address)


def _last_with_half_the_noise(
    noise: SecureNoise, mechanism: RowMechanism, values: Sequence[int], **address: Any
) -> list[int]:
    if not isinstance(mechanism, NoiseShare):
        return _randomize(noise, mechanism, values, **address)
    halved = dataclasses.replace(mechanism, scale=mechanism.scale / 2)
    parts = (mechanism, values[:-1]), (halved, values[-1:])
    return [number for own, some in parts for number in _randomize(noise, own, some, **address)]


def _of_masks(change: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> Callable[..., bytes]:
    def expand(own: Cryptography, key: bytes, length: int) -> bytes:
        drawn = _expand(own, key, length)
        if length != 8 * _WIDTH:
            return drawn
        return change(np.frombuffer(drawn, dtype="<u8").copy()).tobytes()

    return expand


def _with_fixed_bits(masks: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Leave the eight bits at either end, which sums of masks carry into two or three more."""
    return masks & np.uint64(0xFF000000000000FF)


def _with_a_period(masks: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.resize(masks[:3], _WIDTH)


def _few_bits(noise: SecureNoise, **address: Any) -> bytes:
    return hashlib.sha256(_entropy(noise, **address)[:3]).digest()


def _few_bytes(noise: SecureNoise, **address: Any) -> bytes:
    return _entropy(noise, **address)[:20] + bytes(12)


def _longer(codec: Any, answer: Any) -> msgspec.Raw:
    """Say now and then in three bytes how many fields an answer has, and not in one."""
    said = bytes(_encode(codec, answer))
    is_longer = np.random.default_rng().random() < 0.1
    return msgspec.Raw(b"\xdc\x00" + bytes([said[0] & 0xF]) + said[1:] if is_longer else said)


FAULTS: Final[dict[str, tuple[type, str, Callable[..., Any]]]] = {
    "shares of those who came in place of T − c": (SecureNoise, "randomize", _shared_by_those_who_came),
    "half of the last number's noise": (SecureNoise, "randomize", _last_with_half_the_noise),
    "48 of 64 bits fixed": (Cryptography, "expand", _of_masks(_with_fixed_bits)),
    "a period of three numbers": (Cryptography, "expand", _of_masks(_with_a_period)),
    "roots of 24 bits": (SecureNoise, "entropy", _few_bits),
    "roots of 20 bytes": (SecureNoise, "entropy", _few_bytes),
    "a size that says something": (type(_OF_KEYS), "encode", _longer),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_deployed_masks_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, method, planted = FAULTS[name]
    monkeypatch.setattr(kind, method, planted)
    case = masked_configuration("public weights", _SIZES).case(name, seed=1)
    assert found_by(case, 1_000, 1 - 1e-8, source="secure").verdict is AuditVerdict.PROOF_REFUTED


@pytest.mark.parametrize(("scale", "planned"), [(2.0, 1), (3.5, 4), (512.0, 2), (700.0, 5), (2.0**20, 9)])
def test_ranges_of_a_share_s_size_have_its_law(scale: float, planned: int) -> None:
    """By the law of X − Y by quantiles, at 40,000 pairs of uniforms: no range departs by six deviations."""
    ends, law = sizes_of_shares(scale, planned)
    assert len(law) == len(ends) + 1
    assert law.sum() == pytest.approx(1)
    share = NoiseShare(scale, 1, 1, planned)
    number = 40_000
    drawn = np.abs(share.randomize(np.zeros(number, dtype=np.int64), np.random.default_rng(1).random((number, 2))))
    counts = np.bincount(np.searchsorted(ends, drawn), minlength=len(law))
    assert (np.abs(counts - number * law) <= 6 * np.sqrt(number * law) + 6).all()
