"""What tests of machines share: small sessions, a pretend wire, and what machines say to each other."""

from exchanges import (
    SERVER,
    SESSION_NAME,
    drop_of,
    encoded_values,
    error_of,
    failure_of,
    hello,
    messages_of,
    raw,
    receive_at_server,
)
from machine_sessions import CountingNoise, Session, closed, outcome_of_those_who_reported, replay
from makers import (
    make_fair_inputs,
    make_fair_vote,
    make_inputs,
    make_names,
    make_preference_inputs,
    make_preferences,
    make_vote,
)
from wire import Chooser, Delivery, Wire

__all__ = [
    "SERVER",
    "SESSION_NAME",
    "Chooser",
    "CountingNoise",
    "Delivery",
    "Session",
    "Wire",
    "closed",
    "drop_of",
    "encoded_values",
    "error_of",
    "failure_of",
    "hello",
    "make_fair_inputs",
    "make_fair_vote",
    "make_inputs",
    "make_names",
    "make_preference_inputs",
    "make_preferences",
    "make_vote",
    "messages_of",
    "outcome_of_those_who_reported",
    "raw",
    "receive_at_server",
    "replay",
]
