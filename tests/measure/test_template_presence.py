"""Measured texts that occur in the corpus are noticed, by their ids or by their words."""

from __future__ import annotations

import numpy as np

from rote.annotate.words import get as tokenizer
from rote.core.sample import RawText
from rote.index.index import Index
from rote.measure._template_corpus import texts_in_corpus
from tests.indexes import index_texts

from .test_template_corpus import FERRY, LETTER

SHORT = "Nobody here has seen the old lamp again."


def seen(index: Index, texts: list[str], ids: list[str]) -> dict[int, str]:
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    raw = RawText(np.frombuffer(b"".join(encoded), np.uint8), ends)
    return texts_in_corpus(index, tokenizer("ud")(texts), raw, ids)


def test_texts_of_the_corpus_are_noticed() -> None:
    index = index_texts([LETTER, f"{LETTER} {FERRY}", "The old lamp. " + SHORT])
    mixed = " ".join([*FERRY.split()[:20], *"and then it rained on us all the long way".split()])
    texts = [FERRY.upper(), LETTER, mixed, SHORT, "The old lamp.", ""]
    found = seen(index, texts, ["a", "0", "c", "d", "e", "2"])
    assert found == {
        0: "runs of 13 words from its beginning, middle and end all occur in the document '1'",
        1: "a document of the same id has the same text",
        3: "all its words occur together in the document '2'",
    }


def test_documents_may_be_cut_at_other_places() -> None:
    words = LETTER.split()
    halves = index_texts([" ".join(words[:24]), " ".join(words[8:])])
    found = seen(halves, [LETTER, " ".join(words[:24])], ["x", "y"])
    assert found[0].endswith("all occur in the corpus, though in no one document")
    assert found[1].endswith("all occur in the document '0'")
    # What is between the halves alone is not enough: the run in the middle is missing.
    assert seen(index_texts([" ".join(words[:16]), " ".join(words[16:])]), [LETTER], ["x"]) == {}
    twice = index_texts([LETTER, LETTER + " Yours.", "Nothing."])
    assert seen(twice, [LETTER], ["x"])[0].endswith("the document '0' (and in 1 more)")


def test_the_same_id_with_another_text_is_another_text() -> None:
    assert seen(index_texts([LETTER, SHORT]), [SHORT[:12], FERRY], ["1", "0"]) == {}
