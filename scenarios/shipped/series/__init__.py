"""Shipped series of votes."""

__all__: tuple[str, ...] = ()
