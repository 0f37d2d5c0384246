"""Conformance suites for protocols and adversary roles; for transports see `psephos.transports.testing`."""

from .protocols import PROTOCOL_PROMISES, check_protocol
from .released import replay
from .roles import ROLE_PROMISES, check_role

__all__ = ["PROTOCOL_PROMISES", "ROLE_PROMISES", "check_protocol", "check_role", "replay"]
