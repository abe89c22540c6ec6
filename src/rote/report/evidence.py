"""Texts that show what was found: a few of each source, with what matters marked in them.

The texts that show most, and one drawn at random, so that the others do not stand for all. Long
texts are cut around their marks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.facets import is_input
from rote.core.layer import Layer
from rote.core.progress import several
from rote.core.result import Result, Row
from rote.core.sample import Need
from rote.measure._collect import Collected
from rote.measure._prepare import hashed
from rote.report.report import Evidence
from rote.report.texts.highlight import Mark

LONGEST = 1_200
"""Characters of a text that are shown."""
_ENOUGH = 30
"""Words from which on a text shows a habit, and not just itself."""
_AROUND = 160
_CITED = 3
_OF_A_PLACE = ("document", "author", "before", "match", "after")
_TAGS = Need("pos", spans=True)

Place = tuple[int, int]
"""An item of a text, and which of the templates begins there."""


def evidence(result: Result, collected: Collected, count: int, seed: int) -> list[Evidence]:
    """What shows this result, at most `count` texts of each source."""
    shown = {"originality": _originality, "novelty": _novelty}.get(result.measure)
    if not count or "text" not in _held(collected):
        return []
    texts = _Texts(collected)
    if result.measure == "templates":
        return list(_templates(result, texts, count, seed))
    return list(shown(result, texts, count)) if shown else []


def _held(collected: Collected) -> set[str]:
    sample = collected.sample
    return {need.layer for need in sample.layers} | ({"text"} if None in sample.raws else set())


class _Texts:
    """The texts as they were read, by source, id and file."""

    def __init__(self, collected: Collected) -> None:
        self.sample, self.ids = collected.sample, collected.ids
        self.groups = {s: take.tolist() for s, take in collected.groups.items() if not is_input(s)}
        files = collected.files or [""] * len(self.ids)
        self.numbers = {
            (source, self.ids[text], files[text]): text
            for source, own in self.groups.items()
            for text in own
        }

    def read(self, number: int) -> str:
        # Half a surrogate pair cannot be written down; a question mark keeps all places.
        raw = self.sample.text().string(number)
        return raw.encode("utf-8", "replace").decode("utf-8")

    def of(self, row: Row) -> str | None:
        number = self.numbers.get((row["source"], row["id"], row.get("file", "")))
        return None if number is None else self.read(number)


def _templates(result: Result, texts: _Texts, count: int, seed: int) -> Iterator[Evidence]:
    """The texts that templates fill most, and one at random."""
    if _TAGS not in texts.sample.layers:
        return
    layer = texts.sample.layer(_TAGS)
    numbers = {item: number for number, item in enumerate(layer.vocabulary)}
    listed = _by_source(result.tables.get("templates", ()))
    for source, own in texts.groups.items():
        templates = [row["template"].split(" ") for row in listed.get(source, ())]
        if not templates:
            continue
        known = np.array([[numbers[item] for item in template] for template in templates])
        found = {text: _places(layer.ids[layer.slice(text)], known) for text in own}
        for text in _fullest(found, layer, known.shape[1], count, texts.ids, seed):
            marks = _marks(layer, text, found[text], templates)
            yield cut(Evidence("templates", source, texts.ids[text], texts.read(text), marks))


def _places(ids: NDArray[np.int32], known: NDArray[np.int64]) -> list[Place]:
    n = known.shape[1]
    if len(ids) < n:
        return []
    windows = np.lib.stride_tricks.sliding_window_view(ids, n)
    places, which = np.nonzero((windows[:, None, :] == known[None, :, :]).all(axis=2))
    return list(zip(places.tolist(), which.tolist()))


def _fullest(
    found: Mapping[int, Sequence[Place]],
    layer: Layer,
    n: int,
    count: int,
    ids: Sequence[str],
    seed: int,
) -> list[int]:
    """Those of which templates fill the largest share, then one of the others at random."""

    def share(text: int) -> float:
        words = int(layer.slice(text).stop - layer.slice(text).start)
        inside: set[int] = {place + step for place, _ in found[text] for step in range(n)}
        # Of a short text a single template fills much.
        return len(inside) / max(words, _ENOUGH)

    def by_chance(text: int) -> bytes:
        return hashed(ids[text], seed)

    ranked = sorted(found, key=lambda text: (-share(text), by_chance(text)))
    first = ranked[: max(1, count - 1)]
    rest = ranked[len(first) :]
    return [*first, min(rest, key=by_chance)] if rest and count > 1 else first


def _marks(
    layer: Layer, text: int, places: Sequence[Place], templates: Sequence[Sequence[str]]
) -> list[Mark]:
    begin = layer.slice(text).start
    return [
        Mark(
            int(layer.starts[begin + place]),
            int(layer.ends[begin + place + len(templates[which]) - 1]),
            " ".join(templates[which]),
            "template",
        )
        for place, which in places
    ]


def _originality(result: Result, texts: _Texts, count: int) -> Iterator[Evidence]:
    """Sentences that need a citation, those that repeat most first, and one that does not."""
    sentences = _by_source(result.tables.get("sentences", ()))
    citations: dict[tuple[Any, ...], list[Row]] = {}
    for row in result.tables.get("citations", ()):
        citations.setdefault(_key(row, row), []).append(row)
    for source, rows in sentences.items():
        failing = sorted((row for row in rows if row["fails"]), key=lambda row: -_longest(row))
        passing = [row for row in rows if row["original"] and not row["fails"]]
        for row in (*failing[: max(1, count - 1)], *passing[:1]):
            cited = [
                _mark(row, span, "cited", citations.get(_key(row, span), ()))
                for span in row["cited_fragments"]
            ]
            new = [_mark(row, span, "original", ()) for span in row["original_fragments"]]
            whole = texts.of(row)
            marks = tuple(cited or new)
            shown = cut(Evidence("originality", source, row["id"], _written(row["text"]), marks))
            yield replace(shown, cut=shown.cut or whole is None or len(whole) > len(row["text"]))


def _longest(row: Row) -> int:
    return max((span["words"] for span in row["cited_fragments"]), default=0)


def _key(row: Row, span: Row) -> tuple[Any, ...]:
    place = (row["sentence"], span["start"], span["end"])
    return (row["source"], row["id"], row.get("file", ""), *place)


def _mark(row: Row, span: Row, kind: str, places: Sequence[Row]) -> Mark:
    """A fragment of a sentence; places count from the beginning of the sentence."""
    return Mark(
        span["start"] - row["start"],
        span["end"] - row["start"],
        f"{several(span['words'], 'word')}",
        kind,
        tuple(_place(place) for place in places[:_CITED]),
    )


def _novelty(result: Result, texts: _Texts, count: int) -> Iterator[Evidence]:
    """The texts with the longest runs of words that the corpus holds."""
    for source, rows in _by_source(result.tables.get("copied", ())).items():
        if source not in texts.groups:
            continue
        for row in rows[:count]:
            text = texts.of(row)
            if text is None:
                continue
            place = {**_place(row), "count": row["count"]}
            label = f"{several(row['words'], 'word')}"
            mark = Mark(row["text_start"], row["text_end"], label, "copied", (place,))
            yield cut(Evidence("novelty", source, row["id"], text, (mark,)))


def _place(row: Row) -> dict[str, Any]:
    """Where something occurs in the corpus; a long match is shown by its beginning."""
    found = {name: row[name] for name in _OF_A_PLACE}
    if len(found["match"]) > 2 * _AROUND:
        found["match"] = found["match"][: 2 * _AROUND] + " …"
        found["after"] = ""
    return {k: _written(v) if isinstance(v, str) else v for k, v in found.items()}


def _written(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _by_source(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["source"], []).append(row)
    return found


def cut(whole: Evidence, longest: int = LONGEST) -> Evidence:
    """The part of a text that its marks fill most, at word ends where there are any."""
    text, marks = whole.text, sorted(whole.marks, key=lambda mark: (mark.start, mark.end))
    if len(text) <= longest:
        return replace(whole, marks=tuple(marks))
    first, last = max(
        (_window(text, mark.start, longest) for mark in marks),
        key=lambda window: _filled(marks, *window),
        default=_window(text, 0, longest),
    )
    kept = [
        replace(mark, start=max(mark.start, first) - first, end=min(mark.end, last) - first)
        for mark in marks
        if mark.start < last and mark.end > first
    ]
    return replace(whole, text=text[first:last], marks=tuple(kept), cut=True)


def _window(text: str, at: int, longest: int) -> tuple[int, int]:
    """So many characters, beginning a little before a place, which they hold."""
    start = max(0, min(at - _AROUND, len(text) - longest))
    if start:
        space = text.find(" ", start, start + _AROUND)
        start = space + 1 if space >= 0 and space < at else start
    end = min(len(text), start + longest)
    if end < len(text):
        space = text.rfind(" ", end - _AROUND, end)
        end = space if space > at else end
    return start, end


def _filled(marks: Sequence[Mark], start: int, end: int) -> int:
    """Characters of a part that lie in a mark."""
    total, reached = 0, start
    for mark in marks:
        last = min(mark.end, end)
        total += max(0, last - max(mark.start, reached))
        reached = max(reached, last)
    return total
