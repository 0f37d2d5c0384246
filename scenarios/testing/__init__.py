"""Conformance suites for anybody's protocols and adversary roles, as `psephos.transports.testing` is for transports."""

from .protocols import PROTOCOL_PROMISES, check_protocol
from .released import replay
from .roles import ROLE_PROMISES, check_role

__all__ = ["PROTOCOL_PROMISES", "ROLE_PROMISES", "check_protocol", "check_role", "replay"]
