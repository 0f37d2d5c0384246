"""Under construction."""

__all__: list[str] = []
