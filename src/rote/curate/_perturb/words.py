"""Which words of an item may be replaced: nouns and verbs, in every field where they stand.

An instance (context, option, ending) is annotated as a whole, since a tagger needs the sentence;
what it finds is brought back to the fields. Words that form a lemma of several words in the lexicon
(*guinea pig*, *give up*) are one word here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rote.core.annotation import Annotation
from rote.corpus.items import Item
from rote.curate._perturb.bounds import CLAUSE, PREPOSITION, Token, why_bound
from rote.curate._perturb.inflection import TAGS, fitting_tag, forms
from rote.curate._perturb.lexicons import Frame, Lexicon, Pos

LAYERS = ("pos", "upos", "lemma", "dep")
CONTEXT, OPTIONS, ENDING = "context", "options", "ending"
_POS: dict[str, Pos] = {"NOUN": "noun", "VERB": "verb"}
_INSIDE = frozenset(("NOUN", "ADJ", "VERB", "ADP", "ADV", "PART", "DET"))
"""What a lemma of several words may be made of; names stay what they are."""
_LONGEST = 4
Key = tuple[str, Pos]
_OPENING = ('"', "``", ":")
_OPENING_QUOTE = "``"
_SEMI_AUXILIARIES = {
    "go": ("VBG",),
    "use": ("VBD", "VBN"),
    "suppose": ("VBN",),
    "have": ("VB", "VBP", "VBZ", "VBD", "VBG"),
    "need": ("VB", "VBP", "VBZ", "VBD"),
}
"""With *to* and a verb after them: is going to, used to, is supposed to, has to, needs to."""
_LOOSE = ("IN", "TO", "DT")
_PRONOUN = "one"
"""*the small ones*: a noun to taggers, but no word with a meaning of its own."""


@dataclass(frozen=True, slots=True)
class Part:
    """A token of a word that is none of grammar; `pos` None: neither noun nor verb."""

    form: str
    lemma: str
    pos: Pos | None


@dataclass(frozen=True, slots=True)
class Word:
    """A noun or verb in a field of an item; `start` and `end` are characters of the field.

    `why` says why it is not replaced, and is empty where it may be. `around` are the lemmas of the
    nouns, verbs, adjectives and adverbs of the instance, `frame` what a verb takes (None: not
    known), `parts` the tokens that it is made of, `bound` what a verb stands before (a clause, a
    preposition), where that is looked at; `counted` says that a noun is a plural or follows *a*.
    """

    field: str
    start: int
    end: int
    form: str
    lemma: str
    pos: Pos
    tag: str
    why: str
    around: tuple[str, ...]
    frame: Frame | None = None
    parts: tuple[Part, ...] = ()
    bound: str = ""
    counted: bool = False

    @property
    def key(self) -> Key:
        """Words with the same key are replaced alike."""
        return self.lemma, self.pos


@dataclass(frozen=True, slots=True)
class Finder:
    """Finds the words; `careful` leaves those that are bound to what is around them."""

    lexicon: Lexicon
    pos: Sequence[str]
    careful: bool = False

    def words(
        self, item: Item, annotation: Annotation, first: int
    ) -> tuple[list[Word], Counter[str]]:
        """The nouns and verbs of an item, field by field, in order, and how often each form occurs
        in it, in small letters; `first` is the number of its first instance in the annotation."""
        found: list[Word] = []
        standing: Counter[str] = Counter()
        for number, option in enumerate(item.options):
            tokens = list(_tokens(annotation, first + number))
            own = list(self._instance(tokens))
            for field, start, end in _bounds(item, option, number):
                if number and not field.startswith(OPTIONS):
                    continue  # the same in every instance: the first one settles it
                standing.update(t.form.lower() for t in tokens if start < t.end and t.start < end)
                found += [
                    replace(word, field=field, start=word.start - start, end=word.end - start)
                    for word in own
                    if start <= word.start and word.end <= end
                ]
        return found, standing

    def _instance(self, tokens: Sequence[Token]) -> Iterator[Word]:
        around = tuple(
            token.lemma.lower()
            for token in tokens
            if token.upos in ("NOUN", "VERB", "ADJ", "ADV") and token.form.isalpha()
        )
        at = 0
        while at < len(tokens):
            length, word = self._longest(tokens, at)
            if word is not None:
                if self.careful and not word.why:
                    word = _bound(word, why_bound(tokens, at, length, word.lemma, word.pos))
                    article = at > 0 and tokens[at - 1].form.lower() in ("a", "an")
                    word = replace(word, counted=article or word.tag == "NNS")
                yield replace(word, around=around)
            at += length

    def _longest(self, tokens: Sequence[Token], at: int) -> tuple[int, Word | None]:
        """How many tokens are one word, and the word if it is a noun or a verb."""
        for length in range(min(_LONGEST, len(tokens) - at), 1, -1):
            run = tokens[at : at + length]
            if all(t.joined for t in run[1:]) and self.lexicon.is_fixed(
                " ".join(token.form.lower() for token in run)
            ):
                return length, None
        if not _auxiliary(tokens, at):
            for length in range(min(_LONGEST, len(tokens) - at), 1, -1):
                word = self._several(tokens[at : at + length])
                if word is not None:
                    return length, word
        return 1, self._one(tokens, at)

    def _several(self, run: Sequence[Token]) -> Word | None:
        if not all(token.joined and token.upos in _INSIDE for token in run[1:]):
            return None
        first, last = run[0], run[-1]
        if any(token.form[0].isupper() and not token.first for token in run):
            return None
        forms = [token.form.lower() for token in run]
        if first.upos == "VERB" and first.tag in TAGS["verb"] and "verb" in self.pos:
            lemma = " ".join([first.lemma, *forms[1:]])
            # Whether *at* belongs to *look* or to what follows cannot be told: it stays.
            # *paint a picture* is more often just that than *evoke*.
            loose = any(token.tag in _LOOSE for token in run[1:])
            if not loose and self.lexicon.senses(lemma, "verb"):
                return _word(run, lemma, "verb", _tag(first, "verb"), "")
        if first.upos in ("NOUN", "ADJ") and last.upos == "NOUN" and "noun" in self.pos:
            lemma = " ".join([*forms[:-1], last.lemma])
            if last.tag in TAGS["noun"] and self.lexicon.senses(lemma, "noun"):
                return _word(run, lemma, "noun", _tag(last, "noun"), "")
        return None

    def _one(self, tokens: Sequence[Token], at: int) -> Word | None:
        token = tokens[at]
        pos = _POS.get(token.upos)
        if pos is None or token.tag not in TAGS[pos] or pos not in self.pos:
            return None
        why = "auxiliary" if _auxiliary(tokens, at) else self._why_not(token, pos)
        return _word((token,), token.lemma, pos, _tag(token, pos), why)

    def _why_not(self, token: Token, pos: Pos) -> str:
        if not token.form.replace("-", "").isalpha() or len(token.form) == 1:
            return "no word"
        if token.form[0].isupper() and not token.first:
            return "capitalized"
        if token.lemma == _PRONOUN:
            return "pronoun"
        if token.particle:
            return "particle"
        return "" if self.lexicon.senses(token.lemma, pos) else "not in the lexicon"


def _bound(word: Word, why: str) -> Word:
    """Before a clause or a preposition the synonym decides; anything else keeps the word."""
    return replace(word, bound=why) if why in ("", CLAUSE, PREPOSITION) else replace(word, why=why)


def _auxiliary(tokens: Sequence[Token], at: int) -> bool:
    """Forms of *be*, *do* in the place of a verb, and verbs that stand for a tense or a modal."""
    token = tokens[at]
    if token.upos != "VERB":
        return False
    if token.lemma == "be" or (token.lemma == "do" and token.frame == "alone"):
        return True  # *more than he did* stands for another verb
    after = tokens[at + 1 : at + 4]
    if token.tag not in _SEMI_AUXILIARIES.get(token.lemma, ()) or len(after) < 2:
        return False
    verb = after[2] if len(after) > 2 and after[1].upos == "ADV" else after[1]
    return after[0].form.lower() in ("to", "na") and verb.tag == "VB"


def _tag(token: Token, pos: Pos) -> str:
    return fitting_tag(token.form, token.lemma, pos, token.tag)


def _word(run: Sequence[Token], lemma: str, pos: Pos, tag: str, why: str) -> Word:
    form = " ".join(token.form for token in run)
    frame = run[0].frame if pos == "verb" else None
    parts = tuple(
        Part(token.form.lower(), token.lemma, _POS.get(token.upos))
        for token in run
        if token.upos in ("NOUN", "VERB", "ADJ")
    )
    return Word("", run[0].start, run[-1].end, form, lemma, pos, tag, why, (), frame, parts)


def _tokens(annotation: Annotation, number: int) -> Iterator[Token]:
    word, layers = annotation.word, annotation.layers
    place = word.slice(number)
    assert word.sentence_ends is not None
    assert annotation.heads is not None
    sentences = np.searchsorted(word.sentence_ends, (place.start, place.stop))
    ends = {place.start, *word.sentence_ends[slice(*sentences)].tolist()}
    columns = [layers[name].items(number) for name in ("pos", "upos", "lemma")]
    deps = layers["dep"].items(number)
    below: dict[int, set[str]] = {}
    apart: set[int] = set()
    for at, (dep, head) in enumerate(zip(deps, annotation.heads[place].tolist()), place.start):
        below.setdefault(head, set()).add(dep)
        if dep == "compound:prt" and head != at - 1:
            apart.add(head)
    before = -1
    opening = True
    for at, (form, tag, upos, lemma, (start, end)) in enumerate(
        zip(word.items(number), *columns, word.spans(number)), place.start
    ):
        first = opening or at in ends
        takes = below.get(at, set())
        tag = _finite(form, tag, lemma, takes)
        own = deps[at - place.start]
        yield Token(
            *(form, tag, upos, lemma, start, end, first),
            joined=start == before + 1,
            particle=at in apart,
            frame=_frame(own, takes),
            own=own,
            takes=frozenset(takes),
        )
        # A quotation mark or a dash does not begin a sentence; what follows it does.
        quoted = form in _OPENING or tag == _OPENING_QUOTE
        opening = quoted or (first and upos in ("PUNCT", "SYM", "NUM"))
        before = end


def _finite(form: str, tag: str, lemma: str, takes: set[str]) -> str:
    """The tag; VBD where a form that may be one stands with its subject or object, and with no
    auxiliary: taggers take *the woman suffered amnesia* for a participle."""
    if takes & {"aux", "aux:pass", "mark", "cop"}:
        return tag
    doubtful = (tag == "VBN" and "obj" in takes) or (tag == "VB" and "nsubj" in takes)
    return "VBD" if doubtful and form.lower() in forms(lemma, "verb", "VBD") else tag


def _frame(own: str, below: set[str]) -> Frame | None:
    """What a verb takes, from its dependents; None where that occurs elsewhere or nowhere."""
    if "obj" in below or "nsubj:pass" in below or own == "amod":
        return "object"
    if below & {"ccomp", "xcomp"}:
        return "clause"
    return None if own in ("acl:relcl", "acl", "conj") else "alone"


def _bounds(item: Item, option: str, number: int) -> list[tuple[str, int, int]]:
    """Where the fields occur in an instance."""
    middle = len(item.context)
    last = middle + len(option)
    return [
        (CONTEXT, 0, middle),
        (f"{OPTIONS}.{number}", middle, last),
        (ENDING, last, last + len(item.ending)),
    ]
