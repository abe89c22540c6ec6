"""What a study of style memorization gives: shares by group and by frequency, substitutions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate import annotators, words
from rote.compare.intervals import interval_from_error, mean_error, wilson
from rote.core.chart import Chart
from rote.core.document import Document
from rote.core.model import Decoding, Model, Prompt
from rote.core.progress import Reporter, several
from rote.core.result import Result, SourceResult
from rote.core.table import Column, Row, Rows, Table, ends, estimate
from rote.models.answers import generate_all
from rote.studies._items import named
from rote.studies._popularity.scores import PARTS, Deciles

RESAMPLES = 1000
"""Draws of half of the texts, for the spread of the shares."""
_TOKENS_A_WORD = 4
"""More tokens than words are asked for: what is too much is cut off."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A training text: what the model is given, and what it should write."""

    document: Document
    prompt: str
    whole: str
    """The prompt and the words after it that count."""

    @property
    def key(self) -> tuple[str, str]:
        """Files may use the same ids for other texts."""
        return self.document.id, self.whole


@dataclass(frozen=True, slots=True)
class Completion:
    """The words that should follow and those that the model wrote, with their tags."""

    cut: Cut
    written: str
    words: tuple[str, ...]
    tags: tuple[str, ...]
    own_words: tuple[str, ...]
    own_tags: tuple[str, ...]
    """What the model wrote: fewer where it stopped early, none where it changed the prompt."""

    @property
    def exact(self) -> bool:
        return self.words == self.own_words

    @property
    def style(self) -> bool:
        """Whether the tags agree; they do wherever the words do."""
        return self.exact or self.tags == self.own_tags

    @property
    def words_agree(self) -> float:
        """The share of places where the same word stands."""
        return sum(map(str.__eq__, self.words, self.own_words)) / len(self.words)

    @property
    def tags_agree(self) -> float:
        return sum(map(str.__eq__, self.tags, self.own_tags)) / len(self.tags)

    def substitutions(self) -> list[tuple[str, str, str]]:
        """(tag, word, other word) where only the words differ."""
        found = zip(self.tags, self.own_tags, self.words, self.own_words)
        return [
            (tag, word, other) for tag, same, word, other in found if tag == same != word != other
        ]


def cut_texts(documents: Sequence[Document], prompt: int, count: int) -> list[Cut]:
    """The texts that are long enough, cut after `prompt` and after `prompt + count` words."""
    word = words.get()([document.text for document in documents])
    lengths = word.text_ends - word.text_starts
    cuts = []
    for number in np.flatnonzero(lengths >= prompt + count).tolist():
        first, document = int(word.text_starts[number]), documents[number]
        middle, last = (int(word.ends[first + n - 1]) for n in (prompt, prompt + count))
        cuts.append(Cut(document, document.text[:middle], document.text[:last]))
    return cuts


def complete(
    cuts: Sequence[Cut], model: Model, prompt: int, count: int, layer: str, reporter: Reporter
) -> list[Completion]:
    """What the model writes after each prompt, by greedy decoding."""
    decoding = Decoding(max_tokens=_TOKENS_A_WORD * count)
    prompts = [Prompt(cut.prompt) for cut in cuts]
    written = [one.text for one in generate_all(model, prompts, decoding, reporter)]
    originals = _annotated([cut.whole for cut in cuts], layer)
    # Cut before annotating: words further on must not change the tags.
    others = _annotated(
        _first_words([c.prompt + text for c, text in zip(cuts, written)], prompt + count), layer
    )
    found = []
    for cut, text, (held, tags), (own, own_tags) in zip(cuts, written, originals, others):
        kept = own[:prompt] == held[:prompt]
        found.append(
            Completion(
                cut,
                text,
                held[prompt:],
                tags[prompt:],
                own[prompt:] if kept else (),
                own_tags[prompt:] if kept else (),
            )
        )
    return found


def _first_words(texts: Sequence[str], count: int) -> list[str]:
    word = words.get()(texts)
    ends: NDArray[np.int64] = np.minimum(word.text_starts + count, word.text_ends)
    return [
        text[: int(word.ends[end - 1])] if end > start else ""
        for text, start, end in zip(texts, word.text_starts.tolist(), ends.tolist())
    ]


def _annotated(texts: Sequence[str], layer: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The words and tags of each text."""
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    made = annotators.get()(documents, (layer,))
    return [
        (tuple(made.word.items(number)), tuple(made.layers[layer].items(number)))
        for number in range(len(texts))
    ]


VALUES = {
    "exact": "memorized word for word",
    "style": "memorized in style (the same tags)",
    "style_only": "in style, not word for word",
    "words_agree": "words that agree",
    "tags_agree": "tags that agree",
}
_SHARES = ("exact", "style", "style_only")
_KINDS = {"exact": "word for word", "style": "in style (tags)"}
_TOLD = ("exact", "style", "words_agree", "tags_agree", "written")


@dataclass(frozen=True, slots=True)
class Recall:
    """What the tables are made from: completions by group, and how often each text was seen."""

    groups: Mapping[str, Sequence[Completion]]
    frequency: Mapping[tuple[str, str], float]
    """By the key of the text; empty where nobody says it."""
    options: Any


def sources(recall: Recall) -> dict[str, SourceResult]:
    return {name: _source(recall, found) for name, found in recall.groups.items()}


def all_tables(recall: Recall) -> dict[str, Sequence[Row]]:
    return {
        "resamples": list(_resamples(recall)),
        "seen": list(_by_frequency(recall)),
        "substitutions": list(_substitutions(recall)),
        "examples": list(_examples(recall)),
        "texts": list(_texts(recall)),
    }


def _columns(found: Sequence[Completion]) -> dict[str, NDArray[np.float64]]:
    columns = {
        "exact": [float(one.exact) for one in found],
        "style": [float(one.style) for one in found],
        "style_only": [float(one.style and not one.exact) for one in found],
        "words_agree": [one.words_agree for one in found],
        "tags_agree": [one.tags_agree for one in found],
    }
    return {name: np.array(column) for name, column in columns.items()}


def _source(recall: Recall, found: Sequence[Completion]) -> SourceResult:
    columns, level = _columns(found), recall.options.interval
    intervals = {
        name: wilson(int(column.sum()), len(column), level)
        if name in _SHARES
        else interval_from_error(
            float(column.mean()), mean_error(column), level, len(column), share=True
        )
        for name, column in columns.items()
    }
    return SourceResult(
        texts=len(found),
        words=len(found) * recall.options.suffix,
        values={name: float(column.mean()) for name, column in columns.items()},
        intervals={
            name: ends for name, ends in intervals.items() if level and not math.isnan(ends[0])
        },
    )


def _named(recall: Recall, group: str) -> dict[str, Any]:
    return named(("model", *recall.options.by), group)


def _resamples(recall: Recall) -> Iterator[Row]:
    """The paper's way to say how sure a share is: its spread over draws of half of the texts."""
    for group, found in recall.groups.items():
        size = len(found) // 2
        if not size:
            continue
        # The same draws for every value, and for every group of the same size.
        random = np.random.default_rng(recall.options.seed)
        draws = [random.choice(len(found), size, replace=False) for _ in range(RESAMPLES)]
        for name, column in _columns(found).items():
            means = np.array([column[own].mean() for own in draws])
            yield {
                **_named(recall, group),
                "value": name,
                "mean": float(means.mean()),
                "sd": float(means.std(ddof=1)),
                "draws": len(draws),
                "size": size,
            }


def _by_frequency(recall: Recall) -> Iterator[Row]:
    """Figure 7. Where there are at most ten different frequencies each is a bin of its own."""
    if not recall.frequency:
        return
    seen = np.array(sorted(recall.frequency.values()))
    levels = np.unique(seen)
    deciles = None if len(levels) <= PARTS else Deciles.of(seen)
    for group, found in recall.groups.items():
        own = np.array([recall.frequency[one.cut.key] for one in found])
        parts = np.searchsorted(levels, own) + 1 if deciles is None else deciles(own)
        columns = _columns(found)
        for part in np.unique(parts).tolist():
            here = parts == part
            row = {
                **_named(recall, group),
                "bin": part,
                "least": float(own[here].min()),
                "most": float(own[here].max()),
                "texts": int(here.sum()),
            }
            for name in _SHARES:
                count = int(columns[name][here].sum())
                reach = wilson(count, row["texts"], recall.options.interval)
                row |= estimate(name, count / row["texts"], reach)
            yield row


def _substitutions(recall: Recall) -> Iterator[Row]:
    """Figure 8: which words stand for which where only the style was memorized."""
    for group, found in recall.groups.items():
        counted = Counter(
            pair for one in found if one.style and not one.exact for pair in one.substitutions()
        )
        for (tag, word, other), count in sorted(counted.items(), key=lambda e: (-e[1], e[0])):
            begin = _named(recall, group)
            yield {**begin, "tag": tag, "word": word, "written": other, "count": count}


def _examples(recall: Recall) -> Iterator[Row]:
    """The texts that were memorized in style alone, side by side with what was written."""
    for group, found in recall.groups.items():
        for one in found:
            if one.style and not one.exact:
                yield {
                    **_named(recall, group),
                    "id": one.cut.document.id,
                    "text": " ".join(one.words),
                    "written": " ".join(one.own_words),
                    "differ": [
                        place
                        for place, (word, other) in enumerate(zip(one.words, one.own_words))
                        if word != other
                    ],
                }


def _texts(recall: Recall) -> Iterator[Row]:
    for group, found in recall.groups.items():
        for one in found:
            yield {
                **_named(recall, group),
                "id": one.cut.document.id,
                "frequency": recall.frequency.get(one.cut.key),
                **{name: getattr(one, name) for name in _TOLD},
            }


_SHOWN, _EVERY = 12, 100


def seen(row: Row) -> str:
    """How often the texts of a bin were seen."""
    least, most = row["least"], row["most"]
    return f"{least:,g}" if least == most else f"{least:,g} - {most:,g}"


LAYOUT = (
    Table(
        "resamples",
        lambda rows, result: (
            f"Spread over {several(rows[0]['draws'], 'draw')} of half of the texts"
        ),
        (Column("group"), Column("value"), Column("mean", "share", "share", spread="sd")),
        said="mean ± standard deviation",
        rows=lambda rows, result: [row for row in rows if row["value"] in _KINDS],
        limit=_EVERY,
    ),
    Table(
        "seen",
        "By how often a text was seen",
        (
            *(Column("group"), Column("seen"), Column("texts", kind="count")),
            *(Column(n, kind="share", ends=ends(n)) for n in ("exact", "style", "style_only")),
        ),
        rows=lambda rows, result: [{**row, "seen": seen(row)} for row in rows],
        limit=_EVERY,
    ),
    Table(
        "substitutions",
        "Words put in the place of others",
        (
            *(Column("group"), Column("tag"), Column("word"), Column("written")),
            Column("count", kind="count"),
        ),
        limit=_SHOWN,
    ),
    Table("examples", "Examples", limit=0),
    # What was written, not values of each text.
    Table("texts", "Texts", limit=0, page=False),
)


def _frequency(rows: Rows, result: Result) -> Rows:
    return [
        {"group": row["group"], "seen": seen(row), "kind": kind, "share": row[kind]}
        | dict(zip(("low", "high"), (row[end] for end in ends(kind))))
        for row in sorted(rows, key=lambda row: row["bin"])
        for kind in _KINDS
    ]


CHARTS = (
    Chart(
        "seen",
        "Memorized, by how often it was seen",
        table="seen",
        shape="bars",
        x="seen",
        y="share",
        colour="kind",
        names=_KINDS,
        colours={"exact": "plain", "style": "pale"},
        panel=("group",),
        ends=("low", "high"),
        titles={"seen": "times in the training data", "share": "memorized"},
        share=True,
        rows=_frequency,
        says="What is memorized word for word, and in style, by how often the model saw it.",
    ),
)
