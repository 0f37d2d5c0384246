"""`reproduce`: a paper's tables and figures, ours beside the published."""

__all__: tuple[str, ...] = ()
