"""The tables and figures of a study of memorization."""

from __future__ import annotations

from rote.core.chart import Chart
from rote.core.numbers import format_number
from rote.core.result import Result
from rote.core.table import Column, Pivot, Row, Rows, Table, defined, ends
from rote.studies._memorization import controls, extraction, samples, unasked

_LINES = 40
_SHORT = {
    "tde_accuracy": "TDE",
    "tde_likelihood": "TDE lik.",
    "loss": "loss",
    "neighbours": "neighb.",
    "zlib": "zlib",
    "min_k": "Min-K%",
    "min_k_plus": "Min-K%++",
    "reference": "reference",
    "error_zone": "error zone",
}
_NAMED = (Column("model"), Column("group"))
_ITEMS = Column("items", kind="count")


def _said(row: Row) -> str:
    shown = []
    for one in row["coefficients"]:
        p = one["p"]
        p = "–" if not defined(p) else "< 0.001" if p < 0.001 else format_number(p, ".3f")
        shown.append(f"{one['of']} {format_number(one['value'], '+.2f')} (p {p})")
    return ", ".join(shown)


def _score(name: str, title: str) -> Column:
    auc = Column(f"{name}_auc", kind="share", ends=ends(f"{name}_auc"))
    return Column(f"{name}_f1", title, "share", ends=ends(f"{name}_f1"), also=auc)


def _alarms(rows: Rows, result: Result) -> str:
    return f"Members found at {max(row['false_alarms'] for row in rows):.1%} false alarms"


LAYOUT = (
    *(
        Table(
            "membership",
            title,
            (*_NAMED, Column("members", kind="count"), Column("others", kind="count")),
            limit=_LINES,
            # An attack may leave out items, so how many there are is said by the first alone.
            pivot=Pivot("attack", cell, _SHORT),
        )
        for title, cell in (
            (
                "Members against non-members: AUC",
                Column("auc", kind="number", decimals=3, ends=ends("auc")),
            ),
            (_alarms, Column("found", kind="share", ends=ends("found"))),
        )
    ),
    *controls.LAYOUT,
    Table(
        "overlap",
        "N-grams that members and others share, with the training data and with each other",
        (
            *(Column("of"), Column("in")),
            *(Column("n", kind="count"), _ITEMS),
            Column("share", kind="share", ends=("low", "high")),
        ),
        limit=_LINES,
    ),
    Table(
        "prediction",
        "Right answers predicted from the scores",
        (
            *(*_NAMED, Column("attack"), _ITEMS, Column("majority_f1", "majority", "share")),
            *(_score("logistic", "logistic"), _score("svm", "SVM")),
            Column("said", "coefficients"),
        ),
        said="macro-F1 (AUC), on items not fitted",
        rows=lambda rows, result: [{**row, "said": _said(row) or row["reason"]} for row in rows],
        limit=_LINES,
    ),
    Table(
        "halves",
        "Accuracy of the halves with low and high scores",
        (
            *(*_NAMED, Column("attack"), Column("half"), _ITEMS),
            Column("accuracy", kind="share", ends=("low", "high")),
        ),
        limit=_LINES,
    ),
    Table(
        "frequency",
        "Scores against the frequency in the corpus: Spearman's rho",
        (*_NAMED, Column("frequency"), _ITEMS),
        said="copies: of the whole text; ips: popularity; held: share of its n-grams there; a "
        "dash, or no line: the same for all",
        rows=lambda rows, result: [row for row in rows if defined(row["spearman"])],
        limit=_LINES,
        pivot=Pivot(
            "attack",
            Column("spearman", kind="number", decimals=2, signed=True, ends=("low", "high")),
            _SHORT,
        ),
    ),
    *extraction.LAYOUT,
    *samples.LAYOUT,
    *unasked.LAYOUT,
    Table("items", "Scores of each item", limit=0, page=False),
)


TITLES = {
    "tde_accuracy": "TDE accuracy",
    "tde_likelihood": "TDE likelihood",
    "loss": "loss",
    "neighbours": "neighbours",
    "zlib": "zlib",
    "min_k": "Min-K%",
    "min_k_plus": "Min-K%++",
    "reference": "reference",
    "error_zone": "error zone",
}


def _membership(rows: Rows, result: Result) -> Rows:
    drawn = []
    for model in dict.fromkeys(row["model"] for row in rows):
        own = [row for row in rows if row["model"] == model and defined(row["auc"])]
        at = max((row["false_alarms"] for row in own), default=0)
        for value, title in (("auc", "AUC"), ("found", f"found at {at:.1%} false alarms")):
            drawn += [
                {
                    **{name: row[name] for name in ("group", "attack", "model")},
                    "value": row[value],
                    "low": row[f"{value}_low"],
                    "high": row[f"{value}_high"],
                    "title": title,
                }
                for row in own
            ]
    return drawn


def _prediction(rows: Rows, result: Result) -> Rows:
    order = list(TITLES)
    return [
        {**row, "attack": TITLES[row["attack"]]}
        for row in sorted(rows, key=lambda row: order.index(row["attack"]))
    ]


CHARTS = (
    Chart(
        "membership",
        "Members told from others",
        table="membership",
        shape="lines",
        x="group",
        y="value",
        colour="attack",
        names=TITLES,
        panel=("title", "model"),
        ends=("low", "high"),
        domain=(0, 1),
        rows=_membership,
        says="AUC, and members found at few false alarms, over the groups; a line for each attack.",
    ),
    Chart(
        "prediction",
        "Right answers predicted from the scores",
        table="prediction",
        shape="bars",
        x="attack",
        y="logistic_f1",
        panel=("group", "model"),
        titles={"logistic_f1": "macro-F1"},
        domain=(0, 1),
        rule="majority_f1",
        rows=_prediction,
        says="Macro-F1 by attack; the dashed line is the guess of the majority.",
    ),
    *extraction.CHARTS,
    Chart("values", "Values"),
)
