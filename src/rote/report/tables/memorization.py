"""Memorization for the eye and for other programs: scores, membership, prediction, frequency."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rote.core.result import Result
from rote.report.tables import results as tables
from rote.report.tables._blocks import Rows, number, p_value, plain_text, print_rows, with_interval

_LINES = 40
_MEMBERS = ("model", "group", "attack", "members", "others", "AUC", "found")
_PREDICTED = ("model", "group", "attack", "items", "majority", "logistic", "SVM", "coefficients")
_HALVES = ("model", "group", "attack", "half", "items", "accuracy")
_FREQUENCY = ("model", "group", "attack", "frequency", "items", "rho")
_OVERLAP = ("of", "in", "n", "items", "share", "low", "high")


def print_result(result: Result, console: Any) -> None:
    """Print the mean scores, then what they say of members, of right answers, of frequency."""
    tables.print_results([result], console)
    found = result.tables
    print_rows(
        f"members against non-members (found: at {_alarms(found['membership'])} false alarms)",
        [_member(row) for row in found["membership"][:_LINES]],
        _MEMBERS,
        console,
    )
    title = "n-grams that members and others share with the training data: what separates them too"
    print_rows(title, found["overlap"], _OVERLAP, console)
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
    print_rows(
        "scores against the frequency in the corpus (Spearman)",
        [
            {**row, "rho": with_interval(row["spearman"], row["low"], row["high"], "+.2f")}
            for row in found["frequency"][:_LINES]
        ],
        _FREQUENCY,
        console,
    )
    if any(len(found[name]) > _LINES for name in ("membership", "prediction", "frequency")):
        console.print(f"tables show {_LINES} lines at most; JSON has all", style="dim")


def as_text(result: Result, width: int = 140) -> str:
    return plain_text(print_result, result, width)


def as_csv(result: Result) -> str:
    return tables.as_csv([result])


def as_latex(result: Result) -> str:
    return tables.as_latex([result])


def _alarms(rows: Rows) -> str:
    return f"{max(row['false_alarms'] for row in rows):.1%}" if rows else ""


def _member(row: Mapping[str, Any]) -> dict[str, Any]:
    auc = with_interval(row["auc"], row["auc_low"], row["auc_high"], ".3f")
    found = with_interval(row["found"], row["found_low"], row["found_high"], ".1%")
    return {**row, "AUC": auc, "found": found}


def _predicted(row: Mapping[str, Any]) -> dict[str, Any]:
    said = ", ".join(
        f"{one['of']} {one['value']:+.2f} (p {p_value(one['p'])})" for one in row["coefficients"]
    )
    return {
        **row,
        "majority": _percent(row["majority_f1"]),
        "logistic": f"{_percent(row['logistic_f1'])} ({_percent(row['logistic_auc'])})",
        "SVM": f"{_percent(row['svm_f1'])} ({_percent(row['svm_auc'])})",
        "coefficients": said or row["reason"],
    }


def _percent(value: float | None) -> str:
    return number(None if value is None else 100 * value, ".1f")
