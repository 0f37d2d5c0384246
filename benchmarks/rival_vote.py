"""One party of a weighted vote by MPyC. Runs by the rivals' interpreter, knows nothing of Psephos.

`rival_vote.py -M NUM_PARTIES -I PARTY -B PORT --no-log`, with MPyC's own options, connects to the other parties. Then,
for each line, a JSON array of the [weight, opinion] of the partners for whom this party shares, it runs a vote; party 0
prints the seconds from sharing to the opened decision, and the decision, as JSON. Every party needs as many pairs.
"""

import asyncio
import importlib
import json
import sys
from time import perf_counter
from typing import Any

__all__: list[str] = []


async def _main(mpc: Any) -> None:
    secure_integer: Any = mpc.SecInt()
    await mpc.start()
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        pairs: list[tuple[int, int]] = json.loads(line)
        begin = perf_counter()
        passed = await _vote(mpc, secure_integer, pairs)
        seconds = perf_counter() - begin
        if mpc.pid == 0:
            print(json.dumps({"seconds": seconds, "passed": passed}), flush=True)


async def _vote(mpc: Any, secure_integer: Any, pairs: list[tuple[int, int]]) -> bool:
    """Share weights and opinions, and open whether those in favor have at least half of all weight; nothing else."""
    numbers = [secure_integer(number) for pair in pairs for number in pair]
    shared: list[list[Any]] = mpc.input(numbers)
    weights = [number for party in shared for number in party[0::2]]
    opinions = [number for party in shared for number in party[1::2]]
    support, total = mpc.in_prod(weights, opinions), mpc.sum(weights)
    return bool(await mpc.output(2 * support >= total))


if __name__ == "__main__":
    _runtime: Any = importlib.import_module("mpyc.runtime")  # it reads the arguments
    _runtime.mpc.run(_main(_runtime.mpc))
