"""rote's constituents against the trees of a treebank: labelled and unlabelled brackets, templates.

    python benchmarks/constituents.py wsj.mrg gum/const/*.ptb

Words, tags and trees are rote's own, made from the words of the treebank, spaced as people
write; trees whose words are blanked out (GUM's of Reddit) are left out. As in EVALB, traces,
function tags and punctuation do not count; nor do brackets inside one word of the treebank. The
last lines: how many of the 100 most frequent templates of four items are the treebank's too.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from collections.abc import Iterator

import numpy as np

from rote.annotate.annotators import get
from rote.annotate.trees import CONSTITUENTS
from rote.core.document import Annotation, Document
from rote.corpus import ReadOptions, open_corpus

PUNCTUATION = frozenset((",", ".", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP", "#"))
N, TOP = 4, 100
Bracket = tuple[str, int, int]
_JOINED_LEFT = re.compile(r"[,.;:?!%)\]}]|\.\.\.|n['’]t|['’](s|S|m|d|re|ve|ll)?$", re.IGNORECASE)
_JOINED_RIGHT = frozenset(("(", "[", "{", "$", "#", "``", "“", "‘"))


def spaced(document: Document) -> Document:
    """The document with its words written as people write them: `don't (yet).`"""
    given = dict(document.meta["annotation"])
    text, starts, ends, joined = "", [], [], True
    for form, tag in zip(given["form"], given["xpos"]):
        if not (joined or _JOINED_LEFT.fullmatch(form) or tag in ("''", "HYPH", "-RRB-")):
            text += " "
        starts.append(len(text))
        text += form
        ends.append(len(text))
        joined = form in _JOINED_RIGHT or tag in ("``", "HYPH", "-LRB-")
    given["starts"], given["ends"] = starts, ends
    return Document(document.id, text, {"annotation": given})


def brackets(annotation: Annotation, gold: Annotation, text: int) -> Counter[Bracket]:
    """The phrases of a text: label, and which of the treebank's words, without punctuation."""
    word, tags = gold.word, gold.layers["pos"].items(text)
    starts, ends = np.array(word.spans(text)).T
    # How many words that count begin before a character, or end before one.
    counted = np.array([tag not in PUNCTUATION for tag in tags])
    before = np.concatenate(([0], np.cumsum(counted)))
    found: Counter[Bracket] = Counter()
    layer = annotation.trees["constituents-dfs"]
    for item, (start, end) in zip(layer.items(text), layer.spans(text)):
        if ")" in item:  # a tag
            continue
        first, last = np.searchsorted(ends, start, side="right"), np.searchsorted(starts, end)
        if last - first == 1 and end - start < ends[first] - starts[first]:
            continue
        if before[first] < before[last]:
            found[item[1:], int(before[first]), int(before[last])] += 1
    return found


def templates(annotation: Annotation, layer: str) -> set[tuple[str, ...]]:
    counts: Counter[tuple[str, ...]] = Counter()
    for text in range(len(annotation.word)):
        items = annotation.trees[layer].items(text)
        counts.update(zip(*(items[place:] for place in range(N))))
    return {template for template, _ in counts.most_common(TOP)}


def figures(matches: int, made: int, wanted: int) -> str:
    precision, recall = matches / max(made, 1), matches / max(wanted, 1)
    return f"P {precision:.3f} R {recall:.3f} F1 {2 * matches / max(made + wanted, 1):.3f}"


def lines(gold: Annotation, made: Annotation, worst: int) -> Iterator[str]:
    per_label: dict[str, Counter[str]] = {name: Counter() for name in ("both", "made", "gold")}
    unlabelled = Counter[str]()
    for text in range(len(gold.word)):
        sides = {"made": brackets(made, gold, text), "gold": brackets(gold, gold, text)}
        sides["both"] = sides["made"] & sides["gold"]
        spans = {side: Counter(s[1:] for s in found.elements()) for side, found in sides.items()}
        spans["both"] = spans["made"] & spans["gold"]
        for side, found in sides.items():
            per_label[side].update(label for label, _, _ in found.elements())
            unlabelled[side] += spans[side].total()
    totals = [counts.total() for counts in per_label.values()]
    yield f"labelled    {figures(*totals)}"
    yield f"unlabelled  {figures(*(unlabelled[side] for side in per_label))}"
    for label, _ in per_label["gold"].most_common(worst):
        counts = [per_label[side][label] for side in per_label]
        yield f"  {label:8} {figures(*counts)}  {counts[-1]} in the treebank"
    for layer in CONSTITUENTS:
        shared = templates(gold, layer) & templates(made, layer)
        yield f"{layer}: {len(shared)} of the {TOP} most frequent templates are the treebank's"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("treebank", nargs="+")
    parser.add_argument("--labels", type=int, default=12, metavar="N")
    asked = parser.parse_args()
    read = open_corpus(asked.treebank, ReadOptions(plain="line"))
    documents = [spaced(document) for document in read if "__" not in document.text]
    layers = ("pos", *CONSTITUENTS)
    gold = get("given")(documents, layers)
    begin = time.process_time()
    made = get("rote")(documents, layers)
    seconds = time.process_time() - begin
    print(f"{len(documents)} trees, {len(documents) / seconds:.0f} a second with tags and trees")
    print(*lines(gold, made, asked.labels), sep="\n")


if __name__ == "__main__":
    main()
