"""Files of ballots, small enough to be checked by hand: PrefLib's, with groups beside it, and Pabulib's."""

# Four voters, of whom the first line stands for two.
ORDERS = """# DATA TYPE: soc
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 4
# NUMBER UNIQUE ORDERS: 3
# ALTERNATIVE NAME 1: Oak
# ALTERNATIVE NAME 2: Ash
# ALTERNATIVE NAME 3: Elm
2: 1,2,3
1: 3,2,1
1: 2,1,3
"""
COMPANION = "voter,group\n1,old\n2,young\n3,old\n4,young\n"
BUDGET = """META
key;value
num_projects;3
num_votes;4
vote_type;ordinal
PROJECTS
project_id;cost;name
p1;10;Park
p2;20;Pool
p3;30;Bus
VOTES
voter_id;age;sex;vote
v1;20;F;p1,p2,p3
v2;30;M;p3,p2
v3;40;F;p2
v4;50;M;p2,p1,p3
"""
