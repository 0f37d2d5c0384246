"""Make a scenario from a frame: find its system by the columns, as `psephos new` does for a file.

Nothing is guessed. A frame belongs to a system if only that system can draft a scenario from it, or if only that
system's column names are all present. Otherwise an error says which columns each system expects.
"""

from ...protocol.errors import ConfigurationError, require
from ..reading.frames import AnyFrame, FrameText, name_rows_in_errors, path_of
from ..system import find_protocol, load_each
from .config import Scenario
from .draft_text import format_line, price_line, trust_line
from .drafts import Draft, SavedTable, ScenarioTemplate, UnclearError, draft_of
from .parties import sources_of


def scenario_of_frame(frame: AnyFrame, *, epsilon: float | None, trust: str | None) -> tuple[Scenario, tuple[str, ...]]:
    """Return a scenario for a frame's parties, and sentences on its content, trust and ε.

    Args:
        frame: a frame of pandas, polars or pyarrow.
        epsilon: the proven ε of a party; by default that of `psephos new`.
        trust: "local" or "central"; by default "local".

    Raises:
        ConfigurationError: the columns match no system or several; or a value or argument is not allowed.
    """
    frame_text = FrameText.of("parties", frame)
    with name_rows_in_errors(frame_text):
        protocol, beginning, draft = _told(frame_text)
    has_models = bool(find_protocol(protocol).settings_by_trust)
    allowed = "local or central" if has_models else f"left out: {protocol} has one model"
    is_known = has_models and any(trust == each for each in ("local", "central"))  # `trust` may be unhashable
    require(trust is None or is_known, "trust", trust, allowed)
    price = price_line(draft, beginning.epsilon if epsilon is None else epsilon)
    lines = [trust_line(trust or "local")] if has_models else []
    scenario = Scenario(
        name=beginning.word,
        protocol=protocol,
        trust="".join(line.value for line in lines),
        parameters={line.key: line.value for line in (*draft.parameters, price)},
        parties={line.key: line.value for line in draft.parties},
    )
    return scenario, (*draft.said, *map(format_line, (*lines, price)))


def _told(frame_text: FrameText) -> tuple[str, ScenarioTemplate, Draft]:
    """Return the frame's system, and the draft of its scenario."""
    drafts = dict[str, tuple[str, ScenarioTemplate, Draft]]()
    named_protocols, understood_protocols = (
        set[str](),
        set[str](),
    )  # systems whose column names are all present; systems that refuse for another reason
    unclear = set[str]()  # systems with open questions
    looked_for, words, header = list[str](), list[str](), list[str]()
    fault: ConfigurationError | None = None
    for protocol, beginning in load_each("beginning", ScenarioTemplate):
        sheet, word = (
            SavedTable.of(path_of(frame_text), data_path=frame_text, wanted_columns=beginning.wanted),
            beginning.word,
        )
        header = [*sheet.header]
        named_protocols |= {word} if {*beginning.wanted} <= {*header} else set()
        words += [f"{parties_word}=frame" for parties_word in sources_of(find_protocol(protocol)).words][:1]
        try:
            drafts[word] = protocol, beginning, draft_of(beginning, sheet, {})
        except UnclearError as error:
            looked_for.append(f"{word} ({error.question})")
            unclear.add(word)
        except ConfigurationError as error:
            looked_for.append(f"{word} ({error.allowed})")
            if error.field != f"{frame_text} line 1":  # the error is not about columns
                understood_protocols.add(word)
                fault = error
    fitting = (drafts.keys() | unclear) & named_protocols or {*drafts}
    if len(fitting) == 1 and fitting <= drafts.keys():
        return drafts[fitting.pop()]
    way_out = f"or load(NAME, ...) of a scenario NAME says what it is, with one of {', '.join(words)}"
    if not drafts and fault is not None and len(understood_protocols) == 1 and named_protocols <= understood_protocols:
        raise ConfigurationError(field=fault.field, value=fault.value, allowed=f"{fault.allowed}; {way_out}")
    candidates_text = (
        f"{' and '.join(sorted(fitting))} both fit" if len(fitting) > 1 else f"looked for: {'; '.join(looked_for)}"
    )
    allowed = f"a frame whose columns tell what it is ({candidates_text}); {way_out}"
    raise ConfigurationError(field=frame_text, value=f"columns {', '.join(header)}", allowed=allowed)
