"""Private moral preferences: from each voter's pairwise choices to the preferences of a society.

A voter's records, pairs of alternatives of which it chose one, become a preference vector by probit maximum likelihood;
the aggregator averages the voters' vectors and releases the society's. Six paradigms say whom voters trust, and what
one ε protects: VLCP, RLCP, VLDP and RLDP, and under masks VLMP and RLMP (`Paradigm`).

Mechanisms: `laplace` perturbs preference vectors (Algorithms 1 and 2); `functional` perturbs each voter's objective
(Algorithm 3); `pooled` perturbs the same coefficients, and maximizes their mean once; `direction` perturbs the sum of
unit differences, which says where preferences point and not how strong they are. `decide` answers for the society. What
the paper leaves open or has wrong, and the reading taken, is in `docs/moral-preferences.md`.

Source: Wang, Zhao, Yu, Liu, Yang, Ren and Shi, Privacy-preserving Crowd-guided AI Decision-making in Ethical Dilemmas,
CIKM 2019.
"""

from .certainty import PRIORS, PriorName
from .decision import Decision, decide
from .differences import DIFFERS, MOST_COMPARED, Difference, compare_societies
from .outcome import Ball, LevelOutcome, NoisyMaxima, Outcome, SocietyOutcome
from .parameters import Level, Paradigm, Parameters
from .phases import DisclosedPhase, MaskedPreferences, PerturbedPhase, SocietiesPhase
from .protocol import MoralPreferences
from .ranking import MOST_ALTERNATIVES, RankedAlternative, Ranking, rank
from .records import Records
from .summaries import ReportSummary, make_summary

__all__ = [
    "DIFFERS",
    "MOST_ALTERNATIVES",
    "MOST_COMPARED",
    "PRIORS",
    "Ball",
    "Decision",
    "Difference",
    "DisclosedPhase",
    "Level",
    "LevelOutcome",
    "MaskedPreferences",
    "MoralPreferences",
    "NoisyMaxima",
    "Outcome",
    "Paradigm",
    "Parameters",
    "PerturbedPhase",
    "PriorName",
    "RankedAlternative",
    "Ranking",
    "Records",
    "ReportSummary",
    "SocietiesPhase",
    "SocietyOutcome",
    "compare_societies",
    "decide",
    "make_summary",
    "rank",
]
