"""What papers published, run again: their tables and figures beside ours, and what of it holds.

General parts are here; each system has its paper's own.
"""

__all__: tuple[str, ...] = ()
