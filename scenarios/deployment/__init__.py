"""A session whose parties are processes of their own: its server, its clients, and what each of them is given.

A server knows names, public columns and certificates, and no private value. A client knows its own entries and key
and, in its invitation, what it agreed to, with the server's certificate.
"""

from .agreement import DEFAULT_BUDGET, CheckedInvitation, Joining
from .client import join, join_in_folder
from .common import TLSKeys
from .invitations import DrawnSession, Invitation, draw_session, find_invitation, write_session
from .keys import Enrollment, enroll, read_enrollments
from .server import Serving, serve, serve_in_folder

__all__ = [
    "DEFAULT_BUDGET",
    "CheckedInvitation",
    "DrawnSession",
    "Enrollment",
    "Invitation",
    "Joining",
    "Serving",
    "TLSKeys",
    "draw_session",
    "enroll",
    "find_invitation",
    "join",
    "join_in_folder",
    "read_enrollments",
    "serve",
    "serve_in_folder",
    "write_session",
]
