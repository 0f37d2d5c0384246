"""Which data sets are neighbors, and whom the protection is against.

A privacy loss means nothing without both, and without the unit of protection (a voter, a record, an answer, a
weight), which is a plain word on each entry since protocols bring their own.
"""

import enum

__all__ = ["NeighboringRelation", "TrustModel"]


class NeighboringRelation(enum.Enum):
    """Which two data sets must be hard to tell apart."""

    __hash__ = object.__hash__  # members are single objects; Enum hashes their names, in Python

    REPLACE_ONE = "replace-one"
    """One unit has another value; how many units there are is public."""
    ADD_OR_REMOVE_ONE = "add-remove-one"
    """One unit is there or is not."""


class TrustModel(enum.Enum):
    """Whom a loss is bounded against."""

    __hash__ = object.__hash__  # members are single objects; Enum hashes their names, in Python

    LOCAL = "local"
    """Everybody else, all colluding: each report is private by itself."""
    CENTRAL = "central"
    """Everybody who sees only the release; the aggregator is trusted with the values."""
