"""Limits of a session of agents: open descriptors, and Python's garbage collector kept out of the way."""

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

# Descriptors of a session over sockets that are not its channels: listener, files, trio's own.
_SPARE_DESCRIPTORS: Final = 64
# Connections that have not said who they are: fewer, and a party could not come where a handful of strangers are.
_LEAST_PLACES: Final = 64
_OBJECTS_BETWEEN_COLLECTIONS: Final = 200  # new container objects for each party between two walks of the collector


@contextlib.contextmanager
def calm_collector(num_parties: int) -> Generator[None]:
    """Let Python's cyclic collector run rarely while a large session is under way.

    A session makes objects that live until its end, and the collector would walk all of them again and again: half
    of the time of a session of 10,000 parties. Nothing of a session waits for the collector to be freed.
    """
    thresholds_before = gc.get_threshold()
    gc.set_threshold(max(thresholds_before[0], _OBJECTS_BETWEEN_COLLECTIONS * num_parties), *thresholds_before[1:])
    try:
        yield
    finally:
        # As if it had just walked them: else it would, at once, though most are to go. Few, it walks soon enough.
        if _OBJECTS_BETWEEN_COLLECTIONS * num_parties > 100 * thresholds_before[0] and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        gc.set_threshold(*thresholds_before)


def check_descriptors(transport: str, *, num_parties: int, is_tapped: bool = False) -> None:
    """Raise ConfigurationError if the system allows too few descriptors for a session over this transport, or a tap."""
    number = _descriptors_needed(transport, num_parties, is_tapped=is_tapped)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = f"few enough for {hard} open files ({number} are needed); run by arrays, or raise `ulimit -n`"
    refuse(hard != resource.RLIM_INFINITY and hard < number, "parties over sockets", num_parties, allowed)


def reserve_descriptors(transport: Transport, *, num_parties: int) -> None:
    """Raise this process's limit of open descriptors to what a session needs, if it is lower, and if that can be."""
    is_tapped = isinstance(transport, TappedTransport)
    check_descriptors(transport.name, num_parties=num_parties, is_tapped=is_tapped)
    number = _descriptors_needed(transport.name, num_parties, is_tapped=is_tapped)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < number:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))


def reserve_for_server(*, num_parties: int, num_others: int = 0) -> Places:
    """Raise this process's limit of open descriptors to what a server needs whose parties are elsewhere.

    Each of the roster, or its host, has one that nobody else can take.

    Args:
        num_parties: how many; a host counts once.
        num_others: how many connections for pages there may be beside theirs.

    Returns:
        How many connections may be without a Hello at a time.
    """
    reserved = num_parties + num_others + _SPARE_DESCRIPTORS
    num_wanted = reserved + Places.make_for_roster(num_parties).in_all
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = num_wanted if hard == resource.RLIM_INFINITY else min(num_wanted, hard)
    requirement = f"at least {reserved + _LEAST_PLACES} for {num_parties:,} parties: raise it, or serve fewer"
    refuse(allowed < reserved + _LEAST_PLACES, "the limit of open files (`ulimit -n`)", hard, requirement)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return Places.make_for_roster(num_parties, most=allowed - reserved)


def _descriptors_needed(transport: str, num_parties: int, *, is_tapped: bool) -> int:
    """Return how many descriptors a session opens: two for each channel, four with a relay, none without sockets."""
    of_party = 4 if is_tapped else 2
    return 0 if transport in {ARRAY, "memory"} else of_party * num_parties + _SPARE_DESCRIPTORS
