"""Which words of an item may be replaced: nouns and verbs, in every field where they stand.

An instance (context, option, ending) is annotated as a whole, since a tagger needs the sentence;
what it finds is brought back to the fields. Words that form a lemma of several words in the lexicon
(*guinea pig*, *give up*) are one word here.

A synonym fits a meaning, not a phrase: *at risk* is not *at hazard*, *a phone call* is no
*telephone outcry*, *search for* does not become *look for for*. Such words stay.

Forms are lemminflect's: its dictionary, and its rules for lemmas that the dictionary lacks. Of a
lemma of several words the head is inflected: the last word of a noun (the one before *of* and the
like, where there is one), the first of a verb.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from rote.annotate.lemmas import inflections, lemma_of
from rote.core.document import Annotation
from rote.corpus.items import Item
from rote.curate.synonyms.lexicons import Frame, Pos, SynonymLexicon

NOUN_TAGS = ("NN", "NNS")
VERB_TAGS = ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ")
TAGS: dict[Pos, tuple[str, ...]] = {"noun": NOUN_TAGS, "verb": VERB_TAGS}
_UPOS: dict[Pos, str] = {"noun": "NOUN", "verb": "VERB"}
_AFTER_HEAD = frozenset(("of", "in", "to", "for", "at", "on", "by", "from", "with", "and", "de"))
"""Words that follow the head of a noun: *point of view*, *mother-in-law*."""
_PARTICLES = frozenset(("up", "off", "out", "in", "down", "over", "away", "on", "by", "through"))
_BREAK = re.compile("([ -])")


def inflect(lemma: str, pos: Pos, tag: str) -> str:
    """The form of a lemma, of one word or of several, that a Penn tag asks for."""
    pieces = _BREAK.split(lemma)
    words = pieces[::2]
    # mother-in-law is inflected like son of man, hand-me-down and make-up like one word.
    if pos == "verb" or not any(word.lower() in _AFTER_HEAD for word in words[1:]):
        pieces = re.split("( )", lemma)
        words = pieces[::2]
    head = 2 * _head_word(words, pos)
    pieces[head] = _inflect_word(pieces[head], pos, tag)
    return "".join(pieces)


@cache
def forms(lemma: str, pos: Pos, tag: str) -> tuple[str, ...]:
    """All spellings of one word in one form, the usual one first."""
    wanted = "VB" if tag == "VBP" else tag
    machine = inflections()
    known = machine.getAllInflections(lemma, _UPOS[pos])
    if wanted in known:
        return tuple(known[wanted])
    if wanted in ("NN", "VB"):
        return (lemma,)
    if wanted == "NNS" and _is_plural(lemma):
        return (lemma,)
    return tuple(machine.getAllInflectionsOOV(lemma, _UPOS[pos]).get(wanted, (lemma,)))


def fitting_tag(form: str, lemma: str, pos: Pos, tag: str) -> str:
    """The tag, or where the form cannot have it (a tagger errs) the first that it can have."""
    fits = [each for each in TAGS[pos] if form.lower() in forms(lemma, pos, each)]
    return tag if tag in fits or not fits else fits[0]


def match_case(form: str, original: str) -> str:
    """A form with the capitals of the word that it replaces."""
    if _is_shouted(original):
        return form.upper()
    if original[:1].isupper():
        return form[:1].upper() + form[1:]
    return form


def _head_word(words: list[str], pos: Pos) -> int:
    if pos == "verb":
        return 0
    after = [n for n, word in enumerate(words) if n and word.lower() in _AFTER_HEAD]
    return after[0] - 1 if after else len(words) - 1


def _inflect_word(word: str, pos: Pos, tag: str) -> str:
    lower = word.lower()
    base, _, after = lower.partition("-")
    if pos == "verb" and after in _PARTICLES:  # give-up the ghost
        return forms(base, pos, tag)[0] + lower[len(base) :]
    if tag == "NNS" and lower.endswith("."):  # Dr., Drs.
        return f"{word[:-1]}s."
    form = forms(lower, pos, tag)[0]
    # Capitals inside a lemma are its own, an ending has none: TVs, Walkmans.
    pairs = enumerate(zip(lower, form))
    same = next((at for at, (a, b) in pairs if a != b), min(len(lower), len(form)))
    return word[:same] + form[same:]


@cache
def _is_plural(lemma: str) -> bool:
    """Whether a noun is the plural form of itself or of another: *trousers*, *goods*."""
    return lemma.endswith("s") and (
        lemma_of(lemma, "NOUN") != lemma
        or not inflections().getAllInflections(lemma, "NOUN").get("NN")
    )


_SILENT = re.compile(r"(?i)(?:hour|honest|honou?r|heir)")
_CONSONANT = re.compile(
    r"(?i)(?:eu|ewe|uni(?!n|m)|us[aeiu]|ut[ei]|ubiq|ur[aieo]|u[kf]\b|one|once|ouija|o[nc]e\b)"
)
_LETTERS = re.compile(r"[AEFHILMNORSX][A-Z0-9]*\b")
"""Spelled out: an MP, an X-ray."""
_ARTICLE = re.compile(r"(?i)(?:^|(?<=[^\w'’-]))(an?)(\s+)$")


def starts_with_vowel(text: str) -> bool:
    spelled_out = _LETTERS.match(text) and (text[1:2].isupper() or text[1:2] in ("", "-"))
    if spelled_out or _SILENT.match(text):
        return True
    return text != "" and text[0].lower() in "aeiou" and not _CONSONANT.match(text)


def agree_article(before: str, original: str, replacement: str) -> str:
    """The text before a word, with its last article, if it ends with one, made to agree."""
    match = _ARTICLE.search(before)
    if not match or starts_with_vowel(original) == starts_with_vowel(replacement):
        return before
    article = match[1]
    ending = "N" if _is_shouted(before[-12:]) else "n"
    turned = article[0] if len(article) == 2 else article + ending
    return before[: match.start(1)] + turned + match[2]


def _is_shouted(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    return len(letters) > 1 and all(character.isupper() for character in letters)


LIGHT_WORD, COMPOUND, PHRASE = "light word", "compound", "phrase"
PARTICLE, CLAUSE, PREPOSITION, ADJECTIVE = "particle", "clause", "preposition", "adjective"
_LIGHT: dict[Pos, frozenset[str]] = {
    "verb": frozenset(
        "allow appear become bring call carry catch come cut do draw face fall feel find "
        "finish fix get give go grow hang have hit hold keep know lay leave let lie look make "
        "mean meet move pay play pull put run say see send set show sit stand stay strike "
        "take tell think throw turn work".split()
    ),
    "noun": frozenset(
        "attention bit care case chance couple course day degree end eye face fact front half hand "
        "head heart home idea kind level life lot man manner matter mind miss number one pair part "
        "people place plenty point reason rest sense side sort thing thought time top turn "
        "type use way woman word world".split()
    ),
}
"""Words that mean little alone: what they mean is in their object, or in the phrase."""


def word_groups(text: str) -> frozenset[frozenset[str]]:
    """Groups of words, written as `one/two three/four`."""
    return frozenset(frozenset(group.split("/")) for group in text.split())


_SAME_CLAUSES = word_groups(
    "want/desire try/attempt begin/start/commence cease/stop/quit presume/assume "
    "recall/remember/recollect"
)
"""Verbs that take the same clauses."""
_SAME_PREPOSITIONS = word_groups(
    "talk/speak stare/gaze yell/scream reply/respond disappear/vanish crawl/creep leap/jump "
    "wander/roam happen/occur"
)
"""Verbs that take the same prepositions and adverbs."""
_CONTROL = frozenset("compel encourage force need order permit require urge want".split())
"""Verbs that take an object and what it is to do: *required students to read*."""
_WITHIN_OBJECT = ("DET", "ADJ", "NOUN", "PRON", "PROPN", "NUM", "PART")
_QUANTITIES = frozenset("any enough less little more most much no some".split())
"""Before a singular they say that it is not counted: *little effort*."""
_BEFORE_NOUNS = ("DET", "PRON", "ADJ", "NUM", "PART")
_ADVERBS = frozenset(
    "about across ahead along apart around aside away back by down forth forward in off on out "
    "over through together under up".split()
)
_OPENS_CLAUSE = ("that", "if", "whether", "how", "why", "what", "who", "where", "when")


@dataclass(frozen=True, slots=True)
class Token:
    """A word as it was annotated; `spaced` says that one space parts it from the word before,
    `dep` is its label in the tree and `takes` are those of its dependents."""

    form: str
    tag: str
    upos: str
    lemma: str
    start: int
    end: int
    first: bool
    spaced: bool
    particle: bool
    frame: Frame | None
    dep: str
    takes: frozenset[str]


def bound_reason(tokens: Sequence[Token], at: int, length: int, lemma: str, pos: Pos) -> str:
    """Why the word of `length` tokens has to stay; empty where its surroundings leave it free."""
    if lemma in _LIGHT[pos]:
        return LIGHT_WORD
    last = at + length
    before = tokens[at - 1] if at else None
    after = tokens[last] if last < len(tokens) else None
    hyphenated = after is not None and _is_hyphenated(after, tokens[last - 1])
    if hyphenated or _is_hyphenated(tokens[at], before):
        return COMPOUND
    if pos == "verb":
        return _verb_reason(tokens, at, length)
    as_a = at > 1 and [token.form.lower() for token in tokens[at - 2 : at]] == ["as", "a"]
    if length > 1:
        return PHRASE if as_a else ""
    return _noun_reason(tokens[at], before, after, as_a)


def take_same_clauses(lemma: str, synonym: str) -> bool:
    return any(lemma in verbs and synonym in verbs for verbs in _SAME_CLAUSES)


def take_same_prepositions(lemma: str, synonym: str) -> bool:
    return any(lemma in verbs and synonym in verbs for verbs in _SAME_PREPOSITIONS)


def _is_hyphenated(token: Token, before: Token | None) -> bool:
    """Whether nothing but a hyphen parts two tokens."""
    return before is not None and token.start == before.end and "-" in (token.form, before.form)


def _noun_reason(token: Token, before: Token | None, after: Token | None, as_a: bool) -> str:
    kinds = ("NOUN", "PROPN")
    is_second = before is not None and token.spaced and before.upos in kinds
    if is_second or (after is not None and after.spaced and after.upos in kinds):
        return COMPOUND
    # in search of, at risk, take care: no article, no plural. As a result has one.
    bare = before is None or not token.spaced or before.upos not in _BEFORE_NOUNS
    bare = bare or (before is not None and before.form.lower() in _QUANTITIES)
    return PHRASE if token.tag == "NN" and (bare or as_a) else ""


def _verb_reason(tokens: Sequence[Token], at: int, length: int) -> str:
    token, last = tokens[at], at + length
    if length == 1 and "compound:prt" in token.takes:
        return PARTICLE
    if token.dep == "amod":
        return ADJECTIVE
    if at and (tokens[at - 1].form.lower(), token.lemma) == ("could", "use"):  # would like
        return PHRASE
    follows = tokens[last] if last < len(tokens) and tokens[last].spaced else None
    forms = [each.form.lower() for each in tokens[last : last + 1]]
    if (
        token.takes & {"xcomp", "ccomp", "iobj"}
        or (forms and forms[0] in _OPENS_CLAUSE)
        or (follows is not None and follows.tag in ("VB", "VBG", "VBN"))
        or (token.lemma in _CONTROL and _has_infinitive_after_object(tokens, last))
    ):
        return CLAUSE
    if follows is None:
        return ""
    if follows.form.lower() in _ADVERBS and follows.tag in ("RB", "RP"):
        return PARTICLE
    if forms[0] != "to" and follows.upos != "ADP" and follows.tag not in ("IN", "RP", "TO"):
        return ""
    return CLAUSE if _is_infinitive(tokens, last) else PREPOSITION


def _is_infinitive(tokens: Sequence[Token], at: int) -> bool:
    return tokens[at].form.lower() == "to" and at + 1 < len(tokens) and tokens[at + 1].tag == "VB"


def _has_infinitive_after_object(tokens: Sequence[Token], at: int) -> bool:
    while at < len(tokens) and tokens[at].upos in _WITHIN_OBJECT:
        if _is_infinitive(tokens, at):
            return True
        at += 1
    return False


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
class WordPart:
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
    parts: tuple[WordPart, ...] = ()
    bound: str = ""
    counted: bool = False

    @property
    def key(self) -> Key:
        """Words with the same key are replaced alike."""
        return self.lemma, self.pos


@dataclass(frozen=True, slots=True)
class WordFinder:
    """Finds the words; `careful` leaves those that are bound to what is around them."""

    lexicon: SynonymLexicon
    pos: Sequence[str]
    careful: bool = False

    def words(
        self, item: Item, annotation: Annotation, first: int
    ) -> tuple[list[Word], Counter[str]]:
        """The nouns and verbs of an item, field by field, in order, and how often each form occurs
        in it, in small letters; `first` is the number of its first instance in the annotation."""
        nouns_and_verbs: list[Word] = []
        standing: Counter[str] = Counter()
        for number, option in enumerate(item.options):
            tokens = list(_annotated_tokens(annotation, first + number))
            instance_words = list(self._instance(tokens))
            for field, start, end in _field_bounds(item, option, number):
                if number and not field.startswith(OPTIONS):
                    continue  # the same in every instance: the first one settles it
                standing.update(t.form.lower() for t in tokens if start < t.end and t.start < end)
                nouns_and_verbs += [
                    replace(word, field=field, start=word.start - start, end=word.end - start)
                    for word in instance_words
                    if start <= word.start and word.end <= end
                ]
        return nouns_and_verbs, standing

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
                    word = _set_bound(word, bound_reason(tokens, at, length, word.lemma, word.pos))
                    article = at > 0 and tokens[at - 1].form.lower() in ("a", "an")
                    word = replace(word, counted=article or word.tag == "NNS")
                yield replace(word, around=around)
            at += length

    def _longest(self, tokens: Sequence[Token], at: int) -> tuple[int, Word | None]:
        """How many tokens are one word, and the word if it is a noun or a verb."""
        runs = [tokens[at : at + n] for n in range(min(_LONGEST, len(tokens) - at), 1, -1)]
        for run in runs:
            words = " ".join(token.form.lower() for token in run)
            if all(t.spaced for t in run[1:]) and self.lexicon.is_fixed(words):
                return len(run), None
        for run in runs if not _is_auxiliary(tokens, at) else ():
            if (word := self._several(run)) is not None:
                return len(run), word
        return 1, self._one(tokens, at)

    def _several(self, run: Sequence[Token]) -> Word | None:
        if not all(token.spaced and token.upos in _INSIDE for token in run[1:]):
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
                return _make_word(run, lemma, "verb", _tag_of(first, "verb"), "")
        if first.upos in ("NOUN", "ADJ") and last.upos == "NOUN" and "noun" in self.pos:
            lemma = " ".join([*forms[:-1], last.lemma])
            if last.tag in TAGS["noun"] and self.lexicon.senses(lemma, "noun"):
                return _make_word(run, lemma, "noun", _tag_of(last, "noun"), "")
        return None

    def _one(self, tokens: Sequence[Token], at: int) -> Word | None:
        token = tokens[at]
        pos = _POS.get(token.upos)
        if pos is None or token.tag not in TAGS[pos] or pos not in self.pos:
            return None
        why = "auxiliary" if _is_auxiliary(tokens, at) else self._why_not(token, pos)
        return _make_word((token,), token.lemma, pos, _tag_of(token, pos), why)

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


def _set_bound(word: Word, why: str) -> Word:
    """Before a clause or a preposition the synonym decides; anything else keeps the word."""
    return replace(word, bound=why) if why in ("", CLAUSE, PREPOSITION) else replace(word, why=why)


def _is_auxiliary(tokens: Sequence[Token], at: int) -> bool:
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


def _tag_of(token: Token, pos: Pos) -> str:
    return fitting_tag(token.form, token.lemma, pos, token.tag)


def _make_word(run: Sequence[Token], lemma: str, pos: Pos, tag: str, why: str) -> Word:
    form = " ".join(token.form for token in run)
    frame = run[0].frame if pos == "verb" else None
    content = (token for token in run if token.upos in ("NOUN", "VERB", "ADJ"))
    parts = tuple(WordPart(t.form.lower(), t.lemma, _POS.get(t.upos)) for t in content)
    return Word("", run[0].start, run[-1].end, form, lemma, pos, tag, why, (), frame, parts)


def _annotated_tokens(annotation: Annotation, number: int) -> Iterator[Token]:
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
    before, opening = -1, True
    items = zip(word.items(number), *columns, word.spans(number))
    for at, (form, tag, upos, lemma, (start, end)) in enumerate(items, place.start):
        first = opening or at in ends
        takes = below.get(at, set())
        tag = _correct_tag(form, tag, lemma, takes)
        label = deps[at - place.start]
        spaced, frame = start == before + 1, _verb_frame(label, takes)
        about = (start, end, first, spaced, at in apart, frame, label, frozenset(takes))
        yield Token(form, tag, upos, lemma, *about)
        # A quotation mark or a dash does not begin a sentence; what follows it does.
        quoted = form in _OPENING or tag == _OPENING_QUOTE
        opening = quoted or (first and upos in ("PUNCT", "SYM", "NUM"))
        before = end


def _correct_tag(form: str, tag: str, lemma: str, takes: set[str]) -> str:
    """The tag; VBD where a form that may be one stands with its subject or object, and with no
    auxiliary: taggers take *the woman suffered amnesia* for a participle."""
    if takes & {"aux", "aux:pass", "mark", "cop"}:
        return tag
    doubtful = (tag == "VBN" and "obj" in takes) or (tag == "VB" and "nsubj" in takes)
    return "VBD" if doubtful and form.lower() in forms(lemma, "verb", "VBD") else tag


def _verb_frame(label: str, below: set[str]) -> Frame | None:
    """What a verb takes, from its dependents; None where that occurs elsewhere or nowhere."""
    if "obj" in below or "nsubj:pass" in below or label == "amod":
        return "object"
    if below & {"ccomp", "xcomp"}:
        return "clause"
    return None if label in ("acl:relcl", "acl", "conj") else "alone"


def _field_bounds(item: Item, option: str, number: int) -> list[tuple[str, int, int]]:
    """Where the fields occur in an instance."""
    middle = len(item.context)
    last = middle + len(option)
    return [
        (CONTEXT, 0, middle),
        (f"{OPTIONS}.{number}", middle, last),
        (ENDING, last, last + len(item.ending)),
    ]
