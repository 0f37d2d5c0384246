"""The series of votes that come with Psephos."""

__all__: tuple[str, ...] = ()
