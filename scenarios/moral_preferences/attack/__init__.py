"""Moral preferences: attacks of coalitions and of single voters."""

__all__: tuple[str, ...] = ()
