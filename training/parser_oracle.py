"""What the parser should do: projective trees, and the price of every move towards them.

The oracle is dynamic (Goldberg and Nivre 2013): in any configuration, also one that the
parser's own mistakes led to, the price of a move is the number of gold arcs that it
puts out of reach. Arc-hybrid is arc-decomposable, so arcs can be looked at one by one.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

NEVER = 1 << 20  # the price of a move that is not allowed


@njit(cache=True, nogil=True)
def prices(heads, stack, depth, front, count):  # type: ignore[no-untyped-def]
    """Gold arcs lost by SHIFT, LEFT and RIGHT; `heads` within the sentence, -1 for the root."""
    shift, left, right = NEVER, NEVER, NEVER
    if front < count:
        shift = 0
        head = heads[front]
        for place in range(depth):
            # A head below the top cannot be reached again, nor can children on the stack.
            shift += heads[stack[place]] == front
            shift += head == stack[place] and place < depth - 1
        shift += head < 0 and depth > 0
    if depth > 0:
        top = stack[depth - 1]
        head = heads[top]
        children = 0
        for word in range(front, count):
            children += heads[word] == top
        below = stack[depth - 2] if depth > 1 else -1
        if front < count:
            left = children + (head == below or head > front)
        if depth > 1:
            right = children + (head >= front)
    return shift, left, right


@njit(cache=True, nogil=True)
def _crossed(heads, child):  # type: ignore[no-untyped-def]
    """Whether the arc to a child spans a word that does not hang from its head."""
    head = heads[child]
    low, high = min(child, head), max(child, head)
    for word in range(low + 1, high):
        up = word
        while up != head and up >= 0:
            up = heads[up]
        if up < 0:
            return True
    return False


@njit(cache=True, nogil=True)
def _lift(heads):  # type: ignore[no-untyped-def]
    """Lift the shortest crossed arc to its head's head until none is crossed, in place."""
    while True:
        chosen, length = -1, 1 << 30
        for child in range(len(heads)):
            if heads[child] >= 0 and abs(child - heads[child]) < length and _crossed(heads, child):
                chosen, length = child, abs(child - heads[child])
        if chosen < 0:
            return
        heads[chosen] = heads[heads[chosen]]


def projective(heads: NDArray[np.int32]) -> NDArray[np.int32]:
    """The nearest projective tree: heads within the sentence, -1 for the root."""
    lifted = heads.copy()
    _lift(lifted)
    return lifted
