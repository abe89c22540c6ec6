"""Where a careful exchange leaves a noun or verb alone because of what is around it.

A synonym fits a meaning, not a phrase: *at risk* is not *at hazard*, *a phone call* is no
*telephone outcry*, *search for* does not become *look for for*. Such words stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rote.curate._perturb.lexicons import Frame, Pos

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
_SAME_CLAUSES = (
    frozenset(("want", "desire")),
    frozenset(("try", "attempt")),
    frozenset(("begin", "start", "commence")),
    frozenset(("cease", "stop", "quit")),
    frozenset(("presume", "assume")),
    frozenset(("recall", "remember", "recollect")),
)
"""Verbs that take the same clauses."""
_SAME_PREPOSITIONS = (
    frozenset(("talk", "speak")),
    frozenset(("stare", "gaze")),
    frozenset(("yell", "scream")),
    frozenset(("reply", "respond")),
    frozenset(("disappear", "vanish")),
    frozenset(("crawl", "creep")),
    frozenset(("leap", "jump")),
    frozenset(("wander", "roam")),
    frozenset(("happen", "occur")),
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
    """A word as it was annotated; `joined` says that one space parts it from the word before,
    `own` is its label in the tree and `takes` are those of its dependents."""

    form: str
    tag: str
    upos: str
    lemma: str
    start: int
    end: int
    first: bool
    joined: bool
    particle: bool
    frame: Frame | None
    own: str
    takes: frozenset[str]


def why_bound(tokens: Sequence[Token], at: int, length: int, lemma: str, pos: Pos) -> str:
    """Why the word of `length` tokens has to stay; empty where its surroundings leave it free."""
    if lemma in _LIGHT[pos]:
        return LIGHT_WORD
    last = at + length
    before = tokens[at - 1] if at else None
    after = tokens[last] if last < len(tokens) else None
    if _hyphened(tokens[at], before) or (after is not None and _hyphened(after, tokens[last - 1])):
        return COMPOUND
    if pos == "verb":
        return _verb(tokens, at, length)
    as_a = at > 1 and [token.form.lower() for token in tokens[at - 2 : at]] == ["as", "a"]
    if length > 1:
        return PHRASE if as_a else ""
    return _noun(tokens[at], before, after, as_a)


def same_clauses(lemma: str, other: str) -> bool:
    return any(lemma in verbs and other in verbs for verbs in _SAME_CLAUSES)


def same_prepositions(lemma: str, other: str) -> bool:
    return any(lemma in verbs and other in verbs for verbs in _SAME_PREPOSITIONS)


def _hyphened(token: Token, before: Token | None) -> bool:
    """Whether nothing but a hyphen parts two tokens."""
    return before is not None and token.start == before.end and "-" in (token.form, before.form)


def _noun(token: Token, before: Token | None, after: Token | None, as_a: bool) -> str:
    kinds = ("NOUN", "PROPN")
    if (after is not None and after.joined and after.upos in kinds) or (
        before is not None and token.joined and before.upos in kinds
    ):
        return COMPOUND
    # in search of, at risk, take care: no article, no plural. As a result has one.
    bare = before is None or not token.joined or before.upos not in _BEFORE_NOUNS
    bare = bare or (before is not None and before.form.lower() in _QUANTITIES)
    return PHRASE if token.tag == "NN" and (bare or as_a) else ""


def _verb(tokens: Sequence[Token], at: int, length: int) -> str:
    token, last = tokens[at], at + length
    if length == 1 and "compound:prt" in token.takes:
        return PARTICLE
    if token.own == "amod":
        return ADJECTIVE
    if at and (tokens[at - 1].form.lower(), token.lemma) == ("could", "use"):  # would like
        return PHRASE
    follows = tokens[last] if last < len(tokens) and tokens[last].joined else None
    forms = [each.form.lower() for each in tokens[last : last + 1]]
    if (
        token.takes & {"xcomp", "ccomp", "iobj"}
        or (forms and forms[0] in _OPENS_CLAUSE)
        or (follows is not None and follows.tag in ("VB", "VBG", "VBN"))
        or (token.lemma in _CONTROL and _infinitive_after_object(tokens, last))
    ):
        return CLAUSE
    if follows is None:
        return ""
    if follows.form.lower() in _ADVERBS and follows.tag in ("RB", "RP"):
        return PARTICLE
    if forms[0] != "to" and follows.upos != "ADP" and follows.tag not in ("IN", "RP", "TO"):
        return ""
    return CLAUSE if _infinitive(tokens, last) else PREPOSITION


def _infinitive(tokens: Sequence[Token], at: int) -> bool:
    return tokens[at].form.lower() == "to" and at + 1 < len(tokens) and tokens[at + 1].tag == "VB"


def _infinitive_after_object(tokens: Sequence[Token], at: int) -> bool:
    while at < len(tokens) and tokens[at].upos in _WITHIN_OBJECT:
        if _infinitive(tokens, at):
            return True
        at += 1
    return False
