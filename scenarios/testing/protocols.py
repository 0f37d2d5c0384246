"""A conformance suite for protocols: whoever writes one checks it here, whatever test runner they use.

    from psephos.scenarios.testing import check_protocol

    def test_the_mean_keeps_its_promises():
        salaries = {f"voter-{number}": (2_000.0 + 5 * number,) for number in range(40)}
        check_protocol(BoundedMean(Bounds(low=0.0, high=10_000.0, epsilon=2.0)), salaries)

A protocol that passes may still be wrong; one that fails is, and the sentence says which of `PROTOCOL_PROMISES` it
broke. What is checked is checked on these rows: rows of every kind, and different ones, show most.
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
"""What is checked, in this order: each promise may rely on those before it. The last four draw many outputs."""


def check_protocol(
    protocol: PhasedProtocol[Any, Any], rows: Rows, *, seed: int = 1, promises: Sequence[str] = PROTOCOL_PROMISES
) -> None:
    """Check that a protocol is what the framework takes it for.

    Args:
        protocol: with its parameters; its type is made again from them.
        rows: of two parties at least and some hundred at most: each party's entries by its name, in the order of
            `protocol.columns()`, as `simulate` takes them; or a table, by column each party's entry; or `Inputs`.
        seed: of all noise, so that a verdict never changes.
        promises: those to check, of `PROTOCOL_PROMISES`.

    Raises:
        AssertionError: a promise was broken; the message begins with the promise.
        ConfigurationError: there are fewer than two parties, of which tallies could not be told to add, or a promise is
            asked for that is none.

    Privacy:
        Nothing is proven. An audit of a few pairs of rows (replace-one, unit: a party's whole row, against whoever sees
        its reports, or in the central model the release) finds gross faults alone. A protocol that keeps all promises
        breaks one by bad luck, at a new seed, with a probability below 1e-6.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("roof",), weights=(1.0, 2.0), epsilon=1.0))
        >>> rows = {"ann": (1, 1), "bob": (2, 0), "cid": (1, 1)}
        >>> check_protocol(vote, rows, promises=PROTOCOL_PROMISES[:2])
    """
    case = ProtocolCase(protocol, rows, seed)
    with check_promise(sentence_of(check_columns)):  # by which a table is told from parties
        number = len(case)
    if number < 2:  # noqa: PLR2004  two are the fewest that can be apart
        raise ConfigurationError(field="rows", value=f"{number} of them", allowed="at least two parties'")
    for unknown in [promise for promise in promises if promise not in _CHECKS][:1]:
        raise ConfigurationError(field="promises", value=unknown, allowed="some of PROTOCOL_PROMISES")
    for promise in promises:
        with check_promise(promise):
            _CHECKS[promise](case)
