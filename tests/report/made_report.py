"""Studies made by hand; `say` stands for whatever a name or a text may hold.

The same study with plain and with hostile names must give pages of the same structure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rote.core import plugins
from rote.core.evidence import Evidence, Mark
from rote.core.result import Interval, Result, SourceResult
from rote.core.signature import Signature, option_settings
from rote.report.report import Material, Omission, Report, Tool
from tests.report.made import made, made_panel

Say = Callable[[str], str]
# Fields of rows whose values come from the data.
_NAMES = {"source", "other", "reference", "favoured_by", "id", "document", "author"}
_TEXTS = {"template", "text", "fragment", "match", "before", "after", "examples", "pattern"}
SENTENCE = "The old mill turns slowly and the old mill stands still."


def plain(text: str) -> str:
    return text


def study(say: Say = plain, *, results: list[Result] | None = None) -> Report:
    """Every part that a report can have but those of test items."""
    own = [*panel(), templates(), originality()] if results is None else results
    sources = {say("human"): {"texts": 100, "words": 20_000}}
    return Report(
        title=say("Mills and rivers"),
        created="2025-03-04T05:06:07+00:00",
        version="0.1.0",
        reference=say("human"),
        materials=(
            Material(
                "texts",
                say("texts.jsonl"),
                say("abc123"),
                {"texts": 200, "words": 40_000, "sources": sources},
            ),
            Material("corpus", say("corpus"), "def456", {"documents": 7, "note": say("x")}),
        ),
        tools=(Tool(say("tagger"), "1", say("CC BY-SA 4.0"), say("tags")),),
        results=tuple(said(result, say) for result in own),
        evidence=evidence(say),
        omitted=(Omission(say("overlap"), say("no training text was given")),),
        notes=(say("Sentences were drawn at random."),),
    )


def evidence(say: Say = plain) -> tuple[Evidence, ...]:
    before = say("x ")
    first = len(before)
    source = {
        "document": say("Mills"),
        "author": say("Ann"),
        "before": say("So "),
        "match": say("the old mill"),
        "after": say(" fell"),
    }
    return (
        Evidence(
            "templates",
            say("one"),
            say("one/1"),
            before + SENTENCE,
            (
                Mark(first, first + 12, say("DT JJ NN"), "template"),
                Mark(first + 4, first + 18, say("JJ NN VBZ"), "template"),
                Mark(first + 32, first + 44, say("DT JJ NN"), "template"),
            ),
        ),
        Evidence(
            "originality",
            say("one"),
            say("one/2"),
            before + SENTENCE,
            (
                Mark(first, first + 12, say("a"), "cited", (source,)),
                Mark(first + 13, first + 25, say("b"), "original"),
            ),
            cut=True,
        ),
    )


def panel(others: tuple[str, ...] = ("one",)) -> list[Result]:
    return [
        replace(result, comparisons=[{**row, "permutations": 499} for row in result.comparisons])
        for result in made_panel(("",), others, inputs=False)
    ]


def templates(sources: int = 2, *, rows: int = 3) -> Result:
    """The measure with one figure and the tables that a report shows."""
    whole = made(sources)
    names = {name: "human" if name == "human" else "one" for name in whole.by_source}
    if sources > 2:
        names = {name: name for name in whole.by_source}
    shown = ("templates", "matches", "distinctive")
    kept = {"values": whole.tables["values"]}
    kept |= {name: _first(whole.tables[name], rows) for name in shown}
    return said(replace(whole, tables=kept), lambda name: names.get(name, name))


def originality(listed: int = 2) -> Result:
    values = {"original": 0.4, "failing": 0.3}
    return Result(
        measure="originality",
        signature=_signature("originality"),
        by=("source",),
        reference="human",
        interval=Interval(0.95, "by hand"),
        by_source={
            name: SourceResult(100, 20_000, dict(values), {"original": (0.3, 0.5)}, ("a note",))
            for name in ("human", "one")
        },
        tables={
            "values": [
                {
                    "value": v,
                    "title": f"{v} sentences",
                    "higher": "neither",
                    "length_sensitive": False,
                }
                for v in values
            ],
            "lengths": [
                {"source": s, "words": n, "failing": 0.3 / n, "low": 0.1 / n, "high": 0.5 / n}
                for s in ("human", "one")
                for n in (2, 3)
            ],
            "citations": [
                {
                    "source": "one",
                    "id": f"one/{number}",
                    "words": 3,
                    "fragment": "the old mill",
                    "document": "Mills",
                    "author": "Ann",
                }
                for number in range(listed)
            ],
            "ground_truth": [
                {
                    "documents": 7,
                    "words": 900,
                    "sources": 5,
                    "authors": 3,
                    "documents_without_author": 2,
                }
            ],
            "incompleteness": [{"length": 2, "unseen": 0.25}],
        },
    )


def contamination(items: int) -> Result:
    return Result(
        measure="contamination",
        signature=_signature("contamination"),
        by=("source",),
        reference=None,
        interval=None,
        by_source={"test": SourceResult(items, 40 * items, {"longest": 9.0})},
        tables={
            "values": [_value("longest")],
            "items": [
                {
                    "source": "test",
                    "id": f"item/{number}",
                    "verdict": "contaminated" if number % 3 else "touched",
                    "longest": 8 + number % 50,
                    "words": 60,
                    "document": f"document {number}",
                    "author": None,
                    "match": f"words of item {number} that the corpus holds as they are",
                }
                for number in range(items)
            ],
        },
    )


def overlap() -> Result:
    """Scores in two bins, as the measure gives them."""
    head = {"source": "test", "score": "rouge_1"}
    bins = ((1, "T_nov", 0.0, 0.1, 0.2), (2, "T_sim", 0.1, 1.0, 0.4))
    return Result(
        measure="overlap",
        signature=_signature("overlap"),
        by=("source",),
        reference=None,
        interval=Interval(0.95, "by hand"),
        by_source={"test": SourceResult(40, 1600, {"overlap": 0.3}, {"overlap": (0.2, 0.4)})},
        tables={
            "values": [_value("overlap")],
            "bins": [
                {
                    **head,
                    "bin": number,
                    "name": name,
                    "low": low,
                    "high": high,
                    "texts": 20,
                    "mean": mean,
                    "mean_low": mean - 0.1,
                    "mean_high": mean + 0.1,
                }
                for number, name, low, high, mean in bins
            ],
            "trends": [
                {
                    **head,
                    "texts": 40,
                    "nov": 0.2,
                    "sim": 0.4,
                    "p": 0.0004,
                    "ratio": 2.0,
                    "ratio_low": 1.5,
                    "ratio_high": 2.5,
                    "trend": 0.3,
                    "trend_low": 0.1,
                    "trend_high": 0.5,
                }
            ],
        },
    )


def popularity() -> Result:
    """Items of one task with their halves, as the command gives them."""
    values = ("ips", "accuracy", "accuracy_low", "accuracy_high", "accuracy_difference")
    group = {"group": "copa", "task": "copa", "score": 0.1, "answered": 9, "correct": 6}
    share = {"items": 10, "accuracy": 0.6, "low": 0.4, "high": 0.8}
    return Result(
        measure="popularity",
        signature=Signature.of({"measure": "popularity", "n": 4, "count": "occurrences"}),
        by=("task",),
        reference=None,
        interval=Interval(0.95, "by hand"),
        by_source={"copa": SourceResult(20, 300, dict.fromkeys(values, 0.5))},
        tables={
            "values": [_value(name) for name in values],
            "groups": [{**group, **share, "popularity": half} for half in ("low", "high")],
            "accuracy": [{**group, **share, "decile": decile} for decile in (1, 2)],
            "items": [
                {"id": f"{number}", "group": "copa", "ips": [2.0 + number, 1.0], "answer": 0}
                for number in range(4)
            ],
        },
    )


def said(result: Result, say: Say) -> Result:
    """The result with `say` over every name and text that the data decides."""

    def value(field: str, held: Any) -> Any:
        if isinstance(held, str):
            return say(held) if field in _NAMES | _TEXTS else held
        if isinstance(held, (list, tuple)):
            return [value(field, one) for one in held]
        if isinstance(held, Mapping) and field == "counts":
            return {say(name): count for name, count in held.items()}
        return held

    def rows(given: Any) -> list[dict[str, Any]]:
        return [{field: value(field, held) for field, held in row.items()} for row in given]

    if say is plain:
        return replace(result, signature=_signature(result.measure))
    return replace(
        result,
        reference=None if result.reference is None else say(result.reference),
        signature=_signature(result.measure),
        by_source={say(name): found for name, found in result.by_source.items()},
        comparisons=rows(result.comparisons),
        tables={name: rows(table) for name, table in result.tables.items()},
    )


def _value(name: str) -> dict[str, Any]:
    titles = {"value": name, "title": f"{name} of all", "higher": "neither"}
    return {**titles, "length_sensitive": False}


def _signature(measure: str) -> Signature:
    """With the settings that the measure has by itself."""
    options = plugins.load("measure", measure).METRIC.options()
    return Signature.of({"measure": measure, **option_settings(options)})


def _first(rows: Any, count: int) -> list[dict[str, Any]]:
    """The first rows of each source."""
    taken: dict[str, int] = {}
    found = []
    for row in rows:
        taken[row["source"]] = taken.get(row["source"], 0) + 1
        if taken[row["source"]] <= count:
            found.append(dict(row))
    return found
