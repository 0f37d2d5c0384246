"""Conformance suites for anybody's protocols and adversary roles, as `psephos.transports.testing` is for transports."""

from .protocols import PROTOCOL_PROMISES, check_protocol
from .released import replay

__all__ = ["PROTOCOL_PROMISES", "check_protocol", "replay"]
