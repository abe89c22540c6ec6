"""What decides originality, for the eye: failing sentences and whose words they hold, new words.

Printed below the values; JSON holds the tables whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

from rote.core.progress import several
from rote.core.result import Result
from rote.core.table import defined
from rote.report._grid import split
from rote.report.terminal import facts_table, harmless

Rows = Sequence[Mapping[str, Any]]
_FAILING, _ORIGINAL, _MERGED = 4, 6, 5
_NUMBERS = {2: "two", 3: "three", 4: "four"}
_LEAST = 20


def print_originality(result: Result, console: Any) -> None:
    """Print the tables of a result of `originality`, those of each facet apart."""
    for facet, part in split(result):
        if not part.tables.get("counts"):
            continue
        title = f"{facet.title}: " if facet.title else ""
        for table in (_failing, _originals):
            for shown in table(part, title, console.width):
                console.print(shown, highlight=False)
    if facts := ground_truth(result):
        console.print(_heading("The ground truth", "all verdicts are about it alone"))
        console.print(facts_table(facts), highlight=False)


def _failing(result: Result, title: str, width: int) -> Iterator[Text]:
    """For each source the sentences that repeat most, the fragment marked, and whose it is."""
    whose: dict[tuple[str, str, int, int], list[str]] = {}
    for row in result.tables["citations"]:
        key = (row["source"], row["id"], row["start"], row["end"])
        whose.setdefault(key, []).append(_where(row))
    rows = [row for row in result.tables["sentences"] if row["fails"]]
    if not rows:
        return
    yield _heading(
        f"{title}What fails", "the longest fragments that need a citation, and whose they are"
    )
    for source in _sources(rows, result):
        own = [(_longest(row), row) for row in rows if row["source"] == source]
        own.sort(key=lambda pair: (-pair[0]["words"], pair[1]["id"], pair[1]["sentence"]))
        yield Text(f" {harmless(source)}", style="bold")
        for span, row in own[:_FAILING]:
            yield _marked(row, span, width - 4)
            held = whose.get((source, row["id"], span["start"], span["end"]), [])
            where = f"{harmless(row['id'])}, sentence {row['sentence']}"
            yield Text(f"    {where}: {'; '.join(held)}", style="dim")


def _originals(result: Result, title: str, width: int) -> Iterator[Text]:
    """For each source a fragment of some sentences that nobody in the ground truth has."""
    rows = [row for row in result.tables["sentences"] if row["original"]]
    if not rows:
        return
    yield _heading(f"{title}What is original", "fragments that the ground truth does not hold")
    for source in _sources(rows, result):
        own = [row["original_fragments"][0] for row in rows if row["source"] == source]
        shown = " · ".join(harmless(span["fragment"]) for span in own[:_ORIGINAL])
        yield Text.assemble((f" {harmless(source)}: ", "bold"), shown)


def ground_truth(result: Result) -> dict[str, str]:
    """What the verdicts rest on; the rows of every facet are the same."""
    if not result.tables.get("ground_truth"):
        return {}
    held = result.tables["ground_truth"][0]
    facts = {
        "size": f"{several(held['documents'], 'document')}, {several(held['words'], 'word')}",
        "sources": f"{held['sources']:,}: {several(held['authors'], 'author')}, "
        f"{several(held['documents_without_author'], 'document')} without one",
    }
    unseen = {row["length"]: row["unseen"] for row in result.tables.get("incompleteness", ())}
    shown = [
        f"{unseen[n]:.0%} of those of {name} words"
        for n, name in _NUMBERS.items()
        if defined(unseen.get(n))
    ]
    if shown:
        facts["missing"] = (
            f"of the fragments of further texts like it {', '.join(shown)} (Good-Turing)"
        )
    if held.get("held_out_sentences"):
        failing, sentences = held["held_out_failing"], held["held_out_sentences"]
        facts["by chance"] = (
            f"{failing / sentences:.1%} of its own sentences need a citation of another source "
            f"({failing:,} of {sentences:,} held out)"
        )
    rows = result.tables.get("merged_authors", ())
    authors = {(row["spellings"][0], row["author"]): row for row in rows}
    merged = [" = ".join(row["spellings"]) for row in authors.values() if row["author"]]
    unclear = [
        f"{row['spellings'][0]} ({' or '.join(row['could_be'])})"
        for row in authors.values()
        if not row["author"]
    ]
    guessed = [
        f"{name} = {row['author']}" for row in authors.values() for name in row.get("guessed", ())
    ]
    named = {"one author": merged, "guessed": guessed, "left apart": unclear}
    return facts | {what: _some(names) for what, names in named.items() if names}


def _sources(rows: Rows, result: Result) -> list[str]:
    """The sources of a table, the reference first."""
    found = dict.fromkeys(row["source"] for row in rows)
    return sorted(found, key=lambda name: name != result.reference)


def _some(names: Sequence[str]) -> str:
    more = f"; and {len(names) - _MERGED:,} more" if len(names) > _MERGED else ""
    return "; ".join(names[:_MERGED]) + more


def _longest(row: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = max(row["cited_fragments"], key=lambda span: span["words"])
    return found


def _marked(row: Mapping[str, Any], span: Mapping[str, Any], width: int) -> Text:
    """The sentence in one line with the fragment in brackets; cut on both sides if it must be."""
    first, last = span["start"] - row["start"], span["end"] - row["start"]
    before, after = harmless(row["text"][:first]), harmless(row["text"][last:])
    middle = harmless(span["fragment"])
    room = max(_LEAST, (width - len(middle)) // 2)
    before = before if len(before) <= room else f"…{before[1 - room :]}"
    after = after if len(after) <= room else f"{after[: room - 1]}…"
    gap = " " if row["text"][:first][-1:].isspace() else ""
    behind = " " if row["text"][last:][:1].isspace() else ""
    return Text.assemble(
        f"  {before}{gap}", (f"[{middle}]", "bold"), f"{behind}{after}", no_wrap=True
    )


def _where(row: Mapping[str, Any]) -> str:
    document = harmless(row["document"])
    return f"{harmless(row['author'])} ({document})" if row["author"] else document


def _heading(title: str, about: str) -> Text:
    return Text.assemble("\n", (harmless(title), "bold"), (f"  {about}", "dim"))
