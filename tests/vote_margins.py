"""The margin of a candidate whose release tells one."""

from psephos.protocol.dpwevote import CandidateOutcome
from psephos.protocol.estimators import Estimate


def margin_of(candidate: CandidateOutcome) -> Estimate:
    assert candidate.margin is not None
    return candidate.margin
