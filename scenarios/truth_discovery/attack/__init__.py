"""Truth discovery: what a coalition infers, and what one party can do."""

__all__: tuple[str, ...] = ()
