"""DPWeVote: attacks of coalitions and of single parties."""

__all__: tuple[str, ...] = ()
