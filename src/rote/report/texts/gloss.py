"""A text with its layers aligned below the words, sentence by sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from rote.core.annotation import Annotation

_GAP = 2
# Classes of tags that a reader tells apart at a glance; the same in every layer.
_STYLES = {
    "NOUN": "green",
    "PROPN": "bright_green",
    "PRON": "cyan",
    "VERB": "red",
    "AUX": "bright_red",
    "ADJ": "yellow",
    "ADV": "magenta",
    "NUM": "bright_yellow",
    "PUNCT": "dim",
}


def gloss(annotation: Annotation, text: int, layers: Sequence[str], width: int) -> Iterator[Text]:
    """Lines of the given width: the words in bold, then one line per layer."""
    word = annotation.word
    place = word.slice(text)
    ends = word.text_ends if word.sentence_ends is None else word.sentence_ends
    first = place.start
    for end in ends[(ends > place.start) & (ends <= place.stop)].tolist():
        yield from _sentence(annotation, first, end, layers, width)
        first = end


def _sentence(
    annotation: Annotation, first: int, last: int, layers: Sequence[str], width: int
) -> Iterator[Text]:
    rows = {name: _items(annotation, name, first, last) for name in ("word", *layers)}
    if annotation.heads is not None:
        # Heads are counted within the sentence, from 1, as treebanks do; 0 is the root.
        heads = annotation.heads[first:last].tolist()
        rows["head"] = [str(head - first + 1) if head >= 0 else "0" for head in heads]
    label = max(map(len, rows)) + _GAP
    widths = [max(map(cell_len, column)) + _GAP for column in zip(*rows.values())]
    classes = _items(annotation, "upos", first, last) if "upos" in annotation.layers else None
    start = 0
    while start < len(widths):
        stop, used = start + 1, label + widths[start]
        while stop < len(widths) and used + widths[stop] <= width:
            used += widths[stop]
            stop += 1
        for name, items in rows.items():
            line = Text(set_cell_size(name, label), style="dim")
            for number in range(start, stop):
                style = "bold" if name == "word" else ""
                if classes:
                    style += " " + _STYLES.get(classes[number], "")
                line.append(set_cell_size(items[number], widths[number]), style=style.strip())
            yield line
        yield Text()
        start = stop


def _items(annotation: Annotation, name: str, first: int, last: int) -> list[str]:
    layer = annotation.layers[name]
    # Control characters would move the cursor: shown as what they are.
    return [
        "".join(c if c.isprintable() else repr(c)[1:-1] for c in layer.vocabulary[item]) or "∅"
        for item in layer.ids[first:last]
    ]
