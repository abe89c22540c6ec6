"""A slow twin of the parser: the moves and what they look at, in plain Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.annotate import network_twin as twin

NOTHING = (0, 0, 0, 0, 0)  # lower, cluster, tag, UPOS, next verb


@dataclass
class State:
    """A configuration: words on the stack, the first word of the buffer, arcs so far."""

    count: int
    stack: list[int] = field(default_factory=list)
    front: int = 0
    heads: dict[int, tuple[int, int]] = field(default_factory=dict)  # child: head, label

    def children(self, word: int | None, step: int) -> list[int]:
        """Children on one side, the outermost first."""
        found = [c for c, (head, _) in self.heads.items() if head == word and (c - head) * step > 0]
        return sorted(found, key=lambda child: -child * step)

    def nth(self, word: int | None, step: int, place: int) -> int | None:
        found = self.children(word, step)
        return found[place] if len(found) > place else None

    def label(self, word: int | None) -> int:
        return self.heads[word][1] if word is not None else 0

    def labels(self, word: int | None) -> int:
        """The set of the children's labels as bits."""
        found = 0
        for head, label in self.heads.values():
            found |= 1 << label if head == word else 0
        return found

    def valency(self, word: int | None) -> int:
        return min(7, len(self.children(word, -1))) * 8 + min(7, len(self.children(word, 1)))

    def roles(self) -> list[int | None]:
        """The place of each role, in the order of the kernel."""
        s0, s1, s2, s3 = [*self.stack[::-1][:4], None, None, None, None][:4]
        b0, b1, b2, b3 = (i if i < self.count else None for i in range(self.front, self.front + 4))

        def beside(word: int | None, step: int) -> int | None:
            return word + step if word is not None and 0 <= word + step < self.count else None

        return [
            *(s0, s1, s2, b0, b1, b2),
            *(self.nth(s0, -1, 0), self.nth(s0, 1, 0), self.nth(s1, -1, 0), self.nth(s1, 1, 0)),
            *(self.nth(b0, -1, 0), b3, s3, beside(s0, -1), beside(s0, 1), beside(s1, -1)),
            *(beside(s1, 1), self.front - 1 if self.front else None),
            *(self.nth(s0, -1, 1), self.nth(s0, 1, 1)),
        ]


def chain(*values: int) -> int:
    """One value for several, from the left."""
    first, *rest = values
    for value in rest:
        first = twin.pair(first, value)
    return first


def stretch(low: int | None, high: int | None, kinds: list[int]) -> int:
    """Distance and what stands between."""
    if low is None or high is None:
        return 0
    inside = kinds[low + 1 : high]
    distance = high - low
    distance = distance if distance <= 4 else 5 if distance < 7 else 6 if distance < 11 else 7
    verbs, marks, joins = (inside.count(kind) for kind in (1, 2, 3))
    return 1 + distance + 8 * ((min(verbs, 2) * 3 + min(marks, 2)) * 2 + min(joins, 1))


def joined(state: State, views: list[tuple[int, ...]], kinds: list[int]) -> list[int]:
    """The values of the joined features, in order."""
    at = state.roles()
    view = [views[i] if i is not None else NOTHING for i in at]
    w, c, t, u = ([v[column] for v in view] for column in range(4))
    ahead = view[3][4]
    near = stretch(at[0], state.front, kinds)
    far = stretch(at[1], at[0], kinds)
    s0_set, s1_set, b0_set = (state.labels(at[i]) if at[i] is not None else 0 for i in (0, 1, 3))
    coarse = chain(u[0], u[3], u[1])
    # Roles by number: 0-2 stack, 3-5 buffer, 6-7 children of 0, 8-9 of 1, 10 of 3.
    return [
        *(chain(t[0], t[3]), chain(t[0], t[1]), chain(t[1], t[3]), chain(t[3], t[4])),
        *(chain(t[0], t[3], t[1]), chain(t[0], t[3], t[4])),
        *(chain(t[0], t[1], t[2]), chain(t[3], t[4], t[5])),
        *(chain(w[0], w[3]), chain(w[0], w[1]), chain(w[0], t[3]), chain(t[0], w[3])),
        *(chain(w[0], t[1]), chain(t[0], w[1]), chain(w[1], t[3]), chain(t[1], w[3])),
        *(chain(t[0], t[3], near), chain(t[0], t[1], far), chain(w[0], near), chain(w[3], near)),
        *(chain(t[0], s0_set), chain(t[1], s1_set), chain(t[3], b0_set)),
        *(chain(w[0], s0_set), chain(w[1], s1_set), chain(w[3], b0_set)),
        *(chain(t[0], t[3], s0_set), chain(t[0], t[1], s1_set)),
        *(chain(t[0], t[6], t[7]), chain(t[0], t[1], t[9])),
        *(chain(t[0], t[3], t[10]), chain(t[0], t[1], t[8])),
        *(chain(w[0], t[0]), chain(w[1], t[1]), chain(w[3], t[3])),
        *(chain(c[0], c[3]), chain(c[0], c[1]), chain(c[1], c[3])),
        *(chain(t[0], t[3], ahead), chain(coarse, u[4]), chain(coarse, u[4], u[5])),
        *(chain(coarse, u[2]), chain(w[0], w[7]), chain(w[1], w[3]), chain(w[1], w[6])),
        *(chain(t[0], t[1], w[6]), chain(w[0], w[10]), chain(t[0], t[3], w[10])),
        *(chain(w[3], w[4]), chain(w[3], t[4]), chain(coarse, far)),
        chain(chain(u[1], u[9]), chain(u[0], u[6])),
        *(chain(t[i], state.valency(at[i]) if at[i] is not None else 0) for i in (0, 1)),
        *(state.label(at[i]) for i in (6, 7, 8, 9, 10)),
        chain(t[1], t[3], ahead),
    ]


def parse(held: Any, words: list[twin.Row], tags: list[int]) -> list[tuple[int, int]]:
    """Head (-1 for the root) and label of each word of one sentence; tags from 1, 0 is none."""
    named, lefts, root, universal, kind_of = held.grammar
    coarse = [(tag - 1) % universal if tag else -1 for tag in tags]
    kinds = [int(kind_of[c]) if c >= 0 else 0 for c in coarse]
    verbs = [tag if kind == 1 else 0 for tag, kind in zip(tags, kinds)]
    views = [
        (row[1], row[16], tag, c + 1, next(filter(None, verbs[i + 1 :]), 0))
        for i, (row, tag, c) in enumerate(zip(words, tags, coarse))
    ]
    state = State(len(words))
    while state.front < state.count or len(state.stack) > 1:
        if not state.stack:
            state.stack.append(state.front)
            state.front += 1
            continue
        at = state.roles()
        rows = [words[i] if i is not None else twin.padding(1) for i in at[:11]]
        values = []
        for i in at:
            tag = tags[i] if i is not None else 0
            values += [1 + (tag - 1) // universal, 1 + (tag - 1) % universal] if tag else [0, 0]
        scores = twin.scores(held.net.net, rows, [*values, *joined(state, views, kinds)])
        allowed = range(len(scores))
        if state.front == state.count:
            allowed = allowed[1 + lefts :]
        elif len(state.stack) == 1:
            allowed = allowed[: 1 + lefts]
        action = max(allowed, key=lambda a: (scores[a], -a))
        if action == 0:
            state.stack.append(state.front)
            state.front += 1
        else:
            child = state.stack.pop()
            head = state.front if action <= lefts else state.stack[-1]
            state.heads[child] = (head, int(named[action]))
    return [(h, n - 1) for h, n in (state.heads.get(i, (-1, root + 1)) for i in range(len(words)))]
