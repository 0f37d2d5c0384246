"""Private moral preferences: from each voter's pairwise choices to the preferences of a society.

A voter's record is a pair of alternatives of which it chose one. Its records yield a preference vector by probit
maximum likelihood. The aggregator averages the voters' vectors and releases the society's. Six paradigms determine whom
voters trust, and what one ε protects: VLCP, RLCP, VLDP and RLDP, and, with masked sums, VLMP and RLMP (`Paradigm`).

Mechanisms: `laplace` perturbs preference vectors (Algorithms 1 and 2); `functional` perturbs each voter's objective
(Algorithm 3); `pooled` perturbs the same coefficients, and maximizes their mean once; `direction` perturbs the sum of
unit differences, which shows the direction of preferences but not their strength. `decide` predicts the society's
choices. `docs/moral-preferences.md` lists what the paper leaves open or has wrong, and our readings.

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
