"""Bad input of adversaries, by the command line; what each role refuses is in test_refused.py."""

import pytest
from bad_input import Psephos, Write, check_refused

# A table of a scenario, more settings, and what the sentence has.

ADVERSARIES: dict[str, tuple[str, list[str], list[str]]] = {
    "an unknown member": (
        "role='coalition', members=['an']",
        [],
        ["adversary 1: members must be a partner of the roster", "did you mean 'ann'?", "got 'an'"],
    ),
    "nobody": ("role='coalition'", [], ["adversary 1: members must be at least one party", "got 'nobody'"]),
    "an unknown role": ("role='burglar'", [], ["must be one of", "coalition, collusion-sweep", "got 'burglar'"]),
    "no role": ("members=['ann']", [], ["adversary 1 must be a table with the key 'role'"]),
    "a role that the protocol does not have": (
        "role='membership'",
        [],
        ["adversary 1: role must be one that protocol 'dpwevote' has: ", "coalition", "got 'membership'"],
    ),
    "a key that a role does not have": (
        "role='coalition', members=['server'], misled=['ann']",
        [],
        ["adversary 1", "misled"],
    ),
    "one that deviates without agents": (
        "role='leaver', members=['ann']",
        ["transport=array"],
        ["adversary 1: role must be one that only infers", "got 'leaver'"],
    ),
    "one in a deployment's noise": (
        "role='coalition', members=['server']",
        ["noise=secure"],
        ["adversary must be left out, since noise is secure"],
    ),
    "a partner with the server's name": (
        "role='coalition', members=['server']",
        ["partners=[{partner='server', weight=1, merger=1}, {partner='bob', weight=1, merger=1}]"],
        ["must be another name", "got 'server'"],
    ),
}


@pytest.mark.bad_input(
    "a role that nobody registered, or that a protocol does not have",
    "an adversary in a session that cannot have it",
)
@pytest.mark.parametrize("case", list(ADVERSARIES))
def test_an_adversary_that_cannot_be_gets_one_sentence_status_2_and_no_folder(
    psephos: Psephos, write: Write, case: str
) -> None:
    table, settings, words = ADVERSARIES[case]
    write("own.csv", "partner,weight,merger\nann,1,1\nbob,3,0\n")
    write("own.toml", 'protocol = "dpwevote"\npartners = "own.csv"\n')
    check_refused(psephos, "own.toml", [f"adversary=[{{{table}}}]", *settings], words)
