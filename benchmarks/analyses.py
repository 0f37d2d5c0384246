"""How long the papers' tables take, a trial in a block, attacks on many targets, and audits; how near these come."""

import dataclasses
import os
import pathlib
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from time import process_time

import numpy as np
from harness import Rows, row, skipped, timed, turns
from psephos.protocol import Inputs, SimulatedNoise
from psephos.protocol.mechanisms import optimal
from psephos.scenarios import load_scenario, resolve
from psephos.scenarios.attacks import Coalition, find_attack, view_by_arrays, view_by_server
from psephos.scenarios.audit import Case, Pair
from psephos.scenarios.audit import audit as audit_case
from psephos.scenarios.audit.mechanisms.noise import noise_cases
from psephos.scenarios.audit.mechanisms.responses import response_cases
from psephos.scenarios.audit.running import ALL, SECURE_SAMPLES, SIMULATED_SAMPLES, audit_all
from psephos.scenarios.datasets import DATA_VARIABLE
from psephos.scenarios.dpwevote.paper import PAPER
from psephos.scenarios.dpwevote.paper.runs import VoteCells, published_table
from psephos.scenarios.experiments.benches import Bench
from psephos.scenarios.experiments.measured import TrialCell
from psephos.scenarios.experiments.trials import prepare
from psephos.scenarios.truth_discovery.crowd_reports import Layout
from psephos.scenarios.truth_discovery.data.published import load_crowd
from psephos.scenarios.truth_discovery.paper import runs

_BLOCKS = (
    ("DPWeVote printed, 100 partners", "consortium partners.count=100 variant=printed", 0, "≥ 80 ×"),
    ("the same, drawn anew", "consortium partners.count=100 variant=printed", 1, "≥ 80 ×"),
    ("DPWeVote laplace, 100 partners", "consortium partners.count=100 variant=laplace", 0, ""),
    ("DPWeVote printed, 2,000 partners", "consortium variant=printed", 0, ""),
    ("fair voting, central Laplace, 1,500 voters", "two-societies mechanism=laplace", 0, "≥ 300 ×"),
    ("moral preferences, VLCP, 200 voters", "moral-synthetic paradigm=VLCP", 0, "≥ 20 ×"),
    ("truth discovery by auto, 50 workers of 40 tasks each", "crowd", 0, "≥ 4 ×"),
    ("truth discovery by the paper's weights, the same", "crowd estimator=truth_discovery", 0, ""),
    ("truth discovery by majority, the same", "crowd estimator=majority", 0, ""),
)
_ATTACKED = {
    "DPWeVote, joint": "consortium partners.count={n}",
    "DPWeVote, optimal": "consortium partners.count={n} variant=optimal",
    "truth discovery, two layers, 10 answers": (
        "crowd workers.workers={n} workers.answers_per_task={crowd} mechanism=two_layer"
    ),
    "moral preferences, VLDP": "moral-synthetic voters.voters={n} voters.records=5 paradigm=VLDP",
    "fair voting, sampled pair of 4": (
        "two-societies mechanism=sampled_pair objective=parity "
        "voters.groups.north.voters={half} voters.groups.south.voters={half}"
    ),
}


def paper(*, quick: bool) -> Rows:
    """Yield the time of the papers' tables, and of the optimal mechanism by the number of weights."""
    trials, of_crowds = (PAPER.least_trials, 10) if quick else (2_000, 100)
    cells = VoteCells(trials=trials, seed=1)
    seconds = timed(lambda: [list(published_table(table, cells, trials)) for table in "34"])
    what = f"DPWeVote's Tables 3 and 4, {trials:,} votes a cell"
    yield row(what, seconds, show="{:.1f} s", target="≤ 10 s")
    what = f"truth discovery's Table 3, {of_crowds} trials a cell"
    path = pathlib.Path(os.environ.get(DATA_VARIABLE, ""))
    if (path / runs.DUCHENNE).is_dir():
        layouts = runs.CrowdCells({runs.DUCHENNE: Layout.of(load_crowd(runs.DUCHENNE, path))}, seed=1)
        seconds = timed(lambda: list(runs.published_table(layouts, runs.DUCHENNE, trials=of_crowds)))
        yield row(what, seconds, show="{:.1f} s", target="≤ 60 s")
    else:
        yield skipped(what, f"the folder that {DATA_VARIABLE} names has no {runs.DUCHENNE}")
    for number in (3, 5) if quick else (3, 5, 10):
        halves = [Fraction(weight, 2) for weight in range(-number, number + 1) if weight]
        yield row(f"optimal mechanism, {number} weights", timed(partial(optimal, halves, epsilon=1.0)))


def trial_blocks(*, quick: bool) -> Rows:
    """Yield a row for each system that decides in blocks, beside the same by whole sessions, which is how all were run.

    Seconds are the processor's, since ratios of a hundred are of a noisy machine's too.
    """
    number = 200 if quick else 2_000
    for system, words, redraw, target in _BLOCKS:
        name, *settings = words.split()
        scenario, resolved = prepare(load_scenario(name, settings), redraws=redraw > 0)
        bench = Bench(resolved, TrialCell(settings=(), scenario=scenario, redraw=redraw))

        whole = partial(map, bench.whole)
        times = turns(5, ours=partial(_seconds, bench.run, number), raw=partial(_seconds, whole, 20))
        what = f"a trial in a block beside a whole session, {system}"
        yield times.row(what, scale=1e6, show="{:,.1f} µs", times="1/{:.0f}", target=target)


def _seconds(run: Callable[[range], Iterable[object]], trials: int) -> float:
    return timed(lambda: list(run(range(trials))), process_time) / trials


def attacks(*, quick: bool) -> Rows:
    """Yield seconds for the posteriors of many targets, beside drawing their reports, as a simulation does anyway."""
    number = 1_000 if quick else 10_000
    for name, words in _ATTACKED.items():
        scenario, *settings = words.format(n=number, half=number // 2, crowd=number // 20).split()
        resolved = resolve(load_scenario(scenario, [*settings, "transport=array"]))
        protocol, inputs, noise = resolved.protocol, resolved.inputs, SimulatedNoise(1, session="bench")
        # A line-up of everybody would be as many candidates as targets: some stand for all.
        attack = find_attack(protocol).against(Inputs(inputs.private[:20], inputs.public[:20]))
        draw = partial(view_by_server, protocol, inputs, noise=noise)
        coalition = Coalition((), has_server=True)
        is_alone = attack.infers_from_reports_alone
        seen = draw() if is_alone else view_by_arrays(protocol, inputs, noise=noise, coalition=coalition)
        secret, targets = attack.default_secret, np.arange(len(inputs))
        posteriors = partial(attack.posteriors, [seen], targets, secret=secret)
        what, beside = f"posteriors of {len(inputs):,} targets' {secret}, {name}", " (drawing their reports)"
        yield turns(3, ours=posteriors, raw=draw).row(what, beside=beside, target="≤ 5 s")


def audit(*, quick: bool) -> Rows:
    """Yield the time of all audits, then audited over proven ε of k-RR and Laplace noise, whose proofs are tight.

    Ratios are of outputs alone, without the exact laws, which give 1.
    """
    divisor = 100 if quick else 1
    samples = SIMULATED_SAMPLES // divisor
    report = audit_all(ALL, samples={"simulated": samples, "secure": SECURE_SAMPLES // divisor})
    yield row(f"audit all, {len(report.rows)} losses", report.seconds, show="{:.0f} s", target="≤ 600 s")
    confidence = (
        1 - 0.01 / 24
    )  # of each row, so that all 24 hold at once with .99: streams are shared, as is their luck
    for case in (*response_cases(), *noise_cases()):
        if case.group in {"k-rr", "laplace"}:
            alone = dataclasses.replace(case, pairs=partial(_without_laws, case))
            found = (audit_case(each, samples=samples, confidence=confidence) for each in (case, alone))
            exact, sampled = (((each and each.epsilon) or 0) / case.proven for each in found)
            what, ratio = f"audited/proven, {case.name}, {samples:,} outputs", exact and sampled / exact
            yield row(
                what,
                exact,
                sampled,
                show="{:.3f}",
                note=" exact",
                beside=" by outputs alone",
                ratio=ratio,
                target="≥ 0.9 exact",
            )


def _without_laws(case: Case) -> list[Pair]:
    return [dataclasses.replace(pair, laws=None) for pair in case.pairs()]
