"""A series of three votes as its file says it: one joins, one leaves, one is away; and series that are held."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from psephos.scenarios import FinishedSeries, RunFolder, load_series, resolve_series, run_series
from psephos.scenarios.adversaries.role import SeriesVote

HEAD: Final = """
protocol = "dpwevote"
synthetic = true
seed = 5
quorum = 0.5
partners = [{partner = "ann", weight = 1}, {partner = "bob", weight = 2}, {partner = "eve", weight = 3}]
[parameters]
public_weights = true
weights = [1, 2, 3]
epsilon = 1.0
"""
PLAN: Final = """
[[votes]]
at = 2026-01-05
[votes.entries]
roof = {ann = 1, bob = 0, eve = 1}
[[votes]]
title = "Garden"
at = 2026-01-12T18:00:00+01:00
absent = ["eve"]
join = [{partner = "zoe", weight = 2}]
parameters = {epsilon = 2.0}
[votes.entries]
garden = {ann = 1, bob = 0, zoe = 1}
[[votes]]
at = 2026-01-20
leave = ["bob"]
[votes.entries]
pool = {ann = 0, eve = 1, zoe = 1}
weight = {ann = 2}
"""
BUDGET: Final = "budget = 2\n"
PERIOD: Final = 'budget_period = "7 days"\n'


def hold(source: object, folder: Path, *settings: str) -> FinishedSeries:
    """Hold all votes of a series."""
    series = load_series(str(source), settings)
    return run_series(series, resolve_series(series), RunFolder(folder), pictures=False)


def voted_in(finished: FinishedSeries, members: Sequence[str] = ("server",)) -> list[SeriesVote]:
    """Return a series as its adversaries find it, with these members."""
    votes: list[SeriesVote] = []
    for each in finished.held:
        assert each.finished is not None
        assert each.finished.trace is not None
        context, trace = each.finished.trace
        number, paid, repeated = each.vote.number, each.paid, each.repeated
        votes.append(
            SeriesVote(number=number, members=members, context=context, trace=trace, paid=paid, repeated=repeated)
        )
    return votes
