"""Limits of a session of agents: open file descriptors, and the frequency of garbage collection."""

import contextlib
import gc
import resource
from collections.abc import Generator
from typing import Final

from ...agents.pending import Places
from ...protocol.errors import refuse
from ...transports.abc import Transport
from ...transports.tap import TappedTransport
from ..plugins import ARRAY

# File descriptors of a session over sockets besides its channels: listener, files, and those of trio.
_SPARE_DESCRIPTORS: Final = 64
# Least number of unauthenticated connections, so that a few strangers cannot block a party.
_LEAST_PLACES: Final = 64
_OBJECTS_BETWEEN_COLLECTIONS: Final = 200  # new container objects for each party between two collections


@contextlib.contextmanager
def calm_collector(num_parties: int) -> Generator[None]:
    """Run Python's cyclic garbage collector rarely during a large session.

    A session creates objects that live until its end, and the collector would visit all of them repeatedly: half of the
    time of a session of 10,000 parties. No object of a session needs the collector to be freed.
    """
    thresholds_before = gc.get_threshold()
    gc.set_threshold(max(thresholds_before[0], _OBJECTS_BETWEEN_COLLECTIONS * num_parties), *thresholds_before[1:])
    try:
        yield
    finally:
        # Reset the counter as after a collection; otherwise one would start at once, although most objects are about to
        # be freed.
        if _OBJECTS_BETWEEN_COLLECTIONS * num_parties > 100 * thresholds_before[0] and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        gc.set_threshold(*thresholds_before)


def check_descriptors(transport: str, *, num_parties: int, is_tapped: bool = False) -> None:
    """Raise ConfigurationError if the system allows too few file descriptors for a session over this transport."""
    number = _descriptors_needed(transport, num_parties, is_tapped=is_tapped)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = f"This machine allows {hard:,} open files, and they need {number:,}. Raise `ulimit -n`, or run by arrays."
    refuse(hard != resource.RLIM_INFINITY and hard < number, "parties", num_parties, allowed)


def reserve_descriptors(transport: Transport, *, num_parties: int) -> None:
    """Raise this process's limit of file descriptors to a session's needs, if necessary and possible."""
    is_tapped = isinstance(transport, TappedTransport)
    check_descriptors(transport.name, num_parties=num_parties, is_tapped=is_tapped)
    number = _descriptors_needed(transport.name, num_parties, is_tapped=is_tapped)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < number:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))


def reserve_for_server(*, num_parties: int, num_others: int = 0) -> Places:
    """Raise this process's limit of file descriptors to a server's needs.

    Each party of the roster, or its host, has one that others cannot take.

    Args:
        num_parties: number of parties; a host counts once.
        num_others: number of further connections for pages.

    Returns:
        The most simultaneous connections without a Hello.
    """
    reserved = num_parties + num_others + _SPARE_DESCRIPTORS
    num_wanted = reserved + Places.make_for_roster(num_parties).in_all
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = num_wanted if hard == resource.RLIM_INFINITY else min(num_wanted, hard)
    least = reserved + _LEAST_PLACES
    requirement = (
        f"This machine allows {hard} open files, and {num_parties:,} parties need {least}. Raise the limit "
        f"(`ulimit -n {least}`, in systemd LimitNOFILE), or serve fewer."
    )
    refuse(allowed < least, "open files", hard, requirement)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return Places.make_for_roster(num_parties, most=allowed - reserved)


def _descriptors_needed(transport: str, num_parties: int, *, is_tapped: bool) -> int:
    """Return the file descriptors of a session: two for each channel, four with a relay, none without sockets."""
    of_party = 4 if is_tapped else 2
    return 0 if transport in {ARRAY, "memory"} else of_party * num_parties + _SPARE_DESCRIPTORS
