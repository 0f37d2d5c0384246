"""Which data sets are neighbors, and whom the protection is against: all that hangs on a model of trust stands here.

A privacy loss means nothing without both, and without the unit of protection (a voter, a record, an answer, a
weight), which is a plain word on each entry since protocols bring their own.
"""

import enum
from collections.abc import Iterable
from typing import Final

SEMI_HONEST: Final = "semi-honest server only"
"""The mark at the end of a loss's mechanism, if the loss holds against no server that lies."""


def is_semi_honest(mechanism: str) -> bool:
    """Return whether a loss by a mechanism that is called so holds against no server that lies.

    Examples:
        >>> is_semi_honest("shares of noise"), is_semi_honest(f"shares of noise, {SEMI_HONEST}")
        (False, True)
    """
    return mechanism.endswith(SEMI_HONEST)


class NeighboringRelation(enum.Enum):
    """Which two data sets must be hard to tell apart.

    Examples:
        >>> NeighboringRelation("add-remove-one")
        <NeighboringRelation.ADD_OR_REMOVE_ONE: 'add-remove-one'>
    """

    __hash__ = object.__hash__  # members are single objects; Enum hashes their names, in Python

    REPLACE_ONE = "replace-one"
    """One unit has another value; how many units there are is public."""
    ADD_OR_REMOVE_ONE = "add-remove-one"
    """One unit is there or is not."""


class TrustModel(enum.Enum):
    """The trust model: whom a loss is bounded against, in order of the server's trust.

    Examples:
        >>> TrustModel.LOCAL.trusts_server, TrustModel.CENTRAL.trusts_server
        (False, True)
    """

    __hash__ = object.__hash__  # members are single objects; Enum hashes their names, in Python

    LOCAL = "local"
    """Everybody else, all colluding: each report is private by itself."""
    DISTRIBUTED = "distributed"
    """The server and as many parties with it as the session states; it sees one noisy sum and nothing else."""
    CENTRAL = "central"
    """Everybody who sees only the release; the aggregator is trusted with the values."""

    @classmethod
    def weakest_of(cls, models: Iterable["TrustModel"]) -> "TrustModel":
        """Return the model that bounds least of some; the local one of none.

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
        """Return who is trusted, as "nobody" or "the aggregator", where a server is called so.

        Args:
            is_sparse: whether each masks with some others alone, which holds against a server that does not lie.
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
