"""Perturbation for the eye and for other programs: values, tests, frequencies, LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rote.core.result import Result
from rote.report._grid import rounded
from rote.report.tables import perturb_answers as answers
from rote.report.tables import results as tables
from rote.report.tables._blocks import plain_text, table
from rote.report.tables.latex import values_as_latex

Rows = Sequence[Mapping[str, Any]]
_TESTS = {
    "mcnemar": "McNemar, exact: answers lost and gained",
    "wilcoxon": "Wilcoxon signed ranks: popularity before and after",
}
_COLUMNS = {
    "mcnemar": ("task", "items", "lost", "gained", "p"),
    "wilcoxon": ("task", "of", "items", "before", "after", "p"),
}
_FREQUENCIES = ("words", "occurrences", "absent", "mean_log10", "sd_log10", "q5", "q50", "q95")
_SHOWN = 15


def print_result(result: Result, console: Any) -> None:
    """Print the values of each task, then the tests, the frequencies, what stayed and why."""
    tables.print_results([result], console)
    spoken = answers.of_models(result)
    if spoken:
        answers.print_answers(spoken, console)
    _print("judge: items that mean the same", *_judged(result), console)
    for test, title in _TESTS.items():
        rows = [row for row in result.tables.get("tests", ()) if row["test"] == test]
        if test == "mcnemar" and spoken:
            continue  # it stands beside the answers
        _print(title, rows, _columns(rows, test), console)
    _print(
        "words and synonyms in the corpus (log10 of 1 + occurrences)",
        result.tables.get("frequencies", ()),
        _FREQUENCIES,
        console,
    )
    replaced = result.tables.get("replacements", ())
    columns = tuple(replaced[0]) if replaced else ()
    _print("most frequent replacements", replaced[:_SHOWN], columns, console)
    _print("words that stay", result.tables.get("kept", ()), ("task", "why", "words"), console)


def as_text(result: Result, width: int = 140) -> str:
    return plain_text(print_result, result, width)


def as_latex(result: Result) -> str:
    """The values, then the tables of the paper where models answered."""
    return "\n".join([values_as_latex([result]), *answers.as_latex(result)])


def _columns(rows: Rows, test: str) -> tuple[str, ...]:
    """Those of several models begin with theirs."""
    named = any("source" in row for row in rows)
    return (("source",) if named else ()) + _COLUMNS[test]


def _judged(result: Result) -> tuple[Rows, tuple[str, ...]]:
    return result.tables.get("judge", ()), ("task", "judged", "same", "low", "high")


def _print(title: str, rows: Rows, columns: Sequence[str], console: Any) -> None:
    if not rows:
        return
    console.print(f"\n{title}", style="bold", highlight=False, markup=False)
    aligned = {name: "left" if _is_text(rows, name) else "right" for name in columns}
    console.print(table(aligned, [[_shown(row.get(name)) for name in columns] for row in rows]))


def _is_text(rows: Rows, name: str) -> bool:
    return any(isinstance(row.get(name), str) for row in rows)


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.2g}" if 0 < abs(value) < 1e-3 else rounded(value)
    return f"{value:,}" if isinstance(value, int) else str(value)
