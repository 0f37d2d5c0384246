"""Who may take part in a session."""

import hashlib
from collections.abc import Sequence

from .arrays import IntArray
from .errors import ConfigurationError, StrangerError, quote
from .roles import check_party_name

__all__ = ["Roster", "digest_of"]


def digest_of(token: str) -> str:
    """Return what a server keeps of a party's token: its SHA-256 in hexadecimal.

    Whoever reads the roster then cannot take a seat. Tokens are drawn at random, so that they need no salt.
    """
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class Roster:
    """Who may take part: names in order, and what the server knows of each.

    Args:
        names: distinct names; a party's place in this order addresses its simulated noise.
        public: int64, shape (n, public columns).
        token_digests: `digest_of` each party's token; without them whoever knows a name may take its seat, which is
            right where nobody else can reach the server.

    Raises:
        ConfigurationError: there is nobody, a name is taken twice or cannot name a party.
    """

    def __init__(self, names: Sequence[str], public: IntArray, *, token_digests: Sequence[str] | None = None) -> None:
        self.names = tuple(names)
        self.public = public
        self.token_digests = None if token_digests is None else tuple(token_digests)
        self.places = {name: place for place, name in enumerate(self.names)}
        if not self.names:
            raise ConfigurationError(field="roster", value=[], allowed="at least one party")
        for name in self.names:
            check_party_name(name)
        if len(self.places) < len(self.names):
            twice = next(name for place, name in enumerate(self.names) if self.places[name] != place)
            raise ConfigurationError(field="roster", value=twice, allowed="distinct names")
        if public.ndim != 2 or len(public) != len(self.names):  # noqa: PLR2004  a table
            raise ValueError(f"expected public rows for {len(self.names)} parties, got shape {public.shape}")
        if self.token_digests is not None and len(self.token_digests) != len(self.names):
            raise ValueError(f"expected {len(self.names)} tokens' digests, got {len(self.token_digests)}")

    def check(self, party: str, token: str) -> int:
        """Return a party's place, if it is on the roster and the token is its own.

        Raises:
            StrangerError: it is not.
        """
        place = self.places.get(party)
        if place is None:
            raise StrangerError(f"{quote(party)} is not on the roster", sender=party, role="server")
        if self.token_digests is not None and digest_of(token) != self.token_digests[place]:
            given = "a token that is not its own" if token else "no token"
            raise StrangerError(f"{quote(party)} came with {given}", sender=party, role="server")
        return place

    def __len__(self) -> int:
        return len(self.names)
