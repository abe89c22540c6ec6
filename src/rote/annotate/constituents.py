"""Phrase-structure trees from dependency trees, by rules, in the form of the Penn Treebank.

Word by word from the leaves up, each is built into a phrase with those below it: nouns into NP
(a base, and what follows it beside it), prepositions with them into PP, auxiliaries into stacked
VP, clauses into S, subordinate ones into SBAR. Punctuation stands as high as it can.
docs/annotators.md says how many brackets are those of treebanks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rote.annotate.trees import Nodes
from rote.core.layer import Ids, Layer

VERSION = "1"
"""Part of the annotator's signature from "2" on: what was made before has none of it."""

Node = list[Any]
"""A label and its children, which are nodes or the numbers of words."""

_FINITE = frozenset(("VBD", "VBP", "VBZ", "MD"))
_VERB = _FINITE | {"VB", "VBG", "VBN"}
_ADJECTIVE = frozenset(("JJ", "JJR", "JJS", "AFX"))
_LABELS = {"RB": "ADVP", "RBR": "ADVP", "RBS": "ADVP", "WRB": "ADVP", "IN": "PP", "TO": "PP"}
_LABELS |= {"UH": "INTJ", "RP": "PRT", "LS": "LST"} | dict.fromkeys(_VERB | _ADJECTIVE, "ADJP")
_WH = frozenset(("WP", "WDT", "WP$", "WRB"))
_NUMERAL = frozenset(("CD", "$", "#"))
_QUANTITY = _NUMERAL | {"RB", "RBR", "JJR", "IN"}  # about 20, more than 20

_SUBJECT = frozenset(("nsubj", "nsubj:pass", "nsubj:outer", "csubj", "csubj:pass", "csubj:outer"))
_AUXILIARY = frozenset(("aux", "aux:pass", "cop"))
_ARGUMENT = frozenset(("nsubj", "nsubj:pass", "obj", "iobj", "nmod", "obl", "obl:agent", "appos"))
_NAME = frozenset(("compound", "flat", "nmod:desc"))
_BEHIND_NOUN = _NAME | {"nummod", "goeswith", "fixed", "det"}
_NO_CLAUSE = _NAME | {"amod", "aux", "aux:pass", "cop", "case", "mark", "cc", "det", "advmod"}
# What belongs to a noun or an adjective that a copula makes a predicate, and not to its clause.
_OF_PREDICATE = _BEHIND_NOUN | {"amod", "nmod:poss", "det:predet", "cc:preconj", "nmod", "case"}
_OF_PREDICATE |= {"nmod:unmarked", "reparandum"}
_AFTER_NOUN = _OF_PREDICATE | {"acl", "acl:relcl", "appos"}
_AFTER_ADJECTIVE = frozenset(("obl", "xcomp", "ccomp", "advcl", "fixed", "flat", "nmod"))

_LONGEST_BASE = 40
"""Of a noun's words; what is longer, as lists are that nobody speaks, keeps its own phrases."""

_NOT = frozenset(("not", "n't"))
_SENTENCE_ADVERBS = _NOT | frozenset(
    "also still already now then never always often usually probably certainly just only really"
    " even actually again currently generally perhaps clearly simply sometimes".split()
)
_SUBORDINATORS = frozenset(
    "that if whether because while although though unless as so than once whereas lest".split()
)
# Their object is told to do something: no clause with it as subject.
_TOLD = tuple(
    "tell told ask persuad convinc urg order encourag advis forc invit remind teach taught".split()
)


def build_nodes(word: Layer, pos: Layer, dep: Layer, heads: Ids) -> Nodes:
    """The constituents of all sentences; words are leaves under their tags.

    `dep` and `heads` are those of `parsing.parse`: one root a sentence, and no crossing arcs.
    """
    lower = [entry.lower().replace("’", "'") for entry in word.vocabulary]
    columns: tuple[list[Any], ...] = ([], [], [], [])
    ends = word.text_ends if word.sentence_ends is None else word.sentence_ends
    begin = 0
    for end in ends.tolist():
        place = slice(begin, end)
        if begin < end:
            sentence = _Sentence(
                [lower[i] for i in word.ids[place].tolist()],
                [pos.vocabulary[i] for i in pos.ids[place].tolist()],
                [dep.vocabulary[i] for i in dep.ids[place].tolist()],
                [head - begin for head in heads[place].tolist()],
            )
            _append_nodes(columns, sentence.tree(), sentence.tags, begin)
        begin = end
    labels, *numbers = columns
    return Nodes(labels, *(np.array(column, np.int32) for column in numbers))


def _append_nodes(columns: Sequence[list[Any]], tree: Node, tags: Sequence[str], base: int) -> None:
    """Write a tree depth first; words that it lacks (punctuation) stand as high as they can."""
    labels, parents, firsts, lasts = columns

    def append(label: str, parent: int, first: int) -> int:
        labels.append(label)
        parents.append(parent)
        firsts.append(base + first)
        lasts.append(base + first + 1)
        return len(labels) - 1

    place = 0  # the next word
    root = append(tree[0], -1, 0)
    todo: list[tuple[Any, int, int]] = [(len(tags), root, len(tags))]  # a word behind the last
    todo += [(child, root, -1) for child in tree[:0:-1]]
    while todo:
        item, parent, first = todo.pop()
        if first < 0:
            first = _first(item)
        for between in range(place, first):
            append(tags[between], parent, between)
        place = first
        if type(item) is list:
            here = append(item[0], parent, first)
            todo += [(child, here, -1) for child in item[:1:-1]]
            todo.append((item[1], here, first))
        elif first < len(tags):
            append(tags[first], parent, first)
            place += 1
    for node in range(len(labels) - 1, root, -1):
        lasts[parents[node]] = max(lasts[parents[node]], lasts[node])


def _first(item: Any) -> int:
    while type(item) is list:
        item = item[1]
    return int(item)


def _last(item: Any) -> int:
    while type(item) is list:
        item = item[-1]
    return int(item)


def _words(items: Iterable[Any]) -> list[int]:
    numbers, todo = [], list(items)[::-1]
    while todo:
        item = todo.pop()
        if type(item) is list:
            todo += item[:0:-1]
        else:
            numbers.append(item)
    return numbers


def _is_node(item: Any, *labels: str) -> bool:
    return type(item) is list and item[0] in labels


def _is_single(item: Any) -> bool:
    """Whether it is a phrase of one word with no phrase inside."""
    return len(item) == 2 and type(item[1]) is int


class _Sentence:
    def __init__(
        self, words: list[str], tags: list[str], deps: list[str], heads: list[int]
    ) -> None:
        self.words, self.tags, self.deps, self.heads = words, tags, deps, heads
        count = len(words)
        self.lefts: list[list[int]] = [[] for _ in range(count)]
        self.rights: list[list[int]] = [[] for _ in range(count)]
        self.brackets: dict[int, list[int]] = {}
        self.phrases: list[Node] = [[]] * count
        self.conjunctions: list[list[Any]] = [[] for _ in range(count)]
        """Those before a phrase, which its parent places."""
        self.root = 0
        inner = set(heads)
        for word, head in enumerate(heads):
            if head < 0:
                self.root = word
            elif deps[word] != "punct" or word in inner:
                (self.lefts if word < head else self.rights)[head].append(word)
            elif tags[word] in ("-LRB-", "-RRB-"):
                self.brackets.setdefault(head, []).append(word)

    def tree(self) -> Node:
        order = [self.root]
        for word in order:  # grows while it is walked
            order += self.lefts[word]
            order += self.rights[word]
        for word in reversed(order):
            self.phrases[word] = self.build(word)
        label, *children = self.phrases[self.root]
        return [label, *self.conjunctions[self.root], *children]

    def build(self, word: int) -> Node:
        """The phrase of a word, made from those of the words below it."""
        deps, lefts, rights = self.deps, self.lefts[word], self.rights[word]
        while lefts and deps[lefts[0]] == "cc":
            below = _words(self.items(lefts[0]))
            self.conjunctions[word] += below if len(below) == 1 else [["CONJP", *below]]
            lefts = lefts[1:]
        if self.is_clause(word, lefts, rights):
            phrase = self.clause(word, lefts, rights)
        else:
            phrase = self.phrase(word, lefts, rights)
        around = self.brackets.get(word, ())
        if len(around) == 2 and around[0] < _first(phrase) and _last(phrase) < around[1]:
            return ["PRN", around[0], phrase, around[1]]
        return phrase

    def is_clause(self, word: int, lefts: Sequence[int], rights: Sequence[int]) -> bool:
        deps = self.deps
        if self.tags[word] in _VERB and deps[word] not in _NO_CLAUSE:
            return True
        for child in lefts:
            relation = deps[child]
            if relation in _SUBJECT or relation in _AUXILIARY or relation == "expl":
                return True
            if relation == "mark" and deps[word] != "amod":
                return True
        return any(
            deps[child] in _AUXILIARY or deps[child] in ("nsubj", "nsubj:pass") for child in rights
        )

    def items(self, word: int) -> list[Any]:
        """What a word puts among the children of the phrase above it."""
        phrase = self.phrases[word]
        is_bare = self.tags[word] == "CC" and _is_single(phrase)
        return [*self.conjunctions[word], word if is_bare else phrase]

    def all_items(self, words: Iterable[int]) -> list[Any]:
        return [item for word in words for item in self.items(word)]

    def split_conjuncts(self, rights: Sequence[int]) -> tuple[list[int], list[int]]:
        """What stands before the first conjunct; it and what follows."""
        for number, child in enumerate(rights):
            if self.deps[child] == "conj":
                return list(rights[:number]), list(rights[number:])
        return list(rights), []

    def split_prepositions(self, lefts: Sequence[int]) -> tuple[list[Any], list[int]]:
        """The prepositions with what is before and between them; the rest of the left side."""
        deps = self.deps
        count = len(lefts)
        while count and deps[lefts[count - 1]] not in ("case", "mark"):
            count -= 1
        prepositions: list[Any] = []
        for child in lefts[:count]:
            is_preposition = deps[child] in ("case", "mark")
            prepositions += _words(self.items(child)) if is_preposition else self.items(child)
        return prepositions, list(lefts[count:])

    def has_wh(self, items: Sequence[Any]) -> bool:
        """Whether one of the first two items asks or relates: `which`, `how many`."""
        return any(
            item[0].startswith("WH") if type(item) is list else self.tags[item] in _WH
            for item in items[:2]
        )

    # Phrases without a verb.

    def phrase(self, word: int, lefts: Sequence[int], rights: Sequence[int]) -> Node:
        deps = self.deps
        label = _LABELS.get(self.tags[word], "NP")
        if label == "ADJP" and deps[word] in _ARGUMENT:
            label = "NP"
        if label in ("ADJP", "ADVP") and deps[word] != "amod":
            of_noun = ("det", "nmod:poss", *(("case",) if label == "ADJP" else ()))
            if any(deps[child] in of_noun for child in lefts):
                label = "NP"
        prepositions, lefts = self.split_prepositions(lefts)
        before, after = self.split_conjuncts(rights)
        if label == "NP":
            phrase = self.noun_phrase(word, lefts, before)
        else:
            phrases = [self.phrases[child] for child in lefts]
            items = [phrase[1] if _is_single(phrase) else phrase for phrase in phrases]
            if label in ("ADVP", "ADJP") and self.has_wh([*items, word]):
                label = "WH" + label
            phrase = [label, *items, word]
            for child in before:
                items = self.items(child)
                is_part = deps[child] in ("fixed", "flat", "goeswith")
                phrase += _words(items) if is_part else items
        is_inner = not prepositions or not _is_node(self.phrases[after[0]] if after else None, "PP")
        if after and is_inner:
            phrase = self.coordinate(phrase, after)
        if prepositions:
            phrase = ["WHPP" if phrase[0] == "WHNP" else "PP", *prepositions, phrase]
        return phrase if is_inner else self.coordinate(phrase, after)

    def coordinate(self, first: Node, others: Sequence[int]) -> Node:
        """Words join in one phrase, phrases each as a phrase of its own."""
        is_flat = first[0] != "SBAR" and not any(
            _is_node(item, "NP", "PP", "VP", "S", "SBAR") for item in first[1:]
        )
        if first[0] not in ("NP", "WHNP"):
            is_flat = _is_single(first)
        if is_flat and all(
            _is_single(self.phrases[c]) and self.phrases[c][0] != "VP" for c in others
        ):
            return first + [
                item for c in others for item in (*self.conjunctions[c], self.phrases[c][1])
            ]
        return [first[0], first, *self.all_items(others)]

    def noun_phrase(self, word: int, lefts: Sequence[int], rights: Sequence[int]) -> Node:
        """A base of words, and behind it what else belongs to the noun."""
        deps, tags, phrases = self.deps, self.tags, self.phrases
        base: list[Any] = []
        for child in lefts:
            base += self.items_of_base(child)
        base.append(word)
        count = 0
        for child in rights:
            is_possessive = deps[child] == "case" and tags[child] == "POS"
            is_adjective = deps[child] == "amod" and _is_single(phrases[child])
            if not (deps[child] in _BEHIND_NOUN or is_possessive or is_adjective):
                break
            base += self.items_of_base(child)
            count += 1
        base = self.join_numbers(base)
        label = "WHNP" if self.has_wh(base) else "NP"
        if deps[word] == "nummod" and len(base) == 1 and type(base[0]) is list:
            phrase = list(base[0])
        else:
            phrase = [label, *base]
        posts = self.all_items(rights[count:])
        if not posts:
            return phrase
        if label == "WHNP" and len(posts) == 1 and deps[rights[count]] == "acl:relcl":
            # What he said: the relative clause of a pronoun that has its own.
            post = posts[0]
            is_plain = post[0] == "SBAR" and len(post) == 2
            return ["SBAR", phrase, post[1] if is_plain else post]
        if all(self.is_complement(post) for post in posts):
            return phrase + posts  # the fact that ...; a plan to ...
        return [label, phrase, *posts]

    def items_of_base(self, child: int) -> list[Any]:
        """A child of a noun as part of its base: words where it is one, or a name."""
        tags, phrase, relation = self.tags, self.phrases[child], self.deps[child]
        if _is_single(phrase):
            return [*self.conjunctions[child], phrase[1]]
        if _last(phrase) - _first(phrase) > _LONGEST_BASE:
            return self.items(child)
        if relation == "nummod" or phrase[0] == "QP" or (relation in _NAME and tags[child] == "$"):
            below = _words(self.items(child))
            is_plain = all(tags[word] in _QUANTITY for word in below)
            return below if is_plain else [["QP", *below]]
        is_flat = not any(_is_node(item, "NP", "PP", "SBAR") for item in phrase[1:])
        if relation in _NAME and phrase[0] in ("NP", "ADJP") and is_flat:
            return [*self.conjunctions[child], *phrase[1:]]
        return self.items(child)

    def join_numbers(self, base: Sequence[Any]) -> list[Any]:
        """Two and more numbers, or a number with a word that modifies it, are a phrase."""
        tags = self.tags
        items: list[Any] = []
        run: list[int] = []
        for item in (*base, None):
            if type(item) is int and (
                tags[item] in _NUMERAL
                or (
                    not run
                    and tags[item] in _QUANTITY
                    and tags[item + 1 : item + 2] in (["CD"], ["$"])
                )
            ):
                run.append(item)
                continue
            amounts = sum(tags[number] not in ("$", "#") for number in run)
            items += [["QP", *run]] if amounts > 1 else run
            run = []
            if item is not None:
                items.append(item)
        return items

    def is_complement(self, post: Any) -> bool:
        if not _is_node(post, "SBAR"):
            return type(post) is not list or post[0] == "S"
        return type(post[1]) is int and self.words[post[1]] in ("that", "whether")

    # Clauses.

    def clause(self, word: int, lefts: Sequence[int], rights: Sequence[int]) -> Node:
        deps, tags, phrases, words = self.deps, self.tags, self.phrases, self.words
        is_verb = tags[word] in _VERB
        if is_verb:
            predicate: Any = word
        else:
            predicate, lefts, rights = self.predicate(word, lefts, rights)
        marks: list[Any] = []
        front: list[Any] = []
        stack: list[list[Any]] = []  # auxiliaries with what follows each, from outside in
        has_subject, is_finite = False, is_verb and tags[word] in _FINITE
        for child in lefts:
            relation = deps[child]
            if relation in _AUXILIARY or (relation == "mark" and tags[child] == "TO"):
                stack.append(_words(self.items(child)))
                is_finite |= tags[child] in _FINITE
            elif relation in ("mark", "case") and not stack and not has_subject:
                marks += front + _words(self.items(child))
                front = []
            elif relation in _SUBJECT or relation == "expl":
                has_subject = True
                # In a question auxiliaries stand before the subject.
                front += [item for items in stack for item in items] + self.items(child)
                stack = []
            else:
                is_bare = words[child] in _NOT and _is_single(phrases[child])
                (stack[-1] if stack else front).extend([child] if is_bare else self.items(child))
        core: list[Any] = [predicate]
        behind: list[Any] = []  # a subject after the verb, and what follows it
        before, after = self.split_conjuncts(rights)
        for child in before:
            relation = deps[child]
            is_late = relation in ("nsubj", "nsubj:pass") and any(
                _is_node(item, "S", "SBAR", "SQ", "SBARQ") for item in front
            )
            if behind or is_late:
                behind += self.items(child)
            elif relation == "compound:prt":
                core.append(["PRT", *_words(self.items(child))])
            elif relation in _AUXILIARY:
                core += _words(self.items(child))
            elif (
                relation == "xcomp"
                and _is_node(core[-1], "NP")
                and not words[word].startswith(_TOLD)
            ):
                # Verb and object go on as in `make you laugh`, not as in `tell you to laugh`.
                complement = phrases[child]
                inner = complement[1:] if complement[0] == "S" else [complement]
                core[-1] = ["S", core[-1], *self.conjunctions[child], *inner]
            else:
                is_bare = words[child] in _NOT and _is_single(phrases[child])
                core += [child] if is_bare else self.items(child)
        if is_verb and not (is_finite or stack or has_subject):
            # Adverbs before a bare participle belong to it.
            while front and _is_node(front[-1], "ADVP"):
                core.insert(0, front.pop())
        if not is_verb and stack:
            core = stack.pop() + core
            verb_phrase: Node = ["VP", *core]
        else:
            verb_phrase = ["VP", *core] if is_verb or len(core) > 1 else predicate
        verb_phrase, clauses = self.stack_auxiliaries(verb_phrase, stack, after)
        return self.wrap(word, marks, front, verb_phrase, behind, clauses, has_subject, is_finite)

    def predicate(
        self, word: int, lefts: Sequence[int], rights: Sequence[int]
    ) -> tuple[Node, list[int], list[int]]:
        """The phrase of a noun or adjective, and the children that its clause keeps."""
        deps, is_noun = self.deps, self.tags[word] not in _LABELS
        begin = len(lefts)
        while begin:
            relation = deps[lefts[begin - 1]]
            is_adverb = (
                relation == "advmod" and self.words[lefts[begin - 1]] not in _SENTENCE_ADVERBS
            )
            is_measure = relation.startswith("obl") and not is_noun
            if not (relation in _OF_PREDICATE or is_adverb or is_measure):
                break
            begin -= 1
        behind = _AFTER_NOUN if is_noun else _AFTER_ADJECTIVE
        end = 0
        for child in rights:
            is_conjunct = deps[child] == "conj" and not _is_node(
                self.phrases[child], "S", "VP", "SBAR", "SQ", "SINV"
            )
            if not (deps[child] in behind or is_conjunct):
                break
            end += 1
        phrase = self.phrase(word, lefts[begin:], rights[:end])
        return phrase, list(lefts[:begin]), list(rights[end:])

    def stack_auxiliaries(
        self, verb_phrase: Node, stack: Sequence[list[Any]], after: Sequence[int]
    ) -> tuple[Node, list[int]]:
        """The verb phrase below its auxiliaries with conjuncts that fit, and those that remain."""
        count = 0
        while count < len(after) and self.phrases[after[count]][0] == "VP":
            count += 1
        conjuncts = after[:count]
        is_outer = bool(stack and conjuncts) and (
            self.tags[_first(self.phrases[conjuncts[0]])] in _FINITE | {"TO"}
        )
        if conjuncts and not is_outer:
            verb_phrase = ["VP", verb_phrase, *self.all_items(conjuncts)]
        for items in reversed(stack):
            verb_phrase = ["VP", *items, verb_phrase]
        if is_outer:
            verb_phrase = ["VP", verb_phrase, *self.all_items(conjuncts)]
        return verb_phrase, list(after[count:])

    def wrap(
        self,
        word: int,
        marks: list[Any],
        front: list[Any],
        verb_phrase: Node,
        behind: list[Any],
        clauses: Sequence[int],
        has_subject: bool,
        is_finite: bool,
    ) -> Node:
        """The clause around a verb phrase that its relation and its first words ask for."""
        relation, tags = self.deps[word], self.tags
        if not (marks or clauses or behind):
            if relation == "conj" and not has_subject and verb_phrase[0] == "VP":
                return ["VP", *front, *verb_phrase[1:]]
            is_reduced = relation == "acl" and tags[_first(verb_phrase)] != "TO"
            is_small = verb_phrase[0] != "VP" and relation in ("acl", "xcomp", "conj")
            if not front and (is_reduced or is_small):
                return verb_phrase
        wh = next((n for n, item in enumerate(front) if not _is_node(item, "ADVP")), len(front))
        asking: list[Any] = []
        if not marks and wh < len(front):
            item = front[wh]
            if type(item) is list and item[0].startswith("WH"):
                asking, front = front[: wh + 1], front[wh + 1 :]
            elif relation == "acl:relcl" and self.words[_first(front[0])] == "that":
                asking, front = [["WHNP", *_words(front[:1])]], front[1:]
        is_question = any(type(item) is int and tags[item] in _VERB for item in front)
        label = "SQ" if is_question else "SINV" if behind else "S"
        clause: Node = [label, *front, verb_phrase, *behind]
        outer: list[int] = []
        if marks and clauses and self.phrases[clauses[0]][0] == "SBAR":
            outer, clauses = list(clauses), []
        if clauses:
            clause = ["S", clause, *self.all_items(clauses)]
        if asking:
            is_main = relation in ("root", "parataxis", "ccomp") and is_question
            return ["SBARQ" if is_main else "SBAR", *asking, clause]
        if marks:
            is_gerund = not has_subject and tags[_first(verb_phrase)] == "VBG"
            is_gerund &= type(marks[-1]) is int and self.words[marks[-1]] not in _SUBORDINATORS
            clause = ["PP" if is_gerund else "SBAR", *marks, clause]
            return ["SBAR", clause, *self.all_items(outer)] if outer else clause
        is_complement = relation == "ccomp" and has_subject and is_finite
        if relation == "acl:relcl" or (is_complement and word > self.heads[word]):
            return ["SBAR", clause]
        return clause
