"""Message catalogues: what the code says, taken over into each language's .po, and compiled to the .mo that is read.

    python tests/catalogues.py     # after a sentence of the code, or a translation, has changed

A message is a constant that `say`, `marked`, `say_again`, `say_number` or `some` takes, or that stands where a page or
a picture says what it is given: a title, a caption, a header, a label of a legend. One in which something is filled in
at once, as `marked(f"{number:,} of {people}")`, has its places by the last name of each; with `!s` they hold words of
ours, whose constants are messages too.
"""

import ast
import datetime as dt
import functools
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from psephos.protocol.privacy import SEMI_HONEST, TrustModel
from psephos.scenarios.presentation.terminal import title_of

__all__ = ["FOLDER", "LANGUAGES", "compiled", "messages", "read", "written"]

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "scenarios" / "languages"
LANGUAGES: Final = ("de", "fr")
PAGES: Final = tuple(f"scenarios/reports/{name}.py" for name in ("page", "run_page", "series_page", "blocks"))
SAID: Final = frozenset({"title", "words", "caption", "x", "y"})
"""Keywords whose constants a page or a picture says."""
_SAYING: Final = frozenset({"Table", "clean", "name_rows", "UnclearError", "Line", "chosen_column", "given_or_asked"})
"""What says these as well, wherever it is called."""
_SAYS_SOMETHING: Final = re.compile(
    rf"\b(?:say|say_again|say_number|marked|show_note|some|{'|'.join(sorted(_SAYING))})\(|\bmarks\b"
)
"""Where a module that is no page says something."""
_TELLING: Final = (ast.AnnAssign, ast.Call, ast.Subscript)
"""By what nodes it does."""
_OF_DRAFTS: Final = frozenset({"question", "comment"})
"""Keywords whose texts `psephos new` asks, or writes behind what they explain."""
_ELSEWHERE: Final = (
    *("paper/", "experiments/", "/audit/", "calibration", "curves.py"),
    *("objects.py", "scenarios/words.py", "study_pages.py", "comparison.py", "power", "trade_off"),
)
"""What stands on no page of a run; those are English."""
_LESSONS: Final = re.compile(r"/adversaries/(?!reading|trials)|_role\.py$|/attack/(poisoning|asking)\.py$")
"""Modules of adversaries: all that they say is a message."""
_REFUSES: Final = (
    "cast",
    "decode",
    "with_mechanism",
    "SimulatedNoise",
    "infer",
    "check_",
    "refuse",
    "require",
    "place_of",
    "uniforms",
    "evaluate_isolation",
    "ClassVar",
    "getattr",
)
_UNSAID: Final = frozenset(
    {"value", "stream", "session", "allowed", "field", "hint", "name_of_role", "knows", "style", "protocol", "phase"}
)
_LABELS: Final = frozenset({"name", "title", "x_label", "y_label", "who", "row"})
_SAYS: Final = re.compile(r"""\bsay\("([^"]+)\"""")

_CAVEAT: Final = (
    "Its posteriors after {votes:,} sessions are approximations, which may be far off and depend on the order of the "
    "sessions: answers that share a flip probability would have to be added up together."
)
_NO_BUDGET: Final = (
    "the privacy budget holds epsilon = {remaining:g}, requested {requested:g} (unit: {unit!s}, {relation!s} "
    "neighbors); nothing was drawn"
)
_AGAINST: Final = (
    TrustModel.CENTRAL.against,
    TrustModel.DISTRIBUTED.against,
    f"{TrustModel.CENTRAL.against}, with as many parties as the session states",
)
_REFUSED: Final = (
    *("{field} must be {allowed}", "{field} must be {allowed}, got {value}", " (did you mean {word}?)"),
    *("one of {values} (did you mean {word}?)", "a column of {name}: {shown} (did you mean {word}?)"),
    *("in [{low}, {high}]", "positive and finite", "of the form key=value", "a point or a comma"),
    *("a readable CSV file ({reason!s})", "No such file or directory", "Permission denied", "Is a directory"),
    *("File exists", "Not a directory", "the journal {path} is in use by {who}: wait until that has ended"),
    _NO_BUDGET,
)
"""What the commonest refusals are made of that are raised where nothing is marked (`scenarios.words.refused`)."""
WORDS: Final = (
    *_REFUSED,
    _CAVEAT,
    *("cloud server", "aggregator", "server", "replace-one", "add-remove-one"),
    *("join", "weights", "opinions", "votes", "answers", "rankings", "preferences", "release"),
    *("randomized response", "Laplace noise on preferences", "discrete Laplace noise on sums"),
    *("shares of discrete Laplace noise on sums", "shares of discrete Laplace noise on summaries"),
    "shares of discrete Laplace noise on sums, semi-honest server only",
    "shares of discrete Laplace noise on summaries, semi-honest server only",
    *("discrete Laplace noise on counts", "Laplace noise on coefficients"),
    *("spherical Laplace noise on directions", "a matrix of one's own"),
    *("weight", "opinion", "answer", "record", "weight and opinions", "all answers of a worker"),
    *("one weight", "one opinion", "one answer", "one record", "one voter", "one weight and opinions"),
    *("tasks", "group", "society", "epsilon"),
    *("Alternative", "Wins", "Probability of best", "Welfare", "Disparity", "Utility", "Least", "Most"),
    *(
        "True welfare",
        "True disparity",
        "True utility",
        "Feature",
        "Preference",
        "Clean preference",
        "Society",
        "Standard error",
    ),
    *(
        "Report",
        "Series of votes",
        "One party's session",
        "yes",
        "no",
        "truth",
        "; ",
        *("By", "differs", "crossings", "{title!s}, ε = {epsilon:g}: {said!s}"),
        "simulated noise",
        "secure noise",
        *("all of it on a page, for a browser", "the outcome as a picture", "the outcome as a table"),
        *("the outcome for programs, to the last digit", "every loss of every party: psephos ledger adds them up"),
        *("how it ran", "error over ε as a picture", "each variant at each price that was tried"),
        *("the plan for programs", "semicolons", "tabs", "vertical bars", "rankings", "choices", "values"),
        *("When", "Outcome", "In all", "Left", "Reports", "simulation", "deployment", "up", "down", "Phase"),
        *("known by their certificates", "known by their names alone", " for replace-one neighbors"),
        *("who comes is written nowhere", "who comes and goes is in {events}", "yes or no", "one of {values}"),
        *(
            "everyone else, even if all of them collude",
            *_AGAINST,
            *(f"{whom} ({SEMI_HONEST})" for whom in _AGAINST[1:]),
        ),
        *("all of {names}, the best first, with {sign} between them", "the voter's group, one of {groups}"),
        *("the voter's ε, one of {levels}", "the voter's, one of {societies}", "{labels}; or nothing, to skip it"),
        *(
            "changed",
            "changed",
            "left",
        ),
        *("coalition", "asker", "poisoner", "sybils", "leaver", "liar", "replayer", "equivocator", "network-observer"),
        *("selective-abort", "collusion-sweep", "misreporter", "differencing", "membership", "record-inference"),
        *(
            "local",
            "central",
            "coefficients",
            "{what!s}: {said!s}",
            "the cloud server",
            "ranking",
            "favorite",
            "once",
            "pair",
            "membership",
            "row",
        ),
    ),
)
"""What protocols are made of is said as it is called; a test finds which are missing."""
NOUNS: Final = (
    "release",
    "partner",
    "voter",
    "worker",
    "minute",
    "hour",
    "day",
    "week",
    "candidate",
    "feature",
    "task",
    "vote",
)
"""What protocols and their sessions have, by its name."""


def _constants(node: ast.expr | None) -> Iterator[str]:
    """Yield the texts that an expression may be."""
    match node:
        case ast.Constant(value=str(text)) if text:
            yield text
        case ast.IfExp(body=body, orelse=orelse):
            yield from _constants(body)
            yield from _constants(orelse)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _constants(part.value if isinstance(part, ast.Starred) else part)
        case _:
            return


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _assigned(tree: ast.AST) -> Mapping[str, list[ast.expr]]:
    """Return what stands for each name in a function, or in a module."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, []).append(value)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                for target, value in zip(names, values, strict=True):
                    found.setdefault(_name(target), []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found.setdefault(name, []).append(value)
            case _:
                pass
    return found


def _place(node: ast.expr) -> str:
    """Return what a place is called in which a value is filled in at once: the last name in it."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.strip("_").lower()
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return re.sub(r"\W+", "_", key)
        case ast.Subscript(value=value) | ast.Starred(value=value) | ast.BinOp(left=value) | ast.IfExp(test=value):
            return _place(value)
        case ast.Call(args=[*_, last]) if not isinstance(last, ast.Constant):
            return _place(last)
        case ast.Call(func=func):
            return _place(func)
        case ast.GeneratorExp(elt=value) | ast.FormattedValue(value=value) | ast.JoinedStr(values=[value, *_]):
            return _place(value)
        case _:
            return "word"


def _filled(node: ast.JoinedStr) -> str:
    """Return the message of a text in which something is filled in at once."""
    said: list[str] = []
    places: dict[str, str] = {}
    for part, after in zip(node.values, [*node.values[1:], None], strict=True):
        match part:
            case ast.Constant(value=str(text)):
                said.append(text)
            case ast.FormattedValue(value=value, conversion=conversion, format_spec=form):
                name, source = _place(value), ast.unparse(value)
                while places.setdefault(name, source) != source:
                    name = f"{name}_other"
                kind = {-1: ""}.get(conversion, f"!{chr(max(conversion, 0))}")
                if kind == "!s" and isinstance(after, ast.Constant) and re.match(r"s\b", str(after.value)):
                    name = f"{name}s"  # several of them: "{roles!s}s"
                spec = "" if form is None else ":" + ast.unparse(form)[2:-1]
                said.append(f"{{{name}{kind}{spec}}}")
            case _:
                raise AssertionError(ast.unparse(part))
    return "".join(said) if any(re.search("[a-z]{2}", text) for text in said if text[:1] != "{") else ""


def _pairs(node: ast.expr, tree: ast.AST) -> Iterator[tuple[str, ...]]:
    """Yield the pairs of texts in the module's own table that a subscript looks into."""
    table = _assigned(tree).get(_name(node.value), []) if isinstance(node, ast.Subscript) else []
    for value in table:
        if isinstance(value, ast.Dict):
            yield from (tuple(_constants(pair)) for pair in value.values)


def _in_tree(tree: ast.AST, *, is_page: bool) -> Iterator[tuple[str, ...]]:
    """Yield the messages of a module: one text, or those for one thing and for several."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for scope in (tree, *functions):
        names: Mapping[str, list[ast.expr]] = _assigned(scope) if isinstance(scope, ast.FunctionDef) else {}

        def texts(node: ast.expr, names: Mapping[str, list[ast.expr]] = names) -> Iterator[str]:
            match node:
                case ast.Name(id=name) if name in names:
                    for value in names[name]:
                        yield from texts(value, {})
                case ast.IfExp(body=body, orelse=orelse):
                    yield from (*texts(body, names), *texts(orelse, names))
                case ast.JoinedStr(values=values):
                    yield _filled(node)
                    for part in values:
                        if isinstance(part, ast.FormattedValue) and part.conversion == ord("s"):
                            yield from texts(part.value, names)
                case _:
                    yield from _constants(node)

        for node in ast.walk(scope):
            if not is_page and type(node) not in _TELLING:
                continue
            match node:
                case ast.Call(func=func, args=[first, *rest], keywords=_):
                    match _name(func), rest:
                        case "say", _:
                            yield from ((text,) for text in texts(first) if not isinstance(first, ast.JoinedStr))
                        case "marked" | "say_again", _:
                            yield from ((text,) for text in texts(first))
                        case "show_note", [text, *_]:
                            yield from ((said,) for said in texts(text))
                        case "Line", [_, comment]:
                            yield from ((text,) for text in texts(comment))
                        case "say_number", _ if isinstance(first, ast.Starred):
                            yield from _pairs(first.value, tree)
                        case "say_number", [second, *_] if not isinstance(second, ast.JoinedStr):
                            yield from zip(texts(first), texts(second), strict=True)
                        case "some", [second, *more]:
                            for noun in texts(second):
                                many = next(iter(texts(more[0]))) if more else f"{noun}s"
                                yield noun, many
                        case (("Text" | "Facts" | "drawn"), _) if is_page and not isinstance(first, ast.JoinedStr):
                            yield from ((text,) for text in texts(first))
                        case _:
                            pass
                case _:
                    pass
            if is_page:
                yield from _on_page(node)
            yield from ((text,) for value in _said_by_keyword(node, is_page=is_page) for text in texts(value))
            if isinstance(node, ast.Subscript) and _name(node.value) == "marks":
                yield from ((text,) for text in _constants(node.slice))
            if isinstance(node, ast.AnnAssign) and _name(node.target) == "marks" and isinstance(node.value, ast.Dict):
                yield from ((text,) for key in node.value.keys for text in _constants(key))


def _said_by_keyword(node: ast.AST, *, is_page: bool) -> list[ast.expr]:
    """Return what a call says by its keywords: on a page, or wherever such a thing is called."""
    if not isinstance(node, ast.Call) or not (is_page or _name(node.func) in _SAYING):
        return []
    said = SAID | _OF_DRAFTS | ({"columns"} if _name(node.func) == "Table" else set[str]())
    return [keyword.value for keyword in node.keywords if keyword.arg in said]


def _on_page(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """Yield what a page's module says by where it stands: labels of facts, headers, captions of pictures."""
    match node:
        case ast.Call(func=ast.Name(id="Facts"), args=[ast.Dict(keys=keys)]):
            yield from ((text,) for key in keys for text in _constants(key))
        case ast.AugAssign(target=ast.Name(id="facts"), value=ast.Dict(keys=keys)):
            yield from ((text,) for key in keys for text in _constants(key))
        case ast.Assign(targets=[ast.Name(id="facts")], value=ast.Dict(keys=keys)):
            yield from ((text,) for key in keys for text in _constants(key))
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id="facts"), slice=key)]):
            yield from ((text,) for text in _constants(key))
        case ast.Assign(targets=[ast.Name(id="columns")], value=value):
            yield from ((text,) for text in _constants(value))
        case ast.Tuple(elts=[ast.Constant(value=str(text)), ast.Lambda()]):
            yield (text,)
        case ast.Call(func=ast.Name(id="drawn"), args=[_, _, words]):
            yield from ((text,) for text in _constants(words))
        case ast.keyword(arg="columns", value=value):
            yield from ((text,) for text in _constants(value))
        case ast.For(target=ast.Tuple(elts=[ast.Name(id="name"), ast.Name(id="words")]), iter=ast.Tuple(elts=pairs)):
            for pair in pairs:
                if isinstance(pair, ast.Tuple):
                    yield from ((text,) for text in _constants(pair.elts[1]))
        case _:
            return


def _in_lesson(node: ast.AST, *, is_row: bool = False, is_label: bool = False) -> Iterator[str]:
    """Yield what an adversary's module says: all of its texts but docstrings, refusals, and names in the code."""
    match node:
        case ast.Raise() | ast.Compare() | ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
            return
        case ast.arguments() | ast.ClassDef(body=[]) | ast.match_case(body=[]):
            return
        case ast.Call(func=func) if _name(func).startswith(_REFUSES):
            return
        case ast.keyword(arg=name, value=value):
            if name not in _UNSAID:
                yield from _in_lesson(value, is_label=name in _LABELS)
            return
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if name in _UNSAID:
            return
        case ast.AnnAssign(target=target, value=value) if value is not None:
            is_row = "Row" in ast.unparse(node.annotation) or _name(target) == "row"
            yield from _in_lesson(value, is_row=is_row, is_label=_name(target) == "_IN_WORDS")
            return
        case ast.Subscript(value=ast.Name(id="row"), slice=ast.Constant(value=str(text))):
            yield title_of(text)
            return
        case ast.Subscript(value=value):
            yield from _in_lesson(value)
            return
        case ast.JoinedStr(values=parts):
            if is_label or " " in _filled(node).strip():
                yield _filled(node)
            for part in parts:
                if isinstance(part, ast.FormattedValue) and part.conversion == ord("s"):
                    yield from _in_lesson(part.value, is_label=True)
            return
        case ast.Call(func=ast.Attribute(value=ast.Name(id="rows"), attr="append"), args=args):
            for each in args:
                yield from _in_lesson(each, is_row=True)
            return
        case ast.Constant(value=str(text)):
            if is_label or " " in text.strip():
                yield text
            return
        case ast.FunctionDef(returns=returns, body=body):
            is_row = returns is not None and "Row" in ast.unparse(returns)
            for each in body:
                yield from _in_lesson(each, is_row=is_row)
            return
        case ast.Dict(keys=keys, values=values):
            texts = [text for key in keys if key is not None for text in _constants(key)]
            yield from (title_of(text) for text in texts) if is_row else () if is_label else texts
            for value in values:
                yield from _in_lesson(value, is_label=True)
            return
        case ast.IfExp(body=body, orelse=orelse):
            yield from (*_in_lesson(body, is_label=is_label), *_in_lesson(orelse, is_label=is_label))
            return
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        yield from _in_lesson(child, is_row=is_row)


@functools.cache
def messages() -> Sequence[tuple[str, ...]]:
    """Return all that the code says: each once, what has a plural with it."""
    found: dict[str, tuple[str, ...]] = {}
    for path in sorted((ROOT / "scenarios").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if _LESSONS.search(name):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found |= {text: (text,) for text in _in_lesson(tree) if text not in found}
        if not any(part in name for part in _ELSEWHERE):
            source = path.read_text(encoding="utf-8")
            if name not in PAGES and not _SAYS_SOMETHING.search(source):
                continue  # to look at every node takes seconds
            for each in _in_tree(ast.parse(source), is_page=name in PAGES):
                if each[0] not in found or len(each) > 1:
                    found[each[0]] = each
    page = (ROOT / "scenarios/reports/report.html.j2").read_text(encoding="utf-8")
    for text in (*_SAYS.findall(page), *WORDS):
        found.setdefault(text, (text,))
    found |= {"party": ("party", "parties"), **{noun: (noun, f"{noun}s") for noun in NOUNS}}
    return sorted(each for text, each in found.items() if text in WORDS or re.search("[a-z]{2}", text))


def read(language: str) -> Catalog:
    """Return the catalogue of a language, as its .po has it."""
    with (FOLDER / f"{language}.po").open("rb") as file:
        return read_po(file, locale=language)


def written(catalogue: Catalog) -> bytes:
    """Return a catalogue as its .po is written: no date in it, so that the same words are the same bytes."""
    file = io.BytesIO()
    write_po(file, catalogue, width=118, no_location=True, omit_header=False, sort_output=True, ignore_obsolete=True)
    return b"\n".join(line for line in file.getvalue().split(b"\n") if not _DATED.match(line))


_DATED: Final = re.compile(
    rb'"(POT-Creation-Date|PO-Revision-Date|Generated-By|Last-Translator|Report-Msgid|Project-Id)'
)


def compiled(catalogue: Catalog) -> bytes:
    """Return a catalogue as its .mo."""
    dated: Any = catalogue
    dated.creation_date = dated.revision_date = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)  # else each compiling differs
    file = io.BytesIO()
    write_mo(file, catalogue)
    return file.getvalue()


def main() -> None:
    """Take over what is new, leave out what is gone, and compile."""
    template = Catalog(fuzzy=False)
    for each in messages():
        one, *many = each
        template.add(each if many else one)
    for language in LANGUAGES:
        path = FOLDER / f"{language}.po"
        catalogue = read(language) if path.exists() else Catalog(locale=language, fuzzy=False)
        catalogue.update(template, no_fuzzy_matching=True)
        catalogue.header_comment = (
            f"# What Psephos says, {language}: `python tests/catalogues.py` takes new messages over."
        )
        path.write_bytes(written(catalogue))
        again = read(language)
        missing = sum(
            not all([each.string] if isinstance(each.string, str) else each.string or [""]) for each in again if each.id
        )
        print(f"{language}: {len(again)} messages, {missing} without a translation")
        (FOLDER / f"{language}.mo").write_bytes(compiled(again))


if __name__ == "__main__":
    main()
