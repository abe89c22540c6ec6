"""Bracketed trees as columns: `(S (NP (DT The) (NN cat)) (VP (VBD slept)))`.

Nodes are numbered depth first. A preterminal (the tag of a word) is a node; a word is
not. Outer brackets without a label, or labelled ROOT or TOP, are no nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rote.core.errors import InputError
from rote.corpus._fields import SKIP, Origin

_PIECES = re.compile(r"[()]|[^\s()]+|\n")
_OUTER = frozenset(("", "ROOT", "TOP", "S1", "VROOT"))
_ESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LCB-": "{", "-RCB-": "}", "-LSB-": "[", "-RSB-": "]"}
_ESCAPED |= {"``": '"', "''": '"'}
_TRACE = "-NONE-"


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
                problem = "a bracket closes that was not opened"
            elif stack[-1].word is None and not stack[-1].children:
                problem = f"nothing stands in the brackets of '{stack[-1].label or ''}'"
            else:
                node = stack.pop()
                if stack:
                    stack[-1].children.append(node)
                else:
                    yield node.line, _columns(node)
        elif not stack:
            problem = f"'{piece}' stands outside of all brackets"
        elif stack[-1].label is None and not stack[-1].children:
            stack[-1].label = piece
        elif stack[-1].word is None and not stack[-1].children:
            stack[-1].word = piece
        else:
            problem = f"'{piece}' where a bracket has to open or close"
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
