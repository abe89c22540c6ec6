# ruff: noqa: T201 - a command says what it does
"""Print how good the shipped models are on a treebank or an entity set.

    python training/evaluate.py data/treebanks/en_ewt-ud-dev.conllu
    python training/evaluate.py data/entities_uner/en_ewt-ud-dev.iob2

Twice: with the file's own words and sentences, and from raw text with ours, where a
word counts if its characters are those of a gold word (the F of the CoNLL 2018
evaluation: white space aside).
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import treebank

from rote.annotate import entities, sentences, tagging, words
from rote.core.layer import Layer

Spans = set[tuple[int, int, int, str]]
_NAMES = ("PER", "ORG", "LOC")


def main() -> None:
    parser = argparse.ArgumentParser(description="How good the shipped models are.")
    parser.add_argument("file", type=Path, help=".conllu or .iob2")
    parser.add_argument("--worst", type=int, default=10, help="confusions to list")
    options = parser.parse_args()
    texts = treebank.read(options.file)
    if options.file.suffix == ".iob2":
        for name, value in entity_scores(texts).items():
            print(f"{name:32}{value:8.2f}")
        return
    for name, value in tag_scores(texts).items():
        print(f"{name:32}{value:8.2f}")
    confusions(texts, options.worst)


def tag_scores(texts: list[treebank.Text]) -> dict[str, float]:
    """XPOS and UPOS: gold words, the same in lower and upper case, and raw text."""
    gold = treebank.layer(texts)
    scores: dict[str, float] = {}
    for name, spell in (("", str), ("lower case ", str.lower), ("upper case ", str.upper)):
        pos, upos = tagging.tag(gold.map("word", spell))
        scores[f"{name}xpos"] = _share(pos, treebank.labels(texts, "xpos"))
        scores[f"{name}upos"] = _share(upos, treebank.labels(texts, "upos"))
    own = own_words(texts)
    pos, upos = tagging.tag(own)
    ours, theirs = word_places(own), word_places(gold)
    scores["raw words"] = f_score(_spans(ours, None), _spans(theirs, None))
    scores["raw sentences"] = f_score(_sentence_spans(own, ours), _sentence_spans(gold, theirs))
    for layer, field in ((pos, "xpos"), (upos, "upos")):
        found = _spans(ours, [layer.vocabulary[i] for i in layer.ids])
        scores[f"raw {field}"] = f_score(found, _spans(theirs, treebank.labels(texts, field)))
    return scores


def entity_scores(texts: list[treebank.Text]) -> dict[str, float]:
    """F of names (span and type), gold words and raw text, and per type."""
    scores: dict[str, float] = {}
    gold = treebank.layer(texts)
    wanted = _name_spans(word_places(gold), treebank.labels(texts, "entity"))
    for name, layer in (("", gold), ("raw ", own_words(texts))):
        found_layer = entities.find(layer, tagging.tag(layer)[0])
        labels = [found_layer.vocabulary[i] for i in found_layer.ids]
        found = _name_spans(word_places(layer), labels)
        scores[f"{name}entity F"] = f_score(found, wanted)
        right = len(found & wanted)
        scores[f"{name}precision"] = 100 * right / max(1, len(found))
        scores[f"{name}recall"] = 100 * right / max(1, len(wanted))
        for kind in _NAMES:
            ours, theirs = ({s for s in spans if s[3] == kind} for spans in (found, wanted))
            scores[f"{name}{kind} F"] = f_score(ours, theirs)
    return scores


def confusions(texts: list[treebank.Text], worst: int) -> None:
    """Print the most frequent errors: wanted, given, times, a few of the words."""
    gold = treebank.layer(texts)
    forms = treebank.labels(texts, "form")
    for layer, field in zip(tagging.tag(gold), ("xpos", "upos")):
        counts: Counter[tuple[str, str]] = Counter()
        seen: dict[tuple[str, str], Counter[str]] = {}
        for number, wanted, form in zip(layer.ids, treebank.labels(texts, field), forms):
            given = layer.vocabulary[number]
            if given != wanted:
                counts[wanted, given] += 1
                seen.setdefault((wanted, given), Counter())[form.lower()] += 1
        print(f"{field}: wanted -> given")
        for (wanted, given), times in counts.most_common(worst):
            some = ", ".join(word for word, _ in seen[wanted, given].most_common(5))
            print(f"  {wanted:6} -> {given:6} {times:5}  {some}")


def f_score(found: Spans, wanted: Spans) -> float:
    """Twice what both have, as a share of what the two have."""
    return 200 * len(found & wanted) / max(1, len(found) + len(wanted))


def own_words(texts: list[treebank.Text]) -> Layer:
    plain = [treebank.plain(text) for text in texts]
    return sentences.split(plain, words.get("ud")(plain))


def _share(layer: Layer, wanted: list[str]) -> float:
    given = np.array(layer.vocabulary)[layer.ids]
    return float(100 * np.mean(given == np.array(wanted)))


def word_places(layer: Layer) -> list[tuple[int, int, int]]:
    """Text, first and last character of each word, white space not counted."""
    found: list[tuple[int, int, int]] = []
    lengths = np.array([len("".join(entry.split())) for entry in layer.vocabulary], np.int64)
    for text, (first, last) in enumerate(zip(layer.text_starts, layer.text_ends)):
        ends = np.cumsum(lengths[layer.ids[first:last]])
        begins = ends - lengths[layer.ids[first:last]]
        found += [(text, a, b) for a, b in zip(begins.tolist(), ends.tolist())]
    return found


def _spans(places: list[tuple[int, int, int]], labels: list[str] | None) -> Spans:
    given = labels if labels is not None else [""] * len(places)
    return {(*place, label) for place, label in zip(places, given)}


def _sentence_spans(layer: Layer, places: list[tuple[int, int, int]]) -> Spans:
    assert layer.sentence_ends is not None
    starts = np.concatenate(([0], layer.sentence_ends[:-1]))
    pairs = zip(starts.tolist(), layer.sentence_ends.tolist())
    return {(places[a][0], places[a][1], places[b - 1][2], "") for a, b in pairs}


def _name_spans(places: list[tuple[int, int, int]], labels: list[str]) -> Spans:
    found: Spans = set()
    begun: tuple[int, int, str] | None = None
    last = 0
    for place, label in zip([*places, (-1, 0, 0)], [*labels, "O"]):
        mark, _, kind = label.partition("-")
        if begun and mark != "I":
            found.add((begun[0], begun[1], last, begun[2]))
            begun = None
        if mark == "B" and kind in _NAMES:
            begun = (place[0], place[1], kind)
        last = place[2]
    return found


if __name__ == "__main__":
    main()
