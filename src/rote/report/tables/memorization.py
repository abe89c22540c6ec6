"""Memorization for the eye and for other programs: scores, membership, prediction, frequency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rote.core.result import Result
from rote.report.tables import results as tables
from rote.report.tables._blocks import (
    Rows,
    defined,
    number,
    p_value,
    plain_text,
    print_rows,
    with_interval,
)
from rote.report.tables.latex import values_as_latex

_LINES = 40
_PREDICTED = ("model", "group", "attack", "items", "majority", "logistic", "SVM", "coefficients")
_HALVES = ("model", "group", "attack", "half", "items", "accuracy")
_OVERLAP = ("of", "in", "n", "items", "share")
_SHORT = {
    "tde_accuracy": "TDE",
    "tde_likelihood": "TDE lik.",
    "loss": "loss",
    "neighbours": "neighb.",
    "zlib": "zlib",
    "min_k": "Min-K%",
    "min_k_plus": "Min-K%++",
}


def print_result(result: Result, console: Any) -> None:
    """Print the mean scores, then what they say of members, of right answers, of frequency."""
    tables.print_results([result], console)
    found = result.tables
    members = found["membership"]
    for value, form, title in (
        ("auc", ".3f", "members against non-members: AUC"),
        ("found", ".1%", f"members found at {_alarms(members)} false alarms"),
    ):
        beside = _side_by_side(members, ("model", "group", "members", "others"), value, form)
        _print(title, beside, console)
    if members and result.interval:
        _say("intervals are in --json", console)
    title = "n-grams that members and others share with the training data: what separates them too"
    shown = [
        {**row, "share": with_interval(row["share"], row["low"], row["high"], ".1%")}
        for row in found["overlap"]
    ]
    print_rows(title, shown, _OVERLAP, console)
    print_rows(
        "right answers predicted from the scores: macro-F1 (AUC), on items not fitted",
        [_predicted(row) for row in found["prediction"][:_LINES]],
        _PREDICTED,
        console,
    )
    print_rows(
        "accuracy of the halves with low and high scores",
        [
            {**row, "accuracy": with_interval(row["accuracy"], row["low"], row["high"], ".1%")}
            for row in found["halves"][:_LINES]
        ],
        _HALVES,
        console,
    )
    known = [row for row in found["frequency"] if defined(row["spearman"])]
    beside = _side_by_side(known, ("model", "group", "frequency", "items"), "spearman", "+.2f")
    _print("scores against the frequency in the corpus: Spearman's rho", beside, console)
    if beside:
        said = "copies: of the whole text; ips: popularity; held: share of its n-grams there"
        _say(f"{said}; a dash, or no line: the same for all", console)
    if any(len(found[name]) > _LINES for name in ("prediction", "halves")):
        _say(f"tables show {_LINES} lines at most; JSON has all", console)


def _side_by_side(rows: Rows, names: Sequence[str], value: str, form: str) -> Rows:
    """A line for each group, a column for each attack that any of them has."""
    lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        # An attack may leave out items, so how many there are is said by the first alone.
        key = tuple(row[name] for name in names if isinstance(row[name], str))
        own = lines.setdefault(key, {name: row[name] for name in names})
        own[_SHORT[row["attack"]]] = number(row[value], form)
    return list(lines.values())


def _print(title: str, rows: Rows, console: Any) -> None:
    attacks = [name for name in _SHORT.values() if any(name in row for row in rows)]
    first = [name for name in rows[0] if name not in attacks] if rows else []
    told = [{name: row.get(name, "–") for name in (*first, *attacks)} for row in rows]
    print_rows(title, told, (*first, *attacks), console)


def _say(line: str, console: Any) -> None:
    console.print(line, style="dim", highlight=False, markup=False)


def as_text(result: Result, width: int = 140) -> str:
    return plain_text(print_result, result, width)


def as_latex(result: Result) -> str:
    return values_as_latex([result])


def _alarms(rows: Rows) -> str:
    return f"{max(row['false_alarms'] for row in rows):.1%}" if rows else ""


def _predicted(row: Mapping[str, Any]) -> dict[str, Any]:
    said = ", ".join(
        f"{one['of']} {one['value']:+.2f} (p {p_value(one['p'])})" for one in row["coefficients"]
    )
    return {
        **row,
        "majority": _percent(row["majority_f1"]),
        "logistic": f"{_with_ends(row, 'logistic_f1')} ({_with_ends(row, 'logistic_auc')})",
        "SVM": f"{_with_ends(row, 'svm_f1')} ({_with_ends(row, 'svm_auc')})",
        "coefficients": said or row["reason"],
    }


def _with_ends(row: Mapping[str, Any], name: str) -> str:
    """A share in percent and, in results that have it, its interval."""
    low, high = (row.get(f"{name}_{end}") for end in ("low", "high"))
    ends = f" [{_percent(low)}, {_percent(high)}]" if defined(low) and defined(high) else ""
    return _percent(row[name]) + ends


def _percent(value: float | None) -> str:
    return number(None if value is None else 100 * value, ".1f")
