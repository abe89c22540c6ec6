"""A folder of infini-gram written by its documented format, and its web service on this machine."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np

from tests.models.endpoint_server import listening

Documents = Sequence[Sequence[int]]


def write_folder(path: Path, shards: Sequence[Documents], kind: str, end: str = ".{}") -> None:
    """An index as infini-gram's documentation describes it, by sorting every suffix."""
    path.mkdir()
    for number, documents in enumerate(shards):
        separator = np.iinfo(kind).max
        text = b"".join(np.array([separator, *d], kind).tobytes() for d in documents)
        width, size = np.dtype(kind).itemsize, len(text)
        suffixes = {place: text[place : place + 1_000] for place in range(0, size, width)}
        assert len(set(suffixes.values())) == len(suffixes)  # so much of each tells them apart
        order = sorted(suffixes, key=suffixes.__getitem__)
        pointer = math.ceil(math.log2(size) / 8)
        starts = np.cumsum([0, *(width * (len(d) + 1) for d in documents)])[:-1]
        suffix = end.format(number)
        (path / f"tokenized{suffix}").write_bytes(text)
        (path / f"table{suffix}").write_bytes(
            b"".join(p.to_bytes(pointer, "little") for p in order)
        )
        (path / f"offset{suffix}").write_bytes(starts.astype("<u8").tobytes())


def occurrences(shards: Sequence[Documents], gram: Sequence[int]) -> tuple[int, int]:
    """How often it occurs, and in how many documents; the slow way."""
    per_document = [
        sum(list(d[i : i + len(gram)]) == list(gram) for i in range(len(d) - len(gram) + 1))
        for documents in shards
        for d in documents
    ]
    return sum(per_document), sum(count > 0 for count in per_document)


Answer = Callable[[dict[str, Any]], "tuple[int, Any]"]
CORPUS = [[1, 2, 3, 1, 2], [4, 1, 2]]
VOCABULARY = {"the": 1, "old": 2, "man": 3, "song": 4}


def documented(question: dict[str, Any]) -> tuple[int, Any]:
    """What the service answers by its documentation."""
    if question.get("index") != "v4_made":
        return 400, {"error": f"[Flask] Invalid index: {question.get('index')}"}
    assert question["query_type"] == "count"
    assert ("query" in question) != ("query_ids" in question)
    ids = question.get("query_ids")
    if ids is None:
        ids = [VOCABULARY.get(word, 0) for word in question["query"].split()]
    count, _ = occurrences([CORPUS], ids) if ids else (10, 0)
    return 200, {
        "count": count,
        "approx": False,
        "latency": 0.7,
        "token_ids": ids,
        "tokens": [str(i) for i in ids],
    }


@contextmanager
def served(answer: Answer) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server on this machine; gives its address and the questions that reached it."""
    questions: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["Content-Type"] == "application/json"
            assert self.headers["User-Agent"].startswith("rote/")
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            questions.append(question)
            status, content = answer(question)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            if status == 429:
                self.send_header("Retry-After", "0")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with listening(Handler) as port:
        yield f"http://127.0.0.1:{port}/", questions
