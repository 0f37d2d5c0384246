"""What bad input gets: a sentence with field, value and what is allowed, a status, and nothing half-done.

| item | tests |
|---|---|
| epsilon ≤ 0, nan, inf | `TABLE` here; protocol/dpwevote/test_parameters.py |
| a weight outside the public set; an opinion other than 0 or 1 | `TABLE`; test_parties.py (with the line); of a \
partner's own: deployment/test_client.py `test_an_entry_that_is_not_allowed_is_refused_by_its_column` |
| a missing, doubled or unknown partner or column, with its line | `TABLE`; test_parties.py; a roster's file: \
deployment/test_server.py `test_a_fault_in_a_rosters_file_is_named_with_its_line` |
| no partners, no candidates | `TABLE`; test_parties.py |
| quota ≤ 0 or above the total | `TABLE` |
| an unknown scenario, key or transport | `TABLE`; cli/test_cli.py; test_config.py |
| an unreachable or a taken address | cli/test_deployment.py `test_a_taken_address_is_named`, \
`test_without_a_folder_named_a_partner_gets_its_own_below_runs` |
| a peer of another version, session or kind; a wrong token | `STRANGERS` (to a server); \
deployment/test_client.py `test_a_server_whose_terms_are_none_is_blamed_and_nothing_is_paid`, \
`test_a_deployment_does_not_join_a_simulation` (to a client) |
| oversized, truncated or garbage frames | `STRANGERS`, `FAULTS`; agents/test_misbehaving_peers.py |
| a report in the wrong phase; a second, different one | `FAULTS` |
| the same report again | `test_the_same_report_again_is_counted_once` |
| a partner that vanishes | `test_a_partner_that_vanishes_is_not_waited_for` |
| a partner that stalls | `test_a_partner_that_stalls_is_left_out_at_the_deadline` |
| a partner that never reads | `test_a_partner_that_never_reads_holds_up_nobody` |
| Ctrl-C on either side | deployment/test_processes.py `test_ctrl_c_on_the_server_ends_every_client_with_one_line`, \
`test_ctrl_c_on_a_client_leaves_what_it_paid_and_the_vote_goes_on`; `run`: test_run.py |

Of truth discovery:

| item | tests |
|---|---|
| a label outside the task's answer set | `CROWD`; crowds/test_files.py; a worker's own: \
deployment/test_truth_discovery.py `test_a_wrong_answer_is_refused_and_nothing_leaves`; a report: \
agents/test_public_rows.py |
| a worker who answers a task twice with different labels | `CROWD` (with both lines); \
`test_of_several_answers_to_a_task_the_one_that_is_asked_for_counts`; a worker's own: \
deployment/test_truth_discovery.py |
| a task that nobody answered | `test_the_truth_of_a_task_that_nobody_answered_is_missing` |
| one worker; one class; all workers equal | `test_one_worker_is_believed`, \
`test_one_class_is_found_where_the_answer_set_says_which_others_there_are`, \
`test_workers_who_are_all_equal_weigh_alike` |
| p^f above (s - 1)/s; a > b; [a, b] outside [0, 1] | `CROWD`; `test_a_flip_probability_at_its_limit_is_allowed`; \
protocol/truth_discovery/test_noise.py, protocol/mechanisms/test_hyper.py |
| an empty file, wrong columns, text that is not UTF-8 | `CROWD`; crowds/test_files.py |
| a large file | `test_a_file_of_ten_megabytes_is_read_and_its_last_line_is_named` |

Of moral preferences:

| item | tests |
|---|---|
| preferences outside the ball, nan, inf or of another dimension, from a peer | deployment/test_moral_preferences.py \
`test_preferences_outside_the_ball_end_their_sender_alone`, `test_a_report_of_another_form_ends_its_sender_alone` |
| a voter without records; records of different width | `CHOICES`; test_moral_preferences_runs.py \
`test_a_fault_in_a_list_of_voters_is_named`; a voter's own: deployment/test_moral_preferences.py `FAULTS` |
| a voter's epsilon ≤ 0; a voter without one, or with two | `CHOICES`; preferences/test_privacy_groups.py; of a \
roster: deployment/test_moral_preferences.py `test_a_fault_in_a_roster_of_voters_is_named_with_its_line` |
| a bound ≤ 0 | `CHOICES` |
| one voter and central noise | allowed: test_moral_preferences_runs.py \
`test_one_voter_with_a_trusted_aggregator_is_protected_by_all_the_noise` |
| fractions of groups that do not add up to 1 | `CHOICES`; preferences/test_privacy_groups.py |
| a response without its second row; unknown characters or columns; a truncated file | `CHOICES`, `RESPONSES`; \
preferences/test_moral_machine.py, where a stream is held to the same |
| nothing accepted is lost | `test_what_is_read_is_a_record_or_counted`; a peer's fault: as above |

Of fair voting:

| item | tests |
|---|---|
| a ranking that repeats, omits or invents an alternative | `ELECTION`, `ORDERS`, `BUDGETS`; of a scenario that lists \
its voters: test_fair_voting_runs.py `test_a_fault_in_a_list_of_voters_is_named`; a voter's own: \
deployment/test_fair_voting.py `FAULTS`; a report: there `test_what_is_no_ranking_ends_its_sender_alone` |
| a voter in no group, or in two | `ELECTION`, `ORDERS`, `BUDGETS`; of a roster: deployment/test_fair_voting.py \
`test_a_fault_in_a_roster_of_voters_is_named_with_its_line`; other than the server has it: there \
`test_a_group_that_differs_from_the_servers_is_refused` |
| an empty group; one group; one alternative | `ELECTION`, `ORDERS`, `SOCIETY` |
| epsilon ≤ 0, nan, inf; gamma outside [0, 1); delta outside (0, 1) | `SOCIETY` |
| scores of another number, that do not fall, or are no numbers | `SOCIETY` |
| an unknown mechanism, objective, relation or reading | `SOCIETY` |
| a file whose numbers are not those of its header | `ORDERS`, `BUDGETS`; elections/test_preflib.py, test_pabulib.py |
| too few voters for the samples of Algorithm 2 | `SOCIETY`; test_fair_voting_runs.py \
`test_too_few_voters_for_the_samples_are_refused_with_the_numbers` |

Of adversaries and audits:

| item | tests |
|---|---|
| a coalition that contains its target; unknown parties | `ADVERSARIES`; adversaries/test_coalition.py, \
test_selective_abort.py |
| a role that nobody registered; a role that a protocol does not have | `ADVERSARIES`; adversaries/test_reading.py |
| priors that do not sum to one | `ADVERSARIES`; adversaries/test_coalition.py; attacks/test_posteriors.py |
| a confidence outside (0, 1) | audit/test_engine.py `test_a_confidence_out_of_range_is_refused`; of the command: \
audit/test_running.py |
| too few samples for any statement | said so, not a zero: audit/test_engine.py \
`test_so_few_samples_that_no_statement_is_possible_are_refused`, `test_too_few_outputs_are_no_statement_and_no_zero` |
| an adversary in a session that cannot have it | `ADVERSARIES`; adversaries/test_reading.py |
"""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from deployments import ENTRIES, PATIENCE, Peer, Serving, report, serving, write_vote
from machine_files import write_moral_machine_like
from psephos.agents import server as server_module
from psephos.protocol.effects import Drop
from psephos.protocol.messages import PROTOCOL_VERSION, Abort, Hello, Inquiry, Release, encode
from psephos.protocol.privacy import Ledger
from psephos.scenarios import load_scenario, resolve, run_session
from psephos.scenarios.deployment import find_invitation
from psephos.transports.framing import MAX_FRAME_BYTES, encode_frames

Psephos = Callable[..., Any]
Write = Callable[[str, str | bytes], Path]

# The command line: a file of partners and settings, and what the sentence has.

FINE = "partner,weight,merger\nann,1,1\nbob,3,0\n"
TABLE: dict[str, tuple[str, list[str], list[str]]] = {
    "epsilon of 0": (FINE, ["epsilon=0"], ["epsilon must be", "got 0"]),
    "epsilon below 0": (FINE, ["epsilon=-1"], ["epsilon must be", "got -1"]),
    "epsilon that is no number": (FINE, ["epsilon=nan"], ["epsilon must be", "got nan"]),
    "epsilon without end": (FINE, ["epsilon=inf"], ["epsilon must be", "got inf"]),
    "epsilon of text": (FINE, ["epsilon=much"], ["epsilon must be", "a number", "got 'much'"]),
    "epsilon of weights alone, of 0": (
        FINE,
        ["epsilon_weight=0", "epsilon_opinion=1", "parameters.epsilon=1"],
        ["epsilon_weight must be", "got 0"],
    ),
    "a weight outside the set": (
        "partner,weight,merger\nann,1,1\nbob,4,0\n",
        [],
        ["weight (own.csv line 3, bob) must be one of 1, 2, 3, got '4'"],
    ),
    "an opinion of 2": (
        "partner,weight,merger\nann,1,2\n",
        [],
        ["merger (own.csv line 2, ann) must be one of 0, 1, got '2'"],
    ),
    "an opinion in words": (
        "partner,weight,merger\nann,1,yes\n",
        [],
        ["merger (own.csv line 2, ann)", "0, 1, got 'yes'"],
    ),
    "a partner twice": (
        "partner,weight,merger\nann,1,1\nbob,1,1\nann,2,1\n",
        [],
        ["partner (own.csv line 4) must be named once (it is also in line 2), got 'ann'"],
    ),
    "a partner without a name": ("partner,weight,merger\n,1,1\n", [], ["partner (own.csv line 2)", "got ''"]),
    "an entry too few": ("partner,weight,merger\nann,1\n", [], ["own.csv line 2 must be 3 entries"]),
    "no column of partners": (
        "weight,merger\n1,1\n",
        [],
        ["own.csv line 1 must be a header with the column 'partner'"],
    ),
    "no column of weights": ("partner,merger\nann,1\n", [], ["weight (own.csv line 1) must be a column of the table"]),
    "no column of public weights": (
        "partner,merger\nann,1\n",
        ["public_weights=true"],
        ["weight (own.csv line 1) must be a column of the table"],
    ),
    "no column of a candidate": (
        FINE,
        ["candidates=['merger', 'move']"],
        ["move (own.csv line 1) must be a column of the table"],
    ),
    "a column twice": ("partner,weight,merger,merger\nann,1,1,1\n", [], ["own.csv line 1", "distinct", "got 'merger'"]),
    "an unknown column": (
        "partner,weight,merger,marger\nann,1,1,0\n",
        ["candidates=['merger']"],
        ["marger (own.csv line 1) must be left out: the columns are", "weight, merger", "got 'an unknown column'"],
    ),
    "no partners": ("partner,weight,merger\n", [], ["partners must be a file with at least one partner"]),
    "nothing at all": ("", [], ["own.csv line 1 must be a header with the column 'partner'"]),
    "no candidates": ("partner,weight\nann,1\n", [], ["candidates must be 1 to 1000 distinct names, got []"]),
    "no candidates by a setting": (FINE, ["candidates=[]"], ["candidates must be 1 to 1000 distinct names, got []"]),
    "a quota of 0": (FINE, ["quota=0"], ["quota must be", "got 0"]),
    "a quota below 0": (FINE, ["quota=-5"], ["quota must be", "got -5"]),
    "a quota above what all can weigh": (FINE, ["quota=6.5"], ["quota must be at most", ", 6, got 6.5"]),
    "a quota above the public total": (
        FINE,
        ["quota=4.5", "public_weights=true"],
        ["quota must be at most the weight of all partners, 4, got 4.5"],
    ),
    "a quota above the whole": (FINE, ["quota_fraction=1.5"], ["quota_fraction must be", "got 1.5"]),
    "an unknown key": (FINE, ["epsilom=2"], ["--set must be one of", "did you mean 'epsilon'?", "got 'epsilom'"]),
    "an unknown transport": (FINE, ["transport=pigeon"], ["transport must be", "memory", "tcp", "got 'pigeon'"]),
    "an unknown protocol": (FINE, ["protocol=dpwevot"], ["protocol must be", "dpwevote", "got 'dpwevot'"]),
}


NO_BUSINESS_OF_A_ROSTER = {
    "a weight outside the set",
    "an opinion of 2",
    "an opinion in words",
    "no column of weights",
    "no column of a candidate",
    "an unknown transport",
}


@pytest.mark.parametrize("command", ["run", "roster"])
@pytest.mark.parametrize("case", list(TABLE))
def test_wrong_input_gets_one_sentence_status_2_and_no_folder(
    psephos: Psephos, write: Write, case: str, command: str
) -> None:
    content, settings, words = TABLE[case]
    if command == "roster" and case in NO_BUSINESS_OF_A_ROSTER:
        pytest.skip("private columns, and how a run's messages travel, are none of a roster's business")
    write("own.csv", content)
    options = [word for setting in settings for word in ("--set", setting)]
    write("own.toml", 'protocol = "dpwevote"\npartners = "own.csv"\n')
    ended = psephos(command, "own.toml", *options, "--out", "out")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("psephos: ")
    assert ended.err.count("\n") == 1
    for word in words:
        assert word in ended.err
    assert not Path("out").exists()


def test_an_unknown_scenario_is_answered_with_those_that_there_are(psephos: Psephos) -> None:
    for command, more in (("run", ()), ("serve", ("--listen", "127.0.0.1:0")), ("roster", ())):
        ended = psephos(command, "consortum", *more, "--out", "out")
        assert (ended.status, ended.out) == (2, "")
        assert ended.err.startswith(
            "psephos: scenario must be a file, or one of averaging, breakfast, collusion-sweep, "
        )
        assert ended.err.endswith(", got 'consortum'\n")
        assert not Path("out").exists()


# Adversaries: a table of a scenario, more settings, and what the sentence has.

ADVERSARIES: dict[str, tuple[str, list[str], list[str]]] = {
    "a coalition that contains its target": (
        "role='coalition', members=['server', 'ann'], target='ann'",
        [],
        ["adversary 1: target must be no member of the coalition", "got 'ann'"],
    ),
    "an unknown member": (
        "role='coalition', members=['an']",
        [],
        ["adversary 1: members must be a partner of the roster", "did you mean 'ann'?", "got 'an'"],
    ),
    "an unknown target": (
        "role='selective-abort', target='mallory'",
        [],
        ["adversary 1: target must be a partner of the roster", "got 'mallory'"],
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
    "a prior that sums to more than one": (
        "role='coalition', members=['server'], secret='weight', prior=[0.5, 0.5, 0.5]",
        [],
        ["adversary 1: prior must be probabilities in [0, 1] that sum to one (these sum to 1.5)"],
    ),
    "a prior of a label that there is not": (
        "role='coalition', members=['server'], secret='weight', prior={9 = 1.0}",
        [],
        ["adversary 1: prior must be one of 1, 2, 3, got '9'"],
    ),
    "an unknown secret": (
        "role='coalition', members=['server'], secret='ranking'",
        [],
        ["adversary 1: secret must be one of weight and opinions, weight, opinions, got 'ranking'"],
    ),
    "one that deviates without agents": (
        "role='leaver', members=['ann']",
        ["transport=array"],
        ["adversary 1: role must be one that only infers", "got 'leaver'"],
    ),
    "one in a deployment's noise": (
        "role='coalition', members=['server']",
        ["noise=secure"],
        ["adversary must be left out where noise is secure"],
    ),
    "a partner with the server's name": (
        "role='coalition', members=['server']",
        ["partners=[{partner='server', weight=1, merger=1}, {partner='bob', weight=1, merger=1}]"],
        ["must be another name", "got 'server'"],
    ),
}


@pytest.mark.parametrize("case", list(ADVERSARIES))
def test_an_adversary_that_cannot_be_gets_one_sentence_status_2_and_no_folder(
    psephos: Psephos, write: Write, case: str
) -> None:
    table, settings, words = ADVERSARIES[case]
    write("own.csv", FINE)
    write("own.toml", 'protocol = "dpwevote"\npartners = "own.csv"\n')
    options = [word for setting in [f"adversary=[{{{table}}}]", *settings] for word in ("--set", setting)]
    ended = psephos("run", "own.toml", *options, "--out", "out")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("psephos: ")
    assert ended.err.count("\n") == 1
    for word in words:
        assert word in ended.err
    assert not Path("out").exists()


# Truth discovery: a file of answers and settings, and what the sentence has.

CROWD_FINE = "task,worker,label\nq1,ann,yes\nq2,ann,no\nq1,bob,yes\n"
TWICE = f"{CROWD_FINE}q1,ann,no\n"
TWO_LAYERS = "mechanism=two_layer"
NAMED_SETS = "task,worker,label,answer_set\n"
CROWD: dict[str, tuple[str | bytes, list[str], list[str]]] = {
    "a label outside the answer set": (
        CROWD_FINE,
        ["answer_sets=[['yes', 'nope']]"],
        ["label (own.csv line 3) must be one of 'yes', 'nope', got 'no'"],
    ),
    "a label outside the answer set of its own task": (
        f"{NAMED_SETS}q1,ann,yes,yes|no\nq2,ann,yes,red|green\n",
        [],
        ["label (own.csv line 3) must be one of 'red', 'green', got 'yes'"],
    ),
    "a truth outside the answer set": (
        CROWD_FINE,
        ["workers.answers=own.csv", "workers.truth=truth.csv"],
        ["truth (truth.csv line 3)", "'no', 'yes'", "got 'maybe'"],
    ),
    "a worker's label outside the answer set, in a list": (
        CROWD_FINE,
        ["workers=[{worker='ann', tasks='q1; q2', answers='yes;maybe'}]", "answer_sets=[['yes', 'no']]"],
        ["answers (ann) must be one of yes, no (task 'q2'), or nothing, got 'maybe'"],
    ),
    "two different answers to one task": (
        TWICE,
        [],
        [
            "label (own.csv line 5) must be 'yes', which worker 'ann' answered to task 'q1' before (own.csv line 2)",
            "unless repeats is first or last, got 'no'",
        ],
    ),
    "two different answers to one task, by name of the policy": (
        TWICE,
        ["workers.answers=own.csv", "workers.repeats=error"],
        ["label (own.csv line 5)", "(own.csv line 2)"],
    ),
    "an unknown policy": (
        TWICE,
        ["workers.answers=own.csv", "workers.repeats=majority"],
        ["workers.repeats must be one of error, first, last, got 'majority'"],
    ),
    "one class": (
        "task,worker,label\nq1,ann,yes\nq1,bob,yes\n",
        [],
        ["label (own.csv line 2)", "answer_sets", "got 'yes'"],
    ),
    "an answer set of one label": (CROWD_FINE, ["answer_sets=[['yes']]"], ["answer_sets", "two or more", "['yes']"]),
    "an answer set that has a label twice": (
        CROWD_FINE,
        ["answer_sets=[['yes', 'no', 'yes']]"],
        ["answer_sets", "different labels", "got ['yes', 'no', 'yes']"],
    ),
    "a made-up crowd of one class": (
        CROWD_FINE,
        ["workers={tasks=3, workers=2, answers_per_task=1, classes=1}"],
        ["classes must be in [2, 1000], got 1"],
    ),
    "a flip probability above a half": (
        CROWD_FINE,
        ["flip_probability=0.5000001"],
        ["flip_probability must be", "(0, 0.5], for sets of 2 labels, got 0.5"],
    ),
    "a flip probability above two thirds, of three labels": (
        CROWD_FINE,
        ["flip_probability=0.7", "answer_sets=[['yes', 'no', 'unsure']]"],
        ["flip_probability must be", "(0, 0.666667], for sets of 3 labels, got 0.7"],
    ),
    "a flip probability above a half where some tasks have two labels": (
        f"{NAMED_SETS}q1,ann,yes,yes|no\nq2,ann,red,red|green|blue\n",
        ["flip_probability=0.6"],
        ["flip_probability must be", "(0, 0.5], for sets of 2 labels, got 0.6"],
    ),
    "a flip probability below 0": (CROWD_FINE, ["flip_probability=-0.1"], ["flip_probability must be", "got -0.1"]),
    "a flip probability of 0": (CROWD_FINE, ["flip_probability=0"], ["flip_probability must be", "got 0"]),
    "a flip probability that is no number": (
        CROWD_FINE,
        ["flip_probability=nan"],
        ["flip_probability must be", "got nan"],
    ),
    "a mean flip probability above a half": (
        CROWD_FINE,
        [TWO_LAYERS, "hyper={type='Uniform', low=0.4, high=1.0}"],
        ["hyper must be", "(0, 0.5], for sets of 2 labels, got 0.7"],
    ),
    "a above b": (
        CROWD_FINE,
        [TWO_LAYERS, "hyper={type='Uniform', low=0.6, high=0.4}"],
        ["low must be at most high = 0.4, got 0.6"],
    ),
    "a below 0": (
        CROWD_FINE,
        [TWO_LAYERS, "hyper={type='Uniform', low=-0.1, high=0.4}"],
        ["low must be in [0, 1], got -0.1"],
    ),
    "b above 1": (
        CROWD_FINE,
        [TWO_LAYERS, "hyper={type='Uniform', low=0.1, high=1.5}"],
        ["high must be in [0, 1], got 1.5"],
    ),
    "a value of a hyper-distribution above 1": (
        CROWD_FINE,
        [TWO_LAYERS, "hyper={type='Discrete', probabilities=[0.1, 1.2], shares=[0.5, 0.5]}"],
        ["probabilities", "must be in [0, 1], got 1.2"],
    ),
    "a hyper-distribution of no kind": (
        CROWD_FINE,
        [TWO_LAYERS, "hyper={type='Unifrom', low=0.1, high=0.4}"],
        ["hyper.type must be", "got 'Unifrom'"],
    ),
    "a hyper-distribution of one layer": (
        CROWD_FINE,
        ["mechanism=one_layer", "hyper={type='Uniform', low=0.1, high=0.4}"],
        ["hyper must be left out", "two-layer"],
    ),
    "epsilon of answers below 0": (CROWD_FINE, ["epsilon=-1"], ["epsilon must be", "got -1"]),
    "epsilon of answers that is no number": (CROWD_FINE, ["epsilon=nan"], ["epsilon must be", "got nan"]),
    "epsilon of a worker of 0": (CROWD_FINE, ["epsilon_worker=0"], ["epsilon_worker must be", "got 0"]),
    "two prices": (
        CROWD_FINE,
        ["epsilon=1", "flip_probability=0.2"],
        ["epsilon and flip_probability must be given one of them alone"],
    ),
    "an unknown mechanism": (CROWD_FINE, ["mechanism=three_layer"], ["mechanism must be one of", "got 'three_layer'"]),
    "an unknown estimator": (CROWD_FINE, ["estimator=best"], ["estimator must be one of", "got 'best'"]),
    "a budget below the price": (CROWD_FINE, ["epsilon=2", "budget=3"], ["budget must be at least", "4", "got 3"]),
    "no file of answers": (CROWD_FINE, ["workers=nowhere.csv"], ["must be a readable file", "got 'nowhere.csv'"]),
    "nothing at all in a crowd": (
        "",
        [],
        ["own.csv must be a CSV file with the columns task, worker, label, got 'an empty file'"],
    ),
    "a header alone": ("task,worker,label\n", [], ["own.csv must be a CSV file with rows, got 'a header alone'"]),
    "no column of labels": (
        "task,worker,answer\nq1,ann,yes\n",
        [],
        ["own.csv line 1 must be a header with one column 'label', got ['task', 'worker', 'answer']"],
    ),
    "no column of workers": ("task,label\nq1,yes\n", [], ["own.csv line 1", "one column 'worker'"]),
    "a column of labels twice": (
        "task,worker,label,label\nq1,ann,yes,no\n",
        [],
        ["own.csv line 1 must be a header with one column 'label'"],
    ),
    "no truth in a file of truths": (
        CROWD_FINE,
        ["workers.answers=own.csv", "workers.truth=own.csv"],
        ["own.csv line 1 must be a header with one column 'truth'"],
    ),
    "a row with an entry too few": (
        f"{CROWD_FINE}q2,bob\n",
        [],
        ["own.csv line 5 must be 3 entries, as in the header, got ['q2', 'bob']"],
    ),
    "an answer without a label": (f"{CROWD_FINE}q2,bob,\n", [], ["label (own.csv line 5) must be given, got ''"]),
    "an answer without a worker": (f"{CROWD_FINE}q2,,no\n", [], ["worker (own.csv line 5) must be given, got ''"]),
    "Latin-1": (
        f"{CROWD_FINE}q2,müller,no\n".encode("latin-1"),
        [],
        ["own.csv line 5 must be UTF-8 text (byte 5 of the line is 0xfc"],
    ),
    "UTF-16": (CROWD_FINE.encode("utf-16"), [], ["own.csv line 1 must be UTF-8 text"]),
    "a worker with a name that names nobody": (
        f"{CROWD_FINE}q2,{'x' * 129},no\n",
        [],
        ["worker", "1 to 128", "x" * 100],
    ),
    "a task with a name that needs a separator": (f"{CROWD_FINE}q;2,bob,no\n", [], ["tasks must be", "got 'q;2'"]),
}


@pytest.mark.parametrize("case", list(CROWD))
def test_wrong_input_of_a_crowd_gets_one_sentence_status_2_and_no_folder(
    psephos: Psephos, write: Write, case: str
) -> None:
    content, settings, words = CROWD[case]
    write("own.csv", content)
    write("truth.csv", "task,truth\nq1,yes\nq2,maybe\n")
    write("own.toml", 'protocol = "truth-discovery"\nworkers = "own.csv"\n')
    options = [word for setting in settings for word in ("--set", setting)]
    ended = psephos("run", "own.toml", *options, "--out", "out")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("psephos: ")
    assert ended.err.count("\n") == 1
    for word in words:
        assert word in ended.err
    assert not Path("out").exists()


def found(
    psephos: Psephos, write: Write, content: str, *settings: str, estimator: str = "auto"
) -> dict[str, str | None]:
    """Return the truths of a file by task, at an epsilon that changes no answer.

    A flip has a probability of e^-30 for each of less than 20 answers: 2e-12 in all.
    """
    write("own.csv", content)
    write("own.toml", 'protocol = "truth-discovery"\nseed = 1\nworkers = "own.csv"\n')
    options = [word for setting in (*settings, f"estimator={estimator}") for word in ("--set", setting)]
    ended = psephos("run", "own.toml", "--set", "epsilon=30", *options, "--no-pictures", "--json")
    assert (ended.status, ended.err) == (0, "")
    outcome = json.loads(ended.out)["outcome"]
    return dict(zip(outcome["tasks"], outcome["truths"], strict=True))


ESTIMATORS = ("majority", "truth_discovery", "one_coin", "dawid_skene", "noise_aware", "noise_aware_dawid_skene")


@pytest.mark.parametrize(("repeats", "truth"), [("first", "yes"), ("last", "no")])
def test_of_several_answers_to_a_task_the_one_that_is_asked_for_counts(
    psephos: Psephos, write: Write, repeats: str, truth: str
) -> None:
    content = "task,worker,label\nq1,ann,yes\nq2,ann,yes\nq1,ann,no\n"
    settings = ("workers.answers=own.csv", f"workers.repeats={repeats}")
    assert found(psephos, write, content, *settings) == {"q1": truth, "q2": "yes"}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_truth_of_a_task_that_nobody_answered_is_missing(psephos: Psephos, write: Write, estimator: str) -> None:
    write("truth.csv", "task,truth\nq1,yes\nq3,no\n")
    settings = ("workers.answers=own.csv", "workers.truth=truth.csv")
    truths = found(psephos, write, f"{CROWD_FINE}q2,bob,no\n", *settings, estimator=estimator)
    assert truths == {"q1": "yes", "q2": "no", "q3": None}
    rows = "[{worker='ann', tasks='q1; q2', answers='; no'}, {worker='bob', tasks='q2; q1', answers='no; '}]"
    settings = (f"workers={rows}", "answer_sets=[['yes', 'no']]")
    assert found(psephos, write, CROWD_FINE, *settings, estimator=estimator) == {"q1": None, "q2": "no"}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_nobody_who_answers_anything_leaves_every_truth_missing(psephos: Psephos, write: Write, estimator: str) -> None:
    settings = ("workers=[{worker='ann', tasks='q1; q2', answers='; '}]", "answer_sets=[['yes', 'no']]")
    assert found(psephos, write, CROWD_FINE, *settings, estimator=estimator) == {"q1": None, "q2": None}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_one_worker_is_believed(psephos: Psephos, write: Write, estimator: str) -> None:
    content = "task,worker,label\nq1,ann,yes\nq2,ann,no\nq3,ann,yes\n"
    truths = found(psephos, write, content, estimator=estimator)
    assert truths == {"q1": "yes", "q2": "no", "q3": "yes"}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_one_class_is_found_where_the_answer_set_says_which_others_there_are(
    psephos: Psephos, write: Write, estimator: str
) -> None:
    content = "task,worker,label\nq1,ann,yes\nq2,ann,yes\nq1,bob,yes\n"
    settings = "answer_sets=[['no', 'unsure', 'yes']]"
    assert found(psephos, write, content, settings, estimator=estimator) == {"q1": "yes", "q2": "yes"}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_workers_who_are_all_equal_weigh_alike(psephos: Psephos, write: Write, estimator: str) -> None:
    own = {"q1": "yes", "q2": "no", "q3": "yes"}
    rows = [f"{task},{worker},{label}\n" for worker in ("ann", "bob", "cid", "dee") for task, label in own.items()]
    content = f"task,worker,label\n{''.join(rows)}"
    assert found(psephos, write, content, estimator=estimator) == own
    settings = ("epsilon=30", f"estimator={estimator}")
    record = run_session(resolve(load_scenario("own.toml", settings)), seed=1)
    assert len(record.own_outcomes) == 4
    assert len({msgspec.json.encode(each) for each in record.own_outcomes.values()}) == 1


@pytest.mark.parametrize(
    "settings",
    [
        ["flip_probability=0.5"],
        ["flip_probability=0.6", "answer_sets=[['yes', 'no', 'unsure']]"],
        ["mechanism=two_layer", "flip_probability=0.5"],
        ["mechanism=two_layer", "hyper={type='Uniform', low=0.0, high=1.0}"],
        ["mechanism=two_layer", "hyper={type='Uniform', low=0.2, high=0.2}"],
        ["epsilon=0"],
    ],
)
def test_a_flip_probability_at_its_limit_is_allowed(psephos: Psephos, write: Write, settings: list[str]) -> None:
    write("own.csv", CROWD_FINE)
    write("own.toml", 'protocol = "truth-discovery"\nworkers = "own.csv"\n')
    options = [word for setting in settings for word in ("--set", setting)]
    ended = psephos("run", "own.toml", *options, "--no-pictures", "--json")
    assert (ended.status, ended.err) == (0, "")
    assert json.loads(ended.out)["outcome"]["num_answers"] == [2, 1]


def test_a_file_of_ten_megabytes_is_read_and_its_last_line_is_named(psephos: Psephos, write: Write) -> None:
    """What is read at once is smaller. Of 100 workers the first 70 say yes to everything."""
    rows = [
        f"question-{task:05},worker-{worker:03},{'yes' if worker < 70 else 'no'}\n"
        for worker in range(100)
        for task in range(3500)
    ]
    content = f"task,worker,label\n{''.join(rows)}"
    assert len(content) > 10_000_000
    write("own.csv", content)
    write("own.toml", 'protocol = "truth-discovery"\nseed = 1\nworkers = "own.csv"\n')
    options = ("--set", "estimator=majority", "--set", "epsilon=30", "--transport", "array", "--no-pictures", "--json")
    ended = psephos("run", "own.toml", *options)
    assert (ended.status, ended.err) == (0, "")
    outcome = json.loads(ended.out)["outcome"]
    assert (len(outcome["tasks"]), set(outcome["truths"]), set(outcome["num_answers"])) == (3500, {"yes"}, {100})
    write("own.csv", f"{content}question-00007,worker-000,no\n")
    ended = psephos("run", "own.toml", *options)
    assert (ended.status, ended.out) == (2, "")
    assert "label (own.csv line 350002)" in ended.err
    assert "(own.csv line 9)" in ended.err


# Moral preferences: a file of choices or of responses and settings, and what the sentence has.

CHOICES_FINE = "voter,record,choice,lives,law\nann,1,1,5,0\nann,1,0,1,1\nbob,1,1,3,0\nbob,1,0,2,2\n"
CHOICES: dict[str, tuple[str | bytes, list[str], list[str]]] = {
    "a record without its second line": (
        CHOICES_FINE.replace("bob,1,0,2,2\n", ""),
        [],
        ["own.csv line 4 must be a record of two lines", "got '1 lines"],
    ),
    "a line that is cut off": (CHOICES_FINE[:-3], [], ["own.csv line 5 must be 5 entries"]),
    "records of different width": (
        CHOICES_FINE.replace("bob,1,1,3,0", "bob,1,1,3,0,9"),
        [],
        ["own.csv line 4 must be 5 entries", "got '6 entries'"],
    ),
    "a choice of neither": (
        CHOICES_FINE.replace("ann,1,1,5", "ann,1,0,5"),
        [],
        ["own.csv line 2 must be a record of two lines", "0 of them chosen"],
    ),
    "a feature that is no number": (
        CHOICES_FINE.replace("3,0", "nan,0"),
        [],
        ["lives (own.csv line 4) must be a number", "got 'nan'"],
    ),
    "a feature without end": (CHOICES_FINE.replace("3,0", "3,inf"), [], ["law (own.csv line 4)", "got 'inf'"]),
    "a feature in words": (CHOICES_FINE.replace("3,0", "three,0"), [], ["lives (own.csv line 4)", "got 'three'"]),
    "no column of choices": (CHOICES_FINE.replace("choice", "chosen"), [], ["own.csv line 1", "'choice'"]),
    "no column of features": (
        "voter,record,choice\nann,1,1\nann,1,0\n",
        [],
        ["own.csv line 1 must be the columns voter, record, choice and at least one feature"],
    ),
    "no voters": ("voter,record,choice,lives\n", [], ["own.csv must be a CSV file with rows"]),
    "nothing at all": ("", [], ["own.csv must be a CSV file with a header"]),
    "no UTF-8": (b"voter,record,choice,lives\n\xff", [], ["voters.choices must be a readable file"]),
    "a voter without records": (
        CHOICES_FINE,
        ["voters=[{voter='ann', records=[]}]", "features=['lives', 'law']"],
        ["records (ann) must be at least one record, got '0 records'"],
    ),
    "a bound of 0": (CHOICES_FINE, ["bound=0"], ["bound must be in [", "got 0"]),
    "a bound below 0": (CHOICES_FINE, ["bound=-2"], ["bound must be in [", "got -2"]),
    "a bound that is no number": (CHOICES_FINE, ["bound=nan"], ["bound must be in [", "got nan"]),
    "epsilon of 0": (CHOICES_FINE, ["epsilon=0"], ["epsilon must be in [", "got 0"]),
    "epsilon of a voter of 0": (
        CHOICES_FINE,
        ["voters.choices=own.csv", "voters.epsilons=zero.csv", "paradigm=VLDP"],
        ["epsilon (zero.csv line 3) must be a number in (0, 100], got '0'"],
    ),
    "no epsilon of a voter": (
        CHOICES_FINE,
        ["voters.choices=own.csv", "voters.epsilons=one.csv", "paradigm=VLDP"],
        ["one.csv must be a line of every voter, got \"no line of 'bob'\""],
    ),
    "two epsilons of a voter": (
        CHOICES_FINE,
        ["voters.choices=own.csv", "voters.epsilons=two.csv", "paradigm=VLDP"],
        ["voter (two.csv line 4) must be there once, got 'ann'"],
    ),
    "fractions of groups above 1": (
        CHOICES_FINE,
        ["voters.choices=own.csv", "voters.groups.liberal=0.2", "paradigm=VLDP"],
        ["conservative, moderate, liberal must be fractions of at least 0 that add up to 1, got [0.54, 0.36, 0.2]"],
    ),
    "groups of a trusted aggregator": (
        CHOICES_FINE,
        ["voters.choices=own.csv", "voters.groups={}"],
        ["epsilons", "must be left out: the aggregator has one ε for all"],
    ),
    "an unknown paradigm": (CHOICES_FINE, ["paradigm=VLCD"], ["paradigm must be one of VLCP, RLCP, VLDP, RLDP"]),
    "a mechanism that protects no voter": (CHOICES_FINE, ["mechanism=pooled"], ["mechanism must be 'laplace' or"]),
    "too many records": (
        CHOICES_FINE.replace("bob", "ann").replace("ann,1,1,3,0\nann,1,0", "ann,2,1,3,0\nann,2,0"),
        ["max_records=1"],
        ["records (own.csv line 2, ann) must be 1 to 1 records (max_records), got '2 records'"],
    ),
    "an unknown generator": (
        CHOICES_FINE,
        ["voters={generator='norml', voters=3}"],
        ["voters.generator must be one of normal, moral_machine, fairness (did you mean 'normal'?), got 'norml'"],
    ),
    "two sources": (
        CHOICES_FINE,
        ["voters={choices='own.csv', generator='normal'}"],
        ["voters.choices and voters.generator must be given one of them alone"],
    ),
}


@pytest.mark.parametrize("case", list(CHOICES))
def test_a_wrong_survey_gets_one_sentence_status_2_and_no_folder(psephos: Psephos, write: Write, case: str) -> None:
    content, settings, words = CHOICES[case]
    write("own.csv", content)
    write("zero.csv", "voter,epsilon\nann,1\nbob,0\n")
    write("one.csv", "voter,epsilon\nann,1\n")
    write("two.csv", "voter,epsilon\nann,1\nbob,1\nann,2\n")
    write("own.toml", 'protocol = "moral-preferences"\nvoters = "own.csv"\n[parameters]\nparadigm = "VLCP"\n')
    options = [word for setting in settings for word in ("--set", setting)]
    ended = psephos("run", "own.toml", *options, "--out", "out")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("psephos: ")
    assert ended.err.count("\n") == 1
    for word in words:
        assert word in ended.err
    assert not Path("out").exists()


def responses_of(psephos: Psephos, change: Callable[[list[str]], str], *, stream: bool) -> Any:
    """Run the Moral Machine of a made-up file that was changed, and return how that ended."""
    path = Path("responses.csv")
    write_moral_machine_like(path, voters=4, records=2, shuffle=False)
    path.write_text(change(path.read_text(encoding="utf-8").splitlines(keepends=True)), encoding="utf-8")
    words = ("--set", f"voters.responses={path}", "--transport", "array", "--no-pictures", "--out", "out")
    return psephos("run", "moral-machine", *words, *(("--set", "voters.stream=true") if stream else ()))


RESPONSES: dict[str, tuple[Callable[[list[str]], str], list[str]]] = {
    "an unknown character": (
        lambda lines: "".join([lines[0], lines[1].rstrip()[:-1] + "9\n", *lines[2:]]),
        ["responses.csv line 2"],
    ),
    "an unknown column": (
        lambda lines: "".join([lines[0].replace("Cat", "Cow"), *lines[1:]]),
        ["responses.csv line 1", "missing: Cat"],
    ),
    "a file that ends within a line": (lambda lines: "".join(lines)[:-12], ["responses.csv line 17"]),
    "a header alone": (lambda lines: lines[0], ["responses.csv"]),
}


@pytest.mark.parametrize("stream", [False, True], ids=["at once", "streamed"])
@pytest.mark.parametrize("case", list(RESPONSES))
def test_wrong_responses_get_one_sentence_and_status_2(psephos: Psephos, case: str, *, stream: bool) -> None:
    if stream:
        pytest.importorskip("duckdb", reason="the extra `outofcore` is not installed")
    change, words = RESPONSES[case]
    ended = responses_of(psephos, change, stream=stream)
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    for word in words:
        assert word in ended.err
    assert not Path("out/result.json").exists()
    assert Path("out").exists() <= stream  # a stream is read while it runs


@pytest.mark.parametrize("stream", [False, True], ids=["at once", "streamed"])
def test_what_is_read_is_a_record_or_counted(psephos: Psephos, *, stream: bool) -> None:
    """Of sixteen rows one is missing: its response is dropped and counted, and the other seven are records."""
    if stream:
        pytest.importorskip("duckdb", reason="the extra `outofcore` is not installed")
    ended = responses_of(psephos, lambda lines: "".join([*lines[:3], *lines[4:]]), stream=stream)
    assert (ended.status, ended.err) == (0, "")
    note = "7 records of 4 voters, from 15 rows; responses dropped: 1 without a second row"
    assert note in " ".join(ended.out.split())
    assert json.loads(Path("out/run.json").read_bytes())["parties"] == note


# Fair voting.

ELECTION_FINE = "voter,group,ranking\nann,north,a > b > c\nbob,south,b>a>c\ncid,south,c>b>a\n"
HEADER = "voter,group,ranking\n"
EACH_ONCE = "must be each of a, b, c once, the best first, with '>' between them"
ELECTION: dict[str, tuple[str | bytes, list[str], list[str]]] = {
    "an alternative twice": (
        ELECTION_FINE.replace("b>a>c", "b>a>b"),
        [],
        [f"ranking: repeated alternative (own.csv line 3, bob) {EACH_ONCE}, got 'b'"],
    ),
    "an alternative left out": (
        ELECTION_FINE.replace("b>a>c", "b>a"),
        [],
        [f"ranking: missing alternative (own.csv line 3, bob) {EACH_ONCE}, got 'c'"],
    ),
    "an alternative left out by the first voter": (
        ELECTION_FINE.replace("a > b > c", "a > b"),
        [],
        [f"ranking: missing alternative (own.csv line 2, ann) {EACH_ONCE}, got 'c'"],
    ),
    "an alternative invented": (
        ELECTION_FINE.replace("b>a>c", "b>a>d"),
        [],
        [f"ranking: unknown alternative (own.csv line 3, bob) {EACH_ONCE}, got 'd'"],
    ),
    "an alternative too many": (
        ELECTION_FINE.replace("b>a>c", "b>a>c>d"),
        [],
        [f"ranking: unknown alternative (own.csv line 3, bob) {EACH_ONCE}, got 'd'"],
    ),
    "an alternative of the scenario's left out": (
        ELECTION_FINE,
        ["alternatives=['a', 'b', 'c', 'd']"],
        ["ranking: missing alternative (own.csv line 2, ann) must be each of a, b, c, d once", "got 'd'"],
    ),
    "no ranking": (
        ELECTION_FINE.replace("b>a>c", ""),
        [],
        [f"ranking: unknown alternative (own.csv line 3, bob) {EACH_ONCE}, got ''"],
    ),
    "a ranking with another sign": (
        ELECTION_FINE.replace("b>a>c", "b<a<c"),
        [],
        [f"(own.csv line 3, bob) {EACH_ONCE}, got 'b<a<c'"],
    ),
    "a ranking that commas cut": (
        ELECTION_FINE.replace("b>a>c", "b,a,c"),
        [],
        ["own.csv line 3 must be 3 entries: voter, group, ranking"],
    ),
    "a voter in no group": (
        ELECTION_FINE.replace("bob,south", "bob,"),
        [],
        ["group (own.csv line 3, bob) must be one group, such as north, south, got ''"],
    ),
    "a voter in two groups": (
        ELECTION_FINE.replace("bob,south", "bob,north;south"),
        [],
        ["group (own.csv line 3, bob) must be one group, such as north, south, got 'north;south'"],
    ),
    "a voter twice, in two groups": (
        f"{ELECTION_FINE}ann,south,a>b>c\n",
        [],
        ["voter (own.csv line 5) must be named once (it is also in line 2), got 'ann'"],
    ),
    "a group that is none": (
        ELECTION_FINE,
        ["groups=['north', 'west', 'south']"],
        ["group 'west' must be at least one voter, got '0 voters'"],
    ),
    "one group": (
        ELECTION_FINE.replace("north", "south"),
        [],
        ["groups must be 2 to 1000, got '1 group: south'"],
    ),
    "one alternative": (
        f"{HEADER}ann,north,a\nbob,south,a\n",
        [],
        ["ranking (own.csv line 2, ann) must be two names or more, the best first, with '>' between them, got 'a'"],
    ),
    "no column of groups": (
        "voter,groups,ranking\nann,north,a>b\nbob,south,b>a\n",
        [],
        ["group (own.csv line 1) must be a column of the table, got 'no such column'"],
    ),
    "no column of rankings": (
        "voter,group\nann,north\nbob,south\n",
        [],
        ["ranking (own.csv line 1) must be a column of the table, got 'no such column'"],
    ),
    "a column too many": (
        "voter,group,ranking,age\nann,north,a>b,3\nbob,south,b>a,4\n",
        [],
        ["age (own.csv line 1) must be left out: the columns are group, ranking"],
    ),
    "other sizes of groups": (ELECTION_FINE, ["group_sizes=[1, 3]"], ["group 'south' must be", "3", "got '2 voters'"]),
    "a header alone": (HEADER, [], ["voters must be a file with at least one voter, got 'own.csv'"]),
    "nothing": ("", [], ["own.csv line 1 must be a header with the column 'voter', got []"]),
    "no UTF-8": (b"voter,group,ranking\nann,n\xff,a>b\n", [], ["voters must be a readable CSV file", "own.csv"]),
    "an unprintable name": (
        ELECTION_FINE.replace(">a", ">a\x07"),
        [],
        ["alternatives must be distinct names of 1 to 256 printable characters"],
    ),
}
# The same of settings: of the shipped societies of 1,000 and 500 voters, who rank four alternatives.
SOCIETY: dict[str, tuple[list[str], list[str]]] = {
    **{
        f"{field}={value}": ([f"{field}={value}"], [f"{field} must be in {allowed}", f"got {value}"])
        for field, allowed, values in (
            ("epsilon", "[0.0001, 30]", ("0", "-1", "nan", "inf", "31", "1e-05")),
            ("gamma", "[0, 1)", ("-0.1", "1", "1.5", "nan", "inf")),
            ("delta", "(0, 1)", ("0", "1", "-1", "nan", "inf")),
            ("max_disparity", "[0, 1e+06]", ("-1", "nan", "inf")),
            ("fairness_weight", "[0, 1e+06]", ("-1", "nan", "inf")),
            ("num_samples", "[1, 1048576]", ("0", "-1", "1048577")),
        )
        for value in values
    },
    "epsilon of text": (["epsilon=much"], ["epsilon must be a number, got 'much'"]),
    "too few scores": (["scores=[3, 2, 1]"], ["scores must be 4 numbers, one for each position, got [3.0, 2.0, 1.0]"]),
    "no scores": (["scores=[]"], ["scores must be 4 numbers, one for each position, got []"]),
    "scores that rise": (["scores=[1, 2, 3, 0]"], ["scores must be falling", "got [1.0, 2.0, 3.0, 0.0]"]),
    "scores that are all alike": (["scores=[1, 1, 1, 1]"], ["scores must be falling", "not all alike"]),
    "a score that is no number": (["scores=[3, 2, 1, nan]"], ["scores must be in [-1e+06, 1e+06], got nan"]),
    "a score without end": (["scores=[inf, 2, 1, 0]"], ["scores must be in [-1e+06, 1e+06], got inf"]),
    "a score in words": (["scores=['a', 2, 1, 0]"], ["parameters.scores[0] must be a number, got 'a'"]),
    "unknown scores": (["scores=borada"], ["parameters.scores must be", "borda", "plurality", "veto", "got 'borada'"]),
    "an unknown mechanism": (
        ["mechanism=laplac"],
        ["parameters.mechanism must be one of laplace, sampling, exponential", "local", "got 'laplac'"],
    ),
    "an unknown objective": (
        ["objective=fair"],
        ["parameters.objective must be one of parity, constrained, penalized, got 'fair'"],
    ),
    "an unknown relation": (["relation=swap"], ["must be one of replace-one, add-remove-one, got 'swap'"]),
    "an unknown reading": (["reading=both"], ["parameters.reading must be one of group, subsample, got 'both'"]),
    "an unknown scale": (["scale=best"], ["parameters.scale must be one of", "unbiased", "printed", "got 'best'"]),
    "a relation that is not proven": (
        ["mechanism=local", "relation=add-remove-one"],
        ["relation must be 'replace-one' for mechanism 'local', got 'add-remove-one'"],
    ),
    "too few voters for the samples": (
        ["mechanism=sampling", "epsilon=0.3"],
        ["epsilon must be at least 0.406 for a group of 500", "takes 369 samples", "= 150, got 0.3"],
    ),
    "too many samples": (
        ["mechanism=sampling", "epsilon=0.001"],
        ["epsilon must be larger: it takes 33176199 samples, of at most 1048576, got 0.001"],
    ),
    "too few voters to sample first": (
        ["mechanism=sampling", "reading=subsample", "num_samples=501"],
        ["num_samples must be at most the smallest group's 500 voters", "got 501"],
    ),
    "pairs for unequal steps": (
        ["mechanism=sampled_pair", "scores=plurality"],
        ["mechanism must be another one, or equally spaced scores", "got 'sampled_pair'"],
    ),
    "whole rankings of many": (
        [
            "mechanism=whole_ranking",
            "voters={generator='impartial', alternatives=9, groups={n={voters=2}, s={voters=2}}}",
        ],
        ["mechanism must be another one for more than 8 alternatives: there are 9, got 'whole_ranking'"],
    ),
    "an empty group": (["voters.groups.south.voters=0"], ["voters.groups.south.voters must be in [1, ", "got 0"]),
    "one group alone": (
        ["voters.groups={north={voters=3, dispersion=1.0}}"],
        ["voters.groups must be at least 2 groups", "got ['north']"],
    ),
    "one alternative alone": (["voters.alternatives=1"], ["voters.alternatives must be 2 to 50 names", "got 1"]),
    "an alternative twice": (["voters.alternatives=['a', 'a']"], ["must be different names (repeated: 'a')"]),
    "a dispersion above 1": (["voters.groups.north.dispersion=1.5"], ["dispersion must be in [0, 1], got 1.5"]),
    "an unknown generator": (
        ["voters.generator=malows"],
        ["voters.generator must be one of mallows, plackett_luce, impartial (did you mean 'mallows'?), got 'malows'"],
    ),
    "two sources": (
        ["voters={generator='mallows', file='x.soc'}"],
        ["voters.file and voters.generator must be given one of them alone"],
    ),
}
ORDERS_FINE = """# DATA TYPE: soc
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
# What is replaced in the file (whose type is then another one) or in that of groups, and what the sentence has.
ORDERS: dict[str, tuple[str, str, str, list[str]]] = {
    "an alternative twice": (
        "soc",
        "3,2,1",
        "3,2,2",
        ["x.soc line 9 must be an order", "2 is repeated, got [3, 2, 2]"],
    ),
    "an alternative left out": ("soc", "3,2,1", "3,2", ["x.soc line 9 must be an order of all 3 alternatives"]),
    "one left out among ties": ("toc", "3,2,1", "{3,2}", ["x.toc line 9 must be an order of all 3 alternatives"]),
    "an alternative invented": ("soi", "3,2,1", "3,4", ["alternative (x.soi line 9) must be", "1 to 3, got 4"]),
    "a tie in strict orders": ("soc", "3,2,1", "3,{2,1}", ["x.soc line 9 must be a strict order", "got '3,{2,1}'"]),
    **{
        f"another number of {what}, {suffix}": (
            suffix,
            f"# NUMBER {what}: {number}",
            f"# NUMBER {what}: {number + 1}",
            [f"NUMBER {what} (x.{suffix} line {line}) must be the number of", f", {number}, got '{number + 1}'"],
        )
        for suffix in ("soc", "soi", "toc", "toi")
        for what, line, number in (("ALTERNATIVES", 2, 3), ("VOTERS", 3, 4), ("UNIQUE ORDERS", 4, 3))
    },
    "another type": (
        "soc",
        "DATA TYPE: soc",
        "DATA TYPE: toc",
        ["DATA TYPE (x.soc line 1) must be 'soc'", "got 'toc'"],
    ),
    "a count of 0": ("soc", "1: 3", "0: 3", ["count (x.soc line 9) must be a number of voters, at least 1, got 0"]),
    "no line of a voter": ("soc", "4,young\n", "", ["g.csv must be a line of every voter", "voter 4"]),
    "a voter in no group": ("soc", "2,young", "2,", ["group (g.csv line 3, voter 2) must be a group", "got ''"]),
    "a voter in two groups": (
        "soc",
        "4,young\n",
        "4,young\n1,young\n",
        ["group (g.csv line 6, voter 1) must be 'old', since line 2 has that: a voter is in one group, got 'young'"],
    ),
    "a voter that there is not": ("soc", "4,young", "5,young", ["voter (g.csv line 5) must be", "1 to 4, got '5'"]),
    "one group": ("soc", "young", "old", ["voters.groups must be two or more of them", "got ['old']"]),
}
BUDGET_FINE = """META
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
BUDGETS: dict[str, tuple[str, str, list[str]]] = {
    "another number of votes": (
        "votes;4",
        "votes;5",
        ["num_votes (x.pb line 4) must be the number of votes", "4, got '5'"],
    ),
    "another number of projects": ("projects;3", "projects;2", ["num_projects (x.pb line 3)", "below, 3, got '2'"]),
    "a project twice": ("M;p3,p2", "M;p3,p3", ["vote (x.pb line 14, voter 'v2')", "'p3' is repeated, got 'p3,p3'"]),
    "a project invented": ("M;p3,p2", "M;p3,p9", ["vote (x.pb line 14, voter 'v2') must be a project_id", "got 'p9'"]),
    "a voter in no group": ("30;M", "30;", ["sex (x.pb line 14, voter 'v2') must be a group", "got ''"]),
    "a voter twice": ("v2;", "v1;", ["voter_id (x.pb line 14) must be another voter: line 13 has", "got 'v1'"]),
    "one group": (";M;", ";F;", ["voters.groups must be two or more of them", "got ['F']"]),
    "an unknown type": ("ordinal", "ordnal", ["vote_type (x.pb line 5) must be one of ordinal", "got 'ordnal'"]),
    "an entry too few": ("30;M;p3,p2", "30;p3,p2", ["x.pb line 14 must be 4 entries", "got '3 entries'"]),
}


def check_refused(psephos: Psephos, scenario: str, settings: list[str], words: list[str]) -> None:
    """Check that a run is refused with one sentence that has these words, and leaves no folder."""
    options = [word for setting in settings for word in ("--set", setting)]
    ended = psephos("run", scenario, *options, "--out", "out")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("psephos: ")
    assert ended.err.count("\n") == 1
    for word in words:
        assert word in ended.err
    assert not Path("out").exists()


@pytest.mark.parametrize("case", list(ELECTION))
def test_a_wrong_election_gets_one_sentence_status_2_and_no_folder(psephos: Psephos, write: Write, case: str) -> None:
    content, settings, words = ELECTION[case]
    write("own.csv", content)
    check_refused(psephos, "two-societies", ["voters=own.csv", *settings], words)


@pytest.mark.parametrize("case", list(SOCIETY))
def test_a_wrong_setting_of_a_society_gets_one_sentence_and_status_2(psephos: Psephos, case: str) -> None:
    settings, words = SOCIETY[case]
    check_refused(psephos, "two-societies", settings, words)


@pytest.mark.parametrize("case", list(ORDERS))
def test_a_wrong_file_of_orders_gets_one_sentence_and_status_2(psephos: Psephos, write: Write, case: str) -> None:
    suffix, old, new, words = ORDERS[case]
    content, groups = ORDERS_FINE.replace("TYPE: soc", f"TYPE: {suffix}"), COMPANION
    assert old in content + groups
    write(f"x.{suffix}", content.replace(old, new))
    write("g.csv", groups.replace(old, new))
    check_refused(psephos, "two-societies", [f"voters=x.{suffix}", "voters.groups_file=g.csv"], words)


@pytest.mark.parametrize("case", list(BUDGETS))
def test_a_wrong_budget_gets_one_sentence_and_status_2(psephos: Psephos, write: Write, case: str) -> None:
    old, new, words = BUDGETS[case]
    assert old in BUDGET_FINE
    write("x.pb", BUDGET_FINE.replace(old, new))
    check_refused(psephos, "two-societies", ["voters=x.pb", "voters.group_column=sex"], words)


# Peers of a server, on real sockets.


@pytest.fixture
def vote(tmp_path: Path) -> str:
    """A vote of three partners of whom two suffice; its path."""
    return write_vote(tmp_path, lines="quorum = 2")


def check_decided(session: Serving, heard: list[Any], *, num_received: tuple[int, ...]) -> None:
    """Check that the session ended with so many reports, and that everybody heard the same outcome."""
    result = session.result()
    assert [each.result(PATIENCE) for each in heard] == [result.outcome] * len(heard)
    assert result.num_received == num_received


USUAL = Hello(PROTOCOL_VERSION, "vote", "dpwevote", "simulation", "cid")


def greeting(**fields: Any) -> bytes:
    """Return the frame of a Hello that differs from cid's in some fields."""
    return encode_frames([encode(msgspec.structs.replace(USUAL, **fields))])


OVERSIZED = struct.pack(">I", MAX_FRAME_BYTES + 1)
STRANGERS: dict[str, tuple[bytes, str | None]] = {
    "another version": (greeting(version=1), f"version is {PROTOCOL_VERSION}, 'cid' came with 1"),
    "another session": (greeting(session="spring"), "is 'vote', 'cid' came with 'spring'"),
    "another protocol": (greeting(protocol="other"), "protocol is 'dpwevote', 'cid' came with 'other'"),
    "another kind": (greeting(kind="deployment"), "kind is 'simulation', 'cid' came with 'deployment'"),
    "nobody's name": (greeting(party="mallory"), "'mallory' is not on the roster"),
    "a question of another version": (
        encode_frames([encode(Inquiry(1, "cid"))]),
        f"version is {PROTOCOL_VERSION}, 'cid' came with 1",
    ),
    "a question in nobody's name": (
        encode_frames([encode(Inquiry(PROTOCOL_VERSION, "x"))]),
        "'x' is not on the roster",
    ),
    "a report before Hello": (encode_frames([encode(report(0, 1))]), "began with Report instead of Hello"),
    "garbage in a frame": (encode_frames([b"\xc1\xc1"]), "2 bytes that are no message"),
    "nothing in a frame": (encode_frames([b""]), "0 bytes that are no message"),
    "an oversized frame": (OVERSIZED, f"a payload may have {MAX_FRAME_BYTES} bytes, the peer announced"),
    "another protocol altogether": (b"GET / HTTP/1.1\r\n\r\n", f"a payload may have {MAX_FRAME_BYTES} bytes"),
    "half a frame": (greeting()[:-1], None),
    "half a length": (b"\x00\x00", None),
    "nothing": (b"", None),
}


@pytest.mark.parametrize("case", list(STRANGERS))
def test_who_does_not_belong_here_is_told_why_and_the_vote_goes_on(vote: str, case: str) -> None:
    data, reason = STRANGERS[case]
    with serving(vote) as session:
        with session.connect() as stranger:
            stranger.send_bytes(data)
            if reason is None:
                stranger.stop_sending()
                assert stranger.last_message() is None
            else:
                assert reason in stranger.refusal()
        ledgers = {name: Ledger(name) for name in ENTRIES}
        heard = [session.join(name, ledger=ledger) for name, ledger in ledgers.items()]
        check_decided(session, heard, num_received=(3, 3))
    assert [ledger.spent for ledger in ledgers.values()] == [1.0] * 3
    refused = [event for event in session.events if event["event"] == "connection_refused"]
    assert [reason in event["reason"] for event in refused] == [True] * (reason is not None)


@pytest.mark.parametrize(
    ("token", "reason"), [("wrong", "'ann' came with a token that is not its own"), ("", "'ann' came with no token")]
)
@pytest.mark.parametrize("message", [Hello, Inquiry])
def test_a_wrong_token_is_refused_and_its_owner_can_still_come(
    psephos: Psephos, vote: str, token: str, reason: str, message: type[Hello | Inquiry]
) -> None:
    assert psephos("roster", vote, "--simulate", "--out", "drawn").status == 0
    invitations = {name: find_invitation(Path("drawn/invitations"), party=name) for name in ("ann", "bob", "cid")}
    with serving(vote, roster=Path("drawn/roster.csv")) as session:
        with session.connect() as thief:
            if message is Hello:
                thief.hello("ann", token=token)
            else:
                thief.send(Inquiry(PROTOCOL_VERSION, "ann", token))
            assert thief.refusal() == reason
        heard = [session.join(name, invitation=own) for name, own in invitations.items()]
        check_decided(session, heard, num_received=(3, 3))
    tokens = [own.token for own in invitations.values()]
    assert not any(token in repr(session.events) for token in [*tokens, "wrong"])


def begin(session: Serving) -> tuple[Peer, list[Any]]:
    """Let all three join, cid by hand up to the first request; return cid, and the others' endings."""
    cid = session.connect()
    cid.hello("cid")
    heard = [session.join(name) for name in ("ann", "bob")]
    assert cid.next_request().phase == 0
    return cid, heard


# What it sends, what is said of it, and how many weights count.
FAULTS: dict[str, tuple[bytes, str, int]] = {
    "a report in the wrong phase": (encode_frames([encode(report(1, 1))]), "sent a Report of phase 1 in state", 2),
    "a second, different report": (
        encode_frames([encode(report(0, 1)), encode(report(0, 2))]),
        "cid reported a second time in phase 'weights', and differently; the first stands",
        3,
    ),
    "a report out of range": (encode_frames([encode(report(0, 3))]), "is not what the phase declares", 2),
    "a report of too many values": (encode_frames([encode(report(0, 1, 1))]), "is not what the phase declares", 2),
    "Hello again": (greeting(), "'cid' has joined before", 2),
    "another's Hello": (greeting(party="ann"), "", 2),
    "garbage in a frame": (encode_frames([b"\xc1"]), "cid sent 1 bytes that are no message", 2),
    "an oversized frame": (OVERSIZED, f"a payload may have {MAX_FRAME_BYTES} bytes", 2),
    "a report and an oversized frame": (
        encode_frames([encode(report(0, 1))]) + OVERSIZED,
        f"a payload may have {MAX_FRAME_BYTES} bytes",
        3,
    ),
}


@pytest.mark.parametrize("case", list(FAULTS))
def test_a_fault_ends_that_partner_alone_and_what_was_accepted_stands(vote: str, case: str) -> None:
    data, reason, num_weights = FAULTS[case]
    with serving(vote) as session:
        cid, heard = begin(session)
        with cid:
            cid.send_bytes(data)
            last = cid.last_message()
        check_decided(session, heard, num_received=(num_weights, 2))
    (dropped,) = [effect for effect in session.effects if isinstance(effect, Drop)]
    assert dropped.party == "cid"
    assert reason in str(dropped.error)
    if "oversized" in case:
        assert not isinstance(last, Release)
    else:
        assert last == Abort(reason=str(dropped.error))


def test_the_same_report_again_is_counted_once(vote: str) -> None:
    with serving(vote) as session:
        cid, heard = begin(session)
        with cid:
            cid.send(report(0, 2), report(0, 2))
            assert cid.next_request().phase == 1
            cid.send(report(0, 2), report(1, 1), report(1, 1))
            assert isinstance(cid.receive(), Release)
        check_decided(session, heard, num_received=(3, 3))
        assert sum(session.result().tallies[0].totals.tolist()) == 3
    assert not [effect for effect in session.effects if isinstance(effect, Drop)]


@pytest.mark.parametrize("half", [b"", encode_frames([encode(report(0, 1))])[:-1]], ids=["between", "inside a frame"])
def test_a_partner_that_vanishes_is_not_waited_for(vote: str, half: bytes) -> None:
    with serving(vote, "deadline_seconds=1000") as session:
        cid, heard = begin(session)
        with cid:
            cid.send_bytes(half)
        check_decided(session, heard, num_received=(2, 2))


def test_a_partner_that_stalls_is_left_out_at_the_deadline(vote: str) -> None:
    with serving(vote, "phases.weights.deadline_seconds=1") as session:
        cid, heard = begin(session)
        with cid:
            assert isinstance(cid.receive(), Release)
        check_decided(session, heard, num_received=(2, 2))


def test_a_partner_that_stalls_where_all_are_needed_ends_the_vote_on_every_side(vote: str) -> None:
    with serving(vote, "quorum=3", "phases.weights.deadline_seconds=1") as session:
        cid, heard = begin(session)
        with cid:
            abort = cid.receive()
        assert isinstance(abort, Abort)
        assert (abort.phase, abort.missing) == ("weights", ("cid",))
        for ended in (*(each.exception(PATIENCE) for each in heard), session.failure()):
            assert str(ended) == abort.reason
    assert abort.reason == "phase 'weights' closed with 2 of the 3 parties that its quorum requires; missing: cid"


def test_a_partner_that_never_reads_holds_up_nobody(vote: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "LINGER_SECONDS", 0.2)
    with serving(vote, "deadline_seconds=1000") as session, session.connect() as cid:
        cid.hello("cid")
        heard = [session.join(name) for name in ("ann", "bob")]
        cid.send(report(0, 1))  # before it was asked, which it does not wait to read
        check_decided(session, heard, num_received=(2, 2))
