"""The primitives of masked sums, whose results are remembered: pure functions of what they are given.

A party that comes back computes again all that it has said before; of a process that dies by the dozen that is most of
the work. Nothing is left out: each result was computed by the real primitives, of just these arguments.
"""

import functools
from collections.abc import Callable
from typing import Final

from psephos.agents.masking import Cryptography

__all__ = ["Remembering", "remembering_signer"]

_PRIMITIVES: Final = Cryptography()
_remembering: Final = functools.lru_cache(maxsize=1 << 14)


@_remembering
def _agreement(private: bytes) -> Callable[[bytes], bytes]:
    return _remembering(_PRIMITIVES.agreement(private))


class Remembering(Cryptography):
    """`Cryptography`, where one process runs all parties again and again."""

    base = staticmethod(_remembering(_PRIMITIVES.base))
    times = staticmethod(_remembering(_PRIMITIVES.times))
    plus = staticmethod(_remembering(_PRIMITIVES.plus))
    is_point = staticmethod(_remembering(_PRIMITIVES.is_point))
    agreement = staticmethod(_agreement)
    derive = staticmethod(_remembering(_PRIMITIVES.derive))
    expand = staticmethod(_remembering(_PRIMITIVES.expand))
    seal = staticmethod(_remembering(_PRIMITIVES.seal))
    open = staticmethod(_remembering(_PRIMITIVES.open))
    verify = staticmethod(_remembering(_PRIMITIVES.verify))


def remembering_signer(sign: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Return what signs as `sign` does, which is deterministic (Ed25519)."""
    return functools.lru_cache(maxsize=1 << 10)(sign)
