"""Charts as SVG that may stand inside a page: nothing in it acts, nothing in it clashes.

The drawing is taken apart and put together again from the elements and attributes that are known;
so whatever a name holds, it is text. Backgrounds are left out, for the page has its own. Pointing
at a mark shows its values.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from rote.core.json_reader import parse_json
from rote.core.numbers import format_number
from rote.report._room import give_room
from rote.report.terminal import readable

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
_POINTING = ("fill", "stroke", "clip-path")
_SCALE = 2.0
_TAKEN = frozenset(
    "if constructor toString toLocaleString valueOf hasOwnProperty isPrototypeOf "
    "propertyIsEnumerable __defineGetter__ __defineSetter__ __lookupGetter__ "
    "__lookupSetter__".split()
)
_HOVERED = ("point", "circle", "square", "bar", "tick", "rect mark", "rule mark", "symbol mark")
"""Marks of one row each; a line or an area would tell of its first point alone."""
_NUMBER = re.compile(r"-?\d+\.\d{5,}(?:e-?\d+)?")


def spec(chart: Any) -> str:
    """An Altair chart as text; half a character, which no file can hold, becomes a sign for it."""
    written = json.dumps(_nameable(chart.to_dict(validate=False)), ensure_ascii=False)
    return written.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def html_file(spec: str) -> str:
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


def _nameable(held: Any) -> Any:
    """The same without names that Vega takes for functions where it puts names in order: these
    get a space behind them, which nobody sees."""
    if isinstance(held, dict):
        return {key: _nameable(value) for key, value in held.items()}
    if isinstance(held, list):
        return [_nameable(value) for value in held]
    return f"{held}\u00a0" if isinstance(held, str) and held in _TAKEN else held


def svg(spec: str, prefix: str, title: str, says: str) -> str:
    """The figure as an element of a page; `prefix` begins its ids."""
    root = ElementTree.fromstring(svg_file(spec))
    across, down = _size(root)
    box = root.get("viewBox", f"0 0 {across} {down}")
    first = next(iter(root), None)
    if first is not None and _local(first) == "rect" and first.get("fill") in ("white", "#fff"):
        root.remove(first)
    inside = "".join(_written(child, prefix) for child in root)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="{prefix}-t '
        f'{prefix}-d" width="{across}" height="{down}" viewBox="{box}">'
        f'<title id="{prefix}-t">{_text(title)}</title>'
        f'<desc id="{prefix}-d">{_text(says)}</desc>{inside}</svg>'
    )


def width(spec: str) -> int:
    """In pixels."""
    return _size(ElementTree.fromstring(svg_file(spec)))[0]


def png(spec: str) -> bytes:
    """The figure as a picture on white, fine enough for print."""
    import vl_convert

    made: bytes = vl_convert.svg_to_png(svg_file(spec), scale=_SCALE)
    return made


# Without these, names of elements would be written with a prefix.
for _prefix, _space in (
    ("", "http://www.w3.org/2000/svg"),
    ("xlink", "http://www.w3.org/1999/xlink"),
):
    ElementTree.register_namespace(_prefix, _space)


@lru_cache(maxsize=128)
def svg_file(spec: str) -> str:
    """The figure as a file of its own, on white. A page that is opened again is not drawn again."""
    import vl_convert

    root = ElementTree.fromstring(vl_convert.vegalite_to_svg(parse_json(spec)))
    give_room(root)
    return ElementTree.tostring(root, encoding="unicode")


def _size(root: ElementTree.Element) -> tuple[int, int]:
    return round(float(root.get("width", "0"))), round(float(root.get("height", "0")))


def _written(element: ElementTree.Element, prefix: str) -> str:
    name = _local(element)
    if name not in _ELEMENTS or _nothing(element, name):
        return ""
    attributes = "".join(
        f" {key}={quoteattr(_pointed(key, value, prefix))}"
        for key, value in element.attrib.items()
        if key in _ATTRIBUTES and not (key == "opacity" and value == "1")
    )
    inside = (
        _hover(element)
        + _text(element.text or "")
        + "".join(_written(child, prefix) + _text(child.tail or "") for child in element)
    )
    if name == "g" and not inside:
        return ""
    if name == "g" and not attributes:
        return inside
    return f"<{name}{attributes}>{inside}</{name}>" if inside else f"<{name}{attributes}/>"


def _hover(element: ElementTree.Element) -> str:
    """What a browser shows when somebody points at a mark: the values that it stands for."""
    if element.get("aria-roledescription") not in _HOVERED:
        return ""
    parts = (element.get("aria-label") or "").split("; ")
    told = [_NUMBER.sub(_shorter, part) for part in parts if part != "role: source"]
    return f"<title>{_text(chr(10).join(told))}</title>"


def _shorter(number: re.Match[str]) -> str:
    return format_number(float(number[0]), ".4g")


def _nothing(element: ElementTree.Element, name: str) -> bool:
    """What is not seen: Vega leaves many empty groups and frames."""
    if element.get("display") == "none" or element.get("opacity") == "0":
        return True
    # The frame of a group is a path without colours of its own, inside fill="none".
    plain = element.get("fill") is None and element.get("stroke") is None
    return name == "path" and (
        not element.get("d") or (plain and "background" in element.get("class", ""))
    )


def _pointed(key: str, value: str, prefix: str) -> str:
    """Ids are the page's: those of two figures must not be the same."""
    if key == "id":
        return f"{prefix}-{value}"
    if "url(" in value:
        start, _, name = value.partition("#")
        inside = key in _POINTING and start in ("url(", 'url("', "url('")
        return f"url(#{prefix}-{name}" if inside else "none"
    return value


def _local(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _text(text: str) -> str:
    return escape(readable(text))
