"""Plain data and files into typed values: what every engine and system reads by."""

__all__: tuple[str, ...] = ()
