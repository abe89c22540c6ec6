"""Charts as SVG that is safe inside a page: nothing in it acts, no id clashes, no label is cut.

The drawing is rebuilt from known elements and attributes alone. Readers may have a wider font than
the layout had, so its edges move out as far as labels would reach in a wide one.
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from rote.core.json_reader import parse_json
from rote.core.numbers import format_number
from rote.report.terminal import mask_controls

_ELEMENTS = frozenset(
    "svg g path text tspan rect line circle ellipse polygon polyline defs clipPath "
    "linearGradient stop".split()
)
_ATTRIBUTES = frozenset(
    "d x y x1 y1 x2 y2 dx dy cx cy r rx ry width height viewBox transform points offset fill "
    "fill-opacity stroke stroke-width stroke-opacity stroke-dasharray stroke-dashoffset "
    "stroke-linecap stroke-linejoin stroke-miterlimit opacity display text-anchor font-family "
    "font-size font-weight font-style dominant-baseline stop-color stop-opacity clip-path "
    "gradientUnits gradientTransform clipPathUnits id".split()
)
_REFERRING = ("fill", "stroke", "clip-path")
_SCALE = 2.0
_RESERVED = frozenset(
    "if constructor toString toLocaleString valueOf hasOwnProperty isPrototypeOf "
    "propertyIsEnumerable __defineGetter__ __defineSetter__ __lookupGetter__ "
    "__lookupSetter__".split()
)
_WITH_TOOLTIP = "point|circle|square|bar|tick|rect mark|rule mark|symbol mark".split("|")
"""Marks of one row each; a line or an area would tell of its first point alone."""
_NUMBER = re.compile(r"-?\d+\.\d{5,}(?:e-?\d+)?")


def chart_spec(chart: Any) -> str:
    """An Altair chart as text; half a character, which no file can hold, becomes a sign for it."""
    spec = json.dumps(_escape_reserved(chart.to_dict(validate=False)), ensure_ascii=False)
    return spec.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def render_html(spec: str) -> str:
    """A page of its own that draws the figure; it loads the drawing tool."""
    import altair as alt
    from altair.utils.html import spec_to_html

    return spec_to_html(
        parse_json(spec),
        mode="vega-lite",
        vega_version=alt.VEGA_VERSION,
        vegaembed_version=alt.VEGAEMBED_VERSION,
        vegalite_version=alt.VEGALITE_VERSION,
    )


def _escape_reserved(node: Any) -> Any:
    """The same with a space behind names that Vega takes for functions, which nobody sees."""
    if isinstance(node, dict):
        return {key: _escape_reserved(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_escape_reserved(value) for value in node]
    return f"{node}\u00a0" if isinstance(node, str) and node in _RESERVED else node


def svg_element(spec: str, prefix: str, title: str, says: str) -> str:
    """The figure as an element of a page; `prefix` begins its ids."""
    root = ElementTree.fromstring(render_svg(spec))
    across, down = _svg_size(root)
    box = root.get("viewBox", f"0 0 {across} {down}")
    for paper in root[:1]:
        if _local_name(paper) == "rect" and paper.get("fill") in ("white", "#fff"):
            root.remove(paper)
    inside = "".join(_serialize(child, prefix) for child in root)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="{prefix}-t '
        f'{prefix}-d" width="{across}" height="{down}" viewBox="{box}">'
        f'<title id="{prefix}-t">{_escape_text(title)}</title>'
        f'<desc id="{prefix}-d">{_escape_text(says)}</desc>{inside}</svg>'
    )


def figure_width(spec: str) -> int:
    """In pixels."""
    return _svg_size(ElementTree.fromstring(render_svg(spec)))[0]


def render_png(spec: str) -> bytes:
    import vl_convert

    image: bytes = vl_convert.svg_to_png(render_svg(spec), scale=_SCALE)
    return image


# Without these, names of elements would be written with a prefix.
ElementTree.register_namespace("", "http://www.w3.org/2000/svg")
ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")


@lru_cache(maxsize=128)
def render_svg(spec: str) -> str:
    """The figure as a file of its own, on white. A page that is opened again is not drawn again."""
    import vl_convert

    root = ElementTree.fromstring(vl_convert.vegalite_to_svg(parse_json(spec)))
    widen_margins(root)
    return ElementTree.tostring(root, encoding="unicode")


def _svg_size(root: ElementTree.Element) -> tuple[int, int]:
    return round(float(root.get("width", "0"))), round(float(root.get("height", "0")))


def _serialize(element: ElementTree.Element, prefix: str) -> str:
    name = _local_name(element)
    if name not in _ELEMENTS or _is_invisible(element, name):
        return ""
    attributes = "".join(
        f" {key}={quoteattr(_prefix_ids(key, value, prefix))}"
        for key, value in element.attrib.items()
        if key in _ATTRIBUTES and not (key == "opacity" and value == "1")
    )
    inside = (
        _tooltip(element)
        + _escape_text(element.text or "")
        + "".join(_serialize(child, prefix) + _escape_text(child.tail or "") for child in element)
    )
    if name == "g" and not inside:
        return ""
    if name == "g" and not attributes:
        return inside
    return f"<{name}{attributes}>{inside}</{name}>" if inside else f"<{name}{attributes}/>"


def _tooltip(element: ElementTree.Element) -> str:
    """What a browser shows when somebody points at a mark: the values that it stands for."""
    if element.get("aria-roledescription") not in _WITH_TOOLTIP:
        return ""
    parts = (element.get("aria-label") or "").split("; ")
    lines = "\n".join(part for part in parts if part != "role: source")
    short = _NUMBER.sub(lambda number: format_number(float(number[0]), ".4g"), lines)
    return f"<title>{_escape_text(short)}</title>"


def _is_invisible(element: ElementTree.Element, name: str) -> bool:
    if _is_hidden(element):
        return True
    # The frame of a group is a path without colours of its own, inside fill="none".
    plain = element.get("fill") is None and element.get("stroke") is None
    return name == "path" and (
        not element.get("d") or (plain and "background" in element.get("class", ""))
    )


def _is_hidden(element: ElementTree.Element) -> bool:
    return element.get("display") == "none" or element.get("opacity") == "0"


def _prefix_ids(key: str, value: str, prefix: str) -> str:
    """Ids are the page's: those of two figures must not be the same."""
    if key == "id":
        return f"{prefix}-{value}"
    if "url(" in value:
        start, _, name = value.partition("#")
        inside = key in _REFERRING and start in ("url(", 'url("', "url('")
        return f"url(#{prefix}-{name}" if inside else "none"
    return value


def _local_name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _escape_text(text: str) -> str:
    return escape(mask_controls(text))


FONT = "Arial, Helvetica, Liberation Sans, Arimo, Nimbus Sans, sans-serif"
_DEFAULT_FONT = "sans-serif"
_WIDE = {"narrow": 0.46, "upper": 0.78, "other": 0.65, "broad": 1.0, "square": 1.05}
"""Widths of letters in a wide font (Verdana, DejaVu Sans), in parts of the font's size."""
_BROAD, _NARROW = frozenset("mwMW%@—…"), frozenset(" .,:;'!|()[]/ijltfr-")
_BOLD = 1.12
_MONOSPACE_WIDTH = 0.61
"""The width of any letter where the reader's font has letters of one width."""
_ABOVE, _BELOW = 1.0, 0.3
"""How far letters reach above and below their line."""
_STEP = re.compile(r"(translate|rotate|scale)\(([^)]*)\)")

Matrix = tuple[float, float, float, float, float, float]


def widen_margins(root: ElementTree.Element) -> None:
    """Name the font, and widen the drawing to what its labels may need."""
    across, down = float(root.get("width", "0")), float(root.get("height", "0"))
    left, top, right, bottom = 0.0, 0.0, across, down
    for element, matrix in _visible_texts(root, (1, 0, 0, 1, 0, 0)):
        if element.get("font-family") == _DEFAULT_FONT:
            element.set("font-family", FONT)
        for x, y in _text_corners(element, matrix):
            left, right = min(left, x), max(right, x)
            top, bottom = min(top, y), max(bottom, y)
    left, top = math.floor(left), math.floor(top)
    size = math.ceil(right) - left, math.ceil(bottom) - top
    root.set("width", str(size[0]))
    root.set("height", str(size[1]))
    root.set("viewBox", f"{left} {top} {size[0]} {size[1]}")
    for paper in root[:1]:
        if paper.tag.endswith("rect"):
            for name, value in zip(("x", "y", "width", "height"), (left, top, *size)):
                paper.set(name, str(value))


def _visible_texts(
    element: ElementTree.Element, matrix: Matrix
) -> list[tuple[ElementTree.Element, Matrix]]:
    """Every text that is seen, and where its own coordinates lie."""
    if _is_hidden(element):
        return []
    inner = _transform(matrix, element.get("transform", ""))
    texts = [(element, inner)] if element.tag.endswith("}text") else []
    return texts + [text for child in element for text in _visible_texts(child, inner)]


def _transform(matrix: Matrix, transform: str) -> Matrix:
    for kind, arguments in _STEP.findall(transform):
        numbers = [float(a) for a in re.split(r"[\s,]+", arguments.strip()) if a]
        a, b, c, d, e, f = matrix
        x, y = (*numbers, 0.0)[:2]
        if kind == "translate":
            matrix = (a, b, c, d, a * x + c * y + e, b * x + d * y + f)
        elif kind == "scale":
            y = numbers[1] if len(numbers) > 1 else x
            matrix = (a * x, b * x, c * y, d * y, e, f)
        else:
            cos, sin = math.cos(math.radians(x)), math.sin(math.radians(x))
            turned = a * cos + c * sin, b * cos + d * sin, c * cos - a * sin, d * cos - b * sin
            matrix = (*turned, e, f)
    return matrix


def _text_corners(element: ElementTree.Element, matrix: Matrix) -> list[tuple[float, float]]:
    size = float(element.get("font-size", "11px").removesuffix("px"))
    lines = [(element.text or "", 0.0)] if (element.text or "").strip() else []
    down = 0.0
    for part in element:
        down += float(part.get("dy", "0"))
        if (part.text or "").strip():
            lines.append((part.text or "", down))
    bold = _BOLD if element.get("font-weight") == "bold" else 1.0
    share = {"middle": 0.5, "end": 1.0}.get(element.get("text-anchor", ""), 0.0)
    corners = []
    a, b, c, d, e, f = matrix
    x0, y0 = float(element.get("x", "0")), float(element.get("y", "0"))
    for text, at in lines:
        wide = text_width(text) * size * bold
        for x in (x0 - share * wide, x0 + (1 - share) * wide):
            for y in (y0 + at - _ABOVE * size, y0 + at + _BELOW * size):
                corners.append((a * x + c * y + e, b * x + d * y + f))
    return corners


def text_width(text: str) -> float:
    """In a wide font or in one of even letters, in parts of the font's size."""
    return max(sum(map(_letter_width, text)), _MONOSPACE_WIDTH * len(text))


def _letter_width(letter: str) -> float:
    if letter in _BROAD:
        return _WIDE["broad"]
    if letter in _NARROW:
        return _WIDE["narrow"]
    if ord(letter) >= 0x2E80:
        return _WIDE["square"]
    return _WIDE["upper" if letter.isupper() else "other"]
