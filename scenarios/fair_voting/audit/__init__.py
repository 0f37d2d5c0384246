"""Fair voting: cases of its mechanisms and sessions."""

__all__: tuple[str, ...] = ()
