"""Counts by the web service of infini-gram: `infini-gram:NAME`, NAME being one of its indexes.

N-grams go out as `{"index", "query_type": "count", "query_ids"}`, one request each, since the
service knows no batches; equal ones go out once, and every answer is kept on disk. Where no
tokenizer.json is given the service cuts the texts too: the answer to `query` names its `token_ids`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rote.core.cache import DiskCache
from rote.core.errors import InputError, OptionError
from rote.core.http import Client, Patience
from rote.core.layer import Layer
from rote.core.progress import Reporter, several
from rote.index.grams import Counts, Grams
from rote.search.backends import BackendOptions, backend_signature
from rote.search.backends.infini_gram import IDS, UNKNOWN, TokenIds, token_ids

NAME = "infini-gram-api"
_PREFIX = "infini-gram:"
_BATCH = 200
"""Questions between two writings to disk."""
_CONNECTIONS = 4
"""Questions that are under way at the same time: a free service is shared with others."""
_PATIENCE = Patience(busy=7, unreachable=1, slow=7, first=1.0, connect=20.0, answer=60.0)
_REMEDY = "Check the address, given with --api, and the connection"
_OPERATORS = (" AND ", " OR ")
_WITH_TOKENIZER = "Give the tokenizer.json of the index with --tokenizer"


def accepts(corpus: str) -> bool:
    return corpus.startswith(_PREFIX)


def opened(corpus: str, options: BackendOptions, reporter: Reporter) -> InfiniGramApi:
    index = corpus.removeprefix(_PREFIX)
    if not index:
        raise OptionError("which index? infini-gram:NAME, as in infini-gram:v4_pileval_llama")
    if options.count != "occurrences":
        raise OptionError("the web service of infini-gram counts occurrences, not documents")
    tokenizer = token_ids(options.tokenizer, corpus) if options.tokenizer is not None else None
    return InfiniGramApi(Client(options.api, patience=_PATIENCE, remedy=_REMEDY), index, tokenizer)


@dataclass(frozen=True)
class InfiniGramApi:
    """One index of the service; without `ids` the service itself cuts texts into tokens."""

    service: Client
    index: str
    ids: TokenIds | None = None
    count: str = "occurrences"
    name: str = NAME

    @property
    def tokenizer(self) -> str:
        return self.ids.signature if self.ids else f"tokenizer of {self.index}"

    @cached_property
    def signature(self) -> str:
        return backend_signature(
            self.name, self.tokenizer, f"{self.index} {self.service.url}", self.count
        )

    def tokenize(self, texts: Sequence[str], reporter: Reporter) -> Layer:
        if self.ids:
            return self.ids.layer(texts)
        different = list(dict.fromkeys(texts))
        for text in different:
            if any(operator in text for operator in _OPERATORS):
                raise InputError(
                    "the service treats AND and OR as operators, and a text contains them: "
                    f"{text!r}",
                    remedy=_WITH_TOKENIZER,
                )
        keys = [b"t" + text.encode("utf-8", "replace") for text in different]

        def cut(number: int) -> bytes:
            answer = self._ask({"query": different[number]}, reporter)
            numbers = answer.get("token_ids")
            if not isinstance(numbers, list) or not all(_is_whole(n, 2**32) for n in numbers):
                raise self._malformed("a list of token ids in `token_ids`", answer)
            return np.array(numbers, "<u4").tobytes()

        answers = self._answers("cutting texts", keys, cut, reporter)
        known = {text: np.frombuffer(answers[key], "<u4") for text, key in zip(different, keys)}
        parts = [known[text] for text in texts]
        numbers = np.concatenate([np.empty(0, "<u4"), *parts])
        vocabulary, ids = np.unique(numbers, return_inverse=True)
        nowhere = np.empty(0, np.int32)  # the service does not say which characters they are
        return Layer(
            name="word",
            ids=ids.astype(np.int32),
            vocabulary=tuple(map(str, vocabulary.tolist())),
            starts=nowhere,
            ends=nowhere,
            text_ends=np.cumsum([len(part) for part in parts], dtype=np.int64),
        )

    def counts(self, grams: Grams, reporter: Reporter) -> Counts:
        numbers = (self.ids or TokenIds(IDS, IDS)).numbers(grams.vocabulary)
        rows = np.split(numbers[grams.ids], grams.ends[:-1])
        keys = [b"c" + row.astype("<i4").tobytes() for row in rows]
        # A token without a number stands nowhere, and the service would refuse it.
        known_rows = {key: row for key, row in zip(keys, rows) if UNKNOWN not in row}
        questions = list(known_rows)

        def counted(number: int) -> bytes:
            answer = self._ask({"query_ids": known_rows[questions[number]].tolist()}, reporter)
            if answer.get("approx"):
                raise InputError("gives a count that is not exact", file=self.service.url)
            if not _is_whole(answer.get("count"), 2**63):
                raise self._malformed("a number of occurrences in `count`", answer)
            return int(answer["count"]).to_bytes(8, "little")

        answers = self._answers("counting", questions, counted, reporter)
        counts = {key: int.from_bytes(answer, "little") for key, answer in answers.items()}
        return np.array([counts.get(key, 0) for key in keys], np.int64)

    def _ask(self, query: dict[str, Any], reporter: Reporter) -> dict[str, Any]:
        question = {"index": self.index, "query_type": "count", **query}
        return self.service.post("", question, reporter.warn)

    def _malformed(self, expected: str, answer: dict[str, Any]) -> InputError:
        got = self.service.show(answer)
        return InputError(f"expected {expected}, got {got}", file=self.service.url)

    def _answers(
        self, title: str, keys: Sequence[bytes], ask: Callable[[int], bytes], reporter: Reporter
    ) -> dict[bytes, bytes]:
        """The answer to each question, from the disk or from the service."""
        with DiskCache("counts", f"{self.service.url}-{self.index}", reporter) as cache:
            answers = cache.read(keys)
            missing = [number for number, key in enumerate(keys) if key not in answers]
            if not missing:
                return answers
            known = f", {several(len(answers), 'answer')} from the cache" if answers else ""
            reporter.say(
                f"{title}: {several(len(missing), 'request')} to {self.service.url}, up to "
                f"{_CONNECTIONS} at a time{known}"
            )
            with reporter.stage(title, len(missing), "requests") as advance:
                for first in range(0, len(missing), _BATCH):
                    some = missing[first : first + _BATCH]
                    try:
                        with closing(self.service.post_all(ask, some, _CONNECTIONS)) as coming:
                            for place, answer in coming:
                                answers[keys[some[place]]] = answer
                                advance(1)
                    finally:
                        cache.write((keys[n], answers[keys[n]]) for n in some if keys[n] in answers)
        return answers


def _is_whole(value: object, limit: int) -> bool:
    return type(value) is int and 0 <= value < limit
