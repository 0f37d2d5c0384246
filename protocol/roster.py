"""The roster: the parties that may take part in a session."""

import collections
import functools
import hashlib
from collections.abc import Sequence

import msgspec

from .arrays import IntArray
from .errors import ConfigurationError, StrangerError, quote, require
from .masking import check_signature_key
from .messages import WireStruct
from .roles import check_party_name


class SigningRoster(WireStruct, frozen=True):
    """The roster of a masked session with signature keys, which every party knows.

    Args:
        others: the digest of the rest of the roster: fingerprints and public rows.
        keys: the parties' public signature keys (Ed25519).
    """

    others: str
    names: tuple[str, ...]
    keys: tuple[bytes, ...]

    @property
    def digest(self) -> str:
        """The roster's: the SHA-256 of all of it, in hexadecimal."""
        return hashlib.sha256(msgspec.msgpack.encode((self.others, self.names, self.keys))).hexdigest()


class SeededRoster(SigningRoster, frozen=True):
    """The roster as a masked session on a circle begins: with the circle's seed."""

    seed: bytes = b""


class Roster:
    """The parties that may take part: their names in order, and what the server knows about each.

    Args:
        names: distinct names; a party's index in this order addresses its simulated noise.
        public: the parties' public rows, int64, shape (n, public columns).
        fingerprints: the SHA-256 of each party's certificate, in hexadecimal. Parties with the same certificate belong
            to one host. Without fingerprints, anybody who knows a name can join under it, so nobody else may be able to
            reach the server.
        keys: the public signature key of each party (Ed25519), which masked sessions need.

    Raises:
        ConfigurationError: the roster is empty, a name occurs twice or cannot name a party, or a key is no Ed25519 key
            or a weak one, for which anybody can forge signatures.

    Examples:
        >>> import numpy as np
        >>> roster = Roster(["ann", "bob"], np.array([[1], [3]]))
        >>> len(roster), roster.places["bob"], roster.public[1].tolist()
        (2, 1, [3])
    """

    def __init__(
        self,
        names: Sequence[str],
        public: IntArray,
        *,
        fingerprints: Sequence[str] | None = None,
        keys: Sequence[bytes] | None = None,
    ) -> None:
        self.names = tuple(names)
        self.public = public
        self.fingerprints = None if fingerprints is None else tuple(fingerprints)
        self.keys = None if keys is None else tuple(keys)
        self.places = {name: place for place, name in enumerate(self.names)}
        require(self.names, "roster", [], "at least one party")
        for name in self.names:
            check_party_name(name)
        if len(self.places) < len(self.names):
            twice = next(name for place, name in enumerate(self.names) if self.places[name] != place)
            raise ConfigurationError(field="roster", value=twice, allowed="distinct names")
        if public.ndim != 2 or len(public) != len(self.names):  # noqa: PLR2004  a table
            raise ValueError(f"public rows have shape {public.shape}: give a row for each of {len(self.names)} parties")
        if self.fingerprints is not None and len(self.fingerprints) != len(self.names):
            raise ValueError(f"{len(self.fingerprints)} fingerprints are given: give {len(self.names)}")
        if self.keys is not None and len(self.keys) != len(self.names):
            raise ValueError(f"{len(self.keys)} keys are given: give {len(self.names)}")
        for name, key in zip(self.names, self.keys or (), strict=False):
            check_signature_key(name, key)

    @functools.cached_property
    def digest(self) -> str:
        """The SHA-256, in hexadecimal, of names, fingerprints, public rows and keys.

        With keys it is the digest of `signing_roster`, so that a party can check the roster that a server sends.
        """
        return self._digest_without_keys if (signing := self.signing_roster) is None else signing.digest

    @functools.cached_property
    def signing_roster(self) -> SigningRoster | None:
        """The signing roster, which every party of a masked session gets; None without keys."""
        return None if self.keys is None else SigningRoster(self._digest_without_keys, self.names, self.keys)

    @functools.cached_property
    def _digest_without_keys(self) -> str:
        rows: list[list[int]] = self.public.tolist()
        return hashlib.sha256(msgspec.msgpack.encode([self.names, self.fingerprints, rows])).hexdigest()

    def check(self, party: str, fingerprint: str) -> int:
        """Return the roster index of a party; StrangerError if it is not on the roster, or its certificate differs.

        Without a certificate the fingerprint is empty.

        Examples:
            >>> import numpy as np
            >>> roster = Roster(["ann"], np.empty((1, 0), dtype=int), fingerprints=["3f"])
            >>> roster.check("ann", "3f")
            0
            >>> roster.check("ann", "")
            Traceback (most recent call last):
                ...
            psephos.protocol.errors.StrangerError: 'ann' came with no certificate
        """
        place = self.places.get(party)
        if place is None:
            raise StrangerError(f"{quote(party)} is not on the roster", sender=party, role="server")
        if self.fingerprints is not None and fingerprint != self.fingerprints[place]:
            certificate_text = "a certificate that is not its own" if fingerprint else "no certificate"
            raise StrangerError(f"{quote(party)} came with {certificate_text}", sender=party, role="server")
        return place

    def num_seats(self, fingerprint: str) -> int:
        """Return the number of parties with this certificate; all parties if the roster has no fingerprints.

        Examples:
            >>> import numpy as np
            >>> roster = Roster(["ann", "bob"], np.empty((2, 0), dtype=int), fingerprints=["3f", "3f"])
            >>> roster.num_seats("3f")
            2
        """
        return len(self) if self.fingerprints is None else self._clients[fingerprint]

    @functools.cached_property
    def _clients(self) -> collections.Counter[str]:
        return collections.Counter(self.fingerprints)

    def fingerprint_of(self, party: str) -> str:
        """Return the fingerprint of a party of the roster; empty where the roster has none."""
        return self.fingerprints[self.places[party]] if self.fingerprints is not None else ""

    def __len__(self) -> int:
        return len(self.names)
