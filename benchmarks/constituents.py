"""Constituents from a real parser: Link Grammar's trees, as brackets that `rote templates` reads.

    apt install link-grammar
    python benchmarks/constituents.py texts.jsonl parsed.jsonl --where source=human --texts 20
    rote templates parsed.jsonl --annotator brackets:parse --layer constituents-bfs

rote's annotator finds sentences and tags, Link Grammar the phrases above them. Its words lose their
marks (`saw.v-d`) and get back the text's capitals. A sentence that it reads only in part, or whose
words it changes, becomes one flat phrase `X`; the last line says how many these are.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rote.annotate.annotators import get
from rote.core.document import Document
from rote.corpus import ReadOptions, open_corpus

COMMAND = "link-parser en -constituents=3 -graphics=0 -verbosity=1 -limit=100 -timeout=5 -null=1"
END = "Zyzzyva ."
"""A sentence of its own behind each: whatever comes before its tree belongs to the one before."""
AT_ONCE = 200
_MARKS = re.compile(r"(?:\.[#a-z][a-z0-9#-]*|\[[^\]]*\]|\{[^}]*\})+$")


def sentences(documents: Sequence[Document]) -> Iterator[tuple[int, str, dict[int, str]]]:
    """Each sentence: the number of its text, the sentence, and the tags by where words begin."""
    annotation = get("rote")(documents, ("word", "pos"))
    word, pos = annotation.word, annotation.layers["pos"]
    assert word.sentence_ends is not None
    begins = np.concatenate((np.zeros(1, np.int64), word.sentence_ends[:-1]))
    for first, last in zip(begins, word.sentence_ends):
        text = int(np.searchsorted(word.text_ends, first, side="right"))
        start, end = int(word.starts[first]), int(word.ends[last - 1])
        places = (int(place) - start for place in word.starts[first:last])
        tags = dict(zip(places, (pos.vocabulary[item] for item in pos.ids[first:last])))
        # One sentence, one line; every character keeps its place.
        yield text, re.sub(r"\s", " ", documents[text].text[start:end]), tags


def parse(lines: Sequence[str]) -> list[str]:
    """Link Grammar's trees of each sentence: several where it found no whole one, or none."""
    asked = "".join(f"{line}\n{END}\n" for line in lines)
    run = subprocess.run(COMMAND.split(), input=asked, text=True, capture_output=True, check=True)
    trees = [""]
    for line in run.stdout.splitlines():
        if END.split()[0].lower() in line.lower():
            trees.append("")
        elif line.startswith("("):
            trees[-1] += line
    assert len(trees) == len(lines) + 1, "Link Grammar left out a sentence"
    return trees[:-1]


def tagged(tree: str, text: str, tags: Mapping[int, str]) -> str | None:
    """The tree over the text's own words with their tags; None where its words are others."""
    made, place = [], 0
    for part in re.findall(r"\([A-Z]+|\)|[^\s()]+|\(", tree):
        if part == ")" or re.fullmatch(r"\([A-Z]+", part):
            made.append(part)
            continue
        place += len(text[place:]) - len(text[place:].lstrip())
        if part[0] == "{" and part[-1] == "}":  # left out of the linkage
            part = part[1:-1]
        for word in (part, _MARKS.sub("", part)):
            if word and text[place:].lower().startswith(word.lower()):
                break
        else:
            return None
        made.append(leaf(tags.get(place, "X"), text[place : place + len(word)]))
        place += len(word)
    if not made or text[place:].strip():
        return None
    return " ".join(made) if tree.startswith("(S ") and whole(tree) else f"(X {' '.join(made)})"


def whole(tree: str) -> bool:
    """Whether it is one tree, and not several in a row."""
    depths = np.cumsum([(mark == "(") - (mark == ")") for mark in tree])
    return int((depths == 0).sum()) == 1


def flat(text: str, tags: Mapping[int, str]) -> str:
    ends = [*list(tags)[1:], len(text)]
    leaves = (leaf(tag, text[start:end].strip()) for (start, tag), end in zip(tags.items(), ends))
    return f"(X {' '.join(leaves)})"


def leaf(tag: str, word: str) -> str:
    return f"({tag} {word.replace('(', '-LRB-').replace(')', '-RRB-')})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("texts")
    parser.add_argument("output")
    parser.add_argument("--where", action="append", default=[], metavar="FIELD=VALUE")
    parser.add_argument("--texts", dest="most", type=int, default=20, metavar="N")
    asked = parser.parse_args()
    if shutil.which("link-parser") is None:
        parser.error("Link Grammar is not installed: apt install link-grammar")
    read = ReadOptions(where=tuple(asked.where))
    documents = list(open_corpus(asked.texts, read))[: asked.most]
    found = list(sentences(documents))
    parsed: list[list[str]] = [[] for _ in documents]
    counts: Counter[str] = Counter()
    for begin in range(0, len(found), AT_ONCE):
        batch = found[begin : begin + AT_ONCE]
        for (text, line, tags), tree in zip(batch, parse([line for _, line, _ in batch])):
            made = tagged(tree, line, tags)
            counts["parsed" if made else "flat"] += 1
            parsed[text].append(made or flat(line, tags))
    with open(asked.output, "x", encoding="utf-8") as file:
        for document, trees in zip(documents, parsed):
            record = {**document.meta, "id": document.id, "text": document.text, "parse": trees}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    print(f"{len(documents)} texts, {len(found)} sentences:", dict(counts))


if __name__ == "__main__":
    main()
