"""Bad input of a vote by the command line."""

import pytest
from bad_input import Psephos, Write, check_refused

# A file of partners and settings, and what the sentence has.
FINE = "partner,weight,merger\nann,1,1\nbob,3,0\n"
TABLE: dict[str, tuple[str, list[str], list[str]]] = {
    "epsilon of 0": (FINE, ["epsilon=0"], ["epsilon is 0"]),
    "epsilon of text": (FINE, ["epsilon=much"], ["epsilon is 'much': use a number"]),
    "epsilon of weights alone, of 0": (
        FINE,
        ["epsilon_weight=0", "epsilon_opinion=1", "parameters.epsilon=1"],
        ["epsilon_weight is 0"],
    ),
    "a game without a name": (FINE, ["game="], ["game is", "is empty"]),
    "a game of public weights": (
        FINE,
        ["game=board", "public_weights=true"],
        ["leave out game where weights are public"],
    ),
    "a game whose weights are collected again": (
        FINE,
        ["game=board", "weight_collection=per_candidate"],
        ["weight_collection is 'per_candidate': use 'once' in a game"],
    ),
    "a weight outside the set": (
        "partner,weight,merger\nann,1,1\nbob,4,0\n",
        [],
        ["weight (own.csv line 3, bob) is '4': use one of 1, 2, 3"],
    ),
    "an opinion of 2": (
        "partner,weight,merger\nann,1,2\n",
        [],
        ["merger (own.csv line 2, ann) is '2': use yes or no (y/n, true/false, 1/0)"],
    ),
    "an opinion in other words": (
        "partner,weight,merger\nann,1,ja\n",
        [],
        ["merger (own.csv line 2, ann) is 'ja': use yes or no"],
    ),
    "an abstention": (
        "partner,weight,merger\nann,1,\n",
        [],
        ["merger (own.csv line 2, ann) is empty: use yes or no"],
    ),
    "a partner twice": (
        "partner,weight,merger\nann,1,1\nbob,1,1\nann,2,1\n",
        [],
        ["partner (own.csv line 4): Is it one partner? 'ann' is also in line 2. "],
    ),
    "a partner without a name": ("partner,weight,merger\n,1,1\n", [], ["partner (own.csv line 2)", "is empty"]),
    "an entry too few": (
        "partner,weight,merger\nann,1\n",
        [],
        ["This line has 2 entries, and the header 3"],
    ),
    "no column of partners": (
        "weight,merger\n1,1\n",
        [],
        ["own.csv line 1 has no column 'partner'"],
    ),
    "no column of weights, or a misspelled one": (
        "partner,wieght,merger\nann,1,1\n",
        [],
        ["Call 'wieght' 'weight', if it holds weights"],
    ),
    "no column of private weights": (
        "partner,merger\nann,1\n",
        ["public_weights=false"],
        ["use true, or left out: own.csv has no column 'weight'", "is False"],
    ),
    "no column of weights, and none of 1": (
        "partner,merger\nann,1\n",
        ["weights=[2, 3]"],
        ["Add 1 to them, or leave them out: own.csv has no column 'weight'"],
    ),
    "no column of a candidate": (
        FINE,
        ["candidates=['merger', 'move']"],
        ["the table has no column move (own.csv line 1)"],
    ),
    "a column twice": (
        "partner,weight,merger,merger\nann,1,1,1\n",
        [],
        ["own.csv line 1 has 'merger': give each column a name of its own"],
    ),
    "an unknown column": (
        "partner,weight,merger,marger\nann,1,1,0\n",
        ["candidates=['merger']"],
        ["leave out marger (own.csv line 1): the columns are", "weight, merger"],
    ),
    "no partners": ("partner,weight,merger\n", [], ["partners: There is no row in own.csv. "]),
    "nothing at all": ("", [], ["own.csv line 1 has no column 'partner'"]),
    "no candidates": ("partner,weight\nann,1\n", [], ["candidates is none: use 1 to 1000 distinct names"]),
    "a quota of 0": (FINE, ["quota=0"], ["quota is 0"]),
    "a quota above what all can weigh": (FINE, ["quota=6.5"], ["quota is 6.5: use at most", ", 6"]),
    "a quota above the public total": (
        FINE,
        ["quota=4.5", "public_weights=true"],
        ["quota is 4.5: use at most the weight of all partners, 4"],
    ),
    "a quota above the whole": (FINE, ["quota_fraction=1.5"], ["quota_fraction is 1.5"]),
    "levels of a variant that has none": (
        "partner,weight,epsilon,merger\nann,1,1,1\nbob,3,2,0\n",
        ["epsilons=[1, 2]"],
        ["leave out epsilons in variant 'joint'", "'two_point' or 'signed_rr' or 'optimal'"],
    ),
    "an epsilon that is no level": (
        "partner,weight,epsilon,merger\nann,1,1,1\nbob,3,4,0\n",
        ["epsilons=[1, 2]", "variant=two_point"],
        ["epsilon (own.csv line 3, bob) is '4': use one of 1, 2"],
    ),
    "levels without a column of them": (
        FINE,
        ["epsilons=[1, 2]", "variant=two_point"],
        ["the table has no column epsilon (own.csv line 1)"],
    ),
    "one epsilon beside levels": (
        "partner,weight,epsilon,merger\nann,1,1,1\nbob,3,2,0\n",
        ["epsilons=[1, 2]", "variant=two_point", "parameters.epsilon=1"],
        ["leave out parameters.epsilon beside epsilons"],
    ),
    "a matrix that is none": (FINE, ["opinion_matrix=1"], ["opinion_matrix is 1: use a list"]),
    "a matrix of words": (
        FINE,
        ["opinion_matrix=[['much', 0.5], [0.5, 0.5]]", "epsilon_weight=1"],
        ["use probabilities: numbers, or text such as '0.25'", "is 'much'"],
    ),
    "a matrix of three opinions": (
        FINE,
        ["opinion_matrix=[[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]", "epsilon_weight=1"],
        ["use 2 rows of 2 probabilities", "is rows of 3, 3, 3"],
    ),
    "a matrix whose rows do not sum to 1": (
        FINE,
        ["opinion_matrix=[[0.8, 0.1], [0.1, 0.9]]", "epsilon_weight=1"],
        ["use probabilities that sum to 1 exactly", "is a sum of 9/10"],
    ),
    "a matrix with a negative entry": (
        FINE,
        ["opinion_matrix=[[1.1, -0.1], [0.1, 0.9]]", "epsilon_weight=1"],
        ["opinion_matrix in row 1 is 1.1: use a value from 1e-09 to 1"],
    ),
    "a matrix that tells a value apart": (
        FINE,
        ["opinion_matrix=[[1, 0], [0.1, 0.9]]", "epsilon_weight=1"],
        ["is 0.0: use a value from", "a report that a value never makes tells it apart, at an infinite loss"],
    ),
    "a singular matrix": (
        FINE,
        ["opinion_matrix=[[0.6, 0.4], [0.6, 0.4]]", "epsilon_weight=1"],
        ["use a matrix that has an inverse", "is a singular matrix"],
    ),
    "a matrix beside an epsilon": (
        FINE,
        ["opinion_matrix=[[0.6, 0.4], [0.1, 0.9]]", "epsilon_weight=1", "parameters.epsilon=1"],
        ["leave out parameters.epsilon beside weight_matrix or opinion_matrix"],
    ),
    "a matrix beside its own epsilon": (
        FINE,
        ["opinion_matrix=[[0.6, 0.4], [0.1, 0.9]]", "epsilon_weight=1", "epsilon_opinion=2"],
        ["leave out epsilon_opinion beside opinion_matrix, whose loss is its own"],
    ),
    "a matrix that the variant ignores": (
        FINE,
        ["opinion_matrix=[[0.6, 0.4], [0.1, 0.9]]", "variant=optimal"],
        ["leave out opinion_matrix in variant 'optimal'"],
    ),
    "an unknown key": (FINE, ["epsilom=2"], ["--set 'epsilom' is unknown: did you mean 'epsilon'?"]),
    "an unknown transport": (FINE, ["transport=pigeon"], ["transport is 'pigeon': use one of", "memory", "tcp"]),
    "an unknown protocol": (FINE, ["protocol=dpwevot"], ["protocol 'dpwevot' is unknown: did you mean 'dpwevote'?"]),
}


NO_BUSINESS_OF_A_ROSTER = {
    "a weight outside the set",
    "an opinion of 2",
    "an opinion in other words",
    "an abstention",
    "an opinion that is a formula",
    "no column of a candidate",
    "an unknown transport",
}


@pytest.mark.bad_input(
    "epsilon ≤ 0, nan, inf",
    "a weight outside the public set",
    "an opinion other than 0 or 1",
    "a missing, doubled or unknown partner or column, with its line",
    "no partners",
    "no candidates",
    "a matrix that is no law, not square, singular or nearly so, ignored, or beside an epsilon",
    "a quota ≤ 0 or above the total",
    "an unknown scenario, key or transport",
)
@pytest.mark.few
@pytest.mark.parametrize("command", ["run", "roster --make-keys"])
@pytest.mark.parametrize("case", list(TABLE))
def test_wrong_input_gets_one_sentence_status_2_and_no_folder(
    psephos: Psephos, write: Write, case: str, command: str
) -> None:
    content, settings, words = TABLE[case]
    if command != "run" and case in NO_BUSINESS_OF_A_ROSTER:
        pytest.skip("private columns, and how a run's messages travel, are none of a roster's business")
    write("own.csv", content)
    write("own.toml", 'protocol = "dpwevote"\npartners = "own.csv"\n')
    check_refused(psephos, "own.toml", settings, words, command=command.split())
