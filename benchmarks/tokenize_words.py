"""Accuracy and speed of the tokenizers and the sentence splitter, beside their peers.

    python benchmarks/tokenize_words.py [treebank.conllu]

Accuracy is measured on a CoNLL-U treebank: each sentence's own text for words,
each document's sentences in one string for sentences. Speed is measured on the
same text, from a list of strings to the finished layer, in one process.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from rote.annotate import words
from rote.annotate.sentences import split
from rote.core import plugins

DEFAULT = Path(__file__).parents[2] / "shared/data/treebanks/en_ewt-ud-dev.conllu"

Span = tuple[int, int]


def blocks(path: Path) -> Iterator[list[str]]:
    """The lines of each sentence."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        if block.strip():
            yield block.strip("\n").split("\n")


def gold(lines: list[str]) -> tuple[str, list[Span], bool]:
    """A sentence's text, the spans of its words, and whether a space follows it.

    Words are found by their characters, white space aside: the words of a range
    such as 12-13 are written out in it one after the other.
    """
    prefix = "# text = "
    text = next(line[len(prefix) :] for line in lines if line.startswith(prefix))
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    spans, place = [], 0
    for row in rows:
        if not row[0].isdigit():
            continue
        start = None
        for character in row[1]:
            if character.isspace():
                continue
            place = text.index(character, place)
            start = place if start is None else start
            place += 1
        spans.append((start or 0, place))
    surface = [row for row in rows if "." not in row[0]]
    ranges = [row for row in surface if "-" in row[0] and row[0].endswith(f"-{surface[-1][0]}")]
    last = ranges[0] if ranges else surface[-1]
    return text, spans, "SpaceAfter=No" not in last[9]


def documents(path: Path) -> list[tuple[str, list[Span]]]:
    """Each document as one string, and the spans of its sentences."""
    found: list[tuple[str, list[Span]]] = []
    text, spans = "", []
    for lines in blocks(path):
        if lines[0].startswith("# newdoc") and spans:
            found.append((text, spans))
            text, spans = "", []
        sentence, _, space = gold(lines)
        spans.append((len(text), len(text) + len(sentence)))
        text += sentence + " " * space
    return [*found, (text, spans)]


def f_score(right: Sequence[set[Span]], found: Sequence[set[Span]]) -> float:
    shared = sum(len(a & b) for a, b in zip(right, found))
    return 200 * shared / (sum(map(len, right)) + sum(map(len, found)))


def ends(sentences: Sequence[set[Span]]) -> list[set[Span]]:
    return [{(0, end) for _, end in spans} for spans in sentences]


def our_sentences(texts: list[str]) -> list[set[Span]]:
    layer = split(texts, words.get()(texts))
    assert layer.sentence_ends is not None
    found: list[set[Span]] = [set() for _ in texts]
    begin, text = 0, 0
    for end in layer.sentence_ends.tolist():
        while layer.text_ends[text] < end:
            text += 1
        found[text].add((int(layer.starts[begin]), int(layer.ends[end - 1])))
        begin = end
    return found


def trimmed(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def seconds(work: Callable[[], object]) -> float:
    """CPU time, the best of three: other programs on the machine do not count."""
    times = []
    for _ in range(3):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def accuracy(path: Path) -> None:
    from nltk.tokenize.treebank import TreebankWordTokenizer

    sentences = [gold(lines) for lines in blocks(path)]
    texts = [text for text, _, _ in sentences]
    right = [set(spans) for _, spans, _ in sentences]
    print(f"{path.name}: {len(texts)} sentences, {sum(map(len, right))} words\n")
    print("words, F")
    for name in ("ud", "treebank", "wordpunct", "whitespace"):
        layer = words.get(name)(texts)
        found = [set(layer.spans(number)) for number in range(len(texts))]
        print(f"  {name:28}{f_score(right, found):7.2f}")
    peer = TreebankWordTokenizer()
    print(f"  {'NLTK treebank':28}", end="")
    print(f"{f_score(right, [set(peer.span_tokenize(text)) for text in texts]):7.2f}")

    whole = documents(path)
    texts = [text for text, _ in whole]
    right = [set(spans) for _, spans in whole]
    print("\nsentences, F                   whole   ends")
    found = our_sentences(texts)
    print(f"  {'rote':28}{f_score(right, found):7.2f}{f_score(ends(right), ends(found)):7.2f}")
    try:
        from nupunkt import sent_spans
    except ImportError:
        return
    found = [{trimmed(text, *span) for span in sent_spans(text)} for text in texts]
    print(f"  {'nupunkt':28}{f_score(right, found):7.2f}{f_score(ends(right), ends(found)):7.2f}")


def speed(path: Path) -> None:
    from nltk.tokenize.treebank import TreebankWordTokenizer

    texts = [text for text, _ in documents(path)]
    tokenizers = [name for name in plugins.members(words.ROOM) if name != "subwords"]
    for name in tokenizers:
        words.get(name)(texts[:1])  # compiles
    peer = TreebankWordTokenizer()
    layer = words.get()(texts)
    base = len(layer.ids) / seconds(lambda: [list(peer.span_tokenize(text)) for text in texts])
    split(texts[:1], words.get()(texts[:1]))
    print("\nwords/s, and times the peer     x1           x4           x16")
    print(f"  {'NLTK treebank':20}{base:13,.0f}")
    for name in [*tokenizers, "sentences"]:
        print(f"  {name:20}", end="", flush=True)
        for times in (1, 4, 16):
            many = texts * times
            if name == "sentences":
                whole = words.get()(many)
                took = seconds(partial(split, many, whole))
            else:
                tokenizer = words.get(name)
                whole = tokenizer(many)
                took = seconds(partial(tokenizer, many))
            rate = len(whole.ids) / took
            print(f"{rate:13,.0f}", end=f" {rate / base:4.0f}x" if times == 16 else "")
        print()


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    if not path.exists():
        print(f"No treebank at {path}. Give the path of a CoNLL-U file as the argument.")
        return
    accuracy(path)
    speed(path)


if __name__ == "__main__":
    main()
