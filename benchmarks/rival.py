"""Other people's libraries. Runs by the rivals' interpreter, knows nothing of Psephos.

`rival.py NAME ARGUMENT...` calls that function of this file, which returns how it answers: for each line, a question in
JSON, it prints the answer.
"""

import copy
import importlib
import itertools
import json
import logging
import math
import pathlib
import sys
from collections import Counter
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

import numpy as np
import numpy.typing as npt
from harness import memory

Answer = Callable[[Any], object]
_Codes = npt.NDArray[np.int64]
_COLUMNS = ("tasks", "workers", "labels")
_import: Callable[[str], Any] = importlib.import_module


def _timed(run: Callable[[], Any], clock: Callable[[], float] = perf_counter) -> tuple[Any, float]:
    begin = clock()
    found = run()
    return found, clock() - begin


# A crowd in a folder, and the frame of it that either side gets: ours calls this too.


def save_codes(folder: pathlib.Path, *columns: _Codes) -> None:
    """Write the codes of tasks, workers and labels, one entry for each answer."""
    for name, codes in zip(_COLUMNS, columns, strict=True):
        np.save(folder / f"{name}.npy", codes)


def load_codes(folder: str) -> tuple[_Codes, ...]:
    """Return them."""
    return tuple(np.load(f"{folder}/{column}.npy") for column in _COLUMNS)


def load_frame(folder: str, form: str) -> Any:
    """Return a frame with the columns task, worker and label.

    Args:
        folder: of a crowd.
        form: "codes" for integers, or "names" for text such as t000017, w0017 and l1.
    """
    pandas, columns = _import("pandas"), dict[str, Any]()
    for word, codes in zip(("task", "worker", "label"), load_codes(folder), strict=True):
        columns[word] = codes
        if form == "names":
            number = int(codes.max()) + 1
            width = len(str(number - 1))
            # Named once and then taken: there is never a second copy of so much text.
            names = pandas.array([f"{word[0]}{code:0{width}d}" for code in range(number)], dtype="str")
            columns[word] = names.take(codes)
    return pandas.DataFrame(columns)


def crowd_kit() -> Answer:
    """Truth inference by a class as it is by default: of a crowd's folder, its form and the class.

    It answers seconds, rounds, labels in the order of tasks, and the peak of all memory so far beyond the input.
    """
    classes = _import("crowdkit.aggregation.classification")
    loaded: dict[tuple[str, str], tuple[Any, float]] = {}

    def answer(question: Any) -> object:
        folder, form, name = question
        if (folder, form) not in loaded:
            frame = load_frame(folder, form)
            for kind in ("MajorityVote", "OneCoinDawidSkene", "DawidSkene"):
                getattr(classes, kind)().fit_predict(frame.head(1_000))  # so that what is imported or filled is there
            loaded[folder, form] = frame, memory("VmRSS")
        frame, before = loaded[folder, form]
        aggregator = getattr(classes, name)()
        truths, seconds = _timed(lambda: aggregator.fit_predict(frame))
        rounds, added = len(getattr(aggregator, "loss_history_", [])), memory() - before
        return {"seconds": seconds, "rounds": rounds, "labels": truths.sort_index().tolist(), "added": added}

    return answer


def duckdb() -> Answer:
    """A plain sum over the column `roof` of Parquet files on one thread, of their pattern: it, and seconds of CPU."""
    connection = _import("duckdb").connect(config={"threads": 1})
    query = "SELECT sum(roof::INT) FROM read_parquet(?)"

    def answer(pattern: Any) -> object:
        ((total,),), seconds = _timed(lambda: connection.execute(query, [pattern]).fetchall(), process_time)
        return {"total": int(total), "seconds": seconds}

    return answer


def multi_freq_ldpy(file: str, choices: str, loss: str) -> Answer:
    """Estimated counts of values by its client, a compiled function of one value, or by a compiled loop over these.

    Its aggregator cuts estimates at 0 and scales them to sum to 1. With as many values as here, nothing is cut.
    """
    oracle = _import("multi_freq_ldpy.pure_frequency_oracles.GRR")
    values, number, epsilon = np.load(file), int(choices), float(loss)
    client, listed = oracle.GRR_Client, values.tolist()
    lie = 1 / (math.exp(epsilon) + number - 1)

    def clients() -> Any:
        reports = [client(value, number, epsilon) for value in listed]
        return oracle.GRR_Aggregator_MI(reports, number, epsilon)

    def loop(values: Any) -> Any:
        reports = np.empty_like(values)
        for place in range(len(values)):
            reports[place] = client(values[place], number, epsilon)
        return reports

    run = _import("numba").njit(loop)
    invert = _import("multi_freq_ldpy.estimators.Histogram_estimator").MI

    def compiled() -> Any:
        counts = np.bincount(run(values), minlength=number)
        return invert(counts, len(values), math.exp(epsilon) * lie, lie)

    return _counts({"clients": clients, "compiled": compiled}, len(values))


def pure_ldp(file: str, choices: str, loss: str) -> Answer:
    """Estimated counts of values by direct encoding or by optimal local hashing.

    Its values count from 1 unless told otherwise; 0 would be taken for the last one, without a word.
    """
    oracles, number, epsilon = "pure_ldp.frequency_oracles", int(choices), float(loss)
    encoding, hashing = _import(f"{oracles}.direct_encoding"), _import(f"{oracles}.local_hashing")
    listed = (np.load(file) + 1).tolist()

    def run(client: Any, server: Any) -> Any:
        server.aggregate_all([client.privatise(value) for value in listed])
        return server.estimate_all(range(1, number + 1))

    def clients() -> Any:
        return run(encoding.DEClient(epsilon, number), encoding.DEServer(epsilon, number))

    def hashed() -> Any:
        return run(*(kind(epsilon, number, use_olh=True) for kind in (hashing.LHClient, hashing.LHServer)))

    return _counts({"clients": clients, "hashing": hashed}, 1)


def _counts(contestants: dict[str, Callable[[], Any]], scale: float) -> Answer:
    def answer(name: Any) -> object:
        counts, seconds = _timed(contestants[name])
        return {"seconds": seconds, "counts": [float(count) * scale for count in counts]}

    return answer


def mpyc(party: str, *ports: str) -> Answer:
    """One of the parties of a computation: of what is computed, and the rows of numbers that this party shares.

    The sum of all rows; or whether those who are in favor, of rows of weight and opinion, have half of all weight. It
    takes from sharing to opening. Every party needs as many rows.
    """
    sys.argv = ["mpyc", f"-I{party}", *(f"-Plocalhost:{port}" for port in ports), "--no-log"]
    mpc = _import("mpyc.runtime").mpc  # it reads the arguments
    mpc.run(mpc.start())

    async def compute(what: str, rows: list[list[int]]) -> Any:
        kind, width = mpc.SecInt(64), len(rows[0])
        shared = mpc.input([kind(number) for row in rows for number in row])
        columns = [[number for own in shared for number in own[place::width]] for place in range(width)]
        if what == "sum":
            return list(map(int, await mpc.output([mpc.sum(column) for column in columns])))
        weights, opinions = columns
        return bool(await mpc.output(2 * mpc.in_prod(weights, opinions) >= mpc.sum(weights)))

    def answer(question: Any) -> object:
        found, seconds = _timed(lambda: mpc.run(compute(*question)))
        return {"seconds": seconds, "found": found}

    return answer


def prefsampling(voters: str, dispersion: str, *weights: str) -> Answer:
    """Rankings by a culture and a seed: the seconds, and how often each came, in the order of permutations."""
    ordinal = _import("prefsampling.ordinal")
    known = {"mallows": {"phi": float(dispersion)}, "plackett_luce": {"alphas": list(map(float, weights))}}

    def answer(question: Any) -> object:
        culture, seed = question
        draw = getattr(ordinal, culture)
        votes, seconds = _timed(lambda: draw(int(voters), len(weights), seed=seed, **known[culture]))
        counts = Counter(tuple(map(int, vote)) for vote in votes)
        return {"seconds": seconds, "counts": [counts[own] for own in itertools.permutations(range(len(weights)))]}

    return answer


def pref_voting(file: str) -> Answer:
    """Winners of a profile of orders by a module and its rule; that the profile is made counts."""
    profiles = _import("pref_voting.profiles")
    orders, counts = (found.tolist() for found in np.unique(np.load(file), axis=0, return_counts=True))

    def answer(question: Any) -> object:
        module, name = question
        rule = getattr(_import(f"pref_voting.{module}"), name)
        winners, seconds = _timed(lambda: rule(profiles.Profile(orders, rcounts=counts)))
        return {"seconds": seconds, "winners": sorted(map(int, winners))}

    return answer


def flower() -> Answer:
    """A sum by SecAgg+: of `rows`, how many parties are `leaving` before theirs come, and shares that are `needed`.

    All parties and the server are run, one after another, by Flower's own mod and workflow; each masks with each. It
    answers the CPU seconds of the server, and the sum.
    """
    logging.disable(logging.CRITICAL)
    app, common, server = map(_import, ("flwr.app", "flwr.common", "flwr.server"))
    compat = _import("flwr.compat.common.recorddict_compat")
    constants = _import("flwr.common.secure_aggregation.secaggplus_constants")
    keys = _import("flwr.server.workflow.constant")
    mod = _import("flwr.client.mod.secure_aggregation.secaggplus_mod").secaggplus_mod
    proxies = _import("flwr.server.compat.grid_client_proxy")
    fedavg = _import("flwr.server.strategy").FedAvg
    workflow = _import("flwr.server.workflow.secure_aggregation").SecAggPlusWorkflow
    identity = _import("flwr.supercore.task_identity").TaskIdentity
    identity.run_id, identity.task_id, identity.node_id = 1, 1, 0

    def parameters(row: Any) -> Any:
        return common.ndarrays_to_parameters([np.array(row, dtype=np.float64)])

    class Parties:
        """All parties, in the place of a grid of nodes."""

        def __init__(self, rows: list[list[int]], leaving: int) -> None:
            self.rows, self.leaving, self.seconds = rows, leaving, 0.0
            self.contexts = [app.Context(1, 1 + place, {}, app.RecordDict(), {}) for place in range(len(rows))]

        def send_and_receive(self, messages: Any, *, timeout: float | None = None) -> list[Any]:
            """Return the answers of those who are there."""
            del timeout
            answers: list[Any] = []
            for message in messages:
                place = message.metadata.dst_node_id - 1
                message.content = copy.deepcopy(message.content)  # between machines it is another object
                configuration = message.content.config_records[constants.RECORD_KEY_CONFIGS][constants.Key.STAGE]
                if configuration != constants.Configuration.COLLECT_MASKED_VECTORS or place >= self.leaving:
                    said, seconds = _timed(lambda: mod(message, self.contexts[place], self.fit), process_time)  # noqa: B023  it is run at once
                    answers.append(said)
                    self.seconds += seconds
            return answers

        def fit(self, message: Any, _context: Any) -> Any:
            """Return a party's row as what it has fitted, of weight 1."""
            row = parameters(self.rows[message.metadata.dst_node_id - 1])
            fitted = common.FitRes(common.Status(common.Code.OK, ""), row, 1, {})
            return app.Message(compat.fitres_to_recorddict(fitted, keep_input=False), reply_to=message)

    def answer(question: Any) -> object:
        rows, leaving, needed = question
        number, manager, parties = len(rows), server.SimpleClientManager(), Parties(rows, leaving)
        for place in range(number):
            manager.register(proxies.GridClientProxy(place + 1, None, 1))
        strategy = fedavg(fraction_fit=1.0, min_fit_clients=number, min_available_clients=number)
        context = app.Context(1, 0, {}, app.RecordDict(), {})
        context = server.LegacyContext(context, strategy=strategy, client_manager=manager)
        state = context.state
        state.config_records[keys.MAIN_CONFIGS_RECORD] = app.ConfigRecord({keys.Key.CURRENT_ROUND: 1})
        start = parameters([0] * len(rows[0]))
        state.array_records[keys.MAIN_PARAMS_RECORD] = compat.parameters_to_arrayrecord(start, keep_input=True)
        _, seconds = _timed(lambda: workflow(1.0, needed, max_weight=1.0)(parties, context), process_time)
        found = compat.arrayrecord_to_parameters(state.array_records[keys.MAIN_PARAMS_RECORD], keep_input=True)
        (mean,) = common.parameters_to_ndarrays(found)
        total = [round(own) for own in (mean * (number - leaving)).tolist()]
        return {"seconds": seconds - parties.seconds, "found": total}

    return answer


def _main() -> None:
    name, *arguments = sys.argv[1:]
    answer: Answer = globals()[name](*arguments)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    _main()
