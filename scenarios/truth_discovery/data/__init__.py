"""Crowds: answers with names, from files, published sets or made up, and the estimators that crowd-kit's users know.

Estimators are in `psephos.scenarios.truth_discovery.data.estimators`, which imports pandas.
"""

from .crowd import Crowd
from .files import read_crowd
from .published import CROWDS, load_crowd
from .synthetic import PEER_GRADING_STAND_IN, PeerGrading, SyntheticCrowd, make_crowd, make_peer_grading

__all__ = [
    "CROWDS",
    "PEER_GRADING_STAND_IN",
    "Crowd",
    "PeerGrading",
    "SyntheticCrowd",
    "load_crowd",
    "make_crowd",
    "make_peer_grading",
    "read_crowd",
]
