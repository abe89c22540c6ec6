"""Weisfeiler-Lehman histograms of dependency trees: which pieces of tree a sentence is made of.

The graph of a sentence: its words, labelled with their part of speech, each joined to its head,
and an artificial root, with a label of its own, joined to every word that has no head. A node's
label at the next depth is its own with those of its neighbours, as a sorted multiset: at depth 2
it describes all that lies within two steps. Direction and names of the dependencies are not used.

Labels are numbered exactly: the hash table compares what a label stands for, not its hash.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rote.annotate.trees import head_distances
from rote.core.array_types import Array, Integers
from rote.core.errors import OptionError
from rote.core.kernels import njit
from rote.core.layer import Ids, Layer, Offsets, items_of, starts_of
from rote.measure._sentences import Sentences

NONE = -1
PRIME = np.uint64(0x9E3779B97F4A7C15)
SHORT = 40


@dataclass(frozen=True, slots=True)
class Histograms:
    """Sentence s holds the labels `labels[ends[s-1]:ends[s]]`, ascending, each `counts` times.

    A number means the same label in every sentence. `norms[s]` is the sum of the squared counts.
    """

    labels: Ids
    counts: Ids
    ends: Offsets
    norms: Integers
    kinds: int

    def __len__(self) -> int:
        return len(self.ends)

    def chosen(self, numbers: Integers) -> Histograms:
        """Those of some sentences."""
        entries, ends = items_of(starts_of(self.ends)[numbers], self.ends[numbers])
        labels, counts = self.labels[entries], self.counts[entries]
        return Histograms(labels, counts, ends, self.norms[numbers], self.kinds)


def histograms(upos: Layer, head: Layer, sentences: Sentences, depth: int = 2) -> Histograms:
    """The labels of depths 0 to `depth` of all given sentences."""
    nodes = int(sentences.lengths.sum()) + len(sentences)
    if nodes * (depth + 1) >= 2**31:
        raise OptionError(
            f"{nodes:,} words and roots are too many for one set of labels: take fewer sentences"
        )
    # Arrays of a memory map are read-only, another type to the compiler: these are copies.
    ends = np.array(sentences.ends, np.int64)
    starts = np.array(sentences.starts, np.int64)
    edges, edge_ends = neighbours(head_distances(head), starts, ends)
    levels = np.empty((depth + 1, nodes), np.int32)
    kinds = first_labels(np.array(upos.ids), len(upos.vocabulary), starts, ends, levels[0])
    for number in range(1, depth + 1):
        found = next_labels(levels[number - 1], edges, edge_ends, levels[number])
        levels[number] += kinds
        kinds += found
    labels, counts, label_ends, norms = counted(levels, ends - starts)
    return Histograms(labels, counts, label_ends, norms, kinds)


@njit(cache=True, nogil=True)
def neighbours(away: Array, starts: Array, ends: Array) -> tuple[Array, Array]:
    """The graphs of all sentences: every node's neighbours, and where those of each node end.

    The nodes of a sentence are its words and then its root.
    """
    words = 0
    for sentence in range(len(starts)):
        words += ends[sentence] - starts[sentence]
    edge_ends = np.zeros(words + len(starts) + 1, np.int64)
    heads = np.empty(words + len(starts), np.int64)
    first = 0
    for sentence in range(len(starts)):
        length = ends[sentence] - starts[sentence]
        for word in range(length):
            step = away[starts[sentence] + word]
            head = length if step == 0 else word + step
            if head < 0 or head > length or (head == length and step != 0):
                raise ValueError("the head of a word stands outside of its sentence")
            heads[first + word] = first + head
            edge_ends[first + word + 1] += 1
            edge_ends[first + head + 1] += 1
        heads[first + length] = NONE
        first += length + 1
    for node in range(len(heads)):
        edge_ends[node + 1] += edge_ends[node]
    filled = edge_ends[:-1].copy()
    edges = np.empty(2 * words, np.int32)
    for node in range(len(heads)):
        head = heads[node]
        if head != NONE:
            edges[filled[node]] = head
            edges[filled[head]] = node
            filled[node] += 1
            filled[head] += 1
    return edges, edge_ends[1:]


@njit(cache=True, nogil=True)
def first_labels(ids: Array, vocabulary: int, starts: Array, ends: Array, labels: Array) -> int:
    """Number the parts of speech that occur, and the root as 0; how many there are."""
    numbers = np.full(vocabulary, NONE, np.int32)
    kinds = 1 if len(starts) else 0
    node = 0
    for sentence in range(len(starts)):
        for place in range(starts[sentence], ends[sentence]):
            if numbers[ids[place]] == NONE:
                numbers[ids[place]] = kinds
                kinds += 1
            labels[node] = numbers[ids[place]]
            node += 1
        labels[node] = 0
        node += 1
    return kinds


@njit(cache=True, nogil=True)
def next_labels(labels: Array, edges: Array, edge_ends: Array, found: Array) -> int:
    """Number what each node is together with its neighbours, from 0; how many kinds there are.

    A kind is kept as it is: its label and the sorted labels of its neighbours, one behind the
    other in `parts`, so that an equal hash is never taken for an equal kind.
    """
    table = np.full(1 << 12, NONE, np.int32)
    parts = np.empty(1 << 12, np.int32)
    part_ends = np.zeros(1 << 10, np.int64)
    hashes = np.empty(1 << 10, np.uint64)
    kinds = 0
    begin = 0
    for node in range(len(labels)):
        size = 1 + edge_ends[node] - begin
        last = part_ends[kinds]
        while last + size > len(parts):
            parts = longer(parts)
        # Written where it would stay, if it is new.
        key = parts[last : last + size]
        key[0] = labels[node]
        for entry in range(begin, edge_ends[node]):
            key[1 + entry - begin] = labels[edges[entry]]
        begin = edge_ends[node]
        sort(key[1:])
        spread = hashed(key)
        slot = np.int64(spread & np.uint64(len(table) - 1))
        while table[slot] != NONE:
            kind = table[slot]
            if hashes[kind] == spread:
                start = part_ends[kind]
                if equal(parts[start : part_ends[kind + 1]], key):
                    break
            slot = (slot + 1) & (len(table) - 1)
        if table[slot] == NONE:
            table[slot] = kinds
            hashes[kinds] = spread
            kinds += 1
            if kinds + 1 >= len(part_ends):
                part_ends = longer(part_ends)
                hashes = longer(hashes)
            part_ends[kinds] = last + size
            found[node] = kinds - 1
            if 2 * kinds > len(table):
                table = filled_table(hashes[:kinds], 2 * len(table))
        else:
            found[node] = table[slot]
    return kinds


@njit(cache=True, nogil=True)
def longer(array: Array) -> Array:
    grown = np.empty(2 * len(array), array.dtype)
    for place in range(len(array)):  # to assign a slice would take a second to compile
        grown[place] = array[place]
    return grown


@njit(cache=True, nogil=True)
def filled_table(hashes: Array, size: int) -> Array:
    table = np.full(size, NONE, np.int32)
    for kind in range(len(hashes)):
        slot = np.int64(hashes[kind] & np.uint64(size - 1))
        while table[slot] != NONE:
            slot = (slot + 1) & (size - 1)
        table[slot] = kind
    return table


@njit(cache=True, nogil=True)
def hashed(key: Array) -> np.uint64:
    spread = np.uint64(len(key))
    for part in key:
        spread = (spread ^ np.uint64(part)) * PRIME
        spread ^= spread >> np.uint64(32)
    return spread


@njit(cache=True, nogil=True)
def equal(one: Array, other: Array) -> bool:
    size = len(one)
    if size != len(other):
        return False
    place = 0
    while place < size and one[place] == other[place]:
        place += 1
    return place == size


@njit(cache=True, nogil=True)
def sort(part: Array) -> None:
    """In place, by insertion at smaller and smaller steps (Shell 1959; Ciura 2001); a node has few
    neighbours and a sentence few words, for which this beats the general sort."""
    step = 1
    if len(part) > SHORT:
        while 9 * step + 4 < 4 * len(part):
            step = 9 * step // 4 + 1
    while step:
        for place in range(step, len(part)):
            held = part[place]
            before = place - step
            while before >= 0 and part[before] > held:
                part[before + step] = part[before]
                before -= step
            part[before + step] = held
        step = 4 * step // 9


@njit(cache=True, nogil=True)
def counted(levels: Array, lengths: Array) -> tuple[Array, Array, Array, Array]:
    """Labels, counts, ends and squared lengths of every sentence's histogram; sorts the levels."""
    labels = np.empty(levels.size, np.int32)
    counts = np.empty(levels.size, np.int32)
    ends = np.empty(len(lengths), np.int64)
    norms = np.zeros(len(lengths), np.int64)
    filled = 0
    first = 0
    for sentence in range(len(lengths)):
        last = first + lengths[sentence] + 1
        # Labels of a greater depth have greater numbers, so that all are ascending.
        for level in range(len(levels)):
            part = levels[level, first:last]
            sort(part)
            begin = 0
            for place in range(1, len(part) + 1):
                if place == len(part) or part[place] != part[begin]:
                    labels[filled] = part[begin]
                    counts[filled] = place - begin
                    norms[sentence] += (place - begin) * (place - begin)
                    filled += 1
                    begin = place
        ends[sentence] = filled
        first = last
    return labels[:filled].copy(), counts[:filled].copy(), ends, norms
