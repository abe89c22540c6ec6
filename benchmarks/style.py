"""`rote style` and pybiber on the same texts and the same spaCy pipeline: counts and time.

    python benchmarks/style.py TEXTS... [--texts 72] [--model en_core_web_sm]

pybiber 0.3.1 and its plotting packages have to be installed beside rote; it is no dependency of
rote's. pybiber makes ASCII of texts first; both get them so, and then tag the same. Both run in
this process: texts to tags by the pipeline, then tags to counts. Seconds are processor seconds,
the best of three for the counts and of one for the tags. What counts differ in, and why, is in
docs/measures/style.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from rote.annotate import annotators
from rote.core.document import Document
from rote.corpus import ReadOptions, open_corpus
from rote.measure._style import FEATURES, StyleColumns, StyleTokens, count_features, rates

NAMES = ("word", "pos", "upos", "dep", "lemma")
REPEATS = 3


def seconds(work: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """The best of some runs, and what the last one gave."""
    took = []
    for _ in range(repeats):
        start = time.process_time()
        made = work()
        took.append(time.process_time() - start)
    return min(took), made


def cleaned(texts: list[str]) -> list[Document]:
    """The texts as pybiber reads them, named so that it gives them in this order."""
    import polars
    from pybiber.parse_utils import TextPreprocessor

    ids = [f"{number:06}" for number in range(len(texts))]
    frame = polars.DataFrame({"doc_id": ids, "text": texts})
    made = TextPreprocessor().preprocess_corpus(frame)["text"].to_list()
    return [Document(identity, text) for identity, text in zip(ids, made)]


def by_pybiber(documents: list[Document], model: str) -> tuple[float, float, Any]:
    """Seconds for tags and for counts, and the counts by text."""
    import polars
    import pybiber
    import spacy

    pipeline = spacy.load(model)
    frame = polars.DataFrame(
        {"doc_id": [d.id for d in documents], "text": [d.text for d in documents]}
    )
    tagging, tokens = seconds(lambda: pybiber.CorpusProcessor().process_corpus(frame, pipeline))
    counting, found = seconds(
        lambda: pybiber.biber(tokens, normalize=False, strict_be_main_verb=False), REPEATS
    )
    return tagging, counting, found.sort("doc_id")


def by_rote(documents: list[Document], model: str) -> tuple[float, float, Any, int]:
    annotate = annotators.get(f"spacy:{model}")
    tagging, made = seconds(lambda: annotate(documents, NAMES).layers)
    columns = StyleColumns(*(made[name] for name in NAMES))
    counting, _ = seconds(lambda: rates(columns), REPEATS)
    found = count_features(StyleTokens(columns, 0, len(documents)))
    return tagging, counting, found, len(columns.word.ids)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("inputs", nargs="+")
    parser.add_argument("--texts", type=int, default=72, help="take so many of them")
    parser.add_argument("--model", default="en_core_web_sm", help="spaCy's pipeline")
    given = parser.parse_args()
    every = list(open_corpus(given.inputs, ReadOptions()))
    step = max(1, len(every) // given.texts)
    warnings.simplefilter("ignore")
    documents = cleaned([one.text for one in islice(every[::step], given.texts)])
    rote_tags, rote_counts, ours, words = by_rote(documents, given.model)
    peer_tags, peer_counts, theirs = by_pybiber(documents, given.model)
    columns = {int(name[2:4]): name for name in theirs.columns if name[:2] == "f_"}
    equal, differ = 0, []
    for feature in FEATURES:
        if not feature.example:
            continue
        own, peer = np.asarray(ours[feature.name]), theirs[columns[feature.number]].to_numpy()
        if np.array_equal(own, peer):
            equal += 1
        else:
            differ.append((feature, int((own != peer).sum()), int(own.sum()), int(peer.sum())))
    print(f"{len(documents):,} texts, {words:,} tokens, {given.model}")
    print(f"{equal} of {equal + len(differ)} counts are equal in every text; the others:")
    print(f"{'feature':<42}{'texts that differ':>18}{'rote':>9}{'pybiber':>9}")
    for feature, texts, own, peer in differ:
        print(f"{feature.number:>2} {feature.title[:38]:<39}{texts:>18,}{own:>9,}{peer:>9,}")
    print(f"\n{'':<18}{'rote s':>9}{'pybiber s':>11}{'ratio':>8}")
    pairs = (("texts to tags", rote_tags, peer_tags), ("tags to counts", rote_counts, peer_counts))
    for what, own, peer in pairs:
        print(f"{what:<18}{own:>9.3f}{peer:>11.3f}{peer / own:>8.1f}")
    both = rote_tags + rote_counts, peer_tags + peer_counts
    print(f"{'together':<18}{both[0]:>9.3f}{both[1]:>11.3f}{both[1] / both[0]:>8.1f}")


if __name__ == "__main__":
    main()
