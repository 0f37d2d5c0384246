"""Shipped scenarios, each a TOML file."""

__all__: tuple[str, ...] = ()
