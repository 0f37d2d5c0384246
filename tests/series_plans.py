"""A series of three votes as its file says it: one who joins, one who leaves, one who is away."""

from typing import Final

HEAD: Final = """
protocol = "dpwevote"
made_up = true
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
