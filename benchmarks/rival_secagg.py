"""A sum by Flower's SecAgg+. Runs by the rivals' interpreter, knows nothing of Psephos.

`rival_secagg.py`: for each line, a JSON object of `rows`, of how many `leaving` parties are gone before their masked
rows come, and of how many shares are `needed`, all parties and the server are run, one after another, by Flower's own
mod and workflow; each masks with each. What it prints is JSON: the CPU seconds of the server, those of the median party
that stays, and the sum.
"""

import copy
import json
import logging
import statistics
import sys
from importlib import import_module
from time import process_time
from typing import Any, Final

import numpy as np

__all__: list[str] = []

_ROUND: Final = 1
_app: Any = import_module("flwr.app")
_common: Any = import_module("flwr.common")
_compat: Any = import_module("flwr.compat.common.recorddict_compat")
_constants: Any = import_module("flwr.common.secure_aggregation.secaggplus_constants")
_keys: Any = import_module("flwr.server.workflow.constant")
_mod: Any = import_module("flwr.client.mod.secure_aggregation.secaggplus_mod")
_server: Any = import_module("flwr.server")
_proxies: Any = import_module("flwr.server.compat.grid_client_proxy")
_strategy: Any = import_module("flwr.server.strategy")
_workflow: Any = import_module("flwr.server.workflow.secure_aggregation")
_identity: Any = import_module("flwr.supercore.task_identity").TaskIdentity


def _parameters(row: list[int]) -> Any:
    return _common.ndarrays_to_parameters([np.array(row, dtype=np.float64)])


class _Parties:
    """All parties, in the place of a grid of nodes.

    Args:
        rows: of all.
        leaving: so many are gone before their masked rows come.
    """

    def __init__(self, rows: list[list[int]], leaving: int) -> None:
        self._rows, self._leaving = rows, leaving
        self._contexts = [_app.Context(1, place + 1, {}, _app.RecordDict(), {}) for place in range(len(rows))]
        self.seconds = [0.0] * len(rows)

    def send_and_receive(self, messages: Any, *, timeout: float | None = None) -> list[Any]:
        """Return the answers of those who are there."""
        del timeout
        answers: list[Any] = []
        for message in messages:
            place = message.metadata.dst_node_id - 1
            message.content = copy.deepcopy(message.content)  # between machines it is another object
            stage = message.content.config_records[_constants.RECORD_KEY_CONFIGS][_constants.Key.STAGE]
            if stage == _constants.Stage.COLLECT_MASKED_VECTORS and place < self._leaving:
                continue
            begin = process_time()
            answers.append(_mod.secaggplus_mod(message, self._contexts[place], self._fit))
            self.seconds[place] += process_time() - begin
        return answers

    def _fit(self, message: Any, _: Any) -> Any:
        """Return a party's row as what it has fitted, of weight 1."""
        place: int = message.metadata.dst_node_id - 1
        fitted = _common.FitRes(_common.Status(_common.Code.OK, ""), _parameters(self._rows[place]), 1, {})
        return _app.Message(_compat.fitres_to_recorddict(fitted, keep_input=False), reply_to=message)


def _sum(rows: list[list[int]], leaving: int, needed: int) -> dict[str, Any]:
    number, manager, parties = len(rows), _server.SimpleClientManager(), _Parties(rows, leaving)
    for place in range(number):
        manager.register(_proxies.GridClientProxy(place + 1, None, 1))
    strategy = _strategy.FedAvg(fraction_fit=1.0, min_fit_clients=number, min_available_clients=number)
    context = _app.Context(1, 0, {}, _app.RecordDict(), {})
    context = _server.LegacyContext(context, strategy=strategy, client_manager=manager)
    state = context.state
    state.config_records[_keys.MAIN_CONFIGS_RECORD] = _app.ConfigRecord({_keys.Key.CURRENT_ROUND: _ROUND})
    start = _compat.parameters_to_arrayrecord(_parameters([0] * len(rows[0])), keep_input=True)
    state.array_records[_keys.MAIN_PARAMS_RECORD] = start
    begin = process_time()
    _workflow.SecAggPlusWorkflow(1.0, needed, max_weight=1.0)(parties, context)
    seconds = process_time() - begin - sum(parties.seconds)
    found = _compat.arrayrecord_to_parameters(state.array_records[_keys.MAIN_PARAMS_RECORD], keep_input=True)
    (mean,) = _common.parameters_to_ndarrays(found)
    return {
        "seconds": seconds,
        "party": statistics.median(parties.seconds[leaving:]),
        "total": [round(number) for number in (mean * (number - leaving)).tolist()],
    }


def _main() -> None:
    logging.disable(logging.CRITICAL)
    _identity.run_id = _identity.task_id = 1
    _identity.node_id = 0
    for line in sys.stdin:
        print(json.dumps(_sum(**json.loads(line))), flush=True)


if __name__ == "__main__":
    _main()
