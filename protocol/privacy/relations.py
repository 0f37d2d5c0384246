"""Neighboring relations and trust models.

A privacy loss needs both to have a meaning, and also the unit of protection (a voter, a record, an answer, a weight).
The unit is a plain word in each ledger entry, since each protocol defines its units.
"""

import enum
from collections.abc import Iterable
from typing import Final

SEMI_HONEST: Final = "semi-honest server only"
"""The mark at the end of a loss's mechanism if the loss assumes that the server follows the protocol."""


def is_semi_honest(mechanism: str) -> bool:
    """Return whether the name of a mechanism says that its loss assumes a semi-honest server.

    Examples:
        >>> is_semi_honest("shares of noise"), is_semi_honest(f"shares of noise, {SEMI_HONEST}")
        (False, True)
    """
    return mechanism.endswith(SEMI_HONEST)


class NeighboringRelation(enum.Enum):
    """The neighboring relation: which two data sets must be hard to distinguish.

    Examples:
        >>> NeighboringRelation("add-remove-one")
        <NeighboringRelation.ADD_OR_REMOVE_ONE: 'add-remove-one'>
    """

    __hash__ = object.__hash__  # members are single objects; Enum hashes their names, in Python

    REPLACE_ONE = "replace-one"
    """One unit has another value; the number of units is public."""
    ADD_OR_REMOVE_ONE = "add-remove-one"
    """One unit is present in one data set and absent from the other."""


class TrustModel(enum.Enum):
    """The trust model: which adversaries a loss bounds; in order of increasing trust in the server.

    Examples:
        >>> TrustModel.LOCAL.trusts_server, TrustModel.CENTRAL.trusts_server
        (False, True)
    """

    __hash__ = object.__hash__  # members are single objects; Enum hashes their names, in Python

    LOCAL = "local"
    """Against all others, server included, in one coalition: each report is private by itself."""
    DISTRIBUTED = "distributed"
    """Against a coalition of the server and as many parties as the session states; it sees only one noisy sum."""
    CENTRAL = "central"
    """Against anybody who sees only the release; the aggregator is trusted with the values."""

    @classmethod
    def weakest_of(cls, models: Iterable["TrustModel"]) -> "TrustModel":
        """Return the model that trusts the server most, of some models; the local model if there are none.

        Examples:
            >>> TrustModel.weakest_of([TrustModel.LOCAL, TrustModel.CENTRAL])
            <TrustModel.CENTRAL: 'central'>
        """
        models_given = {*models}
        return next((model for model in reversed(cls) if model in models_given), cls.LOCAL)

    @property
    def trusts_server(self) -> bool:
        """Whether the server sees values as they are, and is trusted with them."""
        return self is TrustModel.CENTRAL

    @property
    def bounds_release(self) -> bool:
        """Whether losses bound what is released, made of many; else each report by itself."""
        return self is not TrustModel.LOCAL

    @property
    def is_masked(self) -> bool:
        """Whether values leave under masks, and the server learns a sum of them alone."""
        return self is TrustModel.DISTRIBUTED

    @property
    def shows_participation(self) -> bool:
        """Whether a server sees who took part, so that neighbors cannot differ by a person who is there or not."""
        return not self.trusts_server

    @property
    def server_view(self) -> str:
        """The server's view of each person, as a phrase."""
        return _SEEN[self]

    @property
    def adversary(self) -> str:
        """The adversary against which losses are bounded, as a phrase."""
        return _AGAINST[self]

    def trusted_party(self, server: str, *, is_sparse: bool = False) -> str:
        """Return who is trusted, such as "nobody" or "the aggregator".

        Args:
            server: the protocol's word for the server.
            is_sparse: whether each party masks with only some others, which assumes a semi-honest server.
        """
        name = f"the {server.replace('-', ' ')}"
        if self.trusts_server:
            return name
        return f"{name} to follow the protocol" if self.is_masked and is_sparse else "nobody"


_AGAINST: Final = {
    TrustModel.LOCAL: "everyone else, even if all of them collude",
    TrustModel.DISTRIBUTED: "the server, and as many parties with it as the session states",
    TrustModel.CENTRAL: "whoever sees the releases, and no view of a trusted server",
}
_SEEN: Final = {
    TrustModel.LOCAL: "reports alone",
    TrustModel.DISTRIBUTED: "one noisy sum of all",
    TrustModel.CENTRAL: "the values",
}
