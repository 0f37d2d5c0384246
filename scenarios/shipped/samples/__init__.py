"""Small synthetic files for the documents, and for `psephos new` without a file."""

__all__: tuple[str, ...] = ()
