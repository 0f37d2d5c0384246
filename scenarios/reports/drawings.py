"""Embed a picture's SVG in a page: without scripts and loading, with unique identifiers, and in the page's colors.

A picture has inline styles. A page does not allow them, so each becomes a class; the frame's colors become those of the
page, which has others in dark mode.
"""

import dataclasses
import html
import re
from collections.abc import Mapping
from typing import Final
from xml.etree import ElementTree as ET

from ...protocol.errors import ConfigurationError, printable, refuse
from ..presentation.drawing import ALLOWED, BEYOND, COLORS, GOOD, GRID, INK, INKS, MUTED, POOR, RULE, WITHIN


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ELEMENTS: Final = _words(
    "circle clipPath defs ellipse g image line linearGradient path pattern polygon polyline rect stop svg text "
    "tspan use"
)
_ATTRIBUTES: Final = _words(
    "clip-path clipPathUnits cx cy d dx dy fill fill-opacity gradientTransform gradientUnits height id offset opacity "
    "patternUnits points preserveAspectRatio r rx ry stop-color stroke stroke-width style text-anchor transform "
    "viewBox width x x1 x2 y y1 y2"
)
_PROPERTIES: Final = _words(
    "clip-path display fill fill-opacity fill-rule font-size font-style font-weight opacity stop-color stop-opacity "
    "stroke stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit stroke-opacity "
    "stroke-width text-anchor"
)
_VALUE: Final = re.compile(r"[#\w\s.,()%+-]*")
_LOCAL: Final = re.compile(r"url\(#([\w.-]+)\)")
_RASTER: Final = re.compile(r"data:image/png;base64,[A-Za-z0-9+/=\s]*")
_PIXELS: Final = re.compile(r"([\d.]+)pt")
_MOST_LEVELS: Final = 50  # greatest nesting depth of elements
_NAMED: Final = {
    INK: "ink",
    MUTED: "muted",
    RULE: "rule",
    GOOD: "good",
    POOR: "poor",
    GRID: "grid",
    WITHIN: "within",
    BEYOND: "beyond",
    ALLOWED: "allowed",
    "#ffffff": "paper",
    "#000000": "ink",
    **{color: name for name, color in COLORS.items()},
    **{INKS[color]: f"{name}-ink" for name, color in COLORS.items() if color in INKS},
}
"""Maps the frame's colors to the page's variables."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Drawing:
    """A picture: the content of an SVG file, with a description for screen readers and a caption.

    `svg` is empty if its seal is not valid; then a page omits it and says so. `narrow` is the version for phones; empty
    if there is none.
    """

    svg: bytes
    words: str
    narrow: bytes = b""


class Classes:
    """Classes that replace inline styles."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self.num_drawings = 0

    def name_of(self, style: str) -> str:
        """Return the class for a style."""
        return self._names.setdefault(style, f"m{len(self._names)}")

    @property
    def style(self) -> str:
        """The style sheet of all classes."""
        return "".join(f".{name}{{{style}}}\n" for style, name in self._names.items())


def inline_picture(drawing: Drawing, classes: Classes) -> str:
    """Return a picture's elements, and add their classes; ConfigurationError if it is not a picture."""
    wide = f'<div class="wide">{_inline_elements(drawing, classes)}</div>'
    if not drawing.narrow:
        return wide
    narrow = _inline_elements(dataclasses.replace(drawing, svg=drawing.narrow), classes)
    return f'{wide}<div class="narrow">{narrow}</div>'


def _inline_elements(drawing: Drawing, classes: Classes) -> str:
    field, allowed = "an SVG file of RUN", "a picture as a run draws it, in UTF-8, flat and without entities"
    refuse(b"<!ENTITY" in drawing.svg, field, drawing.words, allowed)
    try:
        # Parsed as text, so that an encoding named in the file cannot hide an entity from the check above.
        root = ET.fromstring(drawing.svg.decode())  # noqa: S314  as above
    except (ET.ParseError, UnicodeDecodeError) as error:
        allowed = f"{allowed}, and whole ({error})"
        raise ConfigurationError(field=field, value=drawing.words, allowed=allowed) from None
    refuse(_is_deep(root), field, drawing.words, allowed)
    classes.num_drawings += 1
    prefix = f"d{classes.num_drawings}-"
    parts: list[str] = []
    width, height = (_PIXELS.fullmatch(root.get(side, "")) for side in ("width", "height"))
    box = root.get("viewBox") or (f"0 0 {width[1]} {height[1]}" if width and height else "")
    parts.append(f'<svg viewBox="{html.escape(box)}" role="img" aria-label="{html.escape(drawing.words)}">')
    for child in root:
        _write(child, prefix, classes, parts)
    parts.append("</svg>")
    return "".join(parts)


def _is_deep(root: ET.Element) -> bool:
    """Return whether elements are nested deeper than any that matplotlib draws."""
    level = [root]
    for _ in range(_MOST_LEVELS):
        level = [child for element in level for child in element]
    return bool(level)


def _write(element: ET.Element, prefix: str, classes: Classes, parts: list[str]) -> None:
    name = element.tag.rpartition("}")[2]
    if name not in _ELEMENTS:
        return
    attributes = "".join(
        f' {key}="{html.escape(value)}"' for key, value in _attributes(element, name, prefix, classes).items()
    )
    parts.append(f"<{name}{attributes}>{_text(element.text)}")
    for child in element:
        _write(child, prefix, classes, parts)
        parts.append(_text(child.tail))
    parts.append(f"</{name}>")


def _text(text: str | None) -> str:
    """Return the text between elements, without control characters."""
    return html.escape(printable(" ".join(text.split()))) if text else ""


def _attributes(element: ET.Element, name: str, prefix: str, classes: Classes) -> Mapping[str, str]:
    attributes_kept: dict[str, str] = {}
    for qualified, value in element.attrib.items():
        key = qualified.rpartition("}")[2]
        if key == "href":
            if value.startswith("#"):
                attributes_kept["href"] = f"#{prefix}{value[1:]}"
            elif name == "image" and _RASTER.fullmatch(value):
                attributes_kept["href"] = value
        elif key == "id":
            attributes_kept["id"] = prefix + value
        elif key == "style":
            if style := _style(value, prefix):
                attributes_kept["class"] = classes.name_of(style)
        elif key in _ATTRIBUTES and not _loads(value):
            attributes_kept[key] = _rename_reference(value, prefix)
    return attributes_kept


def _style(style_text: str, prefix: str) -> str:
    """Return the allowed part of a style, in the page's colors."""
    declarations: list[str] = []
    for declaration in style_text.split(";"):
        key, _, value = (part.strip() for part in declaration.partition(":"))
        if key not in _PROPERTIES or _loads(value) or not _VALUE.fullmatch(_LOCAL.sub("", value)):
            continue
        color_name = _NAMED.get(value.lower())
        value_text = f"var(--{color_name})" if color_name else _rename_reference(value, prefix)
        declarations.append(f"{key}:{value_text}")
    return ";".join(declarations)


def _loads(value: str) -> bool:
    """Return whether a value refers to anything outside the picture."""
    return "url(" in _LOCAL.sub("", value).lower()


def _rename_reference(value: str, prefix: str) -> str:
    """Return a reference with the part's new identifier."""
    return _LOCAL.sub(lambda match: f"url(#{prefix}{match[1]})", value)
