"""LaTeX: tables, and text in which what would be a command is shown as it is."""

from __future__ import annotations

from collections.abc import Sequence

from rote.report.terminal import harmless

_ESCAPES = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def tabular(
    heads: Sequence[str], lines: Sequence[Sequence[str]], *, said: Sequence[str] = ()
) -> list[str]:
    """A booktabs table: names to the left, numbers to the right, and comments below.

    Cells are LaTeX already.
    """
    return [
        r"\begin{tabular}{l" + "r" * (len(heads) - 1) + "}",
        r"\toprule",
        " & ".join(heads) + r" \\",
        r"\midrule",
        *(" & ".join(line) + r" \\" for line in lines),
        *(r"\bottomrule", r"\end{tabular}"),
        *(f"% {harmless(line)}" for line in said),
    ]


def escaped(text: str) -> str:
    """In one line: an empty one would end the table."""
    return "".join(_ESCAPES.get(c, c) for c in harmless(text))
