"""Answers of models to perturbed items, as tables of Ruzzetti et al. (2026): 1, 2, 3, C and D.

On the screen a line is a model and a task; in LaTeX there is a table for each kind of task, as in
the paper: functional tasks are its tables 1 and C, formal ones 2 and D, and popularity is table 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rote.core.result import Result
from rote.report.tables._blocks import defined, distinct, number, p_value, table
from rote.report.tables._latex import escaped

_LEGEND = "Δ: change in percent of the original; -/+, p: answers lost and gained, McNemar's test"
Rows = Sequence[Mapping[str, Any]]
_TITLE = "accuracy of the models, original and perturbed, in percent"
_NAMES = {
    **dict.fromkeys(("noun,verb", "verb,noun"), "both"),
    "given": "perturbed",
    "noun": "nouns",
    "verb": "verbs",
}
_CHANGES = {
    **dict.fromkeys(("noun,verb", "verb,noun", "given"), "Δ"),
    "noun": "Δ-N",
    "verb": "Δ-V",
}
_LATEX = {"noun": "-N", "verb": "-V"}


def of_models(result: Result) -> Rows:
    """The rows of models that were asked here."""
    return [row for row in result.tables.get("answers", ()) if row["source"]]


def print_answers(rows: Rows, console: Any) -> None:
    """A table for each model with a line for each task, then the perplexity of last words."""
    heads = {"task": "left", "original": "right"}
    for pos in distinct(rows, "pos"):
        heads |= {_NAMES.get(pos, pos): "right", _CHANGES.get(pos, f"Δ {pos}"): "right"}
    heads |= {"-/+": "right", "p": "right"}
    _heading(_TITLE, console)
    for source in distinct(rows, "source"):
        console.print(f" {source}:", style="bold", highlight=False, markup=False)
        own = [row for row in rows if row["source"] == source]
        console.print(table(heads, [_line(_of(own, task)) for task in distinct(own, "task")]))
    console.print(_LEGEND, style="dim", highlight=False, markup=False)
    words = [row for row in rows if "perplexity_before" in row]
    if words:
        _heading("perplexity of the last word", console)
        heads = {"model": "left", "task": "left", "replaced": "left"}
        heads |= dict.fromkeys(("original", "perturbed", "Δ"), "right")
        console.print(table(heads, [_perplexity(row) for row in words]))


def as_latex(result: Result) -> Iterator[str]:
    """The tables of the paper, one after the other."""
    rows = of_models(result)
    for kind in distinct(rows, "kind"):
        yield _performance([row for row in rows if row["kind"] == kind], kind or "all")
    lost = [
        row
        for row in result.tables.get("tests", ())
        if row["test"] == "wilcoxon" and row["of"] == "lost" and "source" in row
    ]
    if lost:
        yield _popularity(lost)


def _performance(rows: Rows, kind: str) -> str:
    """Tables 1 and C, 2 and D: a column for each task, three lines and more for each model."""
    tasks = distinct(rows, "task")
    perplexed = [task for task in tasks if any("perplexity_before" in r for r in _of(rows, task))]
    heads = [*(f"{task} (perplexity)" for task in perplexed), *tasks]
    lines = []
    for source in distinct(rows, "source"):
        own = [row for row in rows if row["source"] == source]
        lines.append([source, "Original", *_cells(own, tasks, perplexed, "before")])
        for pos in distinct(own, "pos"):
            part = [row for row in own if row["pos"] == pos]
            mark = _LATEX.get(pos, "")
            lines.append(["", f"Lex. Perturb.{mark}", *_cells(part, tasks, perplexed, "after")])
            lines.append(["", f"Change{mark} (%)", *_cells(part, tasks, perplexed, "change")])
    return _tabular(["Model", "Conf.", *heads], lines, f"{kind} tasks")


def _popularity(rows: Rows) -> str:
    """Table 3: mean popularity of the items that go from right to wrong."""
    sources, tasks = distinct(rows, "source"), distinct(rows, "task")
    held = {(row["source"], row["task"]): row for row in rows}
    heads = ["Task", *(f"{source} {when}" for source in sources for when in ("before", "after"))]
    lines = [
        [
            task,
            *(
                f"{number(row[when], '.2f')} (±{number(row[f'{when}_sd'], '.2f')})"
                for source in sources
                for row in (held[source, task],)
                for when in ("before", "after")
            ),
        ]
        for task in tasks
    ]
    return _tabular(heads, lines, "popularity of the items that go from right to wrong")


def _tabular(heads: Sequence[str], lines: Sequence[Sequence[str]], said: str) -> str:
    rows = [
        f"% {said}",
        r"\begin{tabular}{" + "l" * 2 + "r" * (len(heads) - 2) + "}",
        r"\toprule",
        " & ".join(map(escaped, heads)) + r" \\",
        r"\midrule",
        *(" & ".join(map(escaped, line)) + r" \\" for line in lines),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(rows) + "\n"


def _cells(rows: Rows, tasks: Sequence[str], perplexed: Sequence[str], what: str) -> list[str]:
    words, shares = [], []
    for task in tasks:
        row = _of(rows, task)[0]
        if task in perplexed:
            value = row.get(f"perplexity_{what}")
            words.append(_percent(value) if what == "change" else number(value, ".2f"))
        shares.append(_percent(row[f"accuracy_{what}"], digits=2))
    return [*words, *shares]


def _of(rows: Rows, task: str) -> Rows:
    return [row for row in rows if row["task"] == task]


def _line(rows: Rows) -> list[str]:
    first = rows[0]
    cells = [first["task"], _percent(first["accuracy_before"])]
    for row in rows:
        cells += [_percent(row["accuracy_after"]), _percent(row["accuracy_change"], sign=True)]
    return [*cells, f"{first['lost']:,}/{first['gained']:,}", p_value(first["p"])]


def _perplexity(row: Mapping[str, Any]) -> list[str]:
    named = _NAMES.get(row["pos"], str(row["pos"]))
    numbers = [number(row[f"perplexity_{when}"]) for when in ("before", "after")]
    change = _percent(row["perplexity_change"], sign=True)
    return [row["source"], row["task"], named, *numbers, change]


def _percent(share: float | None, *, sign: bool = False, digits: int = 1) -> str:
    if not defined(share):
        return "–"
    assert share is not None
    return f"{100 * share:+.{digits}f}" if sign else f"{100 * share:.{digits}f}"


def _heading(text: str, console: Any) -> None:
    console.print(f"\n{text}", style="bold", highlight=False, markup=False)
