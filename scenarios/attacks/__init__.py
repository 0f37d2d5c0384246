"""Attacks: what a coalition infers from its views, by the attack that a protocol's system brings."""

from .attack import Attack, Candidates, find_attack, report_log_likelihoods
from .channels import session_channel
from .posteriors import (
    Evaluation,
    Posteriors,
    check_prior,
    evaluate,
    evaluate_channel,
    evaluate_expected,
    infer,
    information_bound,
    pool,
    success_bound,
)
from .seen import Coalition, Seen, seen_by_agents, seen_by_arrays, seen_by_server

__all__ = [
    "Attack",
    "Candidates",
    "Coalition",
    "Evaluation",
    "Posteriors",
    "Seen",
    "check_prior",
    "evaluate",
    "evaluate_channel",
    "evaluate_expected",
    "find_attack",
    "infer",
    "information_bound",
    "pool",
    "report_log_likelihoods",
    "seen_by_agents",
    "seen_by_arrays",
    "seen_by_server",
    "session_channel",
    "success_bound",
]
