"""Where counts come from: one file each, known by the file's name.

A backend cuts texts into its own tokens and says how often n-grams of them stand in its corpus.
rote's own index is one backend, an index of somebody else, on disk or behind a web address,
another. What a `--corpus` is, is seen from what it names: each file has `accepts(corpus)`, whether
this names such a corpus, and `opened(corpus, options, reporter)`, the backend ready to count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, cast

from rote.core import plugins
from rote.core.errors import OptionError, UnknownName
from rote.core.layer import Layer
from rote.core.metric import MOST_JOBS, OptionSet, option
from rote.core.progress import Reporter, Silent
from rote.index.grams import Counts, Grams

if TYPE_CHECKING:
    from rote.index.index import Index

ROOM = "search.backends"


@dataclass(frozen=True, slots=True)
class BackendOptions(OptionSet):
    """How a corpus is asked; not every backend heeds every option."""

    SECTION: ClassVar[str] = "How the corpus counts"
    SHARED: ClassVar[bool] = True
    count: Literal["occurrences", "documents"] = option(
        "occurrences", "What to count: every occurrence, or the documents that contain it"
    )
    layer: str | None = option(
        None, "Layer of rote's index: lower, or that of a tokenizer.json  [default: lower]"
    )
    tokenizer: str | None = option(
        None,
        "Tokenizer of an infini-gram index: the path of its tokenizer.json, or ids: texts are "
        "token ids",
        metavar="FILE",
    )
    api: str = option(
        "https://api.infini-gram.io/", "Address that answers for infini-gram:NAME", metavar="URL"
    )
    jobs: int = option(1, "Number of cores; results do not depend on it", most=MOST_JOBS)


class Backend(Protocol):
    """A corpus that counts n-grams of its own tokens."""

    @property
    def name(self) -> str:
        """Which kind of backend it is."""

    @property
    def tokenizer(self) -> str:
        """Signature of whoever cuts the texts."""

    @property
    def index(self) -> str:
        """The corpus by its name and, where it can be known, its content."""

    @property
    def count(self) -> str:
        """What is counted: occurrences or documents."""

    @property
    def signature(self) -> str:
        """All that a count depends on: backend, tokenizer, index and what is counted."""

    def tokenize(self, texts: Sequence[str], reporter: Reporter) -> Layer:
        """The tokens of some texts, with their characters where these can be known."""

    def counts(self, grams: Grams, reporter: Reporter) -> Counts:
        """How often each n-gram stands in the corpus; `grams` are made of such tokens."""


def open_backend(
    corpus: str | Path | Index | Backend,
    options: BackendOptions | None = None,
    reporter: Reporter | None = None,
) -> Backend:
    """The backend of whatever this names: a folder, or infini-gram:NAME; from Python also an
    opened index, or a backend as it is."""
    options = options or BackendOptions()
    if not isinstance(corpus, (str, Path)):
        from rote.index.index import Index
        from rote.search.backends.rote import wrap_index

        if isinstance(corpus, Index):
            return wrap_index(corpus, options)
        if not isinstance(getattr(corpus, "tokenizer", None), str):
            raise OptionError(
                f"corpus cannot be of type {type(corpus).__name__}: it takes an index (its folder, "
                "or one that is open), a folder of infini-gram, or infini-gram:NAME"
            )
        return corpus
    corpus = str(corpus)
    if options.jobs < 1:
        raise OptionError(f"jobs must be at least 1, not {options.jobs}")
    for name in plugins.members(ROOM):
        module = plugins.load(ROOM, name)
        if module.accepts(corpus):
            return cast(Backend, module.opened(corpus, options, reporter or Silent()))
    if ":" in corpus:
        raise UnknownName("corpus", corpus, ("infini-gram:NAME",))
    raise OptionError(
        f"{corpus} is not a corpus to count in: give an index of rote (`rote index build`), a "
        "folder of infini-gram (tokenized.0, table.0, ...), or infini-gram:NAME for its web service"
    )


def backend_signature(name: str, tokenizer: str, index: str, count: str) -> str:
    return f"{name} {index} {tokenizer} {count}"
