"""The sources of randomness: two sources, with the same law.

A `NoiseSource` applies a mechanism to values. `SimulatedNoise` addresses its uniforms: the party at index i of the
roster gets row i of one Philox stream. So agents over any transport, arrays and replays draw the same bits, in any
order. Secure noise is in `psephos.agents.noise`, since it asks the operating system; a deployment accepts no other.

Streams are keyed by (seed, session, round, protocol, phase, purpose), so that repeated votes share no noise.

Source: Salmon, Moraes, Dror and Shaw (2011), Philox 4×64; row i starts at counter i·slots // 4.
"""

import functools
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, cast

import numpy as np

from .arguments import row_of_integers
from .arrays import FloatArray
from .errors import require
from .mechanisms import Mechanism, RowMechanism
from .roles import SessionKind

# The most numbers drawn ahead for the next parties. A block costs little more than a single row, since most of the time
# goes into seeding the generator.
_BLOCK_NUMBERS = 4096
_GROWTH = 16  # of the next block: it starts with one row, since a process may run a single party
# Limits for drawing ahead the reports of all possible values: the number of values, and that of mechanisms.
_MOST_VALUES = 8
_MOST_MECHANISMS = 16
_MOST_BLOCKS = 64  # per row width and phase
_ROWS = {tuple, list}
_NUMBERS_PER_COUNTER = 4  # Philox 4x64 yields four 64-bit numbers a step
_WORD = (1 << 64) - 1
_PERSON = b"psephos-stream-1"
_KEY_BYTES = 16


class NoiseSource(Protocol):
    """Applies mechanisms to private values, with randomness of its own."""

    @property
    def kind(self) -> SessionKind:
        """The kind of session in which this source may be used."""
        ...

    def check(self, mechanism: RowMechanism) -> None:
        """Check, before a session begins, that `randomize` supports this mechanism.

        Raises:
            ConfigurationError: it does not.
        """
        ...

    def randomize(
        self, mechanism: RowMechanism, values: Sequence[int], *, protocol: str, phase: str, place: int
    ) -> list[int]:
        """Return one report for each value.

        Args:
            values: integers in the mechanism's `value_range`.
            place: the party's index in the roster, from 0.
        """
        ...

    def entropy(self, *, protocol: str, phase: str, place: int) -> bytes:
        """Return 32 bytes, from which a party derives its secrets of a masked phase."""
        ...


def stream_key(*, seed: int, session: str, round_number: int, protocol: str, phase: str, purpose: str) -> int:
    """Return the 128-bit Philox key of one stream.

    The key is the 16-byte BLAKE2b digest, with personalization "psephos-stream-1", of the six fields in this order.
    Each field is UTF-8 text (numbers in decimal), preceded by its length in bytes as eight big-endian bytes.

    Examples:
        >>> fields = {"session": "council", "protocol": "mean", "phase": "values", "purpose": "report"}
        >>> f"{stream_key(seed=1, round_number=0, **fields):032x}"
        'd635c7d33f01cef05332112d9c8a1ad9'
    """
    digest = hashlib.blake2b(_fields(str(seed), session), digest_size=_KEY_BYTES, person=_PERSON)
    digest.update(_fields(str(round_number), protocol, phase, purpose))
    return int.from_bytes(digest.digest(), "big")


def _fields(*fields: str) -> bytes:
    return b"".join([len(text).to_bytes(8, "big") + text for text in map(str.encode, fields)])


def philox_rows(key: int, *, start: int, stop: int, slots: int) -> FloatArray:
    """Return rows `start` to `stop` of the stream's table of uniforms.

    Args:
        key: 0 ≤ key < 2**128.
        slots: the number of uniforms in a row.

    Returns:
        float64 in [0, 1), shape (stop − start, slots): equal to those rows of
        `Generator(Philox(key=key)).random((N, slots))` for every N ≥ stop.

    Examples:
        >>> philox_rows(1, start=0, stop=2, slots=1).round(3).tolist()
        [[0.304], [0.849]]
        >>> philox_rows(1, start=1, stop=2, slots=1).round(3).tolist()
        [[0.849]]
    """
    first = start * slots
    skip = first % _NUMBERS_PER_COUNTER
    generator = np.random.Generator(np.random.Philox(key=key, counter=first // _NUMBERS_PER_COUNTER))
    return generator.random(skip + (stop - start) * slots)[skip:].reshape(stop - start, slots)


def philox_tables(keys: Sequence[int], *, start: int, stop: int, slots: int) -> FloatArray:
    """Return `philox_rows` for each key: float64, shape (keys, stop − start, slots).

    Examples:
        >>> philox_tables([1, 2], start=0, stop=3, slots=2).shape
        (2, 3, 2)
    """
    return _tables_of(b"".join([key.to_bytes(_KEY_BYTES, "big") for key in keys]), start=start, stop=stop, slots=slots)


def _tables_of(keys: bytes, *, start: int, stop: int, slots: int) -> FloatArray:
    """Return `philox_tables` of keys that are concatenated as big-endian bytes.

    One generator is reused, and its state set for each key: making a generator takes five times as long.
    """
    words: list[list[int]] = np.frombuffer(keys, dtype=">u8").reshape(-1, 2)[:, ::-1].tolist()
    first = start * slots
    skip, counter = first % _NUMBERS_PER_COUNTER, first // _NUMBERS_PER_COUNTER
    uniforms = np.empty((len(words), skip + (stop - start) * slots))
    philox = np.random.Philox(key=0)
    # Python's own numbers, which numpy reads twice as fast as its own.
    place: dict[str, Any] = {"counter": [counter >> shift & _WORD for shift in range(0, 256, 64)]}
    state: Any = {**cast("Any", philox.state), "state": place, "buffer": [0] * _NUMBERS_PER_COUNTER}
    generator = np.random.Generator(philox)
    for key_words, row in zip(words, uniforms, strict=True):
        place["key"] = key_words
        philox.state = state
        generator.random(out=row)
    return uniforms[:, skip:].reshape(len(words), stop - start, slots)


class SimulatedNoise:
    """Addressed noise, for simulations only: anybody who knows the seed can remove it.

    Args:
        seed: any integer ≥ 0; never logged.
        session: the name of the session.
        round_number: distinguishes repeated votes of one session.

    Raises:
        ConfigurationError: the seed or the round is negative.

    Examples:
        >>> from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
        >>> noise = SimulatedNoise(1, session="council")
        >>> address = {"protocol": "mean", "phase": "values"}
        >>> [noise.randomize(GeneralizedRandomizedResponse(1.0, 3), [2], **address, place=place) for place in range(4)]
        [[2], [2], [0], [1]]
    """

    def __init__(self, seed: int, *, session: str, round_number: int = 0) -> None:
        # The seed is a secret, so the message does not show it.
        require(seed >= 0, "seed", "negative", "an integer from 0 on")
        require(round_number >= 0, "round_number", round_number, "an integer >= 0")
        self._seed = seed
        self.session: Final = session
        self._round_number = round_number
        self._keys: dict[tuple[str, str], int] = {}
        self._blocks: dict[tuple[str, str, int], _Block] = {}

    @property
    def kind(self) -> SessionKind:
        """Simulation."""
        return SessionKind.SIMULATION

    @functools.cached_property
    def session_id(self) -> str:
        """The session's id: a digest of seed, session and round; whoever guesses the seed can tell by it that it is."""
        return f"{self._stream_key(protocol='', phase='', purpose='session-id'):032x}"

    def make_rounds(self, rounds: range) -> "SimulatedRounds":
        """Return the noise of the same session in many rounds.

        Raises:
            ConfigurationError: a round is negative.
        """
        require(min(rounds, default=0) >= 0, "rounds", rounds, "integers >= 0")
        return SimulatedRounds(self._seed, session=self.session, rounds=rounds)

    def check(self, mechanism: RowMechanism) -> None:
        """Do nothing: every mechanism can be simulated."""

    def uniforms(self, *, protocol: str, phase: str, start: int, stop: int, slots: int) -> FloatArray:
        """Return uniforms of the parties from index `start` to before `stop`.

        The array is float64 in [0, 1), shape (stop − start, slots).

        Examples:
            >>> noise = SimulatedNoise(1, session="council")
            >>> noise.uniforms(protocol="mean", phase="values", start=0, stop=2, slots=1).round(3).tolist()
            [[0.197], [0.292]]
        """
        return philox_rows(self._key(protocol, phase), start=start, stop=stop, slots=slots)

    def randomize(
        self, mechanism: RowMechanism, values: Sequence[int], *, protocol: str, phase: str, place: int
    ) -> list[int]:
        """Return one report for each value. See `NoiseSource.randomize`."""
        width = len(values)
        address = (protocol, phase, width)
        blocks = self._blocks
        block = blocks[address] if address in blocks else None  # noqa: SIM401  a call for each report
        if block is None or not 0 <= place - block.start < block.num_rows:
            if not width:
                return []
            block = self._draw_ahead(block, mechanism.slots_of(width), protocol=protocol, phase=phase, place=place)
            if address not in blocks and len(blocks) >= _MOST_BLOCKS:
                blocks = self._blocks = {}  # a cache: all of it can be drawn again
            blocks[address] = block
        reports = block.reports.get(id(mechanism))
        if reports and width == 1 and type(values) in _ROWS and type(value := values[0]) is int and value in reports:
            return [reports[value][place - block.start]]
        values = row_of_integers(values, "values")
        if reports is None:
            if block.uniforms.shape[1] != (slots := mechanism.slots_of(width)):  # another mechanism
                block = self._draw_ahead(None, slots, protocol=protocol, phase=phase, place=place)
            reports = block.reports_by(mechanism)
        row = place - block.start
        if reports.keys() >= {*values}:
            return [reports[value][at] for at, value in enumerate(values, row * width)]
        return mechanism.draw_row(values, block.uniforms[row].tolist())

    def entropy(self, *, protocol: str, phase: str, place: int) -> bytes:
        """Return bytes that follow from the seed. See `NoiseSource.entropy`."""
        key = self._stream_key(protocol=protocol, phase=phase, purpose="secrets")
        return hashlib.blake2b(place.to_bytes(8, "big"), key=key.to_bytes(16, "big"), digest_size=32).digest()

    def _key(self, protocol: str, phase: str) -> int:
        key = self._keys.get((protocol, phase))
        if key is None:
            fields = {"protocol": protocol, "phase": phase, "purpose": "report"}
            key = self._keys[protocol, phase] = self._stream_key(**fields)
        return key

    def _stream_key(self, *, protocol: str, phase: str, purpose: str) -> int:
        address = {"session": self.session, "protocol": protocol, "phase": phase, "purpose": purpose}
        return stream_key(seed=self._seed, round_number=self._round_number, **address)

    def _draw_ahead(self, earlier: "_Block | None", slots: int, *, protocol: str, phase: str, place: int) -> "_Block":
        """Return a party's uniforms, and with them, where others have asked before, those of its neighbors."""
        # A process that runs a single client never asks for a second row.
        num_rows = 1 if earlier is None else max(1, min(_GROWTH * earlier.num_rows, _BLOCK_NUMBERS // slots))
        start = place // num_rows * num_rows
        return _Block(
            start, self.uniforms(protocol=protocol, phase=phase, start=start, stop=start + num_rows, slots=slots)
        )


class SimulatedRounds:
    """Addressed noise of many rounds of one session.

    Args:
        seed, session: as of each round's `SimulatedNoise`.
        rounds: the round numbers.

    Examples:
        >>> rounds = SimulatedNoise(1, session="council").make_rounds(range(3))
        >>> len(rounds), rounds.uniforms(protocol="mean", phase="values", start=0, stop=2, slots=1).shape
        (3, (3, 2, 1))
    """

    def __init__(self, seed: int, *, session: str, rounds: range) -> None:
        self._seed, self._session, self._rounds = seed, session, rounds

    def __len__(self) -> int:
        return len(self._rounds)

    def __iter__(self) -> Iterator[SimulatedNoise]:
        """Yield the noise of each round by itself."""
        return (SimulatedNoise(self._seed, session=self._session, round_number=number) for number in self._rounds)

    def uniforms(self, *, protocol: str, phase: str, start: int, stop: int, slots: int) -> FloatArray:
        """Return `SimulatedNoise.uniforms` of each round: float64, shape (rounds, stop − start, slots)."""
        common = hashlib.blake2b(_fields(str(self._seed), self._session), digest_size=_KEY_BYTES, person=_PERSON)
        behind = _fields(protocol, phase, "report")
        keys: list[bytes] = []
        for number in self._rounds:
            digest, text = common.copy(), b"%d" % number
            digest.update(len(text).to_bytes(8, "big") + text + behind)
            keys.append(digest.digest())
        return _tables_of(b"".join(keys), start=start, stop=stop, slots=slots)


class _Block:
    """Uniforms of consecutive parties in the roster, and the reports drawn from them.

    If a mechanism has few values and randomizes each by itself, the reports of all possible values are computed at
    once: a mechanism's array path equals its path for one party, bit for bit, and is many times as fast.

    Args:
        uniforms: float64, shape (n, slots).

    Attributes:
        num_rows: n.
        reports: by the `id` of a mechanism: for each value, its report in each column of each row.
    """

    __slots__ = ("_mechanisms_asked", "num_rows", "reports", "start", "uniforms")

    def __init__(self, start: int, uniforms: FloatArray) -> None:
        self.start = start
        self.num_rows = len(uniforms)
        self.uniforms = uniforms
        self.reports: dict[int, Mapping[int, Sequence[int]]] = {}
        self._mechanisms_asked: dict[int, RowMechanism] = {}  # stored so that no `id` is reused

    def reports_by(self, mechanism: RowMechanism) -> Mapping[int, Sequence[int]]:
        """Return each value's report; nothing for a mechanism asked once, of many values, or of whole rows."""
        if id(mechanism) not in self._mechanisms_asked:
            if len(self._mechanisms_asked) < min(self.num_rows, _MOST_MECHANISMS):
                self._mechanisms_asked[id(mechanism)] = mechanism
            return {}
        reports: dict[int, Sequence[int]] = {}
        low, high = mechanism.value_range
        if high - low < _MOST_VALUES and isinstance(mechanism, Mechanism) and mechanism.draws_singly:
            uniforms = self.uniforms.reshape(-1, mechanism.slots)
            for value in range(low, high + 1):
                values = np.full(len(uniforms), value, dtype=np.int64)
                reports[value] = mechanism.randomize(values, uniforms).tolist()
        self.reports[id(mechanism)] = reports
        return reports
