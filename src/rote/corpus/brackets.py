"""Bracketed constituency trees (.mrg, .ptb, .brackets), as in the Penn Treebank.

One document per file; with `--plain line` one per tree, with `--plain paragraph` one per
run of trees between blank lines. A tree may stand on one line or on many. Its words
make the text: single spaces between them, each tree on a line of its own. Traces
(-NONE-) are left out with whatever holds nothing else. Words, tags and trees stand in
the document's meta as plain lists, for the annotator `given`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from rote.core.document import Document
from rote.core.errors import InputError
from rote.corpus._linewise import LineBlock, block_shards, blocks_between_blanks, decode
from rote.corpus._shard import SKIP, Fields, Numbered, Origin, Part, ReadOptions, Shard

_PIECES = re.compile(r"[()]|[^\s()]+|\n")
_OUTER = frozenset(("", "ROOT", "TOP", "S1", "VROOT"))
_ESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LCB-": "{", "-RCB-": "}", "-LSB-": "[", "-RSB-": "]"}
_ESCAPED |= {"``": '"', "''": '"'}
_TRACE = "-NONE-"
Spans = list[tuple[str, int, int]]
"""Words with their first character in the text and the one behind the last."""


@dataclass(slots=True)
class Tree:
    """`labels` are bare (NP), `functions` as written (NP-SBJ-1).

    Node i covers the words `firsts[i]:lasts[i]`; `parents` is -1 for the root.
    """

    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)
    lasts: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Open:
    """A bracket that is not closed yet."""

    line: int
    label: str | None = None
    word: str | None = None
    children: list[_Open] = field(default_factory=list)


def parse_trees(
    text: str, first_line: int, origin: Origin
) -> Iterator[tuple[int, Tree | InputError]]:
    """Each tree with the line that it begins in; after a problem, the next line that begins one."""
    stack: list[_Open] = []
    line, lost = first_line, False
    fresh = True  # nothing but white space so far on this line
    for match in _PIECES.finditer(text):
        piece = match[0]
        if piece == "\n":
            line, fresh = line + 1, True
            continue
        begins, fresh = fresh and match.start() == text.rfind("\n", 0, match.start()) + 1, False
        if lost and not (begins and piece == "("):
            continue
        lost = False
        problem = ""
        if piece == "(":
            if stack and stack[-1].word is not None:
                problem = f"a bracket opens after the word '{stack[-1].word}'"
            else:
                stack.append(_Open(line))
        elif piece == ")":
            if not stack:
                problem = "a closing bracket has no opening one"
            elif stack[-1].word is None and not stack[-1].children:
                problem = f"the brackets are empty: '{stack[-1].label or ''}'"
            else:
                node = stack.pop()
                if stack:
                    stack[-1].children.append(node)
                else:
                    yield node.line, _columns(node)
        elif not stack:
            problem = f"'{piece}' is outside all brackets"
        elif stack[-1].label is None and not stack[-1].children:
            stack[-1].label = piece
        elif stack[-1].word is None and not stack[-1].children:
            stack[-1].word = piece
        else:
            problem = f"'{piece}' where a bracket must open or close"
        if problem:
            yield (stack[0].line if stack else line), _bad(problem, line, origin)
            stack, lost = [], True
    if stack:
        yield stack[0].line, _bad("the tree is not closed", stack[0].line, origin)


def _bad(problem: str, line: int, origin: Origin) -> InputError:
    remedy = f"A node is (LABEL child ...) or (TAG word), brackets as words are -LRB-; {SKIP}"
    return origin.error(problem, line, field="tree", remedy=remedy)


def bare(label: str) -> str:
    """A label without function tags and numbers: NP for NP-SBJ-1, NP=2."""
    return label if label.startswith("-") else re.split(r"[-=]", label, maxsplit=1)[0]


def _columns(root: _Open) -> Tree:
    tree = Tree()
    _drop_traces(root)
    # A loop, not recursion: trees from machines may be deeper than Python's stack.
    todo: list[tuple[_Open, int]] = [(root, -1)]
    while todo:
        node, parent = todo.pop()
        label = node.label or ""
        outer = parent < 0 and label in _OUTER and node.word is None
        number = -1 if outer else len(tree.labels)
        if not outer:
            tree.labels.append(bare(label))
            tree.functions.append(label)
            tree.parents.append(parent)
            tree.firsts.append(len(tree.words))
            tree.lasts.append(len(tree.words))
        if node.word is not None:
            tree.words.append(_ESCAPED.get(node.word, node.word.replace("\\/", "/")))
            tree.tags.append(bare(label))
            tree.lasts[number] = len(tree.words)
        todo += [(child, number) for child in reversed(node.children)]
    for number in range(len(tree.labels) - 1, 0, -1):
        parent = tree.parents[number]
        if parent >= 0:
            tree.lasts[parent] = max(tree.lasts[parent], tree.lasts[number])
    return tree


def _drop_traces(root: _Open) -> None:
    """Take out empty elements, and nodes that hold nothing else."""
    order = [root]
    for node in order:  # grows while it is walked
        order += node.children
    for node in reversed(order):
        node.children = [
            child
            for child in node.children
            if child.children or (child.word is not None and child.label != _TRACE)
        ]


SUFFIXES = (".mrg", ".ptb", ".brackets")


def inspect(part: Part, options: ReadOptions) -> Fields:
    is_whole = (part.plain or options.plain) == "file"
    remark = "one document per file (--plain line makes one per tree)" if is_whole else ""
    return Fields(remark=remark)


def shards(part: Part, fields: Fields, options: ReadOptions) -> Iterator[Shard]:
    plain = part.plain or options.plain
    if plain == "paragraph":
        return block_shards(part, fields, options, _paragraphs, "paragraph")
    if plain == "line":
        return block_shards(part, fields, options, _each_tree, regroup=_whole_trees)
    return block_shards(part, fields, options, _joined, regroup=_whole_file)


def _whole_file(blocks: Iterable[LineBlock]) -> Iterator[LineBlock]:
    lines = list(blocks)
    if lines:
        yield LineBlock(b"".join(b.data for b in lines), 1, sum(b.size for b in lines))


def _whole_trees(blocks: Iterable[LineBlock]) -> Iterator[LineBlock]:
    """Blocks that end where no tree is open."""
    import numpy as np

    data, line, size = b"", 1, 0
    for block in blocks:
        data, size = data + block.data, size + block.size
        letters = np.frombuffer(data, np.uint8)
        depth = np.cumsum((letters == ord("(")).astype(np.int32) - (letters == ord(")")))
        closed = np.flatnonzero((letters == ord("\n")) & (depth <= 0))
        if len(closed):
            cut = int(closed[-1]) + 1
            yield LineBlock(data[:cut], line, size)
            line += data.count(b"\n", 0, cut)
            data, size = data[cut:], 0
    if data:
        yield LineBlock(data, line, size)


def _each_tree(data: bytes, first_line: int, encoding: str, origin: Origin) -> Iterator[Numbered]:
    for line, tree in _trees(data, first_line, encoding, origin):
        if isinstance(tree, InputError):
            yield line, tree
        elif tree.words:
            yield line, _document([tree], f"{origin.name}:{line}")


def _paragraphs(data: bytes, first_line: int, encoding: str, origin: Origin) -> Iterator[Numbered]:
    for start, lines in blocks_between_blanks(data, first_line):
        block = b"\n".join(raw for _, raw in lines)
        yield from _joined(block, start, encoding, origin, f"{origin.name}:{start}")


def _joined(
    data: bytes, first_line: int, encoding: str, origin: Origin, identity: str = ""
) -> Iterator[Numbered]:
    """All trees as one document; the first problem stands for the whole."""
    trees: list[Tree] = []
    for _, tree in _trees(data, first_line, encoding, origin):
        if isinstance(tree, InputError):
            yield first_line, tree
            return
        trees.append(tree)
    if any(tree.words for tree in trees):
        yield first_line, _document(trees, identity or origin.name)


def _trees(
    data: bytes, first_line: int, encoding: str, origin: Origin
) -> Iterator[tuple[int, Tree | InputError]]:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = first_line + data.count(b"\n", 0, error.start)
        try:  # which says what is wrong, counting from the start of the line
            decode(data.split(b"\n")[line - first_line], encoding, line, origin)
        except InputError as problem:
            yield line, problem
        return
    yield from parse_trees(text, first_line, origin)


def _document(trees: list[Tree], identity: str) -> Document:
    spans: Spans = []
    position = 0
    for word in (word for tree in trees for word in tree.words):
        spans.append((word, position, position + len(word)))
        position += len(word) + 1
    text = "\n".join(" ".join(tree.words) for tree in trees if tree.words)
    return Document(identity, text, {"annotation": annotation(trees, spans)})


def annotation(trees: Iterable[Tree], spans: Spans) -> dict[str, Any]:
    """Trees as plain lists, for annotators; `spans` are all their words as the text has them."""
    xpos: list[str] = []
    sentence_ends: list[int] = []
    nodes: dict[str, list[Any]] = {
        name: [] for name in ("label", "function", "parent", "first", "last")
    }
    for tree in trees:
        if not tree.words:
            continue
        items, known = len(xpos), len(nodes["label"])
        xpos += tree.tags
        nodes["label"] += tree.labels
        nodes["function"] += tree.functions
        nodes["parent"] += [parent + known if parent >= 0 else -1 for parent in tree.parents]
        nodes["first"] += [first + items for first in tree.firsts]
        nodes["last"] += [last + items for last in tree.lasts]
        sentence_ends.append(len(xpos))
    return {
        "starts": [start for _, start, _ in spans],
        "ends": [end for _, _, end in spans],
        "sentence_ends": sentence_ends,
        "form": [word for word, _, _ in spans],
        "xpos": xpos,
        "tree": nodes,
    }
