"""DPWeVote: where parties are from."""

__all__: tuple[str, ...] = ()
