"""Where randomness comes from: two sources, one law.

A `NoiseSource` applies a mechanism to values. `SimulatedNoise` addresses uniforms: those of the party at place
i of the roster are row i of one Philox stream, so agents over any transport, arrays and replays draw the same
bits in any order. Secure noise lives in `psephos.agents.noise`, since it asks the operating system; a
deployment accepts nothing else.

Streams are keyed by (seed, session, round, protocol, phase, purpose), so that repeated votes share no noise.

Source: Salmon, Moraes, Dror and Shaw (2011), Philox 4×64; row i starts at counter i·slots // 4.
"""

import hashlib
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from .arrays import FloatArray
from .errors import ConfigurationError
from .mechanisms import RowMechanism
from .roles import SessionKind

__all__ = ["NoiseSource", "SimulatedNoise", "philox_rows", "stream_key"]

# Numbers drawn ahead for the parties that come next: a block costs little more than a single row, since
# seeding the generator is most of the work.
_BLOCK_NUMBERS = 4096
_NUMBERS_PER_COUNTER = 4  # Philox 4x64 yields four 64-bit numbers a step


class NoiseSource(Protocol):
    """Applies mechanisms to private values, with randomness of its own."""

    @property
    def kind(self) -> SessionKind:
        """The kind of session in which this source may be used."""
        ...

    def check(self, mechanism: RowMechanism) -> None:
        """Make sure that `randomize` will know how; asked before a session begins.

        Raises:
            ConfigurationError: it will not.
        """
        ...

    def randomize(
        self, mechanism: RowMechanism, values: Sequence[int], *, protocol: str, phase: str, place: int
    ) -> list[int]:
        """Return one report for each value.

        Args:
            mechanism: the law.
            values: integers in the mechanism's `value_range`.
            protocol: the protocol's name.
            phase: the phase's name.
            place: the party's place in the roster, from 0.
        """
        ...


def stream_key(*, seed: int, session: str, round_number: int, protocol: str, phase: str, purpose: str) -> int:
    """Return the 128-bit Philox key of one stream.

    BLAKE2b with 16 bytes of digest and the personalization "psephos-stream-1", over the six fields in this order,
    each as UTF-8 text (numbers in decimal) behind its length in bytes as eight big-endian bytes.
    """
    digest = hashlib.blake2b(digest_size=16, person=b"psephos-stream-1")
    for field in (str(seed), session, str(round_number), protocol, phase, purpose):
        text = field.encode()
        digest.update(len(text).to_bytes(8, "big") + text)
    return int.from_bytes(digest.digest(), "big")


def philox_rows(key: int, *, start: int, stop: int, slots: int) -> FloatArray:
    """Return rows `start` to `stop` of the stream's table of uniforms.

    Args:
        key: 0 ≤ key < 2**128.
        start: the first row.
        stop: the row after the last.
        slots: uniforms in a row.

    Returns:
        float64 in [0, 1), shape (stop − start, slots): equal to those rows of
        `Generator(Philox(key=key)).random((N, slots))` for every N ≥ stop.
    """
    first = start * slots
    skip = first % _NUMBERS_PER_COUNTER
    generator = np.random.Generator(np.random.Philox(key=key, counter=first // _NUMBERS_PER_COUNTER))
    return generator.random(skip + (stop - start) * slots)[skip:].reshape(stop - start, slots)


class SimulatedNoise:
    """Addressed noise, for simulations only: anybody who knows the seed can remove it.

    Args:
        seed: any integer ≥ 0; never logged.
        session: the session's name.
        round_number: tells repeated votes of one session apart.

    Raises:
        ConfigurationError: the seed or the round is negative.
    """

    def __init__(self, seed: int, *, session: str, round_number: int = 0) -> None:
        if seed < 0:
            # The seed is a secret, so the message does not show it.
            raise ConfigurationError(field="seed", value="a negative number", allowed="an integer >= 0")
        if round_number < 0:
            raise ConfigurationError(field="round_number", value=round_number, allowed="an integer >= 0")
        self._seed = seed
        self._session = session
        self._round_number = round_number
        self._keys: dict[tuple[str, str], int] = {}
        self._blocks: dict[tuple[str, str, int], tuple[int, list[list[float]]]] = {}

    @property
    def kind(self) -> SessionKind:
        """Simulation."""
        return SessionKind.SIMULATION

    @property
    def session(self) -> str:
        """The session whose noise this is."""
        return self._session

    @property
    def session_id(self) -> str:
        """The session's id: a digest of seed, session and round; whoever guesses the seed can tell by it that it is."""
        fields = {"protocol": "", "phase": "", "purpose": "session-id"}
        key = stream_key(seed=self._seed, session=self._session, round_number=self._round_number, **fields)
        return f"{key:032x}"

    def check(self, mechanism: RowMechanism) -> None:
        """Do nothing: every mechanism can be simulated."""

    def uniforms(self, *, protocol: str, phase: str, start: int, stop: int, slots: int) -> FloatArray:
        """Return the uniforms of the parties at places `start` to `stop`.

        Returns:
            float64 in [0, 1), shape (stop − start, slots).
        """
        return philox_rows(self._key(protocol, phase), start=start, stop=stop, slots=slots)

    def randomize(
        self, mechanism: RowMechanism, values: Sequence[int], *, protocol: str, phase: str, place: int
    ) -> list[int]:
        """Return one report for each value. See `NoiseSource.randomize`."""
        if not values:
            return []
        return mechanism.randomize_row(values, self._row(protocol, phase, place, mechanism.slots_of(len(values))))

    def _key(self, protocol: str, phase: str) -> int:
        key = self._keys.get((protocol, phase))
        if key is None:
            key = stream_key(
                seed=self._seed,
                session=self._session,
                round_number=self._round_number,
                protocol=protocol,
                phase=phase,
                purpose="report",
            )
            self._keys[protocol, phase] = key
        return key

    def _row(self, protocol: str, phase: str, place: int, slots: int) -> list[float]:
        """Return one party's uniforms, from a block that its neighbors in the roster share."""
        address = (protocol, phase, slots)
        start, rows = self._blocks.get(address, (0, []))
        if not start <= place < start + len(rows):
            # A client that is a process of its own never asks for a second row.
            block = max(1, _BLOCK_NUMBERS // slots) if rows else 1
            start = place // block * block
            rows = self.uniforms(protocol=protocol, phase=phase, start=start, stop=start + block, slots=slots).tolist()
            self._blocks[address] = (start, rows)
        return rows[place - start]
