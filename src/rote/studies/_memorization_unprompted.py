"""Passages that a model recites without being asked for them.

Texts that nobody led to a passage (drawn from the start token, after the beginning of another one,
or written before) are searched for runs of words that a passage has, too. Words are rote's, in
lower case. Carlini et al. (2021), Extracting training data from large language models; Nasr et al.
(2023), Scalable extraction of training data from (production) language models.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from rote.compare.clusters import mean_by_cluster, number_clusters
from rote.core.errors import InputError, OptionError
from rote.core.model import Decoding, Model, Prompt
from rote.core.progress import Reporter
from rote.core.result import Row
from rote.core.table import Table, make_columns
from rote.corpus import ReadOptions
from rote.corpus.items import Item, read_items
from rote.models.answers import generate_all
from rote.search.backends import Backend
from rote.studies._items import Labels, group_by_item, share_cells
from rote.studies._memorization_extraction import corpus_coverage

THEMSELVES = "the texts themselves"
START = "the start"
PREFIXES = "prefixes of others"


@dataclass(frozen=True, slots=True)
class RecitedRun:
    """Words that a text has of a passage: where they begin in both, and how many they are."""

    passage: int
    first: int
    at: int
    words: int


@dataclass(frozen=True, slots=True)
class WrittenTexts:
    """Texts of one kind: who wrote them, after what, and how they belong together."""

    model: str
    after: str
    texts: Sequence[str]
    prompted: Sequence[int]
    """The passage that each was asked for, which does not count; -1: none."""


def count_to_draw(value: Any) -> int | None:
    """How many texts are to be drawn; None where they are there: a file, or texts."""
    if isinstance(value, str) and value.lstrip("-").isdigit():
        value = int(value)
    if isinstance(value, int) and value < 1:
        raise OptionError(f"--unprompted takes a number of texts or a file, not {value}")
    return value if isinstance(value, int) else None


def read_texts(source: Any, read: ReadOptions, reporter: Reporter) -> WrittenTexts:
    """Texts of a file; from Python also texts."""
    name = Path(source).name if isinstance(source, (str, Path)) else "texts"
    skipped: list[InputError] = []
    items = read_items(source, read=read, skipped=skipped, called="unprompted texts")
    texts = [item.instances()[item.answer or 0] for item in items]
    for problem in skipped:
        reporter.say(f"skipped: {problem}")
    return WrittenTexts("", name, texts, [-1] * len(texts))


def draw_texts(
    models: Mapping[str, Model], count: int, how: Decoding, reporter: Reporter
) -> list[WrittenTexts]:
    if not how.sampled:
        raise OptionError("--unprompted texts are draws: set a --temperature above 0")
    prompts = [Prompt("", seed) for seed in range(count)]
    writings = []
    for name, model in models.items():
        generated = generate_all(model, prompts, how, reporter, title="unprompted")
        texts = [answer.text for answer in generated]
        writings.append(WrittenTexts(name, START, texts, [-1] * count))
    return writings


def prefix_texts(
    drawn: Mapping[str, Sequence[Sequence[str]]], item: Sequence[int]
) -> list[WrittenTexts]:
    """What was drawn after the prefix of each window, of the item with this number."""
    writings = []
    for name, texts in drawn.items():
        prompted = [number for number, some in zip(item, texts) for _ in some]
        writings.append(WrittenTexts(name, PREFIXES, list(chain.from_iterable(texts)), prompted))
    return writings


def unprompted_signature(value: Any, run: int, tokens: int) -> str:
    """What the signature says: how many were drawn, or which texts there are."""
    if value is None:
        return ""
    count = count_to_draw(value)
    if count is not None:
        return f"{count}x{tokens}-{run}"
    content = "\0".join(value.texts).encode("utf-8", "surrogatepass")
    return f"{hashlib.blake2b(content, digest_size=6).hexdigest()}-{run}"


def find_runs(
    text: Sequence[str],
    grams: Mapping[tuple[str, ...], Sequence[tuple[int, int]]],
    passages: Sequence[Sequence[str]],
    least: int,
) -> list[RecitedRun]:
    """All longest runs of `least` words or more that the text shares with a passage."""
    shared_runs = []
    for first in range(len(text) - least + 1):
        for passage, at in grams.get(tuple(text[first : first + least]), ()):
            words = passages[passage]
            if first and at and text[first - 1] == words[at - 1]:
                continue  # a part of one that began before
            size = least
            while (
                first + size < len(text)
                and at + size < len(words)
                and text[first + size] == words[at + size]
            ):
                size += 1
            shared_runs.append(RecitedRun(passage, first, at, size))
    return shared_runs


def index_grams(
    passages: Sequence[Sequence[str]], n: int
) -> dict[tuple[str, ...], list[tuple[int, int]]]:
    starts: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for number, words in enumerate(passages):
        for at in range(len(words) - n + 1):
            starts[tuple(words[at : at + n])].append((number, at))
    return starts


def recitation_tables(
    items: Sequence[Item],
    groups: Mapping[str, Labels],
    bases: Labels,
    some: Sequence[WrittenTexts],
    least: int,
    level: float,
    corpus: tuple[Backend, int] | None,
    reporter: Reporter,
) -> dict[str, list[Row]]:
    """How much of the texts is recited, how many passages of each group are, and which."""
    texts = [item.instances()[item.answer or 0] for item in items]
    passages, spans = _split_words(texts)
    grams = index_grams(passages, least)
    itself = WrittenTexts(THEMSELVES, "", texts, list(range(len(texts))))
    by_table: dict[str, list[Row]] = {"unprompted": [], "recited": [], "recitations": []}
    for writing in (*some, itself):
        words = passages if writing is itself else _split_words(writing.texts)[0]
        text_runs = [
            [
                run
                for run in find_runs(text_words, grams, passages, least)
                if prompted < 0 or bases[run.passage] != bases[prompted]
            ]
            for text_words, prompted in zip(words, writing.prompted)
        ]
        begin = {"model": writing.model, "after": writing.after}
        shares = None
        if corpus is not None and writing is not itself:
            shares = corpus_coverage([[text] for text in writing.texts], *corpus, reporter)
        places = enumerate(writing.prompted)
        clusters = number_clusters([bases[p] if p >= 0 else -1 - place for place, p in places])
        text_row = _text_row(words, text_runs, clusters, level, shares)
        by_table["unprompted"].append({**begin, **text_row})
        if writing is itself:
            continue
        best = _best_runs(text_runs)
        for group, group_items in groups.items():
            selected = np.array([float(number in best) for number in group_items.tolist()])
            row: dict[str, Any] = {**begin, "group": group, "passages": len(group_items)}
            row["count"] = int(selected.sum())
            row |= share_cells("recited", selected, bases[group_items], level)
            by_table["recited"].append(row)
        group_of = group_by_item(groups)
        for number in sorted(best, key=lambda n: (-best[n][0], -best[n][1].words, n)):
            times, run = best[number]
            first, end = spans[number][run.at][0], spans[number][run.at + run.words - 1][1]
            row = {**begin, "group": group_of[number], "id": items[number].id, "texts": times}
            row |= {"words": run.words, "first": first, "end": end}
            row["run"] = " ".join(texts[number][first:end].split())
            by_table["recitations"].append(row)
    return by_table


def _best_runs(text_runs: Sequence[Sequence[RecitedRun]]) -> dict[int, tuple[int, RecitedRun]]:
    """By passage, how many texts have some of it, and the longest run."""
    best: dict[int, tuple[int, RecitedRun]] = {}
    for shared in text_runs:
        for number in dict.fromkeys(run.passage for run in shared):
            longest = max(
                (run for run in shared if run.passage == number), key=lambda run: run.words
            )
            times, before = best.get(number, (0, longest))
            best[number] = times + 1, max(before, longest, key=lambda run: run.words)
    return best


def _text_row(
    words: Sequence[Sequence[str]],
    text_runs: Sequence[Sequence[RecitedRun]],
    clusters: Labels,
    level: float,
    shares: Any,
) -> dict[str, Any]:
    some = np.array([float(bool(shared)) for shared in text_runs])
    # The share of each text's words that are recited; nan where it has none.
    covered = np.full(len(words), np.nan)
    for number, (text_words, shared) in enumerate(zip(words, text_runs)):
        inside = {place for run in shared for place in range(run.first, run.first + run.words)}
        if text_words:
            covered[number] = len(inside) / len(text_words)
    row: dict[str, Any] = {
        "texts": len(words),
        **share_cells("some", some, clusters, level),
        **mean_by_cluster(covered, clusters, len(covered)).cells("inside", level),
        "longest": max((run.words for shared in text_runs for run in shared), default=0),
    }
    if shares is not None:
        row |= mean_by_cluster(shares, clusters, len(shares)).cells("held", level)
    return row


def _split_words(texts: Sequence[str]) -> tuple[list[list[str]], list[list[tuple[int, int]]]]:
    """The words of each text in lower case, and their characters."""
    from rote.annotate import words

    layer = words.get()(list(texts))
    text_words, spans = [], []
    for number in range(len(texts)):
        positions = layer.slice(number)
        text_words.append([word.lower() for word in layer.items(number)])
        spans.append(list(zip(layer.starts[positions].tolist(), layer.ends[positions].tolist())))
    return text_words, spans


UNPROMPTED_LAYOUT = (
    Table(
        "unprompted",
        "Unprompted passages in the texts",
        make_columns(
            "model after texts:count some=texts_that_recite:share~ inside=words_recited:share~ "
            "longest=longest_run:count held?=in_the_corpus:share~"
        ),
        note="recited: in a run of --run words or more of an unprompted passage; in the corpus: "
        "share of tokens in n-grams of --corpus",
        limit=40,
    ),
    Table(
        "recited",
        "Passages recited by any of the texts",
        make_columns("model after group passages:count recited:share~"),
        limit=40,
    ),
    Table(
        "recitations",
        "What is recited most",
        make_columns("model after group id=passage texts:count words=longest_run:count run:text"),
    ),
)
