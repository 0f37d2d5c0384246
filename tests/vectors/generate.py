"""Writes the test vectors of `v10/`: whole sessions, good ones and ones that must fail, transcripts and uniforms.

Everything in them follows from the modules here, so a second run writes the same bytes. `README.md` has the schema. Run
it with `python -m vectors.generate` in `tests/`, after a change of the wire that is meant, and then as a new version.
"""

import json
import pathlib
from collections.abc import Callable, Mapping
from typing import Final

from psephos.protocol.messages import PROTOCOL_VERSION

from . import ballots, crowds, durable, masked, partners, preferences
from .recorder import Recorder, in_json
from .transcripts import TRANSCRIPTS, transcripts
from .uniforms import UNIFORMS, uniforms

FOLDER: Final = pathlib.Path(__file__).parent / f"v{PROTOCOL_VERSION}"
VECTORS: Final[Mapping[str, Callable[[], Recorder]]] = {
    **partners.VECTORS,
    **crowds.VECTORS,
    **preferences.VECTORS,
    **ballots.VECTORS,
    **masked.VECTORS,
    **durable.VECTORS,
}
LISTS: Final = {TRANSCRIPTS: transcripts, UNIFORMS: uniforms}
NAMES: Final = (*VECTORS, *LISTS)
"""Of all files."""


def render(name: str) -> str:
    """Return the text of one file."""
    plain = LISTS[name]() if name in LISTS else VECTORS[name]().render()
    return json.dumps(in_json(plain), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all files of this version."""
    FOLDER.mkdir(exist_ok=True)
    for name in NAMES:
        (FOLDER / f"{name}.json").write_text(render(name), encoding="utf-8")


if __name__ == "__main__":
    main()
