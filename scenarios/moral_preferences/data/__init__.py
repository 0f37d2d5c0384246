"""Surveys of pairwise choices: readers, generators, and how they become the voters of a session."""

__all__: tuple[str, ...] = ()
