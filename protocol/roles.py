"""Who takes part: sides of a conversation, kinds of session, names of parties.

A *side* is one of the two machines; a *role* is what users call a party (partner, voter, cloud server,
aggregator). Roles share the two machines, so nothing in this room depends on a role's name.
"""

import enum
import unicodedata
from typing import Final

from .errors import ConfigurationError

# Long enough for a legal name, short enough that a roster of 100,000 fits into memory many times.
MAX_PARTY_NAME_LENGTH = 128

SERVER: Final = "server"
"""A client's name for its only peer, whatever its role."""


class Side(enum.Enum):
    """One of the two machines that a conversation joins.

    Examples:
        >>> Side("client")
        <Side.CLIENT: 'client'>
    """

    CLIENT = "client"
    SERVER = "server"


class SessionKind(enum.Enum):
    """The source of a session's randomness; the two kinds never meet in one session.

    Examples:
        >>> SessionKind.SIMULATION.value
        'simulation'
    """

    SIMULATION = "simulation"
    """Addressed noise: reproducible from a seed, and therefore no protection at all."""
    DEPLOYMENT = "deployment"
    """Secure noise: operating-system entropy and exact samplers."""


def check_party_name(name: str, *, field: str = "party") -> str:
    """Return `name` if it can name a party.

    Args:
        name: 1 to `MAX_PARTY_NAME_LENGTH` printable characters, no space at either end, in Unicode's form NFC: names
            that look the same are the same.
        field: how the caller's user knows this value.

    Raises:
        ConfigurationError: it cannot.

    Examples:
        >>> check_party_name("Ann Lee")
        'Ann Lee'
        >>> check_party_name(" Ann")
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.ConfigurationError: party must be 1 to 128 printable characters ...
    """
    if not 0 < len(name) <= MAX_PARTY_NAME_LENGTH or not name.isprintable() or " " in (name[0], name[-1]):
        allowed = f"1 to {MAX_PARTY_NAME_LENGTH} printable characters without a space at either end"
        raise ConfigurationError(field=field, value=name, allowed=allowed)
    if not unicodedata.is_normalized("NFC", name):
        allowed = f"in Unicode's form NFC, as {unicodedata.normalize('NFC', name)!r} is, which may look the same"
        raise ConfigurationError(field=field, value=name, allowed=allowed)
    return name
