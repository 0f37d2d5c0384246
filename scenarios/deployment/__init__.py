"""A session whose parties are processes of their own: its server, its clients, and what each of them is given.

A server knows names, public columns and the digests of tokens, and no private value. A client knows its own entries
and, in its invitation, what it agreed to, with a token that nobody else has.
"""

from .client import DEFAULT_BUDGET, Agreement, Joining, join, join_in_folder
from .invitations import Invitation, draw_invitations, find_invitation, write_invitations
from .server import serve, serve_in_folder

__all__ = [
    "DEFAULT_BUDGET",
    "Agreement",
    "Invitation",
    "Joining",
    "draw_invitations",
    "find_invitation",
    "join",
    "join_in_folder",
    "serve",
    "serve_in_folder",
    "write_invitations",
]
