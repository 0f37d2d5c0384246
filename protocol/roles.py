"""Sides of a conversation, kinds of session, and names of parties.

A *side* is one of the two machines. A *role* is the users' word for a party (partner, voter, cloud server, aggregator).
All roles use the two machines, so nothing in this package depends on the name of a role.
"""

import enum
import unicodedata
from typing import Final

from .errors import ConfigurationError

# Long enough for a legal name, and short enough for rosters of 100,000 parties in memory.
MAX_PARTY_NAME_LENGTH = 128

SERVER: Final = "server"
"""A client's name for its only peer, whatever the peer's role."""


class Side(enum.Enum):
    """One of the two machines that a conversation joins.

    Examples:
        >>> Side("client")
        <Side.CLIENT: 'client'>
    """

    CLIENT = "client"
    SERVER = "server"


class SessionKind(enum.Enum):
    """The source of a session's randomness, the same for all sides of a session.

    Examples:
        >>> SessionKind.SIMULATION.value
        'simulation'
    """

    SIMULATION = "simulation"
    """Addressed noise: reproducible from a seed, and therefore without any protection."""
    DEPLOYMENT = "deployment"
    """Secure noise: operating-system entropy and exact samplers."""


def check_party_name(name: str, *, field: str = "party") -> str:
    """Return `name` if it can name a party.

    Args:
        name: 1 to `MAX_PARTY_NAME_LENGTH` printable characters, without space at either end, in Unicode form NFC, so
            that equal-looking names are equal.
        field: the name of this value in an error.

    Raises:
        ConfigurationError: it cannot.

    Examples:
        >>> check_party_name("Ann Lee")
        'Ann Lee'
        >>> check_party_name(" Ann")
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.ConfigurationError: party is ...: use 1 to 128 printable characters ...
    """
    if not 0 < len(name) <= MAX_PARTY_NAME_LENGTH or not name.isprintable() or " " in (name[0], name[-1]):
        allowed = f"1 to {MAX_PARTY_NAME_LENGTH} printable characters without a space at either end"
        raise ConfigurationError(field=field, value=name, allowed=allowed)
    if not unicodedata.is_normalized("NFC", name):
        allowed = f"in Unicode's form NFC, as {unicodedata.normalize('NFC', name)!r} is, which may look the same"
        raise ConfigurationError(field=field, value=name, allowed=allowed)
    return name
