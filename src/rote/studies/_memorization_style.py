"""`rote memorization --layer pos`: what a model recalls word for word, or in the same grammar.

The model is given the first words of each text and goes on by greedy decoding; a text is memorized
exactly if the next words are its own, in style if their tags are (Shaib et al. 2024, section 8).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate import annotators, words
from rote.compare.intervals import interval_from_error, mean_error, wilson
from rote.core.chart import make_chart
from rote.core.document import Document
from rote.core.errors import InputError
from rote.core.facets import sort_groups
from rote.core.model import Decoding, Model, Prompt
from rote.core.progress import Reporter, several
from rote.core.record import Call, Findings
from rote.core.result import Result, SourceResult
from rote.core.table import Column, Row, Rows, Table, ends, estimate, make_columns
from rote.corpus.items import Item
from rote.models.answers import generate_all
from rote.models.options import ModelOptions
from rote.studies._items import describe_values, draw_in_order, group_by_fields, group_columns
from rote.studies._popularity_scores import PARTS, Deciles

if TYPE_CHECKING:
    from rote.index.index import Index

RESAMPLES = 1000
"""Draws of half of the texts, for the spread of the shares."""
_TOKENS_A_WORD = 4
"""More tokens than words are asked for: what is too much is cut off."""


@dataclass(frozen=True, slots=True)
class CompletionPrompt:
    """A training text: what the model is given, and what it should write."""

    document: Document
    prompt: str
    passage: str
    """The prompt and the words after it that count."""

    @property
    def key(self) -> tuple[str, str]:
        """Files may use the same ids for other texts."""
        return self.document.id, self.passage


@dataclass(frozen=True, slots=True)
class Completion:
    """The words that should follow and those that the model wrote, with their tags."""

    cut: CompletionPrompt
    text: str
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
    def style_only(self) -> bool:
        return self.style and not self.exact

    @property
    def words_agree(self) -> float:
        """The share of places where the same word stands."""
        return sum(map(str.__eq__, self.words, self.own_words)) / len(self.words)

    @property
    def tags_agree(self) -> float:
        return sum(map(str.__eq__, self.tags, self.own_tags)) / len(self.tags)

    def substitutions(self) -> list[tuple[str, str, str]]:
        """(tag, word, other word) where only the words differ."""
        aligned = zip(self.tags, self.own_tags, self.words, self.own_words)
        return [(tag, word, new) for tag, same, word, new in aligned if tag == same != word != new]


def cut_texts(documents: Sequence[Document], prompt: int, count: int) -> list[CompletionPrompt]:
    """The texts that are long enough, cut after `prompt` and after `prompt + count` words."""
    word = words.get()([document.text for document in documents])
    lengths = word.text_ends - word.text_starts
    cuts = []
    for number in np.flatnonzero(lengths >= prompt + count).tolist():
        first, document = int(word.text_starts[number]), documents[number]
        middle, last = (int(word.ends[first + n - 1]) for n in (prompt, prompt + count))
        cuts.append(CompletionPrompt(document, document.text[:middle], document.text[:last]))
    return cuts


def complete_texts(
    cuts: Sequence[CompletionPrompt],
    model: Model,
    prompt: int,
    count: int,
    layer: str,
    reporter: Reporter,
) -> list[Completion]:
    """What the model writes after each prompt, by greedy decoding."""
    decoding = Decoding(max_tokens=_TOKENS_A_WORD * count)
    prompts = [Prompt(cut.prompt) for cut in cuts]
    generated = [answer.text for answer in generate_all(model, prompts, decoding, reporter)]
    originals = _annotate_texts([cut.passage for cut in cuts], layer)
    # Cut before annotating: words further on must not change the tags.
    others = _annotate_texts(
        _first_words([c.prompt + text for c, text in zip(cuts, generated)], prompt + count), layer
    )
    completions = []
    for cut, text, (original, tags), (written_words, own_tags) in zip(
        cuts, generated, originals, others
    ):
        same_prompt = written_words[:prompt] == original[:prompt]
        mine = (written_words[prompt:], own_tags[prompt:]) if same_prompt else ((), ())
        completions.append(Completion(cut, text, original[prompt:], tags[prompt:], *mine))
    return completions


def _first_words(texts: Sequence[str], count: int) -> list[str]:
    word = words.get()(texts)
    ends: NDArray[np.int64] = np.minimum(word.text_starts + count, word.text_ends)
    return [
        text[: int(word.ends[end - 1])] if end > start else ""
        for text, start, end in zip(texts, word.text_starts.tolist(), ends.tolist())
    ]


def _annotate_texts(
    texts: Sequence[str], layer: str
) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    annotated = annotators.get()(documents, (layer,))
    return [
        (tuple(annotated.word.items(number)), tuple(annotated.layers[layer].items(number)))
        for number in range(len(texts))
    ]


TITLES = {
    "exact": "memorized word for word",
    "style": "memorized in style (the same tags)",
    "style_only": "in style, not word for word",
    "words_agree": "words that agree",
    "tags_agree": "tags that agree",
}
_SHARES = ("exact", "style", "style_only")
_KINDS = {"exact": "word for word", "style": "in style (tags)"}
_TOLD = ("exact", "style", "words_agree", "tags_agree")


@dataclass(frozen=True, slots=True)
class Recall:
    """What the tables are made from: completions by group, and how often each text was seen."""

    groups: Mapping[str, Sequence[Completion]]
    frequency: Mapping[tuple[str, str], float]
    """By the key of the text; empty where nobody says it."""
    options: Any


def source_results(recall: Recall) -> dict[str, SourceResult]:
    return {name: _source(recall, completions) for name, completions in recall.groups.items()}


def build_tables(recall: Recall) -> dict[str, Sequence[Row]]:
    return {
        "resamples": list(_resample_rows(recall)),
        "seen": list(_frequency_rows(recall)),
        "substitutions": list(_substitution_rows(recall)),
        "examples": list(_example_rows(recall)),
        "texts": list(_text_rows(recall)),
    }


def _agreement_columns(completions: Sequence[Completion]) -> dict[str, NDArray[np.float64]]:
    return {name: np.array([float(getattr(c, name)) for c in completions]) for name in TITLES}


def _source(recall: Recall, completions: Sequence[Completion]) -> SourceResult:
    columns, level = _agreement_columns(completions), recall.options.interval
    values, intervals, count = {}, {}, len(completions)
    for name, column in columns.items():
        values[name] = float(column.mean())
        reach = wilson(int(column.sum()), count, level)
        if name not in _SHARES:
            error = mean_error(column)
            reach = interval_from_error(values[name], error, level, count, share=True)
        if level and not math.isnan(reach[0]):
            intervals[name] = reach
    return SourceResult(count, count * recall.options.suffix, values, intervals)


def _row_start(recall: Recall, group: str) -> dict[str, Any]:
    return group_columns(("model", *recall.options.by), group)


def _resample_rows(recall: Recall) -> Iterator[Row]:
    """The paper's way to say how sure a share is: its spread over draws of half of the texts."""
    for group, completions in recall.groups.items():
        size = len(completions) // 2
        if not size:
            continue
        # The same draws for every value, and for every group of the same size.
        random = np.random.default_rng(recall.options.seed)
        draws = [random.choice(len(completions), size, replace=False) for _ in range(RESAMPLES)]
        for name, column in _agreement_columns(completions).items():
            means = np.array([column[sample].mean() for sample in draws])
            yield {
                **_row_start(recall, group),
                "value": name,
                "mean": float(means.mean()),
                "sd": float(means.std(ddof=1)),
                "draws": len(draws),
                "size": size,
            }


def _frequency_rows(recall: Recall) -> Iterator[Row]:
    """Figure 7. Where there are at most ten different frequencies each is a bin of its own."""
    if not recall.frequency:
        return
    sorted_frequencies = np.array(sorted(recall.frequency.values()))
    levels = np.unique(sorted_frequencies)
    deciles = None if len(levels) <= PARTS else Deciles.of(sorted_frequencies)
    for group, completions in recall.groups.items():
        frequencies = np.array([recall.frequency[completion.cut.key] for completion in completions])
        parts = deciles(frequencies) if deciles else np.searchsorted(levels, frequencies) + 1
        columns = _agreement_columns(completions)
        for part in np.unique(parts).tolist():
            here = parts == part
            row = {
                **_row_start(recall, group),
                "bin": part,
                "least": float(frequencies[here].min()),
                "most": float(frequencies[here].max()),
                "texts": int(here.sum()),
            }
            for name in _SHARES:
                count = int(columns[name][here].sum())
                reach = wilson(count, row["texts"], recall.options.interval)
                row |= estimate(name, count / row["texts"], reach)
            yield row


def _substitution_rows(recall: Recall) -> Iterator[Row]:
    """Figure 8: which words stand for which where only the style was memorized."""
    for group, completions in recall.groups.items():
        counted = Counter(
            pair
            for completion in completions
            if completion.style_only
            for pair in completion.substitutions()
        )
        for (tag, word, replacement), count in sorted(counted.items(), key=lambda e: (-e[1], e[0])):
            begin = _row_start(recall, group)
            yield {**begin, "tag": tag, "word": word, "written": replacement, "count": count}


def _example_rows(recall: Recall) -> Iterator[Row]:
    """The texts that were memorized in style alone, side by side with what was written."""
    for group, completions in recall.groups.items():
        for completion in completions:
            if completion.style_only:
                pairs = enumerate(zip(completion.words, completion.own_words))
                yield {
                    **_row_start(recall, group),
                    "id": completion.cut.document.id,
                    "text": " ".join(completion.words),
                    "written": " ".join(completion.own_words),
                    "differ": [place for place, (word, new) in pairs if word != new],
                }


def _text_rows(recall: Recall) -> Iterator[Row]:
    for group, completions in recall.groups.items():
        for completion in completions:
            yield {
                **_row_start(recall, group),
                "id": completion.cut.document.id,
                "frequency": recall.frequency.get(completion.cut.key),
                **{name: getattr(completion, name) for name in _TOLD},
                "written": completion.text,
            }


_SHOWN, _EVERY = 12, 100


def format_seen(row: Row) -> str:
    least, most = row["least"], row["most"]
    return f"{least:,g}" if least == most else f"{least:,g} - {most:,g}"


STYLE_LAYOUT = (
    Table(
        "resamples",
        lambda rows, result: (
            f"Spread over {several(rows[0]['draws'], 'draw')} of half of the texts"
        ),
        (*make_columns("group value"), Column("mean", "share", "share", spread="sd")),
        note="mean ± standard deviation",
        rows=lambda rows, result: [row for row in rows if row["value"] in _KINDS],
        limit=_EVERY,
    ),
    Table(
        "seen",
        "By number of times a text was seen",
        make_columns("group seen texts:count exact:share~ style:share~ style_only:share~"),
        rows=lambda rows, result: [{**row, "seen": format_seen(row)} for row in rows],
        limit=_EVERY,
    ),
    Table(
        "substitutions",
        "Words put in the place of others",
        make_columns("group tag word written count:count"),
        limit=_SHOWN,
    ),
    Table("examples", "Examples", limit=0),
    # What was written, not values of each text.
    Table("texts", "Texts", limit=0, page=False),
)


def _chart_frequency(rows: Rows, result: Result) -> Rows:
    return [
        {"group": row["group"], "seen": format_seen(row), "kind": kind, "share": row[kind]}
        | dict(zip(("low", "high"), (row[end] for end in ends(kind))))
        for row in sorted(rows, key=lambda row: row["bin"])
        for kind in _KINDS
    ]


STYLE_CHARTS = (
    make_chart(
        "seen",
        "Memorized, by how often it was seen",
        "seen bars x=seen y=share colour=kind panel=group ends=low,high",
        names=_KINDS,
        colours={"exact": "plain", "style": "pale"},
        titles={"seen": "times in the training data", "share": "memorized"},
        share=True,
        rows=_chart_frequency,
        says="What is memorized word for word, and in style, by how often the model saw it.",
    ),
)


METHOD = "Wilson (shares), jackknife over texts (means)"


def run(call: Call) -> Findings:
    """Which texts the models go on with word for word, and which in the same grammar."""
    from rote.index.factory import to_index
    from rote.search.backends.rote import index_signature
    from rote.search.open_models import open_models

    options, reporter = call.options, call.reporter
    index: Index | None = None
    if options.corpus is not None:
        index = to_index(options.corpus, "corpus", reporter)
    models = open_models(options.model, call.of(ModelOptions), reporter)
    random = np.random.default_rng(options.seed)
    documents = [_item_document(record.item) for record in call.inputs]
    drawn = draw_in_order(documents, options.sample, random)
    cuts = cut_texts(drawn, options.prefix, options.suffix)
    least = options.prefix + options.suffix
    if not cuts:
        raise InputError(
            f"none of the {len(drawn):,} texts has {several(least, 'word')}",
            remedy="Give longer texts, or shorter --prefix and --suffix",
        )
    # What is missing is noticed before a model is asked.
    fields = [[_read_field(cut.document, name) for name in options.by] for cut in cuts]
    frequency = _read_frequency(cuts, index, options)
    completions: list[Completion] = []
    for name, model in models.items():
        reporter.say(
            f"{name}: {several(len(cuts), 'text')}, {several(options.suffix, 'word')} after "
            f"{options.prefix}"
        )
        completions += complete_texts(
            cuts, model, options.prefix, options.suffix, options.layer, reporter
        )
    groups = group_by_fields([name, *values] for name in models for values in fields)
    of_groups = {
        name: [completions[i] for i in positions.tolist()] for name, positions in groups.items()
    }
    recall = Recall(sort_groups(of_groups), frequency, options)
    short = len(drawn) - len(cuts)
    remark = f"left out: {short:,} of {len(drawn):,} texts, shorter than {several(least, 'word')}"
    return Findings(
        sources=source_results(recall),
        values=describe_values(TITLES, higher="repetitive", shares=tuple(TITLES)),
        by=("model", *options.by),
        signed={
            "layer": options.layer,
            "windows": f"{options.prefix}-{options.suffix}",
            "frequency": options.frequency or ("none" if index is None else index_signature(index)),
            "annotator": annotators.get().signature,
            "models": [model.signature for model in models.values()],
            "texts": _fingerprint(cuts),
        },
        tables=build_tables(recall),
        method=METHOD,
        notes=(remark,) if short else (),
    )


def _item_document(item: Item) -> Document:
    """The text of an item: the context with its right option."""
    text = item.instances()[item.answer or 0]
    return Document(item.id, text, {"task": item.task, **item.meta})


def _read_frequency(
    cuts: Sequence[CompletionPrompt], index: Index | None, options: Any
) -> dict[tuple[str, str], float]:
    if options.frequency is not None:
        return {cut.key: _read_number(cut.document, options.frequency) for cut in cuts}
    if index is None:
        return {}
    layer = index.layer_of([cut.passage for cut in cuts])
    counts: NDArray[np.int64] = index.counts([layer.items(n) for n in range(len(cuts))])
    return {cut.key: float(count) for cut, count in zip(cuts, counts.tolist())}


def _read_field(document: Document, field: str) -> str:
    if field not in document.meta:
        raise InputError(
            f"the text '{document.id}' has no such field, only {', '.join(document.meta)}",
            field=field,
            remedy="--by and --frequency name fields that all texts have",
        )
    return str(document.meta[field])


def _read_number(document: Document, field: str) -> float:
    value = _read_field(document, field)
    try:
        return float(value)
    except ValueError:
        empty = document.meta[field] is None or not value
        holds = "nothing" if empty else f"{value!r}"
        raise InputError(
            f"the text '{document.id}' contains {holds}, which is not a number", field=field
        ) from None


def _fingerprint(cuts: Sequence[CompletionPrompt]) -> str:
    """Other fields count too: --by and --frequency read them."""
    digest = blake2b(digest_size=6)
    for cut in cuts:
        known = [cut.document.id, cut.passage, dict(cut.document.meta)]
        digest.update(json.dumps(known, sort_keys=True, default=str).encode())
    return digest.hexdigest()


CITATION = (
    "Shaib, Elazar, Li and Wallace (2024), Detection and Measurement of Syntactic Templates in "
    "Generated Text, section 8"
)
