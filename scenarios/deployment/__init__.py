"""Deployments: sessions whose server and parties are separate processes.

The server knows names, public columns and certificates, and no private value. A client knows its entries and key, and
has an invitation with the agreed terms and the server's certificate.
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
