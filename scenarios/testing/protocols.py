"""A conformance suite for protocols, for any test runner.

    from psephos.scenarios.testing import check_protocol

    def test_the_mean_keeps_its_promises():
        salaries = {f"voter-{number}": (2_000.0 + 5 * number,) for number in range(40)}
        check_protocol(BoundedMean(Bounds(low=0.0, high=10_000.0, epsilon=2.0)), salaries)

A protocol that passes may still be wrong. A protocol that fails is wrong, and the message names the promise in
`PROTOCOL_PROMISES` that it broke. Checks use the given rows, so give different rows of every kind.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ...protocol.errors import ConfigurationError
from ...protocol.phases import PhasedProtocol
from ...transports.promises import check_promise, sentence_of
from .cases import ProtocolCase, Rows
from .declared import DECLARED, check_columns
from .estimated import check_estimates
from .released import RELEASED
from .reported import REPORTED

_CHECKS: Final[Mapping[str, Callable[[ProtocolCase], None]]] = {
    sentence_of(check): check for check in (*DECLARED, *REPORTED[:-3], *RELEASED, check_estimates, *REPORTED[-3:])
}

PROTOCOL_PROMISES: Final = tuple(_CHECKS)
"""The promises in the order of their checks; each may rely on the previous ones. The last four draw many outputs."""


def check_protocol(
    protocol: PhasedProtocol[Any, Any], rows: Rows, *, seed: int = 1, promises: Sequence[str] = PROTOCOL_PROMISES
) -> None:
    """Check that a protocol fulfills its contract with the framework.

    Args:
        protocol: the protocol; new ones are made from its type and parameters.
        rows: rows of at least two and at most some hundred parties: entries by party, in the order of
            `protocol.columns()`, as for `simulate`; or a table of entries by column; or `Inputs`.
        seed: the seed of all noise, so that results are repeatable.
        promises: the promises to check, from `PROTOCOL_PROMISES`.

    Raises:
        AssertionError: a promise was broken; the message begins with the promise.
        ConfigurationError: there are fewer than two parties, so that merging of tallies cannot be checked; or a promise
            is unknown.

    Privacy:
        Nothing is proven. An audit of a few pairs of rows (replace-one; unit: a party's whole row; against an observer
        of its reports, or in the central model of the release) finds only gross errors. At a new seed, a correct
        protocol fails by chance with a probability below 1e-6.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("roof",), weights=(1.0, 2.0), epsilon=1.0))
        >>> rows = {"ann": (1, 1), "bob": (2, 0), "cid": (1, 1)}
        >>> check_protocol(vote, rows, promises=PROTOCOL_PROMISES[:2])
    """
    case = ProtocolCase(protocol, rows, seed)
    with check_promise(sentence_of(check_columns)):  # needed to distinguish a table from parties
        number = len(case)
    if number < 2:  # noqa: PLR2004  two are the fewest that can be apart
        raise ConfigurationError(field="rows", value=f"{number} of them", allowed="at least two parties'")
    for unknown in [promise for promise in promises if promise not in _CHECKS][:1]:
        raise ConfigurationError(field="promises", value=unknown, allowed="some of PROTOCOL_PROMISES")
    for promise in promises:
        with check_promise(promise):
            _CHECKS[promise](case)
