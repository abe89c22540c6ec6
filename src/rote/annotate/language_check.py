"""Languages of texts: what a text looks like, what its record says, and who is to read it.

A tagger gives tags to anything. `look` notices a text that is not English, so that
whoever calls the models can say so. It is careful: a text is named only if most of its
letters are of another script, or if it holds many of the small words of another
language and few English ones. Short texts, lists, names and code are left in peace.

`languages` gives a code (`de`) for each of some documents of one source, as their records say
or as they look together; `by_language` reads a setting such as `de=spacy:NAME`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from rote.core.document import Document
from rote.core.errors import OptionError

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


_CODES = {
    **dict(zip(_SMALL, "en fr de es it pt nl sv da pl cs tr id la".split())),
    "in Cyrillic script": "ru",
    "in Chinese or Japanese script": "zh",
    "in Japanese script": "ja",
    "in Korean script": "ko",
    "in Arabic script": "ar",
    "in Greek script": "el",
    "in Hebrew script": "he",
    "in Devanagari script": "hi",
    "in Thai script": "th",
}
"""The code of what a text looks like; of a script that of the language that writes most in it."""
_NAMED = {_CODES[name]: name.split(" or ")[0] for name in _SMALL}
_NAMED |= {"ru": "Russian", "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "ar": "Arabic"}
_NAMED |= {"el": "Greek", "he": "Hebrew", "hi": "Hindi", "th": "Thai"}
_LONGER = dict(
    zip(
        "eng fra fre deu ger spa ita por nld dut rus zho chi jpn kor ara pol ces cze".split(),
        "en fr fr de de es it pt nl nl ru zh zh ja ko ar pl cs cs".split(),
    )
)
# ISO 639-1. Fields of this name also hold programming languages, and pairs such as de-en.
_KNOWN = frozenset(
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy "
    "da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu "
    "hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb "
    "lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om "
    "or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw "
    "ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu".split()
)
_FIELDS = ("lang", "language")
SETTLED = "(language)"
"""The field in which a document carries the code that was settled for it; "" asks for its looks."""
_KEY = re.compile(f"({'|'.join((*sorted(_KNOWN), *_LONGER))})=(.+)", re.DOTALL)


def language_name(code: str) -> str:
    """What a code stands for, in English; the code itself where it is not known."""
    return _NAMED.get(code, code)


def declared(record: Mapping[str, Any], before: str = "") -> str:
    """The code in the field `lang` or `language` of a record; "" where there is none.

    `before` stands before the name: `document_` for the language of another field's text.

    >>> declared({"lang": "de-AT"}), declared({"language": "German"}), declared({})
    ('de', 'de', '')
    """
    for field in _FIELDS:
        stated = record.get(f"{before}{field}")
        code, *rest = re.split(r"[-_]", stated.strip().lower()) if isinstance(stated, str) else [""]
        code = next((c for c, name in _NAMED.items() if name.lower() == code), code)
        code = _LONGER.get(code, code)
        if code in _KNOWN and rest[:1] != ["en"]:
            return code
    return ""


def detected(texts: Sequence[str]) -> str:
    """The code of what some texts of one source look like together; "" where nothing tells.

    Together, since a single sentence is often too short to tell.
    """
    some = texts[:: max(1, len(texts) // GLANCE)]
    each = LOOKED_AT // max(1, len(some))
    name = _looks_like("\n".join(text[:each] for text in some))
    return "" if name is None else _CODES.get(name, name)


def languages(documents: Sequence[Document]) -> list[str]:
    """The code of each document of one source; what a record says counts before looks."""
    codes = [
        document.meta[SETTLED] if SETTLED in document.meta else declared(document.meta)
        for document in documents
    ]
    open_ones = [document.text for document, code in zip(documents, codes) if not code]
    looks = detected(open_ones) if open_ones else ""
    return [code or looks for code in codes]


def by_language(setting: str, default: str) -> dict[str, str]:
    """A name for each language, from `NAME`, `de=NAME` or `NAME,de=NAME,fr=NAME`.

    "" is for languages that are not named.

    >>> by_language("de=spacy:de_core_news_sm", "rote")
    {'': 'rote', 'de': 'spacy:de_core_news_sm'}
    """
    parts = [part.strip() for part in setting.split(",")]
    if not any(map(_KEY.fullmatch, parts)):
        return {"": setting}
    embedders: dict[str, str] = {}
    for part in parts:
        match = _KEY.fullmatch(part)
        code, name = (_LONGER.get(match[1], match[1]), match[2]) if match else ("", part)
        if not name or code in embedders:
            what = language_name(code) if code else "all other languages"
            raise OptionError(f"'{setting}' names {'two' if name else 'nobody'} for {what}")
        embedders[code] = name
    return {"": default, **embedders}


def glance(texts: Sequence[str]) -> Counter[str]:
    """What a few texts, spread evenly, look like; "" counts those that may well be English.

    Cheap enough for every piece of a corpus; the counts of pieces add up.
    """
    return Counter(look(text) or "" for text in texts[:: max(1, len(texts) // GLANCE)])


def remarks(counts: Counter[str]) -> list[str]:
    """Lines for a person, the most frequent first; mostly none."""
    total = sum(counts.values())
    return [
        f"{count:,} of {total:,} checked texts appear to be {what}, which the English models do "
        "not cover"
        for what, count in counts.most_common()
        if what
    ]


def look(text: str) -> str | None:
    """What one text looks like, if not like English: `in Cyrillic script`, `French`."""
    name = _looks_like(text)
    return None if name == "English" else name


def _looks_like(text: str) -> str | None:
    """English too, where it is plain to see."""
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
    word_counts: Counter[str] = Counter()
    for word, count in Counter(words).items():
        word_counts[word.lower()] += count
    english, best, what = 0, 0, ""
    for language, small in _small_words().items():
        shared = small & word_counts.keys()
        total = sum(word_counts[word] for word in shared)
        if language == "English":
            english = total
        elif total > best and len(shared) >= KINDS:
            best, what = total, language
    # Running text of any of these languages has a small word in every four or five.
    least = 0.12 * len(words)
    if best > least and best > 3 * english:
        return what
    return "English" if english > least and english > 3 * best else None


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
    words_of = {
        language: frozenset(w for w in words - english if len(w) > 1)
        for language, words in lists.items()
    }
    return {"English": english - others, **words_of}
