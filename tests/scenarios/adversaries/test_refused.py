"""What an adversary cannot be is refused by its field, before anything runs."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from bad_input import refuses
from psephos.scenarios.running.resolution import Local

PARTY = ["partner-1"]
EVERYBODY = [f"partner-{number}" for number in range(1, 5)]
OF_WEIGHT: dict[str, Any] = {"members": ["server"], "secret": "weight"}
CONSORTIUM = {"scenario": "consortium"}
SECRETS = "one of weight and opinions, weight, opinions"

NO_PARTIES: list[tuple[dict[str, Any], str, str]] = [
    ({"members": []}, "members", "parties that report"),
    ({"members": ["server"]}, "members", "parties that report"),
    ({"members": ["mallory"]}, "members", "a partner of the roster"),
]

# By role, and the array path for those that take no agents: what its table says, the field, and words of the sentence.
REFUSED: dict[tuple[str, str], list[tuple[dict[str, Any], str, str]]] = {
    ("tampering-server", "memory"): [
        ({"parameters": {"epsilon": 9.0}, "members": PARTY}, "members", "'server', or left out"),
        ({"parameters": {}}, "parameters", "at least one that is false"),
        ({"parameters": {"epsilom": 9.0}}, "parameters", "one of candidates, weights, "),
        ({"parameters": {"epsilon": 1.0}}, "parameters.epsilon", "another value than agreed"),
        ({"parameters": {"weights": [1, 2, 3]}}, "parameters.weights", "another value than agreed"),
    ],
    ("drop-out", "memory"): [
        *NO_PARTIES,
        ({"members": PARTY, "phase": "rankings"}, "phase", "one of weights, opinions"),
        ({"members": PARTY, "number": "quota.value"}, "number", "given with above or below"),
        ({"members": PARTY, "above": 1.0}, "number", "given with above or below"),
    ],
    ("equivocator", "memory"): [
        ({"misled": PARTY, "members": ["partner-2"]}, "members", "'server', or left out"),
        ({"misled": []}, "misled", "at least one party"),
        ({"misled": ["mallory"]}, "misled", "a partner of the roster"),
        ({"misled": EVERYBODY}, "misled", "some parties, not all"),
        ({}, "", "misled"),
    ],
    ("replayer", "memory"): [
        *NO_PARTIES,
        ({"members": PARTY, "times": -1}, "times", "in [0, 100]"),
        ({"members": PARTY, "times": 101}, "times", "in [0, 100]"),
    ],
    ("selective-abort", "memory"): [
        ({"target": "partner-2", "members": ["partner-2"]}, "target", "no member of the coalition"),
        ({"target": "partner-9"}, "target", "a partner of the roster"),
        ({"target": "server"}, "target", "a partner of the roster"),
        ({"target": "partner-2", "members": ["mallory"]}, "members", "a partner of the roster"),
        ({"target": "partner-2", "trials": 0}, "trials", "at least 1"),
        ({"target": "partner-2", "secret": "ranking"}, "secret", SECRETS),
    ],
    ("network-observer", "memory"): [
        ({"members": PARTY}, "members", "left out: it is no party"),
        ({"secret": "ranking"}, "secret", SECRETS),
    ],
    ("averaging-attacker", "memory"): [
        ({"members": PARTY}, "members", "clients ask nothing"),
        ({"times": 0}, "times", "in [1, 100]"),
        ({"votes": 0}, "votes", "in [1, 50]"),
        ({"votes": 51}, "votes", "in [1, 50]"),
        ({"budget": 0.0}, "budget", "above 0"),
        ({"budget": math.nan}, "budget", "above 0"),
        ({"target": "nobody"}, "target", "a partner of the roster"),
        ({"secret": "shoe size"}, "secret", SECRETS),
    ],
    ("poisoner", "memory"): [
        *NO_PARTIES,
        ({"members": PARTY, "aim": "B"}, "aim", "one of "),
        ({"members": PARTY, "strategy": "input"}, "", "without the unknown key 'strategy'"),
    ],
    ("sybils", "memory"): [
        ({}, "members", "unless outsiders or impersonated are given"),
        ({"members": ["server"]}, "members", "a seat is a party's"),
        ({"members": ["stranger"]}, "members", "a partner of the roster"),
        ({"outsiders": -1}, "outsiders", "in [0, 100]"),
        ({"outsiders": 101}, "outsiders", "in [0, 100]"),
        ({"impersonated": ["stranger"]}, "impersonated", "a partner of the roster"),
        ({"members": PARTY, "impersonated": PARTY}, "impersonated", "not one of this person's own"),
        ({"members": PARTY, "aim": "something else"}, "aim", "one of "),
    ],
    ("collusion-sweep", "array"): [
        ({"members": ["partner-2"]}, "members", "left out: sizes say it"),
        ({"sizes": [4]}, "sizes", "in [0, 3]"),
        ({"sizes": [-1]}, "sizes", "in [0, 3]"),
        ({"trials": 0}, "trials", "at least 1"),
        ({"cases": [CONSORTIUM] * 13}, "cases", "at most 12"),
        ({"cases": [{"secret": "ranking"}]}, "secret", SECRETS),
        ({"cases": [{"settings": ["epsilon=2"]}]}, "cases", "settings and ε are set for it"),
        ({"epsilons": [2.0]}, "cases", "settings and ε are set for it"),
        ({"cases": [{"scenario": "nowhere"}]}, "scenario", "There is no file and no shipped scenario 'nowhere'"),
        ({"cases": [CONSORTIUM], "epsilons": [-1.0]}, "epsilon", ""),
    ],
    ("coalition", "array"): [
        ({"members": PARTY, "target": "partner-1"}, "target", "no member of the coalition: it knows its own secret"),
        ({"members": ["server"], "target": "partner-9"}, "target", "a partner of the roster"),
        ({"members": ["server"], "target": "server"}, "target", "a partner of the roster"),
        ({"members": []}, "members", "at least one party"),
        ({"members": ["partner-1..4"]}, "members", "no party is left"),
        ({"members": ["server"], "votes": 0}, "votes", "at least 1"),
        ({"members": ["server"], "secret": "ranking"}, "secret", SECRETS),
        ({**OF_WEIGHT, "prior": {"4": 1.0}}, "prior", "one of 1, 2, 3"),
        ({**OF_WEIGHT, "prior": [0.5, 0.4, 0.2]}, "prior", "these sum to 1.1"),
        ({**OF_WEIGHT, "prior": [0.5, 0.5]}, "prior", "3 probabilities"),
        ({**OF_WEIGHT, "prior": [1.5, -0.5, 0.0]}, "prior", "that sum to one"),
        ({**OF_WEIGHT, "prior": [math.nan, 0.5, 0.5]}, "prior", "that sum to one"),
    ],
}


@pytest.mark.bad_input("a coalition that contains its target; unknown parties", "priors that do not sum to one")
@pytest.mark.parametrize(
    ("role", "transport", "keys", "field", "words"),
    [(*kind, *case) for kind, cases in REFUSED.items() for case in cases],
)
def test_what_cannot_be_is_refused_before_anything_runs(
    configuration: Callable[..., Local], role: str, transport: str, keys: dict[str, Any], field: str, words: str
) -> None:
    with refuses(f"adversary 1: {field}" if field else "adversary 1", said=words):
        configuration("dpwevote", {"role": role, **keys}, transport=transport)
