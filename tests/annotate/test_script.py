"""Texts that are not English are noticed; English ones, however odd, are not."""

from __future__ import annotations

import pytest

from rote.annotate.language_check import (
    SETTLED,
    by_language,
    declared,
    detected,
    glance,
    language_name,
    languages,
    look,
    remarks,
)
from rote.core.document import Document
from rote.core.errors import OptionError


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Le vieux port est calme et les bateaux sont dans la brume du matin.", "French"),
        ("Der alte Hafen ist ruhig und die Boote liegen noch im Nebel des Morgens.", "German"),
        ("El puerto viejo está tranquilo y los barcos son una sombra en la niebla.", "Spanish"),
        ("Il porto vecchio è calmo e le barche sono nella nebbia della mattina.", "Italian"),
        ("De oude haven is stil en het water van de zee was niet koud voor een dag.", "Dutch"),
        ("Старый порт спокоен, и лодки стоят в тумане.", "in Cyrillic script"),
        ("港はとても静かで、船は霧の中に浮かんでいる。", "in Japanese script"),
        ("老港口很安静，船只停在晨雾里。", "in Chinese or Japanese script"),
        ("الميناء القديم هادئ والقوارب في الضباب", "in Arabic script"),
        ("Το παλιό λιμάνι είναι ήσυχο το πρωί", "in Greek script"),
    ],
)
def test_other_languages_are_named(text: str, what: str) -> None:
    assert look(text) == what


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Bonjour!",
        "😀😀😀 !!! 12345",
        "The word мир means both peace and world in Russian, which is hard to translate.",
        "He said 'la guerre est finie' and left the room without another word to them.",
        "A cat in a hat on a mat in a flat, a bat in a vat, a rat on a slat, and that is that.",
        "In seed time learn, in harvest teach, in winter enjoy.",
        "def f(x):\n    return [y for y in x if y is not None and len(y) > 3]",
        "eggs, flour, milk, sugar, butter, vanilla, salt, baking powder, chocolate, walnuts",
        "Müller, Dvořák, García, Lefèvre, Nguyễn, Øster, Šimić, Łukasz, Çelik, Ångström",
        "133d66ad12ab449e8c607d188b65e948 f c d e a b l s n d c j e",
        "THE OLD HARBOUR IS QUIET AND THE BOATS LIE IN THE MORNING FOG",
    ],
)
def test_english_and_what_is_no_running_text_is_left_in_peace(text: str) -> None:
    assert look(text) is None


def test_texts_are_counted_by_what_they_look_like() -> None:
    french = "Le vieux port est calme et les bateaux sont dans la brume du matin."
    english = "The old harbour is quiet and the boats lie in the fog of the morning."
    seen = glance([english, french, "Старый порт спокоен", french])
    assert seen == {"": 1, "French": 2, "in Cyrillic script": 1}
    assert remarks(seen) == [
        "2 of 4 checked texts appear to be French, which the English models do not cover",
        "1 of 4 checked texts appear to be in Cyrillic script, which the English models do not "
        "cover",
    ]
    assert remarks(glance([english])) == remarks(glance([])) == []


def test_a_glance_looks_at_texts_all_over_the_piece() -> None:
    texts = ["The old harbour is quiet in the morning."] * 500 + ["Старый порт спокоен"] * 500
    seen = glance(texts)
    assert seen[""] == seen["in Cyrillic script"] == 20


@pytest.mark.parametrize(
    ("record", "code"),
    [
        ({"lang": "de"}, "de"),
        ({"lang": "de-AT"}, "de"),
        ({"language": "German"}, "de"),
        ({"language": "eng"}, "en"),
        ({"lang": "", "language": "fr"}, "fr"),
        ({"language": "Python"}, ""),
        ({"language": "sql"}, ""),
        ({"lang": "de-en"}, ""),  # a pair: nobody knows which of the two
        ({"lang": 7}, ""),
        ({}, ""),
    ],
)
def test_what_a_record_says(record: dict[str, object], code: str) -> None:
    assert declared(record) == code
    assert declared({f"document_{name}": value for name, value in record.items()}) == ""
    prefixed = {f"document_{name}": value for name, value in record.items()}
    assert declared(prefixed, "document_") == code


GERMAN = ["Der Hafen ist ruhig.", "Die Boote liegen im Nebel.", "Es ist noch nicht Tag.", "Aus."]
ENGLISH = ["The harbour is quiet.", "It is not day yet.", "The boats lie in the fog.", "Off."]


def test_sentences_that_are_too_short_alone_tell_together() -> None:
    assert all(look(text) is None for text in GERMAN)
    assert detected(GERMAN) == "de"
    assert detected(ENGLISH) == "en"
    assert detected(["Aus."]) == detected([]) == ""
    assert detected([*GERMAN, *ENGLISH]) == ""
    assert detected(["Старый порт спокоен, и лодки стоят в тумане."]) == "ru"
    assert language_name("de") == "German"
    assert language_name("xx") == "xx"


def test_a_record_counts_before_looks() -> None:
    documents = [Document(str(n), text) for n, text in enumerate(GERMAN)]
    assert languages(documents) == ["de"] * 4
    stated = Document("4", "Aus.", {"lang": "nl"})
    assert languages([*documents, stated]) == ["de"] * 4 + ["nl"]
    settled = Document("5", "Aus.", {"lang": "nl", SETTLED: "fr"})
    assert languages([settled]) == ["fr"]


def test_a_name_for_each_language() -> None:
    assert by_language("rote", "rote") == {"": "rote"}
    assert by_language("de=a:b", "rote") == {"": "rote", "de": "a:b"}
    assert by_language("x,de=a:b, fr=c", "rote") == {"": "x", "de": "a:b", "fr": "c"}
    assert by_language("spacy:/here,and=there", "rote") == {"": "spacy:/here,and=there"}
    for wrong in ("de=a,de=b", "de=a,x,y", "de=a,"):
        with pytest.raises(OptionError, match="names"):
            by_language(wrong, "rote")
