"""What is said at a session's end: to everybody the same, and to some of them more.

More is for who was late, which is told so, and for whom a protocol tells something alone. Either all of it fits into
messages, or nothing is said.
"""

from collections.abc import Iterable, Mapping

import msgspec

from .errors import LocalProtocolError
from .messages import Release, encode, encode_payload
from .seats import Seat
from .states import State

__all__ = ["Releases"]


class Releases(msgspec.Struct, frozen=True):
    """What the parties that are still there are told.

    Args:
        to_all: the outcome, as everybody is told it who is told no more.
        to_some: what each party is told that is told more, by its name.
    """

    to_all: Release
    to_some: Mapping[str, Release]

    @classmethod
    def of(
        cls, outcome: msgspec.Struct, own_outcomes: Mapping[int, msgspec.Struct], hearing: Iterable[Seat]
    ) -> "Releases":
        """Return what is said.

        Args:
            outcome: the session's.
            own_outcomes: what single parties are told, by place.
            hearing: who is still there.

        Raises:
            LocalProtocolError: it does not fit into a message.
        """
        to_some: dict[str, Release] = {}
        told = outcome
        try:
            to_all = Release(encode_payload(outcome))
            encode(to_all)
            for seat in hearing:
                if seat.state is State.LATE:
                    to_some[seat.party] = msgspec.structs.replace(to_all, is_late=True)
                if seat.place in own_outcomes:
                    told = own = own_outcomes[seat.place]
                    more = to_some.get(seat.party, to_all)
                    to_some[seat.party] = msgspec.structs.replace(more, own=encode_payload(own))
            if to_some:
                encode(max(to_some.values(), key=lambda each: len(bytes(each.own))))  # if the longest fits, all do
        except (TypeError, ValueError) as error:
            reason = f"the outcome, of type {type(told).__name__}, does not fit into a message: {error}"
            raise LocalProtocolError(reason, role="server", message_type="Release") from error
        return cls(to_all, to_some)

    def to(self, party: str) -> Release:
        """Return what one party is told."""
        return self.to_some.get(party, self.to_all)
