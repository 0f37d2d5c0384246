"""An approval vote as a third party would write it, with a transport and two adversaries, and the mistakes in it.

Each mistake replaces one part of a sound distribution by another, so that a test shows what is said of it alone.
"""

import dataclasses
import functools
from pathlib import Path
from typing import Final

from distributions import write_distribution

MODULE: Final = "tea_elsewhere"
SOUND: Final = '''
"""Who likes tea: an approval vote in the local model."""

import itertools

import msgspec
import numpy as np

from psephos.agents import Voter
from psephos.agents.adversaries import Deviation, Passage
from psephos.protocol import Column, Inputs, Phase, PhasedProtocol, Tally
from psephos.protocol.estimators import Estimate
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
from psephos.protocol.privacy import NeighboringRelation, PrivacyLoss, RandomizedResponse, TrustModel
from psephos.scenarios.adversaries.role import AttackReport, Role
from psephos.transports import MemoryTransport

SECRET = "what nobody shall read"
calls = itertools.count()


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    epsilon: float = 1.0


class Share(msgspec.Struct, frozen=True):
    share: Estimate
    counted: int


class Shifted(GeneralizedRandomizedResponse):
    def randomize_rows(self, values, uniforms):
        return super().randomize_rows(values, uniforms) + 2

    def randomize_row(self, values, uniforms):
        return [value + 2 for value in super().randomize_row(values, uniforms)]


class Halved(GeneralizedRandomizedResponse):
    def randomize_rows(self, values, uniforms):
        return super().randomize_rows(values, uniforms) / 2

    def randomize_row(self, values, uniforms):
        return [value / 2 for value in super().randomize_row(values, uniforms)]


class Torn(GeneralizedRandomizedResponse):
    def randomize_rows(self, values, uniforms):
        return self.randomize_row(values, uniforms)

    def randomize_row(self, values, uniforms):
        raise RuntimeError("it tore")


class Boasting(GeneralizedRandomizedResponse):
    @property
    def event(self):
        return RandomizedResponse(epsilon=0.1, num_choices=2)


class Likes(Phase):
    def tally(self, reports, *, earlier, public):
        return Tally(len(reports), reports.sum(axis=0))


class Tea(PhasedProtocol):
    name = "tea"
    parameters_type, outcome_type = Price, Share

    def make_phases(self):
        mechanism = GeneralizedRandomizedResponse(self.parameters.epsilon, 2)
        paid = {"claimed": mechanism.epsilon, "relation": NeighboringRelation.REPLACE_ONE, "model": TrustModel.LOCAL}
        loss = PrivacyLoss(mechanism="randomized response", event=mechanism.event, unit="vote", **paid)
        yield Likes("likes", columns=range(1), mechanism=mechanism, losses=[loss])

    def columns(self):
        return (Column("likes", private=True, description="0 or 1"),)

    def encode(self, table):
        values = np.array([int(value) for value in table["likes"]])
        return Inputs(values[:, None], np.empty((len(values), 0), dtype=np.int64))

    def outcome(self, tallies):
        share = float(tallies[0].totals[0]) / tallies[0].num_reports
        return Share(Estimate(share, 0.5), tallies[0].num_reports)


class Kettle(MemoryTransport):
    name = "kettle"


class Silent(Deviation):
    def outgoing(self, peer, message):
        if type(message).__name__ != "Report":
            return super().outgoing(peer, message)
        return Passage(hangs_up=True)


class Sleeper(Role, frozen=True, kw_only=True):
    name = "sleeper"

    def deviations(self, context):
        return {name: Silent() for name in self.members}

    def learn(self, context, happened):
        return AttackReport(role=self.name, who="somebody", trust="nobody", sentences=("It slept.",))
'''
ENTRY_POINTS: Final = """
[psephos.protocols]
tea = tea_elsewhere:Tea

[psephos.transports]
kettle = tea_elsewhere:Kettle

[psephos.adversaries]
sleeper = tea_elsewhere:Sleeper
"""
SCENARIO: Final = """
protocol = "tea"
synthetic = true
seed = 4
voters = [
    { voter = "ann", likes = 1 }, { voter = "bob", likes = 1 }, { voter = "eve", likes = 0 },
    { voter = "dan", likes = 1 }, { voter = "kim", likes = 0 }, { voter = "liv", likes = 1 },
]
"""
_OUTCOME: Final = "        return Share(Estimate(share, 0.5), tallies[0].num_reports)\n"
_TALLY: Final = "        return Tally(len(reports), reports.sum(axis=0))\n"
_LEARN: Final = (
    '        return AttackReport(role=self.name, who="somebody", trust="nobody", sentences=("It slept.",))\n'
)
_COLUMNS: Final = '        return (Column("likes", private=True, description="0 or 1"),)\n'
_INPUTS: Final = "        return Inputs(values[:, None], np.empty((len(values), 0), dtype=np.int64))\n"
_KETTLE: Final = "class Kettle(MemoryTransport):\n"
_DEVIATIONS: Final = "        return {name: Silent() for name in self.members}\n"
_WITH_COALITION: Final = '[[adversary]]\nrole = "coalition"\nmembers = ["server"]\ntarget = "eve"\n'
_WITH_POISONER: Final = '[[adversary]]\nrole = "poisoner"\nmembers = ["eve"]\n'
_WITH_SLEEPER: Final = '[[adversary]]\nrole = "sleeper"\nmembers = ["eve"]\n'


@dataclasses.dataclass(frozen=True)
class Fault:
    """A mistake, and what is said of it.

    Args:
        name: of the mistake.
        old: the part of the sound distribution that it replaces.
        new: by what.
        said: words that what is printed has to have, on arrays; for agents too unless `said_by_agents` is given.
        status: the exit status.
        said_by_agents: words that are printed where agents run it.
        scenario: what the scenario has besides.
        settings: values of the scenario that are set.
        has_line: whether file and line are named; not by agents where `said_by_agents` is given.
    """

    name: str
    old: str
    new: str
    said: tuple[str, ...]
    status: int = 1
    said_by_agents: tuple[str, ...] = ()
    scenario: str = ""
    settings: tuple[str, ...] = ()
    has_line: bool = False


_of_sleeper: Final = functools.partial(Fault, scenario=_WITH_SLEEPER, settings=("transport=memory", "quorum=1"))


FAULTS: Final = (
    Fault(
        "an outcome of another type",
        _OUTCOME,
        "        return Price(epsilon=share)\n",
        ("protocol 'tea'", "outcome", "a Price", "Share"),
    ),
    Fault(
        "a protocol without a name",
        '    name = "tea"\n',
        "",
        ("name of protocol class Tea", "a text"),
        status=2,
    ),
    Fault(
        "an outcome type that is no struct",
        "    parameters_type, outcome_type = Price, Share\n",
        "    parameters_type, outcome_type = Price, dict\n",
        ("outcome_type of protocol 'tea'", "msgspec.Struct", "'dict'"),
        status=2,
    ),
    Fault(
        "a protocol that lacks a method",
        "    def outcome(self, tallies):\n        share",
        "    def outcom(self, tallies):\n        share",
        ("protocol is", "Tea lacks outcome"),
        status=2,
    ),
    Fault(
        "a phase that is not yielded",
        "        yield Likes(",
        "        return Likes(",
        ("make_phases() of protocol 'tea'", "yielded", "'Likes'"),
        status=2,
    ),
    Fault(
        "columns that are names",
        _COLUMNS,
        '        return ("likes",)\n',
        ("columns() of protocol 'tea'", "Columns"),
        status=2,
    ),
    Fault(
        "two columns of one name",
        _COLUMNS,
        '        return (Column("likes", private=True, description="0 or 1"),) * 2\n',
        ("columns() of protocol 'tea'", "distinct names"),
        status=2,
    ),
    Fault(
        "rows that are none",
        _INPUTS,
        "        return values[:, None]\n",
        ("protocol 'tea'", "encode", "a ndarray", "Inputs"),
        status=2,
    ),
    Fault(
        "a row too few",
        _INPUTS,
        "        return Inputs(values[1:, None], np.empty((len(values) - 1, 0), dtype=np.int64))\n",
        ("protocol 'tea'", "encode", "5 rows", "6 entries"),
        status=2,
    ),
    Fault(
        "a client role that nobody registered",
        '    name = "tea"\n',
        '    name = "tea"\n    server_role = "samovar"\n',
        ("server role is", "psephos.roles", "'samovar'"),
        status=2,
        settings=("transport=memory",),
    ),
    Fault(
        "an exit where an outcome belongs",
        _OUTCOME,
        "        raise SystemExit(3)\n",
        ("protocol 'tea'", "outcome", "SystemExit: 3"),
        has_line=True,
    ),
    Fault(
        "an import that exits",
        "calls = itertools.count()\n",
        "calls = itertools.count()\nraise SystemExit(0)\n",
        ("'tea'", "SystemExit"),
        status=2,
        has_line=True,
    ),
    Fault(
        "reports that are no integers",
        "        mechanism = GeneralizedRandomizedResponse(self.parameters.epsilon, 2)\n",
        "        mechanism = Halved(self.parameters.epsilon, 2)\n",
        ("protocol 'tea'", "'likes'", "Halved", "float64", "integers"),
        said_by_agents=("protocol 'tea'", "'likes'", "Halved", "1 integers in [0, 1]"),
    ),
    Fault(
        "a truth that is no mapping",
        _KETTLE,
        "    def truth(self, inputs):\n        return [1.0]\n\n\nclass Kettle(MemoryTransport):\n",
        ("protocol 'tea'", "truth", "a list", "mapping"),
    ),
    Fault(
        "a truth that is told in parts",
        _KETTLE,
        "    def truth(self, inputs):\n        return {'share': {'of all': 1.0}}\n\n\nclass Kettle(MemoryTransport):\n",
        ("protocol 'tea'", "truth", "'share'", "a dict"),
    ),
    Fault(
        "possible entries that raise",
        _KETTLE,
        "    def possible_entries(self):\n        raise RuntimeError('unknown')\n\n\nclass Kettle(MemoryTransport):\n",
        ("protocol 'tea'", "possible_entries", "RuntimeError", "unknown"),
        scenario=_WITH_COALITION,
        has_line=True,
    ),
    Fault(
        "an honest outcome that a poisoner cannot compute",
        _OUTCOME,
        "        raise RuntimeError('no outcome today')\n",
        ("protocol 'tea'", "outcome", "RuntimeError", "no outcome today"),
        scenario=_WITH_POISONER,
        settings=("transport=memory",),
        has_line=True,
    ),
    Fault(
        "a transport that opens nothing",
        '    name = "kettle"\n',
        '    name = "kettle"\n\n    async def open_listener(self, address=None):\n        return None\n',
        ("transport 'kettle'", "what it returned", "NoneType"),
        settings=("transport=kettle",),
    ),
    Fault(
        "a transport that lacks a method",
        "class Kettle(MemoryTransport):\n",
        "class Kettle(MemoryTransport.__base__):\n",
        ("transport is", "Kettle lacks connect, open_listener"),
        status=2,
        settings=("transport=kettle",),
    ),
    Fault(
        "a deviation that is its class",
        _DEVIATIONS,
        "        return {name: Silent for name in self.members}\n",
        ("role 'sleeper'", "deviations", "the class Silent"),
        scenario=_WITH_SLEEPER,
        settings=("transport=memory",),
    ),
    _of_sleeper(
        "a passage that is none",
        "        return Passage(hangs_up=True)\n",
        "        return None\n",
        ("role 'sleeper'", "Silent.outgoing", "NoneType", "Passage"),
    ),
    _of_sleeper(
        "a role that learns nothing",
        _LEARN,
        "        return None\n",
        ("role 'sleeper'", "learn", "a NoneType", "AttackReport"),
    ),
    _of_sleeper(
        "a sentence in place of sentences",
        _LEARN,
        '        return AttackReport(role=self.name, who="somebody", trust="nobody", sentences="It slept.")\n',
        ("role 'sleeper'", "learn", "$.sentences"),
    ),
    Fault(
        "a text where an estimate belongs",
        _OUTCOME,
        '        return Share("about a half", 3)\n',
        ("protocol 'tea'", "outcome", "$.share"),
    ),
    Fault(
        "an outcome that no message can carry",
        _OUTCOME,
        "        return Share(Estimate(share, 0.5), tallies[0].totals[0])\n",
        ("protocol 'tea'", "outcome", "int64"),
    ),
    Fault(
        "an outcome that is another one when it arrives",
        _OUTCOME,
        "        return Share(Estimate(share, 0.5), [])\n",
        ("protocol 'tea'", "outcome", "$.counted"),
    ),
    Fault(
        "an outcome without a number",
        _OUTCOME,
        '        return Share(Estimate(float("nan"), 0.5), tallies[0].num_reports)\n',
        ("protocol 'tea'", "outcome", "share.value", "nan", "finite"),
    ),
    Fault(
        "an outcome that is not the same twice",
        _OUTCOME,
        "        return Share(Estimate(share, 0.5), next(calls))\n",
        ("protocol 'tea'", "outcome", "twice"),
    ),
    Fault(
        "an outcome that raises",
        _OUTCOME,
        "        return Share(Estimate(share / 0, 0.5), tallies[0].num_reports)\n",
        ("protocol 'tea'", "outcome", "ZeroDivisionError", "float division by zero"),
        has_line=True,
    ),
    Fault(
        "a tally that does not add",
        _TALLY,
        "        return Tally(len(reports), reports.max(axis=0, initial=0) + 1)\n",
        ("protocol 'tea'", "tally", "'likes'", "add up"),
    ),
    Fault(
        "a tally that is none",
        _TALLY,
        "        return reports.sum(axis=0)\n",
        ("protocol 'tea'", "tally", "ndarray"),
    ),
    Fault(
        "a tally that raises",
        _TALLY,
        '        raise KeyError("no such column")\n',
        ("protocol 'tea'", "tally", "KeyError", "no such column"),
        has_line=True,
    ),
    Fault(
        "reports out of range",
        "        mechanism = GeneralizedRandomizedResponse(self.parameters.epsilon, 2)\n",
        "        mechanism = Shifted(self.parameters.epsilon, 2)\n",
        ("protocol 'tea'", "'likes'", "Shifted", "[0, 1]"),
        said_by_agents=("'likes' closed with 0 of the 6", "the first is out", "report", "<= 1"),
    ),
    Fault(
        "reports that do not fit their senders",
        "class Likes(Phase):\n",
        "class Likes(Phase):\n    def check_report(self, report, public):\n"
        "        raise ValueError('nothing fits')\n\n",
        ("protocol 'tea'", "check_report of phase 'likes'", "nothing fits"),
        said_by_agents=("'likes' closed with 0 of the 6", "the first is out", "nothing fits"),
        has_line=True,
    ),
    Fault(
        "an own outcome of no declared type",
        "class Kettle(MemoryTransport):\n",
        "    def own_outcomes(self, tallies):\n        return {0: Price()}\n\n\nclass Kettle(MemoryTransport):\n",
        ("protocol 'tea'", "own_outcomes", "a Price", "own_outcome_type is None"),
    ),
    Fault(
        "a mechanism that raises",
        "        mechanism = GeneralizedRandomizedResponse(self.parameters.epsilon, 2)\n",
        "        mechanism = Torn(self.parameters.epsilon, 2)\n",
        ("protocol 'tea'", "randomize", "RuntimeError", "it tore"),
        has_line=True,
    ),
    Fault(
        "an event that claims less than the law",
        "        mechanism = GeneralizedRandomizedResponse(self.parameters.epsilon, 2)\n",
        "        mechanism = Boasting(self.parameters.epsilon, 2)\n",
        ("losses is 0.1: use at least what phase 'likes' draws", "1"),
        status=2,
    ),
    Fault(
        "phases that raise",
        "        mechanism = GeneralizedRandomizedResponse(self.parameters.epsilon, 2)\n",
        "        mechanism = GeneralizedRandomizedResponse(self.parameters.epsilom, 2)\n",
        ("protocol 'tea'", "make_phases", "AttributeError", "epsilom"),
        status=2,
        has_line=True,
    ),
    Fault(
        "a constructor that raises",
        "    def make_phases(self):\n",
        "    def __init__(self, parameters):\n        assert parameters is None, 'no parameters here'\n\n"
        "    def make_phases(self):\n",
        ("protocol 'tea'", "__init__", "AssertionError", "no parameters here"),
        status=2,
        has_line=True,
    ),
    Fault(
        "a module that is no Python",
        "calls = itertools.count()\n",
        "calls = itertools.count(\n",
        ("'tea'", "SyntaxError", "never closed"),
        status=2,
        has_line=True,
    ),
    Fault(
        "an entry point of another name",
        '    name = "tea"\n',
        '    name = "coffee"\n',
        ("'tea'", "'coffee'"),
        status=2,
    ),
    Fault(
        "a truth that raises",
        "class Kettle(MemoryTransport):\n",
        "    def truth(self, inputs):\n        return inputs.all_of_it\n\n\nclass Kettle(MemoryTransport):\n",
        ("protocol 'tea'", "truth", "AttributeError", "all_of_it"),
        has_line=True,
    ),
    Fault(
        "a transport's entry point of another name",
        '    name = "kettle"\n',
        '    name = "pot"\n',
        ("'kettle'", "'pot'"),
        status=2,
        settings=("transport=kettle",),
    ),
    Fault(
        "a transport that raises",
        '    name = "kettle"\n',
        '    name = "kettle"\n\n    async def open_listener(self, address=None):\n        return {}["stove"]\n',
        ("transport 'kettle'", "open_listener", "KeyError", "stove"),
        settings=("transport=kettle",),
        has_line=True,
    ),
    Fault(
        "a transport whose constructor raises",
        '    name = "kettle"\n',
        '    name = "kettle"\n\n    def __init__(self):\n        raise RuntimeError("no water")\n',
        ("transport 'kettle'", "__init__", "RuntimeError", "no water"),
        status=2,
        settings=("transport=kettle",),
        has_line=True,
    ),
    _of_sleeper(
        "a deviation of nobody in the session",
        _DEVIATIONS,
        "        return {'nobody': Silent()}\n",
        ("role 'sleeper'", "deviations", "'nobody'"),
    ),
    _of_sleeper(
        "deviations that are none",
        _DEVIATIONS,
        "        return None\n",
        ("role 'sleeper'", "deviations", "a NoneType", "mapping"),
    ),
    _of_sleeper(
        "an adversary whose lesson raises",
        _LEARN,
        '        raise LookupError("nothing to learn")\n',
        ("role 'sleeper'", "learn", "LookupError", "nothing to learn"),
        has_line=True,
    ),
    _of_sleeper(
        "an adversary whose deviation raises",
        "        return Passage(hangs_up=True)\n",
        '        raise LookupError("no dream")\n',
        ("role 'sleeper'", "outgoing", "LookupError", "no dream"),
        has_line=True,
    ),
)


def install(folder: Path, fault: Fault | None = None) -> None:
    """Write the distribution, with a mistake or none, into a folder that is or will be on `sys.path`."""
    source = SOUND
    if fault is not None:
        assert SOUND.count(fault.old) == 1, fault.name
        source = SOUND.replace(fault.old, fault.new)
    write_distribution(folder, MODULE, ENTRY_POINTS, source)
