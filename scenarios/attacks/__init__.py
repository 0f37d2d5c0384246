"""Attacks: what a coalition infers from its views, by the attack of the protocol's system, or by reports alone."""

from .attack import NO_CANDIDATE, Attack, Candidates, report_log_likelihoods
from .by_reports import ReportAttack, find_attack
from .channels import session_channel
from .coalition_view import (
    Coalition,
    CoalitionView,
    Ending,
    view_by_agents,
    view_by_arrays,
    view_by_server,
    with_shares,
)
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

__all__ = [
    "NO_CANDIDATE",
    "Attack",
    "Candidates",
    "Coalition",
    "CoalitionView",
    "Ending",
    "Evaluation",
    "Posteriors",
    "ReportAttack",
    "check_prior",
    "evaluate",
    "evaluate_channel",
    "evaluate_expected",
    "find_attack",
    "infer",
    "information_bound",
    "pool",
    "report_log_likelihoods",
    "session_channel",
    "success_bound",
    "view_by_agents",
    "view_by_arrays",
    "view_by_server",
    "with_shares",
]
