"""Message catalogues: what the code says, taken over into each language's .po, and compiled to the .mo that is read.

    python tests/catalogues.py     # after a sentence of the code, or a translation, has changed

A message is a constant that `say`, `marked`, `say_number` or `some` takes, or that stands where a page or a picture
says what it is given: a title, a caption, a header, a label of a legend.
"""

import ast
import datetime as dt
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

__all__ = ["FOLDER", "LANGUAGES", "compiled", "messages", "read", "written"]

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "scenarios" / "languages"
LANGUAGES: Final = ("de", "fr")
PAGES: Final = tuple(f"scenarios/reports/{name}.py" for name in ("page", "run_page", "series_page", "blocks"))
SAID: Final = frozenset({"title", "words", "caption", "x", "y"})
"""Keywords whose constants a page or a picture says."""
_ELSEWHERE: Final = (
    *("paper/", "experiments/", "attack/", "attacks/", "audit/", "adversaries/", "calibration", "curves.py"),
    *(
        "objects.py",
        "lessons",
        "scenarios/words.py",
        "study_pages.py",
        "comparison.py",
        "power",
        "trade_off",
        "deployment/",
    ),
)
"""What stands on no page of a run, or is a role's own; those are English."""
_SAYS: Final = re.compile(r"""\bsay\("([^"]+)\"""")

WORDS: Final = (
    *("cloud server", "aggregator", "server", "replace-one", "add-remove-one"),
    *("join", "weights", "opinions", "votes", "answers", "rankings", "preferences", "release"),
    *("randomized response", "Laplace noise on preferences", "discrete Laplace noise on sums"),
    "discrete Laplace noise on counts",
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
        "simulated noise",
        "secure noise",
        "all of it on a page, for a browser",
    ),
)
"""What protocols are made of is said as it is called; a test finds which are missing."""
NOUNS: Final = ("partner", "voter", "worker", "minute", "hour", "day", "week", "candidate", "feature", "task", "vote")
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
            if isinstance(node, ast.Name):
                for value in names.get(node.id, ()):
                    yield from _constants(value)
            else:
                yield from _constants(node)

        for node in ast.walk(scope):
            match node:
                case ast.Call(func=func, args=[first, *rest], keywords=_):
                    match _name(func), rest:
                        case "say" | "marked", _:
                            yield from ((text,) for text in texts(first))
                        case "say_number", _ if isinstance(first, ast.Starred):
                            yield from _pairs(first.value, tree)
                        case "say_number", [second, *_]:
                            yield from zip(texts(first), texts(second), strict=True)
                        case "some", [second, *more]:
                            for noun in texts(second):
                                many = next(iter(texts(more[0]))) if more else f"{noun}s"
                                yield noun, many
                        case (("Text" | "Facts" | "drawn"), _) if is_page:
                            yield from ((text,) for text in texts(first))
                        case _:
                            pass
                case _:
                    pass
            if is_page:
                yield from _on_page(node)
            if isinstance(node, ast.Call):
                said = [keyword.value for keyword in node.keywords if keyword.arg in SAID]
                if is_page or _name(node.func) in {"clean", "name_rows"}:
                    yield from ((text,) for value in said for text in texts(value))
            if isinstance(node, ast.Subscript) and _name(node.value) == "marks":
                yield from ((text,) for text in _constants(node.slice))
            if isinstance(node, ast.AnnAssign) and _name(node.target) == "marks" and isinstance(node.value, ast.Dict):
                yield from ((text,) for key in node.value.keys for text in _constants(key))


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


def messages() -> list[tuple[str, ...]]:
    """Return all that the code says: each once, what has a plural with it."""
    found: dict[str, tuple[str, ...]] = {}
    for path in sorted((ROOT / "scenarios").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not any(part in name for part in _ELSEWHERE):
            for each in _in_tree(ast.parse(path.read_text(encoding="utf-8")), is_page=name in PAGES):
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
