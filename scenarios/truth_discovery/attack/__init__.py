"""Truth discovery: attacks of coalitions and of single workers."""

__all__: tuple[str, ...] = ()
