"""Trials, plans and reproductions of papers: published tables and figures next to those of Psephos, and findings.

This package has the general parts; each system's package has those of its paper.
"""

__all__: tuple[str, ...] = ()
