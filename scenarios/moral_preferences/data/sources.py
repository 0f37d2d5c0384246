"""Where the voters of a session on moral preferences come from: a table's fields, and files of records or responses."""

from collections.abc import Mapping
from typing import Any, Final

from ...reading.sources import PartiesTable, PartySources
from ...reading.text_forms import header_of
from .parties import OwnEpsilons, load_voters
from .streams import stream_voters

_PRICES: Final = frozenset({"epsilon", "epsilons"})


def _read(parties: str | Mapping[str, Any], *, parameters: Mapping[str, Any]) -> PartiesTable | None:
    """Return the voters, unless a file has a line for each of them rather than two for each record."""
    del parameters
    if isinstance(parties, str) and "voter" in (header := header_of(parties)) and "record" not in header:
        return None
    return load_voters(parties)


SOURCES: Final = PartySources(
    read=_read,
    stream=lambda parties, _: stream_voters(parties),
    paths=("choices", "responses", "epsilons", "manifest"),
    synthetic=frozenset({"generator"}),
    published=frozenset({"choices", "responses"}),
    own_parameters=dict.fromkeys(OwnEpsilons.__struct_fields__, _PRICES),
    parameters_of_table=frozenset({"features", "epsilons", "societies"}),
    parameters_of_public_columns=frozenset({"epsilons", "societies"}),
    implied_parameters=frozenset({"max_records"}),
    alternatives=(_PRICES,),
    words={"records": ""},
)
