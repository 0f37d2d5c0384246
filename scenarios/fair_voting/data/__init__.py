"""Elections: profiles of rankings with groups, from generators, published files and files of one's own."""

from .files import RankingFile, load_rankings
from .parties import electorate_to_parties, is_of_ballots, load_electorate
from .pref_voting import from_pref_voting, groups_to_pref_voting, to_pref_voting
from .profile import Profile
from .societies import ImpartialGroup, MallowsGroup, PlackettLuceGroup, Society, make_profile, read_society

__all__ = [
    "ImpartialGroup",
    "MallowsGroup",
    "PlackettLuceGroup",
    "Profile",
    "RankingFile",
    "Society",
    "electorate_to_parties",
    "from_pref_voting",
    "groups_to_pref_voting",
    "is_of_ballots",
    "load_electorate",
    "load_rankings",
    "make_profile",
    "read_society",
    "to_pref_voting",
]
