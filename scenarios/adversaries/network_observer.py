"""The network observer: sees sizes, times and order of all messages, and none of their content.

It is placed as an internet provider is, whether or not connections are encrypted. All reports of a phase have the same
size, so sizes reveal nothing about values. The role measures this on the wire, and computes what sizes would reveal if
numbers were encoded in as few bytes as possible. The observer still sees who takes part, when, and how long each party
takes to answer.

It works with any protocol that agents run, over any transport that can be relayed (`transports.tap`): byte by byte over
TCP, and payload by payload elsewhere. Other transports whose ends authenticate each other cannot be relayed.
"""

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.errors import ConfigurationError
from ...protocol.integers import bytes_of
from ...protocol.phases import Phase
from ...transports.tap import Traffic
from ..attacks import Attack, Candidates, Evaluation, evaluate_channel
from ..verdicts import round_up
from .role import AttackContext, AttackReport, InferringRole, Row, SessionTrace

_DRAWS: Final = 500  # reports drawn for each candidate, if not all can be listed
_MOST_ROWS: Final = 64  # candidates, if whole rows cannot be listed
_MOST_LISTED: Final = 10_000  # the most reports of a phase that are listed one by one


class NetworkObserverRole(InferringRole, frozen=True, kw_only=True):
    """Someone on the network between all parties and the server.

    Examples:
        >>> NetworkObserverRole().watches_traffic
        True
    """

    name: ClassVar[str] = "network-observer"
    refused_if_masked: ClassVar[str] = "masked rows are uniform and of one size, as `psephos audit` tests"
    watches_traffic: ClassVar[bool] = True

    def check(self, context: AttackContext) -> None:
        self.check_left_out(allowed="it is no party")
        self.attack(context)

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        """Return the observed traffic, what sizes reveal, and what they would reveal in a compact encoding."""
        attack, secret = self.attack(context)
        sizes_of_connections = _sizes_by_connection(trace.traffic)
        rows: list[Row] = []
        for phase in context.protocol.phases:
            as_sent, as_needed = _evaluate_sizes(context, phase, attack, secret)
            rows.append(
                {
                    "phase": phase.name,
                    "bytes a number": phase.codec.number_bytes,
                    "bits as sent": as_sent.information,
                    "bits if compact": as_needed.information,
                    "right if compact": as_needed.success,
                    "guessing": as_needed.baseline,
                }
            )
        compact = [float(row["bits if compact"]) for row in rows]
        return self.attack_report(
            who="somebody between the parties and their server",
            trust="The observer reads no content, as if all were encrypted, and changes nothing.",
            sentences=_sentences(context, sizes_of_connections, max(compact, default=0.0), secret=secret),
            rows=rows,
        )


def _sizes_by_connection(traffic: Sequence[Traffic]) -> Mapping[int, int]:
    """Return how many bytes each connection carried to the server."""
    sizes: dict[int, int] = {}
    for packet in traffic:
        if packet.is_upstream:
            sizes[packet.connection] = sizes.get(packet.connection, 0) + packet.num_bytes
    return sizes


def _evaluate_sizes(context: AttackContext, phase: Phase, attack: Attack, secret: str) -> tuple[Evaluation, Evaluation]:
    """Evaluate guesses from a report's size: as it is sent, and if numbers took as few bytes as possible.

    Exact if all reports can be listed; otherwise estimated from many drawn reports.
    """
    candidates = _candidates(context, attack, secret)
    reports, law = _reports_of(context, phase, candidates.rows[:, phase.columns])
    prior = np.full(len(candidates.labels), 1 / len(candidates.labels))
    sizes_as_sent = np.array([len(phase.codec.encode(report)) for report in reports.tolist()], dtype=np.int64)
    as_sent, as_needed = (
        evaluate_channel(_law_of_sizes(law, sizes), places=candidates.places, prior=prior)
        for sizes in (sizes_as_sent, bytes_of(reports).sum(axis=1))
    )
    return as_sent, as_needed


def _candidates(context: AttackContext, attack: Attack, secret: str) -> Candidates:
    """Return the candidate rows; if whole rows cannot be listed, the distinct rows of the roster."""
    with contextlib.suppress(ConfigurationError):
        candidates = attack.candidates(secret)
        if candidates.rows.shape[1] == context.inputs.private.shape[1]:  # otherwise the secret is only a part of a row
            return candidates
    rows = np.unique(context.inputs.private, axis=0)[:_MOST_ROWS]
    places = np.arange(len(rows), dtype=np.int64)
    return Candidates(rows, places, tuple(f"row {number}" for number in range(1, len(rows) + 1)))


def _reports_of(context: AttackContext, phase: Phase, values: IntArray) -> tuple[IntArray, FloatArray]:
    """Return reports and P[report | candidate]: all possible reports, or many draws for each candidate."""
    mechanism = phase.mechanism
    low, high = mechanism.report_range
    if (high - low + 1) ** phase.num_reported <= _MOST_LISTED:
        all_reports = itertools.product(range(low, high + 1), repeat=phase.num_reported)
        reports = np.array(list(all_reports), dtype=np.int64)
        with contextlib.suppress(NotImplementedError):
            return reports, np.exp(mechanism.log_likelihoods(reports, values)).T
    noise, slots = context.noise(), mechanism.slots_of(phase.num_values)
    drawn_reports: list[IntArray] = []
    law = np.zeros((len(values), len(values) * _DRAWS))
    for place, row in enumerate(values):
        stream = f"sizes of {phase.name}, {place}"
        uniforms = noise.uniforms(protocol="adversary", phase=stream, start=0, stop=_DRAWS, slots=slots)
        drawn_reports.append(mechanism.randomize_rows(np.tile(row, (_DRAWS, 1)), uniforms))
        law[place, place * _DRAWS : (place + 1) * _DRAWS] = 1 / _DRAWS
    return np.concatenate(drawn_reports), law


def _law_of_sizes(law: FloatArray, sizes: IntArray) -> FloatArray:
    """Return the law of the reports' sizes."""
    distinct_sizes, numbers = np.unique(sizes, return_inverse=True)
    law_of_sizes = np.zeros((len(law), len(distinct_sizes)))
    np.add.at(law_of_sizes.T, numbers.reshape(-1), law.T)
    return law_of_sizes


def _sentences(
    context: AttackContext, sizes_of_connections: Mapping[int, int], max_success: float, *, secret: str
) -> list[str]:
    names = {len(name.encode()) for name in context.names}
    sizes = sorted(set(sizes_of_connections.values()))
    sentences = [
        (
            f"{len(sizes_of_connections)} connections were seen, so that it knows how many take part, and when each "
            "reports."
        )
    ]
    if len(sizes) == 1:
        sentences.append(f"Each carried {sizes[0]:,} bytes to the server: no size tells anything of the {secret}.")
    else:
        sentences.append(
            f"They carried {sizes[0]:,} to {sizes[-1]:,} bytes to the server; names have {min(names)} to {max(names)} "
            "bytes, and reports all the same number: sizes tell who has a long name, and no value."
        )
    max_success = round_up(max_success, decimals=3)
    sentences.append(
        f"If numbers took as few bytes as they need, the sizes of a phase would tell up to {max_success:.3f} bits."
    )
    sentences.append("Times are not covered: who answers slowly, or not at all, is seen.")
    return sentences
