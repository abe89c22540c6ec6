"""Texts that the English models do not know: other scripts, other languages.

A tagger gives tags to anything. `look` notices a text that is not English, so that
whoever calls the models can say so. It is careful: a text is named only if most of its
letters are of another script, or if it holds many of the small words of another
language and few English ones. Short texts, lists, names and code are left in peace.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache

LOOKED_AT = 4000  # characters of a text; more would not change the answer
FEWEST = 8  # letters, or words, below which nothing is said
GLANCE = 40  # texts of a piece of a corpus that are looked at
KINDS = 3  # different small words that a text must hold to be taken for another language

_WORD = re.compile(r"[^\W\d_]+")
# The most frequent small words of languages in Latin script. What English shares with
# another (`in`, `die`, `no`, `was`) counts for neither side.
_SMALL = {
    "English": "the of and to is that it was for with as his he be at by had not are but from "
    "have they which one you were her all she there would their we him been has when who will "
    "more no if out so said what up its about into than them can only other new some could my "
    "this your i or do these then how our like just me get us make any after over did also a an "
    "in on am die et al via per man van des",
    "French": "de la le et les des est un une du que dans qui il pour pas sur plus au par ne se "
    "avec ce sont elle mais je vous nous ou cette été aux était ses leur comme tout être fait "
    "bien même qu",
    "German": "der und den von zu das mit sich des auf für ist im dem nicht ein eine als auch es "
    "werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum "
    "aber ich wir haben nur oder vor zur bis mehr durch",
    "Spanish": "de la que el en y los se del las un por con una su para es al lo como más pero "
    "sus le ya o este sí porque esta entre cuando muy sin sobre también hay fue ser son era",
    "Italian": "di che la il un per una sono non con del si da le dei nel alla della più come "
    "anche lo gli ma al se ha mi questo è dal delle essere o ho quando",
    "Portuguese": "de que o do da em um para é com não uma os no se na por mais as dos como mas "
    "foi ao ele das tem à seu sua ou ser quando muito há nos já está eu também",
    "Dutch": "de het een van en dat niet te zijn op voor met die er aan ook als maar om door hij "
    "bij ik naar dan nog wat uit werd wordt over ze heeft deze geen",
    "Swedish": "och att det som en på är av för med till den har de inte om ett han men var jag "
    "sig från vi så kan när nu där eller hade",
    "Danish or Norwegian": "og det at en den til er som på de med for av af ikke der var et har "
    "jeg fra om han men ble blev hun seg sig vi så",
    "Polish": "i w na z się nie że do to jest jak o po co ale za przez tak od tym być są czy tego "
    "już ma dla może jego był",
    "Czech": "a se na v je že s z do o to i jsem ale jako za by po tak pro jsou byl co jeho si "
    "nebo až jen",
    "Turkish": "ve bir bu da de için ile olarak çok daha olan gibi kadar ne var sonra en ama o "
    "değil mi olduğu",
    "Indonesian": "yang dan di dari untuk dengan pada ini itu dalam tidak adalah akan ke juga "
    "oleh sebagai karena bisa ada mereka",
    "Latin": "et in est non ad ut cum quod qui sed si ex quae per esse sunt ab aut etiam hoc enim "
    "nec eius quam",
}


def glance(texts: Sequence[str]) -> Counter[str]:
    """What a few texts, spread evenly, look like; "" counts those that may well be English.

    Cheap enough for every piece of a corpus; the counts of pieces add up.
    """
    return Counter(look(text) or "" for text in texts[:: max(1, len(texts) // GLANCE)])


def remarks(seen: Counter[str]) -> list[str]:
    """Lines for a person, the most frequent first; mostly none."""
    total = sum(seen.values())
    return [
        f"{count:,} of {total:,} texts looked at seem to be {what}, "
        "which the English models do not know"
        for what, count in seen.most_common()
        if what
    ]


def look(text: str) -> str | None:
    """What one text looks like, if not like English: `in Cyrillic script`, `French`."""
    text = text[:LOOKED_AT]
    if not text.isascii():
        scripts: Counter[str] = Counter()
        for letter, count in Counter(text).items():
            if letter.isalpha():
                scripts[_script(letter)] += count
        letters = sum(scripts.values())
        script, most = scripts.most_common(1)[0] if scripts else ("LATIN", 0)
        if letters >= FEWEST and script != "LATIN" and most > letters / 2:
            return f"in {_NAMES.get(script, script.capitalize())} script"
    words = _WORD.findall(text)
    if len(words) < FEWEST:
        return None
    seen: Counter[str] = Counter()
    for word, count in Counter(words).items():
        seen[word.lower()] += count
    english, best, what = 0, 0, ""
    for language, small in _small_words().items():
        held = small & seen.keys()
        found = sum(seen[word] for word in held)
        if language == "English":
            english = found
        elif found > best and len(held) >= KINDS:
            best, what = found, language
    # Running text of any of these languages has a small word in every four or five.
    return what if best > 0.12 * len(words) and best > 3 * english else None


_NAMES = {"CJK": "Chinese or Japanese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese"}
_NAMES |= {"HANGUL": "Korean"}


@cache
def _script(letter: str) -> str:
    """The first word of a letter's name, which is that of its script: LATIN, CYRILLIC, CJK."""
    if letter.isascii():
        return "LATIN"
    return unicodedata.name(letter, "OTHER").split()[0].removesuffix("-")


@cache
def _small_words() -> dict[str, frozenset[str]]:
    lists = {language: frozenset(words.split()) for language, words in _SMALL.items()}
    english = lists.pop("English")
    others = frozenset().union(*lists.values())
    own = {
        language: frozenset(w for w in words - english if len(w) > 1)
        for language, words in lists.items()
    }
    return {"English": english - others, **own}
