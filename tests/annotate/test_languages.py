"""Texts of two languages in one call, each read by the annotator of its own."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from rote.annotate.annotators import get
from rote.core.document import Annotation, Document
from rote.core.errors import UnknownName
from tests.german import TEXTS as GERMAN
from tests.german import save_pipeline

ENGLISH = [
    "The old harbour is quiet. It's not day yet, and the boats lie in the fog.",
    "Nobody had opened the letter, although it lay there for a week in plain sight.",
]
LAYERS = ["lower", "pos", "upos", "dep", "lemma", "dep-bfs"]


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("spacy")
    return save_pipeline(tmp_path_factory.mktemp("german") / "tiny")


def documents(texts: list[tuple[str, str]]) -> list[Document]:
    return [Document(str(n), text, {"lang": code}) for n, (code, text) in enumerate(texts)]


def distances(found: Annotation, text: int) -> list[int]:
    """From each word to its head."""
    assert found.heads is not None
    place = found.word.slice(text)
    heads = found.heads[place]
    return np.where(heads < 0, 0, heads - np.arange(place.start, place.stop)).tolist()


def sentences(found: Annotation, text: int) -> list[int]:
    assert found.word.sentence_ends is not None
    place = found.word.slice(text)
    return [e - place.start for e in found.word.sentence_ends if place.start < e <= place.stop]


def test_each_text_is_read_by_the_annotator_of_its_language(german: str) -> None:
    texts = [("de", GERMAN[0]), ("en", ENGLISH[0]), ("de", ""), ("de", GERMAN[1]), ("", ENGLISH[1])]
    both = get(f"de={german}")
    found = both(documents(texts), LAYERS)
    assert len(found.word) == len(texts)
    for number, (code, text) in enumerate(texts):
        alone = get(german if code == "de" else "rote")([Document("0", text)], LAYERS)
        assert set(alone.layers) == set(found.layers)
        for layers, others in ((alone.layers, found.layers), (alone.trees, found.trees)):
            for name, layer in layers.items():
                assert others[name].items(number) == layer.items(0)
                assert others[name].spans(number) == layer.spans(0)
        assert distances(found, number) == distances(alone, 0)
        assert sentences(found, number) == sentences(alone, 0)


def test_one_language_is_one_call(german: str) -> None:
    both = get(f"de={german}")
    found = both(documents([("en", text) for text in ENGLISH]), ["pos"])
    alone = get("rote")(documents([("en", text) for text in ENGLISH]), ["pos"])
    assert found.layers["pos"].vocabulary == alone.layers["pos"].vocabulary
    assert np.array_equal(found.layers["pos"].ids, alone.layers["pos"].ids)
    assert len(both([], ["pos"]).word) == 0


def test_without_a_field_texts_are_read_as_they_look(german: str) -> None:
    found = get(f"de={german}")([Document(str(n), text) for n, text in enumerate(GERMAN)], ["pos"])
    alone = get(german)([Document(str(n), text) for n, text in enumerate(GERMAN)], ["pos"])
    assert [found.layers["pos"].items(n) for n in range(6)] == [
        alone.layers["pos"].items(n) for n in range(6)
    ]


def test_layers_that_one_of_them_lacks_are_empty(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    spacy.blank("de").to_disk(tmp_path / "blank")
    found = get(f"de=spacy:{tmp_path / 'blank'}")(
        documents([("en", ENGLISH[0]), ("de", GERMAN[0])]), ["pos", "dep", "dep-bfs"]
    )
    assert set(found.layers["pos"].items(1)) == set(found.layers["dep"].items(1)) == {""}
    assert found.layers["pos"].items(0)[:3] == ["DT", "JJ", "NN"]
    assert set(distances(found, 1)) == {0}


def test_names_and_signatures(german: str) -> None:
    both = get(f"fr=stanza:fr,de={german}")
    assert both.name == f"rote,fr=stanza:fr,de={german}"
    assert get(both.name) == both
    assert pickle.loads(pickle.dumps(both)) == both
    assert both.gives == get("rote").gives
    single = get(f"de={german}")
    assert single.signature == f"{get('rote').signature} de={get(german).signature}"
    assert (get("rote").language, get(german).language, both.language) == ("en", "de", None)
    assert (get("given").language, get("stanza:fr").language) == (None, "fr")
    with pytest.raises(UnknownName, match="layer for the annotator"):
        single([], ["louder"])
