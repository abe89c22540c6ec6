"""What every backend promises, asked of all that are installed."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from rote.core.model import Continuation, Decoding, Model, Prompt
from rote.core.progress import Silent
from rote.models.options import ModelOptions
from rote.search.open_models import open_model
from tests.kit import write_jsonl
from tests.models import gguf_files, tiny
from tests.models.test_fake import TABLE
from tests.models.test_numpy import OPEN_MODEL

TEXTS = (
    "the cat sat",
    "a cat",
    "the dog",
    "the cat sat on the mat and the dog saw it",
    "a  cat — or\n\n12 cats",
    "cat",
)


def _fake(folder: Path) -> str:
    (folder / "table.json").write_text(json.dumps(TABLE))
    return f"fake:{folder / 'table.json'}"


def _tiny(folder: Path) -> str:
    return f"numpy:{tiny.write_model(folder / 'tiny', tiny.GROUPED)}"


def _open(folder: Path) -> str:
    return f"numpy:{OPEN_MODEL}"


def _transformers(folder: Path) -> str:
    return f"transformers:{tiny.write_model(folder / 'tiny', tiny.GROUPED)}"


def _gguf(folder: Path) -> str:
    return f"gguf:{gguf_files.write_gguf(folder / 'tiny.gguf', gguf_files.CONFIG, 'Q8_0')}"


def _index(folder: Path) -> str:
    from tests.indexes import build_index

    path = write_jsonl(folder / "texts.jsonl", ({"text": text} for text in TEXTS))
    build_index([str(path)], folder / "index")
    return f"index:{folder / 'index'}"


BACKENDS: dict[str, Callable[[Path], str]] = {
    "fake": _fake,
    "tiny": _tiny,
    "open-model": _open,
    "index": _index,
    "transformers": _transformers,
    "gguf": _gguf,
}


@pytest.fixture(scope="module", params=BACKENDS)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Model:
    if request.param == "transformers" and not find_spec("torch"):
        pytest.skip("torch is not installed")
    if request.param == "gguf" and not find_spec("gguf"):
        pytest.skip("gguf is not installed")
    named = BACKENDS[request.param](tmp_path_factory.mktemp("backend"))
    return open_model(named, ModelOptions(device="cpu"), Silent())


def test_a_batch_of_many_is_many_batches_of_one(model: Model) -> None:
    wanted = [Continuation("", text) for text in TEXTS]
    wanted += [Continuation(text, f" {other}") for text in TEXTS[:3] for other in TEXTS[:3]]
    for one, found in zip(wanted, model.score(wanted)):
        (alone,) = model.score([one])
        assert found.logprobs == pytest.approx(alone.logprobs, abs=1e-5)
        assert found.expected == pytest.approx(alone.expected, abs=1e-5, nan_ok=True)
        assert found.spread == pytest.approx(alone.spread, abs=1e-4, nan_ok=True)
        assert (found.greedy == alone.greedy).all()
        assert (found.starts == alone.starts).all()
        assert (found.ends == alone.ends).all()


def test_spans_cover_the_text_in_order(model: Model) -> None:
    for context in ("", "the cat", "the dog "):
        wanted = [Continuation(context, text) for text in TEXTS]
        for one, found in zip(wanted, model.score(wanted)):
            assert found.ends[-1] == len(one.text)
            reached = 0
            for start, end in zip(found.starts, found.ends):
                # No gap; where a character is several tokens, they share it.
                assert start == reached or start == reached - 1
                assert end >= reached
                reached = end


def test_scores_are_logarithms_of_chances(model: Model) -> None:
    for found in model.score([Continuation("", text) for text in TEXTS]):
        assert (found.logprobs <= 1e-9).all()
        assert np.isfinite(found.logprobs).all()
        assert not (found.expected > 0).any()
        assert not (found.spread < 0).any()
        sizes = {len(column) for column in (found.starts, found.ends, found.greedy, found.spread)}
        assert sizes == {len(found.logprobs)}
        assert found.total == pytest.approx(sum(found.logprobs))


def test_a_text_of_nothing_has_no_tokens(model: Model) -> None:
    nothing, something = model.score([Continuation("the cat", ""), Continuation("", "the cat")])
    assert len(nothing.logprobs) == 0
    assert nothing.total == 0
    assert len(something.logprobs) > 0
    assert model.score([]) == []
    assert model.generate([], Decoding()) == []


def test_what_is_written_greedily_is_scored_as_greedy(model: Model) -> None:
    checked = 0
    for prompt in ("", "the", "a cat", "the dog", "cat"):
        (found,) = model.generate([Prompt(prompt)], Decoding(6))
        (scored,) = model.score([Continuation(prompt, found.text)])
        # A text may be cut into other tokens than those it was written with.
        if len(scored.logprobs) == found.tokens - (found.ended == "end") and found.text:
            checked += 1
            assert scored.greedy.all()
    # Random weights write bytes that are no text, and few of their words are cut alike.
    if model.signature.startswith(("fake", "index")) or "bible" in model.signature:
        assert checked


def test_seeds_repeat_and_differ(model: Model) -> None:
    prompts = [Prompt("the", seed) for seed in range(12)] + [Prompt("", seed) for seed in range(12)]
    decoding = Decoding(5, temperature=1.5)
    first = model.generate(prompts, decoding)
    assert first == model.generate(prompts, decoding)
    assert len({one.text for one in first[:12]}) > 1
    # What a prompt gets does not depend on the others in the batch.
    assert first[3] == model.generate([prompts[3]], decoding)[0]
    assert list(reversed(first)) == model.generate(prompts[::-1], decoding)


def test_no_more_tokens_are_written_than_asked_for(model: Model) -> None:
    for most in (1, 3):
        for found in model.generate([Prompt("the"), Prompt("")], Decoding(most)):
            assert 1 <= found.tokens <= most
            assert found.ended in ("length", "end")
            assert found.ended == "end" or found.tokens == most


def test_a_stop_string_ends_the_text_before_it(model: Model) -> None:
    (whole,) = model.generate([Prompt("the")], Decoding(8))
    written = whole.text.strip()
    if not written:
        pytest.skip("nothing was written")
    stop = written[-1]
    (cut,) = model.generate([Prompt("the")], Decoding(8, stop=("never written", stop)))
    assert cut.ended == "stop"
    assert cut.text == whole.text[: whole.text.index(stop)]
    assert cut.tokens <= whole.tokens


def test_the_signature_stays_and_lengths_are_known(model: Model) -> None:
    assert model.signature == model.signature
    assert "\n" not in model.signature
    assert model.batch >= 1
    assert model.limit is None or model.limit >= 1
    assert 0 < model.length("the cat") < model.length("the cat sat on the mat and the dog")
