"""Where browsers find a vote's page if nobody names another place; light, since the command line's help tells it."""

from typing import Final

DEFAULT_ORIGIN: Final = "http://127.0.0.1:8000"
"""This machine, which needs no HTTPS."""
