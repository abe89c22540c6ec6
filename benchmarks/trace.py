"""Trace: known truth, and speed.

    python benchmarks/trace.py IDX TEXTS            IDX: an index with the layer lower, and lemma
                                                    for matches in other forms;
                                                    TEXTS: generated texts, not in the index
    python benchmarks/trace.py IDX TEXTS --passages 50
    python benchmarks/trace.py IDX TEXTS --edits    near-verbatim passages only

Passages of the index's own documents, 15 to 40 words long and cut anywhere between two words, are
planted into the generated texts, one into each, at a random word: as they are, re-cased (upper
case, lower case, or a capital for each word), re-wrapped (white space anew), with a fifth of their
nouns and verbs in another form, and with gaps (a word added, left out or exchanged about every
ninth word). A passage is found if spans of its own kind or a stricter one, traced to the document
it was taken from, hold nine tenths of its characters (seven tenths of one with gaps); whole, if a
single one reaches from its beginning to its end. A span
is right if half of it lies in a planted passage and it is traced to its document. The others are
matches too, but by chance: the same texts without passages say how many there are.

Near-verbatim: passages of 50 to 200 words of which a share of the words was exchanged for words
drawn from the texts, exchanged for synonyms (WordNet's, the most usual sense first), added, left
out, or a third each of exchanged, added and left out. A passage is found if spans of any kind that
lead to its document reach over nine tenths of it; as one, if a single one does. `inside` is the
share of the spans' characters that lies in the passage; `told` the mean edit rate of the gapped
spans that hold a passage as one, `made` the one that was made (of words between white space).

Seconds are processor seconds on one core, reading, annotating and looking up sources included.
Compiling (cached on disk after the first run) is done before the clock starts.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import mean

from lemminflect import getAllInflections, getAllLemmas, getInflection

from rote.core.document import Document
from rote.corpus import open_corpus
from rote.curate.synonyms.lexicons import get
from rote.index.factory import open_index
from rote.index.index import Index
from rote.search.trace.evidence import Span
from rote.search.trace.options import KINDS, TraceOptions
from rote.search.trace.trace import Trace, fit_options, trace

SHORTEST, LONGEST = 15, 40
EDITED = 50, 200
RATES = (0.05, 0.1, 0.2, 0.3)
CHANGED, EVERY = 0.2, 9
# Of a passage with gaps, the words in the gaps cannot be found.
MOST, LESS = 0.9, 0.7
WORD = re.compile(r"[A-Za-z]+")
LEXICON = get()
EVERYTHING = TraceOptions(limit=0, places=20)


@dataclass(frozen=True)
class Planted:
    """A passage in a text, whose it is, and how it was changed."""

    text: int
    start: int
    end: int
    document: str
    how: str
    rate: float = 0.0


def recased(passage: str, chance: random.Random) -> str:
    return chance.choice([str.upper, str.lower, str.title])(passage)


def rewrapped(passage: str, chance: random.Random) -> str:
    return re.sub(r"\s+", lambda _: chance.choice([" ", "\n", "\n    ", "  ", "\t"]), passage)


def reinflected(passage: str, chance: random.Random) -> str:
    """Some words in another form of the same lemma; at least one, where any has one."""
    forms: dict[int, list[str]] = {}
    words = list(WORD.finditer(passage))
    for number, word in enumerate(words):
        for tag in ("VERB", "NOUN"):
            lemmas = getAllLemmas(word[0].lower(), upos=tag).get(tag, ())
            found = getAllInflections(lemmas[0], upos=tag) if len(lemmas) == 1 else {}
            others = {form for each in found.values() for form in each} - {word[0].lower()}
            if others and word[0].islower() and len(word[0]) > 3:
                forms[number] = sorted(others)
    chosen = set(chance.sample(sorted(forms), max(1, round(CHANGED * len(forms))))) if forms else ()
    for number in sorted(chosen, reverse=True):
        first, last = words[number].span()
        passage = passage[:first] + chance.choice(forms[number]) + passage[last:]
    return passage


def gapped(passage: str, chance: random.Random) -> str:
    """One change about every ninth word, none in the first and last four."""
    words = passage.split()
    place = len(words) - 4 - chance.randrange(3)
    while place > 4:
        change = chance.choice(["add", "leave out", "exchange"])
        new = [] if change == "leave out" else [chance.choice(["perhaps", "gently", "so-called"])]
        words[place : place + (change != "add")] = new
        place -= EVERY + chance.randrange(-2, 3)
    return " ".join(words)


HOW: dict[str, tuple[Callable[[str, random.Random], str], str]] = {
    "verbatim": (lambda passage, _: passage, "verbatim"),
    "re-cased": (recased, "verbatim"),
    "re-wrapped": (rewrapped, "verbatim"),
    "other forms": (reinflected, "lemma"),
    "gaps": (gapped, "gapped"),
}


def exchanged(words: list[str], rate: float, chance: random.Random, pool: list[str]) -> int:
    places = chance.sample(range(len(words)), round(rate * len(words)))
    for place in places:
        words[place] = chance.choice(pool)
    return len(places)


def synonyms(words: list[str], rate: float, chance: random.Random, pool: list[str]) -> int:
    """The nouns and verbs that have one, in the form of the word; fewer than asked if few have."""
    made = 0
    for place in chance.sample(range(len(words)), len(words)):
        if made < round(rate * len(words)) and (new := synonym(words[place])):
            words[place] = new
            made += 1
    return made


@cache
def synonym(word: str) -> str | None:
    core = WORD.search(word)
    if core is None or len(core[0]) < 4:
        return None
    for upos, pos in (("NOUN", "noun"), ("VERB", "verb")):
        for lemma in getAllLemmas(core[0].lower(), upos=upos).get(upos, ())[:1]:
            forms = getAllInflections(lemma, upos=upos)
            tag = next((tag for tag, each in forms.items() if core[0].lower() in each), None)
            for sense in LEXICON.senses(lemma, pos):  # type: ignore[arg-type]
                for other in sense.others(lemma):
                    form = getInflection(other, tag=tag) if tag and other.isalpha() else ()
                    if form and form[0] != core[0].lower():
                        return word[: core.start()] + str(form[0]) + word[core.end() :]
    return None


def added(words: list[str], rate: float, chance: random.Random, pool: list[str]) -> int:
    """So many that they are this share of the words then."""
    made = round(rate / (1 - rate) * len(words))
    for place in sorted((chance.randrange(1, len(words)) for _ in range(made)), reverse=True):
        words.insert(place, chance.choice(pool))
    return made


def left_out(words: list[str], rate: float, chance: random.Random, pool: list[str]) -> int:
    places = chance.sample(range(1, len(words) - 1), round(rate * len(words)))
    for place in sorted(places, reverse=True):
        del words[place]
    return len(places)


def mixed(words: list[str], rate: float, chance: random.Random, pool: list[str]) -> int:
    return sum(change(words, rate / 3, chance, pool) for change in (exchanged, added, left_out))


EDITS = {
    "exchanged": exchanged,
    "synonyms": synonyms,
    "added": added,
    "left out": left_out,
    "mixed": mixed,
}


def plant_edited(
    index: Index, texts: Sequence[str], passages: int, seed: int = 0
) -> tuple[list[Document], list[Planted]]:
    chance = random.Random(seed)
    pool = [word for text in texts for word in WORD.findall(text)]
    documents: list[Document] = []
    planted: list[Planted] = []
    for how, change in EDITS.items():
        for rate in RATES:
            for _ in range(passages):
                passage, source = passage_of(index, chance, EDITED)
                words = passage.split()
                size = len(words)
                made = change(words, rate, chance, pool)
                if how in ("added", "mixed"):
                    size = max(size, len(words))
                documents.append(
                    put(texts, " ".join(words), source, f"{how} {rate:.0%}", chance, planted)
                )
                planted[-1] = replace(planted[-1], rate=made / size)
    return documents, planted


def put(
    texts: Sequence[str],
    passage: str,
    source: str,
    how: str,
    chance: random.Random,
    planted: list[Planted],
) -> Document:
    """A text with the passage in it at a random word."""
    number = len(planted)
    host = texts[number % len(texts)]
    at = chance.choice([m.end() for m in re.finditer(r"\s+", host)] or [len(host)])
    planted.append(Planted(number, at + 1, at + 1 + len(passage), source, how))
    return Document(str(number), f"{host[:at]} {passage} {host[at:]}")


def report_edited(found: Trace, planted: Sequence[Planted]) -> None:
    by_text: dict[int, list[Span]] = {}
    for span in found.spans:
        by_text.setdefault(span.number, []).append(span)
    print(f"{'edits':15} {'made':>6} {'found':>7} {'as one':>7} {'inside':>7} {'told':>6}")
    for how in dict.fromkeys(p.how for p in planted):
        own = [p for p in planted if p.how == how]
        hit = one = 0
        inside, rates = [], []
        for p in own:
            spans = [
                span
                for span in by_text.get(p.text, ())
                if any(place.document == p.document for place in span.places)
            ]
            reached = {c for s in spans for c in range(s.start, s.end)}
            within = sum(p.start <= c < p.end for c in reached)
            hit += within >= MOST * (p.end - p.start)
            wholes = [
                s
                for s in spans
                if min(s.end, p.end) - max(s.start, p.start) >= MOST * (p.end - p.start)
            ]
            one += bool(wholes)
            if reached:
                inside.append(within / len(reached))
            rates += [s.edit_rate for s in wholes if s.kind == "gapped"][:1]
        print(
            f"{how:15} {mean(p.rate for p in own):6.1%} {hit / len(own):7.1%} "
            f"{one / len(own):7.1%} {mean(inside or [0]):7.1%} {mean(rates or [0]):6.1%}"
        )


def passage_of(
    index: Index, chance: random.Random, sizes: tuple[int, int] = (SHORTEST, LONGEST)
) -> tuple[str, str]:
    """A stretch of a random document, and the document's id."""
    segment = chance.choice(index.segments)
    frame, documents = segment.positions["word"], segment.documents
    assert frame.spans is not None
    while True:
        number = chance.randrange(len(documents))
        first, last = frame.start_of(number), int(frame.document_ends[number])
        words = chance.randint(*sizes)
        if last - first <= words:
            continue
        place = chance.randrange(first, last - words)
        start = int(frame.spans.spans(_one(place))[0][0])
        end = int(frame.spans.spans(_one(place + words - 1))[1][0])
        text = documents.text(number)
        # Between two words there is white space, or a word would be cut.
        if text[start - 1 : start].strip() or text[end : end + 1].strip() or start == 0:
            continue
        return text[start:end], documents.id(number)


def _one(place: int):  # type: ignore[no-untyped-def]
    import numpy as np

    return np.array([place], np.int64)


def plant(
    index: Index, texts: Sequence[str], passages: int, seed: int = 0
) -> tuple[list[Document], list[Planted]]:
    chance = random.Random(seed)
    documents: list[Document] = []
    planted: list[Planted] = []
    for how, (change, _) in HOW.items():
        for _ in range(passages):
            passage, source = passage_of(index, chance)
            documents.append(put(texts, change(passage, chance), source, how, chance, planted))
    return documents, planted


def shared(span: Span, planted: Planted) -> int:
    """Characters of the span's runs, white space apart, inside the passage."""
    return sum(
        max(0, min(end, planted.end) - max(start, planted.start)) for start, end in span.runs
    )


def report(found: Trace, alone: Trace, planted: Sequence[Planted]) -> None:
    by_text: dict[int, list[Span]] = {}
    for span in found.spans:
        by_text.setdefault(span.number, []).append(span)
    print(f"{'planted':12} {'found':>7} {'whole':>7}   labelled")
    for how, (_, kind) in HOW.items():
        if kind not in found.options.kinds:
            print(f"{how:12} no {kind} matches in this index")
            continue
        own = [p for p in planted if p.how == how]
        allowed = KINDS[: KINDS.index(kind) + 1]
        whole = hit = 0
        labels: Counter[str] = Counter()
        for p in own:
            spans = [
                span
                for span in by_text.get(p.text, ())
                if span.kind in allowed and any(s.document == p.document for s in span.places)
            ]
            inside = {
                c for s in spans for a, b in s.runs for c in range(max(a, p.start), min(b, p.end))
            }
            text = range(p.start, p.end)
            hit += (
                len(inside) >= 0.9 * len(text)
                if kind != "gapped"
                else len(inside) >= 0.7 * len(text)
            )
            whole += any(s.start <= p.start and p.end <= s.end for s in spans)
            best = max(spans, key=lambda s: shared(s, p), default=None)
            labels[best.kind if best else "none"] += 1
        share = f"{hit / len(own):7.1%} {whole / len(own):7.1%}"
        print(f"{how:12} {share}   {', '.join(f'{n} {k}' for k, n in labels.most_common())}")
    print(f"\n{'kind':12} {'spans':>7} {'right':>7} {'share':>7}   without the passages")
    for kind in found.options.kinds:
        spans = [span for span in found.spans if span.kind == kind]
        right = sum(
            any(
                2 * shared(span, p) >= span.end - span.start
                and any(s.document == p.document for s in span.places)
                for p in planted
                if p.text == span.number
            )
            for span in spans
        )
        share = f"{right:7,} {right / max(1, len(spans)):7.1%}"
        print(f"{kind:12} {len(spans):7,} {share}   {alone.span_counts[kind]:,}")


def speed(index: Index, path: Path) -> None:
    texts = open_corpus([path])
    print()
    fits, _ = fit_options(index, TraceOptions())
    for kinds in dict.fromkeys((("verbatim",), fits.kinds[:2], fits.kinds)):
        options = TraceOptions(kinds=kinds)
        trace(index, open_corpus(["Something short to compile with, and no more."]), options)
        start = time.process_time()
        found = trace(index, texts, options)
        seconds = time.process_time() - start
        words = sum(text.words for text in found.texts)
        numbers = ", ".join(f"{n:,} {kind}" for kind, n in found.span_counts.items())
        rate = f"{words:,} words in {seconds:.1f} s, {words / seconds:,.0f} a second"
        print(f"{'+'.join(kinds):22} {rate}; by chance, without any passage: {numbers}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--passages", type=int, default=200)
    parser.add_argument("--edits", action="store_true")
    given = parser.parse_args()
    index = open_index(given.index)
    hosts = [document.text for document in open_corpus([given.texts])]
    edited, passages = plant_edited(index, hosts, given.passages)
    report_edited(trace(index, open_corpus(edited), EVERYTHING), passages)
    if given.edits:
        return speed(index, given.texts)
    print()
    documents, planted = plant(index, hosts, given.passages)
    alone = [Document(str(i), hosts[i % len(hosts)]) for i in range(len(documents))]
    report(
        trace(index, open_corpus(documents), EVERYTHING),
        trace(index, open_corpus(alone), EVERYTHING),
        planted,
    )
    speed(index, given.texts)


if __name__ == "__main__":
    main()
