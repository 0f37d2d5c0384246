"""One party of a sum by MPyC. Runs by the rivals' interpreter, knows nothing of Psephos.

`rival_sum.py -M NUM_PARTIES -I PARTY -B PORT --no-log`, with MPyC's own options, connects to the other parties. Then,
for each line, a JSON array of the rows for which this party shares, all parties open the sum of all rows; party 0
prints the seconds from sharing to the opened sum, and the sum, as JSON. Every party needs as many rows.
"""

import asyncio
import importlib
import json
import sys
from time import perf_counter
from typing import Any

__all__: list[str] = []

_BITS = 64


async def _main(mpc: Any) -> None:
    secure_integer: Any = mpc.SecInt(_BITS)
    await mpc.start()
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        rows: list[list[int]] = json.loads(line)
        begin = perf_counter()
        total = await _sum(mpc, secure_integer, rows)
        seconds = perf_counter() - begin
        if mpc.pid == 0:
            print(json.dumps({"seconds": seconds, "total": total}), flush=True)


async def _sum(mpc: Any, secure_integer: Any, rows: list[list[int]]) -> list[int]:
    """Share all rows, and open their sum; nothing else."""
    width = len(rows[0])
    shared: list[list[Any]] = mpc.input([secure_integer(number) for row in rows for number in row])
    totals = [mpc.sum([number for party in shared for number in party[column::width]]) for column in range(width)]
    return [int(total) for total in await mpc.output(totals)]


if __name__ == "__main__":
    _runtime: Any = importlib.import_module("mpyc.runtime")  # it reads the arguments
    _runtime.mpc.run(_main(_runtime.mpc))
