"""Where the workers of a truth-discovery session come from: a table's fields, files of answers, crowds and frames."""

from collections.abc import Mapping
from typing import Any, Final

from ....protocol.truth_discovery.parameters import PRICES
from ...reading.frames import FrameText
from ...reading.sources import PartiesTable, PartySources
from ...reading.text_forms import header_of
from .crowd import Crowd
from .parties import FIELD, load_workers
from .streams import stream_workers


def _read(parties: str | Mapping[str, Any], *, parameters: Mapping[str, Any]) -> PartiesTable | None:
    """Return the workers, unless a file has a line for each of them rather than for each answer."""
    if isinstance(parties, str) and {"worker", "tasks"} <= set(header_of(parties)):
        return None
    return load_workers(parties, parameters=parameters)


def _unpack(crowd: Any) -> Mapping[str, object] | None:
    """Return a crowd's answers, what is true, and its answer set where all tasks have one, as settings."""
    if not isinstance(crowd, Crowd):
        return None
    from .frames import crowd_to_frame  # noqa: PLC0415  only frames need pandas

    answers, truth = crowd_to_frame(crowd)
    settings: dict[str, object] = {f"{FIELD}.answers": FrameText.of("answers", answers)}
    if len(truth):
        settings[f"{FIELD}.truth"] = FrameText.of("truth", truth.rename("truth").reset_index())
    if len(crowd.answer_sets) == 1 and crowd.are_labels_said:
        settings["parameters.answer_sets"] = [list(crowd.answer_sets[0])]
    return settings


SOURCES: Final = PartySources(
    read=_read,
    stream=stream_workers,
    paths=("answers", "truth", "manifest"),
    synthetic=frozenset({"stand_in"}),
    published=frozenset({"answers"}),
    parameters_of_table=frozenset({"tasks", "answer_sets", "answer_set_of_task", "max_answers"}),
    parameters_of_public_columns=frozenset({"tasks", "answer_set_of_task", "max_answers"}),
    alternatives=(PRICES | {"epsilons"},),
    words={"answers": "answers", "truth": "truth"},
    unpack=_unpack,
)
