"""Text in LaTeX: what would be a command is shown as it is."""

from __future__ import annotations

_ESCAPES = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def escaped(text: str) -> str:
    return "".join(_ESCAPES.get(c, c) for c in text)
