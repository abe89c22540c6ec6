"""What a model writes after a passage: how likely it is to write what follows, and what it draws.

A window is a prefix and the suffix behind it; p_z is the probability that drawing after the prefix
writes the suffix, n(p) how many draws write it at least once with probability p. Windows slide
along a text, so that one sees where it is known by heart. Hayes et al. (2025), Measuring
memorization in language models via probabilistic extraction; Cooper et al. (2025), Extracting
memorized pieces of (copyrighted) books from open-weight language models.

Draws are for endpoints without log-probabilities, and for what is written nearly: the longest run
of words that a draw shares with the suffix (the best of k draws), how much of the suffix the
n-grams of the draws cover, and how much of the draws occurs in a corpus, asked for or not. Words
are what stands between white space.

The same draws as an attack on membership (Hallinan et al. 2025, The surprising effectiveness of
membership inference with simple n-gram coverage): how alike a draw and the suffix are, by

    coverage         the share of the draw's words in runs of n words or more that the suffix has
    creativity       the sum of that share over n = 2 to 12 (turned: high is copied)
    longest words    words of the longest run that both have
    longest letters  characters of the longest string that both have

and then the largest, mean, median or smallest of the draws; of several windows the mean.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np

from rote.compare.clusters import mean_by_cluster, number_clusters
from rote.core.chart import make_chart
from rote.core.errors import InputError, OptionError
from rote.core.model import Continuation, Decoding, Model, Prompt, StepwiseModel
from rote.core.progress import Reporter
from rote.core.result import Result
from rote.core.table import Pivot, Row, Rows, Table, defined, distinct, make_columns
from rote.corpus.items import Item
from rote.index.grams import Grams
from rote.models.answers import generate_all, score_draws
from rote.search.backends import Backend
from rote.studies._items import Floats, Labels, mean_by_number, share_cells

_WORD = re.compile(r"\S+")
TRIES = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
_LEAST = -6.0
"""The logarithm (to 10) of the smallest chance that the map tells from none."""
_TOGETHER = 16
_CELLS, _TEXTS = 150, 30
"""Of a text, and texts, on the map."""


@dataclass(frozen=True, slots=True)
class TextWindow:
    """A window of an item's text: characters, and the number of the suffix's first word."""

    item: int
    word: int
    first: int
    cut: int
    end: int


@dataclass(frozen=True, slots=True)
class WindowChances:
    """All windows, and by model the logarithm of each one's p_z."""

    cuts: Sequence[TextWindow]
    logs: Mapping[str, Floats]
    greedy: Mapping[str, Floats]
    """1 where greedy decoding writes the suffix."""
    p: float
    near: Mapping[str, Floats]
    """A lower bound of the chance of nearly the suffix, where it was asked for."""


def cut_windows(items: Sequence[Item], prefix: int, suffix: int, stride: int) -> list[TextWindow]:
    """Windows of words, a new one every `stride` words; the space between the two parts belongs
    to the suffix."""
    windows = []
    for number, item in enumerate(items):
        if item.answer is None:
            continue
        words = list(_WORD.finditer(item.instances()[item.answer]))
        for at in range(0, len(words) - prefix - suffix + 1, stride):
            middle = at + prefix
            last = words[middle + suffix - 1]
            place = words[at].start(), words[middle - 1].end(), last.end()
            windows.append(TextWindow(number, middle, *place))
    if not windows:
        raise InputError(
            f"no text has {prefix + suffix} words, so there is no window to extract",
            remedy="Take a smaller --prefix and --suffix",
        )
    return windows


def window_requests(items: Sequence[Item], wanted: Sequence[TextWindow]) -> list[Continuation]:
    requests = []
    for window in wanted:
        text = items[window.item].instances()[items[window.item].answer or 0]
        first, second = text[window.first : window.cut], text[window.cut : window.end]
        requests.append(Continuation(first, second))
    return requests


def score_windows(
    items: Sequence[Item],
    models: Mapping[str, Model],
    wanted: Sequence[TextWindow],
    decoding: Decoding,
    p: float,
    bound: tuple[int, int],
    reporter: Reporter,
) -> WindowChances:
    """Ask every model how likely it is to write each suffix, and within so many edits of it, by
    so many beams (`bound`)."""
    edits, beams = bound
    requests = window_requests(items, wanted)
    logs, greedy = {}, {}
    for name, model in models.items():
        scores = score_draws(model, requests, decoding, reporter, title="windows")
        logs[name] = np.array([min(score.total, 0.0) for score in scores])
        greedy[name] = np.array([float(score.greedy.all()) for score in scores])
    near = {}
    for name, model in models.items() if edits else ():
        if not isinstance(model, StepwiseModel):
            raise OptionError(
                f"--near works token by token, which {model.signature} does not support: run it "
                "with numpy:, gguf: or transformers:"
            )
        bounds = []
        with reporter.stage("nearly", len(requests), "windows") as advance:
            for first in range(0, len(requests), _TOGETHER):
                some = requests[first : first + _TOGETHER]
                bounds += model.near(some, decoding, edits, beams)
                advance(len(some))
        near[name] = np.minimum(np.array(bounds), 0.0)
    return WindowChances(wanted, logs, greedy, p, near)


def draws_needed(logs: Floats, p: float) -> Floats:
    """n(p): the fewest draws that write the suffix at least once with probability p; infinitely
    many where it cannot be written."""
    with np.errstate(divide="ignore", over="ignore"):
        exact = math.log1p(-p) / np.log1p(-np.exp(logs))
    # A chance of exactly p is one draw, whatever was rounded.
    return np.asarray(np.maximum(np.ceil(exact * (1 - 1e-9)), 1))


def extraction_rows(
    windows: WindowChances, groups: Mapping[str, Labels], bases: Labels, level: float
) -> Iterator[tuple[str, str, Row]]:
    """For each model and group: the share of windows that so many draws extract. Windows of one
    passage belong together."""
    item = np.array([window.item for window in windows.cuts])
    for model, logs in windows.logs.items():
        for group, group_items in groups.items():
            here = np.isin(item, group_items)
            if not here.any():
                continue
            passages = bases[item[here]]
            # One passage says nothing of others.
            known = level if len(np.unique(passages)) > 1 else 0
            about: dict[str, Any] = {"windows": len(passages), "passages": len(np.unique(passages))}
            about |= share_cells("greedy", windows.greedy[model][here], passages, known)
            for count in TRIES:
                extracted = draws_needed(logs[here], windows.p) <= count
                row = {**about, "tries": count}
                row |= share_cells("share", extracted.astype(float), passages, known, ENDS)
                if model in windows.near:
                    nearly = draws_needed(windows.near[model][here], windows.p) <= count
                    row |= share_cells("near", nearly.astype(float), passages, known)
                yield model, group, row


def window_rows(windows: WindowChances, items: Sequence[Item]) -> Iterator[tuple[str, int, Row]]:
    """Every window of every model: where it is, its chance and how many draws it takes."""
    for model, logs in windows.logs.items():
        needed, near = draws_needed(logs, windows.p), windows.near.get(model)
        for place, window in enumerate(windows.cuts):
            yield (
                model,
                window.item,
                {
                    "id": items[window.item].id,
                    **{name: getattr(window, name) for name in ("word", "first", "cut", "end")},
                    "p": float(np.exp(logs[place])),
                    "log10_p": _finite_or_none(logs[place] / math.log(10)),
                    "tries": _finite_or_none(needed[place]),
                    "greedy": bool(windows.greedy[model][place]),
                    **({} if near is None else {"near_p": float(np.exp(near[place]))}),
                },
            )


ENDS = ("low", "high")


def _finite_or_none(number: float) -> float | None:
    """Nothing for a suffix that cannot be written."""
    return float(number) if math.isfinite(number) else None


def _format_draws(row: Row) -> str:
    return "1 draw" if row["tries"] == 1 else f"{row['tries']:,} draws"


EXTRACTION_LAYOUT = (
    Table(
        "extraction",
        "Windows extracted by this number of draws",
        make_columns("model group windows:count passages:count greedy:share~"),
        limit=40,
        pivot=Pivot("tries", make_columns("share:share~low")[0], _format_draws),
    ),
    Table(
        "extraction",
        "Windows nearly extracted by this number of draws, lower bound",
        make_columns("model group"),
        note="lower bounds by a beam search: within --near edits of what follows",
        rows=lambda rows, result: [row for row in rows if "near" in row],
        limit=40,
        pivot=Pivot("tries", make_columns("near:share~")[0], _format_draws),
    ),
    Table("windows", "Chance of each window", limit=0, page=False),
)


def _chart_map(rows: Rows, result: Result) -> Rows:
    """The most likely window of each stretch, text by text; of many texts those best known."""
    drawn: list[dict[str, Any]] = []
    for model in distinct(rows, "model"):
        model_rows = [row for row in rows if row["model"] == model]
        texts = {name: list(some) for name, some in groupby(model_rows, key=lambda row: row["id"])}
        best = sorted(texts, key=lambda name: -max(map(_shown_chance, texts[name])))
        for name in (name for name in texts if name in best[:_TEXTS]):
            some = texts[name]
            size = -(-len(some) // _CELLS)
            step = (some[1]["word"] - some[0]["word"]) * size if len(some) > 1 else 1
            for first in range(0, len(some), size):
                at = some[first]["word"]
                chance = max(map(_shown_chance, some[first : first + size]))
                place = {"at": at, "from": at, "to": at + step}
                drawn.append({"model": model, "id": name, **place, "chance": chance})
    return drawn


def _shown_chance(row: Row) -> float:
    return max(float(row["log10_p"]), _LEAST) if defined(row["log10_p"]) else _LEAST


EXTRACTION_CHARTS = (
    make_chart(
        "extraction",
        "Windows extracted by number of draws",
        "extraction lines x=tries y=share colour=group panel=model ends=low,high",
        titles={"tries": "draws", "share": "windows written"},
        scales={"tries": "log"},
        share=True,
        says="The share of windows that are written at least once, over the number of draws.",
    ),
    make_chart(
        "map",
        "Where a text is known",
        "windows heat x=at y=id colour=chance panel=model ends=from,to",
        domain=(_LEAST, 0.0),
        titles={"at": "word", "chance": "log10 of the chance"},
        rows=_chart_map,
        says="Along each text, from its first word to its last: the darker, the likelier it is "
        "that the model writes what follows.",
    ),
)


SIMILARITIES = {
    "coverage": "coverage",
    "creativity": "creativity",
    "longest_words": "longest run of words",
    "longest_letters": "of letters",
}
AGGREGATES: Mapping[str, Any] = {
    "largest": np.max,
    "mean": np.mean,
    "median": np.median,
    "smallest": np.min,
}
_CREATIVITY = range(2, 13)
ItemScore: TypeAlias = tuple[str, str, Floats]


@dataclass(frozen=True, slots=True)
class DrawnSamples:
    """By model, window by draw: the share of the suffix that the longest run has; the share of
    the suffix that the n-grams of the first draws cover; by window, the share of the draws' tokens
    in n-grams of the corpus; what was drawn; and by similarity how alike a draw and its suffix
    are."""

    best: Mapping[str, Floats]
    covered: Mapping[str, Floats]
    corpus_shares: Mapping[str, Floats]
    texts: Mapping[str, Sequence[Sequence[str]]]
    alike: Mapping[str, Mapping[str, Floats]]


def draw_samples(
    models: Mapping[str, Model],
    wanted: Sequence[Continuation],
    decoding: Decoding,
    count: int,
    n: int,
    backend: Backend | None,
    reporter: Reporter,
) -> DrawnSamples:
    """`count` texts after every prefix, each as long as its suffix."""
    if not decoding.sampled:
        raise OptionError("--samples are draws: set a --temperature above 0")
    best, covered, corpus_shares, drawn, similar = {}, {}, {}, {}, {}
    suffixes = [request.text.split() for request in wanted]
    for name, model in models.items():
        texts = drawn[name] = _draw_texts(model, wanted, decoding, count, reporter)
        words = [[text.split() for text in some] for some in texts]
        pairs = list(zip(words, suffixes))
        best[name] = np.array(
            [[longest_run(draw, suffix) / len(suffix) for draw in some] for some, suffix in pairs]
        )
        covered[name] = np.array(
            [
                [ngram_coverage(suffix, some[: first + 1], n) for first in range(count)]
                for some, suffix in pairs
            ]
        )
        similar[name] = draw_similarities(texts, [request.text.strip() for request in wanted], n)
        if backend is not None:
            corpus_shares[name] = corpus_coverage(texts, backend, n, reporter)
    return DrawnSamples(best, covered, corpus_shares, drawn, similar)


def _draw_texts(
    model: Model, wanted: Sequence[Continuation], decoding: Decoding, count: int, reporter: Reporter
) -> list[list[str]]:
    """By the length of the suffix, since a decoding has one."""
    lengths = [max(1, model.length(request.text)) for request in wanted]
    texts: list[list[str]] = [[] for _ in wanted]
    for length in sorted(set(lengths)):
        places = [place for place, size in enumerate(lengths) if size == length]
        prompts = [Prompt(wanted[place].context, seed) for place in places for seed in range(count)]
        how = Decoding(length, decoding.temperature, decoding.top_p, decoding.top_k)
        generated = generate_all(model, prompts, how, reporter, title="draws")
        for place, first in zip(places, range(0, len(generated), count)):
            texts[place] = [answer.text for answer in generated[first : first + count]]
    return texts


def longest_run(items: Sequence[str], others: Sequence[str]) -> int:
    """Words, or characters of strings, of the longest run that both have."""
    return SequenceMatcher(None, items, others, autojunk=False).find_longest_match().size


def ngram_coverage(words: Sequence[str], texts: Sequence[Sequence[str]], n: int) -> float:
    """The share of words in an n-gram that one of the texts has."""
    grams = {tuple(text[at : at + n]) for text in texts for at in range(len(text) - n + 1)}
    covered = np.zeros(len(words), np.bool_)
    for at in range(len(words) - n + 1):
        if tuple(words[at : at + n]) in grams:
            covered[at : at + n] = True
    return float(covered.mean())


def corpus_coverage(
    texts: Sequence[Sequence[str]], backend: Backend, n: int, reporter: Reporter
) -> Floats:
    """Of the draws of each window the share of tokens in an n-gram of the corpus; nan where they
    have none."""
    layer = backend.tokenize([text for some in texts for text in some], reporter)
    grams, starts = Grams.windows(layer, n)
    matches = starts[np.asarray(backend.counts(grams, reporter)) > 0]
    covered = np.zeros(len(layer.ids), np.bool_)
    for step in range(n):
        covered[matches + step] = True
    text = np.repeat(np.arange(len(layer.text_ends)), np.diff(layer.text_ends, prepend=0))
    of_text = np.repeat(np.arange(len(texts)), [len(some) for some in texts])
    return mean_by_number(of_text[text], covered, len(texts))


def best_of_draws(values: Floats, k: int) -> Floats:
    """For each row the mean, over all ways to take k of its values, of the largest."""
    count = values.shape[1]
    ways = [math.comb(place, k - 1) / math.comb(count, k) for place in range(count)]
    return np.asarray(np.sort(values, axis=1) @ np.array(ways))


def draw_similarities(
    texts: Sequence[Sequence[str]], suffixes: Sequence[str], n: int
) -> dict[str, Floats]:
    """Each similarity of each draw to the suffix of its window: by window and draw."""
    columns: dict[str, list[list[float]]] = {name: [] for name in SIMILARITIES}
    for some, suffix in zip(texts, suffixes):
        wanted = suffix.split()
        words = [text.split() for text in some]
        for name, column in {
            "coverage": [_copied_share(draw, wanted, (n,)) for draw in words],
            "creativity": [_copied_share(draw, wanted, _CREATIVITY) for draw in words],
            "longest_words": [float(longest_run(draw, wanted)) for draw in words],
            "longest_letters": [float(longest_run(text, suffix)) for text in some],
        }.items():
            columns[name].append(column)
    return {name: np.array(column) for name, column in columns.items()}


def _copied_share(words: Sequence[str], wanted: Sequence[str], lengths: Sequence[int]) -> float:
    return sum(ngram_coverage(words, [wanted], n) if words else 0.0 for n in lengths)


def item_scores(columns: Mapping[str, Floats], item: Labels, items: int) -> Iterator[ItemScore]:
    """By similarity and aggregate one number for each item; nan for one without a window."""
    for name, column in columns.items():
        for aggregate, function in AGGREGATES.items():
            yield name, aggregate, mean_by_number(item, function(column, axis=1), items)


def sample_rows(
    samples: DrawnSamples, item: Labels, groups: Mapping[str, Labels], bases: Labels, level: float
) -> Iterator[tuple[str, str, Row]]:
    """For each model, group and 1, 2, 4, ... draws; windows of one passage belong together."""
    for model, best in samples.best.items():
        count = best.shape[1]
        steps = sorted({*(1 << power for power in range(count.bit_length())), count})
        for group, group_items in groups.items():
            here = np.isin(item, group_items)
            if not here.any():
                continue
            passages = number_clusters(bases[item[here]])
            about = {"windows": int(here.sum()), "passages": len(np.unique(passages))}
            for k in (step for step in steps if step <= count):
                columns = {
                    "best": best_of_draws(best[here], k),
                    "covered": samples.covered[model][here][:, k - 1],
                }
                if samples.corpus_shares:
                    columns["held"] = samples.corpus_shares[model][here]
                row: dict[str, Any] = {**about, "draws": k}
                for name, column in columns.items():
                    row |= mean_by_cluster(column, passages, len(column)).cells(name, level)
                yield model, group, row


SAMPLES_LAYOUT = (
    Table(
        "samples",
        "What is drawn after the prefixes, against what follows there",
        make_columns(
            "model group windows:count passages:count draws:count best=longest_run:share~ "
            "covered=covered_by_n-grams:share~ held?=in_the_corpus:share~"
        ),
        note="longest run: share of the suffix's words in the longest run that the best of this "
        "number of draws has; covered: share of its words in n-grams of the draws; in the corpus: "
        "share of the draws' own tokens in n-grams of --corpus",
        limit=40,
    ),
    Table(
        "drawn_membership",
        "Members against non-members by their draws alone: AUC",
        make_columns("model group of=of_the_draws_the members:count others:count"),
        note="how alike draws and suffix are: words in runs that both have (-n words, or 2 to 12), "
        "the longest run, the longest string",
        limit=40,
        pivot=Pivot("attack", make_columns("auc:number.3~")[0], SIMILARITIES),
    ),
)
