"""English words that say nothing by themselves, wherever they stand: "of" in "Bank of England".

Written for this project from the closed classes of English: articles and other determiners,
pronouns, prepositions, conjunctions, auxiliaries and modals, particles, and the pieces of
contractions as the tokenizers cut them. Numbers are no stop words: they are facts.
"""

from __future__ import annotations

_DETERMINERS = "a an the this that these those such some any each every either neither no all both"
_PRONOUNS = """
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
she her hers herself it its itself they them their theirs themselves who whom whose which what
somebody someone something anybody anyone anything everybody everyone everything nobody nothing
"""
_PREPOSITIONS = """
about above across after against along among around as at before behind below beneath beside
besides between beyond by despite down during except for from in inside into like near of off on
onto out outside over past per since than through throughout till to toward towards under until
up upon via with within without
"""
_CONJUNCTIONS = "and or but nor so yet if because although though unless while whereas whether"
_VERBS = """
be am is are was were been being have has had having do does did doing done can could will would
shall should may might must ought
"""
_ADVERBS = "not there here then when where why how also too very only just again once more most"
_PIECES = "'s ’s ' ’ n't n’t 're ’re 've ’ve 'll ’ll 'd ’d 'm ’m ca wo"

STOP_WORDS = frozenset(
    " ".join(
        (_DETERMINERS, _PRONOUNS, _PREPOSITIONS, _CONJUNCTIONS, _VERBS, _ADVERBS, _PIECES)
    ).split()
)


def says_something(word: str) -> bool:
    """Whether a word is neither a stop word nor punctuation alone."""
    return word.lower() not in STOP_WORDS and any(map(str.isalnum, word))
