"""DuckDB's plain sum over a column of Parquet files. Runs by the rivals' interpreter, knows nothing of Psephos.

For each line that is a pattern of files, it adds up the column `roof` on one thread, and prints as JSON the sum and the
seconds of CPU.
"""

import importlib
import json
import sys
import time
from typing import Any

__all__: list[str] = []


def _main() -> None:
    duckdb: Any = importlib.import_module("duckdb")
    connection = duckdb.connect(config={"threads": 1})
    for line in sys.stdin:
        began = time.process_time()
        ((total,),) = connection.execute("SELECT sum(roof::INT) FROM read_parquet(?)", [line.strip()]).fetchall()
        print(json.dumps({"total": int(total), "seconds": time.process_time() - began}), flush=True)


if __name__ == "__main__":
    _main()
