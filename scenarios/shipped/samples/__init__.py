"""Small made-up files that the documents use, and `psephos new` without a file."""

__all__: tuple[str, ...] = ()
