"""Room for the letters of a figure: whoever opens it may have a wider font than the layout had.

The drawing names the font that it was measured with, and those of the same width; and its edges
move out as far as its labels would reach in a wide font, so that none of them is cut.
"""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

FONT = "Arial, Helvetica, Liberation Sans, Arimo, Nimbus Sans, sans-serif"
_ASSUMED = "sans-serif"
_WIDE = {"narrow": 0.46, "upper": 0.78, "other": 0.65, "broad": 1.0, "square": 1.05}
"""Widths of letters in a wide font (Verdana, DejaVu Sans), in parts of the font's size."""
_BROAD, _NARROW = frozenset("mwMW%@—…"), frozenset(" .,:;'!|()[]/ijltfr-")
_BOLD = 1.12
_EVEN = 0.61
"""The width of any letter where the reader's font has letters of one width."""
_ABOVE, _BELOW = 1.0, 0.3
"""How far letters reach above and below their line."""
_STEP = re.compile(r"(translate|rotate|scale)\(([^)]*)\)")

Matrix = tuple[float, float, float, float, float, float]


def give_room(root: ElementTree.Element) -> None:
    """Name the font, and widen the drawing to what its labels may need."""
    across, down = float(root.get("width", "0")), float(root.get("height", "0"))
    left, top, right, bottom = 0.0, 0.0, across, down
    for element, matrix in _texts(root, (1, 0, 0, 1, 0, 0)):
        if element.get("font-family") == _ASSUMED:
            element.set("font-family", FONT)
        for x, y in _corners(element, matrix):
            left, right = min(left, x), max(right, x)
            top, bottom = min(top, y), max(bottom, y)
    left, top = math.floor(left), math.floor(top)
    size = math.ceil(right) - left, math.ceil(bottom) - top
    root.set("width", str(size[0]))
    root.set("height", str(size[1]))
    root.set("viewBox", f"{left} {top} {size[0]} {size[1]}")
    first = next(iter(root), None)
    if first is not None and first.tag.endswith("rect"):  # the paper
        for name, value in zip(("x", "y", "width", "height"), (left, top, *size)):
            first.set(name, str(value))


def _texts(
    element: ElementTree.Element, matrix: Matrix
) -> list[tuple[ElementTree.Element, Matrix]]:
    """Every text that is seen, and where its own coordinates lie."""
    if element.get("display") == "none" or element.get("opacity") == "0":
        return []
    own = _moved(matrix, element.get("transform", ""))
    found = [(element, own)] if element.tag.endswith("}text") else []
    return found + [one for child in element for one in _texts(child, own)]


def _moved(matrix: Matrix, transform: str) -> Matrix:
    for kind, given in _STEP.findall(transform):
        numbers = [float(one) for one in re.split(r"[\s,]+", given.strip()) if one]
        a, b, c, d, e, f = matrix
        x, y = (*numbers, 0.0)[:2]
        if kind == "translate":
            matrix = (a, b, c, d, a * x + c * y + e, b * x + d * y + f)
        elif kind == "scale":
            y = numbers[1] if len(numbers) > 1 else x
            matrix = (a * x, b * x, c * y, d * y, e, f)
        else:
            cos, sin = math.cos(math.radians(x)), math.sin(math.radians(x))
            matrix = (
                a * cos + c * sin,
                b * cos + d * sin,
                c * cos - a * sin,
                d * cos - b * sin,
                e,
                f,
            )
    return matrix


def _corners(element: ElementTree.Element, matrix: Matrix) -> list[tuple[float, float]]:
    """Where the letters would reach, in the coordinates of the drawing."""
    size = float(element.get("font-size", "11px").removesuffix("px"))
    lines = [(element.text or "", 0.0)] if (element.text or "").strip() else []
    down = 0.0
    for part in element:
        down += float(part.get("dy", "0"))
        if (part.text or "").strip():
            lines.append((part.text or "", down))
    bold = _BOLD if element.get("font-weight") == "bold" else 1.0
    share = {"middle": 0.5, "end": 1.0}.get(element.get("text-anchor", ""), 0.0)
    found = []
    a, b, c, d, e, f = matrix
    x0, y0 = float(element.get("x", "0")), float(element.get("y", "0"))
    for text, at in lines:
        wide = width(text) * size * bold
        for x in (x0 - share * wide, x0 + (1 - share) * wide):
            for y in (y0 + at - _ABOVE * size, y0 + at + _BELOW * size):
                found.append((a * x + c * y + e, b * x + d * y + f))
    return found


def width(text: str) -> float:
    """Of a text in a wide font or in one of even letters, in parts of the font's size."""
    return max(sum(map(_letter, text)), _EVEN * len(text))


def _letter(letter: str) -> float:
    if letter in _BROAD:
        return _WIDE["broad"]
    if letter in _NARROW:
        return _WIDE["narrow"]
    if ord(letter) >= 0x2E80:
        return _WIDE["square"]
    return _WIDE["upper" if letter.isupper() else "other"]
